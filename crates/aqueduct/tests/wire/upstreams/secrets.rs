//! Secrets go to the server that needs them, and nowhere else.

use std::fs;

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, answered, call, echoes, refused, wait_until};
use crate::harness::{Client, Link};

const SECRETS: [(&str, &str); 6] = [
    ("IN_ENV", "s3cr3t-in-env-1"),
    ("IN_ARGS", "s3cr3t-in-args-2"),
    ("IN_HEADER", "s3cr3t-in-header-3"),
    ("IN_TOKEN", "s3cr3t-in-token-4"),
    ("IN_URL", "s3cr3t-in-url-5"),
    ("IN_COMMAND", "s3cr3t-in-command-6"),
];

fn stderr(client: &Client) -> String {
    match &client.link {
        Link::Stdio(link) => link.process.stderr.lock().unwrap().clone(),
        Link::Http(link) => link.server.process.lock().unwrap().stderr.lock().unwrap().clone(),
    }
}

fn holds_none(what: &str, text: &str) {
    for (name, secret) in SECRETS {
        assert!(!text.contains(secret), "the secret {name} is in {what}: {text}");
    }
}

fn files(directory: &std::path::Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((
                path.display().to_string(),
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            ));
        }
    }
}

/// Servers print what they were given when they fail, so this one does.
#[test]
fn secrets_are_neither_in_answers_nor_in_logs_nor_in_what_is_kept() {
    for wire in CLIENTS {
        let place = Place::new();
        let wanted = place.path().join("wanted");
        fs::write(&wanted, SECRETS[3].1).unwrap();
        let remote =
            Remote::start(&place, "remote", &["--era", "initialize", "--bearer", wanted.to_str().unwrap()]);
        let more = "[upstream.process.env]\nAPI_KEY = \"${IN_ENV}\"";
        let place = place
            .stdio(
                "process",
                &["--token", "${IN_ARGS}", "--says", "starting with ${IN_ENV} and ${IN_ARGS}"],
                more,
            )
            .http(
                "remote",
                &format!("{}?key=${{IN_URL}}", remote.url),
                "bearer_env = \"IN_TOKEN\"\n[upstream.remote.headers]\nX-Key = \"${IN_HEADER}\"",
            )
            .http(
                "dead",
                "http://127.0.0.1:9/mcp?key=${IN_URL}",
                "bearer_command = [\"echo\", \"s3cr3t-in-command-6\"]",
            )
            .stdio(
                "broken",
                &[
                    "--dies-on",
                    "server/discover",
                    "--dies-on",
                    "initialize",
                    "--says",
                    "error: bad key ${IN_ENV}",
                ],
                "[upstream.broken.env]\nAPI_KEY = \"${IN_ENV}\"",
            );
        let mut setup = place.setup().env("RUST_LOG", "trace");
        for (name, secret) in SECRETS {
            setup = setup.env(name, secret);
        }
        let mut client = setup.connect(wire);
        place.wait_for(&mut client, &["process", "remote"]);
        echoes(&mut client, "process");
        echoes(&mut client, "remote");
        wait_until("both are kept", || Some((place.catalogue("process")?, place.catalogue("remote")?)));
        let mut answers: Vec<Value> = vec![call(&mut client, "process_die", json!({"words": "disk full"}))];
        fs::write(&wanted, "another").unwrap();
        answers.push(refused(&mut client, "remote_echo", json!({"text": "x"})));
        answers.push(answered(&mut client, "introspect", json!({"query": "operations"})));
        for answer in &answers {
            holds_none("an answer", &answer.to_string());
        }
        let log = stderr(&client);
        assert!(log.contains("DEBUG"), "nothing is logged: {log}");
        holds_none(&format!("the log over {wire:?}"), &log);
        let mut kept = Vec::new();
        files(&place.path().join("data"), &mut kept);
        assert!(kept.iter().any(|(path, _)| path.ends_with("upstreams/process.json")), "{kept:?}");
        for (path, text) in kept {
            holds_none(&path, &text);
        }
    }
}
