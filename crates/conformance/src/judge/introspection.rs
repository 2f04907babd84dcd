//! Whether introspection can be trusted.

use std::collections::BTreeSet;

use super::NOT_LIVE;
use crate::{
    Evidence,
    answer::{at, code, failed, list_at, succeeded, text_at},
    report::Test,
    shape::{self, Kind},
};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    let introspection = &bundle.introspection;
    let list = |name: &str, answer: &serde_json::Value, kind: &Kind| {
        if succeeded(answer) {
            Test::faultless(name, &kind.faults(at(answer, "data")), "the list has the standard form")
        } else {
            Test::faultless(name, &["there is no list".to_owned()], "")
        }
    };
    vec![
        list("Operations are listed", &introspection.operations_list, &shape::OPERATIONS),
        list("Types are listed", &introspection.types_list, &shape::TYPES),
        details(bundle),
        parameters(bundle),
        unlisted(bundle),
        generated(bundle),
    ]
}

fn details(bundle: &Evidence) -> Test {
    let mut faults = Vec::new();
    for detail in &bundle.introspection.operation_details {
        let name = text_at(detail, "name");
        faults.extend(shape::OPERATION.faults(detail).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let count = bundle.introspection.operation_details.len();
    Test::faultless("Operations are described", &faults, format!("{count} details have the standard form"))
}

/// Taking what is not documented is a failure; documenting what is not taken is a warning.
fn parameters(bundle: &Evidence) -> Test {
    let name = "Documented parameters are the accepted ones";
    let (mut secret, mut refused) = (Vec::new(), Vec::new());
    for detail in &bundle.introspection.operation_details {
        let operation = text_at(detail, "name");
        let documented = list_at(detail, "parameters").iter();
        let documented: BTreeSet<&str> = documented.map(|parameter| text_at(parameter, "name")).collect();
        let Some(accepted) = bundle.accepted_parameters.get(operation) else {
            refused.push(format!("{operation} could not be tried"));
            continue;
        };
        let accepted: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
        secret.extend(
            accepted.difference(&documented).map(|name| format!("{operation} takes '{name}' untold")),
        );
        refused.extend(
            documented.difference(&accepted).map(|name| format!("{operation} does not take '{name}'")),
        );
    }
    if secret.is_empty() {
        return Test::unblemished(name, &refused, "every operation takes what it documents and nothing else");
    }
    secret.extend(refused);
    Test::faultless(name, &secret, "")
}

fn unlisted(bundle: &Evidence) -> Test {
    let name = "No operation is left out";
    let Some(live) = &bundle.live else { return Test::skip(name, NOT_LIVE) };
    let found = live.unlisted_operations.iter();
    let faults: Vec<String> = found
        .map(|found| format!("{} answers through {} and is not listed", found.operation, found.tool))
        .collect();
    Test::faultless(name, &faults, "nothing else answered")
}

/// Following introspection to the letter may fail for what is there or not, never for the request itself.
fn generated(bundle: &Evidence) -> Test {
    let name = "Requests built from introspection are understood";
    let Some(live) = &bundle.live else { return Test::skip(name, NOT_LIVE) };
    let mut faults = Vec::new();
    for request in &live.generated_requests {
        let code = code(&request.response);
        let documented = failed(&request.response) && !code.is_empty() && !code.starts_with("VALIDATION_");
        if !succeeded(&request.response) && !documented {
            faults.push(format!("{} with {} answers '{code}'", request.operation, request.params));
        }
    }
    Test::faultless(name, &faults, format!("{} were", live.generated_requests.len()))
}
