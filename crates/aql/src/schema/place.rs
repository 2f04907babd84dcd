//! Where in a document a schema stands, and what several of them say together.

use std::rc::Rc;

use serde_json::{Map, Value};

/// A schema as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Written<'a> {
    Keywords(&'a Map<String, Value>),
    /// `true` takes everything, `false` nothing.
    Verdict(bool),
    Malformed,
}

/// A schema and the dot-path that leads to it.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) written: Written<'a>,
    pub(crate) path: Rc<str>,
    /// Tells one place of a document from another.
    pub(crate) address: usize,
}

impl<'a> Place<'a> {
    pub(crate) fn root(schema: &'a Map<String, Value>, path: &str) -> Self {
        let address = std::ptr::from_ref(schema) as usize;
        Self { written: Written::Keywords(schema), path: path.into(), address }
    }

    pub(crate) fn new(schema: &'a Value, path: &str) -> Self {
        let address = std::ptr::from_ref(schema) as usize;
        match schema {
            Value::Object(schema) => Self::root(schema, path),
            Value::Bool(verdict) => Self { written: Written::Verdict(*verdict), path: path.into(), address },
            _ => Self { written: Written::Malformed, path: path.into(), address },
        }
    }

    pub(crate) fn inside(&self, schema: &'a Value, steps: &str) -> Self {
        Self::new(schema, &format!("{}.{steps}", self.path))
    }
}

/// What is said of one value, perhaps in several places.
#[derive(Debug, Clone)]
pub(crate) enum Said<'a> {
    Nothing,
    Here(Place<'a>),
    /// It has to fit all of them.
    All(Vec<Said<'a>>),
    /// It has to fit one of them.
    Any(Vec<Said<'a>>),
}

impl<'a> Said<'a> {
    pub(crate) fn and(self, other: Self) -> Self {
        let (mut all, added) = match (self, other) {
            (Self::Nothing, said) | (said, Self::Nothing) => return said,
            (Self::All(all), Self::All(more)) => (all, more),
            (Self::All(all), one) => (all, vec![one]),
            (one, Self::All(more)) => (vec![one], more),
            (one, another) => (vec![one], vec![another]),
        };
        extend(&mut all, added);
        single(all, Self::All)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let (mut any, added) = match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => return Self::Nothing,
            (Self::Any(any), Self::Any(more)) => (any, more),
            (Self::Any(any), one) => (any, vec![one]),
            (one, Self::Any(more)) => (vec![one], more),
            (one, another) => (vec![one], vec![another]),
        };
        extend(&mut any, added);
        single(any, Self::Any)
    }

    /// The first place that speaks of it.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Here(place) => Some(&place.path),
            Self::All(said) | Self::Any(said) => said.iter().find_map(Said::path),
        }
    }

    /// Writes down which places speak of it, and how they join.
    pub(crate) fn sign(&self, text: &mut String) {
        let (joint, said) = match self {
            Self::Nothing => return text.push('-'),
            Self::Here(place) => return text.push_str(&place.address.to_string()),
            Self::All(said) => ('&', said),
            Self::Any(said) => ('|', said),
        };
        text.push('(');
        for said in said {
            text.push(joint);
            said.sign(text);
        }
        text.push(')');
    }

    fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Here(one), Self::Here(two)) if one.address == two.address)
    }
}

/// A place said twice says no more, and definitions that contain themselves would say it for ever.
fn extend<'a>(all: &mut Vec<Said<'a>>, added: Vec<Said<'a>>) {
    for said in added {
        if !all.iter().any(|known| known.is(&said)) {
            all.push(said);
        }
    }
}

fn single<'a>(mut all: Vec<Said<'a>>, several: fn(Vec<Said<'a>>) -> Said<'a>) -> Said<'a> {
    match (all.len(), all.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            all.push(last);
            several(all)
        }
        (_, None) => Said::Nothing,
    }
}
