//! How a request under way is stopped, and what somebody wants to be.

use std::sync::{Arc, Mutex, PoisonError};

use super::SpanId;
use crate::session::{CancelledBy, Stop};

/// What the operator wants to be over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Operation(SpanId),
    /// Everything that runs of one of the Inspector's sessions.
    Session(String),
}

/// How a request is stopped once it runs. One that goes on when its client calls again runs several times.
#[derive(Clone, Default)]
pub(crate) struct Stopping(Arc<Mutex<Option<Stop>>>);

impl Stopping {
    pub(super) fn by(stop: Stop) -> Self {
        Self(Arc::new(Mutex::new(Some(stop))))
    }

    pub(super) fn runs(&self, stop: Stop) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    }

    fn get(&self) -> Option<Stop> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops what runs, for the operator. Whether anything did.
    pub(super) fn now(&self) -> bool {
        self.get().is_some_and(|stop| stop.now(CancelledBy::Operator))
    }

    /// Whether the operator wanted it to be over before it was.
    pub(super) fn is_operators(&self) -> bool {
        self.get().is_some_and(|stop| stop.asked_by() == Some(CancelledBy::Operator))
    }
}
