//! A server for the tests: operations that wait, report progress, panic, grow and are deprecated.
//!
//! `fixture` speaks MCP on standard input and output; `fixture ADDRESS` serves HTTP there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gateway::{
    adapters::Operations,
    aql::{
        category::Category,
        define::{Answers, Operation, Param, Selection},
        error::Error,
    },
    dispatch::Context,
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
struct Many {
    /// How many things to list
    count: u64,
    /// How long each one's note is
    note_bytes: Option<usize>,
}

/// Things as another system would return them: a list under a name of its own, and something beside it.
fn things(made: u64, asked: &Many) -> Value {
    let note = "n".repeat(asked.note_bytes.unwrap_or(1));
    let thing = |n: u64| {
        json!({"id": n, "title": format!("Thing {n}"), "state": if n % 3 == 0 { "open" } else { "closed" },
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
    let (next, made) = (AtomicU64::new(0), AtomicU64::new(0));
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
        .typed(secret, |_: Nothing, _| async move { Ok(Value::Null) })
}

#[expect(clippy::panic, reason = "panicking is what this operation is for")]
async fn fail() -> Result<Value, Error> {
    tokio::task::yield_now().await;
    panic!("at /home/somebody/src/main.rs:1: secret internals")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::new("fixture", operations()?)?;
    match std::env::args().nth(1) {
        Some(address) => server.http(address.parse()?).await?,
        None => server.stdio().await?,
    }
    Ok(())
}
