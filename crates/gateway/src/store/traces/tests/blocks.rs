//! A trace in columns says what its rows say.

use std::sync::mpsc;

use super::{
    super::{Piece, SpanBlock, SpanRow},
    *,
};

/// What a tree shows of a span.
type Shown = (String, String, String, [i64; 3], [String; 8]);

fn of_row(row: SpanRow) -> Shown {
    let parent = row.parent_id.unwrap_or_else(|| "0".repeat(16));
    let numbers = [row.started_us, row.duration_us.unwrap_or(-1), row.waited_us];
    let optional = [row.operation, row.tool, row.peer, row.agent, row.error].map(Option::unwrap_or_default);
    let [operation, tool, peer, agent, error] = optional;
    let texts = [row.status.to_owned(), row.kind.to_owned(), row.name, operation, tool, peer, agent, error];
    (row.trace_id, row.span_id, parent, numbers, texts)
}

/// Reads blocks as anybody would who knows only what is said of them.
fn of_blocks(blocks: Vec<SpanBlock>) -> Vec<Shown> {
    let mut words = vec![String::new()];
    let mut shown = Vec::new();
    for block in blocks {
        words.extend(block.words.iter().cloned());
        let columns = [
            &block.status,
            &block.kind,
            &block.name,
            &block.operation,
            &block.tool,
            &block.peer,
            &block.agent,
            &block.error,
        ];
        let mut started = 0;
        for at in 0..block.spans() {
            started += block.started_us[at];
            let id = |ids: &str| ids[at * 16..(at + 1) * 16].to_owned();
            shown.push((
                block.trace_id.clone(),
                id(&block.span_ids),
                id(&block.parent_ids),
                [started, block.duration_us[at], block.waited_us[at]],
                columns.map(|column| words[column[at] as usize].clone()),
            ));
        }
    }
    let distinct: std::collections::HashSet<_> = words.iter().collect();
    assert_eq!(distinct.len(), words.len(), "a word is told once");
    shown
}

async fn by_rows(store: &TraceStore, trace: TraceId) -> Vec<Shown> {
    let (sender, receiver) = mpsc::channel();
    let take = move |piece| {
        let Piece::Row(row) = piece else { panic!("rows were asked for") };
        sender.send(*row).is_ok()
    };
    store.trace(trace, false, take).await.unwrap();
    receiver.into_iter().map(of_row).collect()
}

async fn by_blocks(store: &TraceStore, trace: TraceId, blocks_max: usize) -> (u64, Vec<SpanBlock>) {
    let (sender, receiver) = mpsc::channel();
    let mut left = blocks_max;
    let take = move |block| {
        left -= 1;
        sender.send(block).is_ok() && left > 0
    };
    let count = store.trace_blocks(trace, take).await.unwrap();
    (count, receiver.into_iter().collect())
}

#[tokio::test]
async fn columns_say_what_rows_say() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let root = running(span(1));
    let mut spans = vec![root.clone()];
    for number in 2..=4500 {
        let mut one = call(number, &root, &format!("srv-{}", number % 3));
        one.name = format!("call {} \"\\ \n漢 {}", number % 7, if number > 4000 { "late" } else { "" });
        one.waited = (number as i64 % 5) * 1_000_000;
        if number % 11 == 0 {
            one.status = Status::Error;
            one.attributes.insert(names::ERROR_CODE.to_owned(), json!("TIMEOUT"));
            one.attributes.insert(names::OPERATION.to_owned(), json!("read"));
        }
        if number % 13 == 0 {
            // Clocks go backwards, and parents may be anything.
            (one.started, one.parent) = (one.started - 90 * SECOND, Some(SpanId([255; 8])));
        }
        spans.push(one);
    }
    // Told backwards, as they are when children end before their parents.
    spans.reverse();
    appender.append(&batch(spans), NOW).unwrap();
    // What is reported under an id of ours is not told, and what is not ours is.
    let mut claimed = call(7, &root, "liar");
    claimed.name = "claimed".to_owned();
    appender.append(&reported([claimed, call(9000, &root, "other")]), NOW).unwrap();

    let (count, blocks) = by_blocks(&store, root.trace, usize::MAX).await;
    assert_eq!((count, blocks.len()), (4501, 3));
    let lengths: Vec<usize> = blocks.iter().map(SpanBlock::spans).collect();
    assert_eq!(lengths, [2000, 2000, 501]);
    let (mut told, mut expected) = (of_blocks(blocks), by_rows(&store, root.trace).await);
    assert_eq!(told.last().map(|last| last.1.clone()), Some(SpanId(9000_u64.to_be_bytes()).to_string()));
    told.sort();
    expected.sort();
    assert_eq!(told, expected);

    let (_, first) = by_blocks(&store, root.trace, 1).await;
    assert_eq!(first.len(), 1, "who wants no more gets no more");
    assert!(store.has_trace(root.trace).await.unwrap());
    assert!(!store.has_trace(TraceId([9; 16])).await.unwrap());
    assert_eq!(by_blocks(&store, TraceId([9; 16]), 1).await, (0, Vec::new()));
}
