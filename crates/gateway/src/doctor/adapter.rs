//! An adapter file beside the tools that its server was last seen with.

use std::path::Path;

use aql::{
    adopt::{Options, Severity as Weight, Taken},
    discover::adapter,
    listed::{self, ListedTool},
};
use serde_json::Value;

use super::{Finding, Severity};
use crate::{adapters::upstream, config};

/// Notes shown where there are many.
const SHOWN: usize = 3;

/// Whether the file still fits. A server that was never served has no catalogue to compare with, and a file that cannot
/// be read is a finding of the configuration.
pub(super) fn examine(settings: &config::Upstream, data: &Path) -> Option<Finding> {
    let file = settings.adapter.as_ref()?;
    let kept = upstream::pinned(data, settings)?;
    let adapter = adapter::read(&std::fs::read_to_string(file).ok()?, None).ok()?.adapter;
    let offered = kept.tools.iter().filter(|tool| !tool.gone && settings.tools.allows(tool.name()));
    let definitions: Vec<Value> = offered.map(|tool| tool.definition.clone()).collect();
    let read = |definition| listed::read(Value::Array(vec![definition])).ok()?.pop();
    let tools: Vec<ListedTool> = definitions.into_iter().filter_map(read).collect();
    let options = Options {
        server: &settings.name,
        prefix: &settings.prefix,
        trust: upstream::annotations_trust(settings),
        overrides: &settings.overrides,
    };
    let applied = adapter::adopt(&adapter, &tools, &options, &mut Taken::default());
    let stale = |code: &str| matches!(code, "NOT_LISTED" | "ADAPTER_MISMATCH");
    let notes = applied.notes.iter().filter(|note| note.severity > Weight::Info && stale(&note.code));
    let notes: Vec<&str> = notes.map(|note| note.message.as_str()).collect();
    if notes.is_empty() {
        return None;
    }
    let shown = notes.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
    let more = match notes.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!("its adapter file '{}' no longer fits: {shown}{more}", file.display());
    let mend = format!(
        "make it again with 'aqueduct discover {}' and 'aqueduct adapt', or correct it",
        settings.name
    );
    Some(Finding::new(Severity::Problem, "adapter_mismatch", message).mend(mend))
}
