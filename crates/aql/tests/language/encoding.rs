//! Text, dates, numbers, binary and null.

use serde_json::{Value, json};

use crate::drive::{code, items};

/// A create_item call whose name is these raw bytes.
fn named(bytes: &[u8]) -> Vec<u8> {
    [br#"{"operation":"create_item","params":{"category":"product","name":""#, bytes, br#""}}"#].concat()
}

fn create(name: &str, value: Value) -> Value {
    let mut params = json!({"name": "Lamp", "category": "product"});
    params[name] = value;
    params
}

/// REQ-ENC-01 REQ-ENC-02 REQ-ENC-03 REQ-ENC-04 LREQ-ERR-08
#[test]
fn only_valid_utf8_without_lone_surrogates_is_read() {
    let adapter = items();
    let before = named(b"").len() - 3;
    for bad in [
        &b"\xFF"[..],
        b"\xC0\xAF",
        b"\xC3\x28",
        b"\xE2\x82",
        b"\xED\xA0\x80",
        b"\xF5\x80\x80\x80",
        b"\\ud800",
        b"\\udc00",
        b"\\uD83D\\u0041",
    ] {
        let error = adapter.call_raw("mcp_aql_create", &named(bad))["error"].clone();
        assert_eq!(code(&error), "VALIDATION_INVALID_ENCODING", "{bad:?}");
        assert_eq!(error["message"], "Invalid character encoding in request");
        assert_eq!(error["details"]["byte_offset"], before, "{bad:?}");
    }
    for (good, read) in
        [("naïve 日本 😀".as_bytes(), "naïve 日本 😀"), (b"\\ud83d\\ude00", "😀"), (b"\\\\ud800", "\\ud800")]
    {
        let answer = adapter.call_raw("mcp_aql_create", &named(good));
        assert_eq!(answer["data"]["name"], read);
    }
}

/// REQ-ENC-05
#[test]
fn a_nul_is_refused_unless_the_parameter_takes_it() {
    let adapter = items();
    for (name, value, path) in [
        ("name", json!("a\0b"), "name"),
        ("tags", json!(["a\0b"]), "tags[0]"),
        ("attributes", json!({"deep": [{"x": "a\0b"}]}), "attributes.deep"),
        ("attributes", json!({"a\0b": 1}), "attributes"),
        ("parts", json!([{"label": "a\0b"}]), "parts[0].label"),
    ] {
        let error = adapter.refused("create_item", create(name, value));
        assert_eq!(
            (code(&error), &error["details"]["param_name"]),
            ("VALIDATION_INVALID_ENCODING", &json!(path))
        );
    }
    assert_eq!(adapter.accepted("create_item", create("blob", json!("a\0b")))["blob"], "a\0b");
}

/// REQ-ENC-06 REQ-ENC-08
#[test]
fn dates_are_iso_8601_and_say_whose_day_they_mean() {
    let adapter = items();
    for (name, good, bad) in [
        (
            "due_date",
            vec!["2026-02-04", "2024-02-29"],
            vec![
                "04/02/2026",
                "2026-02-30",
                "2026-2-4",
                "2026-02-04T10:30:00Z",
                "2026-W05-1",
                "20260204",
                "",
            ],
        ),
        (
            "due_at",
            vec!["2026-02-04T10:30:00Z", "2026-02-04T10:30:00+05:30", "2026-02-04T10:30:00.123Z"],
            vec![
                "2026-02-04 10:30",
                "2026-02-04T10:30:00",
                "2026-02-04",
                "2026-13-04T10:30:00Z",
                "1770200000",
                "2026-02-04T10:30:00Z[UTC]",
            ],
        ),
    ] {
        for text in good {
            assert_eq!(adapter.accepted("create_item", create(name, json!(text)))[name], text);
        }
        for text in bad {
            let error = adapter.refused("create_item", create(name, json!(text)));
            assert_eq!(code(&error), "VALIDATION_INVALID_FORMAT", "{name} {text}");
            assert!(error["message"].as_str().unwrap().contains("ISO 8601"), "{error}");
        }
    }
    for details in adapter.all_details() {
        for param in details["parameters"].as_array().unwrap().iter().filter(|p| p["format"] == "date") {
            assert!(param["description"].as_str().unwrap().contains("UTC"), "{param}");
        }
    }
    assert_eq!(adapter.param("create_item", "due_date")["format"], "date");
}

/// REQ-ENC-09
#[test]
fn safe_integers_are_exact_and_only_json_numbers_are_numbers() {
    let adapter = items();
    for number in ["9007199254740991", "-9007199254740991"] {
        let raw = format!(
            r#"{{"operation":"create_item","params":{{"name":"x","category":"product","size":{number}}}}}"#
        );
        let answer = adapter.call_raw("mcp_aql_create", raw.as_bytes());
        assert_eq!(answer["data"]["size"].to_string(), number);
    }
    for bad in ["NaN", "Infinity", "-Infinity", "0x10", "01", "1e999", "+1", ".5"] {
        let raw = format!(
            r#"{{"operation":"create_item","params":{{"name":"x","category":"product","size":{bad}}}}}"#
        );
        let error = adapter.call_raw("mcp_aql_create", raw.as_bytes())["error"].clone();
        assert_eq!(code(&error), "VALIDATION_INVALID_JSON", "{bad}");
    }
}

/// REQ-ENC-10 REQ-ENC-11
#[test]
fn numbers_beyond_doubles_travel_as_strings_that_say_so() {
    let adapter = items();
    for digits in ["12345678901234567890", "0.1000000000000000055511151231257827"] {
        let mut params = create("amount", json!(digits));
        params["amount_type"] = json!("bigint");
        let seen = adapter.accepted("create_item", params);
        assert_eq!((&seen["amount"], &seen["amount_type"]), (&json!(digits), &json!("bigint")));
    }
    let amount = adapter.param("create_item", "amount");
    assert_eq!(amount["type"], "string");
    let description = amount["description"].as_str().unwrap();
    assert!(description.contains("string") && description.contains("amount_type"), "{description}");
    assert_eq!(code(&adapter.refused("create_item", create("amount", json!(12)))), "VALIDATION_INVALID_TYPE");
    assert_eq!(
        code(&adapter.refused("create_item", create("amount", json!("1e5")))),
        "VALIDATION_PATTERN_MISMATCH"
    );
}

/// REQ-ENC-12 REQ-ENC-13
#[test]
fn binary_is_padded_standard_base64_with_its_metadata() {
    let adapter = items();
    let mut params = create("file_content", json!("SGVsbG8gV29ybGQ="));
    params["file_encoding"] = json!("base64");
    params["file_mime_type"] = json!("text/plain");
    let seen = adapter.accepted("create_item", params.clone());
    for key in ["file_content", "file_encoding", "file_mime_type"] {
        assert_eq!(seen[key], params[key]);
    }
    for bad in ["SGVsbG8gV29ybGQ", "-_-_", "SGVs bG8=", "SGVsbG8=\n", "====", "S"] {
        let error = adapter.refused("create_item", create("file_content", json!(bad)));
        assert_eq!(code(&error), "VALIDATION_INVALID_FORMAT", "{bad}");
    }
    assert_eq!(
        code(&adapter.refused("create_item", create("file_encoding", json!("hex")))),
        "VALIDATION_INVALID_ENUM"
    );
    assert_eq!(
        code(&adapter.refused("create_item", create("file_url", json!("https://x/")))),
        "VALIDATION_UNKNOWN_PARAM"
    );
}

/// REQ-ENC-14 REQ-ENC-15
#[test]
fn null_means_what_the_description_says() {
    let adapter = items();
    let seen = adapter.accepted("create_item", create("note", Value::Null));
    assert!(seen.as_object().unwrap().contains_key("note") && seen["note"].is_null(), "null is kept as null");
    assert!(
        adapter.accepted("create_item", json!({"name": "x", "category": "product"})).get("note").is_none()
    );
    assert!(adapter.param("create_item", "note")["description"].as_str().unwrap().contains("null"));
    for operation in ["update_item", "update_settings"] {
        let input = adapter.param(operation, "input");
        let description = input["description"].as_str().unwrap();
        assert!(
            description.contains("null removes") && description.contains("absent fields stay"),
            "{description}"
        );
    }
    let fields =
        adapter.introspect(json!({"query": "types", "name": "ItemChanges"}))["type"]["fields"].clone();
    let metadata = fields.as_array().unwrap().iter().find(|f| f["name"] == "metadata").unwrap();
    assert!(metadata["description"].as_str().unwrap().contains("null"), "{metadata}");
}

/// REQ-VALID-20
#[test]
fn one_key_twice_is_no_request() {
    let adapter = items();
    for raw in [
        r#"{"operation":"list_items","operation":"get_item"}"#,
        r#"{"operation":"get_item","params":{"item_id":"1","item_id":"2"}}"#,
        r#"{"operation":"list_items"} {}"#,
        r#"{"operation":"list_items""#,
        "",
    ] {
        assert_eq!(
            code(&adapter.call_raw("mcp_aql_read", raw.as_bytes())["error"]),
            "VALIDATION_INVALID_JSON",
            "{raw}"
        );
    }
    assert_eq!(code(&adapter.call_raw("mcp_aql_read", b"[]")["error"]), "VALIDATION_INVALID_TYPE");
}
