//! Files that people wrote.

use super::*;
use crate::discover::{adapter::Transport, tests::looks_like_a_frame};

const GOOD: &str = "---\nname: sample\ntype: adapter\nversion: \"1.0.0\"\ndescription: A sample\ntarget:\n  base_url: mcp:sample\n  transport: native\n  protocol: custom\n  serialization: json\noperations:\n  read:\n    - name: get_x\n      maps_to: tools/call get_x\n      params:\n        a: {type: string, required: true}\n---\n\n# Sample\n";

fn problems(text: &str) -> Vec<String> {
    let problems = read(text, None).map(|read| panic!("{read:?}")).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// LREQ-ADAPT-01
#[test]
fn a_small_file_is_enough() {
    let read = read(GOOD, Some("sample-adapter.md")).unwrap();
    assert_eq!(read.adapter.transport, Transport::Mcp { server: "sample".into() });
    assert_eq!((read.adapter.operations[0].line, read.notes), (12, vec![]));
    let windows = GOOD.replace('\n', "\r\n");
    assert_eq!(super::read(&windows, None).unwrap().adapter.operations.len(), 1);
    let note = &super::read(GOOD, Some("other-adapter.md")).unwrap().notes[0];
    assert!(note.to_string().contains("'sample-adapter.md'"), "{note}");
}

/// LREQ-ADAPT-02 LREQ-ADAPT-03 LREQ-ADAPT-08 LREQ-ADAPT-10 LREQ-ADAPT-14
#[test]
fn every_mistake_is_told_with_its_line() {
    for (from, to, line, part) in [
        ("name: sample\n", "name: Git\n", 2, "lowercase letters"),
        ("name: sample\n", "name: a\n", 2, "2 to 64"),
        ("name: sample\n", "name: git-\n", 2, "lowercase letters"),
        ("name: sample\n", "", 2, "'name' is missing"),
        ("type: adapter", "type: tool", 3, "must be 'adapter'"),
        ("\"1.0.0\"", "\"1.0\"", 4, "three numbers"),
        ("\"1.0.0\"", "1.0", 4, "put it in quotes: \"1.0\""),
        ("description: A sample\n", "", 2, "'description' is missing"),
        ("mcp:sample", "https://x", 7, "names no MCP server"),
        ("mcp:sample", "\"mcp:\"", 7, "names no MCP server"),
        ("native", "serial", 8, "not supported"),
        ("custom", "rest", 9, "must be 'custom'"),
        ("serialization: json", "serialization: xml", 10, "must be 'json'"),
        ("  serialization: json\n", "", 6, "'serialization' is missing"),
        ("operations:", "operatoins:", 11, "did you mean 'operations'?"),
        ("  read:", "  query:", 12, "unknown here"),
        ("- name: get_x", "- name: GetX", 13, "snake_case"),
        ("maps_to: tools/call get_x", "maps_to: GET /x", 14, "names no tool"),
        ("      maps_to: tools/call get_x\n", "", 13, "'maps_to' is missing"),
        ("maps_to:", "danger_level: bad\n      maps_to:", 14, "none of safe"),
        ("maps_to:", "dangr_level: safe\n      maps_to:", 14, "did you mean 'danger_level'?"),
        ("get_x\n      params", "get_x?b={c}\n      params", 14, "'{c}' is no parameter"),
        ("a: {type: string", "a: {type: text", 16, "none of string"),
        ("a: {type: string", "a: {typ: string", 16, "did you mean 'type'?"),
        ("a: {type: string", "aB: {type: string", 16, "snake_case"),
        ("a: {type: string", "operation: {type: string", 16, "meaning of its own"),
        ("required: true", "required: 1", 16, "true or false"),
        ("required: true", "minimum: 3, maximum: 2", 16, "above the maximum"),
        ("required: true", "pattern: \"(\"", 16, "no regular expression"),
        ("required: true", "enum: []", 16, "empty 'enum'"),
        ("required: true", "enum: [1]", 16, "must be a text"),
        (
            "---\n\n# Sample",
            "    - name: get_x\n      maps_to: tools/call get_y\n---\n",
            17,
            "twice, first on line 13",
        ),
        ("---\n\n# Sample", "    - name: get_y\n      maps_to: tools/call get_x\n---\n", 17, "the same tool"),
        (
            "---\n\n# Sample",
            "  update:\n    - name: set_x\n      maps_to: tools/call set_x\n      danger_level: safe\n---\n",
            20,
            "only a READ",
        ),
        ("description: A sample", "description: [", 6, "no YAML"),
        ("target:\n", "auth: {type: magic}\ntarget:\n", 6, "none of none"),
        ("target:\n", "auth: {type: bearer, token: abc}\ntarget:\n", 6, "must not stand in this file"),
        ("target:\n", "auth: {type: bearer, header: ghp_0123456789abcdef}\ntarget:\n", 6, "must not stand"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let told = problems(&GOOD.replacen(from, to, 1));
        let found = told.iter().find(|told| told.contains(part));
        let found = found.unwrap_or_else(|| panic!("{to}: {part}: {told:?}"));
        assert!(found.starts_with(&format!("line {line}:")), "{to}: {found}");
        for told in told {
            assert!(!looks_like_a_frame(&told), "{told}");
        }
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = GOOD
        .replace("type: adapter", "type: x")
        .replace("get_x\n", "GetX\n")
        .replace("type: string", "type: y");
    assert_eq!(problems(&text).len(), 3);
}

#[test]
fn what_is_no_adapter_file_is_told() {
    for text in [
        "",
        "# Title\n",
        "---\nname: x\n",
        "--- \nname: x",
        "\u{feff}",
        "---\n---\n",
        "---\n[]\n---\n",
        "---\n- 1\n---\n",
    ] {
        assert!(!problems(text).is_empty(), "{text:?}");
    }
    let bomb = format!("---\na: &a [x]\n{}---\n", "b: [*a, *a]\n".repeat(3));
    assert!(problems(&bomb)[0].starts_with("line 2: anchors"));
    let deep = format!("---\na: {}\n---\n", "[".repeat(200_000));
    assert!(!problems(&deep).is_empty());
}

/// LREQ-ADAPT-04 LREQ-ADAPT-05 LREQ-ADAPT-09
#[test]
fn adapters_of_http_apis_are_checked_by_their_own_rules() {
    let good = GOOD
        .replace("mcp:sample", "https://api.example.com/v1")
        .replace("native", "http")
        .replace("custom", "rest")
        .replace("tools/call get_x", "GET /x/{a}");
    let adapter = read(&good, None).unwrap();
    assert_eq!(adapter.adapter.transport, Transport::Http);
    assert!(adapter.notes.iter().any(|note| note.message.contains("not served yet")));
    for (from, to, part) in [
        ("https://api.example.com/v1", "http://api.example.com", "only for localhost"),
        ("https://api.example.com/v1", "https://api.example.com/", "slash"),
        ("https://api.example.com/v1", "api.example.com", "must be an address"),
        ("protocol: rest", "protocol: graphql", "must be 'rest'"),
        ("GET /x/{a}", "FETCH /x", "PROTOCOL_INVALID_MAPPING"),
        ("GET /x/{a}", "GET /x/{b}", "'{b}' is no parameter"),
        ("GET /x/{a}", "\"GET /x/{a\"", "not closed"),
    ] {
        let told = problems(&good.replacen(from, to, 1));
        assert!(told.iter().any(|told| told.contains(part)), "{to}: {told:?}");
    }
    assert!(read(&good.replace("https://api.example.com/v1", "http://localhost:8080"), None).is_ok());
}
