//! Templates: JSON in which `{"$from": "/input/topic"}` stands for a value that is known only when the step runs.
//!
//! `{"$from": pointer, "default": …}` takes the default where the pointer leads nowhere; a default is a template itself.
//! `{"$literal": …}` stands for what it holds, untouched, so that an object with the key `$from` can be written.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    measure,
    pointer::{Lost, Pointer},
    problem::{Place, Problem, quoted},
};
use crate::{
    error::{Code, Error},
    limits::Limit,
    suggest,
};

pub(super) const FROM: &str = "$from";
pub(super) const LITERAL: &str = "$literal";
const DEFAULT: &str = "default";

/// How deep a template may be nested, the outermost counting as one.
pub const TEMPLATE_LEVELS_MAX: usize = 32;

/// A template, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Template {
    /// Holds no reference.
    Constant(Value),
    From(Box<Reference>),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

/// A pointer to a value that is not there yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reference {
    pub(super) pointer: Pointer,
    pub(super) default: Option<Template>,
    /// Where it stands in the workflow.
    pub(super) place: String,
}

impl Template {
    pub(super) fn read(value: &Value, place: &Place<'_>, problems: &mut Vec<Problem>) -> Self {
        read(value, place, 1, problems)
    }

    /// Its value, if that is known before anything runs.
    pub(super) fn constant(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Every reference, those in defaults included.
    pub(super) fn references<'a>(&'a self, visit: &mut dyn FnMut(&'a Reference)) {
        match self {
            Self::Constant(_) => {}
            Self::From(reference) => {
                visit(reference);
                if let Some(default) = &reference.default {
                    default.references(visit);
                }
            }
            Self::List(elements) => elements.iter().for_each(|inner| inner.references(visit)),
            Self::Object(members) => members.iter().for_each(|(_, inner)| inner.references(visit)),
        }
    }

    /// The value it stands for now. What is only pointed to is not copied.
    pub(super) fn resolve<'a>(
        &'a self,
        scope: &Scope<'a>,
        room: &mut Room<'_>,
    ) -> Result<Cow<'a, Value>, Error> {
        match self {
            Self::Constant(value) => room.take(value).map(|()| Cow::Borrowed(value)),
            Self::From(reference) => match scope.find(&reference.pointer) {
                Ok(value) => room.take(&value).map(|()| value),
                Err(lost) => match &reference.default {
                    Some(default) => default.resolve(scope, room),
                    None => Err(nowhere(reference, lost, scope)),
                },
            },
            Self::List(elements) => {
                let elements = elements.iter().map(|inner| Ok(inner.resolve(scope, room)?.into_owned()));
                Ok(Cow::Owned(Value::Array(elements.collect::<Result<_, Error>>()?)))
            }
            Self::Object(members) => Ok(Cow::Owned(Value::Object(resolve_members(members, scope, room)?))),
        }
    }
}

pub(super) fn resolve_members<'a>(
    members: &'a [(String, Template)],
    scope: &Scope<'a>,
    room: &mut Room<'_>,
) -> Result<Map<String, Value>, Error> {
    let members =
        members.iter().map(|(key, inner)| Ok((key.clone(), inner.resolve(scope, room)?.into_owned())));
    members.collect()
}

fn read(value: &Value, place: &Place<'_>, level: usize, problems: &mut Vec<Problem>) -> Template {
    let nested = value.is_array() || value.is_object();
    if nested && level > TEMPLATE_LEVELS_MAX {
        let message = format!("a template is nested no deeper than {TEMPLATE_LEVELS_MAX} levels");
        problems.push(Problem::new(place, message));
        return Template::Constant(Value::Null);
    }
    match value {
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            let read: Vec<Template> = elements
                .map(|(index, inner)| read(inner, &place.index(index), level + 1, problems))
                .collect();
            if read.iter().all(|inner| inner.constant().is_some()) {
                Template::Constant(value_of_list(read))
            } else {
                Template::List(read)
            }
        }
        Value::Object(members) if members.contains_key(FROM) => {
            read_reference(members, place, level, problems)
        }
        Value::Object(members) if members.contains_key(LITERAL) => {
            read_literal(members, place, level, problems)
        }
        Value::Object(members) => read_object(members, place, level, problems),
        scalar => Template::Constant(scalar.clone()),
    }
}

pub(super) fn read_members(
    members: &Map<String, Value>,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Template)> {
    members_at(members, place, 1, problems)
}

fn members_at(
    members: &Map<String, Value>,
    place: &Place<'_>,
    level: usize,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Template)> {
    let members = members.iter().map(|(key, inner)| {
        let place = place.key(key);
        // '$form' would silently be sent as it stands.
        if key.starts_with('$')
            && let Some(meant) = suggest::nearest(key, [FROM, LITERAL])
        {
            let message = format!("the key {} is close to '{meant}' and would be sent as it is", quoted(key));
            problems.push(Problem::new(&place, message).nearest(key, [FROM, LITERAL]));
        }
        (key.clone(), read(inner, &place, level + 1, problems))
    });
    members.collect()
}

fn read_object(
    members: &Map<String, Value>,
    place: &Place<'_>,
    level: usize,
    problems: &mut Vec<Problem>,
) -> Template {
    let read = members_at(members, place, level, problems);
    if read.iter().all(|(_, inner)| inner.constant().is_some()) {
        let members = read.into_iter().map(|(key, inner)| (key, value_of(inner)));
        Template::Constant(Value::Object(members.collect()))
    } else {
        Template::Object(read)
    }
}

/// The value of a template known to be constant.
fn value_of(template: Template) -> Value {
    match template {
        Template::Constant(value) => value,
        _ => Value::Null,
    }
}

fn value_of_list(templates: Vec<Template>) -> Value {
    templates.into_iter().map(value_of).collect()
}

