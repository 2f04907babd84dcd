//! Saved tool lists of other servers, searched without any server.

use std::path::{Path, PathBuf};

use gateway::aql::{
    introspect,
    listed::{self, ListedTool},
    search::{Document, Index},
};
use serde_json::{Value, json};

use crate::report::Failure;

/// Ids for each query at the least, where so many fit: what rankings are judged by.
const RANKED_MIN: usize = 10;

const SHAPES: &str = "a list is a tools/list result, an array of tools or JSON Lines with one tool in each";

pub(super) struct Tools(Vec<ListedTool>);

impl Tools {
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, Failure> {
        let mut tools = Vec::new();
        for file in files {
            let listed = listed::parse(&text(file)?);
            tools.extend(listed.map_err(|reason| no_list(file, &reason))?);
        }
        Ok(Self(tools))
    }

    fn index(&self) -> Index {
        Index::new(&self.0.iter().map(Document::from).collect::<Vec<_>>())
    }

    /// The tools that fit a text, or without one all of them.
    pub(super) fn show(&self, search: Option<&str>, first: Option<usize>, json: bool) -> String {
        let first = first.unwrap_or(usize::MAX);
        let places = search.map_or_else(|| (0..self.0.len()).collect(), |text| self.index().find(text));
        let found = places.into_iter().filter_map(|place| self.0.get(place)).take(first);
        if json {
            let shown = |tool: &ListedTool| {
                json!({
                    "id": tool.label(), "server": tool.server, "name": tool.name,
                    "description": introspect::of_tool(tool),
                })
            };
            return Value::Array(found.map(shown).collect()).to_string();
        }
        let rows: Vec<(String, String)> =
            found.map(|tool| (tool.label(), introspect::of_tool(tool))).collect();
        let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
        let lines: Vec<String> =
            rows.iter().map(|(label, text)| format!("{label:<width$}  {text}")).collect();
        if lines.is_empty() { "no tool fits".to_owned() } else { lines.join("\n") }
    }

    /// A line with the ids found for each query of a file.
    pub(super) fn answer(&self, queries: &Path, first: Option<usize>) -> Result<String, Failure> {
        let (index, first) = (self.index(), first.unwrap_or_default().max(RANKED_MIN));
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text(queries)?.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let query: Value = serde_json::from_str(line).unwrap_or_default();
            let (Some(qid), Some(text)) = (query.get("qid"), query.get("query").and_then(Value::as_str))
            else {
                let message = format!("line {number} of '{}' is no query", queries.display());
                return Err(Failure::usage(
                    &message,
                    "each line is a JSON object with 'qid' and the text 'query'",
                ));
            };
            let found = index.find(text).into_iter().filter_map(|place| self.0.get(place));
            let ranked: Vec<String> = found.map(ListedTool::label).take(first).collect();
            lines.push(json!({"qid": qid, "ranked": ranked}).to_string());
        }
        Ok(lines.join("\n"))
    }
}

pub(super) fn no_list(file: &Path, reason: &listed::NotAList) -> Failure {
    Failure::usage(&format!("'{}' is no list of tools: {reason}", file.display()), SHAPES)
}

/// Whose tools a file holds where it does not say so: its own name, or that of its folder where every file has the same.
#[cfg(feature = "tokens")]
pub(super) fn server(file: &Path) -> String {
    let name = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let own = name(file).unwrap_or_default();
    let is_common = own.to_ascii_lowercase().contains("tools");
    let folder = std::path::absolute(file).ok().filter(|_| is_common);
    folder
        .and_then(|path| path.parent()?.file_name().map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or(own)
}

pub(super) fn text(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::trouble(&format!("the file '{}' cannot be read", file.display()), &error.to_string())
    })
}
