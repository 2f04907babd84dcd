use super::*;
use crate::store::safety::{Answered, ApprovalKind, ApprovalState};

async fn pending(process: &Process) -> Vec<crate::store::safety::Approval> {
    process.store.approvals(&[ApprovalState::Pending], 100, process.now).await.unwrap()
}

/// REQ-LOOP-16 REQ-LOOP-18 REQ-AUTO-15 REQ-NOTIF-04 REQ-NOTIF-08 REQ-NOTIF-09
#[tokio::test]
async fn a_pause_stays_until_somebody_else_confirms() {
    for hint in ["score 45", "git push origin main"] {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::start(dir.path());
        process.start_agent("a1").await.unwrap();
        let told = process.step("a1", hint).await;
        assert_eq!((&told["continue"], told.get("stopped")), (&json!(false), None));
        let paused = told_of(&told, "autonomy_pause");
        assert_eq!(paused[0]["message"], told["reason"]);
        assert!(paused[0]["metadata"].get("verificationId").is_none());
        process.wait(60);
        let again = process.step("a1", "list files").await;
        assert_eq!((&again["continue"], &again["reason"]), (&json!(false), &told["reason"]));
        assert_eq!(told_of(&again, "autonomy_pause").len(), 1);

        let asked = pending(&process).await;
        assert_eq!((asked.len(), asked[0].kind), (1, ApprovalKind::Pause));
        assert_eq!(asked[0].agent.as_deref(), Some("a1"));
        let (token, hash) = process.codes.token();
        process
            .store
            .approval_token(&asked[0].id, hash, "tester", "test", process.now)
            .await
            .unwrap()
            .unwrap();
        let confirm = async |operation: &str, token: &str, caller: Caller| {
            let hash = process.codes.token_hash(token);
            process.store.confirm(operation, hash, caller, process.now).await.unwrap()
        };
        let reporting = "record_execution_step";
        assert_eq!(confirm(reporting, &token, mallory()).await, Confirmed::Self_);
        assert_eq!(process.count("SELF_APPROVAL_DENIED").await, 1);
        assert_eq!(confirm(reporting, "conf_guessed", alice()).await, Confirmed::Invalid);
        assert_eq!(confirm("delete_item", &token, alice()).await, Confirmed::OtherOperation);
        assert_eq!(process.step("a1", hint).await["continue"], false, "nothing of it helped");
        assert!(matches!(confirm(reporting, &token, alice()).await, Confirmed::Done(_)));
        assert_eq!(confirm(reporting, &token, alice()).await, Confirmed::AlreadyUsed);
        let told = process.step("a1", hint).await;
        assert_eq!((&told["continue"], told_of(&told, "autonomy_pause").len()), (&json!(true), 0), "{told}");
        assert_eq!(process.step("a1", hint).await["continue"], false, "it was for the one time");
    }
}

/// REQ-AUTO-08 REQ-AUTO-05
#[tokio::test]
async fn an_answer_of_the_operator_ends_a_pause_and_starts_the_count_anew() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Enforcing, Rules { max_autonomous_steps: 2, ..rules() });
    process.start_agent("a1").await.unwrap();
    for _ in 0..2 {
        for _ in 0..2 {
            assert_eq!(process.step("a1", "list files").await["continue"], true);
        }
        assert_eq!(process.step("a1", "list files").await["reason"], "Step limit exceeded");
        let id = pending(&process).await[0].id.clone();
        let answered = process.store.answer(&id, true, "test", "tester", process.now).await.unwrap();
        assert!(matches!(answered, Answered::Done(_)));
    }
    let failed = process.report("a1", "list files", Some(StepOutcome::Failure)).await.unwrap().directive;
    assert!(!failed.goes_on && failed.reason.unwrap().contains("failure"));
    let id = pending(&process).await[0].id.clone();
    process.store.answer(&id, false, "test", "tester", process.now).await.unwrap();
    assert_eq!(process.step("a1", "list files").await["continue"], false, "refused is refused");
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_asked_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.start_agent("a1").await.unwrap();
    process.step("a1", "score 45").await;
    let first = pending(&process).await[0].id.clone();
    process.wait(2 * 24 * 3600);
    assert_eq!(process.step("a1", "score 45").await["continue"], false);
    let second = pending(&process).await;
    assert!(second.len() == 1 && second[0].id != first);
}

/// What holds for a session of the agent's principal in which nothing executes.
fn held(process: &Process, principal: &str) -> bool {
    let watch = process.store.watch(&process.judge.owner).unwrap();
    !watch.look(process.now).unwrap().executing("session-9", principal, process.now).is_empty()
}

