//! What becomes of spans that are written.

use super::{
    super::{Appended, events::TOGETHER, schema::EVENTS_SCHEMA},
    *,
};
use crate::store::migrations::Schema;

/// REQ-ISESS-02
#[tokio::test]
async fn a_span_that_started_is_there_at_once_and_its_end_changes_the_same_row() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let done = appender.append(&batch([running(span(1))]), NOW).unwrap();
    assert_eq!(done, Appended { spans: 1, ..Appended::default() });
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.ended_us, session.span_count), ("running", None, 1));
    assert_eq!((spans[0].status, spans[0].duration_us), ("running", None));

    let mut ended = span(1);
    ended.status = Status::Error;
    ended.attributes.insert(names::ERROR_CODE.to_owned(), json!(-32602));
    let done = appender.append(&batch([ended]), NOW).unwrap();
    assert_eq!(done, Appended { updated: 1, ..Appended::default() });
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.span_count, session.error_count), ("error", 1, 1));
    assert_eq!((session.started_us, session.duration_us), ((NOW + SECOND) / 1000, Some(500_000)));
    assert_eq!((spans.len(), spans[0].error.as_deref()), (1, Some("-32602")));
    assert_eq!((session.engine, session.agent.as_deref()), ("inbound", Some("alpha")));
}

#[tokio::test]
async fn what_has_ended_is_never_rewritten_whatever_comes_under_its_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut running_one = running(span(2));
    appender.append(&batch([span(1), running_one.clone()]), NOW).unwrap();
    let mut forged = span(1);
    forged.name = "forged".to_owned();
    // A late start, the same again, another one of the same id, and one that claims another start or session.
    let late = running(span(1));
    let mut other_start = span(2);
    other_start.started += 1;
    running_one.session = "another".to_owned();
    for wrong in [late, span(1), forged, other_start, running_one] {
        let done = appender.append(&batch([wrong]), NOW).unwrap();
        assert_eq!(done, Appended { ignored: 1, ..Appended::default() });
    }
    let read = store.span(span(1).trace, span(1).id).await.unwrap().unwrap();
    assert_eq!((read.row.name.as_str(), read.row.status), ("tools/call search_code", "ok"));
    let (session, _) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.span_count, session.error_count), (1, 0));
    assert_eq!(store.session("r-2").await.unwrap().unwrap().0.status, "running");
}

#[tokio::test]
async fn a_start_and_an_end_in_one_batch_are_one_span_in_either_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let spans = [running(span(1)), span(1), span(2), running(span(2))];
    let done = appender.append(&batch(spans), NOW).unwrap();
    assert_eq!(done, Appended { spans: 2, ..Appended::default() });
    for session in ["r-1", "r-2"] {
        assert_eq!(store.session(session).await.unwrap().unwrap().0.status, "ok", "{session}");
    }
}

/// A session's row says what its spans say.
#[tokio::test]
async fn a_session_is_counted_described_by_its_root_and_ends_with_its_last_span() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut root = running(span(1));
    root.name = "tools/call root".to_owned();
    root.attributes.extend(attributes(&[
        (names::CONNECTION, json!("c-1")),
        (names::PRINCIPAL, json!("local")),
        (names::TRANSPORT, json!("stdio")),
        (super::super::TAGS, json!(["night", "batch"])),
    ]));
    let mut child = call(2, &root, "srv-b");
    child.status = Status::Error;
    // Reports come in any order: the child first.
    appender.append(&batch([child]), NOW).unwrap();
    let (session, _) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.title.as_str(), session.status), ("tools/call search_code", "error"));
    let mut waiting = root.clone();
    waiting.status = Status::Waiting;
    appender.append(&batch([waiting]), NOW).unwrap();
    let (session, _) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.ended_us), ("waiting", None));
    root.ended = Some(root.started + 9 * SECOND);
    root.status = Status::Ok;
    appender.append(&batch([root]), NOW).unwrap();
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.title.as_str(), session.status), ("tools/call root", "ok"));
    assert_eq!((session.span_count, session.error_count, spans.len()), (2, 1, 2));
    assert_eq!((session.duration_us, session.tags), (Some(9_000_000), vec!["night".into(), "batch".into()]));
    let said = [session.connection, session.principal, session.transport].map(Option::unwrap);
    assert_eq!(said, ["c-1", "local", "stdio"]);
}

