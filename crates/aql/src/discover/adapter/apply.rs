//! A server's tools as the operations that an adapter file describes.
//!
//! The file decides which operations there are, their names, categories, danger and descriptions, and which parameters
//! they take under which names. It may make rules of parameters stricter; what it leaves out stays as the server says.
//! How arguments reach the tool is adoption's own business.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Adapter, Operation};
use crate::{
    adopt::{self, Adopted, Severity, Taken},
    category::Category,
    classify::{self, Override, Overrides},
    danger::{Danger, DangerLevel},
    define,
    discover::{
        bundle::{Rules, Warning},
        normalize, source_path,
    },
    listed::ListedTool,
    shared,
    validate::Format,
};

/// What tools became, and where file and server disagree.
#[derive(Debug)]
pub struct Applied {
    pub adopted: Adopted,
    pub notes: Vec<Warning>,
}

/// Makes the operations of an adapter file from the tools that its server lists now. What the configuration says of a
/// tool in `options` wins over the file.
#[must_use]
pub fn adopt(
    adapter: &Adapter,
    tools: &[ListedTool],
    options: &adopt::Options<'_>,
    taken: &mut Taken,
) -> Applied {
    let mut notes = Vec::new();
    let (wanted, overrides) = wanted(adapter, tools, options, &mut notes);
    let options = adopt::Options { overrides: &overrides, ..*options };
    let mut adopted = adopt::adopt(&wanted, &options, taken);
    let made = std::mem::take(&mut adopted.operations);
    // All names are given back before any is taken, so that two operations can swap theirs.
    made.iter().for_each(|operation| taken.release_operation(&operation.definition.name));
    let mut found = BTreeSet::new();
    for operation in made {
        let target = normalize::target(&operation);
        let same = |said: &&Operation| {
            said.target
                .as_ref()
                .is_some_and(|given| given.tool == target.tool && given.fixed().eq(target.fixed()))
        };
        let Some(said) = adapter.operations.iter().find(same) else { continue };
        if found.insert(&said.name) {
            let tool = wanted.iter().find(|tool| tool.name == operation.tool);
            let mut follow = Follow { said, tool, types: &mut adopted.types, taken, notes: &mut notes };
            adopted.operations.push(follow.operation(operation, options.prefix));
        }
    }
    for said in adapter.operations.iter().filter(|said| !found.contains(&said.name)) {
        let tool =
            wanted.iter().find(|tool| said.target.as_ref().is_some_and(|target| target.tool == tool.name));
        let made = tool.and_then(|tool| fixed(said, tool, &options, taken));
        if let Some((operation, types)) = made {
            adopted.types.extend(types);
            let mut follow = Follow { said, tool, types: &mut adopted.types, taken, notes: &mut notes };
            adopted.operations.push(follow.operation(operation, options.prefix));
            continue;
        }
        let tool = said.target.as_ref().map(|target| target.tool.clone()).unwrap_or_default();
        let message = format!("the server has nothing for '{}' ({})", said.name, said.maps_to);
        notes.push(Warning { tool: Some(tool), ..Warning::new("NOT_LISTED", Severity::Warning, message) });
    }
    Applied { adopted, notes }
}

/// An operation with arguments that only the file fixes: its tool is not split by them, or no longer.
fn fixed(
    said: &Operation,
    tool: &ListedTool,
    options: &adopt::Options<'_>,
    taken: &mut Taken,
) -> Option<(adopt::Operation, Vec<define::Type>)> {
    let given =
        Override { category: Some(said.category), danger: Some(danger(said)), words: said.words.clone() };
    let overrides = Overrides([(tool.name.clone(), given)].into_iter().collect());
    let alone = adopt::Options { overrides: &overrides, ..*options };
    let mut adopted = adopt::adopt(std::slice::from_ref(tool), &alone, taken);
    let mut operation = adopted.operations.pop()?;
    taken.release_operation(&operation.definition.name);
    for (name, value) in said.target.iter().flat_map(|target| target.fixed()) {
        let place = operation.params.iter().position(|param| param.original_name == name)?;
        let param = operation.params.remove(place);
        operation.definition.params.retain(|known| known.name != param.definition.name);
        let text = || Value::from(value);
        let is_text = normalize::json_type(&param.definition).split(" | ").any(|kind| kind == "string");
        let value = if is_text { text() } else { serde_json::from_str(value).unwrap_or_else(|_| text()) };
        operation.wiring.fix(name, value);
    }
    Some((operation, adopted.types))
}

