//! Workflows: entities whose steps the server runs by itself, each through the whole pipeline.

use std::time::{Duration, Instant};

use aql::{
    category::Category,
    define::{Operation, Param, Type},
    error::{Code, Error},
    execution::Execution,
    registry::Registry,
    request, shared,
    workflow::{Call, Next, Outcome, State, Workflow, problems_error},
};
use serde_json::{Map, Value, json};

use super::{Context, Params, find, preview};
use crate::{
    adapters::{
        Operations,
        executions::{answer_started, lifecycle, time_to_wait, wait_seconds},
    },
    dispatch::{Outcome as Answered, Work},
    executions::{Executions, Job, Runner, Running},
    gate::Permitted,
    store::entities::{Entity, EntityStore},
};

/// The entity type that holds steps.
pub(super) const WORKFLOW: &str = "workflow";
const EXECUTE_WORKFLOW: &str = "execute_workflow";
/// A step starts within this many seconds of the call, or the call answers without its end.
const WAIT_SECONDS_DEFAULT: u8 = 10;
/// A checkpoint below this size is written after every call, a larger one at most once a second.
const SMALL_CHECKPOINT_BYTES: usize = 256 * 1024;
const LARGE_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn types() -> Vec<Type> {
    vec![Type::object(
        "WorkflowStep",
        "A step of a workflow. Anywhere in 'params' and 'for_each', {\"$from\": \"/input/…\"} or \
         {\"$from\": \"/steps/NAME/data/…\"} stands for a value of the input or of an earlier step's result, with an \
         optional \"default\"",
        vec![
            Param::new("name", "string", "Its name, unique in the workflow").required(),
            Param::new("operation", "string", "The operation to call").required(),
            Param::new("params", "object", "The operation's parameters"),
            Param::new("on_error", "string", "Whether the workflow fails with the step or goes on")
                .allowed(&["fail", "continue"])
                .default_value("fail"),
            Param::new(
                "for_each",
                "array | object",
                "A list: one call for each element, which is '/item' in 'params'",
            ),
        ],
    )]
}

pub(super) fn definition() -> Operation {
    let mut by_id = super::define::entity_id();
    by_id.description = "The id of the workflow".to_owned();
    let mut by_name = super::define::entity_name();
    by_name.description = "The workflow's name, instead of entity_id".to_owned();
    Operation::new(
        Category::Execute,
        EXECUTE_WORKFLOW,
        "Run a stored workflow (an entity of type 'workflow' with metadata.steps, see type WorkflowStep) inside the \
         server; pending becomes running, then completed, failed or cancelled",
    )
    .param(by_id.unless("entity_name"))
    .param(by_name)
    .param(Param::new(shared::INPUT, "object", "What the steps refer to as /input").default_value(json!({})))
    .param(wait_seconds(WAIT_SECONDS_DEFAULT))
    .param(shared::dry_run())
    .returns("Execution", "The execution; its result is the workflow's output")
    .example("Run a workflow", json!({"entity_id": "0198c0de-0000-7000-8000-000000000000"}))
    .example("Run a workflow by name", json!({"entity_name": "weekly_report", "input": {"team": "billing"}}))
    .lifecycle(lifecycle())
}

pub(super) fn add(operations: &mut Operations, store: &EntityStore, executions: &Executions) {
    let (store, starter) = (store.clone(), executions.clone());
    operations.add(definition(), move |mut permitted: Permitted, context: Context| -> Work {
        let (store, executions) = (store.clone(), starter.clone());
        Box::pin(async move {
            let params = Params(permitted.take_params());
            start(&store, &executions, params, &permitted, &context).await.map(Answered::from)
        })
    });
    executions.add_runner(EXECUTE_WORKFLOW, Steps);
}

/// Runs a workflow's steps.
struct Steps;

impl Runner for Steps {
    fn run(&self, job: Job) -> Running {
        Box::pin(run(job))
    }

    fn title(&self, params: &Value) -> Option<String> {
        params.get("entity_name")?.as_str().map(str::to_owned)
    }
}

/// What keeps an entity from being a workflow that can run.
pub(super) fn check(metadata: Option<&Map<String, Value>>, registry: &Registry) -> Result<Workflow, Error> {
    let empty = Map::new();
    let workflow =
        Workflow::read(metadata.unwrap_or(&empty)).map_err(|problems| problems_error(&problems))?;
    // An execution that starts others would have to wait for a place that it holds itself.
    let starts = |name: &str| {
        let operation = registry.id(name).and_then(|id| registry.get(id));
        operation.is_some_and(|operation| operation.lifecycle().is_some())
    };
    match workflow.check(registry, starts).as_slice() {
        [] => Ok(workflow),
        problems => Err(problems_error(problems)),
    }
}

