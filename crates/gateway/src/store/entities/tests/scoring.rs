//! The score of a search a second time, as simply as it can be written.

use std::collections::BTreeSet;

use super::*;

/// The items that the words find, with what a search adds to them, and the weights of the words.
pub(super) fn scored(items: &[(i64, Value)], words: &str) -> (Vec<Value>, Value) {
    let mut terms: Vec<Vec<&str>> = Vec::new();
    for (number, piece) in words.split('"').enumerate() {
        let found: Vec<Vec<&str>> = if number % 2 == 1 {
            vec![piece.split(' ').collect()]
        } else {
            piece.split_whitespace().map(|word| vec![word]).collect()
        };
        found.into_iter().for_each(|term| {
            if !terms.contains(&term) {
                terms.push(term);
            }
        });
    }
    let all = items.iter().map(|(row, _)| *row).max().unwrap_or(0).max(1) as f64;
    let mut scores = vec![0; items.len()];
    let mut weights = Vec::new();
    for term in &terms {
        let each: Vec<u64> = items.iter().map(|(_, item)| columns(item, term)).collect();
        let found = each.iter().filter(|score| **score > 0).count().max(1) as f64;
        let weight = (8.0 * (1.0 + all / found).log2()).round() as u64;
        weights.push(weight);
        scores.iter_mut().zip(each).for_each(|(score, found)| *score += found * weight);
    }
    let found = items.iter().zip(scores).filter(|(_, score)| *score > 0).map(|((row, item), score)| {
        let mut item = item.clone();
        item.as_object_mut().unwrap().remove("_relations");
        item["_row"] = (*row).into();
        item["_score"] = score.into();
        item
    });
    (found.collect(), json!(weights))
}

fn columns(item: &Value, term: &[&str]) -> u64 {
    let name = item["entity_name"].as_str().unwrap();
    let tags = item.get("tags").and_then(Value::as_array).cloned().unwrap_or_default();
    let deep = item.pointer("/metadata/words/deep/0").and_then(Value::as_str).unwrap_or_default();
    let mut score = if has(name, term) { 20 } else { 0 };
    score += if tags.iter().any(|tag| has(tag.as_str().unwrap(), term)) { 8 } else { 0 };
    score += if has(item["description"].as_str().unwrap(), term) { 2 } else { 0 };
    score + u64::from(has(deep, term))
}

fn has(text: &str, term: &[&str]) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(term.len()).any(|window| window == term)
}

#[tokio::test]
async fn rare_words_and_near_columns_count_more_and_equals_stand_as_created() {
    use super::super::{collection, query::Find};
    use aql::query::{CursorKey, Query};
    let f = fixture();
    let described = |name: &str, text: &str| NewEntity { description: text.into(), ..new("note", name) };
    f.add(9, described("one", "common word")).await;
    f.add(1, described("two", "common word")).await;
    f.add(5, described("three", "common rare")).await;
    f.add(3, described("common", "")).await;
    let found = async |words: &str| {
        let query = Query::read(
            json!({"fields": ["_computed.relevance"]}).as_object().unwrap(),
            &collection::search().unwrap(),
            &CursorKey::new(&[0; 32]),
        );
        let find = Find { words: Some(words.into()), entity_type: None };
        let answer = f.store.query(query.unwrap(), find, at(0)).await.unwrap().unwrap().into_value();
        let items = answer["items"].as_array().unwrap().clone();
        let scores: BTreeSet<u64> =
            items.iter().map(|item| item["_computed"]["relevance"].as_u64().unwrap()).collect();
        assert!(!scores.contains(&0), "{items:?}");
        items.iter().map(|item| item["entity_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("common").await, ["common", "one", "two", "three"]);
    assert_eq!(found("common rare").await, ["common", "three", "one", "two"]);
    assert_eq!(found("word rare").await, ["three", "one", "two"]);
    assert_eq!(found("").await, [""; 0]);
    assert_eq!(found("\"common rare\" ( * \0").await, ["three"]);
}
