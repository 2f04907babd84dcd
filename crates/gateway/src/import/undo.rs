//! Puts clients' files back as they were.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    error::Error,
    files::{self, Rights},
    journal::{self, Change},
};
use crate::config::{Environment, File, Overrides, data_directory, upstream_name};

/// What was put back, and what could not be.
#[derive(Debug, Default, Serialize)]
pub struct Undone {
    pub restored: Vec<Restored>,
    /// One sentence for each file that stays as it is.
    pub refused: Vec<String>,
    /// What the files that were put back had given to configurations, which keep it.
    pub stays: Vec<Stays>,
}

/// Servers that are still configured here, besides in the clients again.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Stays {
    pub config: PathBuf,
    /// What they are called there.
    pub upstreams: Vec<String>,
}

/// A file that is as it was.
#[derive(Debug, Serialize)]
pub struct Restored {
    pub path: PathBuf,
    /// Where changes made since are kept, which were given up by force.
    pub given_up: Option<PathBuf>,
}

/// Puts every noted file back. One that was changed since is left alone, unless forced.
pub fn undo(
    data: Option<&Path>,
    environment: &Environment,
    force: bool,
    now: Timestamp,
) -> Result<Undone, Error> {
    let overrides = Overrides { data: data.map(Path::to_owned), ..Overrides::default() };
    let data = data_directory(&overrides, environment, None, Path::new(""))
        .map_err(|error| Error::new(error.message(), error.help().unwrap_or("name one with '--data'")))?;
    let data = environment.directory().join(data);
    let mut journal = journal::read(&data)?;
    let mut undone = Undone::default();
    let mut paths: Vec<PathBuf> = Vec::new();
    for change in &journal.changes {
        if !paths.contains(&change.path) {
            paths.push(change.path.clone());
        }
    }
    for path in paths {
        let changes: Vec<Change> =
            journal.changes.iter().filter(|change| change.path == path).cloned().collect();
        match restore(&path, &changes, force, now) {
            Ok(restored) => {
                undone.restored.push(restored);
                changes.iter().for_each(|change| undone.note(change));
                journal.changes.retain(|change| change.path != path);
                // Written after each file, so that a stop in between forgets nothing.
                journal::write(&data, &journal)?;
                changes.iter().for_each(|change| drop(std::fs::remove_file(&change.backup)));
            }
            Err(error) => undone.refused.push(format!("{}; {}", error.message(), error.help())),
        }
    }
    undone.stays = std::mem::take(&mut undone.stays).into_iter().filter_map(still_there).collect();
    Ok(undone)
}

impl Undone {
    fn note(&mut self, change: &Change) {
        let Some(config) = &change.config else { return };
        let place = self.stays.iter().position(|stays| stays.config == *config);
        let new = || Stays { config: config.clone(), upstreams: Vec::new() };
        let mut stays = place.map_or_else(new, |place| self.stays.swap_remove(place));
        for name in &change.upstreams {
            if !stays.upstreams.contains(name) {
                stays.upstreams.push(name.clone());
            }
        }
        self.stays.push(stays);
    }
}

/// The user may have removed them. What cannot be read may still hold them.
fn still_there(mut stays: Stays) -> Option<Stays> {
    let text = files::read(&stays.config).ok()??;
    if let Ok(file) = File::parse(&stays.config.display().to_string(), &text) {
        let names: Vec<String> =
            file.upstream_names().iter().filter_map(|name| upstream_name(name)).collect();
        stays.upstreams.retain(|name| names.contains(name));
    }
    (!stays.upstreams.is_empty()).then_some(stays)
}

/// Goes back change by change as long as each begins where the one before it ended: what a person wrote in between
/// is kept.
fn restore(path: &Path, changes: &[Change], force: bool, now: Timestamp) -> Result<Restored, Error> {
    let current = files::read(path)?;
    let found = current.as_deref().map(files::hash);
    // Somebody put it back already, or it was noted and the writing never came.
    let back = changes.last().is_some_and(|newest| Some(&newest.before) == found.as_ref());
    if let (true, Some((_, older))) = (back, changes.split_last()) {
        let chained = older.last().is_some_and(|change| Some(&change.after) == found.as_ref());
        return match chained {
            true => restore(path, older, force, now),
            false => Ok(Restored { path: path.to_owned(), given_up: None }),
        };
    }
    let newest = changes.last().map(|change| &change.after);
    let as_written = found.as_ref() == newest;
    if !as_written && !force {
        let what = if current.is_some() { "was changed since" } else { "is not there any more" };
        return Err(Error::new(
            format!("'{}' {what}", path.display()),
            format!("its backup is '{}'; '--force' puts it back all the same", backup_of(changes)),
        ));
    }
    let mut text = None;
    let mut next: Option<&Change> = None;
    for change in changes.iter().rev() {
        if next.is_some_and(|next| next.before != change.after) {
            break;
        }
        text = Some(backup(change, force)?);
        next = Some(change);
    }
    let Some(text) = text else { return Ok(Restored { path: path.to_owned(), given_up: None }) };
    let staged = files::stage(path, &text, Rights::Kept)?;
    let given_up = match current {
        Some(current) if !as_written => {
            let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
            Some(files::backup(path, &current, &stamp)?)
        }
        _ => None,
    };
    staged.put()?;
    Ok(Restored { path: path.to_owned(), given_up })
}

fn backup_of(changes: &[Change]) -> String {
    changes.last().map(|change| change.backup.display().to_string()).unwrap_or_default()
}

fn backup(change: &Change, force: bool) -> Result<String, Error> {
    let shown = change.backup.display();
    let text = files::read(&change.backup)?.ok_or_else(|| {
        Error::new(
            format!("the backup '{shown}' of '{}' is gone", change.path.display()),
            "change the client's file by hand",
        )
    })?;
    if files::hash(&text) != change.before && !force {
        let message = format!("the backup '{shown}' was changed since it was made");
        return Err(Error::new(message, "look it over; '--force' puts it back all the same"));
    }
    Ok(text)
}
