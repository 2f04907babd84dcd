//! Servers as processes and clients as raw JSON-RPC, over stdio and HTTP, in both eras of the protocol.

mod client;
mod links;
mod process;
mod schemas;
mod setup;

pub(crate) use self::{
    client::{Client, Era, WIRES, Wire, stateless_meta},
    links::{AGENT, HttpServer, Link, StdioLink},
    process::{PATIENCE, Process, aqueduct, command, data, pause, wait_for},
    schemas::{SCHEMAS, answer_in, spec_data},
    setup::{Setup, fixture_setup},
};
