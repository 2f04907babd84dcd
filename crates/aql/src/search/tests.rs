//! The index as its callers see it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TOOLS: [(&str, &str, &str); 13] = [
    ("create_issue", "Create a new issue in a repository.", "tracker"),
    ("list_issues", "List issues of a repository.", "tracker"),
    ("get_issue", "Get one issue.", "tracker"),
    ("delete_issue", "Delete an issue for good.", "tracker"),
    ("update_issue", "Change an issue's title or body.", "tracker"),
    ("list_repositories", "List repositories.", "tracker"),
    ("send_message", "Send a message to a channel.", "chat"),
    ("list_channels", "List channels.", "chat"),
    ("keyvault_secret_get", "Get a secret of a vault.", "cloud"),
    ("sendEmail", "Send mail.", "post"),
    ("start_job", "Start a job.", "jobs"),
    ("help", "", "sky"),
    ("get_weather", "Tell the weather of a place, for a day.", "sky"),
];

fn documents() -> Vec<Document<'static>> {
    let document =
        |(name, description, server)| Document { name, description, server, ..Document::default() };
    TOOLS.into_iter().map(document).collect()
}

fn found(text: &str) -> Vec<&'static str> {
    Index::new(&documents()).find(text).into_iter().map(|place| TOOLS[place].0).collect()
}

#[test]
fn what_was_meant_comes_first() {
    for (text, expected) in [
        ("open a new issue", "create_issue"),
        ("show me all issues", "list_issues"),
        ("show me issue 7", "get_issue"),
        ("remove the issue", "delete_issue"),
        ("edit an issue", "update_issue"),
        ("which repos are there?", "list_repositories"),
        ("post messages", "send_message"),
        ("key vault secrets", "keyvault_secret_get"),
        ("KeyVault", "keyvault_secret_get"),
        ("email", "sendEmail"),
        ("run the job", "start_job"),
        ("forecast", "get_weather"),
        ("wether", "get_weather"),
        ("chan", "list_channels"),
        ("delete_issue", "delete_issue"),
        ("call get_issue, then list issues", "get_issue"),
        ("chat", "list_channels"),
    ] {
        let found = found(text);
        // Of the chat server's two tools either may come first.
        let either = text == "chat" && found.first() == Some(&"send_message");
        assert!(found.first() == Some(&expected) || either, "{text}: {found:?}");
    }
}

#[test]
fn what_fits_nothing_finds_nothing() {
    for text in ["", " ", "the", "zzz", "💥", "\0", "12345", "the of and"] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
    assert!(Index::new(&[]).find("anything at all").is_empty());
    assert!(Index::default().find("anything").is_empty());
}

#[test]
fn a_wrong_name_with_the_right_meaning_is_understood() {
    let index = Index::new(&documents());
    for (name, expected) in [
        ("remove_issue", Some("delete_issue")),
        ("edit_issue", Some("update_issue")),
        ("run_job", Some("start_job")),
        ("show_repos", Some("list_repositories")),
        ("frobnicate_issue", None),
        ("nonexistent_operation", None),
        ("delete", None),
        ("remove_channel", None),
        ("", None),
    ] {
        assert_eq!(index.meant_by(name).map(|place| TOOLS[place].0), expected, "{name}");
    }
}

#[test]
fn equal_documents_keep_their_order() {
    let same = Document { name: "get_x", description: "Get x", ..Document::default() };
    assert_eq!(Index::new(&[same.clone(), same.clone(), same]).find("get x"), [0, 1, 2]);
}

#[test]
fn parameters_titles_and_servers_are_found() {
    let tool = |value| serde_json::from_value::<ListedTool>(value).unwrap();
    let tools = [
        tool(
            json!({"name": "a", "server": "harbour", "inputSchema": {"properties": {"latitude": {"type": "number"}}}}),
        ),
        tool(
            json!({"name": "b", "title": "Sunrise", "inputSchema": {"properties": {"x": {"description": "In kelvin"}}}}),
        ),
        tool(json!({"name": "c", "annotations": {"title": "Moon"}, "inputSchema": {"properties": [1]}})),
    ];
    let index = Index::new(&tools.iter().map(Document::from).collect::<Vec<_>>());
    for (text, expected) in [("harbour", 0), ("latitude", 0), ("sunrise", 1), ("kelvin", 1), ("moon", 2)] {
        assert_eq!(index.find(text), [expected], "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_safe_question_with_one_answer(text in ".{0,200}", name in ".{0,30}", description in ".{0,200}") {
        let mut documents = documents();
        documents.push(Document { name: &name, description: &description, ..Document::default() });
        let found = Index::new(&documents).find(&text);
        prop_assert_eq!(&found, &Index::new(&documents).find(&text));
        let mut places = found.clone();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(places.len(), found.len());
        prop_assert!(found.iter().all(|place| *place < documents.len()));
    }

    #[test]
    fn an_operation_is_found_by_its_own_name(place in 0..TOOLS.len()) {
        prop_assert_eq!(found(TOOLS[place].0)[0], TOOLS[place].0);
    }
}
