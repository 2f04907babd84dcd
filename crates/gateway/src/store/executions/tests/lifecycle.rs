//! One process, one execution after another.

use std::ops::ControlFlow;

use super::*;

/// REQ-LIFE-02 REQ-LIFE-05 REQ-LIFE-06
#[tokio::test]
async fn an_execution_runs_reports_and_completes() {
    let f = fixture();
    let run = f.add(1).await;
    assert_eq!(f.status(1).await, "pending");
    let started = changed(f.store.advance(&run, Command::Start, at(1)).await);
    assert_eq!(f.get(1).await, started);
    changed(f.store.advance(&run, percentage(40.0), at(2)).await);
    changed(f.store.advance(&run, Command::Enter("paused".into()), at(2)).await);
    let paused = f.get(1).await;
    assert_eq!((paused.view()["status"].clone(), paused.view()["progress"].clone()), {
        (json!("paused"), json!({"percentage": 40}))
    });
    let completed = changed(f.store.advance(&run, Command::Complete(json!({"n": 0.1})), at(3)).await);
    assert_eq!(f.get(1).await, completed);
    assert_eq!(completed.view()["result"], json!({"n": 0.1}));
    assert_eq!(f.store.statuses("a").await.unwrap(), []);
}

/// REQ-SESS-11
#[tokio::test]
async fn what_is_over_survives_a_restart() {
    let f = fixture();
    let run = f.start(1).await;
    changed(f.store.advance(&run, Command::Complete(json!([1, "two", null])), at(2)).await);
    f.fail(2).await;
    f.add(3).await;
    changed(f.store.cancel(&id(3), "p1", Some("enough".into()), at(2)).await);
    let before = [f.get(1).await, f.get(2).await, f.get(3).await];
    f.store.clone().close().await;
    let again = f.another();
    for (number, before) in (1..).zip(before) {
        assert_eq!(again.get(&id(number), "p1").await.unwrap(), Some(before));
    }
}

/// REQ-LIFE-04
#[tokio::test]
async fn what_is_over_stays_as_it_is() {
    let f = fixture();
    let run = f.start(1).await;
    changed(f.store.advance(&run, Command::Complete(json!(1)), at(2)).await);
    let before = f.get(1).await;
    for command in [Command::Start, percentage(1.0), Command::Complete(json!(2)), Command::Fail(boom())] {
        assert_eq!(refused(f.store.advance(&run, command, at(3)).await).reason(), &Reason::State);
    }
    refused(f.store.cancel(&id(1), "p1", None, at(3)).await);
    refused(f.store.checkpoint(&run, &json!(1), at(3)).await);
    let taken = f.store.take_over(&id(1), "p1", claim("a", "s1"), at(3)).await.unwrap();
    assert!(matches!(taken, Taken::Illegal(_)), "{taken:?}");
    assert_eq!(f.get(1).await, before);
}

#[tokio::test]
async fn an_execution_is_its_principals_alone() {
    let f = fixture();
    let run = f.fail(1).await;
    assert_eq!(f.store.get(&id(1), "p2").await, Ok(None));
    assert_eq!(f.store.cancel(&id(1), "p2", None, at(2)).await, Ok(Changed::Missing));
    assert_eq!(f.store.enter(&id(1), "p2", "paused", at(2)).await, Ok(Changed::Missing));
    assert_eq!(f.store.take_over(&id(1), "p2", claim("a", "s1"), at(2)).await, Ok(Taken::Missing));
    assert_eq!(f.store.list("p2", Narrow::default(), 10).await, Ok(vec![]));
    let nobodys = Run { id: id(2), ..run };
    assert_eq!(f.store.advance(&nobodys, Command::Start, at(2)).await, Ok(Changed::Missing));
}

