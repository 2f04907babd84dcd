//! The environment as data: captured once by the binary, made up by tests.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use super::error::{Error, Place};

pub(super) const MODE: &str = "MCP_AQL_ENDPOINT_MODE";
pub(super) const PROFILE: &str = "MCP_AQL_ENDPOINT_PROFILE";
pub(super) const PREFIX: &str = "MCP_AQL_TOOL_PREFIX";
pub(super) const SAFETY_LOOP: &str = "MCPAQL_SAFETY_LOOP";
pub(super) const SERVER_ID: &str = "MCP_SERVER_ID";
pub(super) const HTTP: &str = "AQUEDUCT_HTTP";
pub(super) const CONFIRMATION: &str = "AQUEDUCT_CONFIRMATION";
pub(super) const DATA: &str = "AQUEDUCT_DATA";
pub(super) const CONFIG: &str = "AQUEDUCT_CONFIG";
const HOME: &str = "HOME";
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// Every variable that is read under its own name, and what it sets. The file may name others.
pub(super) const VARIABLES: [(&str, &str); 12] = [
    (CONFIG, "The configuration file, unless `--config` names one."),
    (DATA, "Beats `store.data`."),
    (HTTP, "Beats `server.http`."),
    (CONFIRMATION, "Beats `safety.confirmation`."),
    (SAFETY_LOOP, "Beats `safety.loop.mode`."),
    (SERVER_ID, "Beats `inspector.server_id`."),
    (MODE, "Beats `server.mode`."),
    (PROFILE, "Beats `server.profile`."),
    (PREFIX, "Beats `server.prefix`."),
    (XDG_CONFIG_HOME, "Where `aqueduct/aqueduct.toml` is looked for; `~/.config` if unset."),
    (XDG_DATA_HOME, "Where `aqueduct/` is kept; `~/.local/share` if unset."),
    (HOME, "What `~/` means."),
];

/// The environment variables, and the directory that relative names start at.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    directory: PathBuf,
}

impl Environment {
    /// The environment of this process, all of it: the file may name any variable.
    #[must_use]
    pub fn capture() -> Self {
        Self::new(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))))
    }

    #[must_use]
    pub fn new<N: Into<String>, V: Into<OsString>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, directory: PathBuf::new() }
    }

    /// The same, as if the process stood in that directory.
    #[must_use]
    pub fn in_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..self }
    }

    /// Empty counts as unset, which is what `VARIABLE= aqueduct` in a shell means by it.
    fn value(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let text = value.to_str();
        text.map(Some).ok_or_else(|| Error::new(Place::Variable(name), "the value is not UTF-8 text"))
    }

    /// The variable's value if it is set, be it empty, as a shell takes `${NAME}`.
    pub(super) fn named(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    pub(crate) fn path(&self, name: &str) -> Option<&Path> {
        self.value(name).map(Path::new)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.path(HOME)
    }

    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.xdg(XDG_CONFIG_HOME, ".config")
    }

    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        self.xdg(XDG_DATA_HOME, ".local/share")
    }

    /// The XDG specification has relative values ignored.
    fn xdg(&self, name: &str, under_home: &str) -> Option<PathBuf> {
        let set = self.path(name).filter(|path| path.is_absolute()).map(Path::to_owned);
        set.or_else(|| Some(self.home()?.join(under_home)))
    }
}

/// Variables hold secrets, so only their names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        f.debug_struct("Environment").field("variables", &names).field("directory", &self.directory).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_counts_as_unset() {
        let environment = Environment::new([(MODE, ""), (HOME, "/home/a"), (XDG_DATA_HOME, "")]);
        assert_eq!(environment.text(MODE), Ok(None));
        assert_eq!(environment.data_home(), Some("/home/a/.local/share".into()));
    }

    #[test]
    fn relative_xdg_directories_are_ignored() {
        let environment = Environment::new([(HOME, "/home/a"), (XDG_CONFIG_HOME, "conf")]);
        assert_eq!(environment.config_home(), Some("/home/a/.config".into()));
        assert_eq!(Environment::new([(XDG_CONFIG_HOME, "conf")]).config_home(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_names_its_variable() {
        use std::os::unix::ffi::OsStringExt as _;
        let environment = Environment::new([(MODE, OsString::from_vec(vec![0xff]))]);
        let error = environment.text(MODE).unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment variable 'MCP_AQL_ENDPOINT_MODE': the value is not UTF-8 text"
        );
    }
}
