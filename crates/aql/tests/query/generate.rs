//! Random items and random queries about them.

use std::sync::LazyLock;

use aql::query::{Collection, CursorKey, Kind, Query, Style};
use jiff::Timestamp;
use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

static THINGS: LazyLock<Collection> = LazyLock::new(|| {
    Collection::builder("things")
        .id("id")
        .distinct("id", Kind::Text)
        .field("status", Kind::Text)
        .field("priority", Kind::Number)
        .field("done", Kind::Boolean)
        .field("tags", Kind::List)
        .field("owner.login", Kind::Text)
        .open("metadata")
        .paged_by(Style::Cursor)
        .paged_by(Style::Offset)
        .paged_by(Style::Page)
        .build()
        .unwrap()
});

pub(crate) fn things() -> &'static Collection {
    &THINGS
}

pub(crate) fn key() -> CursorKey {
    CursorKey::new(&[42; 32])
}

pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn read(params: &Value) -> Query {
    Query::read(params.as_object().unwrap(), things(), &key()).unwrap_or_else(|e| panic!("{e:?}\n{params}"))
}

pub(crate) fn run(params: &Value, items: &[Value]) -> Value {
    read(params).run(items.to_vec(), now()).unwrap().into_value()
}

fn text() -> impl Strategy<Value = Value> {
    select(vec!["", "a", "A", "ab", "b", "ba", "é", "😀", "null", "1", "\"1\"", "active"])
        .prop_map(Value::from)
}

/// Few enough that they meet, and all sums of them are exact in a float too.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3_i64..4).prop_map(Value::from),
        (-3_i64..4).prop_map(|n| json!(n as f64)),
        (-6_i64..7).prop_map(|n| json!(n as f64 / 4.0)),
    ]
}

/// Numbers that are only told apart exactly.
fn large() -> impl Strategy<Value = Value> {
    select(vec![
        json!(9_007_199_254_740_992_i64),
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992.0),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(9_223_372_036_854_775_808.0),
        json!(u64::MAX),
        json!(18_446_744_073_709_551_616.0),
        json!(-1e300),
    ])
}

pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        large(),
        text(),
        text().prop_map(|end| format!("{}{}", "x".repeat(255), end.as_str().unwrap()).into()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn maybe(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Option<Value>> {
    prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 5 => value.prop_map(Some)].boxed()
}

/// Everything of an item but its id.
fn body() -> impl Strategy<Value = Map<String, Value>> {
    let tags = prop::collection::vec(text(), 0..3).prop_map(Value::from);
    let metadata = (maybe(number()), maybe(anything()), maybe(anything())).prop_map(|(n, x, z)| {
        let mut metadata = present([("n", n), ("x", x)]);
        metadata.insert("y".to_owned(), Value::Object(present([("z", z)])));
        Value::Object(metadata)
    });
    let owner = maybe(text()).prop_map(|login| Value::Object(present([("login", login)])));
    (
        maybe(text()),
        maybe(number()),
        maybe(any::<bool>().prop_map(Value::from)),
        maybe(tags),
        maybe(owner),
        metadata,
    )
        .prop_map(|(status, priority, done, tags, owner, metadata)| {
            present([
                ("status", status),
                ("priority", priority),
                ("done", done),
                ("tags", tags),
                ("owner", owner),
                ("metadata", Some(metadata)),
            ])
        })
}

fn present<const N: usize>(entries: [(&str, Option<Value>); N]) -> Map<String, Value> {
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Items with ids of their own, in no order.
pub(crate) fn items(max: usize) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::hash_map("[a-zA-Z0-9]{1,4}", body(), 0..max).prop_map(|items| {
        let whole = |(id, mut body): (String, Map<String, Value>)| {
            body.insert("id".to_owned(), id.into());
            Value::Object(body)
        };
        items.into_iter().map(whole).collect()
    })
}

fn tests(
    path: &'static str,
    value: BoxedStrategy<Value>,
    bound: Option<BoxedStrategy<Value>>,
    part: Option<BoxedStrategy<Value>>,
) -> BoxedStrategy<Value> {
    let or_null = prop_oneof![5 => value, 1 => Just(Value::Null)].boxed();
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
    if let Some(part) = part {
        operators.push(with("contains", part));
        if path != "tags" {
            operators.push(with("starts_with", text().boxed()));
        }
    }
    let operators = prop::collection::vec(prop::strategy::Union::new(operators), 1..3)
        .prop_map(|operators| Value::Object(operators.into_iter().collect()));
    // An object has to be compared with 'eq'.
    let bare = or_null.prop_filter("no object", |value| !value.is_object());
    prop_oneof![3 => operators, 1 => bare].prop_map(move |test| json!({path: test})).boxed()
}

pub(crate) fn filter() -> impl Strategy<Value = Value> {
    let any_bound = prop_oneof![number(), large(), text()].boxed();
    let free = |path| tests(path, anything().boxed(), Some(any_bound.clone()), Some(anything().boxed()));
    let leaf = prop_oneof![
        tests("status", text().boxed(), Some(text().boxed()), Some(text().boxed())),
        tests("owner.login", text().boxed(), Some(text().boxed()), Some(text().boxed())),
        tests("priority", number().boxed(), Some(prop_oneof![number(), large()].boxed()), None),
        tests("done", any::<bool>().prop_map(Value::from).boxed(), None, None),
        tests(
            "tags",
            prop::collection::vec(text(), 0..3).prop_map(Value::from).boxed(),
            None,
            Some(text().boxed())
        ),
        free("metadata.x"),
        free("metadata.y.z"),
        free("metadata.n"),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            several.clone().prop_map(|all| json!({"and": all})),
            several.prop_map(|all| json!({"or": all})),
            inner.clone().prop_map(|one| json!({"not": one})),
            (inner.clone(), inner).prop_map(|(a, b)| {
                let mut both = a.as_object().unwrap().clone();
                both.extend(b.as_object().unwrap().clone());
                Value::Object(both)
            }),
        ]
    })
}

const SORTABLE: [&str; 7] = ["status", "priority", "done", "owner.login", "metadata.x", "metadata.n", "id"];

/// The value of `sort`, or null for none.
pub(crate) fn sort() -> impl Strategy<Value = Value> {
    let key =
        (select(&SORTABLE[..]), select(vec![None, Some("asc"), Some("desc")])).prop_map(|(field, order)| {
            match order {
                None => json!({"field": field}),
                Some(order) => json!({"field": field, "order": order}),
            }
        });
    prop_oneof![
        1 => Just(Value::Null),
        3 => key.clone(),
        3 => prop::collection::vec(key, 1..4).prop_map(Value::from),
    ]
}

pub(crate) fn aggregate() -> impl Strategy<Value = Value> {
    const SUMMED: [&str; 2] = ["priority", "metadata.n"];
    const GROUPED: [&str; 5] = ["status", "priority", "done", "owner.login", "metadata.x"];
    let functions = prop::sample::subsequence(vec!["sum", "avg", "min", "max"], 0..=3);
    let expression = (functions, any::<bool>(), select(&SUMMED[..]), select(&GROUPED[..]), 0..3).prop_map(
        |(functions, count, summed, grouped, shape)| {
            let mut expression = Map::new();
            for function in functions {
                let path = if function.starts_with('m') && shape == 1 { grouped } else { summed };
                expression.insert(function.to_owned(), path.into());
            }
            if count || expression.is_empty() {
                expression.insert("count".to_owned(), true.into());
            }
            if shape > 0 {
                expression.insert("group_by".to_owned(), grouped.into());
            }
            Value::Object(expression)
        },
    );
    prop::collection::btree_map("[a-z]{1,3}", expression, 1..4)
        .prop_map(|labels| Value::Object(labels.into_iter().collect()))
}

/// Parameters without those that are null.
pub(crate) fn params(entries: &[(&str, Value)]) -> Value {
    let given = entries.iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}
