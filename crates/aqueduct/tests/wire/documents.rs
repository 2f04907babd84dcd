//! Documents that say what the code says.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use gateway::{
    adapters,
    aql::{
        error::{Code, Origin},
        registry::{CONFORMANCE, Registry, SPEC_VERSION},
        types::protocol_types,
    },
};
use serde_json::{Value, json};

use crate::harness::{Setup, WIRES, data};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|_| panic!("no {name}"))
}

/// The names in the first columns of the tables under a heading.
fn listed(text: &str, heading: &str) -> BTreeSet<String> {
    let section = text.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Every Rust source of the two libraries, tests left out.
fn sources() -> String {
    fn collect(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, text);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                text.push_str(source.split("#[cfg(test)]").next().unwrap());
            }
        }
    }
    let mut text = String::new();
    for folder in ["crates/aql/src", "crates/gateway/src"] {
        collect(&root().join(folder), &mut text);
    }
    text
}

/// What stands in quotes right behind each `marker`.
fn quoted_after(text: &str, marker: &str) -> BTreeSet<String> {
    let hits = text.split(marker).skip(1);
    hits.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next().map(str::to_owned))
        .collect()
}

/// REQ-CONFORM-08 LREQ-ERR-25
#[test]
fn every_extension_is_documented_and_nothing_else_is() {
    let text = document("docs/extensions.md");
    let (operations, types) = adapters::built_in();
    let registry = Registry::builder("x").operations(operations).types(types).build().unwrap();
    let operations =
        registry.operations().map(|(_, op)| op.name().as_str()).filter(|name| *name != "introspect");
    assert_eq!(listed(&text, "Operations"), set(operations));

    let specified = [
        "SemanticCategory",
        "OperationInput",
        "OperationResult",
        "OperationSuccess",
        "OperationFailure",
        "EndpointPermissions",
    ];
    assert!(specified.iter().all(|name| protocol_types().iter().any(|known| known.name == *name)));
    let types = registry.types().iter().map(|known| known.name()).filter(|name| !specified.contains(name));
    assert_eq!(listed(&text, "Types"), set(types));

    let introspect = registry.get(registry.id("introspect").unwrap()).unwrap();
    let mut kinds_and_params =
        set(introspect.params().iter().map(|p| p.name()).filter(|n| !["query", "name"].contains(n)));
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let details = client.introspect(json!({"query": "operations", "name": "introspect"}));
    let kinds = details["data"]["operation"]["parameters"][0]["enum"].as_array().unwrap().clone();
    kinds_and_params.extend(
        kinds.iter().map(|k| k.as_str().unwrap().to_owned()).filter(|k| k != "operations" && k != "types"),
    );
    assert_eq!(listed(&text, "Introspection"), kinds_and_params);

    let paged = client.introspect(json!({"query": "operations", "first": 1}));
    let specified = [
        "version",
        "conformance",
        "mode",
        "capabilities",
        "limits",
        "concurrency",
        "supports_etag",
        "max_concurrent_requests",
        "session_id",
    ];
    let whole = client.introspect(json!({"query": "operations"}));
    let keys = [&whole, &paged].map(|answer| answer["data"]["_protocol"].as_object().unwrap().keys());
    assert_eq!(
        listed(&text, "Protocol metadata"),
        set(keys.into_iter().flatten().map(String::as_str).filter(|k| !specified.contains(k)))
    );

    let codes = Code::ALL.iter().filter(|code| code.origin() == Origin::Extension);
    assert_eq!(listed(&text, "Error codes"), set(codes.map(|code| code.as_str())));

    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let schema = tools[0]["inputSchema"]["properties"].as_object().unwrap();
    let mut keys =
        set(schema.keys().map(String::as_str).filter(|key| !["operation", "params"].contains(key)));
    keys.extend(schema["operation"].as_object().unwrap().keys().filter(|key| key.starts_with("x-")).cloned());
    assert_eq!(listed(&text, "Tool schema"), keys);
}

