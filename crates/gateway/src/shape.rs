//! What a call asked to be done with its result: which fields, which items, in which order, how many.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use aql::{
    define::Queried,
    error::{Code, Error},
    fields::{Chosen, Selection},
    operation::Operation,
    query::{Collection, CursorKey, Query, Style, Window, listing::Listing},
    response::Data,
    shared,
    warning::Warning,
};
use jiff::Timestamp;
use serde_json::{Map, Value, value::to_raw_value};

use crate::{gate::Permitted, session::Session, snapshots::Snapshot};

/// What is answered, and a warning of chosen fields that were not in it.
pub(crate) type Shaped = (Data, Option<Warning>);

/// The keys of an answered list, and the one for what was called like them.
const ANSWERED: [&str; 4] = ["items", "pageInfo", "aggregations", BESIDE];
const BESIDE: &str = "beside";

/// What was asked, taken from the parameters before the handler sees them.
pub(crate) struct Shaping {
    pub(crate) warnings: Vec<Warning>,
    chosen: Option<Chosen>,
    query: Asked,
}

enum Asked {
    Nothing,
    /// Given to the handler, which answers it.
    Handler(Box<Query>),
    /// Run over the list that the handler returns.
    Returned(Box<Returned>),
    /// Nothing of a list that the handler returns, which is cut to a page all the same if it is too long.
    Whole(CallKey),
}

/// What a list depends on: the operation and its parameters without the controls. Two calls of one session are taken
/// for the same by it; a cursor names the list itself.
#[derive(Debug, Clone, Copy)]
struct CallKey(u64);

impl CallKey {
    /// Of a call whose controls were taken out.
    fn of(permitted: &Permitted) -> Self {
        let chooses = permitted.operation().selection().is_some();
        let mut hasher = Fnv::default();
        permitted.operation().name().as_str().hash(&mut hasher);
        for (name, value) in permitted.params().iter().filter(|(name, _)| !chooses || *name != shared::FIELDS)
        {
            (name, value).hash(&mut hasher);
        }
        Self(hasher.finish())
    }

