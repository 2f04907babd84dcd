//! What the operator's settings come to for each operation, worked out once when a registry is published.

use super::{
    Behaviour, Decision, Executing, Facts, Policy, Reason, Rule, Standing, Then, WantOfTrust, condition,
    glob::Glob,
};
use crate::{
    category::Category,
    danger::DangerLevel,
    operation::{Operation, OperationId},
    profile::matches_pattern,
    registry::{INTROSPECT, RESERVED},
    trust::TrustLevel,
};

/// A decision for every operation, as far as it can be made without a call.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// Rules that take a call to know whether they meet it.
    rules: Vec<Ready>,
}

/// What holds for one operation.
#[derive(Debug)]
struct Entry {
    standing: Standing,
    call: Settled,
    /// The same for a dry run, where there is one.
    dry_run: Option<Settled>,
    /// Whether a block of its caller, or a supervised execution, can stand in its way.
    stoppable: bool,
}

/// What one kind of call of an operation comes to.
#[derive(Debug, Default)]
struct Settled {
    denied: Option<Reason>,
    /// Why its level makes somebody ask. A rule may say that it need not.
    level_asks: Vec<String>,
    /// What asks in any case.
    asks: Vec<String>,
    /// Whether a rule for every caller says that the level is no reason to ask.
    unasked: bool,
    /// The rules to look at with each call, by their place.
    rules: Vec<usize>,
}

/// A rule with its conditions made ready.
#[derive(Debug)]
struct Ready {
    rule: Rule,
    callers: Vec<Glob>,
    when: Vec<condition::Compiled>,
}

/// What an operation, or its dry run, is taken for.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) category: Category,
    pub(super) danger: DangerLevel,
}

impl Taken {
    pub(super) fn call(operation: &Operation) -> Self {
        Self { category: operation.category(), danger: operation.danger().level }
    }

    /// A dry run changes nothing, so it is taken for a READ.
    pub(super) const DRY_RUN: Self = Self { category: Category::Read, danger: DangerLevel::Safe };
}

