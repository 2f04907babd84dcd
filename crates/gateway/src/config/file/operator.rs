//! `[operator]` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hidden, Placed, Text};

/// How a person answers what waits for them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Operator {
    /// The address and port of the operator's own listener; port 0 takes a free one, `off` opens none. On standard input
    /// and output none is opened unless this is set. Every request to it needs the credential in `operator.key` of the
    /// data directory. An address that other machines can reach needs `--allow-remote`.
    #[schemars(extend("default" = crate::config::operator::HTTP_DEFAULT.to_string()))]
    pub(in crate::config) http: Option<Text>,
    /// Whether a dialog is shown on the desktop, where there is one: by `zenity`, `osascript` or PowerShell.
    #[schemars(extend("default" = true))]
    pub(in crate::config) dialog: Option<bool>,
    /// Whether `aqueduct operator` may answer. It needs no more than the rights to the data directory.
    #[schemars(extend("default" = true))]
    pub(in crate::config) command_line: Option<bool>,
    /// Whether a question that a server behind Aqueduct has for a person is shown to the operator too, who may answer it while
    /// the operator's listener is open. Where the client cannot be asked, the call waits for the operator.
    #[schemars(extend("default" = true))]
    pub(in crate::config) inputs: Option<bool>,
    /// A program and its arguments, run once for everything that waits, with JSON about it on standard input. A relative
    /// path with a slash starts at this file's directory.
    #[schemars(extend("minItems" = 1))]
    pub(in crate::config) command: Option<Placed<Vec<Hidden>>>,
    /// Whether the end of `command` is an answer: exit code 0 approves, 1 denies, anything else says nothing. Otherwise
    /// it is only told.
    #[schemars(extend("default" = false))]
    pub(in crate::config) answers: Option<Placed<bool>>,
    /// Whether `command` gets the code of every verification challenge as soon as there is one.
    #[schemars(extend("default" = false))]
    pub(in crate::config) codes: Option<Placed<bool>>,
    /// Addresses that are told of everything that waits, in signed requests, and may answer signed.
    pub(in crate::config) webhook: Option<BTreeMap<Text, Webhook>>,
}

/// An address to be told.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Webhook {
    /// Where to send a POST request, `https`, or `http` on this machine. `${VAR}` is taken from the environment.
    pub(in crate::config) url: Hidden,
    /// The name of an environment variable with the secret that requests and answers are signed with, of at least 16
    /// bytes.
    pub(in crate::config) secret_env: Option<Text>,
    /// A file with that secret. A relative path starts at this file's directory.
    pub(in crate::config) secret_file: Option<Text>,
    /// A program and its arguments that print that secret.
    #[schemars(extend("minItems" = 1))]
    pub(in crate::config) secret_command: Option<Placed<Vec<Hidden>>>,
}
