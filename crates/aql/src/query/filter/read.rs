//! Reading a filter: every key, operator and operand is checked before any item is looked at.

use jiff::{Timestamp, tz::Offset};
use serde_json::{Map, Value};

use super::{Condition, Filter, Test};
use crate::{
    error::{Code, Error},
    limits::Limit,
    query::{
        collection::{Collection, Kind, Use},
        compute, order, refuse,
    },
    validate::Format,
};

/// How deep `and`, `or` and `not` may be nested, the filter itself counting as one.
pub const FILTER_DEPTH_LEVELS_MAX: usize = 8;
/// How many tests a filter may hold altogether.
pub const FILTER_CONDITIONS_MAX: usize = 100;
/// How many values `in` and `nin` may list.
pub const FILTER_VALUES_MAX: usize = 1000;

const DEPTH: Limit = limit("filter_depth", "levels", FILTER_DEPTH_LEVELS_MAX);
const CONDITIONS: Limit = limit("filter_conditions", "conditions", FILTER_CONDITIONS_MAX);
const VALUES: Limit = limit("filter_values", "values", FILTER_VALUES_MAX);

const fn limit(name: &'static str, unit: &'static str, value: usize) -> Limit {
    Limit { key: name, limit_type: name, unit, default: value, range: value..=value }
}

/// The operators, as introspection lists them.
pub const OPERATORS: [&str; 11] =
    ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "starts_with", "exists"];

/// How other query languages spell them, for the error that tells ours.
const FOREIGN: [(&str, &str); 16] = [
    ("=", "eq"),
    ("==", "eq"),
    ("equals", "eq"),
    ("is", "eq"),
    ("!=", "ne"),
    ("<>", "ne"),
    ("neq", "ne"),
    (">", "gt"),
    (">=", "gte"),
    ("<", "lt"),
    ("<=", "lte"),
    ("not_in", "nin"),
    ("any_of", "in"),
    ("like", "contains"),
    ("includes", "contains"),
    ("prefix", "starts_with"),
];

impl Filter {
    /// Reads the value of `filter`.
    pub fn read(given: &Value, collection: &Collection) -> Result<Self, Error> {
        let mut reader = Reader { collection, conditions: 0 };
        reader.filter("filter", given, 1)
    }
}

struct Reader<'c> {
    collection: &'c Collection,
    conditions: usize,
}

impl Reader<'_> {
    fn filter(&mut self, place: &str, given: &Value, depth: usize) -> Result<Filter, Error> {
        if depth > FILTER_DEPTH_LEVELS_MAX {
            return Err(refuse::too_large(&DEPTH, "filter", depth));
        }
        let Value::Object(entries) = given else { return Err(Error::invalid_type(place, "object", given)) };
        let mut all = Vec::new();
        for (key, value) in entries {
            match key.as_str() {
                "and" => all.push(Filter::All(self.several(&format!("{place}.and"), value, depth)?)),
                "or" => all.push(Filter::Any(self.several(&format!("{place}.or"), value, depth)?)),
                "not" => {
                    let inner = self.filter(&format!("{place}.not"), value, depth + 1)?;
                    all.push(Filter::Not(Box::new(inner)));
                }
                field => self.field(place, field, value, &mut all)?,
            }
        }
        Ok(match <[Filter; 1]>::try_from(all) {
            Ok([only]) => only,
            Err(all) => Filter::All(all),
        })
    }

    fn several(&mut self, place: &str, given: &Value, depth: usize) -> Result<Vec<Filter>, Error> {
        let Value::Array(filters) = given else { return Err(Error::invalid_type(place, "array", given)) };
        if filters.is_empty() {
            return Err(refuse::empty(place, "one filter or more"));
        }
        let each = filters.iter().enumerate();
        each.map(|(index, filter)| self.filter(&format!("{place}[{index}]"), filter, depth + 1)).collect()
    }

    fn field(&mut self, place: &str, field: &str, given: &Value, all: &mut Vec<Filter>) -> Result<(), Error> {
        let (target, kind) = self
            .collection
            .target(field, Use::Filter)
            .map_err(|why| refuse::unknown_field(self.collection, place, field, why))?;
        let place = format!("{place}.{field}");
        let mut add = |test: Test| {
            self.conditions += 1;
            if self.conditions > FILTER_CONDITIONS_MAX {
                return Err(refuse::too_large(&CONDITIONS, "filter", self.conditions));
            }
            all.push(Filter::Where(Condition { target: target.clone(), test }));
            Ok(())
        };
        match given {
            Value::Object(operators) => {
                check_operators(&place, field, operators)?;
                for (operator, operand) in operators {
                    add(test(&place, kind, operator, operand)?)?;
                }
                Ok(())
            }
            value => add(test_of_value(&place, kind, value)?),
        }
    }
}

