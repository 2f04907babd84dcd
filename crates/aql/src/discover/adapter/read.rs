//! An adapter file back into what it says, every mistake told.

use serde_json::{Map, Value};

use super::{
    Adapter, FILE_ENDING, Transport,
    fields::{Field, Problem, Reader, find},
    http, is_name, is_version, operations, safety,
};
use crate::discover::{percent, redact, yaml};

/// What an adapter file may say. The last five are taken from older forms and mean nothing here.
const KEYS: [&str; 14] = [
    "name",
    "type",
    "version",
    "description",
    "target",
    "auth",
    "trust",
    "rate_limits",
    "operations",
    "author",
    "tags",
    "triggers",
    "created",
    "modified",
];

/// A file without mistakes, and what is worth knowing about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub adapter: Adapter,
    pub notes: Vec<Problem>,
}

/// Reads and checks an adapter file. The file's name, where it has one, must fit what is in it.
pub fn read(text: &str, file_name: Option<&str>) -> Result<Read, Vec<Problem>> {
    let mut reader = Reader::default();
    let Some((front, lines_before)) = front_matter(text) else {
        let help = "an adapter file begins with a line '---', and another '---' ends the settings".to_owned();
        reader.note_with(1, "", "there is no YAML front matter", Some(help));
        return Err(reader.problems);
    };
    reader.lines_before = lines_before;
    let node = match yaml::read(front) {
        Ok(node) => node,
        Err(fault) => {
            reader.fault(fault);
            return Err(reader.problems);
        }
    };
    let mut notes = Reader { lines_before, ..Reader::default() };
    let adapter = adapter(&mut reader, &mut notes, &node, file_name);
    reader.problems.sort_by_key(|problem| problem.line);
    match adapter {
        Some(adapter) if reader.problems.is_empty() => Ok(Read { adapter, notes: notes.problems }),
        _ => Err(reader.problems),
    }
}

/// What stands between the first two lines `---`, and how many lines come before it.
fn front_matter(text: &str) -> Option<(&str, usize)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..length)?, 1));
        }
        length += line.len();
    }
    None
}

fn adapter(
    reader: &mut Reader,
    notes: &mut Reader,
    node: &yaml::Node,
    file_name: Option<&str>,
) -> Option<Adapter> {
    let root = reader.root(node);
    let entries = reader.table(&root, &KEYS);
    let mut text = |key: &str| match find(&entries, key) {
        Some(field) => reader.text(field),
        None => {
            reader.missing(&root, key);
            None
        }
    };
    let (name, kind, version) = (text("name"), text("type"), text("version"));
    let description = text("description");
    let line = |key: &str| find(&entries, key).map_or(root.line, |field| field.line);
    if let Some(name) = name.as_deref().filter(|name| !is_name(name)) {
        let message =
            format!("'{name}' must be 2 to 64 lowercase letters, digits and hyphens, as in 'github-api'");
        reader.note(line("name"), "name", message);
    }
    if let Some(kind) = kind.as_deref().filter(|kind| *kind != "adapter") {
        reader.note(line("type"), "type", format!("must be 'adapter', and this is '{kind}'"));
    }
    if let Some(version) = version.as_deref().filter(|version| !is_version(version)) {
        reader.note(
            line("version"),
            "version",
            format!("'{version}' must be three numbers, as in \"1.0.0\""),
        );
    }
    if let (Some(name), Some(stem)) = (&name, file_name.and_then(|file| file.strip_suffix(FILE_ENDING)))
        && name != stem
    {
        let help = format!("a file of this adapter is called '{name}{FILE_ENDING}'");
        notes.note_with(
            line("name"),
            "name",
            format!("the file is called '{stem}{FILE_ENDING}'"),
            Some(help),
        );
    }
    if let Some(field) = find(&entries, "rate_limits") {
        notes.note(field.line, "rate_limits", "is read past: the configuration says it of a server");
    }
    let trust = find(&entries, "trust").map(|field| safety::trust(reader, notes, field));
    let target = find(&entries, "target");
    if target.is_none() {
        reader.missing(&root, "target");
    }
    let (transport, base_url) = target.and_then(|field| self::target(reader, notes, field)).unzip();
    let auth = find(&entries, "auth").and_then(|field| auth(reader, field));
    let operations = match find(&entries, "operations") {
        Some(field) => operations::read(reader, notes, field, transport.as_ref()),
        None => {
            reader.missing(&root, "operations");
            Vec::new()
        }
    };
    Some(Adapter {
        name: name?,
        version: version?,
        description: description?,
        transport: transport?,
        base_url: base_url?,
        auth,
        trust: trust.unwrap_or_default(),
        operations,
    })
}

