//! What a request asks for, in its path and behind its `?`.

use std::{collections::BTreeMap, str::FromStr};

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::super::operator::listener::reply::Problem;
use crate::{
    store::traces::{Cursor, Page},
    trace::{Engine, Nanos, Status},
};

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// The longest value of a name.
const VALUE_BYTES_MAX: usize = 1024;

/// The pairs of a query. A name that is not known is refused: it would be a filter that filters nothing.
pub(crate) struct Query(BTreeMap<String, String>);

/// What stands in the path for the names of a route.
pub(crate) struct Place<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Place<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        let Path(value) = read.map_err(|_| Problem::wrong("the path is no text in UTF-8; check its '%'"))?;
        Ok(Self(value))
    }
}

/// Nothing is asked for behind the `?`.
pub(crate) struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Query::read(parts.uri.query(), &[]).map(|_| Self)
    }
}

impl Query {
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut pairs = BTreeMap::new();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if !known.contains(&name) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(Problem::wrong(format!("the query has an unknown name; there are: {known}")));
            }
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| Problem::wrong(format!("'{name}' is no text in UTF-8")))?;
            if value.len() > VALUE_BYTES_MAX {
                return Err(Problem::wrong(format!("'{name}' is longer than {VALUE_BYTES_MAX} bytes")));
            }
            if pairs.insert(name.to_owned(), value.into_owned()).is_some() {
                return Err(Problem::wrong(format!("'{name}' is given twice")));
            }
        }
        Ok(Self(pairs))
    }

    /// A value; an empty one is none.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).filter(|value| !value.is_empty()).cloned()
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Problem> {
        let wrong = |_| Problem::wrong(format!("'{name}' must be a whole number"));
        self.text(name).map(|text| text.parse().map_err(wrong)).transpose()
    }

    /// Microseconds, as nanoseconds.
    pub(crate) fn micros(&self, name: &str) -> Result<Option<Nanos>, Problem> {
        Ok(self.number(name)?.map(|micros| micros.saturating_mul(1000)))
    }

    pub(crate) fn status(&self) -> Result<Option<Status>, Problem> {
        self.word("status", Status::ALL.iter().map(|status| status.as_str()))
    }

    pub(crate) fn engine(&self) -> Result<Option<Engine>, Problem> {
        self.word("engine", Engine::ALL.iter().map(|engine| engine.as_str()))
    }

    fn word<T: FromStr>(
        &self,
        name: &str,
        known: impl Iterator<Item = &'static str>,
    ) -> Result<Option<T>, Problem> {
        let Some(word) = self.text(name) else { return Ok(None) };
        word.parse().map(Some).map_err(|_| {
            let known: Vec<_> = known.collect();
            Problem::wrong(format!("'{name}' must be one of {}", known.join(", ")))
        })
    }

    pub(crate) fn page(&self) -> Result<Page, Problem> {
        let limit = match self.number("limit")? {
            None => LIMIT_DEFAULT,
            Some(limit) if limit < 1 => return Err(Problem::wrong("'limit' must be at least 1")),
            Some(limit) => u32::try_from(limit).unwrap_or(LIMIT_MAX).min(LIMIT_MAX),
        };
        let after: Option<Cursor> = self
            .text("cursor")
            .map(|text| text.parse())
            .transpose()
            .map_err(|()| Problem::wrong("'cursor' is none that an answer gave; begin without one"))?;
        Ok(Page { limit, after })
    }
}
