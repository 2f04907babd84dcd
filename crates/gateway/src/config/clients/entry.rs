//! One server as a client keeps it.

use std::path::Path;

use jsonc_parser::{
    ast::{Object, ObjectProp, Value},
    common::Ranged,
};

use super::{notation::ours, placed};
use crate::config::{
    error::Error,
    file::{Hidden, Text},
    secret::Secret,
};

/// A server of a client's file, with values in our notation.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Text,
    pub(crate) command: Option<Text>,
    pub(crate) args: Vec<Hidden>,
    pub(crate) env: Vec<(Text, Hidden)>,
    pub(crate) cwd: Option<Hidden>,
    pub(crate) url: Option<Hidden>,
    pub(crate) headers: Vec<(Text, Hidden)>,
    pub(crate) enabled: bool,
    /// Whether it is reached by the transport that came before streamable HTTP, which we do not speak.
    pub(crate) sse: bool,
    /// What the operator should know, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// Windsurf and Gemini have names of their own for the address.
pub(super) const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Reads the entries under one path of a file.
pub(super) struct Reader<'r> {
    pub(super) path: &'r str,
    pub(super) workspace: Option<&'r Path>,
}

impl Reader<'_> {
    pub(super) fn entry(&self, property: &ObjectProp<'_>) -> Result<Entry, Error> {
        let name = property.name.as_str().to_owned();
        let path = format!("{}.{name}", self.path);
        let Value::Object(written) = &property.value else {
            return Err(wrong(&property.value, &path, "an object"));
        };
        let mut notes = Vec::new();
        let (program, inner) = program(written);
        let command = program.map(|given| self.text(given, &path, &mut notes)).transpose()?;
        let url = URLS.iter().find_map(|key| written.get(key));
        let url = url.map(|given| self.hidden(given, &path, &mut notes)).transpose()?;
        if command.is_none() && url.is_none() {
            let range = property.value.range();
            let error =
                Error::at(range.start..range.end, format!("'{path}' has neither 'command' nor 'url'"));
            return Err(error.help_with("an extension of the client may run it, which only the client can"));
        }
        let entry = Entry {
            name: placed(&property.name, name),
            args: self.list(inner, "args", &path, &mut notes)?,
            env: self.table(inner, "env", &path, &mut notes)?,
            cwd: written.get("cwd").map(|given| self.hidden(given, &path, &mut notes)).transpose()?,
            headers: self.table(written, "headers", &path, &mut notes)?,
            enabled: !is(written, "disabled", true) && !is(written, "enabled", false),
            sse: url.is_some() && is_sse(written),
            command,
            url,
            notes: Vec::new(),
        };
        notes.extend(remarks(written, entry.sse));
        Ok(Entry { notes, ..entry })
    }

    fn text(&self, given: &ObjectProp<'_>, path: &str, notes: &mut Vec<String>) -> Result<Text, Error> {
        let text = string(&given.value)
            .ok_or_else(|| wrong(&given.value, &format!("{path}.{}", given.name.as_str()), "a string"))?;
        Ok(placed(&given.value, ours(&text, self.workspace, notes)))
    }

    fn hidden(&self, given: &ObjectProp<'_>, path: &str, notes: &mut Vec<String>) -> Result<Hidden, Error> {
        let text = self.text(given, path, notes)?;
        Ok(placed(&given.value, Secret::new(text.get().as_str())))
    }

    fn list(
        &self,
        written: &Object<'_>,
        key: &str,
        path: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Hidden>, Error> {
        let path = format!("{path}.{key}");
        let elements = match written.get(key).map(|property| &property.value) {
            None | Some(Value::NullKeyword(_)) => return Ok(Vec::new()),
            Some(Value::Array(array)) => &array.elements,
            Some(other) => return Err(wrong(other, &path, "an array of strings")),
        };
        let element = |(index, value): (usize, &Value<'_>)| {
            let text = string(value).ok_or_else(|| wrong(value, &format!("{path}[{index}]"), "a string"))?;
            Ok(placed(value, Secret::new(ours(&text, self.workspace, notes))))
        };
        elements.iter().enumerate().map(element).collect()
    }

    fn table(
        &self,
        written: &Object<'_>,
        key: &str,
        path: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Text, Hidden)>, Error> {
        let path = format!("{path}.{key}");
        let properties = match written.get(key).map(|property| &property.value) {
            None | Some(Value::NullKeyword(_)) => return Ok(Vec::new()),
            Some(Value::Object(object)) => &object.properties,
            Some(other) => return Err(wrong(other, &path, "an object of strings")),
        };
        let set = properties.iter().filter(|property| !matches!(property.value, Value::NullKeyword(_)));
        let value = |property: &ObjectProp<'_>| {
            let name = property.name.as_str().to_owned();
            let hidden = self.hidden(property, &path, notes)?;
            Ok((placed(&property.name, name), hidden))
        };
        set.map(value).collect()
    }
}

/// The program, and the object that its arguments stand in. Zed once kept both as an object of their own.
fn program<'a, 'b>(written: &'b Object<'a>) -> (Option<&'b ObjectProp<'a>>, &'b Object<'a>) {
    match written.get("command").map(|command| &command.value) {
        Some(Value::Object(inner)) => (inner.get("path"), inner),
        _ => (written.get("command"), written),
    }
}

/// Whether a server is one that only the client can run, as those of its extensions: nothing says how.
pub(super) fn is_clients_own(value: &Value<'_>) -> bool {
    let Value::Object(written) = value else { return false };
    program(written).0.is_none() && URLS.iter().all(|key| written.get(key).is_none())
}

/// Numbers and truth values are written where strings are meant, and clients take them.
fn string(value: &Value<'_>) -> Option<String> {
    match value {
        Value::StringLit(text) => Some(text.value.to_string()),
        Value::NumberLit(number) => Some(number.value.to_owned()),
        Value::BooleanLit(boolean) => Some(boolean.value.to_string()),
        Value::Object(_) | Value::Array(_) | Value::NullKeyword(_) => None,
    }
}

fn is(written: &Object<'_>, key: &str, expected: bool) -> bool {
    written.get_boolean(key).is_some_and(|found| found.value == expected)
}

/// The value may be a secret in the wrong place, so only its type is told.
fn wrong(value: &Value<'_>, path: &str, expected: &str) -> Error {
    let found = match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    };
    let range = value.range();
    Error::at(range.start..range.end, format!("'{path}' must be {expected}, but is {found}"))
}

fn is_sse(written: &Object<'_>) -> bool {
    let kind = written.get_string("type").or_else(|| written.get_string("transport"));
    kind.is_some_and(|kind| kind.value.eq_ignore_ascii_case("sse"))
}

fn remarks(written: &Object<'_>, sse: bool) -> Vec<String> {
    let mut remarks = Vec::new();
    if sse {
        remarks.push(
            "it is of the type 'sse', but only streamable HTTP is spoken; many servers offer both, often under '/mcp'"
                .to_owned(),
        );
    }
    if written.get("envFile").is_some() {
        remarks
            .push("its 'envFile' is not read; set those variables in 'env' or in the environment".to_owned());
    }
    remarks
}
