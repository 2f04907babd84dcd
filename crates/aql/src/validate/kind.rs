//! Every value has the JSON type its parameter declares.

use serde_json::{Map, Value};

use super::{Scope, each_described};
use crate::{error::Error, param::Param};

/// Longer values are left out of errors; the caller has them anyway.
const ECHOED_VALUE_BYTES_MAX: usize = 200;

pub(super) fn check(scope: Scope<'_>, params: &Map<String, Value>) -> Result<(), Error> {
    each_described(scope, &scope.operation.params, params, &mut |path, param, value| {
        if accepts(param, value) { Ok(()) } else { Err(mismatch(scope, path, param, value)) }
    })
}

fn accepts(param: &Param, value: &Value) -> bool {
    (value.is_null() && param.nullable) || param.kind.shapes.iter().any(|shape| shape.accepts(value))
}

fn mismatch(scope: Scope<'_>, path: &str, param: &Param, value: &Value) -> Error {
    let error = Error::invalid_type(path, &param.kind.text, value);
    let echoed = value.to_string();
    if scope.hides(path, param) || value.is_null() || echoed.len() > ECHOED_VALUE_BYTES_MAX {
        error
    } else {
        error.with("value", value.clone())
    }
}
