//! Rows that someone else wrote to.

use super::*;

#[tokio::test]
async fn a_damaged_row_is_an_error_for_its_own_execution() {
    let f = fixture();
    let damages = [
        "UPDATE executions SET lifecycle = '{' WHERE id = ?1",
        "UPDATE executions SET lifecycle = '{\"custom\":[[\"x\",\"failed\"]]}' WHERE id = ?1",
        "UPDATE executions SET progress = '{}' WHERE id = ?1",
        "UPDATE executions SET error = 'null and void' WHERE id = ?1",
        "UPDATE executions SET error = '{\"code\":\"X\",\"message\":\"while running\"}' WHERE id = ?1",
        "UPDATE executions SET status = 'sleeping' WHERE id = ?1",
        "UPDATE executions SET status = 'completed' WHERE id = ?1",
        "UPDATE executions SET attempt = -1 WHERE id = ?1",
        "UPDATE executions SET attempt = 0 WHERE id = ?1",
        "UPDATE executions SET started_at = 9223372036854775807 WHERE id = ?1",
        "UPDATE executions SET started_at = NULL WHERE id = ?1",
        "UPDATE executions SET created_at = -9223372036854775808 WHERE id = ?1",
        "UPDATE executions SET progress = CAST(x'ff' AS TEXT) WHERE id = ?1",
    ];
    for (number, damage) in damages.iter().enumerate() {
        let run = f.start(number).await;
        assert_eq!(f.connection().execute(damage, [id(number)]).unwrap(), 1);
        assert_eq!(f.store.get(&id(number), "p1").await, Err(Error::Damaged), "{damage}");
        assert_eq!(f.store.advance(&run, percentage(1.0), at(2)).await, Err(Error::Damaged), "{damage}");
        assert_eq!(f.store.cancel(&id(number), "p1", None, at(2)).await, Err(Error::Damaged), "{damage}");
        assert_eq!(f.store.list("p1", Narrow::default(), 1).await, Err(Error::Damaged), "{damage}");
    }
    // The others keep their lease and come to their end all the same.
    f.start(500).await;
    for alive in [f.store.renew("a", at(5), LEASE).await, f.store.statuses("a").await] {
        let alive = alive.unwrap();
        assert!(alive.iter().any(|alive| alive.id == id(500)));
        assert!(alive.iter().all(|alive| alive.id != id(7)), "its attempt cannot be read");
    }
    assert_eq!(ids(&f.store.expire(at(100)).await.unwrap()), [id(500)]);
}

#[tokio::test]
async fn a_damaged_document_is_an_error_where_it_is_needed() {
    let f = fixture();
    let run = f.start(1).await;
    changed(f.store.advance(&run, Command::Complete(json!(1)), at(2)).await);
    f.fail(2).await;
    f.connection().execute("UPDATE documents SET json = '[1,'", []).unwrap();
    assert_eq!(f.store.get(&id(1), "p1").await, Err(Error::Damaged));
    assert!(f.store.get(&id(2), "p1").await.is_ok());
    assert_eq!(f.store.take_over(&id(2), "p1", claim("a", "s1"), at(3)).await, Err(Error::Damaged));
    assert_eq!(f.status(2).await, "failed", "nothing of the retry happened");
    f.connection().execute("DELETE FROM documents", []).unwrap();
    assert_eq!(f.store.take_over(&id(2), "p1", claim("a", "s1"), at(3)).await, Err(Error::Damaged));
}

#[tokio::test]
async fn another_kind_of_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    crate::store::EntityStore::open(dir.path(), Options::default(), &[]).unwrap().close().await;
    std::fs::rename(dir.path().join("entities.db"), dir.path().join(schema::FILE)).unwrap();
    assert_eq!(ExecutionStore::open(dir.path(), Options::default()).err(), Some(Error::Damaged));
}
