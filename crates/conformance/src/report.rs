//! What a judgement says, and the exit code it stands for.

use serde::{Deserialize, Serialize};

/// How much of the specification is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    One,
    Two,
}

impl Level {
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    Pass,
    Fail,
    Warn,
    /// There is no evidence that could show it.
    Skip,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    pub name: String,
    /// The endpoint mode the evidence was collected in, if it was collected live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    pub result: Outcome,
    /// Why.
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub name: String,
    /// Whether a failure in it denies the level.
    pub required: bool,
    pub result: Outcome,
    pub tests: Vec<Test>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub total: usize,
    pub passed: usize,
    pub warned: usize,
    pub failed: usize,
    pub skipped: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub implementation: String,
    pub version: String,
    pub spec_version: String,
    pub requested_level: u8,
    /// The level reached; 0 is none.
    pub conformance_level: u8,
    pub summary: Summary,
    pub categories: Vec<Category>,
}

impl Report {
    /// 0 when everything passed, 1 when a requirement failed, 2 when there are only warnings.
    ///
    /// A warning counts wherever it stands: a documented parameter that is refused is one, in a category
    /// that is required.
    pub fn exit_code(&self) -> u8 {
        let any = |outcome: Outcome| self.categories.iter().any(|category| category.result == outcome);
        if any(Outcome::Fail) {
            1
        } else if any(Outcome::Warn) {
            2
        } else {
            0
        }
    }

    /// Every test that did not pass, with its reason.
    pub fn complaints(&self) -> Vec<String> {
        let failed = |test: &&Test| matches!(test.result, Outcome::Fail | Outcome::Warn);
        let tests = self.categories.iter().flat_map(|category| category.tests.iter());
        tests.filter(failed).map(|test| format!("{:?} {}: {}", test.result, test.name, test.detail)).collect()
    }
}

impl Category {
    pub(crate) fn new(name: &str, required: bool, tests: Vec<Test>) -> Self {
        let any = |outcome: Outcome| tests.iter().any(|test| test.result == outcome);
        let result = match (any(Outcome::Fail), any(Outcome::Warn), any(Outcome::Pass)) {
            (true, _, _) if required => Outcome::Fail,
            (true, _, _) | (_, true, _) => Outcome::Warn,
            (_, _, true) => Outcome::Pass,
            _ => Outcome::Skip,
        };
        Self { name: name.to_owned(), required, result, tests }
    }
}

impl Summary {
    pub(crate) fn of(categories: &[Category]) -> Self {
        let mut summary = Self::default();
        for test in categories.iter().flat_map(|category| &category.tests) {
            summary.total += 1;
            *match test.result {
                Outcome::Pass => &mut summary.passed,
                Outcome::Warn => &mut summary.warned,
                Outcome::Fail => &mut summary.failed,
                Outcome::Skip => &mut summary.skipped,
            } += 1;
        }
        summary
    }
}

impl Test {
    fn new(name: &str, result: Outcome, detail: String) -> Self {
        Self { name: name.to_owned(), mode: None, result, detail }
    }

    pub(crate) fn pass(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Outcome::Pass, detail.into())
    }

    pub(crate) fn skip(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Outcome::Skip, detail.into())
    }

    /// Fails with all the faults there are, or passes.
    pub(crate) fn faultless(name: &str, faults: &[String], passed: impl Into<String>) -> Self {
        Self::unless(name, Outcome::Fail, faults, passed)
    }

    /// Warns of all the faults there are, or passes.
    pub(crate) fn unblemished(name: &str, faults: &[String], passed: impl Into<String>) -> Self {
        Self::unless(name, Outcome::Warn, faults, passed)
    }

    fn unless(name: &str, otherwise: Outcome, faults: &[String], passed: impl Into<String>) -> Self {
        if faults.is_empty() {
            return Self::pass(name, passed);
        }
        Self::new(name, otherwise, faults.join("; "))
    }
}
