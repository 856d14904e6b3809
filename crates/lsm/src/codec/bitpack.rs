//! Bit-packing: values of 0 to 64 bits, lowest bit first, one after another.
//!
//! # Why horizontal and not interleaved
//! Value `i` lies at bit `i * width`, so one unaligned load finds it: a point lookup costs as much
//! as an array access. The interleaved FastLanes order decodes faster in bulk but needs a whole
//! group for one value. Bulk decoding here is a loop made per width, whose shifts are constants.
//!
//! # Invariants
//! 1. [`PADDING_BYTES`] readable bytes follow the last value, so no load needs a special case.
//! 2. A value of width `w` is below `2^w`; packing masks what is above.

use base::prefetch::prefetch_front;

/// Bytes after the last packed value that belong to the packed column and read as zero.
pub const PADDING_BYTES: usize = 8;

/// Values that one step of the bulk loop decodes. A multiple of 8, so a step starts at a byte.
const STEP: usize = 16;

/// Up to this many values are decoded one by one: the jump to a width's loop and the loop's ends
/// are branches that no processor predicts, and cost more than they save.
const FEW: usize = 32;

/// Bits that hold `value`: 0 for 0, 64 for values from `2^63`.
#[inline]
pub const fn width_of(value: u64) -> u8 {
    (64 - value.leading_zeros()) as u8
}

/// Bytes without padding that `len` values of `width` bits take.
#[inline]
pub const fn data_bytes(width: u8, len: usize) -> usize {
    (len * width as usize).div_ceil(8)
}

/// Bytes that [`pack`] writes for `len` values of `width` bits: nothing at all for width 0.
#[inline]
pub const fn packed_bytes(width: u8, len: usize) -> usize {
    if width == 0 || len == 0 { 0 } else { data_bytes(width, len) + PADDING_BYTES }
}

#[inline]
const fn mask(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Appends `values`, each minus `base`, in `width` bits a value, and the padding.
pub fn pack_from(values: &[u64], base: u64, width: u8, out: &mut Vec<u8>) {
    if width > 0 && !values.is_empty() {
        pack_data(values, base, width, out);
        out.extend_from_slice(&[0; PADDING_BYTES]);
    }
}

/// Appends `values` in `width` bits a value, and the padding.
pub fn pack(values: &[u64], width: u8, out: &mut Vec<u8>) {
    pack_from(values, 0, width, out);
}

/// Appends the packed values without padding; the caller sees to readable bytes behind them.
pub fn pack_data(values: &[u64], base: u64, width: u8, out: &mut Vec<u8>) {
    let width = u32::from(width);
    if width == 0 {
        return;
    }
    let start = out.len();
    let bytes = data_bytes(width as u8, values.len());
    out.reserve(bytes + 8);
    let (mut word, mut filled) = (0_u64, 0_u32);
    for &value in values {
        let value = value.wrapping_sub(base) & mask(width);
        word |= value << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // `filled` bits of the value did not fit; none if it ended on the boundary.
            word = if filled == 0 { 0 } else { value >> (width - filled) };
        }
    }
    if filled > 0 {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(start + bytes);
}

/// Value `index` of the packed `bytes`.
///
/// # Panics
/// If value and padding do not lie inside `bytes`.
#[inline(always)]
pub fn get(bytes: &[u8], width: u8, index: usize) -> u64 {
    let width = u32::from(width);
    if width == 0 {
        return 0;
    }
    let bit = index * width as usize;
    let (at, shift) = (bit / 8, (bit % 8) as u32);
    let low = load(bytes, at) >> shift;
    if width <= 57 {
        return low & mask(width);
    }
    // Shifted by a byte less than asked for, then by the rest: a shift by 64 is not defined.
    let high = u64::from(bytes[at + 8]) << 1 << (63 - shift);
    (low | high) & mask(width)
}

/// Decodes `out.len()` values from value `start` on, each plus `base` (wrapping).
///
/// # Panics
/// If the values and their padding do not lie inside `bytes`.
pub fn unpack(bytes: &[u8], width: u8, start: usize, base: u64, out: &mut [u64]) {
    dispatch::<false>(bytes, width, start, base, out);
}

/// Decodes gaps into running sums: `out[0]` is `first` plus gap `start`, and so on (wrapping).
///
/// # Panics
/// If the values and their padding do not lie inside `bytes`.
pub fn unpack_gaps(bytes: &[u8], width: u8, start: usize, first: u64, out: &mut [u64]) {
    dispatch::<true>(bytes, width, start, first, out);
}

/// One loop a width. `SUM`: add up, else add `base` to each.
#[inline(always)]
fn unpack_width<const W: u32, const SUM: bool>(
    bytes: &[u8],
    start: usize,
    base: u64,
    out: &mut [u64],
) {
    let width = W as u8;
    let mut acc = base;
    let mut index = start;
    // To a value that starts at a byte: every eighth does.
    let head = (start.next_multiple_of(8) - start).min(out.len());
    let (first, body) = out.split_at_mut(head);
    for slot in first {
        acc = if SUM { acc } else { base }.wrapping_add(get(bytes, width, index));
        *slot = acc;
        index += 1;
    }
    let mut chunks = body.chunks_exact_mut(STEP);
    for chunk in &mut chunks {
        let at = index / 8 * W as usize;
        let source = &bytes[at..at + W as usize * (STEP / 8) + PADDING_BYTES];
        for (i, slot) in chunk.iter_mut().enumerate() {
            let bit = i * W as usize;
            let (byte, shift) = (bit / 8, (bit % 8) as u32);
            let mut value = load(source, byte) >> shift;
            if W + shift > 64 {
                value |= u64::from(source[byte + 8]) << 1 << (63 - shift);
            }
            acc = if SUM { acc } else { base }.wrapping_add(value & mask(W));
            *slot = acc;
        }
        index += STEP;
    }
    for slot in chunks.into_remainder() {
        acc = if SUM { acc } else { base }.wrapping_add(get(bytes, width, index));
        *slot = acc;
        index += 1;
    }
}

macro_rules! by_width {
    ($sum:ident, $width:expr, $args:tt, $($w:literal)*) => {
        match $width {
            $($w => by_width!(@call $w, $sum, $args),)*
            _ => panic!("a bit width is at most 64"),
        }
    };
    (@call $w:literal, $sum:ident, ($($arg:expr),*)) => { unpack_width::<$w, $sum>($($arg),*) };
}

fn dispatch<const SUM: bool>(bytes: &[u8], width: u8, start: usize, base: u64, out: &mut [u64]) {
    if width == 0 {
        return out.fill(base);
    }
    if out.len() <= FEW {
        let mut acc = base;
        for (index, slot) in (start..).zip(out) {
            acc = if SUM { acc } else { base }.wrapping_add(get(bytes, width, index));
            *slot = acc;
        }
        return;
    }
    by_width!(SUM, width, (bytes, start, base, out),
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
        63 64);
}

/// Values in frame of reference: a base, and the differences to it, bit-packed.
///
/// On disk: width `u8`, base `u64`, then the packed values with their padding.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    base: u64,
    len: u32,
    width: u8,
}

