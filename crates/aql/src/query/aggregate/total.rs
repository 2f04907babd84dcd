//! Sums that no order of adding changes.
//!
//! Whole numbers are added as integers. Floats are kept as partial sums that do not overlap (Shewchuk 1997), so nothing
//! is lost until the one rounding of the end.

use crate::query::order::Num;

#[derive(Debug, Clone, Default)]
pub(super) struct Total {
    count: usize,
    whole: i128,
    /// From small to large.
    partials: Vec<f64>,
}

impl Total {
    /// Adds a number so many times.
    pub(super) fn add(&mut self, number: Num, times: usize) {
        self.count = self.count.saturating_add(times);
        match number {
            // INVARIANT: no whole number is beyond 2^64, so this cannot overflow before 2^63 of them.
            Num::Whole(whole) => {
                let product = whole.saturating_mul(i128::try_from(times).unwrap_or(i128::MAX));
                self.whole = self.whole.saturating_add(product);
            }
            // A product would be rounded; doubling is exact.
            Num::Other(float) => {
                let (mut doubled, mut bits) = (float, times);
                while bits > 0 {
                    if bits & 1 == 1 {
                        add_exactly(&mut self.partials, doubled);
                    }
                    doubled *= 2.0;
                    bits >>= 1;
                }
            }
        }
    }

    pub(super) fn sum(&self) -> Num {
        if self.partials.is_empty() {
            return Num::Whole(self.whole);
        }
        let mut partials = self.partials.clone();
        let mut rest = self.whole;
        while rest != 0 {
            // The nearest float, then what it missed by.
            let near = rest as f64;
            add_exactly(&mut partials, near);
            rest -= near as i128;
        }
        Num::of_float(rounded(partials))
    }

    /// None if nothing was added.
    pub(super) fn average(&self) -> Option<Num> {
        let count = i128::try_from(self.count).ok().filter(|count| *count > 0)?;
        Some(match self.sum() {
            Num::Whole(sum) if sum % count == 0 => Num::Whole(sum / count),
            Num::Whole(sum) if sum.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => {
                Num::of_float(sum as f64 / count as f64)
            }
            Num::Whole(sum) => Num::of_float((sum / count) as f64 + (sum % count) as f64 / count as f64),
            Num::Other(sum) => Num::of_float(sum / count as f64),
        })
    }
}

fn add_exactly(partials: &mut Vec<f64>, mut x: f64) {
    partials.retain_mut(|partial| {
        let mut y = *partial;
        if x.abs() < y.abs() {
            std::mem::swap(&mut x, &mut y);
        }
        let high = x + y;
        let low = y - (high - x);
        *partial = low;
        x = high;
        low != 0.0
    });
    if x != 0.0 {
        partials.push(x);
    }
}

/// The float nearest to the sum of partials that do not overlap; of two equally near the even one.
fn rounded(mut partials: Vec<f64>) -> f64 {
    let mut high = partials.pop().unwrap_or_default();
    while let Some(next) = partials.pop() {
        let sum = high + next;
        let low = next - (sum - high);
        high = sum;
        if low != 0.0 {
            // Half way between two floats the remaining partials decide.
            let below = partials.last().copied().unwrap_or_default();
            if (low < 0.0 && below < 0.0) || (low > 0.0 && below > 0.0) {
                let doubled = low * 2.0;
                let next_float = high + doubled;
                if next_float - high == doubled {
                    high = next_float;
                }
            }
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use serde_json::{Number, Value, json};

    use super::*;

    fn total(values: &[Value]) -> Total {
        let mut total = Total::default();
        values.iter().for_each(|value| total.add(Num::of(value.as_number().unwrap()), 1));
        total
    }

    #[test]
    fn sums_are_exact_whatever_the_order() {
        for (values, expected) in [
            (vec![], json!(0)),
            (vec![json!(9_007_199_254_740_993_i64), json!(1)], json!(9_007_199_254_740_994_i64)),
            (vec![json!(u64::MAX), json!(-1)], json!(u64::MAX - 1)),
            (vec![json!(i64::MAX), json!(i64::MAX), json!(2)], json!(18_446_744_073_709_551_616.0)),
            (vec![json!(0.1); 10], json!(1)),
            (vec![json!(1e100), json!(1), json!(-1e100), json!(0.5)], json!(1.5)),
            (vec![json!(1e16), json!(1), json!(1e-16)], json!(10_000_000_000_000_002_i64)),
            (vec![json!(0.5), json!(0.5)], json!(1)),
            (vec![json!(-0.25), json!(0.25)], json!(0)),
            (
                vec![json!(9_007_199_254_740_993_i64), json!(0.5), json!(-0.5)],
                json!(9_007_199_254_740_993_i64),
            ),
        ] {
            let mut values: Vec<Value> = values;
            for _ in 0..values.len().max(1) {
                assert_eq!(total(&values).sum().to_value(), expected, "{values:?}");
                if !values.is_empty() {
                    values.rotate_left(1);
                }
            }
        }
    }

    #[test]
    fn adding_many_times_is_adding_again_and_again() {
        for value in [json!(3), json!(0.1), json!(-5e-324), json!(u64::MAX), json!(1.0e-300), json!(1e100)] {
            for times in [0, 1, 2, 3, 10, 1000] {
                let mut at_once = total(&[json!(0.3)]);
                at_once.add(Num::of(value.as_number().unwrap()), times);
                let one_by_one = total(&[vec![json!(0.3)], vec![value.clone(); times]].concat());
                assert_eq!(at_once.sum(), one_by_one.sum(), "{value} {times} times");
                assert_eq!(at_once.average(), one_by_one.average(), "{value} {times} times");
            }
        }
    }

    #[test]
    fn what_is_half_way_is_rounded_by_the_rest() {
        // 2^53 + 1 lies half way; the smallest float above or below decides.
        let half = json!(9_007_199_254_740_992_i64);
        let sum = |tiny: f64| total(&[half.clone(), json!(1), json!(tiny)]).sum();
        assert_eq!(sum(1e-300), Num::of_float(9_007_199_254_740_994.0));
        assert_eq!(sum(-1e-300), Num::of_float(9_007_199_254_740_992.0));
    }

    #[test]
    fn averages_are_exact_where_they_can_be() {
        let average = |values: &[Value]| total(values).average().map(Num::to_value);
        assert_eq!(average(&[]), None);
        assert_eq!(average(&[json!(2), json!(4)]), Some(json!(3)));
        assert_eq!(average(&[json!(1), json!(2)]), Some(json!(1.5)));
        assert_eq!(average(&[json!(u64::MAX), json!(u64::MAX)]), Some(json!(u64::MAX)));
        assert_eq!(average(&[json!(0.1), json!(0.3)]), Some(Value::Number(Number::from_f64(0.2).unwrap())));
    }
}
