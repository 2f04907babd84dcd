//! Reaching the operator's side through the servers behind us.

use serde_json::{Value, json};

use crate::{
    confirmation::{events, operator},
    harness::Client,
    upstreams::{Place, call},
};

const MORE: &str = "[upstream.up.tools.echo]\ndanger = \"safe\"\n\
    [operator.webhook.phone]\nurl = \"http://127.0.0.1:9/\"\nsecret_file = \"geh\u{e9}im.key\"\n";

/// Every way that an agent might spell what is ours, through a server that would do anything.
#[test]
fn no_spelling_of_our_files_or_addresses_reaches_another_server() {
    let place = Place::new().stdio("up", &[], MORE);
    std::fs::write(place.path().join("geh\u{e9}im.key"), "0123456789abcdef0123456789abcdef").unwrap();
    let server = place.setup().http();
    let mut client = Client::http(server.clone(), crate::harness::Era::Initialize("2025-11-25"));
    place.wait_for(&mut client, &["up"]);
    let data = place.path().canonicalize().unwrap().join("data");
    let data = data.display().to_string();
    let port = server.url.split(':').nth(2).unwrap().split('/').next().unwrap();
    let link = place.path().join("innocent");
    std::os::unix::fs::symlink(&data, &link).unwrap();
    let spellings = [
        format!("{data}/operator.key"),
        format!("{data}//./safety.db"),
        format!("{data}/../data/operator.key"),
        format!("/proc/self/root{data}/operator.key"),
        format!("file://{data}/operator.key"),
        format!("file://localhost{}/safety.db", data.replace('d', "%64")),
        format!("cat {data}/operator.key | base64"),
        format!("{}/operator.key", link.display()),
        "http://127.0.0.1:7172/api/v1/approvals".to_owned(),
        "http://localhost:7172/".to_owned(),
        "http://[::1]:7172/".to_owned(),
        "http://0x7f.1:7172/".to_owned(),
        "http://2130706433:7172/".to_owned(),
        "HTTP://user:pass@LOCALHOST.:7172/".to_owned(),
        format!("http://127.0.0.1:{port}/mcp"),
        "/proc/self/environ".to_owned(),
        "data/operator.key".to_owned(),
        "any/data/operator.key".to_owned(),
        format!("{}/geh\u{e9}im.key", place.path().display()),
        format!("{}/gehe\u{301}im.key", place.path().display()),
        format!("http://127.0.0.1:{port}/?{}", "a".repeat(9_000)),
        format!("http://[::ffff:127.0.0.1%25lo]:{port}/"),
        format!("{{\"host\": \"127.0.0.1\", \"port\": {port}}}"),
        format!("see http://127.1:{port}/mcp for more"),
    ];
    for spelling in &spellings {
        let answer = call(&mut client, "up_echo", json!({"text": spelling}));
        assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{spelling}: {answer}");
    }
    let said = |event: &Value| event["called"] == "echo" || event["tool"] == "echo";
    assert_eq!(place.count("up", said), 0, "nothing was sent: {:?}", place.events("up"));
    let harmless = call(&mut client, "up_echo", json!({"text": "http://127.0.0.1:1/ and /etc/hosts"}));
    assert_eq!(harmless["success"], true, "{harmless}");
    let denied = events(place.path());
    assert_eq!(
        denied.iter().filter(|event| *event == "OWN_PLACE_DENIED").count(),
        20,
        "the first ten of each kind, files and addresses; the others are counted: {denied:?}"
    );
    assert!(operator(place.path(), &["verify-audit"]).status.success());
}
