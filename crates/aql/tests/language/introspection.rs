//! `introspect`: lists, details, and what narrows them.

use aql::{category::Category, define, registry::Registry};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, code, items, names, object},
    fixture,
};

/// REQ-INTRO-03 REQ-INTRO-04
#[test]
fn a_query_is_needed_and_two_are_standard() {
    let adapter = items();
    let error = adapter.call("mcp_aql_read", json!({"operation": "introspect"}))["error"].clone();
    assert_eq!(code(&error), "VALIDATION_MISSING_PARAM");
    assert!(error["message"].as_str().unwrap().contains("'query'"), "{error}");
    assert!(error["message"].as_str().unwrap().contains("(Which list"), "the description is told: {error}");
    assert_eq!(adapter.param("introspect", "query")["required"], true);
    assert_eq!(adapter.param("introspect", "query")["type"], "string");
    assert_eq!(adapter.param("introspect", "name")["required"], false);
    assert_eq!(adapter.param("introspect", "name")["type"], "string");
    for query in ["operations", "types"] {
        assert!(adapter.introspect(json!({"query": query}))[query].is_array());
    }
    for (query, expected) in [
        (json!("banana"), "VALIDATION_INVALID_ENUM"),
        (json!("Operations"), "VALIDATION_INVALID_ENUM"),
        (json!(""), "VALIDATION_INVALID_ENUM"),
        (json!(3), "VALIDATION_INVALID_TYPE"),
        (json!(null), "VALIDATION_INVALID_TYPE"),
    ] {
        let error = adapter.introspection(json!({"query": query}))["error"].clone();
        assert_eq!(code(&error), expected, "{query}");
        assert!(error.get("details").is_none(), "the closed schema has no room for details");
    }
    let error = adapter.introspection(json!({"query": "banana"}))["error"].clone();
    for supported in ["operations", "types"] {
        assert!(error["message"].as_str().unwrap().contains(supported), "{error}");
    }
}

/// REQ-INTRO-05 REQ-INTRO-22 REQ-INTRO-27 REQ-CONFORM-07
#[test]
fn the_list_is_exactly_what_can_be_called() {
    let adapter = items();
    let mut listed: Vec<String> = Vec::new();
    for info in adapter.list() {
        let keys: Vec<String> = object(info.clone()).keys().cloned().collect();
        assert_eq!(keys.len(), 4, "{info}");
        for key in ["name", "semantic_category", "endpoint", "description"] {
            assert!(info[key].is_string(), "{info}");
        }
        assert!(
            ["create", "read", "update", "delete", "execute"].contains(&info["endpoint"].as_str().unwrap())
        );
        listed.push(info["name"].as_str().unwrap().to_owned());
    }
    let mut defined: Vec<String> =
        fixture::operations().into_iter().map(|operation| operation.name).collect();
    defined.push("introspect".to_owned());
    listed.sort();
    defined.sort();
    assert_eq!(listed, defined);
}

/// REQ-INTRO-06 REQ-INTRO-10 REQ-INTRO-26
#[test]
fn details_say_everything_about_one_operation() {
    let adapter = items();
    for details in adapter.all_details() {
        for (key, is_right) in [
            ("name", details["name"].is_string()),
            ("semantic_category", details["semantic_category"].is_string()),
            ("endpoint", details["endpoint"].is_string()),
            ("mcpTool", details["mcpTool"].is_string()),
            ("description", details["description"].is_string()),
            ("permissions", details["permissions"].is_object()),
            ("parameters", details["parameters"].is_array()),
            ("returns", details["returns"].is_object()),
            ("examples", details["examples"].is_array()),
        ] {
            assert!(is_right, "{key} of {details}");
        }
        let returns = &details["returns"];
        let data = adapter.introspect(json!({"query": "types", "name": returns["name"]}));
        assert_eq!(data["type"]["kind"], returns["kind"], "{returns}");
    }
    assert_eq!(
        adapter.details("create_item")["returns"],
        json!({"name": "Item", "kind": "object", "description": "The item created"})
    );
}

