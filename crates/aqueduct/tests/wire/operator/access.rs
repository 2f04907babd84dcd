//! Who is let in to the operator's listener.

use std::{
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
};

use serde_json::json;

use super::{Desk, data_of, key_of, send, settings};
use crate::harness::{Era, PATIENCE, Process, Setup, data, pause};

/// REQ-OOB-05
#[test]
fn the_key_is_its_owners_alone_and_printed_nowhere() {
    let directory = data();
    let setup = Setup::new(directory.path()).config(&settings("")).env("RUST_LOG", "trace");
    let desk = Desk::open(&setup);
    let file = data_of(directory.path()).join("operator.key");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&data_of(directory.path()))), (0o600, 0o700));
    assert!(desk.server.welcome.contains(&file.display().to_string()), "{}", desk.server.welcome);
    assert_eq!(desk.get("/api/v1/approvals").status, 200);
    assert_eq!(desk.send("GET", "/api/v1/approvals", &[("authorization", "Bearer wrong")], b"").status, 401);
    assert!(!desk.server.welcome.contains(&desk.key));
    assert!(!desk.server.process.lock().unwrap().stderr.lock().unwrap().contains(&desk.key));
}

/// REQ-OOB-06
#[test]
fn stdio_opens_no_listener_unless_told_and_says_neither_key_nor_place() {
    let directory = data();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut client = Setup::new(directory.path()).stdio(Era::Initialize("2025-06-18"));
    client.new_item("one");
    assert!(!data_of(directory.path()).join("operator.key").exists(), "nobody needed it");
    drop(client);
    let config = format!("[operator]\nhttp = '{free}'");
    let setup = Setup::new(directory.path()).config(&config).env("RUST_LOG", "trace");
    let mut client = setup.stdio(Era::Initialize("2025-06-18"));
    let deadline = std::time::Instant::now() + PATIENCE;
    while std::net::TcpStream::connect(free).is_err() {
        assert!(std::time::Instant::now() < deadline, "it is configured, so it is open");
        pause();
    }
    let key = key_of(directory.path());
    let bearer = format!("Bearer {key}");
    let answer = send(&free.to_string(), "GET", "/api/v1/approvals", &[("authorization", &bearer)], b"");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let made = client.new_item("two");
    let read = client.read("get_entity", json!({"entity_id": made})).to_string();
    let said = client.stdio().process.stderr.lock().unwrap().clone();
    for secret in [key.as_str(), "operator.key"] {
        assert!(!said.contains(secret) && !read.contains(secret), "{said}");
    }
}

#[test]
fn only_the_key_opens_and_every_answer_forbids_everything() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    for path in [
        "/api/v1/approvals",
        "/api/v1/audit",
        "/api/v1/blocks",
        "/api/v1/challenges",
        "/api/v1/audit/verify",
        "/metrics",
        "/metrics/x",
        "/api",
        "/api/x",
    ] {
        let without = desk.send("GET", path, &[], b"");
        assert_eq!(without.status, 401, "{path}");
        assert_eq!(without.body["error"]["code"], "UNAUTHORIZED");
        let headers = &without.headers;
        assert_eq!(headers["cache-control"], "no-store");
        assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(!headers.contains_key("access-control-allow-origin"));
    }
    assert_eq!(desk.get("/api/x").status, 404);
    assert_eq!(desk.send("POST", "/x", &[], b"").status, 401);
    // The page itself holds no data, and takes nothing from elsewhere. It says itself what it does not know.
    for path in ["/", "/x", "/sessions/", "/live/", "/audit/5", "/%61pi/v1/approvals", "//api/v1/approvals"] {
        let page = desk.send("GET", path, &[], b"");
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'self'"));
    }
    assert_eq!(desk.post("/api/v1/approvals", &json!({})).status, 405);
    assert_eq!(desk.get("/api/v1/approvals?state=banana").status, 400);
    assert_eq!(desk.get("/api/v1/approvals?stat=pending").status, 400);
    assert_eq!(desk.get("/api/v1/approvals/appr_none").status, 404);
    assert_eq!(desk.get("/api/v1/audit?limit=x").status, 400);
    let preflight = desk.send(
        "OPTIONS",
        "/api/v1/approvals",
        &[("origin", "https://evil.example"), ("access-control-request-method", "POST")],
        b"",
    );
    assert_eq!(preflight.status, 403);
    let decided = desk.get("/api/v1/policy/test?operation=delete_entity");
    assert_eq!((decided.status, &decided.body["danger"]), (200, &json!("destructive")));
    assert_eq!(desk.get("/api/v1/policy/test?operation=no_such_thing").status, 404);
    let encoded = desk.get("/api/v1/policy/test?operation=delete%5Fentity&principal=a%20b+c");
    assert_eq!((encoded.status, &encoded.body["danger"]), (200, &json!("destructive")));
}

/// What is wrong is told as JSON, wherever in the address it stands.
#[test]
fn addresses_that_say_something_unknown_are_refused() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    for path in ["sessions/%ff", "servers/%ff", "approvals/%ff", "traces/%ff", "traces/a/spans/%ff"] {
        let answer = desk.get(&format!("/api/v1/{path}"));
        assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!("INVALID")), "{path}");
        assert_eq!(answer.headers["content-type"], "application/json", "{path}");
    }
    let posts = ["blocks/%ff/unblock", "inputs/%ff", "sessions/%ff/cancel", "challenges/%ff/reveal"];
    for path in posts {
        let answer = desk.post(&format!("/api/v1/{path}"), &json!({"reason": "x", "action": "decline"}));
        assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!("INVALID")), "{path}");
    }
    for path in [
        "blocks",
        "challenges",
        "inputs",
        "audit",
        "audit/verify",
        "openapi.json",
        "approvals/appr_none",
        "approvals/wait",
    ] {
        let answer = desk.get(&format!("/api/v1/{path}?nobody=1"));
        assert_eq!((answer.status, &answer.body["error"]["code"]), (400, &json!("INVALID")), "{path}");
    }
    assert_eq!(desk.get("/metrics?nobody=1").status, 400);
    assert_eq!(desk.post("/api/v1/challenges/none/reveal?nobody=1", &json!({})).status, 400);
}

