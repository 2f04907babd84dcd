//! How much is kept where that is little: as much as there is room for, and no more.

use std::fs;

use super::{super::SearchFilter, *};

/// The least that may be set.
const KEEP: u64 = 16 * 1024 * 1024;
/// What the documentation promises at the most.
const AT_MOST: u64 = KEEP + KEEP / 8;

fn small(dir: &Path) -> TraceStore {
    TraceStore::open(dir, Options { max_bytes: KEEP, ..Options::default() })
}

/// Everything that is in the directory.
fn taken(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir.join("traces")).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
    entries.filter(fs::Metadata::is_file).map(|found| found.len()).sum()
}

/// A text of which no two are alike, and nearly every word is another.
fn words(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:x} ", state >> 33));
    }
    text
}

/// A span of about so many bytes.
fn long(number: u64, bytes: usize) -> Span {
    let mut long = span(number);
    long.started = NOW + number as i64;
    long.ended = Some(long.started);
    long.attributes.insert("x".to_owned(), json!(words(number, bytes)));
    long
}

#[tokio::test]
async fn no_more_goes_than_there_is_no_room_for() {
    for text in [words, |_, bytes| "word ".repeat(bytes / 5)] {
        let dir = tempfile::tempdir().unwrap();
        let store = small(dir.path());
        let mut appender = store.appender();
        let mut most = 0;
        for number in 0..900 {
            let mut one = long(number, 0);
            one.attributes.insert("x".to_owned(), json!(text(number, 20_000)));
            appender.append(&batch([one]), NOW).unwrap();
            if number % 20 == 0 {
                while appender.index_some(500).unwrap_or(0) > 0 {}
                most = most.max(taken(dir.path()));
            }
            if number % 200 == 199 {
                appender.retain(NOW).unwrap();
            }
        }
        let stats = store.stats().await.unwrap();
        assert!(most <= AT_MOST, "{most} {stats:?}");
        assert!(stats.spans > 250 && stats.index_lag < 40, "{stats:?}");
        assert!(
            store.session("r-899").await.unwrap().is_some() && store.session("r-0").await.unwrap().is_none()
        );
        let before = stats.spans;
        appender.retain(NOW).unwrap();
        assert_eq!(store.stats().await.unwrap().spans, before, "what has room stays");
    }
}

/// Large and small ones: those that go are counted by what they take.
#[tokio::test]
async fn the_oldest_go_by_what_they_take() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut appender = store.appender();
    for number in 0..40 {
        appender.append(&batch([long(number, 200_000)]), NOW).unwrap();
    }
    for number in (1000..30_000).step_by(500) {
        appender.append(&batch((number..number + 500).map(|number| long(number, 50))), NOW).unwrap();
    }
    let stats = store.stats().await.unwrap();
    assert!(session_of(&store, 0).await.is_none(), "{stats:?}");
    assert!(session_of(&store, 39).await.is_some(), "{stats:?}");
    assert!(session_of(&store, 1000).await.is_some() && session_of(&store, 29_999).await.is_some());
    assert!(taken(dir.path()) <= AT_MOST);
}

async fn session_of(store: &TraceStore, number: u64) -> Option<super::super::SessionRow> {
    Some(store.session(&format!("r-{number}")).await.unwrap()?.0)
}

#[tokio::test]
async fn reports_go_on_being_taken_when_their_share_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut appender = store.appender();
    for round in 0..12 {
        let spans = (round * 2000..(round + 1) * 2000).map(|number| long(number, 900));
        let done = appender.append(&reported(spans), NOW).unwrap();
        assert_eq!(done.spans, 2000, "round {round}");
        assert!(session_of(&store, round * 2000 + 1999).await.is_some(), "round {round}");
        let _ = appender.index_some(500);
        assert!(taken(dir.path()) <= AT_MOST, "round {round}: {}", taken(dir.path()));
    }
    // As after an import.
    while appender.index_some(2000).unwrap() > 0 {
        let bytes = store.stats().await.unwrap().reported_bytes;
        assert!(bytes <= KEEP / 2 + KEEP / 8, "{bytes}");
    }
    let stats = store.stats().await.unwrap();
    assert!(stats.spans > 2000 && stats.reported_bytes <= KEEP / 2 + KEEP / 8, "{stats:?}");
}

