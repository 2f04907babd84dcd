use std::{path::PathBuf, time::Instant};

use super::*;
use crate::{listed, registry::Registry};

fn captures() -> Vec<(String, Vec<ListedTool>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/eval/captures");
    let Ok(folders) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut captures: Vec<_> = folders
        .flatten()
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path().join("raw-tools-list.json")).ok()?;
            let server = entry.file_name().to_string_lossy().into_owned();
            Some((server, listed::parse(&text).unwrap()))
        })
        .collect();
    captures.sort_by(|one, other| one.0.cmp(&other.0));
    captures
}

#[test]
fn all_captures_make_one_registry() {
    let captures = captures();
    if captures.is_empty() {
        eprintln!("skipped: ../shared/eval/captures is not there");
        return;
    }
    let started = Instant::now();
    let mut taken = Taken::default();
    let overrides = classify::Overrides::default();
    let mut builder = Registry::builder("everything");
    let (mut operations, mut types, mut plain) = (0, 0, 0);
    let mut codes = std::collections::BTreeMap::new();
    for (server, tools) in &captures {
        let prefix = format!("{}_", server.replace(['-', '.'], "_"));
        let options =
            Options { server, prefix: &prefix, trust: classify::Trust::Claimed, overrides: &overrides };
        let adopted = adopt(tools, &options, &mut taken);
        operations += adopted.operations.len();
        types += adopted.types.len();
        plain += adopted.operations.iter().filter(|operation| operation.wiring.is_plain()).count();
        for warning in &adopted.warnings {
            *codes.entry((warning.severity, warning.code)).or_insert(0) += 1;
        }
        builder = builder.types(adopted.types);
        builder = builder.operations(adopted.operations.into_iter().map(|operation| operation.definition));
    }
    let adopted = started.elapsed();
    let registry = builder.build().unwrap_or_else(|problems| panic!("{problems}"));
    eprintln!(
        "{} servers, {operations} operations ({plain} plain), {types} types: adopted in {adopted:?}, built in {:?}\n{codes:?}",
        captures.len(),
        started.elapsed() - adopted
    );
    drop(registry);
}
