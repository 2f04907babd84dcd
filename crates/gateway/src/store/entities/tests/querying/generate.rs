//! Random entities and queries about them.

use proptest::sample::{select, subsequence};

use super::*;

const METADATA: [&str; 4] = ["metadata.x", "metadata.y.z", "metadata.n", "metadata.q'\"u %"];

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "a", "A", "ab", "b", "é", "😀", "null", "1", "a\0b", "\u{10ffff}", "it's"])
        .prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-3_i64..12).prop_map(Value::from),
        2 => (-6_i64..7).prop_map(|n| json!(n as f64 / 4.0)),
        1 => select(vec![
            json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), json!(i64::MIN), json!(i64::MAX),
            json!(u64::MAX), json!(18_446_744_073_709_551_616.0), json!(-1e300), json!(-0.0), json!(5e-324),
        ]),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    let long = (254_usize..258, text()).prop_map(|(length, end)| Value::from("x".repeat(length) + &end));
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        3 => number(),
        3 => text().prop_map(Value::from),
        1 => long,
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..2)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const VOCABULARY: [&str; 5] = ["stone", "water", "arch", "road", "lime"];

fn prose() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&VOCABULARY[..]), 0..4).prop_map(|words| words.join(" "))
}

fn optional(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![1 => Just(None), 4 => value.prop_map(Some)]
}

fn data() -> impl Strategy<Value = Option<Map<String, Value>>> {
    let inner = (
        optional(anything()),
        optional(anything()),
        optional(number()),
        optional(text().prop_map(Value::from)),
        prose(),
    );
    let map = inner.prop_map(|(x, z, n, q, words)| {
        let mut map = Map::new();
        map.insert("words".to_owned(), json!({"deep": [words]}));
        map.extend(x.map(|x| ("x".to_owned(), x)));
        map.extend(n.map(|n| ("n".to_owned(), n)));
        map.extend(q.map(|q| ("q'\"u %".to_owned(), q)));
        map.extend(z.map(|z| ("y".to_owned(), json!({"z": z}))));
        map
    });
    prop_oneof![1 => Just(None), 6 => map.prop_map(Some)]
}

fn entity() -> impl Strategy<Value = NewEntity> {
    let tags = prop_oneof![Just(None), prop::collection::vec(prose(), 0..3).prop_map(Some)];
    (select(vec!["note", "task", "item"]), prose(), prose(), 0_i64..5, tags, data()).prop_map(
        |(entity_type, name, description, priority, tags, metadata)| NewEntity {
            entity_type: entity_type.into(),
            name: format!("{name} "),
            description,
            priority,
            tags,
            metadata,
        },
    )
}

pub(super) fn entities(max: usize) -> impl Strategy<Value = Vec<NewEntity>> {
    prop::collection::vec(entity(), 0..max)
}

pub(super) fn index() -> impl Strategy<Value = Vec<String>> {
    subsequence(METADATA.to_vec(), 0..=4).prop_map(|paths| paths.into_iter().map(str::to_owned).collect())
}

fn time() -> impl Strategy<Value = Value> {
    (0_i64..5, 0_usize..5).prop_map(|(step, form)| {
        let time = at(step * 86_400 * 15).to_string();
        let micros = at(step * 86_400 * 15).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        match form {
            0 => json!(time.get(..10)),
            1 => json!(format!("{}Z", time.get(..19).unwrap())),
            2 => json!(micros),
            _ => json!(time),
        }
    })
}

fn tests(
    path: &'static str,
    value: BoxedStrategy<Value>,
    bound: Option<BoxedStrategy<Value>>,
    start: Option<BoxedStrategy<Value>>,
) -> BoxedStrategy<Value> {
    let or_null = prop_oneof![6 => value, 1 => Just(Value::Null)].boxed();
    let with = |operator: &'static str, operand: BoxedStrategy<Value>| {
        operand.prop_map(move |operand| (operator.to_owned(), operand)).boxed()
    };
    let list = prop::collection::vec(or_null.clone(), 0..4).prop_map(Value::from).boxed();
    let mut operators = vec![
        with("eq", or_null.clone()),
        with("ne", or_null.clone()),
        with("in", list.clone()),
        with("nin", list),
        with("exists", any::<bool>().prop_map(Value::from).boxed()),
    ];
    if let Some(bound) = bound {
        operators.extend(["gt", "gte", "lt", "lte"].map(|operator| with(operator, bound.clone())));
    }
    if let Some(start) = start {
        operators.push(with("starts_with", start.clone()));
        operators.push(with("contains", start));
    }
    prop::collection::vec(prop::strategy::Union::new(operators), 1..3)
        .prop_map(move |operators| json!({path: Value::Object(operators.into_iter().collect())}))
        .boxed()
}

