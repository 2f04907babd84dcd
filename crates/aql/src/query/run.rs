//! Running a query over items that are all there, and what it answers.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Query, page::Info};
use crate::error::Error;

/// What a query answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub aggregations: Option<Map<String, Value>>,
    /// A page of items and where it stands.
    pub page: Option<(Vec<Value>, Info)>,
}

impl Answer {
    /// As `data` of a response.
    #[must_use]
    pub fn into_value(self) -> Value {
        let mut data = Map::new();
        if let Some(aggregations) = self.aggregations {
            data.insert("aggregations".to_owned(), Value::Object(aggregations));
        }
        if let Some((items, info)) = self.page {
            data.insert("items".to_owned(), Value::Array(items));
            data.insert(info.key().to_owned(), json!(info));
        }
        Value::Object(data)
    }
}

/// What storage knows of accepted items that it did not hand over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Beyond {
    /// Whether some stand before those handed over, in the order of the query.
    pub before: bool,
    /// Whether some stand after them.
    pub after: bool,
    /// How many were skipped for an offset or page number; [`Gather::skipping`] has to be told before it begins.
    ///
    /// [`Gather::skipping`]: super::Gather::skipping
    pub skipped: usize,
    /// How many there are altogether; needed where [`Query::wants_total`] and not all are handed over.
    pub total: Option<usize>,
    /// What storage wants to find again in [`Query::note`] on the further pages of the series.
    pub note: Option<Value>,
}

impl Query {
    /// Runs over all items of the collection, in any order. The items of one without ids are told apart by their
    /// position here.
    pub fn run(&self, items: impl IntoIterator<Item = Value>, now: Timestamp) -> Result<Answer, Error> {
        self.run_narrowed(items, Beyond::default(), now)
    }

