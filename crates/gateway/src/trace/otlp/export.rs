//! Finished spans, sent to the operator's collectors by OTLP over HTTP, in protobuf packed with gzip.
//!
//! Each collector has a queue and a task of its own, so that one which is slow or gone costs the others nothing. What finds
//! no room in a queue is dropped and counted.

use std::{
    io::Write,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use super::write;
use crate::{config, trace::Span};

/// The spans of one request, and how long is waited for them.
const BATCH_SPANS_MAX: usize = 1024;
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// The spans that may wait for one collector. More are dropped.
const QUEUED_SPANS_MAX: usize = 16 * 1024;
/// The batches of them: one of a single span takes a place too.
const QUEUED_BATCHES_MAX: usize = 4096;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the first pause after a failure is; each further one is twice as long, up to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_LONGEST: Duration = Duration::from_secs(30);
/// After this a batch is given up.
const GIVE_UP_AFTER: Duration = Duration::from_mins(5);
/// How long the rest is sent when the server stops.
const CLOSE: Duration = Duration::from_secs(5);

/// Sends spans for as long as it is held.
pub struct Exporter {
    queues: Vec<Queue>,
}

struct Queue {
    sender: mpsc::Sender<Arc<Vec<Span>>>,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Counts {
    name: String,
    queued: AtomicUsize,
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    trouble: Mutex<Option<String>>,
}

/// How it goes with one collector, all in spans.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Collector {
    pub name: String,
    pub queued: usize,
    pub sent: u64,
    /// There was no room for them.
    pub dropped: u64,
    /// The collector did not take them.
    pub failed: u64,
    /// What went wrong last, until something is sent again.
    pub trouble: Option<String>,
}

impl Exporter {
    /// Starts a task for each collector. Call it within the runtime.
    #[must_use]
    pub fn start(collectors: &[config::Export]) -> Self {
        let queues = collectors.iter().filter_map(|collector| match Sender::new(collector) {
            Ok(sender) => Some(sender.start()),
            Err(why) => {
                tracing::warn!(collector = collector.name, why, "nothing is exported to a collector");
                None
            }
        });
        Self { queues: queues.collect() }
    }

    /// Whether there is anybody to send to; otherwise nothing needs to be offered.
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.queues.is_empty()
    }

    /// Offers finished spans to every collector. Never waits.
    pub fn offer(&self, spans: &Arc<Vec<Span>>) {
        for queue in &self.queues {
            let number = spans.len();
            let queued = queue.counts.queued.fetch_add(number, Ordering::Relaxed);
            let has_room = queued.saturating_add(number) <= QUEUED_SPANS_MAX || queued == 0;
            if !has_room || queue.sender.try_send(Arc::clone(spans)).is_err() {
                queue.counts.queued.fetch_sub(number, Ordering::Relaxed);
                add(&queue.counts.dropped, number);
            }
        }
    }

    #[must_use]
    pub fn collectors(&self) -> Vec<Collector> {
        self.queues.iter().map(|queue| queue.counts.told()).collect()
    }

    /// Sends what waits, for a few seconds, and ends.
    pub async fn close(self) {
        let deadline = Instant::now() + CLOSE;
        for Queue { sender, counts, mut task } in self.queues {
            drop(sender);
            if tokio::time::timeout_at(deadline, &mut task).await.is_err() {
                task.abort();
                let left = counts.queued.load(Ordering::Relaxed);
                tracing::warn!(collector = counts.name, left, "spans were not sent before the end");
            }
        }
    }
}

