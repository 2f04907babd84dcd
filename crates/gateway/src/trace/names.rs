//! The names of what is recorded: those of OpenTelemetry, and beside them the Inspector's own, which are always there.

/// The request's own id, which ties what several servers recorded together.
pub const REQUEST_ID: &str = "mcp.request_id";
/// That of the request within which this one was made.
pub const PARENT_REQUEST_ID: &str = "mcp.parent_request_id";
/// Who recorded it.
pub const AGENT: &str = "mcp.agent.server_id";
/// Who was called, as we call them.
pub const PEER: &str = "mcp.peer.server_id";

pub const JSONRPC_VERSION: &str = "mcp.jsonrpc.version";
pub const METHOD: &str = "mcp.rpc.method";
pub const RPC_ID: &str = "mcp.rpc.id";
pub const TRANSPORT: &str = "mcp.rpc.transport";
pub const DIRECTION: &str = "mcp.rpc.direction";
pub const DURATION_MS: &str = "mcp.rpc.duration_ms";
/// After how long a request was answered whose work went on behind the answer.
pub const ANSWERED_MS: &str = "mcp.rpc.answered_ms";
pub const TRANSPORT_STATUS: &str = "mcp.transport.status";
pub const RECONNECTS: &str = "mcp.transport.reconnect_count";

pub const TOOL: &str = "mcp.tool.name";
pub const INPUT: &str = "mcp.tool.input_json";
pub const OUTPUT: &str = "mcp.tool.output_json";
pub const STRUCTURED_OUTPUT: &str = "mcp.tool.structured_output_json";
pub const RESOURCE: &str = "mcp.resource.uri";
pub const RESOURCE_TYPE: &str = "mcp.resource.mime_type";
pub const RESOURCE_BYTES: &str = "mcp.resource.bytes";
pub const PROMPT: &str = "mcp.prompt.template_id";
pub const PROMPT_PARAMETERS: &str = "mcp.prompt.parameters_json";
pub const PROGRESS_TOKEN: &str = "mcp.progress.token";
pub const MODEL_PREFERENCES: &str = "mcp.model.preferences_json";
pub const STOP_REASON: &str = "mcp.stop_reason";
pub const WORKFLOW: &str = "mcp.workflow.type";

pub const ERROR_CODE: &str = "mcp.error.code";
pub const ERROR_MESSAGE: &str = "mcp.error.message";
/// OpenTelemetry's kind of an error.
pub const ERROR_TYPE: &str = "error.type";

/// The operation of the language that a tool call names.
pub const OPERATION: &str = "mcp.aql.operation";
/// How much a call asks of who reads its answer.
pub const RESULT_TOKENS: &str = "mcp.aql.result_tokens";
/// The connection, or the principal, that a request came from.
pub const CONNECTION: &str = "mcp.session.id";
pub const PRINCIPAL: &str = "mcp.agent.principal";
pub const CLIENT: &str = "mcp.client.name";

/// What is added to the name of a value that was cut: that it was, how long it is, and its hash.
pub const TRUNCATED: &str = "_truncated";
pub const BYTES: &str = "_bytes";
pub const HASH: &str = "_sha256";

/// What is known of a model's call. Nothing of ours makes such calls, but agents report theirs.
pub mod llm {
    pub const PROVIDER: &str = "mcp.llm.provider";
    pub const MODEL: &str = "mcp.llm.model";
    pub const RESPONSE_MODEL: &str = "mcp.llm.response_model";
    pub const PROMPT: &str = "mcp.llm.prompt_json";
    pub const RESPONSE: &str = "mcp.llm.response_json";
    pub const PARAMETERS: &str = "mcp.llm.parameters_json";
    pub const INPUT_TOKENS: &str = "mcp.llm.input_tokens";
    pub const OUTPUT_TOKENS: &str = "mcp.llm.output_tokens";
    pub const TOTAL_TOKENS: &str = "mcp.llm.total_tokens";
    pub const OPERATION: &str = "mcp.llm.operation";
    pub const CONVERSATION: &str = "mcp.llm.conversation_id";
    pub const AGENT: &str = "mcp.llm.agent";
}

/// OpenTelemetry's names of the same things.
pub mod otel {
    pub const METHOD: &str = "mcp.method.name";
    pub const RPC_ID: &str = "jsonrpc.request.id";
    pub const TOOL: &str = "gen_ai.tool.name";
    pub const OPERATION: &str = "gen_ai.operation.name";
    pub const PROMPT: &str = "gen_ai.prompt.name";
    pub const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub const RESULT: &str = "gen_ai.tool.call.result";
    pub const PROTOCOL: &str = "mcp.protocol.version";
    pub const NETWORK: &str = "network.transport";
    pub const STATUS_CODE: &str = "rpc.response.status_code";
    pub const SERVICE: &str = "service.name";
    pub const SESSION: &str = "session.id";
}

/// The names of what is told at once.
pub mod event {
    pub const SESSION_STARTED: &str = "SessionStarted";
    pub const SESSION_FINISHED: &str = "SessionFinished";
    pub const REQUEST_STARTED: &str = "McpRequestStarted";
    pub const REQUEST_FINISHED: &str = "McpRequestFinished";
    pub const PROGRESS: &str = "ProgressUpdate";
    pub const WAITING: &str = "WaitingOnSignal";
    pub const ANSWERED: &str = "SignalReceived";
}

/// Headers that carry a request's ids.
pub mod header {
    pub const REQUEST_ID: &str = "x-mcp-request-id";
    pub const TRACEPARENT: &str = "traceparent";
}

/// The same in `_meta`, and who asks.
pub mod meta {
    pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    pub const REQUEST_ID: &str = "X-MCP-Request-Id";
    pub const TRACEPARENT: &str = "traceparent";
}
