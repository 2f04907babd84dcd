//! Every operation there is, checked and frozen, with everything that can be prepared from it.
//!
//! A registry never changes. A new one is built and published instead, so a request sees one state from start to end.

mod builder;
mod check;
mod param;
mod unknown;

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::FixedState;
use serde_json::{Map, Value};

pub use self::{
    builder::{Builder, Concurrency},
    check::{Problem, Problems},
};
use crate::{
    autonomy,
    error::{Code, Error},
    introspect,
    limits::Limits,
    name::{OperationName, ToolPrefix},
    operation::{Operation, OperationId},
    policy::{self, Decision, Facts, Policy, Standing, table::Table},
    profile::{Family, Mode, Profile},
    request::{self, Call},
    tools::Tool,
    types::Types,
    validate::{self, Checked, Strictness},
};

/// The version of MCP-AQL this implements.
pub const SPEC_VERSION: &str = "1.0.0-draft";
/// The conformance level claimed.
pub const CONFORMANCE: &str = "level-2";
/// The one operation that every adapter has.
pub const INTROSPECT: &str = "introspect";

/// Names that belong to the protocol. No adapter may define them.
pub const RESERVED: [&str; 7] = [
    INTROSPECT,
    "execute_agent",
    "record_execution_step",
    "complete_execution",
    "abort_execution",
    "confirm_operation",
    "verify_challenge",
];

/// A frozen set of operations.
#[derive(Debug)]
pub struct Registry {
    pub(crate) adapter: String,
    pub(crate) mode: Mode,
    pub(crate) profile: Profile,
    pub(crate) prefix: ToolPrefix,
    pub(crate) limits: Limits,
    pub(crate) concurrency: Concurrency,
    pub(crate) max_concurrent_requests: usize,
    pub(crate) supports_etag: bool,
    pub(crate) strictness: Strictness,
    pub(crate) calls_per_minute: Option<u32>,
    pub(crate) safety_loop: autonomy::Mode,
    /// The families whose operations start executions.
    pub(crate) starting: Vec<usize>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) policy: Policy,
    pub(crate) table: Table,
    pub(crate) by_name: HashMap<OperationName, OperationId, FixedState>,
    pub(crate) types: Types,
    pub(crate) pinned: Vec<String>,
    pub(crate) version: String,
    pub(crate) servers: Vec<introspect::AdapterInfo>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) introspection: introspect::Prepared,
}

/// Which tool a call came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The tool of one family, by its index in the profile.
    Family(usize),
    /// The tool for everything.
    Unified,
}

/// What a call of a tool is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub endpoint: Endpoint,
    /// The operation that the tool is; then its arguments are the parameters.
    pub operation: Option<OperationName>,
}

impl Address {
    /// The arguments of a call as an endpoint takes them.
    #[must_use]
    pub fn arguments(&self, given: Map<String, Value>) -> Map<String, Value> {
        match &self.operation {
            None => given,
            Some(name) => Map::from_iter([
                (request::OPERATION.to_owned(), name.as_str().into()),
                (request::PARAMS.to_owned(), Value::Object(given)),
            ]),
        }
    }
}

impl Registry {
    #[must_use]
    pub fn builder(adapter: &str) -> Builder {
        Builder::new(adapter)
    }

    #[must_use]
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    #[must_use]
    pub fn max_concurrent_requests(&self) -> usize {
        self.max_concurrent_requests
    }

    /// How many calls a principal may make in a minute, where the operator says.
    #[must_use]
    pub fn calls_per_minute(&self) -> Option<u32> {
        self.calls_per_minute
    }

    /// What the execution safety loop does.
    #[must_use]
    pub fn safety_loop(&self) -> autonomy::Mode {
        self.safety_loop
    }

    #[must_use]
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// Every tool that is listed, in the order it is listed.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The pinned names that no operation has which a caller may see.
    pub fn pinned_in_vain(&self) -> impl Iterator<Item = &str> {
        self.pinned.iter().map(String::as_str).filter(|name| self.visible_named(name).is_none())
    }