    fn name(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// FNV-1a: every call is hashed and few keys are ever looked for, all of them in one session.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x0100_0000_01b3);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

struct Returned {
    collection: Collection,
    key: CursorKey,
    /// The controls, as the caller gave them.
    params: Map<String, Value>,
    /// What the list depends on: the operation and its parameters without the controls.
    call: String,
    /// Whether any control was given at all.
    controlled: bool,
}

impl Shaping {
    pub(crate) fn read(permitted: &mut Permitted, key: &CursorKey) -> Result<Self, Error> {
        let warnings = permitted.take_warnings();
        let mut shaping = Self { warnings, chosen: None, query: Asked::Nothing };
        if permitted.operation().selection().is_none() && permitted.operation().queried().is_none() {
            return Ok(shaping);
        }
        shaping.query = shaping.asked(permitted, key)?;
        // Without a selection, a parameter of that name is the operation's own.
        if permitted.operation().selection().is_none() {
            return Ok(shaping);
        }
        let Some(fields) = permitted.take_param(shared::FIELDS) else { return Ok(shaping) };
        let Some(selection) = permitted.operation().selection() else { return Ok(shaping) };
        let (chosen, warning) = choose(selection, &fields)?;
        if let Asked::Handler(query) = shaping.query {
            shaping.query = Asked::Handler(Box::new(query.computing(&chosen.to_value())));
        }
        shaping.chosen = Some(chosen);
        shaping.warnings.extend(warning);
        Ok(shaping)
    }

    fn asked(&self, permitted: &mut Permitted, key: &CursorKey) -> Result<Asked, Error> {
        let operation = permitted.operation();
        let Some(queried) = operation.queried() else { return Ok(Asked::Nothing) };
        let is_controlled = permitted.params().keys().any(|name| operation.is_control(name));
        if matches!(queried, Queried::Returned(_)) && !is_controlled {
            return Ok(Asked::Whole(CallKey::of(permitted)));
        }
        let collection = queried.collection().clone();
        let query = Query::read(permitted.params(), &collection, key)
            .map_err(|error| error.with("signature", operation.signature()));
        if !matches!(queried, Queried::Returned(_)) {
            let query = query?;
            take_controls(permitted);
            return Ok(Asked::Handler(Box::new(query)));
        }
        // A cursor can only be opened once the list that it was made for is there.
        if let Err(error) = query
            && error.code != Code::InvalidCursor
        {
            return Err(error);
        }
        // What else the call says is in its key, and the list itself in the cursor.
        let asks = |name: &str| permitted.operation().is_control(name) || name == shared::FIELDS;
        let given = permitted.params().iter().filter(|(name, _)| asks(name));
        let params = given.map(|(name, value)| (name.clone(), value.clone())).collect();
        let controlled = take_controls(permitted);
        let call = CallKey::of(permitted).name();
        Ok(Asked::Returned(Box::new(Returned { collection, key: key.clone(), params, call, controlled })))
    }

    /// The query that the handler has to answer.
    pub(crate) fn query(&self) -> Option<Box<Query>> {
        match &self.query {
            Asked::Handler(query) => Some(query.clone()),
            Asked::Nothing | Asked::Returned(_) | Asked::Whole(_) => None,
        }
    }

    /// The page of a list that this session was given in part, so that nobody has to be called.
    pub(crate) fn continued(
        &self,
        session: &Session,
        now: Timestamp,
        page_bytes: usize,
    ) -> Option<Result<Shaped, Error>> {
        let Asked::Returned(asked) = &self.query else { return None };
        let name = ["after", "before"].into_iter().find(|name| asked.is_given(name))?;
        let kept = session.snapshots().of(&asked.call);
        // What the query names need not be in every list that this call returned, only in the one of the cursor.
        let mut refused = None;
        for snapshot in kept {
            match asked.page(&snapshot, self.chosen.as_ref(), now, page_bytes) {
                Err(error) if error.code == Code::InvalidCursor => {}
                Ok((page, _)) => {
                    let warning = missing(self.chosen.as_ref(), &snapshot.listing.items);
                    session.snapshots().keep(snapshot);
                    return Some(Ok((Data::Value(page), warning)));
                }
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Some(error) = refused {
            return Some(Err(error));
        }
        let message =
            format!("Parameter '{name}' belongs to no list this session still keeps, or was changed");
        let error = Error::new(Code::InvalidCursor, message)
            .with("param_name", name)
            .with("expected", "a startCursor or endCursor of this session's last such list")
            .hint(format!("Start again without '{name}'."));
        Some(Err(error))
    }

    /// Makes of a handler's result what was asked for.
    pub(crate) fn apply(
        self,
        operation: &Operation,
        session: &Session,
        data: Data,
        now: Timestamp,
        page_bytes: usize,
        key: &CursorKey,
    ) -> Result<Shaped, Error> {
        let chosen = self.chosen.as_ref();
        match (&self.query, operation.queried()) {
            (Asked::Whole(_), _) if chosen.is_none() && is_short(&data, page_bytes) => {
                return Ok((data, None));
            }
            (Asked::Whole(call), Some(queried)) => {
                let collection = queried.collection().clone();
                let (key, call) = (key.clone(), call.name());
                let asked = Returned { collection, key, params: Map::new(), call, controlled: false };
                return asked.apply(chosen, operation, session, data, now, page_bytes);
            }
            (Asked::Returned(asked), _) => {
                return asked.apply(chosen, operation, session, data, now, page_bytes);
            }
            _ => {}
        }
        match (operation.selection(), data) {
            (Some(selection), Data::Value(mut value)) => {
                if let (Some(Queried::Item(collection)), Asked::Handler(query)) =
                    (operation.queried(), &self.query)
                {
                    collection.finish(&mut value, query.computed(), query.time(now));
                }
                let chosen = self.chosen.unwrap_or_else(|| selection.unasked());
                Ok((Data::Value(selection.apply(&chosen, value)), None))
            }
            (_, data) => Ok((data, None)),
        }
    }
}

/// Whether JSON that nobody has looked into is short enough to be sent as it is, or is no list in any case.
fn is_short(data: &Data, page_bytes: usize) -> bool {
    match data {
        Data::Raw(raw) => raw.get().len() <= page_bytes || raw.get().starts_with('"'),
        Data::Text(_) => true,
        Data::Value(_) => false,
    }
}

fn choose(selection: &Selection, fields: &Value) -> Result<(Chosen, Option<Warning>), Error> {
    selection.choose(fields).map_err(|unknown| {
        let names = unknown.known.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let error = Error::new(
            Code::InvalidEnum,
            format!(
                "Parameter 'fields' must be one of {names} or an array of field paths, got '{}'",
                unknown.given
            ),
        )
        .with("param_name", shared::FIELDS)
        .with("allowed_values", unknown.known);
        match unknown.near {
            Some(near) => {
                let hint = format!("Did you mean '{near}'?");
                let suggestions = Map::from_iter([(unknown.given, Value::from(near))]);
                error.with("suggestions", suggestions).hint(hint)
            }
            None => error,
        }
    })
}

fn missing(chosen: Option<&Chosen>, items: &[Value]) -> Option<Warning> {
    chosen.and_then(|chosen| chosen.missing_in(items))
}

/// Takes the controls of the query out and tells whether there were any.
fn take_controls(permitted: &mut Permitted) -> bool {
    let names: Vec<String> =
        permitted.params().keys().filter(|name| permitted.operation().is_control(name)).cloned().collect();
    for name in &names {
        drop(permitted.take_param(name));
    }
    !names.is_empty()
}

impl Returned {
    fn is_given(&self, name: &str) -> bool {
        self.collection.offers(name) && self.params.contains_key(name)
    }

    fn apply(
        &self,
        chosen: Option<&Chosen>,
        operation: &Operation,
        session: &Session,
        data: Data,
        now: Timestamp,
        page_bytes: usize,
    ) -> Result<Shaped, Error> {
        // Where paging means something else to the operation, nobody could ask for what was cut off.
        let page_bytes = if self.collection.styles().is_empty() { usize::MAX } else { page_bytes };
        let is_plain = !self.controlled && chosen.is_none();
        let (data, raw) = match data {
            Data::Raw(raw) if is_plain && raw.get().len() <= page_bytes => return Ok((Data::Raw(raw), None)),
            Data::Raw(raw) => match serde_json::from_str(raw.get()) {
                Ok(value) => (value, Some(raw)),
                // Too deep to be looked into, but whoever asked for nothing gets it as it is.
                Err(_) if is_plain => return Ok((Data::Raw(raw), None)),
                Err(_) => {
                    return Err(Error::internal("the operation's result is no JSON that can be queried"));
                }
            },
            Data::Value(value) if is_plain => {
                // Written once, here, to know its size; what fits is sent as it is.
                let raw =
                    to_raw_value(&value).map_err(|_| Error::internal("the result could not be written"))?;
                if raw.get().len() <= page_bytes {
                    return Ok((Data::Raw(raw), None));
                }
                (value, Some(raw))
            }
            Data::Value(value) => (value, None),
            // A text is no list.
            Data::Text(text) if is_plain => return Ok((Data::Text(text), None)),
            Data::Text(text) => (serde_json::from_slice(text.json()).unwrap_or_default(), None),
        };
        match Listing::of(data) {
            Ok(listing) => {
                let snapshot = Arc::new(Snapshot::new(self.call.clone(), listing));
                let (page, has_cursors) = self.page(&snapshot, chosen, now, page_bytes)?;
                let warning = missing(chosen, &snapshot.listing.items);
                // A cursor works whether or not more follow: it may be asked to go back from.
                if has_cursors {
                    session.snapshots().keep(snapshot);
                }
                Ok((Data::Value(page), warning))
            }
            Err(other) if self.controlled => Err(no_list(operation, &other.candidates)),
            Err(other) => {
                if let (None, Some(raw)) = (chosen, raw) {
                    return Ok((Data::Raw(raw), None));
                }
                let warning = missing(chosen, std::slice::from_ref(&other.data));
                let data = match chosen {
                    Some(chosen) => chosen.of(other.data),
                    None => other.data,
                };
                Ok((Data::Value(data), warning))
            }
        }
    }

    /// The page that was asked for, cut to what fits, and whether there are cursors in it.
    fn page(
        &self,
        snapshot: &Snapshot,
        chosen: Option<&Chosen>,
        now: Timestamp,
        page_bytes: usize,
    ) -> Result<(Value, bool), Error> {
        let items = &snapshot.listing.items;
        let name = format!("{}@{}", self.collection.name(), snapshot.id);
        let query = Query::read(&self.params, &self.collection.observing(items, name), &self.key)?;
        let mut paging = Style::ALL.iter().flat_map(|style| style.params());
        let query = if paging.any(|name| self.is_given(name)) { query } else { query.sized(usize::MAX) };
        let show = |query: &Query| -> Result<Value, Error> {
            let mut page = query.run(items.iter().cloned(), now)?.into_value();
            if let (Some(Value::Array(items)), Some(chosen)) = (page.get_mut("items"), chosen) {
                items.iter_mut().for_each(|item| *item = chosen.of(item.take()));
            }
            Ok(page)
        };
        let mut page = show(&query)?;
        let from_the_end = matches!(query.window(), Window::Last { .. });
        if let Some(fitting) = fitting(&page, page_bytes, from_the_end) {
            page = show(&query.sized(fitting))?;
        }
        if let (Some(Value::Object(info)), true) =
            (page.get_mut("pageInfo"), self.collection.styles().is_empty())
        {
            info.retain(|key, _| key != "startCursor" && key != "endCursor");
        }
        let has_cursors = page.pointer("/pageInfo/endCursor").is_some();
        if let Value::Object(page) = &mut page {
            put_beside(page, &snapshot.listing.beside);
        }
        Ok((page, has_cursors))
    }
}

/// Adds what stood beside the list. What is called like a part of the answer would be taken for it, or lost, so it
/// goes under a key of its own.
fn put_beside(page: &mut Map<String, Value>, beside: &Map<String, Value>) {
    let (taken, free): (Vec<_>, Vec<_>) =
        beside.iter().partition(|(key, _)| ANSWERED.contains(&key.as_str()));
    page.extend(free.into_iter().map(|(key, value)| (key.clone(), value.clone())));
    if !taken.is_empty() {
        let taken = taken.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        page.insert(BESIDE.to_owned(), Value::Object(taken));
    }
}

/// How many of a page's items fit, if not all do, counted from the end that it begins with. One is always shown.
fn fitting(page: &Value, page_bytes: usize, from_the_end: bool) -> Option<usize> {
    let items = page.get("items")?.as_array()?;
    let mut bytes = 0;
    let mut fits = |item: &&Value| {
        bytes += item.to_string().len() + 1;
        bytes <= page_bytes
    };
    let fit = match from_the_end {
        true => items.iter().rev().take_while(&mut fits).count(),
        false => items.iter().take_while(&mut fits).count(),
    };
    let fit = fit.max(1);
    (fit < items.len()).then_some(fit)
}

fn no_list(operation: &Operation, candidates: &[String]) -> Error {
    let error = Error::new(
        Code::InvalidType,
        match candidates {
            [] => format!("The result of '{}' holds no list to query", operation.name()),
            several => {
                let names = several.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
                format!("The result of '{}' holds several lists: {names}", operation.name())
            }
        },
    );
    error
        .with("operation", operation.name().as_str())
        .with("candidates", candidates)
        .hint("Repeat the call without filter, sort, aggregate and paging; 'fields' still works.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_is_cut_from_the_end_that_it_does_not_begin_with() {
        let page = json!({"items": ["x".repeat(100), "y", "z"]});
        assert_eq!(fitting(&page, 50, false), Some(1));
        assert_eq!(fitting(&page, 50, true), Some(2));
        assert_eq!(fitting(&page, 500, true), None);
    }

    #[test]
    fn what_is_called_like_a_part_of_the_answer_is_not_lost() {
        let mut page = json!({"items": [1], "pageInfo": {}}).as_object().cloned().unwrap();
        let beside = json!({"items": 3, "aggregations": "theirs", "beside": 1, "total": 9});
        put_beside(&mut page, beside.as_object().unwrap());
        assert_eq!(
            Value::Object(page),
            json!({"items": [1], "pageInfo": {}, "total": 9,
                   "beside": {"items": 3, "aggregations": "theirs", "beside": 1}})
        );
    }
}
