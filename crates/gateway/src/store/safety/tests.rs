//! Approvals and tokens: one call, once, whatever happens in between.

use std::collections::HashMap;

use aql::{
    audit::Event,
    confirm::{Refused, Scope, Token, TokenKind},
    danger::DangerLevel,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::{Answered, ApprovalKind, ApprovalState, Claim, NewApproval, NewToken, SafetyStore};
use crate::store::{Error, Options};

const WAITS: i64 = 900;
const HOLDS: i64 = 300;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn open(dir: &std::path::Path) -> SafetyStore {
    SafetyStore::open(dir, Options::default()).unwrap()
}

fn scope(session: &str, operation: &str) -> Scope {
    Scope {
        operation: operation.to_owned(),
        params_hash: [7; 32],
        adapter: "aqueduct".to_owned(),
        session_id: session.to_owned(),
        principal: "local".to_owned(),
    }
}

fn question(id: &str, scope: Scope) -> NewApproval {
    NewApproval {
        id: id.to_owned(),
        kind: ApprovalKind::Call,
        scope,
        agent: None,
        danger: DangerLevel::Destructive,
        trust: None,
        reasons: vec!["it destroys".to_owned()],
        message: "Delete it?".to_owned(),
        params: json!({"id": "7"}),
        waits: SignedDuration::from_secs(WAITS),
        holds: SignedDuration::from_secs(HOLDS),
        cooldown: None,
    }
}

fn token(text: &str, scope: Scope) -> NewToken {
    NewToken {
        text: text.to_owned(),
        id: format!("id of {text}"),
        token: Token {
            kind: TokenKind::Confirmation,
            scope,
            expires_at: Some(at(HOLDS)),
            not_before: None,
            uses_left: 1,
            used_at: None,
            outlives_session: false,
        },
        danger: DangerLevel::Destructive,
        trust: None,
        reasons: Vec::new(),
    }
}

async fn present(store: &SafetyStore, text: &str, scope: Scope, now: i64) -> Result<(), Refused> {
    let tolerance = SignedDuration::ZERO;
    store.redeem_token(text, TokenKind::Confirmation, scope, tolerance, at(now)).await.unwrap()
}

async fn events(store: &SafetyStore) -> Vec<String> {
    let entries = store.audit_entries(0, 10_000).await.unwrap();
    let event = |text: &str| serde_json::from_str::<aql::audit::Event>(text).unwrap().event;
    entries.iter().map(|entry| event(&entry.text)).collect()
}

/// LREQ-GATE-07
#[tokio::test]
async fn an_approved_call_is_let_through_once_and_all_of_it_is_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let asks = |id: &str| question(id, scope("s", "delete_item"));
    let Claim::Asked(asked) = store.claim(asks("one"), at(0)).await.unwrap() else { panic!("not asked") };
    assert_eq!((asked.state, asked.expires_at), (ApprovalState::Pending, at(WAITS)));
    assert!(matches!(store.claim(asks("two"), at(1)).await.unwrap(), Claim::Waiting(it) if it.id == "one"));
    let answered = store.answer("one", true, "command", "anna", at(2)).await.unwrap();
    assert!(matches!(&answered, Answered::Done(it) if it.expires_at == at(2 + HOLDS)), "{answered:?}");
    let late = store.answer("one", false, "page", "ben", at(3)).await.unwrap();
    assert!(matches!(&late, Answered::AlreadyAnswered(it) if it.answered_by.as_deref() == Some("anna")));
    assert_eq!(store.answer("none", true, "page", "ben", at(3)).await, Ok(Answered::Missing));
    assert!(matches!(store.claim(asks("two"), at(4)).await.unwrap(), Claim::Granted(it) if it.id == "one"));
    assert!(matches!(store.claim(asks("two"), at(5)).await.unwrap(), Claim::Asked(_)), "spent for good");
    let expected =
        ["CONFIRMATION_REQUIRED", "APPROVAL_GIVEN", "CONFIRMATION_GRANTED", "CONFIRMATION_REQUIRED"];
    assert_eq!(events(&store).await, expected);
    let listed = store.approvals(&[ApprovalState::Pending], 10, at(6)).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["two"]);
}

