//! A store that has reached its cap.

use super::*;

const CAP_BYTES: u64 = 400 * 1024;

fn capped() -> Fixture {
    fixture_with(Options { max_database_bytes: Some(CAP_BYTES) })
}

fn sized(number: usize, bytes: usize) -> NewEntity {
    NewEntity { description: format!("{number} ").repeat(bytes / 4), ..new("note", &number.to_string()) }
}

/// Adds entities until there is no room for another one; returns how many there are.
async fn fill(f: &Fixture, bytes: usize) -> usize {
    let mut stored = 0;
    while f.store.create(sized(stored, bytes), at(0), id(stored), false).await.is_ok() {
        stored += 1;
        assert!(stored < 10_000, "the cap is not held");
    }
    let before = f.dump();
    let outcome = f.store.create(sized(stored, bytes), at(0), id(stored), false).await;
    assert_eq!(outcome, Err(Error::Full));
    assert_eq!(f.dump(), before, "nothing of it is stored");
    stored
}

#[tokio::test]
async fn a_reached_cap_is_full_until_something_is_deleted() {
    let f = capped();
    let stored = fill(&f, 10_000).await;
    assert!(stored > 5, "{stored}");
    let grow = |entity: Entity| Ok::<_, ()>(Entity { description: "long ".repeat(20_000), ..entity });
    assert_eq!(f.store.update(&id(1), None, at(1), false, grow).await, Err(Error::Full));
    assert_eq!(f.store.create(sized(9999, 50_000), at(0), id(9999), true).await, Err(Error::Full));
    assert_eq!(f.store.get(&id(1)).await.unwrap().map(|entity| entity.version), Some(1), "reading goes on");

    // Not only as much as one more needs: the text index takes room to tidy up now and then.
    let deleted = stored / 2;
    for number in 0..deleted {
        let deleted = f.store.delete(&id(number), None, false).await;
        assert!(matches!(deleted, Ok(Deleted::Entity { .. })), "{deleted:?}");
    }
    f.add(stored, sized(stored, 10_000)).await;
    assert_eq!(count(&f.store).await, stored - deleted + 1);
}

/// Small entities share pages, so that deleting one frees none, while forgetting its words takes some.
#[tokio::test]
async fn a_full_store_can_be_emptied_one_small_entity_at_a_time() {
    let f = capped();
    let stored = fill(&f, 400).await;
    for number in 0..stored {
        let deleted = f.store.delete(&id(number), None, false).await;
        assert!(matches!(deleted, Ok(Deleted::Entity { .. })), "{number}: {deleted:?}");
    }
    f.add(0, sized(0, 10_000)).await;
}

#[tokio::test]
async fn a_raised_cap_makes_room() {
    let f = capped();
    let stored = fill(&f, 10_000).await;
    f.store.close().await;
    let store =
        EntityStore::open(f.dir.path(), Options { max_database_bytes: Some(2 * CAP_BYTES) }, &[]).unwrap();
    let created = store.create(sized(stored, 10_000), at(0), id(stored), false).await;
    assert!(matches!(created, Ok(Created::Entity(_))), "{created:?}");
}

#[tokio::test]
async fn a_cap_below_the_present_size_still_opens() {
    let f = fixture();
    f.add(1, sized(1, 100_000)).await;
    f.store.close().await;
    let store = EntityStore::open(f.dir.path(), Options { max_database_bytes: Some(1) }, &[]).unwrap();
    assert_eq!(store.create(sized(2, 100_000), at(0), id(2), false).await, Err(Error::Full));
    assert!(store.get(&id(1)).await.unwrap().is_some());
    assert!(matches!(store.delete(&id(1), None, false).await, Ok(Deleted::Entity { .. })));
}

/// SQLite undoes the whole transaction when the file is full, but only one write was too large.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_room_does_not_take_its_neighbours_along() {
    let f = capped();
    f.add(0, new("note", "before")).await;
    let other = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    for round in 1..=5 {
        // While another process holds the lock, writes queue up and become one group.
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let writes = (0..20).map(|number| {
            let number = round * 100 + number;
            let bytes = if number % 5 == 3 { 1_000_000 } else { 40 };
            f.store.create(sized(number, bytes), at(0), id(number), false)
        });
        let mut writes = Box::pin(futures_util::future::join_all(writes));
        assert!(futures_util::poll!(&mut writes).is_pending());
        other.execute_batch("COMMIT").unwrap();
        for (number, outcome) in writes.await.into_iter().enumerate() {
            let expected = number % 5 == 3;
            assert_eq!(outcome == Err(Error::Full), expected, "{number}: {outcome:?}");
            assert_eq!(f.store.get(&id(round * 100 + number)).await.unwrap().is_none(), expected);
        }
    }
}
