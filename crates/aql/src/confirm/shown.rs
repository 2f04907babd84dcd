//! A call's parameters as a person may see them and as they may be written down.

use serde_json::{Map, Value};

use crate::{adopt::is_secret_name, operation::Operation};

/// What stands where something secret stood.
const HIDDEN: &str = "[redacted]";
/// A text beyond this is cut, and says so: whoever decides must know that there is more.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Everything together beyond this is cut as well.
const BYTES_MAX: usize = 64 * 1024;

/// The parameters without what is declared sensitive, what is called like a secret, and the tail of what is very long.
#[must_use]
pub fn shown(operation: &Operation, params: &Map<String, Value>) -> Value {
    let mut room = BYTES_MAX;
    let shown = params.iter().map(|(name, value)| {
        let declared = operation.params().iter().any(|param| param.name() == name && param.is_sensitive());
        (name.clone(), member(name, value, declared, &mut room))
    });
    Value::Object(shown.collect())
}

fn member(name: &str, value: &Value, sensitive: bool, room: &mut usize) -> Value {
    *room = room.saturating_sub(name.len() + 8);
    if sensitive || (is_secret_name(name) && !matches!(value, Value::Bool(_) | Value::Null)) {
        return HIDDEN.into();
    }
    cut(value, room)
}

fn cut(value: &Value, room: &mut usize) -> Value {
    if *room == 0 {
        return "[more is not shown]".into();
    }
    match value {
        Value::String(text) => {
            let most = TEXT_BYTES_MAX.min(*room);
            *room = room.saturating_sub(text.len() + 4);
            if text.len() <= most {
                return value.clone();
            }
            let end = text.floor_char_boundary(most);
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept} [{} more bytes are not shown]", text.len() - end).into()
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| cut(item, room)).collect()),
        Value::Object(members) => {
            let shown = members.iter().map(|(name, value)| (name.clone(), member(name, value, false, room)));
            Value::Object(shown.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            *room = room.saturating_sub(8);
            value.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        category::Category,
        define::{self, Param},
        registry::Registry,
    };

    /// LREQ-DANGER-15
    #[test]
    fn secrets_are_hidden_and_what_is_cut_is_told() {
        let operation = define::Operation::new(Category::Delete, "delete_item", "Delete an item")
            .param(Param::new("pin", "string", "A pin").sensitive())
            .param(Param::new("options", "object", "Options"));
        let registry = Registry::builder("test").operation(operation).build().unwrap();
        let operation = registry.get(registry.id("delete_item").unwrap()).unwrap();
        let long = "x".repeat(10_000);
        let params = json!({"pin": "1234", "options": {"api_key": "abc", "list": [long, 1], "force": true}});
        let shown = shown(operation, params.as_object().unwrap());
        assert_eq!(shown["pin"], "[redacted]");
        assert_eq!(shown["options"]["api_key"], "[redacted]");
        assert_eq!(shown["options"]["force"], true);
        let text = shown["options"]["list"][0].as_str().unwrap();
        assert!(text.ends_with("[1808 more bytes are not shown]"), "{text}");
        let huge = json!({"options": {"list": vec!["y".repeat(8_000); 20]}});
        assert!(super::shown(operation, huge.as_object().unwrap()).to_string().len() < 80_000);
    }
}
