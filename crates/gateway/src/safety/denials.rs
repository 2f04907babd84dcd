//! Denials that come again and again: a caller that is denied in a loop must not fill the log with it.
//!
//! The first ones of a minute are written as they come. Later ones are counted by what was denied and why, and the counts are
//! written once the minute is over. Whoever goes on and on is counted for longer each time. So an agent cannot fill the disk
//! by being denied, and what was denied is never lost, only told together.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aql::audit::{Event, Outcome};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Entries that one principal's denials may make in a minute, beside the counts.
const WRITTEN_MAX: u32 = 60;
/// How many of the same are written one by one.
const SAME_MAX: u32 = 10;
/// Kinds with a count of their own. Further ones share one.
const KINDS_MAX: usize = 256;
/// Principals with a minute of their own. Further ones share one.
const PRINCIPALS_MAX: usize = 1024;
/// How long denials are counted before the count is written.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);
/// The same for who does not stop: twice as long each time, up to this.
const LONGEST_MINUTE: SignedDuration = SignedDuration::from_mins(10);

/// The current minute of each principal.
#[derive(Debug, Default)]
pub(super) struct Denials(Mutex<HashMap<String, Minute>>);

#[derive(Debug)]
struct Minute {
    began: Timestamp,
    lasts: SignedDuration,
    written: u32,
    same: HashMap<(String, String, Vec<String>), Same>,
    /// The last of those that found no room, and how many they are.
    others: Option<(Event, u64)>,
}

/// Denials of one kind.
#[derive(Debug)]
struct Same {
    written: u32,
    /// The last of those that were counted, and how many they are.
    counted: Option<(Event, u64)>,
}

/// What is to be done about a denial.
#[derive(Debug, PartialEq)]
pub(super) struct Noted {
    /// What is written now: counts of minutes that are over, and the denial itself unless it is only counted.
    pub(super) write: Vec<Event>,
    /// If it is the first that is only counted: after what time somebody has to come back for the count.
    pub(super) come_back: Option<Duration>,
}

impl Denials {
    /// Takes a denial.
    pub(super) fn note(&self, event: Event, now: Timestamp) -> Noted {
        let mut minutes = self.lock();
        let mut write = Vec::new();
        let principal = event.principal.clone().unwrap_or_default();
        let known = minutes.contains_key(&principal);
        if !known && minutes.len() >= PRINCIPALS_MAX {
            write.extend(end(&mut minutes, now));
        }
        let crowded = !known && minutes.len() >= PRINCIPALS_MAX;
        let principal = if crowded { String::new() } else { principal };
        let minute = minutes.entry(principal).or_insert_with(|| Minute::new(now, MINUTE));
        if minute.is_over(now) {
            let next = minute.next(now).unwrap_or_else(|| Minute::new(now, MINUTE));
            write.extend(std::mem::replace(minute, next).counts());
        }
        let waited = minute.waits();
        write.extend(minute.note(event));
        let first = !waited && minute.waits();
        Noted { write, come_back: first.then(|| minute.rest(now)) }
    }

    /// The counts of the minutes that are over.
    pub(super) fn over(&self, now: Timestamp) -> Vec<Event> {
        end(&mut self.lock(), now)
    }

