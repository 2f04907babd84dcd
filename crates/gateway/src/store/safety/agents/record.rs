//! One reported step: judged, answered and written down in one transaction.

use aql::audit::{Event, Outcome};
use aql::autonomy::notify::{News, notifications};
use aql::autonomy::state::{Command, Effect};
use aql::autonomy::{Action, Agent, Directive, Halt, Mode, Report, Verdict, evaluate, risk};
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;

use super::executions::{about_asking, open, refused};
use super::kept::{About, Told, Which, change, changed, load};
use super::pause::{self, Agreeing, Said};
use super::tell::{facts, waiting_for_answer, waiting_for_code};
use super::{AgentExecution, Judge, NewStep, Recorded, Refused, SafetyStore};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::storable;
use crate::store::safety::audit::append;
use crate::store::writer::Effect as Room;

impl SafetyStore {
    /// Takes a report and says whether the agent may go on.
    pub async fn record_step(
        &self,
        step: NewStep,
        judge: Judge,
        now: Timestamp,
    ) -> Result<Result<Recorded, Refused>, Error> {
        let recorded = self
            .database
            .write(Room::default(), move |connection| {
                let recorded = record(connection, &step, &judge, storable(now));
                failpoint::hit("step.recording");
                recorded
            })
            .await;
        failpoint::hit("step.recorded");
        recorded
    }
}

/// What is said of a step, before it is told with everything else there is to tell.
struct Answer {
    directive: Directive,
    evaluated: bool,
    /// What was done, where that was looked at.
    deed: Option<String>,
    challenge_id: Option<String>,
    approval_id: Option<String>,
}

fn record(
    connection: &Connection,
    step: &NewStep,
    judge: &Judge,
    now: Timestamp,
) -> Result<Result<Recorded, Refused>, Error> {
    let about = about_asking(&step.caller, judge);
    if let Some(refused) = refused(connection, &step.agent, judge, &about, &step.challenge_id, now)? {
        return Ok(Err(refused));
    }
    let found = open(connection, &judge.owner, &step.caller.session_id, &step.agent)?;
    let Some(mut execution) = found else { return Ok(Err(Refused::NotExecuting)) };
    let mut agent = load(connection, &step.agent, Which::Enforced { owner: &judge.owner })?;
    let mut news = Vec::new();
    let answer = match judge.autonomy.mode {
        Mode::Logging | Mode::Disabled => Answer {
            directive: plain(
                true,
                vec!["logging mode: the step was written down and not evaluated".to_owned()],
            ),
            evaluated: false,
            deed: None,
            challenge_id: None,
            approval_id: None,
        },
        Mode::Monitoring => monitored(connection, step, judge, &execution)?,
        Mode::Enforcing => {
            let told = Told { about: None, by: None, channel: None, caller: Some(&step.caller) };
            let (aged, effects) =
                change(connection, &step.agent, agent, Command::Look, judge.challenge_life, &told, now)?;
            agent = aged;
            news.extend(effects.into_iter().filter_map(|effect| lifted(effect, now)));
            enforced(connection, step, judge, &mut execution, &mut agent, now)?
        }
    };
    let number = execution.steps + 1;
    write(connection, step, &execution, number, &answer, now)?;
    let mut directive = answer.directive.clone();
    let mut facts = facts(connection, &execution, &agent, judge, now)?;
    facts.news.extend(news);
    if judge.autonomy.mode == Mode::Enforcing && directive.goes_on && !facts.pending.is_empty() {
        directive.goes_on = false;
        directive.reason = Some(waiting_for_answer(&facts.pending));
        directive.factors.push("an operation waits for a person".to_owned());
    }
    directive.notifications = notifications(facts);
    let passed = u8::from(directive.goes_on);
    connection
        .prepare_cached(
            "UPDATE agent_executions SET steps = ?2, unseen_steps = unseen_steps + ?3, last_step_at = ?4 WHERE id = ?1",
        )?
        .execute((&execution.id, number as i64, passed, now.as_microsecond()))?;
    connection
        .prepare_cached("UPDATE agent_steps SET continued = ?3 WHERE execution_id = ?1 AND number = ?2")?
        .execute((&execution.id, number as i64, passed))?;
    changed(connection)?;
    append(connection, &event(step, judge, &execution, number, &answer, &directive), now)?;
    Ok(Ok(Recorded { directive, evaluated: answer.evaluated }))
}

fn lifted(effect: Effect, now: Timestamp) -> Option<News> {
    let Effect::Expired { challenge } = effect else { return None };
    let message = format!("Nobody answered the challenge {challenge} in time; its pause is over");
    Some(News { is_error: false, message, operation: None, at: now })
}

