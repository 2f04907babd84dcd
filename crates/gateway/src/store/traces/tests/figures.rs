//! How servers did, and who called whom.

use super::{
    super::{Graph, NodeKind},
    *,
};

#[tokio::test]
async fn servers_are_summed_with_percentiles_and_errors() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let root = span(1000);
    let spans = (1..=100).map(|number| {
        let mut one = call(number, &root, if number == 100 { "other" } else { "srv-b" });
        one.started = NOW;
        one.ended = Some(NOW + number as i64 * 1_000_000);
        if number <= 3 {
            one.status = Status::Error;
        }
        if number > 50 {
            one.attributes.insert(names::TOOL.to_owned(), json!("write"));
        }
        one
    });
    let goes_on = running(call(500, &root, "srv-b"));
    store.appender().append(&batch(spans.chain([goes_on, root.clone()])), NOW).unwrap();
    let servers = store.servers(NOW - DAY).await.unwrap();
    assert_eq!(servers.iter().map(|server| server.server.as_str()).collect::<Vec<_>>(), ["other", "srv-b"]);
    let server = &servers[1];
    assert_eq!((server.calls, server.errors, server.running), (100, 3, 1));
    let percentiles = (server.p50_us, server.p95_us, server.p99_us);
    assert_eq!(percentiles, (Some(50_000), Some(95_000), Some(99_000)));
    assert!(store.servers(NOW + 501 * SECOND).await.unwrap().is_empty());
    let details = store.server("srv-b", false, NOW - DAY, NOW).await.unwrap();
    let operations: Vec<_> =
        details.operations.iter().map(|row| (row.operation.as_str(), row.calls, row.errors)).collect();
    assert_eq!(operations, [("look", 51, 3), ("write", 49, 0)]);
    assert_eq!(details.latency.iter().map(|point| point.calls).sum::<u64>(), 100);
    assert_eq!(store.server("nobody", false, 0, NOW).await.unwrap().server.calls, 0);
}

/// A question that nobody answered for ten minutes is no slow server.
#[tokio::test]
async fn waiting_for_people_is_no_time_of_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let root = span(1);
    let mut asked = call(2, &root, "srv-b");
    asked.ended = Some(asked.started + 600 * SECOND + SECOND / 4);
    asked.waited = 600 * SECOND;
    // Clocks go backwards, and reports say anything.
    let mut strange = call(3, &root, "strange");
    strange.waited = Nanos::MAX;
    let mut less = call(4, &root, "less");
    less.waited = Nanos::MIN;
    store.appender().append(&batch([root, asked, strange, less]), NOW).unwrap();
    let servers = store.servers(0).await.unwrap();
    let told: Vec<_> = servers.iter().map(|server| (server.server.as_str(), server.p95_us)).collect();
    assert_eq!(told, [("less", Some(500_000)), ("srv-b", Some(250_000)), ("strange", Some(0))]);
    let edges = store.graph(0).await.unwrap().edges;
    assert_eq!(edges.iter().find(|edge| edge.to == "server:srv-b").unwrap().p95_us, Some(250_000));
}

