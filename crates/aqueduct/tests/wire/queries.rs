//! The query language over stored entities: every control that is listed works, and every mistake is told.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::{Client, Setup, WIRES, data};

/// Twenty items, every third open, with priorities that repeat and notes of several types.
fn fill(client: &mut Client) {
    for n in 0..20 {
        let status = if n % 3 == 0 { "open" } else { "done" };
        let mut metadata =
            json!({"status": status, "cost": f64::from(n) / 2.0, "owner": {"team": format!("t{}", n % 2)}});
        match n % 4 {
            0 => metadata["note"] = json!("text"),
            1 => metadata["note"] = json!(n),
            2 => metadata["note"] = Value::Null,
            _ => {}
        }
        let made = client.create(
            "create_entity",
            json!({"entity_name": format!("Item{n:02}"), "entity_type": "item", "description": format!("number {n}"),
                   "priority": n % 5 + 1, "tags": [format!("tag{}", n % 3)], "metadata": metadata}),
        );
        assert_eq!(made["success"], true, "{made}");
    }
}

fn list(client: &mut Client, params: Value) -> Value {
    client.read("list_entities", params)
}

fn names(answer: &Value) -> Vec<String> {
    let items = answer["data"]["items"].as_array().unwrap_or_else(|| panic!("{answer}"));
    items.iter().map(|item| item["entity_name"].as_str().unwrap().to_owned()).collect()
}

/// REQ-PARAM-08 LREQ-QUERY-08
#[test]
fn filters_and_sorts_mean_what_they_say() {
    for wire in WIRES {
        let directory = data();
        let mut client =
            Setup::new(directory.path()).config("[entities]\nindex = [\"metadata.status\"]\n").connect(wire);
        fill(&mut client);
        let open = list(
            &mut client,
            json!({"filter": {"metadata.status": "open"}, "sort": {"field": "created_at", "order": "desc"}}),
        );
        assert_eq!(names(&open), ["Item18", "Item15", "Item12", "Item09", "Item06", "Item03", "Item00"]);
        for (filter, expected) in [
            (
                json!({"priority": {"gte": 5}, "metadata.status": {"ne": "open"}}),
                vec!["Item04", "Item14", "Item19"],
            ),
            (json!({"metadata.owner.team": "t1", "priority": {"in": [1]}}), vec!["Item05", "Item15"]),
            (
                json!({"or": [{"entity_name": "Item01"}, {"description": {"contains": "number 2"}}]}),
                vec!["Item01", "Item02"],
            ),
            (json!({"tags": {"contains": "tag2"}, "not": {"metadata.cost": {"lt": 8}}}), vec!["Item17"]),
            (
                json!({"metadata.note": {"exists": false}, "metadata.cost": {"lt": 4}}),
                vec!["Item03", "Item07"],
            ),
            (
                json!({"metadata.note": {"starts_with": "te"}, "metadata.cost": {"lte": 2}}),
                vec!["Item00", "Item04"],
            ),
            (json!({"_computed.age_days": 0, "entity_name": {"gte": "Item19"}}), vec!["Item19"]),
        ] {
            assert_eq!(names(&list(&mut client, json!({"filter": filter}))), expected, "{filter}");
        }
        let sorted = list(
            &mut client,
            json!({"first": 4, "sort": [
            {"field": "priority", "order": "desc"}, {"field": "metadata.cost"}]}),
        );
        assert_eq!(names(&sorted), ["Item04", "Item09", "Item14", "Item19"]);
        let refused =
            list(&mut client, json!({"sort": {"field": "created_at", "order": "up"}}))["error"].clone();
        assert!(refused["code"].as_str().unwrap().starts_with("VALIDATION_"), "{refused}");
    }
}

