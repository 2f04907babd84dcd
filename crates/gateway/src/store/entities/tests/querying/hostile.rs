//! Queries that nobody would ask in good faith.

use super::*;

#[tokio::test]
async fn any_path_and_operand_is_safe() {
    let deep = (0..50).fold(json!("bottom"), |inner, _| json!({"d": [inner]}));
    let odd = json!({
        "a'b": 1, "a\"b": 2, "a\0b": 3, "); DROP TABLE entities; --": 4, "é😀": 5, "deep": deep, "n": 1e308,
        "long": "y".repeat(100_000),
    });
    let entity =
        |name: &str, data: &Value| NewEntity { metadata: metadata(data.clone()), ..new("note", name) };
    let index = [
        "metadata.a'b",
        "metadata.a\"b",
        "metadata.); DROP TABLE entities; --",
        "metadata.é😀",
        "metadata.long",
    ];
    let index: Vec<String> = index.iter().map(|path| (*path).to_owned()).collect();
    let twin = Twin::new(vec![entity("one", &odd), entity("two", &json!({}))], &[], &index).await;
    let list = collection::list().unwrap();
    for (path, value) in odd.as_object().unwrap() {
        let path = format!("metadata.{path}");
        for test in [
            json!({"eq": value}),
            json!({"in": [value, "' OR 1=1 --", "\0"]}),
            json!({"ne": value}),
            json!({"gte": "y"}),
            json!({"starts_with": "y".repeat(99_999)}),
            json!({"gt": "y".repeat(256)}),
            json!({"lt": 1e300}),
            json!({"exists": false}),
            json!({"nin": [value]}),
        ] {
            for sort in [
                json!({"field": path}),
                json!({"field": path, "order": "desc"}),
                json!({"field": "priority"}),
            ] {
                let given = json!({"filter": {&path: test}, "sort": sort, "include_total": true, "first": 1});
                let find = Find::default();
                assert_eq!(twin.answer(&given, &find, &list).await, twin.expected(&given, &find), "{given}");
                let given =
                    json!({"filter": {&path: test}, "aggregate": {"g": {"group_by": path, "count": true}}});
                assert_eq!(twin.answer(&given, &find, &list).await, twin.expected(&given, &find), "{given}");
            }
        }
    }
}

#[tokio::test]
async fn a_filter_of_many_values_fits_into_a_statement() {
    let twin = Twin::new(vec![new("note", "one"), new("note", "two")], &[], &[]).await;
    let many: Vec<Value> = (0..1000).map(Value::from).collect();
    let all: Vec<Value> = (0..99).map(|n| json!({format!("metadata.p{n}"): {"nin": many}})).collect();
    let given = json!({"filter": {"and": all}, "include_total": true, "sort": {"field": "priority"}});
    let list = collection::list().unwrap();
    assert_eq!(twin.answer(&given, &Find::default(), &list).await, twin.expected(&given, &Find::default()));
}

#[tokio::test]
async fn too_many_groups_are_refused_alike() {
    let dir = tempfile::tempdir().unwrap();
    let store = EntityStore::open(dir.path(), Options::default(), &["metadata.n".to_owned()]).unwrap();
    let entities = (0..10_001)
        .map(|n| NewEntity { metadata: metadata(json!({"n": n})), ..new("note", &format!("n{n}")) });
    let created = entities.enumerate().map(|(number, new)| store.create(new, at(0), id(number), false));
    for created in join_all(created).await {
        created.unwrap();
    }
    let given = json!({"aggregate": {"g": {"group_by": "metadata.n", "count": true}}});
    let list = collection::list().unwrap();
    let refused = store.query(read(&given, &list), Find::default(), at(0)).await.unwrap().unwrap_err();
    assert_eq!(refused.details["limit_type"], "groups");
}

/// Indexes come and go without anything being lost, and a process whose indexes another one dropped goes on.
#[tokio::test]
async fn indexes_follow_the_configuration() {
    let data = |n: i64| NewEntity {
        metadata: metadata(json!({"a": n % 3, "b": {"c": n}})),
        ..new("note", &format!("n{n}"))
    };
    let first = ["metadata.a".to_owned(), "metadata.b.c".to_owned()];
    let mut twin = Twin::new((0..20).map(data).collect(), &[], &first).await;
    let list = collection::list().unwrap();
    let given =
        json!({"filter": {"metadata.a": 1}, "sort": {"field": "metadata.b.c", "order": "desc"}, "first": 5});
    let names = |dir: &Path| -> Vec<String> {
        let connection = Connection::open(dir.join(schema::FILE)).unwrap();
        let mut statement = connection
            .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'entities_by_metadata%' ORDER BY name")
            .unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(names(twin.f.dir.path()), ["entities_by_metadata.a", "entities_by_metadata.b.c"]);
    for index in [&["metadata.b".to_owned()][..], &[], &first[..1], &first] {
        let other = EntityStore::open(twin.f.dir.path(), Options::default(), index).unwrap();
        assert_eq!(names(twin.f.dir.path()).len(), index.len());
        let expected = twin.expected(&given, &Find::default());
        assert_eq!(twin.answer(&given, &Find::default(), &list).await, expected, "{index:?}");
        let same = other.query(read(&given, &list), Find::default(), later()).await.unwrap().unwrap();
        assert_eq!(Ok(same.into_value()), expected, "{index:?}");
        twin.add(vec![data(1)]).await;
    }
}

/// Nothing is decided by a key behind the id, but cursors carry it, so it has to be read.
#[tokio::test]
async fn keys_behind_the_id_are_carried_all_the_same() {
    // Few enough among the others that they are looked up one by one.
    let kind = |n: usize| if n.is_multiple_of(5) { "note" } else { "task" };
    let twin = Twin::new((0..15).map(|n| new(kind(n), &format!("n{n}"))).collect(), &[], &[]).await;
    let list = collection::list().unwrap();
    let sort =
        json!([{"field": "entity_id", "order": "desc"}, {"field": "priority"}, {"field": "entity_id"}]);
    for filter in [json!({}), json!({"entity_type": {"in": ["note"]}}), json!({"entity_name": {"ne": "x"}})] {
        for (size, cursor, edge) in [("first", "after", "endCursor"), ("last", "before", "startCursor")] {
            let mut given = json!({"filter": filter, "sort": sort, size: 1});
            for _ in 0..3 {
                let (found, expected) = (
                    twin.answer(&given, &Find::default(), &list).await,
                    twin.expected(&given, &Find::default()),
                );
                assert_eq!(found, expected, "{given}");
                given[cursor] = expected.unwrap()["pageInfo"][edge].clone();
            }
        }
    }
}