/// LREQ-TOKEN-10: two processes, one winner.
#[tokio::test]
async fn of_two_processes_one_spends_an_approval_or_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (open(dir.path()), open(dir.path()));
    for round in 0..20 {
        // Far enough apart for the limit of questions in a minute.
        let (scope, then) = (scope(&format!("s{round}"), &format!("delete_{round}")), round * 5);
        one.claim(question(&format!("a{round}"), scope.clone()), at(then)).await.unwrap();
        other.answer(&format!("a{round}"), true, "command", "anna", at(then)).await.unwrap();
        let claim = |store: &SafetyStore| {
            let (store, asks) = (store.clone(), question(&format!("b{round}"), scope.clone()));
            async move { store.claim(asks, at(then + 1)).await.unwrap() }
        };
        let (first, second) = tokio::join!(claim(&one), claim(&other));
        let granted = [first, second].iter().filter(|claim| matches!(claim, Claim::Granted(_))).count();
        assert_eq!(granted, 1, "round {round}");

        let text = format!("conf_{round}");
        one.issue_token(token(&text, scope.clone()), at(0)).await.unwrap();
        let (first, second) = tokio::join!(
            present(&one, &text, scope.clone(), then),
            present(&other, &text, scope.clone(), then)
        );
        let mut both = [first, second];
        both.sort_by_key(Result::is_err);
        assert_eq!(both, [Ok(()), Err(Refused::AlreadyUsed { at: Some(at(then)) })], "round {round}");
    }
    assert!(one.verify_audit().await.unwrap().is_ok());
}

/// LREQ-TOKEN-13 LREQ-TOKEN-01: room for a thousand, and nothing left an hour after their end.
#[tokio::test]
async fn a_thousand_tokens_are_kept_and_forgotten_after_their_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let issue = |number: usize| {
        let store = store.clone();
        async move {
            let new = token(&format!("conf_{number}"), scope("s", &format!("op_{number}")));
            store.issue_token(new, at(0)).await
        }
    };
    futures_util::future::try_join_all((0..1000).map(issue)).await.unwrap();
    for number in (0..1000).step_by(37) {
        let presented =
            present(&store, &format!("conf_{number}"), scope("s", &format!("op_{number}")), 10).await;
        assert_eq!(presented, Ok(()));
    }
    assert_eq!(present(&store, "CONF_1", scope("s", "op_1"), 10).await, Err(Refused::Invalid));
    store.purge(at(HOLDS + 3600)).await.unwrap();
    assert_eq!(store.tokens_kept().await, Ok(0));
}

/// LREQ-TOKEN-12 LREQ-TOKEN-16 REQ-SESS-05: what ends with a session or is taken back is unknown from then on.
#[tokio::test]
async fn revoked_tokens_are_unknown_and_their_end_is_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let call = || scope("s", "delete_item");
    store.issue_token(token("conf_a", call()), at(0)).await.unwrap();
    store.issue_token(token("conf_b", call()), at(0)).await.unwrap();
    let mut kept = token("conf_c", call());
    kept.token.outlives_session = true;
    store.issue_token(kept, at(0)).await.unwrap();
    assert_eq!(store.revoke_token("id of conf_a", at(1)).await, Ok(true));
    assert_eq!(store.revoke_token("id of conf_a", at(1)).await, Ok(false));
    assert_eq!(present(&store, "conf_a", call(), 2).await, Err(Refused::Invalid));
    store.claim(question("open", call()), at(2)).await.unwrap();
    store.end_session("s", at(3)).await.unwrap();
    assert_eq!(present(&store, "conf_b", call(), 4).await, Err(Refused::Invalid));
    assert_eq!(present(&store, "conf_c", scope("later", "delete_item"), 4).await, Ok(()));
    let open = store.approval("open", at(4)).await.unwrap().unwrap();
    assert_eq!(open.state, ApprovalState::Revoked);
    let written = events(&store).await;
    let count = |event: &str| written.iter().filter(|it| *it == event).count();
    assert_eq!((count("TOKEN_ISSUED"), count("TOKEN_REVOKED")), (3, 2));
    assert_eq!((count("TOKEN_REJECTED"), count("TOKEN_VALIDATED"), count("APPROVAL_REVOKED")), (2, 1, 1));
    let entries = store.audit_entries(0, 100).await.unwrap();
    assert!(entries.iter().all(|entry| !entry.text.contains("\"conf_")), "no token is written down");
}

