//! The Inspector's pages in a real browser, where `AQUEDUCT_TEST_SERVERS` names what `tests/servers/install` installed.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
};

use serde_json::{Value, json};

use super::recorded::finished;
use crate::{
    harness::{Client, Era, HttpServer, stateless_meta},
    operator::{address, key_of, settings},
    upstreams::{Place, answered, call},
};

/// A browser and what drives it.
struct Browser {
    modules: PathBuf,
    chromium: String,
}

impl Browser {
    /// `None` where there is none, and why is told.
    fn installed() -> Option<Self> {
        let Some(directory) = std::env::var_os("AQUEDUCT_TEST_SERVERS") else {
            eprintln!("skipped: AQUEDUCT_TEST_SERVERS does not name what 'tests/servers/install' installed");
            return None;
        };
        let text = std::fs::read_to_string(Path::new(&directory).join("servers.json")).unwrap();
        let servers: Value = serde_json::from_str(&text).unwrap();
        let Some(args) = servers["mcpServers"]["playwright"]["args"].as_array() else {
            eprintln!("skipped: playwright is not installed");
            return None;
        };
        let args: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap()).collect();
        let flag = args.iter().position(|arg| *arg == "--executable-path").unwrap();
        let modules = Path::new(args[0]).parent().unwrap().to_owned();
        Some(Self { modules, chromium: args[flag + 1].to_owned() })
    }

    fn command(&self, page: &Page, scene: &str) -> Command {
        self.drive(&page.address, &page.key, scene)
    }

    fn drive(&self, address: &str, key: &str, scene: &str) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/pages/drive.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(&self.modules).args([self.chromium.as_str(), address, key, scene]);
        // Where pictures are wanted, as for the documents.
        command.args(std::env::var_os("AQUEDUCT_SHOTS"));
        command
    }

    fn plays(&self, page: &Page, scene: &str, traces: &Value) {
        let output = self.command(page, scene).env("TRACES", traces.to_string()).output().unwrap();
        succeeded(&output);
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A gateway with a server behind it, and where its page is.
struct Page {
    place: Place,
    server: Arc<HttpServer>,
    address: String,
    key: String,
}

impl Page {
    fn open() -> Self {
        let place = Place::new().stdio("near", &["--era", "initialize"], "").lines(&settings(""));
        let server = place.setup().asking().http();
        let (address, key) = (address(&server.welcome), key_of(place.path()));
        Self { place, server, address, key }
    }

    fn client(&self) -> Client {
        Client::http(Arc::clone(&self.server), Era::Stateless)
    }

    fn echoes(&self, text: &str) {
        answered(&mut self.client(), "near_echo", json!({"text": text}));
    }
}

/// REQ-IUI-04
#[test]
fn a_form_of_a_server_is_filled_in_on_the_page() {
    let Some(browser) = Browser::installed() else { return };
    let page = Page::open();
    page.place.wait_for(&mut page.client(), &["near"]);
    let question = json!({"message": "Where shall it go?", "requestedSchema": {
        "type": "object",
        "properties": {
            "street": {"type": "string", "title": "Street", "description": "With its number"},
            "boxes": {"type": "integer", "title": "Boxes", "minimum": 1, "maximum": 9},
            "size": {"type": "string", "title": "Size", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "days": {"type": "array", "title": "Days", "items": {"anyOf": [
                {"const": "mo", "title": "Monday"}, {"const": "tu", "title": "Tuesday"}]}},
            "express": {"type": "boolean", "title": "Express", "default": true},
        },
        "required": ["street"],
    }});
    // The client is asked by its call's answer, so that nobody's patience ends while the page is looked at.
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}, "url": {}}});
    let asks = |question: &Value| {
        let params = json!({"method": "elicitation/create", "question": question.to_string()});
        let arguments = json!({"operation": "near_ask", "params": params});
        json!({"name": "mcp_aql", "arguments": arguments, "_meta": meta})
    };
    let mut client = page.client();
    let mut params = asks(&question);
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let viewer = std::fs::read_to_string(page.place.path().join("data/viewer.key")).unwrap();
    succeeded(&browser.command(&page, "input").env("VIEWER", viewer.trim()).output().unwrap());
    let expected =
        json!({"street": "Low Street 7 \u{202e}", "boxes": 3, "size": "l", "days": ["tu"], "express": false});
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"question": {"action": "decline"}});
    let answer = client.request("tools/call", params)["result"]["content"][0]["text"].clone();
    let answer: Value = serde_json::from_str(answer.as_str().unwrap()).unwrap();
    assert_eq!(answer["data"]["said"], json!({"action": "accept", "content": expected}), "{answer}");

    // An address waits for its client, and is nothing but text here.
    let address =
        json!({"mode": "url", "message": "Sign in", "url": "javascript:alert(1)", "elicitationId": "1"});
    let asked = client.request("tools/call", asks(&address));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    browser.plays(&page, "address", &json!([]));
}

/// REQ-IUI-05
#[test]
fn a_resource_is_read_again_from_its_span() {
    let Some(browser) = Browser::installed() else { return };
    let notes = super::resources::Notes::open();
    let trace = notes.read();
    notes.says("as it is <b>now</b>");
    let mut command = browser.drive(&notes.address, &notes.key, "resource");
    succeeded(&command.env("TRACES", json!([trace]).to_string()).output().unwrap());
}

/// REQ-IUI-04
#[test]
fn every_page_shows_what_happened_and_a_person_answers_there() {
    let Some(browser) = Browser::installed() else { return };
    let page = Page::open();
    let mut client = page.client();
    page.place.wait_for(&mut client, &["near"]);
    for number in 0..5 {
        page.echoes(&format!("number {number}"));
    }
    page.echoes(&"long ".repeat(10_000));
    let spans = finished(page.place.path(), "tools/call near_echo", 6);
    let cut = spans.iter().find(|span| span["attributes"]["mcp.tool.input_json_truncated"] == true).unwrap();

    browser.plays(&page, "locked", &json!([]));
    browser.plays(&page, "pages", &json!([]));
    browser.plays(&page, "trace", &json!([[cut["trace_id"], "cut to"]]));

    // Live: the call is made once the page listens.
    let mut live =
        browser.command(&page, "live").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(live.stdout.take().unwrap()).lines();
    let ready = lines.next().unwrap_or_else(|| Ok(String::new())).unwrap();
    page.echoes("seen at once");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let output = live.wait_with_output().unwrap();
    succeeded(&output);
    assert!(ready.contains("ready") && rest.concat().contains("done"), "{ready} {rest:?}");

    // A delete waits for a person, who approves it on the page.
    let doomed = json!({"entity_name": "doomed", "entity_type": "item", "description": "Goes"});
    let id = answered(&mut client, "create_entity", doomed)["entity_id"].clone();
    let deleting = std::thread::spawn(move || call(&mut client, "delete_entity", json!({"entity_id": id})));
    browser.plays(&page, "approve", &json!([]));
    let deleted = deleting.join().unwrap();
    assert_eq!(deleted["success"], true, "{deleted}");
}
