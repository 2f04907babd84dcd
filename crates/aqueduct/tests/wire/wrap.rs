//! `aqueduct wrap`: one server behind it, as if the client had started that itself.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::{
    harness::{
        Client, Era, HttpServer, PATIENCE, Process, Setup, StdioLink, WIRES, Wire, aqueduct, command, data,
        pause,
    },
    scripts::{TOOLS, all_ended, beside, server, starts},
};

const INITIALIZE: Era = Era::Initialize("2025-11-25");

fn wrap(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = command(&aqueduct(), directory);
    command.arg("wrap").args(arguments);
    command
}

fn over_stdio(directory: &Path, arguments: &[&str], era: Era) -> Client {
    Client::over_stdio(StdioLink::start(wrap(directory, arguments)), era)
}

fn over_http(directory: &Path, arguments: &[&str], era: Era) -> Client {
    let arguments: Vec<&str> = [&["--http", "127.0.0.1:0"], arguments].concat();
    let mut process = Process::start(wrap(directory, &arguments));
    let mut out = BufReader::new(process.child.stdout.take().unwrap());
    let mut welcome = String::new();
    while !welcome.contains("Ctrl-C") {
        assert!(out.read_line(&mut welcome).unwrap() > 0, "{welcome}{}", process.stderr.lock().unwrap());
    }
    let url = welcome.lines().find_map(|line| line.trim().strip_prefix("MCP ")).unwrap();
    let url = url.trim().to_owned();
    Client::http(Arc::new(HttpServer { process: Mutex::new(process), url, welcome }), era)
}

