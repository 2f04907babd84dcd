//! What the MCP library asks of us: who we are, which tools there are, and the calls that did not take the fast path.

use std::{sync::Arc, time::Duration};

use aql::{
    autonomy::code,
    profile::Mode,
    registry::Registry,
    response::{Answer, Questions},
    tools::Tool as AqlTool,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
        CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, ContentBlock,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestMethod,
        GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
        InitializeRequestParams, InitializeResult, InputResponses, ListPromptsRequestMethod,
        ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ProgressToken, ProtocolVersion, ReadResourceRequestMethod,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SetLevelRequestMethod, SubscribeRequestMethod, SubscribeRequestParams, Tool, ToolAnnotations,
        UnsubscribeRequestMethod, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::RequestContext,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::{
    call,
    client::ConnectedClient,
    tasks,
    traced::{self, TOOLS_CALL},
};
use crate::{
    client::{Caller, Client, Resumed},
    pipeline::Gateway,
    progress::{Progress, Relayed, TOTAL},
    session::{CancelledBy, Session},
    trace::{
        OpenSpan,
        ids::Given,
        names,
        open::{About, End, Inbound},
        parked::Wanted,
        preview,
    },
};

/// How long a client may keep the tool list without asking again.
const TOOL_LIST_TTL_MS: u64 = 60_000;
/// Work that takes longer than this tells how far it is, and again every time it has passed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The longest name of a method that nobody knows.
const METHOD_BYTES_MAX: usize = 128;

/// How long the library may take to see a cancellation that we have seen.
const CANCELLATION_SEEN: Duration = Duration::from_secs(1);

const DISCRETE: &str = "Every operation is a tool, with its parameters as arguments. The tool 'introspect' finds \
     operations by words ({ query: \"operations\", search: \"WORDS\" }) and tells types and dangers.";

/// One connection's handler.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) gateway: Arc<Gateway>,
    /// The connection's session, where the connection has one; over HTTP each request brings its own.
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) tasks: TaskTracker,
}

impl Handler {
    fn session(&self, context: &RequestContext<RoleServer>) -> Option<Arc<Session>> {
        if let Some(session) = &self.session {
            return Some(Arc::clone(session));
        }
        let parts = context.extensions.get::<http::request::Parts>()?;
        parts.extensions.get::<Arc<Session>>().cloned()
    }

    /// Begins what is recorded of a request, if anything is.
    fn traced(
        &self,
        context: &RequestContext<RoleServer>,
        session: &Arc<Session>,
        method: &str,
        about: About,
        input: Option<&str>,
        looked_into: Option<&str>,
    ) -> Option<Arc<OpenSpan>> {
        let parts = context.extensions.get::<http::request::Parts>();
        let around = parts.map(|parts| Given::of_headers(&parts.headers)).unwrap_or_default();
        let of_meta = |name: &str| context.meta.get(name).and_then(Value::as_str);
        let client = context.meta.get(names::meta::CLIENT).map(ToString::to_string);
        let within = Given {
            request_id: of_meta(names::meta::REQUEST_ID),
            traceparent: of_meta(names::meta::TRACEPARENT),
            client: client.as_deref(),
        };
        let given = within.or(around);
        let Some(recorder) = self.gateway.recorder() else {
            return OpenSpan::passed_on(given, session).map(Arc::new);
        };
        let token = context.meta.get_progress_token().map(|token| json!(token.0).to_string());
        let rpc_id = serde_json::to_string(&context.id).unwrap_or_default();
        let request = Inbound {
            rpc_id: &rpc_id,
            about,
            input,
            given,
            progress_token: token.as_deref(),
            surface: Some(self.gateway.surface()),
            looks_into: looked_into,
            ..Inbound::new(method, session)
        };
        Some(Arc::new(OpenSpan::inbound(recorder, request)))
    }

    /// Answers a request and records that, with as much of the result as `told` gives.
    async fn recorded<T>(
        &self,
        context: &RequestContext<RoleServer>,
        method: &str,
        input: Option<Value>,
        work: impl Future<Output = Result<T, ErrorData>>,
        told: impl FnOnce(&T) -> Option<String>,
    ) -> Result<T, ErrorData> {
        let task =
            input.as_ref().and_then(|input| input.get("taskId")).filter(|_| method.starts_with("tasks/"));
        let is_execution = |id: &&str| uuid::Uuid::try_parse(id).is_ok();
        let task = task.and_then(Value::as_str).filter(is_execution).map(str::to_owned);
        let input = input.map(|input| input.to_string());
        let span = self.session(context).and_then(|session| {
            self.traced(context, &session, method, About::Nothing, input.as_deref(), task.as_deref())
        });
        let answered = work.await;
        if let Some(span) = span.filter(|span| span.is_recorded()) {
            match &answered {
                Ok(result) => span.end(End::ok(told(result))),
                Err(error) => traced::refused(&span, error.code.0, &error.message),
            }
        }
        answered
    }

