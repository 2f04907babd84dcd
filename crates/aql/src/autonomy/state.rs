//! What is known of one agent across its executions: is it blocked, what was it asked, how often was the answer wrong.
//!
//! A pure state machine: agent, command and time give the next agent and what that means, to be audited and told.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{
    attempts::Attempts,
    challenge::{Challenge, State, Tier},
};

/// An agent, with its challenges that matter: those alive, and those a command names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// The challenge that ends the hard block, if it is blocked. It may be over: then another is issued when somebody asks.
    pub blocked_by: Option<String>,
    pub challenges: BTreeMap<String, Challenge>,
    /// Wrong codes.
    pub attempts: Attempts,
    /// Challenges that were issued again because the last one was over.
    pub reissues: Attempts,
}

/// What happens to an agent. New challenges bring their ids along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// It reported an action that must not be, or one far too dangerous.
    Stop { challenge: String },
    /// It reported an action that a person has to see.
    Pause { challenge: String },
    /// A blocked agent asks to go on.
    Ask { challenge: String },
    /// Time has passed, and nothing else.
    Look,
    /// The operator wants the code of a challenge.
    Reveal { challenge: String },
    /// Somebody gave a code, which is right or not.
    Attempt { challenge: String, right: bool },
    /// Somebody else than the agent's principal gave a wrong code. The challenge is spent, and the rest is theirs.
    Spend { challenge: String },
    /// The operator ends the block without a code.
    Unblock,
}

/// What a command meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Blocked,
    Issued {
        challenge: String,
        tier: Tier,
    },
    Expired {
        challenge: String,
    },
    Revealed {
        challenge: String,
    },
    /// Nothing to reveal: the challenge is unknown or over.
    NotRevealed,
    Verified {
        challenge: String,
        tier: Tier,
    },
    /// A wrong code, or one for a challenge that is over, which counts the same.
    Failed {
        challenge: String,
    },
    /// Nobody is listened to; the code was not looked at.
    Locked {
        retry_after_seconds: u64,
    },
    /// This failure was the last that was taken.
    LockedNow {
        seconds: u64,
    },
    /// No further challenge for a while.
    NoReissue {
        retry_after_seconds: u64,
    },
    Withdrawn {
        challenge: String,
    },
    Unblocked,
}

