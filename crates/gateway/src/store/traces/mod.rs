//! `traces/`: what the Inspector recorded, one file for each day.
//!
//! It promises that
//! - a batch is there whole or not at all, and survives a crash of the process; a power cut may take the last second. One that
//!   is large for what its file may take is written in several pieces, of which each is so;
//! - what has ended is never rewritten, whoever hands in what under its id;
//! - what others report is kept apart, changes nothing of what we recorded, and takes its own share of the room;
//! - several processes may write to the same directory and read what the others wrote;
//! - the oldest goes when there is too much, so that recording never stops for want of its own room.
//!
//! It never reads a clock: what a time is compared with is handed in. A file that it does not understand is left alone and
//! left out, and the others are read. Only damaged live events, which are news and nothing else, are put aside for new ones.

mod appender;
mod batch;
mod blocks;
mod day;
mod events;
mod files;
mod graph;
mod index;
mod lists;
mod lost;
mod members;
mod packed;
mod readers;
mod retention;
mod rows;
mod schema;
mod search;
mod servers;
mod sessions;
mod sift;
#[cfg(test)]
mod tests;
mod trees;
mod watch;
mod wishes;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::{
    appender::Appender,
    blocks::SpanBlock,
    graph::{Edge, Graph, Node, NodeKind},
    lists::{Cursor, OperationFilter, Page, SessionFilter},
    packed::{Packed, TAGS},
    rows::{EventRow, HappeningRow, LinkRow, SessionRow, SpanFull, SpanRow, Stats},
    search::SearchFilter,
    servers::{LatencyRow, OperationStats, ServerDetails, ServerStats, TokenRow},
    trees::{ExportCursor, Piece, SESSION_SPANS_MAX},
};
use self::{day::Source, readers::Readers, watch::Watch};
use super::Error;
#[cfg(test)]
use super::migrations::Schema;
use crate::trace::{Event, Span};

/// The directory in the data directory.
pub const DIRECTORY: &str = "traces";

/// Such a part of the room is left for what comes in until it is looked whether that is too much.
const SLACK_PART: u64 = 16;

/// What the operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Days that are kept, with today.
    pub max_age_days: u32,
    /// What all files may take together. What was reported takes at most half of it.
    pub max_bytes: u64,
    /// Live events that somebody who was away can still get.
    pub max_events: u32,
}

impl Options {
    /// What the files of one source may take. Reporters cannot push out what we recorded.
    fn of(&self, source: Source) -> u64 {
        match source {
            Source::Ours => self.room(),
            Source::Reported => self.room() / 2,
        }
    }

    /// What is left for files beside their logs and what comes in until it is looked again.
    fn room(&self) -> u64 {
        let caps = [Some(self.max_bytes), Some(self.max_bytes / 2), None];
        let logs: u64 = caps.into_iter().map(files::log_bytes_max).sum();
        self.max_bytes.saturating_sub(logs + self.max_bytes / SLACK_PART)
    }

    /// What a file may grow to until it is looked whether all of them are too much.
    fn cap(&self, source: Source) -> u64 {
        self.of(source) + self.of(source) / SLACK_PART
    }

    /// What live events may take of what we may.
    fn of_events(&self) -> u64 {
        self.room() / 8
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { max_age_days: 14, max_bytes: 2 * 1024 * 1024 * 1024, max_events: 100_000 }
    }
}

/// What is written together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// What we recorded.
    pub spans: Vec<Span>,
    /// What others say.
    pub reported: Vec<Packed>,
    pub events: Vec<Event>,
}

impl Batch {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.reported.is_empty() && self.events.is_empty()
    }

    /// How much of it we recorded ourselves.
    pub(crate) fn share_of_ours(&self) -> f64 {
        let (ours, theirs) = (self.spans.len() as f64, self.reported.len() as f64);
        if ours > 0.0 { ours / (ours + theirs) } else { 0.0 }
    }

    /// How many spans have ended, whoever says so.
    pub(crate) fn ended(&self) -> usize {
        let ours = self.spans.iter().filter(|span| span.ended.is_some()).count();
        ours + self.reported.iter().filter(|span| span.ended.is_some()).count()
    }
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    pub spans: u64,
    pub updated: u64,
    /// Spans that had ended before, or that only share an id with another one.
    pub ignored: u64,
}

impl Appended {
    fn add(&mut self, other: &Self) {
        self.spans += other.spans;
        self.updated += other.updated;
        self.ignored += other.ignored;
    }
}

/// What retention removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    pub days: u32,
    pub spans: u64,
}

impl Retained {
    #[must_use]
    pub fn freed_any(&self) -> bool {
        self.days > 0 || self.spans > 0
    }
}

/// A cheap handle to read with.
#[derive(Clone)]
pub struct TraceStore {
    shared: Arc<Shared>,
}

struct Shared {
    dir: PathBuf,
    options: Options,
    readers: Arc<Readers>,
    /// Told by the appender of this process. Those of others are noticed by looking.
    news: tokio::sync::Notify,
    watch: Watch,
}

impl TraceStore {
    /// The traces of a data directory. Nothing is opened or made yet.
    #[must_use]
    pub fn open(data: &Path, options: Options) -> Self {
        let dir = data.join(DIRECTORY);
        let readers = Arc::new(Readers::new(dir.clone()));
        let shared =
            Shared { dir, options, readers, news: tokio::sync::Notify::new(), watch: Watch::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The way to write. One for a process is enough, and has to stay on one thread.
    #[must_use]
    pub fn appender(&self) -> Appender {
        Appender::new(Arc::clone(&self.shared))
    }

    /// Files of which something that was asked for could not be read, as they are called in the directory. What was answered
    /// is without that.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        self.shared.readers.unreadable()
    }

    /// What there is.
    pub async fn stats(&self) -> Result<Stats, Error> {
        let (dir, options) = (self.shared.dir.clone(), self.shared.options);
        self.shared
            .readers
            .run(move |days| {
                let mut stats = Stats {
                    bytes: files::bytes(&dir, schema::EVENTS_FILE),
                    keep_days: options.max_age_days,
                    keep_bytes: options.max_bytes,
                    ..Stats::default()
                };
                stats.unreadable += u32::from(days.has_unreadable_events()?);
                let mut last = None;
                for &part in days.list() {
                    let bytes = files::bytes(&dir, &part.file());
                    stats.bytes += bytes;
                    stats.reported_bytes += if part.is_reported() { bytes } else { 0 };
                    stats.days += u32::from(last.replace(part.day) != Some(part.day));
                    let counted = days.with(part, |connection| {
                        let spans: i64 = connection.query_row(
                            "SELECT coalesce((SELECT max(id) FROM spans) - (SELECT min(id) FROM spans) + 1, 0)",
                            [],
                            |row| row.get(0),
                        )?;
                        Ok((u64::try_from(spans).unwrap_or_default(), index::lag(connection)?))
                    })?;
                    match counted {
                        Some((spans, lag)) => {
                            stats.spans += spans;
                            stats.index_lag += lag;
                        }
                        None => stats.unreadable += 1,
                    }
                }
                Ok(stats)
            })
            .await
    }
}