/// REQ-INTRO-07 REQ-TYPE-04
#[test]
fn an_unknown_name_is_a_success_with_null() {
    let adapter = items();
    for (query, key) in [("operations", "operation"), ("types", "type"), ("danger", "danger")] {
        for name in ["nonexistent_operation", "NoSuchType", "Create_Item", "itemcategory", ""] {
            let answer = adapter.introspection(json!({"query": query, "name": name}));
            assert_eq!(answer, json!({"success": true, "data": {key: null}}), "{query} {name}");
        }
    }
}

/// REQ-INTRO-09 REQ-CLASS-01 REQ-CLASS-02 REQ-CLASS-03 REQ-CLASS-04
#[test]
fn permissions_follow_the_category() {
    let adapter = items();
    let mut seen = Vec::new();
    for details in adapter.all_details() {
        let (read_only, destructive) = match details["semantic_category"].as_str().unwrap() {
            "CREATE" => (false, false),
            "READ" => (true, false),
            "UPDATE" | "DELETE" | "EXECUTE" => (false, true),
            other => panic!("{other}"),
        };
        assert_eq!(details["permissions"], json!({"readOnly": read_only, "destructive": destructive}));
        seen.push(details["semantic_category"].as_str().unwrap().to_owned());
    }
    for category in Category::ALL {
        assert!(seen.iter().any(|known| known == category.as_str()), "{category}");
    }
}

/// REQ-CLASS-05 REQ-INTRO-09
#[test]
fn execution_is_neither_read_only_nor_harmless() {
    let adapter = items();
    for operation in ["execute_job", "cancel_job"] {
        let details = adapter.details(operation);
        assert_eq!(details["semantic_category"], "EXECUTE");
        assert_eq!(details["permissions"], json!({"readOnly": false, "destructive": true}));
    }
}

const PARAMETER_KEYS: [&str; 14] = [
    "name",
    "type",
    "required",
    "description",
    "default",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "items",
    "sensitive",
];

/// REQ-INTRO-11 REQ-INTRO-24
#[test]
fn every_parameter_says_its_name_type_necessity_and_meaning() {
    let adapter = items();
    for details in adapter.all_details() {
        for param in details["parameters"].as_array().unwrap() {
            assert!(
                param["name"].is_string() && param["type"].is_string() && param["required"].is_boolean(),
                "{param}"
            );
            let description = param["description"].as_str().unwrap_or_default();
            assert!(!description.trim().is_empty() && description != param["name"], "{param}");
            for key in object(param.clone()).keys() {
                assert!(PARAMETER_KEYS.contains(&key.as_str()), "{key}");
            }
        }
    }
}

/// REQ-INTRO-12 REQ-INTRO-13
#[test]
fn constraints_are_published_as_they_are_enforced() {
    let adapter = items();
    for (name, expected) in [
        ("name", json!({"minLength": 1, "maxLength": 100})),
        ("category", json!({"enum": ["product", "service"]})),
        ("price", json!({"minimum": 0})),
        ("discount", json!({"maximum": 99.5})),
        ("priority", json!({"minimum": 1, "maximum": 10, "default": 5})),
        ("slug", json!({"minLength": 3})),
        ("code", json!({"pattern": "^[a-zA-Z][a-zA-Z0-9_-]*$"})),
        ("due_date", json!({"format": "date"})),
        ("file_content", json!({"format": "base64"})),
        ("api_key", json!({"sensitive": true, "minLength": 8, "maxLength": 64})),
        ("attributes", json!({})),
    ] {
        let mut param = object(adapter.param("create_item", name));
        for key in ["name", "type", "required", "description"] {
            param.remove(key);
        }
        assert_eq!(Value::Object(param), expected, "{name}");
    }
    let items = adapter.param("create_item", "tags")["items"].clone();
    assert_eq!(
        (&items["type"], &items["minLength"], &items["maxLength"]),
        (&json!("string"), &json!(1), &json!(20))
    );
}

