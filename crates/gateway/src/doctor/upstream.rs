//! One upstream: started, asked, ended, and what is to be said of it.

use std::{path::Path, time::Duration};

use serde::Serialize;

use super::{Finding, Severity, advice, seconds};
use crate::{
    adapters::upstream::{
        Era, Identity,
        examine::{self, Ailment, Held, Met},
    },
    config::{self, Link},
};

/// Names shown where there are many.
const SHOWN: usize = 5;

/// What was seen of one upstream.
#[derive(Debug, Clone, Serialize)]
pub struct Upstream {
    pub name: String,
    /// The program, or the address without its query.
    pub link: String,
    /// What was found if it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works: Option<Works>,
    pub findings: Vec<Finding>,
}

/// A server that works.
#[derive(Debug, Clone, Serialize)]
pub struct Works {
    pub start_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Identity>,
    pub era: Era,
    /// The revision of the protocol.
    pub version: String,
    pub tools: usize,
    pub operations: usize,
}

pub(super) async fn examine(settings: &config::Upstream, data: &Path) -> Upstream {
    let examined = examine::examine(settings, data).await;
    let (works, findings) = match examined {
        Ok(met) => {
            let mut findings = findings(settings, &met);
            findings.extend(super::adapter::examine(settings, data));
            (Some(works(met)), findings)
        }
        Err(ailment) => (None, vec![told(settings, &ailment)]),
    };
    Upstream { name: settings.name.clone(), link: settings.link.shown(), works, findings }
}

/// One that cannot be started for want of its variables.
pub(super) fn left_out(left_out: &config::LeftOut) -> Upstream {
    let finding = Finding::new(Severity::Unreachable, "variable_not_set", left_out.reason());
    Upstream {
        name: left_out.name.clone(),
        link: left_out.link.clone(),
        works: None,
        findings: vec![finding.mend(left_out.help())],
    }
}

/// What helps where a server cannot be reached.
pub(super) async fn remedy(settings: &config::Upstream, why: &str) -> Finding {
    if why.contains(" within ") {
        let silent = Ailment::Silent { within: settings.start_timeout, words: None };
        return Finding { message: why.to_owned(), ..told(settings, &silent) };
    }
    // Nothing that was accepted of it matters here.
    match examine::examine(settings, Path::new("")).await {
        Err(ailment) => told(settings, &ailment),
        Ok(_) => Finding::new(Severity::Unreachable, "unsteady", why),
    }
}

fn works(met: Met) -> Works {
    let Met { start, server, era, version, tools, operations, .. } = met;
    Works { start_ms: milliseconds(start), server, era, version, tools, operations }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn findings(settings: &config::Upstream, met: &Met) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(held(settings, &met.held));
    if met.tools == 0 {
        findings
            .push(Finding::new(Severity::Note, "no_tools", "it offers no tools").mend(
                "if it should, look whether it needs an argument, a variable or a credential for them",
            ));
    } else if met.left_out == met.tools {
        findings.push(
            Finding::new(Severity::Problem, "all_left_out", "your rules leave all of its tools out").mend(
                format!("loosen 'allow' and 'deny' in {}, or set 'enabled = false'", settings.own_section),
            ),
        );
    } else if met.left_out > 0 {
        let message = format!("your rules leave {} of its tools out", met.left_out);
        findings.push(Finding::new(Severity::Note, "left_out", message));
    }
    if !met.unreadable.is_empty() {
        let message = format!(
            "{} of its tools cannot be read and are skipped: {}",
            met.unreadable.len(),
            few(&met.unreadable)
        );
        findings.push(
            Finding::new(Severity::Problem, "tools_skipped", message)
                .mend("ask its maker for definitions that MCP allows, or look for a newer version"),
        );
    }
    if !met.loosened.is_empty() {
        let message = format!(
            "{} of its tools have schemas that could not be taken over whole: {}; the server still checks them",
            met.loosened.len(),
            few(&met.loosened)
        );
        findings.push(Finding::new(Severity::Note, "tools_loosened", message));
    }
    if let Some(first) = met.to_review.first() {
        let message = format!(
            "of {} of its operations it is not sure what they do: {}",
            met.to_review.len(),
            few(&met.to_review)
        );
        findings.push(Finding::new(Severity::Note, "needs_review", message).mend(format!(
            "look with 'aqueduct describe {first}', and say what you know of a tool by 'category' and 'danger' \
             under 'tools' in {}",
            settings.own_section
        )));
    }
    findings
}

