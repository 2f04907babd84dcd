//! A server for the tests: operations that wait, report progress, panic, grow and are deprecated.
//!
//! `fixture` speaks MCP on standard input and output; `fixture ADDRESS` serves HTTP there.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway::{
    adapters::{Operations, executions::lifecycle},
    aql::{
        category::Category,
        define::{Answers, Operation, Param, Selection},
        error::{Code, Error},
        execution::{Core, Lifecycle},
    },
    dispatch::Context,
    executions::{Executions, Job, Options},
    library::Server,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The words to say back
    message: String,
    /// How loud, from 1 to 10
    #[schemars(range(min = 1, max = 10))]
    volume: Option<i64>,
    /// Whether to add an echo of the echo
    twice: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// How long to wait
    #[schemars(range(min = 0, max = 60000))]
    milliseconds: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Grow {
    /// How many bytes to answer with
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Work {
    /// How many steps to take
    #[schemars(range(min = 0, max = 1000))]
    steps: u32,
    /// How long each one takes
    #[schemars(range(min = 0, max = 60000))]
    step_milliseconds: u64,
    /// The attempts that fail at their end
    failing_attempts: Option<u32>,
    /// Whether to panic in the first step
    panics: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct Which {
    /// The execution
    execution_id: String,
    /// The state to move it to
    state: String,
}

/// Works step by step, tells how far it is and counts the steps, so that a test sees whether it goes on.
async fn work(asked: Work, job: Job, worked: Arc<AtomicU64>) -> Result<Value, Error> {
    let attempts = job.checkpoint.as_ref().and_then(Value::as_u64).unwrap_or_default() + 1;
    job.keep(&json!(attempts)).await?;
    for step in 0..asked.steps {
        if asked.panics == Some(true) {
            fail().await?;
        }
        job.progress.count(step as usize, asked.steps as usize, format!("step {step}"));
        tokio::time::sleep(Duration::from_millis(asked.step_milliseconds)).await;
        worked.fetch_add(1, Ordering::Relaxed);
    }
    if attempts <= u64::from(asked.failing_attempts.unwrap_or_default()) {
        return Err(Error::new(Code::NotFoundResource, "There was nothing to work on"));
    }
    Ok(json!({"steps": asked.steps, "attempts": attempts}))
}

fn jobs(executions: &Executions) -> Result<Operations, Box<dyn std::error::Error>> {
    let worked = Arc::new(AtomicU64::new(0));
    let (counted, once, moved) = (Arc::clone(&worked), Arc::clone(&worked), executions.clone());
    let lifecycle = lifecycle().with_state("queued", Core::Pending)?.with_state("paused", Core::Running)?;
    let job =
        operation(Category::Execute, "execute_job", "Work in steps; pending becomes running, then completed");
    let plain = operation(Category::Execute, "execute_once", "Work that can be neither stopped nor retried");
    let moving = operation(
        Category::Execute,
        "move_job",
        "Move a job to another state: queued while pending, paused while running, and back",
    );
    let mut operations = Operations::new()
        .executed(job.lifecycle(lifecycle), executions, move |asked: Work, job: Job| {
            work(asked, job, Arc::clone(&worked))
        })?
        .executed(plain.lifecycle(Lifecycle::new()), executions, move |asked: Work, job: Job| {
            work(asked, job, Arc::clone(&once))
        })?
        .typed(moving, move |asked: Which, context: Context| {
            let executions = moved.clone();
            async move {
                let principal = context.session.principal();
                Ok(executions.enter(&asked.execution_id, principal, &asked.state, context.now).await?.view())
            }
        })?
        .typed(
            operation(Category::Read, "count_worked", "Count the steps that jobs took"),
            move |_: Nothing, _| {
                let counted = Arc::clone(&counted);
                async move { Ok(json!({"worked": counted.load(Ordering::Relaxed)})) }
            },
        )?;
    operations.extend(gateway::adapters::executions::operations(executions));
    Ok(operations)
}

#[derive(Deserialize, JsonSchema)]
struct Many {
    /// How many things to list
    count: u64,
    /// How long each one's note is
    note_bytes: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Rows {
    /// How many rows to list
    first: u64,
}

/// Things as another system would return them: a list under a name of its own, and something beside it.
fn things(made: u64, asked: &Many) -> Value {
    let note = "n".repeat(asked.note_bytes.unwrap_or(1));
    let thing = |n: u64| {
        json!({"id": n, "title": format!("Thing {n}"), "state": if n.is_multiple_of(3) { "open" } else { "closed" },
               "note": note, "author": {"login": format!("user{}", n % 2)}})
    };
    json!({"made": made, "things": (1..=asked.count).map(thing).collect::<Vec<_>>()})
}

fn operation(category: Category, name: &str, description: &str) -> Operation {
    Operation::new(category, name, description)
}

fn operations() -> Result<Operations, gateway::adapters::Error> {
    let finished = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&finished);
    let (next, made, changed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let mut secret = operation(Category::Read, "get_secret", "Take a secret and tell nothing");
    secret.params = vec![Param::new("api_key", "string", "A key nobody may see").required().sensitive()];
    let mut named = operation(Category::Read, "get_thing", "Get a thing");
    named.params = vec![Param::new("thing_id", "string", "Which thing").required().alias("thingId")];
    named.selection = Some(Selection {
        answers: Answers::One,
        minimal: vec!["id".into()],
        standard: vec!["id".into(), "name".into()],
        full: vec!["id".into(), "name".into(), "settings.*".into()],
        presets: Default::default(),
    });
    Operations::new()
        .typed(operation(Category::Read, "get_echo", "Say a message back"), |asked: Echo, _| async move {
            let times = if asked.twice == Some(true) { 2 } else { 1 };
            Ok(json!({"message": asked.message.repeat(times), "volume": asked.volume}))
        })?
        .typed(operation(Category::Execute, "execute_wait", "Wait, then count"), move |asked: Wait, context: Context| {
            let finished = Arc::clone(&finished);
            let id = next.fetch_add(1, Ordering::Relaxed);
            async move {
                for step in 0..10_u32 {
                    context.progress.report(f64::from(step) / 10.0, format!("step {step}"));
                    tokio::time::sleep(Duration::from_millis(asked.milliseconds / 10)).await;
                }
                finished.fetch_add(1, Ordering::Relaxed);
                Ok(json!({"execution_id": format!("exec_{id}")}))
            }
        })?
        .typed(operation(Category::Read, "get_wait", "Wait without a word"), |asked: Wait, _| async move {
            tokio::time::sleep(Duration::from_millis(asked.milliseconds)).await;
            Ok(json!({"waited": asked.milliseconds}))
        })?
        .typed(operation(Category::Read, "count_finished", "Count the waits that came to their end"), move |_: Nothing, _| {
            let count = Arc::clone(&count);
            async move { Ok(json!({"finished": count.load(Ordering::Relaxed)})) }
        })?
        .typed(operation(Category::Read, "get_panic", "Panic"), |_: Nothing, _| async move { fail().await })?
        .typed(operation(Category::Read, "get_fault", "Fail inside"), |_: Nothing, _| async move {
            Err::<Value, _>(Error::internal("the backend did not answer"))
        })?
        .typed(operation(Category::Read, "get_bytes", "Answer with many bytes"), |asked: Grow, _| async move {
            Ok("x".repeat(asked.bytes))
        })?
        .typed(
            operation(Category::Read, "find_things", "Find things").deprecated(Some("get_thing"), None),
            |_: Nothing, _| async move { Ok(json!([])) },
        )?
        .typed(named, |asked: Value, _| async move {
            Ok(json!({"id": asked.get("thing_id"), "name": "thing", "settings": {"theme": "dark", "mail": null}}))
        })?
        .typed(
            operation(Category::Read, "list_things", "List things as another system returns them").queried_as_returned(),
            move |asked: Many, _| {
                let made = made.fetch_add(1, Ordering::Relaxed);
                async move { Ok(things(made, &asked)) }
            },
        )?
        .typed(
            operation(Category::Read, "list_pairs", "Answer with two lists").queried_as_returned(),
            |_: Nothing, _| async move { Ok(json!({"left": [{"a": 1}], "right": [{"b": 2}], "n": 1})) },
        )?
        .typed(
            operation(Category::Read, "list_rows", "List rows with a paging of its own").queried_as_returned(),
            |asked: Rows, _| async move {
                let rows: Vec<Value> = (0..asked.first).map(|n| json!({"n": n, "text": "x".repeat(1000)})).collect();
                Ok(json!({"rows": rows, "total": asked.first, "pageInfo": {"next": "theirs"}}))
            },
        )?
        .typed(
            operation(Category::Read, "list_changes", "List rows that have another field every time")
                .queried_as_returned(),
            move |_: Nothing, _| {
                let changed = changed.fetch_add(1, Ordering::Relaxed);
                async move {
                    let row = |n: u64| json!({"id": n, format!("only_{changed}"): n});
                    Ok((0..4).map(row).collect::<Vec<Value>>())
                }
            },
        )?
        .typed(secret, |_: Nothing, _| async move { Ok(Value::Null) })
}

#[expect(clippy::panic, reason = "panicking is what this operation is for")]
async fn fail() -> Result<Value, Error> {
    tokio::task::yield_now().await;
    panic!("at /home/somebody/src/main.rs:1: secret internals")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options { max_running: 1, ..Options::default() };
    let executions = Executions::open(Path::new("fixture-data"), options)?;
    let mut operations = operations()?;
    operations.extend(jobs(&executions)?);
    let server = Server::new("fixture", operations)?;
    match std::env::args().nth(1) {
        Some(address) => server.http(address.parse()?).await?,
        None => server.stdio().await?,
    }
    executions.close().await;
    Ok(())
}
