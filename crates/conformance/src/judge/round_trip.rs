//! Whether what is written can be read again.

use serde_json::{Map, Value};

use crate::{Evidence, answer::find, report::Test};

pub(super) fn tests(bundle: &Evidence) -> Vec<Test> {
    let created = bundle.round_trip_tests.iter();
    let created = created.map(|case| (case.name.as_str(), &case.expected_fields, &case.read_response));
    let updated = bundle.update_preservation_tests.iter();
    let updated = updated.map(|case| (case.name.as_str(), &case.preserved_fields, &case.read_response));
    vec![
        test("What is written is read", created.collect()),
        test("What an update does not name stays", updated.collect()),
    ]
}

fn test(name: &str, cases: Vec<(&str, &Map<String, Value>, &Value)>) -> Test {
    if cases.is_empty() {
        return Test::skip(name, "there is nothing that can be written and read");
    }
    let mut faults = Vec::new();
    let mut count = 0;
    for (case, fields, answer) in cases {
        for (path, expected) in fields {
            count += 1;
            let found = find(answer, path);
            if found != Some(expected) {
                let found = found.map_or_else(|| "missing".to_owned(), Value::to_string);
                faults.push(format!("{case}: {path} is {found}, not {expected}"));
            }
        }
    }
    Test::faultless(name, &faults, format!("{count} fields are as expected"))
}
