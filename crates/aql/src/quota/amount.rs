//! How much: calls, tokens or money, in millionths, so that sums of money stay exact.

use serde_json::Value;

const MILLIONTHS: i64 = 1_000_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i64);

impl Amount {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(MILLIONTHS);

    #[must_use]
    pub fn whole(number: u64) -> Self {
        Self(i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(MILLIONTHS))
    }

    /// The nearest amount to a number, unless it is negative, no number or too large.
    #[must_use]
    pub fn of(number: f64) -> Option<Self> {
        const MOST: f64 = 1e12;
        (0.0..=MOST).contains(&number).then(|| Self((number * MILLIONTHS as f64).round() as i64))
    }

    #[must_use]
    pub fn from_millionths(millionths: i64) -> Self {
        Self(millionths)
    }

    #[must_use]
    pub fn millionths(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<Amount> for Value {
    fn from(amount: Amount) -> Self {
        match amount.0 % MILLIONTHS {
            0 => (amount.0 / MILLIONTHS).into(),
            _ => (amount.0 as f64 / MILLIONTHS as f64).into(),
        }
    }
}
