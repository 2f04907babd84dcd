//! What is ours is not reached through other servers.

use serde_json::{Value, json};

use super::{CLIENTS, Place, call, refused, servers};
use crate::harness::{Client, Wire};

fn denied(client: &mut Client, operation: &str, params: Value) {
    let error = refused(client, operation, params.clone());
    assert_eq!(error["code"], "PERMISSION_DENIED", "{params} {error}");
    let text = error.to_string();
    assert!(text.contains("gateway") && !text.contains("/data"), "{error}");
}

#[test]
fn our_files_and_addresses_are_denied_before_anything_is_sent() {
    for wire in CLIENTS {
        let place = Place::new().stdio("one", &[], "");
        let mut client = place.connect(wire);
        let data = place.path().join("data");
        let data = data.to_str().unwrap();
        for text in [
            format!("{data}/safety.db"),
            format!("file://{data}/operator.key"),
            format!("please read {data}/cursor.key"),
            "./data/entities.db".to_owned(),
            "data".to_owned(),
            "http://localhost:7172/".to_owned(),
        ] {
            denied(&mut client, "one_echo", json!({"text": text}));
        }
        denied(&mut client, "one_delete_thing", json!({"thing_id": place.path()}));
        if let Wire::Http(_) = wire {
            let url = client.url().replace("127.0.0.1", "LOCALHOST.");
            denied(&mut client, "one_echo", json!({"text": url}));
        }
        let sent =
            place.count("one", |event| event["event"] == "received" && event["params"]["name"] == "echo");
        assert_eq!(sent, 0);
        for text in ["notes.txt", "/etc/hostname", "50% of $5: a/b"] {
            let answer = call(&mut client, "one_echo", json!({"text": text}));
            assert_eq!(answer["success"], true, "{text} {answer}");
        }
    }
}

#[test]
fn a_real_filesystem_server_reads_everything_but_what_is_ours() {
    let Some(servers) = servers::Servers::rooted("filesystem") else { return };
    let mut client = servers.client();
    let root = servers.place.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    std::fs::write(at("notes.txt"), "hello").unwrap();
    std::fs::write(at("data/operator.key"), "secret").unwrap();
    std::os::unix::fs::symlink(at("data/operator.key"), at("harmless.txt")).unwrap();
    let config = std::fs::read_dir(&root).unwrap().find_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        (name.starts_with("config-")).then_some(name)
    });
    let config = at(&config.unwrap());
    let read = "filesystem_read_text_file";
    for path in [
        at("data/safety.db"),
        at("data/operator.key"),
        at("notes/../data/operator.key"),
        at("harmless.txt"),
        config,
        // Its own relative paths start where it is allowed to go.
        "data/operator.key".to_owned(),
        "./notes/../data/safety.db-wal".to_owned(),
        "/data/operator.key".to_owned(),
        "data:/../data/operator.key".to_owned(),
        format!("http://127.0.0.1:7172/?{}", "a".repeat(9_000)),
        "http://[::ffff:127.0.0.1%25lo]:7172/".to_owned(),
        "{\"host\": \"127.0.0.1\", \"port\": 7172}".to_owned(),
        "/proc/self/environ".to_owned(),
    ] {
        denied(&mut client, read, json!({"path": path}));
    }
    let answer = call(&mut client, read, json!({"path": at("notes.txt")}));
    assert!(answer.to_string().contains("hello"), "{answer}");
    let listed = call(&mut client, "filesystem_list_directory", json!({"path": root}));
    assert!(listed.to_string().contains("notes.txt"), "{listed}");
    let moved = json!({"source": at("data"), "destination": at("elsewhere")});
    let operation = "filesystem_move_file";
    let moved = servers::placed(&mut client, operation, moved);
    denied(&mut client, operation, moved);
}