/// The tools that the file speaks of, and what it says of their categories and danger.
fn wanted(
    adapter: &Adapter,
    tools: &[ListedTool],
    options: &adopt::Options<'_>,
    notes: &mut Vec<Warning>,
) -> (Vec<ListedTool>, Overrides) {
    let mut said: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in &adapter.operations {
        if let Some(target) = &operation.target {
            said.entry(&target.tool).or_default().push(operation);
        }
    }
    let mut wanted: Vec<ListedTool> = Vec::new();
    let mut overrides = Overrides::default();
    for tool in tools {
        let Some(operations) = said.get(tool.name.as_str()) else {
            let message = format!("the tool is not in the adapter '{}' and is not served", adapter.name);
            notes.push(Warning {
                tool: Some(tool.name.clone()),
                ..Warning::new("NOT_IN_ADAPTER", Severity::Info, message)
            });
            continue;
        };
        if wanted.iter().any(|known| known.name == tool.name) {
            continue;
        }
        let mut named = tool.clone();
        named.server.get_or_insert_with(|| options.server.to_owned());
        let parts = classify::classify(&named, options.trust, &Overrides::default()).operations;
        for operation in operations {
            let fixed: Vec<(&str, &str)> =
                operation.target.iter().flat_map(|target| target.fixed()).collect();
            let part = parts.iter().find(|part| {
                let choice =
                    part.choice.iter().map(|choice| (choice.parameter.as_str(), choice.value.as_str()));
                !fixed.is_empty() && choice.eq(fixed.iter().copied())
            });
            let key = part.map_or(&tool.name, |part| &part.name);
            if fixed.is_empty() || part.is_some() {
                let danger = Some(danger(operation));
                let (category, words) = (Some(operation.category), operation.words.clone());
                overrides.0.insert(key.clone(), Override { category, danger, words });
            }
        }
        wanted.push(tool.clone());
    }
    for (name, given) in &options.overrides.0 {
        let entry = overrides.0.entry(name.clone()).or_default();
        entry.category = given.category.or(entry.category);
        entry.danger = given.danger.or(entry.danger);
        entry.words = given.words.clone().or(&entry.words);
    }
    (wanted, overrides)
}

/// One that wants confirmation is never below the level that asks for it.
fn danger(operation: &Operation) -> DangerLevel {
    let level = operation.danger.unwrap_or_else(|| operation.category.default_danger());
    if operation.requires_confirmation { level.max(DangerLevel::Destructive) } else { level }
}

/// Makes one operation follow its file.
struct Follow<'f, 'a> {
    said: &'a Operation,
    tool: Option<&'a ListedTool>,
    types: &'f mut Vec<define::Type>,
    taken: &'f mut Taken,
    notes: &'f mut Vec<Warning>,
}

impl Follow<'_, '_> {
    fn operation(&mut self, mut operation: adopt::Operation, prefix: &str) -> adopt::Operation {
        self.params(&mut operation);
        self.rest(&mut operation, prefix);
        operation
    }

    fn note(&mut self, field: Option<&str>, severity: Severity, message: String) {
        let tool = self.tool.map(|tool| tool.name.clone());
        let field = field.map(str::to_owned);
        self.notes.push(Warning { tool, field, ..Warning::new("ADAPTER_MISMATCH", severity, message) });
    }

