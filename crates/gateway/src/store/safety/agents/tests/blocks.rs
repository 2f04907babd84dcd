use super::*;

async fn blocked(process: &Process) -> String {
    process.start_agent("a1").await.unwrap();
    let told = process.step("a1", "rm -rf /tmp/x").await;
    assert_eq!((&told["continue"], &told["stopped"]), (&json!(false), &json!(true)));
    verification_id(told_of(&told, "danger_zone")[0])
}

/// REQ-LOOP-06 REQ-LOOP-17 REQ-AUTO-10 REQ-AUTO-17 REQ-OOB-15 REQ-OOB-18
#[tokio::test]
async fn nothing_of_a_blocked_agent_goes_on_but_its_end() {
    for hint in ["rm -rf /tmp/x", "score 90"] {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path());
        process.start_agent("a1").await.unwrap();
        let told = process.step("a1", hint).await;
        assert_eq!((&told["stopped"], &told["nextStepRisk"]), (&json!(true), &json!("danger_zone")));
        let id = verification_id(told_of(&told, "danger_zone")[0]);
        let is_refused = |refused: Refused| {
            let Refused::Blocked { block, challenge, .. } = refused else { panic!("{refused:?}") };
            assert_eq!((block.challenge_id, challenge.unwrap().id), (id.clone(), id.clone()));
        };
        is_refused(process.report("a1", "list files", None).await.unwrap_err());
        is_refused(process.end_agent("a1", Status::Completed).await.unwrap_err());
        is_refused(process.start_agent("a1").await.unwrap_err());
        process.end_agent("a1", Status::Cancelled).await.unwrap();
        is_refused(process.start_agent("a1").await.unwrap_err());
        let other = Process::start(dir.path());
        is_refused(other.start_agent("a1").await.unwrap_err());
        other.start_agent("a2").await.unwrap();
        assert_eq!(other.step("a2", "list files").await["continue"], true);
    }
}

/// REQ-OOB-11 REQ-OOB-12 REQ-OOB-25
#[tokio::test]
async fn a_code_works_once_and_a_wrong_one_spends_the_challenge() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path());
    let first = blocked(&process).await;
    let code = process.reveal(&first).await;
    for given in ["0000-0000-0000-0000-0000-0000-0000", &code] {
        assert!(matches!(process.give(&first, given).await, Verified::Wrong { .. }));
    }
    assert_eq!(process.store.blocks().await.unwrap().len(), 1);
    assert_eq!(process.count("VERIFICATION_FAILED").await, 2);
    let Refused::Blocked { challenge, .. } = process.report("a1", "x", None).await.unwrap_err() else {
        panic!()
    };
    let second = challenge.unwrap().id;
    assert_ne!(second, first, "another challenge is issued");
    let old = process.reveal(&second).await;
    let code = process.reveal(&second).await;
    assert_ne!(old, code, "a second look makes a new code");
    assert!(matches!(
        process.give(&second, &code.to_lowercase().replace('-', " ")).await,
        Verified::Right(_)
    ));
    assert!(matches!(process.give(&second, &code).await, Verified::Wrong { .. }), "no replay");
    assert!(process.store.blocks().await.unwrap().is_empty());
    assert_eq!(process.step("a1", "list files").await["continue"], true);
    assert_eq!(process.step("a1", "rm -rf /tmp/x").await["stopped"], true, "what is denied stays denied");
    for event in process.events().await {
        let text = event.to_string();
        assert!(!text.contains(&code) && !text.contains(&code.replace('-', "")), "{text}");
    }
    let failed: Vec<Value> =
        process.events().await.into_iter().filter(|event| event["event"] == "VERIFICATION_FAILED").collect();
    assert!(failed.iter().all(|event| event["agent"] == "a1" && event["challenge_id"].is_string()));
}

/// REQ-OOB-12: the code that an older look showed is worth nothing.
#[tokio::test]
async fn a_code_that_was_replaced_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path());
    let id = blocked(&process).await;
    let old = process.reveal(&id).await;
    process.reveal(&id).await;
    assert!(matches!(process.give(&id, &old).await, Verified::Wrong { .. }));
    assert!(matches!(process.give(&id, "no code").await, Verified::Wrong { .. }));
    assert!(matches!(process.give("no challenge", &old).await, Verified::Missing));
}