#[tokio::test]
async fn what_is_read_of_a_span_is_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut written = span(1);
    written.started += 123;
    written.waited = 1_500_000;
    written.attributes.insert("x".to_owned(), json!({"deep": [1, 2.5, null, "ä\u{0}"]}));
    written.events.push(crate::trace::Happening {
        name: "retry".to_owned(),
        at: NOW + 5,
        attributes: attributes(&[("n", json!(1))]),
    });
    written.links.push(crate::trace::Link {
        trace: TraceId([9; 16]),
        span: SpanId([8; 8]),
        attributes: Default::default(),
    });
    store.appender().append(&batch([written.clone(), span(2)]), NOW).unwrap();
    let (exported, rest) = store.export(None, None, None, 1).await.unwrap();
    assert_eq!(exported, [written.clone()], "to the nanosecond");
    let (exported, rest) = store.export(None, None, rest, 10).await.unwrap();
    assert_eq!((exported, rest), (vec![span(2)], None));
    let full = store.span(written.trace, written.id).await.unwrap().unwrap();
    assert_eq!(full.attributes["x"], written.attributes["x"]);
    assert_eq!((full.events[0].name.as_str(), full.events[0].at_us), ("retry", NOW / 1000));
    assert_eq!((full.links[0].trace_id.as_str(), full.row.waited_us), ("09".repeat(16).as_str(), 1500));
    assert!(store.span(written.trace, SpanId([3; 8])).await.unwrap().is_none());
}

#[tokio::test]
async fn events_are_numbered_over_restarts_and_only_the_last_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = TraceStore::open(dir.path(), Options { max_events: 10, ..Options::default() });
    assert_eq!(store.last_event().await.unwrap(), 0);
    assert!(store.events_after(0, 10).await.unwrap().is_empty());
    let told = |from: i64| Batch {
        reported: vec![],
        spans: vec![],
        events: (from..from + 600).map(event).collect(),
    };
    store.appender().append(&told(0), NOW).unwrap();
    store.appender().append(&told(600), NOW).unwrap();
    let events = store.events_after(0, 1000).await.unwrap();
    let numbers: Vec<i64> = events.iter().map(|event| event.seq).collect();
    let (first, last) = (numbers[0], events.last().unwrap());
    assert_eq!(numbers, (first..=1200).collect::<Vec<_>>());
    assert!((1191 - TOGETHER as i64..=1191).contains(&first), "{first}");
    assert_eq!((last.data["number"].clone(), last.at), (json!(1199), NOW + 1199));
    assert_eq!(store.events_after(1198, 1).await.unwrap()[0].seq, 1199);
}

/// Files of the first version had a row for each event.
#[tokio::test]
async fn events_that_were_written_before_are_read_and_numbers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("traces")).unwrap();
    let mut file = rusqlite::Connection::open(dir.path().join("traces/events.db")).unwrap();
    let first = Schema { steps: &EVENTS_SCHEMA.steps[..1], ..EVENTS_SCHEMA };
    first.migrate(&mut file).unwrap();
    file.execute_batch(
        "INSERT INTO events VALUES (7, 'SessionStarted', 1, 'it\"s', x'01010101010101010101010101010101', -2, '{\"a\":1}');
         INSERT INTO events VALUES (8, 'SessionStarted', 2, 's', x'01010101010101010101010101010101', 2, 'broken');",
    )
    .unwrap();
    drop(file);
    let store = open(dir.path());
    let told = Batch { reported: vec![], spans: vec![], events: vec![event(5)] };
    store.appender().append(&told, NOW).unwrap();
    let events = store.events_after(0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!((events[0].session.as_str(), &events[0].data), ("it\"s", &json!({"a": 1})));
    assert_eq!(events[0].span, SpanId((-2_i64).to_be_bytes()));
    assert_eq!((&events[1].data, events[1].at), (&Value::Null, 2));
    assert_eq!(events[2].data["number"], 5);
}

/// What somebody else put into the file tells nothing, and keeps nobody from what comes after it.
#[tokio::test]
async fn events_that_cannot_be_read_are_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let told = |number| Batch { reported: vec![], spans: vec![], events: vec![event(number)] };
    store.appender().append(&told(1), NOW).unwrap();
    let file = rusqlite::Connection::open(dir.path().join("traces/events.db")).unwrap();
    for (last, events) in [(5, "broken"), (6, "[]"), (7, "[[1]]"), (8, "{}")] {
        file.execute("INSERT INTO told VALUES (?1, ?2)", (last, events)).unwrap();
    }
    assert_eq!(store.events_after(0, 10).await.unwrap().len(), 1);
    let next = tokio::spawn({
        let store = store.clone();
        async move { store.next_events(1, 10).await.unwrap() }
    });
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    store.appender().append(&told(2), NOW).unwrap();
    let next = next.await.unwrap();
    assert_eq!((next.len(), next[0].seq, &next[0].data["number"]), (1, 9, &json!(2)));
}