fn held(settings: &config::Upstream, held: &[Held]) -> Option<Finding> {
    if held.is_empty() {
        return None;
    }
    let changed: Vec<String> = held
        .iter()
        .map(|held| {
            let paths: Vec<&str> = held.changes.iter().map(|change| change.path.as_str()).take(3).collect();
            format!("{} ({})", held.tool, paths.join(", "))
        })
        .collect();
    let message = format!(
        "{} of its tools have changed since they were accepted and are held back: {}",
        held.len(),
        few(&changed)
    );
    let finding = Finding::new(Severity::Problem, "definitions_changed", message);
    Some(finding.mend(format!(
        "look with 'aqueduct discover {0} --diff', then accept with 'aqueduct discover {0} --accept', or set \
         'definitions = \"follow\"' in {1}",
        settings.name, settings.own_section
    )))
}

fn few(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn told(settings: &config::Upstream, ailment: &Ailment) -> Finding {
    let (section, own) = (&settings.section, &settings.own_section);
    let finding = |code, message: &str| Finding::new(Severity::Unreachable, code, message);
    match ailment {
        Ailment::NoProgram => {
            let program = settings.link.shown();
            finding("command_not_found", &format!("the command '{program}' was not found"))
                .mend(advice::of_missing(&program))
        }
        Ailment::NoDirectory => finding("no_directory", "its working directory does not exist")
            .mend(format!("make it, or correct 'cwd' in {section}")),
        Ailment::NotRunnable(why) => finding("command_not_runnable", why)
            .mend("give the file the right to be run ('chmod +x'), or name an interpreter as 'command'"),
        Ailment::Ended(why) => finding("ended", why).mend(advice::of_words(why, section)),
        Ailment::Silent { within, words } => {
            let mut message = format!("it did not answer within {}", seconds(*within));
            if let Some(words) = words {
                message = format!("{message}; it said last: {words}");
            }
            let mend = match (&settings.link, words) {
                (Link::Command { .. }, Some(words)) => advice::of_words(words, section),
                (Link::Command { .. }, None) => format!(
                    "run its command by hand to see what it waits for; raise 'start_timeout_seconds' in {own} if it \
                     only needs longer, as for a first download"
                ),
                (Link::Http { .. }, _) => {
                    format!("look whether the server is busy; raise 'start_timeout_seconds' in {own} if it is slow")
                }
            };
            finding("no_answer", &message).mend(mend)
        }
        Ailment::NoToken(why) => finding("no_token", why).mend(format!(
            "set the variable for the process that starts Aqueduct, or correct 'bearer_env' or 'bearer_command' in \
             {section}"
        )),
        Ailment::NoConnection(why) => finding("no_connection", why).mend(advice::of_connection(why)),
        Ailment::WantsCredential => finding("wants_credential", "it wants a credential (HTTP 401)").mend(format!(
            "set 'bearer_env', 'bearer_command' or 'headers' in {section}; if one is set, it is wrong or has run out"
        )),
        Ailment::Forbidden => finding("forbidden", "its credential does not allow this (HTTP 403)")
            .mend("ask for the right to use it, or use another credential"),
        Ailment::WrongPath => finding("wrong_path", "nothing is there (HTTP 404)")
            .mend(format!("correct the path of 'url' in {section}; it often ends with '/mcp'")),
        Ailment::Redirects => finding("redirects", "it redirects to another address")
            .mend(format!("put the final address into 'url' in {section}; redirects are not followed with a token")),
        Ailment::OlderTransport => finding("older_transport", "it speaks the older HTTP+SSE, which is not spoken here")
            .mend("use its streamable HTTP address, often '/mcp' in place of '/sse', or a newer version of it"),
        Ailment::Strange(why) => finding("strange_answer", why)
            .mend("look whether this is an MCP server at all, and whether a newer version of it is out"),
    }
}
