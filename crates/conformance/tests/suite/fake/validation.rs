//! What the adapter takes and what it refuses.

use serde_json::{Map, Value};

use super::{Fake, Fault, failure};

impl Fake {
    fn accepts(&self, operation: &str, name: &str) -> bool {
        let documented = self.parameters(operation).iter().any(|parameter| parameter["name"] == name);
        match self.fault {
            Fault::DocumentsRefused => documented && name != "sort",
            Fault::AcceptsUndocumented => documented || (operation == "list_widgets" && name == "limit"),
            _ => documented,
        }
    }

    /// What is wrong with the parameters, in the order presence, type, unknown, constraint.
    pub(super) fn refusal(&self, operation: &str, params: &Map<String, Value>) -> Option<Value> {
        let documented = self.parameters(operation);
        let named = |name: &str| match self.fault {
            Fault::NamesNoParameter => "something".to_owned(),
            _ => format!("'{name}'"),
        };
        for parameter in documented.iter().filter(|parameter| parameter["required"] == true) {
            let name = parameter["name"].as_str().unwrap();
            if !params.contains_key(name) && !self.has(Fault::DoesWithoutRequired) {
                let inside = if self.has(Fault::LeaksInside) { " at Widget.check" } else { "" };
                let message =
                    format!("Missing required parameter '{name}'. Expected: {}{inside}", parameter["type"]);
                return Some(failure("VALIDATION_MISSING_PARAM", message));
            }
        }
        for (name, value) in params {
            if !self.accepts(operation, name) && !self.has(Fault::PassesOverUnknown) {
                return Some(failure("VALIDATION_UNKNOWN_PARAM", format!("Unknown parameter '{name}'")));
            }
            let Some(parameter) = documented.iter().find(|parameter| parameter["name"] == *name) else {
                continue;
            };
            let kind = parameter["type"].as_str().unwrap();
            let fits = match kind {
                "string" => value.is_string(),
                "integer" => value.is_i64(),
                "object" => value.is_object(),
                _ => true,
            };
            if !fits {
                return Some(failure("VALIDATION_INVALID_TYPE", format!("{} must be a {kind}", named(name))));
            }
            if let Some(rule) = self.broken_rule(parameter, value) {
                return Some(failure("VALIDATION_CONSTRAINT", format!("{} must keep {rule}", named(name))));
            }
        }
        None
    }

    fn broken_rule(&self, parameter: &Value, value: &Value) -> Option<String> {
        let allowed = parameter["enum"].as_array();
        if allowed.is_some_and(|allowed| !allowed.contains(value)) {
            return Some(parameter["enum"].to_string());
        }
        if parameter["name"] == "size" && !(1..=9).contains(&value.as_i64()?) {
            return (!self.has(Fault::IgnoresMaximum)).then(|| "1 to 9".to_owned());
        }
        let text = value.as_str().filter(|_| parameter["name"] == "widget_name")?;
        let right = (2..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_lowercase());
        (!right).then(|| "2 to 40 of ^[a-z]+$".to_owned())
    }
}
