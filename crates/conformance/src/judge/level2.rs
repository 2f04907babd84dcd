//! What Level 2 asks for besides.

use serde_json::Value;

use super::NOT_LIVE;
use crate::{
    Evidence, Mode,
    answer::{at, failed, list_at, message, succeeded},
    report::Test,
    shape,
};

/// Both modes are a requirement of the level, where the other features are wishes.
pub(super) fn modes(bundle: &Evidence) -> Vec<Test> {
    let missing = [Mode::Crude, Mode::Single].map(Mode::as_str);
    let missing = missing.iter().filter(|mode| !bundle.endpoint_modes.iter().any(|served| served == *mode));
    let faults: Vec<String> = missing.map(|mode| format!("the mode '{mode}' was not seen to work")).collect();
    vec![Test::faultless("Both endpoint modes are served", &faults, "crude and single are")]
}

pub(super) fn features(bundle: &Evidence) -> Vec<Test> {
    vec![field_selection(bundle), selected_fields(bundle), batch(bundle)]
}

fn field_selection(bundle: &Evidence) -> Test {
    let offered = bundle.capabilities.field_selection;
    let faults: Vec<String> = (!offered).then(|| "it is not".to_owned()).into_iter().collect();
    Test::faultless("Field selection is offered", &faults, "it is among the capabilities")
}

fn selected_fields(bundle: &Evidence) -> Test {
    let name = "Only the fields asked for come";
    let Some(live) = &bundle.live else { return Test::skip(name, NOT_LIVE) };
    let Some(example) = &live.field_selection_example else {
        return Test::skip(name, "nothing that can be created takes 'fields' when it is read");
    };
    let data = at(&example.response, "data").as_object();
    let came: Vec<&String> = data.into_iter().flat_map(|data| data.keys()).collect();
    let mut faults = Vec::new();
    if !succeeded(&example.response) || came != example.fields.iter().collect::<Vec<_>>() {
        faults.push(format!("{} was asked for {:?} and gave {came:?}", example.operation, example.fields));
    }
    Test::faultless(name, &faults, format!("{} gave them", example.operation))
}

fn batch(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    if !bundle.capabilities.batch_operations {
        faults.push("it is not among the capabilities".to_owned());
    }
    match &bundle.batch_example {
        None => faults.push("there is no example of one".to_owned()),
        Some(answer) => faults.extend(batch_faults(answer)),
    }
    Test::faultless("Batches are offered", &faults, "the example has the standard form and its counts add up")
}

fn batch_faults(answer: &Value) -> Vec<String> {
    let mut faults = shape::answer(answer);
    let results = list_at(answer, "results");
    let count = |wanted: bool| results.iter().filter(|result| at(result, "result.success") == wanted).count();
    let summary = at(answer, "summary");
    let counts = [("total", results.len()), ("succeeded", count(true)), ("failed", count(false))];
    for (name, expected) in counts {
        if at(summary, name) != expected {
            faults.push(format!("summary.{name} is {}, not {expected}", at(summary, name)));
        }
    }
    faults
}

pub(super) fn constraints(bundle: &Evidence) -> Vec<Test> {
    let cases = &bundle.constraint_tests;
    let (enforced, told) = ("Constraints are enforced", "Constraints are documented");
    if cases.is_empty() {
        return vec![
            Test::skip(enforced, "no constraint was tried"),
            Test::skip(told, "no constraint was tried"),
        ];
    }
    let broken = cases.iter().filter(|case| !failed(&case.response) || message(&case.response).is_empty());
    let broken: Vec<String> = broken.map(|case| format!("{} is let through", case.name)).collect();
    let silent = cases.iter().filter(|case| failed(&case.response) && !case.documented);
    let silent: Vec<String> =
        silent.map(|case| format!("{} is refused without a word before", case.name)).collect();
    vec![
        Test::faultless(enforced, &broken, format!("{} are", cases.len())),
        Test::unblemished(told, &silent, "introspection tells of each"),
    ]
}