fn check_operators(place: &str, field: &str, operators: &Map<String, Value>) -> Result<(), Error> {
    if operators.is_empty() {
        let needed = format!("one operator or more, out of: {}", OPERATORS.join(", "));
        return Err(refuse::empty(place, &needed).with("valid_fields", OPERATORS.to_vec()));
    }
    let stray = operators.keys().find(|operator| !OPERATORS.contains(&operator.as_str()));
    let Some(stray) = stray else { return Ok(()) };
    let error = refuse::unknown_key(place, stray, &OPERATORS);
    if let Some((_, ours)) = FOREIGN.iter().find(|(foreign, _)| *foreign == stray.trim_start_matches('$')) {
        return Err(error.hint(format!("Did you mean '{ours}'?")));
    }
    Err(if error.details.contains_key("hint") {
        error
    } else {
        error.hint(format!(
            "Operators stand here. For a key inside an object write '{field}.{stray}'; to compare with an object, use 'eq'."
        ))
    })
}

fn test(place: &str, kind: Kind, operator: &str, operand: &Value) -> Result<Test, Error> {
    let place = format!("{place}.{operator}");
    let place = place.as_str();
    let test = match operator {
        "eq" => Test::Eq(comparable(place, kind, operand)?),
        "ne" => Test::Ne(comparable(place, kind, operand)?),
        "gt" => Test::Gt(bound(place, kind, operand)?),
        "gte" => Test::Gte(bound(place, kind, operand)?),
        "lt" => Test::Lt(bound(place, kind, operand)?),
        "lte" => Test::Lte(bound(place, kind, operand)?),
        "in" => Test::In(values(place, kind, operand)?),
        "nin" => Test::Nin(values(place, kind, operand)?),
        "contains" => Test::Contains(part(place, kind, operand)?),
        "starts_with" => Test::StartsWith(start(place, kind, operand)?),
        "exists" => match operand {
            Value::Bool(wanted) => Test::Exists(*wanted),
            other => return Err(Error::invalid_type(place, "boolean", other)),
        },
        other => return Err(refuse::unknown_key(place, other, &OPERATORS)),
    };
    Ok(if kind == Kind::Time { timed(test) } else { test })
}

/// A bare value is what the field has to equal.
fn test_of_value(place: &str, kind: Kind, value: &Value) -> Result<Test, Error> {
    let test = Test::Eq(comparable(place, kind, value)?);
    Ok(if kind == Kind::Time { timed(test) } else { test })
}

/// A value that the field can equal: one of its kind, or null.
fn comparable(place: &str, kind: Kind, operand: &Value) -> Result<Value, Error> {
    let fits = match kind {
        Kind::Any => true,
        Kind::Text | Kind::Time => operand.is_string(),
        Kind::Number => operand.is_number(),
        Kind::Boolean => operand.is_boolean(),
        Kind::List => operand.is_array(),
        Kind::Object => operand.is_object(),
    };
    if !fits && !operand.is_null() {
        let error = Error::invalid_type(place, kind.as_str(), operand);
        return Err(match (kind, operand) {
            (Kind::List, _) => error.hint("To look for an element, use {\"contains\": …}."),
            (_, Value::Array(_)) => error.hint("For one of several values, use {\"in\": […]}."),
            _ => error,
        });
    }
    time(place, kind, operand)?;
    Ok(operand.clone())
}

