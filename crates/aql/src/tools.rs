//! The tool list: a view over the registry that never changes size, and whose descriptions teach `introspect`.

use serde_json::{Value, json};

use crate::{
    category::Category,
    operation::Operation,
    policy::Decision,
    profile::{Family, Mode},
    registry::{Endpoint, INTROSPECT, Registry},
};

/// One MCP tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub read_only: bool,
    pub destructive: bool,
    pub endpoint: Endpoint,
}

/// Operations named in a description; the rest is found by asking. Counted in characters too, so that long names
/// cannot make the list long.
const NAMED_OPERATIONS_MAX: usize = 8;
const NAMED_PER_CATEGORY_MAX: usize = 3;
const NAMED_CHARS_MAX: usize = 56;

const LIST_ALL: &str = "{ operation: \"introspect\", params: { query: \"operations\" } }";

/// The tools of a registry, in a stable order.
pub(crate) fn list(registry: &Registry) -> Vec<Tool> {
    let families = || {
        let families = registry.profile.families().iter().enumerate();
        families.map(|(index, family)| family_tool(registry, index, family))
    };
    match registry.mode {
        Mode::Semantic => families().collect(),
        Mode::Single => vec![unified_tool(registry)],
        Mode::All => families().chain([unified_tool(registry)]).collect(),
    }
}

fn family_tool(registry: &Registry, index: usize, family: &Family) -> Tool {
    let pairs = registry.operations.iter().zip(&registry.decisions);
    let members: Vec<&Operation> = pairs
        .filter(|(operation, decision)| operation.family == index && **decision == Decision::Allow)
        .map(|(operation, _)| operation)
        .collect();
    // What was named into the family counts as well: hints that say less than its riskiest member would be lies.
    let has = |c: &Category| family.categories.contains(c) || members.iter().any(|op| op.category == *c);
    let categories: Vec<Category> = Category::ALL.into_iter().filter(has).collect();
    Tool {
        name: format!("{}mcp_aql_{}", registry.prefix.as_str(), family.name),
        description: family_description(registry, family, &categories, &members),
        input_schema: input_schema(),
        read_only: !categories.is_empty() && categories.iter().all(|c| c.permissions().read_only),
        destructive: categories.iter().any(|c| c.permissions().destructive),
        endpoint: Endpoint::Family(index),
    }
}

fn family_description(
    registry: &Registry,
    family: &Family,
    categories: &[Category],
    members: &[&Operation],
) -> String {
    let mut lines = vec![family.purpose.clone()];
    if !registry.profile.is_crude() {
        let names: Vec<&str> = categories.iter().map(|category| category.as_str()).collect();
        lines.push(format!("Primary semantic categories: {}", names.join(", ")));
    }
    lines.push(format!("Supported operations: {}", named(members, NAMED_OPERATIONS_MAX)));
    if let [category] = categories {
        lines.push(effect(*category).to_owned());
    }
    if let Some(example) = members.iter().find_map(|op| quick_start(op)) {
        lines.push(format!("Quick start: {example}"));
    }
    let is_introspect = |op: &Operation| op.name().as_str() == INTROSPECT;
    if members.iter().any(|op| is_introspect(op)) {
        lines.push(format!("Discover all operations and parameters: {LIST_ALL}"));
    } else {
        let name = members.first().map_or("NAME", |op| op.name().as_str());
        let through =
            registry.operations.iter().find(|op| is_introspect(op)).map(|op| registry.tool_name(op));
        lines.push(format!(
            "Discover parameters (through {}): {{ operation: \"introspect\", params: {{ query: \"operations\", name: \"{name}\" }} }}",
            through.unwrap_or_default()
        ));
    }
    lines.join("\n")
}

fn unified_tool(registry: &Registry) -> Tool {
    let mut lines = vec![
        format!("MCP-AQL adapter '{}'. All operations through one entry point.", registry.adapter),
        "Supported operation categories:".to_owned(),
    ];
    for category in Category::ALL {
        let members: Vec<&Operation> = registry.visible_of(category).collect();
        let title = match category {
            Category::Create => "Create",
            Category::Read => "Read",
            Category::Update => "Update",
            Category::Delete => "Delete",
            Category::Execute => "Execute",
        };
        lines.push(format!("- {title}: {}", named(&members, NAMED_PER_CATEGORY_MAX)));
    }
    lines.push(format!("Quick start: {LIST_ALL}"));
    lines.push("Use introspection to discover all operations and their parameters.".to_owned());
    Tool {
        name: format!("{}mcp_aql", registry.prefix.as_str()),
        description: lines.join("\n"),
        input_schema: input_schema(),
        read_only: false,
        destructive: true,
        endpoint: Endpoint::Unified,
    }
}

impl Registry {
    fn visible_of(&self, category: Category) -> impl Iterator<Item = &Operation> {
        self.visible().filter(move |operation| operation.category == category)
    }
}

/// The first few names and how many more there are.
fn named(members: &[&Operation], most: usize) -> String {
    if members.is_empty() {
        return "none yet".to_owned();
    }
    let mut listed = String::new();
    let mut count = 0;
    for name in members.iter().take(most).map(|op| op.name().as_str()) {
        if count > 0 && listed.len() + name.len() > NAMED_CHARS_MAX {
            break;
        }
        listed.push_str(if count > 0 { ", " } else { "" });
        listed.push_str(name);
        count += 1;
    }
    match members.len() - count {
        0 => listed,
        more => format!("{listed}, and {more} more"),
    }
}

fn effect(category: Category) -> &'static str {
    match category {
        Category::Create => "These operations add new data without removing or overwriting existing content.",
        Category::Read => "These queries only read data and never modify server state.",
        Category::Update => "These operations modify existing data, potentially overwriting previous values.",
        Category::Delete => "These operations remove data. Use with caution.",
        Category::Execute => {
            "These operations manage runtime execution; they are potentially destructive and non-idempotent."
        }
    }
}

/// An example call, if it is short enough to stand in a description.
fn quick_start(operation: &Operation) -> Option<String> {
    const EXAMPLE_CHARS_MAX: usize = 160;
    let example = operation.examples.first().map(|example| operation.example_request(example).to_string())?;
    (operation.name().as_str() != INTROSPECT && example.len() <= EXAMPLE_CHARS_MAX).then_some(example)
}

/// The same for every tool: what can be called is found by introspection, not in schemas. Parameters beside
/// `operation` are allowed as JSON Schema allows them, by not being forbidden.
fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation": {"type": "string", "description": "Operation name", "x-mcp-header": "Operation"},
            "params": {"type": "object", "additionalProperties": true},
            "operations": {"type": "array", "description": "Batch instead: [{operation, params}] of this tool", "items": {"type": "object"}}
        },
        "required": ["operation"]
    })
}
