//! `aqueduct doctor`: every kind of trouble by a server that has it.

use std::{net::TcpListener, path::Path, process::Output};

use serde_json::{Value, json};

use crate::{
    harness::{Setup, aqueduct, command, data},
    scripts::{self, TOOLS, all_ended, beside, server, starts},
};

fn doctor(directory: &Path, config: &str, arguments: &[&str]) -> Output {
    std::fs::write(directory.join("aqueduct.toml"), config).unwrap();
    let mut command = command(&aqueduct(), directory);
    // A port that nobody else has.
    command.arg("doctor").args(arguments).env_remove("NOT_SET_ANYWHERE").env("AQUEDUCT_HTTP", "127.0.0.1:0");
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)))
}

fn codes(looked: &Value) -> Vec<&str> {
    let findings = looked["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn a_server_that_works_is_told_with_what_it_is() {
    let directory = data();
    let script = server(directory.path(), "places");
    let config = format!("[upstream.places]\ncommand = \"{}\"\n", script.display());
    let output = doctor(directory.path(), &config, &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let told = report(&output);
    assert_eq!((&told["ok"], &told["data"]["findings"]), (&json!(true), &json!([])));
    let works = &told["upstreams"][0]["works"];
    assert_eq!(works["server"], json!({"name": "script", "version": "3.1"}), "{told}");
    assert_eq!(
        (&works["era"], &works["version"], &works["tools"], &works["operations"]),
        (&json!("initialized"), &json!("2025-11-25"), &json!(2), &json!(2))
    );
    assert!(works["start_ms"].is_u64());
    let output = doctor(directory.path(), &config, &[]);
    for part in ["ok", "MCP 2025-11-25 (initialize)", "script 3.1", "2 tools → 2 operations"] {
        assert!(text(&output).contains(part), "no '{part}' in {}", text(&output));
    }
    assert_eq!(starts(&script).len(), 2);
    all_ended(&script);
    assert!(!directory.path().join("data-home").exists(), "looking makes nothing");
}

/// The token of one server is not the trouble of another.
#[test]
fn a_server_whose_variables_are_not_set_is_told_and_the_others_go_on() {
    let directory = data();
    let script = server(directory.path(), "places");
    let config = format!(
        "[upstream.needy]\ncommand = \"x\"\nenv = {{ A = \"${{NOT_SET_ANYWHERE}}\", B = \"${{NOR_THIS_ONE}}\" }}\n\
         [upstream.places]\ncommand = \"{}\"\n",
        script.display()
    );
    let output = doctor(directory.path(), &config, &["--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    let told = report(&output);
    assert_eq!(
        (&told["upstreams"][0]["name"], &told["upstreams"][0]["works"]["tools"]),
        (&json!("places"), &json!(2))
    );
    let needy = &told["upstreams"][1];
    assert_eq!((&needy["name"], codes(needy)), (&json!("needy"), vec!["variable_not_set"]), "{told}");
    assert_eq!(codes(&told["configuration"]), [""; 0], "it is told once");
    let message = needy["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("'NOT_SET_ANYWHERE' and 'NOR_THIS_ONE'"), "{message}");
    assert!(text(&doctor(directory.path(), &config, &["needy"])).contains("'export NOT_SET_ANYWHERE="));
    for arguments in [&["ops"][..], &["check"]] {
        let output = command(&aqueduct(), directory.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output));
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(warned.contains("'needy'") && warned.contains("'NOR_THIS_ONE'"), "{arguments:?}: {warned}");
        let goes_on = if arguments == ["ops"] { "places" } else { "operations: 17" };
        assert!(text(&output).contains(goes_on), "{arguments:?}: {}", text(&output));
    }
    all_ended(&script);
}

#[test]
fn every_failure_of_a_command_is_told_with_what_helps() {
    let directory = data();
    let not_runnable = directory.path().join("not-runnable");
    std::fs::write(&not_runnable, "").unwrap();
    let works = server(directory.path(), "places");
    let config = format!(
        r#"
        [upstream.works]
        command = "{works}"
        [upstream.no_npx]
        command = "npx"
        args = ["-y", "x"]
        [upstream.no_uvx]
        command = "uvx"
        [upstream.no_docker]
        command = "docker"
        [upstream.no_path]
        command = "/no/such/program"
        [upstream.not_runnable]
        command = "{not_runnable}"
        [upstream.no_directory]
        command = "/bin/sh"
        cwd = "no/such/directory"
        [upstream.dies]
        command = "/bin/sh"
        args = ["-c", "echo starting >&2; echo 'Error: API_KEY is not set' >&2; echo bye >&2; exit 3"]
        [upstream.dies_silently]
        command = "/bin/sh"
        args = ["-c", "exit 0"]
        [upstream.silent]
        command = "/bin/sh"
        args = ["-c", "echo 'waiting for a login' >&2; while read -r x; do :; done"]
        start_timeout_seconds = 1
        [upstream.talks]
        command = "/bin/sh"
        args = ["-c", "while read -r x; do echo 'Hello, I am no server'; done"]
        start_timeout_seconds = 1
        "#,
        works = works.display(),
        not_runnable = not_runnable.display()
    );
    std::fs::write(directory.path().join("aqueduct.toml"), &config).unwrap();
    // Nothing that is installed here counts, but what the scripts need.
    let bin = directory.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["sed", "tr", "cat"] {
        let found = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(program));
        let found = found.into_iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = command(&aqueduct(), directory.path());
        command.arg("doctor").args(arguments).env("PATH", &bin).env("AQUEDUCT_HTTP", "127.0.0.1:0");
        command.output().unwrap()
    };
    let output = run(&["--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    let told = report(&output);
    for (index, (name, code, message, mend)) in [
        ("works", "", "", ""),
        ("no_npx", "command_not_found", "'npx'", "Node.js"),
        ("no_uvx", "command_not_found", "'uvx'", "install uv"),
        ("no_docker", "command_not_found", "'docker'", "Docker"),
        ("no_path", "command_not_found", "/no/such/program", "path"),
        ("not_runnable", "command_not_runnable", "may not be run", "chmod"),
        ("no_directory", "no_directory", "working directory", "cwd"),
        ("dies", "ended", "exit code 3: Error: API_KEY is not set", "'env'"),
        ("dies_silently", "ended", "exit code 0", "by hand"),
        ("silent", "no_answer", "within 1 s; it said last: waiting for a login", "by hand"),
        ("talks", "no_answer", "within 1 s", "start_timeout_seconds"),
    ]
    .into_iter()
    .enumerate()
    {
        let seen = &told["upstreams"][index];
        assert_eq!(seen["name"], name, "{seen}");
        if code.is_empty() {
            assert_eq!(seen["works"]["tools"], 2, "{seen}");
            continue;
        }
        let finding = &seen["findings"][0];
        assert_eq!((&finding["code"], &finding["severity"]), (&json!(code), &json!("unreachable")), "{seen}");
        assert!(finding["message"].as_str().unwrap().contains(message), "{finding}");
        assert!(finding["mend"].as_str().unwrap().contains(mend), "{finding}");
    }
    // Only those asked for are started.
    let output = run(&["works", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(report(&output)["upstreams"].as_array().unwrap().len(), 1);
    let output = run(&["workz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("did you mean 'works'"), "{}", text(&output));
    let output = run(&["no_npx"]);
    assert!(
        text(&output).contains("FAILED") && text(&output).contains("→ install Node.js"),
        "{}",
        text(&output)
    );
}

#[test]
fn every_failure_of_an_address_is_told_with_what_helps() {
    let directory = data();
    let status = |line: &'static str| {
        scripts::http(match line {
            "401" => |_| "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "403" => |_| "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "404" => |_| "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "301" => {
                |_| "HTTP/1.1 301 Moved Permanently\r\nlocation: /x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            }
            "200" => {
                |_| "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\n<html"
            }
            _ => |first: &str| {
                if first.starts_with("GET") {
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                 event: endpoint\ndata: /messages?session=1\n\n"
                } else {
                    "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                }
            },
        })
    };
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut config = String::new();
    let cases = [
        ("credential", status("401"), "wants_credential", "bearer_env"),
        ("forbidden", status("403"), "forbidden", "right"),
        ("path", status("404"), "wrong_path", "/mcp"),
        ("moved", status("301"), "redirects", "url"),
        ("page", status("200"), "strange_answer", "MCP server"),
        ("older", status("sse"), "older_transport", "/sse"),
        ("nobody", free, "no_connection", "start the server"),
    ];
    for (name, address, ..) in &cases {
        config += &format!(
            "[upstream.{name}]\nurl = \"http://{address}/x?key=s3cret\"\nstart_timeout_seconds = 10\n"
        );
    }
    config += &format!("[upstream.token]\nurl = \"http://{free}/\"\nbearer_env = \"NOT_SET_ANYWHERE\"\n");
    let output = doctor(directory.path(), &config, &["--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert!(!text(&output).contains("s3cret"), "{}", text(&output));
    let told = report(&output);
    for (index, (name, _, code, mend)) in cases.into_iter().enumerate() {
        let seen = &told["upstreams"][index];
        assert_eq!((&seen["name"], &seen["findings"][0]["code"]), (&json!(name), &json!(code)), "{seen}");
        assert!(seen["findings"][0]["mend"].as_str().unwrap().contains(mend), "{seen}");
    }
    let token = &told["upstreams"][7]["findings"][0];
    assert_eq!(token["code"], "no_token", "{token}");
    assert!(token["message"].as_str().unwrap().contains("NOT_SET_ANYWHERE"), "{token}");
}

#[test]
fn what_changed_what_is_left_out_and_what_is_not_sure_is_told() {
    let directory = data();
    let script = server(directory.path(), "places");
    let config = format!("[upstream.places]\ncommand = \"{}\"\n", script.display());
    std::fs::write(directory.path().join("aqueduct.toml"), &config).unwrap();
    let learned = command(&aqueduct(), directory.path()).args(["ops", "--json"]).output().unwrap();
    assert!(text(&learned).contains("places_get_place"), "{}", text(&learned));
    let more = r#", {"name": "frobnicate", "inputSchema": {"type": "object"}}, {"name": "broken", "inputSchema": 7}]"#;
    let changed = TOOLS.replace("where it runs", "all your money").replace("\n]", more);
    std::fs::write(beside(&script, "tools"), changed).unwrap();
    let output = doctor(directory.path(), &config, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let told = report(&output);
    let seen = &told["upstreams"][0];
    let codes = codes(seen);
    for code in ["definitions_changed", "tools_skipped", "needs_review"] {
        assert!(codes.contains(&code), "no {code} in {seen}");
    }
    let held = &seen["findings"][0];
    assert!(held["message"].as_str().unwrap().contains("get_place (description)"), "{held}");
    assert!(held["mend"].as_str().unwrap().contains("--accept"), "{held}");
    let denied = format!("{config}deny = [\"*\"]\n");
    let output = doctor(directory.path(), &denied, &["--json"]);
    assert!(text(&output).contains("all_left_out"), "{}", text(&output));
}

#[test]
fn a_wrong_configuration_is_told_as_such() {
    let directory = data();
    let config = "[upstream.x]\ncommand = \"x\"\nargs = [\"$\"]\n";
    let output = doctor(directory.path(), config, &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output).contains("'upstream.x.args[0]'") && text(&output).contains("help"),
        "{}",
        text(&output)
    );
    let output = doctor(directory.path(), config, &["--json"]);
    assert_eq!(output.status.code(), Some(3));
    let finding = report(&output)["configuration"]["findings"][0].clone();
    assert!(finding["message"].as_str().unwrap().contains("'upstream.x.args[0]'"), "{finding}");
    assert!(finding["mend"].as_str().unwrap().contains("write '$$'"), "{finding}");
}

#[test]
fn the_data_directory_and_the_address_are_looked_at() {
    let directory = data();
    std::fs::write(directory.path().join("file"), "").unwrap();
    let output = doctor(directory.path(), "[store]\ndata = \"file/below\"\n", &["--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert_eq!(codes(&report(&output)["data"]), ["data_directory"]);
    let at = |address: String| {
        let mut command = command(&aqueduct(), directory.path());
        std::fs::write(directory.path().join("aqueduct.toml"), "").unwrap();
        command.args(["doctor", "--json"]).env("AQUEDUCT_HTTP", address).output().unwrap()
    };
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let output = at(occupied.local_addr().unwrap().to_string());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert_eq!(codes(&report(&output)["address"]), ["port_in_use"]);
    let server = Setup::new(directory.path()).http();
    let address = server.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let output = at(address);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(codes(&report(&output)["address"]), ["already_served"]);
}

#[test]
fn exit_codes_are_documented() {
    let directory = data();
    let output = command(&aqueduct(), directory.path()).args(["doctor", "--help"]).output().unwrap();
    let told = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["Exit codes", "0 all is well", "1 something", "3 wrong configuration", "4 a server"] {
        assert!(told.contains(part), "no '{part}' in {told}");
    }
}

#[test]
fn an_adapter_file_that_no_longer_fits_is_told() {
    let directory = data();
    let script = server(directory.path(), "places");
    let plain = format!("[upstream.places]\ncommand = \"{}\"\n", script.display());
    std::fs::write(directory.path().join("aqueduct.toml"), &plain).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(&aqueduct(), directory.path());
        let output = command.args(arguments).current_dir(directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output));
    };
    run(&["discover", "places"]);
    run(&["adapt", "places.bundle.json"]);
    let adapted = format!("{plain}adapter = \"places-adapter.md\"\n");
    std::fs::write(directory.path().join("aqueduct.toml"), &adapted).unwrap();
    let only_one =
        r#"[{"name": "get_place", "description": "Gets where it runs", "inputSchema": {"type": "object"}}]"#;
    let codes_of = |output: &Output| {
        let told = report(output)["upstreams"][0].clone();
        codes(&told).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let output = doctor(directory.path(), &adapted, &["--json"]);
    assert!(!codes_of(&output).contains(&"adapter_mismatch".to_owned()), "{}", text(&output));
    std::fs::write(beside(&script, "tools"), only_one).unwrap();
    run(&["ops"]);
    let output = doctor(directory.path(), &adapted, &["--json"]);
    assert!(codes_of(&output).contains(&"adapter_mismatch".to_owned()), "{}", text(&output));
    assert!(text(&output).contains("die_now"), "{}", text(&output));
}
