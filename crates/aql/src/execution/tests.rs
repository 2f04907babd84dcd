use std::sync::{Arc, LazyLock};

use jiff::{SignedDuration, Timestamp};
use proptest::{collection, prelude::*};
use regex::Regex;
use serde_json::{Value, json};

use super::*;
use crate::error::{Code, Error};

/// How a published runner recognises a stack frame.
static LEAK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)at\s+\S+").unwrap());

/// The core states and some more, with nothing supported.
fn custom() -> Lifecycle {
    [("queued", Core::Pending), ("paused", Core::Running), ("retrying", Core::Running)]
        .into_iter()
        .fold(Lifecycle::new(), |lifecycle, (name, core)| lifecycle.with_state(name, core).unwrap())
}

fn all() -> Lifecycle {
    custom().with_cancel().with_retry().with_progress()
}

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + second, 0).unwrap()
}

fn pending(lifecycle: Lifecycle) -> Execution {
    Execution::new("x1".to_owned(), "execute_job".to_owned(), Arc::new(lifecycle), at(0))
}

fn boom() -> Failure {
    Error::internal("boom").into()
}

fn percentage(percentage: f64) -> Command {
    Command::Progress(Progress::new(Some(percentage), None, None).unwrap())
}

fn cancel() -> Command {
    Command::Cancel { reason: None }
}

/// One execution of this lifecycle in the named state.
fn in_state(lifecycle: Lifecycle, state: &str) -> Execution {
    let commands = match state {
        "pending" => vec![],
        "queued" => vec![Command::Enter("queued".to_owned())],
        "running" => vec![Command::Start],
        "paused" | "retrying" => vec![Command::Start, Command::Enter(state.to_owned())],
        "completed" => vec![Command::Start, Command::Complete(json!(1))],
        "failed" => vec![Command::Start, Command::Fail(boom())],
        _ => vec![Command::SessionEnded],
    };
    let execution = commands
        .into_iter()
        .fold(pending(lifecycle), |execution, command| execution.apply(command, at(1)).unwrap());
    assert_eq!(execution.record().status.as_str(), state);
    execution
}

fn commands() -> Vec<(&'static str, Command)> {
    vec![
        ("start", Command::Start),
        ("progress", percentage(10.0)),
        ("queue", Command::Enter("queued".to_owned())),
        ("pause", Command::Enter("paused".to_owned())),
        ("checkpoint", Command::Checkpoint),
        ("complete", Command::Complete(json!({"n": 1}))),
        ("fail", Command::Fail(boom())),
        ("cancel", cancel()),
        ("retry", Command::Retry),
        ("session", Command::SessionEnded),
        ("owner", Command::OwnerLost),
    ]
}

/// REQ-LIFE-02 REQ-LIFE-03 REQ-LIFE-04 REQ-LIFE-10 REQ-LIFE-12
#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    // The state after each command, in the order of `commands`; "-" where it is refused.
    let table = [
        ("pending", "running - queued - - - - cancelled - cancelled cancelled"),
        ("queued", "running - queued - - - - cancelled - cancelled cancelled"),
        ("running", "- running - paused running completed failed cancelled - failed failed"),
        ("paused", "- paused - paused paused completed failed cancelled - failed failed"),
        ("retrying", "- retrying - paused retrying completed failed cancelled - failed failed"),
        ("completed", "- - - - - - - - - - -"),
        ("failed", "- - - - - - - - running - -"),
        ("cancelled", "- - - - - - - - - - -"),
    ];
    assert_eq!(table.len(), all().states().count());
    for (state, row) in table {
        let row: Vec<_> = row.split(' ').collect();
        assert_eq!(row.len(), commands().len(), "{state}");
        for ((name, command), expected) in commands().into_iter().zip(row) {
            let before = in_state(all(), state);
            match before.apply(command, at(2)) {
                Ok(after) => assert_eq!(after.record().status.as_str(), expected, "{name} on {state}"),
                Err(illegal) => {
                    assert_eq!(expected, "-", "{name} on {state}");
                    assert_eq!(illegal.execution(), &before);
                }
            }
        }
    }
}

