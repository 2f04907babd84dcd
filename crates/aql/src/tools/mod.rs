//! The tool list: a view over the registry that never changes size, and whose descriptions teach `introspect`. Only a
//! client that searches tools itself is given every operation as one.

mod discrete;

use serde_json::{Value, json};

use crate::{
    category::Category,
    introspect,
    operation::Operation,
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
    /// Where a call of it goes.
    pub endpoint: Endpoint,
}

/// Operations named in a description; the rest is found by asking. Counted in characters too, so that long names
/// cannot make the list long.
const NAMED_OPERATIONS_MAX: usize = 8;
const NAMED_PER_CATEGORY_MAX: usize = 3;
const NAMED_CHARS_MAX: usize = 56;
/// Beside the names of servers, which say more.
const NAMED_BESIDE_SERVERS_CHARS_MAX: usize = 28;

/// Characters of server names in a description, and in the one of the tool that finds operations.
const SERVERS_CHARS_MAX: usize = 28;
const SERVERS_FOUND_CHARS_MAX: usize = 80;

/// Characters of pinned operations in a description. The operator chose them, but nobody gains by a page of them.
const PINNED_CHARS_MAX: usize = 800;

const LIST_ALL: &str = "{ operation: \"introspect\", params: { query: \"operations\" } }";
const SEARCH: &str = "{operation: \"introspect\", query: \"operations\", search: \"WORDS\"}";

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
        Mode::Discrete => discrete::list(registry),
    }
}

fn family_tool(registry: &Registry, index: usize, family: &Family) -> Tool {
    let members: Vec<&Operation> = registry.visible().filter(|operation| operation.family == index).collect();
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
    let introspect = registry.operations.iter().find(|op| is_introspect(op));
    let finds = introspect.is_some_and(|op| members.iter().any(|member| member.name == op.name));
    let most = if finds { SERVERS_FOUND_CHARS_MAX } else { SERVERS_CHARS_MAX };
    let foreign = members.iter().any(|op| op.server().is_some());
    lines.push(format!("Supported operations: {}", supported(members, NAMED_OPERATIONS_MAX, most)));
    lines.extend(pinned(registry, members));
    if let [category] = categories {
        lines.push(effect(*category).to_owned());
    }
    lines.extend(quick_start(members).map(|example| format!("Quick start: {example}")));
    let through = introspect.map(|op| registry.tool_name(op)).unwrap_or_default();
    lines.push(match (finds, foreign) {
        (true, false) => format!("Discover all operations and parameters: {LIST_ALL}"),
        (true, true) => format!("Discover by search, or parameters by name: {SEARCH}"),
        (false, true) => format!("Discover more (through {through}): {SEARCH}"),
        (false, false) => {
            let name = members.first().map_or("NAME", |op| op.name().as_str());
            let ask = format!(
                "{{ operation: \"introspect\", params: {{ query: \"operations\", name: \"{name}\" }} }}"
            );
            format!("Discover parameters (through {through}): {ask}")
        }
    });
    lines.join("\n")
}

fn is_introspect(operation: &Operation) -> bool {
    operation.name().as_str() == INTROSPECT
}

/// What is behind a tool: a few of our own operations by name, and how many other servers have, with the names of those
/// that have the most.
fn supported(members: &[&Operation], most: usize, servers_chars_max: usize) -> String {
    let mut servers: Vec<(&str, usize)> = Vec::new();
    for server in members.iter().filter_map(|operation| operation.server()) {
        match servers.iter_mut().find(|(known, _)| *known == server) {
            Some((_, count)) => *count += 1,
            None => servers.push((server, 1)),
        }
    }
    let own: Vec<&str> =
        members.iter().filter(|op| op.server().is_none()).map(|op| op.name().as_str()).collect();
    if servers.is_empty() {
        return if own.is_empty() { "none yet".to_owned() } else { first_of(&own, most, NAMED_CHARS_MAX) };
    }
    servers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let count: usize = servers.iter().map(|(_, count)| count).sum();
    let names: Vec<&str> = servers.into_iter().map(|(server, _)| server).collect();
    let foreign = format!("{count} of servers {}", first_of(&names, names.len(), servers_chars_max));
    match own.as_slice() {
        [] => foreign,
        own => format!("{}; {foreign}", first_of(own, most, NAMED_BESIDE_SERVERS_CHARS_MAX)),
    }
}

/// The operations that the operator wants named with all that a call needs.
fn pinned(registry: &Registry, members: &[&Operation]) -> Option<String> {
    let mut listed = String::new();
    for (place, name) in registry.pinned.iter().enumerate() {
        if registry.pinned.iter().take(place).any(|before| before == name) {
            continue;
        }
        let Some(operation) = members.iter().find(|op| op.name().as_str() == name) else { continue };
        let signature = introspect::signature(registry, operation);
        if listed.len() + signature.len() > PINNED_CHARS_MAX {
            break;
        }
        listed.push_str(if listed.is_empty() { "" } else { "; " });
        listed.push_str(&signature);
    }
    (!listed.is_empty()).then(|| format!("Often used: {listed}"))
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
        lines.push(format!("- {title}: {}", supported(&members, NAMED_PER_CATEGORY_MAX, SERVERS_CHARS_MAX)));
    }
    let members: Vec<&Operation> = registry.visible().collect();
    lines.extend(pinned(registry, &members));
    let foreign = members.iter().any(|op| op.server().is_some());
    lines.push(format!("Quick start: {}", if foreign { SEARCH } else { LIST_ALL }));
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

/// The first few names that there is room for, one at the least, and how many more there are.
fn first_of(names: &[&str], most: usize, chars_max: usize) -> String {
    let mut listed = String::new();
    let mut count = 0;
    for name in names.iter().take(most) {
        if count > 0 && listed.len() + name.len() > chars_max {
            break;
        }
        listed.push_str(if count > 0 { ", " } else { "" });
        listed.push_str(name);
        count += 1;
    }
    match names.len() - count {
        0 => listed,
        more => format!("{listed}, and {more} more"),
    }
}

fn effect(category: Category) -> &'static str {
    match category {
        Category::Create => "They add new data without removing or overwriting any.",
        Category::Read => "They only read data and never modify it.",
        Category::Update => "They modify existing data.",
        Category::Delete => "They remove data. Use with caution.",
        Category::Execute => "They are potentially destructive and non-idempotent.",
    }
}

/// An example call, short enough to stand in a description.
fn quick_start(members: &[&Operation]) -> Option<String> {
    const EXAMPLE_CHARS_MAX: usize = 160;
    let examples = |operation: &&Operation| {
        let example = operation.examples.first()?;
        let written = operation.example_request(example).to_string();
        let kept = !is_introspect(operation) && written.len() <= EXAMPLE_CHARS_MAX;
        kept.then(|| (example.params.is_empty(), written))
    };
    let mut all = members.iter().filter_map(examples);
    // Among hundreds the shortest is as good as any that says how parameters are given.
    if members.iter().any(|operation| operation.server().is_some()) {
        return all.min_by_key(|(bare, written)| (*bare, written.len())).map(|(_, written)| written);
    }
    all.next().map(|(_, written)| written)
}

/// The same for every tool: what can be called is found by introspection, not in schemas. Parameters beside
/// `operation` are allowed as JSON Schema allows them, by not being forbidden.
fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation": {"type": "string", "x-mcp-header": "Operation"},
            "params": {"type": "object", "additionalProperties": true},
            "operations": {"type": "array", "description": "Batch of this tool's calls", "items": {"type": "object"}}
        },
        "required": ["operation"]
    })
}
