//! Trust in an adapter file, from the command that changes it to the calls that it opens.

use super::*;

/// LREQ-TRUST-02 LREQ-TRUST-03 LREQ-TRUST-04 LREQ-TRUST-05 LREQ-TRUST-09 LREQ-DANGER-08
#[test]
fn an_adapter_file_is_served_as_far_as_it_is_trusted() {
    let (directory, server) = (data(), Server::start(tools()));
    std::fs::write(directory.path().join("list.json"), json!({"tools": tools()}).to_string()).unwrap();
    out(&run(&directory, &["discover", "sample", "--tools", "list.json"]));
    out(&run(&directory, &["adapt", "sample.bundle.json"]));
    let adapter = "sample-adapter.md";
    let config = format!("[upstream.sample]\nurl = \"{}\"\nadapter = \"{adapter}\"\n", server.url);
    let served = || Setup::new(directory.path()).config(&config).connect(WIRES[0]);

    assert_eq!(out(&run(&directory, &["trust", adapter])).trim(), "sample: generated");
    let mut client = served();
    assert_eq!(client.read("sample_get_item", json!({"item_id": "1"}))["success"], true);
    let denied = client.create("sample_create_item", json!({"title": "x"}));
    assert_eq!(denied["error"]["code"], "PERMISSION_DANGER_LEVEL_DENIED", "{denied}");
    assert_eq!(denied["error"]["details"]["minimum_trust_required"], "validated");
    let info = client.introspect(json!({"query": "adapter_info", "name": "sample"}))["data"].clone();
    assert_eq!((&info["name"], &info["version"]), (&json!("sample"), &json!("1.0.0")));
    assert_eq!(info["trust"]["level"], "generated");

    std::fs::write(directory.path().join("tests.json"), r#"{"tests_passed": 5, "tests_total": 5}"#).unwrap();
    let promote = |level: &str, more: &[&str]| {
        run(&directory, &[&["trust", adapter, "--promote", level, "--by", "ann"], more].concat())
    };
    for (refused, part) in [
        (promote("community_reviewed", &["--review", "a", "--review", "b"]), "no level is skipped"),
        (promote("validated", &[]), "takes a test report"),
        (promote("official", &[]), "none of untested, generated, validated"),
        (run(&directory, &["trust", adapter, "--demote", "untested", "--by", "ann"]), "--reason"),
    ] {
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        let told = err(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(part), "{told}");
    }
    let told = out(&promote("validated", &["--report", "tests.json"]));
    assert!(told.starts_with("sample: generated → validated"), "{told}");
    out(&run(&directory, &["check", adapter]));
    let answer = served().create("sample_create_item", json!({"title": "x"}));
    assert_eq!(answer["success"], true, "{answer}");

    out(&run(&directory, &["trust", adapter, "--demote", "untested", "--by", "ann", "--reason", "it fails"]));
    let json: Value = serde_json::from_str(&out(&run(&directory, &["trust", adapter, "--json"]))).unwrap();
    assert_eq!((&json["effective"], &json["trust"]["level"]), (&json!("untested"), &json!("untested")));
    assert!(json["trust"]["validated_at"].is_string(), "{json}");
    assert_eq!(json["trust"]["promotion_history"][1]["reason"], "it fails");
    let mut client = served();
    let denied = client.read("sample_get_item", json!({"item_id": "1"}));
    assert_eq!(denied["error"]["code"], "PERMISSION_TRUST_LEVEL_INSUFFICIENT", "{denied}");
    let found = client.introspect(json!({"query": "operations", "name": "sample_get_item"}));
    assert_eq!(found["data"]["operation"]["name"], "sample_get_item", "it can still be looked up");
}
