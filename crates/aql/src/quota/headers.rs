//! What a server's HTTP headers say about when to come back.

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};

/// The longest that a server's word is taken for.
const HELD_MAX: SignedDuration = SignedDuration::from_hours(24);

/// Headers of a server that are its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderNames {
    pub remaining: Option<String>,
    pub reset: Option<String>,
}

const REMAINING: [&str; 3] = ["x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining"];
const RESET: [&str; 3] = ["x-ratelimit-reset", "ratelimit-reset", "x-rate-limit-reset"];

/// Until when nothing is to be sent to a server that answered so, if it says anything of the kind.
pub fn held_until<'a>(
    status: u16,
    header: impl Fn(&str) -> Option<&'a str>,
    own: &[HeaderNames],
    now: Timestamp,
) -> Option<Timestamp> {
    let is_spent = |name: &str| header(name).is_some_and(|text| text.trim().parse() == Ok(0.0));
    let own_remaining = own.iter().filter_map(|names| names.remaining.as_deref());
    let spent = REMAINING.into_iter().chain(own_remaining).any(is_spent);
    let refused = matches!(status, 429 | 503);
    if !spent && !refused {
        return None;
    }
    let after = header("retry-after").and_then(|text| moment(text, now));
    // A server that is only out of order says nothing about limits.
    let reset = || {
        let own_reset = own.iter().filter_map(|names| names.reset.as_deref());
        let mut names = own_reset.chain(RESET).filter(|_| spent || status == 429);
        names.find_map(|name| moment(header(name)?, now))
    };
    let until = after.or_else(reset).filter(|until| *until > now)?;
    Some(until.min(now.saturating_add(HELD_MAX).unwrap_or(until)))
}

/// Seconds from now, seconds or milliseconds since 1970, or a date.
fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    const SECONDS_OF_A_DATE: f64 = 1e9;
    const MILLISECONDS_OF_A_DATE: f64 = 1e12;
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        if !number.is_finite() || number < 0.0 {
            return None;
        }
        let seconds = if number >= MILLISECONDS_OF_A_DATE { number / 1000.0 } else { number };
        if seconds >= SECONDS_OF_A_DATE {
            // Far beyond every date that can be written, the end of it will do.
            return Some(Timestamp::from_second(seconds.ceil() as i64).unwrap_or(Timestamp::MAX));
        }
        return now.checked_add(SignedDuration::from_secs(seconds.ceil() as i64)).ok();
    }
    let of_mail = || rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    text.parse().ok().or_else(of_mail)
}
