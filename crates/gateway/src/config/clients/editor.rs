//! Variables that only an editor can fill in: the file that is open, the folder it works in.

use jsonc_parser::ast::{Object, Value};

use super::entry::URLS;

/// What editors fill in, besides those that begin with `workspaceFolder`.
const OPEN: [&str; 16] = [
    "file",
    "fileBasename",
    "fileBasenameNoExtension",
    "fileDirname",
    "fileDirnameBasename",
    "fileExtname",
    "fileWorkspaceFolder",
    "fileWorkspaceFolderBasename",
    "relativeFile",
    "relativeFileDirname",
    "lineNumber",
    "columnNumber",
    "selectedText",
    "execPath",
    "extensionInstallFolder",
    "defaultBuildTask",
];

/// Where a server's values stand.
const KEYS: [&str; 5] = ["command", "args", "env", "cwd", "headers"];

/// The first variable in a server's values that only the editor knows. The folder it works in is known for a project's
/// own file.
pub(crate) fn editor_variable(server: &Object<'_>, in_project: bool) -> Option<String> {
    let values = KEYS.iter().chain(&URLS).filter_map(|key| server.get(key));
    values.into_iter().find_map(|property| in_value(&property.value, in_project))
}

/// Values are strings, and arrays and objects of them; Zed's command is an object with both.
fn in_value(value: &Value<'_>, in_project: bool) -> Option<String> {
    match value {
        Value::StringLit(text) => in_text(&text.value, in_project),
        Value::Array(array) => array.elements.iter().find_map(|element| in_value(element, in_project)),
        Value::Object(object) => {
            object.properties.iter().find_map(|property| in_value(&property.value, in_project))
        }
        Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => None,
    }
}

fn in_text(text: &str, in_project: bool) -> Option<String> {
    let references = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    references.into_iter().find(|name| is_editors(name, in_project)).map(|name| format!("${{{name}}}"))
}

fn is_editors(name: &str, in_project: bool) -> bool {
    match name {
        "workspaceFolder" | "workspaceFolderBasename" | "workspaceRoot" => !in_project,
        // One of several folders, a setting, or what a command answers.
        _ => {
            OPEN.contains(&name)
                || ["workspaceFolder:", "config:", "command:"].iter().any(|start| name.starts_with(start))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::clients::parse;

    fn found(text: &str, in_project: bool) -> Option<String> {
        editor_variable(&parse(text).unwrap(), in_project)
    }

    #[test]
    fn what_only_an_editor_knows_is_found_wherever_it_stands() {
        for text in [
            r#"{"command": "${file}"}"#,
            r#"{"command": "c", "args": ["x", "--at=${file}/y"]}"#,
            r#"{"command": {"path": "c", "args": ["${file}"]}}"#,
            r#"{"command": "c", "env": {"A": "${HOME}${file}"}}"#,
            r#"{"command": "c", "cwd": "${file}"}"#,
            r#"{"url": "https://x/${file}"}"#,
            r#"{"serverUrl": "https://x/", "headers": {"A": "${file}"}}"#,
        ] {
            assert_eq!(found(text, true).as_deref(), Some("${file}"), "{text}");
        }
        for (value, in_user_file, in_project) in [
            ("${workspaceFolder}/x", true, false),
            ("${workspaceFolderBasename}", true, false),
            ("${workspaceFolder:api}", true, true),
            ("${config:editor.tabSize}", true, true),
            ("${command:pick}", true, true),
            ("${selectedText}", true, true),
            ("${env:file} ${input:file} ${userHome} ${FILE} ${TOKEN:-file} $file {file}", false, false),
            ("${file", false, false),
            ("file}${", false, false),
        ] {
            let text = serde_json::json!({"command": "c", "args": [value]}).to_string();
            assert_eq!(
                (found(&text, false).is_some(), found(&text, true).is_some()),
                (in_user_file, in_project),
                "{value}"
            );
        }
        assert_eq!(found(r#"{"command": "c", "description": "${file}", "args": 7}"#, true), None);
    }
}
