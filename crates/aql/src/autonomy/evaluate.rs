//! One report through the five stages. The first that pauses or stops ends it.

use super::{
    directive::SafetyTier,
    risk::{Action, Scorer},
    settings::Settings,
};

/// How the step before went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    Success,
    Failure,
    Skipped,
}

impl StepOutcome {
    pub const WORDS: [&str; 3] = ["success", "failure", "skipped"];

    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "success" => Some(Self::Success),
            "failure" => Some(Self::Failure),
            "skipped" => Some(Self::Skipped),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Skipped => "skipped",
        }
    }
}

/// What an agent reports.
#[derive(Debug, Clone)]
pub struct Report {
    pub action: Action,
    pub outcome: Option<StepOutcome>,
    /// Steps since a person last looked.
    pub steps_before: u32,
}

/// Why an agent does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    StepLimit,
    Failure,
    RequiresApproval,
    Confirm,
    Tolerance,
    /// Paused until a code is given.
    Verify,
    /// Blocked until a code is given.
    DangerZone,
    /// The same, and no consent makes it right.
    Deny,
}

/// How much a person has to do before an action may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    Confirmed,
    /// With a code, for a pause.
    Verified,
    /// With a code, for a block.
    Unblocked,
}

impl Consent {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Verified => "verified",
            Self::Unblocked => "unblocked",
        }
    }
}

impl Halt {
    #[must_use]
    pub fn is_stop(self) -> bool {
        matches!(self, Self::DangerZone | Self::Deny)
    }

    #[must_use]
    pub fn needs_code(self) -> bool {
        matches!(self, Self::Verify) || self.is_stop()
    }

    /// The least consent to the very same action with which it may go on after all. A step limit or a failure is no
    /// matter of the action, and what is denied stays denied.
    #[must_use]
    pub fn lifted_by(self) -> Option<Consent> {
        match self {
            Self::RequiresApproval | Self::Confirm | Self::Tolerance => Some(Consent::Confirmed),
            Self::Verify => Some(Consent::Verified),
            Self::DangerZone => Some(Consent::Unblocked),
            Self::StepLimit | Self::Failure | Self::Deny => None,
        }
    }
}

/// What the stages came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    pub halt: Option<(Halt, String)>,
    pub factors: Vec<String>,
    pub steps_remaining: u32,
    /// Known where the risk was looked at.
    pub tier: Option<SafetyTier>,
}

/// The specification's own words for it.
pub const STEP_LIMIT_EXCEEDED: &str = "Step limit exceeded";

/// Judges one report.
#[must_use]
pub fn evaluate(settings: &Settings, scorer: &dyn Scorer, report: &Report) -> Verdict {
    let rules = &settings.rules;
    let mut verdict = Verdict {
        halt: None,
        factors: Vec::new(),
        steps_remaining: rules.max_autonomous_steps.saturating_sub(report.steps_before.saturating_add(1)),
        tier: None,
    };
    if report.steps_before >= rules.max_autonomous_steps {
        let factor = format!("{} steps were taken without a person, as many as allowed", report.steps_before);
        return verdict.halted(Halt::StepLimit, STEP_LIMIT_EXCEEDED.to_owned(), factor);
    }
    if rules.stages.outcome && report.outcome == Some(StepOutcome::Failure) {
        let reason = "The previous step ended in failure; report it to a person before trying again";
        return verdict.halted(Halt::Failure, reason.to_owned(), "previous outcome: failure".to_owned());
    }
    if rules.stages.patterns {
        match patterns(settings, &mut verdict, report) {
            Matched::Nothing => {}
            Matched::Done => return verdict,
        }
    }
    if rules.stages.risk {
        risk(settings, scorer, &mut verdict, report);
    }
    if verdict.halt.is_none() && verdict.factors.is_empty() {
        verdict.factors.push("nothing speaks against it".to_owned());
    }
    verdict
}

enum Matched {
    Nothing,
    /// Nothing more is to be looked at.
    Done,
}

fn patterns(settings: &Settings, verdict: &mut Verdict, report: &Report) -> Matched {
    let hint = &report.action.hint;
    if let Some(pattern) = settings.deny.first(hint) {
        let reason = format!("The action matches the deny pattern '{pattern}'");
        *verdict = std::mem::take(verdict).halted(Halt::Deny, reason, format!("deny pattern: {pattern}"));
        verdict.tier = Some(SafetyTier::DangerZone);
        return Matched::Done;
    }
    if let Some(pattern) = settings.requires_approval.first(hint) {
        let reason = format!("The action matches '{pattern}', for which a person has to agree");
        let factor = format!("requires_approval pattern: {pattern}");
        *verdict = std::mem::take(verdict).halted(Halt::RequiresApproval, reason, factor);
        return Matched::Done;
    }
    match settings.auto_approve.first(hint) {
        // What hides something is not what the operator had in mind.
        Some(pattern) if !hint.folded.hides => {
            verdict.factors.push(format!("auto_approve pattern: {pattern}"));
            Matched::Done
        }
        _ => Matched::Nothing,
    }
}

fn risk(settings: &Settings, scorer: &dyn Scorer, verdict: &mut Verdict, report: &Report) {
    let rules = &settings.rules;
    let risk = scorer.score(&report.action, rules.escalate_after);
    let score = risk.score.min(100);
    let tier = SafetyTier::of(score);
    verdict.factors.extend(risk.factors);
    verdict.tier = Some(tier);
    let halt = match tier {
        SafetyTier::Confirm => Some((Halt::Confirm, "has to be confirmed by a person")),
        SafetyTier::Verify => Some((Halt::Verify, "needs a person's verification code")),
        SafetyTier::DangerZone => Some((Halt::DangerZone, "is in the danger zone")),
        SafetyTier::Advisory => None,
    };
    if let Some((halt, consequence)) = halt {
        let factor = format!("safety tier {}", tier.as_str());
        let reason = format!("With a risk score of {score} the action {consequence}");
        *verdict = std::mem::take(verdict).halted(halt, reason, factor);
        return;
    }
    let tolerance = rules.risk_tolerance;
    if rules.stages.tolerance && score > tolerance.threshold() {
        let reason =
            format!("The risk score {score} is above {}, the {tolerance} limit", tolerance.threshold());
        *verdict =
            std::mem::take(verdict).halted(Halt::Tolerance, reason, format!("risk tolerance {tolerance}"));
    }
}

impl Verdict {
    fn halted(mut self, halt: Halt, reason: String, factor: String) -> Self {
        self.factors.push(factor);
        if halt == Halt::StepLimit {
            self.steps_remaining = 0;
        }
        self.halt = Some((halt, reason));
        self
    }
}
