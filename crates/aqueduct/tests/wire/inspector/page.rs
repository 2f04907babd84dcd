//! The Inspector's pages in a real browser, where `AQUEDUCT_TEST_SERVERS` names what `tests/servers/install` installed.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
};

use serde_json::{Value, json};

use super::recorded::{finished, is_stopped, running, stuck};
use crate::{
    harness::{Client, Era, HttpServer, Process, aqueduct, command, stateless_meta},
    operator::{address, key_of, send, settings},
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
        let known = "tools.sleep.danger = \"safe\"\n";
        let place = Place::new().stdio("near", &["--era", "initialize"], known).lines(&settings(""));
        let server = place.setup().asking().http();
        let (address, key) = (address(&server.welcome), key_of(place.path()));
        Self { place, server, address, key }
    }

    fn client(&self) -> Client {
        Client::http(Arc::clone(&self.server), Era::Stateless)
    }

    fn post(&self, path: &str) {
        let bearer = format!("Bearer {}", self.key);
        let answer = send(&self.address, "POST", path, &[("authorization", bearer.as_str())], b"");
        assert_eq!(answer.status, 200, "{}", answer.body);
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

    // Live: the call is made once the page listens, and ended once it is paused.
    let mut live =
        browser.command(&page, "live").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(live.stdout.take().unwrap()).lines();
    let mut said = |what: &str| {
        let line = lines.next().unwrap_or_else(|| Ok(String::new())).unwrap();
        line.contains(what)
    };
    let call_of = |session: &str| {
        let call = stuck(&page.server, "near_sleep", session, 1).remove(0);
        (call, running(page.place.path(), session, 1).remove(0))
    };
    if said("ready") {
        let (call, span) = call_of("live");
        if said("paused") {
            page.post(&format!("/api/v1/operations/{}/cancel", span["span_id"].as_str().unwrap()));
            is_stopped(&call.join().unwrap());
        }
    }
    let is_done = said("done");
    succeeded(&live.wait_with_output().unwrap());
    assert!(is_done);

    // A person ends one call where it is listed, and another one's session.
    let calls = [call_of("older").0, call_of("newer").0];
    let mut cancelling = browser.command(&page, "cancel");
    succeeded(&cancelling.env("SESSION", "older").output().unwrap());
    calls.into_iter().for_each(|call| is_stopped(&call.join().unwrap()));

    // A delete waits for a person, who says no or yes on the page.
    let delete = |scene: &str| {
        let mut client = page.client();
        let doomed = json!({"entity_name": scene, "entity_type": "item", "description": "Goes"});
        let id = answered(&mut client, "create_entity", doomed)["entity_id"].clone();
        let deleting =
            std::thread::spawn(move || call(&mut client, "delete_entity", json!({"entity_id": id})));
        browser.plays(&page, scene, &json!([]));
        deleting.join().unwrap()
    };
    let denied = delete("deny");
    assert_eq!(denied["error"]["code"], "PERMISSION_DENIED", "{denied}");
    let deleted = delete("approve");
    assert_eq!(deleted["success"], true, "{deleted}");
    browser.plays(&page, "audit", &json!([]));

    // The same without a server.
    let Page { place, server, key, .. } = page;
    drop((client, server));
    let mut command = command(&aqueduct(), place.path());
    command.env("AQUEDUCT_DATA", place.path().join("data"));
    command.args(["inspector", "--http", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut alone = Process::start(command);
    let mut line = String::new();
    BufReader::new(alone.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).split('/').next().unwrap();
    succeeded(&browser.drive(address, &key, "alone").output().unwrap());
}
