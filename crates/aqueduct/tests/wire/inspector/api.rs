//! What is asked over HTTP.

use std::{os::unix::fs::PermissionsExt, sync::Arc};

use gateway::store::traces::Packed;

use super::{recorded::finished, *};
use crate::{
    harness::{Client, Era, Setup, data},
    operator::{Answer, Desk, settings},
    upstreams::{Place, answered},
};

fn ids<'a>(answer: &'a Answer, list: &str, key: &str) -> Vec<&'a str> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body[list].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap()).collect()
}

/// REQ-IUI-01 REQ-IUI-06 REQ-ISESS-02
#[test]
fn sessions_are_listed_filtered_paged_and_opened() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    assert_eq!(ids(&desk.get("/api/v1/sessions"), "sessions", "session_id"), Vec::<&str>::new());
    let mut beta = served(2);
    beta.engine = Engine::Temporal;
    beta.attributes.insert(names::AGENT.to_owned(), json!("beta"));
    let root = served(3);
    let called = call(4, &root, "srv-b");
    writer(directory.path()).append(&spans([served(1), beta, root, called]), now()).unwrap();
    let list = |query: &str| {
        let answer = desk.get(&format!("/api/v1/sessions{query}"));
        ids(&answer, "sessions", "session_id").join(" ")
    };
    assert_eq!(list(""), "r-3 r-2 r-1");
    assert_eq!(list("?agent=beta"), "r-2");
    assert_eq!(list("?engine=temporal"), "r-2");
    assert_eq!(list("?engine=inbound&agent=alpha"), "r-3 r-1");
    assert_eq!(list("?server=srv-b"), "r-3");
    assert_eq!(list("?q=search%5Fcode&limit=9999"), "r-3 r-2 r-1");
    assert_eq!(list("?q=r%2D2"), "r-2");
    let first = desk.get("/api/v1/sessions?limit=2");
    let cursor = first.body["cursor"].as_str().unwrap();
    assert_eq!(list(&format!("?limit=2&cursor={cursor}")), "r-1");
    let row = &first.body["sessions"][1];
    for (key, value) in [
        ("engine", json!("temporal")),
        ("status", json!("ok")),
        ("title", json!("tools/call search_code")),
        ("duration_us", json!(500_000)),
        ("span_count", json!(1)),
        ("error_count", json!(0)),
        ("principal", Value::Null),
        ("tags", json!([])),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    let session = desk.get("/api/v1/sessions/r-3");
    assert_eq!(session.body["session"]["span_count"], 2);
    assert_eq!(ids(&session, "spans", "kind"), ["server", "client"]);
    for (wrong, status) in [
        ("?limit=0", 400),
        ("?limit=x", 400),
        ("?engine=banana", 400),
        ("?status=Ok", 400),
        ("?cursor=x", 400),
        ("?unknown=1", 400),
        ("?agent=a&agent=b", 400),
        ("?agent=%ff", 400),
        ("?since_us=1.5", 400),
        ("/r-9", 404),
        ("/r-3?x=1", 400),
    ] {
        let answer = desk.get(&format!("/api/v1/sessions{wrong}"));
        assert_eq!(answer.status, status, "{wrong}");
        assert!(answer.body["error"]["message"].is_string());
    }
}

