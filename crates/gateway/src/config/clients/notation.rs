//! From the clients' ways of naming variables to ours: `${env:NAME}`, `${input:id}`, `${workspaceFolder}`.

use std::path::{MAIN_SEPARATOR_STR, Path};

use crate::config::variables::is_name;

/// A value in our notation. What should be known about it is added to the notes, without repeating the value.
pub(super) fn ours(text: &str, workspace: Option<&Path>, notes: &mut Vec<String>) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        whole.push_str(before);
        let reference = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        match reference.and_then(|(inner, after)| Some((self::reference(inner, workspace, notes)?, after))) {
            Some((reference, after)) => {
                whole.push_str(&reference);
                rest = after;
            }
            None => {
                whole.push_str("$$");
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    whole
}

/// What stands between `${` and `}`, whole and in our notation; `None` for what no client expands either.
fn reference(inner: &str, workspace: Option<&Path>, notes: &mut Vec<String>) -> Option<String> {
    let place = || workspace.map(|path| path.to_string_lossy().replace('$', "$$"));
    match inner {
        "workspaceFolder" | "workspaceRoot" => return place(),
        "workspaceFolderBasename" => {
            return Some(workspace?.file_name()?.to_string_lossy().replace('$', "$$"));
        }
        "userHome" => return Some("${HOME}".to_owned()),
        "pathSeparator" | "/" => return Some(MAIN_SEPARATOR_STR.to_owned()),
        _ => {}
    }
    if let Some(id) = inner.strip_prefix("input:") {
        let name = variable(id)?;
        note(notes, format!("it asked for the input '{id}'; set the environment variable '{name}' instead"));
        return Some(format!("${{{name}}}"));
    }
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
    is_name(name).then(|| format!("${{{inner}}}"))
}

/// A variable's name from any id.
fn variable(id: &str) -> Option<String> {
    let name: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let name = if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name };
    is_name(&name).then_some(name)
}

/// One input may be asked for in many places.
fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_becomes_ours() {
        let workspace = Path::new("/home/me/pa$t");
        for (given, expected) in [
            ("plain", "plain"),
            ("pa$$word$", "pa$$$$word$$"),
            ("$HOME", "$$HOME"),
            ("${HOME}/x", "${HOME}/x"),
            ("${HOME:-/root}", "${HOME:-/root}"),
            ("${env:TOKEN}", "${TOKEN}"),
            ("Bearer ${input:github-token}", "Bearer ${github_token}"),
            ("${input:2nd}", "${_2nd}"),
            ("${workspaceFolder}/a", "/home/me/pa$$t/a"),
            ("${workspaceFolderBasename}", "pa$$t"),
            ("${userHome}", "${HOME}"),
            ("${command:x.y}", "$${command:x.y}"),
            ("${", "$${"),
            ("${}", "$${}"),
            ("a${b", "a$${b"),
        ] {
            let mut notes = Vec::new();
            let translated = ours(given, Some(workspace), &mut notes);
            assert_eq!(translated, expected, "{given}");
            assert!(crate::config::variables::pieces(&translated).is_ok(), "{translated}");
            assert_eq!(notes.len(), usize::from(given.contains("input:")), "{given}");
        }
        assert_eq!(ours("${workspaceFolder}", None, &mut Vec::new()), "$${workspaceFolder}");
    }
}
