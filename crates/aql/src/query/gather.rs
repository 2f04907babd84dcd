//! Making an answer of items that come one by one: what was accepted is counted, and of the items themselves no more is
//! kept than the page can need, however many there are.

use std::{cmp::Ordering, convert::Infallible};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Query,
    aggregate::Tally,
    page::{Info, Window},
    run::{Answer, Beyond},
    sort::Place,
};
use crate::error::Error;

/// A small page waits for this many rows before it throws the highest away, so that this is seldom done.
const ROWS_WAITING_MIN: usize = 64;

/// An answer in the making; see [`Query::gather`].
#[derive(Debug)]
pub struct Gather<'q> {
    query: &'q Query,
    time: Timestamp,
    tally: Tally<'q>,
    offered: usize,
    accepted: usize,
    page: Option<Kept>,
}

/// The rows that may be on the page.
#[derive(Debug)]
struct Kept {
    rows: Vec<Row>,
    /// The highest row of a full page: nothing behind it is needed.
    bound: Option<(Place<'static>, usize)>,
    /// How many rows stand on the wanted side of the cursor, kept or not.
    inside: usize,
    /// Whether any stand on its other side.
    outside: bool,
    skip: usize,
    size: usize,
    in_order: bool,
}

#[derive(Debug)]
struct Row {
    place: Place<'static>,
    number: usize,
    item: Value,
}

impl Query {
    /// Begins an answer.
    #[must_use]
    pub fn gather(&self, now: Timestamp) -> Gather<'_> {
        let kept = || Kept {
            rows: Vec::new(),
            bound: None,
            inside: 0,
            outside: false,
            skip: self.window.skip(),
            size: self.window.size(),
            in_order: false,
        };
        Gather {
            query: self,
            time: self.time(now),
            tally: Tally::new(&self.aggregates),
            offered: 0,
            accepted: 0,
            page: self.wants_items().then(kept),
        }
    }
}

