//! Sessions in a table.

use std::process::ExitCode;

use gateway::{
    operator::shown,
    store::{
        TraceStore,
        traces::{Page, SessionFilter, SessionRow},
    },
};
use serde_json::json;

use super::{duration, short, time, trouble};
use crate::report::{self, Failure};

#[derive(clap::Args)]
pub(super) struct List {
    /// Only sessions with this text in their title, id, agent or tags
    text: Option<String>,
    /// Only sessions that came out like this: running, waiting, ok, error or cancelled
    #[arg(long)]
    status: Option<String>,
    /// Only sessions of this engine: inbound, asyncio or temporal
    #[arg(long)]
    engine: Option<String>,
    /// Only sessions of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Only sessions in which this server was called
    #[arg(long)]
    server: Option<String>,
    /// How many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// The engine or the status that a word stands for.
fn word<T: std::str::FromStr>(option: &str, word: Option<&str>, known: &str) -> Result<Option<T>, Failure> {
    let parsed = word.map(|word| word.parse()).transpose();
    parsed.map_err(|_| Failure::usage(&format!("'{option}' is none of those that there are"), known))
}

impl List {
    pub(super) async fn run(&self, store: &TraceStore) -> Result<ExitCode, Failure> {
        let filter = SessionFilter {
            engine: word("--engine", self.engine.as_deref(), "there are inbound, asyncio and temporal")?,
            status: word(
                "--status",
                self.status.as_deref(),
                "there are running, waiting, ok, error and cancelled",
            )?,
            agent: self.agent.clone(),
            server: self.server.clone(),
            text: self.text.clone(),
            ..SessionFilter::default()
        };
        let page = Page { limit: self.limit, after: None };
        let (sessions, more) = store.sessions(filter, page).await.map_err(|error| trouble(&error))?;
        if self.json {
            let lines: Vec<_> = sessions.iter().map(|row| shown::json(&json!(row).to_string())).collect();
            if !lines.is_empty() {
                report::print(&lines.join("\n"));
            }
            return Ok(ExitCode::SUCCESS);
        }
        if sessions.is_empty() {
            report::print("No session fits.");
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = vec![format!(
            "{:<19}  {:<9}  {:<8}  {:>9}  {:>5}  {:>6}  {:<36}  {}",
            "started (UTC)", "status", "engine", "took", "spans", "errors", "session", "title"
        )];
        lines.extend(sessions.iter().map(readable));
        if more.is_some() {
            lines.push("There are older ones; '--limit' shows more.".to_owned());
        }
        report::print(&lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }
}

fn readable(row: &SessionRow) -> String {
    let text = format!(
        "{:<19}  {:<9}  {:<8}  {:>9}  {:>5}  {:>6}  {:<36}  {}",
        time(row.started_us),
        row.status,
        row.engine,
        duration(row.duration_us),
        row.span_count,
        row.error_count,
        short(&row.session_id),
        short(&row.title),
    );
    match &row.agent {
        Some(agent) => format!("{text}  ({})", short(agent)),
        None => text,
    }
}
