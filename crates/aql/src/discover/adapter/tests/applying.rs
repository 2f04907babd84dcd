//! Adapter files and the tools that servers list.

use serde_json::{Value, json};

use super::*;
use crate::{
    adopt::Adopted,
    category::Category,
    danger::DangerLevel,
    registry::{Endpoint, Registry},
    request::Call,
};

fn named<'a>(adopted: &'a Adopted, name: &str) -> &'a adopt::Operation {
    let mut operations = adopted.operations.iter();
    operations.find(|operation| operation.definition.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn registry(adopted: Adopted) -> Registry {
    let builder = Registry::builder("sample").types(adopted.types);
    let operations = adopted.operations.into_iter().map(|operation| operation.definition);
    builder.operations(operations).build().unwrap_or_else(|problems| panic!("{problems}"))
}

/// Everything there is to say of operations, types apart.
pub(super) fn shown(adopted: &Adopted) -> Vec<String> {
    let shown = |operation: &adopt::Operation| {
        let d = &operation.definition;
        let given = operation.params.iter().map(|param| {
            let name = param.definition.name.clone();
            (name.clone(), if param.inside_input { json!({name: 1}) } else { json!(name) })
        });
        format!(
            "{} {:?} {} {:?} {:?} {:?} {} {}",
            d.name,
            d.semantic_category,
            d.description,
            d.danger.as_ref().map(|danger| danger.level),
            d.params,
            d.returns,
            operation.tool,
            Value::Object(operation.wiring.arguments(given.collect()))
        )
    };
    adopted.operations.iter().map(shown).collect()
}

/// REQ-DISC-27
#[test]
fn an_untouched_adapter_gives_the_servers_own_operations() {
    let adapter = reread(&built(""));
    let overrides = classify::Overrides::default();
    let own = adopt::adopt(&listed_tools(tools()), &options(&overrides, "s_"), &mut Taken::default());
    let followed = applied(&adapter, tools(), "s_");
    assert_eq!(shown(&followed.adopted), shown(&own));
    assert_eq!(format!("{:?}", followed.adopted.types), format!("{:?}", own.types));
    assert_eq!(followed.notes, []);
    registry(followed.adopted);
}

/// REQ-DISC-19 REQ-DISC-27
#[test]
fn operations_follow_their_file() {
    let adapter = reread(&built(
        "operations:\n  process: {name: get_user, endpoint: CREATE, danger_level: dangerous}\n  get_user:\n    name: process\n\
         \x20   params: {per_page: {name: page_size, description: How many}, since: {omit: true}, kind: {name: sort_of}}\n\
         \x20 update_user:\n    description: Changes\n    params: {full_name: {name: title}, age: {omit: true}}\n  manage_items_delete: {omit: true}\n",
    ));
    let followed = applied(&adapter, tools(), "s_");
    assert_eq!(followed.notes, []);
    let names: Vec<&str> = followed.adopted.operations.iter().map(|o| o.definition.name.as_str()).collect();
    assert_eq!(names, ["s_process", "s_update_user", "s_manage_items_list", "s_get_user"]);
    let swapped = named(&followed.adopted, "s_get_user");
    assert_eq!((swapped.tool.as_str(), swapped.judged.judgement.category), ("process", Category::Create));
    assert_eq!(swapped.definition.danger.as_ref().unwrap().level, DangerLevel::Dangerous);
    assert_eq!(named(&followed.adopted, "s_update_user").definition.description, "Changes");

    let arguments = |name: &str, params: Value| {
        let params = params.as_object().unwrap().clone();
        Value::Object(named(&followed.adopted, name).wiring.arguments(params))
    };
    assert_eq!(
        arguments("s_process", json!({"user_name": "x", "page_size": 3, "sort_of": "a"})),
        json!({"userName": "x", "perPage": 3, "kind": "a"})
    );
    assert_eq!(
        arguments("s_update_user", json!({"id": "1", "input": {"title": "T"}})),
        json!({"id": "1", "fullName": "T"})
    );

    let registry = std::sync::Arc::new(registry(followed.adopted));
    let valid = |call: Value| {
        let call = Call::read(call.as_object().unwrap().clone()).unwrap();
        registry.validate(Endpoint::Unified, call).map(drop).map_err(|error| error.message)
    };
    assert_eq!(
        valid(json!({"operation": "s_process", "params": {"user_name": "x", "page_size": 3}})),
        Ok(())
    );
    for params in
        [json!({"user_name": "x", "per_page": 3}), json!({"user_name": "x", "since": "2026-01-01T00:00:00Z"})]
    {
        assert!(valid(json!({"operation": "s_process", "params": params})).is_err(), "{params}");
    }
    let update = |input: Value| json!({"operation": "s_update_user", "params": {"id": "1", "input": input}});
    assert_eq!(valid(update(json!({"title": "T"}))), Ok(()));
    assert!(valid(update(json!({"full_name": "T"}))).is_err());
    assert!(valid(update(json!({"age": 3}))).is_err());
}

#[test]
fn rules_of_parameters_can_only_become_stricter() {
    let text = markdown(&built(""))
        .replace("minimum: 1\n", "minimum: 0\n")
        .replace("maximum: 100", "maximum: 50")
        .replace("            - \"yes\"\n", "")
        .replace("default: 30", "default: 7");
    let adapter = read(&text, None).unwrap().adapter;
    let followed = applied(&adapter, tools(), "");
    let params = &named(&followed.adopted, "get_user").definition.params;
    let param = |name: &str| params.iter().find(|param| param.name == name).unwrap();
    assert_eq!((param("per_page").minimum, param("per_page").maximum), (Some(1.0), Some(50.0)));
    assert_eq!(param("per_page").default, Some(json!(30)));
    assert_eq!(param("kind").allowed, [json!("a"), json!("b")]);
    assert_eq!(followed.notes.len(), 1, "{:?}", followed.notes);
    registry(followed.adopted);
}

#[test]
fn a_file_can_say_that_a_parameter_is_sensitive() {
    let text = markdown(&built(""));
    let line = text.lines().find(|line| line.contains("maximum: 100")).unwrap();
    let indent = &line[..line.len() - line.trim_start().len()];
    for said in ["sensitive: true", "format: password"] {
        let text = text.replace(line, &format!("{line}\n{indent}{said}"));
        let adapter = read(&text, None).unwrap().adapter;
        let followed = applied(&adapter, tools(), "");
        let sensitive = |adopted: &Adopted| {
            let params = &named(adopted, "get_user").definition.params;
            params.iter().filter(|param| param.sensitive).map(|param| param.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sensitive(&followed.adopted), ["per_page"], "{said}");
        assert!(sensitive(&applied(&reread(&built("")), tools(), "").adopted).is_empty());
    }
}

#[test]
fn a_file_that_wants_confirmation_gets_a_level_that_asks() {
    let text = markdown(&built("")).replacen(
        "danger_level: safe",
        "danger_level: safe\n      requires_confirmation: true",
        1,
    );
    let adapter = read(&text, None).unwrap().adapter;
    let name = &adapter.operations.iter().find(|operation| operation.requires_confirmation).unwrap().name;
    let followed = applied(&adapter, tools(), "");
    let danger = named(&followed.adopted, name).definition.danger.clone().unwrap();
    assert_eq!(danger.level, DangerLevel::Destructive);
    assert!(danger.reasons.iter().any(|reason| reason.contains("confirmation")));
}

#[test]
fn where_file_and_server_disagree_is_told() {
    let adapter = reread(&built(""));
    let mut now = tools();
    now[0]["inputSchema"]["properties"]["perPage"]["type"] = json!("string");
    now[0]["inputSchema"]["properties"]["more"] = json!({"type": "string"});
    now[0]["inputSchema"]["required"] = json!(["userName", "more"]);
    now[0]["inputSchema"]["properties"].as_object_mut().unwrap().remove("kind");
    now[2]["name"] = json!("other_items");
    now[3] = json!({"name": "brand_new"});
    let followed = applied(&adapter, now, "");
    let mut told: Vec<(&str, &str)> = followed
        .notes
        .iter()
        .map(|note| (note.code.as_str(), note.field.as_deref().or(note.tool.as_deref()).unwrap()))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("ADAPTER_MISMATCH", "kind"),
            ("ADAPTER_MISMATCH", "more"),
            ("ADAPTER_MISMATCH", "per_page"),
            ("ADAPTER_MISMATCH", "per_page"),
            ("NOT_IN_ADAPTER", "brand_new"),
            ("NOT_IN_ADAPTER", "other_items"),
            ("NOT_LISTED", "manage_items"),
            ("NOT_LISTED", "manage_items"),
            ("NOT_LISTED", "process"),
        ]
    );
    let names: Vec<&str> = followed.adopted.operations.iter().map(|o| o.definition.name.as_str()).collect();
    assert_eq!(names, ["get_user", "update_user"]);
    registry(followed.adopted);
}

