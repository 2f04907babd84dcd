//! Parameters against their definitions: presence, type, unknown names, constraints, defaults, in this order.

use aql::{category::Category, define, registry::Registry, validate::Strictness};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, code, items, names, object, sorted},
    fixture,
};

/// A create_item call that works, with one more parameter.
fn create_with(name: &str, value: Value) -> Value {
    let mut params = object(json!({"name": "Lamp", "category": "product"}));
    params.insert(name.to_owned(), value);
    Value::Object(params)
}

/// REQ-VALID-01 REQ-VALID-03 REQ-INTRO-26
#[test]
fn an_operation_states_its_category_description_and_family() {
    let operation = || define::Operation::new(Category::Read, "get_thing", "Get a thing");
    let without_category = define::Operation { semantic_category: None, ..operation() };
    let wrong_category = define::Operation { semantic_category: Some("QUERY".into()), ..operation() };
    let two_categories = define::Operation { semantic_category: Some("READ, DELETE".into()), ..operation() };
    let without_description = define::Operation { description: " ".into(), ..operation() };
    let wrong_endpoint = define::Operation { endpoint: Some("nosuch".into()), ..operation() };
    for (definition, field) in [
        (without_category, "semantic_category"),
        (wrong_category, "semantic_category"),
        (two_categories, "semantic_category"),
        (without_description, "description"),
        (wrong_endpoint, "endpoint"),
    ] {
        let problems = Registry::builder("x").operation(definition).build().unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        assert_eq!(
            (problems.0[0].subject.as_str(), problems.0[0].field.as_str()),
            ("operation 'get_thing'", field)
        );
    }
    let adapter = items();
    for info in adapter.list() {
        let details = adapter.details(info["name"].as_str().unwrap());
        for key in ["name", "semantic_category", "endpoint", "description"] {
            assert!(!info[key].as_str().unwrap().is_empty(), "{info}");
            assert_eq!(info[key], details[key]);
        }
    }
}

/// REQ-VALID-05
#[test]
fn a_parameter_states_its_type_and_is_optional_unless_it_says_so() {
    let of = |param: define::Param| {
        let operation = define::Operation::new(Category::Read, "get_thing", "Get a thing").param(param);
        Registry::builder("x")
            .operation(operation)
            .build()
            .map(|_| ())
            .map_err(|problems| problems.to_string())
    };
    let untyped = define::Param { kind: None, ..define::Param::new("price", "", "What it costs") };
    let problems = of(untyped).unwrap_err();
    assert!(problems.contains("price.type") && problems.contains("missing"), "{problems}");
    for bad in
        ["str", "Nosuch", "string |", "Nosuch[]", "Json", "OperationResult", "SemanticCategory | number"]
    {
        assert!(of(define::Param::new("price", bad, "What it costs")).is_err(), "{bad}");
    }
    for good in [
        "string",
        "number",
        "integer",
        "boolean",
        "object",
        "array",
        "string[]",
        "ErrorDetail",
        "string | number",
    ] {
        assert_eq!(of(define::Param::new("price", good, "What it costs")), Ok(()), "{good}");
    }
    let adapter = items();
    assert_eq!(adapter.param("create_item", "price")["required"], false);
    assert!(
        adapter
            .accepted("create_item", json!({"name": "Lamp", "category": "product"}))
            .get("price")
            .is_none()
    );
}

/// REQ-VALID-07 LREQ-ERR-04 LREQ-CONFORM-03 REQ-ERR-08
#[test]
fn every_required_parameter_is_asked_for_by_name() {
    let adapter = items();
    let error = adapter.refused("create_item", json!({"category": "product"}));
    assert_eq!(code(&error), "VALIDATION_MISSING_PARAM");
    assert_eq!(error["message"], "Missing required parameter 'name'. Expected: string (The item's name)");
    assert_eq!(error["details"]["param_name"], "name");
    assert_eq!(error["details"]["operation"], "create_item");
    for details in adapter.all_details() {
        let operation = details["name"].as_str().unwrap();
        let required = details["parameters"].as_array().unwrap().iter().filter(|p| p["required"] == true);
        if let Some(first) = required.clone().next() {
            let error = adapter.refused(operation, json!({}));
            let name = first["name"].as_str().unwrap();
            // Introspection's failures have no details: the message has to say it all.
            assert_eq!(code(&error), "VALIDATION_MISSING_PARAM", "{operation}");
            let start =
                format!("Missing required parameter '{name}'. Expected: {}", first["type"].as_str().unwrap());
            assert!(error["message"].as_str().unwrap().starts_with(&start), "{error}");
        }
    }
}

