//! Clients' files as the configuration.

use super::*;

fn load_json(text: &str) -> Result<Checked, Error> {
    place().file("mcp.json", text).config("mcp.json").environment(&[("TOKEN", "t0ken")]).load()
}

#[test]
fn each_clients_servers_are_upstreams() {
    let servers = r#"{
        // the usual
        "GitHub": {"command": "npx", "args": ["-y", "x", 7], "env": {"A": "${env:TOKEN}", "B": "p$q", "N": null}},
        "docs": {"type": "http", "url": "https://docs.example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "surf": {"serverUrl": "https://surf.example.com/sse", "type": "sse", "disabled": false},
        "off": {"command": "c", "disabled": true},
        "zed": {"source": "custom", "command": {"path": "z", "args": ["-a"], "env": {"Z": "1"}}},
        "zed-off": {"command": "c", "enabled": false},
    }"#;
    for key in ["mcpServers", "servers", "context_servers"] {
        let checked = load_json(&format!("{{\"other\": [1], \"{key}\": {servers}}}")).unwrap();
        let names: Vec<_> = checked.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        assert_eq!(names, ["github", "docs", "surf", "zed"]);
        let Link::Command { args, env, .. } = &checked.upstreams[0].link else { panic!() };
        assert_eq!(args.iter().map(Secret::expose).collect::<Vec<_>>(), ["-y", "x", "7"]);
        assert_eq!(
            env.iter().map(|(n, v)| (n.as_str(), v.expose())).collect::<Vec<_>>(),
            [("A", "t0ken"), ("B", "p$q")]
        );
        let Link::Http { headers, .. } = &checked.upstreams[1].link else { panic!() };
        assert_eq!(headers[0].1.expose(), "Bearer t0ken");
        let Link::Command { program, args, .. } = &checked.upstreams[3].link else { panic!() };
        assert_eq!((program.to_str(), args.len()), (Some("z"), 1));
        assert_eq!(checked.server.mode.as_str(), "semantic");
        assert_eq!(checked.warnings.len(), 1);
        assert!(checked.warnings[0].starts_with("server 'surf': it is of the type 'sse'"));
    }
    let nested = load_json(r#"{"mcp": {"servers": {"a": {"command": "c"}}}}"#).unwrap();
    assert_eq!(nested.upstreams.len(), 1);
    assert!(load_json(r#"{"mcpServers": {}}"#).unwrap().upstreams.is_empty());
}

#[test]
fn a_workspace_is_the_directory_of_the_clients_own() {
    let text = r#"{"servers": {"a": {"command": "${workspaceFolder}/run", "args": ["${workspaceFolder}"]}}}"#;
    let place = place().file(".vscode/mcp.json", text).config(".vscode/mcp.json");
    let expected = place.directory.path().to_owned();
    let Link::Command { program, args, .. } = &place.load().unwrap().upstreams[0].link else { panic!() };
    assert_eq!(program, &expected.join("run"));
    assert_eq!(args[0].expose(), expected.to_str().unwrap());
}

#[test]
fn what_is_no_clients_file_is_told_at_its_place() {
    for (text, message) in [
        ("{", "mcp.json:1:1: the file is not valid JSON: "),
        ("[]", "mcp.json: the file is not a JSON object"),
        ("", "mcp.json: the file is not a JSON object"),
        ("null", "mcp.json: the file is not a JSON object"),
        ("{}", "mcp.json: the file has no 'mcpServers', 'servers' or 'context_servers'"),
        (r#"{"mcpServers": []}"#, "mcp.json:1:16: 'mcpServers' must be an object of servers by their names"),
        (r#"{"mcpServers": {"a": 1}}"#, "mcp.json:1:22: 'mcpServers.a' must be an object, but is a number"),
        (
            r#"{"mcpServers": {"a": {"command": []}}}"#,
            "mcp.json:1:34: 'mcpServers.a.command' must be a string, but is an array",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "c", "args": "x"}}}"#,
            "mcp.json:1:47: 'mcpServers.a.args' must be an array of strings, but is a string",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "c", "args": [{}]}}}"#,
            "mcp.json:1:48: 'mcpServers.a.args[0]' must be a string, but is an object",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "c", "env": {"K": {}}}}}"#,
            "mcp.json:1:52: 'mcpServers.a.env.K' must be a string, but is an object",
        ),
        (
            r#"{"mcpServers": {"a-b": {"command": "c"}, "a_b": {"command": "c"}}}"#,
            "mcp.json:1:42: upstreams 'a-b' and 'a_b' would both be called 'a_b'",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "c"}, "a": {"command": "c"}}}"#,
            "mcp.json:1:40: 'mcpServers' has 'a' twice",
        ),
        (r#"{"mcpServers": {"a": {"url": "ws://x"}}}"#, "mcp.json:1:30: 'mcpServers.a.url' must begin with"),
        (
            r#"{"mcpServers": {"a": {"command": "c", "url": "http://x"}}}"#,
            "mcp.json:1:46: upstream 'a' has both 'command' and 'url'",
        ),
    ] {
        let error = load_json(text).unwrap_err();
        assert!(error.to_string().starts_with(message), "{text}\n{error}");
    }
}

