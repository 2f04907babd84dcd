//! `aggregate`: numbers about all items that a filter accepts, whatever page is shown.
//!
//! ```json
//! {"total": {"count": true}, "by_status": {"group_by": "status", "count": true, "avg": "priority"}}
//! ```
//!
//! Every label holds an expression of `count`, `sum`, `avg`, `min`, `max`, alone or together, over all items or, with
//! `group_by`, over each group. One function answers its value; several answer an object with one key each.
//!
//! - `sum` and `avg` take numbers and pass over everything else. Sums of integers are exact (beyond 64 bits the nearest
//!   float), those with fractions are the exact sum rounded once, so no order of items changes them. The sum of nothing
//!   is 0 and its average null. A sum beyond every float is null.
//! - `min` and `max` pass over null and missing values and compare all others in the one [`order`]; of nothing they
//!   are null.
//! - Groups are the keys of an object, which is written in the order of their text. A string is its own key, any other
//!   value its JSON text, and missing is `null`. Where a string reads like another group's JSON text, or begins with a
//!   quote, it is written as JSON too.

mod read;
mod total;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Map, Value};

pub(super) use self::read::read;
pub use self::read::{AGGREGATIONS_MAX, FUNCTIONS};
use self::total::Total;
use super::{order, path::Target, refuse};
use crate::{error::Error, limits::Limit};

/// More groups than this in one expression are refused.
pub const GROUPS_MAX: usize = 10_000;
const GROUPS: Limit =
    Limit { key: "groups", limit_type: "groups", unit: "groups", default: GROUPS_MAX, range: 1..=GROUPS_MAX };

/// What is computed over the items of one label, or of each of its groups.
#[derive(Debug, Clone)]
pub enum Function {
    Count,
    Sum(Target),
    Avg(Target),
    Min(Target),
    Max(Target),
}

impl Function {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum(_) => "sum",
            Self::Avg(_) => "avg",
            Self::Min(_) => "min",
            Self::Max(_) => "max",
        }
    }
}

/// One label of `aggregate`.
#[derive(Debug, Clone)]
pub struct Expression {
    pub label: String,
    pub group_by: Option<Target>,
    pub functions: Vec<Function>,
}

/// The expressions of one query, being computed.
#[derive(Debug)]
pub(super) struct Tally<'q>(Vec<(&'q Expression, State)>);

#[derive(Debug)]
enum State {
    Whole(Vec<Running>),
    /// By the canonical text of the group's value.
    Groups(HashMap<String, Vec<Running>>),
}

#[derive(Debug)]
enum Running {
    Count(usize),
    Sum(Total),
    Avg(Total),
    Min(Option<Value>),
    Max(Option<Value>),
}

impl<'q> Tally<'q> {
    pub(super) fn new(expressions: &'q [Expression]) -> Self {
        let state = |expression: &Expression| match expression.group_by {
            None => State::Whole(start(expression)),
            Some(_) => State::Groups(HashMap::new()),
        };
        Self(expressions.iter().map(|expression| (expression, state(expression))).collect())
    }

    /// Counts an item in, as if it came so many times.
    pub(super) fn add(&mut self, item: &Value, times: usize, now: Timestamp) -> Result<(), Error> {
        for (expression, state) in &mut self.0 {
            let running = match (state, &expression.group_by) {
                (State::Whole(running), _) => running,
                (State::Groups(groups), target) => {
                    let value = target.as_ref().and_then(|target| target.value(item, now));
                    let group = order::canonical(value.as_deref().unwrap_or(&Value::Null));
                    if groups.len() >= GROUPS_MAX && !groups.contains_key(&group) {
                        return Err(too_many_groups(expression, groups.len() + 1));
                    }
                    groups.entry(group).or_insert_with(|| start(expression))
                }
            };
            for (function, running) in expression.functions.iter().zip(running) {
                running.add(function, item, times, now);
            }
        }
        Ok(())
    }

