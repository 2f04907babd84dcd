//! Confirmation: what a person's consent covers, how long it holds, and whether what is presented is it.

mod scope;
mod secrets;
mod shown;
mod token;

pub use scope::{NOT_BOUND, Scope, call_hash, params_hash};
pub use shown::{SHOWN_BYTES_MAX, recorded, shown, shown_request};
pub use token::{Lifetimes, Refused, Token, TokenKind, redeem};
