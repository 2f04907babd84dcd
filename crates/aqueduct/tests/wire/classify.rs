//! `aqueduct classify` on lists that people saved, and on labelled tools where they lie beside the project.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};

use crate::harness::{aqueduct, command, data};

fn run(directory: &tempfile::TempDir, arguments: &[&str]) -> Output {
    command(&aqueduct(), directory.path()).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    out(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn save(directory: &tempfile::TempDir, name: &str, content: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}

fn saved_list(directory: &tempfile::TempDir) -> String {
    let list = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
        {"name": "get_item", "description": "Get an item", "annotations": {"destructiveHint": true, "readOnlyHint": false}},
        {"name": "manage_items", "inputSchema": {
            "properties": {"action": {"enum": ["list", "delete"]}}, "required": ["action"]}},
        {"name": "frobnicate"},
    ]}});
    save(directory, "list.json", &list.to_string())
}

/// REQ-CLASS-07
#[test]
fn a_saved_list_becomes_one_line_a_tool() {
    let directory = data();
    let list = saved_list(&directory);
    let judged = lines(&run(&directory, &["classify", "--tools", &list, "--ignore-annotations", "--json"]));
    let told: Vec<_> =
        judged.iter().map(|line| (&line["tool"], &line["endpoint"], &line["danger"])).collect();
    assert_eq!(
        json!(told),
        json!([
            ["get_item", "READ", "safe"],
            ["manage_items", "DELETE", "destructive"],
            ["frobnicate", "EXECUTE", "destructive"],
        ])
    );
    for line in &judged {
        assert_eq!(line["danger"], line["danger_level"]);
        assert!((0.0..=1.0).contains(&line["confidence"].as_f64().unwrap()));
        assert_eq!(line["needs_review"], !line["reasons"].as_array().unwrap().is_empty());
        assert_eq!(line["provenance"]["endpoint"], "heuristic_classification");
    }
    assert_eq!(judged[0]["id"], "get_item");
    let split = judged[1]["operations"].as_array().unwrap();
    assert_eq!(split[0]["name"], "manage_items_list");
    assert_eq!((&split[0]["endpoint"], &split[1]["endpoint"]), (&json!("READ"), &json!("DELETE")));
    assert_eq!(split[1]["choice"], json!({"parameter": "action", "value": "delete"}));
}

