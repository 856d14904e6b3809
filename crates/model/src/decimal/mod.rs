//! Decimal numbers: an integer of up to 38 digits, divided by a power of ten.
//!
//! # Invariants
//! 1. The coefficient has at most [`Decimal::DIGITS_MAX`] digits, and 0 to
//!    [`Decimal::SCALE_MAX`] of these are behind the point.
//! 2. The last digit behind the point is not zero. So `1.10` and `1.1` are one value with one
//!    representation, and there is one zero.
//!
//! # Rounding
//! Conversions are exact or fail. Sums, differences and products are exact if the result has at
//! most 38 digits. Otherwise they, and quotients, are rounded to 38 digits, at most 38 of them
//! behind the point, halves away from zero. A result whose integer part has more digits is `None`.

mod arithmetic;
mod sum;
mod wide;

pub use sum::DecimalSum;

use std::cmp::Ordering;
use std::fmt;
use wide::Wide;

/// `coefficient / 10^scale`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The bytes of an `i128`, whose alignment of 16 would enlarge every value.
    coefficient: [u8; 16],
    scale: u8,
}

/// `10^38`, one more than the largest coefficient.
const LIMIT: u128 = 10_u128.pow(Decimal::DIGITS_MAX);

impl Decimal {
    /// Most digits of a decimal.
    pub const DIGITS_MAX: u32 = 38;
    /// Most digits behind the point.
    pub const SCALE_MAX: u32 = 38;
    /// Zero.
    pub const ZERO: Self = Self { coefficient: [0; 16], scale: 0 };

    /// `coefficient / 10^scale`; `None` if it has too many digits.
    #[must_use]
    pub fn new(coefficient: i128, scale: i32) -> Option<Self> {
        if coefficient == 0 {
            return Some(Self::ZERO);
        }
        let (mut coefficient, mut scale) = without_zeros(coefficient, scale);
        while scale < 0 {
            (coefficient, scale) = (coefficient.checked_mul(10)?, scale + 1);
        }
        let fits = coefficient.unsigned_abs() < LIMIT && scale.unsigned_abs() <= Self::SCALE_MAX;
        fits.then_some(Self { coefficient: coefficient.to_ne_bytes(), scale: scale as u8 })
    }

    /// An integer; `None` if it has too many digits.
    #[must_use]
    pub fn of_int(int: i128) -> Option<Self> {
        Self::new(int, 0)
    }

    /// The shortest decimal that reads as this float, which is how the float is printed; `None` if
    /// it has too many digits, or the float is not finite.
    #[must_use]
    pub fn of_float(float: f64) -> Option<Self> {
        float.is_finite().then(|| Self::parse(&float.to_string()))?
    }

