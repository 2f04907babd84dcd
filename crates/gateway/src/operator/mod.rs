//! The operator's side: who may answer for a person, and where.
//!
//! It never
//! - prints or logs the credential; whoever may read the file has it;
//! - shares anything with the listener that agents reach but the store.

pub mod desk;
pub mod explain;
pub mod form;
pub mod key;
pub mod listener;
mod lockout;
pub mod shown;
pub mod signature;

pub use self::{
    desk::Desk,
    listener::{Listener, Opened},
};
