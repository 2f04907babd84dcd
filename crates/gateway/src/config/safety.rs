//! The section `[safety]`, and the patterns of operation names that it shares with profiles.

mod rules;

use std::collections::BTreeMap;

use aql::{
    danger::DangerLevel,
    policy::{Matrix, Minimums, Policy, WantOfTrust},
    trust::TrustLevel,
};

use super::{
    bounds,
    error::Error,
    file::{self, Placed},
};

pub(super) fn policy(written: &file::Safety) -> Result<Policy, Error> {
    let max_danger = parsed(written.max_danger.as_ref())?;
    let calls = written.max_calls_per_minute.as_ref();
    let calls = calls.map(|calls| bounds::CALLS_PER_MINUTE.check(calls)).transpose()?;
    Ok(Policy {
        calls_per_minute: calls.and_then(|calls| u32::try_from(calls).ok()),
        allow: patterns(written.allow.as_ref())?,
        deny: patterns(written.deny.as_ref())?,
        max_danger,
        matrix: matrix(written.matrix.as_ref())?,
        want_of_trust: want_of_trust(written.want_of_trust.as_ref())?,
        minimums: minimums(written)?,
        danger_patterns: danger_patterns(written.danger_patterns.as_ref())?,
        rules: written.rule.iter().flatten().map(rules::rule).collect::<Result<_, _>>()?,
        // Who is asked is settled apart.
        ..Policy::default()
    })
}

/// A word that has to be one of a kind.
fn parsed<T>(written: Option<&Placed<String>>) -> Result<Option<T>, Error>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let read = |given: &Placed<String>| {
        given.get().parse().map_err(|error: T::Err| Error::at(given.span(), error.to_string()))
    };
    written.map(read).transpose()
}

fn want_of_trust(written: Option<&Placed<String>>) -> Result<WantOfTrust, Error> {
    match written.map(|given| (given, given.get().as_str())) {
        None | Some((_, "deny")) => Ok(WantOfTrust::Deny),
        Some((_, "confirm")) => Ok(WantOfTrust::Confirm),
        Some((given, other)) => {
            let error = Error::at(given.span(), format!("want_of_trust '{other}' is none of deny, confirm"));
            Err(error.help_with(
                "to allow it unasked, trust the server further or set the cell in [safety.matrix]",
            ))
        }
    }
}

fn matrix(written: Option<&file::Matrix>) -> Result<Matrix, Error> {
    let mut matrix = Matrix::default();
    for (danger, row) in written.into_iter().flatten() {
        let level: DangerLevel = danger.get().parse().map_err(|error| Error::at(danger.span(), error))?;
        for (trust, cell) in row {
            let trusted: TrustLevel = trust.get().parse().map_err(|error| Error::at(trust.span(), error))?;
            let behaviour = cell.get().parse().map_err(|error| Error::at(cell.span(), error))?;
            matrix = matrix.with(level, trusted, behaviour);
        }
    }
    Ok(matrix)
}

fn minimums(written: &file::Safety) -> Result<Option<Minimums>, Error> {
    let given = written.minimum_trust.as_ref();
    if !written.trust_minimums.unwrap_or(given.is_some()) {
        return Ok(None);
    }
    let mut minimums = Minimums::default();
    if let Some(given) = given {
        for (level, written) in [
            (&mut minimums.read, &given.read),
            (&mut minimums.create, &given.create),
            (&mut minimums.update, &given.update),
            (&mut minimums.delete, &given.delete),
            (&mut minimums.execute, &given.execute),
            (&mut minimums.dangerous, &given.dangerous),
        ] {
            *level = parsed(written.as_ref())?.unwrap_or(*level);
        }
    }
    Ok(Some(minimums))
}

fn danger_patterns(
    written: Option<&BTreeMap<Placed<String>, Vec<Placed<String>>>>,
) -> Result<Vec<(String, DangerLevel)>, Error> {
    let mut all = Vec::new();
    for (level, given) in written.into_iter().flatten() {
        let danger: DangerLevel = level.get().parse().map_err(|error| Error::at(level.span(), error))?;
        if danger == DangerLevel::Safe {
            let error = Error::at(level.span(), "a name makes nothing safe");
            return Err(
                error.help_with("say it of a tool, as in [upstream.NAME.tools.TOOL] danger = \"safe\"")
            );
        }
        all.extend(patterns(Some(given))?.into_iter().map(|pattern| (pattern, danger)));
    }
    Ok(all)
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
