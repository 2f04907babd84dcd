//! Where the data directory is.

use std::path::{Path, PathBuf};

use super::{
    environment::{self, Environment},
    error::{Error, Place},
    file::Placed,
    load::Overrides,
};

/// The data directory by flag, environment, file or custom. `base` is the directory of the file.
pub(crate) fn data(
    flags: &Overrides,
    environment: &Environment,
    written: Option<&Placed<String>>,
    base: &Path,
) -> Result<PathBuf, Error> {
    let mut chosen = None;
    if let Some(path) = &flags.data {
        chosen.get_or_insert(expand(path, Place::Flag("--data"), environment)?);
    }
    if let Some(path) = environment.path(environment::DATA) {
        chosen.get_or_insert(expand(path, Place::Variable(environment::DATA), environment)?);
    }
    if let Some(path) = written {
        let expanded = expand(Path::new(path.get()), Place::File(Some(path.span())), environment)?;
        chosen.get_or_insert(base.join(expanded));
    }
    match chosen.or_else(|| Some(environment.data_home()?.join("aqueduct"))) {
        Some(path) => Ok(path),
        None => Err(Error::new(
            Place::Unsaid,
            "there is no data directory, since neither 'XDG_DATA_HOME' nor 'HOME' is set",
        )
        .help_with("give one with '--data', 'AQUEDUCT_DATA' or 'data' under '[store]'")),
    }
}

/// `~/x` is `x` at home. Other users' homes are not looked up.
pub(super) fn expand(path: &Path, place: Place, environment: &Environment) -> Result<PathBuf, Error> {
    let shown = path.to_string_lossy();
    if shown.is_empty() {
        return Err(Error::new(place, "the path is empty"));
    }
    if shown.contains('\0') {
        return Err(Error::new(place, format!("the path '{shown}' holds a null character")));
    }
    if !shown.starts_with('~') {
        return Ok(path.to_owned());
    }
    match (path.strip_prefix("~"), environment.home()) {
        (Ok(rest), Some(home)) => Ok(home.join(rest)),
        (Ok(_), None) => Err(Error::new(place, format!("'{shown}' needs 'HOME', which is not set"))
            .help_with("write the whole path")),
        (Err(_), _) => Err(Error::new(place, format!("'{shown}' names the home of another user"))
            .help_with("write the whole path, or './' before a name beginning with '~'")),
    }
}
