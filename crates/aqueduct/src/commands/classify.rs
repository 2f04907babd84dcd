//! `aqueduct classify`: what the tools of other servers do, how dangerous that is, and why we think so.

use std::{path::PathBuf, process::ExitCode};

use gateway::aql::{
    classify::{self, Classified, Judgement, Operation, Overrides, Trust},
    listed::{self, Annotations, ListedTool},
    operation::Operation as BuiltIn,
    suggest,
};
use serde_json::{Map, Value, json};

use super::registry;
use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Saved lists of tools: a tools/list result, an array, or one entry a line
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "explain")]
    tools: Vec<PathBuf>,
    /// Tell which rule said what about one tool, or about a built-in operation where no list is given
    #[arg(long, value_name = "NAME")]
    explain: Option<String>,
    /// Judge as if the servers had said nothing of what their tools do
    #[arg(long, conflicts_with = "trust_annotations")]
    ignore_annotations: bool,
    /// Let the servers' own hints lower the danger too
    #[arg(long)]
    trust_annotations: bool,
    /// Print JSON, one line for each tool
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    configuration: Configuration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let (Some(name), true) = (&arguments.explain, arguments.tools.is_empty()) {
        return explain_built_in(arguments, name);
    }
    let trust = match (arguments.ignore_annotations, arguments.trust_annotations) {
        (true, _) => Trust::Ignored,
        (_, true) => Trust::Trusted,
        _ => Trust::Claimed,
    };
    let mut judged: Vec<(ListedTool, Classified)> = Vec::new();
    for file in &arguments.tools {
        judged.extend(load(file)?.into_iter().map(|tool| {
            let classified = classify::classify(&tool, trust, &Overrides::default());
            (tool, classified)
        }));
    }
    if let Some(name) = &arguments.explain {
        let names: Vec<&str> = judged.iter().map(|(tool, _)| tool.name.as_str()).collect();
        let failure = not_found("tool", name, &names);
        judged.retain(|(tool, classified)| is_meant(name, tool, classified));
        if judged.is_empty() {
            return Err(failure);
        }
    }
    let lines: Vec<String> = match (arguments.json, &arguments.explain) {
        (true, explain) => judged
            .iter()
            .map(|(tool, classified)| as_json(tool, classified, explain.is_some()).to_string())
            .collect(),
        (false, Some(_)) => judged.iter().map(|(tool, classified)| explained(tool, classified)).collect(),
        (false, None) => table(&judged),
    };
    if !lines.is_empty() {
        report::print(&lines.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn load(file: &PathBuf) -> Result<Vec<ListedTool>, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::trouble(&format!("'{shown}' cannot be read"), &error.to_string()))?;
    listed::parse(&text).map_err(|error| {
        let help = "expected the result of tools/list, an array of tools, or one JSON entry a line";
        Failure::trouble(&format!("'{shown}' holds no list of tools: {error}"), help)
    })
}

fn not_found(kind: &str, name: &str, names: &[&str]) -> Failure {
    let help = match suggest::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("leave out --explain to see every {kind}"),
    };
    Failure::usage(&format!("there is no {kind} '{name}'"), &help)
}

/// A tool is asked for by its name, its id, or the name of an operation that it becomes.
fn is_meant(name: &str, tool: &ListedTool, classified: &Classified) -> bool {
    tool.name == name
        || tool.id.as_deref() == Some(name)
        || classified.operations.iter().any(|operation| operation.name == name)
}

/// The id that a list gives, or one made of server and name.
fn id(tool: &ListedTool) -> String {
    tool.id.clone().unwrap_or_else(|| match &tool.server {
        Some(server) => format!("{server}/{}", tool.name),
        None => tool.name.clone(),
    })
}

fn as_json(tool: &ListedTool, classified: &Classified, explain: bool) -> Value {
    let operations: Vec<Value> =
        classified.operations.iter().map(|operation| operation_json(operation, explain)).collect();
    let mut object = judgement_json(&classified.judgement, explain);
    object.insert("id".to_owned(), json!(id(tool)));
    object.insert("server".to_owned(), json!(tool.server));
    object.insert("tool".to_owned(), json!(tool.name));
    // Scorers and scripts read the level under its short name.
    object.insert("danger".to_owned(), json!(classified.judgement.danger));
    object.insert("operations".to_owned(), json!(operations));
    Value::Object(object)
}

