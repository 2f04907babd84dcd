//! Real servers' lists and the specification's schemas, where they lie beside the project.

use serde_json::{Value, json};

use super::{NOW, captured, faults, made_of, schema};
use crate::discover::{Bundle, Capture, Identity, Reached, capture, source_path};

pub(in super::super) fn of_server(name: &str, list: &str, noted: &Value) -> Capture {
    let package = noted["package"].as_str().unwrap_or_default().to_owned();
    let command = if noted["registry"] == "pypi" { "uvx" } else { "npx" };
    Capture {
        name: name.to_owned(),
        reached: Reached::Stdio { command: command.into(), args: vec![package] },
        captured_at: noted["captured_at"].as_str().unwrap_or(NOW).to_owned(),
        server: Identity::read(&noted["serverInfo"]),
        pages: capture::pages(list).unwrap(),
        ..Capture::default()
    }
}

/// REQ-DISC-01 REQ-DISC-02 REQ-DISC-06 REQ-DISC-10 REQ-DISC-26
#[test]
fn every_captured_server_gives_a_valid_bundle() {
    let captured = captured();
    let Some(schema) = schema("discovery-bundle") else { return };
    let (mut tools, mut operations) = (0, 0);
    for (name, list, noted) in &captured {
        let capture = of_server(name, list, noted);
        let bundle = made_of(&capture).unwrap();
        let text = bundle.to_json();
        assert_eq!(text, made_of(&capture).unwrap().to_json(), "{name}");
        assert_eq!(Bundle::read(&text).as_ref(), Ok(&bundle), "{name}");
        let mut value: Value = serde_json::from_str(&text).unwrap();
        // The one extension.
        assert_eq!(value["source"]["transport"], "stdio");
        value["source"]["transport"] = json!("streamable_http");
        assert_eq!(faults(&schema, &value), Vec::<String>::new(), "{name}");
        let said: Value = serde_json::from_str(list).unwrap();
        assert_eq!(value["raw_capture"]["tools"], said["tools"], "{name}");
        for tool in &bundle.raw_capture.tools {
            let made = bundle.normalized_bundle.operations.iter();
            let made: Vec<_> =
                made.filter(|operation| tool["name"] == operation.source_tool_name.as_str()).collect();
            assert!(!made.is_empty(), "{name} {}", tool["name"]);
            for param in made.iter().flat_map(|operation| &operation.params) {
                assert!(
                    source_path::resolve(tool, &param.source_path).is_some(),
                    "{name} {}",
                    param.source_path
                );
            }
        }
        tools += bundle.raw_capture.tools.len();
        operations += bundle.normalized_bundle.operations.len();
    }
    eprintln!("{} servers, {tools} tools, {operations} operations", captured.len());
    assert!(captured.len() >= 42 && operations > tools);
}
