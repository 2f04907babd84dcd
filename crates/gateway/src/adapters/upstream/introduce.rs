//! What a wrapped server says of itself, told on to the client that would have talked to it.

use super::open::Identity;

/// Some servers send a whole manual; this much of it is told.
const INSTRUCTIONS_BYTES_MAX: usize = 16 * 1024;

/// The server's name, version and instructions as a part of our own instructions.
pub(super) fn introduce(name: &str, server: Option<&Identity>, instructions: Option<&str>) -> String {
    let who = match server {
        Some(Identity { name, version }) if version.is_empty() => format!("'{name}'"),
        Some(Identity { name, version }) => format!("'{name}' {version}"),
        None => format!("'{name}'"),
    };
    let mut text = format!("The operations are those of the server {who}.");
    let said = instructions.map(str::trim).filter(|said| !said.is_empty());
    if let Some(said) = said {
        let end = said.floor_char_boundary(INSTRUCTIONS_BYTES_MAX);
        text.push_str(" Its own instructions, in which tools are operations here:\n\n");
        text.push_str(said.get(..end).unwrap_or_default());
        if end < said.len() {
            text.push('…');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_version_and_instructions_are_told() {
        let server = Identity { name: "mcp-git".to_owned(), version: "1.2".to_owned() };
        let told = introduce("git", Some(&server), Some("  Say the path first.\n"));
        assert_eq!(
            told,
            "The operations are those of the server 'mcp-git' 1.2. Its own instructions, in which tools are \
             operations here:\n\nSay the path first."
        );
        assert_eq!(introduce("git", None, Some(" ")), "The operations are those of the server 'git'.");
    }

    #[test]
    fn a_manual_is_cut_between_characters() {
        let told = introduce("x", None, Some(&"é".repeat(100_000)));
        assert!(told.ends_with("é…") && told.len() < INSTRUCTIONS_BYTES_MAX + 200);
    }
}
