//! How a query is refused: every error names the key, what would have been accepted and the nearest of it.

use serde_json::Value;

use super::{
    collection::{Collection, Unusable, Use},
    compute,
    path::PATH_STEPS_MAX,
};
use crate::{
    error::{Code, Error},
    limits::Limit,
    suggest,
};

/// Longer lists of accepted names are cut; introspection and the items themselves show the rest.
const LISTED_NAMES_MAX: usize = 100;

/// The keys of a filter that are no fields.
const COMBINERS: [&str; 3] = ["and", "or", "not"];

/// A key that an object of this kind does not have.
pub(super) fn unknown_key(place: &str, given: &str, accepted: &[&str]) -> Error {
    let error = Error::new(Code::UnknownField, format!("Unknown field(s) in '{place}': {given}"))
        .with("param_name", format!("{place}.{given}"))
        .with("unknown_fields", vec![given])
        .with("valid_fields", accepted.to_vec());
    suggesting(error, given, suggest::nearest(given, accepted.iter().copied()).map(str::to_owned))
}

/// A filter's key that is no field, or one that cannot be filtered by.
pub(super) fn unknown_field(collection: &Collection, place: &str, given: &str, why: Unusable) -> Error {
    let mut accepted = collection.accepted(Use::Filter);
    let near = combiner(given).map(str::to_owned).or_else(|| nearest_path(given, &accepted));
    accepted.truncate(LISTED_NAMES_MAX);
    accepted.extend(COMBINERS.map(str::to_owned));
    let error = Error::new(Code::UnknownField, format!("Unknown field(s) in '{place}': {given}"))
        .with("param_name", format!("{place}.{given}"))
        .with("unknown_fields", vec![given])
        .with("valid_fields", accepted);
    match why {
        Unusable::TooDeep => error.hint(too_deep()),
        Unusable::Unfit => error.hint(format!("'{given}' can be selected, but is declared not filterable.")),
        Unusable::Unknown => suggesting(error, given, near),
    }
}

/// A path given as a value where only some are accepted.
pub(super) fn unusable_path(
    collection: &Collection,
    wanted: Use,
    param: &str,
    given: &str,
    why: Unusable,
) -> Error {
    let accepted = listed(collection.accepted(wanted));
    let purpose = match wanted {
        Use::Filter => "filtered by",
        Use::Sort => "sorted by",
        Use::Group => "grouped by",
        Use::Sum => "summed, for it is not numeric",
        Use::Extreme => "compared",
    };
    let names = if accepted.is_empty() { "(none)".to_owned() } else { accepted.join(", ") };
    let near = nearest_path(given, &accepted);
    let error =
        Error::new(Code::InvalidEnum, format!("Parameter '{param}' must be one of: {names}; got '{given}'"))
            .with("param_name", param)
            .with("value", given)
            .with("allowed_values", accepted);
    match why {
        Unusable::TooDeep => error.hint(too_deep()),
        Unusable::Unfit if given.starts_with(compute::PREFIX) && wanted != Use::Sort => {
            error.hint(format!("'{given}' is computed; aggregations are over stored fields."))
        }
        Unusable::Unfit => error.hint(format!("'{given}' cannot be {purpose}.")),
        Unusable::Unknown => suggesting(error, given, near),
    }
}

/// A word out of a closed list.
pub(super) fn not_one_of(param: &str, given: &str, allowed: &[&str]) -> Error {
    let error = Error::new(
        Code::InvalidEnum,
        format!("Parameter '{param}' must be one of: {}; got '{given}'", allowed.join(", ")),
    )
    .with("param_name", param)
    .with("value", given)
    .with("allowed_values", allowed.to_vec());
    suggesting(error, given, suggest::nearest(given, allowed.iter().copied()).map(str::to_owned))
}

/// Something empty where at least one thing is needed.
pub(super) fn empty(param: &str, needed: &str) -> Error {
    Error::new(Code::OutOfRange, format!("Parameter '{param}' must hold {needed}")).with("param_name", param)
}

/// A flag that would change nothing where it stands.
pub(super) fn alone(param: &str, place: &str) -> Error {
    Error::new(Code::InvalidType, format!("Cannot use '{param}' {place}"))
        .with("param_name", param)
        .with("expected_type", "valid combination of parameters")
        .with("actual_type", "conflicting parameters")
}

pub(super) fn too_large(limit: &Limit, param: &str, actual: usize) -> Error {
    Error::too_large(limit, limit.default, actual).with("param_name", param)
}

