//! Whatever comes in, an answer goes out.

use std::sync::LazyLock;

use proptest::{collection, prelude::*};
use serde_json::{Value, json};

use crate::drive::{Adapter, items, parsed, well_formed};

static ITEMS: LazyLock<Adapter> = LazyLock::new(items);

const OPERATIONS: [&str; 8] = [
    "create_item",
    "get_item",
    "list_items",
    "update_item",
    "update_settings",
    "delete_item",
    "introspect",
    "find_items",
];
const KEYS: [&str; 16] = [
    "name",
    "category",
    "price",
    "priority",
    "tags",
    "parts",
    "categories",
    "attributes",
    "due_date",
    "item_id",
    "input",
    "query",
    "filter",
    "first",
    "fields",
    "itemId",
];
const TOOLS: [&str; 5] =
    ["mcp_aql_create", "mcp_aql_read", "mcp_aql_update", "mcp_aql_delete", "mcp_aql_execute"];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            "product",
            "operations",
            "types",
            "2026-02-04",
            "minimal",
            "READ",
            "create_item"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            collection::btree_map(key(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(KEYS.to_vec()).prop_map(str::to_owned),
        1 => ".{0,8}",
        1 => proptest::sample::select(vec!["operation", "params", "operations", "_meta", "label", "title"])
            .prop_map(str::to_owned),
    ]
}

fn any_object() -> impl Strategy<Value = Value> {
    collection::btree_map(key(), any_json(), 0..6).prop_map(|map| map.into_iter().collect())
}

fn request() -> impl Strategy<Value = Value> {
    let one = || {
        (proptest::sample::select(OPERATIONS.to_vec()), any_object())
            .prop_map(|(operation, params)| json!({"operation": operation, "params": params}))
    };
    prop_oneof![
        4 => one(),
        1 => (one(), any_json()).prop_map(|(mut request, params)| { request["params"] = params; request }),
        1 => (one(), any_json()).prop_map(|(mut request, name)| { request["operation"] = name; request }),
        1 => collection::vec(prop_oneof![one(), any_json()], 0..4).prop_map(|all| json!({"operations": all})),
        1 => any_object(),
    ]
}

fn answers(tool: &str, raw: &[u8]) {
    let (answer, kind) = ITEMS.answer(tool, raw);
    let parsed = parsed(&answer);
    // Every code is looked up in the registry there, and every answer held against its schema.
    well_formed(&parsed, kind);
    assert_eq!(answer.code().is_some(), parsed["success"] == false);
    assert!(!answer.is_error(), "no request can make the fault ours: {parsed}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    /// REQ-VALID-20 REQ-RESP-01
    #[test]
    fn malformed_params_are_answered(tool in proptest::sample::select(TOOLS.to_vec()), request in request()) {
        answers(tool, request.to_string().as_bytes());
    }

    /// REQ-VALID-20 REQ-RESP-01
    #[test]
    fn malformed_bytes_are_answered(raw in collection::vec(any::<u8>(), 0..200)) {
        answers("mcp_aql_read", &raw);
    }

    /// REQ-VALID-20 REQ-ENC-02
    #[test]
    fn damaged_requests_are_answered(
        request in request(),
        damage in collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
    ) {
        let mut raw = request.to_string().into_bytes();
        for (place, byte, how) in damage {
            let place = place.index(raw.len().max(1));
            match how {
                0 if place < raw.len() => raw[place] = byte,
                1 => raw.insert(place.min(raw.len()), byte),
                _ => raw.truncate(place),
            }
        }
        answers("mcp_aql_create", &raw);
    }
}
