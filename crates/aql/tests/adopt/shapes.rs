//! Schemas of every shape: what is carried, what is loosened, and that it is told.

use aql::{adopt::Code, danger::DangerLevel, define::Shape};
use serde_json::{Value, json};

use crate::drive::{many, one};

fn with(property: Value) -> crate::drive::One {
    one("list_x", json!({"type": "object", "properties": {"x": property}}))
}

/// REQ-DISC-12 REQ-DISC-20: kinds, and the warning of whatever is loosened.
#[test]
fn every_shape_has_a_kind_and_what_is_loosened_is_told() {
    use Code::{
        FormatDropped, LimitDropped, MalformedSchema, NonStringEnum, PatternDropped, UnsupportedShape,
    };
    const ANYTHING: &str = "string | number | boolean | object | array";
    let table: Vec<(Value, &str, bool, &[Code])> = vec![
        (json!({"type": "string"}), "string", false, &[]),
        (json!({"type": ["string", "null"]}), "string", true, &[]),
        (json!({"type": "string", "nullable": true}), "string", true, &[]),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "integer", true, &[]),
        (json!({"oneOf": [{"type": "integer"}, {"type": "string"}]}), "string | integer", false, &[]),
        (json!({"type": ["number", "integer"]}), "number", false, &[]),
        (json!({"allOf": [{"type": "number"}, {"type": "integer"}]}), "integer", false, &[]),
        (json!({"allOf": [{"type": "string"}, {"type": "integer"}]}), ANYTHING, true, &[UnsupportedShape]),
        (json!(true), ANYTHING, true, &[]),
        (json!({}), ANYTHING, true, &[]),
        (json!(false), ANYTHING, true, &[UnsupportedShape]),
        (json!(7), ANYTHING, true, &[MalformedSchema]),
        (json!({"type": "file"}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"type": 5}), ANYTHING, true, &[MalformedSchema]),
        (json!({"type": []}), ANYTHING, true, &[MalformedSchema]),
        (json!({"$ref": "#/$defs/Gone"}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"$ref": "https://example.com/x.json"}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"$ref": "#/properties/x"}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"const": "a"}), "string", false, &[]),
        (json!({"enum": ["a", null]}), "string", true, &[]),
        (json!({"enum": [1, 2]}), "integer", false, &[NonStringEnum]),
        (json!({"enum": []}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"enum": [{"a": 1}]}), ANYTHING, true, &[UnsupportedShape]),
        (json!({"type": "array", "items": {"type": "string"}}), "string[]", false, &[]),
        (json!({"type": "array", "items": [{"type": "string"}]}), "array", false, &[UnsupportedShape]),
        (json!({"type": "array", "prefixItems": [{}]}), "array", false, &[UnsupportedShape]),
        (json!({"type": "array", "items": {"type": ["string", "null"]}}), "array", false, &[]),
        (json!({"type": "array", "minItems": 1}), "array", false, &[LimitDropped]),
        (json!({"type": "number", "exclusiveMinimum": 0}), "number", false, &[LimitDropped]),
        (json!({"type": "integer", "exclusiveMinimum": 0}), "integer", false, &[]),
        (json!({"type": "integer", "multipleOf": 5}), "integer", false, &[LimitDropped]),
        (json!({"type": "string", "pattern": "(?=x)"}), "string", false, &[PatternDropped]),
        (json!({"type": "string", "pattern": "\\D"}), "string", false, &[PatternDropped]),
        (json!({"type": "string", "format": "ipv4"}), "string", false, &[FormatDropped]),
        (json!({"type": "string", "format": "uuid"}), "string", false, &[]),
        (json!({"type": "object", "properties": 5}), "object", false, &[MalformedSchema]),
        (json!({"type": "object", "additionalProperties": true}), "object", false, &[]),
        (json!({"type": "object", "patternProperties": {"^a": {}}}), "object", false, &[UnsupportedShape]),
        (json!({"type": "string", "not": {"const": "a"}}), "string", false, &[UnsupportedShape]),
        (json!({"type": "string", "minLength": -1}), "string", false, &[MalformedSchema]),
    ];
    for (schema, kind, nullable, codes) in table {
        let all = with(schema.clone());
        let param = all.param("x");
        let name = schema.to_string().chars().take(80).collect::<String>();
        assert_eq!((param.kind.as_deref(), param.nullable), (Some(kind), nullable), "{name}");
        assert_eq!(all.codes(), codes, "{name}");
    }
}

