//! Reading `aggregate`.

use serde_json::{Map, Value};

use super::{Expression, Function};
use crate::{
    error::Error,
    limits::Limit,
    query::{
        collection::{Collection, Use},
        path::Target,
        refuse,
    },
};

/// How many labels one query may have.
pub const AGGREGATIONS_MAX: usize = 20;
const LABELS: Limit = Limit {
    key: "aggregations",
    limit_type: "aggregations",
    unit: "labels",
    default: AGGREGATIONS_MAX,
    range: AGGREGATIONS_MAX..=AGGREGATIONS_MAX,
};

/// What an expression can hold, as introspection lists it.
pub const FUNCTIONS: [&str; 6] = ["count", "group_by", "sum", "avg", "min", "max"];

pub(in crate::query) fn read(given: &Value, collection: &Collection) -> Result<Vec<Expression>, Error> {
    let Value::Object(labels) = given else { return Err(Error::invalid_type("aggregate", "object", given)) };
    if labels.is_empty() {
        return Err(refuse::empty("aggregate", "one label or more").hint(EXAMPLE));
    }
    if labels.len() > AGGREGATIONS_MAX {
        return Err(refuse::too_large(&LABELS, "aggregate", labels.len()));
    }
    labels.iter().map(|(label, given)| expression(label, given, collection)).collect()
}

type Make = fn(Target) -> Function;

const EXAMPLE: &str =
    "Write {\"total\": {\"count\": true}} or {\"by_x\": {\"group_by\": \"x\", \"count\": true}}.";

fn expression(label: &str, given: &Value, collection: &Collection) -> Result<Expression, Error> {
    let place = format!("aggregate.{label}");
    let Value::Object(parts) = given else {
        return Err(Error::invalid_type(&place, "object", given).hint(EXAMPLE));
    };
    if let Some(stray) = parts.keys().find(|key| !FUNCTIONS.contains(&key.as_str())) {
        return Err(refuse::unknown_key(&place, stray, &FUNCTIONS));
    }
    let mut functions = Vec::new();
    match parts.get("count") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => functions.push(Function::Count),
        Some(other) => return Err(Error::invalid_type(&format!("{place}.count"), "boolean", other)),
    }
    let makers: [(&str, Use, Make); 4] = [
        ("sum", Use::Sum, Function::Sum),
        ("avg", Use::Sum, Function::Avg),
        ("min", Use::Extreme, Function::Min),
        ("max", Use::Extreme, Function::Max),
    ];
    for (key, wanted, make) in makers {
        functions.extend(target(&place, parts, key, wanted, collection)?.map(make));
    }
    let group_by = target(&place, parts, "group_by", Use::Group, collection)?;
    if functions.is_empty() {
        return Err(refuse::empty(&place, "one of: count, sum, avg, min, max")
            .with("valid_fields", FUNCTIONS.to_vec())
            .hint("Add \"count\": true."));
    }
    Ok(Expression { label: label.to_owned(), group_by, functions })
}

fn target(
    place: &str,
    parts: &Map<String, Value>,
    key: &str,
    wanted: Use,
    collection: &Collection,
) -> Result<Option<Target>, Error> {
    let param = format!("{place}.{key}");
    match parts.get(key) {
        None => Ok(None),
        Some(Value::String(path)) => match collection.target(path, wanted) {
            Ok((target, _)) => Ok(Some(target)),
            Err(why) => Err(refuse::unusable_path(collection, wanted, &param, path, why)),
        },
        Some(other) => Err(Error::invalid_type(&param, "string", other)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{error::Code, query::fixture};

    /// LREQ-AGG-04
    #[test]
    fn unsupported_functions_and_fields_are_refused_by_name() {
        for (given, code, param, hint) in [
            (json!([]), Code::InvalidType, "aggregate", ""),
            (json!({}), Code::OutOfRange, "aggregate", EXAMPLE),
            (json!({"x": 5}), Code::InvalidType, "aggregate.x", EXAMPLE),
            (json!({"x": {}}), Code::OutOfRange, "aggregate.x", "Add \"count\": true."),
            (json!({"x": {"count": false}}), Code::OutOfRange, "aggregate.x", "Add \"count\": true."),
            (json!({"x": {"group_by": "status"}}), Code::OutOfRange, "aggregate.x", "Add \"count\": true."),
            (json!({"x": {"count": 1}}), Code::InvalidType, "aggregate.x.count", ""),
            (json!({"x": {"median": "priority"}}), Code::UnknownField, "aggregate.x.median", ""),
            (
                json!({"x": {"groupby": "status"}}),
                Code::UnknownField,
                "aggregate.x.groupby",
                "Did you mean 'group_by'?",
            ),
            (json!({"x": {"sum": 5}}), Code::InvalidType, "aggregate.x.sum", ""),
            (
                json!({"x": {"sum": "title"}}),
                Code::InvalidEnum,
                "aggregate.x.sum",
                "'title' cannot be summed, for it is not numeric.",
            ),
            (
                json!({"x": {"avg": "priorty"}}),
                Code::InvalidEnum,
                "aggregate.x.avg",
                "Did you mean 'priority'?",
            ),
            (
                json!({"x": {"min": "tags"}}),
                Code::InvalidEnum,
                "aggregate.x.min",
                "'tags' cannot be compared.",
            ),
            (
                json!({"x": {"group_by": "title", "count": true}}),
                Code::InvalidEnum,
                "aggregate.x.group_by",
                "'title' cannot be grouped by.",
            ),
            (
                json!({"x": {"sum": "_computed.age_days"}}),
                Code::InvalidEnum,
                "aggregate.x.sum",
                "'_computed.age_days' is computed; aggregations are over stored fields.",
            ),
        ] {
            let error = read(&given, &fixture::tasks()).unwrap_err();
            assert_eq!((error.code, &error.details["param_name"]), (code, &json!(param)), "{given}");
            let told = error.details.get("hint").and_then(Value::as_str).unwrap_or_default();
            assert_eq!(told, hint, "{given}");
        }
        let many: Map<String, Value> =
            (0..=AGGREGATIONS_MAX).map(|n| (n.to_string(), json!({"count": true}))).collect();
        let error = read(&Value::Object(many), &fixture::tasks()).unwrap_err();
        assert_eq!(error.details["limit_type"], "aggregations");
    }
}
