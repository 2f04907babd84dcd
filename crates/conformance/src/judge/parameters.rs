//! Whether parameters are handled as they are documented.

use serde_json::Value;

use crate::{
    Evidence,
    answer::{at, failed, find, list_at, message, succeeded, text_at},
    report::Test,
};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    vec![required(bundle), unknown(bundle), defaults(bundle), names(bundle)]
}

fn parameters(bundle: &Evidence) -> impl Iterator<Item = (&str, &Value)> {
    bundle.introspection.operation_details.iter().flat_map(|detail| {
        let parameters = list_at(detail, "parameters").iter();
        parameters.map(|parameter| (text_at(detail, "name"), parameter))
    })
}

fn required(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    for (operation, parameter) in
        parameters(bundle).filter(|(_, parameter)| at(parameter, "required") == true)
    {
        let name = text_at(parameter, "name");
        let cases = &bundle.parameter_tests.missing_required;
        let case = cases.iter().find(|case| case.operation == operation && case.parameter == name);
        match case {
            None => faults.push(format!("{operation} was not tried without '{name}'")),
            Some(case) if !failed(&case.response) => {
                faults.push(format!("{operation} does without '{name}'"))
            }
            Some(case) if !message(&case.response).contains(name) => {
                faults.push(format!("{operation} without '{name}' does not name it"));
            }
            Some(_) => {}
        }
    }
    Test::faultless("Required parameters are required", &faults, "each is named where it is missing")
}

fn unknown(bundle: &Evidence) -> Test {
    let name = "Unknown parameters are not passed over";
    let cases = &bundle.parameter_tests.unknown_parameter;
    if cases.is_empty() {
        return Test::skip(name, "no unknown parameter was tried");
    }
    let silent = cases.iter().filter(|case| {
        let warned = at(&case.response, "warnings").as_array().is_some_and(|warnings| !warnings.is_empty());
        let refused = failed(&case.response) && message(&case.response).contains(&case.parameter);
        !(refused || (succeeded(&case.response) && warned))
    });
    let faults: Vec<String> =
        silent.map(|case| format!("{} says nothing of '{}'", case.operation, case.parameter)).collect();
    Test::faultless(name, &faults, "each was refused or warned of")
}

fn defaults(bundle: &Evidence) -> Test {
    let name = "Documented defaults hold";
    let cases = &bundle.parameter_tests.optional_defaults;
    if cases.is_empty() {
        return Test::skip(name, "no answer shows a default");
    }
    let mut faults = Vec::new();
    for case in cases {
        let found = find(&case.response, &case.expected_value_path);
        if found != Some(&case.expected_value) {
            let (found, expected) = (found.unwrap_or(&Value::Null), &case.expected_value);
            faults.push(format!("{}: '{}' is {found}, not {expected}", case.operation, case.parameter));
        }
    }
    Test::faultless(name, &faults, format!("{} do", cases.len()))
}

fn names(bundle: &Evidence) -> Test {
    let odd = parameters(bundle).filter(|(_, parameter)| !is_snake_case(text_at(parameter, "name")));
    let faults: Vec<String> =
        odd.map(|(operation, parameter)| format!("{operation}: {}", at(parameter, "name"))).collect();
    Test::faultless("Parameter names are snake_case", &faults, "all are")
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
