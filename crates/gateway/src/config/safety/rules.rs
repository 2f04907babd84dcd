//! `[[safety.rule]]`: rules about calls.

use aql::policy::{Condition, Rule, Test, Then};
use serde_json::{Number, Value};

use super::{parsed, patterns};
use crate::config::{
    error::Error,
    file::{self, Placed},
};

pub(super) fn rule(written: &file::Rule) -> Result<Rule, Error> {
    let then = &written.then;
    let word: Then = then.get().parse().map_err(|error| Error::at(then.span(), error))?;
    let mut categories = Vec::new();
    for given in written.categories.iter().flatten() {
        categories.push(given.get().parse().map_err(|error| Error::at(given.span(), error))?);
    }
    let when: Vec<Condition> = written.when.iter().flatten().map(condition).collect::<Result<_, _>>()?;
    let rule = Rule {
        operations: patterns(some(written.operations.as_ref(), "operations", then)?)?,
        callers: names(some(written.callers.as_ref(), "callers", then)?)?,
        servers: names(some(written.servers.as_ref(), "servers", then)?)?,
        categories: match some(written.categories.as_ref(), "categories", then)? {
            Some(_) => categories,
            None => Vec::new(),
        },
        danger: parsed(written.danger.as_ref())?,
        trust: parsed(written.trust.as_ref())?,
        when,
        then: word,
        reason: reason(written.reason.as_ref())?,
    };
    let unasked_for_all = word == Then::AllowUnasked && rule.operations.is_empty() && rule.servers.is_empty();
    if unasked_for_all && rule.categories.is_empty() && rule.when.is_empty() {
        let error = Error::at(then.span(), "this rule would let every operation run unasked");
        return Err(
            error.help_with("name the operations, or switch asking off with 'confirmation = \"off\"'")
        );
    }
    Ok(rule)
}

/// An empty list would fit nothing and look as if it did, or everything and look as if it did not.
fn some<'a, T>(
    written: Option<&'a Vec<T>>,
    key: &str,
    near: &Placed<String>,
) -> Result<Option<&'a Vec<T>>, Error> {
    match written {
        Some(list) if list.is_empty() => {
            let error = Error::at(near.span(), format!("'{key}' of this rule is empty"));
            Err(error.help_with(format!("leave '{key}' out, and the rule does not ask about it")))
        }
        other => Ok(other),
    }
}

/// Patterns of names that follow no rule of ours.
fn names(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    let name = |given: &Placed<String>| match given.get().trim() {
        "" => Err(Error::at(given.span(), "the pattern is empty")
            .help_with("write a name, with '*' for any run of characters")),
        _ => Ok(given.get().clone()),
    };
    written.into_iter().flatten().map(name).collect()
}

fn reason(written: Option<&Placed<String>>) -> Result<Option<String>, Error> {
    match written {
        Some(given) if given.get().trim().is_empty() => {
            Err(Error::at(given.span(), "the reason is empty").help_with("say why, or leave it out"))
        }
        other => Ok(other.map(|given| given.get().trim().to_owned())),
    }
}

fn condition(written: &file::Condition) -> Result<Condition, Error> {
    let param = &written.param;
    let number = |given: &Placed<f64>| {
        Number::from_f64(*given.get())
            .ok_or_else(|| Error::at(given.span(), "the bound must be a finite number"))
    };
    let text = |given: &Placed<String>| given.get().clone();
    let mut tests: Vec<Test> = Vec::new();
    tests.extend(written.equals.clone().map(Test::Equals));
    tests.extend(written.one_of.clone().map(Test::OneOf));
    tests.extend(written.pattern.as_ref().map(text).map(Test::Pattern));
    tests.extend(written.regex.as_ref().map(text).map(Test::Regex));
    tests.extend(written.greater.as_ref().map(number).transpose()?.map(Test::Greater));
    tests.extend(written.less.as_ref().map(number).transpose()?.map(Test::Less));
    tests.extend(written.present.map(Test::Present));
    let values = written.equals.iter().chain(written.one_of.iter().flatten());
    if let Some(other) = values.into_iter().find(|value| matches!(value, Value::Object(_) | Value::Array(_)))
    {
        let message = format!("the condition on '{}' compares with {}", param.get(), kind(other));
        let error = Error::at(param.span(), message);
        return Err(error.help_with("compare with a text, a number, true or false; 'a.b' leads into objects"));
    }
    let count = tests.len();
    let (Some(test), 1) = (tests.pop(), count) else {
        let message = format!("the condition on '{}' has {count} tests", param.get());
        let help = "give one of equals, one_of, pattern, regex, greater, less, present; several conditions stand side by side";
        return Err(Error::at(param.span(), message).help_with(help));
    };
    let condition = Condition { path: param.get().clone(), test, not: written.not.unwrap_or(false) };
    let place = written.regex.as_ref().unwrap_or(param).span();
    condition.compiled().map_err(|fault| Error::at(place, fault.to_string()))?;
    Ok(condition)
}

fn kind(value: &Value) -> &'static str {
    if value.is_array() { "a list" } else { "a table" }
}
