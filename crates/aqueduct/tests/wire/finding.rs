//! Finding operations and tools by free text: what a search shows, saved lists, and how good the order is.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};

use crate::harness::{Setup, WIRES, aqueduct, command, data};

fn run(directory: &Path, arguments: &[&str]) -> Output {
    command(&aqueduct(), directory).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json_out(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

const TOOLS: &str = r#"{"tools": [
    {"name": "create_issue", "description": "Open an issue. Twice.", "inputSchema": {"type": "object",
        "properties": {"title": {"type": "string"}, "labels": {"type": "array"}}, "required": ["title"]}},
    {"name": "list_issues", "description": "List issues", "inputSchema": {"type": "object"}}
]}"#;

const LINES: &str = "{\"id\": \"chat/post\", \"server\": \"chat\", \"name\": \"post_message\", \"description\": null}\n\n\
    {\"server\": \"chat\", \"name\": \"list_channels\"}\n";

#[test]
fn saved_lists_are_searched_without_a_server() {
    let directory = data();
    std::fs::write(directory.path().join("a.json"), TOOLS).unwrap();
    std::fs::write(directory.path().join("b.jsonl"), LINES).unwrap();
    let ops = |rest: &[&str]| {
        let files = ["ops", "--tools", "a.json", "b.jsonl"];
        let output = command(&aqueduct(), directory.path())
            .current_dir(directory.path())
            .args(files)
            .args(rest)
            .output();
        output.unwrap()
    };
    let found = json_out(&ops(&["--search", "make an issue", "--first", "1", "--json"]));
    let expected = json!([{"id": "create_issue", "server": null, "name": "create_issue",
        "description": "create_issue(title!, labels[]) Open an issue."}]);
    assert_eq!(found, expected);
    assert!(out(&ops(&["--search", "send messages"])).starts_with("chat/post  post_message()\n"));
    assert_eq!(out(&ops(&["--search", "zzz"])), "no tool fits\n");
    assert_eq!(json_out(&ops(&["--json"])).as_array().unwrap().len(), 4);

    let queries =
        "{\"qid\": \"q1\", \"query\": \"all channels\", \"more\": 1}\n{\"qid\": 2, \"query\": \"zzz\"}\n";
    std::fs::write(directory.path().join("q.jsonl"), queries).unwrap();
    let answered = out(&ops(&["--queries", "q.jsonl"]));
    let lines: Vec<Value> = answered.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (lines.len(), &lines[0]["qid"], &lines[1]),
        (2, &json!("q1"), &json!({"qid": 2, "ranked": []}))
    );
    assert_eq!(lines[0]["ranked"][0], "chat/list_channels");
    assert!(!directory.path().join("data-home").exists(), "looking creates nothing");
}

#[test]
fn a_bad_file_is_told_with_its_place() {
    let directory = data();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("good.json", TOOLS);
    for (text, told) in [
        ("{\"name\": \"a\"}\n{oops", "line 2, column 2"),
        ("{}", "neither an array of tools"),
        ("[{\"description\": \"x\"}]", "entry 0 is no tool"),
    ] {
        let bad = file("bad.json", text);
        let failed = run(directory.path(), &["ops", "--tools", &good, &bad, "--search", "x"]);
        assert_eq!(failed.status.code(), Some(2), "{text}");
        // Long paths are wrapped, so only single words are looked for.
        let flat = err(&failed).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.replace("│ ", "").replace("| ", "").contains(told), "{flat}");
    }
    let queries = file("q.jsonl", "{\"qid\": 1, \"query\": \"x\"}\n{\"qid\": 1}\n");
    let failed = run(directory.path(), &["ops", "--tools", &good, "--queries", &queries]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(err(&failed).contains("line 2"), "{}", err(&failed));
    let missing = run(directory.path(), &["ops", "--tools", "nowhere.json"]);
    assert_eq!(missing.status.code(), Some(4), "{}", err(&missing));
    for conflicting in
        [["ops", "--tools", &good, "--summary", "--json"], ["ops", "--queries", &queries, "--search", "x"]]
    {
        assert_eq!(run(directory.path(), &conflicting).status.code(), Some(2));
    }
}

/// REQ-INTRO-05
#[test]
fn a_hit_begins_with_its_signature_and_a_list_does_not() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let mut list = |params: Value| client.introspect(params)["data"]["operations"].clone();
        let found = list(json!({"query": "operations", "search": "remove a relation", "first": 5}));
        assert_eq!(found[0]["name"], "delete_relation");
        let text = found[0]["description"].as_str().unwrap().to_owned();
        assert!(text.starts_with("delete_relation(") && text.contains("!"), "{text}");
        assert_eq!(text.lines().count(), 1);
        let all = list(json!({"query": "operations"}));
        let plain = all.as_array().unwrap().iter().find(|operation| operation["name"] == "delete_relation");
        assert!(!plain.unwrap()["description"].as_str().unwrap().contains('('));
        let minimal = list(json!({"query": "operations", "search": "relation", "fields": "minimal"}));
        assert_eq!(minimal[0]["description"], "");
    }
}

/// The evaluation data, where it lies beside the project.
fn evaluation() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/eval/retrieval");
    folder.is_dir().then_some(folder)
}

/// The share of what was to be found in the first five, and the mean reciprocal rank of the first of it.
fn judged(set: &Path) -> (f64, f64) {
    let directory = data();
    let (tools, queries) = (set.join("tools.json"), set.join("queries.jsonl"));
    let arguments = ["ops", "--tools", tools.to_str().unwrap(), "--queries", queries.to_str().unwrap()];
    let answered = out(&run(directory.path(), &[&arguments[..], &["--first", "50"]].concat()));
    let ranked: HashMap<String, Vec<String>> = answered
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["qid"].to_string(), serde_json::from_value(line["ranked"].clone()).unwrap())
        })
        .collect();
    let (mut recall, mut reciprocal, mut count) = (0.0, 0.0, 0.0);
    for line in std::fs::read_to_string(&queries).unwrap().lines() {
        let query: Value = serde_json::from_str(line).unwrap();
        let ranked = &ranked[&query["qid"].to_string()];
        let gold: Vec<String> = serde_json::from_value(query["gold"].clone()).unwrap();
        let groups: Vec<Vec<String>> = serde_json::from_value(query["gold_groups"].clone()).unwrap();
        let met = groups.iter().filter(|group| ranked.iter().take(5).any(|id| group.contains(id))).count();
        recall += met as f64 / groups.len() as f64;
        reciprocal +=
            ranked.iter().position(|id| gold.contains(id)).map_or(0.0, |place| 1.0 / (place + 1) as f64);
        count += 1.0;
    }
    (recall / count, reciprocal / count)
}

#[test]
fn the_order_is_as_good_as_it_was() {
    let Some(folder) = evaluation() else {
        eprintln!("skipped: the evaluation data is not there");
        return;
    };
    for (set, recall_min, reciprocal_min) in [("union", 0.90, 0.84), ("stabletoolbench", 0.84, 0.83)] {
        let (recall, reciprocal) = judged(&folder.join(set));
        assert!(recall >= recall_min && reciprocal >= reciprocal_min, "{set}: {recall:.3} {reciprocal:.3}");
    }
}
