//! The tool list: names, hints, schemas, and descriptions that teach `introspect`.

use aql::{
    category::Category,
    define,
    name::ToolPrefix,
    profile::{Family, Mode, Profile},
    registry::Registry,
    tools::Tool,
};
use serde_json::json;

use crate::{
    drive::{Adapter, items},
    fixture,
};

fn listed(mode: Mode, profile: Profile) -> Vec<Tool> {
    fixture::built(fixture::builder().mode(mode).profile(profile)).tools().to_vec()
}

fn every_list() -> Vec<Tool> {
    let mut tools = listed(Mode::All, Profile::crude());
    tools.extend(listed(Mode::All, Profile::discover()));
    tools
}

/// LREQ-MCP-01
#[test]
fn every_description_teaches_introspect() {
    for tool in every_list() {
        assert!(tool.description.contains("operation: \"introspect\""), "{}", tool.description);
        assert!(tool.description.contains("query: \"operations\""), "{}", tool.description);
    }
}

/// LREQ-MCP-01 REQ-BATCH-07
#[test]
fn every_description_names_the_tool_its_example_works_through() {
    for profile in [Profile::crude(), Profile::discover()] {
        let adapter = Adapter::of(fixture::built(fixture::builder().mode(Mode::All).profile(profile)));
        for tool in adapter.registry.tools() {
            let through = tool.description.split_once("(through ").and_then(|(_, rest)| rest.split_once(')'));
            let through = through.map_or(tool.name.as_str(), |(name, _)| name);
            let answer =
                adapter.call(through, json!({"operation": "introspect", "params": {"query": "operations"}}));
            assert_eq!(answer["success"], true, "{}: {}", tool.name, tool.description);
            let batch = tool.input_schema["properties"]["operations"]["description"].as_str().unwrap();
            assert!(batch.contains("of this tool"), "{batch}");
        }
    }
}

/// LREQ-MCP-02 LREQ-MODE-07
#[test]
fn crude_descriptions_have_the_parts_of_their_templates() {
    let effects = [
        "add new data without removing or overwriting",
        "only read data and never modify",
        "modify existing data",
        "remove data",
        "potentially destructive and non-idempotent",
    ];
    let tools = listed(Mode::Semantic, Profile::crude());
    for ((tool, family), effect) in tools.iter().zip(Profile::crude().families()).zip(effects) {
        let description = &tool.description;
        assert!(description.starts_with(&family.purpose), "{description}");
        for part in ["Supported operations: ", effect, "Quick start: {\"operation\":", "Discover "] {
            assert!(description.contains(part), "'{part}' is not in: {description}");
        }
    }
}

/// LREQ-MCP-03 LREQ-MODE-07
#[test]
fn other_families_also_say_which_categories_they_hold() {
    let tools = listed(Mode::Semantic, Profile::discover());
    for (tool, categories) in tools.iter().zip(["READ", "READ", "CREATE, UPDATE, DELETE", "EXECUTE"]) {
        assert!(
            tool.description.contains(&format!("Primary semantic categories: {categories}\n")),
            "{}",
            tool.description
        );
        assert!(tool.description.contains("Supported operations: "), "{}", tool.description);
        assert!(tool.description.contains("Discover "), "{}", tool.description);
    }
}

/// LREQ-MCP-04
#[test]
fn the_single_tool_sums_up_the_categories() {
    let [tool] = &listed(Mode::Single, Profile::crude())[..] else { panic!("one tool") };
    for part in [
        "'items'",
        "- Create: create_item",
        "- Read: introspect",
        "- Update: update_item",
        "- Delete: delete_item",
        "- Execute: execute_job",
        "Quick start: { operation: \"introspect\"",
        "introspection",
    ] {
        assert!(tool.description.contains(part), "'{part}' is not in: {}", tool.description);
    }
}

/// LREQ-MCP-05 LREQ-MCP-17
#[test]
fn names_are_the_standard_ones_and_the_same_on_every_start() {
    let names = |tools: &[Tool]| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let first = listed(Mode::All, Profile::crude());
    assert_eq!(first, listed(Mode::All, Profile::crude()));
    assert_eq!(
        names(&first),
        ["mcp_aql_create", "mcp_aql_read", "mcp_aql_update", "mcp_aql_delete", "mcp_aql_execute", "mcp_aql"]
    );
    let prefixed = fixture::built(fixture::builder().mode(Mode::All).prefix("github_".parse().unwrap()));
    assert!(
        prefixed.tools().iter().zip(names(&first)).all(|(tool, name)| tool.name == format!("github_{name}"))
    );
    assert!(prefixed.endpoint("mcp_aql").is_none(), "only the prefixed name is a tool");
    assert!(prefixed.tools()[0].description.contains("through github_mcp_aql_read"));
}

