//! What would be said of a hint, stage by stage: for operators who try out their settings.

use serde::Serialize;

use super::{
    directive::SafetyTier,
    evaluate::{Halt, Report, StepOutcome, Verdict, evaluate},
    risk::{Risk, Scorer},
    settings::Settings,
};

/// What one stage says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    Passes,
    /// It goes on without a further look.
    Approves,
    Pauses,
    Stops,
    /// The operator switched it off.
    Off,
    /// An earlier one ended the evaluation.
    NotReached,
}

impl Says {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Approves => "approves",
            Self::Pauses => "pauses",
            Self::Stops => "stops",
            Self::Off => "off",
            Self::NotReached => "not reached",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stage {
    pub stage: &'static str,
    pub says: Says,
    pub because: String,
}

/// The verdict with everything that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub verdict: Verdict,
    /// All five, in their order.
    pub stages: Vec<Stage>,
    /// What the action scores, whether that was asked for or not.
    pub risk: Risk,
    pub tier: SafetyTier,
}

const STAGES: [&str; 5] = ["step_limit", "outcome", "patterns", "risk", "tolerance"];

/// Explains what [`evaluate`] comes to. It is asked itself, so that both say the same.
#[must_use]
pub fn explain(settings: &Settings, scorer: &dyn Scorer, report: &Report) -> Explanation {
    let rules = &settings.rules;
    let verdict = evaluate(settings, scorer, report);
    let mut risk = scorer.score(&report.action, rules.escalate_after);
    risk.score = risk.score.min(100);
    let approved = verdict.halt.is_none()
        && verdict.tier.is_none()
        && rules.stages.patterns
        && settings.auto_approve.first(&report.action.hint).is_some()
        && !report.action.hint.folded.hides;
    let decided = match &verdict.halt {
        Some((halt, _)) => Some(stage_of(*halt)),
        None => approved.then_some(2),
    };
    let on = [
        true,
        rules.stages.outcome,
        rules.stages.patterns,
        rules.stages.risk,
        rules.stages.risk && rules.stages.tolerance,
    ];
    let places = STAGES.into_iter().zip(on).enumerate();
    let stages = places.map(|(place, (stage, on))| {
        let (says, because) = match decided {
            Some(decided) if place == decided => decisive(&verdict),
            Some(decided) if place > decided => (Says::NotReached, String::new()),
            _ if !on => (Says::Off, String::new()),
            _ => (Says::Passes, passed(place, settings, report, risk.score)),
        };
        Stage { stage, says, because }
    });
    let (stages, tier) = (stages.collect(), SafetyTier::of(risk.score));
    Explanation { verdict, stages, risk, tier }
}

fn stage_of(halt: Halt) -> usize {
    match halt {
        Halt::StepLimit => 0,
        Halt::Failure => 1,
        Halt::Deny | Halt::RequiresApproval => 2,
        Halt::Confirm | Halt::Verify | Halt::DangerZone => 3,
        Halt::Tolerance => 4,
    }
}

fn decisive(verdict: &Verdict) -> (Says, String) {
    match &verdict.halt {
        Some((halt, reason)) if halt.is_stop() => (Says::Stops, reason.clone()),
        Some((_, reason)) => (Says::Pauses, reason.clone()),
        None => (Says::Approves, verdict.factors.join("; ")),
    }
}

fn passed(place: usize, settings: &Settings, report: &Report, score: u8) -> String {
    let rules = &settings.rules;
    match place {
        0 => format!("{} of {} steps taken", report.steps_before, rules.max_autonomous_steps),
        1 => match report.outcome {
            Some(outcome) => format!("the previous step was a {}", outcome.as_str()),
            None => format!("no {} was reported", StepOutcome::Failure.as_str()),
        },
        2 => "no pattern fits".to_owned(),
        3 => format!("score {score} is {}", SafetyTier::of(score).as_str()),
        _ => format!(
            "score {score} is within {}, the {} limit",
            rules.risk_tolerance.threshold(),
            rules.risk_tolerance
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::autonomy::{Action, Hint, Rules, Stages, Tolerance, Words};

    fn explained(rules: Rules, hint: &str, outcome: Option<StepOutcome>, steps_before: u32) -> Explanation {
        let action = Action { hint: Hint::read(hint), known: None, repeated: 0 };
        let report = Report { action, outcome, steps_before };
        explain(&Settings::new(rules).unwrap(), &Words, &report)
    }

    /// REQ-AUTO-04
    #[test]
    fn the_stage_that_decides_is_shown_and_those_behind_it_are_not_reached() {
        use Says::{Approves, NotReached, Off, Passes, Pauses, Stops};
        let approving = || Rules { auto_approve: vec!["read_*".to_owned()], ..Rules::default() };
        let tight = || Rules { risk_tolerance: Tolerance::Conservative, ..Rules::default() };
        let limited = Stages { outcome: false, patterns: false, risk: false, tolerance: true };
        for (rules, hint, outcome, before, expected) in [
            (Rules::default(), "listing files", None, 0, [Passes, Passes, Passes, Passes, Passes]),
            (Rules::default(), "x", None, 25, [Pauses, NotReached, NotReached, NotReached, NotReached]),
            (
                Rules::default(),
                "x",
                Some(StepOutcome::Failure),
                0,
                [Passes, Pauses, NotReached, NotReached, NotReached],
            ),
            (Rules::default(), "dropTable", None, 0, [Passes, Passes, Stops, NotReached, NotReached]),
            (Rules::default(), "git push", None, 0, [Passes, Passes, Pauses, NotReached, NotReached]),
            (approving(), "read_x", None, 0, [Passes, Passes, Approves, NotReached, NotReached]),
            (approving(), "wipe disks", None, 0, [Passes, Passes, Passes, Stops, NotReached]),
            (tight(), "sending an email", None, 0, [Passes, Passes, Passes, Passes, Pauses]),
            (
                Rules { stages: limited, ..Rules::default() },
                "rm -rf /",
                None,
                0,
                [Passes, Off, Off, Off, Off],
            ),
        ] {
            let told = explained(rules, hint, outcome, before);
            let says: Vec<Says> = told.stages.iter().map(|stage| stage.says).collect();
            assert_eq!(says, expected, "{hint}: {told:?}");
            for stage in &told.stages {
                let silent = matches!(stage.says, Off | NotReached);
                assert_eq!(stage.because.is_empty(), silent, "{stage:?}");
            }
        }
    }

    proptest! {
        /// What is explained is what would be decided, and the stage that decides says so.
        #[test]
        fn an_explanation_agrees_with_the_verdict(
            hint in "(read|wipe|drop_|git push|\\PC){0,12}",
            before in 0u32..4,
            flags in any::<[bool; 4]>(),
            failed in any::<bool>(),
        ) {
            let [outcome, patterns, risk, tolerance] = flags;
            let rules = Rules {
                max_autonomous_steps: 3,
                auto_approve: vec!["read*".to_owned()],
                stages: Stages { outcome, patterns, risk, tolerance },
                ..Rules::default()
            };
            let settings = Settings::new(rules.clone()).unwrap();
            let action = Action { hint: Hint::read(&hint), known: None, repeated: 0 };
            let report = Report { action, outcome: failed.then_some(StepOutcome::Failure), steps_before: before };
            let told = explain(&settings, &Words, &report);
            prop_assert_eq!(&told.verdict, &evaluate(&settings, &Words, &report));
            let halts = told.stages.iter().filter(|stage| matches!(stage.says, Says::Pauses | Says::Stops)).count();
            prop_assert_eq!(halts, usize::from(told.verdict.halt.is_some()));
        }
    }
}
