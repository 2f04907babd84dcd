//! Random commands against agents, compared with a model that knows nothing of how they are written.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::super::{
    challenge::State,
    state::{Agent, Command, Effect},
    *,
};

const LIFE: i64 = 300;

/// What is said of an agent in plain words: a list of everything that ever happened, asked anew each time.
#[derive(Debug, Default)]
struct Model {
    /// Challenges by number: tier, asked, revealed, and when and how it was over.
    challenges: BTreeMap<usize, (Tier, i64, bool, Option<&'static str>)>,
    blocked_by: Option<usize>,
    failures: Vec<i64>,
    lockouts: u32,
    locked_until: i64,
    reissues: Vec<i64>,
    reissue_lockouts: u32,
    reissue_until: i64,
}

impl Model {
    fn is_live(&self, number: usize, now: i64) -> bool {
        self.challenges.get(&number).is_some_and(|(_, asked, _, over)| over.is_none() && now < asked + LIFE)
    }

    fn has_pause(&self, now: i64) -> bool {
        let mut verify = self.challenges.iter().filter(|(_, (tier, ..))| *tier == Tier::Verify);
        verify.any(|(number, _)| self.is_live(*number, now))
    }

    /// The pause that a wrong answer has left behind.
    fn unanswered(&self, now: i64) -> Option<usize> {
        let failed = |(_, (tier, asked, _, over)): &(&usize, &(Tier, i64, bool, Option<&str>))| {
            *tier == Tier::Verify && *over == Some("failed") && now < asked + LIFE
        };
        self.challenges.iter().find(failed).map(|(number, _)| *number)
    }

    fn pause(&mut self, number: usize, now: i64) {
        if self.has_pause(now) {
            return;
        }
        if let Some(failed) = self.unanswered(now) {
            if now < self.reissue_until {
                return;
            }
            Self::count(&mut self.reissues, &mut self.reissue_lockouts, &mut self.reissue_until, now);
            self.challenges.get_mut(&failed).unwrap().3 = Some("withdrawn");
        }
        self.challenges.insert(number, (Tier::Verify, now, false, None));
    }

    fn count(list: &mut Vec<i64>, lockouts: &mut u32, until: &mut i64, now: i64) {
        let quiet = list.iter().copied().max().unwrap_or(i64::MIN / 2).max(*until);
        if now - quiet >= 24 * 3600 || (list.is_empty() && *until == 0) {
            *lockouts = 0;
        }
        list.push(now);
        list.retain(|at| now - at < 60);
        if list.len() >= 10 {
            list.clear();
            *until = now + (60 << (*lockouts).min(16)).min(3600);
            *lockouts += 1;
        }
    }

    fn ask(&mut self, number: usize, now: i64) {
        let Some(by) = self.blocked_by else { return };
        if self.is_live(by, now) || now < self.reissue_until {
            return;
        }
        Self::count(&mut self.reissues, &mut self.reissue_lockouts, &mut self.reissue_until, now);
        self.blocked_by = Some(number);
        self.challenges.insert(number, (Tier::Hard, now, false, None));
    }