/// LREQ-MCP-18
#[test]
fn a_prefix_is_lowercase_and_ends_with_an_underscore() {
    for bad in ["GitHub_", "git-hub_", "github", "git hub_", "é_"] {
        assert!(bad.parse::<ToolPrefix>().unwrap_err().to_string().contains(&format!("'{bad}'")));
    }
    for (good, long) in [
        ("github_", false),
        ("", false),
        ("a2_", false),
        ("exactly_twenty_char_", false),
        ("more_than_twenty_char_", true),
    ] {
        assert_eq!(good.parse::<ToolPrefix>().unwrap().is_long(), long, "{good}");
    }
}

/// LREQ-MCP-06
#[test]
fn hints_follow_the_category() {
    let hints: Vec<_> =
        listed(Mode::All, Profile::crude()).iter().map(|tool| (tool.read_only, tool.destructive)).collect();
    let (additive, reading, changing) = ((false, false), (true, false), (false, true));
    assert_eq!(hints, [additive, reading, changing, changing, changing, changing]);
}

/// LREQ-MODE-08
#[test]
fn a_familys_hints_are_those_of_its_riskiest_operation() {
    let hints: Vec<_> = listed(Mode::Semantic, Profile::discover())
        .iter()
        .map(|tool| (tool.read_only, tool.destructive))
        .collect();
    assert_eq!(hints, [(true, false), (true, false), (false, true), (false, true)]);
    // Also of one that was named into a family of reads, and of one that names its family itself.
    let query = Family {
        name: "query".parse().unwrap(),
        purpose: "Retrieval.".to_owned(),
        categories: vec![Category::Read],
        operations: vec!["purge_*".to_owned()],
    };
    let profile = Profile::new("mine", vec![query]).unwrap();
    let purge = define::Operation::new(Category::Delete, "purge_cache", "Purge the cache");
    let registry = Registry::builder("x").profile(profile).operation(purge).build().unwrap();
    assert_eq!((registry.tools()[0].read_only, registry.tools()[0].destructive), (false, true));
    let delete = define::Operation {
        endpoint: Some("read".to_owned()),
        ..define::Operation::new(Category::Delete, "delete_thing", "Delete a thing")
    };
    let registry = Registry::builder("x").operation(delete).build().unwrap();
    assert_eq!((registry.tools()[1].read_only, registry.tools()[1].destructive), (false, true));
}

/// LREQ-MCP-07 LREQ-MCP-08
#[test]
fn the_input_schema_is_the_envelope() {
    for tool in every_list() {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"]["operation"]["type"], "string");
        assert_eq!(schema["properties"]["params"]["type"], "object");
        assert_eq!(schema["properties"]["params"]["additionalProperties"], true);
        assert!(schema["required"].as_array().unwrap().contains(&json!("operation")));
        assert!(schema["properties"]["operation"].get("enum").is_none(), "off by default for its cost");
        let validator = jsonschema::validator_for(schema).unwrap();
        assert!(validator.is_valid(&json!({"operation": "x", "params": {"any": 1}, "_meta": {}})));
        assert!(!validator.is_valid(&json!({"params": {}})));
    }
}

/// However many operations stand behind it, the tool list costs the same.
#[test]
fn descriptions_do_not_grow_with_the_number_of_operations() {
    let of = |count: usize| {
        let builder = Registry::builder("many").mode(Mode::All).operations(fixture::synthetic(count));
        fixture::built(builder).tools().to_vec()
    };
    for (few, many) in of(20).into_iter().zip(of(500)) {
        assert!(
            many.description.len() <= few.description.len() + 150,
            "{} grew from {} to {}",
            many.name,
            few.description.len(),
            many.description.len()
        );
        assert!(many.description.len() < 900, "{}", many.description);
        assert_eq!(many.input_schema, few.input_schema);
    }
}

/// LREQ-MCP-02 LREQ-MODE-07
#[test]
fn an_empty_family_says_so() {
    let registry = Registry::builder("empty").build().unwrap();
    for tool in registry.tools().iter().filter(|tool| tool.name != "mcp_aql_read") {
        assert!(tool.description.contains("Supported operations: none yet"), "{}", tool.description);
    }
    assert_eq!(items().registry.tools().len(), registry.tools().len());
}
