//! What is asked on the command line, beside a process that writes.

use std::{
    io::{BufRead, BufReader},
    process::{Output, Stdio},
};

use super::*;
use crate::{
    harness::{Process, Setup, aqueduct, command as base, data},
    operator::{Desk, key_of, send, settings, text},
};

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = base(&aqueduct(), directory);
    command.env("AQUEDUCT_DATA", data_of(directory));
    command.args(arguments).output().unwrap()
}

#[test]
fn sessions_are_listed_and_shown_as_trees_while_somebody_writes() {
    let directory = data();
    let nothing = run(directory.path(), &["trace", "ls"]);
    assert_eq!(nothing.status.code(), Some(4), "{}", text(&nothing));
    assert!(text(&nothing).contains("nothing was recorded"), "{}", text(&nothing));
    let mut appender = writer(directory.path());
    let mut root = served(1);
    root.name = "tools/call \u{1b}[31mred".to_owned();
    let called = call(2, &root, "srv-b");
    // Its own ancestor.
    let mut circle = call(3, &root, "srv-c");
    circle.parent = Some(circle.id);
    appender.append(&spans([root.clone(), called.clone(), circle]), now()).unwrap();
    let listed = run(directory.path(), &["trace", "ls"]);
    let shown = text(&listed);
    assert!(shown.contains("r-1") && shown.contains("inbound") && shown.contains("500.0 ms"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "what others wrote does not steer the terminal");
    let tree = text(&run(directory.path(), &["trace", "show", "r-1", "--full"]));
    assert!(tree.contains("\n  tools/call search_code  ok  500.0 ms  → srv-b"), "{tree}");
    assert!(tree.contains("srv-c") && tree.contains("mcp.rpc.method = tools/call"), "{tree}");
    let by_trace = text(&run(directory.path(), &["trace", "show", &root.trace.to_string(), "--json"]));
    let lines: Vec<Value> = by_trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["attributes"][names::PEER]), (3, &json!("srv-b")));
    let json = text(&run(directory.path(), &["trace", "ls", "--json", "--engine", "inbound"]));
    assert_eq!(serde_json::from_str::<Value>(json.trim()).unwrap()["session_id"], "r-1");
    assert_eq!(
        text(&run(directory.path(), &["trace", "ls", "--engine", "temporal"])).trim(),
        "No session fits."
    );
    for wrong in [&["trace", "ls", "--status", "fine"][..], &["trace", "show", "r-9"]] {
        let refused = run(directory.path(), wrong);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    }
}

#[test]
fn events_are_followed_as_another_process_writes_them() {
    let directory = data();
    let mut command = base(&aqueduct(), directory.path());
    command.env("AQUEDUCT_DATA", data_of(directory.path()));
    command.args(["trace", "tail", "--json", "--after", "0", "--count", "3"]).stdout(Stdio::piped());
    let mut process = Process::start(command);
    let mut appender = writer(directory.path());
    appender.append(&events([1, 2]), now()).unwrap();
    let mut out = BufReader::new(process.child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&out.next().unwrap().unwrap()).unwrap();
    assert_eq!((next()["data"]["number"].clone(), next()["seq"].clone()), (json!(1), json!(2)));
    appender.append(&events([3]), now()).unwrap();
    assert_eq!(next()["data"]["number"], 3);
    assert!(process.child.wait().unwrap().success());
    let readable = text(&run(directory.path(), &["trace", "tail", "--after", "2", "--count", "1"]));
    assert!(readable.contains("McpRequestStarted") && readable.contains("inbound  tools/call"), "{readable}");
}

/// The page over data that another process writes, and the address of the one that a server serves.
#[test]
fn the_inspector_is_served_alone_or_told_where_it_is() {
    let directory = data();
    let missing = run(directory.path(), &["inspector"]);
    assert_eq!(missing.status.code(), Some(4), "{}", text(&missing));
    writer(directory.path()).append(&spans([served(1)]), now()).unwrap();
    let open = run(directory.path(), &["inspector", "--open", "--http", "127.0.0.1:0"]);
    assert_eq!(open.status.code(), Some(2), "the key goes to terminals only: {}", text(&open));
    let remote = run(directory.path(), &["inspector", "--http", "0.0.0.0:0"]);
    assert_eq!(remote.status.code(), Some(2), "{}", text(&remote));
    let mut command = base(&aqueduct(), directory.path());
    command.env("AQUEDUCT_DATA", data_of(directory.path()));
    command.args(["inspector", "--http", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut process = Process::start(command);
    let mut out = BufReader::new(process.child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).split('/').next().unwrap();
    assert!(line.contains("operator.key") && !line.contains(&key_of(directory.path())), "{line}");
    let bearer = format!("Bearer {}", key_of(directory.path()));
    let answer = send(address, "GET", "/api/v1/sessions", &[("authorization", &bearer)], b"");
    assert_eq!(answer.body["sessions"][0]["session_id"], "r-1", "{}", answer.body);
    let policy = send(address, "GET", "/api/v1/policy/test?operation=x", &[("authorization", &bearer)], b"");
    assert_eq!(policy.status, 503, "{}", policy.body);
    drop(process);

    let other = data();
    let desk = Desk::open(&Setup::new(other.path()).config(&settings("")));
    let told = run(other.path(), &["inspector", "--http", &desk.address]);
    assert!(
        told.status.success() && text(&told).contains(&format!("http://{}/", desk.address)),
        "{}",
        text(&told)
    );
    let taken = run(directory.path(), &["inspector", "--http", &desk.address]);
    assert_eq!(taken.status.code(), Some(4), "another's data: {}", text(&taken));
}

#[test]
fn the_api_is_described_without_any_server() {
    let directory = data();
    let described = run(directory.path(), &["check", "--openapi"]);
    let document: Value = serde_json::from_slice(&described.stdout).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/api/v1/sessions"]["get"].is_object());
}

/// What was recorded is its owner's, and what is imported is told apart from it.
#[test]
fn what_is_exported_is_private_and_what_is_imported_is_a_report() {
    let directory = data();
    writer(directory.path()).append(&spans([served(1), served(2)]), now()).unwrap();
    let file = directory.path().join("out.jsonl");
    std::fs::write(&file, "older").unwrap();
    let path = file.to_str().unwrap();
    let written = run(directory.path(), &["trace", "export", "-o", path]);
    assert!(written.status.success(), "{}", text(&written));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let other = data();
    writer(other.path()).append(&spans([served(2)]), now()).unwrap();
    let taken = run(other.path(), &["trace", "import", path]);
    assert!(text(&taken).contains("2 spans taken"), "{}", text(&taken));
    let listed = text(&run(other.path(), &["trace", "ls", "--json"]));
    let sessions: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        sessions.iter().map(|row| (row["session_id"].clone(), row["reported"].clone())).collect();
    assert_eq!(told, [(json!("r-2"), json!(false)), (json!("r-1"), json!(true))]);
}
