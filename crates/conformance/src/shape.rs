//! Which keys answers and introspection records have, as far as the specification closes them.
//!
//! A shape tells the first few deviations in words, with the place they stand in.

use serde_json::Value;

pub(crate) enum Kind {
    Anything,
    Text,
    /// Text of capitals, digits and underscores.
    Code,
    Bool,
    Number,
    Count,
    /// An object with any keys.
    Open,
    OneOf(&'static [&'static str]),
    Exactly(bool),
    List(&'static Kind),
    /// An object with these keys and no others.
    Record(&'static [Key]),
    /// An answer within an answer.
    Answer,
}

pub(crate) struct Key {
    name: &'static str,
    required: bool,
    kind: Kind,
}

const fn must(name: &'static str, kind: Kind) -> Key {
    Key { name, required: true, kind }
}

const fn may(name: &'static str, kind: Kind) -> Key {
    Key { name, required: false, kind }
}

const CATEGORIES: Kind = Kind::OneOf(&["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]);

const TYPE_INFO: Kind = Kind::Record(&[
    must("name", Kind::Text),
    must("kind", Kind::OneOf(&["enum", "object", "scalar", "union"])),
    may("description", Kind::Text),
]);

const PARAMETER: Kind = Kind::Record(&[
    must("name", Kind::Text),
    must("type", Kind::Text),
    must("required", Kind::Bool),
    may("description", Kind::Text),
    may("default", Kind::Anything),
    may("enum", Kind::List(&Kind::Anything)),
    may("minimum", Kind::Number),
    may("maximum", Kind::Number),
    may("minLength", Kind::Count),
    may("maxLength", Kind::Count),
    may("pattern", Kind::Text),
    may("format", Kind::Text),
    may("items", Kind::Open),
    may("sensitive", Kind::Bool),
]);

pub(crate) const OPERATIONS: Kind = Kind::Record(&[
    may("_protocol", Kind::Open),
    must(
        "operations",
        Kind::List(&Kind::Record(&[
            must("name", Kind::Text),
            must("semantic_category", CATEGORIES),
            must("endpoint", Kind::Text),
            must("description", Kind::Text),
        ])),
    ),
]);

pub(crate) const TYPES: Kind = Kind::Record(&[must("types", Kind::List(&TYPE_INFO))]);

pub(crate) const OPERATION: Kind = Kind::Record(&[
    must("name", Kind::Text),
    must("semantic_category", CATEGORIES),
    must("endpoint", Kind::Text),
    must("mcpTool", Kind::Text),
    must("description", Kind::Text),
    must("permissions", Kind::Record(&[must("readOnly", Kind::Bool), must("destructive", Kind::Bool)])),
    must("parameters", Kind::List(&PARAMETER)),
    must("returns", TYPE_INFO),
    may(
        "examples",
        Kind::List(&Kind::Record(&[may("description", Kind::Text), must("request", Kind::Open)])),
    ),
    may("computed_fields", Kind::List(&Kind::Open)),
    may("aggregation_support", Kind::Open),
    may("relationship_capabilities", Kind::Open),
    may("lifecycle", Kind::Open),
]);

const SUCCESS: Kind = Kind::Record(&[
    must("success", Kind::Exactly(true)),
    must("data", Kind::Anything),
    may(
        "warnings",
        Kind::List(&Kind::Record(&[
            must("code", Kind::Code),
            must("message", Kind::Text),
            may("details", Kind::Open),
            may("severity", Kind::OneOf(&["low", "medium", "high"])),
        ])),
    ),
    may("_meta", Kind::Open),
    may(
        "results",
        Kind::List(&Kind::Record(&[
            must("index", Kind::Count),
            must("operation", Kind::Text),
            must("result", Kind::Answer),
        ])),
    ),
    may(
        "summary",
        Kind::Record(&[
            must("total", Kind::Count),
            must("succeeded", Kind::Count),
            must("failed", Kind::Count),
        ]),
    ),
]);

const FAILURE: Kind = Kind::Record(&[
    must("success", Kind::Exactly(false)),
    must(
        "error",
        Kind::Record(&[must("code", Kind::Code), must("message", Kind::Text), may("details", Kind::Open)]),
    ),
    may("confirmation", Kind::Open),
    may("deprecated", Kind::Bool),
    may("deprecationMessage", Kind::Text),
    may("deprecatedSince", Kind::Text),
    may("removalVersion", Kind::Text),
]);

impl Kind {
    /// What is wrong with the value, if anything.
    pub(crate) fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(value, "answer", &mut faults);
        faults
    }

    fn check(&self, value: &Value, place: &str, faults: &mut Vec<String>) {
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                faults.push(format!("{place} is not {what}"));
            }
        };
        match self {
            Self::Anything => {}
            Self::Text => expect(value.is_string(), "text"),
            Self::Code => expect(value.as_str().is_some_and(is_code), "a code"),
            Self::Bool => expect(value.is_boolean(), "true or false"),
            Self::Number => expect(value.is_number(), "a number"),
            Self::Count => expect(value.is_u64(), "a count"),
            Self::Open => expect(value.is_object(), "an object"),
            Self::OneOf(words) => {
                let known = value.as_str().is_some_and(|word| words.contains(&word));
                expect(known, &format!("one of {}", words.join(", ")));
            }
            Self::Exactly(truth) => expect(value == truth, &truth.to_string()),
            Self::Answer => answer_at(value, place, faults),
            Self::List(kind) => match value.as_array() {
                None => expect(false, "a list"),
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        kind.check(item, &format!("{place}.{index}"), faults);
                    }
                }
            },
            Self::Record(keys) => record(keys, value, place, faults),
        }
    }
}

