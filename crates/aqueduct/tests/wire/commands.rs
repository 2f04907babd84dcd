//! The command line as a person uses it.

use std::process::Output;

use serde_json::{Value, json};

use crate::harness::{Setup, aqueduct, command, data};

fn run(directory: &tempfile::TempDir, arguments: &[&str]) -> Output {
    command(&aqueduct(), directory.path()).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json_out(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|_| panic!("{}{}", out(output), err(output)))
}

/// REQ-INTRO-33
#[test]
fn the_summary_groups_by_family_and_category() {
    let directory = data();
    let summary = out(&run(&directory, &["ops", "--summary"]));
    for line in [
        "  create: create_entity, create_relation",
        "Semantic Categories:",
        "  DELETE: delete_entity, delete_relation",
        "Types: SemanticCategory, ",
        "Use introspect with name parameter for details.",
    ] {
        assert!(summary.contains(line), "{summary}");
    }
    let grouped = json_out(&run(&directory, &["ops", "--summary", "--json"]));
    assert_eq!(grouped["families"]["update"], json!(["update_entity"]));
    assert!(!directory.path().join("data-home").exists(), "looking creates nothing");
}

/// REQ-VALID-14
#[test]
fn an_operation_can_be_found_described_and_called() {
    let directory = data();
    let found = json_out(&run(&directory, &["ops", "--search", "remove relation", "--json"]));
    assert_eq!(found[0]["name"], "delete_relation");
    let described = json_out(&run(&directory, &["describe", "create_entity", "--json"]));
    assert_eq!(described["mcpTool"], "mcp_aql_create");
    assert!(
        out(&run(&directory, &["describe", "create_entity"]))
            .contains("priority  (integer, optional, default 5")
    );
    let unknown = run(&directory, &["describe", "create_entitty"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("did you mean 'create_entity'"), "{}", err(&unknown));

    let created = run(
        &directory,
        &[
            "call",
            "create_entity",
            "entity_name=Cli",
            "entity_type=item",
            "description=made here",
            "priority:=7",
            "--json",
        ],
    );
    assert_eq!(created.status.code(), Some(0), "{}", err(&created));
    assert_eq!(json_out(&created)["data"]["priority"], 7);
    let got = run(&directory, &["call", "get_entity", "--params", "{\"entity_name\": \"Cli\"}"]);
    assert_eq!(json_out(&got)["description"], "made here");
    let failed = run(&directory, &["call", "get_entity", "entity_id=nowhere", "--json"]);
    assert_eq!(
        (failed.status.code(), json_out(&failed)["error"]["code"].clone()),
        (Some(1), json!("NOT_FOUND_RESOURCE"))
    );
    for wrong in [
        &["call", "get_entity", "novalue"][..],
        &["call", "x", "a:={"],
        &["call", "x", "--params", "{"],
        &["call", "x", "a=1", "a=2"],
        &["call", "x", "a:={\"b\":1,\"b\":2}"],
        &["call", "x", "a:=1},{"],
        &["call"],
        &["nonsense"],
    ] {
        assert_eq!(run(&directory, wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_wrong_configuration_is_shown_where_it_is_wrong() {
    let directory = data();
    std::fs::write(directory.path().join("aqueduct.toml"), "[limits]\nmax_nesting_depth = 7\n").unwrap();
    for arguments in [&["check"][..], &["serve", "--stdio"], &["ops"], &["call", "list_entities"]] {
        let output = run(&directory, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let text = err(&output);
        for part in ["max_nesting_depth", "between 8 and 64", "aqueduct.toml:2"] {
            assert!(text.contains(part), "{arguments:?}: no '{part}' in {text}");
        }
    }
    std::fs::write(directory.path().join("aqueduct.toml"), "[server]\nmod = \"single\"\n").unwrap();
    let text = err(&run(&directory, &["check"]));
    assert!(text.contains("mode"), "{text}");
    assert_eq!(run(&directory, &["check", "--config", "missing.toml"]).status.code(), Some(3));
}

#[test]
fn check_finds_nothing_wrong_with_what_is_shipped() {
    let directory = data();
    let output = run(&directory, &["check", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    assert_eq!(json_out(&output)["findings"], json!([]));
    assert!(json_out(&run(&directory, &["check", "--schema"]))["properties"]["limits"].is_object());
    assert!(out(&run(&directory, &["check", "--reference"])).contains("max_nesting_depth"));
}

#[test]
fn completions_and_help_are_there() {
    let directory = data();
    for shell in ["bash", "zsh", "fish"] {
        assert!(out(&run(&directory, &["completions", shell])).contains("aqueduct"), "{shell}");
    }
    let help = out(&run(&directory, &["--help"]));
    for command in ["serve", "ops", "describe", "call", "check", "completions", "Exit codes"] {
        assert!(help.contains(command), "{help}");
    }
}

/// A client starts it in a directory of its own, and must find the same file there.
#[test]
fn what_to_paste_names_the_file_in_use_however_it_was_found() {
    let directory = data();
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    std::fs::write(directory.path().join("aqueduct.toml"), "[server]\n").unwrap();
    let file = directory.path().canonicalize().unwrap().join("aqueduct.toml");
    let plain = || Setup::new(directory.path());
    for setup in [
        plain(),
        plain().arguments(&["--config", "./sub/../aqueduct.toml"]),
        plain().env("AQUEDUCT_CONFIG", "sub/../aqueduct.toml"),
    ] {
        let server = setup.http();
        let pasted: Vec<Value> =
            server.welcome.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
        let arguments = &pasted[1]["mcpServers"]["aqueduct"]["args"];
        assert_eq!(arguments, &json!(["serve", "--stdio", "--config", file]), "{}", server.welcome);
    }
}

#[test]
fn serve_prints_where_it_is_and_what_to_paste() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    assert!(server.welcome.contains(&server.url));
    let pasted: Vec<Value> =
        server.welcome.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
    assert_eq!(pasted[0]["mcpServers"]["aqueduct"]["url"], server.url.as_str());
    let command = pasted[1]["mcpServers"]["aqueduct"]["command"].as_str().unwrap();
    assert!(std::path::Path::new(command).exists(), "{command}");
}
