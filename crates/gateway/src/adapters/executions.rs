//! Looking at executions, waiting for them, cancelling and retrying them.

use std::{sync::Arc, time::Duration};

use aql::{
    category::Category,
    define::{self, Answers, Operation, Param, Queried, Selection, Type},
    error::Error,
    execution::{Execution, Lifecycle},
    query::{Collection, Kind, Order, collection},
    response::Data,
};
use serde_json::{Map, Value, json};

use super::{Operations, page_type};
use crate::{
    dispatch::{Context, Outcome, Work},
    executions::{Executions, UnlessTold, is_open},
    gate::{self, Permitted},
    session::Transport,
};

/// Longer than this no call waits: clients give up after a minute.
const WAIT_SECONDS_MAX: f64 = 50.0;

/// How long a call waits for the end of an execution.
pub(crate) fn wait_seconds(default: u8) -> Param {
    Param::new(
        "wait_seconds",
        "number",
        "How long to wait for the end; after it the execution is answered as it is then and goes on by itself",
    )
    .range(0.0, WAIT_SECONDS_MAX)
    .default_value(default)
}

/// What workflows and other executions can do, unless their author says otherwise.
#[must_use]
pub fn lifecycle() -> Lifecycle {
    Lifecycle::new().with_cancel().with_retry().with_progress()
}

fn execution_id() -> Param {
    Param::new("execution_id", "string", "The id that the call which started it answered").required()
}

#[must_use]
pub fn types() -> Vec<Type> {
    let time = |name: &str, text: &str| Param::new(name, "string", text).format("date-time");
    vec![
        Type::object(
            "Execution",
            "Work that goes on by itself; terminal states never change, but for a retry of a failed one",
            vec![
                execution_id(),
                Param::new("operation", "string", "What was called").required(),
                Param::new("status", "string", "pending, running, completed, failed or cancelled").required(),
                Param::new("attempt", "integer", "1, and one more with every retry").required(),
                time("created_at", "When it was asked for, UTC").required(),
                time("started_at", "When this attempt began, UTC"),
                time("finished_at", "When it ended, UTC"),
                Param::new("progress", "ExecutionProgress", "How far it is"),
                Param::new("error", "object", "Why it failed: code, message, details"),
                Param::new("result", "object | array | string | number | boolean", "What it answered"),
            ],
        ),
        Type::object(
            "ExecutionProgress",
            "How far an execution is",
            vec![
                Param::new("percentage", "number", "From 0 to 100"),
                Param::new("current", "integer", "Parts that are done"),
                Param::new("total", "integer", "Parts there are"),
                Param::new("message", "string", "What it is doing, or why it ended"),
            ],
        ),
        page_type("ExecutionPage", "Execution", "One page of executions, or a summary of them"),
    ]
}

fn selection(answers: Answers) -> Selection {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let standard = ["execution_id", "operation", "status", "progress", "started_at", "finished_at", "error"];
    Selection {
        answers,
        minimal: list(&["execution_id", "status"]),
        standard: list(&standard),
        full: list(&[
            "execution_id",
            "operation",
            "status",
            "attempt",
            "created_at",
            "started_at",
            "finished_at",
            "progress.*",
            "error.*",
            "result.*",
        ]),
        presets: Default::default(),
    }
}

/// What can be asked of executions. Results are left out of lists.
fn collection() -> Result<Collection, collection::Error> {
    Collection::builder("executions")
        .id("execution_id")
        .distinct("execution_id", Kind::Text)
        .field("operation", Kind::Text)
        .field("status", Kind::Text)
        .field("attempt", Kind::Number)
        .field("created_at", Kind::Time)
        .field("started_at", Kind::Time)
        .field("finished_at", Kind::Time)
        .open("progress")
        .open("error")
        .default_sort("created_at", Order::Desc)
        .build()
}

fn get_execution() -> Operation {
    Operation::new(
        Category::Read,
        "get_execution",
        "Get an execution, its progress and, once it is done, its result",
    )
    .param(execution_id())
    .param(wait_seconds(0))
    .returns("Execution", "The execution as it is")
    .example(
        "Wait for the end",
        json!({"execution_id": "0198c0de-0000-7000-8000-000000000003", "wait_seconds": 30}),
    )
    .selection(selection(Answers::One))
}

fn list_executions() -> Operation {
    Operation::new(
        Category::Read,
        "list_executions",
        "List your executions, the newest first, without their results",
    )
    .returns("ExecutionPage", "One page of executions")
    .example("What failed last", json!({"filter": {"status": "failed"}, "first": 5}))
    .selection(selection(Answers::Collection))
    .queried_if(collection(), Queried::Stored)
}

fn cancel_execution() -> Operation {
    Operation::new(
        Category::Execute,
        "cancel_execution",
        "Stop an execution for good: pending or running becomes cancelled; what its steps did so far stays done",
    )
    .param(execution_id())
    .param(Param::new("reason", "string", "Why, to be kept with it").length(1, 500))
    .returns("Execution", "The execution, cancelled")
    .example("Stop it", json!({"execution_id": "0198c0de-0000-7000-8000-000000000003", "reason": "No longer needed"}))
}

