//! A store that has reached its cap.

use super::*;

const CAP_BYTES: u64 = 400 * 1024;

fn sized(number: usize) -> NewExecution {
    NewExecution { params: json!("x".repeat(10_000)), ..new(number) }
}

/// Adds executions until there is no room for another one; returns how many there are.
async fn fill(f: &Fixture, new: fn(usize) -> NewExecution) -> usize {
    let mut stored = 0;
    while f.store.create(new(stored), claim("a", "s1"), at(0)).await.is_ok() {
        stored += 1;
        assert!(stored < 10_000, "the cap is not held");
    }
    let outcome = f.store.create(new(stored), claim("a", "s1"), at(0)).await;
    assert_eq!(outcome, Err(Error::Full));
    assert_eq!(f.store.get(&id(stored), "p1").await, Ok(None), "nothing of it is stored");
    stored
}

#[tokio::test]
async fn a_full_store_still_ends_renews_and_purges() {
    let f = fixture_with(Options { max_database_bytes: Some(CAP_BYTES) });
    let runs = [f.start(9000).await, f.start(9001).await, f.start(9002).await];
    let stored = fill(&f, sized).await;
    assert!(stored > 5, "{stored}");

    let large = Command::Complete(json!("y".repeat(200_000)));
    assert_eq!(f.store.advance(&runs[0], large, at(2)).await, Err(Error::Full));
    assert_eq!(f.status(9000).await, "running", "a result without room changes nothing");
    assert_eq!(f.store.checkpoint(&runs[0], &json!("y".repeat(200_000)), at(2)).await, Err(Error::Full));
    assert_eq!(f.store.renew("a", at(5), LEASE).await.unwrap().len(), stored + 3);
    changed(f.store.advance(&runs[0], Command::Fail(boom()), at(6)).await);
    changed(f.store.cancel(&id(9001), "p1", None, at(6)).await);
    assert_eq!(f.store.expire(at(60)).await.unwrap().len(), stored + 1);
    assert_eq!(f.store.purge(at(100), 0).await, Ok(stored as u64 + 3));
    f.store.create(sized(1), claim("a", "s1"), at(0)).await.unwrap();
}

/// Small executions leave no gap in any page, and an end takes more room than what it ends.
#[tokio::test]
async fn every_execution_of_a_full_store_can_be_ended() {
    let f = fixture_with(Options { max_database_bytes: Some(CAP_BYTES) });
    let run = f.start(9000).await;
    let stored = fill(&f, new).await;
    assert_eq!(f.store.renew("a", at(5), LEASE).await.unwrap().len(), stored + 1);
    let failure = CallError::internal(&"long ".repeat(100)).into();
    changed(f.store.advance(&run, Command::Fail(failure), at(6)).await);
    let reason = "not needed any more ".repeat(20);
    for number in 0..stored / 2 {
        changed(f.store.cancel(&id(number), "p1", Some(reason.clone()), at(6)).await);
    }
    assert_eq!(f.store.expire(at(60)).await.unwrap().len(), stored - stored / 2);
    assert_eq!(f.store.purge(at(100), 0).await, Ok(stored as u64 + 1));
}
