//! Captures of servers, for the discovery pipeline of [`aql::discover`]: who is asked, and what they said.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use aql::discover::{
    Auth, Capture, Identity, Reached,
    probe::{Answered, Observation},
};
use serde_json::{Map, Value, json};

use crate::{
    adapters::upstream::{self, Era, catalogue},
    config::{Bearer, Link, Secret, Upstream},
};

/// How long a server that is not configured may take to start and to answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server that is reached by its address alone.
#[must_use]
pub fn by_url(name: &str, url: &str, token_env: Option<&str>) -> Upstream {
    let bearer = token_env.map(|variable| Bearer::Variable(variable.to_owned()));
    Upstream::of_link(name, Link::Http { url: url.to_owned(), headers: Vec::new(), bearer }, TIMEOUT)
}

/// A server that is started by its command.
#[must_use]
pub fn by_command(name: &str, program: &Path, args: &[String]) -> Upstream {
    let args = args.iter().map(Secret::new).collect();
    let program = PathBuf::from(program);
    Upstream::of_link(name, Link::Command { program, args, env: Vec::new(), cwd: None }, TIMEOUT)
}

/// A capture without its pages: how a server is reached, and what must not be written of that.
#[must_use]
pub fn of_settings(settings: &Upstream, captured_at: String) -> Capture {
    let mut config = Map::new();
    let mut secrets: Vec<String> = Vec::new();
    config.insert("start_timeout_seconds".to_owned(), settings.start_timeout.as_secs().into());
    let names = |given: &[(String, Secret)]| -> Value {
        given.iter().map(|(name, _)| (name.clone(), Value::from(""))).collect::<Map<_, _>>().into()
    };
    let (reached, auth) = match &settings.link {
        Link::Command { program, args, env, .. } => {
            secrets
                .extend(env.iter().filter(|(name, value)| is_secret(name, value)).map(|(_, v)| exposed(v)));
            if !env.is_empty() {
                config.insert("env".to_owned(), names(env));
            }
            let args = args.iter().map(exposed).collect();
            (Reached::Stdio { command: program.display().to_string(), args }, Auth::None)
        }
        Link::Http { url, headers, bearer } => {
            secrets.extend(headers.iter().map(|(_, value)| exposed(value)));
            let query = url.split_once('?').map_or("", |(_, query)| query);
            secrets.extend(query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())));
            if !headers.is_empty() {
                config.insert("headers".to_owned(), names(headers));
            }
            (Reached::Http { url: url.clone() }, auth(bearer.as_ref(), &mut secrets))
        }
    };
    Capture { name: settings.name.clone(), reached, auth, config, secrets, captured_at, ..Capture::default() }
}

fn exposed(secret: &Secret) -> String {
    secret.expose().to_owned()
}

/// Settings such as `LOG_LEVEL = "warning"` are words that any description may hold, and no secrets.
fn is_secret(name: &str, value: &Secret) -> bool {
    let named = ["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH"];
    let name = name.to_ascii_uppercase();
    named.iter().any(|part| name.contains(part))
        || !value.expose().bytes().all(|byte| byte.is_ascii_lowercase())
}

fn auth(bearer: Option<&Bearer>, secrets: &mut Vec<String>) -> Auth {
    let (token_env, token_command) = match bearer {
        None => return Auth::None,
        Some(Bearer::Variable(name)) => {
            secrets.extend(std::env::var(name));
            (Some(name.clone()), None)
        }
        Some(Bearer::Command(words)) => (None, words.first().cloned()),
    };
    Auth::Bearer { header: None, prefix: None, token_env, token_command }
}

/// What a visit found.
#[derive(Debug)]
pub struct Found {
    pub capture: Capture,
    pub observations: Vec<Observation>,
    /// What can be accepted.
    pub seen: catalogue::Capture,
}

/// Asks a server what it offers. Tools are called only where `choose` names some.
pub async fn visit(
    settings: &Upstream,
    captured_at: String,
    choose: impl FnOnce(&Capture) -> Vec<String>,
) -> Result<Found, String> {
    let told = of_settings(settings, captured_at);
    let with = |seen: &catalogue::Capture| {
        let mut capture = told.clone();
        capture.pages = if seen.pages.is_empty() { vec![json!({"tools": []})] } else { seen.pages.clone() };
        capture.server = seen.server.as_ref().map(|server| Identity {
            name: Some(server.name.clone()),
            version: Some(server.version.clone()).filter(|version| !version.is_empty()),
            title: None,
        });
        let era = match seen.era {
            Era::Initialized => "initialized",
            Era::SelfContained => "self_contained",
        };
        capture.config.insert("protocol".to_owned(), json!({"version": seen.version, "era": era}));
        capture
    };
    let visited = upstream::visit(settings, |seen| choose(&with(seen))).await?;
    let observations = visited.tried.into_iter().map(|(tool, answer)| Observation {
        tool,
        arguments: Map::new(),
        answered: answer.map_or_else(Answered::Error, Answered::Result),
    });
    Ok(Found { capture: with(&visited.capture), observations: observations.collect(), seen: visited.capture })
}

/// The capture of what was accepted of a server, where it was ever asked.
#[must_use]
pub fn accepted(data: &Path, settings: &Upstream) -> Option<Capture> {
    let kept = upstream::pinned(data, settings)?;
    let tools: Vec<&Value> =
        kept.tools.iter().filter(|tool| !tool.gone).map(|tool| &tool.definition).collect();
    let mut capture = of_settings(settings, kept.captured_at.clone());
    capture.server = kept.server.as_ref().map(|server| Identity {
        name: Some(server.name.clone()),
        version: Some(server.version.clone()).filter(|version| !version.is_empty()),
        title: None,
    });
    capture.pages = vec![json!({"tools": tools})];
    Some(capture)
}

/// Takes what was seen of a server for what it is to be.
pub fn accept(data: &Path, settings: &Upstream, seen: &catalogue::Capture) -> Result<usize, String> {
    upstream::accept(data, settings, seen, jiff::Timestamp::now())
        .map(|changed| changed.len())
        .map_err(|error| format!("the accepted definitions could not be kept: {error}"))
}

/// The time of a capture that nobody gave one for.
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::now().to_string()
}
