//! OTLP from end to end: any span of ours there and back, what others send, and what nobody should.

mod deliver;
mod hostile;
mod names;
mod receive;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::store::traces::Packed;
use crate::trace::{Attributes, Engine, Happening, Kind, Link, SpanId, Status, TraceId};

/// 2026-11-16, in the middle of the day.
pub(crate) const NOW: Nanos = 1_794_830_400_000_000_000;

/// What was read, as spans.
fn unpacked(read: &Received) -> Vec<Span> {
    read.spans.iter().map(Packed::span).collect()
}

pub(crate) fn some_span() -> Span {
    Span {
        trace: TraceId([7; 16]),
        id: SpanId([9; 8]),
        parent: None,
        session: "r-1".to_owned(),
        engine: Engine::Inbound,
        name: "tools/call search".to_owned(),
        kind: Kind::Server,
        status: Status::Ok,
        started: NOW - 5_000_000,
        ended: Some(NOW),
        waited: 0,
        attributes: Attributes::new(),
        events: Vec::new(),
        links: Vec::new(),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other numbers", |n| n.is_finite()).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::String("\u{0}\"\\\u{7f}ä😀".to_owned())),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Our own names among them, since these get others beside them.
fn attributes() -> impl Strategy<Value = Attributes> {
    use crate::trace::names;
    let name = prop_oneof![
        "[a-z]{1,4}(\\.[a-z_]{1,6}){0,2}",
        prop::sample::select(vec![
            names::METHOD,
            names::TOOL,
            names::RPC_ID,
            names::TRANSPORT,
            names::INPUT,
            names::ERROR_CODE,
            names::ERROR_MESSAGE,
            names::AGENT,
            names::otel::METHOD,
            names::otel::SESSION,
            "tool.name",
            "gen_ai.request.model",
        ])
        .prop_map(str::to_owned),
    ];
    // Names of secrets are no names that come back.
    let name = name.prop_filter("a secret's", |name| {
        let known = known::known(name);
        !known.is_secret && !known.holds_secret
    });
    prop::collection::btree_map(name, value(), 0..8).prop_map(|pairs| pairs.into_iter().collect())
}

fn happening() -> impl Strategy<Value = Happening> {
    ("\\PC{0,12}", 0..NOW, attributes()).prop_map(|(name, at, attributes)| Happening { name, at, attributes })
}

fn link() -> impl Strategy<Value = Link> {
    (any::<[u8; 16]>(), any::<[u8; 8]>(), attributes())
        .prop_filter("an id", |(trace, span, _)| *trace != [0; 16] && *span != [0; 8])
        .prop_map(|(trace, span, attributes)| Link { trace: TraceId(trace), span: SpanId(span), attributes })
}

/// Any span that we may have recorded.
pub(crate) fn span() -> impl Strategy<Value = Span> {
    let ids = (any::<[u8; 16]>(), any::<[u8; 8]>(), any::<Option<[u8; 8]>>())
        .prop_filter("ids", |(trace, id, parent)| {
            *trace != [0; 16] && *id != [0; 8] && *parent != Some([0; 8])
        });
    let words = (
        prop::sample::select(Engine::ALL),
        prop::sample::select(Kind::ALL),
        prop::sample::select(Status::ALL),
    );
    let times = (EARLIEST..NOW, prop::option::of(0..86_400_000_000_000_i64), 0..1_000_000_000_000_i64);
    let parts = (attributes(), prop::collection::vec(happening(), 0..3), prop::collection::vec(link(), 0..3));
    (ids, "\\PC{1,20}", "\\PC{0,30}", words, times, parts).prop_map(
        |((trace, id, parent), session, name, (engine, kind, status), (started, took, waited), parts)| {
            let mut span = Span {
                trace: TraceId(trace),
                id: SpanId(id),
                parent: parent.map(SpanId),
                session,
                engine,
                name,
                kind,
                status,
                started,
                ended: took.map(|took| started + took),
                waited,
                attributes: parts.0,
                events: parts.1,
                links: parts.2,
            };
            // What looks like a secret is none of what comes back.
            tidy(&mut span);
            veil::text(&mut span.session);
            span
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_is_read_back_equal(spans in prop::collection::vec(span(), 0..5)) {
        let sorted = |mut spans: Vec<Span>| {
            // Spans of one agent stand together when they are written.
            spans.sort_by_key(|span| (span.trace, span.id));
            spans
        };
        let spans = sorted(spans);
        let read = read::protobuf(&write::protobuf(&spans), NOW).unwrap();
        prop_assert_eq!((read.rejected, read.why), (0, None));
        prop_assert_eq!(sorted(unpacked(&read)), spans.clone());
        let read = read::json(&write::json(&spans).unwrap(), NOW).unwrap();
        prop_assert_eq!((read.rejected, read.why), (0, None));
        prop_assert_eq!(sorted(unpacked(&read)), spans);
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read::protobuf(&bytes, NOW);
        let _ = read::json(&bytes, NOW);
        let _ = read::unpack(&bytes);
    }

    /// A request that lost its end, or has one byte changed, is read or refused, and nothing else.
    #[test]
    fn damage_is_survived(spans in prop::collection::vec(span(), 1..3), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for whole in [write::protobuf(&spans), write::json(&spans).unwrap()] {
            let mut damaged = whole.clone();
            let place = place.index(whole.len());
            damaged[place] = byte;
            for bytes in [damaged.as_slice(), &whole[..place]] {
                for received in [read::protobuf(bytes, NOW), read::json(bytes, NOW)].into_iter().flatten() {
                    prop_assert!(received.spans.len() <= spans.len() + 1);
                }
            }
        }
    }
}
