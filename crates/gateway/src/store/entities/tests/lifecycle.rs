//! Creating, reading, changing and deleting one entity after another.

use super::*;

fn rename(name: &'static str) -> impl FnOnce(Entity) -> Result<Entity, String> + Send + 'static {
    move |entity| Ok(Entity { name: name.into(), ..entity })
}

#[tokio::test]
async fn what_was_created_is_read_back_the_same() {
    let f = fixture();
    let full = NewEntity {
        description: "for \"tests\"\0 and 'more' 🚀".into(),
        priority: i64::MIN,
        tags: Some(vec!["a".into(), String::new()]),
        metadata: metadata(json!({"deep": {"list": [1, 2.5, null, "x"]}, "big": u64::MAX})),
        ..new("note", "full")
    };
    let bare = NewEntity { tags: Some(Vec::new()), metadata: metadata(json!({})), ..new("note", "bare") };
    let full = f.add(1, full).await;
    let bare = f.add(2, bare).await;
    let absent = f.add(3, new("note", "absent")).await;
    assert_eq!((full.version, full.created_at), (1, full.updated_at));
    for entity in [full, bare, absent] {
        assert_eq!(f.store.get(&entity.id).await.unwrap(), Some(entity));
    }
    assert_eq!(f.store.get("nobody").await.unwrap(), None);
}

#[tokio::test]
async fn a_name_is_unique_within_its_type_only() {
    let f = fixture();
    let note = f.add(1, new("note", "x")).await;
    let task = f.add(2, new("task", "x")).await;
    let again = f.store.create(new("note", "x"), at(0), id(3), false).await.unwrap();
    assert_eq!(again, Created::Duplicate { existing_id: id(1) });
    assert_eq!(f.store.get(&id(3)).await.unwrap(), None);
    assert_eq!(f.store.find_by_name("x", None).await.unwrap(), [note, task.clone()]);
    assert_eq!(f.store.find_by_name("x", Some("task")).await.unwrap(), [task]);
    assert_eq!(f.store.find_by_name("X", None).await.unwrap(), []);
}

#[tokio::test]
async fn an_update_merges_through_the_closure_and_counts_versions() {
    let f = fixture();
    let before = f.add(1, NewEntity { priority: 3, ..new("note", "old") }).await;
    let meddling = |entity: Entity| {
        Ok::<_, ()>(Entity {
            id: "other".into(),
            version: 99,
            created_at: at(9),
            name: "new".into(),
            ..entity
        })
    };
    let updated = f.store.update(&id(1), Some(1), at(5), false, meddling).await.unwrap();
    let expected = Entity { name: "new".into(), version: 2, updated_at: records::storable(at(5)), ..before };
    assert_eq!(updated, Updated::Entity(expected.clone()));
    assert_eq!(f.store.get(&id(1)).await.unwrap(), Some(expected));
}

#[tokio::test]
async fn an_update_that_may_not_happen_says_why_and_changes_nothing() {
    let f = fixture();
    f.add(1, new("note", "one")).await;
    f.add(2, new("note", "two")).await;
    let before = f.dump();
    let store = &f.store;
    assert_eq!(store.update("nobody", None, at(1), false, rename("x")).await, Ok(Updated::Missing));
    assert_eq!(
        store.update(&id(1), Some(7), at(1), false, rename("x")).await,
        Ok(Updated::VersionMismatch { current: 1 })
    );
    assert_eq!(
        store.update(&id(1), None, at(1), false, rename("two")).await,
        Ok(Updated::Duplicate { existing_id: id(2) })
    );
    assert_eq!(store.update(&id(1), None, at(1), false, |_| Err("no")).await, Ok(Updated::Rejected("no")));
    assert_eq!(f.dump(), before);
    assert!(matches!(store.update(&id(1), None, at(1), false, rename("one")).await, Ok(Updated::Entity(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_updates_with_one_version_exactly_one_wins() {
    let f = fixture();
    f.add(1, new("note", "one")).await;
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = f.store.clone();
            let change = move |entity| Ok::<_, ()>(Entity { priority: number, ..entity });
            tokio::spawn(async move { store.update(&id(1), Some(1), at(1), false, change).await.unwrap() })
        })
        .collect();
    let (mut won, mut lost) = (Vec::new(), 0);
    for task in tasks {
        match task.await.unwrap() {
            Updated::Entity(entity) => won.push(entity),
            Updated::VersionMismatch { current: 2 } => lost += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((won.len(), lost), (1, 19));
    assert_eq!(f.store.get(&id(1)).await.unwrap().as_ref(), won.first());
}

#[tokio::test]
async fn deleting_checks_the_version_and_frees_the_name() {
    let f = fixture();
    let entity = f.add(1, new("note", "one")).await;
    assert_eq!(f.store.delete("nobody", None, false).await, Ok(Deleted::Missing));
    let mismatch = f.store.delete(&id(1), Some(2), false).await;
    assert_eq!(mismatch, Ok(Deleted::VersionMismatch { current: 1 }));
    let deleted = f.store.delete(&id(1), Some(1), false).await;
    assert_eq!(deleted, Ok(Deleted::Entity { entity, relations_removed: 0 }));
    assert_eq!(f.store.get(&id(1)).await, Ok(None));
    f.add(2, new("note", "one")).await;
}

#[tokio::test]
async fn dry_runs_answer_like_the_real_thing_and_change_nothing() {
    let f = fixture();
    for number in 1..=3 {
        f.add(number, NewEntity { description: "word".into(), ..new("note", &number.to_string()) }).await;
    }
    f.relate(1, 1, 2, "knows").await;
    let before = f.dump();

    let relation = |to: usize| NewRelation {
        from_id: id(1),
        to_id: id(to),
        relationship: "knows".into(),
        metadata: None,
    };
    let store = &f.store;
    let created = store.create(new("note", "4"), at(1), id(4), true).await.unwrap();
    let duplicate = store.create(new("note", "1"), at(1), id(5), true).await.unwrap();
    let updated = store.update(&id(1), Some(1), at(1), true, rename("renamed")).await.unwrap();
    let deleted = store.delete(&id(1), Some(1), true).await.unwrap();
    let related = store.create_relation(relation(3), at(1), "new".into(), true).await.unwrap();
    let doubly = store.create_relation(relation(2), at(1), "new".into(), true).await.unwrap();
    let unrelated = store.delete_relation("relation-1", true).await.unwrap();
    assert_eq!(f.dump(), before);

    assert_eq!(duplicate, Created::Duplicate { existing_id: id(1) });
    assert_eq!(doubly, RelationCreated::Duplicate { existing_id: "relation-1".into() });
    assert_eq!(store.create(new("note", "4"), at(1), id(4), false).await.unwrap(), created);
    assert_eq!(store.create_relation(relation(3), at(1), "new".into(), false).await.unwrap(), related);
    assert_eq!(
        store.delete_relation("new", false).await.unwrap().map(RelationCreated::Created),
        Some(related)
    );
    let Deleted::Entity { entity, relations_removed: 1 } = deleted else { panic!("{deleted:?}") };
    assert_eq!(store.get(&id(1)).await.unwrap(), Some(entity));
    assert_eq!(store.update(&id(1), Some(1), at(1), false, rename("renamed")).await.unwrap(), updated);
    assert_eq!(store.delete_relation("relation-1", false).await.unwrap(), unrelated);
    assert_ne!(f.dump(), before);
}

#[tokio::test]
async fn closing_finishes_what_was_queued_and_refuses_the_rest() {
    let f = fixture();
    let queued: Vec<_> = (0..100)
        .map(|number| Box::pin(f.store.create(new("note", &number.to_string()), at(0), id(number), false)))
        .collect();
    let mut queued = futures_util::future::join_all(queued);
    // Polled once, so that the writes are queued but not waited for.
    assert!(futures_util::poll!(&mut queued).is_pending());
    f.store.clone().close().await;
    assert!(queued.await.into_iter().all(|outcome| matches!(outcome, Ok(Created::Entity(_)))));
    assert_eq!(f.store.get(&id(1)).await, Err(Error::Closed));
    assert_eq!(f.store.delete(&id(1), None, false).await, Err(Error::Closed));

    let store = EntityStore::open(f.dir.path(), Options::default(), &[]).unwrap();
    assert_eq!(count(&store).await, 100);
}

#[tokio::test]
async fn a_panicking_change_harms_nobody_else() {
    let f = fixture();
    f.add(1, new("note", "one")).await;
    let before = f.dump();
    let outcome = f.store.update::<(), _>(&id(1), None, at(1), false, |_| panic!("on purpose")).await;
    assert_eq!(outcome, Err(Error::Io));
    assert_eq!(f.dump(), before);
    f.add(2, new("note", "two")).await;
}

#[tokio::test]
async fn many_are_created_at_once_and_a_taken_name_spoils_none_of_the_others() {
    let f = fixture();
    let all =
        ["a", "b", "a", "c"].iter().enumerate().map(|(number, name)| (new("note", name), at(0), id(number)));
    let created = f.store.create_all(all.collect()).await.unwrap();
    assert!(matches!(&created[2], Created::Duplicate { existing_id } if *existing_id == id(0)));
    assert_eq!(created.iter().filter(|one| matches!(one, Created::Entity(_))).count(), 3);
    assert_eq!(f.store.get(&id(3)).await.unwrap().unwrap().name, "c");
}
