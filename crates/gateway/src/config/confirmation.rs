//! Who is asked before a dangerous call, and for how long an answer holds.

use std::time::Duration;

use aql::confirm::Lifetimes;
use jiff::SignedDuration;

use super::{
    bounds::{self, Bounds},
    environment::{self, Environment},
    error::Error,
    file::{self, Number},
    given::{Given, strongest},
};
use crate::safety::{Confirmation, Settings};

pub(super) fn settings(written: &file::Safety, environment: &Environment) -> Result<Settings, Error> {
    let asked =
        [Given::variable(environment::CONFIRMATION, environment)?, Given::written(&written.confirmation)];
    let confirmation = strongest(asked, |given| match given.text {
        "operator" => Ok(Confirmation::Operator),
        "token" => Ok(Confirmation::Token),
        "off" => Ok(Confirmation::Off),
        other => Err(given.wrong(format!("confirmation '{other}' is none of operator, token, off"))),
    })?;
    let confirmation = confirmation.map_or(Confirmation::default(), |(confirmation, _)| confirmation);
    let seconds = |bounds: Bounds, given: &Option<Number>| {
        let seconds = bounds.check_or_default(given.as_ref())?;
        Ok(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
    };
    let minutes = bounds::APPROVAL_MINUTES.check_or_default(written.approval_minutes.as_ref())?;
    let hold = bounds::HOLD_SECONDS.check_or_default(written.hold_seconds.as_ref())?;
    let uses = bounds::TOKEN_USES.check_or_default(written.token_uses.as_ref())?;
    Ok(Settings {
        confirmation,
        lifetimes: Lifetimes {
            usual: seconds(bounds::TOKEN_SECONDS, &written.token_seconds)?,
            forbidden: seconds(bounds::FORBIDDEN_TOKEN_SECONDS, &written.forbidden_token_seconds)?,
            tolerance: seconds(bounds::CLOCK_SKEW_SECONDS, &written.clock_skew_tolerance_seconds)?,
            ..Lifetimes::default()
        },
        hold: Duration::from_secs(hold),
        waits: SignedDuration::from_mins(i64::try_from(minutes).unwrap_or(i64::MAX)),
        persist_tokens: written.persist_tokens.unwrap_or(false),
        token_uses: u32::try_from(uses).unwrap_or(1),
        elicitation: written.elicitation.unwrap_or(false),
    })
}

/// What works but is better known.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    let tolerance = settings.lifetimes.tolerance.as_secs();
    if tolerance > Lifetimes::TOLERANCE_SECONDS_ADVISED {
        warnings.push(format!(
            "'safety.clock_skew_tolerance_seconds' is {tolerance}; above {} a stolen token is good for long after its end",
            Lifetimes::TOLERANCE_SECONDS_ADVISED
        ));
    }
    if settings.confirmation == Confirmation::Token {
        warnings.push(
            "'safety.confirmation' is 'token': an agent gets the token itself and can confirm what it asked for"
                .to_owned(),
        );
    }
    warnings
}