/// LREQ-TOKEN-17: nobody can bury a person under questions, or take the places of other sessions alone.
#[tokio::test]
async fn questions_are_limited_for_each_session_and_principal() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut asked = Vec::new();
    for session in 0..6 {
        let mut taken = 0;
        for number in 0..20 {
            let asks = question(
                &format!("q{session}-{number}"),
                scope(&format!("s{session}"), &format!("op_{number}")),
            );
            match store.claim(asks, at(session)).await.unwrap() {
                Claim::TooMany { retry_after_seconds } => {
                    assert!((1..=60).contains(&retry_after_seconds), "{retry_after_seconds}");
                }
                _ => taken += 1,
            }
        }
        asked.push(taken);
    }
    assert_eq!(asked, [16, 16, 16, 12, 0, 0]);
    let mut other = question("theirs", scope("t", "op_1"));
    other.scope.principal = "somebody".to_owned();
    assert!(matches!(store.claim(other, at(40)).await.unwrap(), Claim::Asked(_)), "others are not affected");
}

/// What the model knows of one call's consent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    Pending { until: i64 },
    Approved { until: i64 },
    Denied { until: i64 },
}

#[derive(Debug, Clone)]
enum Step {
    Claim {
        session: u8,
        call: u8,
    },
    Answer {
        session: u8,
        call: u8,
        approve: bool,
    },
    Pass {
        seconds: i64,
    },
    EndSession {
        session: u8,
    },
    /// The process dies and another one opens the file.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0_u8..2, 0_u8..2).prop_map(|(session, call)| Step::Claim { session, call }),
        4 => (0_u8..2, 0_u8..2, any::<bool>())
            .prop_map(|(session, call, approve)| Step::Answer { session, call, approve }),
        2 => (1_i64..500).prop_map(|seconds| Step::Pass { seconds }),
        1 => (0_u8..2).prop_map(|session| Step::EndSession { session }),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is asked, answered, waited and restarted in between: the store does what a map of the open questions does.
    #[test]
    fn approvals_behave_as_their_model(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut store = open(dir.path());
        let mut model: HashMap<(u8, u8), (String, Known)> = HashMap::new();
        // Far apart, so that the limit of questions in a minute plays no part.
        let (mut now, mut next) = (0_i64, 0);
        for step in steps {
            now += 3;
            match step {
                Step::Claim { session, call } => {
                    let key = (session, call);
                    let scope = scope(&format!("s{session}"), &format!("op_{call}"));
                    next += 1;
                    let id = format!("q{next}");
                    let claimed = runtime.block_on(store.claim(question(&id, scope), at(now))).unwrap();
                    let known = model.get(&key).cloned().filter(|(_, known)| {
                        let (Known::Pending { until } | Known::Approved { until } | Known::Denied { until }) = known;
                        now < *until
                    });
                    match (known, claimed) {
                        (Some((open, Known::Pending { .. })), Claim::Waiting(it)) => prop_assert_eq!(open, it.id),
                        (Some((open, Known::Denied { .. })), Claim::Denied(it)) => prop_assert_eq!(open, it.id),
                        (Some((open, Known::Approved { .. })), Claim::Granted(it)) => {
                            prop_assert_eq!(open, it.id);
                            model.remove(&key);
                        }
                        (None, Claim::Asked(it)) => {
                            prop_assert_eq!(&it.id, &id);
                            model.insert(key, (id, Known::Pending { until: now + WAITS }));
                        }
                        (None, Claim::TooMany { .. }) => {}
                        (known, claimed) => prop_assert!(false, "{:?} became {:?}", known, claimed),
                    }
                }
                Step::Answer { session, call, approve } => {
                    let Some((id, known)) = model.get_mut(&(session, call)) else { continue };
                    let answered = runtime.block_on(store.answer(id, approve, "command", "anna", at(now))).unwrap();
                    match known {
                        Known::Pending { until } if now < *until => {
                            prop_assert!(matches!(answered, Answered::Done(_)), "{:?}", answered);
                            let until = now + HOLDS;
                            *known = if approve { Known::Approved { until } } else { Known::Denied { until } };
                        }
                        _ => prop_assert!(matches!(answered, Answered::AlreadyAnswered(_)), "{:?}", answered),
                    }
                }
                Step::Pass { seconds } => now += seconds,
                Step::EndSession { session } => {
                    runtime.block_on(store.end_session(&format!("s{session}"), at(now))).unwrap();
                    model.retain(|(of, _), (_, known)| *of != session || matches!(known, Known::Denied { .. }));
                }
                Step::Reopen => {
                    runtime.block_on(store.close());
                    store = open(dir.path());
                }
            }
        }
        prop_assert!(runtime.block_on(store.verify_audit()).unwrap().is_ok());
    }
}

