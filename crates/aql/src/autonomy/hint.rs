//! What an agent says it is about to do, as it is judged: in its one form, and with the names in it taken apart.
//!
//! Names of agents are folded too and never taken apart, so this is no part of [`fold`].

use unicode_normalization::char::is_combining_mark;

use super::{
    fold::{Folded, fold},
    lookalike::{is_foreign, is_invisible},
};

/// A hint, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub folded: Folded,
    /// The same with an underscore where a capital letter begins a word: "dropTable" as "drop_table". Only where there is
    /// such a letter.
    apart: Option<String>,
}

/// Names that have a capital letter inside and are one word all the same.
const ONE_WORD: [&str; 24] = [
    "bitbucket",
    "coffeescript",
    "devops",
    "dropbox",
    "facebook",
    "github",
    "gitlab",
    "graphql",
    "javascript",
    "linkedin",
    "macos",
    "mongodb",
    "mysql",
    "nosql",
    "openai",
    "openapi",
    "paypal",
    "postgresql",
    "powershell",
    "readme",
    "sqlite",
    "typescript",
    "wordpress",
    "youtube",
];

impl Hint {
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self { folded: fold(text), apart: apart(text).map(|text| fold(&text).text) }
    }

    /// Whether nothing is left of it in its one form.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folded.text.is_empty()
    }

    /// The text in each form that it can be read in.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.folded.text.as_str()).chain(self.apart())
    }

    /// The text with its names taken apart, where that makes a difference.
    #[must_use]
    pub fn apart(&self) -> Option<&str> {
        self.apart.as_deref()
    }

    /// Whether some letters are of a script whose words say nothing here.
    pub(super) fn is_foreign(&self) -> bool {
        !self.folded.text.is_ascii() && self.folded.text.chars().any(is_foreign)
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::read(text)
    }
}

/// The text with its humps written as underscores, if it has any.
fn apart(text: &str) -> Option<String> {
    // Most sentences have no capital letter that begins a word inside another, and bytes tell.
    if text.is_ascii() && !has_humps(text.as_bytes()) {
        return None;
    }
    let mut apart = String::with_capacity(text.len() + 8);
    let is_letter =
        |letter: char| letter.is_alphanumeric() || is_combining_mark(letter) || is_invisible(letter);
    for part in text.split_inclusive(|letter: char| !is_letter(letter)) {
        let end = part.trim_end_matches(|letter: char| !is_letter(letter)).len();
        let (word, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        match ONE_WORD.contains(&fold(word).text.as_str()) {
            true => apart.push_str(word),
            false => part_word(word, &mut apart),
        }
        apart.push_str(rest);
    }
    (apart.len() != text.len()).then_some(apart)
}

fn has_humps(text: &[u8]) -> bool {
    let (mut before, mut run) = (b' ', 0);
    text.iter().any(|&letter| {
        // Behind small letters and digits, or the last of several capitals.
        let humps = if letter.is_ascii_uppercase() {
            run += 1;
            before.is_ascii_lowercase() || before.is_ascii_digit()
        } else {
            let ends_a_run = run > 1 && letter.is_ascii_lowercase();
            run = 0;
            ends_a_run
        };
        before = letter;
        humps
    })
}

/// Like the words of a tool's name: "getHTTPStatus" has three. What does not show parts nothing and hides nothing.
fn part_word(word: &str, apart: &mut String) {
    let shown = |letter: &char| !is_invisible(*letter) && !is_combining_mark(*letter);
    let mut before: Option<char> = None;
    for (place, letter) in word.char_indices() {
        if shown(&letter) {
            let rest = word.get(place + letter.len_utf8()..).unwrap_or_default();
            let next_is_small = || rest.chars().find(shown).is_some_and(char::is_lowercase);
            let humps = letter.is_uppercase()
                && before.is_some_and(|before| {
                    before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_small())
                });
            if humps {
                apart.push('_');
            }
            before = Some(letter);
        }
        apart.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_where_a_capital_begins_a_word() {
        for (written, expected) in [
            ("deleteAllFiles", Some("delete_all_files")),
            ("now DropTable(users)", Some("now drop_table(users)")),
            ("getHTTPStatus2X", Some("get_http_status2_x")),
            ("ｄｒｏｐＴａｂｌｅ", Some("drop_table")),
            ("drop\u{200b}Table", Some("drop_table")),
            ("dropТable", Some("drop_table")),
            ("Deleting ALL files", None),
            ("reading README.md", None),
            ("editing JavaScript on GitHub", None),
            ("", None),
        ] {
            assert_eq!(Hint::read(written).apart(), expected, "{written}");
        }
        assert_eq!(Hint::read("deleteAll").folded, fold("deleteall"));
    }
}
