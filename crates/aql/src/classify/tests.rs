use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::listed;

fn tool(value: Value) -> ListedTool {
    listed::read(json!([value])).unwrap().remove(0)
}

fn judged(value: Value) -> Judgement {
    classify(&tool(value), Trust::Claimed, &Overrides::default()).judgement
}

fn short(judgement: &Judgement) -> (Category, DangerLevel) {
    (judgement.category, judgement.danger)
}

use Category::{Create, Delete, Execute, Read, Update};
use DangerLevel::{Dangerous, Destructive, Forbidden, Reversible, Safe};

/// Reasons end up in messages, where nothing may look like a stack frame.
fn assert_no_stack_frame(found: &Judgement) {
    let frame = regex::Regex::new(r"(?i)at\s+\S+").unwrap();
    let says = found.evidence.iter().map(|evidence| &evidence.says);
    for text in found.reasons.iter().chain(says) {
        assert!(!frame.is_match(text), "{text}");
    }
}

/// LREQ-DANGER-05 LREQ-DANGER-11 REQ-CLASS-06
#[test]
fn names_and_descriptions_are_judged_together() {
    for (name, description, expected) in [
        ("get_item", "Get one item", (Read, Safe)),
        ("list_items", "", (Read, Safe)),
        ("search_items", "", (Read, Safe)),
        ("count_items", "", (Read, Safe)),
        ("check_item", "", (Read, Safe)),
        ("introspect", "", (Read, Safe)),
        ("create_item", "Creates an item", (Create, Reversible)),
        ("update_item", "Updates an item", (Update, Reversible)),
        ("update_item", "Update an existing item", (Update, Destructive)),
        ("update_role", "Update a role", (Update, Destructive)),
        ("create_or_update_item", "", (Create, Destructive)),
        ("put_item", "Stores an item, replaces all of its fields", (Update, Destructive)),
        ("delete_item", "Deletes an item", (Delete, Destructive)),
        ("purge_items", "", (Delete, Dangerous)),
        ("reset_items", "", (Execute, Forbidden)),
        ("send_item", "", (Execute, Reversible)),
        ("run_item", "", (Execute, Destructive)),
        ("item_status", "Get the status", (Read, Safe)),
        ("items", "Returns items", (Read, Reversible)),
        ("items", "Deletes items", (Delete, Destructive)),
        ("get_items", "Deletes items", (Delete, Destructive)),
        ("analyze_item", "Runs an analysis of an item", (Read, Safe)),
        ("refresh_view", "Trigger a new calculation", (Execute, Reversible)),
        ("mark_all_read", "Mark all as read", (Update, Destructive)),
        ("manage_items", "Manage items", (Execute, Destructive)),
        ("frobnicate", "Frobnicates", (Execute, Destructive)),
    ] {
        let found = judged(json!({"name": name, "description": description}));
        assert_eq!(short(&found), expected, "{name}: {description}: {:?}", found.evidence);
        assert_no_stack_frame(&found);
    }
}

#[test]
fn parameters_tell_more() {
    let of = |name: &str, description: &str, parameter: &str| {
        let schema = json!({"properties": {parameter: {"description": "Where to save it"}}});
        let found = judged(json!({"name": name, "description": description, "inputSchema": schema}));
        assert_no_stack_frame(&found);
        short(&found)
    };
    assert_eq!(of("run_script", "", "script"), (Execute, Dangerous));
    assert_eq!(of("query_items", "Query items", "sql"), (Execute, Dangerous));
    assert_eq!(of("query_items", "A read-only query", "sql"), (Read, Safe));
    assert_eq!(of("get_picture", "", "filePath"), (Create, Reversible));
    assert_eq!(of("create_item", "", "force"), (Create, Destructive));
    assert_eq!(of("get_item", "", "force"), (Read, Safe));
}

