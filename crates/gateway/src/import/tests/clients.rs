//! Each client's own file, in its own place and dialect.

use super::*;

/// Name of the upstream, and what it runs or where it is.
fn links(machine: &Machine) -> Vec<(String, String)> {
    let upstreams = machine.load().upstreams;
    upstreams.into_iter().map(|upstream| (upstream.name, upstream.link.shown())).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, link)| ((*name).to_owned(), (*link).to_owned())).collect()
}

const PLAIN: &str = r#"{"mcpServers": {"one": {"command": "run-one"}}}"#;

#[test]
fn every_usual_place_is_looked_in() {
    for (name, text) in [
        (DESKTOP, PLAIN),
        ("home/Library/Application Support/Claude/claude_desktop_config.json", PLAIN),
        ("appdata/Claude/claude_desktop_config.json", PLAIN),
        ("home/.claude.json", PLAIN),
        ("work/.mcp.json", PLAIN),
        ("home/.cursor/mcp.json", PLAIN),
        ("work/.cursor/mcp.json", PLAIN),
        ("home/.codeium/windsurf/mcp_config.json", PLAIN),
        ("work/.vscode/mcp.json", r#"{"servers": {"one": {"command": "run-one"}}}"#),
        ("home/.config/Code/User/mcp.json", r#"{"servers": {"one": {"command": "run-one"}}}"#),
        ("home/.config/Code/User/settings.json", r#"{"mcp": {"servers": {"one": {"command": "run-one"}}}}"#),
        (
            "home/Library/Application Support/Code/User/mcp.json",
            r#"{"servers": {"one": {"command": "run-one"}}}"#,
        ),
        ("appdata/Code/User/mcp.json", r#"{"servers": {"one": {"command": "run-one"}}}"#),
        ("home/.config/zed/settings.json", r#"{"context_servers": {"one": {"command": "run-one"}}}"#),
        ("appdata/Zed/settings.json", r#"{"context_servers": {"one": {"command": "run-one"}}}"#),
    ] {
        let machine = machine().file(name, text);
        let (plan, _) = machine.run();
        assert_eq!(plan.clients.len(), 1, "{name}");
        assert_eq!(plan.clients[0].path, machine.path(name));
        assert_eq!(links(&machine), pairs(&[("one", "run-one")]), "{name}");
        let json = machine.json(name);
        let entry = ["/mcpServers", "/servers", "/context_servers", "/mcp/servers"]
            .iter()
            .find_map(|way| json.pointer(&format!("{way}/aqueduct")))
            .unwrap();
        assert_eq!(entry["args"], machine.entry()["args"], "{name}");
    }
}

#[test]
fn editors_other_settings_are_not_taken_for_servers() {
    let text = r#"{"servers": {"one": {"command": "x"}}, "mcpServers": {"two": {"command": "x"}}}"#;
    let machine = machine()
        .file("home/.config/Code/User/settings.json", text)
        .file("home/.config/zed/settings.json", text);
    let plan = machine.plan();
    assert!(plan.is_empty() && plan.servers.is_empty() && plan.looked.len() > 10);
}

#[test]
fn claude_code_has_servers_for_each_project_too() {
    let machine = machine();
    let project = machine.path("work/shop").display().to_string();
    let text = format!(
        r#"{{
  "numStartups": 41,
  "mcpServers": {{
    "linear": {{"type": "sse", "url": "https://mcp.linear.app/sse"}},
    "sentry": {{"type": "http", "url": "https://mcp.sentry.dev/mcp", "headers": {{"Authorization": "Bearer ${{TOKEN}}"}}}}
  }},
  "projects": {{
    "{project}": {{
      "allowedTools": [],
      "mcpServers": {{"db": {{"type": "stdio", "command": "./bin/db", "args": [], "env": {{"URL": "${{DB_URL:-x}}"}}}}}},
      "history": [{{"display": "{{\"mcpServers\": {{}}}}"}}]
    }},
    "/other": {{"mcpServers": {{}}, "lastCost": 0.25}}
  }}
}}"#
    );
    let machine = machine.file("home/.claude.json", &text);
    let (plan, _) = machine.run();
    assert_eq!(
        links(&machine),
        pairs(&[("sentry", "https://mcp.sentry.dev/mcp"), ("db", &format!("{project}/./bin/db")),])
    );
    let config::Link::Command { cwd, env, .. } = &machine.load().upstreams[1].link else { panic!() };
    assert_eq!((cwd.as_deref(), env[0].1.expose()), (Some(Path::new(&project)), "x"));
    assert!(plan.notes.iter().any(|note| note.contains("'db' belonged to the project")), "{:?}", plan.notes);
    let sse = "'mcpServers.linear' is of the type 'sse', which we do not speak, so it stays with the client";
    assert!(plan.notes.iter().any(|note| note.contains(sse)), "{:?}", plan.notes);
    let json = machine.json("home/.claude.json");
    let linear = serde_json::json!({"type": "sse", "url": "https://mcp.linear.app/sse"});
    assert_eq!(json["mcpServers"], serde_json::json!({"linear": linear, "aqueduct": machine.entry()}));
    assert_eq!(json["projects"][&project]["mcpServers"], serde_json::json!({"aqueduct": machine.entry()}));
    assert_eq!(json["projects"]["/other"], serde_json::json!({"mcpServers": {}, "lastCost": 0.25}));
    let old: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["projects"][&project]["history"], old["projects"][&project]["history"]);
    assert!(machine.text("home/.claude.json").starts_with("{\n  \"numStartups\": 41,\n"));
}

#[test]
fn vs_code_asks_for_inputs_which_become_variables() {
    let text = r#"{
	// What the team uses
	"inputs": [
		{ "type": "promptString", "id": "github-token", "description": "Token", "password": true },
	],
	"servers": {
		"github": {
			"type": "http",
			"url": "https://api.githubcopilot.com/mcp/",
			"headers": { "Authorization": "Bearer ${input:github-token}" },
		},
		"tests": {
			"type": "stdio",
			"command": "${workspaceFolder}/run",
			"args": ["--home", "${userHome}", "${env:TOKEN}"],
			"envFile": "${workspaceFolder}/.env",
		},
	},
}
"#;
    let machine = machine().file("work/.vscode/mcp.json", text);
    let (plan, _) = machine.run();
    let written = machine.text(CONFIG);
    assert!(written.contains("Authorization = \"Bearer ${github_token}\""), "{written}");
    for note in
        ["the input 'github-token'; set the environment variable 'github_token'", "'envFile' is not read"]
    {
        assert!(plan.notes.iter().any(|found| found.contains(note)), "{note}: {:?}", plan.notes);
    }
    let off = |name: &str, variable: &str| {
        let said = format!(
            "'{name}' will be off as long as the environment variable '{variable}' is not set; set it"
        );
        assert!(plan.notes.iter().any(|note| note.starts_with(&said)), "{said}: {:?}", plan.notes);
    };
    off("github", "github_token");
    off("tests", "TOKEN");
    assert_eq!(
        (&plan.servers[0].waits_for[..], &plan.servers[1].waits_for[..]),
        (&["github_token".to_owned()][..], &["TOKEN".to_owned()][..])
    );
    let upstreams = machine.load().upstreams;
    let config::Link::Http { headers, .. } = &upstreams[0].link else { panic!() };
    assert_eq!(headers[0].1.expose(), "Bearer value of github_token");
    let config::Link::Command { program, args, .. } = &upstreams[1].link else { panic!() };
    assert_eq!(program, &machine.path("work/run"));
    assert_eq!(args[2].expose(), "value of TOKEN");
    let after = machine.text("work/.vscode/mcp.json");
    let (head, tail) = after.split_once("\t\t\"aqueduct\": {").unwrap();
    assert_eq!(head, text.split_once("\t\t\"github\"").unwrap().0);
    assert!(tail.contains("\"type\": \"stdio\"") && tail.ends_with("]\n\t\t}\n\t},\n}\n"), "{after}");
}

/// Taken over, they would get the text of the variable, or the wrong folder.
#[test]
fn what_only_the_editor_can_fill_in_stays_with_it() {
    let text = r#"{"servers": {
        "here": {"command": "c", "args": ["${workspaceFolder}"]},
        "open": {"command": "c", "args": ["${file}"]},
        "plain": {"command": "c", "args": ["${env:TOKEN}"]}
    }}"#;
    for (name, stay) in
        [("home/.config/Code/User/mcp.json", &["here", "open"][..]), ("work/.vscode/mcp.json", &["open"])]
    {
        let machine = machine().file(name, text);
        let (plan, _) = machine.run();
        for server in ["here", "open", "plain"] {
            let stays = stay.contains(&server);
            assert_eq!(machine.json(name)["servers"].get(server).is_some(), stays, "{name} {server}");
            assert_eq!(machine.text(CONFIG).contains(&format!("[upstream.{server}]")), !stays, "{server}");
            let said = format!("'servers.{server}' uses '${{");
            assert_eq!(plan.notes.iter().any(|note| note.contains(&said)), stays, "{:?}", plan.notes);
        }
    }
    // Others have no such variables: this is one of the environment.
    let machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c", "args": ["${file}"]}}}"#);
    assert_eq!(machine.plan().servers[0].waits_for, ["file"]);
}

