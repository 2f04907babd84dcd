//! What waits: approvals, challenges and blocks. What servers ask for is in `inputs`.

use std::{io::IsTerminal, process::ExitCode};

use gateway::{
    operator::{
        desk::{ShownChallenge, now},
        shown::{self, line},
    },
    store::safety::{Answered, Approval, ApprovalState},
};
use serde_json::{Value, json};

use super::{at_desk, hand, may_answer, shown_danger, store_trouble, unclear};
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Longest values in a listing, in characters. `--json` has all of them.
const VALUE_CHARS_MAX: usize = 300;

#[derive(clap::Args)]
pub(super) struct Pending {
    /// Show what was answered or expired too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Pending {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let states = if self.all { ApprovalState::ALL } else { &[ApprovalState::Pending] };
        let (approvals, challenges, inputs) = at_desk(configuration, async |desk, _| {
            let approvals = desk.approvals(states, now()).await.map_err(|error| store_trouble(&error))?;
            let challenges = desk.challenges(now()).await.map_err(|error| store_trouble(&error))?;
            let inputs = desk.inputs(now()).await.map_err(|error| store_trouble(&error))?;
            Ok((approvals, challenges, inputs))
        })?;
        if self.json {
            let told = json!({"approvals": approvals, "challenges": challenges, "inputs": inputs});
            report::print(&shown::json(&told.to_string()));
            return Ok(ExitCode::SUCCESS);
        }
        let mut parts: Vec<String> = approvals.iter().map(shown_approval).collect();
        parts.extend(challenges.iter().map(readable_challenge));
        parts.extend(inputs.iter().map(super::inputs::readable));
        if parts.is_empty() {
            parts.push("Nothing waits for you.".to_owned());
        }
        report::print(&parts.join("\n\n"));
        Ok(ExitCode::SUCCESS)
    }
}

/// Everything of an agent stands behind a label of ours, on a line of its own.
pub(crate) fn shown_approval(approval: &Approval) -> String {
    let shown = |text: &str| line(text, VALUE_CHARS_MAX);
    let mut lines = vec![format!(
        "{}  {}  {}  {}",
        shown(&approval.id),
        approval.state.as_str(),
        shown_danger(approval.danger),
        shown(&approval.operation)
    )];
    let adapter = format!("{} of {}", approval.kind.as_str(), shown(&approval.adapter));
    let mut rows = vec![("asks for", adapter), ("caller", shown(&approval.principal))];
    rows.extend(approval.agent.as_deref().map(|agent| ("agent", shown(agent))));
    if let Value::Object(params) = &approval.params {
        rows.extend(params.iter().map(|(name, value)| {
            ("parameter", format!("{} = {}", line(name, 80), shown(&value.to_string())))
        }));
    }
    rows.extend(approval.reasons.iter().map(|reason| ("because", shown(reason))));
    let until = match approval.state {
        ApprovalState::Pending => "answer until",
        _ => "until",
    };
    rows.push((until, approval.expires_at.to_string()));
    if let (Some(by), Some(channel)) = (&approval.answered_by, &approval.channel) {
        rows.push(("answered", format!("by {} ({})", shown(by), shown(channel))));
    }
    lines.extend(rows.into_iter().map(|(label, value)| format!("  {label:<12}  {value}")));
    if approval.state == ApprovalState::Pending {
        let short = shown(&approval.id);
        lines.push(format!("  → aqueduct operator approve {short}   or   aqueduct operator deny {short}"));
    }
    lines.join("\n")
}

fn readable_challenge(challenge: &ShownChallenge) -> String {
    let shown = |text: &str| line(text, VALUE_CHARS_MAX);
    let id = shown(&challenge.id);
    let rows = [
        ("agent", shown(&challenge.agent)),
        ("caller", shown(&challenge.principal)),
        ("wants to", shown(&challenge.hint)),
        ("because", shown(&challenge.reason)),
        ("answer until", challenge.expires_at.to_string()),
    ];
    let mut lines = vec![format!("{id}  challenge ({}, {})", challenge.tier, challenge.state)];
    lines.extend(rows.into_iter().map(|(label, value)| format!("  {label:<12}  {value}")));
    lines.push(format!("  → aqueduct operator reveal {id}"));
    lines.join("\n")
}

#[derive(clap::Args)]
pub(super) struct Answer {
    /// The approval's id, or its beginning
    #[arg(value_name = "APPROVAL")]
    id: String,
    /// Why, for the audit log
    #[arg(long)]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Answer {
    pub(super) fn run(&self, configuration: &Configuration, approve: bool) -> Result<ExitCode, Failure> {
        let (id, answered) = at_desk(configuration, async |desk, config| {
            may_answer(config)?;
            let found = desk.find_approval(&self.id, now()).await.map_err(unclear)?;
            let note = self.note.as_deref();
            let answered = desk.answer(&found.id, approve, &hand(), note, now()).await;
            Ok((found.id, answered.map_err(|error| store_trouble(&error))?))
        })?;
        match answered {
            Answered::Done(approval) => {
                let told = if self.json {
                    shown::json(&json!({"approval": approval}).to_string())
                } else if approve {
                    let until = approval.expires_at;
                    format!(
                        "Approved {}. The call runs once, if it comes by {until}.",
                        line(&approval.id, 80)
                    )
                } else {
                    format!("Denied {}.", line(&approval.id, 80))
                };
                report::print(&told);
                Ok(ExitCode::SUCCESS)
            }
            Answered::AlreadyAnswered(approval) => {
                let by = approval.answered_by.as_deref().map(|by| format!(" by {}", line(by, 80)));
                let state = approval.state.as_str();
                report::note(&format!("{} is {state} already{}", line(&id, 80), by.unwrap_or_default()));
                Ok(report::findings())
            }
            Answered::Missing => {
                report::note(&format!("{} is gone", line(&id, 80)));
                Ok(report::findings())
            }
        }
    }
}

