//! Writing: one thread of a process hands in batches, and each is there whole or not at all.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use rusqlite::{Connection, TransactionBehavior};

use super::{
    super::Error,
    Appended, Batch, Retained, Shared,
    batch::{self, By},
    day::{Day, Part, Source},
    events, files, index,
    lost::Owner,
    members::Memory,
    packed::Packed,
    retention::with_reserve,
    schema::{DAY_SCHEMA, EVENTS_FILE, EVENTS_SCHEMA},
    wishes,
};
use crate::trace::{Event, Nanos, Span, SpanId, TraceId, Wish};

/// Files of days that are kept open. Today is one, and around midnight or while something is imported there are others.
const OPEN_MAX: usize = 4;
/// A batch that needs more than such a part of what its file may take is written in pieces.
const PIECE_PART: u64 = 16;
/// What a span needs in a file beside its texts, about.
const ROW_BYTES: u64 = 512;
/// How often room is made for one piece, twice as much each time.
const TRIES: u32 = 4;
/// Whether there is too much is looked once such a part of what may be kept was written.
const LOOK_PART: u64 = 64;
/// Such a part of what a file may take its index may take beyond, and so many spans are put into it then.
const INDEX_PART: u64 = 16;
const ROWS_WHERE_FULL: u32 = 20;
/// Events are counted out so seldom, since each time costs a look at the first and the last one.
const EVENTS_BETWEEN_TRIMS: u64 = 1000;

/// The one writer of a process. Several processes may write to the same directory.
pub struct Appender {
    shared: Arc<Shared>,
    open: Vec<File>,
    events: Option<Events>,
    events_since_trim: u64,
    /// Whether the last events could not be written, which is told once.
    is_mute: bool,
    /// Bytes since it was looked whether there is too much, about.
    unlooked: u64,
    /// Files whose text index may be behind.
    pub(super) lagging: BTreeSet<Part>,
    /// What shows others that we are there, once something of ours runs.
    pub(super) owner: Owner,
}

/// A file of a day.
pub(super) struct File {
    part: Part,
    identity: Option<(u64, u64)>,
    pub(super) connection: Connection,
    memory: Memory,
}

struct Events {
    identity: Option<(u64, u64)>,
    connection: Connection,
    /// The last wish that was looked at.
    wished: i64,
}