/// Lines of a plot do not run over what is missing, and a few minutes are more than one point of it.
#[tokio::test]
async fn latency_over_time_begins_with_the_first_call_and_has_every_point() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let at = |number: u64, seconds: Nanos| {
        let mut one = call(number, &span(1), "srv-b");
        one.started = NOW - seconds * SECOND;
        one.ended = Some(one.started + SECOND / 2);
        one
    };
    let early = call(5, &span(1), "other");
    let calls = [at(2, 295), at(3, 290), at(4, 5), Span { started: NOW - DAY / 2, ..early }];
    store.appender().append(&batch(calls), NOW).unwrap();
    let details = store.server("srv-b", false, NOW - DAY, NOW).await.unwrap();
    assert_eq!(details.latency_width_us, 10_000_000);
    let starts: Vec<_> = details.latency.iter().map(|point| point.at_us).collect();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == details.latency_width_us), "{starts:?}");
    assert_eq!((starts[0], *starts.last().unwrap()), ((NOW - 300 * SECOND) / 1000, NOW / 1000));
    let calls: Vec<_> = details.latency.iter().map(|point| point.calls).collect();
    assert_eq!((calls.len(), calls[0], calls[1], calls[2], calls[29], calls[30]), (31, 1, 1, 0, 1, 0));
    let empty = &details.latency[2];
    assert_eq!((empty.p50_us, empty.p95_us, empty.p99_us, empty.errors), (None, None, None, 0));
    // However long, there are not many more points than a plot has room for.
    for since in [Nanos::MIN, 0, NOW - DAY] {
        let points = store.server("other", false, since, NOW).await.unwrap().latency;
        assert!((40..=62).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|point| point.calls).sum::<u64>(), 1);
    }
    assert!(store.server("nobody", false, 0, NOW).await.unwrap().latency.is_empty());
}

/// Whoever reports has their own clock.
#[tokio::test]
async fn calls_of_any_time_are_in_the_plot() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let at = |number: u64, started: Nanos| Span { started, ended: None, ..call(number, &span(1), "srv-b") };
    let calls = [at(2, 0), at(3, NOW), at(4, Nanos::MAX), at(5, Nanos::MIN)];
    store.appender().append(&reported(calls), NOW).unwrap();
    for (since, until, count) in [(0, NOW, 3), (Nanos::MIN, NOW, 4), (Nanos::MIN, Nanos::MAX, 4), (NOW, 0, 2)]
    {
        let points = store.server("srv-b", false, since, until).await.unwrap().latency;
        assert!(points.len() <= 62, "{}", points.len());
        assert_eq!(points.iter().map(|point| point.calls).sum::<u64>(), count);
    }
}

/// REQ-IUI-02
#[tokio::test]
async fn calls_of_one_agent_to_another_are_one_edge_by_trace_or_by_request_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let of = |mut span: Span, agent: &str, request: &str| {
        span.attributes.insert(names::AGENT.to_owned(), json!(agent));
        span.attributes.insert(names::REQUEST_ID.to_owned(), json!(request));
        span
    };
    let mut inbound = of(span(1), "a", "r-1");
    inbound.attributes.insert(names::CLIENT.to_owned(), json!("desktop"));
    // By the trace that was passed on.
    let out = of(call(2, &inbound, "b as a calls it"), "a", "r-2");
    let mut there = of(span(3), "b", "r-9");
    (there.trace, there.parent) = (out.trace, Some(out.id));
    // By the request's id alone, one hop further.
    let further = of(call(4, &there, "c as b calls it"), "b", "r-4");
    let far = of(span(5), "c", "r-4");
    // One who reports nothing, called under the id of the request that is served.
    let plain = of(call(6, &inbound, "files"), "a", "r-1");
    store.appender().append(&batch([inbound, out, there, further, far, plain]), NOW).unwrap();
    let Graph { nodes, edges, truncated } = store.graph(0).await.unwrap();
    let edges: Vec<_> = edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.calls)).collect();
    assert_eq!(
        edges,
        [
            ("agent:a", "agent:b", 1),
            ("agent:a", "server:files", 1),
            ("agent:b", "agent:c", 1),
            ("client:desktop", "agent:a", 1),
        ]
    );
    // An agent of which only a step of its own is known, which names nobody.
    let mut step = of(span(7), "planner", "");
    step.kind = Kind::Internal;
    let mut asked = of(span(8), "a", "r-8");
    (asked.trace, asked.parent) = (step.trace, Some(step.id));
    let other = tempfile::tempdir().unwrap();
    let beside = open(other.path());
    let mut appender = beside.appender();
    appender.append(&batch([asked]), NOW).unwrap();
    appender.append(&reported([step]), NOW).unwrap();
    let known = beside.graph(0).await.unwrap().edges;
    let known: Vec<_> = known.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
    assert_eq!(known, [("agent:planner", "agent:a")]);
    let kinds: Vec<_> = nodes.iter().map(|node| (node.kind, node.label.as_str())).collect();
    let agents = ["a", "b", "c"].map(|name| (NodeKind::Agent, name));
    assert_eq!(kinds[..3], agents);
    assert!(!truncated && nodes.len() == 5);
}

