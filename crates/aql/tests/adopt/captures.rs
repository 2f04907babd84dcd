//! Real servers' tools, read from beside the workspace where they are at hand.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Instant};

use aql::{
    adopt::{Adopted, Taken},
    listed::{self, ListedTool},
    registry::Registry,
};
use serde_json::Value;

use crate::{
    drive::{adopt_as, outer, registry, sent, snake_case},
    generate::{self, Dice},
};

struct Capture {
    server: String,
    tools: Vec<ListedTool>,
    raw: Vec<Value>,
}

fn captures() -> Vec<Capture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/eval/captures");
    let Ok(folders) = std::fs::read_dir(folder) else {
        eprintln!("skipped: captures of real servers are not at hand");
        return Vec::new();
    };
    let mut captures: Vec<Capture> = folders
        .flatten()
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path().join("raw-tools-list.json")).ok()?;
            let raw: Value = serde_json::from_str(&text).unwrap();
            let raw = raw["tools"].as_array().unwrap().clone();
            let server = entry.file_name().to_string_lossy().into_owned();
            Some(Capture { server, tools: listed::parse(&text).unwrap(), raw })
        })
        .collect();
    captures.sort_by(|one, other| one.server.cmp(&other.server));
    captures
}

fn adopted(capture: &Capture, taken: &mut Taken) -> Adopted {
    adopt_as(&capture.server, &capture.tools, taken)
}

/// REQ-DISC-06 LREQ-ADAPT-08
#[test]
fn all_servers_make_one_registry() {
    let captures = captures();
    let started = Instant::now();
    let mut taken = Taken::default();
    let all: Vec<Adopted> = captures.iter().map(|capture| adopted(capture, &mut taken)).collect();
    let (adopted, started) = (started.elapsed(), Instant::now());
    let registry = Registry::builder("everything")
        .types(all.iter().flat_map(|adopted| adopted.types.clone()))
        .operations(all.iter().flat_map(|adopted| &adopted.operations).map(|o| o.definition.clone()))
        .build();
    let registry = registry.unwrap_or_else(|problems| panic!("{problems}"));
    eprintln!(
        "{} servers, {} operations, {} types: adopted in {adopted:?}, built in {:?}",
        captures.len(),
        registry.operations().count() - 1,
        all.iter().map(|adopted| adopted.types.len()).sum::<usize>(),
        started.elapsed()
    );
    for (capture, adopted) in captures.iter().zip(&all) {
        let named: BTreeSet<&str> =
            adopted.operations.iter().map(|operation| operation.tool.as_str()).collect();
        let listed: BTreeSet<&str> = capture.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(named, listed, "{}", capture.server);
    }
}

/// REQ-DISC-10: every path leads to the property in the tool as it was listed.
#[test]
fn every_source_path_resolves() {
    for capture in captures() {
        let adopted = adopted(&capture, &mut Taken::default());
        for operation in &adopted.operations {
            let raw = capture.raw.iter().find(|raw| raw["name"] == operation.tool.as_str()).unwrap();
            for param in &operation.params {
                let pointer = format!("/{}", param.source_path.replace('.', "/"));
                assert!(raw.pointer(&pointer).is_some(), "{} {pointer}", operation.tool);
                assert!(param.source_path.ends_with(&param.original_name), "{pointer}");
            }
        }
    }
}

/// What each server's own schema allows arrives as it was meant. REQ-DISC-18
#[test]
fn values_of_real_schemas_arrive() {
    let (mut sent_count, mut tools) = (0, 0);
    let mut unreached = Vec::new();
    for capture in captures() {
        let adopted = adopted(&capture, &mut Taken::default());
        let registry: Arc<Registry> = registry(&adopted);
        for operation in &adopted.operations {
            let tool = capture.tools.iter().find(|tool| tool.name == operation.tool).unwrap();
            let schema = Value::Object(tool.input_schema.clone());
            let Ok(validator) = jsonschema::validator_for(&schema) else { continue };
            let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
            let mut reached = 0;
            for _ in 0..24 {
                let mut arguments = generate::object(&tool.input_schema, &schema, &mut dice, 0);
                if let Some(choice) = &operation.judged.choice {
                    arguments.insert(choice.parameter.clone(), choice.value.clone().into());
                }
                let whole = Value::Object(arguments.clone());
                if !validator.is_valid(&whole) {
                    continue;
                }
                if let Some(choice) = &operation.judged.choice {
                    arguments.remove(&choice.parameter);
                }
                reached += 1;
                let params = outer(&arguments, operation, &adopted.types);
                let arrived = sent(&registry, operation, params.clone());
                assert_eq!(arrived.as_ref(), Ok(&whole), "{}/{}\n{params:#}", capture.server, operation.tool);
            }
            tools += 1;
            sent_count += reached;
            if reached == 0 {
                unreached.push(format!("{}/{}", capture.server, operation.tool));
            }
        }
    }
    eprintln!("{sent_count} calls of {tools} operations; none made for {unreached:?}");
    assert!(unreached.len() * 50 <= tools, "{unreached:?}");
}

/// REQ-DISC-10: names are only restyled.
#[test]
fn names_of_real_parameters_are_restyled_and_no_more() {
    let reserved = ["operation", "operations", "params", "input"];
    for capture in captures() {
        let adopted = adopted(&capture, &mut Taken::default());
        for operation in &adopted.operations {
            for param in &operation.params {
                let name = &param.definition.name;
                let expected = snake_case(&param.original_name);
                let clash = reserved.contains(&expected.as_str()) && *name == format!("{expected}_param");
                let second = operation.params.iter().any(|other| other.original_name == expected)
                    && *name == format!("{expected}_2");
                assert!(*name == expected || clash || second, "{} {} {name}", capture.server, operation.tool);
            }
        }
    }
}