    /// Parses digits with an optional sign, point and exponent, such as `-1.50` or `2e-3`.
    /// `None` for other text, and for a number that has too many digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_number = !(whole.is_empty() && fraction.is_empty())
            && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        if !is_number {
            return None;
        }
        // Zeros at both ends are not significant, however many there are.
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_end_matches('0');
        let dropped = digits.len() - significant.len();
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self::ZERO);
        }
        if significant.len() > Self::DIGITS_MAX as usize {
            return None;
        }
        let magnitude: i128 = significant.parse().ok()?;
        let scale = i64::try_from(fraction.len()).ok()? - i64::try_from(dropped).ok()?;
        let scale = i32::try_from(scale - i64::from(exponent)).ok()?;
        Self::new(if mantissa.starts_with('-') { -magnitude } else { magnitude }, scale)
    }

    /// The digits without the point.
    #[must_use]
    pub fn coefficient(self) -> i128 {
        i128::from_ne_bytes(self.coefficient)
    }

    /// The number of digits behind the point.
    #[must_use]
    pub fn scale(self) -> u32 {
        u32::from(self.scale)
    }

    /// The coefficient that the number has with this number of digits behind the point; `None` if
    /// that takes more than 38 digits, or the number has more digits behind the point.
    #[must_use]
    pub fn coefficient_at(self, scale: u32) -> Option<i128> {
        let more = scale.checked_sub(self.scale()).filter(|&more| more <= Self::SCALE_MAX)?;
        let coefficient = self.coefficient().checked_mul(power(more).cast_signed())?;
        (coefficient.unsigned_abs() < LIMIT).then_some(coefficient)
    }

    /// The largest integer that is not above the number, and the digits of the difference: a
    /// number below `10^38` that is to be divided by `10^38`.
    #[must_use]
    pub fn floor_and_fraction(self) -> (i128, u128) {
        let one = power(self.scale()).cast_signed();
        let fraction = self.coefficient().rem_euclid(one).cast_unsigned();
        (self.coefficient().div_euclid(one), fraction * power(Self::SCALE_MAX - self.scale()))
    }

    /// `floor + fraction / 10^scale`; `None` if it has too many digits. The fraction is below
    /// `10^scale`, and the scale at most 38.
    #[must_use]
    pub fn of_floor_and_fraction(floor: i128, fraction: u128, scale: u32) -> Option<Self> {
        let (fraction, scale) = without_zeros(fraction.cast_signed(), scale as i32);
        // From zero upwards and downwards, because the floor alone may have too many digits.
        let one = power(scale.unsigned_abs()).cast_signed();
        let coefficient = match floor < 0 {
            false => floor.checked_mul(one)?.checked_add(fraction)?,
            true => (floor + 1).checked_mul(one)?.checked_add(fraction - one)?,
        };
        Self::new(coefficient, scale)
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn to_int(self) -> Option<i128> {
        (self.scale == 0).then(|| self.coefficient())
    }

    /// The nearest float.
    #[must_use]
    pub fn to_float(self) -> f64 {
        /// Up to here, powers of ten are exact floats.
        const EXACT_POWER_MAX: u32 = 22;
        let coefficient = self.coefficient();
        if coefficient.unsigned_abs() <= 1 << 53 && self.scale() <= EXACT_POWER_MAX {
            // One division of exact numbers rounds once.
            return coefficient as f64 / power(self.scale()) as f64;
        }
        // Text always parses.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Compares with a float exactly. NaN is above all numbers.
    #[must_use]
    pub fn compare_to_float(self, float: f64) -> Ordering {
        if float.is_nan() {
            return Ordering::Less;
        }
        if float < 0.0 {
            return (-self).compare_to_float(-float).reverse();
        }
        if self.coefficient() < 0 {
            return Ordering::Less;
        }
        if float >= INTEGERS_FROM {
            // Larger floats become the largest integer, which is above all decimals, too.
            let (floor, fraction) = self.floor_and_fraction();
            return floor.cmp(&(float as i128)).then(fraction.cmp(&0));
        }
        // The float as a mantissa divided by a power of two, and that times 10^scale.
        let (mantissa, shift) = mantissa_and_shift(float);
        let scaled = Wide::product(u128::from(mantissa), power(self.scale()));
        let (whole, is_cut) = (scaled.right(shift), scaled.trailing_zeros() < shift);
        let order = Wide::of(self.coefficient().unsigned_abs()).cmp(&whole);
        order.then(if is_cut { Ordering::Less } else { Ordering::Equal })
    }
}

/// Floats from here on are integers.
const INTEGERS_FROM: f64 = (1_u64 << 53) as f64;

/// A float from 0 to [`INTEGERS_FROM`] as `mantissa / 2^shift`. A float with a shift above 255 is
/// smaller than all decimals but zero, and is returned with 255.
fn mantissa_and_shift(float: f64) -> (u64, u32) {
    const BITS: u32 = f64::MANTISSA_DIGITS - 1;
    /// Shift of the smallest floats. Their exponents are 0 and 1.
    const SHIFT_MAX: u32 = 1074;
    let bits = float.abs().to_bits();
    let (exponent, fraction) = (bits >> BITS, bits & ((1 << BITS) - 1));
    let mantissa = if exponent == 0 { fraction } else { 1 << BITS | fraction };
    let shift = SHIFT_MAX + 1 - (exponent as u32).max(1);
    (mantissa, shift.min(255))
}

/// Takes zeros off the end of the digits after the point.
fn without_zeros(mut coefficient: i128, mut scale: i32) -> (i128, i32) {
    // Most numbers have none, and long quotients have many.
    for (unit, zeros) in [(100_000_000, 8), (10, 1)] {
        while scale >= zeros && coefficient % unit == 0 {
            (coefficient, scale) = (coefficient / unit, scale - zeros);
        }
    }
    (coefficient, scale)
}

/// `10^exponent`, for at most 38.
fn power(exponent: u32) -> u128 {
    10_u128.pow(exponent)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.coefficient().cmp(&other.coefficient());
        }
        self.floor_and_fraction().cmp(&other.floor_and_fraction())
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    /// Writes the number without an exponent, as [`Decimal::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, one) = (self.coefficient().unsigned_abs(), power(self.scale()));
        let sign = if self.coefficient() < 0 { "-" } else { "" };
        write!(f, "{sign}{}", whole / one)?;
        match self.scale() as usize {
            0 => Ok(()),
            scale => write!(f, ".{:0scale$}", whole % one),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decimals of all sizes, often close to each other.
    pub(crate) fn decimal() -> impl Strategy<Value = Decimal> {
        let small = (-200..200_i128, 0..4_i32);
        let any = (any::<i128>(), 0..127_u32, 0..39_i32)
            .prop_map(|(bits, shift, scale)| ((bits >> shift) % LIMIT.cast_signed(), scale));
        let edges =
            (prop_oneof![Just(LIMIT.cast_signed() - 1), Just(1 - LIMIT.cast_signed())], 0..39_i32);
        prop_oneof![small, any, edges].prop_map(|(c, scale)| Decimal::new(c, scale).unwrap())
    }

    #[track_caller]
    fn reads(text: &str, want: Option<&str>) {
        assert_eq!(Decimal::parse(text).map(|found| found.to_string()).as_deref(), want, "{text}");
    }

    #[test]
    fn text_is_read_exactly_or_not_at_all() {
        for (text, want) in [("1.10", "1.1"), ("-0.0", "0"), ("+7", "7"), (".5", "0.5")] {
            reads(text, Some(want));
        }
        for (text, want) in [("5.", "5"), ("12e-3", "0.012"), ("1.5E2", "150"), ("007", "7")] {
            reads(text, Some(want));
        }
        reads(&format!("1{}", "0".repeat(37)), Some(&format!("1{}", "0".repeat(37))));
        reads(&format!("0.{}1", "0".repeat(37)), Some(&format!("0.{}1", "0".repeat(37))));
        reads(&format!("{}.5{}", "0".repeat(99), "0".repeat(99)), Some("0.5"));
        reads("1e-38", Some(&format!("0.{}1", "0".repeat(37))));
        reads("0e2147483647", Some("0"));
        let too_long = ["1".repeat(39), format!("0.{}1", "0".repeat(38)), "1e38".to_owned()];
        for text in too_long.iter().map(String::as_str) {
            reads(text, None);
        }
        for text in ["", "-", ".", "e5", "1e", "1.2.3", " 1", "1_0", "NaN", "inf", "0x1", "１"] {
            reads(text, None);
        }
        for text in ["1e2147483647", "1e-2147483648", "1e99999999999", "--1", "1e1.5"] {
            reads(text, None);
        }
    }

    #[test]
    fn floats_become_the_decimals_that_they_are_written_as() {
        let found = [0.1, -2.5, 1e20, 0.1 + 0.2, -0.0, 1e-38].map(Decimal::of_float);
        let want = ["0.1", "-2.5", "100000000000000000000", "0.30000000000000004", "0", "1e-38"];
        assert_eq!(found, want.map(Decimal::parse));
        for float in [f64::NAN, f64::INFINITY, 1e38, 1e-39, f64::MAX, f64::MIN_POSITIVE] {
            assert_eq!(Decimal::of_float(float), None, "{float}");
        }
    }

    #[test]
    fn a_float_differs_from_the_decimal_that_it_is_written_as() {
        let tenth = Decimal::parse("0.1").unwrap();
        // 0.1 is 0.1000000000000000055…, 0.3 is 0.29999999999999998…
        assert_eq!(tenth.compare_to_float(0.1), Ordering::Less);
        assert_eq!(Decimal::parse("0.3").unwrap().compare_to_float(0.3), Ordering::Greater);
        assert_eq!(Decimal::parse("-0.3").unwrap().compare_to_float(-0.3), Ordering::Less);
        assert_eq!(Decimal::parse("0.375").unwrap().compare_to_float(0.375), Ordering::Equal);
        assert_eq!(Decimal::ZERO.compare_to_float(-0.0), Ordering::Equal);
        for float in [f64::MIN_POSITIVE, 1e-300, 1e300, f64::INFINITY, f64::NAN, 9e38] {
            assert_eq!(Decimal::ZERO.compare_to_float(float), Ordering::Less, "{float}");
        }
        let least = Decimal::parse("1e-38").unwrap();
        assert_eq!(least.compare_to_float(9e-39), Ordering::Greater);
        assert_eq!(least.compare_to_float(1.1e-38), Ordering::Less);
        assert_eq!(least.compare_to_float(f64::NEG_INFINITY), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn text_comes_back(a in decimal()) {
            prop_assert_eq!(Decimal::parse(&a.to_string()), Some(a));
            let (floor, fraction) = a.floor_and_fraction();
            prop_assert_eq!(Decimal::of_floor_and_fraction(floor, fraction, 38), Some(a));
        }

        #[test]
        fn the_order_is_that_of_the_differences(a in decimal(), b in decimal()) {
            // Rounding never makes a difference zero: the result has 38 digits of its own.
            if let Some(difference) = a.checked_sub(b) {
                prop_assert_eq!(a.cmp(&b), difference.coefficient().cmp(&0));
            }
            prop_assert_eq!(a == b, a.to_string() == b.to_string());
        }

        #[test]
        fn the_nearest_float_is_found(a in decimal()) {
            prop_assert_eq!(Ok(a.to_float()), a.to_string().parse());
        }

        #[test]
        fn floats_are_compared_exactly(a in decimal(), c in -(1_i64 << 53)..1 << 53, places in 0..30_i32) {
            // Floats with at most 30 binary places have at most 30 decimal ones: they are decimals.
            let float = c as f64 / 2_f64.powi(places);
            let coefficient = i128::from(c).checked_mul(5_i128.pow(places as u32));
            if let Some(exact) = coefficient.and_then(|c| Decimal::new(c, places)) {
                prop_assert_eq!(exact.compare_to_float(float), Ordering::Equal);
                prop_assert_eq!(a.compare_to_float(float), a.cmp(&exact));
            }
            let near = a.to_float();
            let (below, above) = (near.next_down(), near.next_up());
            prop_assert_eq!(a.compare_to_float(below), Ordering::Greater);
            prop_assert_eq!(a.compare_to_float(above), Ordering::Less);
        }
    }
}
