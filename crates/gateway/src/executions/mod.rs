//! Executions: work that goes on after the call that started it.
//!
//! What may happen to one is decided by [`aql::execution`] and kept by [`ExecutionStore`]. Here is what runs: a task for
//! each execution of this process, a place for only so many of them at once, and one task that tends the leases for as
//! long as there is something to tend. The store is the authority: whoever changes an execution changes it there first,
//! and the task follows, in this process at once and in another within a second.

mod run;
mod tend;

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aql::{
    error::{Code, Error},
    execution::{Command, Core, Execution},
    operation::Operation,
};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    dispatch::Context,
    pipeline::{Clock, Gateway},
    progress::Progress,
    session::{Held, Session, Stop},
    store::{
        self,
        executions::{Changed, Claim, ExecutionStore, NewExecution, Run, Taken},
    },
    trace::{self, OpenSpan},
};

/// More than are kept for anyone, finished ones and those on their way.
const VIEWS_MAX: usize = 2 * tend::KEPT_MAX;
/// How many calls may wait for the end of an execution; there are more places among the requests by default.
const WAITERS_MAX: usize = 128;
/// How many executions of one principal may be on their way in this process.
const OPEN_MAX: usize = 1000;
/// How often someone who waits for another process's execution looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// What the operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many executions of this process run at once; the others wait.
    pub max_running: usize,
    /// How long an execution is believed to run after its process was last heard of.
    pub lease: Duration,
    /// How long finished executions are kept.
    pub keep: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_running: 16, lease: Duration::from_secs(30), keep: Duration::from_hours(30 * 24) }
    }
}

/// A run under way.
pub type Running = Pin<Box<dyn Future<Output = Result<Value, Error>> + Send>>;

/// Does the work of an operation's executions. It is found by the operation's name, so that a retry can run in another
/// process than the one that failed.
pub trait Runner: Send + Sync {
    fn run(&self, job: Job) -> Running;

    /// What is run, by the name that people know it by; else it is the operation's.
    fn title(&self, _params: &Value) -> Option<String> {
        None
    }
}

impl<F: Fn(Job) -> Running + Send + Sync> Runner for F {
    fn run(&self, job: Job) -> Running {
        self(job)
    }
}

/// One attempt, as its runner sees it.
pub struct Job {
    /// What the execution was started with.
    pub params: Value,
    /// What the last attempt kept to go on from.
    pub checkpoint: Option<Value>,
    pub gateway: Arc<Gateway>,
    pub session: Arc<Session>,
    pub progress: Progress,
    /// What is recorded of the run; whatever it does is told as part of it.
    pub span: Option<Arc<OpenSpan>>,
    run: Run,
    following: Following,
    executions: Executions,
}

impl Job {
    #[must_use]
    pub fn execution_id(&self) -> &str {
        &self.run.id
    }

    /// Whether the work should come to an end by itself, because its session is over. Who asks is given a moment for it;
    /// who never does is stopped at once.
    #[must_use]
    pub fn should_end(&self) -> bool {
        self.following.winds_down.store(true, Ordering::Relaxed);
        self.following.wind_down.is_cancelled()
    }

    /// Keeps what a retry can go on from. Refused once the execution is not this run's any more.
    pub async fn keep(&self, value: &Value) -> Result<(), Error> {
        let now = (self.executions.0.clock)();
        let kept = self.executions.0.store.checkpoint(&self.run, value, now).await;
        execution_of(&self.run.id, kept.map_err(store_error)?).map(drop)
    }
}

/// The executions of this process, and the way to all others on the data directory. Cheap to clone.
#[derive(Clone)]
pub struct Executions(Arc<Shared>);

