//! One reported step through the five stages, with many patterns that all have to be looked for.

use std::{hint::black_box, time::Instant};

use aql::autonomy::{Action, Hint, Report as Reported, Rules, Settings, Verdict, Words, evaluate};

use crate::{
    Result,
    report::{Report, Target, median},
};

const PATTERNS: usize = 500;
const MICROSECONDS_MAX: f64 = 50.0;
const READINGS: usize = 25;
const CALLS: u32 = 2_000;
/// Nothing fits it, so every stage runs to its end.
const HINT: &str =
    "Reading the file docs/guide/installation.md, then comparing its commands with those of README.md";

/// Settings and a report.
pub(crate) struct Subject {
    settings: Settings,
}

impl Subject {
    /// A fifth of the patterns has a star in the middle, as those for commands with arguments do.
    pub(crate) fn new() -> Result<Self> {
        let pattern = |number: usize| match number % 5 {
            0 => format!("git push*origin{number}"),
            1 => format!("*--force-{number}*"),
            _ => format!("delete_thing_{number}*"),
        };
        let all: Vec<String> = (0..PATTERNS).map(pattern).collect();
        let (deny, rest) = all.split_at(PATTERNS * 2 / 5);
        let (requires_approval, auto_approve) = rest.split_at(PATTERNS * 2 / 5);
        let rules = Rules {
            deny: deny.to_vec(),
            requires_approval: requires_approval.to_vec(),
            auto_approve: auto_approve.to_vec(),
            ..Rules::default()
        };
        Ok(Self { settings: Settings::new(rules)? })
    }

    /// From the hint as it was written.
    pub(crate) fn evaluate(&self) -> Verdict {
        let action = Action { hint: Hint::read(black_box(HINT)), known: None, repeated: 0 };
        let report = Reported { action, outcome: None, steps_before: 3 };
        evaluate(&self.settings, &Words, &report)
    }
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let subject = Subject::new()?;
    if subject.evaluate().halt.is_some() {
        return Err("the step that is measured must go on".into());
    }
    let reading = || {
        let start = Instant::now();
        (0..CALLS).for_each(|_| drop(black_box(subject.evaluate())));
        start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
    };
    let readings: Vec<f64> = (0..READINGS).map(|_| reading()).collect();
    let what = format!("{PATTERNS} patterns, none of which fits");
    report.add("One step of an agent", what, median(readings), "µs", Target::AtMost(MICROSECONDS_MAX));
    Ok(())
}