#[derive(clap::Args)]
pub(super) struct Revoke {
    /// The approval's id, or its beginning
    #[arg(value_name = "APPROVAL")]
    id: String,
}

impl Revoke {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let (found, revoked) = at_desk(configuration, async |desk, _| {
            let found = desk.find_approval(&self.id, now()).await.map_err(unclear)?;
            let revoked = desk.revoke(&found.id, &hand(), now()).await;
            Ok((found, revoked.map_err(|error| store_trouble(&error))?))
        })?;
        let id = line(&found.id, 80);
        if revoked {
            report::print(&format!("Revoked {id}. It can no longer be used."));
            return Ok(ExitCode::SUCCESS);
        }
        report::note(&format!("{id} is {} and cannot be taken back", found.state.as_str()));
        Ok(report::findings())
    }
}

#[derive(clap::Args)]
pub(super) struct Blocks {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Blocks {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        let blocks = at_desk(configuration, async |desk, _| {
            desk.blocks().await.map_err(|error| store_trouble(&error))
        })?;
        if self.json {
            report::print(&shown::json(&json!({"blocks": blocks}).to_string()));
            return Ok(ExitCode::SUCCESS);
        }
        let shown = |text: &str| line(text, VALUE_CHARS_MAX);
        let mut parts: Vec<String> = blocks
            .iter()
            .map(|block| {
                format!(
                    "{}  blocked since {}\n  caller        {}\n  wanted to     {}\n  because       {}\n  challenge     {}",
                    shown(&block.agent),
                    block.blocked_at,
                    shown(&block.principal),
                    shown(&block.hint),
                    shown(&block.reason),
                    shown(&block.challenge_id),
                )
            })
            .collect();
        if parts.is_empty() {
            parts.push("No agent is blocked.".to_owned());
        }
        report::print(&parts.join("\n\n"));
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(clap::Args)]
pub(super) struct Unblock {
    /// The agent's name, in full
    agent: String,
    /// Why, for the audit log
    #[arg(long)]
    reason: String,
}

impl Unblock {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        if self.reason.trim().is_empty() {
            return Err(Failure::usage("the reason is empty", "say why the block ends, for the audit log"));
        }
        let block = at_desk(configuration, async |desk, config| {
            may_answer(config)?;
            let ended = desk.unblock(&self.agent, &hand(), &self.reason, now()).await;
            ended.map_err(|error| store_trouble(&error))
        })?;
        let agent = line(&self.agent, 80);
        match block {
            Some(_) => {
                report::print(&format!("Unblocked {agent}."));
                Ok(ExitCode::SUCCESS)
            }
            None => Err(Failure::usage(
                &format!("no agent '{agent}' is blocked"),
                "'aqueduct operator blocks' lists those that are",
            )),
        }
    }
}

#[derive(clap::Args)]
pub(super) struct Reveal {
    /// The challenge's id, or its beginning
    #[arg(value_name = "CHALLENGE")]
    id: String,
    /// Print the code also where standard output is not a terminal
    #[arg(long)]
    force_print: bool,
}

impl Reveal {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        on_a_terminal(self.force_print)?;
        let (found, revealed) = at_desk(configuration, async |desk, config| {
            may_answer(config)?;
            let found = desk.find_challenge(&self.id, now()).await.map_err(unclear)?;
            let revealed = desk.reveal(&found.id, &hand(), now()).await;
            Ok((found, revealed.map_err(|error| store_trouble(&error))?))
        })?;
        let Some((challenge, code)) = revealed else {
            report::note(&format!("the challenge {} is over", line(&found.id, 80)));
            return Ok(report::findings());
        };
        report::print(&format!(
            "{}\n\n{code}\n\nGood for one attempt until {}. Give it to the agent only if it may go on.",
            readable_challenge(&challenge),
            challenge.expires_at
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// REQ-OOB-05: a pipe or a file may be read by the very agent that the code is to keep out.
fn on_a_terminal(force_print: bool) -> Result<(), Failure> {
    if force_print || std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(
        "what is secret is only shown on a terminal, and standard output is none",
        "an agent could read it from a pipe or a file; run this in a terminal of your own, or give '--force-print' \
         if you are sure who reads it",
    ))
}

#[derive(clap::Args)]
pub(super) struct Token {
    /// The approval's id, or its beginning
    #[arg(value_name = "APPROVAL")]
    id: String,
    /// Print the token also where standard output is not a terminal
    #[arg(long)]
    force_print: bool,
}

impl Token {
    pub(super) fn run(&self, configuration: &Configuration) -> Result<ExitCode, Failure> {
        on_a_terminal(self.force_print)?;
        let (found, made) = at_desk(configuration, async |desk, config| {
            may_answer(config)?;
            let found = desk.find_approval(&self.id, now()).await.map_err(unclear)?;
            let made = desk.token(&found.id, &hand(), now()).await;
            Ok((found, made.map_err(|error| store_trouble(&error))?))
        })?;
        let Some((approval, token)) = made else {
            report::note(&format!("{} is answered or over", line(&found.id, 80)));
            return Ok(report::findings());
        };
        let told = "Good for one 'confirm_operation' by another principal than the one that waits.";
        report::print(&format!("{}\n\n{token}\n\n{told}", shown_approval(&approval)));
        Ok(ExitCode::SUCCESS)
    }
}
