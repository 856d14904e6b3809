//! Exact sums of decimals and integers.

use super::wide::Wide;
use super::{Decimal, LIMIT};

/// A sum of decimals and integers. It is exact, and rounded once at its end, so it does not depend
/// on their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecimalSum {
    floor: i128,
    /// To be divided by `10^38`. Always below that.
    fraction: u128,
}

impl DecimalSum {
    /// Adds a decimal this many times; `None` if the sum is too large.
    #[must_use]
    pub fn plus(self, value: Decimal, times: u64) -> Option<Self> {
        let (floor, fraction) = value.floor_and_fraction();
        let (carry, fraction) = Wide::product(fraction, u128::from(times)).divided(Wide::of(LIMIT));
        let floor = floor.checked_mul(i128::from(times))?;
        let floor = floor.checked_add(carry.narrow()?.cast_signed())?;
        self.join(Self { floor, fraction: fraction.narrow()? })
    }

    /// Adds an integer; `None` if the sum is too large.
    #[must_use]
    #[inline]
    pub fn plus_int(self, int: i128) -> Option<Self> {
        Some(Self { floor: self.floor.checked_add(int)?, ..self })
    }

    /// The largest integer that is not above the sum.
    #[must_use]
    pub fn floor(self) -> i128 {
        self.floor
    }

    /// The sum as a float, also if a decimal would have too many digits.
    #[must_use]
    pub fn to_float(self) -> f64 {
        self.total().map_or(self.floor as f64, Decimal::to_float)
    }

    /// The sum of both; `None` if it is too large.
    #[must_use]
    pub fn join(self, other: Self) -> Option<Self> {
        let floor = self.floor.checked_add(other.floor)?;
        let fraction = self.fraction + other.fraction;
        match fraction < LIMIT {
            true => Some(Self { floor, fraction }),
            false => Some(Self { floor: floor.checked_add(1)?, fraction: fraction - LIMIT }),
        }
    }

    /// The sum, rounded to the digits that a decimal has; `None` if it is too large.
    #[must_use]
    pub fn total(self) -> Option<Decimal> {
        // The magnitude of a negative sum, whose fraction counts upwards from its floor.
        let (whole, fraction) = match (self.floor < 0, self.fraction) {
            (true, 1..) => ((self.floor + 1).unsigned_abs(), LIMIT - self.fraction),
            (_, fraction) => (self.floor.unsigned_abs(), fraction),
        };
        let magnitude = Wide::product(whole, LIMIT).plus(Wide::of(fraction));
        Decimal::rounded_of(self.floor < 0, magnitude, Decimal::SCALE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::decimal;
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[Decimal]) -> Option<DecimalSum> {
        values.iter().try_fold(DecimalSum::default(), |sum, &value| sum.plus(value, 1))
    }

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn a_sum_is_exact_up_to_its_end() {
        let third = format!("0.{}", "3".repeat(38));
        let values = [of("1e37"), of(&third), of("-1e37"), of(&third)];
        assert_eq!(sum(&values).and_then(DecimalSum::total), Some(of(&third.replace('3', "6"))));
        let pennies = DecimalSum::default().plus(of("-0.01"), 10_000_000_000_000_000_000).unwrap();
        assert_eq!(pennies.total(), Some(of("-100000000000000000")));
        assert_eq!(DecimalSum::default().total(), Some(Decimal::ZERO));
        let large = of(&"9".repeat(38));
        assert_eq!(sum(&[large, of("0.4")]).unwrap().total(), Some(large));
        assert_eq!(sum(&[large, of("1")]).unwrap().total(), None);
        assert!(sum(&[large, large]).is_none());
        assert_eq!(sum(&[of("-1.5")]).unwrap().plus_int(2).unwrap().total(), Some(of("0.5")));
    }

    proptest! {
        #[test]
        fn a_sum_of_two_is_their_sum(a in decimal(), b in decimal()) {
            prop_assert_eq!(sum(&[a, b]).and_then(DecimalSum::total), a.checked_add(b));
        }

        #[test]
        fn a_decimal_counted_often_is_added_as_often(a in decimal(), times in 0..40_usize) {
            let often = DecimalSum::default().plus(a, times as u64).and_then(DecimalSum::total);
            prop_assert_eq!(often, sum(&vec![a; times]).and_then(DecimalSum::total));
        }

        #[test]
        fn the_order_of_a_sum_does_not_matter(values in prop::collection::vec(decimal(), 0..9)) {
            let mut back = values.clone();
            back.reverse();
            if let (Some(a), Some(b)) = (sum(&values), sum(&back)) {
                prop_assert_eq!(a.total(), b.total());
            }
        }
    }
}
