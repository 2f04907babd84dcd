//! One execution from its turn to its end.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use aql::{
    error::{Code, Error},
    execution::{Command, Failure, Reason},
    limits::RESPONSE_SIZE,
};
use futures_util::FutureExt;
use serde_json::Value;

use super::{Begin, Executions, Following, Job, Runner};
use crate::{
    store::{
        self,
        executions::{Changed, Run},
    },
    trace::open::{End, Failed},
};

/// Progress is written down no more often than this; what is reported in between is left out.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// What an answer holds beside an execution's result, at most.
const ENVELOPE_BYTES: usize = 64 * 1024;
/// What is kept of an error.
const MESSAGE_BYTES_MAX: usize = 2 * 1024;
const DETAIL_BYTES_MAX: usize = 8 * 1024;
const DETAILS_BYTES_MAX: usize = 32 * 1024;
/// How often the end of a run is tried to be written.
const ENDING_TRIES: usize = 3;

impl Executions {
    pub(super) async fn run(&self, runner: Arc<dyn Runner>, job: Job, begin: Begin, following: &Following) {
        let run = job.run.clone();
        tokio::select! {
            biased;
            // Whoever stops a run has changed the execution before.
            () = following.stop.cancelled() => {}
            _ = following.stopped.asked() => self.cancel_run(&run).await,
            () = self.work(runner, job, begin, following) => {}
        }
        let mut live = self.live();
        if live.runs.get(&run.id).is_some_and(|known| known.attempt == run.attempt) {
            live.runs.remove(&run.id);
        }
        drop(live);
        following.stopped.over();
        following.ended.cancel();
    }

    /// Ends a run that the operator wants to be over.
    async fn cancel_run(&self, run: &Run) {
        let reason = Some("Stopped by the operator".to_owned());
        self.end(run, Command::Cancel { reason }).await;
    }

    async fn work(&self, runner: Arc<dyn Runner>, job: Job, begin: Begin, following: &Following) {
        let run = job.run.clone();
        let Ok(_place) = self.0.places.acquire().await else { return };
        let first = match begin {
            Begin::Waiting => Command::Start,
            // Changes nothing, but is refused if somebody cancelled it in the meantime.
            Begin::Running => Command::Checkpoint,
        };
        match self.0.store.advance(&run, first, (self.0.clock)()).await {
            Ok(Changed::Changed(_)) => {}
            Ok(Changed::Missing | Changed::Illegal(_)) => return,
            // There is room for an end where there was none for a beginning.
            Err(_) => return self.end(&run, Command::OwnerLost).await,
        }
        let most = job.gateway.surface().registry().limits().max_response_size();
        let span = job.span.clone();
        // The runner's own code runs inside the guard too, not only the future it returns.
        let work = AssertUnwindSafe(async move { runner.run(job).await }).catch_unwind();
        let done = tokio::select! {
            done = work => done,
            () = self.tell(&run, following) => return,
        };
        self.write_progress(&run, following).await;
        if let Some(span) = span {
            span.end(came_out(done.as_ref().ok()));
        }
        let command = match done {
            Ok(Ok(result)) => match too_large(&result, most) {
                None => Command::Complete(result),
                Some(error) => Command::Fail(error.into()),
            },
            Ok(Err(error)) => Command::Fail(bounded(error)),
            Err(_) => {
                tracing::error!(execution = run.id, "an execution's runner panicked");
                Command::Fail(Error::internal("the execution failed unexpectedly").into())
            }
        };
        self.end(&run, command).await;
    }

    /// Writes down how far a run has come. Ends when the run is not the execution's any more.
    async fn tell(&self, run: &Run, following: &Following) {
        let mut told = None;
        loop {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            let reached = following.progress.reached();
            if reached != told {
                if !self.write_progress(run, following).await {
                    return;
                }
                told = reached;
            }
        }
    }

    /// Whether the run is still the execution's. A store out of reach for a moment ends nothing.
    async fn write_progress(&self, run: &Run, following: &Following) -> bool {
        let Some(progress) = following.progress.reached() else { return true };
        let written = self.0.store.advance(run, Command::Progress(progress), (self.0.clock)()).await;
        match written {
            Ok(Changed::Illegal(illegal)) => *illegal.reason() == Reason::ProgressUnsupported,
            Ok(Changed::Missing) => false,
            Ok(Changed::Changed(_)) | Err(_) => true,
        }
    }

    /// Ends a run. Where there is no room for its result, that is its end.
    async fn end(&self, run: &Run, mut command: Command) {
        for _ in 0..ENDING_TRIES {
            match self.0.store.advance(run, command.clone(), (self.0.clock)()).await {
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(execution = run.id, %error, "the end of an execution could not be written");
                    if !error.is_retryable() {
                        command = Command::Fail(not_kept(&error));
                    }
                }
            }
            tokio::time::sleep(PROGRESS_INTERVAL).await;
        }
        // Nobody runs it any more, which `tend` finds out.
    }
}

/// What is recorded of a run's end.
fn came_out(done: Option<&Result<Value, Error>>) -> End {
    match done {
        Some(Ok(result)) => End::ok(Some(result.to_string())),
        Some(Err(error)) => {
            let failed = Failed { message: error.message.clone(), ..Failed::of(error.code.as_str()) };
            End::failed(failed, None)
        }
        None => End::failed(Failed::of(Code::Internal.as_str()), None),
    }
}

/// A result that no answer could carry. The rest of an execution needs some room as well.
fn too_large(result: &Value, max_response_size: usize) -> Option<Error> {
    let allowed = max_response_size.saturating_sub(ENVELOPE_BYTES);
    let size = result.to_string().len();
    (size > allowed).then(|| {
        Error::too_large(&RESPONSE_SIZE, allowed, size)
            .hint("The work was done, but its result is too large to be answered. Let it answer with less.")
    })
}

/// Errors repeat what they were given; a list of executions shows many of them.
fn bounded(error: Error) -> Failure {
    let mut failure = Failure::from(error);
    if failure.message.len() > MESSAGE_BYTES_MAX {
        let end = failure.message.floor_char_boundary(MESSAGE_BYTES_MAX);
        failure.message.truncate(end);
        failure.message.push('…');
    }
    let size = |value: &Value| value.to_string().len();
    failure.details.retain(|_, value| size(value) <= DETAIL_BYTES_MAX);
    if failure.details.values().map(size).sum::<usize>() > DETAILS_BYTES_MAX {
        failure.details.clear();
    }
    failure
}

fn not_kept(error: &store::Error) -> Failure {
    Error::new(Code::Unavailable, format!("The work was done, but its result could not be kept: {error}"))
        .into()
}