    /// The same for a request about a task. What it resulted in is recorded with what it ran, as far as that may be.
    async fn about_task<T>(
        &self,
        context: &RequestContext<RoleServer>,
        method: &str,
        task: &str,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        self.recorded(context, method, Some(json!({"taskId": task})), work, |_| None).await
    }

    /// Answers what only other servers offer, where there are none.
    async fn nobodys<T, M: ConstString>(
        &self,
        context: &RequestContext<RoleServer>,
        params: &impl Serialize,
    ) -> Result<T, ErrorData> {
        let unknown = async { Err(ErrorData::method_not_found::<M>()) };
        self.recorded(context, M::VALUE, serde_json::to_value(params).ok(), unknown, |_| None).await
    }

    /// The same for a list, which is empty.
    async fn nobodys_list<T: Default, M: ConstString>(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        self.recorded(context, M::VALUE, None, async { Ok(T::default()) }, |_| None).await
    }

    fn known_session(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        self.session(context).ok_or_else(|| ErrorData::internal_error("The call belongs to no session", None))
    }
}

/// What a client is told of an adapter whose operations are found by asking.
fn overview(adapter: &str) -> String {
    format!(
        "MCP-AQL adapter '{adapter}': few tools, many operations. Ask {{ operation: \"introspect\", params: {{ query: \
         \"operations\" }} }} for what there is, add \"search\" to find an operation by words and \"name\" for its \
         parameters, then call it through the tool that its details name."
    )
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let surface = self.gateway.surface();
        let tools = ServerCapabilities::builder().enable_tools();
        let with_tasks = tasks::are_offered(surface.registry());
        let mut capabilities = if with_tasks { tools.enable_tasks().build() } else { tools.build() };
        if let Some(upstreams) = self.gateway.upstreams() {
            capabilities.resources = upstreams.may_offer("resources").then(Default::default);
            capabilities.prompts = upstreams.may_offer("prompts").then(Default::default);
            capabilities.completions = upstreams.may_offer("completions").then(Default::default);
            capabilities.logging = upstreams.may_offer("logging").then(Default::default);
        }
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("aqueduct", env!("CARGO_PKG_VERSION"));
        let mut instructions = match surface.registry().mode() {
            Mode::Discrete => DISCRETE.to_owned(),
            _ => overview(surface.registry().adapter()),
        };
        if let Some(introduction) = &surface.introduction {
            instructions.push_str("\n\n");
            instructions.push_str(introduction);
        }
        if let Some(duty) = aql::autonomy::define::instructions(surface.registry().safety_loop()) {
            instructions.push_str("\n\n");
            instructions.push_str(duty);
        }
        info.instructions = Some(instructions);
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = async {
            if self.gateway.surface().registry().mode() == Mode::Discrete {
                // Here every operation is in the list, so those of servers that are being asked are waited for.
                self.gateway.settled().await;
            }
            let surface = self.gateway.surface();
            let mut result = ListToolsResult::with_all_items(
                surface.listed.get_or_init(|| Listed::new(&surface.registry)).0.clone(),
            );
            // Earlier revisions have no such hints.
            if context.protocol_version().is_some_and(|version| version == ProtocolVersion::V_2026_07_28) {
                result.ttl_ms = Some(TOOL_LIST_TTL_MS);
                result.cache_scope = Some(CacheScope::Private);
            }
            Ok(result)
        };
        self.recorded(&context, "tools/list", None, listed, as_json).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let surface = self.gateway.surface();
        let listed = surface.listed.get_or_init(|| Listed::new(&surface.registry));
        listed.0.iter().find(|known| known.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = self.tasks.token();
        let surface = self.gateway.surface();
        let Some(address) = surface.registry().address(&request.name) else {
            return Err(ErrorData::invalid_params(surface.registry().unknown_tool(&request.name), None));
        };
        let session = self.known_session(&context)?;
        let request_id = serde_json::to_string(&context.id).unwrap_or_default();
        let running = session.running(&request_id);
        let listened_to = context.meta.get_progress_token().is_some();
        let progress = if listened_to { Progress::listened_to() } else { Progress::default() };
        let resumed = resumed(request.request_state, request.input_responses);
        let given = request.arguments.unwrap_or_default();
        let goes_on = self.gateway.recorder().zip(resumed.as_ref()).and_then(|(recorder, resumed)| {
            let wanted = Wanted::of(TOOLS_CALL, &request.name, &address.arguments(given.clone()));
            recorder.resume(&session, resumed.state.as_deref()?, wanted, &resumed.responses)
        });
        if goes_on.as_ref().is_some_and(|span| span.is_stopped_by_operator()) {
            return Ok(tool_result(&call::stopped(&session, None)).into());
        }
        let span = goes_on.or_else(|| {
            let about = About::Tool(request.name.to_string());
            self.traced(&context, &session, TOOLS_CALL, about, Some(&json!(given).to_string()), None)
        });
        let (endpoint, arguments) = (address.endpoint, address.arguments(given));
        let client = client(&context, &session);
        traced::may_go_on(span.as_deref(), &client, &request.name, &arguments);
        let takes_task = tasks::may_start(surface.registry(), endpoint, &arguments)
            && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        if let Some(span) = &span {
            span.runs(running.stop());
        }
        let caller = Caller { progress: progress.clone(), client, resumed, span: span.clone() };
        let work = self.gateway.handle(&session, endpoint, arguments, caller);
        let telling = tell(&context, progress.clone());
        tokio::select! {
            answer = work => {
                if let Some(span) = span {
                    traced::answered(&self.gateway, span, &answer);
                }
                // What the other server reported last must not come after its result, or not at all.
                tell_rest(&context, &progress).await;
                if let Some(execution) = progress.execution().filter(|_| takes_task) {
                    return Ok(CallToolResponse::Task(tasks::created(&execution)));
                }
                match answer.questions() {
                    Some(questions) => input_required(questions),
                    None => Ok(tool_result(&answer).into()),
                }
            }
            by = running.cancelled() => {
                if by == CancelledBy::Operator {
                    return Ok(tool_result(&call::stopped(&session, span.as_deref())).into());
                }
                // A cancelled request gets no answer: the library drops ours once it has seen the cancellation too.
                let _ = tokio::time::timeout(CANCELLATION_SEEN, context.ct.cancelled()).await;
                Err(ErrorData::internal_error("The call was cancelled", None))
            }
            () = context.ct.cancelled() => Err(ErrorData::internal_error("The call was cancelled", None)),
            () = telling => Err(ErrorData::internal_error("The call's progress ended before the call", None)),
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let client = ConnectedClient::new(context.peer.clone(), Some(&request.capabilities), None)
            .named(&request.client_info.name);
        // Over HTTP this is the session that begins if all goes well.
        if let Some(session) = self.session(&context) {
            session.connect(Client::Live(Arc::new(client)));
        }
        let input = serde_json::to_value(&request).ok();
        let negotiated = async { self.negotiate_initialize(&request) };
        self.recorded(&context, "initialize", input, negotiated, as_json).await
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let told = async { Ok(DiscoverResult::from_server_info(versions, self.get_info())) };
        self.recorded(&context, "server/discover", None, told, as_json).await
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.recorded(&context, "ping", None, async { Ok(()) }, |()| None).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let shown = preview::beginning(code::mask(&method), METHOD_BYTES_MAX);
        let unknown = async { Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)) };
        self.recorded(&context, &shown, params, unknown, |_| None).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.nobodys_list::<_, ListResourcesRequestMethod>(&context).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.nobodys_list::<_, ListResourceTemplatesRequestMethod>(&context).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.nobodys_list::<_, ListPromptsRequestMethod>(&context).await
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.nobodys_list::<_, CompleteRequestMethod>(&context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.nobodys::<_, ReadResourceRequestMethod>(&context, &request).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.nobodys::<_, GetPromptRequestMethod>(&context, &request).await
    }

    #[expect(deprecated, reason = "clients of earlier revisions ask for it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.nobodys::<_, SetLevelRequestMethod>(&context, &request).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.nobodys::<_, SubscribeRequestMethod>(&context, &request).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.nobodys::<_, UnsubscribeRequestMethod>(&context, &request).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let session = self.known_session(&context)?;
        let asked = tasks::get(&self.gateway, &session, &request.task_id);
        self.about_task(&context, "tasks/get", &request.task_id, asked).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.known_session(&context)?;
        // No task of ours asks for anything; one that does not exist is told.
        let asked = async { tasks::get(&self.gateway, &session, &request.task_id).await.map(drop) };
        self.about_task(&context, "tasks/update", &request.task_id, asked).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = self.known_session(&context)?;
        let cancelled = tasks::cancel(&self.gateway, &session, &request.task_id);
        self.about_task(&context, "tasks/cancel", &request.task_id, cancelled).await
    }
}