/// REQ-INTRO-17
#[test]
fn every_type_that_is_named_resolves_in_that_spelling() {
    let adapter = items();
    let mut mentioned: Vec<String> = Vec::new();
    let mut mention = |text: &Value| {
        let parts = text.as_str().unwrap().split(" | ");
        mentioned.extend(parts.map(|part| part.trim_end_matches("[]").to_owned()));
    };
    for details in adapter.all_details() {
        mention(&details["returns"]["name"]);
        for param in details["parameters"].as_array().unwrap() {
            mention(&param["type"]);
            if let Some(items) = param.get("items") {
                mention(&items["type"]);
            }
        }
    }
    for details in adapter.all_types() {
        details["members"].as_array().into_iter().flatten().for_each(&mut mention);
        for field in details["fields"].as_array().into_iter().flatten() {
            mention(&field["type"]);
        }
    }
    let own = ["string", "number", "integer", "boolean", "object", "array"];
    let declared: Vec<String> = mentioned.into_iter().filter(|name| !own.contains(&name.as_str())).collect();
    assert!(declared.contains(&"ItemCategory".to_owned()) && declared.contains(&"Part".to_owned()));
    for name in declared {
        let data = adapter.introspect(json!({"query": "types", "name": name}));
        assert_eq!(data["type"]["name"], name.as_str());
    }
}

/// REQ-INTRO-18 REQ-INTRO-19 REQ-CONFORM-05 REQ-CONFORM-06
#[test]
fn the_list_names_version_level_and_capabilities() {
    let adapter = items();
    let protocol = adapter.introspect(json!({"query": "operations"}))["_protocol"].clone();
    assert_eq!(protocol["version"], "1.0.0-draft");
    assert_eq!(protocol["conformance"], "level-2");
    assert_eq!(protocol["session_id"], crate::drive::SESSION);
    assert_eq!(protocol["capabilities"]["field_selection"], true);
    assert_eq!(protocol["capabilities"]["batch"], true);
    assert_eq!(protocol["supports_etag"], true);
}

/// REQ-INTRO-20
#[test]
fn a_capability_is_claimed_only_where_it_works() {
    let bare =
        Adapter::of(Registry::builder("bare").operations(fixture::synthetic(5)).build().unwrap().into());
    let protocol = bare.introspect(json!({"query": "operations"}))["_protocol"].clone();
    assert_eq!(protocol["capabilities"]["field_selection"], false, "no operation takes fields");
    assert_eq!(protocol["supports_etag"], false, "no operation takes if_match");
    for flag in ["aggregations", "computed_fields", "relationship_queries"] {
        assert_eq!(protocol["capabilities"][flag], false);
    }
    for flag in ["batch", "field_selection", "pagination", "warnings", "confirmation", "dangerous_operations"]
    {
        assert!(protocol["capabilities"][flag].is_boolean(), "{flag}");
    }
}

/// REQ-INTRO-23
#[test]
fn every_operation_has_examples_that_work() {
    let adapter = items();
    for details in adapter.all_details() {
        let examples = details["examples"].as_array().unwrap();
        assert!(!examples.is_empty(), "{}", details["name"]);
        for example in examples {
            assert_eq!(example["request"]["operation"], details["name"]);
            let answer = adapter.call(details["mcpTool"].as_str().unwrap(), example["request"].clone());
            assert!(!code(&answer["error"]).starts_with("VALIDATION_"), "{answer}");
        }
    }
    let refused = define::Operation::new(Category::Read, "get_thing", "Get a thing")
        .param(define::Param::new("thing_id", "integer", "Which").required())
        .example("Wrong", json!({"thing_id": "one"}));
    let problems = Registry::builder("x").operation(refused).build().unwrap_err().to_string();
    assert!(problems.contains("example 'Wrong'"), "{problems}");
}

/// REQ-INTRO-23
#[test]
fn an_example_is_made_up_where_one_can_be_and_left_out_where_not() {
    let part = define::Type::object(
        "Box",
        "A box",
        vec![
            define::Param::new("label", "string", "What stands on it").required().length(12, 20),
            define::Param::new("inner", "Box", "A box in it"),
        ],
    );
    let of = |param: define::Param| {
        let operation =
            define::Operation::new(Category::Read, "get_thing", "Get a thing").param(param.required());
        let registry = Registry::builder("x").types([part.clone()]).operation(operation).build().unwrap();
        Adapter::of(registry.into()).details("get_thing")["examples"].clone()
    };
    let param = |kind: &str| define::Param::new("thing", kind, "A thing");
    for guessable in [
        param("string").length(30, 40),
        param("string").length(0, 2),
        param("number").range(0.5, 0.75),
        param("integer").range(1.5, 2.5),
        param("Box"),
        param("Box[]"),
        param("string").format("uuid"),
    ] {
        assert_eq!(of(guessable.clone()).as_array().unwrap().len(), 1, "{guessable:?}");
    }
    for unguessable in [
        param("string").pattern("^[A-Z]{3}$"),
        param("integer").range(5.0, 1.0),
        param("string").length(9, 3),
    ] {
        assert_eq!(of(unguessable), json!([]));
    }
}

