//! Conditions worth knowing of in a call that succeeded.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::define::Deprecation;

/// A response carries no more than this; the most important are kept.
pub const WARNINGS_MAX: usize = 10;

/// Declared in the order that responses list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    pub code: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    pub severity: Severity,
    /// Shown once in a session, then known.
    #[serde(skip)]
    pub once: bool,
}

impl Warning {
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>, severity: Severity) -> Self {
        Self { code, message: message.into(), details: Map::new(), severity, once: false }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// A notice for something used that will go. Its severity rises as the date nears; see [`Warning::dated`].
    #[must_use]
    pub fn deprecation(what: &'static str, name: &str, notice: &Deprecation) -> Self {
        let advice =
            notice.replacement.as_ref().map(|to| format!("; use '{to}' instead")).unwrap_or_default();
        let message = format!("The {what} '{name}' is deprecated{advice}");
        let mut warning = Self::new("DEPRECATION_WARNING", message, Severity::Low);
        warning.once = true;
        warning = warning.with("type", what).with("deprecated_item", name);
        if let Some(replacement) = &notice.replacement {
            warning = warning.with("replacement", replacement.as_str());
        }
        if let Some(date) = &notice.removal_date {
            warning = warning.with("removal_date", date.as_str());
        }
        warning
    }

    /// A notice that an operation took long.
    #[must_use]
    pub fn slow(operation: &str, duration_ms: u64, threshold_ms: u64) -> Self {
        let severity = match duration_ms / threshold_ms.max(1) {
            0..2 => Severity::Low,
            2..=10 => Severity::Medium,
            _ => Severity::High,
        };
        let message = format!("Operation took {duration_ms}ms (threshold: {threshold_ms}ms)");
        Self::new("PERFORMANCE_SLOW_QUERY_WARNING", message, severity)
            .with("operation", operation)
            .with("duration_ms", duration_ms)
            .with("threshold_ms", threshold_ms)
    }

    /// A notice that an answer is not the whole; how much there is may not be known.
    #[must_use]
    pub fn truncated(
        field: &str,
        original_count: Option<usize>,
        truncated_count: usize,
        limit: usize,
    ) -> Self {
        let lost_most = original_count.is_none_or(|original| truncated_count.saturating_mul(2) < original);
        let severity = if lost_most { Severity::Medium } else { Severity::Low };
        let message = format!("Response truncated to {truncated_count} items");
        let warning = Self::new("VALIDATION_TRUNCATED_WARNING", message, severity)
            .with("field", field)
            .with("truncated_count", truncated_count)
            .with("limit", limit);
        match original_count {
            Some(original) => warning.with("original_count", original),
            None => warning,
        }
    }

    /// Sets a deprecation's severity for the day it is shown: high within thirty days of removal.
    #[must_use]
    pub fn dated(mut self, today: jiff::civil::Date) -> Self {
        const NEAR_DAYS: i32 = 30;
        let removal = self.details.get("removal_date").and_then(Value::as_str);
        if let Some(removal) = removal.and_then(|text| text.parse::<jiff::civil::Date>().ok()) {
            let days = (removal - today).get_days();
            self.severity = if days <= NEAR_DAYS { Severity::High } else { Severity::Medium };
        }
        self
    }

    fn identity(&self) -> String {
        format!("{}\n{}", self.code, self.message)
    }
}

/// What a session has been told already. It ends with the session.
#[derive(Debug, Default)]
pub struct Told(HashSet<String>);

impl Told {
    /// Orders, collapses and bounds the warnings of one response, leaving out those shown once before.
    #[must_use]
    pub fn arrange(&mut self, warnings: Vec<Warning>) -> Vec<Warning> {
        let mut kept: Vec<(Warning, usize)> = Vec::new();
        for warning in warnings {
            match kept.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, count)) => *count += 1,
                None if warning.once && self.0.contains(&warning.identity()) => {}
                None => kept.push((warning, 1)),
            }
        }
        kept.sort_by_key(|(warning, _)| warning.severity);
        kept.truncate(WARNINGS_MAX);
        kept.into_iter()
            .map(|(warning, count)| {
                if warning.once {
                    self.0.insert(warning.identity());
                }
                if count > 1 { warning.with("occurrence_count", count) } else { warning }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(message: &str, severity: Severity) -> Warning {
        Warning::new("VALIDATION_TEST_WARNING", message, severity)
    }

    /// LREQ-WARN-02 LREQ-WARN-08 LREQ-WARN-09
    #[test]
    fn warnings_are_ordered_bounded_and_collapsed() {
        let mut many: Vec<_> = (0..12).map(|n| warning(&format!("low {n}"), Severity::Low)).collect();
        many.push(warning("high", Severity::High));
        many.extend(vec![warning("medium", Severity::Medium); 3]);
        let arranged = Told::default().arrange(many);
        assert_eq!(arranged.len(), WARNINGS_MAX);
        assert_eq!(arranged[0].message, "high");
        assert_eq!(arranged[1].details["occurrence_count"], 3);
        assert!(arranged.is_sorted_by_key(|w| w.severity));
    }

    /// REQ-SESS-08 LREQ-WARN-10
    #[test]
    fn a_once_per_session_warning_is_shown_again_in_the_next_session() {
        let notice = Deprecation { replacement: Some("list_items".into()), removal_date: None };
        let warn = || vec![Warning::deprecation("operation", "find_items", &notice)];
        let mut session = Told::default();
        assert_eq!(session.arrange(warn()).len(), 1);
        assert_eq!(session.arrange(warn()).len(), 0);
        assert_eq!(Told::default().arrange(warn()).len(), 1);
    }

    /// LREQ-WARN-07
    #[test]
    fn slow_queries_grow_urgent_with_the_time_they_took() {
        for (duration, expected) in [
            (1_500, Severity::Low),
            (1_999, Severity::Low),
            (5_000, Severity::Medium),
            (10_000, Severity::Medium),
            (11_000, Severity::High),
        ] {
            let warning = Warning::slow("list_items", duration, 1_000);
            assert_eq!(warning.severity, expected, "{duration}");
            assert_eq!(warning.message, format!("Operation took {duration}ms (threshold: 1000ms)"));
            assert_eq!(warning.details["operation"], "list_items");
        }
    }

    /// LREQ-WARN-06
    #[test]
    fn what_is_left_out_is_told_the_louder_the_more_it_is() {
        let cut = |original, kept| Warning::truncated("items", original, kept, 100);
        assert_eq!(cut(Some(1523), 100).message, "Response truncated to 100 items");
        assert_eq!(cut(Some(1523), 100).details["original_count"], 1523);
        assert_eq!(cut(Some(1523), 100).severity, Severity::Medium);
        assert_eq!(cut(Some(150), 100).severity, Severity::Low);
        assert_eq!(cut(None, 100).severity, Severity::Medium);
    }

    /// LREQ-WARN-05
    #[test]
    fn deprecations_grow_urgent_as_their_date_nears() {
        let today = jiff::civil::date(2026, 3, 1);
        for (date, expected) in [
            (None, Severity::Low),
            (Some("2026-03-20"), Severity::High),
            (Some("2026-12-01"), Severity::Medium),
            (Some("2026-01-01"), Severity::High),
        ] {
            let notice = Deprecation { replacement: None, removal_date: date.map(str::to_owned) };
            assert_eq!(
                Warning::deprecation("operation", "x", &notice).dated(today).severity,
                expected,
                "{date:?}"
            );
        }
    }
}
