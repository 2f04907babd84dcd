//! `query_relationships`: the graph around an entity.

use serde_json::{Value, json};

use crate::harness::{Client, Setup, WIRES, data, spec_data};

/// Items of these names, related as the pairs say.
fn graph(client: &mut Client, names: &[&str], relations: &[(usize, usize, &str)]) -> Vec<String> {
    let ids: Vec<String> = names.iter().map(|name| client.new_item(name)).collect();
    for (from, to, relationship) in relations {
        let related = client.create(
            "create_relation",
            json!({"from_entity_id": ids[*from], "to_entity_id": ids[*to], "relationship": relationship}),
        );
        assert_eq!(related["success"], true, "{related}");
    }
    ids
}

fn root(name: &str) -> Value {
    json!({"element_type": "item", "element_name": name})
}

fn ask(client: &mut Client, mut params: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    let answer = client.read("query_relationships", params);
    if let (true, Some(folder)) = (answer["success"] == true, spec_data()) {
        let schema = std::fs::read(folder.join("schemas/relationship-query.schema.json")).unwrap();
        let schema: Value = serde_json::from_slice(&schema).unwrap();
        let mut response = answer["data"].clone();
        response.as_object_mut().unwrap().remove("pageInfo");
        let response = json!({"response": response});
        let checked = jsonschema::validate(&schema, &response);
        assert!(checked.is_ok(), "{checked:?}");
    }
    answer
}

/// `outgoing uses B 1` of every relationship.
fn told(answer: &Value) -> Vec<String> {
    let relationships = answer["data"]["relationships"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |r: &Value| {
        let target = text(&r["target"]["element_name"]);
        format!("{} {} {target} {}", text(&r["direction"]), text(&r["type"]), r["depth"])
    };
    relationships.iter().map(line).collect()
}

/// LREQ-REL-01 LREQ-REL-05
#[test]
fn parameters_are_checked() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let ids = graph(&mut client, &["A", "B"], &[(0, 1, "uses")]);
    let good = json!({"root": root("A"), "direction": "outgoing"});
    for (params, code) in [
        (json!({"direction": "both"}), "VALIDATION_MISSING_PARAM"),
        (json!({"root": root("A")}), "VALIDATION_MISSING_PARAM"),
        (json!({"root": {"element_type": "item"}, "direction": "both"}), "VALIDATION_MISSING_PARAM"),
        (json!({"root": {}, "direction": "both"}), "VALIDATION_MISSING_PARAM"),
        (json!({"root": "A", "direction": "both"}), "VALIDATION_INVALID_TYPE"),
        (
            json!({"root": {"element_type": "agent", "element_name": "A"}, "direction": "both"}),
            "VALIDATION_INVALID_ENUM",
        ),
        (json!({"root": {"id": 1, "entity_id": "x"}, "direction": "both"}), "VALIDATION_UNKNOWN_FIELD"),
        (json!({"root": root("Nobody"), "direction": "both"}), "NOT_FOUND_RESOURCE"),
        (json!({"root": {"entity_id": "' OR 1=1"}, "direction": "both"}), "NOT_FOUND_RESOURCE"),
        (
            json!({"root": {"entity_id": ids[1], "element_name": "A"}, "direction": "both"}),
            "NOT_FOUND_RESOURCE",
        ),
    ] {
        assert_eq!(ask(&mut client, params.clone(), json!({}))["error"]["code"], code, "{params}");
    }
    for (more, code) in [
        (json!({"direction": "up"}), "VALIDATION_INVALID_ENUM"),
        (json!({"depth": 0}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"depth": 11}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"depth": 1.5}), "VALIDATION_INVALID_TYPE"),
        (json!({"relationship": "Not Snake"}), "VALIDATION_PATTERN_MISMATCH"),
        (json!({"include": ["edges"]}), "VALIDATION_INVALID_ENUM"),
        (json!({"first": 0}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"first": 1, "after": "x"}), "VALIDATION_INVALID_CURSOR"),
        (json!({"after": "x"}), "VALIDATION_INVALID_TYPE"),
        (json!({"filter": {}}), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        assert_eq!(ask(&mut client, good.clone(), more.clone())["error"]["code"], code, "{more}");
    }
    let by_id = ask(&mut client, json!({"root": {"entity_id": ids[0]}, "direction": "outgoing"}), json!({}));
    assert_eq!(told(&by_id), ["outgoing uses B 1"]);
}

