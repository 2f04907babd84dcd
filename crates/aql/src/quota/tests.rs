//! Counting by a small model: what a store would keep, in memory.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::{category::Category, error::Code};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOON: &str = "2026-02-04T12:00:00Z";

fn quota(metric: &str, warn: u64, pause: u64, hard_stop: Option<u64>) -> Quota {
    Quota {
        metric: metric.parse().unwrap(),
        upstream: None,
        category: None,
        caller: None,
        operations: Vec::new(),
        warn: Amount::whole(warn),
        pause: Amount::whole(pause),
        hard_stop: hard_stop.map(Amount::whole),
        currency: "USD".to_owned(),
    }
}

fn api(scope: ApiScope, limit: u64, window: Window) -> ApiLimit {
    ApiLimit { upstream: "github".to_owned(), scope, limit, window }
}

const CALLED: Called<'static> = Called {
    operation: "github_search",
    category: Category::Read,
    server: Some("github"),
    principal: "alice",
};

/// What would be in the store.
#[derive(Default)]
struct Kept(BTreeMap<(String, i64), i64>);

impl Kept {
    fn counts(&self, plan: &Plan, now: Timestamp) -> Counts {
        let api = plan.api.iter().map(|counted| {
            let rows = self.0.iter().filter(|((key, _), _)| *key == counted.key);
            let parts = rows.map(|((_, begins), count)| {
                let count = Amount::from_millionths(*count).millionths() / 1_000_000;
                (counted.limit.window.slot_of(*begins), count as u64)
            });
            parts.collect()
        });
        let quotas = plan.quotas.iter().map(|counted| {
            let begins = counted.quota.metric.window.of_calendar(now).begins_at.as_microsecond();
            Amount::from_millionths(self.0.get(&(counted.key.clone(), begins)).copied().unwrap_or_default())
        });
        Counts { api: api.collect(), quotas: quotas.collect() }
    }

    fn add(&mut self, plan: &Plan, tokens: u64, now: Timestamp) {
        for counted in &plan.api {
            let begins = counted.limit.window.sliding(now).begins_at.as_microsecond();
            *self.0.entry((counted.key.clone(), begins)).or_default() += Amount::ONE.millionths();
        }
        for counted in &plan.quotas {
            let begins = counted.quota.metric.window.of_calendar(now).begins_at.as_microsecond();
            let amount = if counted.quota.metric.unit == Unit::Tokens {
                Amount::whole(tokens)
            } else {
                counted.amount
            };
            *self.0.entry((counted.key.clone(), begins)).or_default() += amount.millionths();
        }
    }

    fn call(&mut self, limits: &Limits, called: &Called<'_>, continued: bool, now: Timestamp) -> Verdict {
        let plan = limits.plan(called);
        let verdict = decide(&plan, &self.counts(&plan, now), continued, now);
        if matches!(verdict, Verdict::Admitted(_)) {
            self.add(&plan, 10, now);
        }
        verdict
    }
}

/// LREQ-RATE-05 LREQ-ERR-20
#[test]
fn a_quota_warns_then_pauses_then_stops() {
    let limits = Limits { quotas: vec![quota("requests_per_minute", 3, 5, Some(7))], ..Limits::default() };
    let (mut kept, now) = (Kept::default(), at("2026-02-04T12:00:10Z"));
    for number in 1..=3 {
        assert_eq!(kept.call(&limits, &CALLED, false, now), Verdict::Admitted(vec![]), "{number}");
    }
    for number in 4..=5 {
        let Verdict::Admitted(warnings) = kept.call(&limits, &CALLED, false, now) else { panic!("{number}") };
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert_eq!(warning.code, "RATE_LIMIT_QUOTA_WARNING");
        assert_eq!(warning.details["metric"], "requests_per_minute");
        assert_eq!(warning.details["current"], number);
        assert_eq!(
            (&warning.details["warn_threshold"], &warning.details["pause_threshold"]),
            (&3.into(), &5.into())
        );
    }
    for _ in 6..=7 {
        let Verdict::Paused(paused) = kept.call(&limits, &CALLED, false, now) else { panic!("not paused") };
        let error = paused.error("quota_continue_x", now);
        assert_eq!(error.code, Code::QuotaPause);
        assert_eq!(
            (&error.details["pause_threshold"], &error.details["hard_stop_threshold"]),
            (&5.into(), &7.into())
        );
        assert_eq!(error.details["confirmation_token"], "quota_continue_x");
        assert!(
            matches!(kept.call(&limits, &CALLED, true, now), Verdict::Admitted(warnings) if warnings.len() == 1)
        );
    }
    for continued in [false, true] {
        let Verdict::Refused(error) = kept.call(&limits, &CALLED, continued, now) else {
            panic!("not stopped")
        };
        assert_eq!(error.code, Code::QuotaExhausted);
        assert_eq!(error.details["resets_at"], "2026-02-04T12:01:00Z");
        assert_eq!(error.details["retry_after_seconds"], 50);
        assert_eq!(
            (&error.details["current"], &error.details["hard_stop_threshold"]),
            (&7.into(), &7.into())
        );
    }
    let next = at("2026-02-04T12:01:00Z");
    assert_eq!(kept.call(&limits, &CALLED, false, next), Verdict::Admitted(vec![]));
}

