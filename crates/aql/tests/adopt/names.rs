//! Names: always valid, never lost, never anybody else's.

use aql::{
    adopt::{Code, Options, Severity, Taken, adopt},
    classify::{Overrides, Trust},
    define::Operation,
};
use serde_json::{Value, json};

use crate::drive::{adopt_as, listed, many, one, registry};

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "description": "Does something"})).collect()
}

/// REQ-NAME-01 LREQ-ADAPT-08
#[test]
fn every_tool_gets_a_name_of_its_own() {
    let long = "get_".repeat(75);
    let given = [
        ("list_issues", "up_list_issues"),
        ("listIssues", "up_list_issues_2"),
        ("list-issues", "up_list_issues_3"),
        ("list.issues/all", "up_list_issues_all"),
        ("API-get-user", "up_api_get_user"),
        ("2fa_reset", "up_tool_2fa_reset"),
        ("", "up_tool"),
        ("  ", "up_tool_2"),
        ("日本", "up_tool_3"),
        ("créer", "up_crer"),
        ("__x__", "up_x"),
        ("get\u{0}it\n", "up_get_it"),
    ];
    let names: Vec<&str> =
        given.iter().map(|(name, _)| *name).chain([long.as_str(), long.as_str()]).collect();
    let all = many(named(&names));
    let made: Vec<&str> =
        all.adopted.operations.iter().map(|operation| operation.definition.name.as_str()).collect();
    let expected: Vec<&str> = given.iter().map(|(_, name)| *name).collect();
    assert_eq!(made[..given.len()], expected);
    assert!(made[given.len()..].iter().all(|name| name.len() <= 102), "{made:?}");
    assert!(all.registry.id("up_list_issues_3").is_some());
    let clashes = all.adopted.warnings.iter().filter(|warning| warning.code == Code::NameClash);
    assert_eq!(clashes.count(), 5);
    assert!(
        all.adopted.warnings.iter().any(|w| w.code == Code::Renamed && w.tool.as_deref() == Some("日本"))
    );
}

/// Adding a server never renames another's operations, and the protocol's names stay its own.
#[test]
fn newcomers_get_the_suffix() {
    let built_in = Operation::default();
    let built_in = Operation { name: "get_status".to_owned(), ..built_in };
    let mut taken = Taken::default().with([&built_in], []);
    let overrides = Overrides::default();
    let mut adopt_bare = |server: &str, names: &[&str]| {
        let options = Options { server, prefix: "", trust: Trust::Claimed, overrides: &overrides };
        let adopted = adopt(&listed(named(names)), &options, &mut taken);
        adopted.operations.into_iter().map(|operation| operation.definition.name).collect::<Vec<_>>()
    };
    assert_eq!(
        adopt_bare("a", &["get_status", "introspect", "get_x"]),
        ["get_status_2", "introspect_2", "get_x"]
    );
    assert_eq!(adopt_bare("b", &["get_x", "confirm_operation"]), ["get_x_2", "confirm_operation_2"]);
}

#[test]
fn any_prefix_gives_valid_names() {
    let overrides = Overrides::default();
    for (prefix, expected) in [
        ("github_", "github_get_x"),
        ("", "get_x"),
        ("Git-Hub", "git_hub_get_x"),
        ("3d_", "server_3d_get_x"),
        ("_", "get_x"),
        ("日本", "server_get_x"),
    ] {
        let options = Options { server: "s", prefix, trust: Trust::Claimed, overrides: &overrides };
        let adopted = adopt(&listed(named(&["get_x"])), &options, &mut Taken::default());
        assert_eq!(adopted.operations[0].definition.name, expected, "{prefix}");
        registry(&adopted);
    }
}

/// REQ-DISC-10
#[test]
fn parameters_are_snake_case_and_arrive_by_their_own_names() {
    let all = one(
        "list_x",
        json!({"type": "object", "properties": {
            "userName": {"type": "string"}, "user_name": {"type": "string"}, "user-name": {"type": "string"},
            "$filter": {"type": "string"}, "名前": {"type": "string"}, "": {"type": "string"},
            "2fa": {"type": "string"}, "plain": {"type": "string"}}}),
    );
    let names: Vec<(&str, &str)> = all
        .operation()
        .params
        .iter()
        .map(|param| (param.original_name.as_str(), param.definition.name.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("", "param"),
            ("$filter", "filter"),
            ("2fa", "param_2fa"),
            ("plain", "plain"),
            ("user-name", "user_name_2"),
            ("userName", "user_name_3"),
            ("user_name", "user_name"),
            ("名前", "param_2")
        ]
    );
    let sent =
        all.sent(json!({"user_name": "a", "user_name_3": "b", "param_2": "c", "plain": "d", "filter": "e"}));
    assert_eq!(
        sent,
        Ok(json!({"user_name": "a", "userName": "b", "名前": "c", "plain": "d", "$filter": "e"}))
    );
    assert!(all.codes().contains(&Code::Renamed));
    let param = &all.operation().params[5];
    assert_eq!(param.source_path, "inputSchema.properties.userName");
    assert!(!all.operation().wiring.is_plain());
}