/// REQ-VALID-02 REQ-VALID-08 LREQ-ERR-05 LREQ-CONFORM-05
#[test]
fn every_value_has_the_declared_type() {
    let adapter = items();
    for (name, value, expected, actual) in [
        ("price", json!("12"), "number", "string"),
        ("active", json!("true"), "boolean", "string"),
        ("active", json!(1), "boolean", "number"),
        ("tags", json!("a,b"), "array", "string"),
        ("attributes", json!([]), "object", "array"),
        ("priority", json!(1.5), "integer", "number"),
        ("priority", json!("5"), "integer", "string"),
        ("name", json!(5), "string", "number"),
        ("name", json!(null), "string", "null"),
        ("category", json!({}), "ItemCategory", "object"),
        ("size", json!(true), "string | number", "boolean"),
        ("categories", json!("product"), "ItemCategory[]", "string"),
        ("parts", json!([3]), "Part[]", "array"),
    ] {
        let error = adapter.refused("create_item", create_with(name, value.clone()));
        assert_eq!(code(&error), "VALIDATION_INVALID_TYPE", "{name} = {value}");
        assert_eq!(error["message"], format!("Parameter '{name}' expected '{expected}', got '{actual}'"));
        let details = &error["details"];
        assert_eq!(
            (&details["param_name"], &details["expected_type"], &details["actual_type"]),
            (&json!(name), &json!(expected), &json!(actual))
        );
        if !value.is_null() {
            assert_eq!(details["value"], value, "{name}");
        }
    }
    for (name, value) in [
        ("price", json!(12)),
        ("price", json!(1.25)),
        ("priority", json!(5.0)),
        ("active", json!(false)),
        ("size", json!("small")),
        ("size", json!(3)),
        ("attributes", json!({"any": [1, {"thing": null}]})),
        ("note", json!(null)),
    ] {
        assert_eq!(adapter.accepted("create_item", create_with(name, value.clone()))[name], value);
    }
}

/// REQ-VALID-08 REQ-VALID-16 REQ-INTRO-12
#[test]
fn a_declared_type_is_enforced_inside_arrays_and_objects_too() {
    let adapter = items();
    for (name, value, expected, path) in [
        ("categories", json!(["product", "gadget"]), "VALIDATION_INVALID_ENUM", "categories[1]"),
        ("parts", json!([{"label": "a"}, {"size": 1}]), "VALIDATION_MISSING_PARAM", "parts[1].label"),
        ("parts", json!([{"label": 1}]), "VALIDATION_INVALID_TYPE", "parts[0].label"),
        ("parts", json!([{"label": "a", "size": 501}]), "VALIDATION_OUT_OF_RANGE", "parts[0].size"),
        ("parts", json!([{"label": "a", "kind": "gadget"}]), "VALIDATION_INVALID_ENUM", "parts[0].kind"),
        ("parts", json!([{"label": "a", "colour": "red"}]), "VALIDATION_UNKNOWN_FIELD", "parts[0].colour"),
        ("tags", json!(["a", 3]), "VALIDATION_INVALID_TYPE", "tags[1]"),
    ] {
        let error = adapter.refused("create_item", create_with(name, value.clone()));
        assert_eq!(
            (code(&error), error["details"]["param_name"].as_str()),
            (expected, Some(path)),
            "{value}"
        );
    }
    let good = json!([{"label": "a", "size": 500, "kind": "service"}, {"label": "b"}]);
    assert_eq!(adapter.accepted("create_item", create_with("parts", good.clone()))["parts"], good);
    adapter.accepted("create_item", create_with("categories", json!(["product", "service"])));
    let items = &adapter.param("create_item", "categories")["items"];
    assert_eq!((&items["type"], &items["enum"]), (&json!("ItemCategory"), &json!(["product", "service"])));
}

/// REQ-VALID-09 LREQ-ERR-06 LREQ-CONFORM-03 REQ-VALID-12
#[test]
fn unknown_parameters_are_all_named_beside_the_known_ones() {
    let adapter = items();
    let mut params = create_with("force_create", json!(true));
    params["admin_override"] = json!(1);
    let error = adapter.refused("create_item", params);
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_PARAM");
    let details = &error["details"];
    assert_eq!(details["operation"], "create_item");
    assert_eq!(sorted(&details["unknown_params"]), ["admin_override", "force_create"]);
    let mut listed: Vec<String> = names(&adapter.details("create_item")["parameters"], "name")
        .iter()
        .map(|n| (*n).to_owned())
        .collect();
    listed.sort();
    assert_eq!(sorted(&details["valid_params"]), listed);
    let message = error["message"].as_str().unwrap();
    let (head, offenders) = message.rsplit_once(": ").unwrap();
    assert_eq!(head, "Unknown parameter(s) for operation 'create_item'");
    let mut offenders: Vec<&str> = offenders.split(", ").collect();
    offenders.sort_unstable();
    assert_eq!(offenders, ["admin_override", "force_create"]);
}

