//! What would happen, before anything does.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    error::Error,
    files,
    found::{self, Found},
    merge::{self, Server},
    places,
    render::{self, Secrets},
    rewrite::{self, Start},
};
use crate::config::{Environment, File, LeftOut, Overrides, Secret, data_directory};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The clients' files; none is every usual place.
    pub from: Vec<PathBuf>,
    /// The configuration to write; none is `aqueduct.toml` in the user's configuration directory.
    pub output: Option<PathBuf>,
    /// Where changes of clients' files are noted; none is the data directory.
    pub data: Option<PathBuf>,
    /// What clients are to start.
    pub command: String,
    /// Whether the clients' files are left alone.
    pub keep_client: bool,
    pub environment: Environment,
    pub now: Timestamp,
}

/// What would happen. Nothing in it that is shown or serialized holds a secret.
#[derive(Debug, Serialize)]
pub struct Plan {
    pub servers: Vec<Planned>,
    /// The configuration that is written.
    pub config: PathBuf,
    /// Whether it is there already, so that it is added to.
    pub config_exists: bool,
    /// What is added to it, with secrets covered; empty if nothing is.
    pub config_added: String,
    pub clients: Vec<ClientChange>,
    /// What is better known, one sentence each.
    pub notes: Vec<String>,
    /// Where servers were looked for.
    pub looked: Vec<PathBuf>,
    #[serde(skip)]
    pub(super) config_before: Option<Secret>,
    #[serde(skip)]
    pub(super) config_after: Secret,
    #[serde(skip)]
    pub(super) data: PathBuf,
    #[serde(skip)]
    pub(super) stamp: String,
}

/// A server that was found.
#[derive(Debug, Serialize)]
pub struct Planned {
    /// The upstream's name.
    pub name: String,
    /// What the client calls it.
    pub given: String,
    pub from: Vec<String>,
    pub enabled: bool,
    /// Whether the configuration has it already.
    pub known: bool,
    /// The variables that are not set, without which it stays off.
    pub waits_for: Vec<String>,
}

/// A client's file that changes.
#[derive(Debug, Serialize)]
pub struct ClientChange {
    pub client: &'static str,
    pub path: PathBuf,
    /// The servers that Aqueduct stands in for.
    pub replaced: Vec<String>,
    /// What they are called in the configuration.
    pub upstreams: Vec<String>,
    /// The entry that stands there then.
    pub entry: Start,
    /// Where the file is kept as it was.
    pub backup: PathBuf,
    #[serde(skip)]
    pub(super) before: Secret,
    #[serde(skip)]
    pub(super) after: Secret,
}

impl Plan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.config_added.is_empty() && self.clients.is_empty()
    }
}

/// Looks for servers and says what would happen.
pub fn plan(request: &Request) -> Result<Plan, Error> {
    let environment = &request.environment;
    let config = output(request)?;
    let before = files::read(&config)?;
    let existing = before.as_deref().map(|text| existing(&config, text)).transpose()?;
    let (found, looked, mut notes) = look(request)?;
    notes.extend(found.iter().flat_map(|found| found.notes.iter().cloned()));
    let (servers, about) = merge::merge(&found, existing.as_ref());
    notes.extend(about);
    let added = render::toml(&servers, Secrets::Written)?;
    let after = joined(before.as_deref(), &added);
    let waiting = match verify(&config, &after, environment)? {
        Ok(left_out) => left_out,
        Err(trouble) => {
            notes.push(trouble);
            Vec::new()
        }
    };
    notes.extend(waiting.iter().map(waits));

    let explicit = request.data.as_ref().map(|data| absolute(environment, data));
    let overrides = Overrides { data: explicit.clone(), ..Overrides::default() };
    let data = data_directory(&overrides, environment, None, Path::new(""))
        .map_err(|error| Error::new(error.message(), error.help().unwrap_or("name one with '--data'")))?;
    let stamp = request.now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let start = start(request, &config, explicit.as_deref());
    let mut clients = Vec::new();
    if !request.keep_client {
        for found in &found {
            clients.extend(change(found, &servers, &start, &stamp)?);
        }
        notes.extend(not_on_path(request));
    }
    Ok(Plan {
        servers: servers.iter().map(|server| planned(server, &waiting)).collect(),
        config_exists: before.is_some(),
        config_added: render::toml(&servers, Secrets::Covered)?,
        config,
        clients,
        notes,
        looked,
        config_before: before.map(Secret::new),
        config_after: Secret::new(after),
        data: std::path::absolute(environment.directory().join(&data)).unwrap_or(data),
        stamp,
    })
}

fn output(request: &Request) -> Result<PathBuf, Error> {
    if let Some(path) = &request.output {
        return Ok(absolute(&request.environment, path));
    }
    match request.environment.config_home() {
        Some(home) => Ok(home.join("aqueduct").join("aqueduct.toml")),
        None => Err(Error::new(
            "there is no configuration directory, since neither 'XDG_CONFIG_HOME' nor 'HOME' is set",
            "name the file to write with '--output'",
        )),
    }
}

fn absolute(environment: &Environment, path: &Path) -> PathBuf {
    let path = environment.directory().join(path);
    std::path::absolute(&path).unwrap_or(path)
}

