//! Every check fails on an adapter that is wrong in just what it checks.

use conformance::{Level, Mode, Outcome, Report, Subject, collect, report};

use crate::fake::{Fake, Fault};

pub(crate) fn judged(fault: Fault, level: Level) -> Report {
    let (mut crude, mut single) = (Fake::new(Mode::Crude, fault), Fake::new(Mode::Single, fault));
    let subject = Subject { implementation: "widgets".into(), version: "1.2".into(), run: 3 };
    let evidence = collect(&subject, &mut [(Mode::Crude, &mut crude), (Mode::Single, &mut single)]);
    if fault == Fault::None {
        assert!(crude.is_empty() && single.is_empty(), "what was created is deleted again");
    }
    report(&evidence, level)
}

fn outcomes(report: &Report, name: &str) -> Vec<Outcome> {
    let tests = report.categories.iter().flat_map(|category| &category.tests);
    tests.filter(|test| test.name == name).map(|test| test.result).collect()
}

/// The fault is found by the check that is there for it, and the report's exit code follows.
fn finds(fault: Fault, name: &str, outcome: Outcome, exit_code: u8) {
    let report = judged(fault, Level::Two);
    let complaints = report.complaints();
    assert!(outcomes(&report, name).contains(&outcome), "{fault:?}: {complaints:#?}");
    assert_eq!(report.exit_code(), exit_code, "{fault:?}: {complaints:#?}");
    assert_eq!(report.conformance_level, if exit_code == 1 { 0 } else { 2 }, "{fault:?}: {complaints:#?}");
    let right = judged(Fault::None, Level::Two);
    assert!(outcomes(&right, name).contains(&Outcome::Pass), "{name} can pass");
}

/// REQ-CONFORM-11 LREQ-CONFORM-02
#[test]
fn undocumented_parameters_fail_and_refused_ones_warn() {
    let name = "Documented parameters are the accepted ones";
    finds(Fault::AcceptsUndocumented, name, Outcome::Fail, 1);
    finds(Fault::DocumentsRefused, name, Outcome::Warn, 2);
    let report = judged(Fault::AcceptsUndocumented, Level::One);
    assert!(
        report.complaints()[0].contains("list_widgets takes 'limit' untold"),
        "{:?}",
        report.complaints()
    );
}

/// REQ-CONFORM-01
#[test]
fn each_requirement_of_level_one_can_fail() {
    finds(Fault::HidesIntrospect, "Introspection is offered", Outcome::Fail, 1);
    finds(Fault::AnswersMore, "Answers have the standard form", Outcome::Fail, 1);
    finds(Fault::HidesOperation, "No operation is left out", Outcome::Fail, 1);
    finds(Fault::Misclassifies, "Operations are classified", Outcome::Fail, 1);
    finds(Fault::NamesNoFamily, "Family and category are documented", Outcome::Fail, 1);
    finds(Fault::ListsWithoutDetail, "Family and category are documented", Outcome::Fail, 1);
    finds(Fault::AcceptsAnyEndpoint, "Wrong endpoints are refused", Outcome::Fail, 1);
}

/// LREQ-CONFORM-01 LREQ-CONFORM-03 LREQ-CONFORM-04
#[test]
fn each_category_of_level_one_can_fail() {
    finds(Fault::DescribesMore, "Operations are listed", Outcome::Fail, 1);
    finds(Fault::DescribesMore, "Operations are described", Outcome::Fail, 1);
    finds(Fault::ErrorIsText, "Failures have the standard form", Outcome::Fail, 1);
    finds(Fault::HasNoTypes, "Types are listed", Outcome::Fail, 1);
    finds(Fault::DocumentsAnotherRange, "Requests built from introspection are understood", Outcome::Fail, 1);
    finds(Fault::DoesWithoutRequired, "Required parameters are required", Outcome::Fail, 1);
    finds(Fault::PassesOverUnknown, "Unknown parameters are not passed over", Outcome::Fail, 1);
    finds(Fault::WrongDefault, "Documented defaults hold", Outcome::Fail, 1);
    finds(Fault::CamelCaseParameter, "Parameter names are snake_case", Outcome::Fail, 1);
    finds(Fault::LeaksInside, "Messages tell nothing of the inside", Outcome::Fail, 1);
}

/// LREQ-CONFORM-05 LREQ-CONFORM-06 LREQ-CONFORM-07
#[test]
fn lost_fields_fail_and_useless_messages_warn() {
    finds(Fault::DropsField, "What is written is read", Outcome::Fail, 1);
    finds(Fault::UpdateForgets, "What an update does not name stays", Outcome::Fail, 1);
    finds(Fault::NamesNoParameter, "Messages say what to put right", Outcome::Warn, 2);
}

/// LREQ-CONFORM-08 LREQ-CONFORM-09
#[test]
fn faults_of_level_two_only_warn() {
    finds(Fault::HasNoBatch, "Batches are offered", Outcome::Fail, 2);
    finds(Fault::MiscountsBatch, "Batches are offered", Outcome::Fail, 2);
    finds(Fault::OffersNoSelection, "Field selection is offered", Outcome::Fail, 2);
    finds(Fault::GivesAllFields, "Only the fields asked for come", Outcome::Fail, 2);
    finds(Fault::IgnoresMaximum, "Constraints are enforced", Outcome::Fail, 2);
    finds(Fault::ChangesReadOnly, "Constraints are enforced", Outcome::Fail, 2);
    finds(Fault::ReadOnlyUntold, "Constraints are documented", Outcome::Warn, 2);
}
