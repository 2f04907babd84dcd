//! Why a call would be decided as it would: every voice that was heard, and which of them won.

use std::fmt;

use serde::Serialize;

use super::{
    Behaviour, Decision, Facts, Policy, Verdict,
    rule::{Rule, Then},
    table::{self, Level, Taken},
};
use crate::{
    operation::{Operation, OperationId},
    registry::{INTROSPECT, Registry},
};

/// One voice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// Whose: `names`, `minimum_trust`, `matrix`, `danger`, `rule 3`, `blocks`, `execution`.
    pub layer: String,
    pub says: Verdict,
    pub because: String,
    /// Whether the decision is this one's.
    pub decides: bool,
}

/// A decision with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The operation.
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<&'static str>,
    pub caller: String,
    pub decision: Verdict,
    /// What a caller is told, or a person is asked for.
    pub reasons: Vec<String>,
    pub layers: Vec<Layer>,
}

/// Explains what would be decided about a call whose parameters were validated.
#[must_use]
pub fn explain(registry: &Registry, id: OperationId, facts: &Facts<'_>) -> Explanation {
    let decision = registry.decide(id, facts);
    let mut layers = Vec::new();
    if let Some(operation) = registry.get(id) {
        let dry_run = facts.dry_run && operation.has_dry_run();
        let taken = if dry_run { Taken::DRY_RUN } else { Taken::call(operation) };
        if operation.name().as_str() == INTROSPECT {
            layers.push(layer("introspect", Verdict::Allow, "introspection is always allowed"));
        } else {
            layers = heard(registry.policy(), operation, taken, facts, dry_run);
        }
    }
    let said = registry.get(id);
    Explanation::new(
        said.map_or("", |operation| operation.name().as_str()),
        facts.principal,
        &decision,
        layers,
    )
    .of(said)
}

/// What a rule comes to by itself.
fn verdict(then: Then) -> Verdict {
    match then {
        Then::Allow | Then::AllowUnasked => Verdict::Allow,
        Then::Confirm => Verdict::Confirm,
        Then::Deny => Verdict::Deny,
    }
}

/// Everything that is said of the call, whatever comes of it.
fn heard(
    policy: &Policy,
    operation: &Operation,
    taken: Taken,
    facts: &Facts<'_>,
    dry_run: bool,
) -> Vec<Layer> {
    let mut layers = Vec::new();
    if dry_run {
        layers.push(layer("dry_run", Verdict::Allow, "nothing is changed, so it is decided as a READ"));
        if let Level::Deny(reason) = table::level(policy, operation, Taken::call(operation)) {
            layers.push(layer("matrix", Verdict::Deny, reason));
        }
    }
    layers.push(match table::listed(policy, operation) {
        Some(reason) => layer("names", Verdict::Deny, reason),
        None => layer("names", Verdict::Allow, "neither the lists of names nor the highest level deny it"),
    });
    if policy.minimums.is_some() {
        layers.push(match table::below_minimum(policy, operation, taken) {
            Some(reason) => layer("minimum_trust", Verdict::Deny, reason),
            None => {
                layer("minimum_trust", Verdict::Allow, "the adapter is trusted far enough for its category")
            }
        });
    }
    layers.extend(of_level(policy, operation, taken));
    for (place, rule) in policy.rules.iter().enumerate() {
        layers.extend(of_rule(place, rule, operation, taken, facts));
    }
    if !dry_run && operation.category().is_mutating() {
        layers.push(match table::stopped(facts) {
            Some(reason) => layer("safety_loop", Verdict::Deny, reason),
            None => layer("safety_loop", Verdict::Allow, "no agent of the caller is blocked or waits"),
        });
    }
    layers
}