/// A value that others stand before or after.
fn bound(place: &str, kind: Kind, operand: &Value) -> Result<Value, Error> {
    let (fits, expected) = match kind {
        Kind::Text | Kind::Time => (operand.is_string(), "string"),
        Kind::Number => (operand.is_number(), "number"),
        Kind::Any => (operand.is_string() || operand.is_number(), "number | string"),
        Kind::Boolean | Kind::List | Kind::Object => return Err(unordered(place, kind)),
    };
    if !fits {
        return Err(Error::invalid_type(place, expected, operand));
    }
    time(place, kind, operand)?;
    Ok(operand.clone())
}

fn values(place: &str, kind: Kind, operand: &Value) -> Result<Vec<Value>, Error> {
    let Value::Array(given) = operand else { return Err(Error::invalid_type(place, "array", operand)) };
    if given.len() > FILTER_VALUES_MAX {
        return Err(refuse::too_large(&VALUES, place, given.len()));
    }
    let each = given.iter().enumerate();
    let mut values = each
        .map(|(index, value)| comparable(&format!("{place}[{index}]"), kind, value))
        .collect::<Result<Vec<_>, _>>()?;
    values.sort_by(order::compare);
    Ok(values)
}

fn part(place: &str, kind: Kind, operand: &Value) -> Result<Value, Error> {
    match kind {
        Kind::Text | Kind::Time if !operand.is_string() => Err(Error::invalid_type(place, "string", operand)),
        Kind::Number | Kind::Boolean | Kind::Object => Err(unfit(place, kind, "strings and arrays")),
        Kind::Text | Kind::Time | Kind::List | Kind::Any => Ok(operand.clone()),
    }
}

fn start(place: &str, kind: Kind, operand: &Value) -> Result<String, Error> {
    match (kind, operand) {
        (Kind::Text | Kind::Time | Kind::Any, Value::String(start)) => Ok(start.clone()),
        (Kind::Text | Kind::Time | Kind::Any, other) => Err(Error::invalid_type(place, "string", other)),
        (Kind::Number | Kind::Boolean | Kind::List | Kind::Object, _) => Err(unfit(place, kind, "strings")),
    }
}

/// Text has the order of time only if all of it is written alike, so another spelling is refused, not misread.
fn time(place: &str, kind: Kind, operand: &Value) -> Result<(), Error> {
    let (Kind::Time, Value::String(text)) = (kind, operand) else { return Ok(()) };
    let in_utc = text.ends_with('Z') && (Format::DateTime.accepts(text) || is_beyond(text));
    if in_utc || Format::Date.accepts(text) {
        return Ok(());
    }
    let expected = "a date such as 2026-02-04 or a date-time in UTC such as 2026-02-04T10:30:00Z";
    Err(Error::new(Code::InvalidFormat, format!("Parameter '{place}' must be {expected}"))
        .with("param_name", place)
        .with("format", "date-time")
        .with("value", text.as_str()))
}

/// Whether this is a date-time of the last hours that a date can name, which no clock here reaches: people write them
/// for "never". It needs no other spelling, for as text it stands behind all that can be stored.
fn is_beyond(text: &str) -> bool {
    let civil = text.strip_suffix('Z').filter(|civil| civil.get(10..11) == Some("T"));
    civil
        .and_then(|civil| civil.parse::<jiff::civil::DateTime>().ok())
        .is_some_and(|civil| civil > Offset::UTC.to_datetime(Timestamp::MAX))
}

/// The same test in the one precision that times are written in, microseconds. What lies between two of them equals
/// none and is compared by the one below it.
fn timed(test: Test) -> Test {
    let exact = |operand: &Value| match instant(operand) {
        Some((text, true)) => Some(text.into()),
        Some((_, false)) => None,
        None => Some(operand.clone()),
    };
    let bound = |operand: Value| match instant(&operand) {
        Some((text, exact)) => (Value::from(text), exact),
        None => (operand, true),
    };
    match test {
        Test::Eq(operand) => exact(&operand).map_or(Test::In(Vec::new()), Test::Eq),
        Test::Ne(operand) => exact(&operand).map_or(Test::Nin(Vec::new()), Test::Ne),
        Test::In(operands) => Test::In(sorted(operands.iter().filter_map(exact).collect())),
        Test::Nin(operands) => Test::Nin(sorted(operands.iter().filter_map(exact).collect())),
        Test::Gt(operand) => Test::Gt(bound(operand).0),
        Test::Lte(operand) => Test::Lte(bound(operand).0),
        Test::Gte(operand) => match bound(operand) {
            (operand, true) => Test::Gte(operand),
            (operand, false) => Test::Gt(operand),
        },
        Test::Lt(operand) => match bound(operand) {
            (operand, true) => Test::Lt(operand),
            (operand, false) => Test::Lte(operand),
        },
        other @ (Test::Contains(_) | Test::StartsWith(_) | Test::Exists(_)) => other,
    }
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by(order::compare);
    values
}