#[test]
fn zed_keeps_comments_and_two_shapes_of_commands() {
    let text = r#"// Zed settings
{
  "theme": "One Dark", // dark
  "context_servers": {
    /* the old way */
    "old": { "command": { "path": "old-server", "args": ["-v"], "env": { "A": "1" } }, "settings": {} },
    "new": { "source": "custom", "command": "new-server", "args": [], "enabled": false },
    "by-extension": { "source": "extension", "settings": { "token": "hunter2" } },
  },
  "vim_mode": true,
}
"#;
    let machine = machine().file("home/.config/zed/settings.json", text);
    let (plan, _) = machine.run();
    assert_eq!(links(&machine), pairs(&[("old", "old-server")]));
    assert!(machine.text(CONFIG).contains("[upstream.new]\ncommand = \"new-server\"\nenabled = false\n"));
    let note = "'context_servers.by-extension' has neither 'command' nor 'url', so it stays with the client";
    assert!(plan.notes.iter().any(|found| found.ends_with(note)), "{:?}", plan.notes);
    let after = machine.text("home/.config/zed/settings.json");
    for kept in [
        "// Zed settings\n{\n  \"theme\": \"One Dark\", // dark\n",
        "\"by-extension\": { \"source\"",
        "  \"vim_mode\": true,\n}\n",
    ] {
        assert!(after.contains(kept), "{kept}\n{after}");
    }
    assert!(after.contains("\"source\": \"custom\",\n") && !after.contains("old-server"), "{after}");
    machine.undo(false);
    assert_eq!(machine.text("home/.config/zed/settings.json"), text);
}

