//! The envelope, parameters and updates, over every wire.

use serde_json::{Value, json};

use crate::harness::{Setup, WIRES, data, fixture_setup};

/// REQ-REQ-01 REQ-REQ-05 REQ-REQ-07 REQ-PARAM-01 REQ-RESP-01
#[test]
fn one_envelope_works_for_every_operation_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let id = client.new_item("One");
        let bare = client.call("mcp_aql_read", json!({"operation": "list_entities"}));
        let empty = client.call("mcp_aql_read", json!({"operation": "list_entities", "params": {}}));
        assert_eq!((&bare, &bare["success"]), (&empty, &json!(true)), "{wire:?}");
        let beside = client.call("mcp_aql_read", json!({"operation": "get_entity", "entity_id": id}));
        let inside = client.read("get_entity", json!({"entity_id": id}));
        assert_eq!(beside, inside, "{wire:?}");
        let with_metadata = json!({
            "operation": "list_entities", "params": {"_trace": 1}, "_meta": {"a": 1}, "_request_id": "r1"
        });
        assert_eq!(client.call("mcp_aql_read", with_metadata)["success"], true, "{wire:?}");
    }
}

/// REQ-REQ-02 REQ-REQ-03 REQ-REQ-04 REQ-REQ-06 LREQ-MODE-05
#[test]
fn a_wrong_envelope_is_told_what_is_wrong() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let mut failed = |arguments: Value| client.call("mcp_aql_read", arguments)["error"].clone();
    let missing = failed(json!({"params": {}}));
    assert_eq!(
        (&missing["code"], &missing["details"]["param_name"]),
        (&json!("VALIDATION_MISSING_PARAM"), &json!("operation"))
    );
    let empty = failed(json!({"operation": ""}));
    assert!(
        empty["code"].as_str().unwrap().starts_with("VALIDATION_")
            && empty["message"].as_str().unwrap().contains("'operation'")
    );
    assert_eq!(failed(json!({"operation": 7}))["code"], "VALIDATION_INVALID_TYPE");
    for params in [json!([1]), json!("x")] {
        let error = failed(json!({"operation": "list_entities", "params": params}));
        assert_eq!(
            (&error["code"], &error["details"]["expected_type"]),
            (&json!("VALIDATION_INVALID_TYPE"), &json!("object"))
        );
    }
    let unknown = failed(json!({"operation": "create_widget"}));
    assert_eq!(unknown["code"], "NOT_FOUND_OPERATION");
    assert_eq!(unknown["message"], "Unknown operation: 'create_widget'");
    assert_eq!(unknown["details"]["operation"], "create_widget");
    assert!(unknown["details"]["hint"].as_str().unwrap().contains("introspect"));
    assert_eq!(failed(json!({"operation": "List_Entities"}))["code"], "NOT_FOUND_OPERATION");
}

