//! Checking a registry as a whole and freezing it. Everything that is wrong is told at once.

use std::{cell::RefCell, collections::HashMap, fmt, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    Builder, INTROSPECT, RESERVED, Registry,
    param::{self, Declared},
};
use crate::{
    category::Category,
    classify::patterns,
    danger::{Danger, DangerLevel},
    define::{self, Queried},
    execution::Lifecycle,
    fields::{FULL, Known, MINIMAL, Path, STANDARD, Selection},
    introspect,
    name::OperationName,
    operation::{Operation, OperationId, Returns},
    param::Param,
    policy::{Policy, Standing, condition::Fault, table::Table},
    profile::{Profile, matches_pattern},
    query::{self, CursorKey, Query},
    shared, tools,
    trust::TrustLevel,
    types::{Types, protocol_types},
    validate::{self, Strictness},
};

/// One thing that keeps definitions from becoming a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `operation 'create_item'`
    pub subject: String,
    /// `params.price.type`
    pub field: String,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: '{}' {}", self.subject, self.field, self.message)
    }
}

/// Everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// Collects problems while freezing goes on.
#[derive(Default)]
pub(super) struct Report(Vec<Problem>);

impl Report {
    pub(super) fn add(&mut self, subject: &str, field: &str, message: &str) {
        self.0.push(Problem {
            subject: subject.to_owned(),
            field: field.to_owned(),
            message: message.to_owned(),
        });
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

pub(super) fn freeze(builder: Builder) -> Result<Registry, Problems> {
    let mut report = Report::default();
    let mut all_types = protocol_types();
    for declared in builder.types.iter().cloned() {
        // Two operations may bring the same type, as structs that share a field's type do.
        let same = |known: &define::Type| {
            known.name == declared.name && format!("{known:?}") == format!("{declared:?}")
        };
        if !all_types.iter().any(same) {
            all_types.push(declared);
        }
    }
    let declared = Declared::new(&all_types, &mut report);
    let types = param::freeze_types(&all_types, &declared, &mut report);

    let added = Added::default();
    let mut operations = Vec::new();
    let mut by_name = HashMap::default();
    let given = std::iter::once(introspect::definition()).chain(builder.operations.iter().cloned());
    for (index, definition) in given.enumerate() {
        let subject = format!("operation '{}'", definition.name);
        let ours = index == 0 || definition.of_the_protocol.0;
        if !ours && RESERVED.contains(&definition.name.as_str()) {
            report.add(&subject, "name", "is reserved by the protocol; choose another");
            continue;
        }
        let context = Context {
            profile: &builder.profile,
            policy: &builder.policy,
            declared: &declared,
            types: &types,
            added: &added,
            subject,
        };
        let Some(operation) = context.operation(definition, &mut report) else { continue };
        let id = OperationId(operations.len());
        if by_name.insert(operation.name.clone(), id).is_some() {
            report.add(&context.subject, "name", "is defined twice");
        }
        operations.push(operation);
    }
    if !report.0.is_empty() {
        return Err(Problems(report.0));
    }
    let supports_etag = operations
        .iter()
        .any(|op| op.server.is_none() && op.params.iter().any(|p| p.name == shared::IF_MATCH));
    let mut starting: Vec<usize> =
        operations.iter().filter(|op| op.lifecycle.is_some()).map(|op| op.family).collect();
    starting.dedup();
    let table = Table::new(&builder.policy, &operations).map_err(|faults| {
        let problem = |(place, fault): (usize, Fault)| Problem {
            subject: "the operator's rules".to_owned(),
            field: format!("rule {}", place + 1),
            message: format!("cannot be used: {fault}"),
        };
        Problems(faults.into_iter().map(problem).collect())
    })?;
    if builder.policy.tokens {
        let token =
            param::freeze(&shared::confirmation_token(), &declared, "confirmation", true, &mut report);
        let token = token.map(Arc::new);
        for (place, operation) in operations.iter_mut().enumerate() {
            let asks = matches!(table.standing(OperationId(place)), Standing::Confirm | Standing::Depends);
            if asks && !operation.params.iter().any(|param| param.name == shared::CONFIRMATION_TOKEN) {
                operation.params.extend(token.clone());
                operation.signature = signature(operation);
            }
        }
    }
    if !builder.quotas.is_empty() {
        let token = param::freeze(&shared::quota_continue(), &declared, "quotas", true, &mut report);
        let token = token.map(Arc::new);
        for operation in operations.iter_mut().filter(|operation| operation.name.as_str() != INTROSPECT) {
            let (name, server) = (operation.name.as_str(), operation.server.as_deref());
            let pauses = builder.quotas.iter().any(|quota| quota.concerns(name, operation.category, server));
            let is_taken =
                operation.params.iter().any(|param| param.name == shared::QUOTA_CONTINUE_PUBLISHED);
            if pauses && !is_taken {
                operation.params.extend(token.clone());
                operation.signature = signature(operation);
            }
        }
    }
    let mut registry = Registry {
        adapter: builder.adapter,
        mode: builder.mode,
        profile: builder.profile,
        prefix: builder.prefix,
        limits: builder.limits,
        concurrency: builder.concurrency,
        max_concurrent_requests: builder.max_concurrent_requests,
        supports_etag,
        strictness: builder.strictness,
        calls_per_minute: builder.policy.calls_per_minute,
        safety_loop: builder.safety_loop,
        starting,
        operations,
        table,
        policy: builder.policy,
        by_name,
        types,
        pinned: builder.pinned,
        version: builder.version,
        servers: builder.servers,
        tools: Vec::new(),
        introspection: introspect::Prepared::default(),
    };
    registry.tools = tools::list(&registry);
    registry.introspection = introspect::Prepared::new(&registry);
    Ok(registry)
}

/// Parameters that are added to operations. Hundreds of operations of other servers take the same ones, which are there once.
#[derive(Default)]
struct Added(RefCell<Vec<(define::Param, Arc<Param>)>>);

impl Added {
    fn frozen(&self, param: define::Param, context: &Context<'_>, report: &mut Report) -> Option<Arc<Param>> {
        let mut known = self.0.borrow_mut();
        if let Some((_, frozen)) = known.iter().find(|(added, _)| *added == param) {
            return Some(Arc::clone(frozen));
        }
        let frozen = param::freeze(&param, context.declared, &context.subject, true, report)?;
        let frozen = Arc::new(frozen);
        known.push((param, Arc::clone(&frozen)));
        Some(frozen)
    }
}

struct Context<'a> {
    profile: &'a Profile,
    policy: &'a Policy,
    declared: &'a Declared<'a>,
    types: &'a Types,
    added: &'a Added,
    subject: String,
}

impl Context<'_> {
    fn operation(&self, given: define::Operation, report: &mut Report) -> Option<Operation> {
        let subject = self.subject.as_str();
        let name =
            given.name.parse::<OperationName>().map_err(|e| report.add(subject, "name", &e.to_string()));
        let category = match given.semantic_category.as_deref() {
            None => {
                report.add(subject, "semantic_category", "is missing");
                None
            }
            Some(text) => text
                .parse::<Category>()
                .map_err(|error| report.add(subject, "semantic_category", &format!("is invalid: {error}")))
                .ok(),
        };
        for fault in &given.faults {
            report.add(subject, "queried", &format!("is at fault: {fault}"));
        }
        if given.description.trim().is_empty() {
            report.add(subject, "description", "is empty");
        }
        let (Ok(name), Some(category)) = (name, category) else { return None };
        let family = self.family(&given, &name, category, report)?;
        let danger = danger(&given, category, self.policy);
        let danger_declared = given.dangerous || given.danger.is_some();
        let queried = given.queried.as_ref().map(|queried| without_own(queried, &given.params));
        let params = self.params(&given, queried.as_ref(), category, report);
        let returns = self.returns(&given, report)?;
        let mut selection = given.selection.as_ref().and_then(|selection| self.selection(selection, report));
        // An operation's own `fields` is not ours to read, unless it says what can be selected.
        let own_fields = given.params.iter().any(|param| param.name == shared::FIELDS);
        if let Some(queried) = &queried
            && (selection.is_some() || !own_fields)
        {
            selection.get_or_insert_with(Selection::of_anything).compute(queried.collection());
        }
        let description = describe(&given);
        let prefix = if given.name.starts_with(&given.prefix) { given.prefix.len() } else { 0 };
        let mut operation = Operation {
            name,
            category,
            family,
            description,
            own: given.params.len().min(params.len()),
            params,
            returns,
            examples: given.examples,
            danger,
            danger_declared,
            deprecated: given.deprecated,
            selection,
            queried,
            relationships: given.relationships,
            lifecycle: given.lifecycle.map(Arc::new),
            prefix,
            trust: given.trust.unwrap_or(TrustLevel::Certified),
            server: given.server,
            signature: String::new(),
        };
        operation.signature = signature(&operation);
        if operation.examples.is_empty() {
            operation.examples = self.sample(&operation).into_iter().collect();
        }
        self.check_calls(&operation, report);
        Some(operation)
    }

