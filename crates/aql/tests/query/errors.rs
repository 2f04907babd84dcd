//! Every refusal names the key, what is accepted and the nearest of it, in words that look like no leak.

use std::sync::LazyLock;

use aql::{
    error::{Code, Error},
    query::Query,
};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};

use crate::generate::{key, things};

fn refused(params: &Value) -> Option<Error> {
    Query::read(params.as_object().unwrap(), things(), &key()).err()
}

static LEAK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)at\s+\S+").unwrap());

/// LREQ-QUERY-03 LREQ-QUERY-04 LREQ-AGG-04 REQ-PARAM-08
#[test]
fn a_mistyped_name_is_answered_with_the_right_one() {
    for (params, named, listed, nearest) in [
        (json!({"filter": {"statu": "x"}}), "filter.statu", "valid_fields", "status"),
        (
            json!({"filter": {"or": [{"not": {"metdata.x": 1}}]}}),
            "filter.or[0].not.metdata.x",
            "valid_fields",
            "metadata.x",
        ),
        (json!({"filter": {"login": "x"}}), "filter.login", "valid_fields", "owner.login"),
        (
            json!({"filter": {"status": {"start_with": "x"}}}),
            "filter.status.start_with",
            "valid_fields",
            "starts_with",
        ),
        (json!({"filter": {"priority": {"gtee": 1}}}), "filter.priority.gtee", "valid_fields", "gte"),
        (json!({"sort": {"field": "priorty"}}), "sort.field", "allowed_values", "priority"),
        (
            json!({"sort": [{"field": "id"}, {"field": "id", "order": "descc"}]}),
            "sort[1].order",
            "allowed_values",
            "desc",
        ),
        (json!({"sort": {"fields": "id", "field": "id"}}), "sort.fields", "valid_fields", "field"),
        (json!({"aggregate": {"x": {"countt": true}}}), "aggregate.x.countt", "valid_fields", "count"),
        (json!({"aggregate": {"x": {"sum": "prioritty"}}}), "aggregate.x.sum", "allowed_values", "priority"),
        (
            json!({"aggregate": {"x": {"group_by": "statuss", "count": true}}}),
            "aggregate.x.group_by",
            "allowed_values",
            "status",
        ),
        (json!({"aggregate": {"x": {"max": "prioriti"}}}), "aggregate.x.max", "allowed_values", "priority"),
    ] {
        let error = refused(&params).unwrap_or_else(|| panic!("{params} is accepted"));
        assert_eq!(error.details["param_name"], named, "{params}");
        assert_eq!(error.details["hint"], format!("Did you mean '{nearest}'?"), "{params}");
        let listed = error.details[listed].as_array().unwrap();
        let lists = |name: &str| {
            listed.contains(&json!(name)) || name.contains('.') && listed.contains(&json!("metadata.*"))
        };
        assert!(lists(nearest), "{listed:?}");
        assert!(error.code.as_str().starts_with("VALIDATION_"));
        assert!(!LEAK.is_match(&json!({"m": error.message, "d": error.details}).to_string()), "{error:?}");
    }
}

/// LREQ-PAGE-02 LREQ-PAGE-08
#[test]
fn paging_faults_name_what_was_given() {
    let error = refused(&json!({"first": 5, "limit": 5})).unwrap();
    assert_eq!((error.code, &error.details["provided"]), (Code::InvalidType, &json!(["first", "limit"])));
    let error = refused(&json!({"first": 5, "after": "bm90IGEgY3Vyc29y"})).unwrap();
    assert_eq!((error.code, &error.details["param_name"]), (Code::InvalidCursor, &json!("after")));
    for given in [json!(0), json!(1001), json!(-5)] {
        let error = refused(&json!({"last": given})).unwrap();
        assert_eq!((error.code, &error.details["minimum"]), (Code::OutOfRange, &json!(1)));
    }
}

/// Parameters that may or may not be right, of names that mean something.
fn wild() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "filter",
        "sort",
        "aggregate",
        "first",
        "after",
        "last",
        "before",
        "limit",
        "offset",
        "page",
        "page_size",
        "field",
        "order",
        "asc",
        "desc",
        "and",
        "or",
        "not",
        "eq",
        "gt",
        "in",
        "contains",
        "exists",
        "starts_with",
        "status",
        "statsu",
        "priority",
        "tags",
        "metadata.x",
        "metadata",
        "_computed.x",
        "a..b",
        "",
        "count",
        "sum",
        "group_by",
        "include_items",
        "include_total",
        "fields",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..2000).prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(5, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let top = prop::sample::select(vec![
        "filter",
        "sort",
        "aggregate",
        "first",
        "after",
        "last",
        "before",
        "limit",
        "offset",
        "page",
        "page_size",
        "include_items",
        "include_total",
        "fields",
        "other",
    ]);
    prop::collection::btree_map(top.prop_map(str::to_owned), value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn no_parameters_break_the_reader_and_every_refusal_is_well_formed(params in wild()) {
        if let Some(error) = refused(&params) {
            prop_assert!(error.code.as_str().starts_with("VALIDATION_"), "{error:?}");
            let name = error.details["param_name"].as_str().unwrap();
            let known = ["filter", "sort", "aggregate", "pagination", "first", "after", "last", "before", "limit", "offset",
                "page", "page_size", "include_items", "include_total"];
            prop_assert!(known.iter().any(|known| name.starts_with(known)), "{name}");
            prop_assert!(!LEAK.is_match(&error.message), "{}", error.message);
            let hint = error.details.get("hint").and_then(Value::as_str).unwrap_or_default();
            prop_assert!(!LEAK.is_match(hint), "{hint}");
        }
    }
}
