//! `aqueduct ops`: which operations there are.

use std::{path::PathBuf, process::ExitCode};

use gateway::aql::{category::Category, introspect, registry::Registry};
use serde_json::{Map, Value, json};

use super::{registry, saved};
use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    configuration: Configuration,
    /// Only operations that fit these words, best first
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Look in saved tool lists instead: tools/list results, arrays of tools or JSON Lines
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["summary", "config", "data", "mode", "profile", "prefix"])]
    tools: Vec<PathBuf>,
    /// Search saved lists for each line's 'query' and print its 'qid' with the best ids found
    #[arg(long, value_name = "FILE", requires = "tools", conflicts_with = "search")]
    queries: Option<PathBuf>,
    /// Names only, grouped by endpoint family and by category, with the types
    #[arg(long)]
    summary: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if !arguments.tools.is_empty() {
        let tools = saved::Tools::read(&arguments.tools)?;
        let shown = match (&arguments.queries, &arguments.search) {
            (Some(queries), _) => tools.answer(queries, arguments.first)?,
            (None, search) => tools.show(search.as_deref(), arguments.first, arguments.json),
        };
        report::print(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let registry = registry(&arguments.configuration)?;
    if arguments.summary {
        let summary = if arguments.json { summary_json(&registry).to_string() } else { summary(&registry) };
        report::print(&summary);
        return Ok(ExitCode::SUCCESS);
    }
    let operations = Value::Array(found(&registry, arguments.search.as_deref(), arguments.first)?);
    report::print(&if arguments.json { operations.to_string() } else { table(&operations) });
    Ok(ExitCode::SUCCESS)
}

/// What introspection shows, page by page until there are enough.
fn found(registry: &Registry, search: Option<&str>, first: Option<usize>) -> Result<Vec<Value>, Failure> {
    let most = first.unwrap_or(usize::MAX);
    let mut params =
        Map::from_iter([("query".to_owned(), json!("operations")), ("first".to_owned(), json!(100))]);
    params.extend(search.map(|text| ("search".to_owned(), json!(text))));
    let mut operations = Vec::new();
    loop {
        let answer = introspect::answer(registry, &params, "")
            .map_err(|error| Failure::usage(&error.message, "see 'aqueduct ops --help'"))?;
        let mut answer = serde_json::from_str::<Value>(&answer.to_text()).unwrap_or_default();
        if let Some(Value::Array(page)) = answer.pointer_mut("/data/operations") {
            operations.append(page);
        }
        match answer.pointer("/data/_protocol/pageInfo/endCursor") {
            Some(cursor) if operations.len() < most => {
                params.insert("after".to_owned(), cursor.clone());
            }
            _ => break,
        }
    }
    operations.truncate(most);
    Ok(operations)
}

fn table(operations: &Value) -> String {
    let rows: Vec<[&str; 3]> = operations
        .as_array()
        .into_iter()
        .flatten()
        .map(|operation| {
            ["name", "semantic_category", "description"]
                .map(|key| operation.get(key).and_then(Value::as_str).unwrap_or_default())
        })
        .collect();
    if rows.is_empty() {
        return "no operation fits".to_owned();
    }
    let width = rows.iter().map(|[name, ..]| name.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows
        .iter()
        .map(|[name, category, description]| format!("{name:<width$}  {category:<7}  {description}"))
        .collect();
    lines.join("\n")
}

/// Names under the name of their group.
type Groups = Vec<(String, Vec<String>)>;

fn groups(registry: &Registry) -> (Groups, Groups, Vec<String>) {
    let names = |keep: &dyn Fn(&gateway::aql::operation::Operation) -> bool| -> Vec<String> {
        registry.visible().filter(|op| keep(op)).map(|op| op.name().to_string()).collect()
    };
    let families = registry.profile().families().iter();
    let by_family = families
        .map(|family| {
            let name = family.name.as_str();
            (name.to_owned(), names(&|op| registry.family_name(op) == name))
        })
        .collect();
    let by_category = Category::ALL
        .map(|category| (category.as_str().to_owned(), names(&|op| op.category() == category)))
        .to_vec();
    let types = registry.types().iter().map(|known| known.name().to_owned()).collect();
    (by_family, by_category, types)
}

fn summary(registry: &Registry) -> String {
    let (families, categories, types) = groups(registry);
    let list = |groups: Groups| {
        let used = groups.into_iter().filter(|(_, names)| !names.is_empty());
        used.map(|(name, names)| format!("  {name}: {}\n", names.join(", "))).collect::<String>()
    };
    format!(
        "MCP-AQL Operations:\n{}\nSemantic Categories:\n{}\nTypes: {}\n\nUse introspect with name parameter for details.",
        list(families),
        list(categories),
        types.join(", ")
    )
}

fn summary_json(registry: &Registry) -> Value {
    let (families, categories, types) = groups(registry);
    let object = |groups: Groups| {
        groups.into_iter().map(|(name, names)| (name, json!(names))).collect::<Map<String, Value>>()
    };
    json!({"families": object(families), "categories": object(categories), "types": types})
}