#[test]
fn traces_spans_operations_and_searches_are_answered() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let mut appender = writer(directory.path());
    let root = served(1);
    let mut called = call(2, &root, "srv-b");
    called.status = Status::Error;
    called.attributes.insert(names::ERROR_CODE.to_owned(), json!("TIMEOUT"));
    called.attributes.insert(names::INPUT.to_owned(), json!("{\"query\":\"whale\"}"));
    appender.append(&spans([root.clone(), called.clone()]), now()).unwrap();
    let trace = desk.get(&format!("/api/v1/traces/{}", root.trace));
    assert_eq!(ids(&trace, "spans", "span_id"), [root.id.to_string(), called.id.to_string()]);
    assert_eq!((&trace.body["truncated"], &trace.body["trace_id"]), (&json!(false), &json!(root.trace)));
    assert!(trace.body["spans"][0].get("attributes").is_none());
    let full = desk.get(&format!("/api/v1/traces/{}?full=1", root.trace));
    assert_eq!(full.body["spans"][1]["attributes"][names::ERROR_CODE], "TIMEOUT");
    let one = desk.get(&format!("/api/v1/traces/{}/spans/{}", called.trace, called.id));
    let span = &one.body["span"];
    assert_eq!(
        (&span["peer"], &span["error"], &span["parent_id"]),
        (&json!("srv-b"), &json!("TIMEOUT"), &json!(root.id))
    );
    assert!(span["started_us"].is_i64() && span["events"].is_array() && span["links"].is_array());
    assert_eq!(
        ids(&desk.get("/api/v1/operations?operation=search_code"), "operations", "session_id"),
        ["r-1"]
    );
    assert_eq!(ids(&desk.get("/api/v1/operations?server=srv-b"), "operations", "session_id"), ["r-1"]);
    assert!(ids(&desk.get("/api/v1/operations?status=running"), "operations", "session_id").is_empty());
    let lagging = desk.get("/api/v1/search?q=whale");
    assert_eq!((lagging.body["index_lag"].clone(), lagging.body["spans"].clone()), (json!(2), json!([])));
    while appender.index_some(100).unwrap() > 0 {}
    let found = desk.get("/api/v1/search?q=whale+timeout");
    assert_eq!(
        (ids(&found, "spans", "span_id"), &found.body["index_lag"]),
        (vec![called.id.to_string().as_str()], &json!(0))
    );
    for (wrong, status) in [
        ("/api/v1/traces/xyz", 400),
        ("/api/v1/traces/00000000000000000000000000000001", 404),
        (&format!("/api/v1/traces/{}?full=yes", root.trace) as &str, 400),
        (&format!("/api/v1/traces/{}?as=rows", root.trace), 200),
        (&format!("/api/v1/traces/{}?as=cells", root.trace), 400),
        (&format!("/api/v1/traces/{}?as=columns&full=1", root.trace), 400),
        ("/api/v1/traces/00000000000000000000000000000001?as=columns", 404),
        (&format!("/api/v1/traces/{}/spans/00", root.trace), 400),
        (&format!("/api/v1/traces/{}/spans/0000000000000001", root.trace), 404),
        ("/api/v1/search", 400),
        ("/api/v1/operations?min_duration_us=soon", 400),
    ] {
        assert_eq!(desk.get(wrong).status, status, "{wrong}");
    }
}

/// A trace of very many spans comes whole, packed for who asks for that.
#[test]
fn a_long_trace_is_streamed_whole() {
    const SPANS: u64 = 20_000;
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let root = served(1);
    let called = (2..=SPANS).map(|number| call(number, &root, "srv-b"));
    writer(directory.path()).append(&spans([root.clone()].into_iter().chain(called)), now()).unwrap();
    let path = format!("/api/v1/traces/{}", root.trace);
    let plain = desk.get(&path);
    assert_eq!(plain.body["spans"].as_array().unwrap().len() as u64, SPANS);
    let bearer = format!("Bearer {}", desk.key);
    let packed = crate::operator::bytes(
        &desk.address,
        &path,
        &[("authorization", &bearer), ("accept-encoding", "gzip")],
    );
    assert_eq!(packed.headers["content-encoding"], "gzip");
    assert!(packed.body.len() * 5 < plain.body.to_string().len(), "{}", packed.body.len());
    assert_eq!(packed.body[..2], [0x1f, 0x8b]);

    let columns =
        crate::operator::bytes(&desk.address, &format!("{path}?as=columns"), &[("authorization", &bearer)]);
    assert_eq!(columns.headers["content-type"], "application/jsonl");
    assert!(columns.body.len() * 5 < plain.body.to_string().len(), "{}", columns.body.len());
    let lines: Vec<Value> = std::str::from_utf8(&columns.body)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (end, blocks) = lines.split_last().unwrap();
    assert_eq!(*end, json!({"trace_id": root.trace, "truncated": false}));
    let starts = |block: &Value| block["started_us"].as_array().unwrap().len() as u64;
    assert_eq!(blocks.iter().map(starts).sum::<u64>(), SPANS);
    assert_eq!(blocks[0]["trace_id"], json!(root.trace));
}

