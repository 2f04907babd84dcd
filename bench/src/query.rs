//! The query engine over a million entities on disk, and over a list in memory.

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use aql::{
    category::Category,
    define,
    query::{Collection, CursorKey, Query},
    registry::Registry,
};
use gateway::store::{
    EntityStore, Options,
    entities::{Find, NewEntity, collection},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    Result,
    report::{Report, Target, median},
};

pub(crate) const ENTITIES: u64 = 1_000_000;
const BATCH: u64 = 10_000;
const INDEXED: [&str; 3] = ["metadata.status", "metadata.owner.team", "metadata.cost"];
const PAGE_MILLISECONDS_MAX: f64 = 5.0;
const SEARCH_MILLISECONDS_MAX: f64 = 40.0;
const GROUP_MILLISECONDS_MAX: f64 = 500.0;
const LIST_MILLISECONDS_MAX: f64 = 15.0;
const DEEP_PAGE: usize = 10_000;

pub(crate) fn measure(report: &mut Report, entities: u64) -> Result<()> {
    in_memory(report)?;
    projection(report)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let dir = tempfile::tempdir()?;
    let store = build(&runtime, dir.path(), entities, report)?;
    let bench = Bench { runtime, store, list: collection::list()?, search: collection::search()? };
    bench.pages(report)?;
    bench.searches(report)?;
    bench.aggregates(report)?;
    // A short list has no such page.
    if entities >= ENTITIES {
        bench.deep(report)?;
    }
    let Bench { runtime, store, .. } = bench;
    runtime.block_on(store.close());
    Ok(())
}

/// Scatters numbers evenly, always the same.
fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 32)
}

const COMMON: [&str; 12] = [
    "stone", "water", "arch", "valley", "channel", "mortar", "slope", "spring", "basin", "bridge", "tunnel",
    "road",
];

fn entity(number: u64) -> (NewEntity, Timestamp, String) {
    let chance = scattered(number);
    let share = |parts: u64, salt: u64| scattered(number.wrapping_add(salt << 32)) % parts;
    // One half, a tenth, a hundredth and a thousandth, by status.
    let status = match share(1000, 1) {
        0 => "rare",
        1..=10 => "blocked",
        11..=110 => "waiting",
        111..=610 => "active",
        _ => "done",
    };
    let word = |salt: u64| COMMON.get(share(COMMON.len() as u64, salt) as usize).copied().unwrap_or_default();
    let hundredth = if share(100, 9) == 0 { " aqueduct" } else { "" };
    let description = format!(
        "The {} of the {} leads to a {} near the {}, number {}{hundredth}",
        word(2),
        word(3),
        word(4),
        word(5),
        number % 977
    );
    let metadata = json!({
        "status": status,
        "owner": {"team": format!("team-{}", share(40, 6)), "since": 2000 + share(26, 7)},
        "cost": share(100_000, 8) as f64 / 100.0,
        "note": format!("kept by {}", word(10)),
    });
    let kind =
        ["resource", "item", "config", "workflow"].get((chance % 4) as usize).copied().unwrap_or_default();
    let new = NewEntity {
        entity_type: kind.to_owned(),
        name: format!("{}-{number}", word(11)),
        description,
        priority: 1 + (share(10, 12)) as i64,
        tags: Some(vec![word(13).to_owned(), word(14).to_owned()]),
        metadata: metadata.as_object().cloned(),
    };
    let second = 1_700_000_000 + (scattered(number.wrapping_mul(3)) % 60_000_000) as i64;
    let time = Timestamp::new(second, (chance % 1_000_000) as i32 * 1000).unwrap_or_default();
    // As UUID v7 are: in the order of creation.
    (
        new,
        time,
        format!(
            "0198{:04x}-{:04x}-7000-8000-{:012x}",
            number >> 16,
            number & 0xffff,
            chance & 0xffff_ffff_ffff
        ),
    )
}