/// A page elsewhere, or on another port of this machine, gets nowhere even with the key.
#[test]
fn other_hosts_and_pages_are_turned_away() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let bearer = format!("Bearer {}", desk.key);
    let own = format!("http://{}", desk.address);
    for (origin, status) in [
        (own.as_str(), 200),
        ("https://evil.example", 403),
        ("http://127.0.0.1:1", 403),
        ("http://localhost:3000", 403),
        ("null", 403),
    ] {
        let headers = [("authorization", bearer.as_str()), ("origin", origin)];
        for path in ["/api/v1/approvals", "/", "/live"] {
            assert_eq!(desk.send("GET", path, &headers, b"").status, status, "{origin} {path}");
        }
    }
    for (host, status) in [("localhost", "200"), ("rebind.evil.example", "403"), ("evil.example:7172", "403")]
    {
        for path in ["/api/v1/approvals", "/", "/favicon.svg", "/live"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nConnection: close\r\n\r\n"
            );
            let answer = raw(&desk.address, &request);
            // Without Node there is no icon.
            let fits = answer.starts_with(&format!("HTTP/1.1 {status}"))
                || (path == "/favicon.svg" && status == "200" && answer.starts_with("HTTP/1.1 404"));
            assert!(fits, "{host} {path} {answer}");
        }
    }
    let twice = format!(
        "GET /api/v1/approvals HTTP/1.1\r\nHost: localhost\r\nAuthorization: {bearer}\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n"
    );
    assert!(raw(&desk.address, &twice).starts_with("HTTP/1.1 400"));
}

fn raw(address: &str, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// REQ-OOB-05
#[test]
fn who_guesses_has_to_wait_and_keeps_nobody_out_who_has_the_key() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let guess = || desk.send("GET", "/api/v1/approvals", &[("authorization", "Bearer guess")], b"");
    for _ in 0..5 {
        assert_eq!(guess().status, 401);
    }
    for _ in 0..2 {
        let answer = guess();
        assert_eq!((answer.status, &answer.body["error"]["code"]), (429, &json!("LOCKED_OUT")));
        let wait: u64 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
        assert_eq!(desk.get("/api/v1/approvals").status, 200, "others guessed, and from the same machine");
    }
    let without = desk.send("GET", "/api/v1/approvals", &[], b"");
    assert_eq!(without.status, 429, "nothing is told to who has no key");
    let log = super::operator(directory.path(), &["audit", "--after", "0"]);
    assert!(super::text(&log).contains("OPERATOR_LOCKED_OUT"), "{}", super::text(&log));
}

#[test]
fn bodies_are_small_and_must_be_what_is_expected() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let large = json!({"note": "x".repeat(100_000)});
    assert_eq!(desk.post("/api/v1/approvals/appr_1/approve", &large).status, 413);
    for body in [json!([]), json!({"note": 7}), json!({"approve": true}), json!("x")] {
        assert_eq!(desk.post("/api/v1/approvals/appr_1/approve", &body).status, 400, "{body}");
    }
    assert_eq!(desk.post("/api/v1/approvals/appr_1/approve", &json!({"note": "x"})).status, 404);
    assert_eq!(desk.post("/api/v1/blocks/a/unblock", &json!({"reason": " "})).status, 400);
    assert_eq!(desk.post("/api/v1/blocks/a/unblock", &json!({"reason": "known"})).status, 404);
    assert_eq!(desk.post("/api/v1/challenges/none/reveal", &json!({})).status, 404);
}

#[test]
fn of_two_processes_one_serves_and_the_other_takes_over() {
    let directory = data();
    let first = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let config = format!("[operator]\ndialog = false\nhttp = '{}'", first.address);
    let second = Setup::new(directory.path()).config(&config).http();
    assert!(second.welcome.contains("by another process on this data"), "{}", second.welcome);
    let other = data();
    let stranger = Setup::new(other.path()).config(&config).http();
    assert!(stranger.welcome.contains("is taken by another program"), "{}", stranger.welcome);
    drop(stranger);
    let address = first.address.clone();
    let bearer = format!("Bearer {}", first.key);
    drop(first);
    let deadline = std::time::Instant::now() + PATIENCE;
    while std::net::TcpStream::connect(&address).is_err() {
        assert!(std::time::Instant::now() < deadline, "nobody took over");
        pause();
    }
    assert_eq!(send(&address, "GET", "/api/v1/approvals", &[("authorization", &bearer)], b"").status, 200);
}

#[test]
fn a_key_that_others_may_have_read_is_not_used() {
    let directory = data();
    let file = data_of(directory.path()).join("operator.key");
    drop(Desk::open(&Setup::new(directory.path()).config(&settings(""))));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let server = Setup::new(directory.path()).config(&settings("")).http();
    assert!(
        server.welcome.contains("not served") && server.welcome.contains("chmod 600"),
        "{}",
        server.welcome
    );
    drop(server);
    let mut process =
        Process::start(Setup::new(directory.path()).config(&settings("")).command(&["--stdio"]));
    let said = process.stderr_with("chmod 600");
    assert!(!said.contains(&data_of(directory.path()).display().to_string()), "{said}");
    drop(process.child.stdin.take());
    process.wait();
}