/// REQ-LIFE-03 REQ-LIFE-04 REQ-LIFE-14
#[test]
fn what_is_not_supported_is_refused_in_every_state() {
    for state in ["pending", "running", "completed", "failed", "cancelled"] {
        for (command, reason) in [
            (cancel(), Reason::CancelUnsupported),
            (Command::Retry, Reason::RetryUnsupported),
            (percentage(1.0), Reason::ProgressUnsupported),
        ] {
            let illegal = in_state(Lifecycle::new(), state).apply(command, at(2)).unwrap_err();
            assert_eq!(illegal.reason(), &reason, "{state}");
        }
    }
    // The end of a session asks nobody.
    let ended = pending(Lifecycle::new()).apply(Command::SessionEnded, at(2)).unwrap();
    assert_eq!(ended.core(), Core::Cancelled);
}

/// REQ-LIFE-10
#[test]
fn an_undeclared_state_is_refused() {
    let enter = |execution: &Execution, name: &str| execution.apply(Command::Enter(name.to_owned()), at(2));
    let running = in_state(all(), "running");
    let reason = |name: &str| enter(&running, name).unwrap_err().reason().clone();
    let within = |name: &str, undeclared| Reason::NotWithin { name: name.to_owned(), undeclared };
    assert_eq!(reason("sleeping"), within("sleeping", true));
    for name in ["queued", "pending", "completed", "cancelled"] {
        assert_eq!(reason(name), within(name, false));
    }
    let paused = enter(&running, "paused").unwrap();
    assert_eq!(paused.record().started_at, running.record().started_at);
    assert_eq!(enter(&paused, "running").unwrap(), running, "a state is left by its core state's name");
}

/// REQ-LIFE-05 REQ-LIFE-06 REQ-LIFE-07
#[test]
fn a_view_shows_what_applies() {
    let execution = pending(all());
    let common = |status: &str, attempt: u32| {
        json!({
            "execution_id": "x1", "operation": "execute_job", "status": status, "attempt": attempt,
            "created_at": "2027-01-15T08:00:00.000000Z",
        })
    };
    let with = |mut base: Value, more: Value| {
        base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        base
    };
    assert_eq!(execution.view(), common("pending", 1));
    let running = execution.apply(Command::Start, at(1)).unwrap();
    let began = json!({"started_at": "2027-01-15T08:00:01.000000Z"});
    assert_eq!(running.view(), with(common("running", 1), began.clone()));
    let report = Progress::new(Some(50.0), Some((5, 10)), Some("halfway".into())).unwrap();
    let halfway = running.apply(Command::Progress(report), at(2)).unwrap();
    let progress = json!({"percentage": 50, "current": 5, "total": 10, "message": "halfway"});
    assert_eq!(halfway.view()["progress"], progress);
    let over = json!({"started_at": began["started_at"], "finished_at": "2027-01-15T08:00:03.000000Z"});
    let completed = running.apply(Command::Complete(Value::Null), at(3)).unwrap();
    assert_eq!(completed.view(), with(with(common("completed", 1), over.clone()), json!({"result": null})));
    let failed = running.apply(Command::Fail(boom()), at(3)).unwrap();
    let error = json!({"error": {"code": "INTERNAL_ERROR", "message": "Internal error: boom"}});
    assert_eq!(failed.view(), with(with(common("failed", 1), over), error));
    let again = failed.apply(Command::Retry, at(9)).unwrap();
    assert_eq!(
        again.view(),
        with(common("running", 2), json!({"started_at": "2027-01-15T08:00:09.000000Z"}))
    );
}

/// REQ-LIFE-08
#[test]
fn a_cancelled_execution_keeps_its_progress_and_a_message() {
    let running = in_state(all(), "running").apply(percentage(35.0), at(2)).unwrap();
    let reason = Some("not needed any more".to_owned());
    let cancelled = running.apply(Command::Cancel { reason }, at(3)).unwrap();
    assert_eq!(cancelled.view()["progress"], json!({"percentage": 35, "message": "not needed any more"}));
    for reason in [None, Some(" ".to_owned())] {
        let cancelled = pending(all()).apply(Command::Cancel { reason }, at(3)).unwrap();
        assert_eq!(cancelled.view()["progress"], json!({"message": "Cancelled on request"}));
        assert_eq!(cancelled.view().get("started_at"), None);
    }
}

