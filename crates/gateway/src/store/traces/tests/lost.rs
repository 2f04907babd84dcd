//! What a process that is gone has left.

use std::fs::OpenOptions;

use super::{super::SessionFilter, *};

/// Gives everything that runs to somebody else, as if they had written it.
fn give_to(appender: &mut super::super::Appender, owner: &str) {
    appender.file(ours_today()).unwrap().execute("UPDATE running SET owner = ?1", [owner]).unwrap();
}

fn locks(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("traces/running")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn what_ran_in_a_process_that_is_gone_is_cancelled_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let root = running(span(1));
    let mut waiting = running(call(2, &root, "srv-b"));
    waiting.status = Status::Waiting;
    appender.append(&batch([root.clone(), waiting, span(3)]), NOW).unwrap();
    while appender.index_some(100).unwrap() > 0 {}
    assert_eq!(appender.end_lost(NOW).unwrap(), 0, "it is ours, and we are here");
    assert_eq!(store.appender().end_lost(NOW).unwrap(), 0, "others see that we are here");
    assert_eq!(store.session("r-1").await.unwrap().unwrap().0.status, "waiting");

    give_to(&mut appender, "gone");
    let lock = std::fs::File::create(dir.path().join("traces/running/gone")).unwrap();
    let heard = std::time::UNIX_EPOCH + std::time::Duration::from_nanos((NOW + 70 * SECOND) as u64);
    lock.set_modified(heard).unwrap();
    drop(lock);
    let mut next = open(dir.path()).appender();
    assert_eq!(next.end_lost(NOW + DAY).unwrap(), 2);
    assert_eq!(next.end_lost(NOW + DAY).unwrap(), 0);
    let (session, spans) = store.session("r-1").await.unwrap().unwrap();
    assert_eq!((session.status, session.error_count), ("cancelled", 0));
    // Until when it was heard of.
    assert!(spans.iter().all(|span| span.status == "cancelled" && span.error.as_deref() == Some("lost")));
    assert_eq!(spans[0].ended_us, Some((NOW + 70 * SECOND) / 1000));
    let full = store.span(root.trace, root.id).await.unwrap().unwrap();
    assert!(full.attributes[names::ERROR_MESSAGE].as_str().unwrap().contains("process"));
    assert_eq!(store.session("r-3").await.unwrap().unwrap().0.status, "ok");
    assert!(!locks(dir.path()).contains(&"gone".to_owned()), "its lock is tidied up");
    assert_eq!(locks(dir.path()).len(), 1, "ours is not");
    // Its own end comes too late.
    assert_eq!(appender.append(&batch([span(1)]), NOW).unwrap().ignored, 1);
    while next.index_some(100).unwrap() > 0 {}
    let found = store.search("lost", Default::default(), ALL).await.unwrap().0;
    assert_eq!(found.len(), 2, "it is found by its end");
}

#[tokio::test]
async fn a_lock_that_is_held_is_believed_and_strange_names_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    appender.append(&batch([running(span(1))]), NOW).unwrap();
    let path = dir.path().join("traces/running/held");
    let held = OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    held.lock().unwrap();
    give_to(&mut appender, "held");
    assert_eq!(store.appender().end_lost(NOW).unwrap(), 0);
    drop(held);
    // One who can write the file cannot make us open another one.
    let outside = dir.path().join("outside");
    std::fs::write(&outside, "x").unwrap();
    give_to(&mut appender, "../../outside");
    assert_eq!(store.appender().end_lost(NOW).unwrap(), 1);
    assert_eq!(std::fs::read(&outside).unwrap(), b"x");
    let filter = SessionFilter { status: Some(Status::Cancelled), ..SessionFilter::default() };
    assert_eq!(store.sessions(filter, ALL).await.unwrap().0.len(), 1);
}

#[tokio::test]
async fn who_ends_well_leaves_no_lock_and_one_that_was_removed_is_held_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    appender.append(&batch([span(1)]), NOW).unwrap();
    assert!(!dir.path().join("traces/running").exists(), "nothing runs");
    appender.append(&batch([running(span(2))]), NOW).unwrap();
    let name = locks(dir.path());
    std::fs::remove_dir_all(dir.path().join("traces/running")).unwrap();
    appender.append(&batch([running(span(3))]), NOW).unwrap();
    assert_eq!(locks(dir.path()), name, "under the same name");
    assert_eq!(store.appender().end_lost(NOW).unwrap(), 0);
    drop(appender);
    assert!(locks(dir.path()).is_empty());
    assert_eq!(store.appender().end_lost(NOW).unwrap(), 2);
}
