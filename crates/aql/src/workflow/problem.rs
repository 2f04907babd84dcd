//! What is wrong with a workflow, everything at once, each fault with its place.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    error::{Code, Error},
    suggest,
};

/// Longer lists help nobody; the rest is counted.
const PROBLEMS_TOLD_MAX: usize = 50;
/// What somebody wrote is repeated in a sentence up to here.
const ECHOED_CHARS_MAX: usize = 80;

/// One fault of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands, `steps[2].params.title`.
    pub place: String,
    pub message: String,
    /// The known name closest to what was written.
    pub suggestion: Option<String>,
}

impl Problem {
    pub(super) fn new(place: &Place<'_>, message: impl Into<String>) -> Self {
        Self { place: place.to_string(), message: message.into(), suggestion: None }
    }

    /// Adds the nearest of the names that would have worked.
    pub(super) fn nearest<'a>(mut self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = suggest::nearest(given, known).map(str::to_owned);
        self
    }

    fn to_value(&self) -> Value {
        let mut value = Map::new();
        value.insert("place".to_owned(), self.place.as_str().into());
        value.insert("message".to_owned(), self.message.as_str().into());
        if let Some(suggestion) = &self.suggestion {
            value.insert("suggestion".to_owned(), suggestion.as_str().into());
        }
        Value::Object(value)
    }
}

/// All problems as the one error of the call that brought the workflow.
#[must_use]
pub fn problems_error(problems: &[Problem]) -> Error {
    let count = problems.len();
    let told: Vec<Value> = problems.iter().take(PROBLEMS_TOLD_MAX).map(Problem::to_value).collect();
    let noun = if count == 1 { "problem" } else { "problems" };
    let message = match problems.first() {
        Some(first) => format!("The workflow has {count} {noun}. In '{}': {}", first.place, first.message),
        None => "The workflow cannot be used".to_owned(),
    };
    let error = Error::new(Code::InvalidFormat, message)
        .with("format", "workflow")
        .with("problem_count", count)
        .with("problems", told);
    let mend = "Mend every entry of 'problems' and send the workflow again.";
    match problems.iter().find_map(|problem| problem.suggestion.as_deref()) {
        Some(suggestion) => error.hint(format!("Did you mean '{suggestion}'? {mend}")),
        None => error.hint(mend),
    }
}

/// A way into the workflow, kept on the stack while reading and written out only for a problem.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    around: Option<&'a Place<'a>>,
    step: Inside<'a>,
}

#[derive(Clone, Copy)]
enum Inside<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    pub(super) fn root(key: &'a str) -> Self {
        Self { around: None, step: Inside::Key(key) }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Place<'a> {
        Place { around: Some(self), step: Inside::Key(key) }
    }

    pub(super) fn index(&'a self, index: usize) -> Place<'a> {
        Place { around: Some(self), step: Inside::Index(index) }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(around) = self.around {
            around.fmt(f)?;
        }
        match self.step {
            Inside::Index(index) => write!(f, "[{index}]"),
            Inside::Key(key) if !is_plain(key) => write!(f, "[{}]", quoted(key)),
            Inside::Key(key) if self.around.is_some() => write!(f, ".{key}"),
            Inside::Key(key) => f.write_str(key),
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= ECHOED_CHARS_MAX
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'$'))
}

/// Somebody's text for a sentence: cut, and with white space made visible, so that no text can pass for more than it is.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("'");
    for (count, character) in text.chars().enumerate() {
        if count == ECHOED_CHARS_MAX {
            shown.push('…');
            break;
        }
        match character {
            ' ' => shown.push('␠'),
            c if c.is_whitespace() || c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_like_the_code_that_would_reach_them() {
        let steps = Place::root("steps");
        let third = steps.index(2);
        let params = third.key("params");
        assert_eq!(params.key("title").to_string(), "steps[2].params.title");
        assert_eq!(params.key("two words").to_string(), "steps[2].params['two␠words']");
        assert_eq!(params.key("").to_string(), "steps[2].params['']");
        assert!(params.key(&"x".repeat(10_000)).to_string().len() < 200);
    }

    #[test]
    fn problems_become_one_error_with_a_bounded_list() {
        let steps = Place::root("steps");
        let problems: Vec<Problem> =
            (0..200).map(|n| Problem::new(&steps.index(n), "wrong").nearest("nmae", ["name"])).collect();
        let error = problems_error(&problems);
        assert_eq!(error.code, Code::InvalidFormat);
        assert_eq!(error.details["problem_count"], 200);
        assert_eq!(error.details["problems"].as_array().unwrap().len(), PROBLEMS_TOLD_MAX);
        assert_eq!(error.details["problems"][1]["place"], "steps[1]");
        assert_eq!(error.details["problems"][1]["suggestion"], "name");
        assert!(error.message.contains("steps[0]"), "{}", error.message);
    }
}
