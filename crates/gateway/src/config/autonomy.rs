//! The safety loop: its mode, and how far agents may go by themselves.

use std::time::Duration;

use aql::{
    autonomy::{Mode, Rules, Settings, Stages, Tolerance, define},
    policy::{Policy, Reason},
    registry::{Builder, Registry},
};

use super::{
    bounds::{self, Bounds},
    environment::{self, Environment},
    error::{Error, Place},
    file::{self, Placed},
    given::{Given, strongest},
};
use crate::adapters::safety_loop::{Options, definitions};

/// `only` says that the loop is all there is, which then works unless it is switched off.
pub(super) fn options(
    written: &file::Safety,
    environment: &Environment,
    only: bool,
) -> Result<Options, Error> {
    let section = written.supervision.clone().unwrap_or_default();
    let asked = [Given::variable(environment::SAFETY_LOOP, environment)?, Given::written(&section.mode)];
    let mode = strongest(asked, |given| given.text.parse::<Mode>().map_err(|error| given.wrong(error)))?;
    let by_default = if only { Mode::Enforcing } else { Mode::Disabled };
    let seconds = bounds::CHALLENGE_SECONDS.check_or_default(section.challenge_seconds.as_ref())?;
    let all = rules(&section.rules(), "loop", Rules::default())?;
    let mut agents = std::collections::BTreeMap::new();
    for (name, own) in written.agent.iter().flatten() {
        let folded = aql::autonomy::fold(name.get()).text;
        if folded.is_empty() {
            return Err(Error::at(name.span(), "the agent's name is empty").help_with("name the agent"));
        }
        let own = rules(own, &format!("agent.{}", name.get()), all.clone())?;
        if agents.insert(folded, own).is_some() {
            let message = format!("the agent '{}' has a section already, written differently", name.get());
            return Err(Error::at(name.span(), message).help_with("keep one of them"));
        }
    }
    Ok(Options {
        mode: mode.map_or(by_default, |(mode, _)| mode),
        rules: all,
        agents,
        challenge: Duration::from_secs(seconds),
    })
}

/// What the loop cannot do without.
const NEEDED: [&str; 5] = [
    define::EXECUTE_AGENT,
    define::RECORD_EXECUTION_STEP,
    define::COMPLETE_EXECUTION,
    define::ABORT_EXECUTION,
    define::VERIFY_CHALLENGE,
];

/// Refuses a policy that would take the loop's own operations away: it would be announced, and no agent could report anything.
/// Only `confirm_operation` may be missing, since the operator's side can do without it.
pub(super) fn served(written: &file::Safety, policy: &Policy, options: &Options) -> Result<(), Error> {
    if options.mode == Mode::Disabled {
        return Ok(());
    }
    let Ok(autonomy) = options.autonomy() else { return Ok(()) };
    let (operations, types) = definitions(&autonomy);
    let builder = Registry::builder("loop").policy(policy.clone()).types(types);
    // What is wrong with the policy itself is told where everything is put together.
    let Ok(registry) = operations.into_iter().fold(builder, Builder::operation).build() else {
        return Ok(());
    };
    let denied = |name: &'static str| Some((name, registry.standing(registry.id(name)?).denied()?));
    let missing: Vec<(&str, &Reason)> = NEEDED.into_iter().filter_map(denied).collect();
    let Some((_, reason)) = missing.first() else { return Ok(()) };
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let (place, what) = culprit(written, reason);
    let message =
        format!("the safety loop is {}, but {what} leaves out its {}", options.mode, names.join(", "));
    let help = "let these operations be called, or set 'mode = \"disabled\"' under '[safety.loop]'";
    Err(Error::new(place, message).help_with(help))
}

/// The setting that leaves an operation out.
fn culprit(written: &file::Safety, reason: &Reason) -> (Place, String) {
    let of = |text: &Placed<String>| Place::File(Some(text.span()));
    let place = match reason {
        Reason::TooDangerous { .. } => written.max_danger.as_ref().map(of),
        Reason::NotAllowed => written.allow.iter().flatten().next().map(of),
        Reason::DenyRule(pattern) => {
            written.deny.iter().flatten().find(|given| given.get() == pattern).map(of)
        }
        _ => None,
    };
    let what = match reason {
        Reason::TooDangerous { max, .. } => format!("'max_danger = \"{max}\"'"),
        Reason::NotAllowed => "'allow'".to_owned(),
        Reason::DenyRule(pattern) => format!("'{pattern}' under 'deny'"),
        other => format!("a rule ({other})"),
    };
    // A rule may be any of them, so what wants the operations is shown.
    let mode = || written.supervision.as_ref()?.mode.as_ref().map(of);
    (place.or_else(mode).unwrap_or(Place::File(None)), what)
}

fn rules(written: &file::Autonomy, section: &str, base: Rules) -> Result<Rules, Error> {
    let number = |bounds: Bounds, given: &Option<file::Number>, base: u32| match given {
        Some(given) => {
            bounds.of_named(section, Some(given)).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        }
        None => Ok(base),
    };
    let tolerance = match &written.risk_tolerance {
        Some(given) => given.get().parse::<Tolerance>().map_err(|error| Error::at(given.span(), error))?,
        None => base.risk_tolerance,
    };
    Ok(Rules {
        max_autonomous_steps: number(
            bounds::AUTONOMOUS_STEPS,
            &written.max_autonomous_steps,
            base.max_autonomous_steps,
        )?,
        risk_tolerance: tolerance,
        deny: patterns(&written.deny, base.deny)?,
        requires_approval: patterns(&written.requires_approval, base.requires_approval)?,
        auto_approve: patterns(&written.auto_approve, base.auto_approve)?,
        stages: stages(&written.stages, base.stages)?,
        escalate_after: number(bounds::ESCALATE_AFTER, &written.escalate_after, base.escalate_after)?,
    })
}

/// Each pattern is tried by itself, so that the one that is wrong can be shown.
fn patterns(written: &Option<Vec<Placed<String>>>, base: Vec<String>) -> Result<Vec<String>, Error> {
    let Some(written) = written else { return Ok(base) };
    let texts: Vec<String> = written.iter().map(|given| given.get().clone()).collect();
    let none = Rules { deny: Vec::new(), requires_approval: Vec::new(), ..Rules::default() };
    for given in written {
        let one = Rules { deny: vec![given.get().clone()], ..none.clone() };
        Settings::new(one).map_err(|error| {
            Error::at(given.span(), error)
                .help_with("write words of an action, with '*' for anything, as in 'git push*'")
        })?;
    }
    match (Settings::new(Rules { deny: texts.clone(), ..none }), written.first()) {
        (Err(error), Some(first)) => Err(Error::at(first.span(), error).help_with("keep fewer patterns")),
        _ => Ok(texts),
    }
}

fn stages(written: &Option<Vec<Placed<String>>>, base: Stages) -> Result<Stages, Error> {
    let Some(written) = written else { return Ok(base) };
    let mut stages = Stages { outcome: false, patterns: false, risk: false, tolerance: false };
    for given in written {
        match given.get().as_str() {
            "outcome" => stages.outcome = true,
            "patterns" => stages.patterns = true,
            "risk" => stages.risk = true,
            "tolerance" => stages.tolerance = true,
            other => {
                let message = format!("'{other}' is none of the stages outcome, patterns, risk, tolerance");
                return Err(Error::at(given.span(), message));
            }
        }
    }
    Ok(stages)
}
