use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::*;
use crate::autonomy::notify;
use jiff::Timestamp;

fn rules() -> Rules {
    let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Rules {
        deny: list(&["drop_*", "delete_all*", "rm -rf*"]),
        requires_approval: list(&["delete_*", "*force*", "deploy_*", "git push*"]),
        auto_approve: list(&["read_*", "list_*", "get_*", "search_*"]),
        ..Rules::default()
    }
}

fn report(hint: &str) -> Report {
    let action = Action { hint: Hint::read(hint), known: None, repeated: 0 };
    Report { action, outcome: None, steps_before: 0 }
}

fn judge(rules: Rules, score: u8, report: &Report) -> (Verdict, u32) {
    let calls = AtomicU32::new(0);
    let scorer = |_: &Action| {
        calls.fetch_add(1, Ordering::Relaxed);
        Risk { score, factors: vec![format!("score {score}")] }
    };
    let verdict = evaluate(&Settings::new(rules).unwrap(), &scorer, report);
    (verdict, calls.load(Ordering::Relaxed))
}

fn halt(rules: Rules, score: u8, report: &Report) -> Option<Halt> {
    judge(rules, score, report).0.halt.map(|(halt, _)| halt)
}

/// REQ-AUTO-05 REQ-AUTO-06
#[test]
fn as_many_steps_pass_as_are_allowed_and_no_more() {
    for limit in [1, 3, 5, 50] {
        for before in 0..=limit {
            let report = Report { steps_before: before, ..report("listing files") };
            let (verdict, _) = judge(Rules { max_autonomous_steps: limit, ..rules() }, 10, &report);
            if before < limit {
                assert_eq!((verdict.halt, verdict.steps_remaining), (None, limit - before - 1));
            } else {
                assert_eq!(verdict.halt, Some((Halt::StepLimit, "Step limit exceeded".to_owned())));
                assert_eq!(verdict.steps_remaining, 0);
                assert!(!verdict.factors.is_empty());
            }
        }
    }
}

/// REQ-AUTO-04
#[test]
fn the_first_stage_that_pauses_ends_it() {
    let everything =
        Report { steps_before: 25, outcome: Some(StepOutcome::Failure), ..report("rm -rf /tmp/x") };
    assert_eq!(judge(rules(), 99, &everything).0.halt.unwrap().1, "Step limit exceeded");
    let later = Report { steps_before: 0, ..everything };
    assert_eq!(halt(rules(), 99, &later), Some(Halt::Failure));
    let later = Report { outcome: None, ..later };
    let (verdict, scored) = judge(rules(), 99, &later);
    assert_eq!((verdict.halt.map(|(halt, _)| halt), scored), (Some(Halt::Deny), 0));
}

/// REQ-AUTO-08
#[test]
fn a_failure_pauses_and_nothing_else_of_the_outcome_does() {
    for (outcome, expected) in [
        (Some(StepOutcome::Failure), Some(Halt::Failure)),
        (Some(StepOutcome::Success), None),
        (Some(StepOutcome::Skipped), None),
        (None, None),
    ] {
        let report = Report { outcome, ..report("listing files") };
        let (verdict, _) = judge(rules(), 10, &report);
        assert_eq!(verdict.halt.as_ref().map(|(halt, _)| *halt), expected);
        if let Some((_, reason)) = verdict.halt {
            assert!(reason.contains("failure") && verdict.factors.join(" ").contains("failure"));
        }
    }
}

/// REQ-AUTO-09 REQ-AUTO-10 REQ-AUTO-11 REQ-AUTO-12 LREQ-GATE-12
#[test]
fn patterns_stop_before_they_pause_before_they_approve() {
    for (hint, expected, scored) in [
        ("drop_users", Some(Halt::Deny), 0),
        ("delete_user", Some(Halt::RequiresApproval), 0),
        ("read_file notes.txt", None, 0),
        ("read_secrets", None, 0),
        ("git push origin main", Some(Halt::RequiresApproval), 0),
        ("delete_all_records", Some(Halt::Deny), 0),
        ("read_file with force", Some(Halt::RequiresApproval), 0),
        ("rm -rf /tmp/x", Some(Halt::Deny), 0),
        ("thinking about it", Some(Halt::DangerZone), 1),
        ("re\u{200b}ad_file notes", Some(Halt::DangerZone), 1),
    ] {
        let (verdict, calls) = judge(rules(), 90, &report(hint));
        assert_eq!((verdict.halt.map(|(halt, _)| halt), calls), (expected, scored), "{hint}");
    }
    let (verdict, _) = judge(rules(), 10, &report("something else"));
    assert_eq!((verdict.halt, verdict.tier), (None, Some(SafetyTier::Advisory)));
}

