//! The configuration: one `aqueduct.toml` as written, checked once at start into what the rest of the runtime uses.
//!
//! - [`File`] is the file as written. Every value keeps its place, so that a mistake found later still points to it.
//! - [`Checked`] is the configuration as used: defaults filled in, names parsed, ranges held, precedence settled.
//! - [`load`] goes from one to the other: a flag beats the environment, which beats the file, which beats the default.
//!
//! ```text
//! text ─▶ document ─▶ shape (keys and types, against the schema) ─▶ File ─┐
//!                                      environment, flags ────────────────┴▶ check ─▶ Checked
//! ```
//!
//! A client's JSON file with its `mcpServers` does as well: its servers are upstreams, and everything else is default.
//!
//! Every source is checked, also where another one beats it: a mistake is told when it is made, not when the flag that
//! hid it is dropped. Nothing here reads the environment of the process on its own (see [`Environment::capture`]), and
//! nothing is written, created or opened but the one file.

mod address;
mod auth;
mod autonomy;
mod bounds;
mod checked;
pub(crate) mod clients;
mod confirmation;
mod endpoints;
mod entities;
mod environment;
mod error;
mod file;
mod given;
mod inspector;
mod load;
mod mask;
mod notation;
mod operator;
mod paths;
mod quota;
mod read;
mod reference;
mod safety;
mod schema;
mod secret;
mod shape;
#[cfg(test)]
mod tests;
mod upstream;
mod variables;
mod wrapped;

pub use self::{
    checked::{Auth, Checked, Entities, Server, Store, Token},
    environment::Environment,
    error::{Error, Place},
    file::File,
    inspector::{Export, Inspector, Receiver},
    load::{Overrides, Sources, load},
    operator::{Hook, Operator, SecretSource, Webhook},
    reference::reference,
    schema::schema,
    secret::Secret,
    upstream::{Bearer, Definitions, LeftOut, Link, ToolRules, Upstream},
    wrapped::Wrapped,
};
pub(crate) use self::{
    clients::same,
    file::{Hidden, Text},
    load::usual_files,
    paths::data as data_directory,
    upstream::{check_form, normal as upstream_name},
    variables::{Piece, pieces},
};