    /// All counts, at the end of the process.
    pub(super) fn all(&self) -> Vec<Event> {
        self.lock().drain().flat_map(|(_, minute)| minute.counts()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Minute>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the minutes that are over. Of who was counted the next one begins.
fn end(minutes: &mut HashMap<String, Minute>, now: Timestamp) -> Vec<Event> {
    let over: Vec<(String, Minute)> = minutes.extract_if(|_, minute| minute.is_over(now)).collect();
    let mut counts = Vec::new();
    for (principal, minute) in over {
        if let Some(next) = minute.next(now) {
            minutes.insert(principal, next);
        }
        counts.extend(minute.counts());
    }
    counts
}

impl Minute {
    fn new(began: Timestamp, lasts: SignedDuration) -> Self {
        Self { began, lasts, written: 0, same: HashMap::new(), others: None }
    }

    /// What follows it where it was not enough.
    fn next(&self, now: Timestamp) -> Option<Self> {
        let lasts = self.lasts.saturating_mul(2).min(LONGEST_MINUTE);
        self.waits().then(|| Self::new(now, lasts))
    }

    fn is_over(&self, now: Timestamp) -> bool {
        // A clock that was set back ends it too.
        now < self.began || now.duration_since(self.began) >= self.lasts
    }

    fn rest(&self, now: Timestamp) -> Duration {
        (self.lasts - now.duration_since(self.began)).try_into().unwrap_or_default()
    }

    fn waits(&self) -> bool {
        self.others.is_some() || self.same.values().any(|same| same.counted.is_some())
    }

    /// The denial, if it is written at once.
    fn note(&mut self, event: Event) -> Option<Event> {
        let kind = (event.event.clone(), event.operation.clone().unwrap_or_default(), event.reasons.clone());
        let (room, kinds) = (self.written < WRITTEN_MAX, self.same.len());
        match self.same.get_mut(&kind) {
            Some(same) if same.written < SAME_MAX && room => same.written += 1,
            Some(same) => {
                let params = event.params.clone().filter(|_| same.written > 0);
                count(&mut same.counted, Event { params, ..event });
                return None;
            }
            None if room => {
                self.same.insert(kind, Same { written: 1, counted: None });
            }
            None if kinds < KINDS_MAX => {
                // Of those that nobody sees one by one the parameters would only take room.
                let event = Event { params: None, ..event };
                self.same.insert(kind, Same { written: 0, counted: Some((event, 1)) });
                return None;
            }
            None => {
                count(&mut self.others, event);
                return None;
            }
        }
        self.written += 1;
        Some(event)
    }

    /// What is written of a minute that is over.
    fn counts(self) -> Vec<Event> {
        let same = self.same.into_values().filter_map(|same| same.counted);
        let mut counts: Vec<Event> = same.map(|(event, times)| repeated(event, times)).collect();
        if let Some((event, times)) = self.others {
            let of_many = Event {
                outcome: Some(Outcome::Denied),
                principal: event.principal,
                session_id: event.session_id,
                reasons: vec!["more was denied in a minute than is written one by one".to_owned()],
                ..Event::new(super::DENIED)
            };
            counts.push(repeated(of_many, times));
        }
        counts
    }
}

fn count(counted: &mut Option<(Event, u64)>, event: Event) {
    let times = counted.take().map_or(0, |(_, times)| times);
    *counted = Some((event, times + 1));
}

/// The last one for all of them.
fn repeated(event: Event, times: u64) -> Event {
    let mut detail = match event.detail {
        Some(Value::Object(detail)) => detail,
        _ => serde_json::Map::new(),
    };
    detail.insert("repeated".to_owned(), json!(times));
    Event { detail: Some(Value::Object(detail)), ..event }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(principal: &str, operation: &str) -> Event {
        Event {
            principal: Some(principal.to_owned()),
            operation: Some(operation.to_owned()),
            reasons: vec!["no".to_owned()],
            detail: Some(json!({"audit_context": ["x"]})),
            ..Event::new("OPERATION_DENIED")
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn times(event: &Event) -> u64 {
        event.detail.as_ref().and_then(|detail| detail["repeated"].as_u64()).unwrap_or(1)
    }

    /// Every denial is told of, however many there are.
    #[test]
    fn the_same_is_counted_after_the_first_few() {
        let denials = Denials::default();
        let noted: Vec<Noted> = (0..1000).map(|_| denials.note(denial("a", "x"), at(0))).collect();
        assert_eq!(noted.iter().map(|noted| noted.write.len()).sum::<usize>(), SAME_MAX as usize);
        let back: Vec<Duration> = noted.iter().filter_map(|noted| noted.come_back).collect();
        assert_eq!(back, [Duration::from_mins(1)], "one comes back for the count");
        assert_eq!(denials.over(at(59)), vec![]);
        let counts = denials.over(at(60));
        assert_eq!(counts.len(), 1);
        assert_eq!(counts[0].detail, Some(json!({"audit_context": ["x"], "repeated": 990})));
        assert_eq!(denials.all(), vec![]);
        assert_eq!(denials.note(denial("a", "x"), at(61)).write.len(), 1, "a new minute");
    }

    #[test]
    fn different_ones_have_a_limit_and_nobody_pays_for_another() {
        let denials = Denials::default();
        let mut told: Vec<Event> = Vec::new();
        for round in 0..5 {
            for operation in 0..300 {
                told.extend(denials.note(denial("a", &format!("op {operation}")), at(round)).write);
            }
        }
        assert_eq!(told.len(), WRITTEN_MAX as usize);
        assert_eq!(denials.note(denial("b", "x"), at(5)).write.len(), 1);
        // The next minute's first one brings the counts of the one before.
        told.extend(denials.note(denial("a", "x"), at(70)).write);
        assert_eq!(
            told.len(),
            WRITTEN_MAX as usize + KINDS_MAX + 2,
            "each kind, the others, and the new one"
        );
        assert_eq!(told.iter().map(times).sum::<u64>(), 1501);
        let named = |operation: &str| told.iter().any(|event| event.operation.as_deref() == Some(operation));
        assert!((0..KINDS_MAX).all(|number| named(&format!("op {number}"))), "what was denied is named");
    }

    /// However long somebody goes on, what they fill the log with is little; and none of it is lost.
    #[test]
    fn who_does_not_stop_is_counted_for_longer_each_time() {
        let denials = Denials::default();
        let mut told: Vec<Event> = Vec::new();
        let day = 24 * 60 * 60;
        for second in 0..day {
            for _ in 0..3 {
                told.extend(denials.note(denial("a", "x"), at(second)).write);
            }
        }
        let windows = (day / LONGEST_MINUTE.as_secs() + 5) as usize;
        assert!(told.len() <= windows * (SAME_MAX as usize + 1), "{}", told.len());
        told.extend(denials.over(at(day + 600)));
        assert_eq!(told.iter().map(times).sum::<u64>(), 3 * day.unsigned_abs());
        // Once it was quiet for as long, all is as it was in the beginning.
        assert_eq!(denials.over(at(day + 1300)), vec![]);
        assert!(denials.lock().is_empty());
    }

    #[test]
    fn many_principals_and_a_clock_set_back_lose_nothing() {
        let denials = Denials::default();
        let mut told: Vec<Event> = Vec::new();
        for number in 0..3 * PRINCIPALS_MAX {
            told.extend(denials.note(denial(&format!("p{number}"), "x"), at(0)).write);
        }
        assert!(denials.lock().len() <= PRINCIPALS_MAX + 1);
        told.extend(denials.over(at(-5)));
        assert_eq!(denials.all(), vec![]);
        assert_eq!(told.iter().map(times).sum::<u64>(), 3 * PRINCIPALS_MAX as u64);
    }
}