fn run(directory: &Path, arguments: &[&str]) -> (Output, String) {
    let output = wrap(directory, arguments).output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

fn names(client: &mut Client) -> Vec<String> {
    names_through(client, "mcp_aql_read")
}

fn names_through(client: &mut Client, tool: &str) -> Vec<String> {
    let answer = client.call(tool, json!({"operation": "introspect", "params": {"query": "operations"}}));
    let operations = answer["data"]["operations"].as_array().unwrap().clone();
    operations.iter().map(|operation| operation["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_server_is_listed_and_called_in_every_way_a_client_comes() {
    let directory = data();
    let script = server(directory.path(), "mcp-server-places");
    std::fs::create_dir(directory.path().join("elsewhere")).unwrap();
    for wire in WIRES {
        let arguments =
            ["--env", "WORD=a=$HOME", "--cwd", "elsewhere", "--", script.to_str().unwrap(), "an argument"];
        let mut client = match wire {
            Wire::Stdio(era) => over_stdio(directory.path(), &arguments, era),
            Wire::Http(era) => over_http(directory.path(), &arguments, era),
        };
        assert_eq!(client.tool_names().len(), 5, "{wire:?}");
        assert_eq!(names(&mut client), ["introspect", "get_place", "die_now"], "{wire:?}");
        let answer = client.read("get_place", json!({}));
        let elsewhere = directory.path().canonicalize().unwrap().join("elsewhere");
        assert_eq!(answer["data"]["directory"], elsewhere.to_str().unwrap(), "{wire:?} {answer}");
        // What the shell has left in it is no variable of ours.
        assert_eq!(answer["data"]["word"], "a=$HOME", "{wire:?}");
    }
}

/// What stands in `env` of a client's entry is meant for the server.
#[test]
fn the_server_gets_the_environment_that_its_client_set() {
    let directory = data();
    let script = server(directory.path(), "places");
    let mut command = wrap(directory.path(), &["--", script.to_str().unwrap()]);
    command.env("WORD", "set by the client");
    let mut client = Client::over_stdio(StdioLink::start(command), INITIALIZE);
    assert_eq!(client.read("get_place", json!({}))["data"]["word"], "set by the client");
    let mut command = wrap(directory.path(), &["--env", "WORD=given here", "--", script.to_str().unwrap()]);
    command.env("WORD", "set by the client");
    let mut client = Client::over_stdio(StdioLink::start(command), INITIALIZE);
    assert_eq!(client.read("get_place", json!({}))["data"]["word"], "given here");
}

#[test]
fn the_server_introduces_itself_and_its_resources_keep_their_addresses() {
    let directory = data();
    let script = server(directory.path(), "places");
    let mut link = StdioLink::start(wrap(directory.path(), &["--", script.to_str().unwrap()]));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    link.send(hello.to_string().as_bytes());
    let instructions = link.answer(&json!(1))["result"]["instructions"].as_str().unwrap().to_owned();
    for part in ["introspect", "'script' 3.1", "Say please."] {
        assert!(instructions.contains(part), "no '{part}' in {instructions}");
    }
    drop(link);
    let mut client = over_stdio(directory.path(), &["--", script.to_str().unwrap()], INITIALIZE);
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "note://one", "{listed}");
    for uri in ["note://one", "note://not-listed"] {
        let read = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(read["result"]["contents"][0]["text"], "read", "{read}");
    }
}

#[test]
fn a_server_that_dies_in_a_call_is_told_and_the_next_call_works() {
    let directory = data();
    let script = server(directory.path(), "places");
    let mut client =
        over_stdio(directory.path(), &["--mode", "single", "--", script.to_str().unwrap()], INITIALIZE);
    let call = |client: &mut Client, operation: &str| {
        client.call("mcp_aql", json!({"operation": operation, "params": {}}))
    };
    assert_eq!(call(&mut client, "get_place")["success"], true);
    let before = starts(&script).len();
    let died = call(&mut client, "die_now");
    assert_eq!(died["error"]["code"], "INTERNAL_UNAVAILABLE", "{died}");
    assert!(died.to_string().contains("told to die"), "{died}");
    assert_eq!(call(&mut client, "get_place")["success"], true);
    assert_eq!(starts(&script).len(), before + 1);
    // The client goes, and with it everything that was started for it.
    client.stdio().stdin = None;
    client.stdio().process.wait();
    all_ended(&script);
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    let directory = data();
    let script = server(directory.path(), "places");
    for signal in ["-TERM", "-KILL"] {
        let mut client = over_stdio(directory.path(), &["--", script.to_str().unwrap()], Era::Stateless);
        assert_eq!(client.read("get_place", json!({}))["success"], true);
        client.stdio().process.signal(signal);
        client.stdio().process.wait();
        all_ended(&script);
    }
}

#[test]
fn catalogues_are_kept_by_command_and_answer_without_the_server() {
    let directory = data();
    let script = server(directory.path(), "places");
    let path = script.to_str().unwrap();
    for argument in ["one", "two"] {
        let mut client = over_stdio(directory.path(), &["--", path, argument], INITIALIZE);
        assert_eq!(names(&mut client).len(), 3);
    }
    let kept = std::fs::read_dir(directory.path().join("data-home/aqueduct/upstreams")).unwrap();
    let kept: Vec<String> = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept.iter().all(|name| name.starts_with("places-")), "{kept:?}");
    std::fs::remove_file(&script).unwrap();
    let mut client = over_stdio(directory.path(), &["--", path, "one"], INITIALIZE);
    assert_eq!(names(&mut client).len(), 3);
    let failed = client.read("get_place", json!({}));
    assert_eq!(failed["error"]["code"], "INTERNAL_UNAVAILABLE", "{failed}");
}

#[test]
fn changed_definitions_are_held_back_until_they_are_accepted() {
    let directory = data();
    let script = server(directory.path(), "places");
    let path = script.to_str().unwrap();
    let once = |arguments: &[&str], wanted: &dyn Fn(&Value) -> bool| {
        let mut client = over_stdio(directory.path(), &[arguments, &["--", path]].concat(), INITIALIZE);
        // What has changed is seen once the server runs, which the first call has it do.
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let answer = client.read("get_place", json!({}));
            if wanted(&answer) {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "still {answer}");
            pause();
        }
    };
    let works = |answer: &Value| answer["success"] == true;
    once(&[], &works);
    std::fs::write(beside(&script, "tools"), TOOLS.replace("where it runs", "all your money")).unwrap();
    once(&[], &|answer| {
        let told = answer.to_string();
        answer["error"]["code"] == "PERMISSION_DENIED"
            && answer["error"]["details"]["changes"] == json!(["description"])
            && !told.contains("all your money")
            && told.contains("--accept-changes")
    });
    once(&["--accept-changes"], &works);
    let mut client = over_stdio(directory.path(), &["--", path], INITIALIZE);
    let described = client.introspect(json!({"query": "operations", "name": "get_place"}));
    assert!(described.to_string().contains("all your money"), "{described}");
}

#[test]
fn a_server_at_an_address_is_wrapped_too() {
    let directory = data();
    let other = Setup::new(directory.path()).arguments(&["--mode", "single"]).http();
    let arguments = ["--mode", "single", "--url", other.url.as_str(), "--header", "X-Word: secret"];
    let mut client = over_stdio(directory.path(), &arguments, INITIALIZE);
    assert_eq!(names_through(&mut client, "mcp_aql"), ["introspect", "mcp_aql"]);
    // Names that a call itself uses are given others.
    let inner = json!({"operation_param": "introspect", "params_param": {"query": "types"}});
    let answer = client.call("mcp_aql", json!({"operation": "mcp_aql", "params": inner}));
    assert_eq!(answer["data"]["success"], true, "{answer}");
}

