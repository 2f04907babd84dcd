//! Real servers behind one gateway, where `AQUEDUCT_TEST_SERVERS` names the directory that `tests/servers/install` filled.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{
    CLIENTS, INITIALIZE, Place, answered, call,
    content::{expected, given},
    operations, refused, wait_until,
};
use crate::harness::{Client, Setup, StdioLink, command, wait_for};
use crate::inspector::recorded::finished;

/// How the installed servers are started, or why a test is skipped.
fn installed() -> Option<Map<String, Value>> {
    let Some(directory) = std::env::var_os("AQUEDUCT_TEST_SERVERS") else {
        eprintln!("skipped: AQUEDUCT_TEST_SERVERS does not name what 'tests/servers/install' installed");
        return None;
    };
    let file = Path::new(&directory).join("servers.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let servers: Value = serde_json::from_str(&text).unwrap();
    Some(servers["mcpServers"].as_object().unwrap().clone())
}

/// Some of the servers, each with a directory of its own.
pub(super) struct Servers {
    pub(super) place: Place,
    started: BTreeMap<String, Value>,
}

impl Servers {
    /// `None` where one of them is not installed.
    fn new(names: &[&str]) -> Option<Self> {
        let installed = installed()?;
        let mut servers = Self { place: Place::new(), started: BTreeMap::new() };
        for name in names {
            let Some(server) = installed.get(*name) else {
                eprintln!("skipped: the server '{name}' is not installed");
                return None;
            };
            let root = servers.root(name);
            let text = server.to_string().replace("{root}", root.to_str().unwrap());
            servers.started.insert((*name).to_owned(), serde_json::from_str(&text).unwrap());
        }
        Some(servers)
    }

    /// One server that may go wherever the gateway itself keeps everything.
    pub(super) fn rooted(name: &str) -> Option<Self> {
        let mut servers = Self::new(&[name])?;
        let (below, above) = (servers.root(name), servers.place.path().canonicalize().unwrap());
        for server in servers.started.values_mut() {
            let text = server.to_string().replace(below.to_str().unwrap(), above.to_str().unwrap());
            *server = serde_json::from_str(&text).unwrap();
        }
        Some(servers)
    }

    fn root(&self, name: &str) -> PathBuf {
        let root = self.place.path().join(format!("root-{name}"));
        std::fs::create_dir_all(&root).unwrap();
        root.canonicalize().unwrap()
    }

    /// A gateway in front of them. Python servers need long to start on a busy machine.
    fn setup(&self) -> Setup {
        let mut config = String::new();
        for (name, server) in &self.started {
            config.push_str(&format!(
                "[upstream.{name}]\ntrust = \"certified\"\ncommand = {}\nargs = {}\nstart_timeout_seconds = 300\n",
                server["command"], server["args"]
            ));
            for (variable, value) in server["env"].as_object().into_iter().flatten() {
                config.push_str(&format!("env.{variable} = {value}\n"));
            }
        }
        Setup::new(self.place.path()).arguments(&["--mode", "single"]).config(&config)
    }

    /// A client of the gateway, once it knows all servers.
    pub(super) fn client(&self) -> Client {
        let mut client = self.setup().connect(CLIENTS[0]);
        for name in self.started.keys() {
            for _ in 0..300 {
                if self.place.catalogue(name).is_some() {
                    break;
                }
                wait_for(Duration::from_secs(1));
            }
            let prefix = format!("{name}_");
            wait_until(&format!("the operations of {name}"), || {
                operations(&mut client).iter().any(|operation| operation.starts_with(&prefix)).then_some(())
            });
        }
        client
    }

    /// A client that speaks to one of the servers itself.
    fn direct(&self, name: &str) -> Client {
        let server = &self.started[name];
        let mut command = command(Path::new(server["command"].as_str().unwrap()), self.place.path());
        command.args(server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()));
        let env = server["env"].as_object().cloned().unwrap_or_default();
        command.envs(env.iter().map(|(key, value)| (key, value.as_str().unwrap())));
        Client::over_stdio(StdioLink::start(command), INITIALIZE)
    }
}