/// REQ-SESS-10
#[test]
fn an_end_from_outside_says_where_it_came_from() {
    for (command, reason, word) in
        [(Command::SessionEnded, "session_ended", "session"), (Command::OwnerLost, "owner_lost", "process")]
    {
        let failed = in_state(all(), "running").apply(command.clone(), at(3)).unwrap();
        let error = failed.view()["error"].clone();
        assert_eq!(
            (&error["code"], &error["details"]["reason"]),
            (&json!("INTERNAL_UNAVAILABLE"), &json!(reason))
        );
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
        let cancelled = in_state(all(), "queued").apply(command, at(3)).unwrap();
        assert!(cancelled.view()["progress"]["message"].as_str().unwrap().contains(word));
    }
}

#[test]
fn a_clock_that_was_set_back_makes_no_end_before_the_start() {
    let running = pending(all()).apply(Command::Start, at(-5)).unwrap();
    assert_eq!(running.record().started_at, Some(at(0)));
    let cancelled = running.apply(cancel(), at(-9)).unwrap();
    assert_eq!(cancelled.record().finished_at, Some(at(0)));
}

/// REQ-LIFE-04
#[test]
fn a_refusal_names_the_state_and_the_next_step() {
    for lifecycle in [Lifecycle::new(), all()] {
        for state in ["pending", "running", "completed", "failed", "cancelled"] {
            let before = in_state(lifecycle.clone(), state);
            let refusals = commands()
                .into_iter()
                .chain([("strange", Command::Enter("sleeping".to_owned()))])
                .filter_map(|(_, command)| before.apply(command, at(2)).err())
                .chain([Illegal::superseded(&before)]);
            for illegal in refusals {
                let error = Error::from(illegal);
                assert_eq!(error.code, Code::InvalidState);
                assert!(error.message.contains(state) && error.message.contains("'x1'"), "{}", error.message);
                assert_eq!(error.details["status"], state);
                assert_eq!(error.details["execution_id"], "x1");
                let hint = error.details["hint"].as_str().unwrap();
                for text in [&error.message, hint] {
                    assert!(!LEAK.is_match(text), "{text}");
                }
                assert_eq!(hint.contains("Retry"), state == "failed" && lifecycle.supports_retry(), "{hint}");
            }
        }
    }
    let error = Error::from(in_state(all(), "completed").apply(cancel(), at(2)).unwrap_err());
    assert_eq!(error.message, "Execution 'x1' is 'completed' and cannot be cancelled");
    assert_eq!(error.details["hint"], "Use its result, or call 'execute_job' for a new execution.");
}

/// REQ-LIFE-10
#[test]
fn names_of_an_author_make_no_message_look_like_a_leak() {
    let lifecycle = Lifecycle::new().with_state("on_heat", Core::Running).unwrap();
    let execution = Execution::new("flat".into(), "run_at".into(), Arc::new(lifecycle), at(0));
    let enter = |name: &str| Command::Enter(name.to_owned());
    let hot = execution.apply(Command::Start, at(1)).unwrap().apply(enter("on_heat"), at(1)).unwrap();
    for command in [Command::Start, cancel(), Command::Retry, enter("off_heat"), enter("failed")] {
        let error = Error::from(hot.apply(command, at(2)).unwrap_err());
        for text in [&error.message, error.details["hint"].as_str().unwrap()] {
            assert!(!LEAK.is_match(text), "{text}");
        }
    }
}

#[test]
fn a_contradictory_record_is_not_restored() {
    let restored = |state: &str, change: fn(&mut Record)| {
        let mut record = in_state(all(), state).into_record();
        change(&mut record);
        Execution::restore(record)
    };
    for state in all().states() {
        assert!(restored(state, |_| ()).is_ok(), "{state}");
    }
    type Change = fn(&mut Record);
    let broken: [(&str, Change); 10] = [
        ("running", |record| record.started_at = None),
        ("running", |record| record.finished_at = Some(at(5))),
        ("pending", |record| record.started_at = Some(at(5))),
        ("completed", |record| record.finished_at = None),
        ("completed", |record| record.finished_at = Some(at(-5))),
        ("failed", |record| record.error = None),
        ("completed", |record| record.error = Some(boom())),
        ("cancelled", |record| record.result = Some(json!(1))),
        ("paused", |record| record.lifecycle = Arc::new(Lifecycle::new())),
        ("pending", |record| record.attempt = 0),
    ];
    for (number, (state, change)) in broken.into_iter().enumerate() {
        assert!(restored(state, change).is_err(), "{number}");
    }
}

