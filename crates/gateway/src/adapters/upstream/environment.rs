//! What a process gets of our environment: what programs need to run, and nothing that was meant for us or for others.
//!
//! Tokens of one upstream stand in our environment, and every other upstream would see them. What else a server needs is
//! given to it in `env`.

use crate::config;

/// Variables that say where things are, in which language, and how the network is reached.
const NAMES: [&str; 46] = [
    "ALL_PROXY",
    "APPDATA",
    "BROWSER",
    "CARGO_HOME",
    "COLORTERM",
    "COMSPEC",
    "DBUS_SESSION_BUS_ADDRESS",
    "DENO_DIR",
    "DISPLAY",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOCALAPPDATA",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PWD",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "WAYLAND_DISPLAY",
    "WINDIR",
];

/// Beginnings of such variables. Settings of package runners are among them: servers are often started by one.
const PREFIXES: [&str; 13] = [
    "CONDA_",
    "FNM_",
    "LC_",
    "MISE_",
    "NIX_",
    "NODE_",
    "NVM_",
    "PIP_",
    "PYENV_",
    "PYTHON",
    "SSL_CERT_",
    "UV_",
    "XDG_",
];

/// Settings of npm may hold the password of a registry, but without them its packages cannot be had.
const NPM: &str = "NPM_CONFIG_";

/// How much of our environment a process gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherits {
    /// What programs need to run: our environment serves others as well.
    Needed,
    /// All that is not ours. Whoever starts `aqueduct wrap` sets its environment for the one server behind it.
    Everything,
}

impl Inherits {
    pub(super) fn of(settings: &config::Upstream) -> Self {
        if settings.wrapped { Self::Everything } else { Self::Needed }
    }

    fn takes(self, name: &str) -> bool {
        match self {
            Self::Needed => is_inherited(name),
            Self::Everything => !name.to_ascii_uppercase().starts_with(OURS),
        }
    }
}

/// What our own variables begin with.
const OURS: &str = "AQUEDUCT";

/// The variables that a process inherits.
pub(super) fn inherited(
    inherits: Inherits,
) -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os().filter(move |(name, _)| name.to_str().is_some_and(|name| inherits.takes(name)))
}

fn is_inherited(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // Settings of a kind hold credentials too, and those are nobody else's.
    let is_secret = ["TOKEN", "PASSWORD", "SECRET", "AUTH", "_KEY", "INDEX_URL", "CREDENTIAL"]
        .iter()
        .any(|word| name.contains(word));
    let begins = || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_secret;
    NAMES.contains(&name.as_str()) || begins() || name.starts_with(NPM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_server_gets_what_its_client_set_but_nothing_of_ours() {
        for name in ["PATH", "GITHUB_TOKEN", "MCP_MODE"] {
            assert!(Inherits::Everything.takes(name), "{name}");
        }
        for name in ["AQUEDUCT_TOKEN", "aqueduct_data"] {
            assert!(!Inherits::Everything.takes(name), "{name}");
        }
        assert!(!Inherits::Needed.takes("GITHUB_TOKEN"));
    }

    #[test]
    fn a_process_inherits_what_it_needs_and_no_credentials() {
        for name in [
            "PATH",
            "Path",
            "HOME",
            "LC_ALL",
            "https_proxy",
            "XDG_RUNTIME_DIR",
            "npm_config_registry",
            "NODE_OPTIONS",
        ] {
            assert!(is_inherited(name), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AQUEDUCT_TOKEN",
            "MCP_AQL_ENDPOINT_MODE",
            "DATABASE_URL",
            "",
        ] {
            assert!(!is_inherited(name), "{name}");
        }
    }
}