fn target(reader: &mut Reader, notes: &mut Reader, field: &Field<'_>) -> Option<(Transport, String)> {
    let entries = reader.table(field, &["base_url", "transport", "protocol", "serialization"]);
    let mut text = |key: &str| match find(&entries, key) {
        Some(field) => reader.text(field).map(|text| (text, field.clone())),
        None => {
            reader.missing(field, key);
            None
        }
    };
    let (base_url, transport) = (text("base_url"), text("transport"));
    let (protocol, serialization) = (text("protocol"), text("serialization"));
    let ((base_url, at_url), (transport, at_transport)) = (base_url?, transport?);
    let (protocol, serialization) = (protocol?, serialization?);
    let transport = match transport.as_str() {
        "native" => {
            let server =
                base_url.strip_prefix("mcp:").and_then(percent::decoded).filter(|name| !name.is_empty());
            if server.is_none() {
                let help = "write 'mcp:' and the name the server has in aqueduct.toml, as in 'mcp:github'";
                let message = format!("'{base_url}' names no MCP server");
                reader.note_with(at_url.line, &at_url.path, message, Some(help.to_owned()));
            }
            Some(Transport::Mcp { server: server? })
        }
        "http" => {
            http::base_url(reader, &at_url, &base_url);
            notes.note(at_transport.line, &at_transport.path, "'http' is checked here, but not served yet");
            Some(Transport::Http)
        }
        other => {
            let message =
                format!("'{other}' is not supported; there are 'native', for an MCP server, and 'http'");
            reader.note(at_transport.line, &at_transport.path, message);
            None
        }
    };
    let expected = if transport == Some(Transport::Http) { "rest" } else { "custom" };
    for ((given, at), expected) in [(protocol, expected), (serialization, "json")] {
        if transport.is_some() && given != expected {
            let message = format!("must be '{expected}' with this transport, and this is '{given}'");
            reader.note(at.line, &at.path, message);
        }
    }
    Some((transport?, base_url))
}

/// Credentials are named, never written.
fn auth(reader: &mut Reader, field: &Field<'_>) -> Option<Map<String, Value>> {
    const KINDS: [&str; 5] = ["none", "api_key", "bearer", "basic", "oauth2"];
    let entries = reader.entries(field);
    match find(&entries, "type").map(|field| (reader.text(field), field.clone())) {
        Some((Some(kind), at)) if !KINDS.contains(&kind.as_str()) => {
            reader.note(at.line, &at.path, format!("'{kind}' is none of {}", KINDS.join(", ")));
        }
        None => reader.missing(field, "type"),
        _ => {}
    }
    for (key, field) in &entries {
        let secret_key =
            matches!(key.text.as_str(), "token" | "key" | "password" | "secret" | "value" | "credentials")
                || (crate::adopt::is_secret_name(&key.text) && !key.text.ends_with("_env"));
        let value = field.node.to_json();
        let secret_value = value.as_str().is_some_and(|text| redact::is_secret(text) && !is_variable(text));
        if (secret_key && key.text != "token_command") || secret_value {
            let help = "name the variable of the environment it comes from, as in 'token_env: GITHUB_TOKEN'";
            let message = "a credential must not stand in this file";
            reader.note_with(field.line, &field.path, message, Some(help.to_owned()));
        }
    }
    match field.node.to_json() {
        Value::Object(auth) => Some(auth),
        _ => None,
    }
}

fn is_variable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !text.starts_with("AKIA")
        && !text.starts_with("ASIA")
}
