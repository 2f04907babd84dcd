//! Sums that no order of adding changes.
//!
//! Whole numbers are added as integers. Floats are kept as partial sums that do not overlap (Shewchuk 1997), so nothing
//! is lost until the one rounding of the end. Large floats are kept apart and scaled down, for two of them may add up to
//! more than a float can be, and a partial sum that is infinite would never become a number again.

use crate::query::order::Num;

#[derive(Debug, Clone, Default)]
pub(super) struct Total {
    count: usize,
    whole: i128,
    /// From small to large.
    partials: Vec<f64>,
    /// The same for what is at least [`LARGE`], times [`DOWN`].
    large: Vec<f64>,
}

/// 2^512: 2^64 floats below it add up to less than 2^576.
const LARGE: f64 = f64::from_bits((1023 + 512) << 52);
/// 2^-128 and 2^128: 2^64 floats scaled down add up to less than 2^960, and none of them loses a bit.
const DOWN: f64 = f64::from_bits((1023 - 128) << 52);
const UP: f64 = f64::from_bits((1023 + 128) << 52);
/// 2^872, and 2^1000 once it is scaled up: what is less can be added to the small ones without passing every float.
const NEAR_OVERFLOW: f64 = f64::from_bits((1023 + 872) << 52);
/// 2^-512: what is less may lose bits when it is scaled down.
const TINY: f64 = f64::from_bits((1023 - 512) << 52);

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
                let (partials, float) = match float.abs() < LARGE {
                    true => (&mut self.partials, float),
                    false => (&mut self.large, float * DOWN),
                };
                let (mut doubled, mut bits) = (float, times);
                while bits > 0 {
                    if bits & 1 == 1 {
                        add_exactly(partials, doubled);
                    }
                    doubled *= 2.0;
                    bits >>= 1;
                }
            }
        }
    }

    /// Beyond every float it is infinite.
    pub(super) fn sum(&self) -> Num {
        if self.partials.is_empty() && self.large.is_empty() {
            return Num::Whole(self.whole);
        }
        let (sum, scale) = self.scaled();
        Num::of_float(sum * scale)
    }

    /// The sum rounded once, and what it has to be multiplied by.
    fn scaled(&self) -> (f64, f64) {
        let mut small = self.partials.clone();
        let mut rest = self.whole;
        while rest != 0 {
            // The nearest float, then what it missed by.
            let near = rest as f64;
            add_exactly(&mut small, near);
            rest -= near as i128;
        }
        if self.large.last().is_none_or(|highest| highest.abs() < NEAR_OVERFLOW) {
            self.large.iter().for_each(|partial| add_exactly(&mut small, partial * UP));
            return (rounded(small), 1.0);
        }
        let mut large = self.large.clone();
        // So far below the last digit of the sum, only the side on which they lie can matter.
        let tiny = small.iter().rfind(|partial| partial.abs() < TINY);
        let tiny = tiny.map(|partial| f64::MIN_POSITIVE.copysign(*partial));
        let scaled = small.iter().filter(|partial| partial.abs() >= TINY).map(|partial| partial * DOWN);
        tiny.into_iter().chain(scaled).for_each(|partial| add_exactly(&mut large, partial));
        (rounded(large), UP)
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
            // The average is a float even where the sum is beyond them.
            Num::Other(_) => {
                let (sum, scale) = self.scaled();
                Num::of_float(sum / count as f64 * scale)
            }
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
    fn sums_that_pass_the_largest_float_on_their_way_come_back() {
        for (values, expected) in [
            (vec![1e308, 1e308, -1e308, -1e308, 0.5], json!(0.5)),
            (vec![1e308, 1e308, 1e308, -1e308, -1e308], json!(1e308)),
            (vec![f64::MAX, f64::MAX, -f64::MAX, 5e-324, -f64::MAX], json!(5e-324)),
            (vec![f64::MAX, 1e200, -1e200, -f64::MAX, 1e-300, 1.5], json!(1.5)),
            (vec![1e160, -1e160, 1e150, 3.0, -1e150], json!(3)),
            (vec![f64::MAX, 1e291], json!(f64::MAX)),
            (vec![f64::MAX, 1e292], json!(null)),
            (vec![1e308, 1e308, 1e-300], json!(null)),
            (vec![-1e308, -1e308], json!(null)),
        ] {
            let mut values: Vec<Value> = values.into_iter().map(Value::from).collect();
            for _ in 0..values.len() {
                assert_eq!(total(&values).sum().to_value(), expected, "{values:?}");
                values.rotate_left(1);
            }
            values.reverse();
            assert_eq!(total(&values).sum().to_value(), expected, "{values:?}");
        }
        assert_eq!(total(&[json!(1e308), json!(1e308)]).average().map(Num::to_value), Some(json!(1e308)));
        // Half way between two large floats the smallest float decides.
        let (step, half) = (f64::MAX - f64::MAX.next_down(), (f64::MAX - f64::MAX.next_down()) / 2.0);
        let even = f64::MAX.next_down();
        let sum = |tiny: f64| total(&[json!(even), json!(half), json!(tiny)]).sum().to_value();
        assert_eq!((sum(5e-324), sum(-5e-324)), (json!(even + step), json!(even)));
    }

    #[test]
    fn no_more_partial_sums_are_kept_than_a_float_has_room_for() {
        let mut total = Total::default();
        for n in 0..10_000 {
            total.add(Num::of_float(1.7e308 / f64::from(n % 7 + 1)), 1_000_000);
            assert!(total.partials.len() + total.large.len() < 64);
        }
        assert_eq!(total.sum().to_value(), Value::Null);
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
