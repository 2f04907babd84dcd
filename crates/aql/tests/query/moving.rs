//! Pages of a list that changes between them.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    generate::{self, params, run},
    model,
};

fn id(item: &Value) -> String {
    item["id"].as_str().unwrap().to_owned()
}

/// What happens between two pages: items that go, by their number, and items that come.
#[derive(Debug, Clone)]
struct Change {
    gone: Vec<usize>,
    come: Vec<Value>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (prop::collection::vec(0_usize..30, 0..4), generate::items(4))
        .prop_map(|(gone, come)| Change { gone, come });
    prop::collection::vec(change, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// LREQ-PAGE-06
    #[test]
    fn no_remaining_item_is_skipped_or_repeated(
        start in generate::items(30),
        filter in generate::filter(),
        sort in generate::sort(),
        size in 1_usize..5,
        forwards in any::<bool>(),
        changes in changes(),
    ) {
        let mut items = start.clone();
        let mut changes = changes.into_iter();
        let mut seen: Vec<Value> = Vec::new();
        let mut touched: HashSet<String> = HashSet::new();
        let mut at = Value::Null;
        let (size_name, cursor_name, more, cursor) = if forwards {
            ("first", "after", "hasNextPage", "endCursor")
        } else {
            ("last", "before", "hasPreviousPage", "startCursor")
        };
        loop {
            let given = params(&[
                ("filter", filter.clone()),
                ("sort", sort.clone()),
                (size_name, json!(size)),
                (cursor_name, at.clone()),
            ]);
            let answer = run(&given, &items);
            let page = answer["items"].as_array().unwrap().clone();
            seen = if forwards { [seen, page].concat() } else { [page, seen].concat() };
            if answer["pageInfo"][more] == false {
                break;
            }
            at = answer["pageInfo"][cursor].clone();
            if let Some(change) = changes.next() {
                for number in change.gone.into_iter().filter(|number| *number < start.len()) {
                    let gone = id(&start[number]);
                    items.retain(|item| id(item) != gone);
                    touched.insert(gone);
                }
                let known: HashSet<String> = items.iter().chain(&start).map(id).collect();
                for item in change.come.into_iter().filter(|item| !known.contains(&id(item))) {
                    touched.insert(id(&item));
                    items.push(item);
                }
            }
        }
        let mut times: HashMap<String, usize> = HashMap::new();
        seen.iter().for_each(|item| *times.entry(id(item)).or_default() += 1);
        prop_assert!(times.values().all(|times| *times == 1), "something was repeated");
        let expected = model::select(&filter, &sort, &start);
        let stayed = |item: &&Value| !touched.contains(&id(item));
        prop_assert_eq!(
            seen.iter().filter(stayed).collect::<Vec<_>>(),
            expected.iter().filter(stayed).collect::<Vec<_>>()
        );
        // What came or went did not disturb the order either.
        prop_assert_eq!(&model::select(&filter, &sort, &seen), &seen);
    }
}