/// REQ-LOOP-09 REQ-LOOP-16
#[tokio::test]
async fn a_pause_is_not_left_by_ending_the_execution() {
    for answer in [None, Some(false)] {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::start(dir.path());
        process.start_agent("a1").await.unwrap();
        let reason = process.step("a1", "score 45").await["reason"].clone();
        let id = pending(&process).await[0].id.clone();
        if let Some(answer) = answer {
            process.store.answer(&id, answer, "test", "tester", process.now).await.unwrap();
        }
        let refused = process.end_agent("a1", Status::Completed).await.unwrap_err();
        assert!(matches!(refused, Refused::Paused { .. }), "{refused:?}");
        assert!(process.end_agent("a1", Status::Cancelled).await.is_ok(), "giving up is always possible");
        process.store.end_session("session-1", process.now).await.unwrap();
        assert!(held(&process, "mallory") && !held(&process, "alice"));
        assert!(held(&Process { now: process.now, ..Process::start(dir.path()) }, "mallory"), "everywhere");

        process.start_agent("a1").await.unwrap();
        let told = process.step("a1", "list files").await;
        assert_eq!((&told["continue"], &told["reason"]), (&json!(false), &reason), "{told}");
        if answer.is_none() {
            process.store.answer(&id, true, "test", "tester", process.now).await.unwrap();
            assert!(!held(&process, "mallory"), "a person has let it go on");
            assert_eq!(process.step("a1", "list files").await["continue"], true);
            process.end_agent("a1", Status::Completed).await.unwrap();
        } else {
            process.end_agent("a1", Status::Cancelled).await.unwrap();
            process.wait(2 * 24 * 3600);
            assert!(!held(&process, "mallory"), "no refusal is for ever");
        }
    }
}

/// REQ-OOB-19 REQ-OOB-20: the same for a pause that waits for a code, in its own process.
#[tokio::test]
async fn a_verify_pause_is_not_left_by_ending_the_execution() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.start_agent("a1").await.unwrap();
    process.step("a1", "score 70").await;
    assert!(matches!(process.end_agent("a1", Status::Completed).await, Err(Refused::Paused { .. })));
    process.end_agent("a1", Status::Cancelled).await.unwrap();
    assert!(held(&process, "mallory"));
    assert!(!held(&Process { now: process.now, ..Process::start(dir.path()) }, "mallory"), "a restart");
    process.wait(301);
    assert!(!held(&process, "mallory"), "its time is up");
}

/// REQ-AUTO-08 REQ-AUTO-15: agreeing to go on after a failure is no consent to what comes next.
#[tokio::test]
async fn a_yes_to_a_failure_or_a_step_limit_is_no_consent_to_the_action() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Enforcing, Rules { max_autonomous_steps: 1, ..rules() });
    process.start_agent("a1").await.unwrap();
    let yes = async || {
        let id = pending(&process).await[0].id.clone();
        process.store.answer(&id, true, "test", "tester", process.now).await.unwrap();
    };
    let failed = process.report("a1", "score 45", Some(StepOutcome::Failure)).await.unwrap().directive;
    assert!(!failed.goes_on);
    yes().await;
    let told = process.step("a1", "score 45").await;
    assert_eq!((&told["continue"], &told["nextStepRisk"]), (&json!(false), &json!("confirm")), "{told}");
    yes().await;
    assert_eq!(process.step("a1", "score 45").await["continue"], true, "this was asked");
    assert_eq!(process.step("a1", "score 50").await["reason"], "Step limit exceeded");
    yes().await;
    let told = process.step("a1", "score 50").await;
    assert_eq!((&told["continue"], &told["nextStepRisk"]), (&json!(false), &json!("confirm")), "{told}");
}

/// REQ-AUTO-16 REQ-NOTIF-05 REQ-OOB-01 REQ-OOB-19 REQ-OOB-20 REQ-OOB-21
#[tokio::test]
async fn a_verify_pause_waits_for_a_code_or_its_expiry_in_its_own_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.start_agent("a1").await.unwrap();
    let told = process.step("a1", "score 70").await;
    assert_eq!((&told["continue"], told.get("stopped")), (&json!(false), None));
    assert_eq!(told["nextStepRisk"], "verify");
    let id = verification_id(told_of(&told, "autonomy_pause")[0]);
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
    let second = process.step("a1", "list files").await;
    assert_eq!(second["continue"], false);
    assert!(second["reason"].as_str().unwrap().contains(&id));
    assert_eq!(process.store.challenges(process.now).await.unwrap().len(), 1, "no second challenge");
    assert!(process.start_agent("a1").await.is_ok(), "a pause keeps nobody from starting");
    assert_eq!(process.step("a1", "list files").await["continue"], false, "but it is the agent's");

    let restarted = Process::start(dir.path());
    restarted.start_agent("a1").await.unwrap();
    assert_eq!(restarted.step("a1", "list files").await["continue"], true, "a restart forgets it");

    let code = process.reveal(&id).await;
    assert!(matches!(process.give(&id, &code).await, Verified::Right(_)));
    let told = process.step("a1", "score 70").await;
    assert_eq!((&told["continue"], told_of(&told, "autonomy_pause").len()), (&json!(true), 0), "{told}");
    let other = process.step("a1", "score 70").await;
    let other = verification_id(told_of(&other, "autonomy_pause")[0]);
    assert_ne!(other, id);
    process.wait(301);
    let told = process.step("a1", "list files").await;
    assert_eq!((&told["continue"], told_of(&told, "autonomy_pause").len()), (&json!(true), 0));
    let third = process.step("a1", "score 70").await;
    assert_ne!(verification_id(told_of(&third, "autonomy_pause")[0]), other);
}

