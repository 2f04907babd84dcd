//! The files in which MCP clients keep their servers: JSON, often with comments, under `mcpServers` or a like name.
//!
//! Every client has its own dialect. Here they all become an [`Entry`] with values in our own notation.

mod editor;
mod entry;
mod notation;

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};

pub(crate) use self::{editor::editor_variable, entry::Entry};
use super::{
    error::{Error, Place},
    file::{File, Hidden, Placed, Text, Upstream},
    notation::Notation,
};

/// Where a file's servers stand, by the keys that lead there. The first that a file has counts.
pub(crate) const SERVERS: [&[&str]; 4] =
    [&["mcpServers"], &["servers"], &["context_servers"], &["mcp", "servers"]];

/// Clients allow comments and commas before a closing bracket, and nothing else that JSON does not.
pub(crate) const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Whether a file is meant as JSON: by its name, or by its text, since no TOML begins like that.
pub(super) fn is_json(name: &str, text: &str) -> bool {
    let named = Path::new(name).extension().is_some_and(|end| end == "json" || end == "jsonc");
    named || text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/'])
}

/// The text with spaces for the byte order mark that Windows editors write, so that every place stays where it was.
pub(crate) fn without_mark(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Cow::Owned(format!("   {rest}")),
        None => Cow::Borrowed(text),
    }
}

/// Parses a client's file.
pub(crate) fn parse(text: &str) -> Result<Object<'_>, Error> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &DIALECT).map_err(|error| {
        let range = error.range();
        let span = range.start.min(text.len())..range.end.min(text.len());
        let kind = error.kind().to_string().to_lowercase();
        Error::at(span, format!("the file is not valid JSON: {kind}"))
    })?;
    match parsed.value {
        Some(Value::Object(root)) => Ok(root),
        _ => Err(Error::new(Place::File(None), "the file is not a JSON object")),
    }
}

/// The object that the keys lead to, or what stands in its place.
pub(crate) fn find<'a, 'b>(root: &'b Object<'a>, keys: &[&str]) -> Option<&'b Value<'a>> {
    let (last, before) = keys.split_last()?;
    let mut object = root;
    for key in before {
        object = object.get_object(key)?;
    }
    object.get(last).map(|property| &property.value)
}

/// The servers of an object, each an entry or the reason why it is none.
pub(crate) fn entries(
    servers: &Object<'_>,
    path: &str,
    workspace: Option<&Path>,
) -> Vec<Result<Entry, Error>> {
    let read = entry::Reader { path, workspace };
    servers.properties.iter().map(|property| read.entry(property)).collect()
}

/// The directory that a client works in whose file this is: the one that holds `.vscode/` and the like.
pub(crate) fn workspace(file: &Path) -> Option<&Path> {
    let directory = file.parent()?;
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name.starts_with('.') { directory.parent() } else { Some(directory) }
}

/// A client's file as a configuration: its servers, and the defaults for everything else.
pub(super) fn configuration(text: &str, workspace: Option<&Path>) -> Result<File, Error> {
    let text = without_mark(text);
    let root = parse(&text)?;
    let found = SERVERS.iter().find_map(|keys| Some((keys.join("."), find(&root, keys)?)));
    let Some((path, value)) = found else {
        let error =
            Error::new(Place::File(None), "the file has no 'mcpServers', 'servers' or 'context_servers'");
        return Err(error.help_with("name a client's file with servers in it"));
    };
    let Value::Object(servers) = value else {
        let range = value.range();
        let message = format!("'{path}' must be an object of servers by their names");
        return Err(Error::at(range.start..range.end, message));
    };
    let notation = Notation::Json { servers: path.clone() };
    let mut file = File { notation, ..File::default() };
    for (property, entry) in servers.properties.iter().zip(entries(servers, &path, workspace)) {
        if entry::is_clients_own(&property.value) {
            let name = property.name.as_str().escape_debug();
            file.notes.push(format!(
                "'{path}.{name}' has neither 'command' nor 'url', so it stays with the client"
            ));
            continue;
        }
        let entry = entry?;
        file.notes.extend(entry.notes.iter().map(|note| format!("server '{}': {note}", entry.name.get())));
        let name = entry.name.clone();
        if file.upstream.insert(name.clone(), entry.into()).is_some() {
            return Err(Error::at(name.span(), format!("'{path}' has '{}' twice", name.get())));
        }
    }
    Ok(file)
}

impl From<Entry> for Upstream {
    fn from(entry: Entry) -> Self {
        let Entry { command, args, env, cwd, url, headers, enabled, .. } = entry;
        Self {
            command,
            args: (!args.is_empty()).then_some(args),
            env: (!env.is_empty()).then(|| env.into_iter().collect()),
            cwd,
            url,
            headers: (!headers.is_empty()).then(|| headers.into_iter().collect()),
            enabled: Some(enabled),
            ..Self::default()
        }
    }
}

/// The name in `file` of the upstream that is reached the same way as the entry, if there is one.
pub(crate) fn same(file: &File, entry: &Entry) -> Option<String> {
    let wanted = Upstream::from(entry.clone());
    let link = |upstream: &Upstream| {
        let table = |table: &Option<BTreeMap<Text, Hidden>>| {
            let pairs = table.iter().flatten();
            pairs.map(|(name, value)| (name.get().clone(), value.get().clone())).collect::<Vec<_>>()
        };
        (
            upstream.command.as_ref().map(|command| command.get().clone()),
            upstream.args.iter().flatten().map(|arg| arg.get().clone()).collect::<Vec<_>>(),
            table(&upstream.env),
            upstream.cwd.as_ref().map(|cwd| cwd.get().clone()),
            upstream.url.as_ref().map(|url| url.get().clone()),
            table(&upstream.headers),
        )
    };
    let wanted = link(&wanted);
    file.upstream.iter().find(|(_, found)| link(found) == wanted).map(|(name, _)| name.get().clone())
}

fn placed<T>(at: &impl Ranged, value: T) -> Placed<T> {
    let range = at.range();
    Placed::new(range.start..range.end, value)
}