#[test]
fn annotations_count_unless_they_are_ignored() {
    let directory = data();
    let list = saved_list(&directory);
    let judged = lines(&run(&directory, &["classify", "--tools", &list, "--json"]));
    assert_eq!((&judged[0]["endpoint"], &judged[0]["danger"]), (&json!("EXECUTE"), &json!("destructive")));
    assert_eq!(judged[0]["provenance"]["danger_level"], "direct_source_metadata");
    let both =
        run(&directory, &["classify", "--tools", &list, "--ignore-annotations", "--trust-annotations"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn several_files_and_lines_are_read_and_the_bytes_never_change() {
    let directory = data();
    let line = r#"{"id": "s/x", "server": "s", "tool": {"name": "s_delete_x", "description": "Deletes x"}}"#;
    let (one, two) = (save(&directory, "one.jsonl", &format!("{line}\n{line}\n")), saved_list(&directory));
    let arguments = ["classify", "--tools", &one, &two, "--json"];
    let first = run(&directory, &arguments);
    assert_eq!(lines(&first).len(), 5);
    assert_eq!(lines(&first)[0]["id"], "s/x");
    assert_eq!(first.stdout, run(&directory, &arguments).stdout);
    let table = out(&run(&directory, &["classify", "--tools", &one, &two]));
    assert!(table.contains("s/x ") && table.contains("  manage_items_list "), "{table}");
    assert!(table.contains("neither name nor description has a known verb"), "{table}");
}

#[test]
fn one_tool_is_explained_rule_by_rule() {
    let directory = data();
    let list = saved_list(&directory);
    let text = out(&run(&directory, &["classify", "--tools", &list, "--explain", "get_item"]));
    for part in ["get_item\n", "- name: the name's verb 'get'", "- annotations: ", "- review: "] {
        assert!(text.contains(part), "{text}");
    }
    let told =
        lines(&run(&directory, &["classify", "--tools", &list, "--explain", "manage_items_list", "--json"]));
    assert_eq!(told[0]["operations"][0]["evidence"][0]["rule"], "name");
    let unknown = run(&directory, &["classify", "--tools", &list, "--explain", "get_itm"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("did you mean 'get_item'"), "{}", err(&unknown));
}

#[test]
fn a_built_in_operation_is_explained_beside_what_it_declares() {
    let directory = data();
    let text = out(&run(&directory, &["classify", "--explain", "delete_entity"]));
    assert!(text.contains("declared: DELETE · destructive") && text.contains("- name: "), "{text}");
    let told = lines(&run(&directory, &["classify", "--explain", "get_entity", "--json"]));
    assert_eq!(told[0]["declared"]["endpoint"], told[0]["rules"]["endpoint"]);
    let unknown = run(&directory, &["classify", "--explain", "delete_entitty"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("did you mean 'delete_entity'"), "{}", err(&unknown));
}

#[test]
fn files_that_hold_no_tools_are_told_clearly() {
    let directory = data();
    for (name, content, says) in [
        ("text", "no json", "line 1, column 2 is no JSON"),
        ("number", "7", "neither an array of tools"),
        ("entry", r#"[{"name": "a"}, {"title": "b"}]"#, "entry 1 is no tool"),
    ] {
        let file = save(&directory, name, content);
        let refused = run(&directory, &["classify", "--tools", &file]);
        assert_eq!(refused.status.code(), Some(4), "{name}");
        let said = err(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{said}");
        assert!(refused.stdout.is_empty());
    }
    assert_eq!(run(&directory, &["classify", "--tools", "/nowhere.json"]).status.code(), Some(4));
    assert_eq!(run(&directory, &["classify"]).status.code(), Some(2));
}

/// Labelled tools, where they lie beside the project.
fn labelled() -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/eval/classification/gold.jsonl");
    file.is_file().then_some(file)
}

/// How many of some rows are as asked, and how many there are.
fn share<'a>(rows: impl Iterator<Item = &'a (Value, Value)>, is: impl Fn(&Value) -> bool) -> (usize, usize) {
    rows.fold((0, 0), |(hits, all), (_, judged)| (hits + usize::from(is(judged)), all + 1))
}

fn percent((hits, all): (usize, usize)) -> f64 {
    100.0 * f64::from(u32::try_from(hits).unwrap()) / f64::from(u32::try_from(all).unwrap())
}

#[test]
fn labelled_tools_are_judged_as_well_as_promised() {
    let Some(file) = labelled() else {
        eprintln!("skipped: the labelled tools are not there");
        return;
    };
    let directory = data();
    let path = file.display().to_string();
    let judged = lines(&run(&directory, &["classify", "--tools", &path, "--ignore-annotations", "--json"]));
    let labels: Vec<Value> = std::fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let rows: Vec<(Value, Value)> = labels.into_iter().zip(judged).collect();
    assert!(rows.iter().all(|(label, judged)| label["id"] == judged["id"]));

    let reads = |judged: &Value| judged["endpoint"] == "READ";
    let safe = |judged: &Value| judged["danger"] == "safe";
    let mild = |judged: &Value| safe(judged) || judged["danger"] == "reversible";
    let of = |field: &'static str, value: bool| move |row: &&(Value, Value)| row.0[field] == value;
    let informative = of("destructive_label_informative", true);

    let mut servers: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let (mut right, mut all) = (0.0, 0.0);
    for (label, judged) in rows.iter().filter(|(label, _)| label["gold_read_only"].is_boolean()) {
        let azure = label["source"].as_str().unwrap().starts_with("npm:@azure/mcp");
        let server = if azure { "azure" } else { label["server"].as_str().unwrap() };
        let hit = if label["gold_read_only"] == reads(judged) { 1.0 } else { 0.0 };
        let entry = servers.entry(server.to_owned()).or_default();
        *entry = (entry.0 + hit, entry.1 + 1.0);
        (right, all) = (right + hit, all + 1.0);
    }
    let count = f64::from(u32::try_from(servers.len()).unwrap());
    let macro_share = servers.values().map(|(right, all)| right / all).sum::<f64>() / count;
    assert!(right / all >= 0.97, "accuracy {}", right / all);
    assert!(macro_share >= 0.93, "macro accuracy {macro_share}");

    let writes = share(rows.iter().filter(of("gold_read_only", false)), reads);
    assert!(writes.0 <= 3, "writes called READ: {writes:?}");
    let false_safe = share(rows.iter().filter(of("gold_destructive", true)), safe);
    assert_eq!(false_safe.0, 0, "destructive tools called safe");
    let under = share(rows.iter().filter(of("gold_destructive", true)).filter(informative), mild);
    assert!(percent(under) <= 30.0, "destructive, but called less: {under:?}");
    let harmless = rows.iter().filter(of("gold_read_only", false)).filter(of("gold_destructive", false));
    let over = share(harmless.filter(informative), |judged| !mild(judged));
    assert!(percent(over) <= 20.0, "not destructive, but called so: {over:?}");
    let reading = share(rows.iter().filter(of("gold_read_only", true)), |judged| !mild(judged));
    assert!(percent(reading) <= 6.0, "reads called destructive: {reading:?}");
}
