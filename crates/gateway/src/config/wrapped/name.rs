//! What a server is called that nobody gave a name: the telling part of the command that starts it.

use std::path::Path;

/// Programs that run what the first word after their options names.
const RUNNERS: [&str; 6] = ["npx", "pnpx", "bunx", "uvx", "pipx", "tsx"];

/// Programs that do so after one of these words.
const MANAGERS: [(&str, &[&str]); 8] = [
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx", "exec"]),
    ("bun", &["x", "run"]),
    ("deno", &["run"]),
    ("uv", &["tool", "run", "x"]),
    ("docker", &["run", "container"]),
    ("podman", &["run", "container"]),
];

/// Programs that run a file, or a module after `-m`.
const INTERPRETERS: [&str; 6] = ["python", "node", "ruby", "perl", "php", "java"];

/// Options of these programs that are followed by a value.
const VALUED: [&str; 24] = [
    "-p",
    "--package",
    "--from",
    "--with",
    "--python",
    "--directory",
    "--project",
    "--index-url",
    "--spec",
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "--name",
    "--network",
    "--net",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--platform",
    "-r",
];

/// Words that every other server has in its name.
const COMMON: [&str; 4] = ["mcp", "server", "servers", "modelcontextprotocol"];

/// Names of files and folders that tell nothing of what is in them.
const GENERIC: [&str; 14] = [
    "index", "main", "server", "app", "cli", "start", "stdio", "__main__", "mcp", "dist", "build", "src",
    "bin", "lib",
];

/// The name that a command suggests.
pub(super) fn of_command(words: &[&str]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let name = program_name(program);
    if name == "cmd" && rest.first().is_some_and(|word| word.eq_ignore_ascii_case("/c")) {
        return of_command(rest.get(1..)?);
    }
    if name == "env" {
        let start = rest.iter().position(|word| !word.contains('=') && !word.starts_with('-'))?;
        return of_command(rest.get(start..)?);
    }
    if RUNNERS.contains(&name.as_str()) {
        let ran = if name == "pipx" { rest.strip_prefix(&["run"]).unwrap_or(rest) } else { rest };
        return of_what_is_run(ran);
    }
    if let Some((_, verbs)) = MANAGERS.iter().find(|(manager, _)| *manager == name) {
        return of_what_is_run(after_verbs(rest, verbs));
    }
    if INTERPRETERS.iter().any(|known| name.starts_with(known)) {
        if let Some(at) = rest.iter().position(|word| *word == "-m") {
            return rest
                .get(at + 1)
                .and_then(|module| of_package(module.split('.').next().unwrap_or(module)));
        }
        return first_word(rest).and_then(of_path);
    }
    of_path(program)
}

/// A package, an image, a module or a file: whatever stands first.
fn of_what_is_run(words: &[&str]) -> Option<String> {
    let first = first_word(words)?;
    if program_name(first).starts_with("python") {
        return of_command(words.get(words.iter().position(|word| *word == first)?..)?);
    }
    if is_path(first) { of_path(first) } else { of_package(first) }
}

/// What follows the last of the verbs, between which options may stand.
fn after_verbs<'a, 'b>(words: &'a [&'b str], verbs: &[&str]) -> &'a [&'b str] {
    let mut rest = words;
    while let Some(word) = first_word(rest).filter(|word| verbs.contains(word)) {
        let at = rest.iter().position(|known| *known == word).unwrap_or_default();
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    rest
}

fn first_word<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        if VALUED.contains(word) {
            words.next();
        }
    }
    None
}

