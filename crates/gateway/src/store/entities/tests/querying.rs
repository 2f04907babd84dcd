//! Queries over the store answer what the evaluator makes of all entities, whatever is indexed.

use std::collections::{HashMap, HashSet};

use aql::query::{Beyond, Collection, CursorKey, Query};
use futures_util::future::join_all;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::super::collection;
use super::super::query::Find;
use super::*;

mod generate;
mod hostile;

use generate::{Change, params};

fn key() -> CursorKey {
    CursorKey::new(&[9; 32])
}

fn later() -> Timestamp {
    at(86_400 * 40)
}

pub(super) fn read(given: &Value, of: &Collection) -> Query {
    Query::read(given.as_object().unwrap(), of, &key()).unwrap_or_else(|error| panic!("{error:?}\n{given}"))
}

/// A store beside a plain list of what is in it.
struct Twin {
    f: Fixture,
    /// By row.
    items: Vec<(i64, Value)>,
    count: usize,
}

impl Twin {
    async fn new(entities: Vec<NewEntity>, relations: &[(usize, usize)], index: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = EntityStore::open(dir.path(), Options::default(), index).unwrap();
        let mut twin = Self { f: Fixture { store, dir }, items: Vec::new(), count: 0 };
        twin.add(entities).await;
        let count = twin.count.max(1);
        let relate = relations
            .iter()
            .enumerate()
            .map(|(number, (from, to))| twin.f.relate(number, from % count, to % count, "knows"));
        join_all(relate).await;
        twin.refresh().await;
        twin
    }

    async fn add(&mut self, entities: Vec<NewEntity>) {
        let first = self.count;
        self.count += entities.len();
        let create = entities.into_iter().enumerate().map(|(number, mut new)| {
            let number = first + number;
            new.name = format!("{}{number}", new.name);
            let time = at(i64::try_from(number % 4).unwrap() * 86_400 * 15);
            // Ids do not stand in the order of creation.
            self.f.store.create(new, time, id(number * 7919 % 10_007), false)
        });
        for created in join_all(create).await {
            assert!(matches!(created.unwrap(), Created::Entity(_)));
        }
        self.refresh().await;
    }

    async fn remove(&mut self, number: usize) {
        self.f.store.delete(&id(number * 7919 % 10_007), None, false).await.unwrap();
        self.refresh().await;
    }

    /// Reads everything anew, past all that is tested here.
    async fn refresh(&mut self) {
        let path = self.f.dir.path().join(schema::FILE);
        let connection = Connection::open(path).unwrap();
        let mut statement = connection.prepare("SELECT row, id FROM entities").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(i64, String)> = rows.map(Result::unwrap).collect();
        self.items.clear();
        for (row, id) in rows {
            let relations = self.f.store.relations_of(&id).await.unwrap().len();
            let entity = self.f.store.get(&id).await.unwrap().unwrap();
            let mut item = json::entity(entity);
            item["_relations"] = relations.into();
            self.items.push((row, item));
        }
    }

    fn listed(&self, find: &Find) -> Vec<Value> {
        let of_type =
            |item: &&Value| find.entity_type.as_ref().is_none_or(|wanted| item["entity_type"] == **wanted);
        self.items.iter().map(|(_, item)| item).filter(of_type).cloned().collect()
    }

    /// What the evaluator makes of everything.
    fn expected(&self, given: &Value, find: &Find) -> Result<Value, aql::error::Error> {
        let query = read(given, &collection::list().unwrap());
        // What is carried along only on demand must not be counted.
        let needed = query.computes("relation_count");
        let items = self.listed(find).into_iter().map(|mut item| {
            if !needed {
                item.as_object_mut().unwrap().remove("_relations");
            }
            item
        });
        query.run(items, later()).map(aql::query::Answer::into_value)
    }

