//! Bundle and overrides to files.

use serde_json::{Value, json};

use super::*;
use crate::discover::tests::{faults, schema, without_trust};

fn operation<'a>(front: &'a Value, category: &str, name: &str) -> &'a Value {
    let operations =
        front["operations"][category].as_array().unwrap_or_else(|| panic!("no {category}: {front}"));
    operations.iter().find(|operation| operation["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// REQ-DISC-17 REQ-DISC-20 REQ-DISC-21 LREQ-ADAPT-01 LREQ-ADAPT-14
#[test]
fn parameters_are_keyed_by_name_and_keep_their_rules() {
    let built = built("");
    assert_eq!(built.files()[0].name, "sample-adapter.md");
    let front = front(&markdown(&built));
    let user = operation(&front, "read", "get_user");
    assert_eq!(
        user["params"],
        json!({
            "user_name": {"type": "string", "required": true, "description": "Who", "pattern": "^[a-z]+$"},
            "per_page": {"type": "integer", "required": false, "minimum": 1, "maximum": 100, "default": 30},
            "since": {"type": "string", "required": false, "format": "date-time"},
            "kind": {"type": "string", "required": false, "enum": ["a", "b", "yes"]},
        })
    );
    assert_eq!(user["description"], "Get a user\n\nBy name: `x` [y](z) <b>\n");
    assert_eq!(
        (&user["response"]["type"], &user["maps_to"]),
        (&json!("object"), &json!("tools/call get_user"))
    );
    assert_eq!(
        front["target"],
        json!({"base_url": "mcp:sample", "transport": "native", "protocol": "custom", "serialization": "json"})
    );
    if let Some(schema) = schema("adapter-schema") {
        assert_eq!(faults(&schema, &without_trust(&front)), Vec::<String>::new());
    }
}

/// REQ-DISC-13 REQ-DISC-19 REQ-DISC-22
#[test]
fn what_a_person_decides_wins_and_is_recorded_beside_the_file() {
    let built = built(
        "name: my-users\nversion: 2.1.0\ndescription: Users\noperations:\n  process:\n    endpoint: READ\n    name: look\n\
         \x20 get_user:\n    danger_level: destructive\n    description: Finds one\n    params:\n\
         \x20     per_page: {name: page_size, description: How many}\n      since: {omit: true}\n  manage_items_delete: {omit: true}\n",
    );
    let [file, provenance, report] = built.files();
    assert_eq!(
        [&file.name, &provenance.name, &report.name],
        ["my-users-adapter.md", "my-users.provenance.json", "my-users.report.md"]
    );
    let front = front(&file.content);
    assert_eq!((&front["version"], &front["description"]), (&json!("2.1.0"), &json!("Users")));
    let user = operation(&front, "read", "get_user");
    assert_eq!((&user["danger_level"], &user["description"]), (&json!("destructive"), &json!("Finds one")));
    assert_eq!(user["maps_to"], "tools/call get_user?perPage={page_size}");
    let names: Vec<&String> = user["params"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["kind", "page_size", "user_name"]);
    assert_eq!(operation(&front, "read", "look")["danger_level"], "safe");
    assert!(front["operations"].get("delete").is_none());
    let text = front.to_string();
    assert!(
        !text.contains("provenance") && !text.contains("warnings") && !text.contains("inference"),
        "{text}"
    );

    let sidecar: Value = serde_json::from_str(&provenance.content).unwrap();
    let record = |name: &str| {
        let records = sidecar["operations"].as_array().unwrap().iter();
        records.clone().find(|record| record["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let look = record("look");
    assert_eq!(look["status"], "reviewed");
    assert_eq!(look["suggested"]["endpoint"], "EXECUTE");
    assert_eq!(look["decided"]["endpoint"], "READ");
    let manual = json!("manual_override");
    assert_eq!(
        (&look["inference_sources"]["endpoint"], &look["inference_sources"]["operation_name"]),
        (&manual, &manual)
    );
    let user = record("get_user");
    assert_eq!(user["inference_sources"]["danger_level"], manual);
    assert_eq!(user["inference_sources"]["endpoint"], "heuristic_classification");
    let page = user["params"].as_array().unwrap().iter().find(|param| param["name"] == "page_size").unwrap();
    assert_eq!((&page["inference_sources"]["name"], &page["original_name"]), (&manual, &json!("perPage")));
    let update = record("update_user");
    assert_eq!((&update["status"], update.get("suggested")), (&json!("suggestion"), None));
    assert_eq!(
        sidecar["omitted"],
        json!([{"operation": "manage_items_delete", "because": "manual_override"}])
    );
    assert!(sidecar["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "SPLIT_TOOL"));
    assert!(report.content.contains("danger safe → destructive"), "{}", report.content);
    assert!(!report.content.contains("To look over"), "{}", report.content);
}

#[test]
fn toml_says_the_same() {
    let toml = "name = \"my-users\"\n[operations.process]\nendpoint = \"READ\"\n[operations.get_user.params.since]\nomit = true\n";
    let yaml = "name: my-users\noperations:\n  process: {endpoint: READ}\n  get_user:\n    params: {since: {omit: true}}\n";
    let toml = overrides::read(toml, Notation::Toml).unwrap();
    assert_eq!(build(&bundled(), &toml).unwrap().files(), build(&bundled(), &said(yaml)).unwrap().files());
}

/// REQ-DISC-26
#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(built("").files(), built("").files());
    let again = Bundle::read(&bundled().to_json()).unwrap();
    assert_eq!(build(&again, &Overrides::default()).unwrap().files(), built("").files());
}

#[test]
fn overrides_of_what_is_not_there_name_the_nearest() {
    let problems = build(
        &bundled(),
        &said("operations:\n  get_users:\n    endpoint: READ\n  get_user:\n    params:\n      perpage: {omit: true}\n      user_name: {omit: true}\n"),
    )
    .unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 2: operations.get_users: the bundle has no operation 'get_users'; did you mean 'get_user'?",
            "line 6: operations.get_user.params.perpage: the bundle has no parameter 'perpage'; did you mean 'per_page'?",
            "line 7: operations.get_user.params.user_name: the tool requires it, so it cannot be left out",
        ]
    );
}

#[test]
fn overrides_that_make_no_sense_are_told() {
    for (text, part) in [
        ("operations:\n  get_user: {name: update_user}", "two operations would be called 'update_user'"),
        ("operations:\n  update_user: {danger_level: safe}", "only a READ can be 'safe'"),
        (
            "operations:\n  get_user:\n    params: {kind: {name: since}}",
            "two parameters would be called 'since'",
        ),
        ("operations:\n  get_user:\n    params: {kind: {name: operation}}", "a meaning of its own"),
        ("operations:\n  update_user:\n    params: {age: {name: input}}", "a meaning of its own"),
    ] {
        let problems = build(&bundled(), &said(text)).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message.contains(part)), "{part}: {problems:?}");
    }
    for (text, part) in [
        ("operations: [1]", "must be a table"),
        ("operation: {}", "did you mean 'operations'?"),
        ("operations:\n  x: {endpoint: QUERY}", "none of CREATE"),
        ("operations:\n  x: {danger_level: bad}", "none of safe"),
        ("operations:\n  x: {name: Bad Name}", "snake_case"),
        ("operations:\n  x: {omit: 1}", "true or false"),
        ("operations:\n  x: {}", "nothing is said"),
        ("name: Bad", "lowercase letters"),
        ("version: 1.0", "put it in quotes"),
        ("version: \"1.0\"", "three numbers"),
        ("a: &x 1", "anchors"),
    ] {
        let problems = overrides::read(text, Notation::Yaml).unwrap_err();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(part)), "{text}: {told:?}");
        for told in told {
            assert!(!crate::discover::tests::looks_like_a_frame(&told), "{told}");
        }
    }
}

