//! Reports over HTTP: the real listener and the real store in a process of their own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use gateway::{
    config::{self, Environment, Sources},
    store::traces::{Options as Kept, TraceStore},
    trace::{Kept as Keeping, Recorder, Settings, otlp},
};

use super::IN_A_REQUEST;
use crate::{
    Result, floor,
    process::{self, Running},
};

/// Agents that report at once.
const SENDERS: usize = 2;
const WAITED_MAX: Duration = Duration::from_secs(300);

/// Serves until it is killed.
pub(crate) fn serve(data: &Path, address: SocketAddr) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        std::fs::create_dir_all(data)?;
        let file: PathBuf = data.join("aqueduct.toml");
        std::fs::write(&file, format!("[inspector]\notlp_http = '{address}'\notlp_grpc = 'off'\n"))?;
        let environment = Environment::new([("HOME", "/nowhere")]).in_directory(data);
        let config = config::load(Sources { file: Some(file), environment, ..Sources::default() })?;
        let store = TraceStore::open(data, Kept::default());
        let kept = Keeping::new(store.appender(), jiff::Timestamp::now);
        let recorder = Recorder::start(Settings::default(), vec![Box::new(kept)], jiff::Timestamp::now)?;
        let _receivers = otlp::listen(&config, false, recorder).await;
        std::future::pending().await
    })
}

pub(super) struct Receiver {
    running: Running,
    address: SocketAddr,
}

impl Receiver {
    pub(super) fn start(data: &Path) -> Result<Self> {
        let address = floor::free_address()?;
        let mut command = Command::new(process::this()?);
        command.arg("reported").arg(data).arg(address.to_string()).stdin(Stdio::null());
        let running = Running(command.spawn()?);
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            if begin.elapsed() > Duration::from_secs(20) {
                return Err("the receiver of reports does not listen".into());
            }
            process::pause(Duration::from_millis(20));
        }
        Ok(Self { running, address })
    }

    /// Sends each body once, again where there was no room.
    pub(super) fn send(&self, bodies: Vec<Vec<u8>>) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.senders(|connection| {
            while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                while !connection.post(body)? {
                    process::pause(Duration::from_millis(5));
                }
            }
            Ok(())
        })
    }

    /// Sends bodies with ids of their own over and over, for so many seconds: the spans that were taken, the time, and how
    /// often there was no room.
    pub(super) fn send_for(&self, bodies: &[Vec<u8>], seconds: u64) -> Result<(u64, f64, u64)> {
        let (next, taken, refused) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let start = Instant::now();
        self.senders(|connection| {
            while start.elapsed() < Duration::from_secs(seconds) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(body) = bodies.get(number % bodies.len().max(1)) else { return Ok(()) };
                let body = renumbered(body, number / bodies.len().max(1));
                while !connection.post(&body)? {
                    refused.fetch_add(1, Ordering::Relaxed);
                    process::pause(Duration::from_millis(5));
                }
                taken.fetch_add(IN_A_REQUEST as u64, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok((taken.into_inner(), start.elapsed().as_secs_f64(), refused.into_inner()))
    }

    fn senders(&self, work: impl Fn(&mut Connection) -> Result<()> + Sync) -> Result<()> {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..SENDERS)
                .map(|_| {
                    scope.spawn(move || -> std::result::Result<(), String> {
                        let mut connection =
                            Connection::open(self.address).map_err(|error| error.to_string())?;
                        work(&mut connection).map_err(|error| error.to_string())
                    })
                })
                .collect();
            for thread in threads {
                thread.join().map_err(|_| "a sender failed")??;
            }
            Ok(())
        })
    }

    /// Resident memory in megabytes, the most that it was.
    pub(super) fn peak_megabytes(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.running.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes =
            line.and_then(|rest| rest.split_whitespace().next()).ok_or("no VmHWM in its status")?;
        Ok(kilobytes.parse::<f64>()? / 1024.0)
    }
}

/// The same body in another round: ids are random bytes, so one bit of each trace and span id is another one. They are
/// found by the tags before them, and nothing else in these bodies looks so.
fn renumbered(body: &[u8], round: usize) -> Vec<u8> {
    let mut body = body.to_vec();
    let round = u8::try_from(round % 256).unwrap_or_default();
    let mut place = 0;
    while let Some(rest) = body.get_mut(place..) {
        match rest {
            [0x0a, 16, trace @ ..] if trace.get(16..18) == Some(&[0x12, 8]) => {
                if let Some(byte) = trace.get_mut(3) {
                    *byte ^= round;
                }
                place += 28;
            }
            [] => break,
            _ => place += 1,
        }
    }
    body
}

struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    answers: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let answers = BufReader::new(stream.try_clone()?);
        Ok(Self { stream, address, answers })
    }

    /// Whether it was taken; not if it may be sent again.
    fn post(&mut self, body: &[u8]) -> Result<bool> {
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len(),
        );
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line)?;
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.get(..3).unwrap_or_default().parse()?;
            } else if let Some(rest) = line.strip_prefix("content-length:") {
                length = rest.trim().parse()?;
            } else if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.answers.read_exact(&mut answer)?;
        match status {
            200 if answer.is_empty() => Ok(true),
            429 | 503 => Ok(false),
            _ => Err(format!("a report was answered with {status}").into()),
        }
    }
}

/// Waits until so many spans are stored.
pub(super) async fn wait_for(store: &TraceStore, spans: u64) -> Result<()> {
    let begin = Instant::now();
    while store.stats().await?.spans < spans {
        if begin.elapsed() > WAITED_MAX {
            return Err("what was reported is not stored".into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}