fn retry_execution() -> Operation {
    Operation::new(
        Category::Execute,
        "retry_execution",
        "Run a failed execution again, from the step that failed: failed becomes running; called 'retry' because \
         'execute' would begin a new one",
    )
    .param(execution_id())
    .param(wait_seconds(10))
    .returns("Execution", "The execution, running again or done")
    .example("Try again", json!({"execution_id": "0198c0de-0000-7000-8000-000000000003"}))
    .lifecycle(lifecycle())
}

/// The operations without anything behind them, to be looked at.
#[must_use]
pub fn definitions() -> Vec<Operation> {
    vec![get_execution(), list_executions(), cancel_execution(), retry_execution()]
}

/// The operations over the executions on a data directory.
#[must_use]
pub fn operations(executions: &Executions) -> Operations {
    let mut operations = Operations::new();
    operations.add_types(types());
    add(&mut operations, executions, get_execution(), get);
    add(&mut operations, executions, list_executions(), list);
    add(&mut operations, executions, cancel_execution(), cancel);
    add(&mut operations, executions, retry_execution(), retry);
    operations
}

fn add<F, W>(operations: &mut Operations, executions: &Executions, definition: define::Operation, work: F)
where
    F: Fn(Executions, Map<String, Value>, Context) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let (executions, work) = (executions.clone(), Arc::new(work));
    operations.add(definition, move |mut permitted: Permitted, context: Context| -> Work {
        let work = work(executions.clone(), permitted.take_params(), context);
        Box::pin(async move { work.await.map(|value| Outcome::from(Data::Value(value))) })
    });
}

/// How long the call may wait; at the command line until the end, because its session ends with it.
pub(crate) fn time_to_wait(params: &Map<String, Value>, context: &Context) -> Option<Duration> {
    if context.session.transport() == Transport::Local {
        return None;
    }
    Some(asked_time(params, context))
}

fn asked_time(params: &Map<String, Value>, context: &Context) -> Duration {
    if !context.may_wait {
        return Duration::ZERO;
    }
    let seconds = params.get("wait_seconds").and_then(Value::as_f64).unwrap_or_default();
    Duration::try_from_secs_f64(seconds.clamp(0.0, WAIT_SECONDS_MAX)).unwrap_or_default()
}

/// Answers a call that started an execution: waits a little for it, and lets it go on by itself after that.
pub(crate) async fn answer_started(
    executions: &Executions,
    (execution, unless_told): (Execution, UnlessTold),
    time: Option<Duration>,
    context: &Context,
) -> Result<Value, Error> {
    let principal = context.session.principal();
    let id = execution.record().execution_id.clone();
    let execution = match time {
        Some(Duration::ZERO) => execution,
        time => executions.wait(&id, principal, time, &context.progress).await?,
    };
    let view = execution.view();
    if is_open(&execution) {
        context.progress.became(&view);
    }
    context.progress.until_answered(unless_told);
    Ok(view)
}

fn id(params: &Map<String, Value>) -> String {
    params.get("execution_id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn get(executions: Executions, params: Map<String, Value>, context: Context) -> Result<Value, Error> {
    settle(&executions, &context).await;
    let (id, principal) = (id(&params), context.session.principal());
    let execution = match asked_time(&params, &context) {
        Duration::ZERO => executions.get(&id, principal).await?,
        time => executions.wait(&id, principal, Some(time), &context.progress).await?,
    };
    Ok(execution.view())
}

/// At the command line nobody is there a little later, when what others left is ended.
async fn settle(executions: &Executions, context: &Context) {
    if context.session.transport() == Transport::Local {
        executions.settle().await;
    }
}

async fn list(executions: Executions, _: Map<String, Value>, context: Context) -> Result<Value, Error> {
    settle(&executions, &context).await;
    let views = executions.views(context.session.principal()).await?;
    let Some(query) = context.query else { return Err(Error::internal("the list has no query")) };
    Ok(query.run(views, context.now)?.into_value())
}

async fn cancel(
    executions: Executions,
    params: Map<String, Value>,
    context: Context,
) -> Result<Value, Error> {
    let reason = params.get("reason").and_then(Value::as_str).map(str::to_owned);
    let (id, principal) = (id(&params), context.session.principal());
    Ok(executions.cancel(&id, principal, reason, context.now).await?.view())
}

async fn retry(executions: Executions, params: Map<String, Value>, context: Context) -> Result<Value, Error> {
    settle(&executions, &context).await;
    let id = id(&params);
    // What may not be started may not be started again either.
    let found = executions.get(&id, context.session.principal()).await?;
    gate::may_start(context.gateway.surface().registry(), &found.record().operation, &context.session)?;
    let execution = executions.retry(&id, &context).await?;
    answer_started(&executions, execution, time_to_wait(&params, &context), &context).await
}
