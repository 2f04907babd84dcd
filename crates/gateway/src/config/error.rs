//! What is wrong with a configuration, and where: a place, one sentence, and the next step apart from it.

use std::{fmt, ops::Range};

use super::mask;

/// Where a mistake stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the configuration file, at these bytes; `None` where the file as a whole is at fault.
    File(Option<Range<usize>>),
    /// In an environment variable.
    Variable(&'static str),
    /// In a command-line flag.
    Flag(&'static str),
    /// Nowhere in particular, as when something needed was given by nobody.
    Unsaid,
}

/// One mistake in the configuration. It carries what a report with a snippet needs: the file's name as given, its text
/// with secrets covered, and the bytes at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    place: Place,
    message: String,
    help: Option<String>,
    source: Option<Source>,
}

/// A configuration file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// The name as the operator gave it.
    pub(super) name: String,
    /// Empty if the file is no text or too large to show.
    pub(super) text: String,
}

/// A message quotes what was given, which may be a megabyte; more than this helps nobody.
const SENTENCE_CHARS_MAX: usize = 600;

impl Error {
    pub(super) fn new(place: Place, message: impl fmt::Display) -> Self {
        let message = printable(&message.to_string());
        Self(Box::new(Inner { place, message, help: None, source: None }))
    }

    /// A mistake at these bytes of the file.
    pub(super) fn at(span: Range<usize>, message: impl fmt::Display) -> Self {
        Self::new(Place::File(Some(span)), message)
    }

    pub(super) fn help_with(mut self, help: impl fmt::Display) -> Self {
        self.0.help = Some(printable(&help.to_string()));
        self
    }

    /// Names the file that a mistake in "the file" is in. Mistakes elsewhere stay as they are.
    pub(super) fn in_source(mut self, source: &Source) -> Self {
        if matches!(self.0.place, Place::File(_)) && self.0.source.is_none() {
            let text = mask::masked(&source.name, &source.text);
            self.0.source = Some(Source { name: source.name.clone(), text });
        }
        self
    }

    /// For a value that went the way of the file but stands in none.
    pub(super) fn elsewhere(mut self) -> Self {
        self.0.place = Place::Unsaid;
        self
    }

    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The mistake in one sentence, without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The file's name as it was given.
    #[must_use]
    pub fn source_name(&self) -> Option<&str> {
        self.0.source.as_ref().map(|source| source.name.as_str())
    }

    /// The whole text of the file that [`span`](Self::span) counts in.
    #[must_use]
    pub fn source_text(&self) -> Option<&str> {
        self.0.source.as_ref().map(|source| source.text.as_str()).filter(|text| !text.is_empty())
    }

    /// The bytes at fault.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        match &self.0.place {
            Place::File(span) => span.clone(),
            Place::Variable(_) | Place::Flag(_) | Place::Unsaid => None,
        }
    }

    /// The line and the column where the bytes at fault begin, both from one, the column in characters.
    #[must_use]
    pub fn line_column(&self) -> Option<(usize, usize)> {
        self.line_column_in(self.source_text()?)
    }

    /// The same for a text that the error does not carry.
    pub(crate) fn line_column_in(&self, text: &str) -> Option<(usize, usize)> {
        let before = text.get(..self.span()?.start)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..)?.chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::File(_) => {
                if let Some(name) = self.source_name() {
                    write!(f, "{name}:")?;
                    if let Some((line, column)) = self.line_column() {
                        write!(f, "{line}:{column}:")?;
                    }
                    f.write_str(" ")?;
                }
            }
            Place::Variable(name) => write!(f, "environment variable '{name}': ")?,
            Place::Flag(name) => write!(f, "flag '{name}': ")?,
            Place::Unsaid => {}
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

/// A file may hold anything, and this goes to a terminal.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SENTENCE_CHARS_MAX));
    for (count, character) in text.chars().enumerate() {
        if count == SENTENCE_CHARS_MAX {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { name: "a.toml".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn places_are_told_by_line_and_character() {
        for (text, start, expected) in [
            ("abc", 0, "a.toml:1:1: m"),
            ("a\nbc", 3, "a.toml:2:2: m"),
            ("é\né = 1", 5, "a.toml:2:2: m"),
            ("a\n", 2, "a.toml:2:1: m"),
            ("a\r\nb", 3, "a.toml:2:1: m"),
            ("abc", 99, "a.toml: m"),
            ("é", 1, "a.toml: m"),
        ] {
            let error = Error::at(start..start, "m").in_source(&source(text));
            assert_eq!(error.to_string(), expected, "{text:?} at {start}");
        }
    }

    #[test]
    fn a_mistake_elsewhere_is_not_blamed_on_the_file() {
        let error = Error::new(Place::Variable("V"), "m").in_source(&source("abc"));
        assert_eq!((error.to_string().as_str(), error.source_name()), ("environment variable 'V': m", None));
        assert_eq!(Error::new(Place::Flag("--f"), "m").to_string(), "flag '--f': m");
    }

    #[test]
    fn what_is_quoted_is_short_and_printable() {
        let error = Error::new(Place::Unsaid, format!("'\u{1b}[2J\u{7}{}'", "x".repeat(1_000_000)));
        assert!(error.message().starts_with(r"'\u{1b}[2J\u{7}xxx"), "{error}");
        assert!(error.message().ends_with('…') && error.message().chars().count() < 700);
    }
}
