//! The command line as a person uses it.

use std::process::Output;

use serde_json::{Value, json};

use crate::{
    harness::{Setup, aqueduct, command, data},
    scripts,
};

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

/// What is wrong in the file is told; what other servers call their tools is not the user's to change.
#[test]
fn check_tells_what_the_file_says_in_vain() {
    let directory = data();
    let script = scripts::server(directory.path(), "places");
    let save = |more: &str| {
        let text = format!("{more}\n[upstream.places]\ncommand = \"{}\"\n", script.display());
        std::fs::write(directory.path().join("aqueduct.toml"), text).unwrap();
    };
    save("[server]\npinned = [\"places_get_plaice\", \"list_entitys\"]\n");
    let output = run(&directory, &["check"]);
    assert!(out(&output).contains("1 server not asked yet (aqueduct doctor asks it)"), "{}", out(&output));
    let told = json_out(&run(&directory, &["check", "--json"]));
    assert_eq!(told["unasked"], json!(["places"]));
    assert_eq!(told["findings"].as_array().unwrap().len(), 1, "the other may still come: {told}");

    save("");
    run(&directory, &["ops"]);
    let output = run(&directory, &["check"]);
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    assert!(!out(&output).contains("not asked"), "{}", out(&output));

    save(
        "[server]\npinned = [\"places_get_plaice\", \"places_get_place\"]\n\
         [[safety.rule]]\nservers = ['places']\nthen = 'deny'\nwhen = [{ param = 'nowhere.x', equals = 1 }]\n\
         [upstream.places.tools.die_nwo]\ndanger = \"safe\"\n[upstream.places.tools.die_now]\ndanger = \"safe\"\n",
    );
    let text = std::fs::read_to_string(directory.path().join("aqueduct.toml")).unwrap();
    let text = text + "allow = [\"get_*\", \"die_*\"]\ndeny = [\"get_places\", \"set_*\"]\n";
    std::fs::write(directory.path().join("aqueduct.toml"), text).unwrap();
    let output = run(&directory, &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told = json_out(&output);
    let findings: Vec<(&str, &str, &str)> = told["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let text = |key: &str| found[key].as_str().unwrap_or_default();
            (text("setting"), text("rule"), text("message"))
        })
        .collect();
    assert_eq!(
        findings,
        [
            (
                "[server] pinned",
                "pinned_in_vain",
                "there is no operation 'places_get_plaice'; did you mean 'places_get_place'?"
            ),
            (
                "[[safety.rule]] when",
                "unknown_param",
                "no operation of this rule has a parameter 'nowhere.x'"
            ),
            (
                "[upstream.places.tools.die_nwo]",
                "unknown_tool",
                "'places' has no tool 'die_nwo'; did you mean 'die_now'?"
            ),
            (
                "[upstream.places] deny",
                "matches_nothing",
                "'get_places' matches no tool of 'places'; did you mean 'get_place'?"
            ),
            ("[upstream.places] deny", "matches_nothing", "'set_*' matches no tool of 'places'"),
        ]
    );
    assert!(out(&run(&directory, &["check"])).contains("- [upstream.places] deny: 'set_*' matches no tool"));
}

#[test]
fn text_in_place_of_a_number_is_hinted_and_no_heading_stands_alone() {
    let directory = data();
    let refused = run(&directory, &["call", "list_entities", "first=3"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("write first:=3 for JSON"), "{}", err(&refused));
    for other in [&["call", "list_entities", "first=many"][..], &["call", "list_entities", "first:=3"]] {
        assert!(!err(&run(&directory, other)).contains(":="), "{other:?}");
    }
    let script = scripts::server(directory.path(), "places");
    let text = format!("[upstream.places]\ncommand = \"{}\"\n", script.display());
    std::fs::write(directory.path().join("aqueduct.toml"), text).unwrap();
    let described = out(&run(&directory, &["describe", "places_get_place"]));
    assert!(described.contains("Parameters") && !described.contains("Examples"), "{described}");
    assert!(out(&run(&directory, &["describe", "list_entities"])).contains("Examples"));
}