impl Appender {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let lagging = files::parts(&shared.dir).unwrap_or_default().into_iter().collect();
        let owner = Owner::new(&shared.dir);
        Self {
            shared,
            open: Vec::new(),
            events: None,
            events_since_trim: EVENTS_BETWEEN_TRIMS,
            is_mute: false,
            unlooked: 0,
            lagging,
            owner,
        }
    }

    /// Writes a batch. Spans that are known are brought up to date as long as they have not ended; what has ended is
    /// never rewritten, so that a batch may be handed in again after a failure.
    ///
    /// The spans of one day are there whole or not at all. If a day's file cannot be written, those of other days still
    /// are, and the first error is returned. Live events are only news: the log says if they cannot be written.
    pub fn append(&mut self, batch: &Batch, now: Nanos) -> Result<Appended, Error> {
        let ours: Vec<Packed> = newest_of_each(&batch.spans, of_span).map(Packed::of).collect();
        let ours = ours.iter().map(|span| (Source::Ours, span));
        let reported = newest_of_each(&batch.reported, of_packed).map(|span| (Source::Reported, span));
        let mut parts: BTreeMap<Part, Vec<&Packed>> = BTreeMap::new();
        for (source, span) in ours.chain(reported) {
            let day = Day::to_keep(span.started, now, self.shared.options.max_age_days);
            parts.entry(Part { day, source }).or_default().push(span);
        }
        let mut done = Appended::default();
        let mut failed = None;
        // What we recorded comes first.
        for (part, spans) in parts.into_iter().rev() {
            match self.append_to(part, &spans, now) {
                Ok(appended) => done.add(&appended),
                Err(error) => {
                    self.forget(part);
                    failed.get_or_insert(error);
                }
            }
        }
        if !batch.events.is_empty() {
            self.tell(&batch.events);
        }
        failed.map_or(Ok(done), Err)
    }

    pub(super) fn append_to(&mut self, part: Part, spans: &[&Packed], now: Nanos) -> Result<Appended, Error> {
        // What ran when its process ended can be told from what still does.
        let runs = !part.is_reported() && spans.iter().any(|span| span.ended.is_none());
        let owner = if runs { Some(self.owner.name()?) } else { None };
        let by = if part.is_reported() { By::Others } else { By::Us { owner: owner.as_deref() } };
        let piece_bytes = self.shared.options.cap(part.source) / PIECE_PART;
        let mut done = Appended::default();
        let mut failed = None;
        // Also where only some of it is written.
        self.lagging.insert(part);
        for piece in pieces(spans, piece_bytes) {
            match self.append_piece(part, piece, by) {
                Ok(appended) => done.add(&appended),
                // The others may fit.
                Err(Error::Full) => failed = Some(Error::Full),
                Err(error) => return Err(error),
            }
            self.look(needed(piece), now);
        }
        failed.map_or(Ok(done), Err)
    }

    fn append_piece(&mut self, part: Part, spans: &[&Packed], by: By<'_>) -> Result<Appended, Error> {
        let mut room = needed(spans);
        for _ in 0..TRIES {
            match self.write(part, spans, by) {
                // What is full by its own limit makes room for what is newer.
                Err(Error::Full) if self.make_room(part, room)? => room = room.saturating_mul(2),
                outcome => return outcome,
            }
        }
        Err(Error::Full)
    }

    /// Removes what is too much, once much was written since that was done last.
    fn look(&mut self, bytes: u64, now: Nanos) {
        self.unlooked += bytes;
        if self.unlooked > self.shared.options.max_bytes / LOOK_PART {
            self.unlooked = 0;
            if let Err(error) = self.retain(now) {
                tracing::debug!(%error, "what is too much could not be removed");
            }
        }
    }

    fn write(&mut self, part: Part, spans: &[&Packed], by: By<'_>) -> Result<Appended, Error> {
        let file = self.open(part)?;
        let written = batch::write(&mut file.connection, &mut file.memory, spans, by);
        // What was read of a batch that was undone is not so.
        written.inspect_err(|_| file.memory = Memory::default())
    }

    /// Writes live events. Damaged ones are put aside, so that there are some again.
    fn tell(&mut self, told: &[Event]) {
        let identity = files::identity(&self.shared.dir.join(EVENTS_FILE));
        let mut outcome = self.append_events(told);
        if outcome == Err(Error::Damaged) {
            self.events = None;
            tracing::warn!("live events are damaged; they are put aside, and new ones begun");
            let aside = files::put_aside(&self.shared.dir, EVENTS_FILE, identity);
            outcome = aside.and_then(|()| self.append_events(told));
        }
        match (&outcome, self.is_mute) {
            (Ok(()), _) => self.shared.news.notify_waiters(),
            (Err(error), false) => tracing::warn!(%error, "live events cannot be written"),
            (Err(_), true) => {}
        }
        self.is_mute = outcome.is_err();
        if self.is_mute {
            self.events = None;
        }
    }

    fn append_events(&mut self, told: &[Event]) -> Result<(), Error> {
        let path = self.shared.dir.join(EVENTS_FILE);
        let identity = files::identity(&path);
        // One that was removed or replaced would take what nobody reads.
        self.events.take_if(|known| identity.is_none() || known.identity != identity);
        if self.events.is_none() {
            let connection = files::open(&self.shared.dir, EVENTS_FILE, &EVENTS_SCHEMA, None)?;
            let wished = wishes::last(&connection)?;
            self.events = Some(Events { identity: files::identity(&path), connection, wished });
        }
        let Some(Events { connection, .. }) = &mut self.events else { return Ok(()) };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        events::write(&transaction, told)?;
        self.events_since_trim += told.len() as u64;
        if self.events_since_trim >= EVENTS_BETWEEN_TRIMS {
            let options = self.shared.options;
            events::trim(&transaction, options.max_events, options.of_events())?;
            self.events_since_trim = 0;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Gives back what events took that are gone.
    pub(super) fn shrink_events(&mut self) -> Result<(), Error> {
        let bytes_max = self.shared.options.of_events();
        let Some(Events { connection, .. }) = &self.events else { return Ok(()) };
        let dir = &self.shared.dir;
        let has_grown = files::length(dir, EVENTS_FILE) > bytes_max;
        if has_grown {
            // What is left in one of an earlier version is little, and is written anew.
            if !files::gives_back(connection)? {
                files::rewrite(connection)?;
            }
            files::give_back(connection, bytes_max)?;
        }
        if has_grown || files::log_bytes(dir, EVENTS_FILE) > files::log_bytes_max(None) {
            files::settle(connection)?;
        }
        Ok(())
    }

    /// Has stopped what the operator wants to be over, as far as it runs here. Nothing of ours runs before its beginning was told.
    pub fn fulfil_wishes(&mut self, stop: &dyn Fn(&Wish) -> usize) -> Result<(), Error> {
        let outcome = self.fulfil(stop);
        if outcome == Err(Error::Damaged) {
            self.events = None;
        }
        outcome
    }

    fn fulfil(&mut self, stop: &dyn Fn(&Wish) -> usize) -> Result<(), Error> {
        let Some(Events { connection, wished, .. }) = &mut self.events else { return Ok(()) };
        for (number, wish) in wishes::after(connection, *wished)? {
            *wished = number;
            let stopped = stop(&wish);
            if stopped > 0 {
                wishes::fulfil(connection, number, stopped)?;
            }
        }
        Ok(())
    }

    /// Brings the text index forward by so many spans at the most; how many it were. Called between batches.
    pub fn index_some(&mut self, max_rows: u32) -> Result<u32, Error> {
        while let Some(part) = self.lagging.last().copied() {
            let known = self.path(part).exists();
            let indexed = if known { self.advance(part, max_rows) } else { Ok(0) };
            match indexed {
                Ok(0) => {}
                Ok(rows) => {
                    self.cut_log(part)?;
                    return Ok(rows);
                }
                Err(Error::Busy) => return Err(Error::Busy),
                Err(error) => {
                    // It is tried again once something is written to that file.
                    self.lagging.remove(&part);
                    self.forget(part);
                    return Err(error);
                }
            }
            self.lagging.remove(&part);
        }
        Ok(0)
    }

    /// Brings the text index of a file forward. Where that is full a few spans may go beyond, and the oldest go for them if that
    /// does not do.
    fn advance(&mut self, part: Part, max_rows: u32) -> Result<u32, Error> {
        let cap = self.shared.options.cap(part.source);
        let mut indexed = index::advance(self.file(part)?, max_rows);
        for is_first in [true, false] {
            if indexed != Err(Error::Full) {
                break;
            }
            if !is_first {
                self.fit(&mut Retained::default())?;
            }
            let few = max_rows.min(ROWS_WHERE_FULL);
            indexed = with_reserve(self.file(part)?, cap, cap / INDEX_PART, |file| index::advance(file, few));
        }
        indexed
    }

    /// Cuts off a log that became long by a single change, as where an index is put in order.
    pub(super) fn cut_log(&mut self, part: Part) -> Result<(), Error> {
        let usual = files::log_bytes_max(Some(self.shared.options.cap(part.source)));
        if files::log_bytes(&self.shared.dir, &part.file()) > usual.saturating_mul(2) {
            files::settle(self.file(part)?)?;
        }
        Ok(())
    }

    /// Spans that cannot be found by their words yet, in the files that this process writes.
    pub fn index_lag(&mut self) -> Result<u64, Error> {
        let mut lag = 0;
        for part in self.lagging.clone() {
            lag += if self.path(part).exists() { index::lag(self.file(part)?)? } else { 0 };
        }
        Ok(lag)
    }

    pub(super) fn file(&mut self, part: Part) -> Result<&mut Connection, Error> {
        Ok(&mut self.open(part)?.connection)
    }

    /// A file. One that was removed or replaced meanwhile is opened anew.
    pub(super) fn open(&mut self, part: Part) -> Result<&mut File, Error> {
        let identity = files::identity(&self.path(part));
        self.open.retain(|file| file.part != part || (identity.is_some() && file.identity == identity));
        if let Some(place) = self.open.iter().position(|file| file.part == part) {
            let file = self.open.remove(place);
            self.open.push(file);
        } else {
            if self.open.len() >= OPEN_MAX {
                self.open.remove(0);
            }
            let cap = self.shared.options.cap(part.source);
            let connection = files::open(&self.shared.dir, &part.file(), &DAY_SCHEMA, Some(cap))?;
            let identity = files::identity(&self.path(part));
            self.open.push(File { part, identity, connection, memory: Memory::default() });
        }
        self.open.last_mut().ok_or(Error::Io)
    }

    /// Closes a file, so that whatever was wrong with the connection is not kept.
    pub(super) fn forget(&mut self, part: Part) {
        self.open.retain(|file| file.part != part);
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn path(&self, part: Part) -> PathBuf {
        self.shared.dir.join(part.file())
    }
}

/// What spans take in a file, with their words in the index.
fn needed(spans: &[&Packed]) -> u64 {
    spans.iter().map(|span| ROW_BYTES + span.bytes() as u64 * 2).sum()
}

/// Spans one after another, each piece with as many as need no more than this, and one at least.
fn pieces<'s, 'p>(mut spans: &'s [&'p Packed], bytes_max: u64) -> impl Iterator<Item = &'s [&'p Packed]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |span: &&&Packed| {
            bytes += needed(&[**span]);
            bytes <= bytes_max
        };
        let count = spans.iter().take_while(fits).count().max(1);
        let (piece, rest) = spans.split_at_checked(count)?;
        spans = rest;
        Some(piece)
    })
}

pub(super) fn number(id: SpanId) -> i64 {
    i64::from_be_bytes(id.0)
}

/// Which span something is, and whether it has ended.
type Newness = ((TraceId, SpanId), bool);

/// Of a span that is there several times, what is known last: its end, or else what came last.
fn newest_of_each<T>(spans: &[T], newness: impl Fn(&T) -> Newness) -> impl Iterator<Item = &T> {
    let mut newest: HashMap<(TraceId, SpanId), (usize, bool), foldhash::fast::RandomState> =
        HashMap::default();
    newest.reserve(spans.len());
    for (place, span) in spans.iter().enumerate() {
        let (id, has_ended) = newness(span);
        let known = newest.entry(id).or_insert((place, has_ended));
        if !known.1 {
            *known = (place, has_ended);
        }
    }
    let is_newest = move |(place, span): &(usize, &T)| {
        newest.get(&newness(span).0).is_some_and(|(newest, _)| newest == place)
    };
    spans.iter().enumerate().filter(is_newest).map(|(_, span)| span)
}

fn of_span(span: &Span) -> Newness {
    ((span.trace, span.id), span.ended.is_some())
}

fn of_packed(span: &Packed) -> Newness {
    ((span.trace, span.id), span.ended.is_some())
}
