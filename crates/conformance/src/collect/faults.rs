//! Calls that break one documented rule each, for what the answers say.

use serde_json::{Map, Value};

use super::Run;
use crate::{ConstraintCase, ErrorCase, answer::succeeded, sample};

/// An operation that no adapter has.
pub(super) const NO_SUCH_OPERATION: &str = "conformance_no_such_operation";

impl Run<'_> {
    pub(super) fn try_faults(&mut self) {
        for operation in self.catalog.operations.clone() {
            for parameter in &operation.parameters {
                for violation in sample::violations(parameter) {
                    let Some(response) = self.with(&operation, &parameter.name, violation.value) else {
                        break;
                    };
                    let name = format!("{}: {} of {}", operation.name, violation.kind, parameter.name);
                    let mut mention = vec![parameter.name.clone()];
                    mention.extend(violation.mention);
                    self.note_fault(&name, mention, &response);
                    self.note_constraint(name, true, response);
                }
            }
        }
        let tool = self.catalog.tool.clone();
        let response = self.call_through(&tool, NO_SUCH_OPERATION, &Map::new());
        self.note_fault("unknown operation", vec![NO_SUCH_OPERATION.to_owned()], &response);
    }

    /// A fault that was not noticed says nothing about messages; other checks tell of it.
    pub(super) fn note_fault(&mut self, name: &str, must_mention: Vec<String>, response: &Value) {
        if !succeeded(response) {
            let (name, response) = (name.to_owned(), response.clone());
            self.evidence.error_tests.push(ErrorCase { name, must_mention, response });
        }
    }

    pub(super) fn note_constraint(&mut self, name: String, documented: bool, response: Value) {
        self.evidence.constraint_tests.push(ConstraintCase { name, documented, response });
    }
}