impl Counts {
    fn told(&self) -> Collector {
        Collector {
            name: self.name.clone(),
            queued: self.queued.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn trouble(&self, why: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

fn add(count: &AtomicU64, number: usize) {
    count.fetch_add(u64::try_from(number).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// One collector and the way to it.
struct Sender {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    counts: Arc<Counts>,
}

/// Why a batch was not taken.
struct Failure {
    why: String,
    /// Whether it may be sent again, and when the collector wants it.
    again: Option<Option<Duration>>,
}

impl Sender {
    fn new(collector: &config::Export) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &collector.headers {
            let name: HeaderName = name.parse().map_err(|_| format!("'{name}' is no name of a header"))?;
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| format!("the header '{name}' has characters it may not have"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let counts = Counts { name: collector.name.clone(), ..Counts::default() };
        Ok(Self {
            client: client()?,
            url: collector.url.expose().to_owned(),
            headers,
            counts: Arc::new(counts),
        })
    }

    fn start(self) -> Queue {
        let (sender, receiver) = mpsc::channel(QUEUED_BATCHES_MAX);
        let counts = Arc::clone(&self.counts);
        Queue { sender, counts, task: tokio::spawn(self.run(receiver)) }
    }

    /// Gathers until there is enough or it took long enough, and sends that.
    async fn run(self, mut offered: mpsc::Receiver<Arc<Vec<Span>>>) {
        while let Some(first) = offered.recv().await {
            let mut batches = vec![first];
            let mut number = batches.iter().map(|batch| batch.len()).sum::<usize>();
            let deadline = Instant::now() + BATCH_WAIT;
            while number < BATCH_SPANS_MAX {
                match tokio::time::timeout_at(deadline, offered.recv()).await {
                    Ok(Some(batch)) => {
                        number += batch.len();
                        batches.push(batch);
                    }
                    Ok(None) | Err(_) => break,
                }
            }
            // What still runs is sent when it has ended.
            let finished = |span: &&Span| span.ended.is_some();
            let spans: Vec<Span> =
                batches.iter().flat_map(|batch| batch.iter().filter(finished).cloned()).collect();
            drop(batches);
            self.counts.queued.fetch_sub(number - spans.len(), Ordering::Relaxed);
            for spans in spans.chunks(BATCH_SPANS_MAX) {
                self.deliver(spans).await;
                self.counts.queued.fetch_sub(spans.len(), Ordering::Relaxed);
            }
        }
    }

    /// Sends a batch, again and again if it has to be.
    async fn deliver(&self, spans: &[Span]) {
        let body = match pack(&write::protobuf(spans)) {
            Ok(body) => body,
            Err(error) => return self.give_up(spans.len(), error.to_string()),
        };
        let give_up = Instant::now() + GIVE_UP_AFTER;
        let mut pause = PAUSE_FIRST;
        loop {
            let Failure { why, again } = match self.post(body.clone()).await {
                Ok(()) => {
                    add(&self.counts.sent, spans.len());
                    self.counts.trouble(None);
                    return;
                }
                Err(failure) => failure,
            };
            let Some(asked) = again else { return self.give_up(spans.len(), why) };
            // A little by chance, so that many of us do not come back together.
            let [chance] = crate::random::bytes::<1>();
            let wait = asked.unwrap_or_else(|| pause.mul_f64(0.75 + f64::from(chance) / 512.0));
            if Instant::now() + wait > give_up {
                return self.give_up(spans.len(), why);
            }
            self.counts.trouble(Some(why));
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    fn give_up(&self, number: usize, why: String) {
        add(&self.counts.failed, number);
        tracing::warn!(collector = self.counts.name, number, why, "spans were not taken by a collector");
        self.counts.trouble(Some(why));
    }

    async fn post(&self, body: Bytes) -> Result<(), Failure> {
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body);
        // The address may hold a secret, and an error of the library repeats it.
        let response = request
            .send()
            .await
            .map_err(|error| Failure { why: error.without_url().to_string(), again: Some(None) })?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let may_come_again = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let asked = response.headers().get(header::RETRY_AFTER).and_then(retry_after);
        Err(Failure {
            why: format!("it answered {}", status.as_u16()),
            again: may_come_again.then_some(asked),
        })
    }
}

/// Seconds, or a date.
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let seconds = date.as_second().saturating_sub(jiff::Timestamp::now().as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

fn pack(body: &[u8]) -> std::io::Result<Bytes> {
    let mut packer = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    packer.write_all(body)?;
    packer.finish().map(Bytes::from)
}

/// A client that follows no redirect: it would take the headers along.
fn client() -> Result<reqwest::Client, String> {
    static TLS: OnceLock<()> = OnceLock::new();
    TLS.get_or_init(|| {
        // Somebody else in the process may have chosen one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("aqueduct/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| "no HTTP client could be made".to_owned())
}