/// A whole date-time in microseconds, cut, and whether it was one exactly.
fn instant(operand: &Value) -> Option<(String, bool)> {
    let time: Timestamp = operand.as_str()?.parse().ok()?;
    let micros = compute::time_text(time);
    let cut: Timestamp = micros.parse().ok()?;
    Some((micros, cut == time))
}

fn unordered(place: &str, kind: Kind) -> Error {
    unfit(place, kind, "numbers and strings")
}

fn unfit(place: &str, kind: Kind, meant_for: &str) -> Error {
    let kind = kind.as_str();
    let message =
        format!("Parameter '{place}' is an operator for {meant_for}, but the field is of type '{kind}'");
    Error::new(Code::InvalidType, message)
        .with("param_name", place)
        .with("expected_type", meant_for)
        .with("actual_type", kind)
        .hint("Use 'eq', 'ne', 'in', 'nin' or 'exists'; 'contains' works on arrays.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::fixture;

    fn fault(filter: &Value) -> Error {
        Filter::read(filter, &fixture::tasks()).unwrap_err()
    }

    /// LREQ-QUERY-03 LREQ-COMP-02
    #[test]
    fn unknown_keys_and_operators_are_refused_with_the_nearest() {
        for (filter, param, hint) in [
            (json!({"statsu": "x"}), "filter.statsu", "Did you mean 'status'?"),
            (json!({"or": [{"prioritty": 1}]}), "filter.or[0].prioritty", "Did you mean 'priority'?"),
            (json!({"not": {"age_days": 1}}), "filter.not.age_days", "Did you mean '_computed.age_days'?"),
            (json!({"priority": {"gtee": 1}}), "filter.priority.gtee", "Did you mean 'gte'?"),
            (json!({"priority": {"$gte": 1}}), "filter.priority.$gte", "Did you mean 'gte'?"),
            (json!({"priority": {"<": 1}}), "filter.priority.<", "Did you mean 'lt'?"),
            (
                json!({"_computed.tokens": 1}),
                "filter._computed.tokens",
                "'_computed.tokens' can be selected, but is declared not filterable.",
            ),
            (
                json!({"metadata": {"colour": 1}}),
                "filter.metadata.colour",
                "Operators stand here. For a key inside an object write 'metadata.colour'; to compare with an object, use 'eq'.",
            ),
        ] {
            let error = fault(&filter);
            assert_eq!(error.code, Code::UnknownField, "{filter}");
            assert_eq!((&error.details["param_name"], &error.details["hint"]), (&json!(param), &json!(hint)));
            assert!(error.details["valid_fields"].as_array().is_some_and(|valid| !valid.is_empty()));
        }
        let error = fault(&json!({"colour": "red"}));
        assert_eq!(error.message, "Unknown field(s) in 'filter': colour");
        assert!(error.details["valid_fields"].as_array().unwrap().contains(&json!("metadata.*")));
    }

    #[test]
    fn operands_have_to_fit() {
        for (filter, code, param) in [
            (json!([]), Code::InvalidType, "filter"),
            (json!({"or": {}}), Code::InvalidType, "filter.or"),
            (json!({"and": []}), Code::OutOfRange, "filter.and"),
            (json!({"not": [1]}), Code::InvalidType, "filter.not"),
            (json!({"or": [1]}), Code::InvalidType, "filter.or[0]"),
            (json!({"status": {}}), Code::OutOfRange, "filter.status"),
            (json!({"status": 5}), Code::InvalidType, "filter.status"),
            (json!({"status": ["a", "b"]}), Code::InvalidType, "filter.status"),
            (json!({"priority": {"gte": "3"}}), Code::InvalidType, "filter.priority.gte"),
            (json!({"priority": {"gte": null}}), Code::InvalidType, "filter.priority.gte"),
            (json!({"priority": {"contains": 3}}), Code::InvalidType, "filter.priority.contains"),
            (json!({"done": {"gt": false}}), Code::InvalidType, "filter.done.gt"),
            (json!({"metadata.x": {"gt": [1]}}), Code::InvalidType, "filter.metadata.x.gt"),
            (json!({"status": {"in": "a"}}), Code::InvalidType, "filter.status.in"),
            (json!({"status": {"in": ["a", 5]}}), Code::InvalidType, "filter.status.in[1]"),
            (json!({"status": {"starts_with": 5}}), Code::InvalidType, "filter.status.starts_with"),
            (json!({"tags": {"starts_with": "a"}}), Code::InvalidType, "filter.tags.starts_with"),
            (json!({"tags": "a"}), Code::InvalidType, "filter.tags"),
            (json!({"title": {"contains": 1}}), Code::InvalidType, "filter.title.contains"),
            (json!({"status": {"exists": 1}}), Code::InvalidType, "filter.status.exists"),
            (json!({"created_at": {"gt": "yesterday"}}), Code::InvalidFormat, "filter.created_at.gt"),
            (
                json!({"created_at": {"gt": "2026-02-04T10:30:00+02:00"}}),
                Code::InvalidFormat,
                "filter.created_at.gt",
            ),
        ] {
            let error = fault(&filter);
            assert_eq!((error.code, &error.details["param_name"]), (code, &json!(param)), "{filter}");
        }
        assert_eq!(
            fault(&json!({"status": ["a"]})).details["hint"],
            "For one of several values, use {\"in\": […]}."
        );
    }

    #[test]
    fn a_date_that_no_clock_reaches_lies_behind_all_others() {
        let accepts = |test: Value, created: &str| {
            let filter = Filter::read(&json!({"created_at": test}), &fixture::tasks()).unwrap();
            filter.accepts(&json!({"created_at": created}), fixture::now())
        };
        let last = compute::time_text(Timestamp::MAX);
        for never in ["9999-12-31T23:59:59Z", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999999999Z"] {
            for created in ["2026-02-04T10:30:00.000000Z", last.as_str()] {
                assert!(accepts(json!({"lte": never}), created), "{never} {created}");
                assert!(accepts(json!({"lt": never, "ne": never}), created), "{never} {created}");
                assert!(!accepts(json!({"gte": never}), created), "{never} {created}");
            }
        }
        for wrong in
            ["9999-12-31T24:00:00Z", "9999-13-31T23:59:59Z", "9999-12-31 23:59:59Z", "9999-12-31T23:59:59"]
        {
            assert_eq!(fault(&json!({"created_at": {"lt": wrong}})).code, Code::InvalidFormat, "{wrong}");
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let nested =
            |levels: usize| (1..levels).fold(json!({"done": true}), |inner, _| json!({"not": inner}));
        assert!(Filter::read(&nested(FILTER_DEPTH_LEVELS_MAX), &fixture::tasks()).is_ok());
        let error = fault(&nested(FILTER_DEPTH_LEVELS_MAX + 1));
        assert_eq!(error.details["limit_type"], "filter_depth");

        let wide = |tests: usize| json!({"or": vec![json!({"done": true}); tests]});
        assert!(Filter::read(&wide(FILTER_CONDITIONS_MAX), &fixture::tasks()).is_ok());
        assert_eq!(fault(&wide(FILTER_CONDITIONS_MAX + 1)).details["limit_type"], "filter_conditions");

        let long = |values: usize| json!({"priority": {"in": vec![1; values]}});
        assert!(Filter::read(&long(FILTER_VALUES_MAX), &fixture::tasks()).is_ok());
        assert_eq!(fault(&long(FILTER_VALUES_MAX + 1)).details["limit_value"], FILTER_VALUES_MAX);
    }
}
