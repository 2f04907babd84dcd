//! What a model sees when many operations of other servers stand behind a few tools.

use aql::{category::Category, danger::DangerLevel, define, registry::Registry};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, names, object},
    fixture,
};

/// Operations as other servers have them: nothing is known of their results.
fn foreign(category: Category, server: &str, name: &str, description: &str) -> define::Operation {
    let mut operation = define::Operation::new(category, name, description).queried_as_returned();
    operation.server = Some(server.to_owned());
    operation
}

fn text(name: &str) -> define::Param {
    define::Param::new(name, "string", "Some text")
}

fn issues() -> Adapter {
    let create = foreign(
        Category::Create,
        "github",
        "github_create_issue",
        "Create an issue. It is open.\nMore about it",
    )
    .param(text("owner").required())
    .param(text("title").required())
    .param(text("body"));
    let list = foreign(Category::Read, "github", "github_list_issues", "List issues")
        .param(text("filter"))
        .param(text("fields"));
    let change = define::Type::object("Change", "A change", vec![text("title"), text("state")]);
    let update = foreign(Category::Update, "github", "github_update_issue", "Update an issue")
        .param(text("owner").required())
        .param(define::Param::new("input", "Change", "What to change").required());
    let delete = foreign(Category::Delete, "github", "github_delete_issue", "Delete an issue")
        .param(text("owner").required())
        .danger(DangerLevel::Destructive, &["it is gone"]);
    let builder = Registry::builder("many").types([change]).operations([create, list, update, delete]);
    let builder = builder.policy(fixture::asking());
    Adapter::of(builder.operations(fixture::synthetic(60)).build().unwrap().into())
}

fn listed(adapter: &Adapter, name: &str, fields: Option<&str>) -> Value {
    let mut params = object(json!({"query": "operations", "name": name}));
    params.extend(fields.map(|fields| ("fields".to_owned(), json!(fields))));
    adapter.introspect(Value::Object(params))["operation"].clone()
}

/// REQ-INTRO-18
#[test]
fn an_answer_to_a_question_does_not_introduce_the_adapter_again() {
    let adapter = issues();
    let protocol = |params: Value| {
        let mut params = object(params);
        params.insert("query".to_owned(), json!("operations"));
        object(adapter.introspect(Value::Object(params))["_protocol"].clone())
    };
    for (params, keys) in [
        (json!({"search": "issue"}), vec!["version"]),
        (json!({"search": "issue", "first": 2}), vec!["pageInfo", "version"]),
        (json!({"search": "issue", "fields": "minimal"}), vec!["version"]),
        (json!({"filter": {"category": "DELETE"}}), vec!["version"]),
        (json!({"first": 1, "after": "github_update_issue"}), vec!["danger_levels", "pageInfo", "version"]),
        (json!({"first": 1, "after": "github_create_issue"}), vec!["pageInfo", "version"]),
    ] {
        let protocol = protocol(params.clone());
        assert_eq!(protocol.keys().collect::<Vec<_>>(), keys, "{params}");
        assert_eq!(protocol["version"], "1.0.0-draft");
    }
    for params in [json!({}), json!({"first": 3}), json!({"fields": "minimal"})] {
        let protocol = protocol(params.clone());
        for key in ["version", "conformance", "capabilities", "limits", "session_id", "profile"] {
            assert!(protocol.contains_key(key), "{params}: {key}");
        }
        assert_eq!(
            protocol.contains_key("danger_levels"),
            params != json!({"first": 3}),
            "of what is shown only"
        );
    }
}

/// REQ-INTRO-32
#[test]
fn a_search_gives_the_best_and_says_that_there_are_more() {
    let adapter = issues();
    let found = |params: Value| {
        let mut params = object(params);
        params.insert("query".to_owned(), json!("operations"));
        adapter.introspect(Value::Object(params))
    };
    let all = found(json!({"search": "create update delete list", "first": 100}));
    assert!(all["operations"].as_array().unwrap().len() > 10, "{all}");
    let best = found(json!({"search": "create update delete list"}));
    assert_eq!(best["operations"].as_array().unwrap()[..], all["operations"].as_array().unwrap()[..10]);
    let info = &best["_protocol"]["pageInfo"];
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(true), &json!(false)));
    let next = found(json!({"search": "create update delete list", "after": info["endCursor"]}));
    assert_eq!(next["operations"][0], all["operations"][10]);
    assert_eq!(found(json!({}))["operations"].as_array().unwrap().len(), 65, "a list is complete");
}