/// Zed keeps the settings of its extensions among the servers.
#[test]
fn what_only_the_client_can_run_is_passed_over_with_a_note() {
    for own in [
        r#"{"source": "extension", "settings": {"token": "hunter2"}}"#,
        r#"{"command": {"args": ["hunter2"]}}"#,
        r#"{"env": {"K": "hunter2"}}"#,
        "{}",
    ] {
        let text = format!(r#"{{"context_servers": {{"ext\u001b": {own}, "a": {{"command": "c"}}}}}}"#);
        let checked = load_json(&text).unwrap();
        let names: Vec<_> = checked.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        assert_eq!(names, ["a"], "{own}");
        let note =
            r"'context_servers.ext\u{1b}' has neither 'command' nor 'url', so it stays with the client";
        assert_eq!(checked.warnings, [note], "{own}");
    }
}

/// Who writes JSON is not helped by TOML.
#[test]
fn help_for_a_clients_file_speaks_its_language() {
    for (server, help) in [
        (r#"{"command": ""}"#, r#"'"command": "npx"'"#),
        (r#"{"command": "c", "args": ["\u0000"]}"#, ""),
        (r#"{"url": "http://u:p@x/"}"#, "'Authorization'"),
        (r#"{"command": "c", "headers": {"A": "b"}}"#, "remove 'headers'"),
    ] {
        let error = load_json(&format!(r#"{{"servers": {{"a": {server}}}}}"#)).unwrap_err();
        let said = format!("{} {}", error.message(), error.help().unwrap_or_default());
        assert!(said.contains("'servers.a") && said.contains(help), "{said}");
        assert!(
            !said.contains(" = ") && !said.contains("[upstream") && !said.contains("bearer_env"),
            "{said}"
        );
    }
    let waits = load_json(r#"{"servers": {"a": {"command": "${NONE}"}, "b": {"command": "c"}}}"#).unwrap();
    let warning = waits.left_out[0].warning();
    assert!(warning.contains(r#"'"disabled": true'"#) && !warning.contains(" = "), "{warning}");
    assert_eq!(waits.upstreams[0].section, "'servers.b'");
    assert!(waits.upstreams[0].own_section.contains("aqueduct init"));
}

#[test]
fn hostile_files_end_in_an_error_that_shows_no_secret() {
    for text in [
        format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
        format!("{{\"mcpServers\": {}", "[".repeat(200_000)),
        "{\"mcpServers\": {\"a\": {\"command\": \"c\", \"env\": {\"K\": \"hunter2\"".to_owned(),
        "{\"mcpServers\": {\"a\": {\"command\": 1e999, \"env\": {\"K\": \"hunter2\"}, \"args\": {}}}}"
            .to_owned(),
        "{\"mcpServers\": {'a': {command: 'c'}}}".to_owned(),
        "{\"mcpServers\": {\"\u{0}\": {\"command\": \"\\u0000\"}}}".to_owned(),
        "// only a comment, hunter2".to_owned(),
        "\"hunter2\"".to_owned(),
        "x {\"mcpServers\": {\"a\": {\"command\": \"hunter2\"}}}".to_owned(),
        "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"c\", \"env\": [\"hunter2\"]}}}".to_owned(),
    ] {
        let error = load_json(&text).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        assert!(error.to_string().chars().count() < 700);
    }
}
