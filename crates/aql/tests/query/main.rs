//! The query engine as its callers meet it, against a naive model of what its documentation says.

#![cfg(test)]

mod errors;
mod generate;
mod model;
mod moving;
mod narrowing;
mod properties;
mod surface;
