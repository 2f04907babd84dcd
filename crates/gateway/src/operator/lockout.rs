//! Who guesses the credential has to wait, longer each time.
//!
//! With 256 random bits nobody guesses it; this keeps the noise down and makes it seen. Who has the right key does not wait:
//! others of the same machine may have guessed, and must not keep them out by it. A pure state: the time is handed in.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use jiff::Timestamp;

/// So many wrong credentials in a row are forgiven.
const FREE_FAILURES: u32 = 5;

/// How long the first lockout is; each further failure doubles it.
const FIRST_LOCKOUT: Duration = Duration::from_secs(30);
const LONGEST_LOCKOUT: Duration = Duration::from_hours(1);

/// After so long without a failure all is forgotten.
const FORGOTTEN: Duration = Duration::from_hours(2);

/// So many sources are told apart; the others share one.
const SOURCES_MAX: usize = 1024;

/// Those who wait together: one machine, as far as addresses tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    /// Every address of this machine, which has millions of them.
    Here,
    V4([u8; 4]),
    /// One network, since one machine can take any address in it.
    V6([u8; 8]),
    Others,
}

impl Source {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() => Self::Here,
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Record {
    failures: u32,
    last: Timestamp,
    until: Timestamp,
}

/// What failed so far.
#[derive(Debug, Default)]
pub(super) struct Lockout {
    records: HashMap<Source, Record>,
}

impl Lockout {
    /// How long this address has still to wait after what it brought.
    pub(super) fn remaining(&self, from: IpAddr, now: Timestamp) -> Option<Duration> {
        let record = self.records.get(&self.source(from))?;
        Duration::try_from(record.until.duration_since(now)).ok().filter(|rest| !rest.is_zero())
    }

    /// Counts a wrong credential; the wait that it begins, if it begins one.
    pub(super) fn failed(&mut self, from: IpAddr, now: Timestamp) -> Option<Duration> {
        let is_recent = |last: Timestamp| now.duration_since(last).unsigned_abs() < FORGOTTEN;
        if !self.records.contains_key(&Source::of(from)) && self.records.len() >= SOURCES_MAX {
            self.records.retain(|_, record| is_recent(record.last));
        }
        let source = self.source(from);
        let record = self.records.entry(source).or_insert(Record { failures: 0, last: now, until: now });
        if !is_recent(record.last) {
            record.failures = 0;
        }
        record.failures = record.failures.saturating_add(1);
        record.last = now;
        let over = record.failures.checked_sub(FREE_FAILURES)?;
        let wait = FIRST_LOCKOUT.saturating_mul(2_u32.saturating_pow(over.min(16))).min(LONGEST_LOCKOUT);
        record.until = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        Some(wait)
    }

    fn source(&self, from: IpAddr) -> Source {
        let source = Source::of(from);
        let is_full = self.records.len() >= SOURCES_MAX;
        if is_full && !self.records.contains_key(&source) { Source::Others } else { source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    /// REQ-OOB-05
    #[test]
    fn waits_begin_after_a_few_failures_and_double() {
        let mut lockout = Lockout::default();
        for _ in 1..FREE_FAILURES {
            assert_eq!(lockout.failed(HERE, at(0)), None);
            assert_eq!(lockout.remaining(HERE, at(0)), None);
        }
        let mut now = 0;
        for wait in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600] {
            assert_eq!(lockout.failed(HERE, at(now)), Some(Duration::from_secs(wait)));
            assert_eq!(lockout.remaining(HERE, at(now)), Some(Duration::from_secs(wait)));
            now += i64::try_from(wait).unwrap();
            assert_eq!(lockout.remaining(HERE, at(now - 1)), Some(Duration::from_secs(1)));
            assert_eq!(lockout.remaining(HERE, at(now)), None);
        }
        assert_eq!(lockout.failed(HERE, at(now + 7200)), None, "the count begins again");
    }

    #[test]
    fn one_machine_is_one_source_whatever_address_it_takes() {
        let mut lockout = Lockout::default();
        let here = ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.2", "127.0.0.1"];
        for address in here {
            lockout.failed(address.parse().unwrap(), at(0));
        }
        assert!(here.iter().all(|address| lockout.remaining(address.parse().unwrap(), at(0)).is_some()));
        assert_eq!(lockout.remaining("10.0.0.1".parse().unwrap(), at(0)), None);
        for last in 1..=5 {
            lockout.failed(format!("2001:db8::{last}").parse().unwrap(), at(0));
        }
        assert!(lockout.remaining("2001:db8::ffff".parse().unwrap(), at(0)).is_some());
        assert_eq!(lockout.remaining("2001:db8:1::1".parse().unwrap(), at(0)), None);
    }

    #[test]
    fn what_is_long_ago_is_forgotten_and_memory_is_bounded() {
        let mut lockout = Lockout::default();
        for _ in 0..4 {
            lockout.failed(HERE, at(0));
        }
        assert_eq!(lockout.failed(HERE, at(7200)), None);
        let mut lockout = Lockout::default();
        for number in 0..5000_u32 {
            lockout.failed(IpAddr::from(number.to_be_bytes()), at(0));
        }
        assert!(lockout.records.len() <= SOURCES_MAX + 1);
        let unseen = "99.99.99.99".parse().unwrap();
        assert!(lockout.remaining(unseen, at(0)).is_some(), "who cannot be told apart waits with the others");
        lockout.failed(HERE, at(7200));
        assert_eq!(lockout.records.len(), 1);
        assert_eq!(lockout.remaining(unseen, at(7200)), None);
    }
}