#[test]
fn what_is_doubtful_asks_for_review_and_says_why() {
    for (name, description, review) in [
        ("get_item", "Get one item", false),
        ("get_item", "Deletes an item", true),
        ("frobnicate", "", true),
        ("items", "Returns items", true),
        ("manage_items", "Manage items", true),
        ("item_report", "", true),
    ] {
        let found = judged(json!({"name": name, "description": description}));
        assert_eq!(found.needs_review(), review, "{name}: {:?}", found.reasons);
        assert_eq!(found.confidence_percent < SURE_PERCENT_MIN, review, "{name}");
        assert!(!found.evidence.is_empty());
    }
}

/// Annotations may raise; they lower only what a trusted server says.
#[test]
fn annotations_raise_and_only_trust_lowers() {
    let with = |name: &str, annotations: Value, trust: Trust| {
        let tool = tool(json!({"name": name, "annotations": annotations}));
        let found = classify(&tool, trust, &Overrides::default()).judgement;
        assert_no_stack_frame(&found);
        short(&found)
    };
    let read_only = json!({"readOnlyHint": true});
    assert_eq!(with("frobnicate", read_only.clone(), Trust::Claimed), (Execute, Destructive));
    assert_eq!(with("frobnicate", read_only, Trust::Trusted), (Read, Safe));
    let harmless = json!({"destructiveHint": false});
    assert_eq!(with("delete_item", harmless.clone(), Trust::Claimed), (Delete, Destructive));
    assert_eq!(with("delete_item", harmless, Trust::Trusted), (Delete, Reversible));
    let harmful = json!({"readOnlyHint": false, "destructiveHint": true});
    assert_eq!(with("create_item", harmful.clone(), Trust::Claimed), (Execute, Destructive));
    assert_eq!(with("get_item", harmful.clone(), Trust::Claimed), (Execute, Destructive));
    assert_eq!(with("get_item", harmful, Trust::Ignored), (Read, Safe));
}

/// LREQ-DANGER-12
#[test]
fn an_override_beats_everything_and_is_told() {
    let given = |category, danger| {
        Overrides(
            [("force_sync".to_owned(), Override { category, danger, ..Override::default() })]
                .into_iter()
                .collect(),
        )
    };
    let tool = tool(json!({"name": "force_sync", "annotations": {"destructiveHint": true}}));
    let found = classify(&tool, Trust::Claimed, &given(None, Some(Safe))).judgement;
    assert_eq!((found.danger, found.danger_from), (Safe, Provenance::ManualOverride));
    assert_eq!(found.category_from, Provenance::HeuristicClassification);
    let found = classify(&tool, Trust::Claimed, &given(Some(Read), None)).judgement;
    assert_eq!((short(&found), found.category_from), ((Read, Safe), Provenance::ManualOverride));
    assert_eq!((found.confidence_percent, found.needs_review()), (100, false));
}

fn chosen(name: &str, parameter: &str, values: &[&str]) -> Classified {
    let schema = json!({"properties": {parameter: {"enum": values}}, "required": [parameter]});
    classify(&tool(json!({"name": name, "inputSchema": schema})), Trust::Claimed, &Overrides::default())
}

#[test]
fn a_tool_that_mixes_reads_and_writes_is_split() {
    let split =
        chosen("manage-items", "action", &["list", "create", "deleteAll", "zzz", "get-one", "get_one"]);
    let found: Vec<_> = split
        .operations
        .iter()
        .map(|operation| (operation.name.as_str(), short(&operation.judgement)))
        .collect();
    assert_eq!(
        found,
        [
            ("manage_items_list", (Read, Safe)),
            ("manage_items_create", (Create, Reversible)),
            ("manage_items_delete_all", (Delete, Forbidden)),
            ("manage_items_zzz", (Execute, Destructive)),
            ("manage_items_get_one", (Read, Safe)),
            ("manage_items_get_one_2", (Read, Safe)),
        ]
    );
    assert_eq!(short(&split.judgement), (Delete, Forbidden), "the worst counts");
    assert!(split.judgement.needs_review());
    assert_eq!(split.operations[0].name_from, Provenance::DeterministicNormalization);
    assert_eq!(split.operations[2].choice.as_ref().unwrap().value, "deleteAll");
}

