//! The query language over whatever an operation returned: the lists are the operation's, the query is ours.

use serde_json::{Value, json};

use crate::harness::{Client, WIRES, data, fixture_setup};

fn things(client: &mut Client, more: Value) -> Value {
    let mut params = json!({"count": 10});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.read("list_things", params)
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["data"]["items"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()).collect()
}

/// REQ-PARAM-08 REQ-PARAM-09 REQ-PARAM-10 REQ-PARAM-18
#[test]
fn what_was_returned_can_be_filtered_sorted_projected_and_summed_up() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let plain = things(&mut client, json!({}));
        assert_eq!(plain["data"]["things"].as_array().unwrap().len(), 10, "nothing asked, nothing changed");
        assert!(plain["data"].get("pageInfo").is_none());

        let asked = json!({"filter": {"state": "open", "author.login": {"ne": "user1"}},
                           "sort": {"field": "id", "order": "desc"}, "fields": ["id", "author.login"]});
        let answer = things(&mut client, asked);
        assert_eq!(answer["data"]["items"], json!([{"id": 6, "author": {"login": "user0"}}]));
        assert_eq!(answer["data"]["pageInfo"]["hasNextPage"], false);
        assert!(answer["data"]["made"].is_u64(), "what stood beside the list stays: {answer}");

        let summary =
            things(&mut client, json!({"aggregate": {"by_state": {"group_by": "state", "count": true}}}));
        assert_eq!(summary["data"]["aggregations"]["by_state"], json!({"open": 3, "closed": 7}));
        assert!(summary["data"].get("items").is_none());

        let plain = things(&mut client, json!({"fields": "standard", "first": 1}));
        assert_eq!(
            plain["data"]["items"],
            json!([{"id": 1, "title": "Thing 1", "state": "closed", "note": "n"}])
        );
        let named = things(&mut client, json!({"fields": "minimal", "first": 1}));
        assert_eq!(named["data"]["items"], json!([{"id": 1, "title": "Thing 1"}]));
    }
}

/// REQ-PARAM-11 REQ-PARAM-19 LREQ-PAGE-01 LREQ-PAGE-07
#[test]
fn the_next_page_comes_from_the_same_list_without_another_call() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let asked = |after: Option<&Value>| match after {
            None => json!({"sort": {"field": "title", "order": "desc"}, "first": 4}),
            Some(cursor) => json!({"sort": {"field": "title", "order": "desc"}, "first": 4, "after": cursor}),
        };
        let first = things(&mut client, asked(None));
        // Another first page of the same call in between does not spoil the series.
        things(&mut client, json!({"first": 2}));
        let second = things(&mut client, asked(Some(&first["data"]["pageInfo"]["endCursor"])));
        let third = things(&mut client, asked(Some(&second["data"]["pageInfo"]["endCursor"])));
        assert_eq!(ids(&first), [9, 8, 7, 6]);
        assert_eq!(ids(&second), [5, 4, 3, 2]);
        assert_eq!(ids(&third), [10, 1]);
        assert_eq!(first["data"]["made"], second["data"]["made"], "one call made both pages");
        assert_eq!(third["data"]["pageInfo"]["hasNextPage"], false);
        let before = json!({"sort": {"field": "title", "order": "desc"}, "last": 4,
                            "before": third["data"]["pageInfo"]["startCursor"]});
        assert_eq!(ids(&things(&mut client, before)), [5, 4, 3, 2]);
    }
}

/// LREQ-PAGE-08
#[test]
fn a_cursor_of_another_list_or_session_is_refused() {
    let directory = data();
    let setup = fixture_setup(directory.path());
    let mut client = setup.connect(WIRES[0]);
    let cursor = things(&mut client, json!({"first": 2}))["data"]["pageInfo"]["endCursor"].clone();
    let refused = |answer: Value| {
        assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_CURSOR", "{answer}");
        assert_eq!(answer["error"]["details"]["param_name"], "after");
        assert!(answer["error"]["details"]["hint"].as_str().unwrap().contains("without 'after'"));
    };
    refused(client.read("list_things", json!({"count": 11, "first": 2, "after": cursor})));
    refused(things(&mut client, json!({"first": 2, "after": cursor, "sort": {"field": "id"}})));
    refused(things(&mut client, json!({"first": 2, "after": "bm9wZQ"})));
    refused(things(&mut setup.connect(WIRES[0]), json!({"first": 2, "after": cursor})));
    assert_eq!(ids(&things(&mut client, json!({"first": 2, "after": cursor}))), [3, 4]);
}

/// A list that is too long comes in pages that fit, whether they were asked for or not.
#[test]
fn a_long_list_comes_back_as_a_first_page() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let asked = json!({"count": 200, "note_bytes": 1000});
    let first = client.read("list_things", asked.clone());
    let shown = ids(&first).len();
    assert!((40..70).contains(&shown), "about 64 KB of a thousand bytes each: {shown}");
    let mut seen = ids(&first);
    let mut page = first;
    while page["data"]["pageInfo"]["hasNextPage"] == true {
        let mut next = asked.clone();
        next["first"] = json!(100);
        next["after"] = page["data"]["pageInfo"]["endCursor"].clone();
        page = client.read("list_things", next);
        seen.extend(ids(&page));
    }
    assert_eq!(seen, (1..=200).collect::<Vec<u64>>());
    // Fewer fields, and all of it fits.
    let lean = client.read("list_things", json!({"count": 200, "note_bytes": 1000, "fields": ["id"]}));
    assert_eq!(ids(&lean).len(), 200);
}