fn operation_json(operation: &Operation, explain: bool) -> Value {
    let mut object = judgement_json(&operation.judgement, explain);
    object.insert("name".to_owned(), json!(operation.name));
    if let Some(choice) = &operation.choice {
        object.insert("choice".to_owned(), json!(choice));
    }
    if let Some(Value::Object(provenance)) = object.get_mut("provenance") {
        provenance.insert("name".to_owned(), json!(operation.name_from));
    }
    Value::Object(object)
}

fn judgement_json(judgement: &Judgement, explain: bool) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("endpoint".to_owned(), json!(judgement.category));
    object.insert("danger_level".to_owned(), json!(judgement.danger));
    object.insert("confidence".to_owned(), json!(judgement.confidence()));
    object.insert("needs_review".to_owned(), json!(judgement.needs_review()));
    object.insert("reasons".to_owned(), json!(judgement.reasons));
    let provenance = json!({"endpoint": judgement.category_from, "danger_level": judgement.danger_from});
    object.insert("provenance".to_owned(), provenance);
    if explain {
        object.insert("evidence".to_owned(), json!(judgement.evidence));
    }
    object
}

fn table(judged: &[(ListedTool, Classified)]) -> Vec<String> {
    let rows: Vec<(String, &Judgement)> = judged
        .iter()
        .flat_map(|(tool, classified)| {
            let whole = std::iter::once((id(tool), &classified.judgement));
            let split = classified.operations.iter().filter(|operation| operation.choice.is_some());
            whole.chain(split.map(|operation| (format!("  {}", operation.name), &operation.judgement)))
        })
        .collect();
    if rows.is_empty() {
        return vec!["no tools".to_owned()];
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let row = |(name, judgement): &(String, &Judgement)| {
        let line = format!(
            "{name:<width$}  {:<7}  {:<11}  {:.2}  {}",
            judgement.category.as_str(),
            judgement.danger.as_str(),
            judgement.confidence(),
            judgement.reasons.join("; "),
        );
        line.trim_end().to_owned()
    };
    rows.iter().map(row).collect()
}

fn explained(tool: &ListedTool, classified: &Classified) -> String {
    let mut lines = vec![id(tool)];
    lines.extend(judgement_lines(&classified.judgement, "  "));
    for operation in classified.operations.iter().filter(|operation| operation.choice.is_some()) {
        lines.push(format!("  {}", operation.name));
        lines.extend(judgement_lines(&operation.judgement, "    "));
    }
    lines.join("\n")
}

fn judgement_lines(judgement: &Judgement, indent: &str) -> Vec<String> {
    let Judgement { category, danger, .. } = judgement;
    let mut lines = vec![format!("{indent}{category} · {danger} · confidence {:.2}", judgement.confidence())];
    lines.extend(judgement.evidence.iter().map(|said| format!("{indent}- {}: {}", said.rule, said.says)));
    lines.extend(judgement.reasons.iter().map(|reason| format!("{indent}- review: {reason}")));
    lines
}

/// A built-in operation declares what it does; the rules are asked too, so that both can be compared.
fn explain_built_in(arguments: &Arguments, name: &str) -> Result<ExitCode, Failure> {
    let registry = registry(&arguments.configuration)?;
    let Some(operation) = registry.id(name).and_then(|id| registry.get(id)) else {
        let names: Vec<&str> = registry.visible().map(|operation| operation.name().as_str()).collect();
        return Err(not_found("operation", name, &names));
    };
    let tool = as_tool(operation);
    let classified = classify::classify(&tool, Trust::Ignored, &Overrides::default());
    let (category, danger) = (operation.category(), operation.danger().level);
    if arguments.json {
        let declared = json!({"endpoint": category, "danger_level": danger});
        let rules = as_json(&tool, &classified, true);
        report::print(&json!({"operation": name, "declared": declared, "rules": rules}).to_string());
    } else {
        let mut lines = vec![name.to_owned(), format!("  declared: {category} · {danger}")];
        lines.push("  by the rules alone:".to_owned());
        lines.extend(judgement_lines(&classified.judgement, "  "));
        report::print(&lines.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

fn as_tool(operation: &BuiltIn) -> ListedTool {
    let properties: Map<String, Value> =
        operation.params().iter().map(|param| (param.name().to_string(), json!({}))).collect();
    ListedTool {
        id: None,
        server: None,
        name: operation.name().to_string(),
        title: None,
        description: operation.description().to_owned(),
        input_schema: [("properties".to_owned(), Value::Object(properties))].into_iter().collect(),
        output_schema: None,
        annotations: Annotations::default(),
    }
}