/// REQ-IATTR-09 REQ-ISEC-02
#[test]
fn what_a_real_servers_resources_and_prompts_are_called_is_recorded() {
    let Some(servers) = Servers::new(&["everything"]) else { return };
    let mut client = servers.client();
    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let resource = listed.as_array().and_then(|all| all.first()).unwrap_or_else(|| panic!("{listed}"));
    let read = client.request("resources/read", json!({"uri": resource["uri"]}));
    assert!(read["result"]["contents"].is_array(), "{read}");
    let listed = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let plain = |prompt: &&Value| prompt["arguments"].as_array().is_none_or(Vec::is_empty);
    let prompt = &listed.as_array().and_then(|all| all.iter().find(plain)).unwrap()["name"];
    let got = client.request("prompts/get", json!({"name": prompt}));
    assert!(got["result"]["messages"].is_array(), "{got}");
    // Ours, as the client named it, and the server's own, as it is known there.
    let spans = finished(servers.place.path(), "resources/read", 2);
    let of = |kind: &str| spans.iter().find(|span| span["kind"] == kind).unwrap()["attributes"].clone();
    assert_eq!(of("server")["mcp.resource.uri"], resource["uri"]);
    assert!(of("client")["mcp.resource.uri"].is_string());
    assert!(of("client")["mcp.resource.mime_type"].is_string());
    let name = format!("prompts/get {}", prompt.as_str().unwrap());
    let inbound = finished(servers.place.path(), &name, 1).remove(0);
    assert_eq!(inbound["attributes"]["mcp.prompt.template_id"], *prompt);
}

/// The parameters of an operation, with those in `input` that belong there.
pub(super) fn placed(client: &mut Client, operation: &str, params: Value) -> Value {
    let details = answered(client, "introspect", json!({"query": "operations", "name": operation}));
    let beside: Vec<&str> = details["operation"]["parameters"]
        .as_array()
        .unwrap_or_else(|| panic!("{details}"))
        .iter()
        .map(|param| param["name"].as_str().unwrap())
        .collect();
    if !beside.contains(&"input") {
        return params;
    }
    let Value::Object(params) = params else { panic!("no object") };
    let (beside, input): (Map<String, Value>, Map<String, Value>) =
        params.into_iter().partition(|(name, _)| beside.contains(&name.as_str()));
    let mut placed = Value::Object(beside);
    placed["input"] = Value::Object(input);
    placed
}

/// The data of a call, wherever its parameters go.
fn done(client: &mut Client, operation: &str, params: Value) -> Value {
    let params = placed(client, operation, params);
    answered(client, operation, params)
}

fn text(data: &Value) -> String {
    data.as_str().map_or_else(|| data.to_string(), str::to_owned)
}

