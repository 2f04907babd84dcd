//! Which parameters each operation takes, whatever it says: every documented one and many that are not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Run, requests::Source};
use crate::{
    GeneratedRequest, ParameterCase,
    answer::{at, code, list_at, message, succeeded},
    catalog::{Operation, Parameter},
};

/// A parameter that no operation has.
pub(super) const NO_SUCH_PARAMETER: &str = "conformance_unknown_parameter";

/// Undocumented names tried on one operation, the specification's own before those of other operations.
const PROBES_PER_OPERATION_MAX: usize = 60;

/// What the specification offers on many operations, so that an adapter may take it without a word.
fn cross_cutting() -> Vec<(String, Value)> {
    let names = [
        ("after", json!("cursor")),
        ("aggregate", json!({"count": true})),
        ("before", json!("cursor")),
        ("confirmation_token", json!("token")),
        ("dry_run", json!(true)),
        ("expand", json!(["owner"])),
        ("fields", json!("minimal")),
        ("filter", json!({})),
        ("first", json!(1)),
        ("if_match", json!("v0")),
        ("include", json!(["owner"])),
        ("last", json!(1)),
        ("limit", json!(1)),
        ("offset", json!(0)),
        ("page", json!(1)),
        ("page_size", json!(1)),
        ("query", json!("text")),
        ("sort", json!({})),
    ];
    names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Refused,
    /// The call failed for another reason, before or beside the question.
    Unclear,
}

impl Run<'_> {
    pub(super) fn try_parameters(&mut self) {
        let names = self.names();
        for operation in self.catalog.operations.clone() {
            let Some(base) = self.request(&operation) else { continue };
            let answer = self.call(&operation, &base);
            let generated = &mut self.live.generated_requests;
            if generated.iter().all(|request| request.operation != operation.name) {
                let (operation, params) = (operation.name.clone(), Value::Object(base));
                generated.push(GeneratedRequest { operation, params, response: answer.clone() });
            }
            let accepted = self.accepted(&operation, &answer, &names);
            self.evidence.accepted_parameters.insert(operation.name.clone(), accepted);
            self.leave_out(&operation);
            let response = self.with(&operation, NO_SUCH_PARAMETER, json!("x")).unwrap_or_default();
            self.note_fault(
                &format!("{}: unknown parameter", operation.name),
                vec![NO_SUCH_PARAMETER.to_owned()],
                &response,
            );
            self.evidence.parameter_tests.unknown_parameter.push(ParameterCase {
                operation: operation.name.clone(),
                parameter: NO_SUCH_PARAMETER.to_owned(),
                response,
            });
        }
    }

    /// Names to try where they are not documented.
    fn names(&mut self) -> Vec<(String, Value)> {
        let mut names = cross_cutting();
        for parameter in self.catalog.operations.iter().flat_map(|operation| &operation.parameters) {
            if names.iter().all(|(name, _)| *name != parameter.name) {
                let value = self.sampler.value(parameter, &self.catalog.types);
                names.push((parameter.name.clone(), value.unwrap_or_else(|| json!("text"))));
            }
        }
        names
    }

    fn accepted(&mut self, operation: &Operation, base: &Value, names: &[(String, Value)]) -> Vec<String> {
        let mut accepted = Vec::new();
        for parameter in &operation.parameters {
            let value = self.value(operation, parameter, Source::Generated).unwrap_or_else(|| json!("text"));
            let answer = self.with(operation, &parameter.name, value).unwrap_or_default();
            // Nothing speaks against a documented parameter until it is refused.
            if verdict(&parameter.name, &answer, base) != Verdict::Refused {
                accepted.push(parameter.name.clone());
            }
        }
        let documented: BTreeSet<&str> =
            operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let others = names.iter().filter(|(name, _)| !documented.contains(name.as_str()));
        for (name, value) in others.take(PROBES_PER_OPERATION_MAX) {
            let answer = self.with(operation, name, value.clone()).unwrap_or_default();
            if verdict(name, &answer, base) == Verdict::Accepted {
                accepted.push(name.clone());
            }
        }
        accepted
    }

    /// A right request with one parameter more, or with this value for it.
    pub(super) fn with(&mut self, operation: &Operation, name: &str, value: Value) -> Option<Value> {
        let mut params = self.request(operation)?;
        params.insert(name.to_owned(), value);
        Some(self.call(operation, &params))
    }

    fn leave_out(&mut self, operation: &Operation) {
        for parameter in operation.required() {
            let Some(mut params) = self.request(operation) else { return };
            params.remove(&parameter.name);
            let response = self.call(operation, &params);
            let name = format!("{}: {} missing", operation.name, parameter.name);
            self.note_fault(&name, mentions(parameter), &response);
            self.evidence.parameter_tests.missing_required.push(ParameterCase {
                operation: operation.name.clone(),
                parameter: parameter.name.clone(),
                response,
            });
        }
    }
}

fn mentions(parameter: &Parameter) -> Vec<String> {
    vec![parameter.name.clone(), parameter.kind.clone()]
}

fn verdict(name: &str, answer: &Value, base: &Value) -> Verdict {
    if succeeded(answer) {
        let warned = list_at(answer, "warnings").iter();
        let told =
            warned.filter_map(|warning| at(warning, "message").as_str()).any(|text| text.contains(name));
        return if told { Verdict::Refused } else { Verdict::Accepted };
    }
    let (code, text) = (code(answer), message(answer));
    let unknown = code.contains("UNKNOWN_PARAM")
        || (code.starts_with("VALIDATION_")
            && text.to_lowercase().contains("unknown parameter")
            && text.contains(name));
    let before_the_question = ["PERMISSION_", "CONFIRMATION_", "RATE_LIMIT", "DANGER_", "TRUST_"];
    if unknown {
        Verdict::Refused
    } else if before_the_question.iter().any(|prefix| code.starts_with(prefix))
        || (code.starts_with("VALIDATION_") && code == crate::answer::code(base))
    {
        Verdict::Unclear
    } else {
        Verdict::Accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, message: &str) -> Value {
        json!({"success": false, "error": {"code": code, "message": message}})
    }

    #[test]
    fn a_parameter_is_refused_only_when_the_answer_says_so() {
        let base = json!({"success": true, "data": {}});
        let told =
            json!({"success": true, "data": {}, "warnings": [{"code": "X", "message": "ignored 'limit'"}]});
        let cases = [
            (base.clone(), Verdict::Accepted),
            (told, Verdict::Refused),
            (failure("VALIDATION_UNKNOWN_PARAM", "Unknown parameter(s): limit"), Verdict::Refused),
            (failure("VALIDATION_FAILED", "unknown parameter 'limit'"), Verdict::Refused),
            (failure("VALIDATION_UNKNOWN_FIELD", "Unknown field(s) in 'limit': note"), Verdict::Accepted),
            (failure("VALIDATION_INVALID_TYPE", "'limit' is no number"), Verdict::Accepted),
            (failure("NOT_FOUND_RESOURCE", "no such widget"), Verdict::Accepted),
            (failure("PERMISSION_DENIED", "not for you"), Verdict::Unclear),
        ];
        for (answer, expected) in cases {
            assert_eq!(verdict("limit", &answer, &base), expected, "{answer}");
        }
        let missing = failure("VALIDATION_MISSING_PARAM", "Missing required parameter 'x'");
        assert_eq!(verdict("limit", &missing, &missing), Verdict::Unclear);
    }
}
