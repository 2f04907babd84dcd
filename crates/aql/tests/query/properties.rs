//! Engine and model give the same, whatever the items and the query.

use aql::query::order;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    generate::{self, params, run},
    model,
};

/// All pages from the start to the end, or from the end to the start, in the order of the list.
fn joined(filter: &Value, sort: &Value, size: usize, forwards: bool, items: &[Value]) -> Vec<Value> {
    let (size_name, cursor_name) = if forwards { ("first", "after") } else { ("last", "before") };
    let (more, other, cursor) = if forwards {
        ("hasNextPage", "hasPreviousPage", "endCursor")
    } else {
        ("hasPreviousPage", "hasNextPage", "startCursor")
    };
    let mut all: Vec<Value> = Vec::new();
    let mut at = Value::Null;
    loop {
        let given = params(&[
            ("filter", filter.clone()),
            ("sort", sort.clone()),
            (size_name, json!(size)),
            (cursor_name, at.clone()),
        ]);
        let answer = run(&given, items);
        assert_eq!(run(&given, items), answer, "the same cursor twice gives the same page");
        let page = answer["items"].as_array().unwrap().clone();
        let info = &answer["pageInfo"];
        assert_eq!(info[other], !all.is_empty(), "{info}");
        assert!(page.len() <= size);
        for cursor in ["startCursor", "endCursor"] {
            let text = info.get(cursor).and_then(Value::as_str);
            assert_eq!(text.is_some(), !page.is_empty(), "cursors are there when items are");
            let safe = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            assert!(text.is_none_or(|text| text.bytes().all(safe)), "{text:?}");
        }
        all = if forwards { [all, page].concat() } else { [page, all].concat() };
        if info[more] == false {
            return all;
        }
        at = info[cursor].clone();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// LREQ-PAGE-01 LREQ-PAGE-03 LREQ-PAGE-07 REQ-PARAM-08 REQ-PARAM-11
    #[test]
    fn pages_joined_either_way_are_what_the_model_selects(
        items in generate::items(24),
        filter in generate::filter(),
        sort in generate::sort(),
        size in 1_usize..9,
    ) {
        let expected = model::select(&filter, &sort, &items);
        prop_assert_eq!(&joined(&filter, &sort, size, true, &items), &expected);
        prop_assert_eq!(&joined(&filter, &sort, size, false, &items), &expected);
    }

    /// REQ-PARAM-20 REQ-PARAM-21
    #[test]
    fn offsets_and_page_numbers_cut_the_same_list(
        items in generate::items(24),
        filter in generate::filter(),
        sort in generate::sort(),
        size in 1_usize..9,
        number in 0_usize..9,
        total in any::<bool>(),
    ) {
        let expected = model::select(&filter, &sort, &items);
        let cut = |skip: usize| expected.iter().skip(skip).take(size).cloned().collect::<Vec<_>>();
        let base = [("filter", filter.clone()), ("sort", sort.clone()), ("include_total", json!(total))];
        let with = |more: [(&'static str, Value); 2]| params(&[base.as_slice(), more.as_slice()].concat());

        let offset = run(&with([("limit", json!(size)), ("offset", json!(number))]), &items);
        prop_assert_eq!(&offset["items"], &json!(cut(number)));
        let mut told = json!({
            "limit": size, "offset": number, "returned": cut(number).len(), "has_more": expected.len() > number + size
        });
        if total {
            told["total_items"] = expected.len().into();
        }
        prop_assert_eq!(&offset["pagination"], &told);

        let page = run(&with([("page", json!(number + 1)), ("page_size", json!(size))]), &items);
        prop_assert_eq!(&page["items"], &json!(cut(number * size)));
        let mut told =
            json!({"page": number + 1, "page_size": size, "has_more": expected.len() > (number + 1) * size});
        if total {
            told["total_items"] = expected.len().into();
            told["total_pages"] = expected.len().div_ceil(size).into();
        }
        prop_assert_eq!(&page["pagination"], &told);
    }

    /// LREQ-AGG-01 LREQ-AGG-02 LREQ-AGG-03 REQ-PARAM-10
    #[test]
    fn aggregations_are_those_of_the_model(
        items in generate::items(24),
        filter in generate::filter(),
        aggregate in generate::aggregate(),
        include_items in any::<bool>(),
    ) {
        let given = json!({
            "filter": filter, "aggregate": aggregate, "include_items": include_items, "first": 3,
            "include_total": include_items
        });
        let answer = run(&given, &items);
        let accepted = model::select(&filter, &Value::Null, &items);
        let expected = model::aggregate(&aggregate, &accepted);
        prop_assert!(model::same(&answer["aggregations"], &expected), "{}\n{expected}", answer["aggregations"]);
        let mut reversed = items.clone();
        reversed.reverse();
        prop_assert_eq!(&run(&given, &reversed)["aggregations"], &answer["aggregations"]);
        prop_assert_eq!(answer.get("items").is_some(), include_items);
        if include_items {
            prop_assert_eq!(&answer["items"], &json!(accepted[..accepted.len().min(3)]));
            prop_assert_eq!(&answer["pageInfo"]["totalCount"], &json!(accepted.len()));
        }
    }

    #[test]
    fn the_order_is_total_and_equality_and_text_agree_with_it(
        a in generate::anything(),
        b in generate::anything(),
        c in generate::anything(),
    ) {
        prop_assert_eq!(order::compare(&a, &b), model::compare(&a, &b));
        prop_assert_eq!(order::compare(&a, &b), order::compare(&b, &a).reverse());
        let mut three = [&a, &b, &c];
        three.sort_by(|a, b| order::compare(a, b));
        prop_assert!(order::compare(three[0], three[2]).is_le());
        prop_assert_eq!(order::canonical(&a) == order::canonical(&b), order::equal(&a, &b));
        let again: Value = serde_json::from_str(&order::canonical(&a)).unwrap();
        prop_assert!(order::equal(&again, &a));
    }
}