    fn family(
        &self,
        given: &define::Operation,
        name: &OperationName,
        category: Category,
        report: &mut Report,
    ) -> Option<usize> {
        let families = self.profile.families();
        let place = match &given.endpoint {
            Some(endpoint) => families.iter().position(|f| f.name.as_str().eq_ignore_ascii_case(endpoint)),
            None => self.profile.place(name, category),
        };
        if place.is_none() {
            let profile = self.profile.name();
            report.add(
                &self.subject,
                "endpoint",
                &format!("is missing: no family of profile '{profile}' takes it (category {category})"),
            );
        }
        place
    }

    fn params(
        &self,
        given: &define::Operation,
        queried: Option<&Queried>,
        category: Category,
        report: &mut Report,
    ) -> Vec<Arc<Param>> {
        let mut added = queried.map(controls).unwrap_or_default();
        let has = |params: &[define::Param], name: &str| params.iter().any(|param| param.name == name);
        let selects = given.selection.is_some() || queried.is_some();
        if selects && !has(&given.params, shared::FIELDS) && !has(&added, shared::FIELDS) {
            added.push(shared::fields());
        }
        if category == Category::Update && !has(&given.params, shared::INPUT) {
            report.add(&self.subject, "params.input", "is missing: an UPDATE takes its changes in 'input'");
        }
        let mut frozen: Vec<Arc<Param>> = Vec::new();
        for param in &given.params {
            let mut param = param.clone();
            if category == Category::Update && param.name == shared::INPUT {
                self.complete_input(given, &mut param, report);
            }
            let param = param::freeze(&param, self.declared, &self.subject, true, report);
            frozen.extend(param.map(Arc::new));
        }
        frozen.extend(added.into_iter().filter_map(|param| self.added.frozen(param, self, report)));
        for (place, param) in frozen.iter().enumerate() {
            if frozen.iter().take(place).any(|known| known.name == param.name) {
                report.add(&self.subject, &format!("params.{}", param.name), "is defined twice");
            }
        }
        for param in &frozen {
            let clash = |alias: &&String| {
                let meant = |p: &&Arc<Param>| p.name == **alias || p.aliases.contains(alias);
                frozen.iter().filter(meant).count() > 1 || param.name == **alias
            };
            if let Some(alias) = param.aliases.iter().find(clash) {
                let field = format!("params.{}.aliases", param.name);
                report.add(&self.subject, &field, &format!("holds '{alias}', which has a meaning already"));
            }
        }
        frozen
    }

