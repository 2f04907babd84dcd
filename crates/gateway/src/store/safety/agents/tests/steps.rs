use super::*;

/// REQ-LOOP-02 REQ-LOOP-05 REQ-LOOP-09 REQ-LOOP-12 REQ-AUTO-01 REQ-AUTO-02
#[tokio::test]
async fn every_report_is_answered_and_audited_until_the_execution_ends() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Enforcing, Rules { max_autonomous_steps: 60, ..rules() });
    assert_eq!(process.report("a1", "list files", None).await, Err(Refused::NotExecuting));
    process.start_agent("a1").await.unwrap();
    for _ in 0..100 {
        process.step("a1", "list files").await;
    }
    assert_eq!(process.count("STEP_EVALUATED").await, 100);
    let kept: (i64, i64) = process
        .store
        .database
        .read(|connection| {
            Ok(connection.query_row(
                "SELECT count(*), count(findings) + count(description) FROM agent_steps",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?)
        })
        .await
        .unwrap();
    assert_eq!(kept, (100, 200));
    let asked = [crate::store::safety::ApprovalState::Pending];
    let asked = process.store.approvals(&asked, 1, process.now).await.unwrap();
    process.store.answer(&asked[0].id, true, "test", "tester", process.now).await.unwrap();
    let done = process.end_agent("a1", Status::Completed).await.unwrap();
    assert_eq!(done.ended.unwrap().1, Status::Completed);
    assert_eq!(process.report("a1", "list files", None).await, Err(Refused::NotExecuting));
    process.start_agent("a1").await.unwrap();
    let aborted = process.end_agent("a1", Status::Cancelled).await.unwrap();
    assert_eq!(aborted.ended.unwrap().1, Status::Cancelled);
    assert_eq!(process.end_agent("a1", Status::Completed).await, Err(Refused::NotExecuting));
    assert!(process.store.verify_audit().await.unwrap().is_ok());
}

/// REQ-AUTO-04 REQ-AUTO-05
#[tokio::test]
async fn steps_remaining_count_down_to_a_pause() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Enforcing, Rules { max_autonomous_steps: 3, ..rules() });
    process.start_agent("a1").await.unwrap();
    for remaining in [2, 1, 0] {
        let told = process.step("a1", "list files").await;
        assert_eq!((&told["continue"], &told["stepsRemaining"]), (&json!(true), &json!(remaining)));
    }
    let told = process.step("a1", "rm -rf /").await;
    assert_eq!((&told["continue"], &told["reason"]), (&json!(false), &json!("Step limit exceeded")));
    assert!(told.get("stopped").is_none());
    assert_eq!(process.store.challenges(process.now).await.unwrap(), [], "no challenge is issued");
}

/// REQ-LOOP-19 REQ-AUTO-01
#[tokio::test]
async fn monitoring_says_what_would_have_been_and_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Monitoring, Rules { max_autonomous_steps: 3, ..rules() });
    process.start_agent("a1").await.unwrap();
    for hint in ["rm -rf /", "score 95", "score 70", "list files", "list files"] {
        let told = process.step("a1", hint).await;
        assert_eq!((&told["continue"], told.get("stopped")), (&json!(true), None), "{told}");
        assert!(process.report("a1", "x", None).await.unwrap().evaluated);
        let text = told["factors"].to_string();
        if hint != "list files" || told["stepsRemaining"] == 0 {
            assert!(text.contains("would have been"), "{told}");
        }
    }
    assert!(process.store.blocks().await.unwrap().is_empty());
    assert!(process.store.challenges(process.now).await.unwrap().is_empty());
    assert!(
        process
            .store
            .approvals(&[super::super::super::ApprovalState::Pending], 9, process.now)
            .await
            .unwrap()
            .is_empty()
    );
}

/// REQ-LOOP-20
#[tokio::test]
async fn logging_evaluates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::with(dir.path(), Mode::Logging, rules());
    process.start_agent("a1").await.unwrap();
    for hint in ["rm -rf /", "score 95"] {
        let recorded = process.report("a1", hint, None).await.unwrap();
        assert!(!recorded.evaluated);
        let told = json!(recorded.directive);
        assert_eq!(told["continue"], true);
        assert!(told["factors"].to_string().contains("not evaluated") && told.get("nextStepRisk").is_none());
    }
    assert_eq!((process.count("STEP_RECORDED").await, process.count("STEP_EVALUATED").await), (2, 0));
}

/// conflict 57
#[tokio::test]
async fn blocks_are_kept_under_monitoring_and_not_enforced() {
    let dir = tempfile::tempdir().unwrap();
    let enforcing = Process::start(dir.path());
    enforcing.start_agent("a1").await.unwrap();
    enforcing.step("a1", "rm -rf /").await;
    let monitoring = Process::with(dir.path(), Mode::Monitoring, rules());
    monitoring.start_agent("a1").await.unwrap();
    assert_eq!(monitoring.step("a1", "list files").await["continue"], true);
    assert_eq!(monitoring.store.blocks().await.unwrap().len(), 1);
    assert!(enforcing.start_agent("a1").await.is_err());
}

/// REQ-NOTIF-06 REQ-NOTIF-07 REQ-OOB-10
#[tokio::test]
async fn a_block_is_told_to_everybody_who_executes() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    for agent in ["a1", "a2", "a3"] {
        process.start_agent(agent).await.unwrap();
    }
    process.wait(1);
    let stopped = process.step("a1", "drop_users now").await;
    let zones = told_of(&stopped, "danger_zone");
    assert_eq!(zones.len(), 1);
    let id = verification_id(zones[0]);
    process.wait(1);
    process.start_agent("a4").await.unwrap();
    for agent in ["a2", "a3"] {
        for _ in 0..2 {
            let told = process.step(agent, "list files").await;
            assert_eq!(told["continue"], true, "others go on");
            let zones = told_of(&told, "danger_zone");
            assert_eq!((zones.len(), verification_id(zones[0])), (1, id.clone()));
        }
    }
    assert_eq!(told_of(&process.step("a4", "list files").await, "danger_zone").len(), 0, "it came later");
    process.store.unblock("a1", "tester", "test", "checked", process.now).await.unwrap().unwrap();
    for agent in ["a1", "a2", "a3"] {
        assert_eq!(told_of(&process.step(agent, "list files").await, "danger_zone").len(), 0);
    }
}

/// LREQ-DANGER-19
#[tokio::test]
async fn the_same_deed_many_times_weighs_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::with(
        dir.path(),
        Mode::Monitoring,
        Rules { requires_approval: Vec::new(), escalate_after: 10, ..rules() },
    );
    process.judge.scorer = Arc::new(aql::autonomy::Words);
    process.start_agent("a1").await.unwrap();
    let mut tiers = Vec::new();
    for number in 0..15 {
        let told = process.step("a1", &format!("delete the record {number}")).await;
        tiers.push(told["nextStepRisk"].as_str().unwrap().to_owned());
    }
    assert!(
        tiers[..10].iter().all(|tier| tier == "confirm") && tiers[10..].iter().all(|tier| tier == "verify"),
        "{tiers:?}"
    );
}
