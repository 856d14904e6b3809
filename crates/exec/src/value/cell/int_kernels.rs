//! Operations on columns of small integers, many at a time.
//!
//! # Why
//! One cell at a time costs some five nanoseconds, with a branch for its kind. A loop without
//! branches costs one: it checks at the end whether all cells were small integers, which they
//! mostly are. If not, the caller repeats the work one by one.

use super::{Cell, INT, INT_BITS};

/// The first integer that does not fit.
const HALF: u64 = 1 << (INT_BITS - 1);

/// Whether words are all small integers, by the bits that all have in common: these are at least
/// `INT`, whose upper bits are all set.
fn are_small(common: u64) -> bool {
    common >= INT
}

/// Appends the cells of up to 64 integers, null where a bit of `valid` is not set. Returns false,
/// and appends nothing, where an integer is not small.
#[inline]
pub(crate) fn push_small_ints(
    ints: impl Iterator<Item = i64>,
    valid: u64,
    out: &mut Vec<Cell>,
) -> bool {
    let before = out.len();
    let mut past = 0;
    let small = |int: i64, past: &mut u64| {
        *past |= int.cast_unsigned().wrapping_add(HALF) >> INT_BITS;
        INT | (int.cast_unsigned() & (u64::MAX >> (64 - INT_BITS)))
    };
    // A loop without branches, which the compiler vectorizes.
    if valid == u64::MAX {
        out.extend(ints.map(|int| Cell(small(int, &mut past))));
    } else {
        out.extend(ints.enumerate().map(|(i, int)| {
            let mask = 0_u64.wrapping_sub(valid >> i & 1);
            let mut own = 0;
            let cell = small(int, &mut own);
            past |= own & mask;
            Cell((cell & mask) | (Cell::NULL.0 & !mask))
        }));
    }
    if past != 0 {
        out.truncate(before);
    }
    past == 0
}

/// Appends the rows of small integers for which a comparison holds. Returns false, and appends
/// nothing, where a cell is not a small integer.
#[inline]
pub(crate) fn select_small_ints(
    cells: impl Iterator<Item = (Cell, Cell)>,
    holds: impl Fn(i64, i64) -> bool,
    rows: usize,
    kept: &mut Vec<u32>,
) -> bool {
    // Shifted so that an integer's sign is that of the word. Then they can be compared without
    // removing their tags.
    let high = |cell: Cell| (cell.0 << (64 - INT_BITS)).cast_signed();
    let (before, mut count, mut all) = (kept.len(), kept.len(), u64::MAX);
    kept.resize(before + rows, 0);
    for (row, (a, b)) in cells.take(rows).enumerate() {
        all &= a.0 & b.0;
        // A branch per row would be mispredicted as often as the condition is unpredictable.
        kept[count] = row as u32;
        count += usize::from(holds(high(a), high(b)));
    }
    kept.truncate(if are_small(all) { count } else { before });
    are_small(all)
}

/// The least and greatest integer; `None` without cells, or where a cell is not a small integer.
pub(crate) fn small_range(cells: &[Cell]) -> Option<(i64, i64)> {
    // With a half added and an exponent above, the integers are doubles in the same order. The
    // vectors of every x86-64 compare doubles, but not 64-bit integers. The number of lanes hides
    // the latency of a comparison.
    const LANES: usize = 8;
    const EXPONENT: u64 = 1075 << 52;
    const BITS: u64 = u64::MAX >> (64 - INT_BITS);
    let double = |cell: Cell| f64::from_bits(EXPONENT | ((cell.0 & BITS) ^ HALF));
    let first = double(*cells.first()?);
    let (mut all, mut least, mut greatest) = ([u64::MAX; LANES], [first; LANES], [first; LANES]);
    let (chunks, rest) = cells.as_chunks::<LANES>();
    for chunk in chunks {
        // Separate loops, and not `f64::min`, which handles NaN: these map to vector instructions.
        let doubles = chunk.map(double);
        for lane in 0..LANES {
            all[lane] &= chunk[lane].0;
        }
        for lane in 0..LANES {
            least[lane] = if doubles[lane] < least[lane] { doubles[lane] } else { least[lane] };
        }
        for lane in 0..LANES {
            let (double, best) = (doubles[lane], greatest[lane]);
            greatest[lane] = if double > best { double } else { best };
        }
    }
    let rest_all = rest.iter().fold(u64::MAX, |all, cell| all & cell.0);
    let rest = || rest.iter().map(|&cell| double(cell));
    let least = least.into_iter().chain(rest()).fold(first, f64::min);
    let greatest = greatest.into_iter().chain(rest()).fold(first, f64::max);
    let int = |double: f64| {
        let word = (double.to_bits() & BITS) ^ HALF;
        (word << (64 - INT_BITS)).cast_signed() >> (64 - INT_BITS)
    };
    let common = all.into_iter().fold(rest_all, |all, lane| all & lane);
    are_small(common).then(|| (int(least), int(greatest)))
}

