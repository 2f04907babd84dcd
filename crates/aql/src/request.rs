//! What a caller asked for, before anything is known about the operations it names.

use serde_json::{Map, Value};

use crate::error::{Code, Error};

/// One tool call: one operation, or several in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    One(Call),
    Batch(Vec<Entry>),
}

/// One operation asked for, its parameters brought together from both places they may stand in.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub operation: String,
    pub params: Map<String, Value>,
}

/// An entry of a batch. One that is no call fails alone and keeps its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub call: Result<Call, Error>,
    /// As given, to be handed back should the batch halt before it.
    pub given: Value,
}

pub(crate) const OPERATION: &str = "operation";
const OPERATIONS: &str = "operations";
pub(crate) const PARAMS: &str = "params";

impl Request {
    /// Reads the arguments of a tool call.
    pub fn read(mut arguments: Map<String, Value>) -> Result<Self, Error> {
        match arguments.remove(OPERATIONS) {
            None => Call::read(arguments).map(Self::One),
            Some(operations) => batch(&arguments, operations).map(Self::Batch).map_err(bare),
        }
    }
}

/// A batch-level failure carries only its code and message.
fn bare(mut error: Error) -> Error {
    error.details.clear();
    error
}

fn batch(beside: &Map<String, Value>, operations: Value) -> Result<Vec<Entry>, Error> {
    if beside.contains_key(OPERATION) {
        return Err(Error::new(
            Code::UnknownParam,
            "A request holds either 'operation' or 'operations', not both",
        ));
    }
    let strays: Vec<&str> = beside.keys().map(String::as_str).filter(|key| !key.starts_with('_')).collect();
    if !strays.is_empty() {
        let message = format!("Unknown key(s) beside 'operations': {}", strays.join(", "));
        return Err(Error::new(Code::UnknownParam, message));
    }
    match operations {
        Value::Array(entries) if entries.is_empty() => {
            Err(Error::new(Code::OutOfRange, "Parameter 'operations' must hold one operation or more"))
        }
        Value::Array(entries) => Ok(entries.into_iter().map(Entry::read).collect()),
        other => Err(Error::invalid_type(OPERATIONS, "array", &other)),
    }
}

impl Entry {
    fn read(given: Value) -> Self {
        let call = match &given {
            Value::Object(object) => Call::read(object.clone()),
            other => Err(Error::invalid_type("operations[]", "object", other)),
        };
        Self { call, given }
    }

    /// The operation it names, as far as it names one.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.given.get(OPERATION).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Call {
    /// Reads `{operation, params?}`, where parameters may also stand beside `operation`; those in `params` win.
    pub fn read(mut given: Map<String, Value>) -> Result<Self, Error> {
        let operation = match given.remove(OPERATION) {
            Some(Value::String(name)) if !name.is_empty() => name,
            Some(Value::String(_)) => {
                return Err(Error::new(Code::OutOfRange, "Parameter 'operation' must be a non-empty string")
                    .with("param_name", OPERATION)
                    .hint(LIST_HINT));
            }
            Some(other) => return Err(Error::invalid_type(OPERATION, "string", &other).hint(LIST_HINT)),
            None => {
                return Err(
                    Error::missing_param("", OPERATION, "string", "the operation to perform").hint(LIST_HINT)
                );
            }
        };
        let params = match given.remove(PARAMS) {
            None => given,
            Some(Value::Object(params)) if given.is_empty() => params,
            Some(Value::Object(params)) => {
                given.extend(params);
                given
            }
            Some(other) => {
                return Err(Error::invalid_type(PARAMS, "object", &other).with_operation(&operation));
            }
        };
        Ok(Self { operation, params })
    }
}

const LIST_HINT: &str =
    "List all operations with { operation: \"introspect\", params: { query: \"operations\" } }.";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<Request, Error> {
        Request::read(arguments.as_object().unwrap().clone())
    }

    fn one(arguments: Value) -> Call {
        match read(arguments).unwrap() {
            Request::One(call) => call,
            Request::Batch(_) => panic!("not a batch"),
        }
    }

    /// REQ-PARAM-02 REQ-REQ-05
    #[test]
    fn params_win_over_the_same_name_beside_operation() {
        let call =
            one(json!({"operation": "get_item", "item_id": "2", "other": 1, "params": {"item_id": "1"}}));
        assert_eq!(Value::Object(call.params), json!({"item_id": "1", "other": 1}));
        assert!(one(json!({"operation": "list_items"})).params.is_empty());
    }

    /// REQ-REQ-02 REQ-REQ-06
    #[test]
    fn operation_is_a_non_empty_string_and_params_an_object() {
        for (arguments, code, name) in [
            (json!({"params": {}}), Code::MissingParam, "operation"),
            (json!({"operation": ""}), Code::OutOfRange, "operation"),
            (json!({"operation": 7}), Code::InvalidType, "operation"),
            (json!({"operation": "x", "params": [1]}), Code::InvalidType, "params"),
            (json!({"operation": "x", "params": "x"}), Code::InvalidType, "params"),
        ] {
            let error = read(arguments.clone()).unwrap_err();
            assert_eq!((error.code, &error.details["param_name"]), (code, &json!(name)), "{arguments}");
        }
        let error = read(json!({"operation": 7})).unwrap_err();
        assert_eq!(
            (&error.details["expected_type"], &error.details["actual_type"]),
            (&json!("string"), &json!("number"))
        );
    }

    /// REQ-BATCH-06 REQ-BATCH-14
    #[test]
    fn only_a_malformed_batch_fails_as_a_whole() {
        for arguments in [
            json!({"operations": "x"}),
            json!({"operations": []}),
            json!({"operations": [{"operation": "x"}], "operation": "x"}),
            json!({"operations": [{"operation": "x"}], "mode": "skip"}),
        ] {
            let error = read(arguments.clone()).unwrap_err();
            assert!(error.details.is_empty(), "{arguments}");
        }
        let Request::Batch(entries) =
            read(json!({"operations": [{"operation": "x"}, {}, 3], "_meta": {}})).unwrap()
        else {
            panic!("a batch")
        };
        assert_eq!(entries.iter().map(|e| e.call.is_ok()).collect::<Vec<_>>(), [true, false, false]);
    }
}
