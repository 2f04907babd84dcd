//! How a query is refused: every error names the key, what would have been accepted and the nearest of it.

use serde_json::Value;

use super::{
    collection::{Collection, Unusable, Use},
    compute,
};
use crate::{
    error::{Code, Error},
    limits::Limit,
    suggest,
};

/// Longer lists of accepted names are cut; introspection and the items themselves show the rest.
const LISTED_NAMES_MAX: usize = 100;

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
    let accepted = collection.accepted(Use::Filter);
    let near = nearest_path(given, &accepted);
    let error = Error::new(Code::UnknownField, format!("Unknown field(s) in '{place}': {given}"))
        .with("param_name", format!("{place}.{given}"))
        .with("unknown_fields", vec![given])
        .with("valid_fields", listed(accepted));
    match why {
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
fn nearest_path(given: &str, accepted: &[String]) -> Option<String> {
    let whole = |name: &String| match name.strip_suffix(".*") {
        Some(open) => beneath(given, open),
        None => name.clone(),
    };
    let candidates: Vec<String> = accepted.iter().filter(|name| *name != "*").map(whole).collect();
    if let Some(near) = suggest::nearest(given, candidates.iter().map(String::as_str)) {
        return Some(near.to_owned());
    }
    let bare = given.strip_prefix(compute::PREFIX).unwrap_or(given);
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let steps: Vec<String> = candidates.iter().map(|name| last(name)).collect();
    let near = suggest::nearest(&last(bare), steps.iter().map(String::as_str))?.to_owned();
    steps.iter().zip(candidates).find(|(step, _)| **step == near).map(|(_, name)| name)
}

/// The given path with its beginning replaced by the open field's.
fn beneath(given: &str, open: &str) -> String {
    let rest: Vec<&str> = given.split('.').skip(open.split('.').count()).collect();
    if rest.is_empty() { open.to_owned() } else { format!("{open}.{}", rest.join(".")) }
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
        ] {
            assert_eq!(nearest_path(given, &accepted).as_deref(), expected, "{given}");
        }
    }
}
