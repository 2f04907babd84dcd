//! Failures: a registered code, a sentence from its template, details, and nothing of the inside.

use aql::{
    category::Category,
    define,
    error::{Code, Error, Origin},
    limits,
    policy::{Policy, Reason},
    registry::Registry,
    response::Answer,
};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, Kind, SESSION, code, items, no_leak_in, parsed, well_formed},
    fixture,
};

/// REQ-ERR-01 LREQ-ERR-01 LREQ-ERR-02 REQ-RESP-03
#[test]
fn codes_are_registered_once_and_spelled_alike() {
    let prefixes =
        ["VALIDATION_", "NOT_FOUND_", "PERMISSION_", "CONFLICT_", "RATE_LIMIT_", "TOKEN_", "INTERNAL_"];
    let exceptions = ["CONFIRMATION_REQUIRED", "INTROSPECTION_ERROR"];
    let mut texts: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    for text in &texts {
        assert!(text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'), "{text}");
        assert!(exceptions.contains(text) || prefixes.iter().any(|p| text.starts_with(p)), "{text}");
    }
    let count = texts.len();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), count);
    for required in [
        "VALIDATION_MISSING_PARAM",
        "VALIDATION_INVALID_TYPE",
        "VALIDATION_UNKNOWN_PARAM",
        "NOT_FOUND_OPERATION",
        "NOT_FOUND_RESOURCE",
        "PERMISSION_DENIED",
        "RATE_LIMIT_EXCEEDED",
        "INTERNAL_ERROR",
    ] {
        let code = Code::ALL.iter().find(|code| code.as_str() == required).unwrap();
        assert_eq!(code.origin(), Origin::Specification);
    }
    for code in Code::ALL {
        let answer = parsed(&Answer::failure(Error::new(*code, "A sentence"), Some(SESSION)));
        well_formed(&answer, Kind::Operation);
        assert!(answer["error"].is_object() && answer["error"]["code"].is_string());
    }
}

/// REQ-RESP-01 REQ-RESP-03 REQ-RESP-05 REQ-RESP-06 REQ-RESP-08
#[test]
fn a_failure_has_an_error_and_no_data_with_details_or_without() {
    let bare = parsed(&Answer::bare_failure(&Error::internal("the registry is gone")));
    assert_eq!(
        bare,
        json!({"success": false, "error": {"code": "INTERNAL_ERROR", "message": "Internal error: the registry is gone"}})
    );
    well_formed(&bare, Kind::Operation);
    let detailed = items().refused("get_item", json!({}));
    assert!(detailed["details"].is_object());
    assert_eq!(detailed["details"]["session_id"], SESSION);
}

/// LREQ-ERR-03 LREQ-CONFORM-04 REQ-ERR-07 REQ-ERR-02 REQ-ERR-03
#[test]
fn messages_follow_their_templates_and_show_nothing_of_the_inside() {
    let render = |template: &str, error: &Error| {
        error.details.iter().fold(template.to_owned(), |text, (key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.replace(&format!("{{{key}}}"), &value)
        })
    };
    for (error, template) in [
        (
            Error::missing_param("get_repo", "owner", "string", "the owner"),
            "Missing required parameter '{param_name}'",
        ),
        (Error::missing_param("", "operation", "string", ""), "Missing required parameter '{param_name}'"),
        (
            Error::invalid_type("per_page", "integer", &json!("fifty")),
            "Parameter '{param_name}' expected '{expected_type}', got '{actual_type}'",
        ),
        (Error::invalid_encoding(Some(3)), "Invalid character encoding in request"),
        (Error::invalid_encoding(None), "Invalid character encoding in request"),
        (
            Error::too_large(&limits::REQUEST_SIZE, 1, 2),
            "Payload exceeds {limit_type} limit of {limit_value}",
        ),
        (Error::not_found_operation("get_users"), "Unknown operation: '{operation}'"),
        (Error::not_found_resource("item", "item_999"), "Item '{resource_id}' not found"),
        (
            Error::permission_denied("delete_item", &Reason::NotAllowed.to_string()),
            "Permission denied: {reason}",
        ),
        (Error::internal("the upstream did not answer"), "Internal error: "),
    ] {
        assert!(error.message.starts_with(&render(template, &error)), "{}", error.message);
        no_leak_in(&error.message);
        let answer = parsed(&Answer::failure(error, Some(SESSION)));
        well_formed(&answer, Kind::Operation);
    }
}

/// LREQ-CONFORM-04 REQ-ERR-07
#[test]
fn an_authors_words_do_not_make_a_message_look_like_a_leak() {
    for description in [
        "At least one word",
        "What to do",
        "The format used",
        "Such as /src/main.rs",
        "A std::string",
        "See app.js:12",
    ] {
        let operation = define::Operation::new(Category::Read, "get_thing", "Get a thing")
            .param(define::Param::new("thing_id", "string", description).required());
        let adapter = Adapter::of(Registry::builder("x").operation(operation).build().unwrap().into());
        let error = adapter.refused("get_thing", json!({}));
        assert_eq!(error["message"], "Missing required parameter 'thing_id'. Expected: string");
        assert_eq!(adapter.param("get_thing", "thing_id")["description"], description);
    }
    for description in ["Which thing", "A date such as 2026-02-04", "Data only"] {
        let error = Error::missing_param("", "x", "string", description);
        assert!(error.message.ends_with(&format!("({description})")), "{}", error.message);
    }
}

