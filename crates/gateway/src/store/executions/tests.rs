//! The store as its callers see it, on real files.

use aql::error::Error as CallError;
use aql::execution::{Command, Core, Failure, Progress, Reason};
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::*;

// Only debug builds have failpoints.
#[cfg(debug_assertions)]
mod crashing;
mod damage;
mod lifecycle;
mod sharing;
mod space;

const LEASE: Duration = Duration::from_secs(10);

struct Fixture {
    // Declared first to be dropped first: the file goes after the store.
    store: ExecutionStore,
    dir: TempDir,
}

fn fixture() -> Fixture {
    fixture_with(Options::default())
}

fn fixture_with(options: Options) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = ExecutionStore::open(dir.path(), options).unwrap();
    Fixture { store, dir }
}

impl Fixture {
    /// The store as another process opens it.
    fn another(&self) -> ExecutionStore {
        ExecutionStore::open(self.dir.path(), Options::default()).unwrap()
    }

    fn connection(&self) -> Connection {
        Connection::open(self.dir.path().join(schema::FILE)).unwrap()
    }

    /// Stores a pending execution of "p1", owned by "a" in session "s1".
    async fn add(&self, number: usize) -> Run {
        self.store.create(new(number), claim("a", "s1"), at(0)).await.unwrap();
        run(number, "a", 1)
    }

    async fn start(&self, number: usize) -> Run {
        let run = self.add(number).await;
        changed(self.store.advance(&run, Command::Start, at(1)).await);
        run
    }

    async fn fail(&self, number: usize) -> Run {
        let run = self.start(number).await;
        changed(self.store.advance(&run, Command::Fail(boom()), at(2)).await);
        run
    }

    async fn get(&self, number: usize) -> Execution {
        self.store.get(&id(number), "p1").await.unwrap().unwrap()
    }

    async fn status(&self, number: usize) -> String {
        self.get(number).await.record().status.to_string()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + second, 123_456_789).unwrap()
}

/// Ids whose order is that of their numbers, as with UUID v7.
fn id(number: usize) -> String {
    format!("id-{number:05}")
}

fn run(number: usize, owner: &str, attempt: u32) -> Run {
    Run { id: id(number), owner: owner.into(), attempt }
}

fn lifecycle() -> Lifecycle {
    let lifecycle = Lifecycle::new().with_cancel().with_retry().with_progress();
    lifecycle.with_state("paused", Core::Running).unwrap()
}

fn new(number: usize) -> NewExecution {
    NewExecution {
        id: id(number),
        operation: "execute_job".into(),
        lifecycle: Arc::new(lifecycle()),
        principal: "p1".into(),
        params: json!({"number": number}),
    }
}

fn claim(owner: &str, session: &str) -> Claim {
    Claim { owner: owner.into(), session_id: session.into(), lease: LEASE }
}

fn boom() -> Failure {
    CallError::internal("boom").into()
}

fn percentage(percentage: f64) -> Command {
    Command::Progress(Progress::new(Some(percentage), None, None).unwrap())
}

fn changed(outcome: Result<Changed, Error>) -> Execution {
    match outcome {
        Ok(Changed::Changed(execution)) => execution,
        other => panic!("{other:?}"),
    }
}

fn refused(outcome: Result<Changed, Error>) -> Illegal {
    match outcome {
        Ok(Changed::Illegal(illegal)) => illegal,
        other => panic!("{other:?}"),
    }
}

fn ids(executions: &[Execution]) -> Vec<&str> {
    executions.iter().map(|execution| execution.record().execution_id.as_str()).collect()
}