/// REQ-VALID-10
#[test]
fn stray_keys_beside_operation_are_parameters_too() {
    let adapter = items();
    let answer =
        adapter.call("mcp_aql_read", json!({"operation": "get_item", "item_id": "1", "bogus": true}));
    assert_eq!(code(&answer["error"]), "VALIDATION_UNKNOWN_PARAM");
    assert_eq!(answer["error"]["details"]["unknown_params"], json!(["bogus"]));
}

/// REQ-VALID-11 REQ-VALID-15
#[test]
fn a_lenient_adapter_drops_what_it_does_not_know_and_says_so() {
    let lenient = Adapter::of(fixture::built(fixture::builder().strictness(Strictness::Warn)));
    let answer = lenient.run("create_item", create_with("zz_unknown", json!(1)));
    assert_eq!(answer["success"], true, "{answer}");
    assert!(answer["data"].get("zz_unknown").is_none(), "what was not described reaches no handler");
    assert_eq!(answer["warnings"][0]["code"], "VALIDATION_UNKNOWN_PARAM_WARNING");
    assert!(answer["warnings"][0]["message"].as_str().unwrap().contains("zz_unknown"));
    assert_eq!(answer["warnings"][0]["details"]["unknown_params"], json!(["zz_unknown"]));
    assert_eq!(
        code(&items().refused("create_item", create_with("zz_unknown", json!(1)))),
        "VALIDATION_UNKNOWN_PARAM"
    );
}

/// REQ-VALID-11 REQ-UPDATE-11 REQ-UPDATE-12
#[test]
fn leniency_ends_with_the_parameters_themselves() {
    let lenient = Adapter::of(fixture::built(fixture::builder().strictness(Strictness::Warn)));
    for (input, expected) in [
        (json!({"colour": "red"}), "VALIDATION_UNKNOWN_FIELD"),
        (json!({"created_at": "2026-01-01T00:00:00Z"}), "VALIDATION_READ_ONLY_FIELD"),
    ] {
        for params in [
            json!({"item_id": "1", "input": input}),
            json!({"item_id": "1", "input": input, "zz_unknown": 1}),
        ] {
            assert_eq!(code(&lenient.refused("update_item", params.clone())), expected, "{params}");
        }
    }
}

/// REQ-VALID-13 REQ-VALID-04
#[test]
fn strictness_and_handlers_are_never_shown() {
    for strictness in [Strictness::Reject, Strictness::Warn] {
        let adapter = Adapter::of(fixture::built(fixture::builder().strictness(strictness)));
        let mut shown = json!([adapter.all_details(), adapter.all_types()]).to_string();
        shown += &adapter.introspect(json!({"query": "operations"})).to_string();
        shown += &adapter.introspect(json!({"query": "types"})).to_string();
        for word in ["strict", "handler", "danger_declared"] {
            assert!(!shown.to_lowercase().contains(word), "{word}");
        }
    }
}

