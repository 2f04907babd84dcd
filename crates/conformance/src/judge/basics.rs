//! The six things that Level 1 asks for.

use serde_json::Value;

use super::{NOT_LIVE, detail, listed};
use crate::{
    Evidence,
    answer::{at, code, failed, succeeded, text_at},
    report::Test,
    shape,
};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    vec![
        endpoint_mode(bundle),
        introspect(bundle),
        formats(bundle),
        classification(bundle),
        documentation(bundle),
        wrong_endpoints(bundle),
    ]
}

fn endpoint_mode(bundle: &Evidence) -> Test {
    let name = "An endpoint mode is served";
    let none = bundle.endpoint_modes.is_empty().then(|| "no endpoint mode was seen to work".to_owned());
    let faults: Vec<String> = none.into_iter().collect();
    Test::faultless(name, &faults, format!("served: {}", bundle.endpoint_modes.join(", ")))
}

fn introspect(bundle: &Evidence) -> Test {
    let own = listed(bundle).find(|operation| at(operation, "name") == "introspect");
    let mut faults = Vec::new();
    if !succeeded(&bundle.introspection.operations_list) {
        faults.push("introspect does not list operations".to_owned());
    }
    match own {
        None => faults.push("introspect is not among the listed operations".to_owned()),
        Some(own) if at(own, "semantic_category") != "READ" => {
            faults.push("introspect is no READ".to_owned())
        }
        Some(_) => {}
    }
    Test::faultless("Introspection is offered", &faults, "introspect is listed and answers")
}

/// Every answer there is, whatever it was asked for.
fn formats(bundle: &Evidence) -> Test {
    let mut answers: Vec<(String, &Value)> = vec![
        ("list of operations".to_owned(), &bundle.introspection.operations_list),
        ("list of types".to_owned(), &bundle.introspection.types_list),
    ];
    let of_parameters = &bundle.parameter_tests;
    for case in of_parameters.missing_required.iter().chain(&of_parameters.unknown_parameter) {
        answers.push((format!("{} with {}", case.operation, case.parameter), &case.response));
    }
    let trips = bundle.round_trip_tests.iter().map(|case| (case.name.clone(), &case.read_response));
    answers.extend(trips);
    if let Some(live) = &bundle.live {
        answers.extend(live.generated_requests.iter().map(|case| (case.operation.clone(), &case.response)));
        answers.extend(live.misrouted_calls.iter().map(|case| (case.operation.clone(), &case.response)));
    }
    let count = answers.len();
    let faults: Vec<String> = answers
        .into_iter()
        .flat_map(|(name, answer)| {
            shape::answer(answer).into_iter().map(move |fault| format!("{name}: {fault}"))
        })
        .collect();
    Test::faultless("Answers have the standard form", &faults, format!("{count} answers do"))
}

/// The category is one of five, the same wherever it is told, and what is told beside it fits.
fn classification(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    for operation in listed(bundle) {
        let (name, category) = (text_at(operation, "name"), text_at(operation, "semantic_category"));
        if !["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"].contains(&category) {
            faults.push(format!("{name} has no category"));
            continue;
        }
        let Some(detail) = detail(bundle, at(operation, "name")) else { continue };
        if at(detail, "semantic_category") != category {
            faults.push(format!("{name} is {category} in the list and something else in its detail"));
        }
        let permissions = at(detail, "permissions");
        if at(permissions, "readOnly") != (category == "READ") {
            faults.push(format!("{name} is {category} and readOnly is {}", at(permissions, "readOnly")));
        }
        if category == "DELETE" && at(permissions, "destructive") != true {
            faults.push(format!("{name} deletes and is not destructive"));
        }
        if let Some(other) = verb_category(name).filter(|other| *other != category) {
            faults.push(format!("{name} is {category} where its verb says {other}"));
        }
    }
    Test::faultless("Operations are classified", &faults, "category, permissions and verb agree")
}

/// Only the verbs that can mean one thing.
fn verb_category(name: &str) -> Option<&'static str> {
    match name.split('_').next()? {
        "create" => Some("CREATE"),
        "get" | "list" | "search" => Some("READ"),
        "update" => Some("UPDATE"),
        "delete" => Some("DELETE"),
        "execute" => Some("EXECUTE"),
        _ => None,
    }
}

fn documentation(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    let tools: Vec<&str> =
        bundle.live.iter().flat_map(|live| &live.tools).map(|tool| text_at(tool, "name")).collect();
    for operation in listed(bundle) {
        let name = text_at(operation, "name");
        let Some(detail) = detail(bundle, at(operation, "name")) else {
            faults.push(format!("{name} is listed and has no detail"));
            continue;
        };
        if text_at(operation, "endpoint").is_empty() || at(operation, "endpoint") != at(detail, "endpoint") {
            faults.push(format!("{name} has no endpoint family, or two"));
        }
        if bundle.live.is_some() && !tools.contains(&text_at(detail, "mcpTool")) {
            faults
                .push(format!("{name} names the tool '{}', which is not there", text_at(detail, "mcpTool")));
        }
    }
    if listed(bundle).next().is_none() {
        faults.push("no operation is listed".to_owned());
    }
    Test::faultless("Family and category are documented", &faults, "every listed operation has both")
}

/// The same call is right elsewhere, so a failure counts as a refusal only if it is another one.
fn wrong_endpoints(bundle: &Evidence) -> Test {
    let name = "Wrong endpoints are refused";
    let Some(live) = &bundle.live else { return Test::skip(name, NOT_LIVE) };
    if live.misrouted_calls.is_empty() {
        return Test::skip(name, "there is no other endpoint to call");
    }
    let mut faults = Vec::new();
    for call in &live.misrouted_calls {
        let right = live.generated_requests.iter().find(|request| request.operation == call.operation);
        let same = right.is_some_and(|right| code(&right.response) == code(&call.response));
        if !failed(&call.response) || same {
            faults.push(format!("{} is taken by {}", call.operation, call.tool));
        }
    }
    Test::faultless(name, &faults, format!("{} calls were", live.misrouted_calls.len()))
}