/// More in one batch than there is room for: the newest of it are there.
#[tokio::test]
async fn a_batch_that_is_larger_than_all_that_may_be_kept_leaves_its_newest() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut appender = store.appender();
    for make in [batch as fn(Vec<Span>) -> Batch, reported as fn(Vec<Span>) -> Batch] {
        let spans: Vec<Span> = (0..1000).map(|number| long(number, 20_000)).collect();
        assert_eq!(appender.append(&make(spans), NOW).unwrap().spans, 1000);
        assert!(session_of(&store, 999).await.is_some());
        assert!(session_of(&store, 0).await.is_none());
        assert!(taken(dir.path()) <= AT_MOST, "{}", taken(dir.path()));
    }
    let stats = store.stats().await.unwrap();
    assert!(stats.spans > 250, "{stats:?}");
}

/// What one source leaves the other may use, and gives back.
#[tokio::test]
async fn all_files_together_stay_within_what_may_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut appender = store.appender();
    let mut most = 0;
    for round in 0..40_u64 {
        let numbers = round * 20..(round + 1) * 20;
        let events = (0..1000).map(event).collect();
        let told = Batch { events, ..batch(numbers.map(|number| long(number, 20_000))) };
        appender.append(&told, NOW).unwrap();
        while appender.index_some(500).unwrap_or(0) > 0 {}
        most = most.max(taken(dir.path()));
    }
    let alone = store.stats().await.unwrap();
    assert!(alone.spans > 200 && alone.bytes > KEEP / 2, "{alone:?}");
    for round in 0..40_u64 {
        let numbers = 10_000 + round * 20..10_000 + (round + 1) * 20;
        appender.append(&reported(numbers.map(|number| long(number, 20_000))), NOW).unwrap();
        while appender.index_some(500).unwrap_or(0) > 0 {}
        most = most.max(taken(dir.path()));
    }
    let both = store.stats().await.unwrap();
    assert!(most <= AT_MOST, "{most} {both:?}");
    assert!(both.reported_bytes > KEEP / 4 && both.bytes - both.reported_bytes > KEEP / 4, "{both:?}");
    assert!(session_of(&store, 799).await.is_some() && session_of(&store, 10_799).await.is_some());
    let found = store.search("search", SearchFilter::default(), ALL).await.unwrap().0;
    assert!(found.len() > 100, "{}", found.len());
    assert!(
        store.last_event().await.unwrap() == 40_000
            && store.events_after(39_000, 10).await.unwrap().len() == 10
    );
}

/// Yesterday goes piece by piece while today grows.
#[tokio::test]
async fn an_older_day_loses_its_oldest_before_it_goes_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = small(dir.path());
    let mut appender = store.appender();
    let yesterday = (0..400).map(|number| {
        let one = long(number, 20_000);
        Span { started: one.started - DAY, ended: one.ended.map(|at| at - DAY), ..one }
    });
    appender.append(&batch(yesterday), NOW).unwrap();
    appender.append(&batch((1000..1320).map(|number| long(number, 20_000))), NOW).unwrap();
    appender.retain(NOW).unwrap();
    let stats = store.stats().await.unwrap();
    assert!(stats.days == 2 && taken(dir.path()) <= AT_MOST, "{stats:?}");
    assert!(session_of(&store, 0).await.is_none() && session_of(&store, 399).await.is_some(), "{stats:?}");
    appender.append(&batch((1320..1900).map(|number| long(number, 20_000))), NOW).unwrap();
    assert!(session_of(&store, 399).await.is_none() && session_of(&store, 1899).await.is_some());
}

/// Of an earlier version, or of when more could be kept.
#[tokio::test]
async fn many_events_of_before_take_nothing_from_spans() {
    let dir = tempfile::tempdir().unwrap();
    let told = |count: i64| {
        let data = json!({"title": "long ".repeat(60)}).to_string();
        let events = (0..count).map(|number| Event { data: data.clone(), ..event(number) });
        Batch { events: events.collect(), ..Batch::default() }
    };
    open(dir.path()).appender().append(&told(90_000), NOW).unwrap();
    let file = rusqlite::Connection::open(dir.path().join("traces/events.db")).unwrap();
    file.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    drop(file);
    assert!(taken(dir.path()) > KEEP);
    let store = small(dir.path());
    let mut appender = store.appender();
    appender.append(&batch((0..300).map(|number| long(number, 20_000))), NOW).unwrap();
    appender.retain(NOW).unwrap();
    assert_eq!(store.stats().await.unwrap().spans, 300);
    appender.append(&told(10), NOW).unwrap();
    appender.retain(NOW).unwrap();
    assert!(taken(dir.path()) <= AT_MOST, "{}", taken(dir.path()));
    assert_eq!((store.stats().await.unwrap().spans, store.last_event().await.unwrap()), (300, 90_010));
    assert!(store.events_after(89_000, 10).await.unwrap().len() == 10);
}