/// REQ-INTRO-28
#[test]
fn one_definition_feeds_introspection_validation_and_tools() {
    let with = |param: define::Param| {
        let operation = define::Operation::new(Category::Read, "get_thing", "Get a thing").param(param);
        Adapter::of(Registry::builder("x").operation(operation).build().unwrap().into())
    };
    let before = with(define::Param::new("colour", "string", "Which colour"));
    let after = with(define::Param::new("shade", "integer", "Which shade").required());
    assert_eq!(names(&before.details("get_thing")["parameters"], "name"), ["colour"]);
    assert_eq!(names(&after.details("get_thing")["parameters"], "name"), ["shade"]);
    before.accepted("get_thing", json!({"colour": "red"}));
    let error = after.refused("get_thing", json!({"shade": 1, "colour": "red"}));
    assert_eq!(error["details"]["valid_params"], json!(["shade"]));
    assert!(error["details"]["signature"].as_str().unwrap().contains("shade: integer"));
    assert!(
        after.registry.tools()[1].description.contains("shade"),
        "{}",
        after.registry.tools()[1].description
    );
}

/// REQ-INTRO-29
#[test]
fn two_identical_questions_have_one_answer_but_for_the_session() {
    let adapter = items();
    let registry = &adapter.registry;
    let ask = |session: &str| {
        let params = object(json!({"query": "operations"}));
        aql::introspect::answer(registry, &params, session).unwrap().to_text()
    };
    assert_eq!(ask("one"), ask("one"));
    assert_eq!(ask("one").replace("\"session_id\":\"one\"", "\"session_id\":\"two\""), ask("two"));
}

/// REQ-INTRO-31 LREQ-INTRO-01
#[test]
fn what_is_deprecated_says_so_and_still_works() {
    let adapter = items();
    let description = adapter.details("find_items")["description"].as_str().unwrap().to_owned();
    assert!(description.starts_with("Deprecated; use 'list_items' instead."), "{description}");
    let limit = adapter.param("find_items", "limit");
    assert!(
        limit["description"].as_str().unwrap().starts_with("Deprecated; use 'first' instead."),
        "{limit}"
    );
    let answer = adapter.run("find_items", json!({"limit": 3}));
    assert_eq!((&answer["success"], &answer["data"]["limit"]), (&json!(true), &json!(3)));
    let warning = &answer["warnings"][0];
    assert_eq!(warning["code"], "DEPRECATION_WARNING");
    assert_eq!(warning["details"]["deprecated_item"], "limit");
    let answer = adapter.run("find_items", json!({}));
    assert!(answer.get("warnings").is_none(), "a default is nobody's use of it: {answer}");
}

/// REQ-INTRO-32 LREQ-INTRO-02
#[test]
fn narrowed_lists_keep_to_the_published_schema() {
    let adapter = items();
    for params in [
        json!({"query": "operations", "search": "item"}),
        json!({"query": "operations", "search": "nothing like it"}),
        json!({"query": "operations", "filter": {"category": "delete"}}),
        json!({"query": "operations", "filter": {"endpoint": "READ"}}),
        json!({"query": "operations", "filter": {"server": "nosuch"}}),
        json!({"query": "operations", "first": 2}),
        json!({"query": "operations", "first": 1000}),
        json!({"query": "operations", "fields": "minimal"}),
        json!({"query": "operations", "fields": "standard"}),
        json!({"query": "operations", "fields": ["description"]}),
        json!({"query": "operations", "fields": []}),
        json!({"query": "operations", "name": "create_item", "fields": "minimal"}),
        json!({"query": "operations", "name": "create_item", "fields": ["examples"]}),
        json!({"query": "operations", "name": "nosuch", "fields": "minimal"}),
        json!({"query": "operations", "search": "item", "filter": {"category": "READ"}, "first": 1, "fields": []}),
    ] {
        // The driver holds every one of these answers against the schema.
        let data = adapter.introspect(params.clone());
        assert!(data.is_object(), "{params}");
    }
    for extra in ["search", "filter", "first", "after", "fields"] {
        assert_eq!(adapter.param("introspect", extra)["required"], false);
    }
    assert!(adapter.param("introspect", "query")["enum"].as_array().unwrap().contains(&json!("danger")));
    let error = adapter.introspection(json!({"query": "operations", "limit": 3}))["error"].clone();
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_PARAM");
}

