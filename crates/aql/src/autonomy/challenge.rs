//! One question to a person, answered with a code that only the operator's side can show.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What hangs on the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The agent is paused by the process that asked, until the answer or the expiry.
    Verify,
    /// The agent is blocked everywhere, until the answer or the operator's override.
    Hard,
}

impl Tier {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Hard => "hard",
        }
    }
}

/// How far a challenge is. The first two are alive; the others never change again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is no code yet.
    Pending,
    /// The operator's side has shown a code.
    Revealed,
    /// The right code was given.
    Used,
    /// A wrong code was given.
    Failed,
    /// Nobody answered in time.
    Expired,
    /// The operator decided without it.
    Withdrawn,
}

impl State {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Revealed, Self::Used, Self::Failed, Self::Expired, Self::Withdrawn];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Revealed => "revealed",
            Self::Used => "used",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Revealed)
    }
}

/// A challenge, without its code: that is nowhere but with the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// A UUID of version 4.
    pub id: String,
    pub tier: Tier,
    pub state: State,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Challenge {
    /// Whether it can still be answered.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.state.is_live() && now < self.expires_at
    }

    /// Lets it expire if its time is up, and says whether that happened just now.
    pub fn age(&mut self, now: Timestamp) -> bool {
        let over = self.state.is_live() && now >= self.expires_at;
        if over {
            self.state = State::Expired;
        }
        over
    }
}
