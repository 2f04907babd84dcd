//! Calls through a gateway, and what is recorded of them.

use std::sync::{Arc, Mutex};

use aql::{
    category::Category::Read,
    define::{Operation, Param},
    error::Error,
    registry::Registry,
    response::Data,
};
use serde_json::{Value, json};

use super::{
    open::{About, End, Entry, Failed, Inbound, Run},
    otlp::Sink as _,
    *,
};
use crate::{
    adapters::Operations,
    dispatch::{Context, Outcome, Work},
    gate::Permitted,
    pipeline::Gateway,
    serve::bytes,
    session::{LOCAL, Session, Stop, Transport},
    store::traces::{Batch, Packed},
};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<Span>, Vec<Event>)>>);

impl Sink for Kept {
    fn take(&mut self, batch: &Batch) -> Result<(), String> {
        let mut kept = self.0.lock().unwrap();
        kept.0.extend_from_slice(&batch.spans);
        kept.1.extend_from_slice(&batch.events);
        Ok(())
    }
}

struct Recorded {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    kept: Kept,
}

fn echo(permitted: Permitted, _context: Context) -> Work {
    let text = permitted.params().get("text").cloned().unwrap_or_default();
    Box::pin(async move {
        match text.as_str() {
            Some("fail") => Err(Error::not_found_resource("text", "fail")),
            Some("panic") => panic!("in {}", file!()),
            Some("wait") => {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                Ok(Outcome::from(Data::Value(json!({"said": text}))))
            }
            _ => Ok(Outcome::from(Data::Value(json!({"said": text})))),
        }
    })
}

impl Recorded {
    fn new(levels: Levels) -> Self {
        Self::with(Settings::new("alpha", levels))
    }

    fn with(settings: Settings) -> Self {
        let mut operations = Operations::new();
        let definition = Operation::new(Read, "get_echo", "Say it again")
            .param(Param::new("text", "string", "What to say").required())
            .param(Param::new("pin", "string", "A pin").sensitive());
        operations.add(definition, echo);
        let surface = operations.publish(Registry::builder("test")).unwrap();
        let kept = Kept::default();
        let recorder = Recorder::start(settings, vec![Box::new(kept.clone())], jiff::Timestamp::now).unwrap();
        let gateway = Gateway::new(surface, jiff::Timestamp::now).with_recorder(Some(recorder));
        let session = Arc::new(Session::new(Transport::Stdio, LOCAL));
        Self { gateway: Arc::new(gateway), session, kept }
    }

    async fn call(&self, params: Value) -> Value {
        let frame = json!({"jsonrpc": "2.0", "id": 42, "method": "tools/call", "params": params});
        let answer = bytes::answer(&self.gateway, &self.session, frame.to_string().as_bytes()).await.unwrap();
        serde_json::from_slice(&answer).unwrap()
    }

    async fn echo(&self, params: Value) -> Value {
        let arguments = json!({"operation": "get_echo", "params": params});
        self.call(json!({"name": "mcp_aql_read", "arguments": arguments})).await
    }

    /// Everything that was recorded. Nothing is recorded after that.
    fn all(&self) -> (Vec<Span>, Vec<Event>) {
        self.gateway.recorder().unwrap().close();
        self.kept.0.lock().unwrap().clone()
    }

    fn finished(&self) -> Vec<Span> {
        self.all().0.into_iter().filter(|span| span.ended.is_some()).collect()
    }
}

