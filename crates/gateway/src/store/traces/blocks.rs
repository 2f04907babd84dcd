//! A trace in columns: a seventh of the size of its rows, and much quicker to write and to read.

use std::collections::HashMap;

use rusqlite::Row;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::Error,
    TraceStore, members,
    readers::Days,
    rows::{between, micros, push_hex},
    schema::{kind_of, status_of},
    trees::each_member,
};
use crate::trace::{Nanos, TraceId};

/// Spans of a block. The first is drawn while the next ones are read.
const BLOCK_SPANS: usize = 2000;

/// Spans of a trace, as much of them as a tree shows. The first entry of each column is of the first span, and so on.
///
/// Columns of texts hold numbers. The words of all blocks so far, one behind the other, are counted from 1; 0 is no text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SpanBlock {
    pub trace_id: String,
    /// Words that no block before this one had.
    pub words: Vec<String>,
    /// 16 digits for each, with nothing between them.
    pub span_ids: String,
    /// The same; zeros where there is no parent.
    pub parent_ids: String,
    /// Since the start of the span before it; of the first since 1970.
    pub started_us: Vec<i64>,
    /// -1 where it has not ended.
    pub duration_us: Vec<i64>,
    pub waited_us: Vec<i64>,
    pub status: Vec<u32>,
    pub kind: Vec<u32>,
    pub name: Vec<u32>,
    pub operation: Vec<u32>,
    pub tool: Vec<u32>,
    pub peer: Vec<u32>,
    pub agent: Vec<u32>,
    pub error: Vec<u32>,
}

impl SpanBlock {
    #[must_use]
    pub fn spans(&self) -> usize {
        self.started_us.len()
    }
}

const COLUMNS: &str = "s.started, s.span, s.parent, s.ended, s.waited, s.status, s.kind, \
     s.name, s.operation, s.tool, s.peer, s.agent, s.error";

impl TraceStore {
    /// Hands the spans of a trace to `take` in blocks, until that wants no more. How many spans there were.
    ///
    /// What we recorded comes before what was reported and the oldest day first, but within a day they come as they are kept: to
    /// sort them takes as long as to read them, and who makes a tree of them sorts anyway. `take` may wait.
    pub async fn trace_blocks(
        &self,
        trace: TraceId,
        take: impl FnMut(SpanBlock) -> bool + Send + 'static,
    ) -> Result<u64, Error> {
        let mut take = take;
        let read = move |days: &Days<'_>| {
            let statement = format!("SELECT {COLUMNS} FROM {} WHERE r.trace = ?1", members::OF_TRACE);
            let mut writer = Writer::default();
            let mut finish =
                |writer: &mut Writer| take(SpanBlock { trace_id: trace.to_string(), ..writer.finish() });
            let count = each_member(days, trace, &statement, |row, _| {
                writer.add(row)?;
                Ok(writer.block.spans() < BLOCK_SPANS || finish(&mut writer))
            })?;
            if writer.block.spans() > 0 {
                finish(&mut writer);
            }
            Ok(count)
        };
        self.shared.readers.run(read).await
    }
}

/// Makes blocks of rows.
#[derive(Default)]
struct Writer {
    block: SpanBlock,
    numbers: HashMap<String, u32, foldhash::fast::RandomState>,
    started_us: i64,
}

impl Writer {
    fn add(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let (started, ended): (Nanos, Option<Nanos>) = (row.get(0)?, row.get(3)?);
        push_hex(&mut self.block.span_ids, &row.get::<_, i64>(1)?.to_be_bytes());
        let parent = row.get::<_, Option<i64>>(2)?.unwrap_or_default();
        push_hex(&mut self.block.parent_ids, &parent.to_be_bytes());
        let started_us = micros(started);
        self.block.started_us.push(started_us - self.started_us);
        self.started_us = started_us;
        self.block.duration_us.push(ended.map_or(-1, |ended| between(started, ended)));
        self.block.waited_us.push(row.get::<_, i64>(4)?.max(0) / 1000);
        let status = self.number(status_of(row.get(5)?).as_str());
        self.block.status.push(status);
        let kind = self.number(kind_of(row.get(6)?).as_str());
        self.block.kind.push(kind);
        let mut text = |column| {
            Ok::<_, rusqlite::Error>(self.number(row.get_ref(column)?.as_str_or_null()?.unwrap_or_default()))
        };
        let (name, operation, tool) = (text(7)?, text(8)?, text(9)?);
        let (peer, agent, error) = (text(10)?, text(11)?, text(12)?);
        self.block.name.push(name);
        self.block.operation.push(operation);
        self.block.tool.push(tool);
        self.block.peer.push(peer);
        self.block.agent.push(agent);
        self.block.error.push(error);
        Ok(())
    }

    fn number(&mut self, word: &str) -> u32 {
        if word.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len() + 1).unwrap_or_default();
        self.numbers.insert(word.to_owned(), number);
        self.block.words.push(word.to_owned());
        number
    }

    /// The block, which the next one begins after.
    fn finish(&mut self) -> SpanBlock {
        self.started_us = 0;
        std::mem::take(&mut self.block)
    }
}
