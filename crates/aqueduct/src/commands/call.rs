//! `aqueduct call`: one operation from the command line, through the same pipeline as every other call.

use std::{
    collections::HashSet,
    io::{IsTerminal, Read},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use gateway::{
    app::App,
    aql::{registry::Endpoint, scan},
    library::stop_signal,
    operator::desk::now,
    progress::Progress,
    session::{End, LOCAL, Session, Transport},
    store::safety::ApprovalState,
};
use serde_json::{Value, json, value::RawValue};

use super::operator::shown_approval;
use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The operation's name
    operation: String,
    /// Parameters: name=text, or name:=JSON for numbers, objects and lists
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All parameters as one JSON object; '-' reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "pairs")]
    params: Option<String>,
    #[command(flatten)]
    configuration: Configuration,
    /// Print the whole answer as one line of JSON instead of its data
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let _log = report::log();
    let config = arguments.configuration.load()?;
    let params = match arguments.params.as_deref() {
        Some("-") => standard_input(config.limits.max_request_size())?,
        Some(text) => text.to_owned(),
        None => joined(&arguments.pairs)?,
    };
    // The same bytes as any other client would send, read as strictly.
    let request = format!("{{\"operation\":{},\"params\":{params}}}", json!(arguments.operation));
    let request = scan::arguments(request.as_bytes(), &config.limits).map_err(|error| {
        Failure::usage(&error.message, "--params takes one JSON object, such as '{\"first\": 5}'")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::trouble("no runtime could be started", &error.to_string()))?;
    runtime.block_on(async {
        let app = gateway::app::open(&config, None).map_err(|error| Failure::app(error, &config.store.data))?;
        let session = Arc::new(Session::new(Transport::Local, LOCAL));
        let answer = tokio::select! {
            answer = app.gateway.handle(&session, Endpoint::Unified, request, Progress::default()) => Some(answer),
            () = stop_signal() => None,
            () = ask(&app, &session) => None,
        };
        let surface = app.gateway.surface();
        let operation = surface.registry().id(&arguments.operation).and_then(|id| surface.registry().get(id));
        let starts = operation.is_some_and(|operation| operation.lifecycle().is_some());
        session.end(End::Graceful);
        app.close().await;
        let Some(answer) = answer else {
            return Err(Failure::trouble("the call was interrupted", "what it started has been ended"));
        };
        let text = answer.to_text();
        report::print(&if arguments.json { text.clone() } else { readable(&text) });
        if let Some(hint) = json_hint(&text, &arguments.pairs) {
            report::note(&hint);
        }
        Ok(if answer.code().is_none() && !(starts && is_lost(&text)) { ExitCode::SUCCESS } else { report::findings() })
    })
}

/// How often it is looked whether the call waits for somebody.
const LOOKED_EVERY: Duration = Duration::from_millis(200);

/// Asks whoever sits here for what the call has to be approved with, or says where it can be. Never ends by itself.
async fn ask(app: &App, session: &Session) {
    let mut asked = HashSet::new();
    loop {
        tokio::time::sleep(LOOKED_EVERY).await;
        let Some(safety) = app.gateway.safety() else { continue };
        let pending =
            safety.store().approvals(&[ApprovalState::Pending], 100, now()).await.unwrap_or_default();
        for approval in pending.iter().filter(|approval| approval.session_id == session.id()) {
            if !asked.insert(approval.id.clone()) {
                continue;
            }
            report::note(&shown_approval(approval));
            if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
                continue;
            }
            report::note("Run it? [y/N]");
            let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await;
            let yes = matches!(line, Ok(Some(Ok(line))) if matches!(line.trim(), "y" | "Y" | "yes"));
            if let Err(error) = safety.store().answer(&approval.id, yes, "terminal", LOCAL, now()).await {
                report::note(&format!("the answer could not be kept: {error}"));
            }
            safety.answered();
        }
    }
}

/// Whether the call was answered with an execution that came to no good end.
fn is_lost(answer: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let data = answer.get("data").filter(|data| data.get("execution_id").is_some());
    let status = data.and_then(|data| data.get("status")).and_then(Value::as_str);
    matches!(status, Some("failed" | "cancelled"))
}

/// How to give what was refused for being text.
fn json_hint(answer: &str, pairs: &[String]) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let error =
        answer.get("error").filter(|error| error.get("code") == Some(&json!("VALIDATION_INVALID_TYPE")))?;
    let refused = error.pointer("/details/param_name")?.as_str()?;
    let (name, value) =
        pairs.iter().filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == refused)?;
    // Only what would be JSON by itself: `first=many` is wrong in any notation.
    serde_json::from_str::<&RawValue>(value).ok()?;
    Some(format!("'{name}=' gives text; write {name}:={value} for JSON"))
}

/// The data, or the error, for a person to read.
fn readable(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let shown = answer.get("error").or_else(|| answer.get("data")).unwrap_or(&answer);
    serde_json::to_string_pretty(shown).unwrap_or_default()
}

fn standard_input(most: usize) -> Result<String, Failure> {
    let mut input = Vec::new();
    let read = std::io::stdin().take(most as u64 + 1).read_to_end(&mut input);
    read.map_err(|error| Failure::trouble("standard input cannot be read", &error.to_string()))?;
    String::from_utf8(input)
        .map_err(|_| Failure::usage("standard input is not valid UTF-8", "send one JSON object"))
}

/// The pairs as one JSON object, in the order given; a name given twice is found when it is read.
fn joined(pairs: &[String]) -> Result<String, Failure> {
    let members: Result<Vec<String>, Failure> = pairs.iter().map(|pair| member(pair)).collect();
    Ok(format!("{{{}}}", members?.join(",")))
}

fn member(pair: &str) -> Result<String, Failure> {
    let usage = |message: &str| {
        Failure::usage(
            message,
            "write entity_name=Report for text, and priority:=5 or tags:='[\"a\"]' for JSON",
        )
    };
    let Some((name, value)) = pair.split_once('=') else {
        return Err(usage(&format!("'{pair}' is no parameter: it has no '='")));
    };
    match name.strip_suffix(':') {
        None => Ok(format!("{}:{}", json!(name), json!(value))),
        Some(name) => match serde_json::from_str::<&RawValue>(value) {
            Ok(value) => Ok(format!("{}:{value}", json!(name))),
            Err(_) => Err(usage(&format!("the value of '{name}' is not valid JSON"))),
        },
    }
}
