//! Keeps calls of other servers' operations away from what is ours: our files, and the addresses that we listen on.
//!
//! A server behind us may read files or fetch addresses for whoever calls it. Were it to read our keys, or to speak to the
//! operator's listener, a caller could approve its own calls through it. So everything in the parameters that could be
//! a path or an address is followed to where it leads, and the call is denied where that is ours.
//!
//! - Nothing of the file system is looked at for texts that look like no path.
//! - Every spelling is tried that a program could understand; a call is denied if one of them leads to us.
//! - What only comes to be while the call runs cannot be seen: a name that resolves to this machine, what a command
//!   computes, what a server reads by itself. SECURITY.md says so.

mod addresses;
mod bases;
mod follow;
mod names;
mod places;
mod processes;
mod spellings;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt, net::SocketAddr, path::PathBuf};

use aql::{category::Category, danger::DangerLevel, error::Error, operation::Operation};
use arc_swap::ArcSwap;
use serde_json::{Map, Value};

use self::{addresses::Listeners, bases::Base, follow::Search, names::Names, places::Owned};

/// What is ours on this machine.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Directories with everything in them.
    pub directories: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
    /// The servers behind us that run on this machine, by their names.
    pub servers: HashMap<String, Started>,
}

/// What a server was started with that says where its relative paths start.
#[derive(Debug, Clone, Default)]
pub struct Started {
    pub directory: PathBuf,
    /// Its arguments and the values of its variables: many servers are told their directories so.
    pub texts: Vec<String>,
}

/// Where a call leads that is not for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnPlace {
    Files,
    /// A directory that holds some of our files, and would take them along.
    Above,
    Listener,
}

impl OwnPlace {
    /// What the audit log calls it.
    pub const EVENT: &'static str = "OWN_PLACE_DENIED";

    /// What the caller is told: no path, no port.
    #[must_use]
    pub fn error(self, operation: &str) -> Error {
        let error = Error::permission_denied(operation, &self.to_string());
        match self {
            Self::Files => {
                error.hint("Leave out what leads there. The operator can look at these files directly.")
            }
            Self::Above => error.hint("Name the directories or files below it that are meant."),
            Self::Listener => error.hint("Call the gateway's operations directly; they need no address."),
        }
    }
}

impl fmt::Display for OwnPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "a parameter leads to the gateway's own files, which no other server may touch",
            Self::Above => "a parameter names a directory above the gateway's own files",
            Self::Listener => "a parameter leads to an address of the gateway itself",
        })
    }
}

/// What a call may do with a directory above ours.
#[derive(Debug, Clone, Copy)]
struct Reach {
    reads: bool,
    /// Whether a command could be in a text, so that bare words count.
    executes: bool,
    /// Whether the directory would go, or be written over, with all that is in it.
    destroys: bool,
}

impl Reach {
    fn of(operation: &Operation) -> Self {
        let category = operation.category();
        let dangerous = operation.danger().level >= DangerLevel::Destructive;
        Self {
            reads: category == Category::Read,
            executes: category == Category::Execute,
            destroys: category == Category::Delete || (dangerous && category != Category::Execute),
        }
    }
}

/// The prepared guard. The listeners are added once they are bound.
pub struct Guard {
    owned: Owned,
    names: Names,
    servers: HashMap<String, Vec<Base>>,
    /// Those of all servers, for what is not said to be for one.
    everywhere: Vec<Base>,
    listeners: ArcSwap<Listeners>,
}

impl Guard {
    /// Prepares the guard from what is ours and from the variables that paths may be written with.
    #[must_use]
    pub fn new(places: Places, addresses: &[SocketAddr]) -> Self {
        Self::with_names(places, addresses, Names::capture())
    }

    fn with_names(places: Places, addresses: &[SocketAddr], names: Names) -> Self {
        let owned = Owned::new(&places.directories, &places.files);
        let servers = places.servers.iter();
        let servers: HashMap<_, _> =
            servers.map(|(server, started)| (server.clone(), bases::of(started, &names, &owned))).collect();
        let mut everywhere: Vec<Base> = Vec::new();
        for base in servers.values().flatten() {
            match everywhere.iter_mut().find(|known| known.path == base.path) {
                Some(known) if base.kind == bases::Kind::Working => known.kind = base.kind,
                Some(_) => {}
                None => everywhere.push(base.clone()),
            }
        }
        let listeners = ArcSwap::from_pointee(Listeners::new(addresses));
        Self { owned, names, servers, everywhere, listeners }
    }

    /// Adds an address that is listened on from now on.
    pub fn listens(&self, address: SocketAddr) {
        self.listeners.rcu(|listeners| listeners.with(address));
    }

    /// Denies a call of another server's operation whose parameters lead to what is ours.
    pub fn check(&self, operation: &Operation, params: &Map<String, Value>) -> Result<(), OwnPlace> {
        let Some(server) = operation.server() else { return Ok(()) };
        self.look(Reach::of(operation), self.bases(server), params)
    }

    /// The same for a request that is no operation, such as reading a resource.
    pub fn check_request(&self, params: &Map<String, Value>) -> Result<(), OwnPlace> {
        let reach = Reach { reads: true, executes: false, destroys: false };
        self.look(reach, &self.everywhere, params)
    }

    /// None for a server that runs who knows where.
    fn bases(&self, server: &str) -> &[Base] {
        self.servers.get(server).map(Vec::as_slice).unwrap_or_default()
    }

    fn look(&self, reach: Reach, bases: &[Base], params: &Map<String, Value>) -> Result<(), OwnPlace> {
        if !reach.executes && params.iter().all(|(key, value)| follow::is_plain(key, value, bases)) {
            return Ok(());
        }
        let listeners = self.listeners.load();
        let mut search = Search::new(self, &listeners, reach, bases);
        search.object(params, 0)?;
        search.combined(params)
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(Places::default(), &[])
    }
}