    fn forget_reissues(&mut self) {
        (self.reissues, self.reissue_lockouts, self.reissue_until) = (Vec::new(), 0, 0);
    }
}

#[derive(Debug, Clone)]
enum Move {
    Stop,
    Pause,
    Ask,
    Reveal(usize),
    Right(usize),
    Wrong(usize),
    Unblock,
    Wait(i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        2 => Just(Move::Stop),
        2 => Just(Move::Pause),
        3 => Just(Move::Ask),
        4 => (0..12usize).prop_map(Move::Reveal),
        3 => (0..12usize).prop_map(Move::Right),
        8 => (0..12usize).prop_map(Move::Wrong),
        1 => Just(Move::Unblock),
        3 => prop_oneof![Just(1), Just(30), Just(60), Just(LIFE), Just(90_000)].prop_map(Move::Wait),
    ];
    prop::collection::vec(one, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// REQ-OOB-12 REQ-OOB-14 REQ-OOB-17 REQ-OOB-18 REQ-OOB-22 REQ-OOB-23
    #[test]
    fn an_agent_does_what_the_model_says(moves in moves()) {
        let mut agent = Agent::default();
        let mut model = Model::default();
        let (mut now, mut next) = (1_700_000_000, 0);
        for one in moves {
            let at = Timestamp::from_second(now).unwrap();
            let name = |number: usize| number.to_string();
            let locked = now < model.locked_until;
            let command = match &one {
                Move::Wait(seconds) => { now += seconds; continue; }
                Move::Stop => Command::Stop { challenge: name(next) },
                Move::Pause => Command::Pause { challenge: name(next) },
                Move::Ask => Command::Ask { challenge: name(next) },
                Move::Reveal(number) => Command::Reveal { challenge: name(*number) },
                Move::Right(number) => Command::Attempt { challenge: name(*number), right: true },
                Move::Wrong(number) => Command::Attempt { challenge: name(*number), right: false },
                Move::Unblock => Command::Unblock,
            };
            let was_blocked = agent.is_blocked();
            let effects;
            (agent, effects) = agent.apply(command, at, SignedDuration::from_secs(LIFE));
            match one {
                Move::Stop if model.blocked_by.is_none() => {
                    model.blocked_by = Some(next);
                    model.challenges.insert(next, (Tier::Hard, now, false, None));
                }
                Move::Stop | Move::Ask => model.ask(next, now),
                Move::Pause => model.pause(next, now),
                Move::Reveal(number) => {
                    let live = model.is_live(number, now);
                    prop_assert_eq!(effects.contains(&Effect::Revealed { challenge: number.to_string() }), live);
                    if live { model.challenges.get_mut(&number).unwrap().2 = true; }
                }
                Move::Right(number) | Move::Wrong(number) => {
                    let right = matches!(one, Move::Right(_));
                    let live = model.is_live(number, now);
                    let revealed = model.challenges.get(&number).is_some_and(|known| known.2);
                    let accepted = right && live && revealed && !locked;
                    let verified = effects.iter().any(|effect| matches!(effect, Effect::Verified { .. }));
                    prop_assert_eq!(verified, accepted, "{:?}", effects);
                    if !locked {
                        if live {
                            let how = if accepted { "used" } else { "failed" };
                            model.challenges.get_mut(&number).unwrap().3 = Some(how);
                        }
                        if accepted {
                            (model.failures, model.lockouts, model.locked_until) = (Vec::new(), 0, 0);
                            model.forget_reissues();
                            if model.blocked_by == Some(number) {
                                model.blocked_by = None;
                            }
                        } else {
                            Model::count(&mut model.failures, &mut model.lockouts, &mut model.locked_until, now);
                        }
                    }
                }
                Move::Unblock => {
                    if let Some(by) = model.blocked_by.take() {
                        if model.is_live(by, now) { model.challenges.get_mut(&by).unwrap().3 = Some("withdrawn"); }
                        (model.failures, model.lockouts, model.locked_until) = (Vec::new(), 0, 0);
                        model.forget_reissues();
                    }
                }
                Move::Wait(_) => unreachable!(),
            }
            next += 1;
            // Nothing but a right code or the operator ends a block.
            if was_blocked && !agent.is_blocked() {
                prop_assert!(effects.contains(&Effect::Unblocked));
                prop_assert!(matches!(one, Move::Unblock | Move::Right(_)), "{:?}", one);
            }
            let by = model.blocked_by.map(|number| number.to_string());
            prop_assert_eq!(agent.blocked_by.as_ref(), by.as_ref());
            prop_assert_eq!(agent.attempts.locked_for(at).is_some(), now < model.locked_until);
            prop_assert_eq!(agent.paused(at).is_some(), model.has_pause(now));
            let held = model.has_pause(now) || model.unanswered(now).is_some();
            prop_assert_eq!(agent.pausing(at).is_some(), held);
            prop_assert_eq!(agent.hard(at).is_some(), model.blocked_by.is_some_and(|by| model.is_live(by, now)));
            for challenge in agent.challenges.values() {
                let number: usize = challenge.id.parse().unwrap();
                let (_, asked, revealed, over) = model.challenges[&number];
                let state = match over {
                    Some("used") => State::Used,
                    Some("failed") => State::Failed,
                    Some(_) => State::Withdrawn,
                    None if now >= asked + LIFE => State::Expired,
                    None if revealed => State::Revealed,
                    None => State::Pending,
                };
                prop_assert_eq!(challenge.state, state, "challenge {}", number);
            }
        }
    }
}

/// REQ-OOB-04 REQ-OOB-19 REQ-OOB-21
#[test]
fn one_pause_waits_for_one_challenge() {
    let now = Timestamp::from_second(1_700_000_000).unwrap();
    let life = SignedDuration::from_secs(LIFE);
    let pause = |id: &str| Command::Pause { challenge: id.to_owned() };
    let (agent, _) = Agent::default().apply(pause("a"), now, life);
    let (agent, effects) = agent.apply(pause("b"), now, life);
    assert_eq!((agent.challenges.len(), effects), (1, Vec::new()), "no second one while the first waits");
    let later = now + life;
    assert!(agent.paused(later).is_none(), "the pause lifts by itself");
    let (agent, effects) = agent.apply(pause("c"), later, life);
    assert_eq!(agent.paused(later).unwrap().id, "c");
    assert_eq!(effects[0], Effect::Expired { challenge: "a".to_owned() });
}