fn plain(goes_on: bool, factors: Vec<String>) -> Directive {
    Directive {
        goes_on,
        factors,
        stopped: false,
        reason: None,
        steps_remaining: None,
        next_step_risk: None,
        notifications: Vec::new(),
    }
}

fn paused(reason: &str, factor: &str) -> Answer {
    Answer {
        directive: Directive { reason: Some(reason.to_owned()), ..plain(false, vec![factor.to_owned()]) },
        evaluated: false,
        deed: None,
        challenge_id: None,
        approval_id: None,
    }
}

fn judged(
    connection: &Connection,
    step: &NewStep,
    judge: &Judge,
    execution: &AgentExecution,
) -> Result<(Verdict, String), Error> {
    let deed = risk::deed(&step.judged, step.known.as_ref().map(|(name, _)| name.as_str()));
    let repeated = connection
        .prepare_cached("SELECT count(*) FROM agent_steps WHERE execution_id = ?1 AND deed = ?2")?
        .query_row((&execution.id, &deed), |row| row.get(0))?;
    let action = Action { hint: step.judged.clone(), known: step.known.clone(), repeated };
    let report = Report { action, outcome: step.outcome, steps_before: execution.unseen_steps };
    let settings = judge.autonomy.of(&step.agent);
    Ok((evaluate(settings, judge.scorer.as_ref(), &report), deed))
}

/// What would have been, with nothing held up and nothing kept.
fn monitored(
    connection: &Connection,
    step: &NewStep,
    judge: &Judge,
    execution: &AgentExecution,
) -> Result<Answer, Error> {
    let (verdict, deed) = judged(connection, step, judge, execution)?;
    let mut directive = plain(true, verdict.factors);
    directive.steps_remaining = Some(verdict.steps_remaining);
    directive.next_step_risk = verdict.tier;
    if let Some((halt, reason)) = verdict.halt {
        let what = if halt.is_stop() { "stopped" } else { "paused" };
        directive.factors.insert(0, format!("monitoring mode: it would have been {what}: {reason}"));
    }
    Ok(Answer { directive, evaluated: true, deed: Some(deed), challenge_id: None, approval_id: None })
}