fn as_json(result: &impl Serialize) -> Option<String> {
    serde_json::to_string(result).ok()
}

/// How the client of a call can be asked something.
fn client(context: &RequestContext<RoleServer>, session: &Session) -> Client {
    let declared = context.client_capabilities();
    if context.protocol_version().is_some_and(|version| version == ProtocolVersion::V_2026_07_28) {
        return declared
            .and_then(|declared| serde_json::to_value(declared).ok())
            .map_or(Client::Nobody, |declared| Client::recalls(&declared));
    }
    match session.client() {
        Client::Live(_) => {
            let id = Some(context.id.clone());
            Client::Live(Arc::new(ConnectedClient::new(context.peer.clone(), declared.as_ref(), id)))
        }
        other => other,
    }
}

fn resumed(state: Option<String>, responses: Option<InputResponses>) -> Option<Arc<Resumed>> {
    if state.is_none() && responses.is_none() {
        return None;
    }
    let responses = responses.and_then(|responses| serde_json::to_value(responses).ok());
    let responses = responses.and_then(|responses| responses.as_object().cloned()).unwrap_or_default();
    Some(Arc::new(Resumed { state, responses }))
}

/// The answer to a call whose client has to be asked something first.
fn input_required(questions: &Questions) -> Result<CallToolResponse, ErrorData> {
    let result = json!({"resultType": "input_required", "inputRequests": questions.requests,
                        "requestState": questions.state});
    serde_json::from_value(result).map(CallToolResponse::InputRequired).map_err(|_| {
        ErrorData::internal_error(
            "The server behind this operation asks something that cannot be passed on",
            None,
        )
    })
}

