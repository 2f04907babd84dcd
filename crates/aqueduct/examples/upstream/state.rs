//! How the server was told to behave, and what it remembers.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::Sender,
    },
    time::Duration,
};

use serde_json::{Map, Value, json};

/// How to behave.
#[derive(Default)]
pub(crate) struct Flags {
    pub(crate) http: Option<String>,
    /// Where it keeps notes for the tests, and finds theirs.
    pub(crate) state: Option<PathBuf>,
    /// `initialize` alone, `discover` alone, or both.
    pub(crate) era: Option<String>,
    /// How many tools a page of the list has.
    pub(crate) page: Option<usize>,
    /// Methods that are never answered.
    pub(crate) silent: Vec<String>,
    /// Methods that end the process.
    pub(crate) dies_on: Vec<String>,
    /// Every page of the list has another one behind it: `new` or `same`.
    pub(crate) endless: Option<String>,
    /// Prints what is no message between the messages, and much to standard error.
    pub(crate) noise: bool,
    /// HTTP answers are streams, also where one message would do.
    pub(crate) sse: bool,
    /// The status for a session that is not known.
    pub(crate) lost_status: u16,
    /// The file that holds the token which is wanted.
    pub(crate) bearer: Option<PathBuf>,
    pub(crate) slow_start: Option<Duration>,
    /// Says this on standard error when it starts.
    pub(crate) says: Option<String>,
    /// Has a resource and a prompt, which ask the client before they are given.
    pub(crate) offers: bool,
    /// Goes on when its input is closed.
    pub(crate) stubborn: bool,
}

impl Flags {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut flags = Self { lost_status: 404, ..Self::default() };
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{flag} needs a value"));
            match flag.as_str() {
                "--http" => flags.http = Some(value()),
                "--state" => flags.state = Some(value().into()),
                "--era" => flags.era = Some(value()),
                "--page" => flags.page = Some(value().parse().unwrap()),
                "--silent" => flags.silent.push(value()),
                "--dies-on" => flags.dies_on.push(value()),
                "--endless" => flags.endless = Some(value()),
                "--noise" => flags.noise = true,
                "--sse" => flags.sse = true,
                "--lost-status" => flags.lost_status = value().parse().unwrap(),
                "--bearer" => flags.bearer = Some(value().into()),
                "--slow-start" => flags.slow_start = Some(Duration::from_millis(value().parse().unwrap())),
                "--says" => flags.says = Some(value()),
                "--offers" => flags.offers = true,
                "--stubborn" => flags.stubborn = true,
                // Anything else is there to be looked for in logs.
                _ => {}
            }
        }
        flags
    }
}

/// What the server remembers.
pub(crate) struct State {
    pub(crate) flags: Flags,
    pub(crate) sessions: Mutex<HashSet<String>>,
    /// Calls under way by their ids, and whether they were cancelled.
    pub(crate) running: Mutex<HashMap<String, Arc<AtomicBool>>>,
    /// What clients answered, by the ids of the questions.
    pub(crate) answers: Mutex<HashMap<String, Value>>,
    /// Where messages go that answer nothing.
    pub(crate) listeners: Mutex<Vec<Sender<Value>>>,
    pub(crate) calls: AtomicUsize,
    at_once: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
}

impl State {
    pub(crate) fn new(flags: Flags) -> Arc<Self> {
        Arc::new(Self {
            flags,
            sessions: Mutex::default(),
            running: Mutex::default(),
            answers: Mutex::default(),
            listeners: Mutex::default(),
            calls: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        })
    }

    /// A file that the tests look into or put something into.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        self.flags.state.as_ref().map(|directory| directory.join(name))
    }

    pub(crate) fn append(&self, name: &str, line: &str) {
        let Some(path) = self.file(name) else { return };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Every start leaves a line with the number of its process.
    pub(crate) fn count_start(&self) {
        self.append("starts", &std::process::id().to_string());
        if let Some(words) = &self.flags.says {
            eprintln!("{words}");
        }
    }

    /// Notes what happened, for the tests to read.
    pub(crate) fn note(&self, event: &str, more: Value) {
        let mut noted = Map::new();
        noted.insert("event".to_owned(), json!(event));
        noted.extend(more.as_object().cloned().unwrap_or_default());
        self.append("events", &Value::Object(noted).to_string());
    }

    /// What the tests have put into a file, once.
    pub(crate) fn take(&self, name: &str) -> Option<String> {
        let path = self.file(name)?;
        let text = std::fs::read_to_string(&path).ok()?;
        std::fs::remove_file(path).ok()?;
        Some(text)
    }

    pub(crate) fn tell_listeners(&self, message: &Value) {
        self.listeners.lock().unwrap().retain(|listener| listener.send(message.clone()).is_ok());
    }

    pub(crate) fn begin(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
    }

    pub(crate) fn end(&self) {
        self.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}
