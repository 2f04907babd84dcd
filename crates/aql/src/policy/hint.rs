//! Decisions about what somebody only says they are about to do: words with no operation behind them.
//!
//! Patterns that deny or ask are met where any word of the hint begins, whatever its case, so that "now drop_table" and
//! "Drop table users" meet `drop_*`. Patterns that loosen are not asked: words prove nothing.

use super::{
    Decision, Explanation, Policy, Reason, Verdict,
    explain::{Layer, layer},
    rule::Then,
};
use crate::{classify::patterns, danger::DangerLevel, profile::matches_pattern};

/// Decides by the operator's lists, rules and the level of the words.
#[must_use]
pub fn decide(policy: &Policy, hint: &str, principal: &str) -> Decision {
    let forms = forms(hint);
    let met = |pattern: &String| forms.iter().any(|form| matches_pattern(&starting(pattern), form));
    if let Some(pattern) = policy.deny.iter().find(|pattern| met(pattern)) {
        return Decision::Deny(Reason::DenyRule(pattern.clone()));
    }
    let level = level(policy, &forms);
    if let (Some((level, _)), Some(max)) = (&level, policy.max_danger)
        && *level > max
    {
        return Decision::Deny(Reason::TooDangerous { level: *level, max });
    }
    let mut reasons = Vec::new();
    for rule in &policy.rules {
        let tells = rule.then.tightens() && !rule.operations.is_empty() && rule.when.is_empty();
        let fits = rule.danger.is_none_or(|least| level.as_ref().is_some_and(|(level, _)| *level >= least));
        if !tells || !fits || !rule.servers.is_empty() || !rule.categories.is_empty() {
            continue;
        }
        if rule.meets_caller(principal) && rule.operations.iter().any(met) {
            match rule.then {
                Then::Deny => return Decision::Deny(Reason::Rule(rule.says())),
                _ => reasons.push(rule.says()),
            }
        }
    }
    if let Some((_, why)) = level.filter(|(level, _)| policy.gating && *level >= DangerLevel::Destructive) {
        reasons.push(why);
    }
    if reasons.is_empty() { Decision::Allow } else { Decision::Confirm(reasons) }
}

/// The same with what led to it.
#[must_use]
pub fn explain(policy: &Policy, hint: &str, principal: &str) -> Explanation {
    let decision = decide(policy, hint, principal);
    let forms = forms(hint);
    let mut layers: Vec<Layer> = Vec::new();
    match level(policy, &forms) {
        Some((level, why)) => layers.push(layer("words", Verdict::Allow, format!("{why} ({level})"))),
        None => layers.push(layer("words", Verdict::Allow, "nothing in the words is dangerous by itself")),
    }
    match &decision {
        Decision::Allow => {}
        Decision::Confirm(reasons) => {
            layers.extend(reasons.iter().map(|reason| layer("policy", Verdict::Confirm, reason)));
        }
        Decision::Deny(reason) => layers.push(layer("policy", Verdict::Deny, reason)),
    }
    Explanation::new(hint, principal, &decision, layers)
}

/// What a rule comes to by itself.
pub(super) fn verdict(then: Then) -> Verdict {
    match then {
        Then::Allow | Then::AllowUnasked => Verdict::Allow,
        Then::Confirm => Verdict::Confirm,
        Then::Deny => Verdict::Deny,
    }
}

/// The hint from each of its words on, in the spelling of names.
fn forms(hint: &str) -> Vec<String> {
    const WORDS_MAX: usize = 200;
    let mut words: Vec<String> = Vec::new();
    for part in hint.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).take(WORDS_MAX) {
        words.push(part.to_lowercase());
    }
    (0..words.len()).map(|from| words.get(from..).unwrap_or_default().join("_")).collect()
}

/// A pattern of a name, met by words that go on after it.
fn starting(pattern: &str) -> String {
    if pattern.ends_with('*') { pattern.to_owned() } else { format!("{pattern}*") }
}

/// The highest level that some words have by themselves, and why.
fn level(policy: &Policy, forms: &[String]) -> Option<(DangerLevel, String)> {
    let known = forms.iter().filter_map(|form| patterns::level(form, None));
    let known = known.map(|(level, pattern)| (level, format!("the words fit '{pattern}'")));
    let own = policy
        .danger_patterns
        .iter()
        .filter(|(pattern, _)| forms.iter().any(|form| matches_pattern(&starting(pattern), form)));
    let own =
        own.map(|(pattern, level)| (*level, format!("the words fit the operator's pattern '{pattern}'")));
    known.chain(own).max_by_key(|(level, _)| *level)
}
