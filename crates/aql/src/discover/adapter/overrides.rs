//! What the operator knows better than a bundle: a small file in YAML or TOML.
//!
//! ```yaml
//! name: github              # of the adapter; also version and description
//! operations:
//!   create_issue:           # as the bundle calls it
//!     name: open_issue
//!     endpoint: CREATE
//!     danger_level: reversible
//!     description: Opens an issue
//!     params:
//!       per_page: { name: page_size, description: How many }
//!       debug: { omit: true }
//!   delete_repository: { omit: true }
//! ```

use std::collections::BTreeMap;

use super::{
    super::yaml,
    fields::{Field, Problem, Reader, find},
    is_name, is_version,
};
use crate::{
    category::Category,
    danger::DangerLevel,
    name::{OperationName, ParamName},
};

/// What the file says. Everything may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    pub name: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    /// By the names that operations have in the bundle.
    pub operations: BTreeMap<String, Operation>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operation {
    /// Where it stands in the file.
    pub line: usize,
    pub omit: bool,
    pub name: Option<String>,
    pub endpoint: Option<Category>,
    pub danger: Option<DangerLevel>,
    pub description: Option<String>,
    /// By the names that parameters have in the bundle.
    pub params: BTreeMap<String, Param>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Param {
    pub line: usize,
    pub omit: bool,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    Yaml,
    Toml,
}

/// Reads and checks a file of overrides.
pub fn read(text: &str, notation: Notation) -> Result<Overrides, Vec<Problem>> {
    let mut reader = Reader::default();
    let node = match notation {
        Notation::Yaml => yaml::read(text),
        Notation::Toml => yaml::read_toml(text),
    };
    let node = match node {
        Ok(node) => node,
        Err(fault) => {
            reader.fault(fault);
            return Err(reader.problems);
        }
    };
    let root = reader.root(&node);
    let entries = reader.table(&root, &["name", "version", "description", "operations"]);
    let mut text = |key: &str| find(&entries, key).and_then(|field| Some((reader.text(field)?, field.line)));
    let (name, version, description) = (text("name"), text("version"), text("description"));
    if let Some((name, line)) = name.as_ref().filter(|(name, _)| !is_name(name)) {
        let message =
            format!("'{name}' must be 2 to 64 lowercase letters, digits and hyphens, as in 'github-api'");
        reader.note(*line, "name", message);
    }
    if let Some((version, line)) = version.as_ref().filter(|(version, _)| !is_version(version)) {
        reader.note(*line, "version", format!("'{version}' must be three numbers, as in \"1.0.0\""));
    }
    let mut operations = BTreeMap::new();
    if let Some(field) = find(&entries, "operations") {
        for (key, field) in reader.entries(field) {
            operations.insert(key.text.clone(), operation(&mut reader, &field));
        }
    }
    if !reader.problems.is_empty() {
        return Err(reader.problems);
    }
    let first = |given: Option<(String, usize)>| given.map(|(text, _)| text);
    Ok(Overrides { name: first(name), version: first(version), description: first(description), operations })
}

fn operation(reader: &mut Reader, field: &Field<'_>) -> Operation {
    let entries = reader.table(field, &["omit", "name", "endpoint", "danger_level", "description", "params"]);
    let mut params = BTreeMap::new();
    if let Some(field) = find(&entries, "params") {
        for (key, field) in reader.entries(field) {
            params.insert(key.text.clone(), param(reader, &field));
        }
    }
    if entries.is_empty() {
        reader.note(field.line, &field.path, "nothing is said of this operation");
    }
    Operation {
        line: field.line,
        omit: find(&entries, "omit").and_then(|field| reader.flag(field)).unwrap_or(false),
        name: find(&entries, "name")
            .and_then(|field| reader.parsed::<OperationName>(field))
            .map(|n| n.to_string()),
        endpoint: find(&entries, "endpoint").and_then(|field| reader.parsed(field)),
        danger: find(&entries, "danger_level").and_then(|field| reader.parsed(field)),
        description: find(&entries, "description").and_then(|field| reader.text(field)),
        params,
    }
}

fn param(reader: &mut Reader, field: &Field<'_>) -> Param {
    let entries = reader.table(field, &["omit", "name", "description"]);
    Param {
        line: field.line,
        omit: find(&entries, "omit").and_then(|field| reader.flag(field)).unwrap_or(false),
        name: find(&entries, "name")
            .and_then(|field| reader.parsed::<ParamName>(field))
            .map(|n| n.to_string()),
        description: find(&entries, "description").and_then(|field| reader.text(field)),
    }
}
