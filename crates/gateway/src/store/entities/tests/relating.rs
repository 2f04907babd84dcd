//! Relations between entities.

use super::*;

#[tokio::test]
async fn relations_connect_existing_entities_once() {
    let f = fixture();
    for number in 1..=3 {
        f.add(number, new("note", &number.to_string())).await;
    }
    let RelationCreated::Created(relation) = f.relate(1, 1, 2, "knows").await else { panic!() };
    assert_eq!(relation.metadata, metadata(json!({"since": 2020})));
    let duplicate = RelationCreated::Duplicate { existing_id: relation.id.clone() };
    assert_eq!(f.relate(2, 1, 2, "knows").await, duplicate);
    for (number, from, to, relationship) in [(3, 2, 1, "knows"), (4, 1, 2, "likes"), (5, 1, 1, "knows")] {
        assert!(matches!(f.relate(number, from, to, relationship).await, RelationCreated::Created(_)));
    }
    assert_eq!(f.relate(6, 8, 9, "knows").await, RelationCreated::MissingEntity { id: id(8) });
    assert_eq!(f.relate(6, 1, 9, "knows").await, RelationCreated::MissingEntity { id: id(9) });

    let of_second = f.store.relations_of(&id(2)).await.unwrap();
    assert_eq!(of_second.first(), Some(&relation));
    let ids: Vec<_> = of_second.iter().map(|r| r.id.as_str()).collect();
    assert_eq!(ids, ["relation-1", "relation-3", "relation-4"]);
    assert_eq!(f.store.relations_of(&id(3)).await.unwrap(), []);

    assert_eq!(f.store.delete_relation(&relation.id, false).await.unwrap(), Some(relation.clone()));
    assert_eq!(f.store.delete_relation(&relation.id, false).await.unwrap(), None);
    assert!(matches!(f.relate(7, 1, 2, "knows").await, RelationCreated::Created(_)));
}

#[tokio::test]
async fn deleting_an_entity_removes_its_relations_and_no_others() {
    let f = fixture();
    for number in 1..=3 {
        f.add(number, new("note", &number.to_string())).await;
    }
    for (number, from, to) in [(1, 1, 2), (2, 2, 1), (3, 1, 1), (4, 2, 3)] {
        f.relate(number, from, to, "knows").await;
    }
    let deleted = f.store.delete(&id(1), None, false).await.unwrap();
    assert!(matches!(deleted, Deleted::Entity { relations_removed: 3, .. }), "{deleted:?}");
    let left: Vec<_> = f.store.relations_of(&id(2)).await.unwrap().into_iter().map(|r| r.id).collect();
    assert_eq!(left, ["relation-4"]);
}
