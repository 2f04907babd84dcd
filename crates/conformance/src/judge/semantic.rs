//! Whether a model that was asked found the way, from what it said and called.
//!
//! Two readings, as the specification has it: words that have to stand there, and what they and the calls
//! amount to. The second decides; the first alone missing is a warning about the first.

use serde_json::Value;

use crate::{
    Evidence, SemanticCase,
    answer::{at, text_at},
    report::Test,
};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    if bundle.semantic_tests.is_empty() {
        return vec![Test::skip("A model finds its way", "the bundle holds no model's words")];
    }
    bundle.semantic_tests.iter().map(judge).collect()
}

fn judge(case: &SemanticCase) -> Test {
    let said = plain(&case.response_text);
    let says = |phrase: &String| said.contains(&plain(phrase));
    let calls =
        |operation: &String| case.tool_calls.iter().any(|call| text_at(call, "operation") == operation);
    let gives = |parameter: &String| {
        let mut given = case.tool_calls.iter().map(|call| plain(&Value::to_string(at(call, "params"))));
        given.any(|params| params.contains(&plain(parameter)))
    };
    let wanted = &case.semantic;
    let understood = wanted.phrase_groups.iter().all(|group| group.iter().any(says))
        && wanted.expected_operations.iter().all(calls)
        && wanted.expected_parameters.iter().all(|parameter| gives(parameter) || says(parameter));
    let worded = case.structural.required_patterns.iter().all(says);
    let name = case.name.as_str();
    match (understood, worded) {
        (true, true) => Test::pass(name, "the words and their meaning are right"),
        (true, false) => Test::unblemished(name, &["the meaning is right in other words".to_owned()], ""),
        (false, true) => Test::faultless(name, &["the words are there, the meaning is not".to_owned()], ""),
        (false, false) => Test::faultless(name, &["neither words nor meaning are right".to_owned()], ""),
    }
}

/// Lower case, with one space for whatever stands between words.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Outcome;

    fn case(text: &str, operation: &str) -> SemanticCase {
        serde_json::from_value(json!({
            "name": "selection",
            "response_text": text,
            "tool_calls": [{"operation": operation, "params": {"name": "get_widget"}}],
            "structural": {"required_patterns": ["fields parameter"]},
            "semantic": {
                "phrase_groups": [["select", "choose"], ["get_widget"]],
                "expected_operations": ["introspect"],
                "expected_parameters": ["get_widget"],
            },
        }))
        .unwrap()
    }

    #[test]
    fn the_meaning_decides_and_missing_words_only_warn() {
        for (text, operation, expected) in [
            ("Select with the `fields` parameter of get_widget.", "introspect", Outcome::Pass),
            ("You choose what get_widget gives.", "introspect", Outcome::Warn),
            ("Select with the fields parameter of get_widget.", "list_widgets", Outcome::Fail),
            ("No idea.", "introspect", Outcome::Fail),
        ] {
            assert_eq!(judge(&case(text, operation)).result, expected, "{text}");
        }
    }
}