/// LREQ-PAGE-01 LREQ-PAGE-03 REQ-PARAM-19 REQ-PARAM-21 LREQ-PAGE-05
#[test]
fn pages_go_both_ways_and_tell_where_they_stand() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    fill(&mut client);
    let sort = json!({"field": "priority", "order": "desc"});
    let whole = names(&list(&mut client, json!({"sort": sort, "first": 100})));
    let page = |client: &mut Client, more: Value| {
        let mut params = json!({"sort": sort});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        list(client, params)
    };
    let first = page(&mut client, json!({"first": 7}));
    let second = page(&mut client, json!({"first": 7, "after": first["data"]["pageInfo"]["endCursor"]}));
    let third = page(
        &mut client,
        json!({"first": 7, "after": second["data"]["pageInfo"]["endCursor"], "include_total": true}),
    );
    assert_eq!([names(&first), names(&second), names(&third)].concat(), whole);
    let flags = |page: &Value| {
        let info = &page["data"]["pageInfo"];
        (
            info["hasPreviousPage"].as_bool().unwrap(),
            info["hasNextPage"].as_bool().unwrap(),
            info["totalCount"].as_u64(),
        )
    };
    assert_eq!(
        [&first, &second, &third].map(flags),
        [(false, true, None), (true, true, None), (true, false, Some(20))]
    );
    let back = page(&mut client, json!({"last": 7, "before": third["data"]["pageInfo"]["startCursor"]}));
    assert_eq!(names(&back), names(&second));
    assert_eq!(names(&page(&mut client, json!({"last": 6}))), whole[14..]);
    let none = list(&mut client, json!({"filter": {"entity_name": "nobody"}, "include_total": true}));
    assert_eq!(
        none["data"],
        json!({"items": [], "pageInfo": {"hasNextPage": false, "hasPreviousPage": false, "totalCount": 0}})
    );
    for n in 0..120 {
        client.new_item(&format!("More{n}"));
    }
    assert_eq!(
        names(&list(&mut client, json!({"first": 500}))).len(),
        100,
        "more than the most is cut, not refused"
    );
}

/// REQ-PARAM-12 REQ-PARAM-20 LREQ-QUERY-05 LREQ-PAGE-02
#[test]
fn other_styles_work_where_they_are_listed_and_are_never_mixed() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    fill(&mut client);
    let offset = list(&mut client, json!({"limit": 5, "offset": 17, "include_total": true}));
    assert_eq!(names(&offset), ["Item17", "Item18", "Item19"]);
    assert_eq!(
        offset["data"]["pagination"],
        json!({"limit": 5, "offset": 17, "returned": 3, "has_more": false, "total_items": 20})
    );
    let paged = list(&mut client, json!({"page": 2, "page_size": 8}));
    assert_eq!(names(&paged)[0], "Item08");
    assert_eq!(paged["data"]["pagination"], json!({"page": 2, "page_size": 8, "has_more": true}));
    for mixed in [
        json!({"first": 5, "limit": 5}),
        json!({"page": 1, "after": "x"}),
        json!({"first": 1, "last": 1}),
        json!({"after": "x"}),
        json!({"before": "x"}),
        json!({"first": 1, "before": "x"}),
        json!({"last": 1, "after": "x"}),
    ] {
        let error = list(&mut client, mixed.clone())["error"].clone();
        assert_eq!(error["code"], "VALIDATION_INVALID_TYPE", "{mixed}: {error}");
        assert!(error["details"]["provided"].is_array() && error["details"]["hint"].is_string(), "{error}");
    }
    let error = client.read("search_entities", json!({"query": "number", "limit": 5}))["error"].clone();
    assert_eq!(error["code"], "VALIDATION_UNKNOWN_PARAM", "a style that is not listed: {error}");
}