/// REQ-VALID-16 REQ-VALID-17 LREQ-ERR-25 LREQ-CONFORM-05
#[test]
fn published_constraints_are_enforced_to_their_bounds() {
    let adapter = items();
    let long = |count: usize| json!("ü".repeat(count));
    for (name, good, bad, expected) in [
        (
            "category",
            vec![json!("product")],
            vec![json!("gadget"), json!("Product"), json!("")],
            "VALIDATION_INVALID_ENUM",
        ),
        (
            "price",
            vec![json!(0), json!(-0.0), json!(1e300)],
            vec![json!(-1), json!(-0.001)],
            "VALIDATION_OUT_OF_RANGE",
        ),
        ("discount", vec![json!(99.5), json!(-5)], vec![json!(99.6), json!(100)], "VALIDATION_OUT_OF_RANGE"),
        ("priority", vec![json!(1), json!(10)], vec![json!(0), json!(11)], "VALIDATION_OUT_OF_RANGE"),
        (
            "code",
            vec![json!("a"), json!("A9_-")],
            vec![json!("9x"), json!("a b"), json!("")],
            "VALIDATION_PATTERN_MISMATCH",
        ),
        ("name", vec![long(1), long(100)], vec![long(0), long(101)], "VALIDATION_OUT_OF_RANGE"),
        ("slug", vec![long(3)], vec![long(2)], "VALIDATION_OUT_OF_RANGE"),
        ("tags", vec![json!([]), json!(["a"])], vec![json!([""])], "VALIDATION_OUT_OF_RANGE"),
        (
            "due_at",
            vec![json!("2026-02-04T10:30:00Z")],
            vec![json!("yesterday"), json!("")],
            "VALIDATION_INVALID_FORMAT",
        ),
        (
            "link",
            vec![json!("https://example.com/x")],
            vec![json!("example.com")],
            "VALIDATION_INVALID_FORMAT",
        ),
        ("contact", vec![json!("a@example.com")], vec![json!("a")], "VALIDATION_INVALID_FORMAT"),
        (
            "batch_id",
            vec![json!("123e4567-e89b-12d3-a456-426614174000")],
            vec![json!("123e4567")],
            "VALIDATION_INVALID_FORMAT",
        ),
    ] {
        for value in good {
            assert_eq!(adapter.accepted("create_item", create_with(name, value.clone()))[name], value);
        }
        for value in bad {
            let error = adapter.refused("create_item", create_with(name, value.clone()));
            assert_eq!(code(&error), expected, "{name} = {value}");
            assert!(error["details"]["param_name"].as_str().unwrap().starts_with(name), "{error}");
            assert!(error["message"].as_str().unwrap().contains(&format!("'{name}")), "{error}");
        }
    }
    let error = adapter.refused("create_item", create_with("category", json!("prodct")));
    assert_eq!(error["details"]["allowed_values"], json!(["product", "service"]));
    assert!(error["message"].as_str().unwrap().contains("\"service\""), "{error}");
    let error = adapter.refused("create_item", create_with("priority", json!(11)));
    let details = &error["details"];
    assert_eq!(
        (&details["minimum"], &details["maximum"], &details["value"]),
        (&json!(1), &json!(10), &json!(11))
    );
}

/// REQ-VALID-18 REQ-INTRO-25
#[test]
fn defaults_fill_in_what_was_left_out_and_are_shown() {
    let adapter = items();
    let mut defaults = 0;
    for details in adapter.all_details().iter().filter(|details| details["name"] != "introspect") {
        let operation = details["name"].as_str().unwrap();
        let example = object(details["examples"][0]["request"].clone());
        let params = example.get("params").cloned().unwrap_or_else(|| json!({}));
        let seen = adapter.accepted(operation, params);
        for param in details["parameters"].as_array().unwrap() {
            if let Some(default) = param.get("default") {
                assert_eq!(seen[param["name"].as_str().unwrap()], *default, "{operation}");
                defaults += 1;
            }
        }
    }
    assert!(defaults >= 6, "only {defaults} defaults were seen");
    assert_eq!(adapter.accepted("create_item", create_with("priority", json!(9)))["priority"], 9);
    let bad = define::Operation::new(Category::Read, "get_thing", "Get a thing")
        .param(define::Param::new("thing_code", "string", "Which").required().pattern("^[A-Z]{12}$"))
        .param(define::Param::new("count", "integer", "How many").range(1.0, 5.0).default_value(9));
    let problems = Registry::builder("x").operation(bad).build().unwrap_err().to_string();
    assert!(problems.contains("params.count.default"), "{problems}");
}

/// REQ-VALID-19
#[test]
fn of_several_faults_the_first_in_order_is_told() {
    let adapter = items();
    for (params, expected) in [
        (json!({"category": "gadget", "bogus": 1, "price": "x"}), "VALIDATION_MISSING_PARAM"),
        (json!({"name": "x", "category": "gadget", "bogus": 1, "price": "x"}), "VALIDATION_INVALID_TYPE"),
        (json!({"name": "x", "category": "gadget", "bogus": 1}), "VALIDATION_UNKNOWN_PARAM"),
        (json!({"name": "x", "category": "gadget"}), "VALIDATION_INVALID_ENUM"),
        (json!({"name": "x", "category": "product", "priorty": 9}), "VALIDATION_UNKNOWN_PARAM"),
        // The same inside objects: nothing deeper down is looked into before its turn.
        (json!({"name": "x", "category": "gadget", "parts": [{}]}), "VALIDATION_MISSING_PARAM"),
        (
            json!({"name": "", "category": "product", "parts": [{"label": "a", "x": 1}]}),
            "VALIDATION_UNKNOWN_FIELD",
        ),
    ] {
        assert_eq!(code(&adapter.refused("create_item", params.clone())), expected, "{params}");
    }
    let error = adapter.refused("create_item", create_with("priorty", json!(9)));
    assert_eq!(error["details"]["suggestions"], json!({"priorty": "priority"}));
}
