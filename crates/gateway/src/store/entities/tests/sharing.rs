//! Several stores on one directory, as several processes have them.

use std::time::{Duration, Instant};

use super::*;

fn impatient(dir: &Path) -> EntityStore {
    let wait = Duration::from_millis(50);
    let options = Options::default();
    let database = Database::open_waiting(dir, schema::FILE, &schema::SCHEMA, options, wait).unwrap();
    EntityStore { database }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_on_one_directory_lose_nothing() {
    let f = fixture();
    let second = EntityStore::open(f.dir.path(), Options::default(), &[]).unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|writer| {
            let store = if writer % 2 == 0 { f.store.clone() } else { second.clone() };
            tokio::spawn(async move {
                for number in 0..25 {
                    let number = writer * 100 + number;
                    let created = store.create(new("note", &number.to_string()), at(0), id(number), false);
                    assert!(matches!(created.await.unwrap(), Created::Entity(_)));
                    let change = |entity: Entity| {
                        let priority = entity.priority + 1;
                        Ok::<_, ()>(Entity { priority, ..entity })
                    };
                    store.update(&id(0), None, at(1), false, change).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for store in [&f.store, &second] {
        assert_eq!(count(store).await, 200);
        let counted = store.get(&id(0)).await.unwrap().unwrap();
        assert_eq!(counted.version as i64 - 1, counted.priority - 5);
        // The first few updates may have come before the entity.
        assert!(counted.version > 100, "{}", counted.version);
    }
}

#[tokio::test]
async fn a_name_is_unique_across_stores() {
    let f = fixture();
    let second = EntityStore::open(f.dir.path(), Options::default(), &[]).unwrap();
    f.add(1, new("note", "one")).await;
    let again = second.create(new("note", "one"), at(0), id(2), false).await.unwrap();
    assert_eq!(again, Created::Duplicate { existing_id: id(1) });
}

#[tokio::test]
async fn waiting_for_another_process_has_an_end() {
    let f = fixture();
    let store = impatient(f.dir.path());
    let other = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    let outcome = store.create(new("note", "one"), at(0), id(1), false).await;
    assert_eq!(outcome, Err(Error::Busy));
    assert!(started.elapsed() < Duration::from_secs(4));
    assert_eq!(store.get(&id(1)).await, Ok(None), "reading goes on");
    assert_eq!(impatient(f.dir.path()).get(&id(1)).await, Ok(None), "opening too");
    other.execute_batch("COMMIT").unwrap();
    assert!(matches!(store.create(new("note", "one"), at(0), id(1), false).await, Ok(Created::Entity(_))));
}

#[tokio::test]
async fn a_write_whose_caller_left_is_not_run() {
    let f = fixture();
    let other = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut stays = Box::pin(f.store.create(new("note", "stays"), at(0), id(1), false));
    let mut leaves = Box::pin(f.store.create(new("note", "leaves"), at(0), id(2), false));
    assert!(futures_util::poll!(&mut stays).is_pending());
    assert!(futures_util::poll!(&mut leaves).is_pending());
    drop(leaves);
    other.execute_batch("COMMIT").unwrap();
    stays.await.unwrap();
    f.store.clone().close().await;
    let lines = f.dump();
    assert!(lines.iter().any(|line| line.contains("stays")));
    assert!(!lines.iter().any(|line| line.contains("leaves")));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_readers_than_connections_take_turns() {
    let f = fixture();
    f.add(1, new("note", "one")).await;
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let store = f.store.clone();
            tokio::spawn(async move { store.get(&id(1)).await.unwrap().is_some() })
        })
        .collect();
    for task in tasks {
        assert!(task.await.unwrap());
    }
}