    /// Runs over the items that storage narrowed the collection to. It has to hand over every accepted item that may
    /// be on the page and the next one after it (before it, if paging backwards), and may hand over any others.
    /// Aggregations need all accepted items; see [`Query::is_narrowable`].
    pub fn run_narrowed(
        &self,
        items: impl IntoIterator<Item = Value>,
        beyond: Beyond,
        now: Timestamp,
    ) -> Result<Answer, Error> {
        let mut gather = self.gather(now).skipping(beyond.skipped);
        for item in items {
            gather.offer(item)?;
        }
        Ok(gather.finish(beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::Code,
        query::{Collection, CursorKey, fixture},
    };

    fn query(params: &Value) -> Result<Query, Error> {
        Query::read(params.as_object().unwrap(), &fixture::tasks(), &CursorKey::new(&[1; 32]))
    }

    fn run(params: Value, items: &[Value]) -> Value {
        query(&params).unwrap().run(items.to_vec(), fixture::now()).unwrap().into_value()
    }

    fn some(count: usize) -> Vec<Value> {
        (0..count)
            .rev()
            .map(|id| json!({"id": id, "status": if id % 2 == 0 { "even" } else { "odd" }}))
            .collect()
    }

    fn ids(answer: &Value) -> Vec<u64> {
        answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()).collect()
    }

    /// LREQ-PAGE-03 REQ-PARAM-11 REQ-PARAM-19 REQ-PARAM-21
    #[test]
    fn flags_and_cursors_are_right_on_every_kind_of_page() {
        let items = some(5);
        let first = run(json!({"first": 2, "include_total": true}), &items);
        assert_eq!(ids(&first), [0, 1]);
        let flags = |page: &Value| {
            (page["pageInfo"]["hasPreviousPage"].clone(), page["pageInfo"]["hasNextPage"].clone())
        };
        assert_eq!(flags(&first), (false.into(), true.into()));
        assert_eq!(first["pageInfo"]["totalCount"], 5);
        let middle = run(json!({"first": 2, "after": first["pageInfo"]["endCursor"]}), &items);
        assert_eq!((ids(&middle), flags(&middle)), (vec![2, 3], (true.into(), true.into())));
        assert!(middle["pageInfo"].get("totalCount").is_none());
        let last = run(json!({"first": 2, "after": middle["pageInfo"]["endCursor"]}), &items);
        assert_eq!((ids(&last), flags(&last)), (vec![4], (true.into(), false.into())));
        let none = run(json!({"first": 2, "after": last["pageInfo"]["endCursor"]}), &items);
        assert_eq!(none, json!({"items": [], "pageInfo": {"hasNextPage": false, "hasPreviousPage": true}}));
        let back = run(json!({"last": 2, "before": last["pageInfo"]["startCursor"]}), &items);
        assert_eq!((ids(&back), flags(&back)), (vec![2, 3], (true.into(), true.into())));
        let end = run(json!({"last": 2}), &items);
        assert_eq!((ids(&end), flags(&end)), (vec![3, 4], (true.into(), false.into())));
        let empty = run(json!({"include_total": true}), &[]);
        assert_eq!(
            empty,
            json!({"items": [], "pageInfo": {"hasNextPage": false, "hasPreviousPage": false, "totalCount": 0}})
        );
    }

    /// REQ-PARAM-20
    #[test]
    fn the_other_styles_tell_their_own_numbers() {
        let items = some(5);
        let page = run(json!({"page": 2, "page_size": 2, "include_total": true}), &items);
        assert_eq!(ids(&page), [2, 3]);
        assert_eq!(
            page["pagination"],
            json!({"page": 2, "page_size": 2, "has_more": true, "total_items": 5, "total_pages": 3})
        );
        let offset = run(json!({"limit": 3, "offset": 3}), &items);
        assert_eq!(ids(&offset), [3, 4]);
        assert_eq!(offset["pagination"], json!({"limit": 3, "offset": 3, "returned": 2, "has_more": false}));
        assert_eq!(run(json!({"offset": 9}), &items)["items"], json!([]));
    }

    /// LREQ-AGG-02 LREQ-AGG-03 LREQ-AGG-05
    #[test]
    fn aggregations_are_over_all_matches_and_items_come_only_on_request() {
        let items = some(36);
        let params = json!({
            "filter": {"status": "even"}, "aggregate": {"total": {"count": true}}, "first": 2, "fields": ["id"]
        });
        assert_eq!(run(params.clone(), &items), json!({"aggregations": {"total": 18}}));
        let mut with_items = params;
        with_items["include_items"] = true.into();
        let answer = run(with_items, &items);
        assert_eq!((&answer["aggregations"]["total"], ids(&answer)), (&json!(18), vec![0, 2]));
        assert_eq!(answer["pageInfo"]["hasNextPage"], true);
    }

    #[test]
    fn asking_for_items_that_come_anyway_is_refused() {
        let error = query(&json!({"include_items": true, "first": 2})).unwrap_err();
        assert_eq!((error.code, &error.details["param_name"]), (Code::InvalidType, &json!("include_items")));
        assert_eq!(error.message, "Cannot use 'include_items' without 'aggregate'");
        assert!(error.details["hint"].as_str().unwrap().contains("Leave 'include_items' out"));
        assert!(query(&json!({"include_items": false})).is_ok());
    }

    /// LREQ-COMP-01
    #[test]
    fn computed_values_appear_when_selected() {
        let items = [json!({"id": 1, "created_at": "2026-02-27T13:00:00Z"})];
        let shown = |fields: Value| run(json!({"fields": fields}), &items)["items"][0]["_computed"].clone();
        assert_eq!(shown(json!(["id", "_computed.age_days"])), json!({"age_days": 1}));
        assert_eq!(shown(json!("full")), json!(null));
        let preset = query(&json!({"fields": "mine"})).unwrap().computing(&json!(["_computed.age_days"]));
        let answer = preset.run(items.to_vec(), fixture::now()).unwrap().into_value();
        assert_eq!(answer["items"][0]["_computed"], json!({"age_days": 1}));
    }

    #[test]
    fn a_series_of_pages_keeps_the_time_of_its_first() {
        let items: Vec<Value> = (0..4)
            .map(|id| json!({"id": id, "created_at": format!("2026-02-0{}T13:00:00Z", 9 - id)}))
            .collect();
        let params = json!({"sort": {"field": "_computed.age_days"}, "first": 2});
        let first = run(params.clone(), &items);
        assert_eq!(ids(&first), [0, 1]);
        let mut next = params;
        next["after"] = first["pageInfo"]["endCursor"].clone();
        let later = fixture::now() + jiff::SignedDuration::from_hours(30);
        let second = query(&next).unwrap().run(items, later).unwrap().into_value();
        assert_eq!(ids(&second), [2, 3]);
    }

    #[test]
    fn a_cursor_of_another_query_or_a_changed_one_is_refused() {
        let items = some(5);
        let base = json!({"first": 2, "filter": {"status": "odd"}, "sort": {"field": "id"}, "owner": "me"});
        let cursor = run(base.clone(), &items)["pageInfo"]["endCursor"].clone();
        let with = |changes: Value| {
            let mut params = base.clone();
            params["after"] = cursor.clone();
            for (key, value) in changes.as_object().unwrap() {
                params[key] = value.clone();
            }
            query(&params).map(|_| ())
        };
        for harmless in [
            json!({}),
            json!({"first": 7}),
            json!({"fields": ["id"]}),
            json!({"include_total": true}),
            json!({"sort": {"field": "id", "order": "asc"}}),
            json!({"sort": [{"field": "id"}]}),
            json!({"_meta": 1}),
        ] {
            assert_eq!(with(harmless.clone()), Ok(()), "{harmless}");
        }
        for foreign in [
            json!({"filter": {"status": "even"}}),
            json!({"sort": {"field": "id", "order": "desc"}}),
            json!({"sort": {"field": "priority"}}),
            json!({"owner": "you"}),
            json!({"after": "nonsense"}),
            json!({"after": ""}),
        ] {
            let error = with(foreign.clone()).unwrap_err();
            assert_eq!(
                (error.code, &error.details["param_name"]),
                (Code::InvalidCursor, &json!("after")),
                "{foreign}"
            );
        }
    }

    #[test]
    fn items_without_ids_are_told_apart_by_position() {
        let items = [json!({"n": 1}), json!({"n": 0}), json!({"n": 1}), json!({"n": 1})];
        let list = Collection::builder("list").observed(&items).build().unwrap();
        let key = CursorKey::new(&[1; 32]);
        let page = |params: Value| {
            let query = Query::read(params.as_object().unwrap(), &list, &key).unwrap();
            query.run(items.to_vec(), fixture::now()).unwrap().into_value()
        };
        assert_eq!(page(json!({}))["items"], json!(items));
        let first = page(json!({"sort": {"field": "n"}, "first": 3}));
        let second =
            page(json!({"sort": {"field": "n"}, "first": 3, "after": first["pageInfo"]["endCursor"]}));
        assert_eq!((first["items"].as_array().unwrap().len(), &second["items"]), (3, &json!([{"n": 1}])));
    }

    #[test]
    fn narrowed_items_give_the_same_page() {
        let items = some(9);
        let first = run(json!({"first": 3}), &items);
        let params = json!({"first": 3, "after": first["pageInfo"]["endCursor"], "include_total": true});
        let whole = run(params.clone(), &items);
        let some_of_them: Vec<Value> =
            items.iter().filter(|item| (3..7).contains(&item["id"].as_u64().unwrap())).cloned().collect();
        let beyond = Beyond { before: true, total: Some(9), ..Beyond::default() };
        let narrowed = query(&params).unwrap().run_narrowed(some_of_them.clone(), beyond, fixture::now());
        assert_eq!(narrowed.unwrap().into_value(), whole);
        let offset = query(&json!({"offset": 4, "limit": 2})).unwrap();
        let beyond = Beyond { skipped: 3, after: true, ..Beyond::default() };
        let page = offset.run_narrowed(some_of_them, beyond, fixture::now()).unwrap().into_value();
        assert_eq!(page, run(json!({"offset": 4, "limit": 2}), &items));
    }

    #[test]
    fn flags_have_to_be_booleans() {
        for name in ["include_items", "include_total"] {
            let mut params = json!({});
            params[name] = "yes".into();
            let error = query(&params).unwrap_err();
            assert_eq!(error.details["param_name"], name);
        }
    }
}