fn too_deep() -> String {
    format!("A path has up to {PATH_STEPS_MAX} steps.")
}

/// What a key of a filter that other query languages write otherwise is called here.
fn combiner(given: &str) -> Option<&'static str> {
    let bare = given.trim_start_matches('$').to_ascii_lowercase();
    let bare = match bare.as_str() {
        "&&" | "all" => "and",
        "||" | "any" => "or",
        "!" => "not",
        other => other,
    };
    COMBINERS.into_iter().find(|known| *known == bare)
}

fn suggesting(error: Error, given: &str, near: Option<String>) -> Error {
    match near {
        Some(near) => error
            .with(
                "suggestions",
                Value::Object([(given.to_owned(), near.as_str().into())].into_iter().collect()),
            )
            .hint(format!("Did you mean '{near}'?")),
        None => error,
    }
}

fn listed(mut names: Vec<String>) -> Vec<String> {
    names.truncate(LISTED_NAMES_MAX);
    names
}

/// The accepted path most like the given one: as a whole, beneath an open field, or by its last step alone, which is
/// how a nested or computed field is mostly missed.
pub(crate) fn nearest_path(given: &str, accepted: &[String]) -> Option<String> {
    // Anything may stand beneath an open field, so a computed field would always be found there.
    let is_computed = given.starts_with(compute::PREFIX);
    let whole = |name: &String| match name.strip_suffix(".*") {
        Some(_) if is_computed => None,
        Some(open) => Some(beneath(given, open)),
        None => Some(name.clone()),
    };
    let candidates = accepted.iter().filter(|name| *name != "*").filter_map(whole);
    let candidates: Vec<String> = candidates.filter(|name| name != given).collect();
    if let Some(near) = suggest::nearest(given, candidates.iter().map(String::as_str)) {
        return Some(near.to_owned());
    }
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let closed = accepted.iter().filter(|name| !name.ends_with('*') && *name != given);
    let (steps, names): (Vec<String>, Vec<&String>) = closed.map(|name| (last(name), name)).unzip();
    let near = suggest::nearest(&last(given), steps.iter().map(String::as_str))?;
    steps.iter().zip(names).find(|(step, _)| *step == near).map(|(_, name)| name.clone())
}

/// The given path with its beginning replaced by the open field's.
fn beneath(given: &str, open: &str) -> String {
    let steps = given.split('.').skip(open.split('.').count()).filter(|step| !step.is_empty());
    steps.fold(open.to_owned(), |path, step| format!("{path}.{step}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::fixture;

    #[test]
    fn the_nearest_path_is_found_however_it_was_missed() {
        let accepted = fixture::tasks().accepted(Use::Filter);
        for (given, expected) in [
            ("statsu", Some("status")),
            ("metdata.due", Some("metadata.due")),
            ("metadat", Some("metadata")),
            ("age_days", Some("_computed.age_days")),
            ("_computed.age_day", Some("_computed.age_days")),
            ("login", Some("owner.login")),
            ("zzz", None),
            ("metadata..x", Some("metadata.x")),
            ("_computed.nope", None),
            ("other.nope", None),
        ] {
            assert_eq!(nearest_path(given, &accepted).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn a_hint_says_why_a_path_is_refused() {
        let tasks = fixture::tasks();
        let filtered = |given: &str| {
            let why = tasks.target(given, Use::Filter).unwrap_err();
            unknown_field(&tasks, "filter", given, why).details
        };
        let deep = format!("metadata{}", ".x".repeat(PATH_STEPS_MAX));
        assert_eq!(filtered(&deep)["hint"], "A path has up to 16 steps.");
        for (given, ours) in [("OR", "or"), ("$or", "or"), ("AND", "and"), ("$not", "not")] {
            let details = filtered(given);
            assert_eq!(details["hint"], format!("Did you mean '{ours}'?"));
            let valid = details["valid_fields"].as_array().unwrap();
            assert!(COMBINERS.iter().all(|key| valid.contains(&Value::from(*key))));
        }
        let summed = |given: &str| {
            let why = tasks.target(given, Use::Sum).unwrap_err();
            unusable_path(&tasks, Use::Sum, "aggregate.x.sum", given, why).details
        };
        assert_eq!(
            summed("_computed.age_days")["hint"],
            "'_computed.age_days' is computed; aggregations are over stored fields."
        );
        assert_eq!(summed("status")["hint"], "'status' cannot be summed, for it is not numeric.");
        assert_eq!(summed(&deep)["hint"], "A path has up to 16 steps.");
    }
}
