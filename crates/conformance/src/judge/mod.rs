//! Judges evidence, whoever collected it.
//!
//! One file a category. A judge reads a bundle and says of each test whether it passes and why; it asks
//! nobody anything. Where a bundle holds nothing that could show a thing, the test is skipped and says so.

mod basics;
mod errors;
mod introspection;
mod level2;
mod parameters;
mod round_trip;
mod semantic;

use serde_json::Value;

use crate::{
    Evidence,
    answer::{at, list_at},
    report::{Category, Level, Outcome, Report, Summary, Test},
};

/// What a category of tests asks of one bundle.
struct Judge {
    name: &'static str,
    level: Level,
    /// Whether the level is denied when it fails.
    required: bool,
    tests: fn(&Evidence) -> Vec<Test>,
}

const JUDGES: [Judge; 9] = [
    Judge { name: "Level 1 Requirements", level: Level::One, required: true, tests: basics::tests },
    Judge { name: "Introspection Fidelity", level: Level::One, required: true, tests: introspection::tests },
    Judge { name: "Parameter Handling", level: Level::One, required: true, tests: parameters::tests },
    Judge { name: "Error Quality", level: Level::One, required: true, tests: errors::tests },
    Judge { name: "Round-Trip Integrity", level: Level::One, required: true, tests: round_trip::tests },
    Judge { name: "Endpoint Modes", level: Level::Two, required: true, tests: level2::modes },
    Judge { name: "Level 2 Features", level: Level::Two, required: false, tests: level2::features },
    Judge {
        name: "Constraint Documentation",
        level: Level::Two,
        required: false,
        tests: level2::constraints,
    },
    Judge { name: "Semantic Evaluation", level: Level::Two, required: false, tests: semantic::tests },
];

/// Judges the bundles of one adapter together: every test is made on each of them.
///
/// Level 2 includes Level 1, so a failure there denies both.
pub fn report(bundles: &[Evidence], level: Level) -> Report {
    let mut reached = if bundles.is_empty() { 0 } else { level.number() };
    let mut categories = Vec::new();
    for judge in JUDGES.iter().filter(|judge| judge.level <= level) {
        let tests = bundles.iter().flat_map(|bundle| judge.on(bundle)).collect();
        let category = Category::new(judge.name, judge.required, tests);
        if category.result == Outcome::Fail {
            reached = reached.min(judge.level.number() - 1);
        }
        categories.push(category);
    }
    let of = |field: fn(&Evidence) -> &str| bundles.first().map(field).unwrap_or_default().to_owned();
    Report {
        implementation: of(|bundle| &bundle.implementation),
        version: of(|bundle| &bundle.version),
        spec_version: of(|bundle| &bundle.spec_version),
        requested_level: level.number(),
        conformance_level: reached,
        summary: Summary::of(&categories),
        categories,
    }
}

impl Evidence {
    /// Judges this bundle alone.
    pub fn report(&self, level: Level) -> Report {
        report(std::slice::from_ref(self), level)
    }
}

impl Judge {
    fn on(&self, bundle: &Evidence) -> Vec<Test> {
        let mode = bundle.live.as_ref().map(|live| live.mode.clone());
        (self.tests)(bundle).into_iter().map(|test| Test { mode: mode.clone(), ..test }).collect()
    }
}

const NOT_LIVE: &str = "the bundle holds no live answers that could show it";

fn listed(bundle: &Evidence) -> impl Iterator<Item = &Value> {
    list_at(&bundle.introspection.operations_list, "data.operations").iter()
}

fn detail<'a>(bundle: &'a Evidence, name: &Value) -> Option<&'a Value> {
    bundle.introspection.operation_details.iter().find(|detail| at(detail, "name") == name)
}