/// Tells the caller how far its call is, if it asked to be told. Never ends by itself.
async fn tell(context: &RequestContext<RoleServer>, progress: Progress) {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let started = tokio::time::Instant::now();
    loop {
        let told = tokio::select! {
            relayed = progress.relayed() => relayed,
            () = tokio::time::sleep(PROGRESS_INTERVAL) => {
                if progress.is_relayed() {
                    continue;
                }
                let (reached, message) = progress.next(started.elapsed().as_secs_f64());
                Relayed { progress: reached, total: Some(TOTAL), message }
            }
        };
        // A caller that cannot be told still gets its answer.
        let _ = context.peer.notify_progress(notification(token.clone(), told)).await;
    }
}

/// Tells what was reported and not told yet.
async fn tell_rest(context: &RequestContext<RoleServer>, progress: &Progress) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for told in progress.take_relayed() {
        let _ = context.peer.notify_progress(notification(token.clone(), told)).await;
    }
}

/// The result of a tool call: the answer as text, and what follows it.
fn tool_result(answer: &Answer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(answer.to_text())];
    // The library writes only blocks that it knows; others go as text.
    content.extend(
        answer.content().iter().map(|block| {
            serde_json::from_str(block.get()).unwrap_or_else(|_| ContentBlock::text(block.get()))
        }),
    );
    let mut result = CallToolResult::success(content);
    result.meta = answer.meta().and_then(|meta| serde_json::from_str(meta.get()).ok());
    result.is_error = Some(answer.is_error());
    result
}

fn notification(token: ProgressToken, told: Relayed) -> ProgressNotificationParam {
    let mut param = ProgressNotificationParam::new(token, told.progress);
    param.total = told.total;
    match told.message {
        Some(message) => param.with_message(message),
        None => param,
    }
}

/// The tool list in the library's words, made once for a surface.
pub(crate) struct Listed(Vec<Tool>);

impl Listed {
    fn new(registry: &Registry) -> Self {
        Self(registry.tools().iter().map(tool).collect())
    }
}

fn tool(known: &AqlTool) -> Tool {
    let schema = known.input_schema.as_object().cloned().unwrap_or_default();
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = Some(known.read_only);
    annotations.destructive_hint = Some(known.destructive);
    Tool::new(known.name.clone(), known.description.clone(), Arc::new(schema)).with_annotations(annotations)
}