fn build(runtime: &Runtime, dir: &Path, entities: u64, report: &mut Report) -> Result<EntityStore> {
    const SECTION: &str = "Building the store";
    let started = Instant::now();
    let store = EntityStore::open(dir, Options::default(), &[])?;
    let mut next = 0;
    while next < entities {
        let batch = (next..entities.min(next + BATCH)).map(entity).collect();
        runtime.block_on(store.create_all(batch))?;
        next += BATCH;
    }
    runtime.block_on(store.close());
    report.add(SECTION, format!("{entities} entities"), started.elapsed().as_secs_f64(), "s", Target::None);
    let started = Instant::now();
    let index: Vec<String> = INDEXED.iter().map(|path| (*path).to_owned()).collect();
    let store = EntityStore::open(dir, Options::default(), &index)?;
    let what = format!("indexes on {} paths of them", INDEXED.len());
    report.add(SECTION, what, started.elapsed().as_secs_f64(), "s", Target::None);
    let megabytes = dir.join("entities.db").metadata()?.len() as f64 / 1e6;
    report.add(SECTION, "size of the file", megabytes, "MB", Target::None);
    Ok(store)
}

struct Bench {
    runtime: Runtime,
    store: EntityStore,
    list: Collection,
    search: Collection,
}

/// Milliseconds: half of the calls took no longer, and all but one in a hundred.
struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    fn of(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        let part = |hundredths: usize| all.get((all.len().saturating_sub(1)) * hundredths / 100).copied();
        Self { p50: part(50).unwrap_or(f64::NAN), p99: part(99).unwrap_or(f64::NAN) }
    }
}

impl Bench {
    fn ask(&self, params: &Value, words: Option<&str>) -> Result<Value> {
        let of = if words.is_some() { &self.search } else { &self.list };
        let query = read(params, of)?;
        let find = Find { words: words.map(str::to_owned), entity_type: None };
        let answer = self.runtime.block_on(self.store.query(query, find, Timestamp::UNIX_EPOCH))?;
        Ok(answer.map_err(|error| error.message)?.into_value())
    }

    /// Pages of the query one behind the other, so that no two readings are of the same rows.
    fn series(&self, params: &Value, words: Option<&str>, readings: usize) -> Result<Times> {
        let mut given = params.clone();
        let mut times = Vec::new();
        for _ in 0..readings {
            let started = Instant::now();
            let answer = self.ask(&given, words)?;
            times.push(milliseconds(started.elapsed()));
            let info = answer.get("pageInfo");
            let cursor = info
                .filter(|info| info.get("hasNextPage") == Some(&json!(true)))
                .and_then(|i| i.get("endCursor"));
            given = params.clone();
            if let (Value::Object(given), Some(cursor)) = (&mut given, cursor) {
                given.insert("after".to_owned(), cursor.clone());
            }
        }
        Ok(Times::of(times))
    }

    fn pages(&self, report: &mut Report) -> Result<()> {
        const SECTION: &str = "A page of 25 out of 1,000,000 entities, filtered and sorted on indexed fields";
        let statuses = [("50 %", "active"), ("10 %", "waiting"), ("1 %", "blocked"), ("0.1 %", "rare")];
        let sorts = [
            ("id", "entity_id"),
            ("priority", "priority"),
            ("update", "updated_at"),
            ("an indexed path", "metadata.cost"),
        ];
        for (share, status) in statuses {
            for (name, field) in sorts {
                let params = json!({
                    "filter": {"metadata.status": status}, "sort": {"field": field, "order": "desc"}, "first": 25
                });
                let times = self.series(&params, None, 100)?;
                report.add(SECTION, format!("{share} by {name}, p50"), times.p50, "ms", Target::None);
                let target = Target::AtMost(PAGE_MILLISECONDS_MAX);
                report.add(SECTION, format!("{share} by {name}, p99"), times.p99, "ms", target);
            }
        }
        let two = json!({
            "filter": {"metadata.status": "waiting", "metadata.owner.team": "team-7", "priority": {"gte": 5}},
            "sort": {"field": "updated_at", "order": "desc"}, "first": 25
        });
        let times = self.series(&two, None, 100)?;
        report.add(SECTION, "three conditions by update, p99", times.p99, "ms", Target::None);
        let unindexed = json!({"filter": {"metadata.owner.since": 2010}, "sort": {"field": "metadata.note"}, "first": 25});
        let times = self.series(&unindexed, None, 3)?;
        report.add(SECTION, "nothing of it indexed, p50", times.p50, "ms", Target::None);
        Ok(())
    }