/// REQ-AUTO-13 REQ-AUTO-14 REQ-AUTO-16 REQ-AUTO-17 REQ-OOB-02
#[test]
fn the_tier_decides_what_a_person_has_to_do() {
    for (score, expected, code) in [
        (0, None, false),
        (30, None, false),
        (31, Some(Halt::Confirm), false),
        (60, Some(Halt::Confirm), false),
        (61, Some(Halt::Verify), true),
        (85, Some(Halt::Verify), true),
        (86, Some(Halt::DangerZone), true),
        (100, Some(Halt::DangerZone), true),
        (255, Some(Halt::DangerZone), true),
    ] {
        let halted = halt(Rules { risk_tolerance: Tolerance::Aggressive, ..rules() }, score, &report("x"));
        assert_eq!(halted, expected, "{score}");
        assert_eq!(halted.is_some_and(Halt::needs_code), code, "{score}");
        assert_eq!(halted.is_some_and(Halt::is_stop), score >= 86);
    }
}

/// REQ-AUTO-19 REQ-AUTO-20
#[test]
fn the_tolerance_only_tightens() {
    for (tolerance, score, expected) in [
        (Tolerance::Conservative, 24, None),
        (Tolerance::Conservative, 25, None),
        (Tolerance::Conservative, 26, Some(Halt::Tolerance)),
        (Tolerance::Conservative, 28, Some(Halt::Tolerance)),
        (Tolerance::Moderate, 28, None),
        (Tolerance::Aggressive, 45, Some(Halt::Confirm)),
    ] {
        assert_eq!(halt(Rules { risk_tolerance: tolerance, ..rules() }, score, &report("x")), expected);
    }
}

/// REQ-AUTO-23
#[test]
fn a_step_limit_alone_is_enough() {
    let stages = Stages { outcome: false, patterns: false, risk: false, tolerance: false };
    let rules = Rules { stages, max_autonomous_steps: 2, ..rules() };
    for before in 0..3 {
        let report = Report {
            steps_before: before,
            outcome: Some(StepOutcome::Failure),
            ..report("rm -rf / permanently")
        };
        let (verdict, calls) = judge(rules.clone(), 100, &report);
        assert_eq!(verdict.halt.is_some(), before == 2);
        assert_eq!((calls, verdict.tier), (0, None));
        assert!(!verdict.factors.is_empty());
    }
}

/// REQ-AUTO-21
#[test]
fn agents_may_have_settings_of_their_own() {
    let strict = Rules { max_autonomous_steps: 1, deny: vec!["*".to_owned()], ..rules() };
    let autonomy = Autonomy {
        mode: Mode::Enforcing,
        all: Settings::new(rules()).unwrap(),
        agents: [("a2".to_owned(), Settings::new(strict).unwrap())].into(),
    };
    let stopped = |agent| evaluate(autonomy.of(agent), &Words, &report("list_files")).halt.is_some();
    assert_eq!((stopped("a1"), stopped("a2")), (false, true));
}

/// REQ-LOOP-08 REQ-LOOP-14 REQ-LOOP-22
#[test]
fn every_kind_of_action_is_judged_by_the_same_stages() {
    let seen = Cell::new(0);
    for hint in [
        "calling write_file on project/config.json to update database URL",
        "executing shell command: npm install express",
        "sending message to #general channel via Slack MCP server",
        "reading the file notes.txt",
        "GET https://example.com/feed.xml",
        "querying the orders table",
        "changing the thermostat to 21 degrees",
    ] {
        let verdict = evaluate(&Settings::new(Rules::default()).unwrap(), &Words, &report(hint));
        assert!(verdict.tier.is_some() && !verdict.factors.is_empty(), "{hint}: {verdict:?}");
        seen.set(seen.get() + 1);
    }
    assert_eq!(seen.get(), 7);
}

/// REQ-NOTIF-01 REQ-NOTIF-04 REQ-NOTIF-05 REQ-NOTIF-07
#[test]
fn notifications_come_in_the_order_of_time() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let facts = notify::Facts {
        pending: vec![notify::Pending {
            operation: "delete_item".to_owned(),
            reason: "it is destructive".to_owned(),
            level: "destructive".to_owned(),
            at: at(30),
        }],
        pause: Some(notify::Pause {
            reason: "r".to_owned(),
            verification_id: Some("v".to_owned()),
            at: at(20),
        }),
        blocks: vec![notify::Blocked {
            agent: "a2".to_owned(),
            reason: "b".to_owned(),
            verification_id: Some("w".to_owned()),
            at: at(40),
        }],
        news: vec![notify::News { is_error: true, message: "m".to_owned(), operation: None, at: at(10) }],
    };
    let told = serde_json::json!(notify::notifications(facts));
    let types: Vec<&str> = told.as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["error", "autonomy_pause", "permission_pending", "danger_zone"]);
    assert_eq!(told[1]["message"], "r");
    assert_eq!(told[1]["metadata"]["verificationId"], "v");
    assert_eq!(told[2]["metadata"]["operation"], "delete_item");
    for one in told.as_array().unwrap() {
        assert!(one["timestamp"].as_str().unwrap().ends_with('Z'));
        let keys = one["metadata"].as_object().into_iter().flat_map(|all| all.keys());
        for key in keys {
            assert!(["operation", "reason", "level", "verificationId"].contains(&key.as_str()), "{key}");
        }
    }
}
