//! The real binary over the real wire: every test starts its own server on its own data.

mod batch;
mod commands;
mod crash;
mod differential;
mod encoding;
mod entities;
mod harness;
mod hostile;
mod http;
mod introspection;
mod modes;
mod requests;
mod sessions;
mod slow;