struct Shared {
    store: ExecutionStore,
    options: Options,
    clock: Clock,
    /// This process, by a name that no other has.
    owner: String,
    places: Semaphore,
    waiters: Semaphore,
    runners: RwLock<HashMap<String, Arc<dyn Runner>>>,
    live: Mutex<Live>,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Live {
    runs: HashMap<String, Following>,
    /// Sessions whose end is waited for.
    watched: HashSet<String>,
    is_tended: bool,
    is_swept: bool,
}

/// What is known here of an execution that this process runs.
#[derive(Clone)]
struct Following {
    attempt: u32,
    principal: String,
    session_id: String,
    /// Ends the work where it stands.
    stop: CancellationToken,
    /// The operator's way to have it end.
    stopped: Stop,
    /// Asks the work to come to an end by itself, soon.
    wind_down: CancellationToken,
    /// Whether it listens to that.
    winds_down: Arc<AtomicBool>,
    ended: CancellationToken,
    progress: Progress,
}

/// An execution as a caller may follow it.
enum Seen {
    /// It runs here.
    Here(Following),
    Elsewhere,
}

impl Executions {
    #[must_use]
    pub fn new(store: ExecutionStore, options: Options, clock: Clock) -> Self {
        Self(Arc::new(Shared {
            places: Semaphore::new(options.max_running),
            waiters: Semaphore::new(WAITERS_MAX),
            owner: uuid::Uuid::new_v4().to_string(),
            runners: RwLock::default(),
            live: Mutex::default(),
            tasks: TaskTracker::new(),
            store,
            options,
            clock,
        }))
    }

    /// Opens the executions in a directory, for a program of one's own. Blocks: meant for the start of the process.
    pub fn open(dir: &Path, options: Options) -> Result<Self, store::Error> {
        Ok(Self::new(ExecutionStore::open(dir, store::Options::default())?, options, Timestamp::now))
    }

    /// Says who runs the executions of an operation.
    pub fn add_runner(&self, operation: &str, runner: impl Runner + 'static) {
        let mut runners = self.0.runners.write().unwrap_or_else(PoisonError::into_inner);
        runners.insert(operation.to_owned(), Arc::new(runner));
    }

    fn runner(&self, operation: &str) -> Result<Arc<dyn Runner>, Error> {
        let runners = self.0.runners.read().unwrap_or_else(PoisonError::into_inner);
        runners.get(operation).cloned().ok_or_else(|| {
            Error::new(Code::Unavailable, format!("Executions of '{operation}' cannot be run here"))
                .with_operation(operation)
                .hint("Ask the server that offers the operation.")
        })
    }

    /// Refuses more than anyone needs, so that nobody fills the memory with what waits.
    fn may_open(&self, principal: &str) -> Result<(), Error> {
        let open = self.live().runs.values().filter(|following| following.principal == principal).count();
        if open < OPEN_MAX {
            return Ok(());
        }
        let message = format!("There are {open} executions of yours on their way, and more are not started");
        Err(Error::new(Code::Unavailable, message)
            .hint("Wait until some are done, or cancel some; list_executions shows them."))
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, session: &Session) -> Claim {
        Claim {
            owner: self.0.owner.clone(),
            session_id: session.id().to_owned(),
            lease: self.0.options.lease,
        }
    }

    /// Starts an execution of the operation, which waits for its turn and then runs by itself.
    pub async fn start(
        &self,
        operation: &Operation,
        params: Value,
        context: &Context,
    ) -> Result<(Execution, UnlessTold), Error> {
        let name = operation.name().as_str();
        let runner = self.runner(name)?;
        let id = uuid::Uuid::now_v7().to_string();
        let new = NewExecution {
            id: id.clone(),
            operation: name.to_owned(),
            lifecycle: operation.lifecycle().cloned().unwrap_or_default(),
            principal: context.session.principal().to_owned(),
            params: params.clone(),
        };
        self.may_open(context.session.principal())?;
        let operation = name.to_owned();
        self.begin(context, async move |executions, context| {
            let held = context.session.hold();
            let created =
                executions.0.store.create(new, executions.claim(&context.session), context.now).await;
            let execution = created.map_err(store_error)?;
            let run = Run { id, owner: executions.0.owner.clone(), attempt: execution.record().attempt };
            let new = Attempt { operation, begin: Begin::Waiting, params, checkpoint: None };
            executions.follow(runner, run, new, &context, held);
            Ok(execution)
        })
        .await
    }

    /// Runs a failed execution again, from what its last attempt kept.
    pub async fn retry(&self, id: &str, context: &Context) -> Result<(Execution, UnlessTold), Error> {
        let found = self.get(id, context.session.principal()).await?;
        let runner = self.runner(&found.record().operation)?;
        let id = id.to_owned();
        self.may_open(context.session.principal())?;
        self.begin(context, async move |executions, context| {
            let held = context.session.hold();
            let (principal, claim) = (context.session.principal(), executions.claim(&context.session));
            let taken = executions.0.store.take_over(&id, principal, claim, context.now).await;
            match taken.map_err(store_error)? {
                Taken::Over { execution, params, checkpoint } => {
                    let attempt = execution.record().attempt;
                    let run = Run { id, owner: executions.0.owner.clone(), attempt };
                    let operation = execution.record().operation.clone();
                    let again = Attempt { operation, begin: Begin::Running, params, checkpoint };
                    executions.follow(runner, run, again, &context, held);
                    Ok(execution)
                }
                Taken::Missing => Err(missing(&id)),
                Taken::Illegal(illegal) => Err(illegal.into()),
            }
        })
        .await
    }