    fn rest(&mut self, operation: &mut adopt::Operation, prefix: &str) {
        let definition = &mut operation.definition;
        let wanted = adopt::operation_name(prefix, &self.said.name);
        definition.name = self.taken.operation(&wanted);
        if definition.name != wanted {
            let message = format!("the name '{wanted}' is taken, so it is called '{}'", definition.name);
            self.note(None, Severity::Warning, message);
        }
        let definition = &mut operation.definition;
        if let Some(said) = self.said.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            definition.description = said.to_owned();
        }
        if self.said.requires_confirmation {
            let reason = "the adapter file asks for confirmation".to_owned();
            definition
                .danger
                .get_or_insert_with(|| Danger::said(danger(self.said), Vec::new()))
                .reasons
                .push(reason);
        }
        // What the query language says of an operation has its name in it.
        *definition = std::mem::take(definition).queried_as_returned();
    }

    fn params(&mut self, operation: &mut adopt::Operation) {
        let renamed: BTreeMap<&str, &str> =
            self.said.target.iter().flat_map(|target| target.renamed()).collect();
        let mut unmet: BTreeSet<&str> = self.said.params.iter().map(|param| param.name.as_str()).collect();
        let before: Vec<adopt::Param> = std::mem::take(&mut operation.params);
        let mut changed = BTreeMap::new();
        for mut param in before {
            let was = param.definition.name.clone();
            let name = renamed.get(param.original_name.as_str()).map_or(was.as_str(), |name| name).to_owned();
            let said = self.said.params.iter().find(|said| said.name == name);
            match said {
                Some(said) => {
                    unmet.remove(said.name.as_str());
                    let kind = normalize::json_type(&param.definition);
                    if kind != said.kind {
                        let message =
                            format!("the file says {}, the server {kind}; the server's is used", said.kind);
                        self.note(Some(&name), Severity::Warning, message);
                    }
                    // A default is what the server does by itself, so no file can change it.
                    if said.rules.default.is_some() && said.rules.default != param.definition.default {
                        let message =
                            "the file says another default than the server, whose own is used".to_owned();
                        self.note(Some(&name), Severity::Info, message);
                    }
                    let own = self.own_description(&param).map(str::to_owned);
                    follow(&mut param.definition, said.required, &said.rules, own.as_deref());
                    param.definition.sensitive |= said.sensitive;
                    param.definition.name.clone_from(&name);
                }
                None if param.definition.required => {
                    let message =
                        "the server requires it, so it is taken although the file leaves it out".to_owned();
                    self.note(Some(&was), Severity::Warning, message);
                }
                None => {
                    changed.insert(was, None);
                    continue;
                }
            }
            if name != was {
                operation.wiring.rename(&was, &name);
            }
            changed.insert(was, Some(param.definition.clone()));
            operation.params.push(param);
        }
        for name in unmet {
            self.note(Some(name), Severity::Warning, "the server has no such parameter".to_owned());
        }
        let beside = |param: define::Param| match changed.get(&param.name) {
            Some(now) => now.clone(),
            // What adoption added itself.
            None => Some(param),
        };
        let definition = &mut operation.definition;
        let is_update = operation.judged.judgement.category == Category::Update;
        definition.params = std::mem::take(&mut definition.params).into_iter().filter_map(beside).collect();
        if is_update {
            self.input(operation);
        }
    }

    /// The tool's own words for a parameter, which adoption may have added to.
    fn own_description(&self, param: &adopt::Param) -> Option<&str> {
        let path = param.source_path.strip_prefix("inputSchema.")?;
        source_path::resolve(&self.tool?.input_schema, path)?.get("description")?.as_str()
    }

    /// `input` of an UPDATE is a type with the parameters that go inside. Other operations may share it, so one that is
    /// no longer the same gets a type of its own.
    fn input(&mut self, operation: &mut adopt::Operation) {
        let fields: Vec<define::Param> = operation
            .params
            .iter()
            .filter(|param| param.inside_input)
            .map(|param| param.definition.clone())
            .collect();
        let Some(input) = operation.definition.params.iter_mut().find(|param| param.name == shared::INPUT)
        else {
            return;
        };
        let known = input.kind.clone().unwrap_or_default();
        let shown = |fields: &[define::Param]| format!("{fields:?}");
        let same = self.types.iter().any(|known_type| {
            known_type.name == known
                && matches!(&known_type.shape, define::Shape::Object { fields: before } if shown(before) == shown(&fields))
        });
        if same {
            return;
        }
        if fields.is_empty() {
            *input = adopt::empty_input();
            return;
        }
        let name = self.taken.type_name(&known);
        let description = format!("What '{}' takes as input", operation.tool);
        self.types.push(define::Type {
            name: name.clone(),
            description,
            shape: define::Shape::Object { fields },
        });
        input.kind = Some(name);
    }
}

/// What the file says of a parameter is enforced; it can only be stricter than the server.
fn follow(definition: &mut define::Param, required: bool, rules: &Rules, own: Option<&str>) {
    definition.required |= required;
    if let Some(said) = rules.description.as_deref().filter(|said| Some(*said) != own) {
        definition.description = said.to_owned();
    }
    let before = normalize::rules(definition);
    if let Some(allowed) = rules.allowed.as_ref().filter(|_| rules.allowed != before.allowed) {
        definition.allowed = allowed.iter().map(|text| text.as_str().into()).collect();
        definition.default = definition.default.take().filter(|default| definition.allowed.contains(default));
    }
    let float = |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    definition.minimum = stricter(definition.minimum, float(&rules.minimum), f64::max);
    definition.maximum = stricter(definition.maximum, float(&rules.maximum), f64::min);
    if rules.pattern.is_some() {
        definition.pattern.clone_from(&rules.pattern);
    }
    definition.sensitive |= rules.format.as_deref() == Some("password");
    if let Some(format) = rules.format.as_ref().filter(|format| Format::named(format).is_some()) {
        definition.format = Some(format.clone());
    }
}

fn stricter(own: Option<f64>, said: Option<f64>, pick: fn(f64, f64) -> f64) -> Option<f64> {
    match (own, said) {
        (Some(own), Some(said)) => Some(pick(own, said)),
        (own, said) => own.or(said),
    }
}