#[test]
fn the_configuration_wins_over_the_file() {
    let adapter = reread(&built(""));
    let danger = Some(DangerLevel::Forbidden);
    let given = classify::Override { danger, ..classify::Override::default() };
    let overrides = classify::Overrides([("get_user".to_owned(), given)].into_iter().collect());
    let followed = super::super::adopt(
        &adapter,
        &listed_tools(tools()),
        &options(&overrides, ""),
        &mut Taken::default(),
    );
    let user = named(&followed.adopted, "get_user");
    assert_eq!(user.definition.danger.as_ref().unwrap().level, DangerLevel::Forbidden);
    assert_eq!(user.judged.judgement.category, Category::Read);
}

#[test]
fn names_that_are_taken_get_a_number() {
    let adapter = reread(&built(""));
    let other = crate::define::Operation::new(Category::Read, "get_user", "Another");
    let overrides = classify::Overrides::default();
    let mut taken = Taken::default().with([&other], []);
    let followed =
        super::super::adopt(&adapter, &listed_tools(tools()), &options(&overrides, ""), &mut taken);
    assert_eq!(named(&followed.adopted, "get_user_2").tool, "get_user");
}

/// A file may fix arguments that no tool is split by.
#[test]
fn arguments_can_be_fixed_by_hand() {
    let text =
        markdown(&built("")).replace("tools/call get_user\"", "tools/call get_user?kind=a&perPage=5\"");
    let text = text.replacen("        kind:\n", "        kind_2:\n", 1).replacen(
        "        per_page:\n",
        "        per_page_2:\n",
        1,
    );
    let adapter = read(&text, None).unwrap().adapter;
    let followed = applied(&adapter, tools(), "");
    let user = named(&followed.adopted, "get_user");
    let params = json!({"user_name": "x"}).as_object().unwrap().clone();
    assert_eq!(
        Value::Object(user.wiring.arguments(params)),
        json!({"userName": "x", "kind": "a", "perPage": 5})
    );
    let names: Vec<&str> = user.definition.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["user_name", "since"]);
    let mut told: Vec<&str> = followed.notes.iter().filter_map(|note| note.field.as_deref()).collect();
    told.sort_unstable();
    assert_eq!(told, ["kind_2", "per_page_2"]);
    registry(followed.adopted);
    let text = text.replace("kind=a", "nothing=a");
    let followed = applied(&read(&text, None).unwrap().adapter, tools(), "");
    assert!(followed.notes.iter().any(|note| note.code == "NOT_LISTED"));
}
