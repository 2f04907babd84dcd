//! Glob patterns over what an agent says it is about to do.
//!
//! `*` stands for anything and `?` for one character. A pattern that approves has to fit the whole hint; one that stops or
//! asks also fits where a word begins, because an agent writes sentences and not only names.

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::{fold::fold_pattern, hint::Hint};

/// So many patterns one list may have.
pub const PATTERNS_MAX: usize = 2000;
pub const PATTERN_CHARS_MAX: usize = 200;
const COMPILED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Why a list of patterns cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the pattern '{0}' is empty once spaces and invisible characters are taken out")]
    Empty(String),
    #[error("the pattern '{0}' is longer than {PATTERN_CHARS_MAX} characters")]
    TooLong(String),
    #[error("there are more than {PATTERNS_MAX} patterns")]
    TooMany,
    #[error("the patterns together are too large")]
    TooLarge,
}

/// Where a pattern has to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Whole,
    /// Also from the beginning of a word.
    Words,
}

/// Patterns made ready, with their texts to be named.
#[derive(Debug, Clone)]
pub struct Patterns {
    texts: Vec<String>,
    set: RegexSet,
    fit: Fit,
}

impl Patterns {
    pub fn new(texts: &[String], fit: Fit) -> Result<Self, Error> {
        if texts.len() > PATTERNS_MAX {
            return Err(Error::TooMany);
        }
        let regexes = texts.iter().map(|text| regex(text, fit)).collect::<Result<Vec<_>, _>>()?;
        let set = RegexSetBuilder::new(regexes)
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|_| Error::TooLarge)?;
        Ok(Self { texts: texts.to_vec(), set, fit })
    }

    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The first pattern that fits, in the order they were written. One that stops or asks is also met by "dropTable" where it
    /// says "drop_*"; what approves has to be met as it is written.
    #[must_use]
    pub fn first(&self, hint: &Hint) -> Option<&str> {
        if self.texts.is_empty() {
            return None;
        }
        let apart = hint.apart().filter(|_| self.fit == Fit::Words);
        let texts = [Some(hint.folded.text.as_str()), apart].into_iter().flatten();
        let place = texts.filter_map(|text| self.place(text.as_bytes())).min()?;
        self.texts.get(place).map(String::as_str)
    }

    fn place(&self, text: &[u8]) -> Option<usize> {
        if !self.set.is_match(text) {
            return None;
        }
        self.set.matches(text).iter().next()
    }
}

/// Beyond ASCII every character counts as the end of a word, so that none can hide the beginning of the next.
const EDGE: &str = "[^0-9a-z_]";
const ANY_CHARACTER: &str = r"(?:[\x00-\x7F]|[\xC2-\xF4][\x80-\xBF]{1,3})";

fn regex(text: &str, fit: Fit) -> Result<String, Error> {
    if text.chars().count() > PATTERN_CHARS_MAX {
        return Err(Error::TooLong(text.chars().take(40).collect()));
    }
    let folded = fold_pattern(text);
    if folded.trim().is_empty() {
        return Err(Error::Empty(text.to_owned()));
    }
    let is_word =
        |letter: Option<char>| letter.is_some_and(|l| l.is_ascii_alphanumeric() || l == '_' || l == '?');
    let (first, last) = (folded.chars().next(), folded.chars().next_back());
    let mut regex = String::new();
    let body = match fit {
        Fit::Whole => {
            regex.push_str(r"\A");
            folded.as_str()
        }
        Fit::Words => {
            if is_word(first) {
                regex.push_str(&format!(r"(?:\A|{EDGE})"));
            }
            // A star at either end says no more than that anything may stand there.
            folded.trim_matches('*')
        }
    };
    let mut stars = false;
    for letter in body.chars() {
        match letter {
            '*' if stars => continue,
            '*' => regex.push_str(".*"),
            '?' => regex.push_str(ANY_CHARACTER),
            letter => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
        stars = letter == '*';
    }
    match fit {
        Fit::Whole => regex.push_str(r"\z"),
        Fit::Words if is_word(last) => regex.push_str(&format!(r"(?:\z|{EDGE})")),
        Fit::Words => {}
    }
    Ok(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, fit: Fit, hint: &str) -> bool {
        let patterns = Patterns::new(&[pattern.to_owned()], fit).unwrap();
        patterns.first(&Hint::read(hint)).is_some()
    }

    /// REQ-AUTO-09
    #[test]
    fn patterns_that_stop_fit_where_words_begin() {
        for (pattern, hint, expected) in [
            ("drop_*", "drop_users", true),
            ("drop_*", "now calling drop_users on main", true),
            ("drop_*", "DROP_USERS", true),
            ("drop_*", "db.drop_users()", true),
            ("drop_*", "dropTable users", true),
            ("drop_*", "calling DropTable", true),
            ("dropTable*", "dropTable users", true),
            ("drop_*", "backdropImage", false),
            ("drop_*", "backdrop_image", false),
            ("drop_*", "my_drop_users", false),
            ("rm -rf*", "sudo rm -rf /tmp/x", true),
            ("rm -rf*", "/bin/rm   -rf /", true),
            ("rm -rf*", "perform -rf", false),
            ("rm -rf*", "r\u{200d}m -rf /", true),
            ("rm -rf*", "ｒｍ －ｒｆ x", true),
            ("rm -rf*", "运行rm -rf /", true),
            ("*force*", "git push --force", true),
            ("deploy", "please deploy the site", true),
            ("deploy", "deployment notes", false),
            ("delete_?", "delete_7", true),
            ("delete_?", "delete_é", true),
            ("delete_?", "delete_77", false),
            ("/etc/*", "cat /etc/passwd", true),
            ("a*b*c", "a 1 b 2 c", true),
            ("a.c", "abc", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, Fit::Words, hint), expected, "{pattern:?} {hint:?}");
        }
    }

    #[test]
    fn patterns_that_approve_fit_the_whole_hint_only() {
        for (pattern, hint, expected) in [
            ("read_*", "read_file notes.txt", true),
            ("read_*", "calling read_file", false),
            ("read_file", "read_file", true),
            ("read_file", "read_file and delete it", false),
            ("list files", "List  Files", true),
            ("read_*", "readFile", false),
            ("readFile*", "readFile notes.txt", true),
        ] {
            assert_eq!(fits(pattern, Fit::Whole, hint), expected, "{pattern:?} {hint:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let one = |text: &str| Patterns::new(&[text.to_owned()], Fit::Words).map(drop);
        assert_eq!(one(""), Err(Error::Empty(String::new())));
        assert_eq!(one(" \u{200b} "), Err(Error::Empty(" \u{200b} ".to_owned())));
        assert!(matches!(one(&"x".repeat(201)), Err(Error::TooLong(_))));
        assert_eq!(Patterns::new(&vec!["a".to_owned(); 2001], Fit::Whole).map(drop), Err(Error::TooMany));
        assert_eq!(one("((a+)+[\\"), Ok(()), "nothing but '*' and '?' means anything");
    }
}