    /// Writes down an execution and follows it, in a task of its own: a caller that goes away in between must not leave
    /// one behind that nobody runs.
    async fn begin<W, F>(&self, context: &Context, work: W) -> Result<(Execution, UnlessTold), Error>
    where
        W: FnOnce(Self, Context) -> F + Send + 'static,
        F: Future<Output = Result<Execution, Error>> + Send + 'static,
    {
        let (executions, context) = (self.clone(), context.clone());
        let (told, caller) = oneshot::channel();
        self.0.tasks.spawn(async move {
            let begun = work(executions.clone(), context).await.map(|execution| {
                let record = execution.record();
                let owner = executions.0.owner.clone();
                let run = Run { id: record.execution_id.clone(), owner, attempt: record.attempt };
                (execution, UnlessTold { executions: Arc::downgrade(&executions.0), run: Some(run) })
            });
            // A caller that is gone drops the guard, which gives the execution up.
            let _ = told.send(begun);
        });
        caller.await.unwrap_or_else(|_| Err(Error::internal("the execution could not be started")))
    }

    /// Cancels this attempt, which its caller never learnt of, and no later one. One that is over stays as it is.
    async fn give_up(&self, run: &Run) {
        let reason = Some("Cancelled because its caller gave up waiting".to_owned());
        let changed = self.0.store.advance(run, Command::Cancel { reason }, (self.0.clock)()).await;
        if matches!(changed, Ok(Changed::Changed(_))) {
            self.stop(&run.id, run.attempt);
        }
    }

    /// Lets a task run the execution to its end.
    fn follow(&self, runner: Arc<dyn Runner>, run: Run, attempt: Attempt, context: &Context, held: Held) {
        let Attempt { operation, begin, params, checkpoint } = attempt;
        let stop = Stop::default();
        let span = context.gateway.recorder().map(|recorder| {
            let run = trace::open::Run {
                workflow: runner.title(&params),
                operation,
                id: &run.id,
                input: params.to_string(),
                stop: stop.clone(),
                session: &context.session,
                surface: context.gateway.surface(),
                within: context.span.as_deref(),
            };
            Arc::new(OpenSpan::run(recorder, run))
        });
        let following = Following {
            stopped: stop,
            attempt: run.attempt,
            principal: context.session.principal().to_owned(),
            session_id: context.session.id().to_owned(),
            stop: CancellationToken::new(),
            wind_down: CancellationToken::new(),
            winds_down: Arc::default(),
            ended: CancellationToken::new(),
            // Its own: a batch may start several, and whoever waits takes it over.
            progress: Progress::default(),
        };
        self.live().runs.insert(run.id.clone(), following.clone());
        self.watch(&context.session);
        self.tend();
        let job = Job {
            params,
            checkpoint,
            gateway: Arc::clone(&context.gateway),
            session: Arc::clone(&context.session),
            progress: following.progress.clone(),
            span,
            run,
            following: following.clone(),
            executions: self.clone(),
        };
        let executions = self.clone();
        self.0.tasks.spawn(async move {
            let _held = held;
            executions.run(runner, job, begin, &following).await;
        });
    }

    /// The principal's execution.
    pub async fn get(&self, id: &str, principal: &str) -> Result<Execution, Error> {
        self.sweep();
        let found = self.0.store.get(id, principal).await.map_err(store_error)?;
        found.ok_or_else(|| missing(id))
    }

