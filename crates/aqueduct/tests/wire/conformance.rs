//! The conformance suite against the real binary: it knows nothing of Aqueduct but what the wire tells.

use std::path::{Path, PathBuf};

use ::conformance::{Adapter, Error, Evidence, Level, Mode, Outcome, Report, Subject, collect, report};
use serde_json::{Value, json};

use crate::harness::{Client, Era, Setup, WIRES, Wire, data, fixture_setup, spec_data};

const STATELESS: [Wire; 2] = [Wire::Stdio(Era::Stateless), Wire::Http(Era::Stateless)];

impl Adapter for Client {
    fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        Self::call(self, tool, arguments)
    }
}

/// What the server says it is.
fn subject(client: &mut Client) -> Subject {
    let discovered = client.request("server/discover", json!({}));
    let info = &discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    let text = |name: &str| info[name].as_str().unwrap().to_owned();
    Subject { implementation: text("name"), version: text("version"), run: 1 }
}

fn start(directory: &Path, mode: &str, wire: Wire) -> Client {
    Setup::new(directory).arguments(&["--mode", mode]).connect(wire)
}

/// The suite in both modes, on both transports, each with data of its own.
fn both_modes() -> Vec<Evidence> {
    let (semantic, single) = (data(), data());
    let mut semantic = start(semantic.path(), "semantic", STATELESS[0]);
    let mut single = start(single.path(), "single", STATELESS[1]);
    let subject = subject(&mut semantic);
    collect(&subject, &mut [(Mode::Crude, &mut semantic), (Mode::Single, &mut single)])
}

fn passes(report: &Report, skipped: &[&str]) {
    assert_eq!(report.complaints(), Vec::<String>::new());
    assert_eq!(report.exit_code(), 0);
    assert_eq!(report.conformance_level, report.requested_level);
    let tests = report.categories.iter().flat_map(|category| &category.tests);
    let skips: Vec<&str> =
        tests.filter(|test| test.result == Outcome::Skip).map(|test| test.name.as_str()).collect();
    assert_eq!(skips, skipped);
}

/// REQ-CONFORM-01 REQ-CONFORM-10 LREQ-CONFORM-01 LREQ-CONFORM-10
#[test]
fn level_one_passes_in_either_mode_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = start(directory.path(), "semantic", wire);
        let subject = Subject { implementation: "aqueduct".into(), version: "any".into(), run: 0 };
        let evidence = collect(&subject, &mut [(Mode::Crude, &mut client)]);
        let level_one = report(&evidence, Level::One);
        passes(&level_one, &[]);
        assert_eq!(level_one.spec_version, "1.0.0-draft");
        assert_eq!(level_one.categories[0].tests.len(), 6, "the six requirements are told one by one");
        let left = client.read("list_entities", json!({}));
        assert_eq!(left["data"]["items"], json!([]), "what was created is gone");
    }
    let directory = data();
    let mut client = start(directory.path(), "single", STATELESS[0]);
    let subject = subject(&mut client);
    let evidence = collect(&subject, &mut [(Mode::Single, &mut client)]);
    passes(&report(&evidence, Level::One), &["Wrong endpoints are refused"]);
}

/// REQ-CONFORM-03 REQ-CONFORM-05 REQ-CONFORM-06 LREQ-CONFORM-09 LREQ-CONFORM-11
#[test]
fn level_two_passes_in_both_modes_together() {
    let evidence = both_modes();
    let level_two = report(&evidence, Level::Two);
    // No model was asked, and one tool has no wrong endpoint.
    let unasked = "A model finds its way";
    passes(&level_two, &["Wrong endpoints are refused", unasked, unasked]);
    assert_eq!(evidence[0].endpoint_modes, ["crude", "single"]);
    let modes: Vec<&str> =
        level_two.categories[1].tests.iter().filter_map(|test| test.mode.as_deref()).collect();
    assert!(modes.contains(&"crude") && modes.contains(&"single"), "{modes:?}");

    let written = serde_json::to_value(&level_two).unwrap();
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    let expected = [
        "categories",
        "conformanceLevel",
        "implementation",
        "requestedLevel",
        "specVersion",
        "summary",
        "version",
    ];
    assert_eq!(keys, expected);
    let summary = &level_two.summary;
    assert_eq!(summary.total, summary.passed + summary.skipped);
    assert_eq!(
        summary.total,
        level_two.categories.iter().map(|category| category.tests.len()).sum::<usize>()
    );
}

/// A server that takes every call through any tool.
struct Unrouted(Client);

impl Adapter for Unrouted {
    fn tools(&mut self) -> Vec<Value> {
        self.0.tools()
    }

    fn call(&mut self, _tool: &str, arguments: Value) -> Value {
        let detail = json!({"query": "operations", "name": arguments["operation"]});
        let right = self.0.introspect(detail)["data"]["operation"]["mcpTool"].clone();
        self.0.call(right.as_str().unwrap_or("mcp_aql_read"), arguments)
    }
}

