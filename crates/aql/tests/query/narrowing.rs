//! What storage is told to narrow by never loses an item, and a narrowed run answers like a whole one.

use aql::query::{Beyond, Window, path};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    generate::{self, now, params, read, run},
    model,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn conjuncts_hold_for_every_accepted_item(items in generate::items(20), filter in generate::filter()) {
        let query = read(&json!({"filter": filter}));
        let conjuncts = query.filter().conjuncts();
        for item in &items {
            let narrowed = conjuncts.iter().all(|condition| {
                let path = condition.target.stored().unwrap();
                condition.test.holds(path::find(path, item))
            });
            prop_assert!(narrowed || !model::accepts(&filter, item), "{item} was lost");
            if query.filter().is_conjunctive() {
                prop_assert_eq!(narrowed, model::accepts(&filter, item), "{}", item);
            }
        }
    }

    /// As a store would: only the rows behind the cursor, one more than the page holds, and two facts about the rest.
    #[test]
    fn a_narrowed_page_is_the_whole_one(
        items in generate::items(24),
        filter in generate::filter(),
        sort in generate::sort(),
        size in 1_usize..5,
        from in 0_usize..20,
        forwards in any::<bool>(),
    ) {
        let ordered = model::select(&filter, &sort, &items);
        if ordered.is_empty() {
            return Ok(());
        }
        let from = from % ordered.len();
        let (size_name, cursor_name) = if forwards { ("first", "after") } else { ("last", "before") };
        let base = [("filter", filter), ("sort", sort), ("include_total", json!(true)), (size_name, json!(size))];
        // The cursor of one item: the end or the start of a page with that item on its edge.
        let reach = if forwards { from + 1 } else { ordered.len() - from };
        let edge = params(&[&base[..3], &[(size_name, json!(reach))]].concat());
        let edge = run(&edge, &items)["pageInfo"][if forwards { "endCursor" } else { "startCursor" }].clone();
        let given = params(&[&base[..], &[(cursor_name, edge)]].concat());

        let query = read(&given);
        let (Window::First { after: place, .. } | Window::Last { before: place, .. }) = query.window() else {
            unreachable!()
        };
        prop_assert_eq!(&place.as_ref().unwrap().id.to_value(), &ordered[from]["id"]);
        let (handed, beyond): (Vec<Value>, Beyond) = if forwards {
            let handed = ordered.iter().skip(from + 1).take(size + 1).cloned().collect();
            (handed, Beyond { before: true, total: Some(ordered.len()), ..Beyond::default() })
        } else {
            let handed = ordered[..from].iter().rev().take(size + 1).cloned().collect();
            (handed, Beyond { after: true, total: Some(ordered.len()), ..Beyond::default() })
        };
        let narrowed = query.run_narrowed(handed, beyond, now()).unwrap().into_value();
        prop_assert_eq!(narrowed, run(&given, &items));
    }
}
