//! Sums, products, quotients, remainders and rounding of decimals.

use super::wide::Wide;
use super::{Decimal, LIMIT, power};
use std::ops::Neg;

impl Decimal {
    /// The sum.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let scale = self.scale().max(other.scale());
        let narrow = |number: Self| number.coefficient_at(scale);
        if let (Some(a), Some(b)) = (narrow(self), narrow(other))
            && let Some(sum) = a.checked_add(b)
            && sum.unsigned_abs() < LIMIT
        {
            return Self::new(sum, scale as i32);
        }
        let ((a_negative, a), (b_negative, b)) = (self.aligned(scale), other.aligned(scale));
        match (a_negative == b_negative, a >= b) {
            (true, _) => Self::rounded_of(a_negative, a.plus(b), scale),
            (false, true) => Self::rounded_of(a_negative, a.minus(b), scale),
            (false, false) => Self::rounded_of(b_negative, b.minus(a), scale),
        }
    }

    /// The difference.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(-other)
    }

    /// The product.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let (a, b) = (self.coefficient(), other.coefficient());
        let product = Wide::product(a.unsigned_abs(), b.unsigned_abs());
        Self::rounded_of((a < 0) != (b < 0), product, self.scale() + other.scale())
    }

    /// The quotient; `None` also if the divisor is zero.
    #[must_use]
    pub fn checked_div(self, by: Self) -> Option<Self> {
        const PLACES: u32 = Decimal::DIGITS_MAX;
        let (a, b) = (self.coefficient(), by.coefficient());
        if b == 0 {
            return None;
        }
        let divisor = Wide::of(b.unsigned_abs());
        let (mut quotient, rest) = Wide::product(a.unsigned_abs(), LIMIT).divided(divisor);
        let mut scale = PLACES + self.scale();
        // With at least 39 digits the last one is cut off, so that rounding needs no remainder.
        if let (Some(digits), Some(rest)) = (quotient.narrow(), rest.narrow())
            && digits < LIMIT
        {
            let more = Wide::product(rest, LIMIT).divided(divisor).0;
            (quotient, scale) = (Wide::product(digits, LIMIT).plus(more), scale + PLACES);
        }
        // The scale of the divisor is at most the places that were added.
        Self::rounded_of((a < 0) != (b < 0), quotient, scale - by.scale())
    }

    /// The remainder of the division whose quotient is rounded towards zero. It has the sign of the
    /// dividend. `None` if the divisor is zero.
    #[must_use]
    pub fn checked_rem(self, by: Self) -> Option<Self> {
        if by == Self::ZERO {
            return None;
        }
        let scale = self.scale().max(by.scale());
        let ((negative, a), (_, b)) = (self.aligned(scale), by.aligned(scale));
        Self::rounded_of(negative, a.divided(b).1, scale)
    }

    /// The nearest number with at most this number of digits behind the point, halves away from
    /// zero; with -2, the nearest multiple of 100. `None` if it has too many digits.
    #[must_use]
    pub fn rounded(self, places: i64) -> Option<Self> {
        let drop = i64::from(self.scale()).saturating_sub(places);
        if drop <= 0 {
            return Some(self);
        }
        // Half of a number with one digit more than the coefficient can have is above it.
        if drop > i64::from(Self::DIGITS_MAX) {
            return Some(Self::ZERO);
        }
        let unit = power(drop as u32);
        let magnitude = self.coefficient().unsigned_abs();
        let up = u128::from(magnitude % unit >= unit / 2);
        let rounded = (magnitude / unit + up).cast_signed();
        Self::new(if self.coefficient() < 0 { -rounded } else { rounded }, places as i32)
    }

    /// The largest integer that is not above the number.
    #[must_use]
    pub fn floor(self) -> Self {
        match self.scale() {
            0 => self,
            // With a digit behind the point, there are at most 37 before it.
            _ => Self::of_int(self.floor_and_fraction().0).unwrap_or(self),
        }
    }

    /// The smallest integer that is not below the number.
    #[must_use]
    pub fn ceil(self) -> Self {
        -(-self).floor()
    }

    /// The number towards zero without the digits behind the point.
    #[must_use]
    pub fn trunc(self) -> i128 {
        self.coefficient() / power(self.scale()).cast_signed()
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(self) -> Self {
        if self.coefficient() < 0 { -self } else { self }
    }

    /// Whether the number is negative, and its magnitude with this number of digits behind the
    /// point, which is at least its scale.
    fn aligned(self, scale: u32) -> (bool, Wide) {
        let coefficient = self.coefficient();
        let magnitude = Wide::product(coefficient.unsigned_abs(), power(scale - self.scale()));
        (coefficient < 0, magnitude)
    }

    /// The number `magnitude / 10^scale`, rounded to the digits that fit.
    pub(super) fn rounded_of(negative: bool, magnitude: Wide, scale: u32) -> Option<Self> {
        let drop = digits(magnitude).max(scale).saturating_sub(Self::DIGITS_MAX);
        let scale = scale.checked_sub(drop)?;
        let kept = match drop.checked_sub(1) {
            None => magnitude,
            // The first of the dropped digits says whether they are a half or more.
            Some(others) => without_digits(magnitude, others).plus(Wide::of(5)),
        };
        let rounded = without_digits(kept, drop.min(1)).narrow()?.cast_signed();
        let (rounded, scale) = match rounded.unsigned_abs() == LIMIT {
            // 999… rounded up: a digit more, but zeros.
            true => (rounded / 10, scale.checked_sub(1)?),
            false => (rounded, scale),
        };
        Self::new(if negative { -rounded } else { rounded }, scale as i32)
    }
}

