//! Declared defaults fill in what was left out, last of all, so that a misspelt name is never taken for an omission.

use serde_json::{Map, Value};

use crate::param::Param;

pub(super) fn apply(declared: &[Param], params: &mut Map<String, Value>) {
    for param in declared {
        if let Some(default) = &param.default
            && !params.contains_key(&param.name)
        {
            params.insert(param.name.clone(), default.clone());
        }
    }
}
