//! What the command says to people: results on standard output, everything else on standard error.

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    sync::mpsc::{SyncSender, sync_channel},
    time::Duration,
};

use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, filter_fn},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

const FINDINGS: u8 = 1;
const CONFIGURATION: u8 = 3;
const TROUBLE: u8 = 4;

/// Why a command ends without having done its work.
pub(crate) struct Failure {
    code: u8,
    report: Box<Report>,
}

/// The exit code of an operation that failed or a check that found something.
pub(crate) fn findings() -> ExitCode {
    ExitCode::from(FINDINGS)
}

/// The exit code where something cannot be reached or used.
pub(crate) fn trouble() -> ExitCode {
    ExitCode::from(TROUBLE)
}

/// The exit code where the configuration was told to be wrong.
pub(crate) fn wrong_configuration() -> ExitCode {
    ExitCode::from(CONFIGURATION)
}

/// Plain text where nobody looks at colours.
pub(crate) fn install() {
    let fancy = std::io::stderr().is_terminal();
    let _ = miette::set_hook(Box::new(move |_| {
        Box::new(miette::MietteHandlerOpts::new().color(fancy).unicode(fancy).width(100).build())
    }));
}

/// Log lines that wait to be written, at the most. A full queue loses lines: nobody who does not read standard error
/// may stop the server.
const LOG_QUEUE_LINES: usize = 4096;

/// How long the end of the process waits for the last log lines.
const LOG_FLUSH: Duration = Duration::from_millis(300);

/// Standard error behind a thread of its own.
#[derive(Clone)]
struct LossyStderr(SyncSender<LogJob>);

enum LogJob {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

impl LossyStderr {
    fn start() -> Self {
        let (jobs, queue) = sync_channel(LOG_QUEUE_LINES);
        let _ = std::thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            for job in queue {
                match job {
                    LogJob::Line(line) => drop(std::io::stderr().write_all(&line)),
                    LogJob::Flush(done) => drop(done.try_send(())),
                }
            }
        });
        Self(jobs)
    }
}

impl Write for LossyStderr {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.try_send(LogJob::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keeps the log going; the last lines are written when it is dropped.
pub(crate) struct Log(LossyStderr);

impl Drop for Log {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.0.0.try_send(LogJob::Flush(done)).is_ok() {
            let _ = written.recv_timeout(LOG_FLUSH);
        }
    }
}

/// Logs to standard error: our own audit lines, warnings of everything, more by `RUST_LOG`.
#[must_use]
pub(crate) fn log() -> Log {
    log_from("warn,rmcp=error,audit=info")
}

/// The same for commands that tell what is wrong themselves.
#[must_use]
pub(crate) fn quiet_log() -> Log {
    log_from("off")
}

fn log_from(default: &str) -> Log {
    let stderr = LossyStderr::start();
    let writer = stderr.clone();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // At its more talkative levels the MCP library writes down whole messages, and a code that a person gave their agent
    // would be among them.
    let quiet = filter_fn(|told| !(told.target().starts_with("rmcp") && *told.level() > LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(move || writer.clone())
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(quiet);
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
    Log(stderr)
}

/// Prints a result. A reader that went away is no trouble of ours.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}

/// Says something worth knowing beside the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}

impl Failure {
    pub(crate) fn configuration(error: gateway::config::Error) -> Self {
        let mut diagnostic = MietteDiagnostic::new(error.message().to_owned());
        if let Some(help) = error.help() {
            diagnostic = diagnostic.with_help(help);
        }
        let report = match (error.source_name(), error.source_text(), error.span()) {
            (Some(name), Some(text), Some(span)) => {
                diagnostic = diagnostic.with_label(LabeledSpan::underline(span));
                Report::new(diagnostic).with_source_code(NamedSource::new(name, text.to_owned()))
            }
            _ => Report::new(diagnostic),
        };
        Self { code: CONFIGURATION, report: Box::new(report) }
    }

    pub(crate) fn problems(problems: &gateway::aql::registry::Problems) -> Self {
        let lines: Vec<String> = problems.0.iter().map(|problem| format!("- {problem}")).collect();
        let diagnostic =
            MietteDiagnostic::new("the operations cannot be served as they are").with_help(lines.join("\n"));
        Self { code: CONFIGURATION, report: Box::new(Report::new(diagnostic)) }
    }

    pub(crate) fn app(error: gateway::app::Error, data: &std::path::Path) -> Self {
        match error {
            gateway::app::Error::Problems(problems) => Self::problems(&problems),
            gateway::app::Error::Store(error) => {
                Self::trouble(&error.to_string(), &format!("data directory: {}", data.display()))
            }
        }
    }

    pub(crate) fn trouble(message: &str, help: &str) -> Self {
        let diagnostic = MietteDiagnostic::new(message).with_help(help);
        Self { code: TROUBLE, report: Box::new(Report::new(diagnostic)) }
    }

    pub(crate) fn usage(message: &str, help: &str) -> Self {
        let diagnostic = MietteDiagnostic::new(message).with_help(help);
        Self { code: 2, report: Box::new(Report::new(diagnostic)) }
    }

    /// Prints the report and gives the code to end with.
    pub(crate) fn print(self) -> ExitCode {
        let _ = writeln!(std::io::stderr(), "{:?}", self.report);
        ExitCode::from(self.code)
    }
}
