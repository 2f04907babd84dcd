//! What somebody wrote, in the one form that patterns and words are looked for in.
//!
//! Letters that only look different become the same: case, width, accents, lookalikes of other scripts, invisible characters
//! and every kind of space. Otherwise a zero-width character would slip an action past a deny pattern.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::lookalike::{is_invisible, is_of_another_alphabet, lookalike, plain_latin, unframed};

/// A text in its one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    pub text: String,
    /// Whether something was hidden in a word: an invisible character, or a letter of another alphabet among ours.
    pub hides: bool,
}

/// Folds a text. Spaces are single, and none stands before or behind.
#[must_use]
pub fn fold(text: &str) -> Folded {
    let mut folding = Folding { text: String::with_capacity(text.len()), ..Folding::default() };
    if text.is_ascii() {
        text.chars().for_each(|letter| folding.plain(letter));
    } else {
        text.chars().map(unframed).nfkd().for_each(|letter| folding.take(letter));
    }
    folding.finish()
}

/// Folds a pattern, whose outer spaces mean something.
pub(super) fn fold_pattern(pattern: &str) -> String {
    let space = |there: bool| if there { " " } else { "" };
    let (starts, ends) = (pattern.starts_with(' '), pattern.ends_with(' '));
    format!("{}{}{}", space(starts), fold(pattern).text, space(ends))
}

#[derive(Default)]
struct Folding {
    text: String,
    space: bool,
    hides: bool,
    /// Of the word that is being read.
    has_ours: bool,
    has_others: bool,
}

impl Folding {
    fn take(&mut self, letter: char) {
        if is_combining_mark(letter) && !is_invisible(letter) {
            return;
        }
        if is_invisible(letter) {
            self.hides |= self.text.ends_with(|before: char| before.is_ascii_alphanumeric());
            return;
        }
        if letter.is_ascii() {
            return self.plain(letter);
        }
        if letter.is_whitespace() || letter.is_control() {
            return self.gap();
        }
        letter.to_lowercase().for_each(|lower| self.other(lower));
    }

    /// A small letter or a sign that is not one of ours.
    fn other(&mut self, letter: char) {
        if let Some(ours) = plain_latin(letter) {
            self.has_ours = true;
            return self.push(ours);
        }
        match lookalike(letter) {
            Some(ours) => {
                self.has_others |= ours.is_ascii_alphabetic();
                self.plain_of(ours);
            }
            None if letter.is_ascii() => self.plain_of(letter),
            None => {
                self.has_others |= is_of_another_alphabet(letter);
                self.push(letter);
            }
        }
    }

    fn plain(&mut self, letter: char) {
        if letter.is_ascii_whitespace() || letter.is_ascii_control() {
            return self.gap();
        }
        self.has_ours |= letter.is_ascii_alphabetic();
        self.plain_of(letter.to_ascii_lowercase());
    }

    fn plain_of(&mut self, letter: char) {
        if !letter.is_ascii_alphanumeric() && letter != '_' {
            self.end_word();
        }
        self.push(letter);
    }

    fn push(&mut self, letter: char) {
        if std::mem::take(&mut self.space) && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push(letter);
    }

    fn gap(&mut self) {
        self.space = true;
        self.end_word();
    }

    fn end_word(&mut self) {
        self.hides |= self.has_ours && self.has_others;
        (self.has_ours, self.has_others) = (false, false);
    }

    fn finish(mut self) -> Folded {
        self.end_word();
        Folded { text: self.text, hides: self.hides }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_becomes_the_same() {
        for (written, hides) in [
            ("RM  -RF\t/", false),
            ("rm -rf /", false),
            ("ｒｍ －ｒｆ ／", false),
            ("r\u{200b}m -rf /", true),
            ("rm\u{a0}-rf\u{3000}/", false),
            ("rm\u{2028}-rf /", false),
            ("𝐫𝐦 -𝓻𝓯 /", false),
            ("r\u{301}m -rf /", false),
            ("rм -rf /", true),
            ("RМ –rf /", true),
            ("  rm -rf /\n", false),
            ("r\u{e0072}m -rf /", true),
        ] {
            let folded = fold(written);
            assert_eq!((folded.text.as_str(), folded.hides), ("rm -rf /", hides), "{written:?}");
        }
    }

    #[test]
    fn other_languages_are_no_trick() {
        for text in ["сервер перезапустить", "読み込む notes.txt", "café résumé", "می‌خواهم", "👨‍👩‍👧 family"]
        {
            assert!(!fold(text).hides, "{text}");
        }
        for text in ["straße łódź", "the weather in Tromsø", "GitHubを読む", "GitHub에서 읽기", "ΔΕΗ bill"]
        {
            assert!(!fold(text).hides, "{text}");
        }
        assert_eq!(fold("\u{200b}\u{feff} \t").text, "");
        assert_eq!(fold("Łódź").text, "lodz");
    }

    #[test]
    fn letters_in_costume_are_read_as_what_they_are() {
        for text in ["ᴅᴇʟᴇᴛᴇ", "ᴅᴇʟᴇᴛe", "🅳🅴🅻🅴🆃🅴", "🅓🅔🅛🅔🅣🅔", "🇩🇪🇱🇪🇹🇪", "⒟⒠⒧⒠⒯⒠", "ⓓⓔⓛⓔⓣⓔ", "đełɇŧɇ", "ꭰelete"]
        {
            assert_eq!(fold(text).text, "delete", "{text}");
        }
    }

    #[test]
    fn words_of_mixed_alphabets_hide_something() {
        for text in ["dеlete", "deლete", "rեmove", "dєlete it", "ᴅelete", "wıpе", "delэte", "dəlete", "reаd"]
        {
            assert!(fold(text).hides, "{text}");
        }
    }
}