#[tokio::test]
async fn who_waits_for_events_is_told_of_those_of_other_processes_too() {
    let dir = tempfile::tempdir().unwrap();
    let (here, elsewhere) = (open(dir.path()), open(dir.path()));
    let waiting = tokio::spawn({
        let here = here.clone();
        async move { here.next_events(0, 10).await.unwrap() }
    });
    let both = tokio::spawn({
        let here = here.clone();
        async move { here.next_events(0, 10).await.unwrap() }
    });
    tokio::task::yield_now().await;
    let told = Batch { reported: vec![], spans: vec![], events: vec![event(5)] };
    tokio::task::spawn_blocking(move || elsewhere.appender().append(&told, NOW).unwrap()).await.unwrap();
    assert_eq!(waiting.await.unwrap()[0].seq, 1);
    assert_eq!(both.await.unwrap()[0].seq, 1);
    let own = Batch { reported: vec![], spans: vec![], events: vec![event(6)] };
    let next = tokio::spawn({
        let here = here.clone();
        async move { here.next_events(1, 10).await.unwrap() }
    });
    here.appender().append(&own, NOW).unwrap();
    assert_eq!(next.await.unwrap()[0].data["number"], 6);
    // A number from before the file was removed is not waited for until it comes again.
    let next = tokio::spawn({
        let here = here.clone();
        async move { here.next_events(5000, 10).await.unwrap() }
    });
    for number in 7.. {
        here.appender()
            .append(&Batch { reported: vec![], spans: vec![], events: vec![event(number)] }, NOW)
            .unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        if next.is_finished() {
            break;
        }
    }
    assert!(next.await.unwrap()[0].seq < 5000);
}

/// Somebody tidies up the directory while we write to it.
#[tokio::test]
async fn events_and_spans_are_written_anew_where_their_files_were_removed_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let told = |number: u64| Batch {
        spans: vec![running(span(number))],
        reported: vec![Packed::of(&span(number + 100))],
        events: vec![event(number as i64)],
    };
    appender.append(&told(1), NOW).unwrap();
    std::fs::remove_dir_all(dir.path().join("traces")).unwrap();
    appender.append(&told(2), NOW).unwrap();
    assert_eq!(session_ids(&store).await, ["r-102", "r-2"]);
    assert_eq!(store.events_after(0, 10).await.unwrap()[0].data["number"], 2);
    // Another one in its place.
    let other = tempfile::tempdir().unwrap();
    open(other.path()).appender().append(&told(3), NOW).unwrap();
    for companion in ["events.db-wal", "events.db-shm"] {
        let _ = std::fs::remove_file(dir.path().join("traces").join(companion));
    }
    std::fs::rename(other.path().join("traces/events.db"), dir.path().join("traces/events.db")).unwrap();
    appender.append(&told(4), NOW).unwrap();
    let numbers: Vec<Value> =
        store.events_after(0, 10).await.unwrap().into_iter().map(|row| row.data["number"].clone()).collect();
    assert_eq!(numbers, [3, 4]);
    assert!(session_ids(&store).await.contains(&"r-4".to_owned()));
}

/// A trace comes in many batches, some of it twice, and more than is looked up each time.
#[tokio::test]
async fn a_long_trace_has_each_span_once_however_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let (store, other) = (open(dir.path()), open(dir.path()));
    let (mut appender, mut elsewhere) = (store.appender(), other.appender());
    let root = span(10_000);
    let part = |from: u64, to: u64| batch((from..to).map(|number| call(number, &root, "srv-b")));
    assert_eq!(appender.append(&part(0, 100), NOW).unwrap().spans, 100);
    assert_eq!(
        elsewhere.append(&part(50, 150), NOW).unwrap(),
        Appended { spans: 50, ignored: 50, updated: 0 }
    );
    assert_eq!(
        appender.append(&part(0, 200), NOW).unwrap(),
        Appended { spans: 50, ignored: 150, updated: 0 }
    );
    let mut moved = call(7, &root, "srv-b");
    moved.session = "another".to_owned();
    let mut begun = running(call(300, &root, "srv-b"));
    appender.append(&batch([moved, begun.clone(), root.clone()]), NOW).unwrap();
    begun.ended = Some(begun.started + 1);
    assert_eq!(elsewhere.append(&batch([begun]), NOW).unwrap().updated, 1);
    let count = store.trace(root.trace, false, |_| true).await.unwrap();
    assert_eq!(count, 202);
    let (session, spans) = store.session("r-10000").await.unwrap().unwrap();
    assert_eq!((session.span_count, spans.len()), (202, 202));
}

/// REQ-ISESS-03
#[tokio::test]
async fn who_names_the_id_of_a_run_says_nothing_of_how_it_came_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let run = Span {
        engine: crate::trace::Engine::Asyncio,
        kind: crate::trace::Kind::Internal,
        status: Status::Error,
        attributes: attributes(&[(names::REQUEST_ID, json!("r-1"))]),
        ..span(1)
    };
    let named = |number: u64| Span { session: "r-1".to_owned(), ..span(number) };
    // In one batch and in the next.
    appender.append(&batch([run, named(2)]), NOW).unwrap();
    appender.append(&batch([named(3)]), NOW).unwrap();
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.engine, spans.len()), ("error", "asyncio", 3));
}