    fn searches(&self, report: &mut Report) -> Result<()> {
        const SECTION: &str = "A page of 25 found by words";
        for (what, words, target) in [
            ("a word in 1 %", "aqueduct", Target::AtMost(SEARCH_MILLISECONDS_MAX)),
            ("three words, one in 1 %, two rarer", "aqueduct 976 \"number 5\"", Target::None),
            ("a word in most", "stone", Target::None),
        ] {
            let times =
                self.series(&json!({"first": 25}), Some(words), if words == "stone" { 5 } else { 50 })?;
            report.add(SECTION, format!("{what}, p50"), times.p50, "ms", Target::None);
            report.add(SECTION, format!("{what}, p99"), times.p99, "ms", target);
        }
        let filtered = json!({"first": 25, "filter": {"metadata.status": "blocked"}});
        let times = self.series(&filtered, Some("aqueduct"), 20)?;
        report.add(SECTION, "a word in 1 %, filtered to 1 % of them, p99", times.p99, "ms", Target::None);
        Ok(())
    }

    fn aggregates(&self, report: &mut Report) -> Result<()> {
        const SECTION: &str = "Aggregations over 1,000,000 entities";
        for (what, aggregate, target) in [
            ("count by an indexed path", json!({"a": {"group_by": "metadata.status", "count": true}}), true),
            ("count by type", json!({"a": {"group_by": "entity_type", "count": true}}), true),
            (
                "average of a path by another, both indexed",
                json!({"a": {"group_by": "metadata.status", "avg": "metadata.cost"}}),
                false,
            ),
        ] {
            let params = json!({"aggregate": aggregate});
            let times = self.series(&params, None, 5)?;
            let target = if target { Target::AtMost(GROUP_MILLISECONDS_MAX) } else { Target::None };
            report.add(SECTION, what, times.p50, "ms", target);
        }
        let total = json!({"first": 25, "include_total": true, "filter": {"metadata.status": "active"}});
        let times = self.series(&total, None, 5)?;
        report.add(SECTION, "a page with the number of all, 50 %", times.p50, "ms", Target::None);
        Ok(())
    }

    /// Pages at the start of a long list and far into it, read in turns so that neither has warmer caches.
    fn deep(&self, report: &mut Report) -> Result<()> {
        const SECTION: &str = "Far into a list";
        const TIMED_PAGES: usize = 200;
        let first = json!({"sort": {"field": "priority"}, "first": 25});
        let mut given = first.clone();
        for _ in 0..DEEP_PAGE - TIMED_PAGES {
            let answer = self.ask(&given, None)?;
            let cursor = answer.pointer("/pageInfo/endCursor").ok_or("the list is too short for this")?;
            if let Value::Object(given) = &mut given {
                given.insert("after".to_owned(), cursor.clone());
            }
        }
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            near.push(self.series(&first, None, TIMED_PAGES)?.p50);
            far.push(self.series(&given, None, TIMED_PAGES)?.p50);
        }
        let (near, far) = (median(near), median(far));
        report.add(SECTION, "pages 1 to 200, p50", near, "ms", Target::None);
        report.add(SECTION, "pages 9,801 to 10,000, p50", far, "ms", Target::None);
        report.add(SECTION, "their ratio", far / near, "", Target::AtMost(1.5));
        Ok(())
    }
}

