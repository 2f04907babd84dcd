//! Levels, modes, exit codes and the report's form.

use conformance::{Adapter, Evidence, Level, Mode, Outcome, Report, Subject, collect, report};
use serde_json::{Value, json};

use crate::{
    fake::{Fake, Fault},
    faults::judged,
};

/// LREQ-CONFORM-10 LREQ-CONFORM-11 LREQ-CONFORM-13
#[test]
fn an_adapter_without_faults_passes_both_levels() {
    for (level, number) in [(Level::One, 1), (Level::Two, 2)] {
        let report = judged(Fault::None, level);
        assert_eq!(report.complaints(), Vec::<String>::new());
        assert_eq!(
            (report.exit_code(), report.requested_level, report.conformance_level),
            (0, number, number)
        );
        let summary = report.summary;
        let sum = summary.passed + summary.warned + summary.failed + summary.skipped;
        assert_eq!(summary.total, sum);
        let told: Vec<&str> = report
            .categories
            .iter()
            .flat_map(|category| &category.tests)
            .filter(|test| test.mode.as_deref() == Some("crude") && test.result == Outcome::Skip)
            .map(|test| test.name.as_str())
            .collect();
        assert_eq!(told, if number == 2 { vec!["A model finds its way"] } else { vec![] });
        let written = serde_json::to_value(&report).unwrap();
        assert_eq!(written["specVersion"], "1.0.0-draft");
        assert_eq!(written["categories"][0]["tests"][0]["result"], "PASS");
        assert_eq!(serde_json::from_value::<Report>(written).unwrap(), report, "it reads back");
    }
}

/// REQ-CONFORM-02
#[test]
fn a_failure_of_level_one_denies_level_two() {
    let report = judged(Fault::AcceptsAnyEndpoint, Level::Two);
    assert_eq!((report.exit_code(), report.conformance_level), (1, 0));
}

/// REQ-CONFORM-03
#[test]
fn one_mode_is_enough_for_level_one_and_too_little_for_level_two() {
    for mode in [Mode::Crude, Mode::Single] {
        let mut fake = Fake::new(mode, Fault::None);
        let subject = Subject { implementation: "widgets".into(), version: "1".into(), run: 0 };
        let evidence = collect(&subject, &mut [(mode, &mut fake)]);
        assert_eq!(report(&evidence, Level::One).exit_code(), 0);
        let two = report(&evidence, Level::Two);
        assert_eq!((two.exit_code(), two.conformance_level), (1, 1), "{:#?}", two.complaints());
    }
}

/// A mode counts only where its tools were seen.
///
/// REQ-CONFORM-03
#[test]
fn a_mode_that_is_not_what_was_said_does_not_count() {
    let (mut one, mut other) = (Fake::new(Mode::Single, Fault::None), Fake::new(Mode::Single, Fault::None));
    let subject = Subject { implementation: "widgets".into(), version: "1".into(), run: 0 };
    let evidence = collect(&subject, &mut [(Mode::Crude, &mut one), (Mode::Single, &mut other)]);
    assert_eq!(evidence[0].endpoint_modes, ["single"]);
    assert_eq!(report(&evidence, Level::Two).exit_code(), 1);

    let evidence = collect(&subject, &mut [(Mode::Crude, &mut one)]);
    let report = report(&evidence, Level::One);
    assert_eq!(report.exit_code(), 1);
    assert!(
        report.complaints()[0].starts_with("Fail An endpoint mode is served"),
        "{:?}",
        report.complaints()
    );
}

/// An adapter that answers nothing of use.
struct Mute(Value);

impl Adapter for Mute {
    fn tools(&mut self) -> Vec<Value> {
        let schema = json!({"properties": {"operation": {}}});
        vec![
            json!({"name": "a", "inputSchema": schema}),
            json!({"name": "b", "inputSchema": schema}),
            json!(7),
        ]
    }

    fn call(&mut self, _tool: &str, _arguments: Value) -> Value {
        self.0.clone()
    }
}

/// REQ-CONFORM-01
#[test]
fn whatever_comes_is_judged_and_never_passes() {
    let answers = [
        json!(null),
        json!("text"),
        json!({"success": true, "data": null}),
        json!({"success": true, "data": {"operations": [{"name": 1}, {"name": "x"}], "operation": {"name": "x"}}}),
    ];
    for answer in answers {
        let subject = Subject { implementation: "mute".into(), version: "1".into(), run: 0 };
        let evidence = collect(&subject, &mut [(Mode::Crude, &mut Mute(answer.clone()))]);
        let report = report(&evidence, Level::Two);
        assert_eq!((report.exit_code(), report.conformance_level), (1, 0), "{answer}");
    }
    assert_eq!(report(&[], Level::One).conformance_level, 0, "no evidence is no conformance");
}

/// LREQ-CONFORM-13
#[test]
fn evidence_reads_back_as_it_was_written() {
    let mut fake = Fake::new(Mode::Crude, Fault::None);
    let subject = Subject { implementation: "widgets".into(), version: "1".into(), run: 0 };
    let evidence = collect(&subject, &mut [(Mode::Crude, &mut fake)]);
    let written = serde_json::to_string(&evidence[0]).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&written).unwrap(), evidence[0]);
}
