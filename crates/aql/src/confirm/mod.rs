//! Confirmation: what a person's consent covers, how long it holds, and whether what is presented is it.

mod address;
mod clean;
mod list;
mod pem;
mod plain;
mod scope;
mod secrets;
mod shown;
mod token;
mod words;

pub use plain::{is_plain, is_plain_id};
pub use scope::{NOT_BOUND, Scope, call_hash, params_hash};
pub use secrets::{hides as is_hidden, is_counting_key, is_secret_key};
pub use shown::{SHOWN_BYTES_MAX, is_clean_json, recorded, recorded_value, shown, shown_request};
pub use token::{Lifetimes, Refused, Token, TokenKind, redeem};
