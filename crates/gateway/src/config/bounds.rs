//! The ranges that numbers may be set in: one constant each, which the check, the schema and the reference all read.

use aql::{
    autonomy::settings,
    limits::{self, Limit, OutOfRange},
};
use schemars::Schema;

use super::{
    error::Error,
    file::{self, Placed},
};
use crate::pipeline::PAGE_BYTES_DEFAULT;

const UPSTREAM: &str = "upstream";

/// The range of one number, both ends included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    section: &'static str,
    key: &'static str,
    unit: &'static str,
    min: u64,
    max: u64,
    default: Option<u64>,
}

pub(super) const CONCURRENT_REQUESTS: Bounds = Bounds {
    section: "server",
    key: "max_concurrent_requests",
    unit: "requests",
    min: 1,
    max: 65_536,
    default: Some(256),
};
pub(super) const COOLDOWN_SECONDS: Bounds = Bounds {
    section: "upstream.NAME.tools.TOOL",
    key: "cooldown_seconds",
    unit: "seconds",
    min: 0,
    max: aql::danger::COOLDOWN_SECONDS_MAX as u64,
    default: None,
};
pub(super) const SESSION_IDLE_MINUTES: Bounds = Bounds {
    section: "server",
    key: "session_idle_minutes",
    unit: "minutes",
    min: 1,
    max: 7 * 24 * 60,
    default: Some(30),
};
pub(super) const SHUTDOWN_GRACE_SECONDS: Bounds = Bounds {
    section: "server",
    key: "shutdown_grace_seconds",
    unit: "seconds",
    min: 0,
    max: 600,
    default: Some(10),
};
pub(super) const CHALLENGE_SECONDS: Bounds = Bounds {
    section: "safety.loop",
    key: "challenge_seconds",
    unit: "seconds",
    min: 10,
    max: 24 * 60 * 60,
    default: Some(crate::adapters::safety_loop::CHALLENGE_SECONDS_DEFAULT),
};
pub(super) const AUTONOMOUS_STEPS: Bounds = Bounds {
    section: "safety",
    key: "max_autonomous_steps",
    unit: "steps",
    min: 1,
    max: 1_000_000,
    default: Some(settings::MAX_AUTONOMOUS_STEPS_DEFAULT as u64),
};
pub(super) const ESCALATE_AFTER: Bounds = Bounds {
    section: "safety",
    key: "escalate_after",
    unit: "times",
    min: 1,
    max: 1_000_000,
    default: Some(settings::ESCALATE_AFTER_DEFAULT as u64),
};
/// Clients give a call up after a minute.
pub(super) const HOLD_SECONDS: Bounds =
    Bounds { section: "safety", key: "hold_seconds", unit: "seconds", min: 0, max: 50, default: Some(50) };
pub(super) const APPROVAL_MINUTES: Bounds = Bounds {
    section: "safety",
    key: "approval_minutes",
    unit: "minutes",
    min: 1,
    max: 24 * 60,
    default: Some(15),
};
pub(super) const TOKEN_SECONDS: Bounds =
    Bounds { section: "safety", key: "token_seconds", unit: "seconds", min: 1, max: 900, default: Some(300) };
pub(super) const FORBIDDEN_TOKEN_SECONDS: Bounds = Bounds {
    section: "safety",
    key: "forbidden_token_seconds",
    unit: "seconds",
    min: 1,
    max: 300,
    default: Some(120),
};
pub(super) const CLOCK_SKEW_SECONDS: Bounds = Bounds {
    section: "safety",
    key: "clock_skew_tolerance_seconds",
    unit: "seconds",
    min: 0,
    max: 300,
    default: Some(30),
};
pub(super) const TOKEN_USES: Bounds =
    Bounds { section: "safety", key: "token_uses", unit: "uses", min: 1, max: 100, default: Some(1) };
/// Below a mebibyte a database hardly holds its own tables; above an exbibyte no file does.
pub(super) const DATABASE_BYTES: Bounds = Bounds {
    section: "store",
    key: "max_database_bytes",
    unit: "bytes",
    min: 1 << 20,
    max: 1 << 60,
    default: None,
};
pub(super) const TRACE_DAYS: Bounds =
    Bounds { section: "inspector", key: "keep_days", unit: "days", min: 1, max: 3650, default: Some(14) };
/// Below some mebibytes a day's file hardly holds its own tables.
pub(super) const TRACE_BYTES: Bounds = Bounds {
    section: "inspector",
    key: "keep_bytes",
    unit: "bytes",
    min: 16 << 20,
    max: 1 << 50,
    default: Some(2 << 30),
};
/// Below a few kilobytes a page holds nothing; above a mebibyte it is no page.
pub(super) const PAGE_BYTES: Bounds = Bounds {
    section: "limits",
    key: "page_bytes",
    unit: "bytes",
    min: 4 * 1024,
    max: 1 << 20,
    default: Some(PAGE_BYTES_DEFAULT as u64),
};
pub(super) const RUNNING_EXECUTIONS: Bounds = Bounds {
    section: "executions",
    key: "max_running",
    unit: "executions",
    min: 1,
    max: 1024,
    default: Some(16),
};
pub(super) const LEASE_SECONDS: Bounds = Bounds {
    section: "executions",
    key: "lease_seconds",
    unit: "seconds",
    min: 2,
    max: 3600,
    default: Some(30),
};
pub(super) const KEEP_DAYS: Bounds =
    Bounds { section: "executions", key: "keep_days", unit: "days", min: 1, max: 3650, default: Some(30) };