#[test]
fn windsurf_has_its_own_word_for_addresses_and_turns_servers_off() {
    let text = r#"{"mcpServers": {
        "remote": {"serverUrl": "https://mcp.example.com/mcp", "headers": {"API_KEY": "Bearer ${env:API_KEY}"}},
        "off": {"command": "c", "disabled": true}
    }}"#;
    let machine = machine().file("home/.codeium/windsurf/mcp_config.json", text);
    machine.run();
    assert_eq!(links(&machine), pairs(&[("remote", "https://mcp.example.com/mcp")]));
    assert!(machine.text(CONFIG).contains("API_KEY = \"Bearer ${API_KEY}\""));
    assert!(machine.text(CONFIG).contains("[upstream.off]\ncommand = \"c\"\nenabled = false"));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_stay() {
    let text = "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"C:\\\\x\\\\y.exe\", \"args\": [\"pa$$\"]}\r\n  }\r\n}\r\n";
    let machine = machine().file("appdata/Claude/claude_desktop_config.json", text);
    machine.run();
    let after = machine.text("appdata/Claude/claude_desktop_config.json");
    assert!(after.starts_with("\u{feff}{\r\n  \"mcpServers\": {\r\n    \"aqueduct\": {\r\n"), "{after:?}");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    assert!(machine.text(CONFIG).contains(r#"args = ["pa$$$$"]"#), "{}", machine.text(CONFIG));
    let config::Link::Command { args, .. } = &machine.load().upstreams[0].link else { panic!() };
    assert_eq!(args[0].expose(), "pa$$");
}

#[test]
fn aqueduct_itself_is_not_taken_over() {
    for own in [
        r#"{"command": "aqueduct", "args": ["serve", "--stdio"]}"#,
        r#"{"command": "/opt/bin/aqueduct"}"#,
        r#"{"command": "C:\\bin\\Aqueduct.exe"}"#,
        r#"{"type": "http", "url": "http://127.0.0.1:7171/mcp"}"#,
    ] {
        let alone = machine().file(DESKTOP, &format!(r#"{{"mcpServers": {{"mine": {own}}}}}"#));
        assert!(alone.plan().is_empty(), "{own}");
        let beside = machine()
            .file(DESKTOP, &format!(r#"{{"mcpServers": {{"mine": {own}, "a": {{"command": "c"}}}}}}"#));
        let (plan, _) = beside.run();
        assert_eq!(plan.servers.len(), 1);
        assert_eq!(beside.json(DESKTOP)["mcpServers"], serde_json::json!({"mine": beside.entry()}), "{own}");
    }
    let machine = machine();
    let own = serde_json::json!({"command": "/opt/aqueduct",
        "args": ["serve", "--stdio", "--config", machine.path(CONFIG), "--mode", "single"]});
    machine
        .put(DESKTOP, &serde_json::json!({"mcpServers": {"a": {"command": "c"}, "mine": own}}).to_string());
    machine.run();
    assert_eq!(
        machine.json(DESKTOP)["mcpServers"],
        serde_json::json!({"mine": own}),
        "it reads the same file"
    );
}