/// REQ-CONFORM-02
#[test]
fn a_failure_of_level_one_denies_level_two() {
    let (semantic, single) = (data(), data());
    let mut unrouted = Unrouted(start(semantic.path(), "semantic", STATELESS[0]));
    let mut single = start(single.path(), "single", STATELESS[0]);
    let subject = subject(&mut single);
    let evidence = collect(&subject, &mut [(Mode::Crude, &mut unrouted), (Mode::Single, &mut single)]);
    let level_two = report(&evidence, Level::Two);
    assert_eq!((level_two.exit_code(), level_two.conformance_level), (1, 0));
    // A misrouted call that is taken may still fail for a reason of its own, which earns a warning and no failure.
    let complaints = level_two.complaints();
    let failures = complaints.iter().filter(|complaint| complaint.starts_with("Fail")).count();
    assert_eq!(failures, 1, "{complaints:?}");
    assert!(complaints[0].starts_with("Fail Wrong endpoints are refused"), "{complaints:?}");
}

/// REQ-CONFORM-01 LREQ-CONFORM-01
#[test]
fn a_server_built_with_the_library_passes_level_one() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(STATELESS[0]);
    let subject = subject(&mut client);
    let evidence = collect(&subject, &mut [(Mode::Crude, &mut client)]);
    // It creates nothing, so nothing can be read back.
    let skipped =
        ["Documented defaults hold", "What is written is read", "What an update does not name stays"];
    passes(&report(&evidence, Level::One), &skipped);
}

fn runner() -> Option<PathBuf> {
    std::env::var_os("MCPAQL_RUNNER").map(PathBuf::from)
}

/// The runner is not ours to ship. Where `MCPAQL_RUNNER` names its script, it judges the evidence too;
/// what it validates with schemas is validated here in any case.
///
/// REQ-CONFORM-04 LREQ-CONFORM-01 LREQ-CONFORM-09
#[test]
fn the_published_runner_finds_nothing_to_complain_of() {
    let evidence = both_modes();
    for bundle in &evidence {
        assert_eq!(bundle.report(Level::Two).complaints(), Vec::<String>::new());
        if let Some(folder) = spec_data() {
            fits_the_published_schemas(bundle, &folder.join("schemas"));
        }
    }
    let Some(runner) = runner() else {
        eprintln!("skipped: MCPAQL_RUNNER does not name the published runner");
        return;
    };
    let directory = data();
    for (bundle, level) in evidence.iter().flat_map(|bundle| [(bundle, "1"), (bundle, "2")]) {
        let file = directory.path().join("evidence.json");
        std::fs::write(&file, serde_json::to_vec_pretty(bundle).unwrap()).unwrap();
        let told = std::process::Command::new("node")
            .arg(&runner)
            .arg("test")
            .arg(&file)
            .args(["--level", level])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        eprintln!("{text}");
        assert_eq!(told.status.code(), Some(0), "{text}");
    }
}

fn fits_the_published_schemas(bundle: &Evidence, folder: &Path) {
    let load =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let introspection = load("introspection-response.schema.json");
    let part = |name: &str| {
        let schema = json!({"$defs": introspection["$defs"], "$ref": format!("#/$defs/{name}")});
        jsonschema::validator_for(&schema).unwrap()
    };
    let valid = |validator: &jsonschema::Validator, value: &Value| {
        if let Some(error) = validator.iter_errors(value).next() {
            panic!("{value}\ndoes not fit: {error}");
        }
    };
    valid(&part("OperationsListData"), &bundle.introspection.operations_list["data"]);
    valid(&part("TypesListData"), &bundle.introspection.types_list["data"]);
    let detail = part("OperationDetails");
    bundle.introspection.operation_details.iter().for_each(|record| valid(&detail, record));
    let result = jsonschema::validator_for(&load("operation-result.schema.json")).unwrap();
    bundle.error_tests.iter().for_each(|case| valid(&result, &case.response));
    valid(&result, bundle.batch_example.as_ref().unwrap());
}

/// LREQ-CONFORM-13
#[test]
fn the_reference_bundles_give_their_exit_codes() {
    let missing = Evidence::load(Path::new("no-such-bundle.json")).unwrap_err();
    assert!(matches!(missing, Error::Unreadable(_)));
    assert_eq!(Error::EXIT_CODE, 3);
    let Some(folder) = spec_data() else {
        eprintln!("skipped: the reference bundles are not there");
        return;
    };
    let mut seen = Vec::new();
    for file in std::fs::read_dir(folder.join("conformance")).unwrap() {
        let bundle = Evidence::load(&file.unwrap().path()).unwrap();
        let level = if bundle.expected_level == Some(2) { Level::Two } else { Level::One };
        let judged = bundle.report(level);
        let complaints = judged.complaints();
        assert_eq!(Some(judged.exit_code()), bundle.expected_exit_code, "{complaints:#?}");
        let reached = if judged.exit_code() == 1 { 0 } else { bundle.expected_level.unwrap() };
        assert_eq!(judged.conformance_level, reached, "{complaints:#?}");
        seen.push(judged.exit_code());
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 0, 1, 2]);
}