    /// What answers show of the principal's executions, without their results. There are as many as are kept.
    pub async fn views(&self, principal: &str) -> Result<Vec<Value>, Error> {
        self.sweep();
        let view = |views: &mut Vec<Value>, execution: Execution| {
            views.push(execution.view());
            if views.len() < VIEWS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let views = self.0.store.fold(principal, Default::default(), Vec::new(), view).await;
        views.map_err(store_error)
    }

    /// Cancels the principal's execution, wherever it runs.
    pub async fn cancel(
        &self,
        id: &str,
        principal: &str,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<Execution, Error> {
        let changed = self.0.store.cancel(id, principal, reason, now).await.map_err(store_error)?;
        let execution = execution_of(id, changed)?;
        self.stop(id, execution.record().attempt);
        Ok(execution)
    }

    /// Moves the principal's execution into or out of a state of its operation's own, as pausing does.
    pub async fn enter(
        &self,
        id: &str,
        principal: &str,
        state: &str,
        now: Timestamp,
    ) -> Result<Execution, Error> {
        let changed = self.0.store.enter(id, principal, state, now).await.map_err(store_error)?;
        execution_of(id, changed)
    }

    fn stop(&self, id: &str, attempt: u32) {
        if let Some(following) = self.live().runs.get(id).filter(|following| following.attempt == attempt) {
            following.stop.cancel();
        }
    }

    /// The execution once it is over, or as it is when the time is up. Its progress becomes that of whoever waits.
    pub async fn wait(
        &self,
        id: &str,
        principal: &str,
        time: Option<Duration>,
        progress: &Progress,
    ) -> Result<Execution, Error> {
        let Some(_waiting) = self.waiting() else { return self.get(id, principal).await };
        let over = async {
            loop {
                let execution = self.get(id, principal).await?;
                if execution.core().is_terminal() {
                    return Ok(execution);
                }
                match self.seen(id) {
                    Seen::Here(following) => {
                        progress.follow(&following.progress);
                        tokio::select! {
                            () = following.ended.cancelled() => {}
                            () = tokio::time::sleep(LOOK_INTERVAL) => {}
                        }
                    }
                    Seen::Elsewhere => tokio::time::sleep(LOOK_INTERVAL).await,
                }
            }
        };
        match time {
            None => over.await,
            Some(time) => match tokio::time::timeout(time, over).await {
                Ok(done) => done,
                Err(_) => self.get(id, principal).await,
            },
        }
    }

    /// A place among those who wait. They hold a place among the requests as well, of which some must be left: without
    /// one, the answer is what there is now.
    fn waiting(&self) -> Option<SemaphorePermit<'_>> {
        self.0.waiters.try_acquire().ok()
    }

    fn seen(&self, id: &str) -> Seen {
        match self.live().runs.get(id) {
            Some(following) => Seen::Here(following.clone()),
            None => Seen::Elsewhere,
        }
    }

    /// Ends what still runs and waits until everything is on disk.
    pub async fn close(self) {
        let sessions: Vec<String> = self.live().watched.iter().cloned().collect();
        for session_id in sessions {
            self.end_session(&session_id).await;
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.store.clone().close().await;
    }
}

/// What an attempt begins with.
struct Attempt {
    operation: String,
    begin: Begin,
    params: Value,
    checkpoint: Option<Value>,
}

/// Whether an execution still has to be started or has been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    Waiting,
    Running,
}

/// Cancels the execution when dropped, unless its caller was told of it: nobody else could stop it.
pub struct UnlessTold {
    executions: Weak<Shared>,
    run: Option<Run>,
}

impl UnlessTold {
    /// The caller knows of the execution now.
    pub fn told(mut self) {
        self.run = None;
    }
}

impl Drop for UnlessTold {
    fn drop(&mut self) {
        let (Some(run), Some(shared)) = (self.run.take(), self.executions.upgrade()) else { return };
        if tokio::runtime::Handle::try_current().is_ok() {
            let executions = Executions(shared);
            let tasks = executions.0.tasks.clone();
            tasks.spawn(async move { executions.give_up(&run).await });
        }
    }
}

fn execution_of(id: &str, changed: Changed) -> Result<Execution, Error> {
    match changed {
        Changed::Changed(execution) => Ok(execution),
        Changed::Missing => Err(missing(id)),
        Changed::Illegal(illegal) => Err(illegal.into()),
    }
}

fn missing(id: &str) -> Error {
    Error::not_found_resource("execution", id).hint("Find executions with list_executions.")
}

/// Whether an execution is still to come to its end.
#[must_use]
pub fn is_open(execution: &Execution) -> bool {
    matches!(execution.core(), Core::Pending | Core::Running)
}

/// The store's trouble, in its own words for people.
pub(crate) fn store_error(error: store::Error) -> Error {
    tracing::error!(%error, "the execution store failed");
    if error.is_retryable() {
        return Error::new(Code::Unavailable, format!("Executions are not available now: {error}"))
            .hint("Repeat the call in a moment.");
    }
    Error::internal(&error.to_string())
}
