//! What others report beside what we recorded.

use super::{
    super::{Piece, SearchFilter, SessionFilter, files},
    *,
};

/// Somebody who knows a session's id, and its trace, says things about it.
#[tokio::test]
async fn a_report_changes_nothing_of_a_session_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut forged = call(7, &span(1), "srv-b");
    forged.parent = None;
    forged.engine = Engine::Temporal;
    forged.status = Status::Error;
    forged.name = "forged".to_owned();
    forged.started -= 5;
    forged.attributes.insert(names::PRINCIPAL.to_owned(), json!("root"));
    forged.attributes.insert(super::super::TAGS.to_owned(), json!("evil"));
    // The same ids as ours, before ours come and after.
    let same = Span { name: "forged".to_owned(), status: Status::Error, ..span(1) };
    appender.append(&reported([forged.clone(), same.clone()]), NOW).unwrap();
    let (before, _) = store.session("r-1").await.unwrap().unwrap();
    assert!(before.reported && before.title == "forged");
    appender.append(&batch([span(1)]), NOW).unwrap();
    let goes_on = running(Span { id: SpanId([8; 8]), ..forged });
    appender.append(&reported([goes_on, same]), NOW + DAY).unwrap();

    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    let said = (session.status, session.title.as_str(), session.engine, session.principal.as_deref());
    assert_eq!(said, ("ok", "tools/call search_code", "inbound", None));
    assert_eq!((session.span_count, session.error_count, session.reported), (1, 0, false));
    assert_eq!((session.started_us, session.tags.len()), ((NOW + SECOND) / 1000, 0));
    let ours: Vec<_> = spans.iter().filter(|span| !span.reported).map(|span| span.name.as_str()).collect();
    assert_eq!(ours, ["tools/call search_code"]);
    assert_eq!(spans.iter().filter(|span| span.reported).count(), 2, "they are shown as reports");
    let (list, _) = store.sessions(SessionFilter::default(), ALL).await.unwrap();
    assert_eq!(list, [session], "it is listed once, as ours");
    let read = store.span(span(1).trace, span(1).id).await.unwrap().unwrap();
    assert_eq!((read.row.name.as_str(), read.row.status), ("tools/call search_code", "ok"));
    let (operations, _) = store.operations(Default::default(), ALL).await.unwrap();
    assert!(operations.iter().filter(|row| row.span_id == span(1).id.to_string()).all(|row| !row.reported));
    let (sender, receiver) = std::sync::mpsc::channel();
    let taken = move |piece| match piece {
        Piece::Row(row) => sender.send((row.name, row.reported)).is_ok(),
        Piece::Full(_) => false,
    };
    assert_eq!(store.trace(span(1).trace, false, taken).await.unwrap(), 3, "linked by the trace");
    assert_eq!(receiver.recv().unwrap(), ("tools/call search_code".to_owned(), false), "ours first");
}

/// Whoever may report could otherwise make a server of ours look slow and broken.
#[tokio::test]
async fn a_report_changes_no_figure_of_a_server_that_was_called_from_here() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut root = span(1);
    root.attributes.insert(names::RESULT_TOKENS.to_owned(), json!(5));
    appender.append(&batch([root.clone(), call(2, &root, "files")]), NOW).unwrap();
    let (before, tokens) = (store.servers(0).await.unwrap(), store.result_tokens(0).await.unwrap());
    let details = store.server("files", false, 0, NOW).await.unwrap();
    let said = |number: u64, peer: &str| {
        let mut said = call(number, &span(number + 100), peer);
        said.status = Status::Error;
        said.ended = Some(said.started + 3600 * SECOND);
        said
    };
    appender.append(&reported([said(3, "files"), said(4, "invented"), said(5, "configured")]), NOW).unwrap();

    let servers = store.servers(0).await.unwrap();
    let names: Vec<_> = servers.iter().map(|server| (server.server.as_str(), server.reported)).collect();
    assert_eq!(names, [("configured", true), ("files", false), ("invented", true)]);
    assert_eq!(servers[1..2], before, "what was called from here is as it was recorded here");
    assert_eq!(store.server("files", false, 0, NOW).await.unwrap(), details);
    let told = store.server("invented", false, 0, NOW).await.unwrap();
    assert_eq!((told.server.calls, told.server.errors, told.server.reported), (1, 1, true));
    let told = store.server("configured", true, 0, NOW).await.unwrap();
    assert_eq!((told.server.calls, told.server.reported, told.latency.len()), (0, false, 0));
    // An answer that others say was long.
    appender.append(&reported([Span { trace: TraceId([3; 16]), ..root }]), NOW).unwrap();
    assert_eq!((tokens[0].calls, tokens[0].result_tokens, tokens[0].reported), (1, 5, false));
    assert_eq!(store.result_tokens(0).await.unwrap(), tokens);
}