/// REQ-IATTR-02 REQ-IATTR-03 REQ-IATTR-04 REQ-IATTR-11 REQ-IATTR-12 REQ-IATTR-13 REQ-ISESS-04
#[tokio::test]
async fn a_call_is_a_span_with_everything_that_is_known_of_it() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "hello", "pin": "4711"})).await;
    let [span] = recorded.finished().try_into().unwrap();
    let text = |name: &str| span.attributes[name].as_str().unwrap().to_owned();
    assert_eq!((span.kind, span.status, span.engine), (Kind::Server, Status::Ok, Engine::Inbound));
    assert_eq!(span.name, "tools/call get_echo");
    assert_eq!(text(names::AGENT), "alpha");
    assert_eq!(text(names::TOOL), "mcp_aql_read");
    assert_eq!(text(names::OPERATION), "get_echo");
    assert_eq!(text(names::JSONRPC_VERSION), "2.0");
    assert_eq!(text(names::METHOD), "tools/call");
    assert_eq!(span.attributes[names::RPC_ID], 42);
    assert_eq!(text(names::TRANSPORT), "stdio");
    assert_eq!(text(names::TRANSPORT_STATUS), "connected");
    assert!(span.attributes[names::DURATION_MS].as_f64().unwrap() >= 0.0);
    assert!(text(names::INPUT).contains("hello") && text(names::OUTPUT).contains("hello"));
    assert!(!format!("{span:?}").contains("4711"), "what is declared sensitive is not recorded");
    assert_eq!(span.session, text(names::REQUEST_ID));
}

/// REQ-IATTR-08
#[tokio::test]
async fn every_name_is_the_inspectors_own() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "x".repeat(40_000)})).await;
    recorded.echo(json!({"text": "fail"})).await;
    for span in recorded.finished() {
        for name in span.attributes.keys() {
            assert!(name.starts_with("mcp.") || name == names::ERROR_TYPE, "{name}");
        }
    }
}

/// REQ-IATTR-07 REQ-ISESS-01 REQ-IPROP-04
#[tokio::test]
async fn ids_that_are_given_are_kept() {
    let recorded = Recorded::new(Levels::default());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let meta = json!({"X-MCP-Request-Id": "r-7", "traceparent": parent});
    let arguments = json!({"operation": "get_echo", "params": {"text": "a"}});
    recorded.call(json!({"name": "mcp_aql_read", "arguments": arguments, "_meta": meta})).await;
    // Nothing is refused for what only matters here.
    let meta = json!({"X-MCP-Request-Id": 7, "traceparent": ["x"]});
    let answer = recorded.call(json!({"name": "mcp_aql_read", "arguments": arguments, "_meta": meta})).await;
    assert_eq!(answer["result"]["isError"], false);
    let [one, other] = recorded.finished().try_into().unwrap();
    assert_eq!((one.session.as_str(), one.trace.to_string().as_str()), ("r-7", &parent[3..35]));
    assert_eq!(one.parent.unwrap().to_string(), &parent[36..52]);
    assert_eq!(other.parent, None);
    assert_eq!(other.session.len(), 32);
}

/// REQ-IEVT-01 REQ-IEVT-02 REQ-IEVT-07
#[tokio::test]
async fn who_watches_is_told_of_the_beginning_and_of_the_end_once() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "a"})).await;
    recorded.echo(json!({"text": "fail"})).await;
    let (_, events) = recorded.all();
    let of =
        |name: &str| -> Vec<Event> { events.iter().filter(|event| event.name == name).cloned().collect() };
    let (started, finished) = (of(names::event::REQUEST_STARTED), of(names::event::REQUEST_FINISHED));
    assert_eq!((started.len(), finished.len()), (2, 2));
    let told = |event: &Event| -> Value { serde_json::from_str(&event.data).unwrap() };
    assert_eq!(told(&started[0])["direction"], "inbound");
    assert_eq!(
        (&told(&finished[0])["status"], &told(&finished[1])["status"]),
        (&json!("OK"), &json!("ERROR"))
    );
    assert_eq!(told(&finished[1])["error_code"], "NOT_FOUND_RESOURCE");
    assert!(started.iter().zip(&finished).all(|(start, end)| start.span == end.span && start.at <= end.at));
    assert_eq!(of(names::event::SESSION_STARTED).len(), 2);
}

/// REQ-ISEC-03 REQ-IEVT-07
#[tokio::test]
async fn an_error_has_its_code_and_its_words_and_no_place_in_the_code() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "panic"})).await;
    let [span] = recorded.finished().try_into().unwrap();
    assert_eq!(span.status, Status::Error);
    assert_eq!(span.attributes[names::ERROR_CODE], "INTERNAL_ERROR");
    assert!(!span.attributes[names::ERROR_MESSAGE].as_str().unwrap().is_empty());
    let all = format!("{span:?}");
    for trace in [".rs:", "/src/", "backtrace"] {
        assert!(!all.contains(trace), "{trace}: {all}");
    }
}

