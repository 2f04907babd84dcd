//! From a capture to its bundle.

use serde_json::{Map, Value};

use super::{
    bundle::{Bundle, Normalized, RawCapture, SCHEMA_VERSION, Source, SourceAuth, Warning},
    capture::{self, Auth, Capture, Error, Reached},
    normalize, redact, tools,
};
use crate::{adopt::Severity, classify};

/// How a capture is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What operations' names begin with; nothing unless asked.
    pub prefix: &'a str,
    /// Refuses what the published schema does not know: processes on this machine.
    pub strict: bool,
    pub trust: classify::Trust,
    pub overrides: &'a classify::Overrides,
}

/// Makes the bundle of a capture.
pub fn bundle(capture: &Capture, options: &Options<'_>) -> Result<Bundle, Error> {
    let mut warnings = Vec::new();
    let secrets = capture.known_secrets();
    let secrets = redact::searchable(&secrets);
    let source = source(capture, options.strict, &secrets)?;
    let raw_capture = raw(&capture.pages, &secrets, &mut warnings)?;
    let mut read = Vec::new();
    for (place, entry) in raw_capture.tools.iter().enumerate() {
        match tools::read(entry) {
            Some(tool) => {
                warnings.extend(tool.flaws);
                read.push((tool.tool, entry));
            }
            None => {
                let message = format!("entry {} of the list has no name and is left out", place + 1);
                warnings.push(Warning::new("NOT_A_TOOL", Severity::Error, message));
            }
        }
    }
    let operations = normalize::operations(&source.name, read, options, &mut warnings);
    Ok(Bundle {
        schema_version: SCHEMA_VERSION.to_owned(),
        source,
        raw_capture,
        normalized_bundle: Normalized { operations, warnings },
    })
}

fn source(capture: &Capture, strict: bool, secrets: &[&str]) -> Result<Source, Error> {
    if capture.name.trim().is_empty() {
        return Err(Error::NoName);
    }
    if capture.captured_at.parse::<jiff::Timestamp>().is_err() || !capture.captured_at.contains('T') {
        return Err(Error::NoTime(capture.captured_at.clone()));
    }
    let server_url = redact::known_in_url(capture.reached.url(&capture.name)?, secrets);
    if strict && matches!(capture.reached, Reached::Stdio { .. }) {
        return Err(Error::Strict);
    }
    let auth = match &capture.auth {
        Auth::None => SourceAuth { kind: "none".to_owned(), ..SourceAuth::default() },
        Auth::Bearer { header, prefix, token_env, token_command } => SourceAuth {
            kind: "bearer".to_owned(),
            header: header.clone(),
            prefix: prefix.as_deref().map(redact::text),
            token_env: token_env.clone(),
            token_command: token_command
                .as_ref()
                .map(|command| redact::arguments(command.split(' ')).join(" ")),
        },
    };
    let mut config = redact::config(&capture.config);
    if let Reached::Stdio { command, args } = &capture.reached
        && !command.is_empty()
    {
        config.insert("command".to_owned(), redact::text(command).into());
        config.insert("args".to_owned(), redact::arguments(args.iter().map(String::as_str)).into());
    }
    let source = Source {
        name: capture.name.clone(),
        server_url,
        transport: capture.reached.transport().to_owned(),
        captured_at: capture.captured_at.clone(),
        server: capture.server.clone(),
        auth,
        capture_config_redacted: config,
    };
    // A secret may also stand where nobody looks for one, as in the name of the server.
    let mut written = serde_json::to_value(&source).unwrap_or_default();
    if redact::scrub(&mut written, secrets) {
        return Ok(serde_json::from_value(written).unwrap_or(source));
    }
    Ok(source)
}

/// The pages joined, each leaving behind what it said beside its tools.
fn raw(pages: &[Value], secrets: &[&str], warnings: &mut Vec<Warning>) -> Result<RawCapture, Error> {
    let mut raw = RawCapture { tools: Vec::new(), pages: Vec::new(), others: Map::new() };
    let mut leaked = false;
    for (place, page) in pages.iter().enumerate() {
        let number = place + 1;
        let mut page = Value::Object(capture::page(page).ok_or(Error::NoPage { number })?.clone());
        leaked |= redact::scrub(&mut page, secrets);
        let Value::Object(mut page) = page else { continue };
        let Some(Value::Array(entries)) = page.remove("tools") else { continue };
        page.insert("tool_count".to_owned(), entries.len().into());
        let mut others = Map::new();
        for (place, entry) in entries.into_iter().enumerate() {
            match entry {
                Value::Object(tool) => raw.tools.push(tool),
                other => {
                    let message =
                        format!("entry {} of page {number} is no object and is left out", place + 1);
                    warnings.push(Warning::new("NOT_A_TOOL", Severity::Error, message));
                    others.insert(place.to_string(), other);
                }
            }
        }
        if !others.is_empty() {
            page.insert("entries_that_are_no_objects".to_owned(), Value::Object(others));
        }
        raw.pages.push(page);
    }
    if raw.pages.is_empty() {
        return Err(Error::NoPages);
    }
    if leaked {
        let message = "the server repeated a secret of this configuration, which was taken out".to_owned();
        warnings.push(Warning::new("SECRET_REDACTED", Severity::Error, message));
    }
    Ok(raw)
}