    /// An UPDATE's `input` is an object, and its description says what stands in it and what cannot. It is required,
    /// unless another server requires nothing of it: calls must not fail for an empty object.
    fn complete_input(&self, given: &define::Operation, input: &mut define::Param, report: &mut Report) {
        (input.unless, input.nullable) = (None, false);
        let kind = input.kind.replace("object".to_owned()).unwrap_or_else(|| "object".to_owned());
        match self.declared.get(&kind) {
            Some((_, define::Type { shape: define::Shape::Object { .. }, .. })) => {
                input.fields_of.get_or_insert(kind);
            }
            _ if kind == "object" => {}
            _ => report.add(&self.subject, "params.input.type", "must be an object: the fields to change"),
        }
        if let Some(type_name) = input.fields_of.clone() {
            self.describe_input(given, &type_name, input, report);
        }
        let inside = input.fields_of.as_deref().map(|name| self.fields_named(name)).unwrap_or_default();
        input.required = given.server.is_none() || inside.iter().any(|field| field.required);
        // Another server has rules of its own, which only it can tell.
        if given.server.is_none() {
            input.description.push_str(
                ". Objects merge by key, arrays and scalars replace, null removes the field, absent fields stay",
            );
        }
    }

    fn fields_named(&self, name: &str) -> &[define::Param] {
        match self.declared.get(name) {
            Some((_, define::Type { shape: define::Shape::Object { fields }, .. })) => fields.as_slice(),
            _ => &[],
        }
    }

