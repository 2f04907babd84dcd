//! Files that are damaged, strange or full, and spans that make no sense.

use std::fs;

use rusqlite::Connection;

use super::{
    super::{super::Error, Appended, SearchFilter, SessionFilter, files},
    *,
};

fn today(dir: &Path) -> std::path::PathBuf {
    dir.join("traces").join(ours_today().file())
}

fn make(dir: &Path) {
    fs::create_dir_all(dir.join("traces")).unwrap();
}

#[tokio::test]
async fn a_file_that_is_damaged_or_anothers_is_left_alone_and_the_other_days_are_read() {
    for content in [b"this is no database at all, but it is long enough to look".as_slice(), &[0xff; 5000]] {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        fs::write(today(dir.path()), content).unwrap();
        let store = open(dir.path());
        let mut appender = store.appender();
        let yesterday = Span { started: NOW - DAY, ..span(2) };
        assert_eq!(appender.append(&batch([span(1), yesterday]), NOW), Err(Error::Damaged));
        assert_eq!(session_ids(&store).await, ["r-2"], "the other day is written and read");
        while appender.index_some(10).unwrap_or(1) > 0 {}
        assert_eq!(store.search("search", SearchFilter::default(), ALL).await.unwrap().0.len(), 1);
        assert_eq!(store.stats().await.unwrap().unreadable, 1);
        assert_eq!(fs::read(today(dir.path())).unwrap(), content, "nobody touched it");
    }
}

#[tokio::test]
async fn a_newer_file_or_one_of_another_kind_is_refused() {
    let ours = i32::from_be_bytes(*b"AqTr");
    let newer = format!("PRAGMA application_id = {ours}; PRAGMA user_version = 99; CREATE TABLE spans (x);");
    for (text, expected) in [
        (newer.as_str(), Error::Newer { found: 99, supported: 3 }),
        ("PRAGMA application_id = 7; CREATE TABLE spans (x);", Error::Damaged),
    ] {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        Connection::open(today(dir.path())).unwrap().execute_batch(text).unwrap();
        let before = fs::read(today(dir.path())).unwrap();
        let store = open(dir.path());
        assert_eq!(store.appender().append(&batch([span(1)]), NOW), Err(expected));
        assert!(session_ids(&store).await.is_empty());
        assert_eq!(fs::read(today(dir.path())).unwrap(), before);
    }
}

#[tokio::test]
async fn damage_in_the_middle_of_a_file_is_an_error_or_a_day_left_out_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).appender().append(&batch((0..2000).map(span)), NOW).unwrap();
    let path = today(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[8192..length - 4096].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let _ = appender.append(&batch([span(9999)]), NOW);
    let _ = appender.index_some(100);
    let _ = store.sessions(SessionFilter::default(), ALL).await;
    let _ = store.session("r-77").await;
    let _ = store.graph(0).await;
    let yesterday = Span { started: NOW - DAY, ..span(1) };
    assert!(appender.append(&batch([yesterday]), NOW).is_ok());
    assert!(session_ids(&store).await.contains(&"r-1".to_owned()), "the other day is still there");
}

/// Events are news: what is damaged is put aside, and who listens hears of what comes then.
#[tokio::test]
async fn damaged_events_are_put_aside_and_spans_are_written() {
    for damage in ["no database, only some words in a file".to_owned(), "\u{1}".repeat(9000)] {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        let path = dir.path().join("traces/events.db");
        fs::write(&path, &damage).unwrap();
        let store = open(dir.path());
        assert!(store.events_after(0, 10).await.unwrap().is_empty());
        assert_eq!(store.stats().await.unwrap().unreadable, 1, "as long as nobody writes any");
        let listening = tokio::spawn({
            let store = store.clone();
            async move { store.next_events(0, 10).await.unwrap() }
        });
        let told = Batch { spans: vec![span(1)], events: vec![event(1)], ..Batch::default() };
        let mut appender = store.appender();
        assert_eq!(appender.append(&told, NOW), Ok(Appended { spans: 1, ..Appended::default() }));
        assert_eq!(session_ids(&store).await, ["r-1"]);
        assert_eq!(listening.await.unwrap()[0].data["number"], 1);
        assert_eq!((store.stats().await.unwrap().unreadable, store.unreadable().len()), (0, 0));
        assert_eq!(fs::read_to_string(dir.path().join("traces/events.db.damaged")).unwrap(), damage);
        // It happens again, and there is one that was put aside.
        drop((appender, store));
        fs::write(&path, &damage).unwrap();
        let store = open(dir.path());
        store.appender().append(&Batch { events: vec![event(2)], ..Batch::default() }, NOW).unwrap();
        assert_eq!(store.events_after(0, 10).await.unwrap().last().unwrap().data["number"], 2);
    }
}

