//! Several files and a configuration that is there already.

use super::*;

fn names(machine: &Machine) -> Vec<String> {
    machine.load().upstreams.into_iter().map(|upstream| upstream.name).collect()
}

#[test]
fn two_clients_are_taken_over_in_one_go() {
    let machine = machine()
        .file(
            DESKTOP,
            r#"{"mcpServers": {"git": {"command": "g"}, "fetch": {"command": "f", "args": ["1"]}}}"#,
        )
        .file(
            "home/.cursor/mcp.json",
            r#"{"mcpServers": {"Git": {"command": "g"}, "fetch": {"command": "f", "args": ["2"]}}}"#,
        );
    let (plan, done) = machine.run();
    assert_eq!(names(&machine), ["git", "fetch", "fetch_2"]);
    assert_eq!(plan.servers[0].from.len(), 2);
    assert!(
        plan.notes.iter().any(|note| note.contains("differs from another") && note.ends_with("'fetch_2'"))
    );
    assert_eq!((done.clients.len(), machine.backups().len()), (2, 2));
    for name in [DESKTOP, "home/.cursor/mcp.json"] {
        assert_eq!(machine.json(name)["mcpServers"], serde_json::json!({"aqueduct": machine.entry()}));
    }
    let undone = machine.undo(false);
    assert_eq!((undone.restored.len(), undone.refused.len()), (2, 0));
    assert!(machine.text(DESKTOP).contains("\"fetch\"") && machine.backups().is_empty());
}

#[test]
fn what_is_configured_stays_byte_for_byte() {
    let written = "# mine\n[server]\nmode = 'single'   # keep\n\n[upstream.git]\ncommand = 'g'\n\n[upstream.fetch]\ncommand = 'other'";
    let machine = machine()
        .file(CONFIG, written)
        .file(DESKTOP, r#"{"mcpServers": {"my git": {"command": "g"}, "fetch": {"command": "f"}}}"#);
    let (plan, _) = machine.run();
    assert!(plan.config_exists);
    let text = machine.text(CONFIG);
    assert!(text.starts_with(written), "{text}");
    assert_eq!(names(&machine), ["git", "fetch", "fetch_2"]);
    assert_eq!(plan.servers.iter().map(|server| server.known).collect::<Vec<_>>(), [true, false]);
    assert_eq!(machine.load().server.mode.as_str(), "single");
}

#[test]
fn a_configuration_that_cannot_be_added_to_is_left_alone() {
    for (written, message) in [
        ("[server]\nmode = ", "is not valid TOML"),
        ("[sever]\n", "'sever' is not a known key"),
        ("{\"mcpServers\": {}}", "is JSON, and servers are added to TOML only"),
        ("upstream = { x = { command = 'other' } }\n", "without changing it"),
    ] {
        let machine =
            machine().file(CONFIG, written).file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
        let error = plan(&machine.request).unwrap_err();
        assert!(error.message().contains(message) && !error.help().is_empty(), "{written}: {error}");
        assert_eq!(machine.text(CONFIG), written);
    }
}

#[test]
fn names_of_every_kind_find_a_place() {
    let long = "x".repeat(200);
    let machine = machine().file(
        DESKTOP,
        &format!(
            r#"{{"mcpServers": {{"日本語": {{"command": "a"}}, "中文": {{"command": "b"}}, "@org/pkg": {{"command": "c"}},
                "{long}": {{"command": "d"}}, "{long}y": {{"command": "e"}}, "7z": {{"command": "f"}},
                "dup": {{"command": "g"}}, "dup": {{"command": "h"}}}}}}"#
        ),
    );
    machine.run();
    let x = "x".repeat(60);
    assert_eq!(
        names(&machine),
        ["server", "server_2", "org_pkg", &x, &format!("{x}_2"), "server_7z", "dup", "dup_2"]
    );
    assert_eq!(machine.json(DESKTOP)["mcpServers"], serde_json::json!({"aqueduct": machine.entry()}));
}

#[test]
fn one_that_is_on_somewhere_is_on() {
    let machine = machine()
        .file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c", "disabled": true}}}"#)
        .file("home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    machine.run();
    assert_eq!(names(&machine), ["a"]);
}