pub(super) fn filter() -> impl Strategy<Value = Value> {
    let texts = || text().prop_map(Value::from).boxed();
    let long = || (254_usize..258, text()).prop_map(|(n, end)| Value::from("x".repeat(n) + &end));
    let starts = || prop_oneof![texts(), long()].boxed();
    let bounds = || prop_oneof![number(), texts(), long()].boxed();
    let typed =
        |path, value: BoxedStrategy<Value>| tests(path, value.clone(), Some(value.clone()), Some(value));
    let free = |path| tests(path, anything().boxed(), Some(bounds()), Some(starts()));
    let leaf = prop_oneof![
        typed("entity_type", select(vec!["note", "task", "nope"]).prop_map(Value::from).boxed()),
        typed("entity_id", (0_usize..24).prop_map(|n| json!(id(n * 7919 % 10_007))).boxed()),
        typed("entity_name", select(vec!["stone ", "stone", "w", ""]).prop_map(Value::from).boxed()),
        tests("priority", number().boxed(), Some(number().boxed()), None),
        tests("created_at", time().boxed(), Some(time().boxed()), None),
        tests("updated_at", time().boxed(), Some(time().boxed()), None),
        tests("_computed.relation_count", (0..3).prop_map(Value::from).boxed(), None, None),
        tests("_computed.is_stale", any::<bool>().prop_map(Value::from).boxed(), None, None),
        free(METADATA[0]),
        free(METADATA[1]),
        free(METADATA[2]),
        free(METADATA[3]),
        free("metadata.a\0b"),
        Just(json!({})),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            3 => several.clone().prop_map(|all| json!({"and": all})),
            1 => several.prop_map(|all| json!({"or": all})),
            1 => inner.prop_map(|one| json!({"not": one})),
        ]
    })
}

const SORTABLE: [&str; 12] = [
    "entity_id",
    "entity_type",
    "entity_name",
    "description",
    "priority",
    "created_at",
    "updated_at",
    METADATA[0],
    METADATA[1],
    METADATA[3],
    "_computed.relation_count",
    "_computed.estimated_tokens",
];

pub(super) fn sort() -> impl Strategy<Value = Value> {
    let key = (select(&SORTABLE[..]), select(vec!["asc", "desc"]))
        .prop_map(|(field, order)| json!({"field": field, "order": order}));
    prop_oneof![
        1 => Just(Value::Null),
        3 => key.clone(),
        2 => prop::collection::vec(key, 1..4).prop_map(Value::from),
    ]
}

fn aggregate() -> impl Strategy<Value = Value> {
    let target = select(vec!["priority", "metadata.n", "metadata.x"]);
    let group = select(vec![
        None,
        Some("entity_type"),
        Some("priority"),
        Some("metadata.x"),
        Some("metadata.y.z"),
        Some("metadata.y"),
        Some("created_at"),
        Some("metadata.q'\"u %"),
    ]);
    let functions = subsequence(vec!["sum", "avg", "min", "max"], 0..=2);
    let one = (target, group, functions, any::<bool>()).prop_map(|(target, group, functions, count)| {
        let mut one: Map<String, Value> =
            functions.into_iter().map(|function| (function.to_owned(), target.into())).collect();
        if count || one.is_empty() {
            one.insert("count".to_owned(), true.into());
        }
        one.extend(group.map(|group| ("group_by".to_owned(), group.into())));
        Value::Object(one)
    });
    prop::collection::btree_map("[a-c]", one, 1..3).prop_map(|all| Value::Object(all.into_iter().collect()))
}

fn window() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    prop_oneof![
        3 => (1_usize..6).prop_map(|size| vec![("first", json!(size))]),
        3 => (1_usize..6).prop_map(|size| vec![("last", json!(size))]),
        1 => (0_usize..12, 1_usize..5).prop_map(|(offset, limit)| vec![("offset", json!(offset)), ("limit", json!(limit))]),
        1 => (1_usize..5, 1_usize..5).prop_map(|(page, size)| vec![("page", json!(page)), ("page_size", json!(size))]),
    ]
}

/// Parameters, and what they are over.
pub(super) fn query() -> impl Strategy<Value = (Value, Find)> {
    let aggregate = prop_oneof![3 => Just(Value::Null), 1 => aggregate()];
    let flags = (prop_oneof![Just(Value::Null), Just(json!(true))], any::<bool>());
    let entity_type = prop_oneof![3 => Just(None), 1 => Just(Some("note".to_owned()))];
    (filter(), sort(), aggregate, window(), flags, entity_type).prop_map(
        |(filter, sort, aggregate, window, (total, items), entity_type)| {
            let mut given = vec![("filter", filter), ("sort", sort)];
            if aggregate.is_null() || items {
                given.push(("include_total", total));
            }
            if !aggregate.is_null() {
                given.extend([("aggregate", aggregate), ("include_items", json!(items))]);
            }
            given.push(("fields", json!(["_computed.age_days", "_computed.estimated_tokens"])));
            given.extend(window);
            (params(&given), Find { entity_type, words: None })
        },
    )
}

pub(super) fn words() -> impl Strategy<Value = String> {
    let term = prop_oneof![
        3 => select(&VOCABULARY[..]).prop_map(str::to_owned),
        1 => (select(&VOCABULARY[..]), select(&VOCABULARY[..])).prop_map(|(a, b)| format!("\"{a} {b}\"")),
        1 => Just("nothing".to_owned()),
    ];
    prop::collection::vec(term, 0..4).prop_map(|terms| terms.join(" "))
}

/// What happens between two pages.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) gone: Vec<usize>,
    pub(super) come: Vec<NewEntity>,
}

pub(super) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (prop::collection::vec(0_usize..24, 0..3), entities(3))
        .prop_map(|(gone, come)| Change { gone, come });
    prop::collection::vec(change, 0..8)
}

/// Parameters without those that are null.
pub(super) fn params(entries: &[(&str, Value)]) -> Value {
    let given = entries.iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}
