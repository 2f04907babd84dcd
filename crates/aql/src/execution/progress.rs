//! How far an execution has come.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The top of the scale of percentages.
const PERCENTAGE_MAX: f64 = 100.0;

/// Why something is no progress.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotProgress {
    #[error("progress needs a percentage, a current count with its total, or a message")]
    Empty,
    #[error("a percentage must be between 0 and 100")]
    OutOfRange,
    #[error("a current count and its total come together")]
    HalfACount,
}

/// A percentage, a count out of a total or a message; at least one of them, so an empty one cannot be shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Progress {
    percentage: Option<f64>,
    counted: Option<(u64, u64)>,
    message: Option<String>,
}

impl Progress {
    pub fn new(
        percentage: Option<f64>,
        counted: Option<(u64, u64)>,
        message: Option<String>,
    ) -> Result<Self, NotProgress> {
        if percentage.is_some_and(|percentage| !(0.0..=PERCENTAGE_MAX).contains(&percentage)) {
            return Err(NotProgress::OutOfRange);
        }
        let message = message.filter(|message| !message.trim().is_empty());
        if percentage.is_none() && counted.is_none() && message.is_none() {
            return Err(NotProgress::Empty);
        }
        Ok(Self { percentage, counted, message })
    }

    #[must_use]
    pub fn percentage(&self) -> Option<f64> {
        self.percentage
    }

    /// The current count and its total.
    #[must_use]
    pub fn counted(&self) -> Option<(u64, u64)> {
        self.counted
    }

    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// This report after an `earlier` one of the same attempt. What it leaves out stays as it was, and a percentage
    /// stays where it was rather than go down: reports of parallel steps may come out of order.
    #[must_use]
    pub(super) fn after(self, earlier: Option<&Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let percentage = match (self.percentage, earlier.percentage) {
            (Some(new), Some(old)) => Some(new.max(old)),
            (new, old) => new.or(old),
        };
        Self {
            percentage,
            counted: self.counted.or(earlier.counted),
            message: self.message.or_else(|| earlier.message.clone()),
        }
    }

    /// The last progress with other words. Unlike a report, they are never empty.
    #[must_use]
    pub(super) fn ending(last: Option<&Self>, message: String) -> Self {
        let (percentage, counted) = last.map_or((None, None), |last| (last.percentage, last.counted));
        Self { percentage, counted, message: Some(message) }
    }

    /// As answers show it.
    #[must_use]
    pub fn view(&self) -> Value {
        let mut members = Map::new();
        if let Some(percentage) = self.percentage {
            members.insert("percentage".to_owned(), number(percentage));
        }
        if let Some((current, total)) = self.counted {
            members.insert("current".to_owned(), current.into());
            members.insert("total".to_owned(), total.into());
        }
        if let Some(message) = &self.message {
            members.insert("message".to_owned(), message.as_str().into());
        }
        Value::Object(members)
    }
}

/// Whole numbers are written as such, because clients that compare 35.0 with 35 are many.
fn number(percentage: f64) -> Value {
    if percentage.fract() == 0.0 { Value::from(percentage as u64) } else { Value::from(percentage) }
}

/// Progress as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    percentage: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl From<Progress> for Written {
    fn from(progress: Progress) -> Self {
        let (current, total) = progress.counted.unzip();
        Self { percentage: progress.percentage, current, total, message: progress.message }
    }
}

impl TryFrom<Written> for Progress {
    type Error = NotProgress;

    fn try_from(written: Written) -> Result<Self, NotProgress> {
        let counted = match (written.current, written.total) {
            (Some(current), Some(total)) => Some((current, total)),
            (None, None) => None,
            _ => return Err(NotProgress::HalfACount),
        };
        Self::new(written.percentage, counted, written.message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Progress, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// REQ-LIFE-07
    #[test]
    fn progress_is_never_empty_nor_half_nor_off_the_scale() {
        for good in [
            json!({"percentage": 0}),
            json!({"percentage": 99.5}),
            json!({"percentage": 100}),
            json!({"current": 3, "total": 10}),
            json!({"message": "half of it"}),
            json!({"percentage": 35, "current": 7, "total": 20, "message": "x"}),
        ] {
            assert_eq!(read(good.clone()).unwrap().view(), good);
        }
        for (bad, why) in [
            (json!({}), NotProgress::Empty),
            (json!({"message": " "}), NotProgress::Empty),
            (json!({"current": 3}), NotProgress::HalfACount),
            (json!({"total": 3, "message": "x"}), NotProgress::HalfACount),
            (json!({"percentage": -1}), NotProgress::OutOfRange),
            (json!({"percentage": 100.1}), NotProgress::OutOfRange),
        ] {
            assert_eq!(read(bad.clone()), Err(why.to_string()), "{bad}");
        }
        assert_eq!(Progress::new(Some(f64::NAN), None, None), Err(NotProgress::OutOfRange));
    }

    #[test]
    fn a_report_changes_only_what_it_names() {
        let first = read(json!({"percentage": 40, "current": 4, "total": 10, "message": "four"})).unwrap();
        let later = read(json!({"current": 5, "total": 10})).unwrap().after(Some(&first));
        assert_eq!(later.view(), json!({"percentage": 40, "current": 5, "total": 10, "message": "four"}));
        let lower = read(json!({"percentage": 20, "message": "two"})).unwrap().after(Some(&first));
        assert_eq!(lower.view(), json!({"percentage": 40, "current": 4, "total": 10, "message": "two"}));
    }
}
