//! What the rules make of a call.

use std::process::ExitCode;

use gateway::{
    aql::policy::Explanation,
    explain::Subject,
    operator::{
        desk::{Desk, ShownBlock},
        explain::{Question, explain_today},
        shown::{self, line},
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
    #[arg(required_unless_present = "hint")]
    operation: Option<String>,
    /// Parameters as one JSON object; without them, what holds for any call
    #[arg(long, value_name = "JSON", requires = "operation")]
    params: Option<String>,
    /// What an agent says it is about to do, instead of an operation
    #[arg(long, value_name = "TEXT", conflicts_with = "operation")]
    hint: Option<String>,
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
        let question = self.question()?;
        let registry = crate::commands::registry(configuration)?;
        let blocks = self.blocks(configuration)?;
        let told =
            explain_today(&registry, question, self.principal.as_deref(), blocks).map_err(|error| {
                Failure::usage(
                    &line(&error.message, 500),
                    "'aqueduct ops' and 'aqueduct describe' show what there is",
                )
            })?;
        if self.json {
            report::print(&shown::json(&serde_json::to_string(&told).unwrap_or_default()));
        } else {
            report::print(&readable(&told));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn question(&self) -> Result<Question, Failure> {
        if let Some(hint) = &self.hint {
            return Ok(Question::Exactly(Subject::Hint(hint.clone())));
        }
        let operation = self.operation.clone().unwrap_or_default();
        let Some(text) = &self.params else { return Ok(Question::Operation(operation)) };
        let params: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            Failure::usage(
                &format!("'--params' is no JSON object: {error}"),
                "write it as in '{\"first\": 5}'",
            )
        })?;
        Ok(Question::Exactly(Subject::Call { operation, params }))
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

fn readable(told: &Explanation) -> String {
    let shown = |text: &str| line(text, 300);
    let mut lines = vec![format!("{}  {}", shown(&told.subject), told.decision.as_str().to_uppercase())];
    let known = [("danger", told.danger), ("trust", told.trust)];
    let known = known.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    let known: Vec<String> = known.chain([format!("caller {}", shown(&told.caller))]).collect();
    lines.push(format!("  {}", known.join(", ")));
    let width = told.layers.iter().map(|layer| layer.layer.len()).max().unwrap_or_default();
    for layer in &told.layers {
        let mark = if layer.decides { "→" } else { " " };
        let says = layer.says.as_str();
        lines.push(format!("{mark} {:<width$}  {says:<7}  {}", layer.layer, shown(&layer.because)));
    }
    lines.join("\n")
}
