//! Right calls through wrong tools, and operations that answer although no list names them.

use std::collections::BTreeSet;

use serde_json::{Map, json};

use super::{Run, discover::takes_operations, faults::NO_SUCH_OPERATION, parameters::NO_SUCH_PARAMETER};
use crate::{
    MisroutedCall, Mode, UnlistedOperation,
    answer::{at, code, list_at, text_at},
};

/// Verbs that adapters begin their operations' names with.
const VERBS: [&str; 10] =
    ["create", "get", "list", "search", "count", "update", "delete", "remove", "execute", "cancel"];

impl Run<'_> {
    pub(super) fn try_other_endpoints(&mut self) {
        if self.mode == Mode::Single {
            return;
        }
        for operation in self.catalog.operations.clone() {
            for tool in self.tools().into_iter().filter(|tool| *tool != operation.tool) {
                let Some(params) = self.request(&operation) else { break };
                let response = self.call_through(&tool, &operation.name, &params);
                let name = format!("{}: through {tool}", operation.name);
                self.note_fault(&name, vec![operation.name.clone()], &response);
                let operation = operation.name.clone();
                self.live.misrouted_calls.push(MisroutedCall { operation, tool, response });
            }
        }
    }

    /// Tries names that the tools' descriptions mention, and those that the listed ones suggest. Each call
    /// carries a parameter that nothing has, so that nothing is done.
    pub(super) fn look_for_unlisted(&mut self) {
        let listed: BTreeSet<String> = self.listed();
        let params = Map::from_iter([(NO_SUCH_PARAMETER.to_owned(), json!("x"))]);
        for (tool, name) in self.guesses() {
            if listed.contains(&name) {
                continue;
            }
            let nobody = self.call_through(&tool, NO_SUCH_OPERATION, &params);
            let response = self.call_through(&tool, &name, &params);
            if code(&response) != code(&nobody) {
                self.live.unlisted_operations.push(UnlistedOperation { operation: name, tool, response });
            }
        }
    }

    fn listed(&self) -> BTreeSet<String> {
        let list = list_at(&self.evidence.introspection.operations_list, "data.operations");
        list.iter().map(|record| text_at(record, "name").to_owned()).collect()
    }

    fn guesses(&self) -> BTreeSet<(String, String)> {
        let mut guesses = BTreeSet::from([(self.catalog.tool.clone(), "introspect".to_owned())]);
        for tool in &self.live.tools {
            let Some(name) = at(tool, "name").as_str().filter(|_| takes_operations(tool)) else { continue };
            let text = text_at(tool, "description");
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let like_operations = words.filter(|word| is_operation_like(word) && *word != name);
            guesses.extend(like_operations.map(|word| (name.to_owned(), word.to_owned())));
        }
        let nouns = self.catalog.operations.iter().map(|operation| operation.noun());
        for noun in nouns.filter(|noun| !noun.is_empty()).collect::<BTreeSet<_>>() {
            guesses.extend(VERBS.map(|verb| (self.catalog.tool.clone(), format!("{verb}_{noun}"))));
        }
        guesses
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.live.tools.iter().filter(|tool| takes_operations(tool));
        tools.filter_map(|tool| at(tool, "name").as_str()).map(str::to_owned).collect()
    }
}

fn is_operation_like(word: &str) -> bool {
    let ends = word.starts_with(|c: char| c.is_ascii_lowercase()) && !word.ends_with('_');
    ends && word.contains('_') && !word.chars().any(|c| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_told_from_other_words() {
        for (word, expected) in [("get_widget", true), ("widget", false), ("NAME_X", false), ("a_", false)] {
            assert_eq!(is_operation_like(word), expected, "{word}");
        }
    }
}
