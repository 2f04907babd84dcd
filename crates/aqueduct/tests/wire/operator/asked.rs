//! Calls that wait, and the ways in which a person answers them.

use std::{os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use super::{Desk, delete_in_background, operator, settings, text};
use crate::harness::{Era, PATIENCE, Setup, data, pause};

fn asking(directory: &Path, more: &str) -> Setup {
    Setup::new(directory).config(&settings(more)).asking()
}

/// REQ-OOB-26 LREQ-GATE-07
#[test]
fn the_listener_shows_what_waits_and_releases_or_refuses_it_once() {
    let directory = data();
    let desk = Desk::open(&asking(directory.path(), ""));
    let mut client = desk.client();
    let (one, two) = (client.new_item("one"), client.new_item("two"));
    let seen = desk.get("/api/v1/approvals/wait").body["seen"].as_str().unwrap().to_owned();
    let news = {
        let (address, bearer) = (desk.address.clone(), format!("Bearer {}", desk.key));
        std::thread::spawn(move || {
            let path = format!("/api/v1/approvals/wait?seen={seen}");
            super::send(&address, "GET", &path, &[("authorization", &bearer)], b"")
        })
    };
    let deleting = delete_in_background(client, one);
    let news = news.join().unwrap().body;
    assert_eq!(news["approvals"][0]["operation"], "delete_entity", "{news}");
    let asked = desk.waiting();
    let id = asked["id"].as_str().unwrap();
    assert_eq!((&asked["danger_level"], &asked["principal"]), (&json!("destructive"), &json!("local")));
    let approved = desk.post(&format!("/api/v1/approvals/{id}/approve"), &json!({"note": "as\nagreed"}));
    assert_eq!((approved.status, &approved.body["approval"]["state"]), (200, &json!("approved")));
    assert_eq!(approved.body["approval"]["answered_by"], "operator: as<U+000A>agreed");
    assert_eq!(deleting.join().unwrap()["success"], true);
    let again = desk.post(&format!("/api/v1/approvals/{id}/deny"), &json!({}));
    assert_eq!((again.status, &again.body["error"]["code"]), (409, &json!("ALREADY_ANSWERED")));
    assert_eq!(desk.get(&format!("/api/v1/approvals/{id}")).body["approval"]["state"], "spent");

    let refused = delete_in_background(desk.client(), two);
    let id = desk.waiting()["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.send("POST", &format!("/api/v1/approvals/{id}/approve"), &[], b"").status, 401);
    assert_eq!(desk.post(&format!("/api/v1/approvals/{id}/deny"), &json!({})).status, 200);
    assert_eq!(refused.join().unwrap()["error"]["code"], "PERMISSION_DENIED");
    let log = desk.get("/api/v1/audit?limit=1000").body;
    let events: Vec<&str> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["event"]["event"].as_str())
        .collect();
    for event in ["CONFIRMATION_REQUIRED", "APPROVAL_GIVEN", "CONFIRMATION_GRANTED", "APPROVAL_REFUSED"] {
        assert!(events.contains(&event), "{event} in {events:?}");
    }
    assert_eq!(desk.get("/api/v1/audit/verify").body["state"], "whole");
}

/// LREQ-TOKEN-12
#[test]
fn an_approval_can_be_taken_back_before_it_is_used() {
    let directory = data();
    let config = format!("[safety]\nhold_seconds = 0\n{}", settings(""));
    let desk = Desk::open(&Setup::new(directory.path()).config(&config).asking());
    let mut client = desk.client();
    let item = client.new_item("one");
    let call = json!({"entity_id": item});
    let waits = client.delete("delete_entity", call.clone());
    assert_eq!(waits["error"]["code"], "CONFIRMATION_REQUIRED", "{waits}");
    let id = desk.waiting()["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.post(&format!("/api/v1/approvals/{id}/approve"), &json!({})).status, 200);
    assert_eq!(desk.post(&format!("/api/v1/approvals/{id}/revoke"), &json!({})).status, 200);
    assert_eq!(desk.post(&format!("/api/v1/approvals/{id}/revoke"), &json!({})).status, 409);
    let waits = client.delete("delete_entity", call);
    assert_eq!(waits["error"]["code"], "CONFIRMATION_REQUIRED", "{waits}");
}

/// REQ-OOB-05
#[test]
fn where_nobody_can_be_asked_nothing_is_let_through() {
    let directory = data();
    let config = "[operator]\nhttp = 'off'\ndialog = false\ncommand_line = false\n";
    let mut client =
        Setup::new(directory.path()).config(config).asking().stdio(Era::Initialize("2025-06-18"));
    let item = client.new_item("one");
    let refused = client.delete("delete_entity", json!({"entity_id": item}));
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
    assert!(refused.to_string().contains("no person can be asked"), "{refused}");
    assert_eq!(client.read("get_entity", json!({"entity_id": item}))["success"], true);
}

fn script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn appears(path: &Path) -> String {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            _ => assert!(std::time::Instant::now() < deadline, "{} does not appear", path.display()),
        }
        pause();
    }
}