impl Table {
    /// Works everything out, or tells which rule cannot be used and why.
    pub(crate) fn new(
        policy: &Policy,
        operations: &[Operation],
    ) -> Result<Self, Vec<(usize, condition::Fault)>> {
        let mut faults = Vec::new();
        let mut places = Vec::new();
        let mut rules = Vec::new();
        for (place, rule) in policy.rules.iter().enumerate() {
            match rule.compiled() {
                Ok(when) if rule.depends_on_the_call() => {
                    places.push(Some(rules.len()));
                    let callers = rule.callers.iter().map(|pattern| Glob::new(pattern)).collect();
                    rules.push(Ready { rule: rule.clone(), callers, when });
                }
                Ok(_) => places.push(None),
                Err(fault) => {
                    places.push(None);
                    faults.push((place, fault));
                }
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut table = Self { entries: Vec::with_capacity(operations.len()), rules };
        for operation in operations {
            let entry = table.entry(policy, &places, operation);
            table.entries.push(entry);
        }
        Ok(table)
    }

    fn entry(&self, policy: &Policy, places: &[Option<usize>], operation: &Operation) -> Entry {
        let call = settle(policy, places, operation, Taken::call(operation));
        let dry_run = operation.has_dry_run().then(|| {
            let mut settled = settle(policy, places, operation, Taken::DRY_RUN);
            // What nobody may call nobody may try either: it is not even shown.
            settled.denied = settled.denied.or_else(|| call.denied.clone());
            settled
        });
        let standing = match &call {
            Settled { denied: Some(reason), .. } => Standing::Deny(reason.clone()),
            Settled { rules, asks, .. } if !rules.is_empty() => {
                let certain = !asks.is_empty() && !rules.iter().any(|place| self.may_deny(*place));
                if certain { Standing::Confirm } else { Standing::Depends }
            }
            settled if settled.asks() => Standing::Confirm,
            _ => Standing::Allow,
        };
        let name = operation.name().as_str();
        let stoppable = operation.category().is_mutating() && !RESERVED.contains(&name);
        Entry { standing, call, dry_run, stoppable }
    }

    fn may_deny(&self, place: usize) -> bool {
        self.rules.get(place).is_some_and(|ready| ready.rule.then == Then::Deny)
    }

    pub(crate) fn standing(&self, id: OperationId) -> &Standing {
        // INVARIANT: ids come from the registry that this table is of. Any other is denied.
        static UNKNOWN: Standing = Standing::Deny(Reason::Undecided);
        self.entries.get(id.index()).map_or(&UNKNOWN, |entry| &entry.standing)
    }

    /// Decides one call.
    pub(crate) fn decide(&self, id: OperationId, facts: &Facts<'_>) -> Decision {
        let Some(entry) = self.entries.get(id.index()) else { return Decision::Deny(Reason::Undecided) };
        let (settled, stoppable) = match &entry.dry_run {
            Some(dry_run) if facts.dry_run => (dry_run, false),
            _ => (&entry.call, entry.stoppable),
        };
        if let Some(reason) = &settled.denied {
            return Decision::Deny(reason.clone());
        }
        if stoppable && let Some(reason) = stopped(facts) {
            return Decision::Deny(reason);
        }
        if settled.rules.is_empty() && !settled.asks() {
            return Decision::Allow;
        }
        self.ask(settled, facts)
    }

    fn ask(&self, settled: &Settled, facts: &Facts<'_>) -> Decision {
        let mut unasked = settled.unasked;
        let mut asking = Vec::new();
        for ready in settled.rules.iter().filter_map(|place| self.rules.get(*place)) {
            if !ready.meets(facts) {
                continue;
            }
            match ready.rule.then {
                Then::Deny => return Decision::Deny(Reason::Rule(ready.rule.says())),
                Then::Confirm => asking.push(ready.rule.says()),
                Then::AllowUnasked => unasked = true,
                Then::Allow => {}
            }
        }
        let mut reasons = settled.asks.clone();
        reasons.append(&mut asking);
        if !unasked {
            reasons.extend(settled.level_asks.iter().cloned());
        }
        if reasons.is_empty() { Decision::Allow } else { Decision::Confirm(reasons) }
    }
}

impl Settled {
    fn asks(&self) -> bool {
        !self.asks.is_empty() || (!self.unasked && !self.level_asks.is_empty())
    }
}

impl Ready {
    fn meets(&self, facts: &Facts<'_>) -> bool {
        (self.callers.is_empty() || self.callers.iter().any(|caller| caller.matches(facts.principal)))
            && self.when.iter().all(|condition| condition.holds(facts.params, self.rule.then.tightens()))
    }
}

/// What keeps the caller from changing anything for now.
pub(super) fn stopped(facts: &Facts<'_>) -> Option<Reason> {
    if let Some(block) = facts.blocks.of_principal(facts.principal) {
        return Some(Reason::Blocked {
            agent: block.agent.clone(),
            verification_id: block.verification_id.clone(),
            reason: block.reason.clone(),
        });
    }
    facts.executing.iter().find_map(|executing| match executing {
        Executing::NothingReported { agent } => Some(Reason::NothingReported { agent: agent.clone() }),
        Executing::Paused { agent, reason } => {
            Some(Reason::Paused { agent: agent.clone(), reason: reason.clone() })
        }
        Executing::Running { .. } => None,
    })
}

fn settle(policy: &Policy, places: &[Option<usize>], operation: &Operation, taken: Taken) -> Settled {
    let mut settled = Settled::default();
    if operation.name().as_str() == INTROSPECT {
        return settled;
    }
    let mut refusals = vec![listed(policy, operation), below_minimum(policy, operation, taken)];
    match level(policy, operation, taken) {
        Level::Allow => {}
        Level::Ask(reasons) => settled.level_asks = reasons,
        Level::Insist(reason) => settled.asks.push(reason),
        Level::Deny(reason) => refusals.push(Some(reason)),
    }
    for (place, rule) in places.iter().zip(&policy.rules) {
        if !rule.meets(operation, taken.category, taken.danger) {
            continue;
        }
        match (place, rule.then) {
            (Some(place), _) => settled.rules.push(*place),
            (None, Then::Deny) => refusals.push(Some(Reason::Rule(rule.says()))),
            (None, Then::Confirm) => settled.asks.push(rule.says()),
            (None, Then::AllowUnasked) => settled.unasked = true,
            (None, Then::Allow) => {}
        }
    }
    settled.denied = refusals.into_iter().flatten().next();
    settled
}

/// What the lists of names and the highest level say against an operation.
pub(super) fn listed(policy: &Policy, operation: &Operation) -> Option<Reason> {
    let name = operation.name().as_str();
    let named =
        |pattern: &&String| matches_pattern(pattern, name) || matches_pattern(pattern, operation.bare_name());
    if let Some(pattern) = policy.deny.iter().find(named) {
        return Some(Reason::DenyRule(pattern.clone()));
    }
    if !policy.allow.is_empty() && !policy.allow.iter().any(|pattern| matches_pattern(pattern, name)) {
        return Some(Reason::NotAllowed);
    }
    let level = operation.danger().level;
    policy.max_danger.filter(|max| level > *max).map(|max| Reason::TooDangerous { level, max })
}

pub(super) fn below_minimum(policy: &Policy, operation: &Operation, taken: Taken) -> Option<Reason> {
    let required = policy.minimums.as_ref()?.of(taken.category, taken.danger);
    let (level, trust) = (taken.danger, operation.trust());
    let server = operation.server().map(str::to_owned);
    (trust < required).then_some(Reason::BelowMinimum { level, trust, required, server })
}

/// What an operation's level comes to, with its server's trust.
pub(super) enum Level {
    Allow,
    Ask(Vec<String>),
    /// It would be denied, so nothing short of a person lets it through.
    Insist(String),
    Deny(Reason),
}

/// The stricter of the matrix and of the rule that whatever destroys is asked about. A cell that the operator set is the
/// last word on both.
pub(super) fn level(policy: &Policy, operation: &Operation, taken: Taken) -> Level {
    let (level, trust) = (taken.danger, operation.trust());
    let required = policy.matrix.required(level, trust);
    let server = operation.server().map(str::to_owned);
    match policy.matrix.behaviour(level, trust) {
        Behaviour::IntrospectOnly => Level::Deny(Reason::IntrospectOnly { level, trust, required, server }),
        Behaviour::Deny => {
            let confirms = policy.want_of_trust == WantOfTrust::Confirm && trust > TrustLevel::Untested;
            if confirms && required.is_some() {
                return Level::Insist(format!("it is {level}, and its adapter is trusted only as '{trust}'"));
            }
            let reasons = operation.danger().reasons.clone();
            Level::Deny(Reason::Matrix { level, trust, required, reasons, server })
        }
        Behaviour::Confirm if policy.gating => Level::Ask(asking(operation, taken)),
        Behaviour::Allow
            if policy.gating && level >= DangerLevel::Destructive && !policy.matrix.is_set(level, trust) =>
        {
            Level::Ask(asking(operation, taken))
        }
        Behaviour::Allow | Behaviour::Confirm => Level::Allow,
    }
}

/// Why somebody is asked, never nothing.
fn asking(operation: &Operation, taken: Taken) -> Vec<String> {
    let reasons = operation.danger().reasons.clone();
    if reasons.is_empty() { vec![format!("it is {}", taken.danger)] } else { reasons }
}