/// LREQ-RATE-05
#[test]
fn without_a_hard_stop_nothing_is_ever_exhausted() {
    let limits = Limits { quotas: vec![quota("requests_per_day", 1, 2, None)], ..Limits::default() };
    let mut kept = Kept::default();
    for _ in 0..50 {
        let verdict = kept.call(&limits, &CALLED, true, at(NOON));
        assert!(matches!(verdict, Verdict::Admitted(_)), "{verdict:?}");
    }
    assert!(matches!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Paused(_)));
}

/// LREQ-RATE-01 LREQ-RATE-02 LREQ-RATE-03
#[test]
fn the_sixth_call_of_five_is_refused_and_told_when_to_come_back() {
    for scope in
        [ApiScope::Global, ApiScope::Endpoint("github_s*".to_owned()), ApiScope::Category(Category::Read)]
    {
        let limits = Limits { api: vec![api(scope.clone(), 5, Window::Minute)], ..Limits::default() };
        let mut kept = Kept::default();
        for second in 0..5 {
            let now = at(NOON) + SignedDuration::from_secs(second);
            assert!(matches!(kept.call(&limits, &CALLED, false, now), Verdict::Admitted(_)), "{scope}");
        }
        let now = at(NOON) + SignedDuration::from_millis(5_500);
        let Verdict::Refused(error) = kept.call(&limits, &CALLED, true, now) else { panic!("{scope}") };
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::RateLimitExceeded, "API rate limit exceeded")
        );
        assert_eq!(error.details["resets_at"], "2026-02-04T12:01:01Z");
        assert_eq!(error.details["retry_after_seconds"], 56, "55.5 seconds, rounded up");
        assert_eq!((&error.details["limit"], &error.details["window"]), (&5.into(), &"minute".into()));
        let others = [
            Called { operation: "github_push", category: Category::Update, ..CALLED },
            Called { server: Some("gitlab"), ..CALLED },
            Called { server: None, ..CALLED },
        ];
        for other in others.iter().skip(usize::from(scope == ApiScope::Global)) {
            assert!(
                matches!(kept.call(&limits, other, false, now), Verdict::Admitted(_)),
                "{scope} {other:?}"
            );
        }
        let later = at("2026-02-04T12:01:01Z");
        assert!(matches!(kept.call(&limits, &CALLED, false, later), Verdict::Admitted(_)));
    }
}

