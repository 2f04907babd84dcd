//! Executions as MCP tasks, for clients that know them: a call that goes on after its answer is answered with a task,
//! which is asked for and cancelled by the execution's id. Both go through the pipeline, like any other call.

use std::sync::Arc;

use aql::{
    registry::{Endpoint, Registry},
    request::Call,
};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ContentBlock, CreateTaskResult, DetailedTask, ErrorCode, GetTaskResult, JsonObject,
        Task, TaskPayload, TaskStatus,
    },
};
use serde_json::{Map, Value, json};

use crate::{pipeline::Gateway, session::Session};

/// How often a client should ask.
const POLL_INTERVAL_MS: u64 = 1000;
const GET: &str = "get_execution";
const CANCEL: &str = "cancel_execution";

/// Whether any call can become a task.
pub(super) fn are_offered(registry: &Registry) -> bool {
    registry.visible().any(|operation| operation.lifecycle().is_some())
        && registry.visible().any(|operation| operation.name().as_str() == GET)
}

/// Whether the call with these arguments may be answered with a task. Few tools have such operations.
pub(super) fn may_start(registry: &Registry, endpoint: Endpoint, arguments: &Map<String, Value>) -> bool {
    if !registry.starts_executions(endpoint) {
        return false;
    }
    let name = arguments.get("operation").and_then(Value::as_str);
    let operation = name.and_then(|name| registry.id(name)).and_then(|id| registry.get(id));
    operation.is_some_and(|operation| operation.lifecycle().is_some())
}

/// The answer to a call that has become an execution.
pub(super) fn created(execution: &Value) -> CreateTaskResult {
    CreateTaskResult::new(task(execution))
}

pub(super) async fn get(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    id: &str,
) -> Result<GetTaskResult, ErrorData> {
    let execution = ask(gateway, session, GET, json!({"execution_id": id, "fields": "full"})).await?;
    let task = task(&execution);
    let payload = match task.status {
        TaskStatus::Completed => TaskPayload::Completed { result: result(&execution) },
        TaskStatus::Failed => TaskPayload::Failed { error: error(&execution) },
        TaskStatus::Cancelled => TaskPayload::Cancelled,
        _ => TaskPayload::Working,
    };
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

pub(super) async fn cancel(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    id: &str,
) -> Result<(), ErrorData> {
    ask(gateway, session, CANCEL, json!({"execution_id": id})).await.map(drop)
}

/// What an operation answers, or why it does not.
async fn ask(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    operation: &str,
    params: Value,
) -> Result<Value, ErrorData> {
    let params = params.as_object().cloned().unwrap_or_default();
    let answer = gateway.step(session, Call { operation: operation.to_owned(), params }, None).await;
    let mut answer: Value = serde_json::from_str(&answer.to_text()).unwrap_or_default();
    match answer.pointer("/error/message").and_then(Value::as_str) {
        None => Ok(answer.get_mut("data").map(Value::take).unwrap_or_default()),
        Some(message) => {
            let message = message.to_owned();
            Err(ErrorData::invalid_params(message, answer.get_mut("error").map(Value::take)))
        }
    }
}

fn task(execution: &Value) -> Task {
    let text = |key: &str| execution.get(key).and_then(Value::as_str);
    let created = text("created_at").unwrap_or_default();
    let updated = text("finished_at").or_else(|| text("started_at")).unwrap_or(created);
    // What other states count as is not in the answer; they are all on the way.
    let status = match text("status") {
        Some("completed") => TaskStatus::Completed,
        Some("failed") => TaskStatus::Failed,
        Some("cancelled") => TaskStatus::Cancelled,
        _ => TaskStatus::Working,
    };
    let id = text("execution_id").unwrap_or_default();
    let mut task = Task::new(id, status, created, updated).with_poll_interval_ms(POLL_INTERVAL_MS);
    if let Some(message) = execution.pointer("/progress/message").and_then(Value::as_str) {
        task = task.with_status_message(message);
    }
    task
}

/// What the call would have answered, had it waited.
fn result(execution: &Value) -> JsonObject {
    let text = json!({"success": true, "data": execution}).to_string();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.is_error = Some(false);
    serde_json::to_value(result).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

fn error(execution: &Value) -> JsonObject {
    let message =
        execution.pointer("/error/message").and_then(Value::as_str).unwrap_or("The execution failed");
    let error =
        ErrorData::new(ErrorCode::INTERNAL_ERROR, message.to_owned(), execution.get("error").cloned());
    serde_json::to_value(error).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default()
}
