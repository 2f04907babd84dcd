//! Another MCP server's tools become operations of ours. This is the one place where that happens: the running gateway,
//! the discovery bundle and the adapter file are all made from what [`adopt`] gives.
//!
//! - Nothing that a server lists is an error. What cannot be said here is loosened, and a [`Warning`] tells it.
//! - No rule here is stricter than the server's own schema, but for names that it does not know. Where an object names
//!   its fields and says nothing of others, others count as typing errors.
//! - A default is published as the server's own and never sent: a parameter that is left out is left out upstream too.
//! - What a schema declares to be secret is sensitive here, as a whole parameter, and so is what is called like a secret.
//! - The same list always gives the same operations.

mod declared;
mod describe;
mod fits;
mod maker;
mod names;
mod tool;
mod types;
mod update;
mod warning;
mod wiring;

use self::types::Types;
pub use self::{
    names::Taken,
    warning::{Code, Severity, Warning},
    wiring::Wiring,
};
pub(crate) use self::{
    names::{Secrecy, is_secret as is_secret_name, operation as operation_name, outer_name, secrecy},
    tool::{RESERVED_PARAMS, empty_input},
};
pub(crate) use crate::classify::words_of_name;
use crate::{classify, define, listed::ListedTool};

/// Whose tools these are, and how they are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    pub server: &'a str,
    /// What operations' names begin with, as `github_`; may be empty.
    pub prefix: &'a str,
    pub trust: classify::Trust,
    pub overrides: &'a classify::Overrides,
}

/// What a server's tools became.
#[derive(Debug, Default)]
pub struct Adopted {
    pub operations: Vec<Operation>,
    pub types: Vec<define::Type>,
    pub warnings: Vec<Warning>,
}

/// One operation, and all that is known of where it comes from.
#[derive(Debug, Clone)]
pub struct Operation {
    pub definition: define::Operation,
    /// The upstream's own name of its tool.
    pub tool: String,
    pub wiring: Wiring,
    pub judged: classify::Operation,
    /// The upstream's parameters, one by one, those inside `input` too.
    pub params: Vec<Param>,
}

/// A parameter and the property it comes from.
#[derive(Debug, Clone)]
pub struct Param {
    pub definition: define::Param,
    pub original_name: String,
    /// A dot-path into the tool as it was listed.
    pub source_path: String,
    /// Whether it stands inside `input`.
    pub inside_input: bool,
}

/// Makes operations of a server's tools. Names that they get are taken from then on.
#[must_use]
pub fn adopt(tools: &[ListedTool], options: &Options<'_>, taken: &mut Taken) -> Adopted {
    let mut adopted = Adopted::default();
    let mut types = Types::new(taken);
    for listed in tools {
        let server = listed.server.as_deref().unwrap_or(options.server);
        let classified = classify::classify_of(listed, Some(server), options.trust, options.overrides);
        if classified.operations.len() > 1 {
            let count = classified.operations.len();
            adopted.warnings.push(Warning {
                code: Code::SplitTool,
                severity: Severity::Info,
                message: format!("the tool mixes reading and writing and becomes {count} operations"),
                tool: Some(listed.name.clone()),
                param: None,
            });
        }
        for judged in classified.operations {
            let (operation, warnings) = tool::operation(listed, judged, options, &mut types);
            adopted.operations.push(operation);
            for warning in warnings {
                // What is said of a split tool's parameters is said once.
                if !adopted.warnings.iter().rev().take(WARNINGS_COMPARED_MAX).any(|known| *known == warning) {
                    adopted.warnings.push(warning);
                }
            }
        }
    }
    adopted.types = types.declared;
    adopted
}

/// How far back a warning is looked for before it is told again.
const WARNINGS_COMPARED_MAX: usize = 200;
