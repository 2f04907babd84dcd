//! From a bundle and what the operator knows better to an adapter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    Adapter, NAME_CHARS_MAX, Operation, Param, Transport,
    fields::Problem,
    is_name,
    overrides::{self, Overrides},
    report, sidecar, write,
};
use crate::{
    adopt::{RESERVED_PARAMS, Severity},
    category::Category,
    danger::{DangerLevel, Words},
    discover::{
        bundle::{self, Bundle, Warning},
        percent,
        target::{Argument, From, Target},
    },
    shared, suggest,
    trust::{Block, TrustLevel},
};

/// An adapter, and what its file has no place for.
#[derive(Debug, Clone)]
pub struct Built {
    pub adapter: Adapter,
    pub(super) bundle: Bundle,
    pub(super) made: Vec<Made>,
    /// Operations of the bundle that are not in the adapter, and why.
    pub(super) omitted: Vec<(String, &'static str)>,
    pub(super) warnings: Vec<Warning>,
}

/// Where an operation of the adapter comes from.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// Its place among the bundle's operations.
    pub(super) source: usize,
    pub(super) operation: Operation,
    /// What the operator said of it.
    pub(super) given: overrides::Operation,
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub content: String,
}

impl Built {
    /// The adapter, its provenance and a report for people. The same input always gives the same bytes.
    #[must_use]
    pub fn files(&self) -> [File; 3] {
        let name = &self.adapter.name;
        [
            File { name: format!("{name}{}", super::FILE_ENDING), content: write::markdown(self) },
            File { name: format!("{name}.provenance.json"), content: sidecar::provenance(self) },
            File { name: format!("{name}.report.md"), content: report::report(self) },
        ]
    }

    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Operations that somebody should look at and nobody has.
    pub fn unreviewed(&self) -> impl Iterator<Item = &bundle::Operation> {
        self.made.iter().filter_map(|made| {
            let source = self.source(made)?;
            let reviewed = made.given.endpoint.is_some() || made.given.danger.is_some();
            (source.needs_review && !reviewed).then_some(source)
        })
    }

    pub(super) fn source(&self, made: &Made) -> Option<&bundle::Operation> {
        self.bundle.normalized_bundle.operations.get(made.source)
    }
}

/// Makes the adapter. What the overrides name and the bundle does not have is an error, with the nearest name.
pub fn build(bundle: &Bundle, overrides: &Overrides) -> Result<Built, Vec<Problem>> {
    let mut problems = Vec::new();
    let operations = &bundle.normalized_bundle.operations;
    unknown(operations, overrides, &mut problems);
    let mut warnings = bundle.normalized_bundle.warnings.clone();
    let mut omitted = Vec::new();
    let shadowed = shadowed(operations);
    let mut made = Vec::new();
    for (source, operation) in operations.iter().enumerate() {
        let given = overrides.operations.get(&operation.operation_name).cloned().unwrap_or_default();
        if given.omit {
            omitted.push((operation.operation_name.clone(), "manual_override"));
            continue;
        }
        if shadowed.contains(&source) {
            omitted.push((operation.operation_name.clone(), "duplicate"));
            let message = "another tool has the same name; the more dangerous one is kept".to_owned();
            warnings.push(Warning {
                tool: Some(operation.source_tool_name.clone()),
                ..Warning::new("DUPLICATE_TOOL", Severity::Warning, message)
            });
            continue;
        }
        made.push(Made { source, operation: made_of(operation, &given, &mut problems), given });
    }
    unique(&made, &mut problems);
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.line);
        return Err(problems);
    }
    made.sort_by_key(|made| made.operation.category);
    let server = &bundle.source.name;
    let adapter = Adapter {
        name: overrides.name.clone().unwrap_or_else(|| adapter_name(server)),
        version: overrides.version.clone().unwrap_or_else(|| "1.0.0".to_owned()),
        description: overrides.description.clone().unwrap_or_else(|| described(bundle)),
        transport: Transport::Mcp { server: server.clone() },
        base_url: format!("mcp:{}", percent::encoded(server)),
        auth: Some(auth(bundle)),
        trust: Block { generated_by: Some("aqueduct".to_owned()), ..Block::of_level(TrustLevel::Generated) },
        operations: made.iter().map(|made| made.operation.clone()).collect(),
    };
    Ok(Built { adapter, bundle: bundle.clone(), made, omitted, warnings })
}

/// Names in the overrides that the bundle does not have.
fn unknown(operations: &[bundle::Operation], overrides: &Overrides, problems: &mut Vec<Problem>) {
    let mut note = |line: usize, path: String, kind: &str, name: &str, known: Vec<&str>| {
        let help = match suggest::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None if known.is_empty() => "it has none".to_owned(),
            None if known.len() <= 12 => format!("there are {}", known.join(", ")),
            None => "look up its name in the bundle".to_owned(),
        };
        let message = format!("the bundle has no {kind} '{name}'");
        problems.push(Problem { line, path, message, help: Some(help) });
    };
    for (name, given) in &overrides.operations {
        let path = format!("operations.{name}");
        let Some(operation) = operations.iter().find(|operation| operation.operation_name == *name) else {
            let names = operations.iter().map(|operation| operation.operation_name.as_str()).collect();
            note(given.line, path, "operation", name, names);
            continue;
        };
        for (param, of_param) in &given.params {
            if !operation.params.iter().any(|known| known.name == *param) {
                let names = operation.params.iter().map(|known| known.name.as_str()).collect();
                note(of_param.line, format!("{path}.params.{param}"), "parameter", param, names);
            }
        }
    }
}