proptest! {
    /// LREQ-RATE-01
    #[test]
    fn no_window_holds_more_calls_wherever_it_begins(
        gaps in prop::collection::vec(0..20_000_000_i64, 1..200),
        limit in 1..8_u64,
        window in prop::sample::select(vec![Window::Second, Window::Minute]),
    ) {
        let limits = Limits { api: vec![api(ApiScope::Global, limit, window)], ..Limits::default() };
        let (mut kept, mut now, mut made) = (Kept::default(), at(NOON), Vec::new());
        for gap in gaps {
            now += SignedDuration::from_micros(gap);
            match kept.call(&limits, &CALLED, false, now) {
                Verdict::Admitted(_) => made.push(now),
                Verdict::Refused(error) => {
                    let resets_at: Timestamp = error.details["resets_at"].as_str().unwrap().parse().unwrap();
                    prop_assert!(resets_at > now);
                    let plan = limits.plan(&CALLED);
                    let then = decide(&plan, &kept.counts(&plan, resets_at), false, resets_at);
                    prop_assert!(matches!(then, Verdict::Admitted(_)), "it is free when it says");
                }
                Verdict::Paused(_) => prop_assert!(false, "nothing pauses here"),
            }
        }
        let length = SignedDuration::from_secs(if window == Window::Second { 1 } else { 60 });
        for (index, first) in made.iter().enumerate() {
            let inside = made[index..].iter().filter(|call| call.duration_since(*first) < length).count();
            prop_assert!(inside as u64 <= limit, "{inside} calls");
        }
    }
}

/// LREQ-RATE-12
#[test]
fn costs_add_up_exactly_and_the_last_that_fits_counts() {
    let cost = |operations: &[&str], per_call: f64| Cost {
        upstream: "github".to_owned(),
        operations: operations.iter().map(|pattern| (*pattern).to_owned()).collect(),
        per_call: Amount::of(per_call).unwrap(),
        currency: "USD".to_owned(),
    };
    let costs = vec![cost(&[], 0.001), cost(&["github_premium_*"], 0.01)];
    let mut day = quota("cost_per_day", 1, 2, None);
    day.hard_stop = Amount::of(0.031);
    let limits = Limits { quotas: vec![day], costs, ..Limits::default() };
    let mut kept = Kept::default();
    let premium = Called { operation: "github_premium_search", ..CALLED };
    for _ in 0..3 {
        kept.call(&limits, &premium, false, at(NOON));
    }
    let plan = limits.plan(&premium);
    let shown = status("aqueduct", &plan, &kept.counts(&plan, at(NOON)), at(NOON));
    assert_eq!(
        (&shown["quotas"][0]["current"], &shown["quotas"][0]["currency"]),
        (&0.03.into(), &"USD".into())
    );
    assert!(
        matches!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Admitted(_)),
        "0.031 is just reached"
    );
    assert!(matches!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Refused(_)), "never beyond it");
    let free = Called { server: None, ..CALLED };
    assert!(limits.plan(&free).is_empty(), "what costs nothing is not counted");
}

/// LREQ-RATE-07
#[test]
fn metrics_have_their_names_and_no_others() {
    for (name, metric) in Metric::ALL {
        assert_eq!((name.parse(), metric.as_str()), (Ok(metric), name));
    }
    for unknown in ["", "requests_per_second", "requests_per_month", "cost_per_minute", "Requests_Per_Day"] {
        assert!(unknown.parse::<Metric>().is_err(), "{unknown}");
    }
}

/// LREQ-RATE-08 LREQ-RATE-09
#[test]
fn the_status_tells_every_state() {
    let limits = Limits {
        quotas: vec![quota("requests_per_hour", 1, 2, Some(3))],
        api: vec![api(ApiScope::Global, 5, Window::Minute)],
        ..Limits::default()
    };
    let (mut kept, plan, now) = (Kept::default(), limits.plan(&CALLED), at(NOON));
    for (calls, expected) in ["ok", "warn", "paused", "exhausted"].iter().enumerate() {
        let shown = status("aqueduct", &plan, &kept.counts(&plan, now), now);
        assert_eq!(shown["quotas"][0]["status"], *expected);
        assert_eq!(shown["quotas"][0]["current"], calls);
        assert_eq!(shown["api_limits"]["global"]["remaining"], 5 - calls);
        assert!(shown["next_reset"].is_string());
        kept.call(&limits, &CALLED, true, now);
    }
}

#[test]
fn each_caller_and_each_server_can_be_counted_on_its_own() {
    let each = Quota {
        caller: Some("*".to_owned()),
        upstream: Some("*".to_owned()),
        ..quota("requests_per_day", 9, 9, Some(1))
    };
    let limits = Limits { quotas: vec![each], ..Limits::default() };
    let mut kept = Kept::default();
    let bob = Called { principal: "bob", ..CALLED };
    let other = Called { server: Some("gitlab"), ..CALLED };
    for called in [CALLED, bob, other] {
        assert!(matches!(kept.call(&limits, &called, false, at(NOON)), Verdict::Admitted(_)), "{called:?}");
        assert!(matches!(kept.call(&limits, &called, false, at(NOON)), Verdict::Refused(_)), "{called:?}");
    }
    assert!(limits.plan(&Called { server: None, ..CALLED }).is_empty(), "our own operations have no server");
}