/// LREQ-ADAPT-10: what is carried is enforced.
#[test]
fn rules_are_carried_and_enforced() {
    let table = [
        (json!({"type": "string", "enum": ["a", "b"]}), json!("a"), json!("c")),
        (json!({"type": "integer", "minimum": 1, "maximum": 9}), json!(9), json!(10)),
        (json!({"type": "integer", "exclusiveMinimum": 0}), json!(1), json!(0)),
        (json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}), json!(1), json!(0)),
        (json!({"type": "string", "minLength": 2, "maxLength": 3}), json!("日本"), json!("x")),
        (json!({"type": "string", "pattern": "^[a-z]+$"}), json!("abc"), json!("ABC")),
        (json!({"type": "string", "format": "date"}), json!("2026-02-04"), json!("soon")),
        (json!({"type": "array", "items": {"type": "integer", "maximum": 3}}), json!([1, 3]), json!([4])),
        (json!({"enum": [1, 2]}), json!(1.0), json!(3)),
        (json!({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "boolean"}]}), json!(5), json!(4)),
        (
            json!({"type": "object", "properties": {"aB": {"type": "string"}}, "required": ["aB"]}),
            json!({"a_b": "x"}),
            json!({}),
        ),
        (
            json!({"type": "object", "properties": {"aB": {"type": "string"}}}),
            json!({"a_b": "x"}),
            json!({"a_c": "x"}),
        ),
    ];
    for (schema, good, bad) in table {
        let all = with(schema.clone());
        assert!(all.sent(json!({"x": good})).is_ok(), "{schema}");
        assert!(all.sent(json!({"x": bad})).is_err(), "{schema} takes {bad}");
    }
}

/// Alternatives that one description cannot tell apart take whatever one of them takes.
#[test]
fn merged_alternatives_take_each_of_them() {
    let all = with(json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "size": {"type": "integer"}}, "required": ["kind", "size"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "size": {"type": "string"}, "fullName": {"type": "string"}},
         "required": ["kind", "fullName"]},
        {"type": "string", "maxLength": 3},
    ]}));
    for good in
        [json!({"kind": "a", "size": 1}), json!({"kind": "b", "full_name": "x", "size": "y"}), json!("abc")]
    {
        assert!(all.sent(json!({"x": good})).is_ok(), "{good}");
    }
    for bad in
        [json!({"kind": "c"}), json!({"size": 1}), json!("abcd"), json!(5), json!({"kind": "a", "other": 1})]
    {
        assert!(all.sent(json!({"x": bad})).is_err(), "{bad}");
    }
    let sent = all.sent(json!({"x": {"kind": "b", "full_name": "x"}})).unwrap();
    assert_eq!(sent, json!({"x": {"kind": "b", "fullName": "x"}}));
    assert!(all.codes().contains(&Code::UnsupportedShape));
}

/// An object that welcomes other fields keeps them as they are, beside those that are described.
#[test]
fn open_objects_stay_open() {
    let all = with(
        json!({"type": "object", "properties": {"aB": {"type": "string"}}, "additionalProperties": true}),
    );
    let sent = all.sent(json!({"x": {"a_b": "1", "otherKey": {"innerKey": 1}}}));
    assert_eq!(sent, Ok(json!({"x": {"aB": "1", "otherKey": {"innerKey": 1}}})));
    assert!(all.sent(json!({"x": {"a_b": "1", "other": "\u{0}"}})).is_err(), "no NUL byte gets in this way");
    let both = all.sent(json!({"x": {"a_b": "ours", "aB": "theirs"}}));
    assert_eq!(both, Ok(json!({"x": {"aB": "ours"}})), "what was checked wins");

    let top = one("list_x", json!({"type": "object", "properties": {"aB": {}}, "additionalProperties": {}}));
    let sent = top.sent(json!({"a_b": 1, "additional_params": {"other": 2, "aB": 3}}));
    assert_eq!(sent, Ok(json!({"aB": 1, "other": 2})));
    assert!(top.sent(json!({"other": 2})).is_err());
}