/// Arguments for the tools of `everything`, by the names that the server gives them.
fn arguments(tool: &str) -> Vec<Value> {
    match tool {
        "echo" => vec![json!({"message": "Grüße \"quoted\"\n"}), json!({"message": ""})],
        "get-annotated-message" => vec![
            json!({"messageType": "error", "includeImage": true}),
            json!({"messageType": "success"}),
            json!({"messageType": "debug", "includeImage": false}),
        ],
        "get-resource-links" => vec![json!({}), json!({"count": 5})],
        "get-resource-reference" => vec![
            json!({"resourceType": "Text", "resourceId": 3}),
            json!({"resourceType": "Blob", "resourceId": 4}),
        ],
        "get-structured-content" => vec![json!({"location": "Chicago"}), json!({"location": "New York"})],
        "get-sum" => vec![json!({"a": 2, "b": 3.5}), json!({"a": -1e21, "b": 0.1})],
        "gzip-file-as-resource" => vec![
            json!({"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}),
            json!({"name": "b.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}),
        ],
        "trigger-long-running-operation" => vec![json!({"duration": 0.2, "steps": 2})],
        "simulate-research-query" => vec![json!({"topic": "wells"})],
        _ => vec![json!({})],
    }
}

/// Tools that ask their client something. The gateway cannot pass such questions on yet, so what they answer is not
/// compared.
const ASKING: [(&str, &str); 6] = [
    ("get-roots-list", "it asks for the client's roots"),
    ("trigger-elicitation-request", "it asks the user by elicitation"),
    ("trigger-sampling-request", "it asks the client's model by sampling"),
    ("trigger-elicitation-request-async", "it asks by elicitation, as a task"),
    ("trigger-sampling-request-async", "it asks by sampling, as a task"),
    ("trigger-url-elicitation", "it asks the user to open an address"),
];

/// What differs from one connection to the next, and why.
const OWN: [(&str, &str); 3] = [
    ("get-env", "the gateway gives its servers a part of its environment only"),
    ("toggle-simulated-logging", "its answer names the session"),
    ("toggle-subscriber-updates", "its answer names the session"),
];

fn snake(tool: &str) -> String {
    tool.replace('-', "_")
}

/// Parameters by our names.
fn outer(arguments: &Value) -> Value {
    let snake = |name: &str| {
        name.chars().fold(String::new(), |mut snake, letter| {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
            snake
        })
    };
    arguments.as_object().unwrap().iter().map(|(name, value)| (snake(name), value.clone())).collect()
}

#[test]
fn every_tool_of_everything_answers_the_same_through_the_gateway() {
    let Some(servers) = Servers::new(&["everything"]) else { return };
    let mut client = servers.client();
    let mut direct = servers.direct("everything");
    let listed = direct.request("tools/list", json!({}))["result"]["tools"].clone();
    let listed: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(listed.len() >= 10, "{listed:?}");
    let names = operations(&mut client);
    let more = names.iter().filter_map(|name| name.strip_prefix("everything_"));
    for operation in more.filter(|operation| !listed.iter().any(|tool| snake(tool) == *operation)) {
        let known = ASKING.iter().find(|(tool, _)| snake(tool) == operation);
        let (tool, why) =
            known.unwrap_or_else(|| panic!("'{operation}' is offered only to the gateway: {names:?}"));
        eprintln!("left out: {tool}, {why}");
    }
    for tool in listed {
        let operation = format!("everything_{}", snake(tool));
        if let Some((_, why)) = OWN.iter().find(|(own, _)| *own == tool) {
            eprintln!("not compared: {tool}, {why}");
            let params = placed(&mut client, &operation, json!({}));
            given(&mut client, &operation, params);
            continue;
        }
        for arguments in arguments(tool) {
            let answer = direct.request("tools/call", json!({"name": tool, "arguments": arguments}));
            let params = placed(&mut client, &operation, outer(&arguments));
            if let Some(error) = answer.get("error") {
                let through = refused(&mut client, &operation, params);
                assert_eq!(through["details"]["upstream_error"]["message"], error["message"], "{tool}");
                continue;
            }
            let result = &answer["result"];
            if result["isError"] == true {
                let through = refused(&mut client, &operation, params);
                assert_eq!(
                    through["details"]["upstream_error"]["message"], result["content"][0]["text"],
                    "{tool}"
                );
                continue;
            }
            let (data, attached) = expected(result);
            let through = given(&mut client, &operation, params);
            assert_eq!((&through.0, &through.1), (&data, &attached), "{tool} {arguments}");
        }
    }
}

#[test]
fn progress_of_everything_comes_through() {
    let Some(servers) = Servers::new(&["everything"]) else { return };
    let mut client = servers.client();
    let operation = "everything_trigger_long_running_operation";
    let params = placed(&mut client, operation, json!({"duration": 1, "steps": 4}));
    let asked = json!({"name": "mcp_aql", "arguments": {"operation": operation, "params": params}, "_meta": {"progressToken": 5}});
    let answer = client.request("tools/call", asked);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let told = std::mem::take(client.notifications());
    let numbers: Vec<(f64, f64)> = told
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            (message["params"]["progress"].as_f64().unwrap(), message["params"]["total"].as_f64().unwrap())
        })
        .collect();
    // The last one is sent together with the answer, which may overtake it.
    let all = [(1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 4.0)];
    assert!(numbers.len() >= 3 && all.starts_with(&numbers), "{told:?}");
}

/// All of them at once, over stdio, from one file of a client.
#[test]
fn files_graphs_repositories_and_times_are_reached_through_one_gateway() {
    let Some(servers) = Servers::new(&["everything", "filesystem", "memory", "git", "time"]) else { return };
    let mut client = servers.client();
    files(&mut client, &servers.root("filesystem"));
    memory(&mut client);
    repository(&mut client, &servers.place.path().join("repository"));
    times(&mut client);
    let all = operations(&mut client);
    assert!(all.len() > 40, "{all:?}");
    let found = answered(
        &mut client,
        "introspect",
        json!({"query": "operations", "search": "convert a time between zones"}),
    );
    assert_eq!(found["operations"][0]["name"], "time_convert_time", "{found}");
}

fn files(client: &mut Client, root: &Path) {
    let path = |name: &str| root.join(name).display().to_string();
    done(client, "filesystem_write_file", json!({"path": path("a.txt"), "content": "line one\nline two\n"}));
    let read = done(client, "filesystem_read_text_file", json!({"path": path("a.txt")}));
    assert!(text(&read).contains("line one"), "{read}");
    done(client, "filesystem_create_directory", json!({"path": path("sub")}));
    done(client, "filesystem_move_file", json!({"source": path("a.txt"), "destination": path("sub/b.txt")}));
    assert_eq!(std::fs::read_to_string(root.join("sub/b.txt")).unwrap(), "line one\nline two\n");
    let listed = done(client, "filesystem_list_directory", json!({"path": path("sub")}));
    assert!(text(&listed).contains("b.txt"), "{listed}");
    let edits = json!([{"oldText": "line two", "newText": "line 2"}]);
    let params = placed(client, "filesystem_edit_file", json!({"path": path("sub/b.txt"), "edits": edits}));
    let renamed = serde_json::from_str(
        &params.to_string().replace("oldText", "old_text").replace("newText", "new_text"),
    )
    .unwrap();
    answered(client, "filesystem_edit_file", renamed);
    assert_eq!(std::fs::read_to_string(root.join("sub/b.txt")).unwrap(), "line one\nline 2\n");
    let denied = call(client, "filesystem_read_text_file", json!({"path": "/etc/passwd"}));
    assert_eq!(denied["error"]["code"], "PERMISSION_DENIED", "{denied}");
    let absent = call(client, "filesystem_read_text_file", json!({"path": path("nothing.txt")}));
    assert_eq!(absent["error"]["code"], "NOT_FOUND_RESOURCE", "{absent}");
}

fn memory(client: &mut Client) {
    let entities: Vec<Value> = (1..=5)
        .map(|n| json!({"name": format!("well {n}"), "entity_type": if n > 3 { "dry" } else { "full" }, "observations": ["deep"]}))
        .collect();
    done(client, "memory_create_entities", json!({"entities": entities}));
    done(
        client,
        "memory_create_relations",
        json!({"relations": [{"from": "well 1", "to": "well 2", "relation_type": "feeds"}]}),
    );
    let graph = done(client, "memory_read_graph", json!({}));
    assert_eq!(graph["entities"].as_array().map(Vec::len), Some(5), "{graph}");
    assert_eq!(graph["relations"][0]["relationType"], "feeds", "{graph}");
    let found = done(client, "memory_search_nodes", json!({"query": "dry"}));
    assert_eq!(found["entities"].as_array().map(Vec::len), Some(2), "{found}");
    done(client, "memory_delete_entities", json!({"entity_names": ["well 1"]}));
    let left = done(client, "memory_open_nodes", json!({"names": ["well 1", "well 2"]}));
    assert_eq!(left["entities"].as_array().map(Vec::len), Some(1), "{left}");
}

fn repository(client: &mut Client, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git").arg("-C").arg(path).args(arguments).output().unwrap();
        assert!(status.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&status.stderr));
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.name", "Test"]);
    git(&["config", "user.email", "test@example.com"]);
    std::fs::write(path.join("a.txt"), "one\n").unwrap();
    let repo = path.display().to_string();
    let clean = done(client, "git_git_status", json!({"repo_path": repo}));
    assert!(text(&clean).contains("a.txt"), "{clean}");
    done(client, "git_git_add", json!({"repo_path": repo, "files": ["a.txt"]}));
    done(client, "git_git_commit", json!({"repo_path": repo, "message": "Begin a well"}));
    let log = done(client, "git_git_log", json!({"repo_path": repo, "max_count": 5}));
    assert!(text(&log).contains("Begin a well"), "{log}");
    std::fs::write(path.join("a.txt"), "two\n").unwrap();
    let diff = done(client, "git_git_diff_unstaged", json!({"repo_path": repo}));
    assert!(text(&diff).contains("+two") && text(&diff).contains("-one"), "{diff}");
    let elsewhere = call(client, "git_git_status", json!({"repo_path": "/nowhere/to-be/found"}));
    assert_eq!(elsewhere["success"], false, "{elsewhere}");
}

fn times(client: &mut Client) {
    let now = done(client, "time_get_current_time", json!({"timezone": "Asia/Tokyo"}));
    assert_eq!(now["timezone"], "Asia/Tokyo", "{now}");
    assert!(now["datetime"].as_str().unwrap().ends_with("+09:00"), "{now}");
    let converted = done(
        client,
        "time_convert_time",
        json!({"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "UTC"}),
    );
    assert!(converted["target"]["datetime"].as_str().unwrap().contains("T07:30"), "{converted}");
    let wrong = call(client, "time_get_current_time", json!({"timezone": "Mars/Olympus"}));
    assert_eq!(wrong["success"], false, "{wrong}");
}

/// A page for the browser, served until the test ends.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = "<!doctype html><title>Well</title><h1>Water level</h1><p id=level>low</p>\
                <button onclick=\"document.getElementById('level').textContent = 'high'\">Fill</button>";
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}/")
}

#[test]
fn a_browser_is_driven_through_the_gateway() {
    let Some(servers) = Servers::new(&["playwright"]) else { return };
    let mut client = servers.client();
    let url = page();
    let opened = done(&mut client, "playwright_browser_navigate", json!({"url": url}));
    assert!(text(&opened).contains("Well"), "{opened}");
    let seen = done(&mut client, "playwright_browser_snapshot", json!({}));
    assert!(text(&seen).contains("Water level") && text(&seen).contains("low"), "{seen}");
    done(&mut client, "playwright_browser_click", json!({"element": "Fill", "target": "button"}));
    let level = done(
        &mut client,
        "playwright_browser_evaluate",
        json!({"function": "() => document.getElementById('level').textContent"}),
    );
    assert!(text(&level).contains("high"), "{level}");
    let params = placed(&mut client, "playwright_browser_take_screenshot", json!({"scale": "css"}));
    let (_, attached, _) = given(&mut client, "playwright_browser_take_screenshot", params);
    let image =
        attached.iter().find(|block| block["type"] == "image").unwrap_or_else(|| panic!("{attached:?}"));
    assert!(
        image["data"].as_str().unwrap().len() > 100
            && image["mimeType"].as_str().unwrap().starts_with("image/")
    );
    done(&mut client, "playwright_browser_close", json!({}));
}