#[test]
fn tokens_count_once_they_are_known() {
    let limits = Limits { quotas: vec![quota("tokens_per_day", 10, 20, Some(30))], ..Limits::default() };
    let mut kept = Kept::default();
    assert_eq!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Admitted(vec![]));
    assert!(
        matches!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Admitted(warnings) if warnings.len() == 1)
    );
    assert!(matches!(kept.call(&limits, &CALLED, false, at(NOON)), Verdict::Paused(_)));
    assert!(matches!(kept.call(&limits, &CALLED, true, at(NOON)), Verdict::Admitted(_)));
    assert!(matches!(kept.call(&limits, &CALLED, true, at(NOON)), Verdict::Refused(_)));
}

#[test]
fn windows_of_the_calendar_begin_where_people_expect_it() {
    let now = at("2026-02-28T23:59:59.5Z");
    for (window, begins, ends) in [
        (Window::Minute, "2026-02-28T23:59:00Z", "2026-03-01T00:00:00Z"),
        (Window::Hour, "2026-02-28T23:00:00Z", "2026-03-01T00:00:00Z"),
        (Window::Day, "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"),
        (Window::Month, "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
    ] {
        assert_eq!(window.of_calendar(now), Slot { begins_at: at(begins), ends_at: at(ends) }, "{window:?}");
    }
    let long = Timestamp::MAX;
    assert!(Window::Month.of_calendar(long).begins_at <= long);
}

/// LREQ-RATE-04
#[test]
fn a_servers_headers_say_when_to_come_back() {
    let now = at(NOON);
    let own = [HeaderNames { remaining: Some("x-left".to_owned()), reset: Some("x-again".to_owned()) }];
    let until = |status: u16, given: &[(&str, &str)]| {
        let header = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        held_until(status, header, &own, now).map(|until| until.duration_since(now).as_secs())
    };
    let half = "1770206430"; // half a minute after noon
    for (status, given, expected) in [
        (200, vec![("x-ratelimit-remaining", "0"), ("retry-after", "30")], Some(30)),
        (200, vec![("x-ratelimit-remaining", "1"), ("retry-after", "30")], None),
        (200, vec![("x-ratelimit-remaining", "0")], None),
        (200, vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "12")], Some(12)),
        (200, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", half)], Some(30)),
        (200, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1770206430000")], Some(30)),
        (200, vec![("x-left", "0"), ("x-again", "7")], Some(7)),
        (200, vec![("retry-after", "30")], None),
        (429, vec![("retry-after", "30")], Some(30)),
        (503, vec![("retry-after", "30")], Some(30)),
        (500, vec![("retry-after", "30")], None),
        (429, vec![("retry-after", "Wed, 04 Feb 2026 12:00:30 GMT")], Some(30)),
        (429, vec![("retry-after", "Wed, 04 Feb 2026 11:00:00 GMT")], None),
        (429, vec![("x-ratelimit-reset", "9")], Some(9)),
        (503, vec![("x-ratelimit-reset", "9")], None),
        (429, vec![], None),
        (429, vec![("retry-after", "-5")], None),
        (429, vec![("retry-after", "soon")], None),
        (429, vec![("retry-after", "NaN")], None),
        (429, vec![("retry-after", "inf")], None),
        (429, vec![("retry-after", "0")], None),
        (429, vec![("retry-after", "99999999999999999999999")], Some(24 * 60 * 60)),
    ] {
        assert_eq!(until(status, &given), expected, "{status} {given:?}");
    }
}

#[test]
fn amounts_are_exact_and_bounded() {
    assert_eq!(serde_json::Value::from(Amount::of(0.1).unwrap().plus(Amount::of(0.2).unwrap())), 0.3);
    assert_eq!(serde_json::Value::from(Amount::whole(4)), 4);
    for bad in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(Amount::of(bad), None, "{bad}");
    }
}