/// Operations that call the same tool in the same way as a more dangerous one. A server calls tools by name, so which of
/// the two it would run nobody knows.
fn shadowed(operations: &[bundle::Operation]) -> BTreeSet<usize> {
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shadowed = BTreeSet::new();
    let weight = |place: usize| {
        operations.get(place).map(|operation| (operation.danger_level, operation.endpoint.is_mutating()))
    };
    for (place, operation) in operations.iter().enumerate() {
        match kept.get(operation.maps_to.as_str()) {
            Some(&other) if weight(place) <= weight(other) => {
                shadowed.insert(place);
            }
            other => {
                shadowed.extend(other.copied());
                kept.insert(&operation.maps_to, place);
            }
        }
    }
    shadowed
}

fn unique(made: &[Made], problems: &mut Vec<Problem>) {
    let mut names: BTreeMap<&str, &Made> = BTreeMap::new();
    for one in made {
        if let Some(other) = names.insert(&one.operation.name, one) {
            let line = one.given.line.max(other.given.line);
            let message = format!("two operations would be called '{}'", one.operation.name);
            let help = Some("give one of them another name, or leave it out with 'omit: true'".to_owned());
            problems.push(Problem { line, path: "operations".to_owned(), message, help });
        }
    }
}

fn made_of(
    source: &bundle::Operation,
    given: &overrides::Operation,
    problems: &mut Vec<Problem>,
) -> Operation {
    let category = given.endpoint.unwrap_or(source.endpoint);
    // An endpoint alone brings its own danger where the suggested one cannot be.
    let danger = given.danger.unwrap_or(match given.endpoint {
        Some(Category::Read) => DangerLevel::Safe,
        Some(category) => source.danger_level.max(category.default_danger()),
        None => source.danger_level,
    });
    let path = format!("operations.{}", source.operation_name);
    if danger == DangerLevel::Safe && category.is_mutating() {
        let help = Some("say 'reversible' or more, or the endpoint READ".to_owned());
        let message = "only a READ can be 'safe'".to_owned();
        problems.push(Problem { line: given.line, path: path.clone(), message, help });
    }
    let mut target: Target = source
        .maps_to
        .parse()
        .unwrap_or_else(|_| Target { tool: source.source_tool_name.clone(), arguments: Vec::new() });
    let mut params: Vec<Param> = Vec::new();
    for param in &source.params {
        let of_param = given.params.get(&param.name).cloned().unwrap_or_default();
        let mut note = |message: String| {
            let path = format!("{path}.params.{}", param.name);
            problems.push(Problem { line: of_param.line, path, message, help: None });
        };
        if of_param.omit {
            if param.required {
                note("the tool requires it, so it cannot be left out".to_owned());
            }
            continue;
        }
        let mut rules = param.rules.clone();
        if of_param.description.is_some() {
            rules.description = of_param.description.clone();
        }
        let name = of_param.name.clone().unwrap_or_else(|| param.name.clone());
        if name != param.name {
            let reserved = RESERVED_PARAMS.contains(&name.as_str())
                || (category == Category::Update && name == shared::INPUT);
            if reserved {
                note(format!("'{name}' has a meaning of its own and cannot be a parameter"));
            }
            let from = From::Param(name.clone());
            target.arguments.push(Argument { name: param.original_name.clone(), from });
        }
        if params.iter().any(|known| known.name == name) {
            note(format!("two parameters would be called '{name}'"));
        }
        let (kind, required) = (param.kind.clone(), param.required);
        params.push(Param { name, kind, required, sensitive: false, rules });
    }
    Operation {
        name: given.name.clone().unwrap_or_else(|| source.operation_name.clone()),
        category,
        maps_to: target.to_string(),
        target: Some(target),
        description: Some(given.description.clone().unwrap_or_else(|| source.description.clone())),
        danger: Some(danger),
        words: Words::default(),
        requires_confirmation: false,
        params,
        returns: Some(source.returns.clone()),
        line: 0,
    }
}

/// Lowercase words joined by hyphens, whatever the server is called.
fn adapter_name(server: &str) -> String {
    let mut name = String::new();
    for letter in server.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || name.len() < super::NAME_CHARS_MIN {
        name.insert_str(0, "mcp-");
    }
    name.truncate(NAME_CHARS_MAX);
    let name = name.trim_end_matches('-').to_owned();
    if is_name(&name) { name } else { "mcp-server".to_owned() }
}

fn described(bundle: &Bundle) -> String {
    let source = &bundle.source;
    let identity = source.server.as_ref();
    let title = identity.and_then(|server| server.title.as_deref().or(server.name.as_deref()));
    let version = identity.and_then(|server| server.version.as_deref());
    let who = match (title, version) {
        (Some(title), Some(version)) => format!("{title} {version}"),
        (Some(title), None) => title.to_owned(),
        _ => source.name.clone(),
    };
    format!("The MCP server {who}, as it was on {}", source.captured_at)
}

/// The configuration holds the credentials; the file says which kind they are and where they come from.
fn auth(bundle: &Bundle) -> Map<String, Value> {
    let auth = &bundle.source.auth;
    let entries = [
        ("type", Some(&auth.kind)),
        ("header", auth.header.as_ref()),
        ("prefix", auth.prefix.as_ref()),
        ("token_env", auth.token_env.as_ref()),
    ];
    entries
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?.as_str()))))
        .collect()
}
