//! `aqueduct describe`: one operation, with all that is needed to call it.

use std::process::ExitCode;

use gateway::aql::{introspect, suggest};
use serde_json::{Map, Value, json};

use super::registry;
use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The operation's name
    operation: String,
    #[command(flatten)]
    configuration: Configuration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let registry = registry(&arguments.configuration)?;
    let params: Map<String, Value> =
        [("query".to_owned(), json!("operations")), ("name".to_owned(), json!(arguments.operation))]
            .into_iter()
            .collect();
    let answer =
        introspect::answer(&registry, &params, "").map(|answer| answer.to_text()).unwrap_or_default();
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let details = answer.pointer("/data/operation").cloned().unwrap_or_default();
    if details.is_null() {
        let names = registry.visible().map(|op| op.name().as_str());
        let help = match suggest::nearest(&arguments.operation, names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "see 'aqueduct ops' for all of them".to_owned(),
        };
        return Err(Failure::usage(&format!("there is no operation '{}'", arguments.operation), &help));
    }
    let danger =
        registry.id(&arguments.operation).and_then(|id| registry.get(id)).map(|op| op.danger().level);
    report::print(&if arguments.json {
        details.to_string()
    } else {
        readable(&details, danger.map_or("", |level| level.as_str()))
    });
    Ok(ExitCode::SUCCESS)
}

fn readable(details: &Value, danger: &str) -> String {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut lines = vec![
        text(details, "name"),
        format!("  {}", text(details, "description")),
        format!(
            "  {} · tool {} · danger {danger}",
            text(details, "semantic_category"),
            text(details, "mcpTool")
        ),
        String::new(),
        "Parameters".to_owned(),
    ];
    for param in details.get("parameters").and_then(Value::as_array).into_iter().flatten() {
        let required = param.get("required") == Some(&Value::Bool(true));
        let mut facts = vec![text(param, "type")];
        facts.push(if required { "required".to_owned() } else { "optional".to_owned() });
        let constraints =
            ["default", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "format"];
        for key in constraints {
            if let Some(value) = param.get(key) {
                facts.push(format!("{key} {value}"));
            }
        }
        lines.push(format!("  {}  ({})", text(param, "name"), facts.join(", ")));
        lines.push(format!("      {}", text(param, "description")));
    }
    let examples = details.get("examples").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !examples.is_empty() {
        lines.push(String::new());
        lines.push("Examples".to_owned());
    }
    for example in examples {
        lines.extend(
            Some(text(example, "description"))
                .filter(|said| !said.is_empty())
                .map(|said| format!("  {said}")),
        );
        lines.push(format!("      {}", example.get("request").unwrap_or(&Value::Null)));
    }
    lines.join("\n")
}