/// Of two tools with one name, nobody knows which the server runs; the more dangerous one counts.
#[test]
fn the_more_dangerous_of_two_tools_with_one_name_is_kept() {
    for tools in [
        json!([{"name": "get_x", "description": "Get x"}, {"name": "get_x", "description": "Delete everything"}]),
        json!([{"name": "get_x", "description": "Delete everything"}, {"name": "get_x", "description": "Get x"}]),
    ] {
        let built = build(&tests::bundled(tools), &Overrides::default()).unwrap();
        assert_eq!(built.adapter.operations.len(), 1);
        assert_eq!(built.adapter.operations[0].description.as_deref(), Some("Delete everything"));
        assert!(built.warnings().iter().any(|warning| warning.code == "DUPLICATE_TOOL"));
    }
}

#[test]
fn a_servers_words_are_no_markdown_of_ours() {
    let tools = json!([{"name": "get_`x`|<b>", "description": "---\n# Title\n<script>alert(1)</script>\n---\n"},
        {"name": "process", "title": "[a](javascript:x)"}]);
    let built = build(&tests::bundled(tools), &Overrides::default()).unwrap();
    let [file, _, report] = built.files();
    let body = file.content.split("\n---\n").last().unwrap();
    for text in [body, &report.content] {
        // What stands in backticks is shown as it is.
        let outside: String = text.split('`').step_by(2).collect();
        assert!(!outside.contains('<') && !outside.contains("](javascript"), "{text}");
    }
    assert_eq!(reread(&built).operations.len(), 2);
}

/// REQ-DISC-14 LREQ-ADAPT-07
#[test]
fn no_file_holds_a_secret() {
    let mut capture = tests::capture(json!([{"name": "get_x", "description": "with the-secret-token"}]));
    capture.auth = crate::discover::Auth::named("bearer", Some("X_TOKEN".into())).unwrap();
    capture.secrets = vec!["the-secret-token".into()];
    let built = build(&tests::made_of(&capture).unwrap(), &Overrides::default()).unwrap();
    for file in built.files() {
        assert!(!file.content.contains("the-secret-token"), "{}", file.content);
    }
    assert_eq!(front(&markdown(&built))["auth"], json!({"type": "bearer", "token_env": "X_TOKEN"}));
}

#[test]
fn adapters_are_named_after_their_servers() {
    for (server, name) in [
        ("github", "github"),
        ("my_Server.v2", "my-server-v2"),
        ("7zip", "mcp-7zip"),
        ("x", "mcp-x"),
        ("🦀", "mcp"),
        ("--", "mcp"),
    ] {
        let mut capture = tests::capture(json!([]));
        capture.name = server.into();
        let built = build(&tests::made_of(&capture).unwrap(), &Overrides::default()).unwrap();
        assert_eq!(built.adapter.name, name);
        let adapter = reread(&built);
        assert_eq!(adapter.transport, super::super::Transport::Mcp { server: server.into() });
    }
}
