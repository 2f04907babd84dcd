//! The query language over any list of JSON: filter, sort, page, aggregate.
//!
//! There is one evaluator and it is this one. Storage may hand over fewer items than it has, narrowed by
//! [`Filter::conjuncts`] and the place a cursor stands for, but what is in an answer and in which order is decided here,
//! by one written [`order`] of values. A [`Collection`], made when a registry is, says what may be asked; [`Query::read`]
//! checks a call's parameters against it before anything is looked at; [`Query::run`] is a pure function of the query,
//! the items and the time, and [`Query::gather`] is the same for items that come one by one.
//!
//! It never fetches, sorts by anything not asked for, or remembers: a cursor holds all there is between two pages.
//!
//! ```
//! use aql::query::{Collection, CursorKey, Kind, Query};
//! use serde_json::json;
//!
//! let tasks = Collection::builder("tasks").id("id").field("id", Kind::Text).field("done", Kind::Boolean).build()?;
//! let params = json!({"filter": {"done": false}, "first": 1});
//! let query = Query::read(params.as_object().unwrap(), &tasks, &CursorKey::new(&[0; 32]))?;
//! let items = [json!({"id": "b", "done": false}), json!({"id": "a", "done": false}), json!({"id": "c", "done": true})];
//! let answer = query.run(items, jiff::Timestamp::UNIX_EPOCH)?.into_value();
//! assert_eq!(answer["items"], json!([{"id": "a", "done": false}]));
//! assert_eq!(answer["pageInfo"]["hasNextPage"], true);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod aggregate;
pub mod collection;
pub mod compute;
mod cursor;
pub mod filter;
#[cfg(test)]
mod fixture;
mod gather;
pub mod listing;
pub(crate) mod observe;
pub mod order;
pub mod page;
pub mod params;
pub mod path;
pub(crate) mod refuse;
mod run;
pub mod sort;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::{
    aggregate::Expression,
    cursor::{Fault, Fingerprint},
    path::Target,
    sort::Place,
};
pub use self::{
    collection::{Collection, Identity, Kind, Style},
    compute::Computed,
    cursor::CursorKey,
    filter::Filter,
    gather::Gather,
    page::Window,
    run::{Answer, Beyond},
    sort::{Order, Sort},
};
use crate::error::{Code, Error};

/// Parameters that change what is shown of an answer, not what it is about.
const SHOWING: [&str; 4] = ["fields", "preset", "dry_run", "confirmation_token"];

/// A query, read and checked.
#[derive(Debug, Clone)]
pub struct Query {
    collection: Collection,
    filter: Filter,
    sort: Sort,
    window: Window,
    aggregates: Vec<Expression>,
    include_items: bool,
    include_total: bool,
    computed: Vec<Arc<Computed>>,
    key: CursorKey,
    fingerprint: Fingerprint,
    /// What the cursor brought along, on all but the first page of a series.
    series: Series,
}

/// What all pages of a series share and only its first one can know.
#[derive(Debug, Clone, Default)]
struct Series {
    /// The time that it began, where that matters.
    since: Option<Timestamp>,
    /// What storage left for itself.
    note: Option<Value>,
}

impl Query {
    /// Reads the controls among a call's parameters, as the caller gave them: with defaults filled in, `first` would
    /// stand beside every `last`. All other parameters only tell one query from another.
    pub fn read(
        params: &Map<String, Value>,
        collection: &Collection,
        key: &CursorKey,
    ) -> Result<Self, Error> {
        let control = |name: &str| params.get(name).filter(|_| collection.offers(name));
        let filter = match control("filter") {
            Some(given) => Filter::read(given, collection)?,
            None => Filter::everything(),
        };
        let sort = Sort::read(control("sort"), collection)?;
        let aggregates = match control("aggregate") {
            Some(given) => aggregate::read(given, collection)?,
            None => Vec::new(),
        };
        let flag = |name: &str| match control(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(Error::invalid_type(name, "boolean", other)),
        };
        let include_items = flag("include_items")?;
        if include_items && aggregates.is_empty() {
            return Err(refuse::alone("include_items", "without 'aggregate'")
                .hint("Leave 'include_items' out: items are given unless 'aggregate' is asked for."));
        }
        let include_total = flag("include_total")?;
        if include_total && !aggregates.is_empty() && !include_items {
            return Err(refuse::alone("include_total", "beside 'aggregate' without 'include_items'")
                .hint("Count with an aggregation of its own: {\"total\": {\"count\": true}}."));
        }
        let timed = filter.is_timed() || sort.is_timed();
        let fingerprint = fingerprint(params, collection, &sort);
        let series = std::cell::Cell::new(Series::default());
        let window = page::read(params, collection, |name, cursor| {
            let (place, opened) = open(key, fingerprint, &sort, timed, name, cursor)?;
            series.set(opened);
            Ok(place)
        })?;
        Ok(Self {
            include_items,
            include_total,
            computed: params.get("fields").map(|fields| collection.chosen(fields)).unwrap_or_default(),
            collection: collection.clone(),
            filter,
            sort,
            window,
            aggregates,
            key: key.clone(),
            fingerprint,
            series: series.into_inner(),
        })
    }

    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    #[must_use]
    pub fn sort(&self) -> &Sort {
        &self.sort
    }

