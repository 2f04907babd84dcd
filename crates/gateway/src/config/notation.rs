//! In which words a configuration is talked about: those of our own file, or those of a client's.

/// How a configuration is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Notation {
    /// `aqueduct.toml`.
    #[default]
    Toml,
    /// A client's JSON, whose servers stand under this path.
    Json { servers: String },
}

impl Notation {
    /// The path to a server's values.
    pub(super) fn path(&self, name: &str) -> String {
        match self {
            Self::Toml => format!("upstream.{name}"),
            Self::Json { servers } => format!("{servers}.{name}"),
        }
    }

    /// The place where a server's values stand, as people know it.
    pub(super) fn section(&self, name: &str) -> String {
        match self {
            Self::Toml => format!("'[upstream.{name}]'"),
            Self::Json { .. } => format!("'{}'", self.path(name)),
        }
    }

    /// The same for values that clients' files do not know.
    pub(super) fn own_section(&self, name: &str) -> String {
        match self {
            Self::Toml => self.section(name),
            Self::Json { .. } => "an 'aqueduct.toml', which 'aqueduct init' makes of this file".to_owned(),
        }
    }

    /// How a server is turned off.
    pub(super) fn turned_off(&self) -> &'static str {
        match self {
            Self::Toml => "'enabled = false'",
            Self::Json { .. } => "'\"disabled\": true'",
        }
    }

    /// How a program is given.
    pub(super) fn program(&self) -> &'static str {
        match self {
            Self::Toml => "'command = \"npx\"'",
            Self::Json { .. } => "'\"command\": \"npx\"'",
        }
    }
}
