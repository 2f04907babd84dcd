//! Writing: one thread of a process hands in batches, and each is there whole or not at all.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use rusqlite::{Connection, TransactionBehavior};

use super::{
    super::Error,
    Appended, Batch, Shared,
    batch::{self, By},
    day::{Day, Part, Source},
    events, files, index,
    lost::Owner,
    members::Memory,
    packed::Packed,
    schema::{DAY_SCHEMA, EVENTS_FILE, EVENTS_SCHEMA},
    wishes,
};
use crate::trace::{Event, Nanos, Span, SpanId, TraceId, Wish};

/// Files of days that are kept open. Today is one, and around midnight or while something is imported there are others.
const OPEN_MAX: usize = 4;
/// The file may grow a little beyond what all may take together: retention comes later than a batch.
const SLACK: u64 = 16;
/// Events are counted out so seldom, since each time costs a look at the first and the last one.
const EVENTS_BETWEEN_TRIMS: u64 = 1000;

/// The one writer of a process. Several processes may write to the same directory.
pub struct Appender {
    shared: Arc<Shared>,
    open: Vec<File>,
    events: Option<Events>,
    events_since_trim: u64,
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
            lagging,
            owner,
        }
    }

    /// Writes a batch. Spans that are known are brought up to date as long as they have not ended; what has ended is
    /// never rewritten, so that a batch may be handed in again after a failure.
    ///
    /// The spans of one day are there whole or not at all. If a day's file cannot be written, those of other days still
    /// are, and the first error is returned.
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
            match self.append_events(&batch.events) {
                Ok(()) => self.shared.news.notify_waiters(),
                Err(error) => {
                    self.events = None;
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }

    pub(super) fn append_to(&mut self, part: Part, spans: &[&Packed], now: Nanos) -> Result<Appended, Error> {
        // What ran when its process ended can be told from what still does.
        let runs = !part.is_reported() && spans.iter().any(|span| span.ended.is_none());
        let owner = if runs { Some(self.owner.name()?) } else { None };
        let by = if part.is_reported() { By::Others } else { By::Us { owner: owner.as_deref() } };
        match self.write(part, spans, by) {
            // What is full by its own limit makes room for what is newer; a full disk is not ours to empty.
            Err(Error::Full) if self.retain(now)?.freed_any() => self.write(part, spans, by),
            outcome => outcome,
        }
        .inspect(|_| {
            self.lagging.insert(part);
        })
    }

    fn write(&mut self, part: Part, spans: &[&Packed], by: By<'_>) -> Result<Appended, Error> {
        let file = self.open(part)?;
        let written = batch::write(&mut file.connection, &mut file.memory, spans, by);
        // What was read of a batch that was undone is not so.
        written.inspect_err(|_| file.memory = Memory::default())
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
            events::trim(&transaction, self.shared.options.max_events)?;
            self.events_since_trim = 0;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Has stopped what the operator wants to be over, as far as it runs here. Nothing of ours runs before its beginning was told.
    pub fn fulfil_wishes(&mut self, stop: &dyn Fn(&Wish) -> usize) -> Result<(), Error> {
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
            let indexed =
                if known { self.file(part).and_then(|file| index::advance(file, max_rows)) } else { Ok(0) };
            match indexed {
                Ok(0) => {}
                Ok(rows) => return Ok(rows),
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
            let cap = self.shared.options.of(part.source);
            let cap = cap + cap / SLACK;
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
