//! Unsigned integers of 256 bits: products and quotients of decimals before they are rounded.

/// `high * 2^128 + low`. The order of the fields is that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    /// A number of 128 bits.
    pub(super) fn of(low: u128) -> Self {
        Self { high: 0, low }
    }

    /// The number, if it has 128 bits.
    pub(super) fn narrow(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    /// The product of two numbers. It always fits.
    pub(super) fn product(a: u128, b: u128) -> Self {
        let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
        let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
        let (middle, overflow) = (a_high * b_low).overflowing_add(a_low * b_high);
        let (middle_high, middle_low) = halves(middle);
        let (low, carry) = (a_low * b_low).overflowing_add(middle_low << 64);
        let high = a_high * b_high + middle_high + u128::from(carry);
        Self { high: high + (u128::from(overflow) << 64), low }
    }

    /// The sum. Callers add numbers below 2^255.
    pub(super) fn plus(self, other: Self) -> Self {
        let (low, carry) = self.low.overflowing_add(other.low);
        Self { high: self.high + other.high + u128::from(carry), low }
    }

    /// The difference. `other` is not larger.
    pub(super) fn minus(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Self { high: self.high - other.high - u128::from(borrow), low }
    }

    /// Quotient and remainder. The divisor is from 1 to 2^255.
    pub(super) fn divided(self, by: Self) -> (Self, Self) {
        match (self.narrow(), by.narrow()) {
            (Some(number), Some(divisor)) => {
                (Self::of(number / divisor), Self::of(number % divisor))
            }
            (None, Some(divisor)) if divisor >> 64 == 0 => self.divided_in_words(divisor),
            _ => self.divided_in_bits(by),
        }
    }

    /// Long division in words of 64 bits. The divisor is one.
    fn divided_in_words(self, by: u128) -> (Self, Self) {
        let divide = |rest: u128, number: u128| {
            let high = (rest << 64) | (number >> 64);
            let low = ((high % by) << 64) | (number & u128::from(u64::MAX));
            (((high / by) << 64) | (low / by), low % by)
        };
        let (high, rest) = divide(0, self.high);
        let (low, rest) = divide(rest, self.low);
        (Self { high, low }, Self::of(rest))
    }

    /// Long division in binary.
    fn divided_in_bits(self, by: Self) -> (Self, Self) {
        // The quotient has at most this many bits. What is before them is less than the divisor.
        let bits = (by.leading_zeros() + 1).saturating_sub(self.leading_zeros());
        let (mut quotient, mut rest) = (Self::of(0), self.right(bits));
        for bit in (0..bits).rev() {
            rest = rest.doubled(self.bit(bit));
            quotient = quotient.doubled(false);
            if rest >= by {
                rest = rest.minus(by);
                quotient.low |= 1;
            }
        }
        (quotient, rest)
    }

    /// The number without this many of its last bits, fewer than 256.
    pub(super) fn right(self, bits: u32) -> Self {
        match bits {
            0 => self,
            1..128 => {
                Self { high: self.high >> bits, low: self.low >> bits | self.high << (128 - bits) }
            }
            _ => Self::of(self.high >> (bits - 128)),
        }
    }

    /// How many of its last bits are zeros, up to 256.
    pub(super) fn trailing_zeros(self) -> u32 {
        match self.low {
            0 => 128 + self.high.trailing_zeros(),
            low => low.trailing_zeros(),
        }
    }

    fn doubled(self, bit: bool) -> Self {
        Self { high: self.high << 1 | self.low >> 127, low: self.low << 1 | u128::from(bit) }
    }

    fn bit(self, bit: u32) -> bool {
        let word = if bit < 128 { self.low } else { self.high };
        word >> (bit % 128) & 1 == 1
    }

    fn leading_zeros(self) -> u32 {
        match self.high {
            0 => 128 + self.low.leading_zeros(),
            high => high.leading_zeros(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_product_and_a_rest_are_divided_into_factor_and_rest(
            a in any::<u128>(), b in 1..=u128::MAX >> 1, c in any::<u128>(),
        ) {
            let (a, rest) = (a >> 1, c % b);
            let number = Wide::product(a, b).plus(Wide::of(rest));
            prop_assert_eq!(number.divided(Wide::of(b)), (Wide::of(a), Wide::of(rest)));
            prop_assert_eq!(number.minus(Wide::of(rest)), Wide::product(b, a));
        }

        #[test]
        fn numbers_of_all_lengths_are_divided_into_factor_and_rest(
            numbers in any::<[u128; 3]>(), shifts in (1..128_u32, 0..128_u32, 0..128_u32),
        ) {
            let (a, b) = (numbers[0] >> shifts.0, (numbers[1] >> shifts.1).max(1));
            let rest = (numbers[2] >> shifts.2) % b;
            let number = Wide::product(a, b).plus(Wide::of(rest));
            prop_assert_eq!(number.divided(Wide::of(b)), (Wide::of(a), Wide::of(rest)));
            prop_assert_eq!(Wide::of(rest).divided(Wide { high: 1, low: b }), (Wide::of(0), Wide::of(rest)));
        }

        #[test]
        fn a_shift_is_a_quotient_by_a_power_of_two(a in any::<u128>(), b in any::<u128>(), bits in 0..255_u32) {
            let number = Wide::product(a, b);
            let power = if bits < 128 { Wide::of(1 << bits) } else { Wide { high: 1 << (bits - 128), low: 0 } };
            let (quotient, rest) = number.divided(power);
            prop_assert_eq!(number.right(bits), quotient);
            prop_assert_eq!(number.trailing_zeros() >= bits, rest == Wide::of(0));
        }

        #[test]
        fn small_products_are_those_of_the_machine(a in any::<u64>(), b in any::<u64>()) {
            let product = u128::from(a) * u128::from(b);
            prop_assert_eq!(Wide::product(a.into(), b.into()).narrow(), Some(product));
        }
    }

    #[test]
    fn the_largest_factors_have_their_product() {
        // (2^128 - 1)^2 = 2^256 - 2^129 + 1
        let square = Wide::product(u128::MAX, u128::MAX);
        assert_eq!((square.high, square.low), (u128::MAX - 1, 1));
    }
}
