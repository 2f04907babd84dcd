//! What tools cost a model: the definitions of other servers as they are, and ours in front of them.
//!
//! Counted are o200k tokens of compact JSON, with the tokenizer's tables in the program itself: nothing is fetched. What
//! a model sees of a tool is its name, description and input schema; clients keep the rest to themselves.

mod list;
mod ordered;
mod sample;
mod task;

use aql::{
    adopt::{self, Taken},
    define,
    profile::{Mode, Profile},
    registry::{Builder, Problems, Registry},
};
use serde::Serialize;
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;

pub use self::{
    list::{List, NotAList},
    task::{Steps, Task},
};

pub const TOKENIZER: &str = "o200k_base";

/// What everything costs.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub tokenizer: &'static str,
    pub servers: Vec<Server>,
    /// All tools of all servers, as a client has them that knows no better.
    pub eager: Eager,
    /// Our own tools in front of all of them.
    pub crude: Ours,
    pub single: Ours,
    /// A few operations in a row, with everything that a model reads and writes for them.
    pub task: Task,
}

/// One server as it is.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    pub server: String,
    pub tools: usize,
    pub operations: usize,
    /// What a model sees.
    pub tokens: usize,
    /// The whole of `tools/list`.
    pub wire_tokens: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct Eager {
    pub tools: usize,
    pub tokens: usize,
    pub wire_tokens: usize,
}

/// Our tools in one mode.
#[derive(Debug, Clone, Serialize)]
pub struct Ours {
    pub tools: usize,
    pub operations: usize,
    pub tokens: usize,
    /// How much less than all tools that is.
    pub saved_percent: f64,
}

/// What is served beside the lists.
#[derive(Debug, Clone, Default)]
pub struct Own {
    pub operations: Vec<define::Operation>,
    pub types: Vec<define::Type>,
}

/// Why nothing can be counted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the tokenizer could not be prepared")]
    Tokenizer,
    #[error("{0}")]
    Problems(#[from] Problems),
}

/// Counts tokens.
pub struct Counter(CoreBPE);

impl Counter {
    /// Prepares the tables, which takes a moment.
    pub fn new() -> Result<Self, Error> {
        tiktoken_rs::o200k_base().map(Self).map_err(|_| Error::Tokenizer)
    }

    #[must_use]
    pub fn text(&self, text: &str) -> usize {
        self.0.encode_ordinary(text).len()
    }

    fn json(&self, value: &Value) -> usize {
        self.text(&value.to_string())
    }
}

/// Counts what the servers' tools cost, and ours before them. `builder` holds our limits and rules.
pub fn measure(lists: &[List], own: &Own, builder: &Builder) -> Result<Report, Error> {
    let counter = Counter::new()?;
    let mut taken = Taken::default().with(&own.operations, &own.types);
    let mut adopted: Vec<adopt::Operation> = Vec::new();
    let (mut definitions, mut types) = (own.operations.clone(), own.types.clone());
    let mut servers = Vec::new();
    for list in lists {
        let became = adopt::adopt(&list.tools, &list.options(), &mut taken);
        servers.push(Server {
            server: list.server.clone(),
            tools: list.count,
            operations: became.operations.len(),
            tokens: counter.text(&list.visible),
            wire_tokens: counter.text(&list.wire),
        });
        definitions.extend(became.operations.iter().map(|operation| operation.definition.clone()));
        types.extend(became.types);
        adopted.extend(became.operations);
    }
    let build = |mode: Mode| {
        let builder = builder.clone().mode(mode).profile(Profile::crude());
        builder.operations(definitions.clone()).types(types.clone()).build()
    };
    let (crude, single) = (build(Mode::Semantic)?, build(Mode::Single)?);
    let eager = Eager {
        tools: servers.iter().map(|server| server.tools).sum(),
        tokens: servers.iter().map(|server| server.tokens).sum(),
        wire_tokens: servers.iter().map(|server| server.wire_tokens).sum(),
    };
    let task = task::run(&counter, &adopted, eager.tokens, &crude, &single);
    Ok(Report {
        tokenizer: TOKENIZER,
        crude: ours(&counter, &crude, eager.tokens),
        single: ours(&counter, &single, eager.tokens),
        servers,
        eager,
        task,
    })
}

fn ours(counter: &Counter, registry: &Registry, eager: usize) -> Ours {
    let tokens = counter.json(&tools(registry));
    Ours {
        tools: registry.tools().len(),
        operations: registry.visible().count(),
        tokens,
        saved_percent: saved(tokens, eager),
    }
}

/// What a model sees of our tools.
fn tools(registry: &Registry) -> Value {
    let tool = |tool: &aql::tools::Tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
    Value::Array(registry.tools().iter().map(tool).collect())
}

/// How much less the tokens are than the others, in percent with one place; below zero where they are more.
fn saved(tokens: usize, than: usize) -> f64 {
    if than == 0 {
        return 0.0;
    }
    let share = tokens as f64 / than as f64;
    ((1.0 - share) * 1000.0).round() / 10.0
}