/// REQ-INTRO-32
#[test]
fn filters_and_searches_find_what_they_should() {
    let adapter = items();
    let found = |params: Value| -> Vec<String> {
        let mut params = object(params);
        params.insert("query".to_owned(), json!("operations"));
        let data = adapter.introspect(Value::Object(params));
        names(&data["operations"], "name").iter().map(|name| (*name).to_owned()).collect()
    };
    assert_eq!(found(json!({"filter": {"category": "DELETE"}})), ["delete_item", "purge_cache"]);
    assert_eq!(found(json!({"filter": {"category": "delete", "endpoint": "read"}})), [""; 0]);
    assert_eq!(found(json!({"filter": {"endpoint": "execute"}})), ["execute_job", "cancel_job"]);
    assert_eq!(found(json!({"search": "purge caches"}))[0], "purge_cache");
    assert_eq!(found(json!({"search": "create item"}))[0], "create_item");
    assert_eq!(found(json!({"search": "zzz"})), [""; 0]);
    for (params, expected) in [
        (json!({"filter": {"category": "QUERY"}}), "VALIDATION_INVALID_ENUM"),
        (json!({"filter": {"colour": "red"}}), "VALIDATION_UNKNOWN_FIELD"),
        (json!({"filter": "READ"}), "VALIDATION_INVALID_TYPE"),
        (json!({"first": 0}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"first": 1001}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"first": 1.5}), "VALIDATION_INVALID_TYPE"),
        (json!({"after": "nonsense"}), "VALIDATION_INVALID_CURSOR"),
        (json!({"fields": "most"}), "VALIDATION_INVALID_ENUM"),
    ] {
        let mut params = object(params);
        params.insert("query".to_owned(), json!("operations"));
        let error = adapter.introspection(Value::Object(params.clone()))["error"].clone();
        assert_eq!(code(&error), expected, "{params:?}");
    }
}

/// REQ-INTRO-32 REQ-PARAM-19
#[test]
fn pages_joined_are_the_whole_list() {
    let registry = Registry::builder("many").operations(fixture::synthetic(230)).build().unwrap();
    let adapter = Adapter::of(registry.into());
    let whole: Vec<Value> = adapter.list();
    for first in [1, 7, 100, 1000] {
        let (mut joined, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let mut params = object(json!({"query": "operations", "first": first}));
            params.extend(after.map(|cursor: Value| ("after".to_owned(), cursor)));
            let data = adapter.introspect(Value::Object(params));
            let page = data["operations"].as_array().unwrap().clone();
            assert!(page.len() <= 100);
            let info = &data["_protocol"]["pageInfo"];
            assert_eq!(info["hasPreviousPage"], pages > 0);
            joined.extend(page);
            pages += 1;
            if info["hasNextPage"] == false {
                break;
            }
            after = Some(info["endCursor"].clone());
        }
        assert_eq!(joined, whole, "first {first}");
        assert_eq!(pages, 231_usize.div_ceil(first.min(100)));
    }
}

/// REQ-INTRO-34
#[test]
fn an_internal_failure_is_told_without_internals() {
    let adapter = items();
    // Validation lets no such query through; this is what remains should it ever.
    let error =
        aql::introspect::answer(&adapter.registry, &object(json!({"query": "banana"})), "s").unwrap_err();
    assert_eq!(error.code.as_str(), "INTROSPECTION_ERROR");
    crate::drive::no_leak_in(&error.message);
    let answer = crate::drive::parsed(&aql::response::Answer::bare_failure(&error));
    crate::drive::well_formed(&answer, crate::drive::Kind::Introspection);
}