/// LREQ-REL-02 LREQ-REL-03
#[test]
fn a_known_graph_is_answered_as_a_list_and_as_nodes_and_edges() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let relations = [(0, 1, "uses"), (1, 2, "uses"), (2, 3, "uses"), (0, 3, "extends"), (3, 0, "triggers")];
    let ids = graph(&mut client, &["A", "B", "C", "D"], &relations);
    let params = json!({"root": root("A"), "direction": "outgoing", "relationship": "uses", "depth": 2});
    let answer = ask(&mut client, params.clone(), json!({}));
    assert_eq!(
        answer["data"]["root"],
        json!({"element_type": "item", "element_name": "A", "entity_id": ids[0]})
    );
    assert_eq!(told(&answer), ["outgoing uses B 1", "outgoing uses C 2"]);
    let node =
        |name: &str| json!({"id": format!("item:{name}"), "element_type": "item", "element_name": name});
    assert_eq!(
        answer["data"]["graph"],
        json!({
            "nodes": [node("A"), node("B"), node("C")],
            "edges": [
                {"source": "item:A", "target": "item:B", "type": "uses"},
                {"source": "item:B", "target": "item:C", "type": "uses"},
            ]
        })
    );
    assert_eq!(answer["data"]["pageInfo"]["hasNextPage"], false);
    let around = json!({"root": root("D"), "direction": "both"});
    let both = ask(&mut client, around, json!({}));
    assert_eq!(told(&both), ["incoming uses C 1", "incoming extends A 1", "outgoing triggers A 1"]);
    assert_eq!(
        both["data"]["graph"]["edges"][0],
        json!({"source": "item:C", "target": "item:D", "type": "uses"})
    );

    for (include, keys) in [
        (json!(["relationships"]), vec!["pageInfo", "relationships", "root"]),
        (json!(["graph"]), vec!["graph", "pageInfo", "root"]),
        (json!(["root"]), vec!["root"]),
        (
            json!(["root", "relationships", "graph.nodes", "graph.edges"]),
            vec!["graph", "pageInfo", "relationships", "root"],
        ),
    ] {
        let narrowed = ask(&mut client, params.clone(), json!({"include": include}));
        let shown: Vec<&String> = narrowed["data"].as_object().unwrap().keys().collect();
        assert_eq!(shown, keys, "{include}");
    }
    let nodes = ask(&mut client, params, json!({"include": ["graph.nodes"]}));
    assert_eq!(nodes["data"]["graph"], json!({"nodes": [node("A"), node("B"), node("C")]}));
}

/// LREQ-REL-04
#[test]
fn a_cycle_ends_and_shows_its_closing_edge() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    graph(&mut client, &["A", "B"], &[(0, 1, "uses"), (1, 0, "uses")]);
    let answer =
        ask(&mut client, json!({"root": root("A"), "direction": "outgoing", "depth": 10}), json!({}));
    assert_eq!(told(&answer), ["outgoing uses B 1", "outgoing uses A 2"]);
    let graph = &answer["data"]["graph"];
    let ids: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
    assert_eq!(ids, ["item:A", "item:B"]);
    assert_eq!(graph["edges"].as_array().unwrap().len(), 2);
}

/// LREQ-REL-01
#[test]
fn pages_joined_are_the_whole() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let names: Vec<String> = (0..12).map(|n| format!("N{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let relations: Vec<(usize, usize, &str)> =
        (1..12).map(|n| if n < 7 { (0, n, "uses") } else { (n - 6, n, "uses") }).collect();
    graph(&mut client, &names, &relations);
    let params = json!({"root": root("N0"), "direction": "outgoing", "depth": 3});
    let whole = told(&ask(&mut client, params.clone(), json!({})));
    assert_eq!(whole.len(), 11);
    let (mut joined, mut after) = (Vec::new(), None);
    loop {
        let more = after.map_or(json!({"first": 4}), |cursor: Value| json!({"first": 4, "after": cursor}));
        let page = ask(&mut client, params.clone(), more);
        let graph = &page["data"]["graph"];
        let known: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
        for edge in graph["edges"].as_array().unwrap() {
            assert!(known.contains(&&edge["source"]) && known.contains(&&edge["target"]), "{graph}");
        }
        joined.extend(told(&page));
        after = Some(page["data"]["pageInfo"]["endCursor"].clone());
        if page["data"]["pageInfo"]["hasNextPage"] == false {
            break;
        }
        // A cursor belongs to its question.
        let foreign = ask(&mut client, params.clone(), json!({"depth": 2, "first": 4, "after": after}));
        assert_eq!(foreign["error"]["code"], "VALIDATION_INVALID_CURSOR");
    }
    assert_eq!(joined, whole);
}

/// LREQ-REL-05
#[test]
fn introspection_tells_what_can_be_followed() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let details = client.introspect(json!({"query": "operations", "name": "query_relationships"}));
    assert_eq!(
        details["data"]["operation"]["relationship_capabilities"],
        json!({
            "supported": true,
            "directions": ["incoming", "outgoing", "both"],
            "relationship_types": ["uses", "extends", "references", "triggers", "composes"],
            "max_depth": 10
        })
    );
    let list = client.introspect(json!({"query": "operations"}));
    assert_eq!(list["data"]["_protocol"]["capabilities"]["relationship_queries"], true);
}
