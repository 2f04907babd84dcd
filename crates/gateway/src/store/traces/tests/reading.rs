//! Lists, trees and searches.

use super::{
    super::{OperationFilter, Piece, SearchFilter, SessionFilter},
    *,
};

/// REQ-IUI-01 REQ-IUI-06
#[tokio::test]
async fn sessions_are_filtered_by_agent_engine_status_server_and_text() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut beta = span(2);
    beta.engine = Engine::Temporal;
    beta.status = Status::Error;
    beta.name = "Nightly Report".to_owned();
    beta.attributes.insert(names::AGENT.to_owned(), json!("beta"));
    let mut local = span(3);
    local.engine = Engine::Asyncio;
    let called = call(10, &local, "srv-b");
    store.appender().append(&batch([span(1), beta, local, called]), NOW).unwrap();
    let ask = async |filter: SessionFilter| {
        let (sessions, cursor) = store.sessions(filter, ALL).await.unwrap();
        assert!(cursor.is_none());
        sessions.into_iter().map(|row| row.session_id).collect::<Vec<_>>().join(" ")
    };
    let none = SessionFilter::default;
    assert_eq!(ask(none()).await, "r-3 r-2 r-1");
    assert_eq!(ask(SessionFilter { agent: Some("beta".into()), ..none() }).await, "r-2");
    assert_eq!(ask(SessionFilter { agent: Some("alpha".into()), ..none() }).await, "r-3 r-1");
    assert_eq!(ask(SessionFilter { engine: Some(Engine::Temporal), ..none() }).await, "r-2");
    assert_eq!(ask(SessionFilter { engine: Some(Engine::Inbound), ..none() }).await, "r-1");
    assert_eq!(ask(SessionFilter { status: Some(Status::Error), ..none() }).await, "r-2");
    assert_eq!(ask(SessionFilter { server: Some("srv-b".into()), ..none() }).await, "r-3");
    assert_eq!(ask(SessionFilter { text: Some("NIGHTLY".into()), ..none() }).await, "r-2");
    assert_eq!(ask(SessionFilter { text: Some("%".into()), ..none() }).await, "");
    assert_eq!(ask(SessionFilter { since: Some(NOW + 2 * SECOND), ..none() }).await, "r-3 r-2");
    assert_eq!(ask(SessionFilter { until: Some(NOW + 2 * SECOND), ..none() }).await, "r-2 r-1");
}

/// People know who called by the client's name, and what was called by the server's.
#[tokio::test]
async fn rows_name_the_client_and_the_server_and_are_found_by_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let of = |mut span: Span, client: &str| {
        span.attributes.insert(names::CLIENT.to_owned(), json!(client));
        span
    };
    let near = of(span(1), "Desktop");
    // A call within a step, one later, and one within another request of the same trace.
    let mut step = call(2, &near, "");
    (step.kind, step.attributes) = (Kind::Internal, attributes(&[]));
    let first = call(4, &step, "srv-b");
    let second = call(5, &near, "srv-a");
    let mut inner = of(span(3), "inner");
    (inner.trace, inner.parent) = (near.trace, Some(near.id));
    let innermost = Span { started: NOW, ..call(6, &inner, "srv-c") };
    let lone = span(7);
    // Work that goes on by itself: its first span is not listed.
    let mut run = of(span(8), "desktop");
    (run.kind, run.engine) = (Kind::Internal, Engine::Asyncio);
    run.attributes.insert(names::REQUEST_ID.to_owned(), json!("r-8"));
    run.attributes.insert(names::PARENT_REQUEST_ID.to_owned(), json!("r-1"));
    let spans = [near, step, second, first, inner, innermost, lone, run];
    store.appender().append(&batch(spans), NOW).unwrap();
    while store.appender().index_some(100).unwrap() > 0 {}

    let told = |rows: Vec<super::super::SpanRow>| -> Vec<_> {
        let told = rows.into_iter().map(|row| (row.session_id, row.client, row.server));
        told.map(|(session, client, server)| {
            format!("{session} {} {}", client.unwrap_or_default(), server.unwrap_or_default())
        })
        .collect()
    };
    let all = store.operations(OperationFilter::default(), ALL).await.unwrap().0;
    assert_eq!(told(all), ["r-7  ", "r-3 inner srv-c", "r-1 Desktop srv-b"]);
    let by = async |agent: &str| {
        let filter = OperationFilter { agent: Some(agent.into()), ..OperationFilter::default() };
        told(store.operations(filter, ALL).await.unwrap().0)
    };
    assert_eq!(by("inner").await, ["r-3 inner srv-c"]);
    assert_eq!(by("alpha").await.len(), 3);
    let found = store.search("search_code", SearchFilter::default(), ALL).await.unwrap().0;
    assert!(told(found).contains(&"r-1 Desktop srv-b".to_owned()));

    let sessions = async |filter: SessionFilter| {
        let rows = store.sessions(filter, ALL).await.unwrap().0.into_iter();
        rows.map(|row| (row.session_id, row.client)).collect::<Vec<_>>()
    };
    let named = |session: &str, client: &str| (session.to_owned(), Some(client.to_owned()));
    let all = sessions(SessionFilter::default()).await;
    let expected =
        [named("r-8", "desktop"), ("r-7".to_owned(), None), named("r-1", "Desktop"), named("r-3", "inner")];
    assert_eq!(all, expected);
    let text = SessionFilter { text: Some("DESK".into()), ..SessionFilter::default() };
    assert_eq!(sessions(text).await, [named("r-8", "desktop"), named("r-1", "Desktop")]);
    let agent = SessionFilter { agent: Some("inner".into()), ..SessionFilter::default() };
    assert_eq!(sessions(agent).await, [named("r-3", "inner")]);
    assert_eq!(store.session("r-1").await.unwrap().unwrap().0.client.as_deref(), Some("Desktop"));
}