/// LREQ-PAGE-06 LREQ-PAGE-07 LREQ-PAGE-08
#[test]
fn cursors_stay_right_while_rows_come_and_go_and_over_a_restart() {
    for operation in ["list_entities", "search_entities"] {
        let directory = data();
        let setup = Setup::new(directory.path());
        let mut client = setup.connect(WIRES[0]);
        fill(&mut client);
        let base = match operation {
            "list_entities" => {
                json!({"sort": {"field": "priority"}, "first": 6, "fields": ["entity_id", "entity_name"]})
            }
            _ => json!({"query": "number item", "first": 6, "fields": ["entity_id", "entity_name"]}),
        };
        let all = names(&client.read(operation, {
            let mut all = base.clone();
            all["first"] = json!(100);
            all
        }));
        let (mut seen, mut gone, mut after) = (Vec::new(), HashSet::new(), Value::Null);
        for round in 0.. {
            let mut params = base.clone();
            if !after.is_null() {
                params["after"] = after.clone();
            }
            let page = client.read(operation, params.clone());
            assert_eq!(page, client.read(operation, params), "the same cursor gives the same page");
            seen.extend(names(&page));
            after = page["data"]["pageInfo"]["endCursor"].clone();
            if page["data"]["pageInfo"]["hasNextPage"] == false {
                break;
            }
            let text = after.as_str().unwrap();
            assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "{text}");
            // One that was shown goes, and one that was not; some come, before and after.
            let shown = page["data"]["items"][2].clone();
            client.delete("delete_entity", json!({"entity_id": shown["entity_id"]}));
            if let Some(unseen) = all.iter().rev().find(|name| !seen.contains(name) && !gone.contains(*name))
            {
                let found =
                    client.read("get_entity", json!({"entity_name": unseen}))["data"]["entity_id"].clone();
                client.delete("delete_entity", json!({"entity_id": found}));
                gone.insert(unseen.clone());
            }
            for n in 0..3 {
                client.create(
                    "create_entity",
                    json!({"entity_name": format!("New{round}x{n}"), "entity_type": "item",
                    "description": "another number", "priority": 1 + 2 * n}),
                );
            }
            // Somebody changed one character.
            let mut forged = text.to_owned();
            let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
            forged.push(last);
            let mut params = base.clone();
            params["after"] = json!(forged);
            assert_eq!(client.read(operation, params)["error"]["code"], "VALIDATION_INVALID_CURSOR");
            drop(client);
            client = setup.connect(WIRES[0]);
        }
        let kept: Vec<&String> = all.iter().filter(|name| !gone.contains(*name)).collect();
        let old: Vec<&String> = seen.iter().filter(|name| all.contains(name)).collect();
        assert_eq!(old, kept, "{operation}: nothing skipped, nothing twice");
        let unique: HashSet<&String> = seen.iter().collect();
        assert_eq!(unique.len(), seen.len());
    }
}

/// LREQ-AGG-01 LREQ-AGG-02 LREQ-AGG-03 LREQ-AGG-05 REQ-PARAM-10
#[test]
fn summaries_are_over_all_matches() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    fill(&mut client);
    let aggregate = json!({
        "total": {"count": true},
        "by_status": {"group_by": "metadata.status", "count": true},
        "average": {"avg": "metadata.cost"},
        "range": {"min": "priority", "max": "priority"},
        "sum": {"sum": "metadata.cost"},
    });
    let summary = list(&mut client, json!({"aggregate": aggregate, "first": 2, "fields": ["entity_id"]}));
    assert_eq!(
        summary["data"],
        json!({"aggregations": {"total": 20, "by_status": {"open": 7, "done": 13}, "average": 4.75,
               "range": {"min": 1, "max": 5}, "sum": 95}})
    );
    let both = list(
        &mut client,
        json!({"aggregate": {"n": {"count": true}}, "include_items": true, "first": 2,
        "filter": {"metadata.status": "done"}}),
    );
    assert_eq!((&both["data"]["aggregations"]["n"], names(&both).len()), (&json!(13), 2));
    let found = client.read("search_entities", json!({"query": "tag1", "aggregate": {"n": {"count": true}}}));
    assert_eq!(found["data"]["aggregations"]["n"], 7, "{found}");
}