/// REQ-IATTR-12 REQ-IATTR-15
#[tokio::test]
async fn what_is_known_while_a_call_runs_is_what_it_began_with() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "wait"})).await;
    let (spans, _) = recorded.all();
    let [running, ended] = spans.try_into().unwrap();
    assert_eq!((running.id, running.status, running.ended), (ended.id, Status::Running, None));
    for begins_with in [names::JSONRPC_VERSION, names::METHOD, names::RPC_ID, names::TRANSPORT] {
        assert_eq!(running.attributes[begins_with], ended.attributes[begins_with]);
    }
    for ends_with in [names::DURATION_MS, names::TRANSPORT_STATUS, names::OUTPUT] {
        assert!(!running.attributes.contains_key(ends_with) && ended.attributes.contains_key(ends_with));
    }
    assert!(ended.attributes[names::DURATION_MS].as_f64().unwrap() >= 200.0);
}

/// REQ-IPROP-08
#[test]
fn no_library_of_the_protocol_is_needed_to_inspect() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.join("trace"), source.join("inspect"), source.join("store/traces")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains(concat!("rm", "cp::")), "{}", path.display());
            }
        }
    }
    assert!(files > 30, "{files}");
}

/// What others report under the id of a call of ours does not take its place.
#[tokio::test]
async fn nobody_reports_in_our_name() {
    let recorded = Recorded::new(Levels::default());
    recorded.echo(json!({"text": "ours"})).await;
    let recorder = Arc::clone(recorded.gateway.recorder().unwrap());
    let call = tokio::spawn({
        let (gateway, session) = (Arc::clone(&recorded.gateway), Arc::clone(&recorded.session));
        async move {
            let arguments = json!({"operation": "get_echo", "params": {"text": "wait"}});
            let params = json!({"name": "mcp_aql_read", "arguments": arguments});
            let frame = json!({"jsonrpc": "2.0", "id": 43, "method": "tools/call", "params": params});
            bytes::answer(&gateway, &session, frame.to_string().as_bytes()).await
        }
    });
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    let running =
        recorded.kept.0.lock().unwrap().0.iter().find(|span| span.ended.is_none()).cloned().unwrap();
    let forged =
        Span { name: "harmless".to_owned(), status: Status::Ok, ended: Some(running.started + 1), ..running };
    recorder.report(vec![Packed::of(&forged)]).unwrap();
    call.await.unwrap();
    assert!(recorded.all().0.iter().all(|span| span.name != "harmless"));
}

/// Each call is stopped by itself, whatever the ids of their requests are.
#[tokio::test]
async fn the_call_that_is_meant_is_stopped() {
    let recorded = Recorded::new(Levels::default());
    let call = |request: &'static str| {
        let (gateway, session) = (Arc::clone(&recorded.gateway), Arc::clone(&recorded.session));
        tokio::spawn(async move {
            let arguments = json!({"operation": "get_echo", "params": {"text": "wait"}});
            let meta = json!({"X-MCP-Request-Id": request});
            let params = json!({"name": "mcp_aql_read", "arguments": arguments, "_meta": meta});
            let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let answer = bytes::answer(&gateway, &session, frame.to_string().as_bytes()).await.unwrap();
            String::from_utf8(answer).unwrap()
        })
    };
    let (first, second) = (call("first"), call("second"));
    tokio::time::sleep(std::time::Duration::from_millis(80)).await;
    assert_eq!(recorded.gateway.recorder().unwrap().stop(&Wish::Session("first".to_owned())), 1);
    assert!(first.await.unwrap().contains("operator stopped"));
    assert!(second.await.unwrap().contains("said"), "the other one goes on");
}