fn record(keys: &[Key], value: &Value, place: &str, faults: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        faults.push(format!("{place} is not an object"));
        return;
    };
    for key in keys {
        match object.get(key.name) {
            Some(value) => key.kind.check(value, &format!("{place}.{}", key.name), faults),
            None if key.required => faults.push(format!("{place}.{} is missing", key.name)),
            None => {}
        }
    }
    for name in object.keys().filter(|name| keys.iter().all(|key| key.name != *name)) {
        faults.push(format!("{place}.{name} is not expected"));
    }
}

/// What keeps an answer from being a success or a failure of the standard form.
pub(crate) fn answer(value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    answer_at(value, "answer", &mut faults);
    faults
}

fn answer_at(value: &Value, place: &str, faults: &mut Vec<String>) {
    match value.get("success").and_then(Value::as_bool) {
        Some(true) => SUCCESS.check(value, place, faults),
        Some(false) => FAILURE.check(value, place, faults),
        None => faults.push(format!("{place}.success is not true or false")),
    }
}

fn is_code(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_a_success_or_a_failure_and_never_both() {
        let good = [
            json!({"success": true, "data": null}),
            json!({"success": true, "data": {}, "warnings": [{"code": "A_B", "message": "m"}]}),
            json!({"success": false, "error": {"code": "NOT_FOUND_X", "message": "m", "details": {}}}),
        ];
        for value in good {
            assert_eq!(answer(&value), Vec::<String>::new(), "{value}");
        }
        let bad = [
            (json!({"data": 1}), "answer.success is not true or false"),
            (json!({"success": true}), "answer.data is missing"),
            (json!({"success": true, "data": 1, "error": {}}), "answer.error is not expected"),
            (json!({"success": false, "error": "text"}), "answer.error is not an object"),
            (
                json!({"success": false, "error": {"code": "lower", "message": "m"}}),
                "answer.error.code is not a code",
            ),
            (
                json!({"success": true, "data": 1, "results": [{"index": 0, "operation": "a", "result": 1}]}),
                "answer.results.0.result.success is not true or false",
            ),
        ];
        for (value, fault) in bad {
            assert_eq!(answer(&value), [fault], "{value}");
        }
    }
}