/// Pages joined are the whole, over days, equal starts and spans that came late.
#[tokio::test]
async fn pages_joined_are_the_whole_list() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let spans = (0..60).map(|number| {
        let mut one = span(number);
        one.started = NOW - (number as i64 % 4) * DAY - (number as i64 % 5) * SECOND;
        one.ended = Some(one.started + 1);
        one
    });
    store.appender().append(&batch(spans), NOW).unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("traces")).unwrap().count() % 4, 0, "four days");
    let whole = session_ids(&store).await;
    assert_eq!(whole.len(), 60);
    let (operations, _) = store.operations(OperationFilter::default(), ALL).await.unwrap();
    let whole_operations: Vec<_> = operations.into_iter().map(|row| row.session_id).collect();
    assert!(whole_operations.len() == 60);
    for limit in [1, 7, 59, 60] {
        let (mut sessions, mut operations) = (Vec::new(), Vec::new());
        let mut after = None;
        loop {
            let (page, cursor) =
                store.sessions(SessionFilter::default(), Page { limit, after }).await.unwrap();
            assert!(page.len() as u32 == limit || cursor.is_none());
            sessions.extend(page.into_iter().map(|row| row.session_id));
            after = cursor.map(|cursor| cursor.to_string().parse().unwrap());
            if after.is_none() {
                break;
            }
        }
        loop {
            let (page, cursor) =
                store.operations(OperationFilter::default(), Page { limit, after }).await.unwrap();
            operations.extend(page.into_iter().map(|row| row.session_id));
            after = cursor;
            if after.is_none() {
                break;
            }
        }
        assert_eq!((sessions, operations), (whole.clone(), whole_operations.clone()), "{limit}");
    }
}

#[tokio::test]
async fn a_session_over_midnight_is_one_and_listed_where_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut root = running(span(1));
    root.started = NOW - DAY;
    let mut child = call(2, &root, "srv-b");
    child.started = NOW;
    child.status = Status::Error;
    let between = Span { started: NOW - DAY / 2 - 1, ..span(3) };
    let mut appender = store.appender();
    appender.append(&batch([root.clone(), child, between]), NOW).unwrap();
    assert_eq!(session_ids(&store).await, ["r-3", "r-1"]);
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.span_count, session.error_count), ("running", 2, 1));
    assert_eq!((spans.len(), spans[0].span_id.as_str()), (2, root.id.to_string().as_str()));
    root.ended = Some(NOW + DAY / 4);
    root.status = Status::Ok;
    appender.append(&batch([root.clone()]), NOW).unwrap();
    let (session, _) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.span_count, session.ended_us), (2, Some((NOW + DAY / 4) / 1000)));
    let mut read = Vec::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let count = store
        .trace(root.trace, false, move |piece| match piece {
            Piece::Row(row) => sender.send(row.span_id).is_ok(),
            Piece::Full(_) => false,
        })
        .await
        .unwrap();
    read.extend(receiver);
    assert_eq!((count, read), (2, vec![root.id.to_string(), SpanId(2_u64.to_be_bytes()).to_string()]));
}