fn read_reference(
    members: &Map<String, Value>,
    place: &Place<'_>,
    level: usize,
    problems: &mut Vec<Problem>,
) -> Template {
    for key in members.keys().filter(|key| *key != FROM && *key != DEFAULT) {
        let message = format!("beside '{FROM}' only '{DEFAULT}' may stand, not {}", quoted(key));
        problems.push(Problem::new(&place.key(key), message).nearest(key, [DEFAULT]));
    }
    let default = members.get(DEFAULT).map(|value| read(value, &place.key(DEFAULT), level + 1, problems));
    let mut refuse = |message: String| {
        problems.push(Problem::new(&place.key(FROM), message));
        Template::Constant(Value::Null)
    };
    match members.get(FROM) {
        Some(Value::String(text)) => match text.parse() {
            Ok(pointer) => Template::From(Box::new(Reference { pointer, default, place: place.to_string() })),
            Err(malformed) => refuse(format!("{} is no pointer: {malformed}", quoted(text))),
        },
        _ => refuse(format!("'{FROM}' holds a JSON Pointer as a string, such as \"/input/topic\"")),
    }
}

fn read_literal(
    members: &Map<String, Value>,
    place: &Place<'_>,
    level: usize,
    problems: &mut Vec<Problem>,
) -> Template {
    for key in members.keys().filter(|key| *key != LITERAL) {
        let message = format!("nothing may stand beside '{LITERAL}', not even {}", quoted(key));
        problems.push(Problem::new(&place.key(key), message));
    }
    let value = members.get(LITERAL).cloned().unwrap_or_default();
    if measure::depth(&value) + level > TEMPLATE_LEVELS_MAX {
        let message = format!("a template is nested no deeper than {TEMPLATE_LEVELS_MAX} levels");
        problems.push(Problem::new(&place.key(LITERAL), message));
    }
    Template::Constant(value)
}

/// What pointers can reach while a step is prepared.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) input: &'a Value,
    /// Results of finished steps by name.
    pub(super) results: &'a Map<String, Value>,
    /// The item that a `for_each` step is prepared for, and its place in the list.
    pub(super) item: Option<(usize, &'a Value)>,
}

impl<'a> Scope<'a> {
    fn find(&self, pointer: &Pointer) -> Result<Cow<'a, Value>, Lost<'a>> {
        let unknown = Lost { followed: 0, last: None };
        let mut tokens = pointer.tokens().iter().map(String::as_str);
        match (tokens.next(), self.item) {
            (Some("input"), _) => pointer.follow(self.input, 1).map(Cow::Borrowed),
            (Some("steps"), _) => {
                let result = tokens.next().and_then(|name| self.results.get(name));
                let result = result.ok_or(Lost { followed: 1, last: None })?;
                pointer.follow(result, 2).map(Cow::Borrowed)
            }
            (Some("item"), Some((_, item))) => pointer.follow(item, 1).map(Cow::Borrowed),
            (Some("index"), Some((index, _))) if tokens.next().is_none() => {
                Ok(Cow::Owned(Value::from(index)))
            }
            _ => Err(unknown),
        }
    }
}

/// What is left of a limit while a value is put together, so that it is refused before it is built.
pub(super) struct Room<'l> {
    limit: &'l Limit,
    allowed: usize,
    used: usize,
}

impl<'l> Room<'l> {
    pub(super) fn new(limit: &'l Limit, allowed: usize) -> Self {
        Self { limit, allowed, used: 0 }
    }

    pub(super) fn take(&mut self, value: &Value) -> Result<(), Error> {
        self.used = self.used.saturating_add(measure::bytes(value));
        if self.used <= self.allowed {
            return Ok(());
        }
        Err(Error::too_large(self.limit, self.allowed, self.used))
    }
}

/// Says how far a pointer got and why it went no further.
fn nowhere(reference: &Reference, lost: Lost<'_>, scope: &Scope<'_>) -> Error {
    let pointer = &reference.pointer;
    let reached = pointer.prefix(lost.followed);
    let missing = pointer.tokens().get(lost.followed).map(String::as_str).unwrap_or_default();
    let (reason, known): (String, Vec<&str>) = match (lost.last, lost.followed) {
        (Some(Value::Object(object)), followed) => {
            let failed = pointer.tokens().first().is_some_and(|first| first == "steps")
                && followed == 2
                && object.get("success") == Some(&Value::Bool(false));
            let why = if failed { ", because the step failed" } else { "" };
            let names = object.keys().map(String::as_str).collect();
            (format!("{} has no {}{why}", quoted(reached), quoted(missing)), names)
        }
        (Some(Value::Array(array)), _) => {
            let message =
                format!("{} has {} elements and none is {}", quoted(reached), array.len(), quoted(missing));
            (message, Vec::new())
        }
        (Some(scalar), _) => {
            (format!("{} is a {}", quoted(reached), crate::error::type_name(scalar)), Vec::new())
        }
        (None, 1) => {
            let names = scope.results.keys().map(String::as_str).collect();
            (format!("the step {} has no result", quoted(missing)), names)
        }
        (None, _) => (format!("{} is not known here", quoted(missing)), Vec::new()),
    };
    let message = format!("{} leads nowhere: {reason}", quoted(pointer.as_str()));
    let error = Error::new(Code::InvalidFormat, message)
        .with("format", "workflow")
        .with("pointer", pointer.as_str())
        .with("reached", reached)
        .with("place", reference.place.as_str());
    let mend = format!("Correct the pointer, or give a 'default' beside '{FROM}'.");
    match suggest::nearest(missing, known) {
        Some(near) => error.hint(format!("Did you mean '{near}'? {mend}")),
        None => error.hint(mend),
    }
}
