//! Does what a plan says.

use std::path::PathBuf;

use serde::Serialize;

use super::{
    error::Error,
    files::{self, Rights},
    journal::{self, Change},
    plan::Plan,
};

/// What was done.
#[derive(Debug, Serialize)]
pub struct Done {
    /// The configuration, if it was written.
    pub config: Option<PathBuf>,
    pub clients: Vec<Written>,
}

/// A client's file that was changed.
#[derive(Debug, Serialize)]
pub struct Written {
    pub path: PathBuf,
    pub backup: PathBuf,
}

/// Writes the configuration and the clients' files. Everything is written aside first, so that what can fail fails
/// before anything has changed; the notes for undoing come before the first client's file does.
pub fn apply(plan: &Plan) -> Result<Done, Error> {
    let before = plan.config_before.as_ref().map(|before| before.expose());
    unchanged(&plan.config, before)?;
    let writes_config = !plan.config_added.is_empty();
    let config = writes_config
        .then(|| files::stage(&plan.config, plan.config_after.expose(), Rights::OwnerOnly))
        .transpose()?;
    let mut staged = Vec::new();
    for client in &plan.clients {
        unchanged(&client.path, Some(client.before.expose()))?;
        staged.push(files::stage(&client.path, client.after.expose(), Rights::Kept)?);
    }
    let mut journal = journal::read(&plan.data)?;
    let mut clients = Vec::new();
    for client in &plan.clients {
        let backup = files::backup(&client.path, client.before.expose(), &plan.stamp)?;
        journal.changes.push(Change {
            path: client.path.clone(),
            backup: backup.clone(),
            before: files::hash(client.before.expose()),
            after: files::hash(client.after.expose()),
            config: Some(plan.config.clone()),
            upstreams: client.upstreams.clone(),
        });
        clients.push(Written { path: client.path.clone(), backup });
    }
    if !clients.is_empty() {
        journal::write(&plan.data, &journal)?;
    }
    if let Some(config) = config {
        config.put()?;
    }
    for file in staged {
        file.put()?;
    }
    Ok(Done { config: writes_config.then(|| plan.config.clone()), clients })
}

/// Somebody may have written the file while the plan was looked over.
fn unchanged(path: &std::path::Path, before: Option<&str>) -> Result<(), Error> {
    if files::read(path)?.as_deref() == before {
        return Ok(());
    }
    Err(Error::new(
        format!("'{}' was changed by somebody else in the meantime", path.display()),
        "nothing was written; run the command again",
    ))
}