/// What the protocol or the gate reads is never taken for an upstream's parameter, nor the other way round.
#[test]
fn reserved_parameters_stay_reachable() {
    let property = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"operation": property, "operations": property,
        "params": property, "confirmation_token": property, "input": property, "dry_run": {"type": "boolean"},
        "operation_param": property}});
    let removed = one("delete_x", schema.clone());
    let given = json!({"operation_param_2": "a", "operations_param": "b", "params_param": "c",
        "confirmation_token_param": "d", "input": "e", "operation_param": "f", "dry_run": true});
    let expected = json!({"operation": "a", "operations": "b", "params": "c", "confirmation_token": "d",
        "input": "e", "operation_param": "f", "dry_run": true});
    // Both want the name; the one that is called so has it.
    assert_eq!(removed.sent(given), Ok(expected));
    let frozen = removed.registry.get(removed.registry.id("up_delete_x").unwrap()).unwrap();
    assert!(
        frozen.params().iter().any(|param| param.name() == "confirmation_token"),
        "the gate's own is there"
    );
    let dry = json!({"dry_run": true});
    assert!(!frozen.is_dry_run(dry.as_object().unwrap()), "another server's word does not loosen a decision");

    let updated = one("update_x", schema);
    let sent = updated.sent(json!({"input": {"input_param": "e", "operation_param_2": "a"}}));
    assert_eq!(sent, Ok(json!({"input": "e", "operation": "a"})));
}

/// The upstream's own parameters come before the controls of the query language. REQ-PARAM-14
#[test]
fn controls_give_way_to_the_upstreams_own() {
    let all = one(
        "list_x",
        json!({"type": "object", "properties": {"fields": {"type": "string"}, "filter": {"type": "integer"},
            "first": {"type": "string"}, "limit": {"type": "integer"}}}),
    );
    assert!(all.operation().wiring.is_plain());
    let given = json!({"fields": "anything", "filter": 3, "first": "x", "limit": 100_000});
    assert_eq!(all.sent(given.clone()), Ok(given));
    let frozen = all.registry.get(all.registry.id("up_list_x").unwrap()).unwrap();
    assert!(frozen.selection().is_none(), "'fields' is the upstream's");
    assert!(!frozen.is_control("filter") && !frozen.is_control("first") && frozen.is_control("sort"));
    let other = one("list_x", json!({"type": "object"}));
    let frozen = other.registry.get(other.registry.id("up_list_x").unwrap()).unwrap();
    assert!(frozen.selection().is_some() && frozen.is_control("filter") && frozen.is_control("first"));
}

/// Types of several servers, and of operations that want the same name, are told apart.
#[test]
fn types_have_names_of_their_own_and_equal_ones_share() {
    let address = |field: &str| {
        json!({"type": "object", "properties": {"homeAddress": {"$ref": "#/$defs/Address"}},
            "$defs": {"Address": {"type": "object", "properties": {field: {"type": "string"}}}}})
    };
    let tools = listed(json!([
        {"name": "get_a", "description": "x", "inputSchema": address("street")},
        {"name": "get_b", "description": "x", "inputSchema": address("street")},
        {"name": "get_c", "description": "x", "inputSchema": address("town")},
    ]));
    let mut taken = Taken::default();
    let names = |server: &str, taken: &mut Taken| {
        let adopted = adopt_as(server, &tools, taken);
        registry(&adopted);
        adopted.types.into_iter().map(|known| known.name).collect::<Vec<_>>()
    };
    assert_eq!(names("up", &mut taken), ["UpAddress", "UpAddress2"]);
    assert_eq!(names("up", &mut taken), ["UpAddress3", "UpAddress4"]);
    assert_eq!(names("on", &mut taken), ["OnAddress", "OnAddress2"]);
}

/// REQ-DISC-12 REQ-DISC-06: several operations of one tool, which say so.
#[test]
fn a_mixed_tool_becomes_several_operations_with_the_choice_fixed() {
    let all = one(
        "thing",
        json!({"type": "object", "required": ["action", "thingId"], "properties": {
            "action": {"type": "string", "enum": ["get", "delete"], "description": "1. get - Get it.\n2. delete - Drop it."},
            "thingId": {"type": "string"}}}),
    );
    let operations = &all.adopted.operations;
    let named: Vec<(&str, &str)> = operations
        .iter()
        .map(|o| (o.definition.name.as_str(), o.definition.semantic_category.as_deref().unwrap()))
        .collect();
    assert_eq!(named, [("up_thing_get", "READ"), ("up_thing_delete", "DELETE")]);
    assert_eq!(operations[0].definition.description, "Get it. Does something");
    assert!(operations.iter().all(|o| o.tool == "thing" && o.params.len() == 1));
    assert_eq!(all.sent(json!({"thing_id": "7"})), Ok(json!({"action": "get", "thingId": "7"})));
    assert!(all.sent(json!({"thing_id": "7", "action": "delete"})).is_err());
    let told: Vec<_> = all.adopted.warnings.iter().filter(|w| w.code == Code::SplitTool).collect();
    assert_eq!((told.len(), told[0].severity), (1, Severity::Info));
}