impl Neg for Decimal {
    type Output = Self;

    fn neg(self) -> Self {
        Self { coefficient: (-self.coefficient()).to_ne_bytes(), scale: self.scale }
    }
}

/// The number of decimal digits, for numbers below `10^77`.
fn digits(number: Wide) -> u32 {
    let of = |number: u128| number.checked_ilog10().map_or(0, |log| log + 1);
    match number.narrow() {
        Some(number) => of(number),
        None => {
            let high = without_digits(number, Decimal::DIGITS_MAX);
            Decimal::DIGITS_MAX + high.narrow().map_or(Decimal::DIGITS_MAX + 1, of)
        }
    }
}

/// The number without this many of its last decimal digits.
fn without_digits(mut number: Wide, mut count: u32) -> Wide {
    /// 10^19 has 64 bits, and division by them is fast.
    const STEP: u32 = 19;
    while count > 0 {
        let step = count.min(STEP);
        number = number.divided(Wide::of(power(step))).0;
        count -= step;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::super::tests::decimal;
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[track_caller]
    fn check(found: Option<Decimal>, want: &str) {
        assert_eq!(found.map_or("none".to_owned(), |found| found.to_string()), want);
    }

    #[test]
    fn results_are_exact_while_they_fit() {
        check(of("0.1").checked_add(of("0.2")), "0.3");
        check(of("1.1").checked_sub(of("1.1")), "0");
        check(of("-19.99").checked_mul(of("3")), "-59.97");
        check(of("1").checked_div(of("8")), "0.125");
        check(of("-7.5").checked_rem(of("2")), "-1.5");
        check(of("99999999999999999999999999999999999999").checked_sub(of("0")), &"9".repeat(38));
        let cut = "10000000000000000000000000000000000000";
        check(
            of(cut).checked_rem(of("0.00000000000000000000000000000000000003")),
            "0.00000000000000000000000000000000000001",
        );
    }

    #[test]
    fn results_are_rounded_to_38_digits_or_too_large() {
        check(of("1").checked_div(of("3")), &format!("0.{}", "3".repeat(38)));
        check(of("2").checked_div(of("3")), &format!("0.{}7", "6".repeat(37)));
        check(of("-200").checked_div(of("3")), &format!("-66.{}7", "6".repeat(35)));
        check(of("1e-38").checked_div(of(&"9".repeat(38))), "0");
        check(of("1e-38").checked_mul(of("0.5")), "0.00000000000000000000000000000000000001");
        check(of("1e-38").checked_mul(of("0.4")), "0");
        check(of("1e37").checked_add(of("0.5")), "10000000000000000000000000000000000001");
        check(of(&"9".repeat(38)).checked_add(of("0.4")), &"9".repeat(38));
        check(of(&"9".repeat(38)).checked_add(of("0.5")), "none");
        check(
            of(&format!("9.{}", "9".repeat(37))).checked_add(of("1e-38")),
            &format!("9.{}", "9".repeat(37)),
        );
        check(of(&format!("9.{}", "9".repeat(37))).checked_add(of("5e-38")), "10");
        check(of(&"9".repeat(38)).checked_add(of("1")), "none");
        check(of("1e19").checked_mul(of("1e19")), "none");
        check(of("1e37").checked_div(of("1e-1")), "none");
        check(of("1e37").checked_div(of("0.00000000000000000000000000000000000007")), "none");
        check(of("1").checked_div(Decimal::ZERO), "none");
        check(of("1").checked_rem(Decimal::ZERO), "none");
    }

    #[test]
    fn digits_are_rounded_away_from_zero_at_halves() {
        for (text, places, want) in [
            ("2.5", 0, "3"),
            ("-2.5", 0, "-3"),
            ("1.005", 2, "1.01"),
            ("1.0049", 2, "1"),
            ("1250", -2, "1300"),
            ("49", -2, "0"),
            ("50", -2, "100"),
            ("7", 5, "7"),
            ("7", i64::MIN, "0"),
            ("1.5", i64::MAX, "1.5"),
            ("60000000000000000000000000000000000000", -38, "none"),
        ] {
            check(of(text).rounded(places), want);
        }
        let ends = |text: &str| (of(text).floor().to_string(), of(text).ceil().to_string());
        assert_eq!(ends("-2.5"), ("-3".to_owned(), "-2".to_owned()));
        assert_eq!(ends("7"), ("7".to_owned(), "7".to_owned()));
        assert_eq!((of("-2.9").trunc(), of("2.9").trunc()), (-2, 2));
    }

    proptest! {
        #[test]
        fn operations_agree_with_those_of_integers(
            a in -1_000_000_000_i128..1_000_000_000, b in -1_000_000_000_i128..1_000_000_000,
            (x, y) in (0..9_i32, 0..9_i32),
        ) {
            let (p, q) = (Decimal::new(a, x).unwrap(), Decimal::new(b, y).unwrap());
            let at = |number: i128, scale: i32| number * 10_i128.pow((9 - scale) as u32);
            let new = |number: i128, scale: i32| Decimal::new(number, scale);
            prop_assert_eq!(p.checked_add(q), new(at(a, x) + at(b, y), 9));
            prop_assert_eq!(p.checked_sub(q), new(at(a, x) - at(b, y), 9));
            prop_assert_eq!(p.checked_mul(q), new(a * b, x + y));
            prop_assert_eq!(p.cmp(&q), at(a, x).cmp(&at(b, y)));
            if b != 0 {
                prop_assert_eq!(p.checked_rem(q), new(at(a, x) % at(b, y), 9));
            }
        }

        #[test]
        fn a_sum_less_one_part_is_the_other_to_38_digits(a in decimal(), b in decimal()) {
            if let Some(sum) = a.checked_add(b) {
                prop_assert_eq!(b.checked_add(a), Some(sum));
                // One unit of the last of 38 digits of the largest of the three.
                let off = sum.checked_sub(a).and_then(|found| found.checked_sub(b)).unwrap().abs();
                let most = a.abs().max(b.abs()).max(sum.abs());
                let unit = most.checked_mul(of("1e-37")).unwrap().max(of("1e-38"));
                prop_assert!(off <= unit, "{off} {unit}");
            }
        }

        #[test]
        fn a_quotient_times_the_divisor_is_the_dividend_to_37_digits(a in decimal(), b in decimal()) {
            if let Some(quotient) = a.checked_div(b)
                && let Some(found) = quotient.checked_mul(b)
            {
                let off = found.checked_sub(a).unwrap().abs();
                // The quotient is off by half a unit of its last place, the product by another.
                let unit = a.abs().checked_mul(of("1e-37")).unwrap();
                let unit = unit.checked_add(b.abs().checked_mul(of("1e-38")).unwrap()).unwrap();
                let unit = unit.checked_add(of("1e-38")).unwrap();
                prop_assert!(off <= unit, "{off} {unit}");
            }
        }
    }
}
