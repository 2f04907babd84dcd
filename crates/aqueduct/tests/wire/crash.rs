//! kill -9 at any moment, several processes on one directory, and data that cannot be used.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{Client, Era, Process, Setup, WIRES, data, wait_for};

fn names(client: &mut Client) -> Vec<String> {
    let mut names = Vec::new();
    let mut params = json!({"first": 100, "fields": ["entity_name"]});
    loop {
        let page = client.read("list_entities", params.clone())["data"].clone();
        names.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["entity_name"].as_str().unwrap().to_owned()),
        );
        if page["pageInfo"]["hasNextPage"] == false {
            return names;
        }
        params["after"] = page["pageInfo"]["endCursor"].clone();
    }
}

#[test]
fn every_acknowledged_write_survives_kill_9() {
    let directory = data();
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..6 {
        let mut client = Setup::new(directory.path()).stdio(Era::Initialize("2025-06-18"));
        let kept = names(&mut client);
        for name in &acknowledged {
            assert!(kept.contains(name), "round {round}: '{name}' was acknowledged and is gone");
        }
        let pid = client.stdio().process.child.id().to_string();
        let killer = std::thread::spawn(move || {
            wait_for(Duration::from_millis(20 + 37 * round));
            assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        });
        // Several are always under way, so that the kill meets writes in every state.
        let mut asked = 0;
        'writing: loop {
            for _ in 0..8 {
                let name = format!("r{round}n{asked}");
                let params = json!({"name": "mcp_aql_create", "arguments": {"operation": "create_entity", "params": {
                    "entity_name": name, "entity_type": "item", "description": "d"}}});
                let frame = json!({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params});
                if !client.stdio().try_send(frame.to_string().as_bytes()) {
                    break 'writing;
                }
                asked += 1;
            }
            for _ in 0..8 {
                match client.stdio().try_next() {
                    Some(answer)
                        if answer["result"]["content"][0]["text"]
                            .as_str()
                            .unwrap()
                            .contains("\"success\":true") =>
                    {
                        acknowledged.push(answer["id"].as_str().unwrap().to_owned());
                    }
                    Some(answer) => panic!("{answer}"),
                    None => break 'writing,
                }
            }
        }
        killer.join().unwrap();
    }
    assert!(acknowledged.len() > 10, "only {} writes were acknowledged", acknowledged.len());
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let kept = names(&mut client);
    assert!(acknowledged.iter().all(|name| kept.contains(name)));
}

#[test]
fn several_processes_share_one_directory() {
    let directory = data();
    let done = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|process| {
                let setup = Setup::new(directory.path());
                scope.spawn(move || {
                    let mut client = setup.stdio(Era::Initialize("2025-06-18"));
                    for n in 0..40 {
                        client.new_item(&format!("p{process}n{n}"));
                    }
                })
            })
            .collect();
        let reader = {
            let (setup, done) = (Setup::new(directory.path()), Arc::clone(&done));
            scope.spawn(move || {
                let mut client = setup.stdio(Era::Stateless);
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let now = names(&mut client).len();
                    assert!(now >= last, "entities went missing");
                    last = now;
                }
            })
        };
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let mut all = names(&mut client);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 120);
}

fn refused_start(directory: &Path, data: &Path) -> String {
    let mut command = Setup::new(directory).command(&["--stdio"]);
    command.arg("--data").arg(data);
    let mut process = Process::start(command);
    assert_eq!(process.wait().code(), Some(4));
    process.stderr_with("data directory")
}

#[test]
fn data_that_cannot_be_used_is_told_and_left_as_it_is() {
    let directory = data();
    let file = directory.path().join("a-file");
    std::fs::write(&file, "not a directory").unwrap();
    refused_start(directory.path(), &file);

    let damaged = directory.path().join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    let bytes = vec![0x5A; 8192];
    std::fs::write(damaged.join("entities.db"), &bytes).unwrap();
    let told = refused_start(directory.path(), &damaged);
    assert!(told.contains("damaged"), "{told}");
    assert_eq!(std::fs::read(damaged.join("entities.db")).unwrap(), bytes);
}

#[test]
fn a_full_workspace_refuses_writes_and_keeps_what_it_has() {
    let directory = data();
    let config = "[store]\nmax_database_bytes = 1048576\n";
    let mut client = Setup::new(directory.path()).config(config).connect(WIRES[0]);
    let id = client.new_item("First");
    let mut created = Vec::new();
    let refusal = loop {
        let name = format!("Fill{}", created.len());
        let params = json!({"entity_name": name, "entity_type": "item", "description": "d", "metadata": {"pad": "x".repeat(50_000)}});
        let answer = client.create("create_entity", params);
        if answer["success"] == false {
            break answer;
        }
        created.push(answer["data"]["entity_id"].as_str().unwrap().to_owned());
        assert!(created.len() < 1000);
    };
    assert_eq!(refusal["error"]["code"], "INTERNAL_ERROR");
    let message = refusal["error"]["message"].as_str().unwrap();
    assert!(message.contains("full") || message.contains("space"), "{message}");
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["success"], true);
    assert_eq!(names(&mut client).len(), created.len() + 1);
    for id in created.iter().take(6) {
        assert_eq!(client.delete("delete_entity", json!({"entity_id": id}))["success"], true);
    }
    let after: Value = client
        .create("create_entity", json!({"entity_name": "Again", "entity_type": "item", "description": "d"}));
    assert_eq!(after["success"], true, "{after}");
}