/// What is there must be understood before anything is added to it.
fn existing(path: &Path, text: &str) -> Result<File, Error> {
    let name = path.display().to_string();
    if text.trim_start().starts_with('{') {
        let message = format!("'{name}' is JSON, and servers are added to TOML only");
        return Err(Error::new(message, "name another file with '--output'"));
    }
    File::parse(&name, text)
        .map_err(|error| Error::new(error.to_string(), "mend the file, or name another with '--output'"))
}

type Looked = (Vec<Found>, Vec<PathBuf>, Vec<String>);

/// A file that was named must be readable; one in a usual place is passed over with a note.
fn look(request: &Request) -> Result<Looked, Error> {
    let environment = &request.environment;
    let (mut found, mut looked, mut notes) = (Vec::new(), Vec::<PathBuf>::new(), Vec::new());
    if request.from.is_empty() {
        for place in places::usual(environment) {
            looked.push(place.path.clone());
            match found::find(place, environment) {
                Ok(file) => found.extend(file),
                Err(error) => notes.push(error.to_string()),
            }
        }
        return Ok((found, looked, notes));
    }
    for path in &request.from {
        let place = places::named(path, environment);
        if looked.contains(&place.path) {
            continue;
        }
        looked.push(place.path.clone());
        let path = place.path.clone();
        match found::find(place, environment)? {
            Some(file) => found.push(file),
            None if !path.exists() => {
                return Err(Error::file("read", &path, &std::io::ErrorKind::NotFound.into()));
            }
            None => {
                let keys = "'mcpServers', 'servers' or 'context_servers'";
                return Err(Error::new(
                    format!("'{}' has no {keys}", path.display()),
                    "name a client's file with servers in it, or leave '--from' out to look in the usual places",
                ));
            }
        }
    }
    Ok((found, looked, notes))
}

/// What is there stays as it is; what is new comes after it.
fn joined(before: Option<&str>, added: &str) -> String {
    match before.filter(|text| !text.trim().is_empty()) {
        None => {
            format!("# The configuration of Aqueduct. 'aqueduct check --reference' tells every key.\n{added}")
        }
        Some(before) if before.ends_with('\n') => format!("{before}{added}"),
        Some(before) => format!("{before}\n{added}"),
    }
}

/// The file must load as it will be. What is only so here and now is told: the servers that wait for variables, or why
/// Aqueduct would not start.
fn verify(path: &Path, text: &str, environment: &Environment) -> Result<Result<Vec<LeftOut>, String>, Error> {
    let name = path.display().to_string();
    let file = File::parse(&name, text).map_err(|error| {
        Error::new(
            format!("servers cannot be added to '{name}' without changing it: {}", error.message()),
            "write its upstreams as '[upstream.NAME]' sections, or name another file with '--output'",
        )
    })?;
    let base = path.parent().unwrap_or(Path::new(""));
    Ok(file.outlook(base, environment).map_err(|error| {
        let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
        format!("as things are, Aqueduct will not start: {}{help}", error.message())
    }))
}

fn start(request: &Request, config: &Path, data: Option<&Path>) -> Start {
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if let Some(data) = data {
        args.extend(["--data".to_owned(), data.display().to_string()]);
    }
    args.extend(["--config".to_owned(), config.display().to_string()]);
    Start { kind: None, source: None, command: request.command.clone(), args }
}

fn change(
    found: &Found,
    servers: &[Server],
    start: &Start,
    stamp: &str,
) -> Result<Option<ClientChange>, Error> {
    let start = start.of_client(found.place.client);
    let Some(after) = rewrite::rewrite(found, &start)? else { return Ok(None) };
    let entries = found.sections.iter().flat_map(|section| &section.entries);
    let path = found.place.path.clone();
    let shown = path.display().to_string();
    let of_file = servers.iter().filter(|server| server.from.contains(&shown));
    Ok(Some(ClientChange {
        client: found.place.client.name(),
        replaced: entries.map(|entry| entry.name.get().clone()).collect(),
        upstreams: of_file.map(|server| server.name.clone()).collect(),
        entry: start,
        backup: files::backup_path(&path, stamp, 1),
        before: Secret::new(found.text.as_str()),
        after: Secret::new(after),
        path,
    }))
}

/// Clients may start us with other variables than a shell has, so this is no mistake yet.
fn waits(left_out: &LeftOut) -> String {
    format!("'{}' will be off as long as {}; {}", left_out.name, left_out.reason(), left_out.help())
}

fn planned(server: &Server, waiting: &[LeftOut]) -> Planned {
    let waits = waiting.iter().find(|left_out| left_out.name == server.name);
    Planned {
        name: server.name.clone(),
        given: server.entry.name.get().clone(),
        from: server.from.clone(),
        enabled: server.entry.enabled,
        known: server.known,
        waits_for: waits.map(|left_out| left_out.variables.clone()).unwrap_or_default(),
    }
}

/// Clients start programs by their own path, which is often shorter than a shell's.
fn not_on_path(request: &Request) -> Option<String> {
    let command = &request.command;
    let path = request.environment.path("PATH").unwrap_or(Path::new(""));
    let names = [command.clone(), format!("{command}.exe")];
    let found = std::env::split_paths(path).any(|dir| names.iter().any(|name| dir.join(name).is_file()));
    let bare = !command.contains(['/', '\\']);
    (bare && !found).then(|| {
        format!(
            "'{command}' is not in 'PATH', so clients will not find it; install it there or use '--command'"
        )
    })
}
