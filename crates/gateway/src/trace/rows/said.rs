//! What requests and results say of themselves.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Value, value::RawValue};

use super::super::{
    Kind, Span, Status,
    levels::Level,
    open::{About, Began, End, Failed},
    redact,
};

/// Takes what looks like a secret out of names that others made up. Those of what there is stay, whatever they look like.
pub(super) fn clear_names(began: &mut Began) {
    let surface = began.surface.as_ref().filter(|_| began.kind == Kind::Server);
    let about = match &mut began.about {
        About::Tool(name) if surface.is_some_and(|known| known.registry().address(name).is_none()) => {
            Some(name)
        }
        About::Prompt(name) if began.kind == Kind::Server && began.server.is_none() => Some(name),
        About::Workflow { name, .. } => Some(name),
        About::Tool(_) | About::Prompt(_) | About::Nothing | About::Resource(_) => None,
    };
    for text in [Some(&mut began.method), about].into_iter().flatten() {
        if let Cow::Owned(cleared) = redact::name(text) {
            *text = cleared;
        }
    }
}

/// An id that somebody else gave, as JSON.
pub(super) fn id(given: &str) -> Option<Value> {
    match serde_json::from_str(given).ok()? {
        Value::String(text) => Some(redact::name(&text).into()),
        other => Some(other),
    }
}

/// The arguments among a request's parameters.
pub(super) fn arguments_of(params: &str) -> String {
    part(params, "arguments").unwrap_or_else(|| "{}".to_owned())
}

/// One member of an object, as JSON.
pub(super) fn part(object: &str, name: &str) -> Option<String> {
    let object: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object).ok()?;
    object.get(name).map(|part| part.get().to_owned())
}

/// Looks into a result for what it says of itself.
pub(super) fn understand(span: &Span, level: Level, end: &mut End) {
    #[derive(serde::Deserialize)]
    struct Told<'a> {
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
        #[serde(borrow, default, rename = "structuredContent")]
        structured: Option<&'a RawValue>,
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    let Some(output) = &end.output else { return };
    let Ok(told) = serde_json::from_str::<Told<'_>>(output) else { return };
    if span.kind == Kind::Client {
        end.structured = told.structured.map(|structured| structured.get().to_owned());
        if told.is_error {
            let said = (level == Level::Preview).then(|| first_text(output)).flatten();
            let message = said.unwrap_or_default();
            end.status = Some(Status::Error);
            end.error = Some(Failed { code: "tool_error".into(), message, kind: "tool_error".into() });
        }
    } else if let (Some(failed), Some(error)) = (&mut end.error, told.error) {
        let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
        failed.message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    }
}

/// What a tool says first.
fn first_text(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let content = result.get("content")?.as_array()?;
    content.iter().find_map(|part| part.get("text")?.as_str()).map(str::to_owned)
}