/// A newer program's events are not ours to put aside.
#[tokio::test]
async fn newer_events_stay_where_they_are_and_spans_are_written() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = dir.path().join("traces/events.db");
    let ours = i32::from_be_bytes(*b"AqEv");
    let newer = format!("PRAGMA application_id = {ours}; PRAGMA user_version = 99; CREATE TABLE told (x);");
    Connection::open(&path).unwrap().execute_batch(&newer).unwrap();
    let before = fs::read(&path).unwrap();
    let store = open(dir.path());
    let told = Batch { spans: vec![span(1)], events: vec![event(1)], ..Batch::default() };
    assert_eq!(store.appender().append(&told, NOW), Ok(Appended { spans: 1, ..Appended::default() }));
    assert_eq!((fs::read(&path).unwrap(), store.stats().await.unwrap().unreadable), (before, 1));
}

/// What is not read is named, so that nobody takes a part for the whole.
#[tokio::test]
async fn a_directory_in_place_of_a_day_is_left_out_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = TraceStore::open(dir.path(), Options { max_age_days: 3, ..Options::default() });
    let mut appender = store.appender();
    appender.append(&batch([span(1)]), NOW).unwrap();
    let strange = dir.path().join("traces/2026-11-15.db");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("x"), "something").unwrap();
    assert_eq!(session_ids(&store).await, ["r-1"]);
    assert_eq!(store.export(None, None, None, 10).await.unwrap().0, [span(1)]);
    assert_eq!(store.unreadable(), ["2026-11-15.db"]);
    assert_eq!(store.stats().await.unwrap().unreadable, 1);
    assert!(!appender.retain(NOW + 2 * DAY).unwrap().freed_any(), "nothing of it goes");
    assert_eq!(appender.retain(NOW + 9 * DAY).unwrap().days, 1, "and the others do");
    assert!(strange.join("x").exists());
}

#[tokio::test]
async fn a_day_that_is_read_in_part_is_named() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).appender().append(&batch((0..5000).map(span)), NOW).unwrap();
    let path = today(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    let (middle, length) = (bytes.len() / 2, bytes.len());
    bytes[middle..length - 8192].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let store = open(dir.path());
    let (mut count, mut after) = (0, None);
    loop {
        let (spans, next) = store.export(None, None, after, 500).await.unwrap();
        count += spans.len();
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert!(count < 5000, "{count}");
    assert_eq!(store.unreadable(), [ours_today().file()]);
}

/// The oldest goes so that the newest can be written, within a day too.
#[tokio::test]
async fn a_day_that_is_more_than_may_be_kept_loses_its_oldest_spans() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: 16 * 1024 * 1024, ..Options::default() };
    let store = TraceStore::open(dir.path(), options);
    let mut appender = store.appender();
    let long = "word ".repeat(400);
    for round in 0..40_u64 {
        let spans = (0..500).map(|number| {
            let mut one = span(round * 500 + number);
            one.started = NOW + (round * 500 + number) as i64;
            one.ended = Some(one.started);
            one.attributes.insert("x".to_owned(), json!(long));
            one
        });
        appender.append(&batch(spans), NOW).unwrap();
        // Without room there is no index; the next batch makes some.
        while appender.index_some(1000).unwrap_or(0) > 0 {}
        appender.retain(NOW).unwrap();
    }
    while appender.index_some(1000).unwrap() > 0 {}
    let stats = store.stats().await.unwrap();
    assert!(stats.bytes < 60 * 1024 * 1024, "{stats:?}");
    assert!(stats.spans < 20_000 && stats.spans > 500, "{stats:?}");
    let newest = session_ids(&store).await;
    assert_eq!(newest[0], "r-19999");
    assert!(store.session("r-0").await.unwrap().is_none(), "its session is gone as well");
    let (found, _) = store.search("word", SearchFilter::default(), ALL).await.unwrap();
    assert_eq!((found.len(), found[0].session_id.as_str(), stats.index_lag), (500, "r-19999", 0));
}

#[tokio::test]
async fn old_days_go_first_then_the_oldest_of_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { max_age_days: 3, ..Options::default() };
    let store = TraceStore::open(dir.path(), options);
    let mut appender = store.appender();
    let spans = (0..3).map(|number| Span { started: NOW - number as i64 * DAY, ..span(number) });
    appender.append(&batch(spans), NOW).unwrap();
    assert!(!appender.retain(NOW).unwrap().freed_any());
    assert_eq!(appender.retain(NOW + DAY).unwrap().days, 1);
    assert_eq!(session_ids(&store).await, ["r-0", "r-1"]);
    // A clock that goes backwards removes nothing and writes on.
    assert!(!appender.retain(NOW - 30 * DAY).unwrap().freed_any());
    appender.append(&batch([span(7)]), NOW - 30 * DAY).unwrap();
    let small = TraceStore::open(dir.path(), Options { max_bytes: 1, ..options });
    assert!(small.appender().retain(NOW).unwrap().days >= 1);
    assert_eq!(files::parts(&dir.path().join("traces")).unwrap().len(), 1, "the newest day stays");
    appender.append(&batch([span(8)]), NOW).unwrap();
    assert!(session_ids(&store).await.contains(&"r-8".to_owned()), "a file that others removed is made anew");
}