fn enforced(
    connection: &Connection,
    step: &NewStep,
    judge: &Judge,
    execution: &mut AgentExecution,
    agent: &mut Agent,
    now: Timestamp,
) -> Result<Answer, Error> {
    if agent.pausing(now).is_some() {
        if agent.paused(now).is_none() {
            // The last answer was wrong, so another is asked for.
            let about = about_asking(&step.caller, judge);
            let failed = agent.pausing(now).map(|challenge| challenge.id.clone()).unwrap_or_default();
            let about = super::challenges::about(connection, &failed, about)?;
            let told = Told { about: Some(&about), by: None, channel: None, caller: None };
            let command = Command::Pause { challenge: step.challenge_id.clone() };
            let before = std::mem::take(agent);
            (*agent, _) = change(connection, &step.agent, before, command, judge.challenge_life, &told, now)?;
        }
        let id = agent.pausing(now).map(|challenge| challenge.id.clone()).unwrap_or_default();
        let answer = paused(&waiting_for_code(&id), "the agent waits for a verification code");
        return Ok(Answer { challenge_id: Some(id), ..answer });
    }
    if let Some(open) = execution.pause.clone() {
        match pause::settle(connection, execution, now)? {
            Said::Yes => {}
            Said::Nothing => {
                let answer = paused(&open.reason, "the agent waits for a person to confirm");
                return Ok(Answer { approval_id: Some(open.approval_id), ..answer });
            }
            Said::No => {
                let answer = paused(&open.reason, "the operator refused; end this execution");
                return Ok(Answer { approval_id: Some(open.approval_id), ..answer });
            }
            Said::TooLate => {
                let factors = ["nobody answered in time, so somebody is asked again".to_owned()];
                let agreeing = pause::asked_again(connection, &open.approval_id, step)?;
                let why = (&*open.reason, &factors[..], agreeing);
                let asked = pause::ask(connection, execution, step, judge, why, now)?;
                let answer = paused(&open.reason, &factors.concat());
                execution.pause = Some(asked.clone());
                return Ok(Answer { approval_id: Some(asked.approval_id), ..answer });
            }
        }
    }
    let (verdict, deed) = judged(connection, step, judge, execution)?;
    let mut answer = Answer {
        directive: plain(true, verdict.factors),
        evaluated: true,
        deed: Some(deed),
        challenge_id: None,
        approval_id: None,
    };
    answer.directive.steps_remaining = Some(verdict.steps_remaining);
    answer.directive.next_step_risk = verdict.tier;
    if let Some((halt, reason)) = verdict.halt {
        halted(connection, step, judge, execution, agent, (halt, reason), &mut answer, now)?;
    }
    Ok(answer)
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one step, put together in this file and nowhere else"
)]
fn halted(
    connection: &Connection,
    step: &NewStep,
    judge: &Judge,
    execution: &mut AgentExecution,
    agent: &mut Agent,
    (halt, reason): (Halt, String),
    answer: &mut Answer,
    now: Timestamp,
) -> Result<(), Error> {
    let action = pause::action(step);
    if let Some(least) = halt.lifted_by()
        && pause::spend(connection, &step.agent, &action, least, now)?
    {
        answer.directive.factors.push("a person agreed to this action".to_owned());
        return Ok(());
    }
    let directive = &mut answer.directive;
    directive.goes_on = false;
    directive.stopped = halt.is_stop();
    if !halt.needs_code() {
        let agreeing = match halt.lifted_by() {
            Some(_) => Agreeing::ToTheAction,
            None => Agreeing::ToGoingOn,
        };
        let why = (&*reason, &directive.factors[..], agreeing);
        let asked = pause::ask(connection, execution, step, judge, why, now)?;
        execution.pause = Some(asked.clone());
        answer.approval_id = Some(asked.approval_id);
        directive.reason = Some(reason);
        return Ok(());
    }
    let about = About {
        caller: step.caller.clone(),
        owner: judge.owner.clone(),
        reason: reason.clone(),
        hint: step.hint.clone(),
        // No consent makes right what is denied, so there is no action that one could be for.
        action: if halt == Halt::Deny { Vec::new() } else { action.to_vec() },
    };
    let told = Told { about: Some(&about), by: None, channel: None, caller: None };
    let challenge = step.challenge_id.clone();
    let command = match halt.is_stop() {
        true => Command::Stop { challenge },
        false => Command::Pause { challenge },
    };
    let before = std::mem::take(agent);
    (*agent, _) = change(connection, &step.agent, before, command, judge.challenge_life, &told, now)?;
    let id = match halt.is_stop() {
        true => agent.blocked_by.clone().unwrap_or_default(),
        false => agent.paused(now).map(|challenge| challenge.id.clone()).unwrap_or_default(),
    };
    directive.reason = Some(match halt.is_stop() {
        true => format!("{reason}; the agent is blocked until a person verifies it with a code for {id}"),
        false => waiting_for_code(&id),
    });
    if !halt.is_stop() {
        directive.factors.push(reason);
    }
    answer.challenge_id = Some(id);
    Ok(())
}

fn write(
    connection: &Connection,
    step: &NewStep,
    execution: &AgentExecution,
    number: u64,
    answer: &Answer,
    now: Timestamp,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO agent_steps (execution_id, number, at, hint, deed, description, outcome, findings, continued)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)",
        )?
        .execute((
            &execution.id,
            number as i64,
            now.as_microsecond(),
            &step.hint,
            &answer.deed,
            &step.description,
            step.outcome.map(aql::autonomy::StepOutcome::as_str),
            &step.findings,
        ))?;
    Ok(())
}

fn event(
    step: &NewStep,
    judge: &Judge,
    execution: &AgentExecution,
    number: u64,
    answer: &Answer,
    directive: &Directive,
) -> Event {
    let name = match judge.autonomy.mode {
        Mode::Logging | Mode::Disabled => "STEP_RECORDED",
        Mode::Enforcing | Mode::Monitoring => "STEP_EVALUATED",
    };
    let outcome = match (directive.goes_on, directive.stopped) {
        (true, _) => Outcome::Allowed,
        (false, false) => Outcome::Pending,
        (false, true) => Outcome::Denied,
    };
    Event {
        outcome: Some(outcome),
        agent: Some(step.agent.clone()),
        session_id: Some(step.caller.session_id.clone()),
        principal: Some(step.caller.principal.clone()),
        reasons: directive.factors.clone(),
        challenge_id: answer.challenge_id.clone(),
        approval_id: answer.approval_id.clone(),
        detail: Some(json!({
            "execution_id": execution.id,
            "step": number,
            "hint": step.hint,
            "mode": judge.autonomy.mode,
            "tier": directive.next_step_risk,
        })),
        ..Event::new(name)
    }
}