#[test]
fn a_hit_tells_what_an_update_takes_and_nothing_that_all_take() {
    let adapter = issues();
    let data = adapter.introspect(json!({"query": "operations", "search": "github issue", "first": 4}));
    let shown = names(&data["operations"], "description");
    for expected in [
        "github_create_issue(owner!, title!, body) Create an issue.",
        "github_list_issues(filter, fields) List issues",
        "github_update_issue(owner!, input{title, state}) Update an issue",
        "github_delete_issue(owner!) Delete an issue",
    ] {
        assert!(shown.contains(&expected), "{expected} is not in {shown:?}");
    }
}

/// REQ-INTRO-15 REQ-INTRO-16
#[test]
fn what_hundreds_take_alike_is_named_in_a_line_and_told_in_full_when_asked() {
    let adapter = issues();
    let usual = listed(&adapter, "github_create_issue", None);
    assert_eq!(names(&usual["parameters"], "name"), ["owner", "title", "body", "fields"]);
    let told = usual["parameters"][3]["description"].as_str().unwrap();
    for control in ["filter", "sort", "aggregate", "first", "after", "ResultQuery"] {
        assert!(told.contains(control), "{told}");
    }
    assert!(usual.get("examples").is_none() && usual.get("aggregation_support").is_none(), "{usual}");
    let controls =
        adapter.introspect(json!({"query": "types", "name": "ResultQuery"}))["type"]["fields"].clone();
    let full = listed(&adapter, "github_create_issue", Some("full"));
    let added: Vec<Value> = full["parameters"].as_array().unwrap()[3..].to_vec();
    assert_eq!(controls.as_array().unwrap(), &added, "the type tells exactly what is taken");
    assert_eq!(full["examples"][0]["request"]["params"], json!({"owner": "example", "title": "example"}));
    assert_eq!(full["aggregation_support"]["supported"], true);
    for control in names(&controls, "name") {
        let error = adapter.run("github_create_issue", json!({"owner": "a", "title": "b", control: null}));
        assert_eq!(error["error"]["code"], "VALIDATION_INVALID_TYPE", "{control} is known: {error}");
    }
}

/// REQ-INTRO-15
#[test]
fn a_control_that_is_an_operations_own_parameter_is_not_told_as_one() {
    let adapter = issues();
    let usual = listed(&adapter, "github_list_issues", None);
    assert_eq!(names(&usual["parameters"], "name"), ["filter", "fields", "sort"]);
    assert_eq!(usual["parameters"][1]["description"], "Some text");
    let told = usual["parameters"][2]["description"].as_str().unwrap();
    assert!(told.contains("aggregate, first, after") && !told.contains("filter"), "{told}");
    let delete = listed(&adapter, "github_delete_issue", None);
    assert_eq!(names(&delete["parameters"], "name"), ["owner", "confirmation_token", "fields"]);
}

#[test]
fn a_refused_call_is_told_the_operations_own_parameters() {
    let error = issues().refused("github_create_issue", json!({"owner": "a"}));
    assert_eq!(
        error["details"]["signature"],
        "github_create_issue(owner: string, title: string, body?: string, …)"
    );
}

fn trackers() -> Adapter {
    let operations = [
        ("github", Category::Create, "create_issue", "Create an issue in a repository"),
        ("github", Category::Read, "list_issues", "List issues of a repository"),
        ("github", Category::Delete, "delete_file", "Delete a file of a repository"),
        ("jira", Category::Create, "create_issue", "Create an issue in a project"),
        ("jira", Category::Read, "get_issue", "Get an issue of a project"),
        ("slack", Category::Execute, "post_message", "Post a message to a channel"),
        ("slack", Category::Read, "list_channels", "List channels"),
    ];
    let operations = operations.map(|(server, category, tool, description)| {
        foreign(category, server, &format!("{server}_{tool}"), description).param(text("title").required())
    });
    Adapter::of(Registry::builder("many").operations(operations).build().unwrap().into())
}

