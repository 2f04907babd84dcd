use super::*;
use crate::harness::{Client, Era, data};

const STDIO: Era = Era::Initialize("2025-11-25");

fn create(client: &mut Client) -> Value {
    let name = format!("thing-{}", client.new_id());
    let params = json!({"entity_name": name, "entity_type": "item", "description": "x"});
    client.create("create_entity", params)
}

/// REQ-LOOP-07 REQ-LOOP-16 REQ-LOOP-18 REQ-LOOP-21
#[test]
fn an_executing_agent_changes_nothing_that_it_has_not_reported_or_is_paused_for() {
    let directory = data();
    let mut client = enforcing(directory.path()).stdio(STDIO);
    let operator = Operator::of(directory.path());
    assert_eq!(create(&mut client)["success"], true, "before any execution");
    start(&mut client, &operator, "a1");
    let refused = create(&mut client);
    assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
    assert_eq!(client.read("list_entities", json!({}))["success"], true, "looking is no action");
    step(&mut client, "a1", "calling create_entity for a thing");
    assert_eq!(create(&mut client)["success"], true);
    assert_eq!(operator.count("PROTOCOL_VIOLATION"), 0);
    for _ in 0..5 {
        step(&mut client, "a1", "listing the files");
    }
    assert_eq!(create(&mut client)["success"], true);
    let events = operator.events();
    let violation = events.iter().find(|event| event["event"] == "PROTOCOL_VIOLATION").unwrap();
    assert_eq!((&violation["agent"], &violation["operation"]), (&json!("a1"), &json!("create_entity")));

    let paused = step(&mut client, "a1", "git push origin main");
    assert_eq!(paused["continue"], false);
    assert_eq!(code(&create(&mut client)), "PERMISSION_DENIED");
    assert_eq!(step(&mut client, "a1", "listing the files")["continue"], false, "still");
    operator.answer(&operator.pending()[0], true);
    assert_eq!(create(&mut client)["success"], true, "a person has cleared it");
    client.execute("complete_execution", json!({"element_name": "a1"}));
    assert_eq!(create(&mut client)["success"], true);
}

/// REQ-NOTIF-03 REQ-NOTIF-08 REQ-NOTIF-09 LREQ-GATE-11
#[test]
fn a_gated_call_is_pending_until_another_principal_confirms_it() {
    let directory = data();
    let setup = enforcing(directory.path()).asking();
    let mut client = setup.stdio(STDIO);
    let operator = Operator::of(directory.path());
    start(&mut client, &operator, "a1");
    step(&mut client, "a1", "create an entity");
    let id = client.new_item("precious");
    let gated = client.delete("delete_entity", json!({"entity_id": id}));
    assert_eq!(code(&gated), "CONFIRMATION_REQUIRED", "{gated}");
    let told = step(&mut client, "a1", "listing the files");
    assert_eq!(told["continue"], false, "{told}");
    let pending = &told["notifications"][0];
    assert_eq!(
        (&pending["type"], &pending["metadata"]["operation"]),
        (&json!("permission_pending"), &json!("delete_entity"))
    );
    let approval = gated["error"]["details"]["approval_id"].as_str().unwrap().to_owned();
    let token = operator.token(&approval);
    let own = client
        .execute("confirm_operation", json!({"operation": "delete_entity", "confirmation_token": token}));
    assert_eq!(code(&own), "PERMISSION_DENIED", "{own}");
    assert_eq!(operator.count("SELF_APPROVAL_DENIED"), 1);
    let guessed = client
        .execute("confirm_operation", json!({"operation": "delete_entity", "confirmation_token": "conf_x"}));
    assert_eq!(code(&guessed), "TOKEN_INVALID", "{guessed}");
    assert_eq!(step(&mut client, "a1", "listing the files")["continue"], false);
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["success"], true);
    let held = create(&mut client);
    assert_eq!(code(&held), "PERMISSION_DENIED", "{held}");
    assert_eq!(held["error"]["details"]["approval_id"], gated["error"]["details"]["approval_id"]);

    // The same store, served to somebody else.
    let sha = "2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90";
    let text = format!("{ENFORCING}\n[[auth.tokens]]\nprincipal = \"alice\"\nsha256 = \"{sha}\"\n");
    let server = Setup::new(directory.path()).config(&text).http();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_execute",
        "arguments": {"operation": "confirm_operation",
            "params": {"operation": "delete_entity", "confirmation_token": token}},
        "_meta": crate::harness::stateless_meta()}});
    let headers = [
        ("authorization", "Bearer alice"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "mcp_aql_execute"),
        ("mcp-param-operation", "confirm_operation"),
    ];
    let answer = server.post(&headers, body.to_string().as_bytes());
    assert!(answer.body.contains("confirmed"), "{} {}", answer.status, answer.body);
    let told = step(&mut client, "a1", "listing the files");
    assert_eq!(told["continue"], true, "{told}");
    assert!(!told.to_string().contains("permission_pending"));
    assert_eq!(client.delete("delete_entity", json!({"entity_id": id}))["success"], true);
}
