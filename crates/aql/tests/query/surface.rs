//! What introspection says of a collection, the published schemas, and questions a caller would ask.

use std::path::PathBuf;

use aql::{
    category::Category,
    define::Operation,
    query::{Collection, Computed, Kind, Order, Query, Style, params, path::Path},
    registry::Registry,
};
use serde_json::{Value, json};

use crate::generate::{key, now};

/// One definition of a published schema, or none with a line that says so.
fn schema(file: &str, definition: Option<&str>) -> Option<jsonschema::Validator> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec-data/schemas");
    if !folder.exists() {
        eprintln!("skipped: the specification's data is not at hand, so nothing is checked against {file}");
        return None;
    }
    let mut schema: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
    if let Some(name) = definition {
        let defs = schema["$defs"].take();
        schema = json!({"$defs": defs, "$ref": format!("#/$defs/{name}")});
    }
    Some(jsonschema::validator_for(&schema).unwrap())
}

#[track_caller]
fn valid(schema: &Option<jsonschema::Validator>, value: &Value) {
    let Some(schema) = schema else { return };
    let faults: Vec<String> = schema.iter_errors(value).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{faults:#?}\n{value:#}");
}

fn widgets(style: Style) -> Collection {
    let created = || Path::parse("created_at").unwrap();
    Collection::builder("widgets")
        .id("widget_id")
        .distinct("widget_id", Kind::Text)
        .distinct("name", Kind::Text)
        .field("status", Kind::Text)
        .field("size_bytes", Kind::Number)
        .field("created_at", Kind::Time)
        .open("metadata")
        .computed(Computed::age_days("age_days", "Days since creation", created()).filterable().sortable())
        .computed(Computed::is_stale("is_stale", "Older than 30 days", created(), 30).filterable())
        .computed(
            Computed::count("child_count", "Number of children", Path::parse("_children").unwrap())
                .sortable(),
        )
        .computed(Computed::estimated_tokens("estimated_tokens", "Tokens of the whole widget"))
        .carried("_children")
        .default_sort("created_at", Order::Desc)
        .paged_by(style)
        .build()
        .unwrap()
}

fn stock() -> Vec<Value> {
    (0..60)
        .map(|n| {
            json!({
                "widget_id": format!("w_{n:03}"), "name": format!("widget {n}"), "size_bytes": n * 10,
                "status": if n % 10 < 3 { "active" } else { "paused" },
                "created_at": format!("2026-{:02}-{:02}T00:00:00Z", 1 + n / 30, 1 + n % 28),
                "metadata": {"owner": {"name": if n % 2 == 0 { "ann" } else { "bob" }}},
                "_children": n % 4,
            })
        })
        .collect()
}

fn ask(params: Value) -> Value {
    valid(&schema("collection-query.schema.json", None), &params);
    let query = Query::read(params.as_object().unwrap(), &widgets(Style::Cursor), &key()).unwrap();
    let answer = query.run(stock(), now()).unwrap().into_value();
    if params.get("aggregate").is_some() {
        valid(
            &schema("aggregation-query.schema.json", None),
            &json!({"request": params, "response": answer}),
        );
    }
    answer
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["widget_id"].as_str().unwrap()).collect()
}

/// LREQ-QUERY-06 REQ-PARAM-12 REQ-PARAM-16 REQ-PARAM-17
#[test]
fn operations_freeze_with_the_parameters_of_their_style_and_all_say_the_same() {
    let operation = |name: &str, style: Style| {
        let operation = Operation::new(Category::Read, name, "Widgets").returns("Json", "A page of widgets");
        params::all(&widgets(style)).into_iter().fold(operation, Operation::param)
    };
    let registry = Registry::builder("widgets")
        .operation(operation("list_widgets", Style::Cursor))
        .operation(operation("query_widgets", Style::Cursor))
        .operation(operation("page_widgets", Style::Page))
        .operation(operation("skip_widgets", Style::Offset))
        .build()
        .unwrap();
    let details = |name: &str| {
        let given = json!({"query": "operations", "name": name});
        let answer = aql::introspect::answer(&registry, given.as_object().unwrap(), "s").unwrap();
        let answer: Value = serde_json::from_str(&answer.to_text()).unwrap();
        answer["data"]["operation"]["parameters"].clone()
    };
    assert_eq!(details("list_widgets"), details("query_widgets"));
    assert!(!details("list_widgets").to_string().contains("$ref"));
    let names = |name: &str| -> Vec<String> {
        details(name).as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap().to_owned()).collect()
    };
    let controls = ["filter", "sort", "aggregate", "include_items", "include_total"];
    for (name, style) in
        [("list_widgets", Style::Cursor), ("page_widgets", Style::Page), ("skip_widgets", Style::Offset)]
    {
        assert_eq!(names(name), [&controls[..], style.params()].concat(), "{name}");
    }
    for (name, default) in [("first", json!(25)), ("last", Value::Null)] {
        let found = details("list_widgets");
        let found = found.as_array().unwrap().iter().find(|p| p["name"] == name).unwrap().clone();
        assert_eq!(
            (&found["default"], &found["minimum"], &found["maximum"]),
            (&default, &json!(1), &json!(1000))
        );
    }
    let leak = regex::Regex::new(r"(?i)at\s+\S+").unwrap();
    for param in details("list_widgets").as_array().unwrap() {
        let description = param["description"].as_str().unwrap();
        assert!(!leak.is_match(description), "{description}");
    }
}