fn program_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let ends = [".exe", ".cmd", ".bat"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

fn is_path(word: &str) -> bool {
    let scripts = ["js", "mjs", "cjs", "ts", "py"];
    let is_script = Path::new(word)
        .extension()
        .is_some_and(|end| scripts.iter().any(|script| end.eq_ignore_ascii_case(script)));
    is_script || word.starts_with(['/', '.', '~', '\\'])
}

/// `@scope/server-name@1.2`, `registry/owner/name:tag`, `name[extra]==1.2`, `mcp_server_name`.
fn of_package(package: &str) -> Option<String> {
    let (scope, name) = package.rsplit_once('/').unwrap_or(("", package));
    let end = name.find(['@', ':', '=', '[', '<', '>', '~', '#']).filter(|end| *end > 0);
    let name = end.and_then(|end| name.get(..end)).unwrap_or(name);
    let name = name.strip_suffix(".git").unwrap_or(name);
    telling(name).or_else(|| telling(scope.rsplit('/').next().unwrap_or(scope)))
}

/// The file without its ending, or the folder that it lies in where that says more.
fn of_path(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let path = Path::new(&path);
    let stem = path.file_stem()?.to_str()?;
    let folders = path.parent().into_iter().flat_map(Path::ancestors);
    let folders = folders.filter_map(|folder| folder.file_name()?.to_str());
    let mut names = std::iter::once(stem).chain(folders);
    let says_something = |name: &&str| !GENERIC.contains(&name.to_ascii_lowercase().as_str());
    let found = names.find(says_something).unwrap_or(stem);
    telling(found).or_else(|| Some(stem.to_owned()))
}

/// The name without the words that every server's has, if anything is left.
fn telling(name: &str) -> Option<String> {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let left: Vec<&str> =
        words.filter(|word| !COMMON.contains(&word.to_ascii_lowercase().as_str())).collect();
    let says = left.iter().any(|word| word.bytes().any(|byte| byte.is_ascii_alphanumeric()));
    says.then(|| left.join("_"))
}

/// The name that an address suggests: of `https://mcp.linear.app/mcp` it is `linear`.
pub(super) fn of_address(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']);
    if host == "localhost" || host.parse::<std::net::IpAddr>().is_ok() {
        // A path may hold a secret, and names are shown.
        return Some("local".to_owned());
    }
    let mut labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    if labels.len() > 1 {
        labels.pop();
    }
    labels.retain(|label| !["mcp", "api", "www"].contains(label));
    labels.last().and_then(|label| telling(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_every_kind_have_a_telling_name() {
        for (command, expected) in [
            ("npx -y @modelcontextprotocol/server-everything", "everything"),
            ("npx -y @modelcontextprotocol/server-filesystem /tmp", "filesystem"),
            ("/usr/bin/npx --yes @playwright/mcp@latest --headless", "playwright"),
            ("npx.cmd -y firecrawl-mcp", "firecrawl"),
            ("cmd /c npx -y chrome-devtools-mcp@latest", "chrome_devtools"),
            ("npx -p @upstash/context7-mcp context7-mcp", "context7"),
            ("npm exec -y -- figma-developer-mcp", "figma_developer"),
            ("pnpm dlx mcp-server-x", "x"),
            ("uvx mcp-server-git --repository .", "git"),
            ("uvx mcp-server-time==1.2", "time"),
            ("uvx --from git+https://example.com/a/b serena start-mcp-server", "serena"),
            ("uv tool run mcp-atlassian[all]", "atlassian"),
            ("uv run --directory /srv/notes server.py", "server"),
            ("uv --directory /x run weather.py", "weather"),
            ("pipx run mcp-server-fetch", "fetch"),
            ("python -m mcp_server_time", "time"),
            ("python3.12 -u -m mcp_server_git.server", "git"),
            ("/opt/venv/bin/mcp-server-sqlite --db x", "sqlite"),
            ("python3 /srv/tools/weather.py", "weather"),
            ("node /srv/my-notes/build/index.js", "my_notes"),
            ("docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:v1", "github"),
            ("docker run --rm -i mcp/time", "time"),
            ("env TOKEN=x npx -y todoist-mcp", "todoist"),
            ("./target/release/fastecho", "fastecho"),
            ("C:\\tools\\My-Server.exe --x", "My"),
            ("github:user/repo", "repo"),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(of_command(&words).as_deref(), Some(expected), "{command}");
        }
    }

    #[test]
    fn addresses_are_named_by_their_owner() {
        for (url, expected) in [
            ("https://mcp.linear.app/mcp", Some("linear")),
            ("https://api.githubcopilot.com/mcp/", Some("githubcopilot")),
            ("https://example.com/", Some("example")),
            ("http://127.0.0.1:7171/mcp", Some("local")),
            ("http://[::1]:3000/s3cret/mcp", Some("local")),
            ("http://localhost", Some("local")),
            ("no address", None),
        ] {
            assert_eq!(of_address(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn what_tells_nothing_is_no_name() {
        for command in [&[][..], &["npx"], &["npx", "-y"], &["python", "-m"], &["docker", "run"], &[""]] {
            assert_eq!(of_command(command), None, "{command:?}");
        }
        assert_eq!(of_command(&["/"]), None);
        // Somebody will try.
        let long = "a".repeat(100_000);
        assert_eq!(of_command(&["npx", &long]).map(|name| name.len()), Some(100_000));
    }
}
