//! Whatever a client's file looks like, only its servers change.

use jsonc_parser::ast;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::config::clients;

/// Between two tokens there may be anything that says nothing.
const GAPS: [&str; 7] = ["", " ", "\n  ", "\r\n\t", "/* { */", " // \"x\": }\n", "\n\n    // [\n    "];

/// A value written with gaps between its tokens, and commas before closing brackets where `trailing` says so.
fn written(value: &Value, gaps: &mut impl FnMut() -> &'static str, trailing: bool) -> String {
    let joined = |parts: Vec<String>| {
        let end = if trailing && !parts.is_empty() { "," } else { "" };
        format!("{}{end}", parts.join(","))
    };
    match value {
        Value::Object(object) => {
            let parts = object.iter().map(|(key, value)| {
                let (key, inner) = (Value::from(key.as_str()), written(value, gaps, trailing));
                format!("{}{key}{}:{}{inner}{}", gaps(), gaps(), gaps(), gaps())
            });
            let parts = parts.collect();
            format!("{{{}{}}}", joined(parts), gaps())
        }
        Value::Array(array) => {
            let parts = array.iter().map(|value| format!("{}{}", gaps(), written(value, gaps, trailing)));
            let parts = parts.collect();
            format!("[{}{}]", joined(parts), gaps())
        }
        plain => plain.to_string(),
    }
}

fn meant(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => text.value.as_ref().into(),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap(),
        ast::Value::BooleanLit(boolean) => boolean.value.into(),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(meant).collect(),
        ast::Value::Object(object) => object_meant(object),
    }
}

fn object_meant(object: &ast::Object<'_>) -> Value {
    let pairs = object.properties.iter();
    pairs
        .map(|property| (property.name.as_str().to_owned(), meant(&property.value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Where the object of servers stands.
fn around(text: &str) -> std::ops::Range<usize> {
    let range = clients::parse(text).unwrap().get_object("mcpServers").unwrap().range;
    range.start..range.end
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é\"\\\\\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z\"é]{0,5}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// A server, and whether it can be taken over.
fn any_server() -> impl Strategy<Value = (Value, bool)> {
    prop_oneof![
        3 => ("[a-z]{1,8}", prop::collection::vec("[ -~é]{0,9}", 0..3))
            .prop_map(|(command, args)| (json!({"command": format!("run-{command}"), "args": args}), true)),
        1 => any_json().prop_map(|other| (json!({"settings": other}), false)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn everything_but_the_servers_keeps_its_meaning_and_undoing_every_byte(
        others in prop::collection::hash_map("[a-lA-Z ]{1,6}", any_json(), 0..4),
        servers in prop::collection::hash_map("[a-z0-9\"é -]{1,8}", any_server(), 0..5),
        gaps in prop::collection::vec(0..GAPS.len(), 1..40),
        trailing in any::<bool>(),
    ) {
        let mut root: Map<String, Value> = others.into_iter().collect();
        let listed: Map<String, Value> =
            servers.iter().map(|(name, (server, _))| (name.clone(), server.clone())).collect();
        root.insert("mcpServers".to_owned(), listed.into());
        let mut gaps = gaps.into_iter().cycle();
        let mut gap = || GAPS[gaps.next().unwrap()];
        let text = format!("{}{}", written(&root.clone().into(), &mut gap, trailing), gap());

        let machine = machine().file(DESKTOP, &text);
        let (plan, _) = machine.run();
        let good = servers.values().filter(|(_, good)| *good).count();
        prop_assert_eq!(plan.is_empty(), good == 0);
        let mut expected = root.clone();
        let mut left: Map<String, Value> =
            servers.iter().filter(|(_, (_, good))| !good).map(|(name, (server, _))| (name.clone(), server.clone())).collect();
        if good > 0 {
            left.insert("aqueduct".to_owned(), machine.entry());
        }
        expected.insert("mcpServers".to_owned(), left.into());
        let after = machine.text(DESKTOP);
        prop_assert_eq!(object_meant(&clients::parse(&after).unwrap()), Value::from(expected), "{}\n{}", text, after);
        // Before and after the servers nothing has moved.
        let (old, new) = (around(&text), around(&after));
        prop_assert_eq!((&text[..old.start], &text[old.end..]), (&after[..new.start], &after[new.end..]));
        if good > 0 {
            prop_assert_eq!(machine.load().upstreams.len() <= good, true);
            machine.undo(false);
        }
        prop_assert_eq!(machine.text(DESKTOP), text);
    }
}