/// LREQ-AGG-06 LREQ-COMP-03
#[test]
fn metadata_fits_its_schema_and_equals_what_is_accepted() {
    let collection = widgets(Style::Cursor);
    let support = params::aggregation_support(&collection);
    valid(&schema("aggregation-query.schema.json", None), &json!({"introspection": support}));
    let computed = params::computed_fields(&collection);
    valid(&schema("computed-fields.schema.json", None), &json!({"computed_fields": computed}));

    let accepted = |params: Value| Query::read(params.as_object().unwrap(), &collection, &key()).is_ok();
    for path in ["widget_id", "name", "status", "size_bytes", "created_at", "metadata.owner.name"] {
        let listed = |list: &str| {
            let shown = if path.starts_with("metadata") { "metadata.*" } else { path };
            support[list].as_array().unwrap().contains(&json!(shown))
        };
        let (numeric, groupable) = (listed("numeric_fields"), listed("groupable_fields"));
        for (function, expected) in
            [("sum", numeric), ("avg", numeric), ("min", numeric || groupable), ("max", numeric || groupable)]
        {
            assert_eq!(
                accepted(json!({"aggregate": {"x": {function: path}}})),
                expected,
                "{function} {path}"
            );
        }
        assert_eq!(
            accepted(json!({"aggregate": {"x": {"group_by": path, "count": true}}})),
            groupable,
            "{path}"
        );
    }
    for field in computed.as_array().unwrap() {
        let path = format!("_computed.{}", field["name"].as_str().unwrap());
        assert_eq!(accepted(json!({"filter": {&path: null}})), field["filterable"] == true, "{path}");
        assert_eq!(accepted(json!({"sort": {"field": &path}})), field["sortable"] == true, "{path}");
    }
    let without = Collection::builder("x").without("aggregate").build().unwrap();
    assert_eq!(params::aggregation_support(&without), json!({"supported": false}));
}

/// LREQ-AGG-01 LREQ-AGG-02 LREQ-AGG-03 LREQ-AGG-05
#[test]
fn a_summary_is_over_all_matches() {
    let answer = ask(json!({
        "filter": {"status": "active"}, "first": 2, "fields": ["widget_id"],
        "aggregate": {
            "total": {"count": true}, "by_owner": {"group_by": "metadata.owner.name", "count": true, "max": "size_bytes"},
            "newest": {"max": "created_at"}, "bytes": {"sum": "size_bytes"}
        }
    }));
    assert_eq!(
        answer,
        json!({"aggregations": {
            "total": 18, "bytes": 4680, "newest": "2026-02-25T00:00:00Z",
            "by_owner": {"ann": {"count": 12, "max": 520}, "bob": {"count": 6, "max": 510}}
        }})
    );
}

/// LREQ-PAGE-05 REQ-PARAM-11 REQ-PARAM-14 REQ-PARAM-18
#[test]
fn sixty_items_come_as_twenty_five_twenty_five_and_ten() {
    let first = ask(json!({}));
    let second = ask(json!({"first": 25, "after": first["pageInfo"]["endCursor"]}));
    let third = ask(json!({"first": 25, "after": second["pageInfo"]["endCursor"]}));
    let all = [ids(&first), ids(&second), ids(&third)].concat();
    assert_eq!([ids(&first).len(), ids(&second).len(), ids(&third).len()], [25, 25, 10]);
    let many: Vec<Value> = (0..600).map(|n| json!({"widget_id": n.to_string()})).collect();
    let given = json!({"first": 500});
    let query = Query::read(given.as_object().unwrap(), &widgets(Style::Cursor), &key()).unwrap();
    assert_eq!(query.run(many, now()).unwrap().into_value()["items"].as_array().unwrap().len(), 100);
    assert_eq!(all, ids(&ask(json!({"first": 100}))));
    let created: Vec<&Value> = [&first, &second, &third]
        .iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|i| &i["created_at"])
        .collect();
    assert!(
        created.is_sorted_by(|a, b| a.as_str() >= b.as_str()),
        "the collection's own order is newest first"
    );
    assert!(first["items"].as_array().unwrap().iter().all(|item| item.get("_children").is_none()));
}

/// LREQ-COMP-01 LREQ-COMP-02
#[test]
fn computed_fields_select_filter_and_sort() {
    let answer = ask(json!({
        "filter": {"_computed.is_stale": true, "_computed.age_days": {"lte": 40}},
        "sort": {"field": "_computed.child_count", "order": "desc"},
        "fields": ["name", "_computed.age_days", "_computed.child_count"]
    }));
    let items = answer["items"].as_array().unwrap();
    assert!(!items.is_empty());
    for item in items {
        let age = item["_computed"]["age_days"].as_i64().unwrap();
        assert!((30..=40).contains(&age), "{item}");
        assert!(item["_computed"].get("is_stale").is_none());
    }
    let counts: Vec<_> = items.iter().map(|item| item["_computed"]["child_count"].as_u64()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
}

/// LREQ-PAGE-08
#[test]
fn a_cursor_outlives_the_collection_it_was_made_with() {
    let first = ask(json!({"first": 7}));
    let given = json!({"first": 7, "after": first["pageInfo"]["endCursor"]});
    let restarted = Query::read(given.as_object().unwrap(), &widgets(Style::Cursor), &key()).unwrap();
    assert_eq!(restarted.run(stock(), now()).unwrap().into_value(), ask(given));
}