fn names_in(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// LREQ-MODE-05 LREQ-ERR-10
#[test]
fn a_wrong_name_gets_the_closest_ones_and_their_tools() {
    let adapter = trackers();
    for (name, expected) in [
        ("create_github_issue", &["github_create_issue"][..]),
        ("github_issue_create", &["github_create_issue"]),
        ("create_issue", &["github_create_issue", "jira_create_issue"]),
        ("create_isue", &["github_create_issue", "jira_create_issue"]),
        ("gitlab_create_issue", &["github_create_issue"]),
        ("linear_create_issue", &["github_create_issue", "jira_create_issue"]),
        ("github_open_issue", &["github_create_issue"]),
        ("slack_send_message", &["slack_post_message"]),
        ("slack_create_issue", &["github_create_issue", "jira_create_issue"]),
        ("GitHub_Create_Issue", &["github_create_issue"]),
        ("github.create_issue", &["github_create_issue"]),
        ("channels", &["slack_list_channels"]),
    ] {
        let error = adapter.call("mcp_aql_read", json!({"operation": name}))["error"].clone();
        assert_eq!(error["code"], "NOT_FOUND_OPERATION", "{name}");
        let available = names_in(&error["details"]["available"]);
        let first: Vec<&str> = available.iter().take(expected.len()).map(String::as_str).collect();
        assert!(
            available.len() <= 5 && expected.iter().all(|name| first.contains(name)),
            "{name}: {available:?}"
        );
        let hint = error["details"]["hint"].as_str().unwrap();
        for near in available {
            assert!(hint.contains(near.as_str()), "{hint}");
        }
        let tool = adapter.details(expected[0])["mcpTool"].as_str().unwrap().to_owned();
        let elsewhere = tool != "mcp_aql_read";
        assert_eq!(hint.contains(&tool), elsewhere, "{name}: {hint}");
    }
    let error = adapter.call("mcp_aql_read", json!({"operation": "create_github_issue"}))["error"].clone();
    assert_eq!(error["details"]["tool"], "mcp_aql_create");
    assert_eq!(error["details"]["signature"], "github_create_issue(title: string, …)");
    assert!(
        error["details"]["hint"].as_str().unwrap().starts_with("Did you mean 'github_create_issue'"),
        "{error}"
    );
}

/// LREQ-MODE-05
#[test]
fn a_name_like_none_gets_no_suggestion() {
    let adapter = trackers();
    let long = "x".repeat(5000);
    for name in ["zzz", "frobnicate_widget", "💥", " ", "__", "\u{0}", "delete", long.as_str()] {
        let error = adapter.call("mcp_aql_read", json!({"operation": name}))["error"].clone();
        assert_eq!(error["code"], "NOT_FOUND_OPERATION", "{name}");
        assert!(error["details"].get("available").is_none(), "{name}: {error}");
        assert!(error["details"]["hint"].as_str().unwrap().contains("introspect"), "{error}");
    }
}

#[test]
fn what_is_denied_is_not_suggested() {
    let policy = aql::policy::Policy::default();
    let rules = aql::policy::Policy { deny: vec!["github_*".to_owned()], ..policy };
    let operations = ["github_create_issue", "jira_create_issue"]
        .map(|name| define::Operation::new(Category::Create, name, "Create an issue"));
    let registry = Registry::builder("many").policy(rules).operations(operations).build().unwrap();
    let error =
        Adapter::of(registry.into()).call("mcp_aql_create", json!({"operation": "create_issue"}))["error"]
            .clone();
    assert_eq!(error["details"]["available"], json!(["jira_create_issue"]));
}

#[test]
fn an_operation_taken_for_a_tool_is_told_with_its_tool() {
    let registry = trackers().registry;
    let told = registry.unknown_tool("github_create_issue");
    assert!(
        told.starts_with("Unknown tool: 'github_create_issue'. ") && told.contains("'mcp_aql_create'"),
        "{told}"
    );
    assert_eq!(registry.unknown_tool("nowhere"), "Unknown tool: 'nowhere'");
}

fn servers(count: usize, operations_each: usize) -> Registry {
    let mut builder = Registry::builder("many").operations(fixture::synthetic(5));
    for server in 0..count {
        let server = format!("server{server:02}");
        for n in 0..operations_each {
            let (category, name) = match n % 2 {
                0 => (Category::Read, format!("{server}_get_thing_{n:03}")),
                _ => (Category::Create, format!("{server}_create_thing_{n:03}")),
            };
            builder =
                builder.operation(foreign(category, &server, &name, "A thing").param(text("id").required()));
        }
    }
    builder.build().unwrap()
}

/// LREQ-MCP-01 LREQ-MCP-02
#[test]
fn descriptions_name_the_servers_behind_them_and_stay_short() {
    let few = servers(2, 2);
    let create = &few.tools()[0].description;
    assert!(
        create.contains("Supported operations: create_thing_0000; 2 of servers server00, server01\n"),
        "{create}"
    );
    assert!(!few.tools()[3].description.contains("server0"), "no server removes anything");
    for registry in [&few, &servers(40, 2), &servers(40, 50)] {
        for tool in registry.tools() {
            assert!(tool.description.contains("operation: \"introspect\""), "{}", tool.description);
            assert!(tool.description.contains("Quick start: {\"operation\":"), "{}", tool.description);
            assert!(tool.description.chars().count() < 480, "{}", tool.description);
        }
    }
    let (some, many) = (servers(40, 2), servers(40, 50));
    assert!(
        some.tools()[1].description.contains("server00, server01, ")
            && some.tools()[1].description.contains(" more\n")
    );
    for (some, many) in some.tools().iter().zip(many.tools()) {
        let grown = many.description.len().abs_diff(some.description.len());
        assert!(grown <= 8, "only numbers grow: {}\n{}", some.description, many.description);
    }
}

/// LREQ-MCP-01
#[test]
fn the_call_that_a_description_shows_works() {
    let adapter = Adapter::of(servers(3, 2).into());
    let answer = adapter.call(
        "mcp_aql_read",
        json!({"operation": "introspect", "query": "operations", "search": "thing", "first": 1}),
    );
    assert_eq!(answer["success"], true, "{answer}");
}

#[test]
fn pinned_operations_are_named_with_their_signatures() {
    let names =
        ["github_create_issue", "github_list_issues", "nowhere", "github_list_issues"].map(str::to_owned);
    let registry = |mode| {
        let operations = [
            foreign(Category::Create, "github", "github_create_issue", "Create")
                .param(text("title").required()),
            foreign(Category::Read, "github", "github_list_issues", "List").param(text("state")),
        ];
        Registry::builder("many").mode(mode).operations(operations).pinned(names.to_vec()).build().unwrap()
    };
    let crude = registry(aql::profile::Mode::Semantic);
    assert!(crude.tools()[0].description.contains("\nOften used: github_create_issue(title!)\n"));
    assert!(crude.tools()[1].description.contains("\nOften used: github_list_issues(state)\n"));
    assert!(!crude.tools()[2].description.contains("Often used"));
    assert_eq!(crude.pinned_in_vain().collect::<Vec<_>>(), ["nowhere"]);
    let single = registry(aql::profile::Mode::Single);
    let both = "Often used: github_create_issue(title!); github_list_issues(state)\n";
    assert!(single.tools()[0].description.contains(both), "{}", single.tools()[0].description);
}

/// However many are pinned, a description ends.
#[test]
fn a_page_of_pinned_operations_is_cut() {
    let operations = fixture::synthetic(400);
    let names = operations.iter().map(|operation| operation.name.clone()).collect();
    let registry = Registry::builder("many").operations(operations).pinned(names).build().unwrap();
    for tool in registry.tools() {
        assert!(tool.description.chars().count() < 1300, "{}", tool.description);
    }
}

/// Clients that search tools themselves get each operation as one.
#[test]
fn a_tool_of_its_own_has_the_schema_of_its_operation_and_only_its_types() {
    let part = define::Type::object(
        "Part",
        "A part",
        vec![text("size"), define::Param::new("inner", "Part", "In it")],
    );
    let other = define::Type::object("Other", "Not used", vec![text("size")]);
    let create = foreign(Category::Create, "shop", "shop_create_order", "Create an order\nwith parts")
        .param(text("title").required().length(1, 9))
        .param(define::Param::new("parts", "Part[]", "Parts"));
    let registry = Registry::builder("many")
        .mode(aql::profile::Mode::Discrete)
        .types([part, other])
        .operation(create)
        .build()
        .unwrap();
    let names: Vec<&str> = registry.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["introspect", "shop_create_order"]);
    let tool = &registry.tools()[1];
    assert_eq!(tool.description, "Create an order\nwith parts", "the whole text: here is no second look");
    assert_eq!(tool.input_schema["required"], json!(["title"]));
    assert_eq!(tool.input_schema["properties"]["title"]["maxLength"], 9);
    assert_eq!(object(tool.input_schema["$defs"].clone()).keys().collect::<Vec<_>>(), ["Part"]);
    let listed = object(tool.input_schema["properties"].clone());
    let mut names: Vec<&String> = listed.keys().collect();
    names.sort();
    assert_eq!(names, ["fields", "parts", "title"], "one control stands for all");
    let told = listed["fields"]["description"].as_str().unwrap();
    for control in ["filter", "sort", "first", "after", "aggregate", "ResultQuery"] {
        assert!(told.contains(control), "{control} is not in {told}");
    }
    let validator = jsonschema::validator_for(&tool.input_schema).unwrap();
    assert!(validator.is_valid(&json!({"title": "x", "parts": [{"inner": {"size": "s"}}], "first": 3})));
    assert!(!validator.is_valid(&json!({"parts": []})));
    let introspect = &registry.tools()[0].input_schema;
    assert_eq!(introspect["additionalProperties"], false, "our own list everything that they take");
    let address = registry.address("shop_create_order").unwrap();
    let arguments = address.arguments(object(json!({"operation": "introspect"})));
    assert_eq!(
        Value::Object(arguments),
        json!({"operation": "shop_create_order", "params": {"operation": "introspect"}})
    );
    assert_eq!((registry.address("mcp_aql"), registry.endpoint("shop_create_order")), (None, None));
    assert!(registry.unknown_tool("create_shop_order").contains("'shop_create_order'"));
}
