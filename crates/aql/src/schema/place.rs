//! Where in a document a schema stands, and what several of them say together.

use std::rc::Rc;

use serde_json::Value;

/// A schema and the dot-path that leads to it.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) path: Rc<str>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(schema: &'a Value, path: &str) -> Self {
        Self { schema, path: path.into() }
    }

    pub(crate) fn inside(&self, schema: &'a Value, steps: &str) -> Self {
        Self { schema, path: format!("{}.{steps}", self.path).into() }
    }

    /// Tells one place of a document from another.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self.schema) as usize
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

    fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Here(one), Self::Here(two)) if one.address() == two.address())
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