fn any_lifecycle() -> impl Strategy<Value = Lifecycle> {
    any::<[bool; 4]>().prop_map(|[with_custom, cancel, retry, progress]| {
        let lifecycle = if with_custom { custom() } else { Lifecycle::new() };
        let lifecycle = if cancel { lifecycle.with_cancel() } else { lifecycle };
        let lifecycle = if retry { lifecycle.with_retry() } else { lifecycle };
        if progress { lifecycle.with_progress() } else { lifecycle }
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    let text = || proptest::option::of("[a-z ]{0,6}");
    let states = ["queued", "paused", "retrying", "pending", "running", "completed", "failed", "sleeping"];
    prop_oneof![
        3 => Just(Command::Start),
        3 => (proptest::option::of(0.0..=100.0), proptest::option::of((0..9u64, 0..9u64)), text())
            .prop_filter_map("empty", |(percentage, counted, message)| {
                Progress::new(percentage, counted, message).ok().map(Command::Progress)
            }),
        3 => proptest::sample::select(states.to_vec()).prop_map(|name| Command::Enter(name.to_owned())),
        1 => Just(Command::Checkpoint),
        1 => Just(Command::Complete(json!({"done": true}))),
        2 => Just(Command::Fail(boom())),
        1 => text().prop_map(|reason| Command::Cancel { reason }),
        2 => Just(Command::Retry),
        1 => Just(Command::SessionEnded),
        1 => Just(Command::OwnerLost),
    ]
}

fn check_view(execution: &Execution) {
    let view = execution.view();
    let time = |key: &str| {
        let text = view.get(key)?.as_str().unwrap();
        assert!(text.ends_with('Z'), "{text}");
        Some(text.parse::<Timestamp>().unwrap())
    };
    let core = execution.core();
    let states = execution.record().lifecycle.to_value()["states"].clone();
    assert!(states.as_array().unwrap().contains(&view["status"]), "{view}");
    assert!(view["execution_id"].is_string() && time("created_at").is_some());
    assert_eq!(time("finished_at").is_some(), core.is_terminal(), "{view}");
    if let (Some(started), Some(finished)) = (time("started_at"), time("finished_at")) {
        assert!(started <= finished, "{view}");
    }
    assert_eq!(view.get("error").is_some(), core == Core::Failed, "{view}");
    assert_eq!(view.get("result").is_some(), core == Core::Completed, "{view}");
    if core == Core::Running {
        assert!(time("started_at").is_some(), "{view}");
    }
    if let Some(progress) = view.get("progress") {
        let progress = progress.as_object().unwrap();
        assert!(!progress.is_empty());
        assert_eq!(progress.contains_key("current"), progress.contains_key("total"));
        let percentage = progress.get("percentage").map_or(0.0, |value| value.as_f64().unwrap());
        assert!((0.0..=100.0).contains(&percentage), "{view}");
    }
    assert_eq!(Execution::restore(execution.record().clone()).as_ref(), Ok(execution));
}

proptest! {
    /// REQ-LIFE-02 REQ-LIFE-03 REQ-LIFE-04 REQ-LIFE-06 REQ-LIFE-07
    #[test]
    fn no_sequence_of_commands_leaves_the_legal_edges(
        lifecycle in any_lifecycle(),
        steps in collection::vec((any_command(), -3i64..20), 1..40),
    ) {
        let (mut execution, mut now) = (pending(lifecycle.clone()), at(0));
        for (command, seconds) in steps {
            now = now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
            let (retry, cancel) = (command == Command::Retry, matches!(command, Command::Cancel { .. }));
            let Ok(after) = execution.apply(command, now) else { continue };
            let (from, to) = (execution.core(), after.core());
            prop_assert!(from == to && !from.is_terminal() || from.leads_to(to), "{from} to {to}");
            prop_assert_eq!(from == Core::Failed, retry);
            prop_assert!(!retry || lifecycle.supports_retry());
            prop_assert!(!cancel || lifecycle.supports_cancel());
            prop_assert_eq!(after.record().attempt, execution.record().attempt + u32::from(retry));
            let percentage = |execution: &Execution| execution.record().progress.as_ref()?.percentage();
            prop_assert!(retry || percentage(&after) >= percentage(&execution));
            check_view(&after);
            execution = after;
        }
    }
}
