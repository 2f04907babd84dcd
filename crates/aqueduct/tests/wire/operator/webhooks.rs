//! Webhooks with a real receiver: what it is told, and which of its answers count.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
};

use gateway::operator::signature::sign;
use serde_json::{Value, json};

use super::{Desk, delete_in_background, settings};
use crate::harness::{PATIENCE, Setup, data};

const SECRET: &str = "a webhook's own secret";

/// What is answered for an approval: headers and a body.
type Forge = fn(&str) -> (String, String);

/// A request as it came in.
struct Told {
    timestamp: String,
    signature: String,
    body: String,
}

impl Told {
    fn approval(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["approval"]["id"].as_str().unwrap().to_owned()
    }
}

/// A receiver that answers each request as `answer` says: further headers and a body.
fn receiver(answer: impl Fn(&Told) -> (String, String) + Send + 'static) -> (String, mpsc::Receiver<Told>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?key=url-secret", listener.local_addr().unwrap());
    let (sender, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut timestamp, mut signature) = (0, String::new(), String::new());
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                let (name, value) = line.split_once(':').unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().unwrap(),
                    "aqueduct-timestamp" => timestamp = value.trim().to_owned(),
                    "aqueduct-signature" => signature = value.trim().to_owned(),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request = Told { timestamp, signature, body: String::from_utf8(body).unwrap() };
            let (headers, body) = answer(&request);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
                body.len()
            );
            let _ = sender.send(request);
        }
    });
    (url, told)
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

fn signed(secret: &str, time: u64, approval: &str, decision: &str) -> [(&'static str, String); 2] {
    let time = time.to_string();
    let signature = sign(secret.as_bytes(), &time, format!("{approval}.{decision}").as_bytes());
    [("aqueduct-timestamp", time), ("aqueduct-signature", signature)]
}

fn lines(headers: &[(&'static str, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

fn desk(directory: &std::path::Path, url: &str, hold_seconds: u32) -> Desk {
    let hook = format!("[operator.webhook.phone]\nurl = '{url}'\nsecret_env = 'HOOK_SECRET'\n");
    let config = format!("[safety]\nhold_seconds = {hold_seconds}\n{}{hook}", settings(""));
    Desk::open(&Setup::new(directory).config(&config).asking().env("HOOK_SECRET", SECRET))
}

/// REQ-OOB-26
#[test]
fn a_webhook_is_told_signed_and_answers_signed() {
    for (decision, success) in [("approve", true), ("deny", false)] {
        let directory = data();
        let (url, told) = receiver(move |told| {
            (
                lines(&signed(SECRET, now(), &told.approval(), decision)),
                json!({"decision": decision}).to_string(),
            )
        });
        let desk = desk(directory.path(), &url, 50);
        let mut client = desk.client();
        let item = client.new_item("one");
        let deleted = client.delete("delete_entity", json!({"entity_id": item}));
        assert_eq!(deleted["success"], success, "{deleted}");
        let told = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(told.signature, sign(SECRET.as_bytes(), &told.timestamp, told.body.as_bytes()));
        assert!(told.timestamp.parse::<u64>().unwrap().abs_diff(now()) < 60);
        let body: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!(
            (&body["type"], &body["approval"]["params"]["entity_id"]),
            (&json!("approval"), &json!(item))
        );
        let done = desk.get("/api/v1/approvals").body["approvals"][0].clone();
        assert_eq!((&done["channel"], &done["answered_by"]), (&json!("webhook"), &json!("webhook phone")));
    }
}

#[test]
fn answers_that_are_forged_stale_unsigned_or_of_another_call_are_ignored() {
    let forgeries: [Forge; 7] = [
        |_| (String::new(), r#"{"decision":"approve"}"#.to_owned()),
        |id| {
            (
                lines(&signed("another secret of mine", now(), id, "approve")),
                r#"{"decision":"approve"}"#.to_owned(),
            )
        },
        |id| (lines(&signed(SECRET, now() - 301, id, "approve")), r#"{"decision":"approve"}"#.to_owned()),
        |id| (lines(&signed(SECRET, now(), id, "deny")), r#"{"decision":"approve"}"#.to_owned()),
        |_| (lines(&signed(SECRET, now(), "appr_other", "approve")), r#"{"decision":"approve"}"#.to_owned()),
        |id| (lines(&signed(SECRET, now(), id, "APPROVE")), r#"{"decision":"APPROVE"}"#.to_owned()),
        |id| (lines(&signed(SECRET, now(), id, "approve")), "approve".to_owned()),
    ];
    for (number, forge) in forgeries.into_iter().enumerate() {
        let directory = data();
        let (url, told) = receiver(move |told| forge(&told.approval()));
        let desk = desk(directory.path(), &url, 1);
        let mut client = desk.client();
        let item = client.new_item("one");
        let waits = client.delete("delete_entity", json!({"entity_id": item}));
        assert_eq!(waits["error"]["code"], "CONFIRMATION_REQUIRED", "{number}: {waits}");
        told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(desk.waiting()["state"], "pending", "{number}");
        let said = desk.server.process.lock().unwrap().stderr.lock().unwrap().clone();
        assert!(!said.contains(SECRET) && !said.contains("url-secret"), "{said}");
    }
}

/// REQ-OOB-26
#[test]
fn a_later_answer_needs_a_signature_in_place_of_the_key_and_counts_once() {
    let directory = data();
    let (url, told) = receiver(|_| (String::new(), String::new()));
    let desk = desk(directory.path(), &url, 50);
    let mut client = desk.client();
    let item = client.new_item("one");
    let deleting = delete_in_background(client, item);
    let id = told.recv_timeout(PATIENCE).unwrap().approval();
    let answer = |headers: &[(&'static str, String)], body: &Value| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        desk.send("POST", "/api/webhook/answer", &headers, body.to_string().as_bytes())
    };
    let body = json!({"approval_id": id, "decision": "approve"});
    let right = signed(SECRET, now(), &id, "approve");
    for (headers, body, status) in [
        (Vec::new(), body.clone(), 401),
        (signed("another secret of mine", now(), &id, "approve").to_vec(), body.clone(), 401),
        (signed(SECRET, now() - 400, &id, "approve").to_vec(), body.clone(), 401),
        (signed(SECRET, now(), &id, "deny").to_vec(), body.clone(), 401),
        (right.to_vec(), json!({"approval_id": id, "decision": "maybe"}), 400),
        (right.to_vec(), json!({"decision": "approve"}), 400),
        (
            signed(SECRET, now(), "appr_none", "approve").to_vec(),
            json!({"approval_id": "appr_none", "decision": "approve"}),
            404,
        ),
    ] {
        let refused = answer(&headers, &body);
        assert_eq!(refused.status, status, "{headers:?} {}", refused.body);
    }
    assert_eq!(desk.waiting()["state"], "pending");
    assert_eq!(answer(&right, &body).status, 200);
    assert_eq!(deleting.join().unwrap()["success"], true);
    assert_eq!(answer(&right, &body).status, 409, "a replay changes nothing");
    for _ in 0..5 {
        answer(&[], &body);
    }
    assert_eq!(answer(&right, &body).status, 429, "who forges has to wait");
    assert_eq!(desk.get("/api/v1/approvals").status, 200, "and the operator has not");
}