/// LREQ-CONFORM-04 REQ-ERR-07
#[test]
fn start_up_messages_show_nothing_of_the_inside_either() {
    let mut messages = vec![
        "banana".parse::<aql::profile::Mode>().unwrap_err().to_string(),
        "QUERY".parse::<Category>().unwrap_err().to_string(),
        "harmless".parse::<aql::danger::DangerLevel>().unwrap_err().to_string(),
        "Git-".parse::<aql::name::ToolPrefix>().unwrap_err().to_string(),
        "Create".parse::<aql::name::OperationName>().unwrap_err().to_string(),
        aql::profile::Profile::new("p", vec![]).unwrap_err().to_string(),
        limits::NESTING_DEPTH.check(1).unwrap_err().to_string(),
        aql::schema::describe(&json!({"type": "string"})).unwrap_err().to_string(),
    ];
    let faulty = define::Operation::new(Category::Update, "update_thing", "")
        .param(define::Param { kind: None, ..define::Param::new("a", "", "") })
        .param(define::Param::new("b", "nosuch", ""))
        .param(define::Param::new("c", "string", "").pattern("("))
        .param(define::Param::new("d", "string", "").format("phone"))
        .param(define::Param::new("e", "object", "").fields_of("Nosuch"))
        .param(define::Param::new("F", "string", ""))
        .param(define::Param::new("g", "string", "").default_value(1))
        .returns("Nosuch", "");
    let problems = Registry::builder("x").operation(faulty).build().unwrap_err();
    assert!(problems.0.len() >= 8, "everything is told in one go: {problems}");
    messages.extend(problems.0.iter().map(ToString::to_string));
    for message in messages {
        no_leak_in(&message);
        assert!(
            message.contains('\'')
                || message.contains("is missing")
                || message.contains("is empty")
                || message.contains("an object"),
            "{message}"
        );
    }
}

/// REQ-ERR-09 LREQ-CONFORM-05
#[test]
fn messages_name_the_parameter_and_what_it_should_have_been() {
    let adapter = items();
    for (operation, params, parts) in [
        ("create_item", json!({"name": "x", "category": "gadget"}), vec!["'category'", "product", "service"]),
        (
            "create_item",
            json!({"name": "x", "category": "product", "priority": 0}),
            vec!["'priority'", "1", "10"],
        ),
        (
            "create_item",
            json!({"name": "x", "category": "product", "code": "9"}),
            vec!["'code'", "^[a-zA-Z]"],
        ),
        ("create_item", json!({"name": "", "category": "product"}), vec!["'name'", "1 to 100", "got 0"]),
        ("create_item", json!({"name": "x", "category": "product", "link": "x"}), vec!["'link'", "URI"]),
        ("introspect", json!({"query": "banana"}), vec!["'query'", "operations", "types"]),
        (
            "introspect",
            json!({"query": "operations", "fields": "most"}),
            vec!["'fields'", "minimal", "'most'"],
        ),
        (
            "introspect",
            json!({"query": "operations", "filter": {"category": "x"}}),
            vec!["'filter.category'", "READ"],
        ),
        ("introspect", json!({"query": "operations", "after": "x"}), vec!["'after'", "endCursor"]),
    ] {
        let error = adapter.refused(operation, params.clone());
        assert!(code(&error).starts_with("VALIDATION_"), "{error}");
        for part in parts {
            assert!(error["message"].as_str().unwrap().contains(part), "{params}: {error}");
        }
    }
}

/// REQ-ERR-10 LREQ-ERR-05
#[test]
fn a_sensitive_value_is_never_repeated() {
    let adapter = items();
    let create = |name: &str, value: Value| {
        let mut params = json!({"name": "x", "category": "product"});
        params[name] = value;
        ("create_item", params)
    };
    for (operation, params) in [
        create("api_key", json!(88_776_655)),
        create("api_key", json!(["88776655"])),
        create("api_key", json!("8877")),
        create("api_pins", json!([88_776_655])),
        create("api_pins", json!("88776655")),
        ("update_item", json!({"item_id": "1", "input": {"pin": 88_776_655}})),
        ("update_item", json!({"item_id": "1", "input": {"pin": "8877x"}})),
    ] {
        let error = adapter.refused(operation, params.clone());
        assert!(!error.to_string().contains("8877"), "{params}: {error}");
    }
    let error = adapter.refused("create_item", create("price", json!("8877")).1);
    assert_eq!(error["details"]["value"], "8877", "what is not sensitive is repeated");
}

/// REQ-INTRO-05
#[test]
fn what_the_rules_deny_is_neither_listed_nor_described() {
    let policy = Policy { deny: vec!["delete_*".to_owned()], ..Policy::default() };
    let adapter = Adapter::of(fixture::built(fixture::builder().policy(policy)));
    assert!(adapter.list().iter().all(|info| !info["name"].as_str().unwrap().starts_with("delete_")));
    let data = adapter.introspect(json!({"query": "operations", "name": "delete_item"}));
    assert_eq!(data, json!({"operation": null}));
    for tool in adapter.registry.tools() {
        assert!(!tool.description.contains("delete_item"), "{}", tool.description);
    }
}
