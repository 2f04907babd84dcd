//! One server that is given on the command line, in place of those of the file.
//!
//! It goes the same way as one in the file, so that it is checked by the same rules. Only its values are taken as they
//! are: the shell, or the client that starts us, has filled in its variables already.

mod name;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    environment::Environment,
    error::Error,
    file::{self, Hidden, Placed},
    notation::Notation,
    secret::Secret,
    upstream::{self, Settled},
};

/// The server that `aqueduct wrap` stands in front of: a command or an address.
#[derive(Debug, Clone, Default)]
pub struct Wrapped {
    /// What it is called; derived from the command or the address where it is not said.
    pub name: Option<String>,
    /// The program and its arguments.
    pub command: Vec<Secret>,
    pub env: Vec<(String, Secret)>,
    pub cwd: Option<PathBuf>,
    pub url: Option<Secret>,
    pub headers: Vec<(String, Secret)>,
    pub bearer_env: Option<String>,
    pub start_timeout_seconds: Option<i64>,
    /// Whether definitions that have changed are taken from now on.
    pub accept_changes: bool,
    /// The directory that relative paths start in.
    pub directory: PathBuf,
}

impl Wrapped {
    /// The name by which it is known in messages, before it is made snake_case.
    #[must_use]
    pub fn given_name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let words: Vec<&str> = self.command.iter().map(Secret::expose).collect();
        let derived = match &self.url {
            Some(url) => name::of_address(url.expose()),
            None => name::of_command(&words),
        };
        derived.unwrap_or_else(|| "server".to_owned())
    }
}

/// The server as used, and what is better known about it.
pub(super) fn wrapped(given: &Wrapped, environment: &Environment) -> Result<Settled, Error> {
    let name = placed(given.given_name());
    let written = BTreeMap::from([(name, written(given))]);
    let base: &Path = &given.directory;
    let mut settled =
        upstream::upstreams(&written, &Notation::Toml, base, environment, true).map_err(Error::elsewhere)?;
    for upstream in &mut settled.upstreams {
        upstream.wrapped = true;
        // Whoever starts a server directly does not lose what it keeps in memory.
        upstream.idle = None;
    }
    Ok(settled)
}

fn written(given: &Wrapped) -> file::Upstream {
    let mut words = given.command.iter();
    let program = words.next().map(|program| placed(literal(program.expose())));
    let args: Vec<Hidden> = words.map(hidden).collect();
    let table = |pairs: &[(String, Secret)]| {
        let pairs = pairs.iter().map(|(key, value)| (placed(key.clone()), hidden(value)));
        Some(pairs.collect::<BTreeMap<_, _>>()).filter(|table| !table.is_empty())
    };
    file::Upstream {
        command: program,
        args: (!args.is_empty()).then_some(args),
        env: table(&given.env),
        cwd: given.cwd.as_ref().map(|cwd| hidden(&Secret::new(cwd.to_string_lossy()))),
        url: given.url.as_ref().map(hidden),
        headers: table(&given.headers),
        bearer_env: given.bearer_env.clone().map(placed),
        prefix: Some(placed(String::new())),
        start_timeout_seconds: given.start_timeout_seconds.map(placed),
        definitions: given.accept_changes.then(|| placed("follow".to_owned())),
        ..file::Upstream::default()
    }
}

/// There is no file that it could stand in.
fn placed<T>(value: T) -> Placed<T> {
    Placed::new(0..0, value)
}

fn hidden(value: &Secret) -> Hidden {
    placed(Secret::new(literal(value.expose())))
}

/// Nothing in it is a variable.
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}