/// Reporters fill their own share, and lose their own oldest.
#[tokio::test]
async fn reports_do_not_push_out_what_we_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let max_bytes = 16 * 1024 * 1024;
    let store = TraceStore::open(dir.path(), Options { max_bytes, ..Options::default() });
    let mut appender = store.appender();
    let long = |number: u64, day: i64| {
        let mut one = span(number);
        one.started = NOW - day * DAY + number as i64;
        one.ended = Some(one.started);
        one.attributes.insert("x".to_owned(), json!("word ".repeat(400)));
        one
    };
    // Ours of some days ago, less than half.
    for day in 0..3 {
        appender.append(&batch((0..150).map(|number| long(day * 150 + number, day as i64))), NOW).unwrap();
    }
    let before = store.stats().await.unwrap();
    assert!(before.bytes < max_bytes / 2 && before.reported_bytes == 0, "{before:?}");
    for round in 50..200_u64 {
        let spans = (0..100).map(|number| long(round * 100 + number, 0));
        appender.append(&reported(spans), NOW).unwrap();
        while appender.index_some(1000).unwrap_or(0) > 0 {}
        appender.retain(NOW).unwrap();
    }
    let after = store.stats().await.unwrap();
    // With the log of the file, which is moved into it later.
    assert!(after.reported_bytes > max_bytes / 4 && after.reported_bytes < 2 * max_bytes, "{after:?}");
    assert_eq!((after.keep_bytes, after.keep_days, after.days), (max_bytes, 14, 3));
    for number in [0, 149, 150, 300, 449] {
        assert!(store.session(&format!("r-{number}")).await.unwrap().is_some(), "{number} is ours");
    }
    assert!(store.session("r-5000").await.unwrap().is_none(), "the oldest that was reported went");
    assert!(store.session("r-19999").await.unwrap().is_some(), "the newest did not");
    let found = store.search("word", SearchFilter::default(), ALL).await.unwrap().0;
    assert_eq!(found[0].session_id, "r-149", "ours are found first");
    // And ours may use what reporters leave.
    let parts = files::parts(&dir.path().join("traces")).unwrap();
    assert_eq!(parts.iter().filter(|part| part.is_reported()).count(), 1);
}

/// Both are found, over pages that end in either.
#[tokio::test]
async fn pages_go_on_over_both() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let both = Batch {
        spans: (0..20).map(span).collect(),
        reported: (20..45)
            .map(|number| Packed::of(&Span { started: NOW + (45 - number as i64) * SECOND, ..span(number) }))
            .collect(),
        events: Vec::new(),
    };
    appender.append(&both, NOW).unwrap();
    while appender.index_some(7).unwrap() > 0 {}
    assert_eq!(appender.index_lag().unwrap(), 0);
    let (mut listed, mut found) = (Vec::new(), Vec::new());
    let mut after = None;
    loop {
        let (page, cursor) =
            store.sessions(SessionFilter::default(), Page { limit: 4, after }).await.unwrap();
        listed.extend(page.into_iter().map(|row| (row.started_us, row.session_id)));
        after = cursor.map(|cursor| cursor.to_string().parse().unwrap());
        if after.is_none() {
            break;
        }
    }
    loop {
        let (page, cursor) =
            store.search("search", SearchFilter::default(), Page { limit: 4, after }).await.unwrap();
        found.extend(page.into_iter().map(|row| row.session_id));
        after = cursor;
        if after.is_none() {
            break;
        }
    }
    assert!(listed.is_sorted_by(|one, other| one.0 >= other.0));
    let unique: std::collections::BTreeSet<_> = found.iter().collect();
    assert_eq!((listed.len(), found.len(), unique.len()), (45, 45, 45));
    let (spans, rest) = store.export(None, None, None, 100).await.unwrap();
    assert_eq!((spans.len(), rest), (45, None));
}

/// Libraries send a span when it ends, so that the one that names the session comes last, or the session is there from a trace before.
#[tokio::test]
async fn what_names_no_session_is_of_the_one_that_its_trace_is_of() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    // By their traces: the first span of each names the session, the others are within it.
    let spans = |trace: u8| {
        let mut root = span(u64::from(trace) * 10);
        root.trace = TraceId([trace; 16]);
        root.session = "chat".to_owned();
        let within: Vec<Span> = (1..=3)
            .map(|number| {
                let mut within = call(u64::from(trace) * 10 + number, &root, "near");
                within.session = root.trace.to_string();
                within
            })
            .collect();
        (root, within)
    };
    for trace in 1..=2 {
        let (root, mut within) = spans(trace);
        let late = within.pop().unwrap();
        let beside = within.pop().unwrap();
        appender.append(&reported(within), NOW).unwrap();
        assert!(store.session(&root.trace.to_string()).await.unwrap().is_some());
        appender.append(&reported([beside, root.clone()]), NOW).unwrap();
        appender.append(&reported([late]), NOW).unwrap();
        assert_eq!(session_ids(&store).await, ["chat"], "nothing is left of the trace by itself");
        let (session, spans) = store.session("chat").await.unwrap().unwrap();
        let count = i64::from(trace) * 4;
        assert_eq!((session.span_count, spans.len()), (count, usize::try_from(count).unwrap()));
        assert_eq!((session.title.as_str(), session.status), ("tools/call search_code", "ok"));
    }
    // What names none, and nobody does, is by itself.
    let (root, within) = spans(3);
    appender.append(&reported(within), NOW).unwrap();
    assert_eq!(session_ids(&store).await.len(), 2);
    assert_eq!(store.session(&root.trace.to_string()).await.unwrap().unwrap().0.span_count, 3);
}

/// Whoever names the session may be within what does not, and a trace may name several.
#[tokio::test]
async fn a_session_is_called_what_it_was_named_and_an_end_finds_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut root = span(10);
    root.session = root.trace.to_string();
    let mut named = call(11, &root, "near");
    named.session = "chat".to_owned();
    let under_way = running(root.clone());
    appender.append(&reported([under_way, named.clone()]), NOW).unwrap();
    assert_eq!(session_ids(&store).await, ["chat"]);
    // Its end comes with a span that names another session.
    let mut other = call(12, &root, "near");
    other.session = "another".to_owned();
    let done = appender.append(&reported([other, root]), NOW).unwrap();
    assert_eq!((done.spans, done.updated, done.ignored), (1, 1, 0));
    let (session, spans) = store.session("chat").await.unwrap().unwrap();
    assert_eq!((session.status, session.span_count, spans.len()), ("ok", 2, 2));
    assert_eq!(store.session("another").await.unwrap().unwrap().0.span_count, 1);
}
