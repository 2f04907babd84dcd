//! The query language over lists that servers return.

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, answered};
use crate::harness::Client;

fn things(client: &mut Client, server: &str, more: Value) -> Value {
    let mut params = json!({"count": 10});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    answered(client, &format!("{server}_list_things"), params)
}

fn ids(data: &Value) -> Vec<u64> {
    data["items"]
        .as_array()
        .unwrap_or_else(|| panic!("{data}"))
        .iter()
        .map(|item| item["id"].as_u64().unwrap())
        .collect()
}

/// REQ-PARAM-08 REQ-PARAM-09 REQ-PARAM-10
#[test]
fn lists_of_servers_can_be_filtered_sorted_and_projected() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &["--era", "initialize"]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "");
    for wire in CLIENTS {
        let mut client = place.connect(wire);
        for server in ["process", "remote"] {
            let plain = things(&mut client, server, json!({}));
            assert_eq!(plain["things"].as_array().map(Vec::len), Some(10), "nothing asked, nothing changed");
            let asked = json!({"filter": {"state": "open", "author.login": {"ne": "user1"}},
                               "sort": {"field": "id", "order": "desc"}, "fields": ["id", "author.login"]});
            let data = things(&mut client, server, asked);
            assert_eq!(data["items"], json!([{"id": 6, "author": {"login": "user0"}}]), "{wire:?}");
            assert!(data["call"].is_u64(), "what stood beside the list stays: {data}");
            let sorted =
                things(&mut client, server, json!({"sort": {"field": "title", "order": "desc"}, "first": 3}));
            assert_eq!(ids(&sorted), [9, 8, 7], "{wire:?}");
            let summed = things(
                &mut client,
                server,
                json!({"aggregate": {"by_state": {"group_by": "state", "count": true}}}),
            );
            assert_eq!(summed["aggregations"]["by_state"], json!({"open": 3, "closed": 7}));
        }
    }
}

/// REQ-PARAM-11 LREQ-PAGE-01
#[test]
fn the_next_page_comes_without_another_call_of_the_server() {
    for wire in CLIENTS {
        let place = Place::new().stdio("one", &[], "");
        let mut client = place.connect(wire);
        let mut page = things(&mut client, "one", json!({"first": 4}));
        let (call, mut seen) = (page["call"].clone(), ids(&page));
        while page["pageInfo"]["hasNextPage"] == true {
            page = things(&mut client, "one", json!({"first": 4, "after": page["pageInfo"]["endCursor"]}));
            assert_eq!(page["call"], call, "{wire:?}: the server was called again");
            seen.extend(ids(&page));
        }
        assert_eq!(seen, (1..=10).collect::<Vec<u64>>(), "{wire:?}");
        let calls = place.count("one", |event| event["params"]["name"] == "list_things");
        assert_eq!(calls, 1, "{wire:?}");
    }
}

/// The controls are ours; the server never sees them.
#[test]
fn the_server_gets_its_own_parameters_only() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    things(
        &mut client,
        "one",
        json!({"filter": {"id": {"gt": 5}}, "sort": {"field": "id"}, "first": 2, "fields": ["id"]}),
    );
    let call = place.event("one", "the call", |event| event["params"]["name"] == "list_things");
    assert_eq!(call["params"]["arguments"], json!({"count": 10}));
}

#[test]
fn a_list_that_is_too_long_for_one_page_comes_in_several() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let asked = |more: Value| {
        let mut params = json!({"count": 300, "note": 1000});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let mut page = answered(&mut client, "one_list_things", asked(json!({})));
    let mut seen = ids(&page);
    assert!((1..300).contains(&seen.len()), "{}", seen.len());
    while page["pageInfo"]["hasNextPage"] == true {
        page = answered(
            &mut client,
            "one_list_things",
            asked(json!({"first": 100, "after": page["pageInfo"]["endCursor"]})),
        );
        seen.extend(ids(&page));
    }
    assert_eq!(seen, (1..=300).collect::<Vec<u64>>());
    assert_eq!(place.count("one", |event| event["params"]["name"] == "list_things"), 1);
}
