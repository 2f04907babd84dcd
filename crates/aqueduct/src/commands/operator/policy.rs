//! What the rules make of a call, and the safety loop of a hint.

use std::process::ExitCode;

use gateway::{
    aql::policy::Explanation,
    explain::Call,
    operator::{
        desk::{Desk, ShownBlock},
        explain::{Judged, Question, explain_today, judge_today},
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
    /// Show what would be decided about a call or an agent's next step, and why, without calling anything
    ///
    /// A call is decided by the rules, with what is blocked today. A hint is judged as the execution safety loop would judge
    /// the first step of an execution: its stages, the risk score with its factors, and the verdict.
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
    /// The agent that says it, with the settings of '[safety.agent.NAME]'; without, those of all agents
    #[arg(long, value_name = "NAME", requires = "hint", conflicts_with = "operation")]
    agent: Option<String>,
    /// Who would call [default: local]
    #[arg(long, conflicts_with = "hint")]
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
        if let Some(hint) = &self.hint {
            return self.judge(configuration, hint);
        }
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

    fn judge(&self, configuration: &Configuration, hint: &str) -> Result<ExitCode, Failure> {
        let config = configuration.read().map_err(Failure::configuration)?;
        let registry = crate::commands::registry(configuration)?;
        let blocks = self.blocks(configuration)?;
        let told = judge_today(&registry, &config.safety_loop, hint, self.agent.as_deref(), &blocks)
            .map_err(|error| Failure::usage(&error.to_string(), "mend the patterns of '[safety.loop]'"))?;
        if self.json {
            report::print(&shown::json(&serde_json::to_string(&told).unwrap_or_default()));
        } else {
            report::print(&readable_hint(&told));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn question(&self) -> Result<Question, Failure> {
        let operation = self.operation.clone().unwrap_or_default();
        let Some(text) = &self.params else { return Ok(Question::Operation(operation)) };
        let params: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            Failure::usage(
                &format!("'--params' is no JSON object: {error}"),
                "write it as in '{\"first\": 5}'",
            )
        })?;
        Ok(Question::Exactly(Call { operation, params }))
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

fn readable_hint(told: &Judged) -> String {
    let shown = |text: &str| line(text, 300);
    let mut lines = vec![format!("{}  {}", shown(&told.hint), told.verdict.to_uppercase())];
    let whose = match (&told.agent, told.own_settings) {
        (Some(agent), true) => format!("settings of {}", shown(agent)),
        (Some(agent), false) => format!("agent {}, settings of all agents", shown(agent)),
        (None, _) => "settings of all agents".to_owned(),
    };
    lines.push(format!(
        "  {whose}: {}, {} steps, {} risk tolerance",
        told.mode, told.max_autonomous_steps, told.risk_tolerance
    ));
    if let Some(name) = &told.names {
        lines.push(format!("  names the operation {}", shown(name)));
    }
    let width = told.stages.iter().map(|stage| stage.stage.len()).max().unwrap_or_default();
    for stage in &told.stages {
        let decides = matches!(stage.says.as_str(), "pauses" | "stops" | "approves");
        let mark = if decides { "→" } else { " " };
        let row =
            format!("{mark} {:<width$}  {:<11}  {}", stage.stage, stage.says.as_str(), shown(&stage.because));
        lines.push(row.trim_end().to_owned());
    }
    lines.push(format!("  risk score {} ({})", told.risk.score, told.risk.tier.as_str()));
    lines.extend(told.risk.factors.iter().map(|factor| format!("    {}", shown(factor))));
    lines.push(format!("  verdict: {}, because: {}", told.verdict, shown(&told.because)));
    lines.extend(told.note.iter().map(|note| format!("  note: {}", shown(note))));
    lines.join("\n")
}
