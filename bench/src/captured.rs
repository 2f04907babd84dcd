//! Operations of real servers: the saved tool lists that lie beside the project, turned into what a gateway serves.

use std::path::{Path, PathBuf};

use aql::{
    adopt::{self, Taken},
    classify::{Overrides, Trust},
    define::{Operation, Type},
    listed,
    registry::{Builder, Registry},
};
use serde_json::Value;

use crate::Result;

/// Operations and the types they use.
pub(crate) struct Captured {
    pub(crate) operations: Vec<Operation>,
    pub(crate) types: Vec<Type>,
    pub(crate) tools: Vec<Value>,
}

/// Where the captures are, if they are there.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/eval");
    folder.is_dir().then_some(folder)
}

/// Every tool of every capture.
pub(crate) fn read(folder: &Path) -> Result<Captured> {
    let mut captured = Captured { operations: Vec::new(), types: Vec::new(), tools: Vec::new() };
    let (operations, types) = gateway::adapters::built_in();
    let mut taken = Taken::default().with(&operations, &types);
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(folder.join("captures"))?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(path.join("raw-tools-list.json"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let server = name.trim_end_matches(".dev-namespaces").replace(['-', '.'], "_");
        let raw: Value = serde_json::from_str(&text)?;
        let list = raw.pointer("/result/tools").or_else(|| raw.get("tools")).unwrap_or(&raw);
        captured.tools.extend(list.as_array().into_iter().flatten().cloned());
        let prefix = format!("{server}_");
        let overrides = Overrides::default();
        let options =
            adopt::Options { server: &server, prefix: &prefix, trust: Trust::Claimed, overrides: &overrides };
        let adopted = adopt::adopt(&listed::parse(&text)?, &options, &mut taken);
        captured.operations.extend(adopted.operations.into_iter().map(|adopted| adopted.definition));
        captured.types.extend(adopted.types);
    }
    Ok(captured)
}

/// What people asked of these servers.
pub(crate) fn queries(folder: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(folder.join("retrieval/vendor-evals/queries.jsonl"))?;
    let query = |line: &str| -> Result<String> {
        let line: Value = serde_json::from_str(line)?;
        Ok(line.get("query").and_then(Value::as_str).unwrap_or_default().to_owned())
    };
    text.lines().map(query).collect()
}

impl Captured {
    /// A builder with all of them beside the built-in workspace, as a gateway serves them.
    pub(crate) fn builder(&self) -> Builder {
        let (operations, types) = gateway::adapters::built_in();
        let builder = Registry::builder("aqueduct").operations(operations).types(types);
        builder.operations(self.operations.clone()).types(self.types.clone())
    }
}
