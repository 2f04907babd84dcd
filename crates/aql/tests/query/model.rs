//! The query language a second time, as simply as it can be written: from its documentation, sharing no code with it.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::{Map, Value, json};

pub(crate) fn get(item: &Value, path: &str) -> Option<Value> {
    let mut value = item.clone();
    for step in path.split('.') {
        value = value.as_object()?.get(step)?.clone();
    }
    Some(value)
}

fn number(a: &Value, b: &Value) -> Ordering {
    let whole = |v: &Value| match (v.as_i64(), v.as_u64(), v.as_f64()) {
        (Some(n), ..) => Some(i128::from(n)),
        (_, Some(n), _) => Some(i128::from(n)),
        (.., Some(f)) if f.fract() == 0.0 && f.abs() < 1e30 => Some(f as i128),
        _ => None,
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap().partial_cmp(&b.as_f64().unwrap()).unwrap(),
    }
}

/// null < false < true < numbers < strings < arrays < objects
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    let rank = |v: &Value| match v {
        Value::Null => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    };
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => number(a, b),
        (Value::String(a), Value::String(b)) => a.chars().cmp(b.chars()),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                match compare(a, b) {
                    Ordering::Equal => {}
                    other => return other,
                }
            }
            a.len().cmp(&b.len())
        }
        (Value::Object(a), Value::Object(b)) => {
            let flat = |o: &Map<String, Value>| {
                let sorted: BTreeMap<String, Value> = o.clone().into_iter().collect();
                Value::Array(sorted.into_iter().map(|(k, v)| json!([k, v])).collect())
            };
            compare(&flat(a), &flat(b))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

pub(crate) fn accepts(filter: &Value, item: &Value) -> bool {
    filter.as_object().unwrap().iter().all(|(key, value)| match key.as_str() {
        "and" => value.as_array().unwrap().iter().all(|filter| accepts(filter, item)),
        "or" => value.as_array().unwrap().iter().any(|filter| accepts(filter, item)),
        "not" => !accepts(value, item),
        path => match value.as_object() {
            Some(tests) => tests.iter().all(|(operator, operand)| holds(get(item, path), operator, operand)),
            None => holds(get(item, path), "eq", value),
        },
    })
}

fn holds(found: Option<Value>, operator: &str, operand: &Value) -> bool {
    let value = found.clone().unwrap_or(Value::Null);
    let ordering = compare(&value, operand);
    let comparable = value.is_number() && operand.is_number() || value.is_string() && operand.is_string();
    let listed = || operand.as_array().unwrap().iter().any(|one| compare(&value, one).is_eq());
    match operator {
        "eq" => ordering.is_eq(),
        "ne" => ordering.is_ne(),
        "gt" => comparable && ordering.is_gt(),
        "gte" => comparable && ordering.is_ge(),
        "lt" => comparable && ordering.is_lt(),
        "lte" => comparable && ordering.is_le(),
        "in" => listed(),
        "nin" => !listed(),
        "contains" => match &value {
            Value::Array(elements) => elements.iter().any(|one| compare(one, operand).is_eq()),
            Value::String(text) => operand.as_str().is_some_and(|part| text.contains(part)),
            _ => false,
        },
        "starts_with" => value.as_str().is_some_and(|text| text.starts_with(operand.as_str().unwrap())),
        "exists" => found.is_some() == operand.as_bool().unwrap(),
        other => panic!("no operator {other}"),
    }
}

/// What sorting looks at.
fn key(item: &Value, path: &str) -> Value {
    match get(item, path).unwrap_or(Value::Null) {
        Value::String(text) => text.chars().take(256).collect::<String>().into(),
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
        other => other,
    }
}

/// The accepted items in order. `sort` is what the parameter is, or null.
pub(crate) fn select(filter: &Value, sort: &Value, items: &[Value]) -> Vec<Value> {
    let mut keys: Vec<(String, bool)> = match sort {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(one_key).collect(),
        one => vec![one_key(one)],
    };
    let last_is_descending = keys.last().is_some_and(|(_, descending)| *descending);
    keys.push(("id".to_owned(), last_is_descending));
    let mut found: Vec<Value> = items.iter().filter(|item| accepts(filter, item)).cloned().collect();
    // Sorting by the least important key first, stably, is sorting by all of them.
    for (path, descending) in keys.iter().rev() {
        found.sort_by(|a, b| {
            let ordering = compare(&key(a, path), &key(b, path));
            if *descending { ordering.reverse() } else { ordering }
        });
    }
    found
}

fn one_key(key: &Value) -> (String, bool) {
    (key["field"].as_str().unwrap().to_owned(), key.get("order") == Some(&json!("desc")))
}

pub(crate) fn aggregate(expressions: &Value, items: &[Value]) -> Value {
    let labelled = expressions.as_object().unwrap().iter().map(|(label, expression)| {
        let value = match expression.get("group_by").and_then(Value::as_str) {
            None => functions(expression, items),
            Some(path) => groups(expression, path, items),
        };
        (label.clone(), value)
    });
    Value::Object(labelled.collect())
}

fn groups(expression: &Value, path: &str, items: &[Value]) -> Value {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in items {
        let value = get(item, path).unwrap_or(Value::Null);
        match groups.iter_mut().find(|(known, _)| compare(known, &value).is_eq()) {
            Some((_, members)) => members.push(item.clone()),
            None => groups.push((value, vec![item.clone()])),
        }
    }
    let texts: BTreeSet<String> =
        groups.iter().filter(|(value, _)| !value.is_string()).map(|(value, _)| text(value)).collect();
    let name = |value: &Value| match value {
        Value::String(own) if !own.starts_with('"') && !texts.contains(own) => own.clone(),
        other => text(other),
    };
    let named: Map<String, Value> =
        groups.iter().map(|(value, members)| (name(value), functions(expression, members))).collect();
    assert_eq!(named.len(), groups.len(), "two groups share a name");
    Value::Object(named)
}

/// JSON text with whole numbers written as such.
fn text(value: &Value) -> String {
    plain(value).to_string()
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Number(n) => match n.as_f64() {
            Some(f) if n.is_f64() && f.fract() == 0.0 && f.abs() < 18_446_744_073_709_551_616.0 => {
                let whole = f as i128;
                i64::try_from(whole).map(Value::from).or(u64::try_from(whole).map(Value::from)).unwrap()
            }
            _ => value.clone(),
        },
        Value::Array(all) => all.iter().map(plain).collect(),
        Value::Object(all) => {
            Value::Object(all.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}

fn functions(expression: &Value, items: &[Value]) -> Value {
    let mut results = Map::new();
    for (function, argument) in expression.as_object().unwrap() {
        let values: Vec<Value> = match argument.as_str() {
            Some(path) => items.iter().filter_map(|item| get(item, path)).collect(),
            None => Vec::new(),
        };
        let numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
        let present = || values.iter().filter(|value| !value.is_null()).cloned();
        let result = match function.as_str() {
            "group_by" => continue,
            "count" if argument == false => continue,
            "count" => json!(items.len()),
            "sum" => json!(numbers.iter().sum::<f64>()),
            "avg" if numbers.is_empty() => Value::Null,
            "avg" => json!(numbers.iter().sum::<f64>() / numbers.len() as f64),
            "min" => present().min_by(compare).unwrap_or(Value::Null),
            "max" => present().max_by(compare).unwrap_or(Value::Null),
            other => panic!("no function {other}"),
        };
        results.insert(function.clone(), result);
    }
    if results.len() == 1 { results.into_iter().next().unwrap().1 } else { Value::Object(results) }
}

/// Whether two answers are the same, however their numbers are written.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    compare(a, b).is_eq()
}
