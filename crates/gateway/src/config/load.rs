//! Finds the file, reads it, and settles it with the environment and the flags.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    checked::{Checked, check},
    environment::{self, Environment},
    error::{Error, Place},
    file::File,
    paths,
    read::{Failure, read},
    wrapped::Wrapped,
};

const FILE_NAME: &str = "aqueduct.toml";

/// Everything a configuration is made from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file that `--config` names; it must exist. Without one, the usual places are looked through.
    pub file: Option<PathBuf>,
    pub environment: Environment,
    pub flags: Overrides,
}

/// What the command line may set, as written there.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub http: Option<String>,
    pub data: Option<PathBuf>,
    pub mode: Option<String>,
    pub profile: Option<String>,
    pub prefix: Option<String>,
    /// Whether an address that other machines can reach may be served at, given tokens.
    pub allow_remote: bool,
    /// Whether the execution safety loop is all that is served.
    pub safety_only: bool,
    /// The one server that is used, in place of those of the file and of the built-in workspace.
    pub wrapped: Option<Wrapped>,
}

/// The configuration by flags, environment, file and defaults, in this order.
pub fn load(sources: Sources) -> Result<Checked, Error> {
    let Sources { file, environment, flags } = sources;
    let Some(found) = find(file, &environment)? else {
        return check(&File::default(), Path::new(""), &environment, &flags);
    };
    let Found { path, source } = found;
    let file = File::from_source(&source, Some(&path))?;
    let base = path.parent().unwrap_or(Path::new(""));
    let checked = check(&file, base, &environment, &flags).map_err(|error| error.in_source(&source))?;
    Ok(Checked { file: Some(path), ..checked })
}

struct Found {
    path: PathBuf,
    source: super::error::Source,
}

/// A file that was asked for must be there; the usual places may be empty.
fn find(asked: Option<PathBuf>, environment: &Environment) -> Result<Option<Found>, Error> {
    let variable = || environment.path(environment::CONFIG).map(Path::to_owned);
    let asked = match asked {
        Some(path) => Some((path, Place::Flag("--config"))),
        None => variable().map(|path| (path, Place::Variable(environment::CONFIG))),
    };
    if let Some((path, place)) = asked {
        let path = paths::expand(&path, place.clone(), environment)?;
        return open(&path, &path.to_string_lossy(), place, environment).map(Some);
    }
    for path in usual_files(environment) {
        // A directory of that name, or one that may not be looked into, is told rather than passed over: the
        // operator may count on rules in it.
        if is_absent(&environment.directory().join(&path)) {
            continue;
        }
        return open(&path, &path.to_string_lossy(), Place::Unsaid, environment).map(Some);
    }
    Ok(None)
}

/// Where a file is looked for when none is named.
pub(crate) fn usual_files(environment: &Environment) -> impl Iterator<Item = PathBuf> + use<> {
    let usual = [
        Some(PathBuf::from(FILE_NAME)),
        environment.config_home().map(|home| home.join("aqueduct").join(FILE_NAME)),
    ];
    usual.into_iter().flatten()
}

fn is_absent(path: &Path) -> bool {
    matches!(
        path.symlink_metadata().map_err(|error| error.kind()),
        Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    )
}

fn open(path: &Path, name: &str, place: Place, environment: &Environment) -> Result<Found, Error> {
    let path = environment.directory().join(path);
    match read(&path, name.to_owned()) {
        Ok(source) => Ok(Found { path, source }),
        Err(Failure::Wrong(error)) => Err(error),
        Err(Failure::Closed(error)) => {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "it does not exist",
                io::ErrorKind::PermissionDenied => "permission is denied",
                io::ErrorKind::IsADirectory => "it is a directory",
                _ => "reading it failed",
            };
            let error = Error::new(place, format!("the configuration file '{name}' cannot be read: {why}"));
            Err(error.help_with("name a readable file with '--config', or leave it out to use the defaults"))
        }
    }
}
