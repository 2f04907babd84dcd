//! Three stores on one directory, as three processes have them.

use std::collections::HashSet;

use super::*;

#[tokio::test]
async fn a_living_owners_executions_are_left_alone() {
    let f = fixture();
    let (second, third) = (f.another(), f.another());
    f.start(1).await;
    f.add(2).await;
    for second_of_day in [5, 12, 19, 26] {
        let renewed = f.store.renew("a", at(second_of_day), LEASE).await.unwrap();
        assert_eq!(renewed.len(), 2);
        for other in [&second, &third] {
            assert_eq!(other.expire(at(second_of_day + 9)).await, Ok(vec![]));
            assert_eq!(other.renew("b", at(second_of_day), LEASE).await, Ok(vec![]));
        }
    }
    assert_eq!((f.status(1).await.as_str(), f.status(2).await.as_str()), ("running", "pending"));
}

/// REQ-LIFE-02 REQ-SESS-10
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_owners_executions_are_ended_once() {
    let f = fixture();
    for number in 0..150 {
        f.start(number).await;
    }
    f.add(150).await;
    let stores = [f.another(), f.another(), f.another()];
    let tasks = stores.map(|store| tokio::spawn(async move { store.expire(at(60)).await.unwrap() }));
    let mut ended = Vec::new();
    for task in tasks {
        ended.extend(task.await.unwrap());
    }
    assert_eq!(ended.len(), 151);
    assert_eq!(ids(&ended).into_iter().collect::<HashSet<_>>().len(), 151, "each by one of them");
    assert_eq!((f.status(0).await.as_str(), f.status(150).await.as_str()), ("failed", "cancelled"));
    assert_eq!(f.get(0).await.view()["error"]["details"]["reason"], "owner_lost");
}

#[tokio::test]
async fn an_owner_that_only_slept_is_refused_afterwards() {
    let f = fixture();
    let run = f.start(1).await;
    assert_eq!(f.another().expire(at(60)).await.unwrap().len(), 1);
    let before = f.get(1).await;
    for command in [percentage(50.0), Command::Complete(json!(1)), Command::Fail(boom())] {
        refused(f.store.advance(&run, command, at(61)).await);
    }
    refused(f.store.checkpoint(&run, &json!(1), at(61)).await);
    assert_eq!(f.store.renew("a", at(61), LEASE).await, Ok(vec![]), "and hears of it when it renews");
    assert_eq!(f.get(1).await, before);
}

#[tokio::test]
async fn an_owner_that_woke_in_time_goes_on() {
    let f = fixture();
    let run = f.start(1).await;
    assert_eq!(f.store.renew("a", at(60), LEASE).await.unwrap().len(), 1);
    assert_eq!(f.another().expire(at(61)).await, Ok(vec![]));
    changed(f.store.advance(&run, Command::Complete(json!(1)), at(62)).await);
}

/// REQ-LIFE-12 REQ-NAME-03
#[tokio::test]
async fn what_another_process_did_is_seen_by_the_owner() {
    let f = fixture();
    let runs = [f.start(1).await, f.start(2).await, f.add(3).await, f.start(4).await];
    let other = f.another();
    changed(other.cancel(&id(1), "p1", Some("enough".into()), at(2)).await);
    changed(other.enter(&id(2), "p1", "paused", at(2)).await);
    changed(other.cancel(&id(3), "p1", None, at(2)).await);
    for known in [f.store.statuses("a").await.unwrap(), f.store.renew("a", at(3), LEASE).await.unwrap()] {
        let statuses: Vec<_> = known.iter().map(|alive| (alive.id.clone(), alive.status.as_str())).collect();
        assert_eq!(statuses, [(id(2), "paused"), (id(4), "running")]);
        assert!(known.iter().all(|alive| alive.attempt == 1));
    }
    refused(f.store.advance(&runs[0], Command::Complete(json!(1)), at(4)).await);
    refused(f.store.advance(&runs[2], Command::Start, at(4)).await);
    assert_eq!(f.get(1).await.view()["progress"]["message"], "enough");
}

/// REQ-LIFE-02 REQ-LIFE-04
#[tokio::test(flavor = "multi_thread")]
async fn of_several_who_end_an_execution_one_wins() {
    let f = fixture();
    let stores = [f.another(), f.another(), f.another()];
    for number in 0..25 {
        let run = f.start(number).await;
        let tasks: Vec<_> = (0..9)
            .map(|which| {
                let (store, run) = (stores[which % 3].clone(), run.clone());
                tokio::spawn(async move {
                    match which / 3 {
                        0 => store.advance(&run, Command::Complete(json!(which)), at(2)).await,
                        1 => store.advance(&run, Command::Fail(boom()), at(2)).await,
                        _ => store.cancel(&run.id, "p1", None, at(2)).await,
                    }
                })
            })
            .collect();
        let mut won = Vec::new();
        for task in tasks {
            match task.await.unwrap().unwrap() {
                Changed::Changed(execution) => won.push(execution),
                Changed::Illegal(illegal) => assert!(illegal.execution().core().is_terminal()),
                Changed::Missing => panic!("{number} is gone"),
            }
        }
        assert_eq!(won, [f.get(number).await]);
    }
}

/// REQ-LIFE-03
#[tokio::test(flavor = "multi_thread")]
async fn of_several_who_retry_one_gets_it() {
    let f = fixture();
    f.fail(1).await;
    let tasks: Vec<_> = ["b", "c", "d"]
        .map(|owner| {
            let store = f.another();
            tokio::spawn(
                async move { store.take_over(&id(1), "p1", claim(owner, "s9"), at(3)).await.unwrap() },
            )
        })
        .into();
    let mut won = 0;
    for task in tasks {
        won += usize::from(matches!(task.await.unwrap(), Taken::Over { .. }));
    }
    assert_eq!((won, f.get(1).await.record().attempt), (1, 2));
    // The new owner's lease counts, and its session.
    assert_eq!(f.store.expire(at(12)).await, Ok(vec![]));
    assert_eq!(f.store.end_session("a", "s1", at(12)).await, Ok(vec![]));
    assert_eq!(f.store.expire(at(14)).await.unwrap().len(), 1);
}
