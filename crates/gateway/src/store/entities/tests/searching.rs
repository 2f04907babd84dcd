//! What a search finds, and in which order.

use super::*;

async fn found_of(f: &Fixture, entity_type: Option<&str>, words: &str) -> Vec<String> {
    let params = json!({"first": 100});
    let query =
        Query::read(params.as_object().unwrap(), &collection::search().unwrap(), &CursorKey::new(&[0; 32]));
    let find = Find { entity_type: entity_type.map(str::to_owned), words: Some(words.to_owned()) };
    let answer = f.store.query(query.unwrap(), find, at(0)).await.unwrap().unwrap().into_value();
    let items = answer["items"].as_array().unwrap();
    items.iter().map(|item| item["entity_name"].as_str().unwrap().to_owned()).collect()
}

async fn found(f: &Fixture, words: &str) -> Vec<String> {
    found_of(f, None, words).await
}

async fn library() -> Fixture {
    let f = fixture();
    let described =
        |name: &str, description: &str| NewEntity { description: description.into(), ..new("note", name) };
    f.add(1, described("aqueduct", "carries water over a long distance")).await;
    f.add(2, described("bridge", "carries a road over water")).await;
    f.add(3, described("road", "leads far away")).await;
    let tagged = Some(vec!["Crème brûlée".into(), "stone arch".into()]);
    f.add(4, NewEntity { tags: tagged, ..new("task", "arches") }).await;
    let deep = metadata(json!({"hidden": {"list": ["mortar", 1876]}, "second": "lime"}));
    f.add(5, NewEntity { metadata: deep, ..new("task", "walls") }).await;
    f.add(6, described("library", "全文検索のテスト")).await;
    f
}

#[tokio::test]
async fn any_word_matches_and_a_phrase_matches_as_a_whole() {
    let f = library().await;
    for (query, expected) in [
        ("distance", vec!["aqueduct"]),
        ("far mortar", vec!["road", "walls"]),
        ("MORTAR nothing", vec!["walls"]),
        ("1876", vec!["walls"]),
        ("creme", vec!["arches"]),
        ("hidden", vec![]),
        ("\"over water\"", vec!["bridge"]),
        ("\"water over\"", vec!["aqueduct"]),
        ("\"carries road\"", vec![]),
        ("\"stone arch\" \"leads far\"", vec!["arches", "road"]),
        // Two values that happen to be neighbours are no phrase.
        ("\"brulee stone\"", vec![]),
        ("検索", vec!["library"]),
        ("索検", vec![]),
    ] {
        let mut names = found(&f, query).await;
        names.sort();
        assert_eq!(names, expected, "{query}");
    }
    assert_eq!(found_of(&f, Some("task"), "mortar road").await, ["walls"]);
}

#[tokio::test]
async fn what_stands_between_values_is_no_word() {
    let f = library().await;
    let described = NewEntity { description: "left\u{E000}right".into(), ..new("note", "sides") };
    f.add(7, described).await;
    assert_eq!(found(&f, "\u{E000}").await, [""; 0]);
    assert_eq!(found(&f, "\"brulee \u{E000} stone\"").await, [""; 0]);
    assert_eq!(found(&f, "\"left right\"").await, ["sides"]);
}

#[tokio::test]
async fn better_matches_come_first() {
    let f = library().await;
    // Longer texts count less, but not as much less as a name counts more.
    let long = "a sign beside the way that says how far it is to the next town".into();
    f.add(8, NewEntity { description: long, ..new("note", "milestone") }).await;
    f.add(7, NewEntity { description: "milestone".into(), ..new("note", "stone") }).await;
    assert_eq!(found(&f, "milestone").await, ["milestone", "stone"]);
    let both = found(&f, "water distance").await;
    assert_eq!(both, ["aqueduct", "bridge"], "two words count more than one");
}

#[tokio::test]
async fn any_text_is_a_safe_query() {
    let f = library().await;
    f.add(7, new("note", "and or not near")).await;
    for nothing in
        ["", " ", "\"", "\"\"", "\"\"\"", "*", "😀", "\0", "()", "^", "-", "+", "{}", ":", "' OR 1=1 --"]
    {
        let names = found(&f, nothing).await;
        // `OR` and `1` are words like any other.
        let expected: &[&str] = if nothing.contains("OR") { &["and or not near"] } else { &[] };
        assert_eq!(names, expected, "{nothing:?}");
    }
    assert_eq!(found(&f, "AND OR NOT").await, ["and or not near"]);
    assert_eq!(found(&f, "NEAR(").await, ["and or not near"]);
    assert_eq!(found(&f, "name:walls").await, [""; 0], "a column is no filter");
    assert_eq!(found(&f, "wall*").await, [""; 0], "a star is no wildcard");
    for one in
        ["\"distance", "distance\"", "dis\0 distance", "😀 distance", "distance)", "-distance", "^distance"]
    {
        assert_eq!(found(&f, one).await, ["aqueduct"], "{one:?}");
    }
    let endless = "x ".repeat(100_000) + &"\"y z\" ".repeat(10_000) + &"w".repeat(1_000_000);
    assert_eq!(found(&f, &endless).await, [""; 0]);
}

#[tokio::test]
async fn equally_good_matches_come_in_the_order_of_their_creation() {
    let f = fixture();
    for number in [3, 1, 2] {
        f.add(number, NewEntity { description: "word".into(), ..new("note", &format!("n{number}")) }).await;
    }
    for number in 10..20 {
        f.add(number, new("note", &format!("n{number}"))).await;
    }
    assert_eq!(found(&f, "word").await, ["n3", "n1", "n2"]);
}

#[tokio::test]
async fn the_index_keeps_step_with_updates_and_deletes() {
    let f = library().await;
    let change = |entity| Ok::<_, ()>(Entity { description: "spans a valley".into(), ..entity });
    f.store.update(&id(2), None, at(1), false, change).await.unwrap();
    assert_eq!(found(&f, "valley").await, ["bridge"]);
    assert_eq!(found(&f, "water").await, ["aqueduct"]);
    f.store.delete(&id(1), None, false).await.unwrap();
    assert_eq!(found(&f, "water aqueduct").await, [""; 0]);
    // A row number that is used again does not bring old words back.
    f.store.delete(&id(6), None, false).await.unwrap();
    f.add(8, new("note", "fresh")).await;
    assert_eq!(found(&f, "library").await, [""; 0]);
    assert_eq!(found(&f, "fresh").await, ["fresh"]);
    let connection = Connection::open(f.dir.path().join(schema::FILE)).unwrap();
    connection
        .execute("INSERT INTO entities_text (entities_text) VALUES ('integrity-check')", [])
        .expect("the index is sound");
}