/// A log that is full stops what it would have to tell of, not the operator.
#[tokio::test]
async fn the_operator_can_act_in_a_full_store_and_nothing_else_can() {
    let dir = tempfile::tempdir().unwrap();
    let store = SafetyStore::open(dir.path(), Options { max_database_bytes: Some(512 * 1024) }).unwrap();
    for (id, operation) in [("appr_a", "one"), ("appr_b", "two"), ("appr_c", "three")] {
        store.claim(question(id, scope("s", operation)), at(0)).await.unwrap();
    }
    store.issue_token(token("given", scope("s", "four")), at(0)).await.unwrap();
    let filler = |size: usize| Event { reasons: vec!["x".repeat(size)], ..Event::new("FILLER") };
    for size in [8 * 1024, 64] {
        let mut entries = 0;
        while store.audit(filler(size), at(1)).await.is_ok() {
            entries += 1;
            assert!(entries < 100_000, "it is never full");
        }
    }
    assert_eq!(store.audit(filler(4096), at(1)).await, Err(Error::Full));
    assert_eq!(store.claim(question("appr_d", scope("s", "five")), at(1)).await, Err(Error::Full));
    // Long enough that no page has room for what is said of it.
    let by = "y".repeat(8 * 1024);
    for (id, approve) in [("appr_a", true), ("appr_b", false)] {
        let answered = store.answer(id, approve, "test", &by, at(2)).await.unwrap();
        assert!(matches!(answered, Answered::Done(_)), "{answered:?}");
    }
    assert!(store.revoke_approval("appr_c", &by, at(3)).await.unwrap());
    assert!(store.revoke_token("id of given", at(3)).await.unwrap());
    assert_eq!(
        store.claim(question("appr_e", Scope { adapter: by, ..scope("s", "six") }), at(4)).await,
        Err(Error::Full),
        "nothing is asked or let through without its entry"
    );
    assert!(store.verify_audit().await.unwrap().is_ok());
}

/// SQLite itself would go on writing to a file that has no name any more.
#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_once_the_file_is_removed_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (path, aside) = (dir.path().join("safety.db"), dir.path().join("aside"));
    let store = open(dir.path());
    store.audit(Event::new("BEFORE"), at(0)).await.unwrap();
    std::fs::rename(&path, &aside).unwrap();
    assert_eq!(store.audit(Event::new("REMOVED"), at(1)).await, Err(Error::Gone));
    std::fs::copy(&aside, &path).unwrap();
    assert_eq!(store.audit(Event::new("REPLACED"), at(2)).await, Err(Error::Gone));
    assert_eq!(store.claim(question("appr_a", scope("s", "one")), at(2)).await, Err(Error::Gone));
    assert_eq!(store.answer("appr_a", true, "test", "me", at(2)).await, Err(Error::Gone));
    std::fs::rename(&aside, &path).unwrap();
    store.audit(Event::new("BACK"), at(3)).await.unwrap();
    assert_eq!(store.verify_audit().await.unwrap().unwrap().entries, 2);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(store.audit(Event::new("REMOVED"), at(4)).await, Err(Error::Gone));
}