fn read(params: &Value, of: &Collection) -> Result<Query> {
    let params = params.as_object().cloned().unwrap_or_default();
    Query::read(&params, of, &CursorKey::new(&[7; 32])).map_err(|error| error.message.into())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A query over a list in memory, always the same.
pub(crate) struct InMemory {
    json: Vec<u8>,
    query: Query,
}

impl InMemory {
    /// Pages of a list with that many bytes of JSON or a little more.
    pub(crate) fn new(bytes: usize, page_size: usize) -> Result<Self> {
        let (mut items, mut size, mut number) = (Vec::new(), 0, 0);
        while size < bytes {
            let (new, time, id) = entity(number);
            let item = json!({
                "id": id, "kind": new.entity_type, "name": new.name, "priority": new.priority, "tags": new.tags,
                "description": new.description, "metadata": new.metadata, "at": time.to_string(),
            });
            size += item.to_string().len();
            items.push(item);
            number += 1;
        }
        let of = Collection::builder("list").id("id").observed(&items).build()?;
        let params = json!({
            "filter": {"priority": {"gte": 3}, "not": {"metadata.status": "done"}},
            "sort": [{"field": "priority", "order": "desc"}, {"field": "name"}], "first": page_size
        });
        Ok(Self { json: serde_json::to_vec(&items)?, query: read(&params, &of)? })
    }

    /// Parses the list, runs the query and writes three fields of each item; the number of bytes written.
    pub(crate) fn run(&self) -> Result<usize> {
        let items: Vec<Value> = serde_json::from_slice(black_box(&self.json))?;
        let answer = self.query.run(items, Timestamp::UNIX_EPOCH).map_err(|error| error.message)?;
        let mut data = answer.into_value();
        for item in data.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Value::Object(item) = item {
                item.retain(|key, _| ["id", "name", "priority"].contains(&key.as_str()));
            }
        }
        Ok(black_box(data.to_string()).len())
    }

    /// The query alone, over items that are there.
    pub(crate) fn evaluate(&self, items: Vec<Value>) -> Result<usize> {
        let answer = self.query.run(items, Timestamp::UNIX_EPOCH).map_err(|error| error.message)?;
        Ok(answer.page.map_or(0, |(items, _)| items.len()))
    }

    pub(crate) fn items(&self) -> Result<Vec<Value>> {
        Ok(serde_json::from_slice(&self.json)?)
    }
}

fn in_memory(report: &mut Report) -> Result<()> {
    const SECTION: &str = "A query over 1 MB of JSON in memory";
    let list = InMemory::new(1_000_000, 25)?;
    let (mut whole, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let started = Instant::now();
        list.run()?;
        whole.push(milliseconds(started.elapsed()));
        let items = list.items()?;
        let started = Instant::now();
        list.evaluate(items)?;
        alone.push(milliseconds(started.elapsed()));
    }
    let (whole, alone) = (Times::of(whole), Times::of(alone));
    let target = Target::AtMost(LIST_MILLISECONDS_MAX);
    report.add(SECTION, "parse, filter, sort, page, project, write, p50", whole.p50, "ms", target);
    report.add(SECTION, "  the same, p99", whole.p99, "ms", Target::None);
    report.add(SECTION, "  of it, the query, p50", alone.p50, "ms", Target::None);
    Ok(())
}

/// What choosing three fields of thirty saves a model, for a page of 25.
fn projection(report: &mut Report) -> Result<()> {
    let names: Vec<String> = (1..=30).map(|number| format!("field_{number}")).collect();
    let item = |row: u64| -> Value {
        let value = |field: u64| match field % 3 {
            0 => json!(scattered(row * 100 + field) % 100_000),
            1 => json!(entity(row * 100 + field).0.name),
            _ => json!(entity(row * 100 + field).0.description),
        };
        names.iter().zip(0..).map(|(name, field)| (name.clone(), value(field))).collect()
    };
    let data = json!({"items": (0..25).map(item).collect::<Vec<_>>()});
    let selection = define::Selection {
        answers: define::Answers::Collection,
        minimal: names.iter().take(1).cloned().collect(),
        standard: names.clone(),
        full: names.clone(),
        presets: Default::default(),
    };
    let operation =
        define::Operation::new(Category::Read, "list_things", "Lists things").selection(selection);
    let registry = Registry::builder("bench").operations(vec![operation]).build()?;
    let selection = registry.operations().find_map(|(_, operation)| operation.selection());
    let selection = selection.ok_or("the operation has no selection")?;
    let (chosen, _) =
        selection.choose(&json!(["field_1", "field_2", "field_3"])).map_err(|unknown| unknown.given)?;
    let few = selection.apply(&chosen, data.clone());
    let tokenizer = tiktoken_rs::o200k_base()?;
    let count = |value: &Value| tokenizer.encode_ordinary(&value.to_string()).len() as f64;
    let saved = 100.0 * (1.0 - count(&few) / count(&data));
    report.add(
        "Field selection",
        "3 fields of 30, a page of 25: saved",
        saved,
        "% of tokens",
        Target::AtLeast(80.0),
    );
    Ok(())
}