/// LREQ-COMP-01 LREQ-COMP-02 LREQ-COMP-03 REQ-PARAM-09
#[test]
fn computed_fields_are_shown_filtered_and_sorted_by_as_declared() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let ids: Vec<String> = (0..3).map(|n| client.new_item(&format!("N{n}"))).collect();
    for to in &ids[1..] {
        client.create(
            "create_relation",
            json!({"from_entity_id": ids[0], "to_entity_id": to, "relationship": "uses"}),
        );
    }
    let details =
        client.introspect(json!({"query": "operations", "name": "list_entities"}))["data"]["operation"]
            .clone();
    for field in details["computed_fields"].as_array().unwrap() {
        let path = format!("_computed.{}", field["name"].as_str().unwrap());
        let shown = list(&mut client, json!({"fields": ["entity_name", path]}));
        let value = &shown["data"]["items"][0]["_computed"][field["name"].as_str().unwrap()];
        assert!(!value.is_null(), "{path}: {shown}");
        let single = client.read("get_entity", json!({"entity_id": ids[0], "fields": ["entity_name", path]}));
        assert_eq!(single["data"], shown["data"]["items"][0], "one or many, it is the same");
        let filtered = list(&mut client, json!({"filter": {&path: value}}));
        assert_eq!(filtered["success"] == true, field["filterable"] == true, "{path}: {filtered}");
        let sorted = list(&mut client, json!({"sort": {"field": path}}));
        assert_eq!(sorted["success"] == true, field["sortable"] == true, "{path}: {sorted}");
    }
    let unasked = list(&mut client, json!({"fields": "full"}));
    assert!(!unasked.to_string().contains("_computed"), "{unasked}");
    let related = list(
        &mut client,
        json!({"sort": {"field": "_computed.relation_count", "order": "desc"},
        "fields": ["entity_name", "_computed.relation_count"], "first": 1}),
    );
    assert_eq!(related["data"]["items"], json!([{"entity_name": "N0", "_computed": {"relation_count": 2}}]));
}

/// LREQ-QUERY-01 LREQ-QUERY-07 REQ-PARAM-07 REQ-PARAM-16 REQ-PARAM-17
#[test]
fn searches_share_the_controls_of_lists_and_rank() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    for (name, description) in [
        ("Both", "an api reviewer"),
        ("Apart", "api of a reviewer"),
        ("One", "an api"),
        ("Other", "a reviewer"),
    ] {
        client.create(
            "create_entity",
            json!({"entity_name": name, "entity_type": "item", "description": description}),
        );
    }
    let search =
        |client: &mut Client, query: &str| names(&client.read("search_entities", json!({"query": query})));
    let found = search(&mut client, "api reviewer");
    assert_eq!(found.len(), 4);
    assert_eq!(
        HashSet::from([&found[0], &found[1]]),
        HashSet::from([&"Both".to_owned(), &"Apart".to_owned()])
    );
    assert_eq!(search(&mut client, "\"api reviewer\""), ["Both"]);
    assert_eq!(search(&mut client, "nothing"), Vec::<String>::new());
    let missing = client.read("search_entities", json!({}))["error"].clone();
    assert_eq!(missing["code"], "VALIDATION_MISSING_PARAM");
    let params = |client: &mut Client, name: &str| {
        let details =
            client.introspect(json!({"query": "operations", "name": name}))["data"]["operation"].clone();
        assert!(!details.to_string().contains("$ref"), "{name}");
        details["parameters"].as_array().unwrap().clone()
    };
    let (lists, searches) = (params(&mut client, "list_entities"), params(&mut client, "search_entities"));
    for name in ["filter", "sort", "first", "after", "last", "before", "fields", "aggregate", "include_total"]
    {
        let of = |all: &[Value]| all.iter().find(|param| param["name"] == name).cloned().unwrap();
        let (one, other) = (of(&lists), of(&searches));
        assert_eq!((&one["type"], &one["default"]), (&other["type"], &other["default"]), "{name}");
    }
}

