//! A server's tools as they were listed, by the bytes that a client would hand to its model.

use aql::{
    adopt,
    classify::{Overrides, Trust},
    listed::{self, ListedTool},
};
use serde_json::Value;

use super::ordered::Ordered;

pub use aql::listed::NotAList;

/// The tools of one server.
#[derive(Debug, Clone)]
pub struct List {
    pub server: String,
    /// What our operations' names begin with.
    pub prefix: String,
    pub trust: Trust,
    pub overrides: Overrides,
    /// What becomes operations; may be fewer than are listed.
    pub tools: Vec<ListedTool>,
    pub(super) count: usize,
    pub(super) wire: String,
    pub(super) visible: String,
}

impl List {
    /// Reads the text of a saved list. Its entries may tell their servers; the others are `server`'s.
    pub fn read(server: &str, text: &str) -> Result<Vec<Self>, NotAList> {
        // This decides what is a list; what follows only keeps the order of its keys.
        let tools = listed::parse(text)?;
        let entries = entries(text);
        let mut lists: Vec<(String, Vec<ListedTool>, Vec<Ordered>)> = Vec::new();
        for (tool, entry) in tools.into_iter().zip(entries) {
            let name = tool.server.clone().unwrap_or_else(|| server.to_owned());
            match lists.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, tools, entries)) => {
                    tools.push(tool);
                    entries.push(entry);
                }
                None => lists.push((name, vec![tool], vec![entry])),
            }
        }
        Ok(lists.into_iter().map(|(name, tools, entries)| Self::new(&name, tools, entries)).collect())
    }

    /// The tools as a server's catalogue has them. Entries that are no tools cost something and become nothing.
    #[must_use]
    pub fn of_definitions(server: &str, definitions: &[Value]) -> Self {
        let ordered =
            |definition: &Value| serde_json::from_str(&definition.to_string()).unwrap_or(Ordered::Null);
        let read = |definition: &Value| listed::read(Value::Array(vec![definition.clone()])).ok()?.pop();
        let tools = definitions.iter().filter_map(read).collect();
        Self::new(server, tools, definitions.iter().map(ordered).collect())
    }

    fn new(server: &str, tools: Vec<ListedTool>, entries: Vec<Ordered>) -> Self {
        let visible = Ordered::List(entries.iter().map(visible).collect()).compact();
        let count = entries.len();
        let wire = Ordered::Object(vec![("tools".to_owned(), Ordered::List(entries))]).compact();
        Self {
            prefix: prefix(server),
            server: server.to_owned(),
            trust: Trust::Claimed,
            overrides: Overrides::default(),
            tools,
            count,
            wire,
            visible,
        }
    }

    pub(super) fn options(&self) -> adopt::Options<'_> {
        adopt::Options {
            server: &self.server,
            prefix: &self.prefix,
            trust: self.trust,
            overrides: &self.overrides,
        }
    }
}

fn prefix(server: &str) -> String {
    let lower = server.to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    match name.chars().next() {
        None => String::new(),
        Some(first) if first.is_ascii_digit() => format!("server_{name}_"),
        Some(_) => format!("{name}_"),
    }
}

/// The tools of a text that is known to be a list, in its own shape.
fn entries(text: &str) -> Vec<Ordered> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Ordered>();
    let values: Vec<Ordered> = values.filter_map(Result::ok).collect();
    let entries = match values.as_slice() {
        [Ordered::List(entries)] => entries.clone(),
        [whole] if whole.get("name").is_none() && whole.get("tool").is_none() => {
            let result = whole.get("result").unwrap_or(whole);
            match result.get("tools") {
                Some(Ordered::List(entries)) => entries.clone(),
                _ => Vec::new(),
            }
        }
        _ => values,
    };
    entries.into_iter().map(bare).collect()
}

/// The tool without what a collection of lists says beside it.
fn bare(entry: Ordered) -> Ordered {
    if let Some(tool @ Ordered::Object(_)) = entry.get("tool") {
        return tool.clone();
    }
    match entry {
        Ordered::Object(mut members) => {
            members.retain(|(key, _)| key != "id" && key != "server");
            Ordered::Object(members)
        }
        other => other,
    }
}

/// What a client hands to its model.
fn visible(tool: &Ordered) -> Ordered {
    let keys = ["name", "description", "inputSchema"].into_iter();
    let kept = keys.filter_map(|key| Some((key.to_owned(), tool.get(key)?.clone())));
    Ordered::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"title": "T", "name": "a", "inputSchema": {"type": "object", "properties": {}}}"#;

    #[test]
    fn every_shape_of_a_list_costs_the_same() {
        for text in [
            format!("[{TOOL}]"),
            format!("{{\"tools\": [{TOOL}]}}"),
            format!("{{\"jsonrpc\": \"2.0\", \"result\": {{\"tools\": [{TOOL}]}}}}"),
            format!("[{{\"id\": \"s/a\", \"server\": \"s\", \"tool\": {TOOL}}}]"),
            TOOL.to_owned(),
            format!("{{\"server\": \"s\", \"id\": \"1\", {}\n", &TOOL[1..]),
        ] {
            let lists = List::read("s", &text).unwrap();
            assert_eq!(lists.len(), 1, "{text}");
            assert_eq!((lists[0].server.as_str(), lists[0].count), ("s", 1));
            assert_eq!(
                lists[0].wire,
                r#"{"tools":[{"title":"T","name":"a","inputSchema":{"type":"object","properties":{}}}]}"#
            );
            assert_eq!(lists[0].visible, r#"[{"name":"a","inputSchema":{"type":"object","properties":{}}}]"#);
        }
    }

    #[test]
    fn servers_are_told_apart_in_one_list() {
        let text = "{\"name\":\"a\",\"server\":\"x\"}\n{\"name\":\"b\"}\n{\"name\":\"c\",\"server\":\"x\"}";
        let lists = List::read("7 files", text).unwrap();
        let seen: Vec<_> =
            lists.iter().map(|list| (list.server.as_str(), list.prefix.as_str(), list.count)).collect();
        assert_eq!(seen, [("x", "x_", 2), ("7 files", "server_7_files_", 1)]);
        assert!(List::read("x", "{oops").is_err());
        assert!(List::read("x", "{\"tools\": 7}").is_err());
    }
}