/// Bytes of a [`Packed`] column before its packed values.
pub const PACKED_HEADER_BYTES: usize = 1 + 8;

impl<'a> Packed<'a> {
    /// Bytes hold `packed_bytes(width, len)` bytes; the caller checked that.
    pub(crate) fn new(bytes: &'a [u8], width: u8, base: u64, len: usize) -> Self {
        debug_assert_eq!(bytes.len(), packed_bytes(width, len));
        Self { bytes, base, len: len as u32, width }
    }

    /// Appends `values` with header and padding.
    pub fn encode(values: &[u64], out: &mut Vec<u8>) {
        let min = values.iter().copied().min().unwrap_or(0);
        let max = values.iter().copied().max().unwrap_or(0);
        Self::encode_between(values, min, max, out);
    }

    /// [`Self::encode`] for a caller that knows the smallest and the largest value.
    pub fn encode_between(values: &[u64], min: u64, max: u64, out: &mut Vec<u8>) {
        let width = width_of(max - min);
        out.push(width);
        out.extend_from_slice(&min.to_le_bytes());
        pack_from(values, min, width, out);
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Value `index`.
    ///
    /// # Panics
    /// If `index` is not below `len()` (and some bits a value).
    #[inline(always)]
    pub fn get(&self, index: usize) -> u64 {
        debug_assert!(index < self.len());
        self.base.wrapping_add(get(self.bytes, self.width, index))
    }

    /// Fetches the line that value `index` begins on.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        let at = index * usize::from(self.width) / 8;
        prefetch_front(self.bytes.get(at..).unwrap_or_default(), 1);
    }

    /// Decodes `out.len()` values from value `start` on.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn read(&self, start: usize, out: &mut [u64]) {
        assert!(start + out.len() <= self.len());
        unpack(self.bytes, self.width, start, self.base, out);
    }

    /// The packed values and their padding.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bits a value.
    pub fn width(&self) -> u8 {
        self.width
    }

    /// The smallest value that can be stored: what 0 packed bits mean.
    pub fn base(&self) -> u64 {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masked(values: &[u64], width: u8) -> Vec<u64> {
        values.iter().map(|v| v & mask(u32::from(width))).collect()
    }

    proptest! {
        #[test]
        fn every_width_gives_back_what_was_packed(
            values in prop::collection::vec(any::<u64>(), 0..200),
            start in 0..200_usize,
            base: u64,
        ) {
            let start = start.min(values.len());
            for width in 0..=64 {
                let want = masked(&values, width);
                let mut bytes = Vec::new();
                pack(&values, width, &mut bytes);
                prop_assert_eq!(bytes.len(), packed_bytes(width, values.len()));
                let mut out = vec![0; values.len() - start];
                unpack(&bytes, width, start, base, &mut out);
                let plain: Vec<_> = want[start..].iter().map(|v| v.wrapping_add(base)).collect();
                prop_assert_eq!(&out, &plain);
                unpack_gaps(&bytes, width, start, base, &mut out);
                let mut sum = base;
                for (i, got) in out.iter().enumerate() {
                    sum = sum.wrapping_add(want[start + i]);
                    prop_assert_eq!(*got, sum);
                    prop_assert_eq!(get(&bytes, width, start + i), want[start + i]);
                }
            }
        }
    }

    #[test]
    fn bits_are_stored_lowest_first() {
        let mut bytes = Vec::new();
        pack_data(&[5, 2, 7, 1], 0, 3, &mut bytes);
        // 001 111 010 101, read from the right.
        assert_eq!(bytes, [0b1101_0101, 0b0000_0011]);
    }
}
