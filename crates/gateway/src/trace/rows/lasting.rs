//! What goes on within a request: what it has begun, and whom it waits for.

use super::super::{
    Nanos, Status,
    open::{Ended, Failed},
};

/// What a request has begun that goes on by itself. The request is over, to who looks at it, when that is.
#[derive(Default)]
pub(super) struct Begun {
    /// What of it is under way.
    pub(super) runs: u32,
    /// How the request was answered meanwhile.
    pub(super) answered: Option<Box<Ended>>,
    /// How it came out, the worst of it.
    pub(super) outcome: Option<(Status, Option<Failed>)>,
}

impl Begun {
    /// Counts one out.
    pub(super) fn ended(&mut self, status: Status, error: Option<&Failed>) {
        let weight = |status: Status| match status {
            Status::Error => 2,
            Status::Cancelled => 1,
            Status::Running | Status::Waiting | Status::Ok => 0,
        };
        self.runs = self.runs.saturating_sub(1);
        if self.outcome.as_ref().is_none_or(|(known, _)| weight(status) > weight(*known)) {
            self.outcome = Some((status, error.cloned()));
        }
    }
}

/// How often somebody is waited for within a span, its own and what is made within it, and since when.
#[derive(Default, Clone, Copy)]
pub(super) struct Waits {
    pub(super) now: u32,
    since: Nanos,
    pub(super) before: Nanos,
}

impl Waits {
    pub(super) fn begin(&mut self, at: Nanos) {
        if self.now == 0 {
            self.since = at;
        }
        self.now += 1;
    }

    pub(super) fn end(&mut self, count: u32, at: Nanos) {
        let was_waiting = self.now > 0;
        self.now = self.now.saturating_sub(count);
        if was_waiting && self.now == 0 {
            self.before += (at - self.since).max(0);
        }
    }
}