impl Gather<'_> {
    /// Expects items in the order of the query, from its end if the page is asked for from there. Those on the other
    /// side of the cursor may come whenever they like.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        if let Some(page) = &mut self.page {
            page.in_order = true;
        }
        self
    }

    /// So many accepted items before the page, by its offset or number, are not going to be offered.
    #[must_use]
    pub fn skipping(mut self, count: usize) -> Self {
        if let Some(page) = &mut self.page {
            page.skip = page.skip.saturating_sub(count);
        }
        self
    }

    /// Takes an item into account: the aggregations and the page, if the filter accepts it.
    pub fn offer(&mut self, item: Value) -> Result<(), Error> {
        let number = self.offered;
        self.offered += 1;
        if self.query.filter.accepts(&item, self.time) {
            self.tally.add(&item, 1, self.time)?;
            self.keep(item, number);
        }
        Ok(())
    }

    /// Takes an item into account for the page alone, if the filter accepts it.
    pub fn show(&mut self, item: Value) {
        let number = self.offered;
        self.offered += 1;
        if self.query.filter.accepts(&item, self.time) {
            self.keep(item, number);
        }
    }

    /// Takes an accepted item into account for the page alone. Storage that knows the filter to hold needs to hand over
    /// no more of it than its sort keys and its id, and the whole of it in [`Gather::finish_loading`].
    pub fn admit(&mut self, item: Value) {
        let number = self.offered;
        self.offered += 1;
        self.keep(item, number);
    }

    /// Counts so many accepted items into the aggregations alone. They need no more than what is aggregated, which is
    /// the same in all of them.
    pub fn tally(&mut self, item: &Value, times: usize) -> Result<(), Error> {
        self.accepted = self.accepted.saturating_add(times);
        self.tally.add(item, times, self.time)
    }

    /// Whether items that come in order have filled the page and shown that more follow.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.page.as_ref().is_none_or(|page| page.in_order && page.inside > page.reach())
    }

    /// Whether an accepted item on the other side of the cursor was offered, which is all the answer tells of them.
    #[must_use]
    pub fn knows_other_side(&self) -> bool {
        self.page.as_ref().is_none_or(|page| page.outside)
    }

    fn keep(&mut self, item: Value, number: usize) {
        self.accepted = self.accepted.saturating_add(1);
        let (query, Some(page)) = (self.query, &mut self.page) else { return };
        let place = query.sort.place(&item, number, self.time);
        let wanted = match &query.window {
            Window::First { after: Some(after), .. } => query.sort.compare(&place, after).is_gt(),
            Window::Last { before: Some(before), .. } => query.sort.compare(&place, before).is_lt(),
            _ => true,
        };
        if !wanted {
            page.outside = true;
            return;
        }
        page.inside += 1;
        if page.in_order {
            if page.skip < page.inside && page.inside <= page.reach() {
                let place = place.into_owned();
                page.rows.push(Row { place, number, item });
            }
            return;
        }
        let behind =
            |(bound, last): &(Place<'static>, usize)| query.compare((&place, number), (bound, *last)).is_gt();
        if page.bound.as_ref().is_some_and(behind) {
            return;
        }
        let place = place.into_owned();
        page.rows.push(Row { place, number, item });
        page.cut(query);
    }

    /// The answer, given what is known of accepted items that were not offered.
    pub fn finish(self, beyond: Beyond) -> Answer {
        let whole = |item| Ok::<_, Infallible>(item);
        match self.finish_loading(beyond, whole) {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    /// The answer, with `load` making whole items of those on the page.
    pub fn finish_loading<E>(
        self,
        beyond: Beyond,
        load: impl FnMut(Value) -> Result<Value, E>,
    ) -> Result<Answer, E> {
        let Self { query, time, tally, accepted, page, .. } = self;
        let total = query.wants_total().then(|| beyond.total.unwrap_or(accepted));
        Ok(Answer {
            aggregations: (!query.aggregates.is_empty()).then(|| tally.finish()),
            page: page.map(|page| page.finish(query, &beyond, total, time, load)).transpose()?,
        })
    }
}

impl Kept {
    /// How many rows there are up to the end of the page.
    fn reach(&self) -> usize {
        self.skip.saturating_add(self.size)
    }

    /// Throws away what cannot be on the page once enough has come together.
    fn cut(&mut self, query: &Query) {
        let reach = self.reach();
        if self.rows.len() < reach.saturating_mul(2).max(ROWS_WAITING_MIN) {
            return;
        }
        let (_, highest, _) =
            self.rows.select_nth_unstable_by(reach.saturating_sub(1), |a, b| query.compare_rows(a, b));
        self.bound = Some((highest.place.clone(), highest.number));
        self.rows.truncate(reach);
    }

    fn finish<E>(
        mut self,
        query: &Query,
        beyond: &Beyond,
        total: Option<usize>,
        time: Timestamp,
        mut load: impl FnMut(Value) -> Result<Value, E>,
    ) -> Result<(Vec<Value>, Info), E> {
        let more = self.inside > self.reach();
        if !self.in_order {
            self.rows.sort_unstable_by(|a, b| query.compare_rows(a, b));
            self.rows.truncate(self.reach());
            self.rows.drain(..self.skip.min(self.rows.len()));
        }
        let mut rows = self.rows;
        let (has_previous, has_next) = match query.window {
            Window::Last { .. } => {
                rows.reverse();
                (more || beyond.before, self.outside || beyond.after)
            }
            _ => (self.outside || beyond.before, more || beyond.after),
        };
        let note = beyond.note.as_ref().or(query.note());
        let cursor = |row: Option<&Row>| row.map(|row| query.cursor(&row.place, time, note));
        let info = match query.window {
            Window::First { .. } | Window::Last { .. } => Info::Cursor {
                has_next_page: has_next,
                has_previous_page: has_previous,
                start_cursor: cursor(rows.first()),
                end_cursor: cursor(rows.last()),
                total_count: total,
            },
            Window::Offset { limit, offset } => {
                Info::Offset { limit, offset, returned: rows.len(), has_more: has_next, total_items: total }
            }
            Window::Page { page, page_size } => Info::Page {
                page,
                page_size,
                has_more: has_next,
                total_items: total,
                total_pages: total.map(|total| total.div_ceil(page_size.max(1))),
            },
        };
        let finished = rows.into_iter().map(|Row { item, .. }| {
            let mut item = load(item)?;
            query.collection.finish(&mut item, &query.computed, time);
            Ok(item)
        });
        Ok((finished.collect::<Result<_, _>>()?, info))
    }
}

impl Query {
    /// The order that a page is cut in: from the end, if it is asked for from there. What is the same in every key and
    /// in its id goes by how it came.
    fn compare(&self, a: (&Place<'_>, usize), b: (&Place<'_>, usize)) -> Ordering {
        let forwards = self.sort.compare(a.0, b.0).then(a.1.cmp(&b.1));
        if matches!(self.window, Window::Last { .. }) { forwards.reverse() } else { forwards }
    }

    fn compare_rows(&self, a: &Row, b: &Row) -> Ordering {
        self.compare((&a.place, a.number), (&b.place, b.number))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::{CursorKey, fixture};

    fn query(params: Value) -> Query {
        Query::read(params.as_object().unwrap(), &fixture::tasks(), &CursorKey::new(&[1; 32])).unwrap()
    }

    #[test]
    fn no_more_is_kept_than_the_page_needs() {
        let query =
            query(json!({"first": 3, "sort": {"field": "priority", "order": "desc"}, "include_total": true}));
        let mut gather = query.gather(fixture::now());
        for id in 0..10_000_u64 {
            gather.offer(json!({"id": id, "priority": id * 7919 % 10_000})).unwrap();
            assert!(gather.page.as_ref().unwrap().rows.len() <= ROWS_WAITING_MIN);
            assert!(!gather.is_full());
        }
        let answer = gather.finish(Beyond::default()).into_value();
        let shown: Vec<u64> = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["priority"].as_u64().unwrap())
            .collect();
        assert_eq!((shown, &answer["pageInfo"]["totalCount"]), (vec![9999, 9998, 9997], &json!(10_000)));
    }

    #[test]
    fn an_ordered_stream_is_full_as_soon_as_more_is_known_to_follow() {
        for (params, needed) in [
            (json!({"first": 3}), 4),
            (json!({"last": 3}), 4),
            (json!({"limit": 3, "offset": 5}), 9),
            (json!({"page": 3, "page_size": 2}), 7),
        ] {
            let query = query(params.clone());
            let from_the_end = matches!(query.window(), Window::Last { .. });
            let mut gather = query.gather(fixture::now()).in_order();
            let mut read = 0;
            for id in 0..100 {
                if gather.is_full() {
                    break;
                }
                read += 1;
                gather.offer(json!({"id": if from_the_end { 99 - id } else { id }})).unwrap();
                assert!(gather.page.as_ref().unwrap().rows.len() <= 3);
            }
            assert_eq!(read, needed, "{params}");
            let all: Vec<Value> = (0..100).map(|id| json!({"id": id})).collect();
            let whole = query.run(all, fixture::now()).unwrap().into_value();
            assert_eq!(gather.finish(Beyond::default()).into_value(), whole, "{params}");
        }
    }

    #[test]
    fn items_can_be_loaded_once_they_are_on_the_page() {
        let query = query(json!({"first": 2, "sort": {"field": "priority"}, "filter": {"status": "a"}}));
        let whole: Vec<Value> =
            (0..9).map(|id| json!({"id": id, "priority": 9 - id, "status": "a"})).collect();
        let mut gather = query.gather(fixture::now());
        whole.iter().for_each(|item| gather.admit(json!({"id": item["id"], "priority": item["priority"]})));
        let mut loaded = 0;
        let answer = gather.finish_loading(Beyond::default(), |part| {
            loaded += 1;
            usize::try_from(part["id"].as_u64().unwrap()).map(|id| whole[id].clone())
        });
        assert_eq!(loaded, 2);
        assert_eq!(answer.unwrap(), query.run(whole, fixture::now()).unwrap());
    }

    #[test]
    fn combinations_count_as_often_as_they_are_said_to() {
        let params = json!({"aggregate": {
            "by": {"group_by": "status", "count": true, "sum": "priority", "max": "priority"}, "all": {"count": true}
        }});
        let query = query(params);
        let mut at_once = query.gather(fixture::now());
        let mut one_by_one = query.gather(fixture::now());
        for (status, priority, times) in [("a", json!(0.1), 10), ("a", json!(2), 3), ("b", json!(null), 4)] {
            let item = json!({"status": status, "priority": priority});
            at_once.tally(&item, times).unwrap();
            (0..times).for_each(|_| one_by_one.offer(item.clone()).unwrap());
        }
        let answer = at_once.finish(Beyond::default()).into_value();
        assert_eq!(answer, one_by_one.finish(Beyond::default()).into_value());
        assert_eq!(answer["aggregations"]["by"]["a"], json!({"count": 13, "sum": 7, "max": 2}));
    }

    #[test]
    fn a_note_goes_along_with_every_cursor_of_a_series() {
        let items: Vec<Value> = (0..6).map(|id| json!({"id": id})).collect();
        let mut params = json!({"first": 2});
        for page in 0..3 {
            let query = query(params.clone());
            assert_eq!(query.note(), (page > 0).then_some(&json!([1, 2])));
            let note = (page == 0).then(|| json!([1, 2]));
            let beyond = Beyond { note, ..Beyond::default() };
            let answer = query.run_narrowed(items.clone(), beyond, fixture::now()).unwrap().into_value();
            assert_eq!(answer["items"][0]["id"], page * 2);
            params["after"] = answer["pageInfo"]["endCursor"].clone();
        }
    }
}