/// LREQ-QUERY-02 LREQ-QUERY-03 LREQ-QUERY-04 LREQ-QUERY-09 LREQ-AGG-04
#[test]
fn every_mistake_names_the_key_the_allowed_ones_and_the_closest() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    for (params, given, closest) in [
        (json!({"filter": {"prioritty": 1}}), "prioritty", "priority"),
        (json!({"filter": {"priority": {"gtee": 1}}}), "gtee", "gte"),
        (json!({"filter": {"or": [{"entity_nam": "x"}]}}), "entity_nam", "entity_name"),
        (json!({"filter": {"_computed.age_day": 1}}), "age_day", "age_days"),
        (json!({"sort": {"field": "nmae"}}), "nmae", "name"),
        (json!({"sort": {"feild": "priority"}}), "feild", "field"),
        (json!({"sort": {"field": "priority", "order": "dsc"}}), "dsc", "desc"),
        (json!({"aggregate": {"x": {"median": "priority"}}}), "median", "count"),
        (json!({"aggregate": {"x": {"sum": "priorty"}}}), "priorty", "priority"),
        (json!({"aggregate": {"x": {"sum": "entity_name"}}}), "entity_name", "priority"),
        (json!({"aggregate": {"x": {"group_by": "entity_typ", "count": true}}}), "entity_typ", "entity_type"),
        (json!({"frist": 1}), "frist", "first"),
    ] {
        let error = list(&mut client, params.clone())["error"].clone();
        assert!(error["code"].as_str().unwrap_or_default().starts_with("VALIDATION_"), "{params}: {error}");
        let details = error["details"].to_string();
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(given) || details.contains(given), "{params}: {error}");
        assert!(details.contains(closest), "{params}: {error}");
    }
    for (params, code) in [
        (json!({"aggregate": {"x": {}}}), "VALIDATION_"),
        (json!({"aggregate": {"x": {"group_by": "entity_type"}}}), "VALIDATION_"),
        (json!({"filter": {"priority": {"gte": "x"}}}), "VALIDATION_INVALID_TYPE"),
        (json!({"filter": []}), "VALIDATION_INVALID_TYPE"),
        (json!({"first": 0}), "VALIDATION_OUT_OF_RANGE"),
        (
            json!({"filter": {"tags": {"contains": {"eq": {"$gt": ""}}}, "metadata.'; DROP TABLE entities; --": 1}}),
            "",
        ),
    ] {
        let answer = list(&mut client, params.clone());
        let given = answer["error"]["code"].as_str().unwrap_or_default();
        assert!(given.starts_with(code), "{params}: {answer}");
    }
    let detail =
        client.introspect(json!({"query": "operations", "name": "query_relationships"}))["data"]["operation"]
            .clone();
    assert_eq!(detail["parameters"].as_array().unwrap().iter().filter(|p| p["name"] == "root").count(), 1);
    assert!(detail["examples"].as_array().unwrap().len() > 1);
}

/// LREQ-AGG-06 LREQ-PAGE-09 LREQ-QUERY-06
#[test]
fn introspection_tells_what_can_be_asked() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    fill(&mut client);
    let answer = client.introspect(json!({"query": "operations", "name": "list_entities"}));
    let support = &answer["data"]["operation"]["aggregation_support"];
    assert_eq!((&support["supported"], &support["default_mode"]), (&json!(true), &json!("summary_only")));
    for field in support["groupable_fields"].as_array().unwrap() {
        let field = field.as_str().unwrap().replace(".*", ".status");
        let asked = json!({"aggregate": {"x": {"group_by": field, "count": true}}});
        assert_eq!(list(&mut client, asked)["success"], true, "{field}");
    }
    for field in support["numeric_fields"].as_array().unwrap() {
        let field = field.as_str().unwrap().replace(".*", ".cost");
        let asked = json!({"aggregate": {"x": {"sum": field}, "y": {"avg": field}}});
        assert_eq!(list(&mut client, asked)["success"], true, "{field}");
    }
    let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
    let capabilities = &protocol["capabilities"];
    for ability in
        ["pagination", "aggregations", "computed_fields", "relationship_queries", "field_selection"]
    {
        assert_eq!(capabilities[ability], true, "{ability}: {protocol}");
    }
}

/// Which paths are indexed is configuration, and changing it loses nothing.
#[test]
fn indexes_come_and_go_with_the_configuration() {
    let directory = data();
    let asked = json!({"filter": {"metadata.status": "open", "metadata.owner.team": {"gte": "t1"}}, "sort": {"field": "metadata.cost", "order": "desc"}});
    let mut answers = Vec::new();
    for (round, index) in [
        "",
        "index = [\"metadata.status\"]",
        "index = [\"metadata.owner.team\", \"metadata.cost\"]",
        "index = []",
    ]
    .into_iter()
    .enumerate()
    {
        let mut client =
            Setup::new(directory.path()).config(&format!("[entities]\n{index}\n")).connect(WIRES[0]);
        if round == 0 {
            fill(&mut client);
        }
        answers.push(names(&list(&mut client, asked.clone())));
    }
    assert_eq!(answers[0], ["Item15", "Item09", "Item03"]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}