/// The integers of small-integer cells; `None` where a cell is not one.
pub fn small_ints(cells: &[Cell]) -> Option<Vec<i64>> {
    let mut all = u64::MAX;
    let int = |cell: &Cell| {
        all &= cell.0;
        (cell.0 << (64 - INT_BITS)).cast_signed() >> (64 - INT_BITS)
    };
    let ints = cells.iter().map(int).collect();
    are_small(all).then_some(ints)
}

/// The sum of small-integer cells; `None` where a cell is not one.
pub(crate) fn small_sum(cells: &[Cell]) -> Option<i128> {
    // With a half added each is unsigned, and this many have a sum of at most 63 bits. Vectors have
    // no arithmetic shift.
    const CHUNK: usize = 1 << 13;
    let mut sum = 0;
    for cells in cells.chunks(CHUNK) {
        let (mut all, mut words) = (u64::MAX, 0_u64);
        for cell in cells {
            all &= cell.0;
            words = words.wrapping_add((cell.0 & (u64::MAX >> (64 - INT_BITS))) ^ HALF);
        }
        if !are_small(all) {
            return None;
        }
        sum += i128::from(words) - i128::from(HALF) * cells.len() as i128;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::Interner;
    use super::super::interner::tests::value;
    use super::*;
    use proptest::prelude::*;

    /// Mostly small integers, sometimes other cells.
    fn cells() -> impl Strategy<Value = Vec<Cell>> {
        let interner = Interner::default();
        let small = |ints: std::ops::Range<i64>| ints.prop_filter_map("large", Cell::small_int);
        let others = [Cell::NULL, Cell::TRUE, interner.float(-1.5), interner.int(i64::MAX)];
        let cell = prop_oneof![
            100 => small(-3..3),
            100 => small(-(1 << 49)..1 << 49),
            1 => prop::sample::select(others.to_vec()),
        ];
        prop::collection::vec(cell, 0..150)
    }

    proptest! {
        #[test]
        fn sums_of_small_integers_are_exact(
            ints in prop::collection::vec(-(1_i64 << 49)..1 << 49, 0..40),
            times in 1_usize..1000,
            other in prop::option::of(value()),
        ) {
            let interner = Interner::default();
            let mut cells: Vec<Cell> = ints.iter().map(|&int| interner.int(int)).collect();
            cells = cells.repeat(times);
            let all: i128 = ints.iter().map(|&int| i128::from(int)).sum();
            prop_assert_eq!(small_sum(&cells), Some(all * times as i128));
            if let Some(other) = other {
                let cell = interner.cell(&other);
                cells.insert(cells.len() / 2, cell);
                let int = cell.as_small_int().map(i128::from);
                prop_assert_eq!(small_sum(&cells), int.map(|int| all * times as i128 + int));
            }
        }

        #[test]
        fn the_range_of_small_integers_is_that_of_each(cells in cells()) {
            let ints: Option<Vec<i64>> = cells.iter().map(|cell| cell.as_small_int()).collect();
            let range = ints.and_then(|ints| Some((*ints.iter().min()?, *ints.iter().max()?)));
            prop_assert_eq!(small_range(&cells), range);
        }

        #[test]
        fn integers_become_cells_as_each_does_by_itself(
            ints in prop::collection::vec(
                prop_oneof![100 => -(1_i64 << 49)..1 << 49, 1 => any::<i64>(), 1 => Just(1 << 49)],
                0..64,
            ),
            valid in prop_oneof![Just(u64::MAX), Just(0), any::<u64>()],
        ) {
            let each: Option<Vec<Cell>> = ints
                .iter()
                .enumerate()
                .map(|(i, &int)| match valid >> i & 1 == 1 {
                    true => Cell::small_int(int),
                    false => Some(Cell::NULL),
                })
                .collect();
            let mut out = vec![Cell::TRUE];
            prop_assert_eq!(push_small_ints(ints.iter().copied(), valid, &mut out), each.is_some());
            prop_assert_eq!(&out[..1], &[Cell::TRUE]);
            prop_assert_eq!(&out[1..], each.unwrap_or_default());
        }

        #[test]
        fn rows_are_selected_as_each_is_by_itself(a in cells(), b in cells()) {
            let pairs = || a.iter().copied().zip(b.iter().copied());
            let each: Option<Vec<(i64, i64)>> =
                pairs().map(|(a, b)| a.as_small_int().zip(b.as_small_int())).collect();
            let rows = pairs().count();
            for holds in [|a: i64, b: i64| a < b, |a, b| a <= b, |a, b| a == b, |a, b| a != b] {
                let mut kept = vec![7];
                let did = select_small_ints(pairs(), holds, rows, &mut kept);
                prop_assert_eq!(did, each.is_some());
                let each = each.iter().flatten().enumerate();
                let wanted = each.filter(|(_, (a, b))| holds(*a, *b)).map(|(row, _)| row as u32);
                prop_assert_eq!(kept, [7].into_iter().chain(wanted).collect::<Vec<_>>());
            }
        }
    }
}
