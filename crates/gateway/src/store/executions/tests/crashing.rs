//! A process that dies around a commit, and what the next one finds.

use std::process;

use super::*;
use crate::failpoint;

/// Where the test finds its directory when it runs again as the process that dies.
const DIRECTORY: &str = "EXECUTIONS_CRASH_DIRECTORY";
const NAME: &str = "store::executions::tests::crashing::what_was_committed_is_there_and_the_rest_is_not";

/// Takes one execution through everything, and another one to its failure and retry.
async fn live(dir: &Path) {
    let store = ExecutionStore::open(dir, Options::default()).unwrap();
    store.create(new(1), claim("a", "s1"), at(0)).await.unwrap();
    let first = run(1, "a", 1);
    changed(store.advance(&first, Command::Start, at(1)).await);
    changed(store.advance(&first, percentage(10.0), at(2)).await);
    changed(store.advance(&first, Command::Enter("paused".into()), at(2)).await);
    changed(store.checkpoint(&first, &json!({"step": 1}), at(2)).await);
    changed(store.advance(&first, Command::Fail(boom()), at(3)).await);
    store.take_over(&id(1), "p1", claim("a", "s1"), at(4)).await.unwrap();
    changed(store.advance(&run(1, "a", 2), Command::Complete(json!("done")), at(5)).await);
}

/// REQ-LIFE-02 REQ-SESS-11
#[tokio::test]
async fn what_was_committed_is_there_and_the_rest_is_not() {
    if let Ok(dir) = std::env::var(DIRECTORY) {
        live(Path::new(&dir)).await;
        panic!("the failpoint was not reached");
    }
    for (point, status, attempt) in [
        ("creating", None, 0),
        ("created", Some("pending"), 1),
        ("starting", Some("pending"), 1),
        ("started", Some("running"), 1),
        ("entered", Some("paused"), 1),
        ("checkpointed", Some("paused"), 1),
        ("failing", Some("paused"), 1),
        ("failed", Some("failed"), 1),
        ("retrying", Some("failed"), 1),
        ("retried", Some("running"), 2),
        ("completing", Some("running"), 2),
        ("completed", Some("completed"), 2),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let died = process::Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(DIRECTORY, dir.path())
            .env(failpoint::VARIABLE, format!("execution.{point}"))
            .output()
            .unwrap();
        assert_eq!(died.status.code(), None, "{point}: {}", String::from_utf8_lossy(&died.stderr));

        let store = ExecutionStore::open(dir.path(), Options::default()).unwrap();
        let found = store.get(&id(1), "p1").await.unwrap();
        let found = found.as_ref().map(Execution::record);
        assert_eq!(found.map(|record| record.status.as_str()), status, "{point}");
        assert_eq!(found.map_or(0, |record| record.attempt), attempt, "{point}");
        if point == "completed" {
            assert_eq!(found.and_then(|record| record.result.clone()), Some(json!("done")));
        }
        let over = status.is_none_or(|status| ["failed", "completed"].contains(&status));
        assert_eq!(store.expire(at(60)).await.unwrap().len(), usize::from(!over), "{point}");
    }
}
