//! An MCP server for the tests of upstreams. It does what servers do, well and badly, in both eras of the protocol.
//!
//! `upstream [FLAGS]` speaks on standard input and output, `upstream --http ADDRESS [FLAGS]` serves HTTP and prints where.
//! What it was asked, and how often it was started, stands in the files of `--state DIRECTORY`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a server for tests that meets the unexpected has failed, and its threads may sleep"
)]

mod http;
mod protocol;
mod results;
mod state;
mod stdio;
mod tools;

use self::state::{Flags, State};

fn main() {
    let flags = Flags::read(std::env::args().skip(1));
    let state = State::new(flags);
    state.count_start();
    if let Some(after) = state.flags.slow_start {
        std::thread::sleep(after);
    }
    match state.flags.http.clone() {
        Some(address) => http::serve(&state, &address),
        None => stdio::serve(&state),
    }
}