    /// What a call of the tool of that name is for, if there is one.
    #[must_use]
    pub fn address(&self, tool: &str) -> Option<Address> {
        if self.mode == Mode::Discrete {
            let name = tool.strip_prefix(self.prefix.as_str())?;
            // One that the rules deny is not listed, but its caller is told why.
            let (name, _) = self.by_name.get_key_value(name)?;
            return Some(Address { endpoint: Endpoint::Unified, operation: Some(name.clone()) });
        }
        self.endpoint(tool).map(|endpoint| Address { endpoint, operation: None })
    }

    /// The endpoint that a tool is, where tools are endpoints.
    #[must_use]
    pub fn endpoint(&self, tool: &str) -> Option<Endpoint> {
        if self.mode == Mode::Discrete {
            return None;
        }
        self.tools.iter().find(|known| known.name == tool).map(|known| known.endpoint)
    }

    #[must_use]
    pub fn id(&self, name: &str) -> Option<OperationId> {
        self.by_name.get(name).copied()
    }

    #[must_use]
    pub fn get(&self, id: OperationId) -> Option<&Operation> {
        self.operations.get(id.0)
    }

    /// The operation behind an id of this very registry.
    fn of(&self, id: OperationId) -> &Operation {
        #[expect(
            clippy::indexing_slicing,
            reason = "INVARIANT: ids are made by the registry they are used with, which never changes"
        )]
        &self.operations[id.0]
    }

    /// What holds for every caller of an operation.
    #[must_use]
    pub fn standing(&self, id: OperationId) -> &Standing {
        self.table.standing(id)
    }

    /// Whether an operation publishes the token that goes on after a quota's pause.
    #[must_use]
    pub fn takes_quota_token(&self, operation: &str) -> bool {
        let found = self.id(operation).and_then(|id| self.get(id));
        found.is_some_and(|operation| {
            let mut aliases = operation.params.iter().flat_map(|param| &param.aliases);
            aliases.any(|alias| alias == crate::shared::QUOTA_CONTINUE)
        })
    }

    /// Decides one call whose parameters were validated.
    #[must_use]
    pub fn decide(&self, id: OperationId, facts: &Facts<'_>) -> Decision {
        self.table.decide(id, facts)
    }

    /// What a person is asked before a call with these parameters.
    #[must_use]
    pub fn confirmation_message(&self, id: OperationId, params: &Map<String, Value>) -> String {
        self.get(id).map(|operation| policy::message(&self.types, operation, params)).unwrap_or_default()
    }

    /// What the operator decided about calls.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Every operation with its place.
    pub fn operations(&self) -> impl Iterator<Item = (OperationId, &Operation)> {
        self.operations.iter().enumerate().map(|(index, operation)| (OperationId(index), operation))
    }

    /// The operations a caller may see: what the rules deny is neither listed nor found.
    pub fn visible(&self) -> impl Iterator<Item = &Operation> {
        self.operations().filter(|(id, _)| !self.standing(*id).is_hidden()).map(|(_, operation)| operation)
    }

    /// The operation of that name, if a caller may see it.
    pub(crate) fn visible_named(&self, name: &str) -> Option<(OperationId, &Operation)> {
        let id = self.id(name)?;
        if self.standing(id).is_hidden() {
            return None;
        }
        Some((id, self.get(id)?))
    }

    #[must_use]
    pub fn family(&self, operation: &Operation) -> Option<&Family> {
        self.profile.families().get(operation.family)
    }

    /// The name of the family an operation belongs to.
    #[must_use]
    pub fn family_name(&self, operation: &Operation) -> &str {
        self.family(operation).map_or("", |family| family.name.as_str())
    }

    /// The tool that serves an operation.
    #[must_use]
    pub fn tool_name(&self, operation: &Operation) -> String {
        let prefix = self.prefix.as_str();
        match self.mode {
            Mode::Discrete => format!("{prefix}{}", operation.name()),
            Mode::Single => format!("{prefix}mcp_aql"),
            Mode::Semantic | Mode::All => format!("{prefix}mcp_aql_{}", self.family_name(operation)),
        }
    }

    /// Whether a call through this endpoint can start an execution.
    #[must_use]
    pub fn starts_executions(&self, endpoint: Endpoint) -> bool {
        match endpoint {
            Endpoint::Family(family) => self.starting.contains(&family),
            Endpoint::Unified => !self.starting.is_empty(),
        }
    }

    /// Finds the operation a call names and checks that it came through the right tool.
    pub fn route(&self, endpoint: Endpoint, name: &str) -> Result<OperationId, Error> {
        let Some(id) = self.id(name) else { return Err(unknown::operation(self, endpoint, name)) };
        match (endpoint, self.get(id)) {
            (Endpoint::Family(family), Some(operation)) if family != operation.family => {
                Err(self.mismatch(operation, family))
            }
            (_, Some(_)) => Ok(id),
            (_, None) => Err(unknown::operation(self, endpoint, name)),
        }
    }

    /// Finds the operation of a call that came through the right tool.
    pub fn routed(self: &Arc<Self>, endpoint: Endpoint, call: Call) -> Result<Routed, Error> {
        let id = self.route(endpoint, &call.operation)?;
        Ok(Routed { registry: Arc::clone(self), id, endpoint, params: call.params })
    }

    /// Routes and validates one call.
    pub fn validate(self: &Arc<Self>, endpoint: Endpoint, call: Call) -> Result<ValidRequest, Error> {
        self.routed(endpoint, call)?.validate()
    }

    /// The tool of an operation, where a call through this endpoint does not reach it.
    fn other_tool(&self, endpoint: Endpoint, operation: &Operation) -> Option<String> {
        match endpoint {
            Endpoint::Family(family) if family != operation.family => Some(self.tool_name(operation)),
            Endpoint::Family(_) | Endpoint::Unified => None,
        }
    }

    /// What to tell a caller of a tool that is not listed.
    #[must_use]
    pub fn unknown_tool(&self, name: &str) -> String {
        unknown::tool(self, name)
    }

    fn mismatch(&self, operation: &Operation, actual: usize) -> Error {
        let spelled =
            |name: &str| if self.profile.is_crude() { name.to_uppercase() } else { name.to_owned() };
        let expected = spelled(self.family_name(operation));
        let actual =
            self.profile.families().get(actual).map(|f| spelled(f.name.as_str())).unwrap_or_default();
        let tool = self.tool_name(operation);
        Error::new(
            Code::EndpointMismatch,
            format!("Operation '{}' must use {expected} endpoint, not {actual}", operation.name()),
        )
        .with("operation", operation.name().as_str())
        .with("expected_endpoint", expected)
        .with("actual_endpoint", actual)
        .with("tool", tool.as_str())
        .hint(format!("Send the same call through the tool '{tool}'."))
    }
}

