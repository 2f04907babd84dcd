//! Files that no client writes, and places that nobody can write to.

use super::*;

#[test]
fn a_named_file_that_holds_no_servers_is_an_error() {
    for (text, message) in [
        ("", "has no 'mcpServers', 'servers' or 'context_servers'"),
        ("{}", "has no 'mcpServers'"),
        ("no JSON", ": the file is not valid JSON: "),
        ("{\"mcpServers\": {", ": the file is not valid JSON: "),
        ("[]", "the file is not a JSON object"),
        ("{'mcpServers': {}}", ": the file is not valid JSON: "),
    ] {
        let machine = machine().file("work/x.json", text).from(&["work/x.json"]);
        let error = plan(&machine.request).unwrap_err();
        assert!(error.message().contains(message) && !error.help().is_empty(), "{text}: {error}");
        assert!(!error.message().to_lowercase().contains("at "), "{error}");
        // In a usual place it is passed over.
        let machine = super::machine().file(DESKTOP, text);
        let plan = machine.plan();
        assert!(plan.is_empty() && plan.servers.is_empty());
        assert_eq!(plan.notes.is_empty(), message.starts_with("has no"), "{text}");
    }
    let machine = machine().from(&["work/none.json"]);
    assert!(plan(&machine.request).unwrap_err().message().ends_with("cannot be read: it does not exist"));
    let machine = super::machine().from(&["work"]);
    assert!(plan(&machine.request).unwrap_err().message().ends_with("cannot be read: it is a directory"));
}

#[test]
fn what_is_no_server_stays_with_the_client() {
    let text = r#"{"mcpServers": {
        "no-command": {"env": {"K": "hunter2"}},
        "number": 7,
        "null": null,
        "array": ["c"],
        "args": {"command": "c", "args": "hunter2"},
        "env": {"command": "c", "env": ["hunter2"]},
        "ws": {"url": "ws://hunter2/"},
        "header": {"url": "https://x/", "headers": {"a b": "hunter2"}},
        "empty": {"command": ""},
        "both": {"command": "c", "url": "https://x/"},
        "nul": {"command": "c", "args": ["\u0000"]},
        "good": {"command": "c"}
    }}"#;
    let machine = machine().file(DESKTOP, text);
    let (plan, _) = machine.run();
    assert_eq!(plan.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(plan.notes.len(), 11, "{:#?}", plan.notes);
    assert!(
        plan.notes.iter().all(|note| note.contains("stays with the client") && !note.contains("hunter2"))
    );
    let servers = &machine.json(DESKTOP)["mcpServers"];
    assert_eq!(servers.as_object().unwrap().len(), 12);
    assert_eq!((&servers["number"], &servers["aqueduct"]), (&serde_json::json!(7), &machine.entry()));
    assert_eq!(machine.load().upstreams.len(), 1);
}

/// The one that cannot be taken over stays, whichever comes first.
#[test]
fn a_name_may_stand_there_twice() {
    for text in [
        r#"{"mcpServers": {"a": {"x": 1}, "\u0061": {"command": "c"}}}"#,
        r#"{"mcpServers": {"a": {"command": "c"}, "a": {"x": 1}}}"#,
    ] {
        let machine = machine().file(DESKTOP, text);
        machine.run();
        let servers = &machine.json(DESKTOP)["mcpServers"];
        assert_eq!(servers, &serde_json::json!({"a": {"x": 1}, "aqueduct": machine.entry()}), "{text}");
    }
}

#[test]
fn servers_that_are_no_object_are_left_alone() {
    for text in ["{\"mcpServers\": []}", "{\"mcpServers\": null}", "{\"mcpServers\": \"x\"}"] {
        let machine = machine().file(DESKTOP, text).from(&[DESKTOP]);
        let plan = machine.plan();
        assert!(plan.is_empty() && plan.notes[0].contains("is not an object of servers"), "{text}");
    }
}

#[test]
fn deep_and_large_files_end_in_an_error() {
    let deep = format!("{{\"mcpServers\": {}", "{\"a\":".repeat(100_000));
    let machine = machine().file("work/x.json", &deep).from(&["work/x.json"]);
    assert!(plan(&machine.request).is_err());
    let file = fs::File::create(machine.path("work/x.json")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    assert!(plan(&machine.request).unwrap_err().message().ends_with("is larger than 64 MiB"));
    fs::write(machine.path("work/x.json"), b"\xff\xfe{").unwrap();
    assert!(plan(&machine.request).unwrap_err().message().ends_with("is not UTF-8 text"));
}

#[cfg(unix)]
#[test]
fn a_read_only_file_stops_everything() {
    use std::os::unix::fs::PermissionsExt as _;
    let text = r#"{"mcpServers": {"a": {"command": "c"}}}"#;
    let machine = machine().file(DESKTOP, text).file("home/.cursor/mcp.json", text);
    fs::set_permissions(machine.path("home/.cursor/mcp.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let error = apply(&machine.plan()).unwrap_err();
    assert!(error.message().ends_with("cannot be written: it is read-only"), "{error}");
    assert_eq!(machine.text(DESKTOP), text);
    assert!(machine.backups().is_empty() && !machine.path(CONFIG).exists());
}

/// `/proc` accepts no new files from anyone, which holds even where the tests run as root.
#[cfg(target_os = "linux")]
#[test]
fn places_that_cannot_be_written_to_change_nothing() {
    let text = r#"{"mcpServers": {"a": {"command": "c"}}}"#;
    let mut machine = machine().file(DESKTOP, text);
    machine.request.output = Some("/proc/self/aqueduct.toml".into());
    assert!(apply(&machine.plan()).is_err());
    machine.request.output = None;
    machine.request.data = Some("/proc/self".into());
    assert!(apply(&machine.plan()).is_err());
    assert_eq!(machine.text(DESKTOP), text);
    assert!(!machine.path(CONFIG).exists());
    machine.request.output = Some(machine.path("home"));
    machine.request.data = None;
    assert!(plan(&machine.request).unwrap_err().message().contains("it is a directory"));
}

#[test]
fn without_a_home_the_files_must_be_named() {
    let mut machine =
        machine().file("work/x.json", r#"{"mcpServers": {"a": {"command": "c"}}}"#).from(&["work/x.json"]);
    machine.request.environment = Environment::new([("A", "b")]).in_directory(machine.path("work"));
    assert!(plan(&machine.request).unwrap_err().help().contains("--output"));
    machine.request.output = Some("a.toml".into());
    assert!(plan(&machine.request).unwrap_err().help().contains("--data"));
    machine.request.data = Some("data".into());
    machine.run();
    assert!(machine.path("work/a.toml").exists());
}
