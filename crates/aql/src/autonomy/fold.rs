//! What somebody wrote, in the one form that patterns and words are looked for in.
//!
//! Letters that only look different become the same: case, width, accents, lookalikes of other scripts, invisible characters
//! and every kind of space. Otherwise a zero-width character would slip an action past a deny pattern.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// A text in its one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    pub text: String,
    /// Whether something was hidden in a word: an invisible character, or a letter that looks like one of ours.
    pub hides: bool,
}

/// Folds a text. Spaces are single, and none stands before or behind.
#[must_use]
pub fn fold(text: &str) -> Folded {
    let mut folding = Folding { text: String::with_capacity(text.len()), ..Folding::default() };
    if text.is_ascii() {
        text.chars().for_each(|letter| folding.plain(letter));
    } else {
        text.nfkd().for_each(|letter| folding.take(letter));
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
    has_lookalike: bool,
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
        match lookalike(letter) {
            Some(ours) => {
                self.has_lookalike |= ours.is_ascii_alphabetic();
                self.plain_of(ours);
            }
            None if letter.is_ascii() => self.plain(letter),
            None if letter.is_whitespace() || letter.is_control() => self.gap(),
            None => letter.to_lowercase().for_each(|lower| match lookalike(lower) {
                Some(ours) => {
                    self.has_lookalike = true;
                    self.plain_of(ours);
                }
                None => self.push(lower),
            }),
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
        self.hides |= self.has_ours && self.has_lookalike;
        (self.has_ours, self.has_lookalike) = (false, false);
    }

    fn finish(mut self) -> Folded {
        self.end_word();
        Folded { text: self.text, hides: self.hides }
    }
}

/// What shows nothing where it stands.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The letter of ours that another one looks like. Capital letters are looked up as small ones.
fn lookalike(letter: char) -> Option<char> {
    const ALIKE: [(char, char); 62] = [
        ('а', 'a'),
        ('ɑ', 'a'),
        ('α', 'a'),
        ('в', 'b'),
        ('ь', 'b'),
        ('с', 'c'),
        ('ϲ', 'c'),
        ('ԁ', 'd'),
        ('ɗ', 'd'),
        ('е', 'e'),
        ('ё', 'e'),
        ('ε', 'e'),
        ('є', 'e'),
        ('ɡ', 'g'),
        ('ց', 'g'),
        ('һ', 'h'),
        ('н', 'h'),
        ('հ', 'h'),
        ('і', 'i'),
        ('ı', 'i'),
        ('ι', 'i'),
        ('ɩ', 'i'),
        ('ј', 'j'),
        ('ϳ', 'j'),
        ('к', 'k'),
        ('κ', 'k'),
        ('ӏ', 'l'),
        ('ⅼ', 'l'),
        ('ɫ', 'l'),
        ('м', 'm'),
        ('п', 'n'),
        ('ո', 'n'),
        ('η', 'n'),
        ('о', 'o'),
        ('ο', 'o'),
        ('օ', 'o'),
        ('ø', 'o'),
        ('р', 'p'),
        ('ρ', 'p'),
        ('ԛ', 'q'),
        ('г', 'r'),
        ('ѕ', 's'),
        ('т', 't'),
        ('τ', 't'),
        ('υ', 'u'),
        ('ս', 'u'),
        ('ν', 'v'),
        ('ѵ', 'v'),
        ('ԝ', 'w'),
        ('ω', 'w'),
        ('х', 'x'),
        ('χ', 'x'),
        ('у', 'y'),
        ('γ', 'y'),
        ('ү', 'y'),
        ('ʐ', 'z'),
        ('‐', '-'),
        ('‑', '-'),
        ('–', '-'),
        ('—', '-'),
        ('−', '-'),
        ('∗', '*'),
    ];
    if letter.is_ascii() {
        return None;
    }
    ALIKE.iter().find(|(other, _)| *other == letter).map(|(_, ours)| *ours)
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
        assert_eq!(fold("\u{200b}\u{feff} \t").text, "");
    }
}
