//! `aqueduct check`: is everything as it should be, and what could be better?

use std::process::ExitCode;

use gateway::{
    aql::{lint, registry::Registry},
    config::Checked,
    mistakes,
};
use serde_json::{Value, json};

use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// An adapter file to check instead
    #[arg(value_name = "FILE.md", conflicts_with_all = ["reference", "schema", "openapi"])]
    adapter: Option<std::path::PathBuf>,
    #[command(flatten)]
    configuration: Configuration,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the reference of all configuration keys instead
    #[arg(long, conflicts_with_all = ["json", "schema"])]
    reference: bool,
    /// Print the JSON Schema of the configuration file instead
    #[arg(long, conflicts_with = "json")]
    schema: bool,
    /// Print the OpenAPI 3.1 document of the operator's API instead
    #[arg(long, conflicts_with_all = ["json", "reference", "schema"])]
    openapi: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if let Some(file) = &arguments.adapter {
        return super::adapt::check(file, arguments.json);
    }
    if arguments.openapi {
        report::print(&serde_json::to_string_pretty(gateway::inspect::openapi()).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.reference || arguments.schema {
        let schema = || serde_json::to_string_pretty(&gateway::config::schema()).unwrap_or_default();
        let text = if arguments.reference { gateway::config::reference() } else { schema() };
        report::print(text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let config = arguments.configuration.load()?;
    let registry = gateway::app::registry(&config).map_err(|problems| Failure::problems(&problems))?;
    let findings = findings(&config, &registry);
    let file = config.file.as_ref().map(|path| path.display().to_string());
    let operations = registry.visible().count();
    let unasked = mistakes::unasked(&config);
    if arguments.json {
        let found = json!({"file": file, "operations": operations, "unasked": unasked, "left_out": config.left_out,
                           "findings": findings});
        report::print(&found.to_string());
    } else {
        let source =
            file.map_or_else(|| "defaults; no configuration file".to_owned(), |file| format!("file {file}"));
        let mut lines = vec![
            format!("configuration: {source}"),
            format!(
                "operations: {operations}, all well-formed{}{}",
                super::not_trusted(&registry),
                super::not_asked(&config)
            ),
        ];
        let text =
            |found: &Value, key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        lines.extend(findings.iter().map(|found| {
            let subject = if found.get("operation").is_some() { "operation" } else { "setting" };
            format!("- {}: {} [{}]", text(found, subject), text(found, "message"), text(found, "rule"))
        }));
        report::print(&lines.join("\n"));
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { report::findings() })
}

/// What the configuration says in vain, then what could be better about operations of one's own.
fn findings(config: &Checked, registry: &Registry) -> Vec<Value> {
    let mistakes = mistakes::mistakes(config, registry).into_iter();
    let mistakes =
        mistakes.map(|found| json!({"setting": found.place, "rule": found.rule, "message": found.message}));
    let advice = lint::lint(registry).into_iter();
    let advice = advice
        .map(|found| json!({"operation": found.operation, "rule": found.rule, "message": found.message}));
    mistakes.chain(advice).collect()
}