#[tokio::test]
async fn operations_are_what_was_served_and_where_reports_begin() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut served = span(1);
    served.parent = Some(SpanId([9; 8]));
    served.attributes.insert(names::OPERATION.to_owned(), json!("search_code"));
    let called = call(2, &served, "srv-b");
    let mut other = call(5, &served, "srv-c");
    other.attributes.insert(names::TOOL.to_owned(), json!("listen"));
    let mut reported = span(3);
    reported.kind = Kind::Internal;
    let mut within = span(4);
    within.kind = Kind::Internal;
    within.parent = Some(reported.id);
    store.appender().append(&batch([served, called, other, reported, within]), NOW).unwrap();
    let ask = async |filter: OperationFilter| {
        let (rows, _) = store.operations(filter, ALL).await.unwrap();
        rows.into_iter().map(|row| row.session_id).collect::<Vec<_>>().join(" ")
    };
    let none = OperationFilter::default;
    assert_eq!(ask(none()).await, "r-3 r-1");
    assert_eq!(ask(OperationFilter { operation: Some("search_code".into()), ..none() }).await, "r-1");
    assert_eq!(ask(OperationFilter { server: Some("srv-b".into()), ..none() }).await, "r-1");
    // What a server calls its own operation leads to those of ours that called it.
    let of_server = |server: &str, operation: &str| OperationFilter {
        server: Some(server.into()),
        operation: Some(operation.into()),
        ..none()
    };
    assert_eq!(ask(of_server("srv-b", "look")).await, "r-1");
    assert_eq!(ask(of_server("srv-b", "search_code")).await, "r-1");
    assert_eq!(ask(of_server("srv-b", "nothing")).await, "");
    assert_eq!(ask(of_server("srv-b", "listen")).await, "", "that was another server's");
    assert_eq!(ask(of_server("srv-c", "listen")).await, "r-1");
    assert_eq!(ask(OperationFilter { operation: Some("look".into()), ..none() }).await, "");
    assert_eq!(ask(OperationFilter { tool: Some("nothing".into()), ..none() }).await, "");
    assert_eq!(ask(OperationFilter { min_duration: Some(SECOND), ..none() }).await, "");
    assert_eq!(ask(OperationFilter { min_duration: Some(SECOND / 2), ..none() }).await, "r-3 r-1");
}

#[tokio::test]
async fn words_of_names_values_and_errors_are_found_once_they_are_indexed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut one = running(span(1));
    one.attributes.insert("x".to_owned(), json!({"query": ["Größe of the whale"]}));
    appender.append(&batch([one.clone(), span(2)]), NOW).unwrap();
    let found = async |text: &str| {
        let (rows, _) = store.search(text, SearchFilter::default(), ALL).await.unwrap();
        rows.into_iter().map(|row| row.session_id).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((found("whale").await.as_str(), appender.index_lag().unwrap()), ("", 2));
    assert_eq!(store.stats().await.unwrap().index_lag, 2);
    assert_eq!((appender.index_some(1).unwrap(), appender.index_lag().unwrap()), (1, 1));
    while appender.index_some(1).unwrap() > 0 {}
    assert_eq!(appender.index_lag().unwrap(), 0);
    assert_eq!(found("whale").await, "r-1");
    assert_eq!(found("WHA* grosse").await, "", "another letter");
    assert_eq!(found("wha* größe").await, "r-1");
    assert_eq!(found("search_code").await, "r-2 r-1", "the newest first");
    assert_eq!(found("wha").await, "", "only whole words without a star");
    assert_eq!(found("search whale fish").await, "");
    // What ends later is found by its end, and what it was found by before goes.
    one.ended = Some(one.started + 1);
    one.status = Status::Error;
    one.attributes.insert("x".to_owned(), json!("shark"));
    one.attributes.insert(names::ERROR_CODE.to_owned(), json!("TIMEOUT_EXCEEDED"));
    appender.append(&batch([one.clone()]), NOW).unwrap();
    assert_eq!(appender.index_lag().unwrap(), 1);
    assert_eq!(appender.index_some(10).unwrap(), 1);
    assert_eq!((found("whale").await.as_str(), found("shark timeout exceeded").await.as_str()), ("", "r-1"));
    assert_eq!(found(&one.trace.to_string()).await, "r-1");
    assert_eq!(found(&one.id.to_string()).await, "r-1");
    let filter = SearchFilter { since: Some(NOW + 2 * SECOND), ..SearchFilter::default() };
    assert_eq!(store.search("search", filter, ALL).await.unwrap().0.len(), 1);
}