/// LREQ-QUERY-03 LREQ-QUERY-04 LREQ-AGG-04
#[test]
fn what_the_list_does_not_have_is_named_beside_what_it_has() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    for (asked, named, suggestion) in [
        (json!({"filter": {"stat": "open"}}), "stat", "state"),
        (json!({"sort": {"field": "titel"}}), "titel", "title"),
        (json!({"aggregate": {"x": {"sum": "idd"}}}), "idd", "id"),
        (json!({"filter": {"author.logn": "x"}}), "author.logn", "author.login"),
    ] {
        let error = things(&mut client, asked.clone())["error"].clone();
        let text = error.to_string();
        assert!(error["code"].as_str().unwrap().starts_with("VALIDATION_"), "{asked}: {error}");
        assert!(text.contains(named) && text.contains(suggestion), "{asked}: {error}");
    }
    let error = client.read("list_pairs", json!({"first": 1}))["error"].clone();
    assert_eq!(error["details"]["candidates"], json!(["left", "right"]), "{error}");
    let whole = client.read("list_pairs", json!({"fields": ["n"]}));
    assert_eq!(whole["data"], json!({"n": 1}));
    let error = things(&mut client, json!({"limit": 5}))["error"].clone();
    assert_eq!(error["code"], "VALIDATION_UNKNOWN_PARAM", "a style it does not list: {error}");
}

/// LREQ-FSEL-08
#[test]
fn fields_that_nothing_returned_has_are_warned_of() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let warned = |answer: &Value| {
            let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
            let unknown = |warning: &Value| warning["code"] == "VALIDATION_UNKNOWN_FIELD_WARNING";
            warnings.into_iter().find(unknown).map(|warning| warning["details"].clone())
        };
        let answer = client.read("list_things", json!({"count": 3, "fields": ["titel", "id"], "first": 2}));
        let details = warned(&answer).unwrap();
        assert_eq!(details["unknown_fields"], json!(["titel"]));
        assert_eq!(
            details["valid_fields"],
            json!(["author", "author.login", "id", "note", "state", "title"])
        );
        let next = json!({"count": 3, "fields": ["titel", "id"], "first": 2,
                          "after": answer["data"]["pageInfo"]["endCursor"]});
        let next = client.read("list_things", next);
        assert_eq!((ids(&next), warned(&next)), (vec![3], Some(details)));

        let pairs = client.read("list_pairs", json!({"fields": ["left.a", "n"]}));
        assert_eq!(pairs["data"], json!({"n": 1}));
        let details = warned(&pairs).unwrap();
        assert_eq!(details["unknown_fields"], json!(["left.a"]));
        assert_eq!(details["valid_fields"], json!(["left", "n", "right"]));

        let known = client.read("list_things", json!({"count": 3, "fields": ["title", "author.login"]}));
        assert_eq!(warned(&known), None, "{known}");
        let none = client.read("list_things", json!({"count": 0, "fields": ["titel"]}));
        assert_eq!(warned(&none), None, "{none}");
    }
}

#[test]
fn a_list_with_a_paging_of_its_own_is_not_cut() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let whole = client.read("list_rows", json!({"first": 100}));
    assert_eq!(whole["data"]["rows"].as_array().unwrap().len(), 100, "{whole}");
    let sorted = client.read("list_rows", json!({"first": 100, "sort": {"field": "n", "order": "desc"}}));
    assert_eq!(sorted["data"]["items"].as_array().unwrap().len(), 100);
    assert_eq!(sorted["data"]["items"][0]["n"], 99);
    assert_eq!(sorted["data"]["pageInfo"], json!({"hasNextPage": false, "hasPreviousPage": false}));
    assert_eq!(sorted["data"]["total"], 100);
    assert_eq!(sorted["data"]["beside"], json!({"pageInfo": {"next": "theirs"}}));
}

#[test]
fn a_series_goes_on_after_the_same_call_returned_other_fields() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let sort = json!({"field": "only_0", "order": "desc"});
    let first = client.read("list_changes", json!({"sort": sort, "first": 2}));
    assert_eq!(ids(&first), [3, 2]);
    client.read("list_changes", json!({"first": 2}));
    let cursor = &first["data"]["pageInfo"]["endCursor"];
    let next = client.read("list_changes", json!({"sort": sort, "first": 2, "after": cursor}));
    assert_eq!(ids(&next), [1, 0], "{next}");
    let error = client.read("list_changes", json!({"sort": {"field": "nope"}, "first": 2, "after": cursor}));
    assert_eq!(error["error"]["code"], "VALIDATION_INVALID_ENUM", "{error}");
}

#[test]
fn every_cursor_works_and_a_page_from_the_end_ends_with_the_last() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let all = things(&mut client, json!({"first": 20}));
    assert_eq!(all["data"]["pageInfo"]["hasNextPage"], false);
    let end = &all["data"]["pageInfo"]["endCursor"];
    assert_eq!(ids(&things(&mut client, json!({"last": 3, "before": end}))), [7, 8, 9]);
    assert_eq!(ids(&things(&mut client, json!({"first": 3, "after": end}))), [0; 0]);

    let page = client.read("list_things", json!({"count": 100, "note_bytes": 1000, "last": 100}));
    let shown = ids(&page);
    assert!(shown.len() < 100, "cut to what fits");
    assert_eq!(shown.last(), Some(&100));
    assert_eq!(page["data"]["pageInfo"]["hasPreviousPage"], true);
}