    async fn answer(&self, given: &Value, find: &Find, of: &Collection) -> Result<Value, aql::error::Error> {
        let answer = self.f.store.query(read(given, of), find.clone(), later()).await.unwrap();
        answer.map(aql::query::Answer::into_value)
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn check(condition: bool, why: impl FnOnce() -> String) -> Result<(), TestCaseError> {
    if condition { Ok(()) } else { Err(TestCaseError::fail(why())) }
}

proptest! {
    #![proptest_config(config(96))]

    /// LREQ-QUERY-07
    #[test]
    fn storage_and_memory_agree_on_every_page(
        entities in generate::entities(24),
        relations in prop::collection::vec((0_usize..24, 0_usize..24), 0..8),
        index in generate::index(),
        queries in prop::collection::vec(generate::query(), 1..12),
    ) {
        runtime().block_on(async {
            let twin = Twin::new(entities, &relations, &index).await;
            let list = collection::list().unwrap();
            for (base, find) in queries {
                let mut given = base.clone();
                for page in 0..30 {
                    let (found, expected) = (twin.answer(&given, &find, &list).await, twin.expected(&given, &find));
                    check(found == expected, || {
                        format!("{given}\n{find:?} {index:?} page {page}\nfound    {found:?}\nexpected {expected:?}")
                    })?;
                    let Ok(answer) = found else { break };
                    let info = &answer["pageInfo"];
                    let (cursor, name) =
                        if base.get("last").is_some() { ("startCursor", "before") } else { ("endCursor", "after") };
                    let more = if name == "before" { "hasPreviousPage" } else { "hasNextPage" };
                    if info[more] != true || info.get(cursor).is_none() {
                        break;
                    }
                    given = base.clone();
                    given[name] = info[cursor].clone();
                    if given.get("last").is_none() && given.get("first").is_none() {
                        given["first"] = json!(3);
                    }
                }
            }
            Ok::<_, TestCaseError>(())
        })?;
    }
}

fn id_of(item: &Value) -> String {
    item["entity_id"].as_str().unwrap().to_owned()
}

proptest! {
    #![proptest_config(config(64))]

    /// LREQ-PAGE-06
    #[test]
    fn nothing_that_stays_is_skipped_or_repeated_while_rows_come_and_go(
        entities in generate::entities(24),
        index in generate::index(),
        (filter, sort) in (generate::filter(), generate::sort()),
        words in prop_oneof![Just(None), generate::words().prop_map(Some)],
        size in 1_usize..5,
        forwards in any::<bool>(),
        changes in generate::changes(),
    ) {
        runtime().block_on(async {
            let mut twin = Twin::new(entities, &[], &index).await;
            let of = if words.is_some() { collection::search() } else { collection::list() }.unwrap();
            let find = Find { words, entity_type: None };
            let start: HashSet<String> = twin.items.iter().map(|(_, item)| id_of(item)).collect();
            let (size_name, cursor_name, more, cursor) = if forwards {
                ("first", "after", "hasNextPage", "endCursor")
            } else {
                ("last", "before", "hasPreviousPage", "startCursor")
            };
            let all = params(&[("filter", filter.clone()), ("sort", sort.clone()), ("first", json!(100))]);
            let whole = twin.answer(&all, &find, &of).await.unwrap();
            let mut changes = changes.into_iter();
            let (mut seen, mut at) = (Vec::new(), Value::Null);
            loop {
                let given = params(&[
                    ("filter", filter.clone()),
                    ("sort", sort.clone()),
                    (size_name, json!(size)),
                    (cursor_name, at.clone()),
                ]);
                let answer = twin.answer(&given, &find, &of).await.unwrap();
                let page = answer["items"].as_array().unwrap().clone();
                seen = if forwards { [seen, page].concat() } else { [page, seen].concat() };
                if answer["pageInfo"][more] == false {
                    break;
                }
                at = answer["pageInfo"][cursor].clone();
                if let Some(Change { gone, come }) = changes.next() {
                    for number in gone {
                        twin.remove(number).await;
                    }
                    twin.add(come).await;
                }
            }
            let left: HashSet<String> = twin.items.iter().map(|(_, item)| id_of(item)).collect();
            let mut times: HashMap<String, usize> = HashMap::new();
            seen.iter().for_each(|item| *times.entry(id_of(item)).or_default() += 1);
            check(times.values().all(|times| *times == 1), || format!("repeated: {times:?}"))?;
            let stayed = |item: &&Value| start.contains(&id_of(item)) && left.contains(&id_of(item));
            let whole = whole["items"].as_array().unwrap();
            let (seen, expected): (Vec<_>, Vec<_>) =
                (seen.iter().filter(stayed).collect(), whole.iter().filter(stayed).collect());
            check(seen == expected, || format!("{filter} {sort}\nseen {seen:?}\nof   {expected:?}"))
        })?;
    }
}

proptest! {
    #![proptest_config(config(64))]

    /// The score is written down a second time here, from its documentation.
    #[test]
    fn a_search_is_a_query_over_scored_matches(
        entities in generate::entities(16),
        index in generate::index(),
        words in generate::words(),
        queries in prop::collection::vec(generate::query(), 1..6),
    ) {
        runtime().block_on(async {
            let twin = Twin::new(entities, &[], &index).await;
            let search = collection::search().unwrap();
            let (scored, note) = super::scoring::scored(&twin.items, &words);
            for (mut given, find) in queries {
                let find = Find { words: Some(words.clone()), ..find };
                let of_type = |item: &&Value| find.entity_type.as_ref().is_none_or(|wanted| item["entity_type"] == **wanted);
                let items: Vec<Value> = scored.iter().filter(of_type).cloned().collect();
                for page in 0..30 {
                    let beyond = Beyond { note: Some(note.clone()), ..Beyond::default() };
                    let expected = read(&given, &search).run_narrowed(items.clone(), beyond, later());
                    let expected = expected.map(aql::query::Answer::into_value);
                    let found = twin.answer(&given, &find, &search).await;
                    check(found == expected, || {
                        format!("{given}\n{find:?} page {page}\nfound    {found:?}\nexpected {expected:?}")
                    })?;
                    let Ok(answer) = found else { break };
                    let info = &answer["pageInfo"];
                    if given.get("first").is_none() || info["hasNextPage"] != true {
                        break;
                    }
                    given["after"] = info["endCursor"].clone();
                }
            }
            Ok::<_, TestCaseError>(())
        })?;
    }
}
