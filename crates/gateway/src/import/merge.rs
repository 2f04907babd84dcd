//! From the servers of several files to upstreams, each once and under a name of its own.

use std::collections::BTreeSet;

use super::found::Found;
use crate::config::{File, clients::Entry, same, upstream_name};

/// Longer names would be refused, and a suffix must still fit.
const NAME_CHARS_MAX: usize = 60;

/// A server that becomes an upstream.
#[derive(Debug)]
pub(super) struct Server {
    /// The upstream's name.
    pub(super) name: String,
    pub(super) entry: Entry,
    /// The files that it is in.
    pub(super) from: Vec<String>,
    /// Whether the configuration has it already.
    pub(super) known: bool,
}

/// Gives every server a name. Equal ones become one; different ones of the same name get a number.
pub(super) fn merge(found: &[Found], existing: Option<&File>) -> (Vec<Server>, Vec<String>) {
    let mut servers: Vec<Server> = Vec::new();
    let mut notes = Vec::new();
    let mut taken: BTreeSet<String> = existing
        .map(File::upstream_names)
        .into_iter()
        .flatten()
        .filter_map(|name| upstream_name(&name))
        .collect();
    for file in found {
        let from = file.place.path.display().to_string();
        for entry in file.sections.iter().flat_map(|section| &section.entries) {
            let given = entry.name.get();
            let wanted = wanted(given);
            if let Some(same) =
                servers.iter_mut().find(|server| is_same(&server.entry, entry) && server.wants(&wanted))
            {
                same.entry.enabled |= entry.enabled;
                if !same.from.contains(&from) {
                    same.from.push(from.clone());
                }
                continue;
            }
            if let Some(known) = existing.and_then(|existing| same(existing, entry)) {
                let name = upstream_name(&known).unwrap_or(known);
                servers.push(Server { name, entry: entry.clone(), from: vec![from.clone()], known: true });
                continue;
            }
            let name = free(&wanted, &taken);
            if name != wanted {
                notes.push(format!(
                    "'{given}' of {from} differs from another server of that name and is called '{name}'"
                ));
            } else if upstream_name(given).is_none() {
                notes.push(format!("'{given}' of {from} has no letters of ours and is called '{name}'"));
            }
            notes.extend(entry.notes.iter().map(|note| format!("'{name}': {note}")));
            taken.insert(name.clone());
            servers.push(Server { name, entry: entry.clone(), from: vec![from.clone()], known: false });
        }
    }
    (servers, notes)
}

impl Server {
    /// Whether this is what the name would have become, suffix aside.
    fn wants(&self, wanted: &str) -> bool {
        self::wanted(self.entry.name.get()) == wanted
    }
}

fn wanted(given: &str) -> String {
    let name = upstream_name(given).unwrap_or_else(|| "server".to_owned());
    name.chars().take(NAME_CHARS_MAX).collect::<String>().trim_end_matches('_').to_owned()
}

fn free(wanted: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

fn is_same(one: &Entry, other: &Entry) -> bool {
    same(&File::of_entry(one), other).is_some()
}
