//! The audit log: shown, followed, verified.

use std::{process::ExitCode, time::Duration};

use gateway::{
    library::stop_signal,
    operator::{
        Desk,
        desk::{ShownEntry, Verified},
        shown::{self, line},
    },
};
use serde_json::Value;

use super::{at_desk, store_trouble};
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Entries that are read together.
const TOGETHER: u32 = 500;
/// Entries that are shown unless more are asked for.
const LAST: u64 = 50;
/// How often new entries are looked for.
const LOOK: Duration = Duration::from_millis(500);
const EVENT_CHARS_MAX: usize = 600;

#[derive(clap::Args)]
pub(super) struct Show {
    /// Only entries after this number; 0 shows all [default: the last 50]
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    /// Go on with what is added, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        at_desk(configuration, async |desk, _| {
            let mut after = match self.after {
                Some(after) => after,
                None => {
                    let length = desk.audit_length().await.map_err(|error| store_trouble(&error))?;
                    length.saturating_sub(LAST)
                }
            };
            loop {
                after = self.rest(desk, after).await?;
                if !self.follow {
                    return Ok(ExitCode::SUCCESS);
                }
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = stop_signal() => return Ok(ExitCode::SUCCESS),
                }
            }
        })
    }

    /// Shows everything after a number; the number of the last one.
    async fn rest(&self, desk: &Desk, mut after: u64) -> Result<u64, Failure> {
        loop {
            let entries = desk.audit(after, TOGETHER).await.map_err(|error| store_trouble(&error))?;
            let Some(last) = entries.last() else { return Ok(after) };
            after = last.number;
            let lines: Vec<String> = entries.iter().map(|entry| self.shown(entry)).collect();
            report::print(&lines.join("\n"));
        }
    }

    fn shown(&self, entry: &ShownEntry) -> String {
        if self.json {
            return shown::json(&serde_json::to_string(entry).unwrap_or_default());
        }
        let event: Value = serde_json::from_str(entry.event.get()).unwrap_or_default();
        let mut words = vec![format!("{:>6}  {}", entry.number, entry.at)];
        let name = event.get("event").and_then(Value::as_str).unwrap_or("?");
        words.push(line(name, EVENT_CHARS_MAX));
        for (key, value) in event.as_object().into_iter().flatten().filter(|(key, _)| *key != "event") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.push(format!("{key}={}", line(&value, 120)));
        }
        line(&words.join("  "), EVENT_CHARS_MAX)
    }
}

#[derive(clap::Args)]
pub(super) struct Verify {
    /// The hash of the last entry as it was kept elsewhere: it must still be in the log
    #[arg(long, value_name = "HASH")]
    expect: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let (verified, is_there) = at_desk(configuration, async |desk, _| {
            let verified = desk.verify_audit().await.map_err(|error| store_trouble(&error))?;
            let is_there = match &self.expect {
                None => true,
                Some(hash) => is_in(desk, &hash.trim().to_ascii_lowercase()).await?,
            };
            Ok((verified, is_there))
        })?;
        let whole = matches!(verified, Verified::Whole { .. });
        if self.json {
            let mut told = serde_json::to_value(&verified).unwrap_or_default();
            if let Some(told) = told.as_object_mut() {
                told.insert("ok".to_owned(), (whole && is_there).into());
            }
            report::print(&shown::json(&told.to_string()));
        } else {
            report::print(&match (&verified, is_there) {
                (Verified::Whole { entries, head }, true) => {
                    format!(
                        "The audit log is whole: {entries} entries.\nHead: {head}\nKeep it elsewhere, and check with '--expect' that nothing was cut off."
                    )
                }
                (Verified::Whole { entries, head }, false) => {
                    format!(
                        "The {entries} entries fit together, but none has the expected hash: the log was cut off or exchanged.\nHead: {head}"
                    )
                }
                (Verified::Broken { why }, _) => format!("The audit log is broken: {why}."),
            });
        }
        Ok(if whole && is_there { ExitCode::SUCCESS } else { report::findings() })
    }
}

/// The log goes on after a hash was kept, so that it may be anywhere in it. Before the first entry the hash is zeros.
async fn is_in(desk: &Desk, hash: &str) -> Result<bool, Failure> {
    if !hash.is_empty() && hash.bytes().all(|b| b == b'0') {
        return Ok(true);
    }
    let mut after = 0;
    loop {
        let entries = desk.audit(after, TOGETHER).await.map_err(|error| store_trouble(&error))?;
        let Some(last) = entries.last() else { return Ok(false) };
        after = last.number;
        if entries.iter().any(|entry| entry.hash == hash) {
            return Ok(true);
        }
    }
}