/// REQ-OOB-13 REQ-OOB-14 REQ-OOB-17
#[tokio::test]
async fn an_expired_challenge_counts_as_failed_and_time_ends_no_block() {
    for (life, in_time, late) in [(300, 299, 301), (60, 59, 61)] {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Process::start(dir.path());
        process.judge.challenge_life = SignedDuration::from_secs(life);
        let id = blocked(&process).await;
        let code = process.reveal(&id).await;
        process.wait(late);
        assert!(matches!(process.give(&id, &code).await, Verified::Wrong { .. }));
        assert_eq!(
            (process.count("CHALLENGE_EXPIRED").await, process.count("VERIFICATION_FAILED").await),
            (1, 1)
        );
        process.wait(30 * 24 * 3600);
        let Refused::Blocked { challenge, .. } = process.start_agent("a1").await.unwrap_err() else {
            panic!()
        };
        let id = challenge.unwrap().id;
        let code = process.reveal(&id).await;
        process.wait(in_time);
        assert!(matches!(process.give(&id, &code).await, Verified::Right(_)));
    }
}

/// REQ-OOB-16 REQ-OOB-17 REQ-OOB-24
#[tokio::test]
async fn blocks_and_lockouts_survive_and_only_the_operator_ends_a_block_without_a_code() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path());
    let id = blocked(&process).await;
    for _ in 0..10 {
        assert!(matches!(process.give(&id, "wrong").await, Verified::Wrong { .. }));
    }
    let now = process.now;
    process.store.close().await;
    let mut process = Process::start(dir.path());
    process.now = now;
    assert_eq!(process.give(&id, "wrong").await, Verified::Locked { retry_after_seconds: 60 });
    assert!(process.start_agent("a1").await.is_err());
    let block =
        process.store.unblock("a1", "olivia", "command", "false alarm", process.now).await.unwrap().unwrap();
    assert_eq!(block.agent, "a1");
    let event = process.events().await.into_iter().find(|event| event["event"] == "AGENT_UNBLOCKED").unwrap();
    assert_eq!(
        (&event["channel"], &event["detail"]["by"]),
        (&json!("command"), &json!("olivia: false alarm"))
    );
    process.start_agent("a1").await.unwrap();
    assert_eq!(process.store.unblock("a1", "olivia", "command", "", process.now).await, Ok(None));
}

/// REQ-OOB-22 REQ-OOB-23
#[tokio::test]
async fn the_eleventh_attempt_in_a_minute_is_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    let mut id = blocked(&process).await;
    for violation in [60, 120] {
        for _ in 0..10 {
            process.give(&id, "wrong").await;
        }
        if let Err(Refused::Blocked { challenge: Some(challenge), .. }) = process.start_agent("a1").await {
            id = challenge.id;
        }
        let code = process.reveal(&id).await;
        assert_eq!(process.give(&id, &code).await, Verified::Locked { retry_after_seconds: violation });
        process.wait(violation.try_into().unwrap());
    }
    let code = process.reveal(&id).await;
    assert!(matches!(process.give(&id, &code).await, Verified::Right(_)), "listened to again");
    process.start_agent("a2").await.unwrap();
    let other = process.step("a2", "rm -rf /").await;
    let other = verification_id(told_of(&other, "danger_zone")[0]);
    let code = process.reveal(&other).await;
    assert!(matches!(process.give(&other, &code).await, Verified::Right(_)), "others are not locked");
}

/// REQ-OOB-02
#[tokio::test]
async fn what_needs_a_code_asks_for_one_and_nothing_else_does() {
    for (hint, expected) in
        [("score 60", 0), ("score 61", 1), ("score 85", 1), ("score 86", 1), ("score 100", 1), ("drop_x", 1)]
    {
        let dir = tempfile::tempdir().unwrap();
        let process = Process::start(dir.path());
        process.start_agent("a1").await.unwrap();
        process.step("a1", hint).await;
        assert_eq!(process.store.challenges(process.now).await.unwrap().len(), expected, "{hint}");
    }
}

/// A flood of attempts to start does not make a flood of challenges.
#[tokio::test]
async fn challenges_are_not_issued_again_without_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    process.judge.challenge_life = SignedDuration::from_secs(1);
    blocked(&process).await;
    let mut refusals = 0;
    for _ in 0..30 {
        process.wait(1);
        let Refused::Blocked { challenge, retry_after_seconds, .. } =
            process.start_agent("a1").await.unwrap_err()
        else {
            panic!()
        };
        assert_eq!(challenge.is_none(), retry_after_seconds.is_some());
        refusals += u32::from(challenge.is_none());
    }
    assert!(refusals > 15, "{refusals}");
}