/// REQ-OOB-26
#[test]
fn a_command_of_the_operators_answers_by_its_exit_code() {
    for (code, answers, expected) in [(0, true, json!(true)), (1, true, json!(false))] {
        let directory = data();
        let told = directory.path().join("told.json");
        script(&directory.path().join("hook"), &format!("cat > '{}'; exit {code}", told.display()));
        let more = format!("command = ['./hook']\nanswers = {answers}\n");
        let desk = Desk::open(&asking(directory.path(), &more));
        let mut client = desk.client();
        let item = client.new_item("one");
        let deleted = client.delete("delete_entity", json!({"entity_id": item}));
        assert_eq!(deleted["success"], expected, "{code}: {deleted}");
        let told: Value = serde_json::from_str(&appears(&told)).unwrap();
        assert_eq!(
            (&told["type"], &told["approval"]["operation"]),
            (&json!("approval"), &json!("delete_entity"))
        );
        let done = desk.get("/api/v1/approvals").body["approvals"][0].clone();
        assert_eq!(done["channel"], "command", "{done}");
    }
}

#[test]
fn a_command_that_is_only_told_or_breaks_decides_nothing() {
    for (text, answers) in [("exit 0", false), ("exit 7", true), ("kill -9 $$", true)] {
        let directory = data();
        let told = directory.path().join("told");
        script(&directory.path().join("hook"), &format!("cat > '{}'; {text}", told.display()));
        let more = format!("command = ['./hook']\nanswers = {answers}\n");
        let config = format!("[safety]\nhold_seconds = 2\n{}", settings(&more));
        let desk = Desk::open(&Setup::new(directory.path()).config(&config).asking());
        let mut client = desk.client();
        let item = client.new_item("one");
        let waits = client.delete("delete_entity", json!({"entity_id": item}));
        assert_eq!(waits["error"]["code"], "CONFIRMATION_REQUIRED", "{text}: {waits}");
        appears(&told);
        assert_eq!(desk.waiting()["state"], "pending");
    }
}

/// A stand-in for the desktop's own program: it notes its arguments and waits for its end.
fn zenity(directory: &Path, then: &str) -> Setup {
    let programs = directory.join("programs");
    let shown = directory.join("shown");
    let text = format!(
        "for a in \"$@\"; do printf '%s\\n' \"$a\" >> '{0}.new'; done; echo $$ > '{0}.pid'; mv '{0}.new' '{0}'; {then}",
        shown.display()
    );
    script(&programs.join("zenity"), &text);
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    Setup::new(directory)
        .config("[operator]\nhttp = '127.0.0.1:0'\n")
        .asking()
        .env("PATH", &path)
        .env("DISPLAY", ":99")
}

/// REQ-OOB-26
#[test]
fn a_dialog_answers_and_agents_write_no_option_of_it() {
    for (code, refused) in [(0, false), (1, true)] {
        let directory = data();
        let desk = Desk::open(&zenity(directory.path(), &format!("exit {code}")));
        let hostile = "x\n--ok-label=Deny\n\u{202e}\\342";
        let deleted = desk.client().delete("delete_entity", json!({"entity_id": hostile}));
        assert_eq!(deleted["error"]["code"] == "PERMISSION_DENIED", refused, "{deleted}");
        let shown = appears(&directory.path().join("shown"));
        let lines: Vec<&str> = shown.lines().collect();
        for option in ["--question", "--no-markup", "--default-cancel", "--ok-label=Approve"] {
            assert_eq!(lines.iter().filter(|line| **line == option).count(), 1, "{option} in {shown}");
        }
        assert!(!shown.contains('\u{202e}') && !lines.contains(&"--ok-label=Deny"), "{shown}");
    }
}

#[test]
fn a_dialog_ends_when_somebody_else_has_answered() {
    let directory = data();
    let desk = Desk::open(&zenity(directory.path(), "sleep 600"));
    let mut client = desk.client();
    let item = client.new_item("one");
    let deleting = delete_in_background(client, item);
    appears(&directory.path().join("shown"));
    let pid = appears(&directory.path().join("shown.pid")).trim().to_owned();
    let id = desk.waiting()["id"].as_str().unwrap().to_owned();
    let answered = operator(directory.path(), &["approve", &id[..9]]);
    assert!(answered.status.success(), "{}", text(&answered));
    assert_eq!(deleting.join().unwrap()["success"], true);
    let deadline = std::time::Instant::now() + PATIENCE;
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(std::time::Instant::now() < deadline, "the dialog is still open");
        pause();
    }
}