impl Agent {
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked_by.is_some()
    }

    /// The live challenge of the hard block.
    #[must_use]
    pub fn hard(&self, now: Timestamp) -> Option<&Challenge> {
        self.challenges.get(self.blocked_by.as_ref()?).filter(|challenge| challenge.is_live(now))
    }

    /// The live challenge of a pause.
    #[must_use]
    pub fn paused(&self, now: Timestamp) -> Option<&Challenge> {
        self.challenges.values().find(|known| known.tier == Tier::Verify && known.is_live(now))
    }

    /// The challenge because of which the agent is paused. A wrong answer ends no pause: it lasts until a right one, or until
    /// the time of the challenge is up.
    #[must_use]
    pub fn pausing(&self, now: Timestamp) -> Option<&Challenge> {
        let unanswered = |known: &&Challenge| {
            known.tier == Tier::Verify && known.state == State::Failed && now < known.expires_at
        };
        self.paused(now).or_else(|| self.challenges.values().find(unanswered))
    }

    /// What becomes of the agent. A challenge lives for `life`.
    #[must_use]
    pub fn apply(mut self, command: Command, now: Timestamp, life: SignedDuration) -> (Self, Vec<Effect>) {
        let mut effects = self.age(now);
        match command {
            Command::Stop { challenge } if !self.is_blocked() => {
                effects.push(Effect::Blocked);
                self.blocked_by = Some(challenge.clone());
                effects.push(self.issue(challenge, Tier::Hard, now, life));
            }
            Command::Stop { challenge } | Command::Ask { challenge } if self.is_blocked() => {
                effects.extend(self.reissue(challenge, now, life));
            }
            Command::Pause { challenge } if self.paused(now).is_none() => {
                effects.extend(self.pause(challenge, now, life));
            }
            Command::Stop { .. } | Command::Ask { .. } | Command::Pause { .. } | Command::Look => {}
            Command::Reveal { challenge } => effects.push(self.reveal(challenge, now)),
            Command::Attempt { challenge, right } => effects.extend(self.attempt(challenge, right, now)),
            Command::Spend { challenge } => {
                if let Some(known) = self.challenges.get_mut(&challenge).filter(|known| known.is_live(now)) {
                    known.state = State::Failed;
                }
                effects.push(Effect::Failed { challenge });
            }
            Command::Unblock => effects.extend(self.unblock()),
        }
        (self, effects)
    }

    /// What time alone does. A hard block does not end by it.
    fn age(&mut self, now: Timestamp) -> Vec<Effect> {
        let over = self.challenges.values_mut().filter_map(|challenge| {
            challenge.age(now).then(|| Effect::Expired { challenge: challenge.id.clone() })
        });
        over.collect()
    }

    fn issue(&mut self, id: String, tier: Tier, now: Timestamp, life: SignedDuration) -> Effect {
        let expires_at = now.checked_add(life).unwrap_or(Timestamp::MAX);
        let challenge = Challenge { id: id.clone(), tier, state: State::Pending, asked_at: now, expires_at };
        self.challenges.insert(id.clone(), challenge);
        Effect::Issued { challenge: id, tier }
    }

    /// A blocked agent whose challenge is over gets another, but not without end.
    fn reissue(&mut self, id: String, now: Timestamp, life: SignedDuration) -> Option<Effect> {
        if self.hard(now).is_some() {
            return None;
        }
        if let Some(retry_after_seconds) = self.reissues.locked_for(now) {
            return Some(Effect::NoReissue { retry_after_seconds });
        }
        self.reissues.failed(now);
        self.blocked_by = Some(id.clone());
        Some(self.issue(id, Tier::Hard, now, life))
    }

    /// Pauses, or asks anew where the last answer was wrong, but not without end.
    fn pause(&mut self, id: String, now: Timestamp, life: SignedDuration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(failed) = self.pausing(now).map(|challenge| challenge.id.clone()) {
            if let Some(retry_after_seconds) = self.reissues.locked_for(now) {
                return vec![Effect::NoReissue { retry_after_seconds }];
            }
            self.reissues.failed(now);
            if let Some(challenge) = self.challenges.get_mut(&failed) {
                challenge.state = State::Withdrawn;
            }
            effects.push(Effect::Withdrawn { challenge: failed });
        }
        effects.push(self.issue(id, Tier::Verify, now, life));
        effects
    }

    /// A code that was revealed before is worth nothing from now on; the store keeps the new one in its place.
    fn reveal(&mut self, id: String, now: Timestamp) -> Effect {
        match self.challenges.get_mut(&id).filter(|challenge| challenge.is_live(now)) {
            Some(challenge) => {
                challenge.state = State::Revealed;
                Effect::Revealed { challenge: id }
            }
            None => Effect::NotRevealed,
        }
    }

    fn attempt(&mut self, id: String, right: bool, now: Timestamp) -> Vec<Effect> {
        if let Some(retry_after_seconds) = self.attempts.locked_for(now) {
            return vec![Effect::Locked { retry_after_seconds }];
        }
        let live = self.challenges.get_mut(&id).filter(|challenge| challenge.is_live(now));
        match live {
            Some(challenge) if right && challenge.state == State::Revealed => {
                challenge.state = State::Used;
                let tier = challenge.tier;
                self.attempts.forgive();
                self.reissues.forgive();
                let mut effects = vec![Effect::Verified { challenge: id.clone(), tier }];
                if self.blocked_by.as_ref() == Some(&id) {
                    self.blocked_by = None;
                    effects.push(Effect::Unblocked);
                }
                effects
            }
            live => {
                if let Some(challenge) = live {
                    challenge.state = State::Failed;
                }
                let locked = self.attempts.failed(now).map(|seconds| Effect::LockedNow { seconds });
                [Effect::Failed { challenge: id }].into_iter().chain(locked).collect()
            }
        }
    }

    fn unblock(&mut self) -> Vec<Effect> {
        let Some(id) = self.blocked_by.take() else { return Vec::new() };
        self.attempts.forgive();
        self.reissues.forgive();
        let mut effects = vec![Effect::Unblocked];
        if let Some(challenge) = self.challenges.get_mut(&id).filter(|known| known.state.is_live()) {
            challenge.state = State::Withdrawn;
            effects.push(Effect::Withdrawn { challenge: id });
        }
        effects
    }
}
