//! Places in the code where tests can let the process die.
//!
//! A debug build that finds the name of such a place in `AQUEDUCT_FAILPOINT` aborts on reaching it, without
//! unwinding, flushing or saying goodbye, as a crash does. In a release build the places are not there, and the
//! variable means nothing.

/// Names the place to die in.
#[cfg(debug_assertions)]
pub(crate) const VARIABLE: &str = "AQUEDUCT_FAILPOINT";

/// Marks a place. Names are written `thing.happening` just before something becomes durable, `thing.happened` after.
#[cfg(debug_assertions)]
pub(crate) fn hit(name: &str) {
    use std::sync::OnceLock;

    static ARMED: OnceLock<Option<String>> = OnceLock::new();
    if ARMED.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref() == Some(name) {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn hit(_name: &str) {}
