//! A dialog on the operator's desktop, shown by the system's own program.
//!
//! One is open in each process; the others wait behind it, so that nobody is buried in windows.

mod invocation;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::Semaphore;

use self::invocation::{Program, Said};
use super::{
    Answer, Answers, Channel,
    offer::{seconds_left, text},
    process::run,
    running::Running,
};
use crate::store::safety::Approval;

const NAME: &str = "dialog";

/// What a program gets to end by itself after its own time is over.
const LAST_MOMENT: Duration = Duration::from_secs(5);

pub(super) struct Dialog {
    /// The program, or why there is none.
    program: Result<(Program, PathBuf), String>,
    screen: Arc<Semaphore>,
    running: Running,
}

impl Dialog {
    pub(super) fn new(running: Running) -> Self {
        Self { program: find(), screen: Arc::new(Semaphore::new(1)), running }
    }
}

impl Channel for Dialog {
    fn name(&self) -> &'static str {
        NAME
    }

    fn available(&self) -> Result<(), String> {
        self.program.as_ref().map(drop).map_err(Clone::clone)
    }

    fn offer(&self, offer: &Arc<Approval>, answers: &Answers) {
        let Ok((program, path)) = self.program.clone() else { return };
        let (offer, answers, screen) = (Arc::clone(offer), answers.clone(), Arc::clone(&self.screen));
        self.running.start(&offer.id.clone(), async move {
            let Ok(_shown) = screen.acquire_owned().await else { return };
            if Timestamp::now() >= offer.expires_at {
                return;
            }
            let seconds = seconds_left(&offer, Timestamp::now());
            let invocation = program.invocation(&path, &text(&offer), seconds);
            let said = match run(invocation, Duration::from_secs(seconds) + LAST_MOMENT).await {
                Ok(ended) => program.said(ended.code, &ended.stdout, &ended.stderr),
                Err(why) => {
                    tracing::warn!(approval = offer.id, why, "no dialog could be shown");
                    return;
                }
            };
            if said != Said::Nothing {
                let answer = Answer::new(&offer.id, said == Said::Approve, NAME, NAME);
                let _ = answers.send(answer).await;
            }
        });
    }

    fn withdraw(&self, id: &str) {
        self.running.stop(id);
    }

    fn end(&self) {
        self.running.stop_all();
    }
}

fn find() -> Result<(Program, PathBuf), String> {
    let program = if cfg!(target_os = "macos") {
        Program::Osascript
    } else if cfg!(windows) {
        Program::PowerShell
    } else {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
            return Err(
                "there is no desktop, since neither 'DISPLAY' nor 'WAYLAND_DISPLAY' is set".to_owned()
            );
        }
        Program::Zenity
    };
    let path = in_path(program.file()).ok_or_else(|| format!("'{}' is not installed", program.file()))?;
    Ok((program, path))
}

fn in_path(file: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // A relative entry would find what an agent wrote into the working directory.
    let directories = env::split_paths(&path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(file)).find(|path: &PathBuf| Path::is_file(path))
}