fn of(mut span: Span, agent: &str) -> Span {
    span.attributes.insert(names::AGENT.to_owned(), json!(agent));
    span
}

async fn edges(store: &TraceStore) -> Vec<String> {
    let edges = store.graph(0).await.unwrap().edges;
    edges.iter().map(|edge| format!("{} > {} {}", edge.from, edge.to, edge.calls)).collect()
}

/// An agent behind us that reports its steps and calls, and no request.
#[tokio::test]
async fn a_server_that_reports_what_it_does_within_a_call_is_one_node() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let inbound = of(span(1), "gateway");
    let asked = of(call(2, &inbound, "agent-1"), "gateway");
    // It passed on nothing with this one, which is of the same server nevertheless.
    let other = of(call(3, &span(4), "agent-1"), "gateway");
    appender.append(&batch([inbound, asked.clone(), other]), NOW).unwrap();
    let mut run = of(call(5, &asked, ""), "agent-1");
    (run.kind, run.attributes) = (Kind::Internal, attributes(&[(names::AGENT, json!("agent-1"))]));
    let mut step = Span { id: SpanId([6; 8]), ..run.clone() };
    step.parent = Some(run.id);
    let further = of(call(7, &step, "files"), "agent-1");
    // Somebody else's server of that name has nothing to do with it.
    let elsewhere = of(call(8, &span(9), "agent-1"), "stranger");
    appender.append(&reported([run, step, further, elsewhere]), NOW).unwrap();
    assert_eq!(
        edges(&store).await,
        [
            "agent:agent-1 > server:files 1",
            "agent:gateway > agent:agent-1 2",
            "agent:stranger > server:agent-1 1",
            "client:unknown > agent:gateway 1",
        ]
    );
}

#[tokio::test]
async fn agents_and_servers_that_only_share_a_name_stay_apart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let inbound = of(span(1), "gateway");
    appender.append(&batch([of(call(2, &inbound, "files"), "gateway")]), NOW).unwrap();
    // An agent of that name calls something, in a trace of its own, and in ours, but not within the call.
    let alone = of(call(3, &span(4), "far"), "files");
    let beside = of(call(5, &inbound, "far"), "files");
    appender.append(&reported([alone, beside]), NOW).unwrap();
    assert_eq!(edges(&store).await, ["agent:files > server:far 2", "agent:gateway > server:files 1"]);
}

/// What a gateway asks for itself has no trace that anybody reports.
#[tokio::test]
async fn a_client_that_is_known_as_an_agent_is_that_agent() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let by = |span: Span, client: &str| {
        let mut span = of(span, "inner");
        span.attributes.insert(names::CLIENT.to_owned(), json!(client));
        span
    };
    let outer = of(span(1), "outer");
    let passed_on = of(call(2, &outer, "in"), "outer");
    let mut request = by(span(3), "outer");
    (request.trace, request.parent) = (passed_on.trace, Some(passed_on.id));
    let catalogue = by(span(4), "outer");
    let other = by(span(5), "desktop");
    // One who is called like the server itself, and nobody knows.
    let same = by(span(6), "inner");
    appender.append(&batch([request, catalogue, other, same]), NOW).unwrap();
    appender.append(&reported([passed_on]), NOW).unwrap();
    assert_eq!(
        edges(&store).await,
        ["agent:outer > agent:inner 2", "client:desktop > agent:inner 1", "client:inner > agent:inner 1"]
    );
}
