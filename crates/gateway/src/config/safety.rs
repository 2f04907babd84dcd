//! The section `[safety]`, and the patterns of operation names that it shares with profiles.

use aql::policy::Policy;

use super::{
    bounds,
    error::Error,
    file::{self, Placed},
};

pub(super) fn policy(written: &file::Safety) -> Result<Policy, Error> {
    let max_danger = match &written.max_danger {
        Some(level) => Some(level.get().parse().map_err(|error| Error::at(level.span(), error))?),
        None => None,
    };
    let calls = written.max_calls_per_minute.as_ref();
    let calls = calls.map(|calls| bounds::CALLS_PER_MINUTE.check(calls)).transpose()?;
    Ok(Policy {
        calls_per_minute: calls.and_then(|calls| u32::try_from(calls).ok()),
        allow: patterns(written.allow.as_ref())?,
        deny: patterns(written.deny.as_ref())?,
        max_danger,
        ..Policy::default()
    })
}

pub(super) fn patterns(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    written.into_iter().flatten().map(pattern).collect()
}

/// A deny rule that can match nothing would look like safety, so patterns no name can match are refused.
fn pattern(given: &Placed<String>) -> Result<String, Error> {
    let text = given.get();
    let help = "write an operation's name, with '*' for any run of characters, as in 'delete_*'";
    if text.is_empty() {
        return Err(Error::at(given.span(), "the pattern is empty").help_with(help));
    }
    let possible = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'*';
    if !text.bytes().all(possible) {
        let message =
            format!("the pattern '{text}' can match no operation, since their names are snake_case");
        return Err(Error::at(given.span(), message).help_with(help));
    }
    Ok(text.clone())
}
