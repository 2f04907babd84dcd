//! What the rules make of a call.

use std::process::ExitCode;

use gateway::{
    operator::{
        desk::{Desk, ShownBlock},
        explain::{Question, explain},
        shown::line,
    },
    store,
};
use serde_json::{Map, Value};

use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Subcommand)]
pub(super) enum Policy {
    /// Show what would be decided about a call, and why, without calling anything
    Test(Test),
}

#[derive(clap::Args)]
pub(super) struct Test {
    /// The operation's name
    operation: String,
    /// Parameters as one JSON object
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// Who would call [default: local]
    #[arg(long)]
    principal: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Policy {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let Self::Test(test) = self;
        test.run(configuration)
    }
}

impl Test {
    fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let params: Map<String, Value> = match &self.params {
            None => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                Failure::usage(
                    &format!("'--params' is no JSON object: {error}"),
                    "write it as in '{\"first\": 5}'",
                )
            })?,
        };
        let registry = crate::commands::registry(configuration)?;
        let blocks = self.blocks(configuration)?;
        let question = Question { operation: &self.operation, principal: self.principal.as_deref(), params };
        let Some(told) = explain(&registry, question, blocks) else {
            let message = format!("there is no operation '{}'", line(&self.operation, 80));
            return Err(Failure::usage(&message, "'aqueduct ops' lists them"));
        };
        if self.json {
            report::print(&serde_json::to_string(&told).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = vec![
            format!("{}  {}", told.operation, told.decision.to_uppercase()),
            format!(
                "  {}, {}, adapter trusted as {}, called by {}",
                told.category,
                told.danger_level,
                told.trust,
                line(&told.principal, 80)
            ),
        ];
        if told.dry_run {
            lines.push("  a dry run, decided as a read".to_owned());
        }
        lines.extend(told.reasons.iter().map(|reason| format!("  because {}", line(reason, 300))));
        report::print(&lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Who is blocked today, where anything was ever decided.
    fn blocks(&self, configuration: &Configuration) -> Result<Vec<ShownBlock>, Failure> {
        let config = configuration.read().map_err(Failure::configuration)?;
        super::runtime()?.block_on(async {
            let options = store::Options { max_database_bytes: config.store.max_database_bytes };
            let Ok(desk) = Desk::open(&config.store.data, options) else { return Ok(Vec::new()) };
            let blocks = desk.blocks().await.map_err(|error| super::store_trouble(&error));
            desk.close().await;
            blocks
        })
    }
}