/// REQ-CONFORM-08 REQ-CONFORM-09
#[test]
fn every_key_and_warning_in_the_source_is_documented() {
    let text = document("docs/extensions.md");
    let sources = sources();
    // What the specification prints as details of an error or a warning.
    let specified = [
        "param_name",
        "provided",
        "operation",
        "expected_type",
        "actual_type",
        "value",
        "unknown_params",
        "valid_params",
        "location",
        "byte_offset",
        "limit_type",
        "limit_value",
        "actual_value",
        "unit",
        "available",
        "resource_type",
        "resource_id",
        "reason",
        "expected_endpoint",
        "actual_endpoint",
        "type",
        "deprecated_item",
        "replacement",
        "removal_date",
        "occurrence_count",
        "duration_ms",
        "threshold_ms",
        "field",
        "original_count",
        "truncated_count",
        "limit",
        "remaining",
        "window",
        "resets_at",
        "retry_after_seconds",
        "metric",
        "current",
        "warn_threshold",
        "pause_threshold",
        "hard_stop_threshold",
        "confirmation_token",
        "expires_at",
        "expired_at",
        "current_time",
        "danger_level",
        "reasons",
        "confirmation_message",
        "adapter_trust",
        "minimum_trust_required",
        "required_trust",
        "actual_trust",
    ];
    let mut keys = quoted_after(&sources, ".with(");
    keys.extend(quoted_after(&sources, "error.details.insert("));
    let documented = listed(&text, "Error details");
    let ours: BTreeSet<String> =
        keys.iter().filter(|key| !specified.contains(&key.as_str())).cloned().collect();
    let missing: Vec<_> = ours.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/extensions.md: {missing:?}");
    for key in &documented {
        assert!(sources.contains(&format!("\"{key}\"")), "'{key}' is documented and nowhere in the source");
    }
    let warnings = quoted_after(&sources, "Warning::new(")
        .into_iter()
        .chain(quoted_after(&sources, "Self::new(\"DEPRECATION"));
    let ours: BTreeSet<String> = warnings.filter(|code| code.ends_with("_WARNING")).collect();
    assert_eq!(listed(&text, "Warnings"), ours);
    let variables: BTreeSet<String> = sources
        .split("\"AQUEDUCT_")
        .skip(1)
        .map(|rest| format!("AQUEDUCT_{}", rest.split('"').next().unwrap()))
        .collect();
    assert_eq!(listed(&text, "Environment"), variables);
}

/// REQ-CONFORM-07 LREQ-CONFORM-10 REQ-INTRO-19
#[test]
fn the_claim_is_the_same_everywhere() {
    for name in ["README.md", "CONFORMANCE.md"] {
        let text = document(name);
        assert!(text.contains(SPEC_VERSION), "{name}");
        assert!(text.contains(CONFORMANCE) || text.contains(&CONFORMANCE.replace('-', " ")), "{name}");
    }
}

/// What the guides show can be copied.
#[test]
fn every_example_in_the_guides_works() {
    let directory = data();
    let mut client = Setup::new(directory.path()).config("[server]\nmode = \"single\"\n").connect(WIRES[0]);
    let mut ask = |request: Value| client.call("mcp_aql", request);
    for name in ["Report", "Other"] {
        ask(json!({"operation": "create_entity", "params": {"entity_name": name, "entity_type": "item",
            "description": "report of last quarter", "metadata": {"status": "open", "hours": 2}}}));
    }
    let mut shown = 0;
    for name in ["README.md", "docs/queries.md", "docs/workflows.md"] {
        let text = document(name);
        let blocks = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        for block in blocks {
            let request: Value =
                serde_json::from_str(block).unwrap_or_else(|error| panic!("{name}: {error}\n{block}"));
            let answer = ask(request);
            // The README creates what is here already.
            let works = answer["success"] == true || answer["error"]["code"] == "CONFLICT_ALREADY_EXISTS";
            assert!(works, "{name}: {block}\n{answer}");
            assert_ne!(answer["data"]["status"], "failed", "{name}: {block}\n{answer}");
            shown += 1;
        }
    }
    assert!(shown >= 12, "{shown}");
}

#[test]
fn the_configuration_reference_is_the_one_in_the_code() {
    assert_eq!(document("docs/config.md").trim_end(), gateway::config::reference().trim_end());
}