/// What is decided by in memory follows what any process does.
#[tokio::test]
async fn a_watch_sees_what_others_do_and_reads_nothing_else() {
    use aql::policy::Executing;
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (Process::start(dir.path()), Process::start(dir.path()));
    let watch = one.store.watch(&one.judge.owner).unwrap();
    let first = watch.look(one.now).unwrap();
    assert!(first.blocks.is_empty());
    assert!(Arc::ptr_eq(&first, &watch.look(one.now).unwrap()), "nothing is new");
    one.store.audit(aql::audit::Event::new("TEST"), one.now).await.unwrap();
    assert!(Arc::ptr_eq(&first, &watch.look(one.now).unwrap()), "an audit entry changes nothing here");
    let executing = |snapshot: &Snapshot| {
        let bound = snapshot.sessions.get("session-1").into_iter().flatten();
        bound.map(|bound| bound.executing(one.now)).collect::<Vec<_>>()
    };
    one.start_agent("a1").await.unwrap();
    let seen = watch.look(one.now).unwrap();
    assert_eq!(executing(&seen), [Executing::NothingReported { agent: "a1".to_owned() }]);
    one.step("a1", "list files").await;
    assert_eq!(executing(&watch.look(one.now).unwrap()), [Executing::Running { agent: "a1".to_owned() }]);
    one.step("a1", "score 45").await;
    let seen = watch.look(one.now).unwrap();
    assert!(matches!(&executing(&seen)[..], [Executing::Paused { .. }]));
    let asked =
        one.store.approvals(&[crate::store::safety::ApprovalState::Pending], 1, one.now).await.unwrap();
    other.store.answer(&asked[0].id, true, "test", "tester", one.now).await.unwrap();
    assert_eq!(executing(&watch.look(one.now).unwrap()), [Executing::Running { agent: "a1".to_owned() }]);
    other.start_agent("a1").await.unwrap();
    other.step("a1", "rm -rf /").await;
    let seen = watch.look(one.now).unwrap();
    assert_eq!(seen.blocks.of_principal("mallory").unwrap().agent, "a1");
    other.store.unblock("a1", "tester", "test", "", one.now).await.unwrap();
    assert!(watch.look(one.now).unwrap().blocks.is_empty());
}

/// Whoever asks once a block is written is told of it, however many ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_is_written_is_seen_by_every_thread() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path());
    let watch = process.store.watch(&process.judge.owner).unwrap();
    process.start_agent("a1").await.unwrap();
    for _ in 0..30 {
        process.step("a1", "rm -rf /").await;
        let together = std::sync::Barrier::new(16);
        let look = || {
            together.wait();
            watch.look(process.now).unwrap().blocks.of_principal("mallory").is_some()
        };
        let missed = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(look)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|saw| !saw).count()
        });
        assert_eq!(missed, 0);
        process.store.unblock("a1", "tester", "test", "", process.now).await.unwrap();
    }
}

/// REQ-OOB-12 REQ-OOB-22: nobody can lock or learn the challenges of another principal.
#[tokio::test]
async fn another_principal_neither_learns_the_challenge_nor_locks_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = Process::start(dir.path());
    let id = blocked(&process).await;
    process.wait(301);
    let judge = (process.judge.clone(), "fresh".to_owned());
    let refused = process.store.refusal("a1", alice(), judge.clone(), process.now).await.unwrap().unwrap();
    assert!(matches!(refused, Refused::BlockedForAnother { .. }), "{refused:?}");
    for _ in 0..10 {
        let given = process.store.verify(&id, None, alice(), process.now).await.unwrap();
        assert!(matches!(given, Verified::Wrong { .. }), "{given:?}");
    }
    let given = process.store.verify(&id, None, alice(), process.now).await.unwrap();
    assert!(matches!(given, Verified::Locked { .. }), "{given:?}");
    let refused = process.store.refusal("a1", mallory(), judge, process.now).await.unwrap().unwrap();
    let Refused::Blocked { challenge: Some(challenge), .. } = refused else { panic!("{refused:?}") };
    assert_eq!(challenge.id, "fresh");
    let code = process.reveal("fresh").await;
    assert!(matches!(process.give("fresh", &code).await, Verified::Right(_)), "the agent is not locked");
}

/// REQ-OOB-24
#[tokio::test]
async fn the_operator_s_unblock_forgives_wrong_codes() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path());
    let id = blocked(&process).await;
    for _ in 0..10 {
        process.give(&id, "wrong").await;
    }
    assert!(matches!(process.give(&id, "wrong").await, Verified::Locked { .. }));
    process.store.unblock("a1", "olivia", "command", "", process.now).await.unwrap().unwrap();
    let told = process.step("a1", "rm -rf /tmp/x").await;
    let id = verification_id(told_of(&told, "danger_zone")[0]);
    let code = process.reveal(&id).await;
    assert!(matches!(process.give(&id, &code).await, Verified::Right(_)));
}
