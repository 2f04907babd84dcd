//! Pages of the operation list. A cursor is the name of the operation it stands behind: it survives additions, and costs
//! a model as little as a cursor can.

use serde_json::{Map, Value, json};

use crate::{
    error::{Code, Error},
    operation::Operation,
    shared::{PAGE_DEFAULT, PAGE_MAX},
};

pub(super) struct Page<'a> {
    pub(super) operations: &'a [&'a Operation],
    /// There when a page was asked for, or a search found more.
    pub(super) info: Option<Value>,
}

/// Hits of a search when nobody says how many: the right one is among the first, or another search finds it.
const HITS_DEFAULT: usize = 10;

/// Cuts the page that `first` and `after` ask for; without them everything is on it, or the best hits of a search.
pub(super) fn cut<'a>(all: &'a [&'a Operation], params: &Map<String, Value>) -> Result<Page<'a>, Error> {
    let first = params.get("first").and_then(Value::as_f64).map(|first| (first as usize).min(PAGE_MAX));
    let after = params.get("after").and_then(Value::as_str);
    let searched = params.contains_key("search");
    let whole = !searched || all.len() <= HITS_DEFAULT;
    if first.is_none() && after.is_none() && whole {
        return Ok(Page { operations: all, info: None });
    }
    let usual = if searched { HITS_DEFAULT } else { PAGE_DEFAULT };
    let start = match after {
        None => 0,
        Some(cursor) => {
            let position = all.iter().position(|operation| operation.name().as_str() == cursor);
            position.ok_or_else(|| invalid_cursor(cursor))? + 1
        }
    };
    let rest = all.get(start..).unwrap_or_default();
    let operations = rest.get(..first.unwrap_or(usual)).unwrap_or(rest);
    let more = operations.len() < rest.len();
    let mut info = json!({"hasNextPage": more, "hasPreviousPage": start > 0});
    if let (Value::Object(info), Some(last), true) = (&mut info, operations.last(), more) {
        info.insert("endCursor".to_owned(), last.name().as_str().into());
    }
    Ok(Page { operations, info: Some(info) })
}

fn invalid_cursor(cursor: &str) -> Error {
    let message = format!("Parameter 'after' is no cursor of this list: '{cursor}'. Expected: an endCursor");
    Error::new(Code::InvalidCursor, message).with("param_name", "after").hint("Start again without 'after'.")
}