/// REQ-REQ-08 REQ-PARAM-02 REQ-VALID-10
#[test]
fn routing_comes_first_and_params_win() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let misrouted = client.create("get_entity", json!({"bogus": 1}));
    assert_eq!(misrouted["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
    let (one, two) = (client.new_item("One"), client.new_item("Two"));
    let both = json!({"operation": "get_entity", "entity_id": two, "params": {"entity_id": one}});
    assert_eq!(client.call("mcp_aql_read", both)["data"]["entity_id"], one.as_str());
    let stray = json!({"operation": "get_entity", "entity_id": one, "bogus": true});
    let error = client.call("mcp_aql_read", stray)["error"].clone();
    assert_eq!(
        (&error["code"], &error["details"]["unknown_params"]),
        (&json!("VALIDATION_UNKNOWN_PARAM"), &json!(["bogus"]))
    );
}

/// REQ-VALID-02 REQ-VALID-07 REQ-VALID-08 REQ-VALID-09 REQ-VALID-16
#[test]
fn a_refused_call_has_no_effect() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let good = json!({"entity_name": "A", "entity_type": "item", "description": "d"});
    let with = |key: &str, value: Value| {
        let mut params = good.clone();
        params[key] = value;
        params
    };
    let mut without = good.clone();
    without.as_object_mut().unwrap().remove("entity_name");
    for (params, code) in [
        (without, "VALIDATION_MISSING_PARAM"),
        (with("priority", json!("12")), "VALIDATION_INVALID_TYPE"),
        (with("force", json!(true)), "VALIDATION_UNKNOWN_PARAM"),
        (with("entity_type", json!("gadget")), "VALIDATION_INVALID_ENUM"),
        (with("priority", json!(0)), "VALIDATION_OUT_OF_RANGE"),
        (with("priority", json!(11)), "VALIDATION_OUT_OF_RANGE"),
        (with("entity_name", json!("9x")), "VALIDATION_PATTERN_MISMATCH"),
        (with("entity_name", json!("a".repeat(101))), "VALIDATION_OUT_OF_RANGE"),
        (with("tags", json!(["ok", 3])), "VALIDATION_INVALID_TYPE"),
        (with("description", json!("a\u{0}b")), "VALIDATION_INVALID_ENCODING"),
        (with("metadata", json!({"deep": ["a\u{0}b"]})), "VALIDATION_INVALID_ENCODING"),
    ] {
        let answer = client.create("create_entity", params.clone());
        assert_eq!(answer["error"]["code"], code, "{params}");
    }
    assert_eq!(client.read("list_entities", json!({}))["data"]["items"], json!([]));
    for boundary in [1, 10] {
        let mut params = with("priority", json!(boundary));
        params["entity_name"] = json!(format!("p{boundary}"));
        assert_eq!(client.create("create_entity", params)["success"], true);
    }
}

/// REQ-ERR-08 REQ-VALID-19 LREQ-CONFORM-03
#[test]
fn every_mistake_says_enough_for_the_next_try_to_work() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let mut params = json!({"entity_nam": "A", "entity_typ": "item", "descripton": "d", "priorty": 9});
    for _ in 0..5 {
        let answer = client.create("create_entity", params.clone());
        if answer["success"] == true {
            assert_eq!(answer["data"]["priority"], 9);
            return;
        }
        let details = &answer["error"]["details"];
        let given = params.as_object_mut().unwrap();
        if let Some(suggestions) = details["suggestions"].as_object() {
            for (wrong, right) in suggestions {
                let value = given.remove(wrong).unwrap();
                given.insert(right.as_str().unwrap().to_owned(), value);
            }
        } else {
            // "Did you mean 'entity_name' by 'entity_nam'?"
            let hint: Vec<&str> = details["hint"].as_str().unwrap().split('\'').collect();
            let value = given.remove(hint[3]).unwrap();
            given.insert(hint[1].to_owned(), value);
        }
    }
    panic!("never got it right: {params}");
}

/// REQ-ERR-10 REQ-PARAM-04 REQ-PARAM-05
#[test]
fn secrets_are_not_repeated_and_declared_aliases_are_understood() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let answer = client.read("get_secret", json!({"api_key": 4711}));
    assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_TYPE");
    assert!(!answer.to_string().contains("4711"), "{answer}");
    assert_eq!(client.read("get_thing", json!({"thingId": "7"}))["data"]["id"], "7");
    assert_eq!(client.read("get_echo", json!({"Message": "x"}))["error"]["code"], "VALIDATION_MISSING_PARAM");
    let listed = client.introspect(json!({"query": "operations", "name": "get_thing"}));
    assert_eq!(listed["data"]["operation"]["parameters"][0]["name"], "thing_id");
}

/// REQ-ERR-05 LREQ-MCP-09 LREQ-MCP-10 LREQ-MCP-11
#[test]
fn a_fault_inside_is_an_internal_error_and_the_server_goes_on() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        for operation in ["get_panic", "get_fault"] {
            let answer = client.read(operation, json!({}));
            assert_eq!(answer["error"]["code"], "INTERNAL_ERROR", "{wire:?}");
            assert!(!answer.to_string().contains("secret internals"), "{answer}");
        }
        assert_eq!(
            client.read("get_echo", json!({"message": "still here"}))["data"]["message"],
            "still here"
        );
    }
}