    /// Which part is wanted, with the place that a cursor stands for.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    #[must_use]
    pub fn aggregates(&self) -> &[Expression] {
        &self.aggregates
    }

    /// The computed fields that are shown.
    #[must_use]
    pub fn computed(&self) -> &[Arc<Computed>] {
        &self.computed
    }

    /// Whether a page of items is part of the answer.
    #[must_use]
    pub fn wants_items(&self) -> bool {
        self.aggregates.is_empty() || self.include_items
    }

    /// Whether the number of all matches is part of the answer.
    #[must_use]
    pub fn wants_total(&self) -> bool {
        self.include_total && self.wants_items()
    }

    /// Whether the answer can be made of one page's worth of items, so that storage need not hand over all of them.
    #[must_use]
    pub fn is_narrowable(&self) -> bool {
        self.aggregates.is_empty()
    }

    /// Whether a computed field is filtered by, sorted by or shown, so that items have to bring what it is made of.
    #[must_use]
    pub fn computes(&self, name: &str) -> bool {
        let is = |target: &Target| matches!(target, Target::Computed(field) if field.name() == name);
        self.filter.any_target(&is)
            || self.sort.keys().iter().any(|key| is(&key.target))
            || self.computed.iter().any(|field| field.name() == name)
    }

    /// What storage noted in [`Beyond`] on the first page of the series; none on the first page itself.
    #[must_use]
    pub fn note(&self) -> Option<&Value> {
        self.series.note.as_ref()
    }

    /// Shows these computed fields as well: those of a preset, which only the operation knows.
    #[must_use]
    pub fn computing(mut self, fields: &Value) -> Self {
        for field in self.collection.chosen(fields) {
            if !self.computed.iter().any(|known| known.name() == field.name()) {
                self.computed.push(field);
            }
        }
        self
    }

    /// The same with pages of another size.
    #[must_use]
    pub fn sized(mut self, items: usize) -> Self {
        match &mut self.window {
            Window::First { size, .. } | Window::Last { size, .. } => *size = items,
            Window::Offset { limit, .. } => *limit = items,
            Window::Page { page_size, .. } => *page_size = items,
        }
        self
    }

    /// The time to compute with, whole seconds: that of the first page, all along a series.
    #[must_use]
    pub fn time(&self, now: Timestamp) -> Timestamp {
        self.series.since.unwrap_or_else(|| Timestamp::from_second(now.as_second()).unwrap_or(now))
    }

    fn is_timed(&self) -> bool {
        self.filter.is_timed() || self.sort.is_timed()
    }

    /// The cursor of an item that stands here.
    fn cursor(&self, place: &Place<'_>, time: Timestamp, note: Option<&Value>) -> String {
        let mut values = vec![place.id.to_value()];
        values.extend(place.keys.iter().map(order::Key::to_value));
        if self.is_timed() {
            values.push(time.as_second().into());
        }
        values.extend(note.cloned());
        cursor::seal(&self.key, self.fingerprint, &values)
    }
}

/// What a series of pages has in common: the collection, the filter, the order, and everything else that was asked
/// but for the page and what is shown of it.
fn fingerprint(params: &Map<String, Value>, collection: &Collection, sort: &Sort) -> Fingerprint {
    let keys = sort.keys().iter().map(|key| json!([key.target.to_string(), key.order.as_str()]));
    let keys: Vec<Value> = keys.collect();
    let decides = |name: &str, value: &Value| {
        let control = collection.offers(name) && (name != "filter" || *value == json!({}));
        !control && !SHOWING.contains(&name) && !name.starts_with('_')
    };
    let rest = params.iter().filter(|(name, value)| decides(name, value));
    let rest: Map<String, Value> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
    Fingerprint::of(&order::canonical(&json!([collection.name(), keys, rest])))
}

fn open(
    key: &CursorKey,
    fingerprint: Fingerprint,
    sort: &Sort,
    timed: bool,
    name: &str,
    cursor: &str,
) -> Result<(Place<'static>, Series), Error> {
    let mut values = cursor::open(key, fingerprint, cursor).map_err(|fault| refuse_cursor(name, fault))?;
    let forged = || refuse_cursor(name, Fault::Forged);
    let expected = 1 + sort.keys().len() + usize::from(timed);
    let note = if values.len() > expected { values.pop() } else { None };
    let since = match timed {
        true => {
            let second = values.pop().and_then(|value| value.as_i64()).ok_or_else(forged)?;
            Some(Timestamp::from_second(second).map_err(|_| forged())?)
        }
        false => None,
    };
    match values.split_first() {
        Some((id, keys)) if keys.len() == sort.keys().len() => {
            Ok((Place::of_values(id, keys).into_owned(), Series { since, note }))
        }
        _ => Err(forged()),
    }
}

fn refuse_cursor(name: &str, fault: Fault) -> Error {
    let reason = match fault {
        Fault::Forged => "is not a cursor of this server, or was changed",
        Fault::Foreign => "belongs to another query: its filter, sort or other parameters differ",
    };
    Error::new(Code::InvalidCursor, format!("Parameter '{name}' {reason}"))
        .with("param_name", name)
        .with("expected", "a startCursor or endCursor of the same query, unchanged")
        .hint(format!("Repeat the call with the same filter and sort, or start again without '{name}'."))
}