    fn describe_input(
        &self,
        given: &define::Operation,
        type_name: &str,
        input: &mut define::Param,
        report: &mut Report,
    ) {
        let names: Vec<&str> = self.fields_named(type_name).iter().map(|f| f.name.as_str()).collect();
        let mut identifiers = given.params.iter().filter(|p| p.required && p.name != shared::INPUT);
        if let Some(identifier) = identifiers.find(|p| names.contains(&p.name.as_str())) {
            let message = format!("holds the identifier '{}', which stands beside it", identifier.name);
            report.add(&self.subject, "params.input", &message);
        }
        // What another server keeps to itself is its own business; its answer need not be the thing that was changed.
        let returned = if given.server.is_none() { given.returns.type_name.as_str() } else { "" };
        let kept: Vec<&str> = self
            .fields_named(returned)
            .iter()
            .map(|field| field.name.as_str())
            .filter(|name| !names.contains(name))
            .collect();
        input.description.push_str(&format!(". Fields ({type_name}): {}", names.join(", ")));
        if !kept.is_empty() {
            input.description.push_str(&format!(". Read-only: {}", kept.join(", ")));
        }
    }

    fn returns(&self, given: &define::Operation, report: &mut Report) -> Option<Returns> {
        let name = if given.returns.type_name.is_empty() { "Json" } else { &given.returns.type_name };
        let Some(known) = self.types.named(name) else {
            report.add(&self.subject, "returns", &format!("names the undeclared type '{name}'"));
            return None;
        };
        let description = given.returns.description.clone();
        Some(Returns { name: name.to_owned(), kind: known.kind(), description })
    }

    fn selection(&self, given: &define::Selection, report: &mut Report) -> Option<Selection> {
        let known: Option<Vec<Known>> = given.full.iter().map(|text| Known::parse(text)).collect();
        let mut presets = given.presets.clone();
        presets.insert(MINIMAL.to_owned(), given.minimal.clone());
        presets.insert(STANDARD.to_owned(), given.standard.clone());
        presets.remove(FULL);
        let paths =
            |texts: Vec<String>| texts.iter().map(|text| Path::parse(text)).collect::<Option<Vec<_>>>();
        let presets =
            presets.into_iter().map(|(name, texts)| Some((name, paths(texts)?))).collect::<Option<_>>();
        match (known, presets) {
            (Some(known), Some(presets)) => {
                Some(Selection { answers: given.answers, presets, known, anything: false })
            }
            _ => {
                report.add(&self.subject, "selection", "holds a field path with an empty step");
                None
            }
        }
    }

    /// Defaults and examples are calls that must work.
    fn check_calls(&self, operation: &Operation, report: &mut Report) {
        for example in &operation.examples {
            let checked =
                validate::validate(self.types, operation, example.params.clone(), Strictness::Reject);
            let read = |queried: &Queried| {
                Query::read(&example.params, queried.collection(), &CursorKey::new(&[0; 32])).map(drop)
            };
            let checked = checked.and_then(|_| operation.queried().map_or(Ok(()), read));
            if let Err(error) = checked {
                let field = format!("example '{}'", example.description);
                report.add(&self.subject, &field, &format!("would be refused: {}", error.message));
            }
        }
        for param in &operation.params {
            let Some(default) = &param.default else { continue };
            // Alone, so that no other parameter's fault is taken for the default's.
            let alone = Operation { params: vec![param.clone()], ..operation.clone() };
            let params = [(param.name.clone(), default.clone())].into_iter().collect();
            if let Err(error) = validate::validate(self.types, &alone, params, Strictness::Reject) {
                let field = format!("params.{}.default", param.name);
                report.add(&self.subject, &field, &format!("would be refused: {}", error.message));
            }
        }
    }

    /// An example made from the required parameters alone, where the author gave none. No example is better than
    /// one that would be refused, as where a pattern leaves no value to guess.
    fn sample(&self, operation: &Operation) -> Option<define::Example> {
        let required = operation.params.iter().filter(|param| param.required);
        let params: Map<String, Value> =
            required.map(|param| (param.name.clone(), sample_value(self.types, param, 0))).collect();
        validate::validate(self.types, operation, params.clone(), Strictness::Reject).ok()?;
        Some(define::Example { description: String::new(), params })
    }
}