/// REQ-IUI-02
#[test]
fn servers_graph_tokens_and_health_are_told() {
    let directory = data();
    let setup = Setup::new(directory.path()).config(&settings("")).env("MCP_SERVER_ID", "alpha");
    let desk = Desk::open(&setup);
    let root = served(1);
    let calls: Vec<_> = (2..12).map(|number| call(number, &root, "srv-b")).collect();
    // The other side of one call, reported by that server itself.
    let mut there = served(50);
    (there.trace, there.parent) = (root.trace, Some(calls[0].id));
    there.attributes.insert(names::AGENT.to_owned(), json!("b"));
    writer(directory.path()).append(&spans([root.clone(), there].into_iter().chain(calls)), now()).unwrap();
    let servers = desk.get("/api/v1/servers");
    let server = &servers.body["servers"][0];
    assert_eq!(
        (&server["server"], &server["calls"], &server["p95_us"]),
        (&json!("srv-b"), &json!(10), &json!(500_000))
    );
    assert_eq!((&server["state"], &server["held"]), (&Value::Null, &json!(0)));
    let details = desk.get("/api/v1/servers/srv-b");
    assert_eq!(details.body["operations"][0]["operation"], "search_code");
    assert_eq!(
        (details.body["latency"][0]["calls"].clone(), details.body["drift"].clone()),
        (json!(10), json!([]))
    );
    assert_eq!(desk.get("/api/v1/servers/nobody").status, 404);
    assert_eq!(desk.get("/api/v1/servers?since_us=9999999999999999").body["servers"], json!([]));
    let graph = desk.get("/api/v1/graph").body;
    let edges = graph["edges"].as_array().unwrap().iter();
    let edges: Vec<_> =
        edges.map(|edge| (edge["from"].as_str().unwrap(), edge["to"].as_str().unwrap())).collect();
    assert_eq!(
        edges,
        [("agent:alpha", "agent:b"), ("agent:alpha", "server:srv-b"), ("client:desktop", "agent:alpha")]
    );
    let tokens = desk.get("/api/v1/tokens").body;
    assert!(tokens["ours"].is_object() && tokens["calls"].is_array() && tokens["servers"].is_array());
    #[cfg(feature = "tokens")]
    assert!(tokens["ours"]["tools_list_tokens"].as_u64().unwrap() > 100, "{tokens}");
    let health = desk.get("/api/v1/health").body;
    for (key, value) in [("status", json!("ok")), ("role", json!("operator")), ("server_id", json!("alpha"))]
    {
        assert_eq!(health[key], value, "{health}");
    }
    assert_eq!(
        (&health["store"]["spans"], &health["listeners"]["operator"]),
        (&json!(12), &json!(desk.address))
    );
    let kept =
        ["keep_days", "keep_bytes", "reported_bytes", "days"].map(|name| health["store"][name].clone());
    assert_eq!(kept, [json!(14), json!(2_u64 << 30), json!(0), json!(1)], "{health}");
    assert!(
        health["store"]["index_lag"].is_u64() && health["store"]["bytes"].as_u64().unwrap() > 0,
        "{health}"
    );
}

#[test]
fn who_only_looks_sees_everything_that_is_no_secret_and_does_nothing() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let file = data_of(directory.path()).join("viewer.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_ne!(key, desk.key);
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    for path in [
        "health",
        "sessions",
        "operations",
        "servers",
        "graph",
        "approvals",
        "blocks",
        "challenges",
        "audit",
        "openapi.json",
    ] {
        let answer = desk.send("GET", &format!("/api/v1/{path}"), &headers, b"");
        assert_eq!(answer.status, 200, "{path}");
    }
    assert_eq!(desk.send("GET", "/api/v1/health", &headers, b"").body["role"], "viewer");
    for path in [
        "sessions/r-1/cancel",
        "operations/0000000000000001/cancel",
        "approvals/appr_x/approve",
        "approvals/appr_x/token",
        "challenges/x/reveal",
        "blocks/x/unblock",
        "nothing",
    ] {
        let answer = desk.send("POST", &format!("/api/v1/{path}"), &headers, b"{}");
        assert_eq!((answer.status, &answer.body["error"]["code"]), (403, &json!("FORBIDDEN")), "{path}");
    }
    for method in ["PUT", "DELETE", "PATCH"] {
        assert_eq!(desk.send(method, "/api/v1/sessions", &headers, b"").status, 403, "{method}");
    }
}