async fn start(
    store: &EntityStore,
    executions: &Executions,
    mut params: Params,
    permitted: &Permitted,
    context: &Context,
) -> Result<aql::response::Data, Error> {
    let given = params.object(shared::INPUT).unwrap_or_default();
    params.0.insert("entity_type".to_owned(), WORKFLOW.into());
    let entity = find(store, &params, EXECUTE_WORKFLOW).await?;
    let workflow = stored(&entity, context)?;
    if let Some(error) = workflow.inputs_error(&given) {
        return Err(error);
    }
    let input = workflow.input_with_defaults(&given);
    if params.dry_run() {
        let steps: Vec<Value> =
            workflow.steps().map(|(name, operation)| json!({"name": name, "operation": operation})).collect();
        let lifecycle = permitted.operation().lifecycle().cloned().unwrap_or_default();
        let execution =
            Execution::new("none".to_owned(), EXECUTE_WORKFLOW.to_owned(), lifecycle, context.now);
        let mut preview = preview(execution.view(), true);
        if let Value::Object(preview) = &mut preview {
            preview.insert("result".to_owned(), json!({"steps": steps, "input": input}));
        }
        return Ok(preview.into());
    }
    // The steps go along, so that a retry goes on with what was started, whatever became of the entity.
    let kept = json!({
        "entity_id": entity.id,
        "entity_name": entity.name,
        "metadata": entity.metadata,
        "input": input,
    });
    let execution = executions.start(permitted.operation(), kept, context).await?;
    let time = time_to_wait(&params.0, context);
    answer_started(executions, execution, time, context).await.map(Into::into)
}

/// The workflow in an entity, checked again: operations may have changed since it was stored.
fn stored(entity: &Entity, context: &Context) -> Result<Workflow, Error> {
    if entity.entity_type != WORKFLOW {
        let hint = format!(
            "'{}' is a '{}'. List workflows with list_entities and entity_type 'workflow'.",
            entity.name, entity.entity_type
        );
        return Err(Error::not_found_resource(WORKFLOW, &entity.id).hint(hint));
    }
    check(entity.metadata.as_ref(), context.gateway.surface().registry())
}

/// Runs the steps that are not done yet.
async fn run(job: Job) -> Result<Value, Error> {
    let damaged = || Error::internal("the workflow that was started could not be read again");
    let metadata = job.params.get("metadata").and_then(Value::as_object).ok_or_else(damaged)?;
    let workflow = Workflow::read(metadata).map_err(|problems| problems_error(&problems))?;
    let input = job.params.get(shared::INPUT).ok_or_else(damaged)?;
    let mut state = match &job.checkpoint {
        Some(checkpoint) => State::from_value(checkpoint, &workflow)?,
        None => State::default(),
    };
    state.retry();
    let mut kept = Kept { job: &job, at: Instant::now() };
    loop {
        let surface = job.gateway.surface();
        let limits = surface.registry().limits();
        tell(&job, &workflow, &state);
        let ready = match workflow.next(&state, input, limits) {
            Next::Done { output } => return Ok(output),
            Next::Failed { error, .. } => {
                kept.keep(&state).await?;
                return Err(error);
            }
            Next::Step(ready) => ready,
        };
        if ready.calls.is_empty() {
            state.record(&ready, Vec::new(), limits.max_response_size())?;
        }
        for call in &ready.calls {
            if job.should_end() {
                kept.keep(&state).await?;
                return Err(session_ended());
            }
            let outcome = Outcome::of(call, make(&job, call).await);
            let recorded = state.record(&ready, vec![outcome], limits.max_response_size());
            tell(&job, &workflow, &state);
            kept.keep_soon(&state).await?;
            recorded?;
            if state.is_failed() {
                break;
            }
        }
        kept.keep(&state).await?;
    }
}

fn session_ended() -> Error {
    Error::new(Code::Unavailable, "The session ended before this workflow was done")
        .with("reason", "session_ended")
        .hint("Retry it: what was done is not repeated.")
}

fn tell(job: &Job, workflow: &Workflow, state: &State) {
    let (done, total, message) = workflow.progress(state);
    if let Some(span) = &job.span {
        span.progressed(json!({"progress": done, "total": total, "message": message}));
    }
    job.progress.count(done, total, message);
    job.progress.reach(workflow.fraction(state));
}

/// The checkpoints of a run. What was done since the last one is done again by a retry after a crash, so there is one
/// after every call as long as that costs little.
struct Kept<'a> {
    job: &'a Job,
    at: Instant,
}

impl Kept<'_> {
    async fn keep_soon(&mut self, state: &State) -> Result<(), Error> {
        if state.bytes() < SMALL_CHECKPOINT_BYTES || self.at.elapsed() >= LARGE_CHECKPOINT_INTERVAL {
            return self.keep(state).await;
        }
        Ok(())
    }

    async fn keep(&mut self, state: &State) -> Result<(), Error> {
        self.at = Instant::now();
        self.job.keep(&state.to_value()).await
    }
}

/// Makes one call, as the session that started the workflow.
async fn make(job: &Job, call: &Call) -> Result<Value, Error> {
    let call = request::Call { operation: call.operation.clone(), params: call.params.clone() };
    let answer = job.gateway.step(&job.session, call, job.span.as_deref()).await;
    let mut answer: Map<String, Value> = serde_json::from_str(&answer.to_text())
        .map_err(|_| Error::internal("a step's answer could not be read"))?;
    match answer.remove("error") {
        None => Ok(answer.remove("data").unwrap_or_default()),
        Some(error) => Err(failure(error)),
    }
}

fn failure(error: Value) -> Error {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = Code::ALL.iter().copied().find(|code| code.as_str() == text("code"));
    let mut told = Error::new(code.unwrap_or(Code::Internal), text("message"));
    if let Some(Value::Object(details)) = error.get("details") {
        told.details = details.clone();
    }
    told
}