/// A call that named an operation through the right tool; its parameters have not been looked at.
#[derive(Debug)]
pub struct Routed {
    registry: Arc<Registry>,
    id: OperationId,
    endpoint: Endpoint,
    params: Map<String, Value>,
}

impl Routed {
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    #[must_use]
    pub fn operation(&self) -> &Operation {
        self.registry.of(self.id)
    }

    #[must_use]
    pub fn id(&self) -> OperationId {
        self.id
    }

    /// What holds for every caller of the operation.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        self.registry.standing(self.id)
    }

    /// Checks the parameters.
    pub fn validate(self) -> Result<ValidRequest, Error> {
        let Self { registry, id, endpoint, params } = self;
        let Checked { params, warnings } =
            validate::validate(&registry.types, registry.of(id), params, registry.strictness)?;
        Ok(ValidRequest { registry, id, endpoint, params, warnings })
    }
}

/// A call that named an operation through the right tool with parameters that fit. Only validation makes one.
#[derive(Debug)]
pub struct ValidRequest {
    registry: Arc<Registry>,
    id: OperationId,
    endpoint: Endpoint,
    params: Map<String, Value>,
    warnings: Vec<crate::warning::Warning>,
}

impl ValidRequest {
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    #[must_use]
    pub fn id(&self) -> OperationId {
        self.id
    }

    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    #[must_use]
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    #[must_use]
    pub fn operation(&self) -> &Operation {
        self.registry.of(self.id)
    }

    /// Takes one parameter out, so that what is left is the handler's.
    pub fn take_param(&mut self, name: &str) -> Option<Value> {
        self.params.remove(name)
    }

    /// Takes all parameters out.
    #[must_use]
    pub fn take_params(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.params)
    }

    /// Takes out what validation warned of.
    #[must_use]
    pub fn take_warnings(&mut self) -> Vec<crate::warning::Warning> {
        std::mem::take(&mut self.warnings)
    }
}