/// REQ-OOB-01 REQ-OOB-12
#[tokio::test]
async fn a_wrong_code_ends_no_pause() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.start_agent("a1").await.unwrap();
    let told = process.step("a1", "score 70").await;
    let first = verification_id(told_of(&told, "autonomy_pause")[0]);
    assert!(matches!(process.give(&first, "wrong").await, Verified::Wrong { .. }));
    let told = process.step("a1", "list files").await;
    assert_eq!(told["continue"], false, "{told}");
    let second = verification_id(told_of(&told, "autonomy_pause")[0]);
    assert_ne!(second, first, "another challenge is issued");
    let code = process.reveal(&second).await;
    assert!(matches!(process.give(&second, &code).await, Verified::Right(_)));
    assert_eq!(process.step("a1", "score 70").await["continue"], true);
    process.step("a1", "score 70").await;
    process.wait(301);
    assert_eq!(process.step("a1", "list files").await["continue"], true, "expiry lifts it");
}

/// REQ-NOTIF-03 LREQ-GATE-11
#[tokio::test]
async fn a_call_that_waits_for_a_person_holds_the_agent_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.start_agent("a1").await.unwrap();
    process.wait(1);
    let new = crate::store::safety::NewApproval {
        id: "appr_1".to_owned(),
        kind: ApprovalKind::Call,
        scope: aql::confirm::Scope {
            operation: "delete_item".to_owned(),
            params_hash: [7; 32],
            adapter: "test".to_owned(),
            session_id: mallory().session_id,
            principal: mallory().principal,
        },
        agent: Some("a1".to_owned()),
        danger: DangerLevel::Destructive,
        trust: None,
        reasons: vec!["it destroys".to_owned()],
        message: "Delete it?".to_owned(),
        params: json!({}),
        waits: SignedDuration::from_mins(15),
        holds: SignedDuration::from_mins(5),
        cooldown: None,
    };
    process.store.claim(new, process.now).await.unwrap();
    let told = process.step("a1", "list files").await;
    assert_eq!(told["continue"], false);
    assert_eq!(told_of(&told, "autonomy_pause")[0]["message"], told["reason"]);
    let waiting = async |agent: &str| {
        let found = process.store.waiting_calls(&process.judge.owner, "session-1", agent, process.now).await;
        found.unwrap().into_iter().map(|call| call.approval_id).collect::<Vec<_>>()
    };
    assert_eq!(waiting("a1").await, ["appr_1"]);
    process.start_agent("a2").await.unwrap();
    assert_eq!(process.step("a2", "list files").await["continue"], true, "it is no call of this agent");
    assert!(waiting("a2").await.is_empty());
    let pending = told_of(&told, "permission_pending");
    assert_eq!(pending[0]["metadata"]["operation"], "delete_item");
    assert_eq!(pending[0]["metadata"]["level"], "destructive");
    let (token, hash) = process.codes.token();
    process.store.approval_token("appr_1", hash, "tester", "test", process.now).await.unwrap().unwrap();
    for (token, operation, caller) in
        [("conf_x", "delete_item", alice()), (&*token, "other", alice()), (&*token, "delete_item", mallory())]
    {
        let hash = process.codes.token_hash(token);
        let confirmed = process.store.confirm(operation, hash, caller, process.now).await.unwrap();
        assert!(!matches!(confirmed, Confirmed::Done(_)));
        assert_eq!(told_of(&process.step("a1", "list files").await, "permission_pending").len(), 1);
    }
    process.wait(1);
    let confirmed = process.store.confirm("delete_item", hash, alice(), process.now).await.unwrap();
    assert!(matches!(confirmed, Confirmed::Done(_)), "{confirmed:?}");
    let told = process.step("a1", "list files").await;
    assert_eq!((&told["continue"], told_of(&told, "permission_pending").len()), (&json!(true), 0));
    assert_eq!(told_of(&told, "status").len(), 1, "an answer is told once: {told}");
    process.wait(1);
    assert_eq!(told_of(&process.step("a1", "list files").await, "status").len(), 0);
}