    /// The value of every label.
    pub(super) fn finish(self) -> Map<String, Value> {
        let labelled = self.0.into_iter().map(|(expression, state)| {
            let value = match state {
                State::Whole(running) => results(expression, running),
                State::Groups(groups) => Value::Object(named(expression, groups)),
            };
            (expression.label.clone(), value)
        });
        labelled.collect()
    }
}

fn start(expression: &Expression) -> Vec<Running> {
    let running = |function: &Function| match function {
        Function::Count => Running::Count(0),
        Function::Sum(_) => Running::Sum(Total::default()),
        Function::Avg(_) => Running::Avg(Total::default()),
        Function::Min(_) => Running::Min(None),
        Function::Max(_) => Running::Max(None),
    };
    expression.functions.iter().map(running).collect()
}

impl Running {
    fn add(&mut self, function: &Function, item: &Value, times: usize, now: Timestamp) {
        let (Function::Sum(target) | Function::Avg(target) | Function::Min(target) | Function::Max(target)) =
            function
        else {
            if let Self::Count(count) = self {
                *count = count.saturating_add(times);
            }
            return;
        };
        let Some(value) = target.value(item, now) else { return };
        match (self, value.as_ref()) {
            (Self::Sum(total) | Self::Avg(total), Value::Number(number)) => {
                total.add(order::Num::of(number), times);
            }
            (Self::Sum(_) | Self::Avg(_) | Self::Count(_), _) | (_, Value::Null) => {}
            (Self::Min(best), value) => {
                if best.as_ref().is_none_or(|best| order::compare(value, best).is_lt()) {
                    *best = Some(value.clone());
                }
            }
            (Self::Max(best), value) => {
                if best.as_ref().is_none_or(|best| order::compare(value, best).is_gt()) {
                    *best = Some(value.clone());
                }
            }
        }
    }

    fn finish(self) -> Value {
        match self {
            Self::Count(count) => count.into(),
            Self::Sum(total) => total.sum().to_value(),
            Self::Avg(total) => total.average().map_or(Value::Null, order::Num::to_value),
            // The spelling must not tell which of two equal values came first.
            Self::Min(best) | Self::Max(best) => best.as_ref().map_or(Value::Null, order::plain),
        }
    }
}

fn results(expression: &Expression, running: Vec<Running>) -> Value {
    match <[Running; 1]>::try_from(running) {
        Ok([only]) => only.finish(),
        Err(several) => {
            let named = expression.functions.iter().zip(several);
            Value::Object(
                named.map(|(function, running)| (function.name().to_owned(), running.finish())).collect(),
            )
        }
    }
}

/// Groups under their shown names, no two of which are the same.
fn named(expression: &Expression, groups: HashMap<String, Vec<Running>>) -> Map<String, Value> {
    let taken: HashSet<String> = groups.keys().filter(|text| !text.starts_with('"')).cloned().collect();
    let shown = |canonical: String| match serde_json::from_str(&canonical) {
        Ok(Value::String(text)) if !text.starts_with('"') && !taken.contains(&text) => text,
        _ => canonical,
    };
    groups.into_iter().map(|(group, running)| (shown(group), results(expression, running))).collect()
}

