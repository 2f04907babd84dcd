//! The calls that every principal has made in its current minute.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use aql::{error::Error, rate::Window};
use jiff::Timestamp;

/// Principals remembered, at the most, before those whose minute is over are forgotten.
const PRINCIPALS_KEPT: usize = 1024;

#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<String, Window>>);

impl Rates {
    /// Counts one more call of a principal, or refuses it.
    pub(crate) fn admit(&self, principal: &str, per_minute: u32, now: Timestamp) -> Result<(), Error> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() > PRINCIPALS_KEPT {
            windows.retain(|_, window| !window.is_over(now));
        }
        match windows.get_mut(principal) {
            Some(window) => window.admit(per_minute, now),
            None => windows.entry(principal.to_owned()).or_insert(Window::new(now)).admit(per_minute, now),
        }
    }

    /// The refusal that a principal would get, if it has used up its minute. Counts nothing.
    pub(crate) fn is_exhausted(&self, principal: &str, per_minute: u32, now: Timestamp) -> Option<Error> {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut window = *windows.get(principal)?;
        window.admit(per_minute, now).err()
    }
}