pub(super) const CALLS_PER_MINUTE: Bounds = Bounds {
    section: "safety",
    key: "max_calls_per_minute",
    unit: "calls",
    min: 1,
    max: 1_000_000,
    default: None,
};

pub(super) const API_LIMIT: Bounds =
    Bounds { section: "api_limits", key: "limit", unit: "calls", min: 1, max: 1_000_000_000, default: None };

pub(super) const CALL_TIMEOUT_SECONDS: Bounds = Bounds {
    section: UPSTREAM,
    key: "timeout_seconds",
    unit: "seconds",
    min: 1,
    max: 24 * 60 * 60,
    default: Some(120),
};
pub(super) const START_TIMEOUT_SECONDS: Bounds = Bounds {
    section: UPSTREAM,
    key: "start_timeout_seconds",
    unit: "seconds",
    min: 1,
    max: 60 * 60,
    default: Some(30),
};
pub(super) const CONCURRENT_CALLS: Bounds = Bounds {
    section: UPSTREAM,
    key: "max_concurrent_calls",
    unit: "calls",
    min: 1,
    max: 1024,
    default: Some(64),
};
pub(super) const UPSTREAM_IDLE_MINUTES: Bounds = Bounds {
    section: UPSTREAM,
    key: "idle_minutes",
    unit: "minutes",
    min: 0,
    max: 7 * 24 * 60,
    default: Some(30),
};
pub(super) const CHECK_MINUTES: Bounds = Bounds {
    section: UPSTREAM,
    key: "check_minutes",
    unit: "minutes",
    min: 0,
    max: 7 * 24 * 60,
    default: Some(60),
};

/// The range that the language gives one of its limits.
pub(super) const fn of(limit: &Limit) -> Bounds {
    Bounds {
        section: "limits",
        key: limit.key,
        unit: limit.unit,
        min: *limit.range.start() as u64,
        max: *limit.range.end() as u64,
        default: Some(limit.default as u64),
    }
}

impl Bounds {
    /// The number given, if it is in the range.
    pub(super) fn check(&self, given: &Placed<i64>) -> Result<u64, Error> {
        self.check_under(self.section, given)
    }

    /// The same for a number whose section is named by the operator.
    fn check_under(&self, section: &str, given: &Placed<i64>) -> Result<u64, Error> {
        let in_range = |number: &u64| (self.min..=self.max).contains(number);
        u64::try_from(*given.get()).ok().filter(in_range).ok_or_else(|| {
            let Self { key, unit, min, max, .. } = self;
            let number = given.get();
            Error::at(
                given.span(),
                format!("'{section}.{key}' is {number}, but must be between {min} and {max} {unit}"),
            )
        })
    }

    /// The number given, or the default where none is. Only for bounds that have one.
    pub(super) fn check_or_default(&self, given: Option<&Placed<i64>>) -> Result<u64, Error> {
        match given {
            Some(given) => self.check(given),
            None => Ok(self.default.unwrap_or(self.min)),
        }
    }

    /// The number given under `[SECTION.NAME]`, or the default.
    pub(super) fn of_named(&self, name: &str, given: Option<&Placed<i64>>) -> Result<u64, Error> {
        match given {
            Some(given) => self.check_under(&format!("{}.{name}", self.section), given),
            None => self.check_or_default(None),
        }
    }

    /// Writes the range and the default into the number's schema.
    pub(super) fn into_schema(self) -> impl FnMut(&mut Schema) {
        move |schema| {
            schema.insert("minimum".to_owned(), self.min.into());
            schema.insert("maximum".to_owned(), self.max.into());
            if let Some(default) = self.default {
                schema.insert("default".to_owned(), default.into());
            }
        }
    }
}

/// The section `[limits]`.
pub(super) fn limits(written: &file::Limits) -> Result<limits::Limits, Error> {
    use limits::Limits;
    let limits = Limits::default();
    let limits =
        set(limits, &written.max_request_size, &limits::REQUEST_SIZE, Limits::with_max_request_size)?;
    let limits =
        set(limits, &written.max_response_size, &limits::RESPONSE_SIZE, Limits::with_max_response_size)?;
    let limits =
        set(limits, &written.max_string_length, &limits::STRING_LENGTH, Limits::with_max_string_length)?;
    let limits =
        set(limits, &written.max_array_elements, &limits::ARRAY_ELEMENTS, Limits::with_max_array_elements)?;
    set(limits, &written.max_nesting_depth, &limits::NESTING_DEPTH, Limits::with_max_nesting_depth)
}

fn set(
    limits: limits::Limits,
    given: &Option<Placed<i64>>,
    limit: &Limit,
    with: fn(limits::Limits, usize) -> Result<limits::Limits, OutOfRange>,
) -> Result<limits::Limits, Error> {
    let Some(given) = given else { return Ok(limits) };
    let number = usize::try_from(of(limit).check(given)?).unwrap_or(usize::MAX);
    with(limits, number).map_err(|error| Error::at(given.span(), error))
}