/// Enough to write a call again correctly. What is the same for hundreds of operations is left to introspection.
fn signature(operation: &Operation) -> String {
    let shown = if operation.is_foreign() { operation.own_params() } else { operation.params() };
    let mut params: Vec<String> = shown.iter().map(|param| param.signature()).collect();
    if shown.len() < operation.params().len() {
        params.push("…".to_owned());
    }
    format!("{}({})", operation.name, params.join(", "))
}

/// An operation's own parameters come before the controls of the same name.
fn without_own(queried: &Queried, params: &[define::Param]) -> Queried {
    let own: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    match queried {
        Queried::Stored(collection) => Queried::Stored(collection.withholding(&own)),
        Queried::Returned(collection) => Queried::Returned(collection.withholding(&own)),
        Queried::Item(collection) => Queried::Item(collection.clone()),
    }
}

/// The parameters that control a query.
fn controls(queried: &Queried) -> Vec<define::Param> {
    match queried {
        Queried::Stored(collection) => query::params::all(collection),
        Queried::Returned(collection) => query::params::returned(collection),
        Queried::Item(_) => Vec::new(),
    }
}

/// What is said of an operation's danger, else its category's level. A name that is dangerous by itself raises a level
/// that nobody said; a READ is what it is called.
fn danger(given: &define::Operation, category: Category, policy: &Policy) -> Danger {
    let mut danger = given.danger.clone().unwrap_or_else(|| {
        let mut danger = Danger::worked_out(category.default_danger(), Vec::new());
        if let Some((level, pattern)) = patterns::level(&given.name, None).filter(|_| category.is_mutating())
        {
            danger.raise(level, format!("the name fits '{pattern}', so {level}"));
        }
        danger
    });
    if given.dangerous {
        danger.level = danger.level.max(DangerLevel::Dangerous);
    }
    if !danger.explicit && given.name != INTROSPECT {
        let bare = given.name.strip_prefix(&given.prefix).unwrap_or_default();
        for (pattern, level) in &policy.danger_patterns {
            if matches_pattern(pattern, &given.name) || matches_pattern(pattern, bare) {
                danger.raise(*level, format!("the name fits the operator's pattern '{pattern}', so {level}"));
            }
        }
    }
    danger
}

fn describe(given: &define::Operation) -> String {
    let states = given.lifecycle.as_ref().map(Lifecycle::describe).unwrap_or_default();
    let description = if states.is_empty() {
        given.description.clone()
    } else {
        format!("{}. {states}", given.description.trim_end_matches('.'))
    };
    let Some(notice) = &given.deprecated else { return description };
    let advice = notice.replacement.as_ref().map(|to| format!("; use '{to}' instead")).unwrap_or_default();
    format!("Deprecated{advice}. {description}")
}

/// Types may contain themselves; a guessed value does not.
const SAMPLE_DEPTH_MAX: usize = 4;

fn sample_value(types: &Types, param: &Param, depth: usize) -> Value {
    if let Some(value) = param.default.as_ref().or_else(|| param.allowed.first()) {
        return value.clone();
    }
    let text = param.kind.text.split(" | ").next().unwrap_or_default();
    match text {
        "integer" => {
            json!(param.minimum.map(f64::ceil).or(param.maximum.map(f64::floor)).unwrap_or(1.0) as i64)
        }
        "number" => crate::param::number(param.minimum.or(param.maximum).unwrap_or(1.0)),
        "boolean" => Value::Bool(true),
        "string" => sample_text(param).into(),
        text if text == "array" || text.ends_with("[]") => json!([]),
        _ if depth >= SAMPLE_DEPTH_MAX => json!({}),
        _ => {
            let fields = param.record().and_then(|id| types.fields(id)).unwrap_or_default();
            let required = fields.iter().filter(|field| field.required);
            required.map(|field| (field.name.clone(), sample_value(types, field, depth + 1))).collect()
        }
    }
}

fn sample_text(param: &Param) -> String {
    let text = match param.format.map(validate::Format::as_str) {
        Some("date") => "2026-02-04",
        Some("date-time") => "2026-02-04T10:30:00Z",
        Some("uuid") => "123e4567-e89b-12d3-a456-426614174000",
        Some("uri") => "https://example.com/",
        Some("email") => "someone@example.com",
        Some("base64") => "SGVsbG8=",
        _ => {
            // No clamp: it would panic on bounds that contradict each other.
            let length = 7.max(param.min_length.unwrap_or(0)).min(param.max_length.unwrap_or(usize::MAX));
            return "example".chars().cycle().take(length).collect();
        }
    };
    text.to_owned()
}