#[test]
fn what_is_known_of_the_whole_tool_raises_its_writing_parts_only() {
    let dangers = |name: &str, annotations: Value| -> Vec<_> {
        let schema = json!({"properties": {"action": {"enum": ["list", "create"]}}, "required": ["action"]});
        let tool = tool(json!({"name": name, "inputSchema": schema, "annotations": annotations}));
        let split = classify(&tool, Trust::Claimed, &Overrides::default());
        split.operations.iter().map(|operation| operation.judgement.danger).collect()
    };
    let claims = json!({"readOnlyHint": false, "destructiveHint": true});
    assert_eq!(dangers("items", json!({})), [Safe, Reversible]);
    assert_eq!(dangers("items", claims), [Safe, Destructive]);
    assert_eq!(dangers("force_items", json!({})), [Safe, Dangerous]);
}

#[test]
fn a_tool_that_only_reads_or_only_writes_stays_whole() {
    for (name, parameter, values, expected) in [
        ("item_info", "action", &["list", "get"][..], (Read, Safe)),
        ("items", "method", &["create", "delete"], (Delete, Destructive)),
        ("create_request", "method", &["GET", "POST"], (Create, Reversible)),
        ("get_part", "method", &["labels", "status"], (Read, Safe)),
        ("items", "color", &["list", "delete"], (Execute, Destructive)),
    ] {
        let whole = chosen(name, parameter, values);
        assert_eq!(whole.operations.len(), 1, "{name}");
        assert_no_stack_frame(&whole.judgement);
        assert_eq!(short(&whole.judgement), expected, "{name}: {:?}", whole.judgement.evidence);
    }
}

#[test]
fn operations_have_names_that_a_registry_takes() {
    for (name, expected) in [
        ("get_item", "get_item"),
        ("getItem", "get_item"),
        ("API-get", "api_get"),
        ("3d", "tool_3d"),
        ("日", "tool_"),
    ] {
        let operation = classify(&tool(json!({"name": name})), Trust::Claimed, &Overrides::default());
        assert_eq!(operation.operations[0].name, expected);
        assert!(crate::name::is_snake_case(expected));
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = "[a-zA-Z_./ é-]{0,12}|get|delete|action|enum|properties|required|description|sql";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_that_a_server_sends_breaks_it(
        name in ".{0,30}", description in ".{0,80}", server in ".{0,9}", schema in any_json(), properties in any_json(),
    ) {
        for schema in [schema.clone(), json!({"properties": properties, "required": schema})] {
            let Value::Object(schema) = schema else { continue };
            let entry = json!({"name": name, "server": server, "description": description, "inputSchema": schema});
            let tool = tool(entry);
            let found = classify(&tool, Trust::Claimed, &Overrides::default());
            prop_assert_eq!(&found, &classify(&tool, Trust::Claimed, &Overrides::default()));
            prop_assert!(!found.operations.is_empty());
            prop_assert!(found.judgement.confidence_percent <= 100);
            prop_assert!(found.judgement.category == Read || found.judgement.danger > Safe);
            let worst = found.operations.iter().map(|operation| operation.judgement.danger).max();
            prop_assert_eq!(Some(found.judgement.danger), worst);
        }
    }

    #[test]
    fn what_nothing_is_known_of_is_executed_and_destructive(
        name in "[bcdfghjkqvwxz]{4,9}(_[bcdfghjkqvwxz]{4,9}){0,2}", description in "([bcdfghjkqvwxz]{4,9} ){0,9}",
    ) {
        let found = judged(json!({"name": name, "description": description}));
        prop_assert_eq!(short(&found), (Execute, Destructive));
        prop_assert!(found.needs_review());
    }

    /// An untrusted server cannot talk its tool down.
    #[test]
    fn claims_never_lower(name in "(get|update|delete|run|zzz)_item", read in any::<Option<bool>>(), harm in any::<Option<bool>>()) {
        let tool = tool(json!({"name": name, "annotations": {"readOnlyHint": read, "destructiveHint": harm}}));
        let without = classify(&tool, Trust::Ignored, &Overrides::default()).judgement;
        let with = classify(&tool, Trust::Claimed, &Overrides::default()).judgement;
        prop_assert!(with.danger >= without.danger);
        prop_assert!(with.category == without.category || without.category == Read);
    }
}