/// REQ-LIMIT-01 REQ-LIMIT-02 REQ-LIMIT-04 REQ-LIMIT-05 REQ-LIMIT-09
#[test]
fn limits_hold_on_the_wire_and_are_told() {
    for wire in WIRES {
        let directory = data();
        let mut client =
            Setup::new(directory.path()).config("[limits]\nmax_nesting_depth = 16\n").connect(wire);
        let too_large = |answer: &Value, limit: &str| {
            assert_eq!(answer["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "{wire:?} {answer}");
            assert_eq!(answer["error"]["details"]["limit_type"], limit, "{wire:?}");
        };
        let padded = |size: usize| {
            let empty = json!({"operation": "list_entities", "_pad": ""}).to_string().len();
            json!({"operation": "list_entities", "_pad": "x".repeat(size - empty)})
        };
        assert_eq!(client.call("mcp_aql_read", padded(1_048_576))["success"], true, "{wire:?}");
        too_large(&client.call("mcp_aql_read", padded(1_048_577)), "request_size");
        let nested = |levels: usize| {
            let mut value = json!({});
            for _ in 1..levels {
                value = json!({"a": value});
            }
            value
        };
        let deep = |levels: usize| json!({"operation": "list_entities", "_deep": nested(levels - 1)});
        assert_eq!(client.call("mcp_aql_read", deep(16))["success"], true, "{wire:?}");
        let answer = client.call("mcp_aql_read", deep(17));
        too_large(&answer, "nesting_depth");
        assert_eq!(answer["error"]["details"]["actual_value"], 17);
        too_large(
            &client.call("mcp_aql_read", json!({"operation": "list_entities", "_a": vec![0; 10_001]})),
            "array_elements",
        );
        let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
        assert_eq!(protocol["limits"]["max_nesting_depth"], 16);
    }
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let answer = client.read("get_bytes", json!({"bytes": 11 * 1024 * 1024}));
    assert_eq!(answer["error"]["details"]["limit_type"], "response_size");
    assert_eq!(client.read("get_bytes", json!({"bytes": 9 * 1024 * 1024}))["success"], true);
}

/// REQ-VALID-11 REQ-VALID-12 REQ-VALID-13 REQ-VALID-15
#[test]
fn strictness_is_the_default_and_shown_nowhere() {
    let directory = data();
    let stray = json!({"operation": "list_entities", "zz_unknown": 1});
    for (config, lenient) in
        [("", false), ("[server]\nstrict_mode = true\n", false), ("[server]\nstrict_mode = false\n", true)]
    {
        let mut client = Setup::new(directory.path()).config(config).connect(WIRES[0]);
        let answer = client.call("mcp_aql_read", stray.clone());
        assert_eq!(answer["success"], lenient, "{config}");
        if lenient {
            assert_eq!(answer["warnings"][0]["details"]["unknown_params"], json!(["zz_unknown"]));
        } else {
            assert_eq!(answer["error"]["code"], "VALIDATION_UNKNOWN_PARAM");
        }
        for query in [
            json!({"query": "operations"}),
            json!({"query": "operations", "name": "list_entities"}),
            json!({"query": "types"}),
            json!({"query": "types", "name": "Entity"}),
        ] {
            assert!(!client.introspect(query).to_string().contains("strict"));
        }
    }
}

/// LREQ-INTRO-01 REQ-SESS-08 LREQ-WARN-01 LREQ-WARN-03
#[test]
fn a_deprecated_operation_works_and_says_so_once_a_session() {
    let directory = data();
    let setup = fixture_setup(directory.path());
    for _ in 0..2 {
        let mut client = setup.connect(WIRES[0]);
        let first = client.read("find_things", json!({}));
        assert_eq!(first["success"], true);
        assert_eq!(first["warnings"][0]["code"], "DEPRECATION_WARNING");
        assert_eq!(first["warnings"][0]["details"]["replacement"], "get_thing");
        assert_eq!(client.read("find_things", json!({})).get("warnings"), None);
        let described = client.introspect(json!({"query": "operations", "name": "find_things"}));
        assert!(
            described["data"]["operation"]["description"]
                .as_str()
                .unwrap()
                .starts_with("Deprecated; use 'get_thing'")
        );
    }
}