/// A full disk is an error; nothing of the batch is there, and it can be handed in again.
#[tokio::test]
async fn what_does_not_fit_is_refused_whole_and_fits_later() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    appender.append(&batch([span(1)]), NOW).unwrap();
    let pages = |appender: &mut super::super::Appender, pages: i64| {
        let file = appender.file(ours_today()).unwrap();
        file.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    pages(&mut appender, 1);
    let mut large = span(2);
    large.attributes.insert("x".to_owned(), json!("y".repeat(1_000_000)));
    let batch = batch([span(3), large]);
    assert_eq!(appender.append(&batch, NOW), Err(Error::Full));
    assert_eq!(session_ids(&store).await, ["r-1"]);
    assert_eq!(appender.append(&batch, NOW), Ok(Appended { spans: 2, ..Appended::default() }));
}

#[tokio::test]
async fn two_writers_of_one_day_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let written: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|writer| {
                let dir = dir.path();
                scope.spawn(move || {
                    let mut appender = open(dir).appender();
                    for number in 0..50 {
                        // Each writes its own spans and all write the same one.
                        let mut shared = span(999_999);
                        shared.session = "shared".to_owned();
                        let own = span(writer * 1000 + number);
                        appender.append(&batch([own, shared]), NOW).unwrap();
                        appender.index_some(3).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    assert!(written.iter().all(Result::is_ok));
    let store = open(dir.path());
    assert_eq!(session_ids(&store).await.len(), 201);
    assert_eq!(store.session("shared").await.unwrap().unwrap().0.span_count, 1);
    let mut appender = store.appender();
    while appender.index_some(1000).unwrap() > 0 {}
    assert_eq!(store.search("search", SearchFilter::default(), ALL).await.unwrap().0.len(), 201);
}

/// What a process that was killed leaves is a log that was not moved, and half a batch in it at the most.
#[tokio::test]
async fn what_was_written_before_a_kill_is_there_and_half_a_batch_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    appender.append(&batch((0..100).map(span)), NOW).unwrap();
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("traces")).unwrap();
    {
        let file = appender.file(ours_today()).unwrap();
        file.execute_batch("BEGIN IMMEDIATE; DELETE FROM spans WHERE id > 50; DELETE FROM sessions;")
            .unwrap();
        file.cache_flush().unwrap();
    }
    for entry in fs::read_dir(dir.path().join("traces")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join("traces").join(path.file_name().unwrap())).unwrap();
    }
    let after = open(copy.path());
    assert_eq!(session_ids(&after).await.len(), 100);
    assert_eq!(after.appender().append(&batch([span(100)]), NOW).unwrap().spans, 1);
    assert_eq!(session_ids(&after).await.len(), 101);
}

#[tokio::test]
async fn absurd_spans_are_kept_and_make_no_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let times = [0, -1, i64::MIN, i64::MAX, NOW - 400 * DAY, NOW + 400 * DAY];
    let spans = times.iter().zip(0..).map(|(&started, number)| Span {
        started,
        ended: Some(if number % 2 == 0 { i64::MIN } else { i64::MAX }),
        waited: i64::MIN,
        ..span(number)
    });
    appender.append(&batch(spans), NOW).unwrap();
    assert_eq!(files::parts(&dir.path().join("traces")).unwrap(), [ours_today()]);
    assert_eq!(session_ids(&store).await.len(), 6);
    let (operations, _) = store.operations(Default::default(), ALL).await.unwrap();
    assert!(operations.iter().all(|row| row.duration_us.unwrap() >= 0 && row.waited_us >= 0));
    store.server("x", false, i64::MIN, i64::MAX).await.unwrap();
    store.graph(i64::MIN).await.unwrap();
}

#[tokio::test]
async fn long_values_are_kept_whole_and_hold_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut large = span(1);
    let long = format!("begin {} end", "ä".repeat(500_000));
    large.attributes.insert("x".to_owned(), json!(long));
    large.attributes.insert(names::TOOL.to_owned(), json!("ü".repeat(1_000_000)));
    large.name = "n".repeat(1_000_000);
    large.session = "s".repeat(1_000_000);
    appender.append(&batch([large.clone()]), NOW).unwrap();
    assert_eq!(appender.index_some(10).unwrap(), 1);
    let full = store.span(large.trace, large.id).await.unwrap().unwrap();
    assert_eq!(full.attributes["x"], json!(long));
    assert!(full.row.tool.unwrap().len() <= 256 && full.row.name.len() <= 1024);
    let (session, _) = store.session(&large.session).await.unwrap().unwrap();
    assert_eq!(session.session_id.len(), 256);
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_empty_and_one_that_is_a_file_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("never"));
    assert!(session_ids(&store).await.is_empty());
    assert!(store.session("x").await.unwrap().is_none());
    assert!(!dir.path().join("never").exists(), "reading makes nothing");
    fs::write(dir.path().join("traces"), "a file").unwrap();
    assert_eq!(open(dir.path()).appender().append(&batch([span(1)]), NOW), Err(Error::NotADirectory));
}
