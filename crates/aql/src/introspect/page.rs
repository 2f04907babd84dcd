//! Pages of the operation list. A cursor names the operation it stands behind, so it survives additions.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use crate::{
    error::{Code, Error},
    operation::Operation,
    shared::{PAGE_DEFAULT, PAGE_MAX},
};

pub(super) struct Page<'a> {
    pub(super) operations: &'a [&'a Operation],
    /// There when a page was asked for.
    pub(super) info: Option<Value>,
}

/// Cuts the page that `first` and `after` ask for; without them everything is on it.
pub(super) fn cut<'a>(all: &'a [&'a Operation], params: &Map<String, Value>) -> Result<Page<'a>, Error> {
    let first = params.get("first").and_then(Value::as_f64).map(|first| (first as usize).min(PAGE_MAX));
    let after = params.get("after").and_then(Value::as_str);
    if first.is_none() && after.is_none() {
        return Ok(Page { operations: all, info: None });
    }
    let start = match after {
        None => 0,
        Some(cursor) => {
            let position =
                decode(cursor).and_then(|name| all.iter().position(|op| op.name().as_str() == name));
            position.ok_or_else(|| invalid_cursor(cursor))? + 1
        }
    };
    let rest = all.get(start..).unwrap_or_default();
    let operations = rest.get(..first.unwrap_or(PAGE_DEFAULT)).unwrap_or(rest);
    let mut info = json!({"hasNextPage": operations.len() < rest.len(), "hasPreviousPage": start > 0});
    if let (Value::Object(info), [first, .., last] | [first @ last]) = (&mut info, operations) {
        info.insert("startCursor".to_owned(), encode(first).into());
        info.insert("endCursor".to_owned(), encode(last).into());
    }
    Ok(Page { operations, info: Some(info) })
}

fn encode(operation: &Operation) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(operation.name().as_str())
}

fn decode(cursor: &str) -> Option<String> {
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

fn invalid_cursor(cursor: &str) -> Error {
    let message = format!("Parameter 'after' is no cursor of this list: '{cursor}'. Expected: an endCursor");
    Error::new(Code::InvalidCursor, message).with("param_name", "after").hint("Start again without 'after'.")
}