#[tokio::test]
async fn a_level_says_how_much_is_recorded() {
    for (level, spans, previews) in [(Level::Off, 0, 0), (Level::Metadata, 1, 0), (Level::Preview, 1, 2)] {
        let operations = vec![("get_*".to_owned(), level)];
        let recorded = Recorded::new(Levels { operations, ..Levels::default() });
        recorded.echo(json!({"text": "a"})).await;
        let finished = recorded.finished();
        assert_eq!(finished.len(), spans, "{level:?}");
        let kept = finished.iter().flat_map(|span| span.attributes.keys());
        let kept = kept.filter(|name| [names::INPUT, names::OUTPUT].contains(name));
        assert_eq!(kept.count(), previews, "{level:?}");
    }
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_keeps_nobody_waiting() {
    struct Stuck(Arc<Mutex<()>>);
    impl Sink for Stuck {
        fn take(&mut self, _batch: &Batch) -> Result<(), String> {
            drop(self.0.lock().unwrap());
            Ok(())
        }
    }
    let held = Arc::new(Mutex::new(()));
    let recorder = {
        let sink = Box::new(Stuck(Arc::clone(&held)));
        Recorder::start(Settings::default(), vec![sink], jiff::Timestamp::now).unwrap()
    };
    let span = Span {
        trace: TraceId([1; 16]),
        id: SpanId([1; 8]),
        parent: None,
        session: "s".to_owned(),
        engine: Engine::Asyncio,
        name: "n".to_owned(),
        kind: Kind::Internal,
        status: Status::Ok,
        started: 0,
        ended: Some(1),
        waited: 0,
        attributes: Attributes::new(),
        events: Vec::new(),
        links: Vec::new(),
    };
    let span = Packed::of(&span);
    let stuck = held.lock().unwrap();
    let mut refused = 0;
    for _ in 0..100_000 {
        refused += u64::from(recorder.report(vec![span.clone()]).is_err());
    }
    let counts = recorder.counts();
    assert!(refused > 0 && counts.dropped == refused, "{counts:?}");
    assert!(recorder.admits(), "who reports does not shut out calls");
    let told = || Entry::Progress { span: SpanId([2; 8]), at: 0, told: Value::Null };
    while recorder.offer(told()) {}
    assert!(!recorder.admits());
    assert_eq!(recorder.counts().dropped, refused + 2);
    drop(stuck);
    while !recorder.admits() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    recorder.close();
    assert_eq!(recorder.counts().recorded + refused, 100_000);
}

/// A request with what it has begun is over when the last of that is, and came out as the worst of it.
#[tokio::test]
async fn a_request_lasts_as_long_as_what_it_has_begun() {
    let recorded = Recorded::new(Levels::default());
    let recorder = recorded.gateway.recorder().unwrap();
    let call = OpenSpan::inbound(recorder, request(&recorded.session));
    let run = |id: &'static str, within: Option<&OpenSpan>| {
        let run = Run {
            workflow: None,
            operation: "go".to_owned(),
            id,
            input: "{}".to_owned(),
            stop: Stop::default(),
            session: &recorded.session,
            surface: recorded.gateway.surface(),
            within,
        };
        OpenSpan::run(recorder, run)
    };
    let (failing, last) = (run("failing", Some(&call)), run("last", Some(&call)));
    call.end(End::ok(Some("{}".to_owned())));
    failing.end(End::failed(Failed::of("VALIDATION_FAILED"), None));
    drop(last.waits(json!({"input_id": "1"})));
    last.end(End::ok(None));
    run("alone", None).end(End::ok(None));

    let spans = recorded.finished();
    let of = |id: &str| spans.iter().find(|span| span.attributes[names::REQUEST_ID] == id).unwrap();
    let whole = spans.iter().find(|span| span.kind == Kind::Server).unwrap();
    assert_eq!((spans.len(), whole.ended), (4, of("last").ended));
    assert_eq!(whole.status, Status::Error);
    assert_eq!(whole.attributes[names::ERROR_CODE], "VALIDATION_FAILED");
    assert!(whole.waited >= of("last").waited && whole.waited > 0, "{whole:?}");
    let answered = whole.attributes[names::ANSWERED_MS].as_f64().unwrap();
    assert!(answered <= whole.attributes[names::DURATION_MS].as_f64().unwrap());
    for (id, is_listed) in [("failing", false), ("last", false), ("alone", true)] {
        assert_eq!(Packed::of(of(id)).is_listed(), is_listed, "{id}");
        assert!(Packed::of(of(id)).is_root(), "{id} is what its session is about");
    }
    assert!(Packed::of(whole).is_listed());
}

