//! Whether failures help whoever meets them, and tell nothing of what is inside.

use serde_json::Value;

use crate::{
    Evidence,
    answer::{failed, message},
    report::Test,
    shape,
};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    vec![form(bundle), leaks(bundle), usefulness(bundle)]
}

fn form(bundle: &Evidence) -> Test {
    let cases = bundle.error_tests.iter();
    let faults: Vec<String> = cases
        .flat_map(|case| {
            shape::answer(&case.response).into_iter().map(|fault| format!("{}: {fault}", case.name))
        })
        .collect();
    let count = bundle.error_tests.len();
    Test::faultless("Failures have the standard form", &faults, format!("{count} do"))
}

/// Of every failure in the bundle, not only of those that were made for their messages.
fn leaks(bundle: &Evidence) -> Test {
    let parameters = &bundle.parameter_tests;
    let mut answers: Vec<(&str, &Value)> =
        bundle.error_tests.iter().map(|case| (case.name.as_str(), &case.response)).collect();
    for case in parameters.missing_required.iter().chain(&parameters.unknown_parameter) {
        answers.push((&case.operation, &case.response));
    }
    answers.extend(bundle.constraint_tests.iter().map(|case| (case.name.as_str(), &case.response)));
    if let Some(live) = &bundle.live {
        answers.extend(live.generated_requests.iter().map(|case| (case.operation.as_str(), &case.response)));
        answers.extend(live.misrouted_calls.iter().map(|case| (case.operation.as_str(), &case.response)));
    }
    let failures = answers.into_iter().filter(|(_, answer)| failed(answer));
    let leaking = failures.filter(|(_, answer)| leak(message(answer)));
    let faults: Vec<String> =
        leaking.map(|(name, answer)| format!("{name}: \"{}\"", message(answer))).collect();
    Test::faultless(
        "Messages tell nothing of the inside",
        &faults,
        "none names a path, a frame or a language",
    )
}

fn usefulness(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    for case in &bundle.error_tests {
        let message = message(&case.response);
        let missing: Vec<&str> = case
            .must_mention
            .iter()
            .filter(|word| !message.contains(word.as_str()))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            faults.push(format!("{} does not mention {}", case.name, missing.join(", ")));
        }
    }
    Test::unblemished("Messages say what to put right", &faults, "each names what is concerned")
}

/// What the published patterns look for, and what this project's own language would leave behind.
fn leak(message: &str) -> bool {
    const WORDS: [&str; 7] =
        ["typeerror", "referenceerror", "syntaxerror", "/src/", "/node_modules/", "panicked", "backtrace"];
    let lower = message.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        || [".ts:", ".js:", ".rs:", ".py:"]
            .iter()
            .any(|ending| followed_by(&lower, ending, |c| c.is_ascii_digit()))
        || looks_like_a_frame(&lower)
}

fn followed_by(text: &str, what: &str, next: fn(char) -> bool) -> bool {
    text.match_indices(what)
        .any(|(at, _)| text.get(at + what.len()..).is_some_and(|rest| rest.starts_with(next)))
}

/// "at" and another word, as in a stack trace; the published pattern also meets it as the end of a word.
fn looks_like_a_frame(text: &str) -> bool {
    text.match_indices("at").any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or_default();
        rest.starts_with(char::is_whitespace) && !rest.trim_start().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_found_and_plain_words_are_not() {
        for message in [
            "TypeError: x is undefined",
            "failed at Object.run",
            "must be at least 3",
            "see /src/widget",
            "widget.ts:12",
            "thread panicked",
            "main.rs:7: oh",
        ] {
            assert!(leak(message), "{message}");
        }
        for message in ["Parameter 'format' expected", "what", "widget.ts: no line", "data, not text"] {
            assert!(!leak(message), "{message}");
        }
    }
}