/// REQ-COST-05
#[test]
fn a_client_that_knows_nothing_gets_there_in_three_calls() {
    let directory = data();
    let script = server(directory.path(), "items");
    let create = r#"[{"name": "createItem", "description": "Creates an item", "inputSchema": {"type": "object",
        "properties": {"itemTitle": {"type": "string"}, "note": {"type": "string"}}, "required": ["itemTitle"]}}]"#;
    std::fs::write(beside(&script, "tools"), create).unwrap();
    let mut client = over_stdio(directory.path(), &["--", script.to_str().unwrap()], INITIALIZE);
    let listed = client.introspect(json!({"query": "operations"}));
    let operations = listed["data"]["operations"].as_array().unwrap();
    let creates = operations.iter().find(|operation| operation["semantic_category"] == "CREATE").unwrap();
    let details = client.introspect(json!({"query": "operations", "name": creates["name"]}));
    let details = &details["data"]["operation"];
    let required = details["parameters"].as_array().unwrap().iter().filter(|param| param["required"] == true);
    let params: serde_json::Map<String, Value> =
        required.map(|param| (param["name"].as_str().unwrap().to_owned(), json!("a word"))).collect();
    assert_eq!(params.len(), 1, "{details}");
    let call = json!({"operation": details["name"], "params": params});
    let answer = client.call(details["mcpTool"].as_str().unwrap(), call);
    assert_eq!(answer["success"], true, "{answer}");
}

#[test]
fn a_file_counts_for_everything_but_its_servers_and_the_workspace() {
    let directory = data();
    let script = server(directory.path(), "places");
    let file = "[server]\nmode = \"single\"\n[safety]\ndeny = [\"die_*\"]\n\
                [upstream.other]\ncommand = \"nothing\"\nargs = [\"${NOT_SET_ANYWHERE}\"]\n";
    std::fs::write(directory.path().join("aqueduct.toml"), file).unwrap();
    let mut client = over_stdio(directory.path(), &["--", script.to_str().unwrap()], INITIALIZE);
    assert_eq!(client.tool_names(), ["mcp_aql"]);
    let answer =
        client.call("mcp_aql", json!({"operation": "introspect", "params": {"query": "operations"}}));
    assert!(answer.to_string().contains("get_place") && !answer.to_string().contains("die_now"), "{answer}");
    assert!(!answer.to_string().contains("create_entity"), "{answer}");
    // A mistake in it is told all the same.
    std::fs::write(directory.path().join("aqueduct.toml"), "[limits]\nmax_nesting_depth = 7\n").unwrap();
    let (output, text) = run(directory.path(), &["--", script.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text.contains("max_nesting_depth"), "{text}");
}

#[test]
fn wrong_usage_is_told_without_secrets() {
    let directory = data();
    for (arguments, code, told) in [
        (&[][..], 2, "COMMAND"),
        (&["--"], 2, "COMMAND"),
        (&["python3", "x.py"], 2, "put '--' before the command: aqueduct wrap -- python3"),
        (&["--name", "x", "python3", "--", "x.py"], 2, "put '--' before the command"),
        (&["--url", "http://127.0.0.1:1/mcp", "--", "x"], 2, "cannot be used with"),
        (&["--env", "s3cret", "--", "x"], 2, "no '='"),
        (&["--header", "s3cret", "--url", "http://127.0.0.1:1/"], 2, "no ':'"),
        (&["--header", "A: s3cret", "--", "x"], 2, "cannot be used with"),
        (&["--bearer-env", "A", "--", "x"], 2, "cannot be used with"),
        (&["--header", "A: s3cret"], 2, "COMMAND"),
        (&["--env", "A=1", "--url", "http://127.0.0.1:1/"], 2, "cannot be used with"),
        (&["--env", "=s3cret", "--", "x"], 3, "environment variable"),
        (&["--url", "ftp://host/s3cret"], 3, "'http://'"),
        (&["--url", "http://me:s3cret@host/"], 3, "password"),
        (&["--url", "http://a b/s3cret"], 3, "URL"),
        (&["--url", "/mcp?s3cret"], 3, "'http://'"),
        (&["--header", "no name: s3cret", "--url", "http://127.0.0.1:1/"], 3, "header"),
        (&["--bearer-env", "s3cret-token", "--url", "http://127.0.0.1:1/"], 3, "GITHUB_TOKEN"),
        (&["--name", "日本", "--", "x"], 3, "no letter"),
        (&["--start-timeout", "0", "--", "x"], 3, "start_timeout_seconds"),
        (&["--", ""], 3, "empty"),
        (&["--http", "0.0.0.0:0", "--", "x"], 3, "other machines"),
    ] {
        let (output, text) = run(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(told), "{arguments:?}: no '{told}' in {text}");
        // What is no usage at all is repeated by the parser of the command line.
        assert!(code == 2 || !text.contains("s3cret"), "{arguments:?}: {text}");
    }
}

#[test]
fn what_cannot_be_started_is_told_in_the_answer() {
    let directory = data();
    let mut client = over_stdio(directory.path(), &["--", "no-such-program-here"], INITIALIZE);
    assert_eq!(client.tool_names().len(), 5);
    assert_eq!(names(&mut client), ["introspect"]);
    client.stdio().process.stderr_with("'no-such-program-here' was not found");
}