fn too_many_groups(expression: &Expression, actual: usize) -> Error {
    refuse::too_large(&GROUPS, &format!("aggregate.{}.group_by", expression.label), actual)
        .hint("Narrow the items with 'filter', or group by a field with fewer values.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::fixture;

    fn aggregate(expressions: Value, items: &[Value]) -> Value {
        let expressions = read::read(&expressions, &fixture::tasks()).unwrap();
        let mut tally = Tally::new(&expressions);
        items.iter().for_each(|item| tally.add(item, 1, fixture::now()).unwrap());
        Value::Object(tally.finish())
    }

    /// LREQ-AGG-01 REQ-PARAM-10
    #[test]
    fn known_data_gives_known_numbers() {
        let items = [
            json!({"status": "a", "priority": 1, "metadata": {"cost": 0.1, "at": "x"}}),
            json!({"status": "b", "priority": 2, "metadata": {"cost": 0.2, "at": 3}}),
            json!({"status": "a", "priority": 4.0, "metadata": {"cost": 0.3}}),
            json!({"status": null, "priority": null, "metadata": {"cost": "free"}}),
            json!({"metadata": {"at": [1]}}),
        ];
        let answer = aggregate(
            json!({
                "total": {"count": true},
                "priorities": {"sum": "priority"},
                "average": {"avg": "priority", "count": false},
                "range": {"min": "priority", "max": "priority"},
                "cost": {"sum": "metadata.cost"},
                "mean_cost": {"avg": "metadata.cost"},
                "mixed": {"min": "metadata.at", "max": "metadata.at"},
                "none": {"sum": "metadata.nope", "avg": "metadata.nope", "min": "metadata.nope"},
                "by_status": {"group_by": "status", "count": true},
                "by_status_more": {"group_by": "status", "count": true, "sum": "priority"},
                "by_priority": {"group_by": "priority", "count": true},
            }),
            &items,
        );
        assert_eq!(
            answer,
            json!({
                "total": 5,
                "priorities": 7,
                "average": 7.0 / 3.0,
                "range": {"min": 1, "max": 4},
                "cost": 0.6,
                "mean_cost": 0.6 / 3.0,
                "mixed": {"min": 3, "max": [1]},
                "none": {"sum": 0, "avg": null, "min": null},
                "by_status": {"a": 2, "b": 1, "null": 2},
                "by_status_more": {
                    "a": {"count": 2, "sum": 5}, "b": {"count": 1, "sum": 2}, "null": {"count": 2, "sum": 0}
                },
                "by_priority": {"1": 1, "2": 1, "4": 1, "null": 2},
            })
        );
    }

    /// LREQ-AGG-01
    #[test]
    fn the_spelling_of_equal_values_does_not_tell_which_came_first() {
        let values = [
            [json!(2), json!(2.0)],
            [json!([2]), json!([2.0])],
            [json!({"c": [-0.0, {"d": 2.0}]}), json!({"c": [0, {"d": 2}]})],
        ];
        for pair in values {
            let mut items = pair.map(|value| json!({"metadata": {"v": value}}));
            for function in ["min", "max"] {
                let expression = json!({"of": {(function): "metadata.v"}});
                let answer = aggregate(expression.clone(), &items).to_string();
                items.reverse();
                assert_eq!(aggregate(expression, &items).to_string(), answer);
                assert!(!answer.contains(".0"), "{answer}");
            }
        }
    }

    #[test]
    fn groups_of_different_values_never_share_a_name() {
        let values = [
            json!(1),
            json!("1"),
            json!(1.0),
            json!("\"1\""),
            json!(null),
            json!("null"),
            json!("x"),
            json!([1]),
        ];
        let items = values.map(|value| json!({"metadata": {"v": value}}));
        let answer = aggregate(json!({"g": {"group_by": "metadata.v", "count": true}}), &items);
        assert_eq!(
            answer["g"],
            json!({"1": 2, "\"1\"": 1, "\"\\\"1\\\"\"": 1, "null": 1, "\"null\"": 1, "x": 1, "[1]": 1})
        );
    }

    #[test]
    fn groups_are_bounded() {
        let expressions =
            read::read(&json!({"g": {"group_by": "metadata.v", "count": true}}), &fixture::tasks());
        let expressions = expressions.unwrap();
        let mut tally = Tally::new(&expressions);
        let item = |n: usize| json!({"metadata": {"v": n}});
        (0..GROUPS_MAX).for_each(|n| tally.add(&item(n), 1, fixture::now()).unwrap());
        tally.add(&item(5), 1, fixture::now()).unwrap();
        let error = tally.add(&item(GROUPS_MAX), 1, fixture::now()).unwrap_err();
        assert_eq!(
            (&error.details["limit_type"], &error.details["param_name"]),
            (&json!("groups"), &json!("aggregate.g.group_by"))
        );
    }
}