fn of_level(policy: &Policy, operation: &Operation, taken: Taken) -> Vec<Layer> {
    let (level, trust) = (taken.danger, operation.trust());
    let behaviour = policy.matrix.behaviour(level, trust);
    let set = if policy.matrix.is_set(level, trust) { ", as the operator set" } else { "" };
    let cell = format!("{level} with trust '{trust}' is '{behaviour}'{set}");
    match table::level(policy, operation, taken) {
        Level::Deny(_) => vec![layer("matrix", Verdict::Deny, cell)],
        Level::Insist(_) => {
            let because = format!("{cell}, which 'want_of_trust' makes a question");
            vec![layer("matrix", Verdict::Confirm, because)]
        }
        Level::Ask(_) if behaviour == Behaviour::Confirm => vec![layer("matrix", Verdict::Confirm, cell)],
        Level::Ask(_) => vec![
            layer("matrix", Verdict::Allow, cell),
            layer("danger", Verdict::Confirm, format!("what is {level} is asked about")),
        ],
        Level::Allow if behaviour == Behaviour::Confirm => {
            vec![layer("matrix", Verdict::Allow, format!("{cell}, but gating is off"))]
        }
        Level::Allow => vec![layer("matrix", Verdict::Allow, cell)],
    }
}

fn of_rule(
    place: usize,
    rule: &Rule,
    operation: &Operation,
    taken: Taken,
    facts: &Facts<'_>,
) -> Option<Layer> {
    let conditions = rule.compiled().ok()?;
    let meets = rule.meets(operation, taken.category, taken.danger)
        && rule.meets_caller(facts.principal)
        && conditions.iter().all(|condition| condition.holds(facts.params, rule.then.tightens()));
    let says = verdict(rule.then);
    meets.then(|| layer(&format!("rule {}", place + 1), says, format!("{}: {}", rule.then, rule.says())))
}

pub(super) fn layer(name: &str, says: Verdict, because: impl fmt::Display) -> Layer {
    Layer { layer: name.to_owned(), says, because: because.to_string(), decides: false }
}

impl Explanation {
    pub(super) fn new(subject: &str, caller: &str, decision: &Decision, mut layers: Vec<Layer>) -> Self {
        let verdict = decision.verdict();
        for layer in &mut layers {
            layer.decides = verdict > Verdict::Allow && layer.says == verdict;
        }
        // A rule may have said that the level is no reason to ask.
        let unasked = "allow_unasked: ";
        if layers.iter().any(|layer| layer.because.starts_with(unasked)) {
            for layer in layers.iter_mut().filter(|layer| matches!(layer.layer.as_str(), "danger" | "matrix"))
            {
                layer.decides &= verdict == Verdict::Deny || layer.because.contains("'want_of_trust'");
            }
            if verdict == Verdict::Allow {
                layers.iter_mut().for_each(|layer| layer.decides = layer.because.starts_with(unasked));
            }
        }
        let reasons = match decision {
            Decision::Allow => Vec::new(),
            Decision::Confirm(reasons) => reasons.clone(),
            Decision::Deny(reason) => vec![reason.to_string()],
        };
        Self {
            subject: subject.to_owned(),
            danger: None,
            trust: None,
            caller: caller.to_owned(),
            decision: verdict,
            reasons,
            layers,
        }
    }

    fn of(mut self, operation: Option<&Operation>) -> Self {
        self.danger = operation.map(|operation| operation.danger().level.as_str());
        self.trust = operation.map(|operation| operation.trust().as_str());
        self
    }
}

/// For people, one voice a line; `*` marks what decides.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.decision.as_str())?;
        if let (Some(danger), Some(trust)) = (self.danger, self.trust) {
            write!(f, " ({danger}, adapter '{trust}', caller '{}')", self.caller)?;
        }
        for layer in &self.layers {
            let mark = if layer.decides { '*' } else { ' ' };
            write!(f, "\n {mark} {:<13} {:<7} {}", layer.layer, layer.says.as_str(), layer.because)?;
        }
        for reason in &self.reasons {
            write!(f, "\n   because {reason}")?;
        }
        Ok(())
    }
}
