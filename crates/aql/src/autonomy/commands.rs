//! Words of a command line: which commands only read, and which do more than any verb before them says.

/// What a word is where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// It shows something and changes nothing.
    Reads,
    /// It reads with these words behind it.
    ReadsWith(&'static [&'static str]),
    /// It takes what others read through a pipe, and says nothing by itself.
    Filters,
    /// It does what its arguments say. Nobody means anything else by the word.
    Open,
    /// The same, but people also write about it ("the python version").
    OpenInPlace,
}

/// Words that are also plain English ("more", "which", "date") are left out: a sentence may begin with them.
const READS: &str = "ls ll cat pwd whoami wc grep egrep zgrep rg fd tree du df uname uptime ps stat head tail diff cmp jq \
    md5sum sha256sum lsblk lscpu lsof nproc realpath basename dirname readlink";
const FILTERS: &str = "sort uniq cut tr less more column nl rev fold";
const OPEN: &str = "curl wget mkfs shred sudo doas rm rmdir dd chmod chown chgrp chattr xargs pkill killall useradd userdel \
    usermod iptables nc ncat netcat scp sftp rsync crontab pwsh powershell zsh ksh osascript fdisk parted insmod chpasswd \
    visudo nohup rundll32 regsvr32 certutil bitsadmin iex mshta mv cp";
const OPEN_IN_PLACE: &str = "sh bash fish dash cmd python python2 python3 perl ruby node php deno bun npx pipx yarn pnpm \
    apt yum dnf podman helm terraform ansible make ssh su mount umount service tee source sed awk psql mysql sqlite3 mongosh \
    env launchctl reg";
const WITH: [(&str, &[&str]); 9] = [
    ("git", &["status", "log", "diff", "show", "blame", "shortlog", "describe", "grep"]),
    ("docker", &["ps", "images", "logs", "inspect", "version", "info", "stats", "top"]),
    ("kubectl", &["get", "describe", "logs", "top", "explain", "version"]),
    ("cargo", &["check", "tree", "metadata", "search"]),
    ("npm", &["ls", "list", "view", "outdated", "search"]),
    ("pip", &["list", "show", "freeze", "search"]),
    ("brew", &["list", "info", "search"]),
    ("systemctl", &["status"]),
    ("gh", &["status"]),
];

/// Every command with what it is.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Command)> {
    let list = |words: &'static str, command| words.split_whitespace().map(move |word| (word, command));
    list(READS, Command::Reads)
        .chain(list(FILTERS, Command::Filters))
        .chain(list(OPEN, Command::Open))
        .chain(list(OPEN_IN_PLACE, Command::OpenInPlace))
        .chain(WITH.map(|(word, reads)| (word, Command::ReadsWith(reads))))
}

/// Files that programs are written in. What such a file is called says nothing of what is done to it.
const SOURCES: [&str; 34] = [
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs",
    "rb", "php", "swift", "scala", "ex", "exs", "hs", "lua", "dart", "vue", "svelte", "md", "rst", "adoc",
    "html", "css", "scss", "sh",
];

/// Whether a piece of text between two spaces is the name of such a file.
pub(super) fn is_source(chunk: &str) -> bool {
    if !chunk.as_bytes().contains(&b'.') {
        return false;
    }
    let chunk = chunk.trim_end_matches([',', ';', ':', '.', ')', '"', '\'', '`', '!', '?']);
    let Some((stem, extension)) = chunk.rsplit_once('.') else { return false };
    stem.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-')
        && !stem.contains("://")
        && SOURCES.contains(&extension)
}

/// Whether a piece of text between two spaces looks like an argument of the command before it.
pub(super) fn is_argument(chunk: &str) -> bool {
    let looks = |start: char| matches!(start, '-' | '/' | '~' | '.' | '"' | '\'' | '<' | '$');
    (chunk.len() > 1 && chunk.starts_with(looks)) || chunk.contains("://") || is_source(chunk)
}

/// Where the output of a command is written to a file, the file.
pub(super) fn redirected(text: &str) -> Option<&str> {
    let places = text.match_indices('>').map(|(place, _)| place);
    places.filter_map(|place| redirect(text, place)).next()
}

fn redirect(text: &str, place: usize) -> Option<&str> {
    let (before, after) = (text.get(..place)?, text.get(place + 1..)?);
    let chunk = before.rsplit(' ').next().unwrap_or_default();
    // An arrow, a comparison or a bracket.
    if before.ends_with(['-', '=', '>']) || after.starts_with('=') || chunk.contains('<') {
        return None;
    }
    let target = after.trim_start_matches(['>', '|', ' ']).split(' ').next().unwrap_or_default();
    let harmless = target.is_empty()
        || target.starts_with('&')
        || target.starts_with("/dev/null")
        || target.starts_with(|first: char| first.is_ascii_digit());
    (!harmless).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_two_things() {
        let mut words: Vec<&str> = all().map(|(word, _)| word).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
    }

    #[test]
    fn output_goes_somewhere_or_it_does_not() {
        for (text, expected) in [
            ("cat a > b", Some("b")),
            ("echo x >> ~/.profile", Some("~/.profile")),
            ("ls >out", Some("out")),
            ("ls 2>&1", None),
            ("ls > /dev/null", None),
            ("a -> b, a => b, a >= b", None),
            ("items with size > 5", None),
            ("reading vec<string> docs", None),
            (">", None),
        ] {
            assert_eq!(redirected(text), expected, "{text}");
        }
    }

    #[test]
    fn source_files_are_known_by_their_ends() {
        for (chunk, expected) in [
            ("src/main.rs", true),
            ("main.py,", true),
            ("notes.txt", false),
            (".env", false),
            (".sh", false),
            ("https://example.org/a.sh", false),
            ("main", false),
        ] {
            assert_eq!(is_source(chunk), expected, "{chunk}");
        }
    }
}