/// A request of which nothing is known.
fn request(session: &Arc<Session>) -> Inbound<'_> {
    Inbound { rpc_id: "1", ..Inbound::new("tools/call", session) }
}

/// Other servers are told which span they are called within, and could come back with it.
#[tokio::test]
async fn who_names_a_span_of_ours_takes_nothing_of_it_away() {
    let levels = Levels { operations: vec![("get_echo".to_owned(), Level::Off)], ..Levels::default() };
    let recorded = Recorded::new(levels);
    let recorder = recorded.gateway.recorder().unwrap();
    let call =
        OpenSpan::inbound(recorder, Inbound { input: Some("{\"a\":1}"), ..request(&recorded.session) });
    let meta = format!("{{{}}}", call.sent_as(1));
    let meta: Value = serde_json::from_str(&meta).unwrap();
    let arguments = json!({"operation": "get_echo", "params": {"text": "hello"}});
    recorded.call(json!({"name": "mcp_aql_read", "arguments": arguments, "_meta": meta})).await;
    call.end(End::ok(Some("{\"b\":2}".to_owned())));
    let [span] = recorded.finished().try_into().unwrap();
    assert_eq!(
        (&span.attributes[names::INPUT], &span.attributes[names::OUTPUT]),
        (&json!("{\"a\":1}"), &json!("{\"b\":2}"))
    );
}

/// REQ-IATTR-16
#[tokio::test]
async fn whatever_is_too_long_is_cut() {
    let recorded = Recorded::new(Levels::default());
    let recorder = recorded.gateway.recorder().unwrap();
    let long = "x".repeat(90_000);
    let quoted = json!(long).to_string();
    let about = About::Tool(long.clone());
    let token = Some(quoted.as_str());
    let call = OpenSpan::inbound(
        recorder,
        Inbound { about, rpc_id: &quoted, progress_token: token, ..request(&recorded.session) },
    );
    call.progressed(json!({"progress": 1, "message": long}));
    let failed = Failed { code: "c".into(), message: long, kind: "k".into() };
    call.end(End::failed(failed, None));
    let (spans, events) = recorded.all();
    let span = spans.iter().find(|span| span.ended.is_some()).unwrap();
    for name in [names::TOOL, names::RPC_ID, names::PROGRESS_TOKEN, names::ERROR_MESSAGE] {
        assert_eq!(span.attributes[name].as_str().unwrap().len(), preview::PREVIEW_BYTES, "{name}");
        assert_eq!(span.attributes[&*format!("{name}_truncated")], true, "{name}");
    }
    let progress = span.events.iter().find(|event| event.name == names::event::PROGRESS).unwrap();
    assert_eq!(progress.attributes["message_truncated"], true);
    assert!(events.iter().all(|event| event.data.len() < 200_000), "who watches is told no more");
}

/// REQ-ISEC-05
#[tokio::test]
async fn a_callers_own_token_is_covered_wherever_it_is_repeated() {
    let bearers = crate::bearers::Bearers::default();
    let shown = http::HeaderValue::from_static("Bearer ann-token-4711");
    bearers.note("ann", &http::HeaderMap::from_iter([(http::header::AUTHORIZATION, shown)]));
    let bearers = Some(Arc::new(bearers));
    let recorded = Recorded::with(Settings { bearers, ..Settings::new("alpha", Levels::default()) });
    let recorder = recorded.gateway.recorder().unwrap();
    let about = About::Resource("note://err/ann-token-4711".to_owned());
    let call = OpenSpan::inbound(
        recorder,
        Inbound { about, input: Some("{\"a\":\"ann-token-4711\"}"), ..request(&recorded.session) },
    );
    call.progressed(json!({"progress": 1, "message": "got ann-token-4711"}));
    let failed = Failed { code: "c".into(), message: "ann-token-4711".into(), kind: "k".into() };
    call.end(End::failed(failed, Some("\"ann-token-4711\"".to_owned())));
    let kept = format!("{:?}", recorded.all());
    assert!(!kept.contains("4711") && kept.contains("note://err/"), "{kept}");
}
