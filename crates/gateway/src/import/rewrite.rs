//! A client's file with Aqueduct in place of the servers that were taken over, and everything else as it was.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::{
    error::Error,
    found::{Found, Section},
    places::Client,
};
use crate::config::clients::DIALECT;

/// What the entry is called.
pub(super) const NAME: &str = "aqueduct";

/// The entry by which a client starts Aqueduct.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Start {
    /// VS Code says what kind of server it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Zed says whose server it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    pub command: String,
    pub args: Vec<String>,
}

impl Start {
    /// The entry as this client wants it.
    pub(super) fn of_client(&self, client: Client) -> Self {
        let kind = (client == Client::VsCode).then_some("stdio");
        let source = (client == Client::Zed).then_some("custom");
        Self { kind, source, ..self.clone() }
    }
}

/// The new text, or `None` if nothing would change.
pub(super) fn rewrite(found: &Found, start: &Start) -> Result<Option<String>, Error> {
    let (mark, text) = match found.text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", found.text.as_str()),
    };
    let lost = || {
        Error::new(
            format!("'{}' cannot be edited", found.place.path.display()),
            "leave it as it is with '--keep-client', and change it by hand",
        )
    };
    let root = CstRootNode::parse(text, &DIALECT).map_err(|_| lost())?;
    for section in found.sections.iter().filter(|section| !section.entries.is_empty()) {
        let object = reach(&root, &section.keys).ok_or_else(lost)?;
        replace(&object, section, start);
    }
    let edited = format!("{mark}{root}");
    Ok((edited != found.text).then_some(edited))
}

fn reach(root: &CstRootNode, keys: &[String]) -> Option<CstObject> {
    let mut object = root.object_value()?;
    for key in keys {
        object = object.object_value(key)?;
    }
    Some(object)
}

fn replace(object: &CstObject, section: &Section, start: &Start) {
    let all = object.properties();
    for property in section.positions.iter().filter_map(|position| all.get(*position)) {
        property.clone().remove();
    }
    match section.own.as_ref().and_then(|own| object.get(own)) {
        // What it says may be wanted so, unless it reads another configuration.
        Some(own) if own.to_string().contains(&json_text(start.args.last())) => {}
        Some(own) => own.set_value(value(start)),
        None => drop(object.append(NAME, value(start))),
    }
}

fn json_text(text: Option<&String>) -> String {
    serde_json::to_string(text.map_or("", String::as_str)).unwrap_or_default()
}

fn value(start: &Start) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let marks = [("type", start.kind), ("source", start.source)];
    let marks = marks.into_iter().filter_map(|(key, mark)| Some((key.to_owned(), text(mark?))));
    let args = CstInputValue::Array(start.args.iter().map(|arg| text(arg)).collect());
    let rest = [("command".to_owned(), text(&start.command)), ("args".to_owned(), args)];
    CstInputValue::Object(marks.chain(rest).collect())
}
