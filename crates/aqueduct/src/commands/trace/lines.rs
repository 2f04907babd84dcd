//! Spans out of the store and into it, one a line.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use gateway::{
    inspect,
    store::{
        TraceStore,
        traces::{Appender, Batch},
    },
    trace::{
        Nanos,
        lines::{self, Brought},
        otlp,
    },
};
use jiff::Timestamp;

use super::trouble;
use crate::report::{self, Failure};

/// Spans that are read, or written, together.
const TOGETHER: u32 = 2000;
/// Lines that cannot be read of which each is told; of the others only their number.
const MISTAKES_SHOWN: usize = 10;

#[derive(clap::Args)]
pub(super) struct Export {
    /// Where to write to [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only spans that began at this time or later, as in 2026-11-16T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only spans that began before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Write OTLP/JSON, which any collector reads, not lines of our own
    #[arg(long)]
    otlp: bool,
}

#[derive(clap::Args)]
pub(super) struct Import {
    /// Files to read, packed by gzip or not: lines of our own, OTLP/JSON, or spans of OpenTelemetry's Python library; '-' is
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Export {
    pub(super) async fn run(&self, store: &TraceStore) -> Result<ExitCode, Failure> {
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => Box::new(private(path).map_err(|error| unusable(path, &error))?),
            None => Box::new(io::stdout().lock()),
        };
        let nanos = |time: Timestamp| Nanos::try_from(time.as_nanosecond()).unwrap_or_default();
        let (since, until) = (self.since.map(nanos), self.until.map(|time| nanos(time) - 1));
        let (mut count, mut after) = (0, None);
        loop {
            let (spans, next) =
                store.export(since, until, after, TOGETHER).await.map_err(|error| trouble(&error))?;
            let written = if self.otlp {
                // A request a line, which is how collectors write files themselves.
                match spans.is_empty() {
                    true => Ok(()),
                    false => otlp::write::json(&spans).map_err(io::Error::from).and_then(|mut line| {
                        line.push(b'\n');
                        out.write_all(&line)
                    }),
                }
            } else {
                spans.iter().try_for_each(|span| lines::write(span, &mut out))
            };
            match written {
                Ok(()) => {}
                // Whoever read it has enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
                Err(error) => return Err(unusable(Path::new("the output"), &error)),
            }
            count += spans.len();
            after = next;
            if after.is_none() {
                break;
            }
        }
        out.flush().map_err(|error| unusable(Path::new("the output"), &error))?;
        report::note(&format!("{count} spans written"));
        let unreadable = store.unreadable();
        for file in &unreadable {
            report::note(&format!(
                "{file}: it is damaged, or not a file of this program or its version; what could not be read of it is not among them"
            ));
        }
        Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { report::trouble() })
    }
}

impl Import {
    pub(super) fn run(&self, store: &TraceStore) -> Result<ExitCode, Failure> {
        let mut appender = store.appender();
        let mut done = Done::default();
        for path in &self.files {
            let input: Box<dyn Read + Send> = match path.to_str() {
                Some("-") => Box::new(io::stdin()),
                _ => Box::new(File::open(path).map_err(|error| unusable(path, &error))?),
            };
            let lines = lines::read(input, inspect::now()).map_err(|error| unusable(path, &error))?;
            let mut batch = Batch::default();
            for line in lines {
                match line {
                    Ok(Brought { spans, rejected }) => {
                        done.rejected += rejected;
                        batch.reported.extend(spans);
                    }
                    Err(mistake) => {
                        done.mistakes += 1;
                        if done.mistakes <= MISTAKES_SHOWN {
                            report::note(&format!("{}: {mistake}", path.display()));
                        }
                    }
                }
                if batch.reported.len() >= TOGETHER as usize {
                    done.keep(&mut appender, &mut batch)?;
                }
            }
            done.keep(&mut appender, &mut batch)?;
        }
        while appender.index_some(TOGETHER).map_err(|error| trouble(&error))? > 0 {}
        let Done { taken, known, rejected, mistakes } = done;
        report::print(&format!(
            "{taken} spans taken, {known} were known, {rejected} rejected, {mistakes} lines could not be read"
        ));
        Ok(if rejected + mistakes == 0 { ExitCode::SUCCESS } else { report::findings() })
    }
}

#[derive(Default)]
struct Done {
    taken: u64,
    known: u64,
    rejected: usize,
    mistakes: usize,
}

impl Done {
    fn keep(&mut self, appender: &mut Appender, batch: &mut Batch) -> Result<(), Failure> {
        let appended = appender.append(batch, inspect::now()).map_err(|error| trouble(&error))?;
        self.taken += appended.spans + appended.updated;
        self.known += appended.ignored;
        batch.reported.clear();
        Ok(())
    }
}

/// A file for its owner alone: what was recorded may be nobody else's business. One that is there is written over, and
/// keeps no wider rights.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        file.set_permissions(own)?;
    }
    Ok(file)
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::trouble(&format!("{}: {error}", path.display()), "name a file that can be read or written")
}

#[cfg(test)]
mod tests {
    use gateway::store::traces::{DIRECTORY, Options};

    use super::*;

    /// Nobody takes a part for the whole.
    #[tokio::test]
    async fn an_export_that_could_not_read_everything_says_so() {
        let data = tempfile::tempdir().unwrap();
        let traces = data.path().join(DIRECTORY);
        let output = Some(data.path().join("out.jsonl"));
        let export = Export { output, since: None, until: None, otlp: false };
        std::fs::create_dir(&traces).unwrap();
        let run = async || {
            let store = TraceStore::open(data.path(), Options::default());
            format!("{:?}", export.run(&store).await.map_err(drop).unwrap())
        };
        assert_eq!(run().await, format!("{:?}", ExitCode::SUCCESS));
        for (file, damage) in [("2026-11-15.db", None), ("2026-11-16.db", Some("no database at all"))] {
            let path = traces.join(file);
            match damage {
                None => std::fs::create_dir(&path).unwrap(),
                Some(text) => std::fs::write(&path, text).unwrap(),
            }
            assert_eq!(run().await, format!("{:?}", ExitCode::from(4)), "{file}");
        }
    }
}
