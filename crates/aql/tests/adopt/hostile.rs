//! Servers that mean no good, or do not know better.

use aql::adopt::{Code, Severity, Taken};
use serde_json::{Map, Value, json};

use crate::drive::{One, adopt_as, listed, many, one, registry};

/// REQ-DISC-12
#[test]
fn an_input_that_is_no_object_takes_no_parameters() {
    for schema in [json!({"type": "string"}), json!({"type": "array", "items": {}}), json!({"enum": ["a"]})] {
        let all = one("get_x", schema.clone());
        assert!(all.operation().params.is_empty(), "{schema}");
        let told = all.adopted.warnings.iter().any(|w| {
            w.code == Code::UnsupportedShape
                && w.severity == Severity::Error
                && w.tool.as_deref() == Some("get_x")
        });
        assert!(told, "{schema}");
        assert_eq!(all.sent(json!({})), Ok(json!({})));
    }
    assert!(one("get_x", json!({})).adopted.warnings.is_empty());
}

/// Values moved in, as the macro would copy them.
fn object(pairs: Vec<(&str, Value)>) -> Value {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A tool whose one parameter is nested, made past the reading of lists, which ends far earlier.
fn nested(levels: usize, around: fn(Value) -> Value) -> One {
    let inner = (0..levels).fold(json!({"type": "string"}), |inner, _| around(inner));
    let mut tools = listed(json!([{"name": "get_x", "description": "Does something"}]));
    let schema = object(vec![("type", json!("object")), ("properties", object(vec![("x", inner)]))]);
    let Value::Object(schema) = schema else { panic!("an object") };
    tools[0].input_schema = schema;
    let adopted = adopt_as("up", &tools, &mut Taken::default());
    let registry = registry(&adopted);
    One { adopted, registry }
}

#[test]
fn a_thousand_levels_end() {
    type Around = fn(Value) -> Value;
    let objects: Around =
        |inner| object(vec![("type", json!("object")), ("properties", object(vec![("someField", inner)]))]);
    let all = nested(1_000, objects);
    assert!(all.adopted.types.len() <= 32 && all.codes() == [Code::TooLarge], "{:?}", all.codes());
    let arounds: [Around; 5] = [
        |inner| object(vec![("type", json!("array")), ("items", inner)]),
        |inner| object(vec![("anyOf", Value::Array(vec![inner, json!({"type": "null"})]))]),
        |inner| object(vec![("allOf", Value::Array(vec![inner]))]),
        |inner| object(vec![("type", json!("object")), ("additionalProperties", inner)]),
        |inner| object(vec![("not", inner)]),
    ];
    for around in arounds {
        let all = nested(1_000, around);
        assert_eq!(all.sent(json!({})), Ok(json!({})));
        assert!(!all.codes().is_empty());
    }
}

/// Each level names the next one twice: two to the power of sixty ways.
#[test]
fn definitions_that_multiply_end() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let mut definitions = Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
            let twice = json!({keyword: [next, {"properties": {"a": next}}, next]});
            definitions.insert(format!("L{level}"), twice);
        }
        let all = one(
            "get_x",
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": definitions}),
        );
        assert!(all.codes().contains(&Code::TooLarge), "{keyword}");
    }
}

#[test]
fn circles_end() {
    for definitions in [
        json!({"A": {"$ref": "#/$defs/A"}}),
        json!({"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}),
        json!({"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}),
        json!({"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}}),
        json!({"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}),
        json!({"A": {"$ref": "#"}}),
        json!({"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object", "properties": {"b": {"$ref": "#/$defs/A"}}}}),
    ] {
        let schema =
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": definitions});
        one("get_x", schema).sent(json!({})).unwrap();
    }
}

#[test]
fn huge_schemas_are_cut_and_told() {
    let field = |number: usize| {
        (format!("field{number}"), json!({"type": "object", "properties": {"a": {}, "b": {}}}))
    };
    let properties: Map<String, Value> = (0..15_000).map(field).collect();
    let all = one("get_x", json!({"type": "object", "properties": properties}));
    assert_eq!(all.operation().params.len(), 15_000);
    assert!(all.codes().contains(&Code::TooLarge));
    let values: Vec<String> = (0..50_000).map(|number| format!("value{number}")).collect();
    let chosen = one("get_x", json!({"type": "object", "properties": {"x": {"enum": values}}}));
    assert!(chosen.sent(json!({"x": "value49999"})).is_ok());
    assert!(chosen.sent(json!({"x": "value50000"})).is_err());
}

/// A pattern that would take long to try or much room to hold is none of ours to run.
#[test]
fn patterns_cannot_hurt() {
    for pattern in
        ["(a{1000}){1000}", "(((((a*)*)*)*)*)*$", "(?P<", "\\p{Nonsense}", "[z-a]", "(?<=x)y", "\\1"]
    {
        let all = one(
            "get_x",
            json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}),
        );
        assert!(all.sent(json!({"x": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})).is_ok(), "{pattern}");
    }
}

/// What a call may not change is not changed by the names that a server gives.
#[test]
fn a_fixed_choice_cannot_be_overridden() {
    let all = one(
        "thing",
        json!({"type": "object", "required": ["action"], "additionalProperties": true,
            "properties": {"action": {"type": "string", "enum": ["get", "delete"]}, "Action": {"type": "string"}}}),
    );
    assert_eq!(all.operation().definition.name, "up_thing_get");
    let sent = all.sent(json!({"action": "delete", "additional_params": {"action": "delete", "x": 1}}));
    assert_eq!(sent, Ok(json!({"action": "get", "Action": "delete", "x": 1})));
}

#[test]
fn the_same_list_gives_the_same_operations() {
    let tools = listed(json!([
        {"name": "a", "inputSchema": {"type": "object", "properties": {"xY": {"type": "object", "properties": {"pQ": {}}}, "x_y": {}}}},
        {"name": "A", "inputSchema": {"type": "object", "required": ["zZ", "aA"]}},
        {"name": "a", "description": "\u{0}\u{202e}"},
    ]));
    let texts: Vec<String> = (0..4)
        .map(|_| {
            let adopted = adopt_as("up", &tools, &mut Taken::default());
            let operations: Vec<_> = adopted.operations.iter().map(|o| (&o.definition, &o.params)).collect();
            format!("{operations:?} {:?} {:?}", adopted.types, adopted.warnings)
        })
        .collect();
    assert!(texts.iter().all(|text| *text == texts[0]));
}

/// Required but never described is still something that can be given.
#[test]
fn what_is_only_required_can_be_given() {
    let all = one("get_x", json!({"type": "object", "required": ["someId", "someId", 5]}));
    assert_eq!(all.sent(json!({"some_id": 5})), Ok(json!({"someId": 5})));
    assert!(all.sent(json!({})).is_err());
    let empty = many(json!([]));
    assert!(empty.adopted.operations.is_empty() && empty.adopted.types.is_empty());
}