/// REQ-LIFE-03
#[tokio::test]
async fn a_retry_goes_on_from_the_checkpoint() {
    let f = fixture();
    let first = f.start(1).await;
    for step in 1..=2 {
        changed(f.store.checkpoint(&first, &json!({"step": step}), at(1)).await);
    }
    changed(f.store.advance(&first, Command::Fail(boom()), at(2)).await);
    let taken = f.store.take_over(&id(1), "p1", claim("b", "s2"), at(5)).await.unwrap();
    let Taken::Over { execution, params, checkpoint } = taken else { panic!("{taken:?}") };
    assert_eq!((params, checkpoint), (json!({"number": 1}), Some(json!({"step": 2}))));
    assert_eq!((execution.record().attempt, execution.core()), (2, Core::Running));
    assert_eq!(f.get(1).await, execution);

    let second = run(1, "b", 2);
    refused(f.store.advance(&first, Command::Complete(json!("late")), at(6)).await);
    refused(f.store.checkpoint(&first, &json!("late"), at(6)).await);
    changed(f.store.checkpoint(&second, &json!({"step": 3}), at(6)).await);
    changed(f.store.advance(&second, Command::Complete(json!("done")), at(7)).await);
    assert_eq!(f.get(1).await.view()["result"], "done");
    let left: Vec<String> = {
        let connection = f.connection();
        let mut statement = connection.prepare("SELECT kind FROM documents").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(left, ["result"], "what only a retry would need is gone");
}

/// The same process may run the next attempt while the last one has not noticed that it was failed.
#[tokio::test]
async fn an_earlier_attempt_of_the_same_owner_is_refused() {
    let f = fixture();
    let first = f.fail(1).await;
    f.store.take_over(&id(1), "p1", claim("a", "s1"), at(3)).await.unwrap();
    let illegal = refused(f.store.advance(&first, percentage(99.0), at(4)).await);
    assert_eq!(illegal.reason(), &Reason::Superseded);
    changed(f.store.advance(&run(1, "a", 2), percentage(1.0), at(4)).await);
}

#[tokio::test]
async fn lists_are_newest_first_narrowed_and_bounded() {
    let f = fixture();
    for number in 0..5 {
        f.add(number).await;
    }
    let other = NewExecution { operation: "execute_report".into(), ..new(5) };
    f.store.create(other, claim("a", "s1"), at(0)).await.unwrap();
    changed(f.store.advance(&run(3, "a", 1), Command::Start, at(1)).await);
    changed(f.store.advance(&run(4, "a", 1), Command::Start, at(1)).await);
    changed(f.store.enter(&id(4), "p1", "paused", at(1)).await);
    changed(f.store.advance(&run(3, "a", 1), Command::Complete(json!("large")), at(2)).await);

    let list = async |status: Option<&str>, operation: Option<&str>, first| {
        let narrow = Narrow { status: status.map(str::to_owned), operation: operation.map(str::to_owned) };
        let found = f.store.list("p1", narrow, first).await.unwrap();
        found
            .iter()
            .map(|execution| execution.record().execution_id[3..].parse().unwrap())
            .collect::<Vec<usize>>()
    };
    assert_eq!(list(None, None, 100).await, [5, 4, 3, 2, 1, 0]);
    assert_eq!(list(None, None, 2).await, [5, 4]);
    assert!(list(None, None, 0).await.is_empty());
    assert_eq!(list(Some("pending"), None, 100).await, [5, 2, 1, 0]);
    assert_eq!(list(Some("paused"), None, 100).await, [4]);
    assert_eq!(list(Some("pending"), Some("execute_report"), 100).await, [5]);

    let completed = Narrow { status: Some("completed".into()), ..Narrow::default() };
    assert_eq!(f.store.list("p1", completed, 1).await.unwrap()[0].record().result, None);
    let until_three = |seen: &mut Vec<String>, execution: Execution| {
        seen.push(execution.record().execution_id.clone());
        if seen.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let seen = f.store.fold("p1", Narrow::default(), Vec::new(), until_three).await.unwrap();
    assert_eq!(seen, [id(5), id(4), id(3)]);
}

/// REQ-SESS-07 REQ-SESS-10
#[tokio::test]
async fn the_end_of_a_session_ends_its_executions_and_no_others() {
    let f = fixture();
    for number in 0..100 {
        f.start(number).await;
    }
    f.add(100).await;
    f.store.create(new(101), claim("a", "s2"), at(0)).await.unwrap();
    f.store.create(new(102), claim("b", "s1"), at(0)).await.unwrap();
    let ended = f.store.end_session("a", "s1", at(9)).await.unwrap();
    assert_eq!(ended.len(), 101);
    assert_eq!((f.status(0).await.as_str(), f.status(99).await.as_str()), ("failed", "failed"));
    assert_eq!(f.get(0).await.view()["error"]["details"]["reason"], "session_ended");
    assert_eq!(f.status(100).await, "cancelled");
    assert!(f.get(100).await.record().finished_at.is_some());
    assert_eq!((f.status(101).await.as_str(), f.status(102).await.as_str()), ("pending", "pending"));
    assert_eq!(f.store.end_session("a", "s1", at(9)).await, Ok(vec![]));
}

#[tokio::test]
async fn purging_takes_what_is_over_and_nothing_else() {
    let f = fixture();
    f.add(900).await;
    f.start(901).await;
    for number in 0..250 {
        let run = f.start(number).await;
        let finished = at(10 + i64::try_from(number).unwrap());
        changed(f.store.advance(&run, Command::Complete(json!("x")), finished).await);
    }
    assert_eq!(f.store.purge(at(10 + 20), usize::MAX).await, Ok(20));
    assert_eq!(f.store.purge(at(0), 10).await, Ok(220));
    assert_eq!(f.store.purge(at(0), 10).await, Ok(0));
    let left = f.store.list("p1", Narrow::default(), 1000).await.unwrap();
    let mut expected: Vec<String> = (240..250).chain([900, 901]).map(id).collect();
    expected.reverse();
    assert_eq!(ids(&left), expected);
    assert_eq!(f.store.purge(at(1_000_000), 0).await, Ok(10));
    let documents: i64 =
        f.connection().query_row("SELECT count(*) FROM documents", [], |row| row.get(0)).unwrap();
    assert_eq!(documents, 2, "documents go with their executions");
}