#[tokio::test]
async fn searching_goes_on_over_pages_and_days_and_takes_any_text() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let spans = (0..30).map(|number| Span { started: NOW - (number as i64 % 3) * DAY, ..span(number) });
    appender.append(&batch(spans), NOW).unwrap();
    while appender.index_some(7).unwrap() > 0 {}
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (rows, cursor) =
            store.search("search", SearchFilter::default(), Page { limit: 4, after }).await.unwrap();
        found.extend(rows.into_iter().map(|row| row.session_id));
        after = cursor;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 30);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 30);
    for odd in [
        "",
        " ",
        "\"",
        "* OR *",
        "NEAR(a b)",
        "text:search",
        "a\u{0}b",
        "हिन्दी",
        "'; DROP TABLE spans",
        &"x ".repeat(500),
    ] {
        store.search(odd, SearchFilter::default(), ALL).await.unwrap();
    }
    assert_eq!(store.search("name:\"search\" OR x", SearchFilter::default(), ALL).await.unwrap().0.len(), 0);
}

/// The index is many tables, and pages go over all of them.
#[tokio::test]
async fn beginnings_of_words_are_found_over_every_table_of_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let spans = (0..2500).map(|number| {
        let mut one = span(number);
        one.name = format!("w{number} every{}", number % 10);
        one
    });
    appender.append(&batch(spans), NOW).unwrap();
    while appender.index_some(700).unwrap() > 0 {}
    let all = async |text: &str, limit: u32| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let (rows, cursor) =
                store.search(text, SearchFilter::default(), Page { limit, after }).await.unwrap();
            found.extend(rows.into_iter().map(|row| row.session_id));
            after = cursor;
            if after.is_none() {
                return found;
            }
        }
    };
    let found = all("ever*", 400).await;
    assert_eq!((found.len(), found[0].as_str(), found[2499].as_str()), (2500, "r-2499", "r-0"));
    assert_eq!(all("every3 w*", 100).await.len(), 250);
    // The last of one table and the first of the next.
    assert_eq!(all("w999 every*", 10).await, ["r-999"]);
    assert_eq!(all("w1000", 10).await, ["r-1000"]);
    assert_eq!(all("w24*", 7).await.len(), 111);
    assert_eq!(all("w* nothing", 7).await.len(), 0);
    // What ends later is found in its own table.
    let mut late = running(span(5000));
    late.name = "late".to_owned();
    appender.append(&batch([late.clone()]), NOW).unwrap();
    while appender.index_some(700).unwrap() > 0 {}
    late.ended = Some(late.started);
    late.name = "later".to_owned();
    appender.append(&batch([late]), NOW).unwrap();
    while appender.index_some(700).unwrap() > 0 {}
    assert_eq!((all("late", 10).await.len(), all("later", 10).await.len()), (0, 1));
}

/// A file of the form before this one is brought up to it by who writes, with everything that is in it.
#[tokio::test]
async fn a_file_of_an_older_form_is_read_once_somebody_writes() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("traces")).unwrap();
    let path = dir.path().join("traces").join(ours_today().file());
    let older = super::super::schema::DAY_SCHEMA;
    let older = super::super::Schema { steps: &older.steps[..1], ..older };
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut connection = connection;
    older.migrate(&mut connection).unwrap();
    connection
        .execute_batch(
            "INSERT INTO sessions (id, session, engine, status, title, started, spans, errors, running, waiting)
             VALUES (1, 'old', 0, 0, 'tools/call old', 1794830400000000000, 1, 0, 1, 0);
             INSERT INTO spans (id, trace, span, session, engine, kind, status, root, started, waited, name)
             VALUES (1, x'07070707070707070707070707070707', 9, 1, 0, 1, 0, 1, 1794830400000000000, 0, 'tools/call old');
             INSERT INTO details VALUES (1, '{}', NULL, NULL);
             INSERT INTO words (rowid, text) VALUES (1, 'old'); UPDATE progress SET indexed = 1;",
        )
        .unwrap();
    drop(connection);
    let store = open(dir.path());
    let mut appender = store.appender();
    while appender.index_some(10).unwrap() > 0 {}
    let (found, _) = store.search("old", SearchFilter::default(), ALL).await.unwrap();
    assert_eq!((found.len(), found[0].status), (1, "running"));
    assert_eq!(store.trace(TraceId([7; 16]), true, |_| true).await.unwrap(), 1);
    assert_eq!(appender.end_lost(NOW).unwrap(), 1, "nobody knows who ran it");
    assert_eq!(store.session("old").await.unwrap().unwrap().0.status, "cancelled");
}