/// What does not run cannot be cancelled, and that is said.
#[test]
fn cancelling_what_does_not_run_is_told() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    writer(directory.path()).append(&spans([served(1)]), now()).unwrap();
    assert_eq!(desk.post("/api/v1/operations/0000000000000001/cancel", &json!({})).status, 404);
    assert_eq!(desk.post("/api/v1/operations/x/cancel", &json!({})).status, 400);
    let session = desk.post("/api/v1/sessions/r-1/cancel", &json!({}));
    assert_eq!((session.status, &session.body["cancelled"]), (200, &json!(0)));
    assert_eq!(desk.post("/api/v1/sessions/r-9/cancel", &json!({})).status, 404);
    assert_eq!(desk.get("/api/v1/sessions/r-1/cancel").status, 405);
}

/// What is configured and what was called from here is told as it was recorded here, whoever says what.
#[test]
fn reports_change_no_figure_of_our_servers_and_rows_name_client_and_server() {
    let known = "tools.echo.danger = \"safe\"\n";
    let place = Place::new().stdio("near", &[], known).stdio("far", &[], known).lines(&settings(""));
    let desk = Desk::open(&place.setup());
    let mut client = Client::http(Arc::clone(&desk.server), Era::Initialize("2025-06-18"));
    place.wait_for(&mut client, &["near", "far"]);
    answered(&mut client, "near_echo", json!({"text": "hello"}));
    finished(place.path(), "tools/call near_echo", 1);
    let told = |path: &str| {
        let mut servers = desk.get(path).body["servers"].clone();
        // How a server is at the moment is nothing that was counted.
        servers.as_array_mut().unwrap().iter_mut().for_each(|server| server["state"] = Value::Null);
        servers
    };
    let before = told("/api/v1/servers");
    let names = |servers: &Value| -> Vec<(String, bool)> {
        let servers = servers.as_array().unwrap().iter();
        servers.map(|one| (one["server"].as_str().unwrap().to_owned(), one["reported"] == true)).collect()
    };
    let ours = |name: &str| (name.to_owned(), false);
    assert_eq!(names(&before), [ours("far"), ours("near")]);
    let said = ["near", "far", "invented"].map(|peer| {
        let mut said = call(90, &served(91), peer);
        said.id = SpanId(*b"reported");
        said.trace = TraceId(std::array::from_fn(|place| peer.as_bytes().get(place).copied().unwrap_or(1)));
        said.status = Status::Error;
        said.ended = Some(said.started + 3600 * SECOND);
        Packed::of(&said)
    });
    let batch = Batch { reported: said.to_vec(), ..Batch::default() };
    writer(place.path()).append(&batch, now()).unwrap();
    let after = told("/api/v1/servers");
    assert_eq!(names(&after), [ours("far"), ("invented".to_owned(), true), ours("near")]);
    assert_eq!((&after[0], &after[2]), (&before[0], &before[1]), "as it was recorded here");
    assert_eq!(desk.get("/api/v1/servers/far").body["server"]["errors"], 0);
    assert_eq!(desk.get("/api/v1/servers/invented").body["server"]["reported"], true);
    let near = desk.get("/api/v1/servers/near").body;
    assert_eq!(near["latency_width_us"], 10_000_000, "a plot of what was just called is fine");

    let rows = desk.get("/api/v1/operations?server=near").body;
    let row =
        rows["operations"].as_array().unwrap().iter().find(|row| row["operation"] == "near_echo").unwrap();
    let name = row["client"].as_str().unwrap();
    assert_eq!((&row["server"], name.is_empty()), (&json!("near"), false), "{row}");
    let sessions = desk.get(&format!("/api/v1/sessions?agent={name}")).body;
    assert!(sessions["sessions"].as_array().unwrap().iter().all(|row| row["client"] == name), "{sessions}");
    let session = desk.get(&format!("/api/v1/sessions/{}", row["session_id"].as_str().unwrap())).body;
    assert_eq!(session["session"]["client"], name);
}
