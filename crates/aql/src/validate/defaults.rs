//! Declared defaults fill in what was left out, last of all, so that a misspelt name is never taken for an omission.

use serde_json::{Map, Value};

use crate::operation::Operation;

pub(super) fn apply(operation: &Operation, params: &mut Map<String, Value>) {
    // Another server knows its own defaults, and may take an omission for something else than the value it publishes.
    if operation.server.is_some() {
        return;
    }
    for param in &operation.params {
        if let Some(default) = &param.default
            && !params.contains_key(&param.name)
            // A query reads its own defaults: `first` filled in would stand beside every `last`.
            && !operation.is_control(&param.name)
        {
            params.insert(param.name.clone(), default.clone());
        }
    }
}