#[test]
fn recursive_definitions_become_types_that_contain_themselves() {
    let schema = json!({"type": "object", "properties": {"rootNode": {"$ref": "#/$defs/Node"}}, "$defs": {
        "Node": {"type": "object", "description": "A node", "properties": {
            "nodeName": {"type": "string"}, "subNodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}});
    let tool = |name: &str| json!({"name": name, "description": "x", "inputSchema": schema});
    let all = many(json!([tool("get_a"), tool("get_b")]));
    assert_eq!(all.adopted.types.len(), 1, "equal ones share, though they contain themselves");
    let Shape::Object { fields } = &all.adopted.types[0].shape else { panic!("an object") };
    assert_eq!(all.adopted.types[0].description, "A node");
    assert_eq!(fields[1].kind.as_deref(), Some("UpNode[]"));
    let sent = all
        .sent(json!({"root_node": {"node_name": "a", "sub_nodes": [{"sub_nodes": [{"node_name": "b"}]}]}}));
    assert_eq!(
        sent,
        Ok(json!({"rootNode": {"nodeName": "a", "subNodes": [{"subNodes": [{"nodeName": "b"}]}]}}))
    );
    assert!(all.sent(json!({"root_node": {"sub_nodes": [{"node_name": 5}]}})).is_err());
}

/// REQ-UPDATE-01 REQ-UPDATE-02: required ones beside `input`, optional ones inside, flat again upstream.
#[test]
fn updates_take_their_changes_in_input() {
    let all = one(
        "update_issue",
        json!({"type": "object", "required": ["issueId"], "properties": {"issueId": {"type": "string"},
            "newTitle": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}}}),
    );
    let sent = all.sent(json!({"issue_id": "7", "input": {"new_title": "x", "labels": ["a"]}}));
    assert_eq!(sent, Ok(json!({"issueId": "7", "newTitle": "x", "labels": ["a"]})));
    assert!(all.sent(json!({"issue_id": "7", "new_title": "x"})).is_err());
    assert!(all.sent(json!({"issue_id": "7", "input": {"issue_id": "8"}})).is_err());
    assert_eq!(
        all.sent(json!({"issue_id": "7"})),
        Ok(json!({"issueId": "7"})),
        "no stricter than the upstream"
    );
    assert!(all.sent(json!({"issue_id": "7", "input": null})).is_err());
    assert_eq!(all.adopted.types[0].name, "UpUpdateIssueInput");

    let whole = one(
        "set_title",
        json!({"type": "object", "required": ["issue_id", "title"],
            "properties": {"issue_id": {"type": "string"}, "title": {"type": "string"}}}),
    );
    let sent = whole.sent(json!({"issue_id": "7", "input": {"title": "x"}}));
    assert_eq!(sent, Ok(json!({"issue_id": "7", "title": "x"})));
    assert!(whole.sent(json!({"issue_id": "7", "input": {}})).is_err(), "required inside too");
    assert!(whole.sent(json!({"issue_id": "7"})).is_err(), "so it cannot be left out");
    let nothing = one("update_cache", json!({"type": "object"}));
    assert_eq!(nothing.sent(json!({"input": {}})), Ok(json!({})));
    assert_eq!(nothing.sent(json!({})), Ok(json!({})), "nothing to give, nothing given");
    assert_eq!(
        nothing.adopted.operations[0].definition.returns.description, "",
        "nothing known, nothing told"
    );
}

/// A default is published as the upstream's, and left to it.
#[test]
fn defaults_are_shown_and_never_sent() {
    let all = one(
        "list_x",
        json!({"type": "object", "properties": {"size": {"type": "integer", "default": 25},
            "name": {"type": "string", "default": 5}, "kind": {"enum": ["a"], "default": "b"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": ["x"]}, "no": {"type": "string", "default": null}}}),
    );
    assert_eq!(all.sent(json!({})), Ok(json!({})));
    assert_eq!(all.param("size").default, Some(json!(25)));
    assert_eq!(all.param("tags").default, Some(json!(["x"])));
    assert_eq!(
        (&all.param("name").default, &all.param("kind").default, &all.param("no").default),
        (&None, &None, &None)
    );
    assert_eq!(all.codes(), [Code::DefaultDropped, Code::DefaultDropped]);
    let frozen = all.registry.get(all.registry.id("up_list_x").unwrap()).unwrap();
    assert!(frozen.signature().contains("size?: integer = 25"), "{}", frozen.signature());
}

/// REQ-DISC-11 REQ-DISC-18 REQ-INTRO-13
#[test]
fn words_danger_and_secrets_are_kept() {
    let description = format!("  Deletes it.\n\nArgs:\n  x: {}  ", "long ".repeat(2_000));
    let all = many(json!([
        {"name": "delete_x", "description": description, "inputSchema": {"type": "object", "properties": {
            "apiKey": {"type": "string"}, "page_token": {"type": "string"}, "access_token": {"type": "string"},
            "password": {"type": "string"}, "reset_password": {"type": "boolean"}, "max_tokens": {"type": "integer"},
            "client_secret": {"type": "string"}, "note": {"type": "string", "description": " Say\n more "}}}},
        {"name": "get_y", "title": "Get a y"},
        {"name": "get_z"},
    ]));
    let operation = &all.operation().definition;
    assert_eq!(operation.description, description.trim());
    assert_eq!(operation.server.as_deref(), Some("up"));
    let danger = operation.danger.as_ref().unwrap();
    assert!(danger.level >= DangerLevel::Destructive && !danger.reasons.is_empty());
    let secrets: Vec<&str> =
        operation.params.iter().filter(|param| param.sensitive).map(|param| param.name.as_str()).collect();
    assert_eq!(secrets, ["access_token", "api_key", "client_secret", "password"]);
    assert_eq!(all.param("note").description, "Say\n more");
    let said: Vec<&str> =
        all.adopted.operations[1..].iter().map(|o| o.definition.description.as_str()).collect();
    assert_eq!(said, ["Get a y", "Calls 'get_z' of the server 'up'"]);
}

/// REQ-DISC-21
#[test]
fn returns_name_a_type_where_the_upstream_describes_one() {
    let all = many(json!([
        {"name": "get_a", "description": "x", "outputSchema": {"type": "object", "properties": {"userName": {"type": "string"}}}},
        {"name": "get_b", "description": "x", "outputSchema": {"type": "array"}},
        {"name": "get_c", "description": "x"},
    ]));
    let returns: Vec<&str> =
        all.adopted.operations.iter().map(|o| o.definition.returns.type_name.as_str()).collect();
    assert_eq!(returns, ["UpGetAResult", "Json", "Json"]);
    let Shape::Object { fields } = &all.adopted.types[0].shape else { panic!("an object") };
    assert_eq!(fields[0].name, "userName", "answers are passed on as they are");
}

/// Beside an alternative that takes any object, the rules of the other one do not hold.
#[test]
fn an_alternative_that_takes_everything_leaves_no_rule() {
    let described = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let all = one(
        "list_x",
        json!({"type": "object", "properties": {
            "one": {"$ref": "#/$defs/Thing"}, "two": {"anyOf": [{"type": "object"}, {"$ref": "#/$defs/Thing"}]}},
            "$defs": {"Thing": described}}),
    );
    for loose in [json!({}), json!({"id": 5}), json!({"other": 1})] {
        assert!(all.sent(json!({"two": loose})).is_ok(), "{loose}");
        assert!(
            all.sent(json!({"one": loose})).is_err(),
            "{loose}: the same definition is kept where it stands alone"
        );
    }
}

/// LREQ-DANGER-15
#[test]
fn what_a_schema_declares_to_be_secret_is_sensitive() {
    let schema = json!({"type": "object", "$defs": {
        "hidden": {"type": "string", "format": "password"},
        "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "leaf": {"$ref": "#/$defs/hidden"}}},
        "plain": {"type": "object", "properties": {"next": {"$ref": "#/$defs/plain"}}}},
    "properties": {
        "door": {"type": "string", "format": "password"},
        "window": {"type": "string", "writeOnly": true},
        "roof": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/hidden"}]},
        "house": {"type": "object", "properties": {"cellar": {"type": "string", "writeOnly": true}}},
        "houses": {"type": "array", "items": {"type": "object", "properties": {"a": {"$ref": "#/$defs/hidden"}}}},
        "number": {"type": "integer", "writeOnly": true},
        "tree": {"$ref": "#/$defs/tree"},
        "street": {"type": "string", "format": "email", "writeOnly": false, "default": "format: password"},
        "town": {"type": "object", "properties": {"format": {"enum": ["password"]}, "writeOnly": {"type": "boolean"}}},
        "plain": {"$ref": "#/$defs/plain"},
    }});
    let one = one("lock_house", schema);
    for name in ["door", "window", "roof", "house", "houses", "number", "tree"] {
        assert!(one.param(name).sensitive, "{name}");
    }
    for name in ["street", "town", "plain"] {
        assert!(!one.param(name).sensitive, "{name}");
    }
}
