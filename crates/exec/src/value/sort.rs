//! Sorts rows by their values.

use crate::error::Result;
use crate::limits::Check;
use crate::value::cell::{Cell, Interner};
use base::{STEPS, sort_in_pieces, sort_words_in_pieces};
use hashbrown::HashMap;

/// Rows from which on a radix sort is used.
const DIGITS_ROWS_MIN: usize = 512;

/// Bits of a radix digit.
const DIGIT_BITS: u32 = 11;

/// Most passes of a radix sort.
const PASSES_MAX: u32 = 6;

/// Whether rows are certainly ordered by these columns, judged by the first column: rows read in
/// key order often are.
pub fn is_in_order(columns: &[(&[Cell], bool)], rows: usize) -> bool {
    let Some((column, false)) = columns.first() else { return rows <= 1 };
    rows <= 1
        || column.windows(2).all(|pair| {
            let ints = (pair[0].as_small_int(), pair[1].as_small_int());
            matches!(ints, (Some(before), Some(after)) if before < after)
        })
}

/// Row numbers in the order of these columns, each ascending or descending; equal rows keep their
/// order.
///
/// # Errors
/// Those of `check`.
pub fn order(
    columns: &[(&[Cell], bool)],
    rows: usize,
    interner: &Interner,
    check: Check<'_>,
) -> Result<Vec<u32>> {
    let of = |&(column, descends): &(&[Cell], bool)| sort_keys(column, descends, interner, check);
    let are_ints = columns
        .iter()
        .all(|(column, _)| column.first().is_none_or(|first| first.as_small_int().is_some()));
    match columns {
        // The first column alone is often decisive. Sort keys of other non-integer columns, whose
        // values would have to be compared, are made only if it is not.
        [first, rest @ ..] if !are_ints && !rest.is_empty() => {
            let key = of(first)?;
            let mut order = by_keys(std::slice::from_ref(&key), rows, check)?;
            let is_same = |a: &u32, b: &u32| key[*a as usize] == key[*b as usize];
            if order.chunk_by(is_same).any(|group| group.len() > 1) {
                let rest: Vec<Vec<u64>> = rest.iter().map(of).collect::<Result<_>>()?;
                let mut unasked = 0;
                for group in order.chunk_by_mut(is_same).filter(|group| group.len() > 1) {
                    unasked += group.len();
                    if unasked > STEPS {
                        unasked = 0;
                        check()?;
                    }
                    match group.len() > STEPS {
                        true => group.copy_from_slice(&sort_in_pieces(
                            group.to_vec(),
                            |&a, &b| compare(&rest, a, b),
                            check,
                        )?),
                        false => group.sort_by(|&a, &b| compare(&rest, a, b)),
                    }
                }
            }
            Ok(order)
        }
        _ => by_keys(&columns.iter().map(of).collect::<Result<Vec<_>>>()?, rows, check),
    }
}

fn compare(keys: &[Vec<u64>], a: u32, b: u32) -> std::cmp::Ordering {
    let mut pairs = keys.iter().map(|key| key[a as usize].cmp(&key[b as usize]));
    pairs.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

fn by_keys(keys: &[Vec<u64>], rows: usize, check: Check<'_>) -> Result<Vec<u32>> {
    if let Some(order) = by_digits(keys, rows, check)? {
        return Ok(order);
    }
    if let [key] = keys {
        // Sorts the keys themselves: looking each up by its row would take longer.
        let mut pairs: Vec<(u64, u32)> = key.iter().copied().zip(0..rows as u32).collect();
        sort_words_in_pieces(&mut pairs, &mut || check())?;
        return Ok(pairs.into_iter().map(|(_, row)| row).collect());
    }
    sort_in_pieces((0..rows as u32).collect(), |&a, &b| compare(keys, a, b), check)
}

/// A radix sort by the digits of the keys, from the least significant (Knuth, TAOCP 5.2.5), where
/// there are many rows and few digits. Vertex numbers take two passes, while sorting by comparison
/// compares each row with a dozen others.
fn by_digits(keys: &[Vec<u64>], rows: usize, check: Check<'_>) -> Result<Option<Vec<u32>>> {
    if rows < DIGITS_ROWS_MIN {
        return Ok(None);
    }
    let mut ranges = Vec::with_capacity(keys.len());
    let mut passes = 0;
    for key in keys {
        check()?;
        let least = key.iter().copied().min().unwrap_or_default();
        let greatest = key.iter().copied().max().unwrap_or_default();
        let bits = 64 - (greatest - least).leading_zeros();
        passes += bits.div_ceil(DIGIT_BITS);
        ranges.push((key, least, bits));
    }
    if passes > PASSES_MAX {
        return Ok(None);
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let mut sorted = vec![0; rows];
    for &(key, least, bits) in ranges.iter().rev() {
        for shift in (0..bits).step_by(DIGIT_BITS as usize) {
            let digit = |row: u32| {
                ((key[row as usize] - least) >> shift) as usize & ((1 << DIGIT_BITS) - 1)
            };
            let mut next = [0_u32; 1 << DIGIT_BITS];
            for piece in order.chunks(STEPS) {
                check()?;
                piece.iter().for_each(|&row| next[digit(row)] += 1);
            }
            let mut sum = 0;
            for place in &mut next {
                sum += std::mem::replace(place, sum);
            }
            for piece in order.chunks(STEPS) {
                check()?;
                for &row in piece {
                    let place = &mut next[digit(row)];
                    sorted[*place as usize] = row;
                    *place += 1;
                }
            }
            std::mem::swap(&mut order, &mut sorted);
        }
    }
    Ok(Some(order))
}

/// A word for each cell, in the order of the cells' values.
fn sort_keys(
    column: &[Cell],
    descends: bool,
    interner: &Interner,
    check: Check<'_>,
) -> Result<Vec<u64>> {
    check()?;
    let mut keys: Vec<u64> = Vec::with_capacity(column.len());
    for cell in column {
        match cell.as_small_int() {
            Some(int) => keys.push(base::int_to_word(int)),
            None => break,
        }
    }
    if keys.len() < column.len() {
        keys.clear();
        let by_word = |a: &Cell, b: &Cell| a.word().cmp(&b.word());
        let mut distinct = sort_in_pieces(column.to_vec(), by_word, check)?;
        distinct.dedup();
        let distinct = interner.sort(distinct, check)?;
        let mut ranks: HashMap<Cell, u64> = HashMap::with_capacity(distinct.len());
        for piece in distinct.chunks(STEPS) {
            check()?;
            let first = ranks.len() as u64;
            ranks.extend(piece.iter().copied().zip(first..));
        }
        for piece in column.chunks(STEPS) {
            check()?;
            keys.extend(piece.iter().map(|cell| ranks[cell]));
        }
    }
    if descends {
        keys.iter_mut().for_each(|key| *key = !*key);
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_rows_are_sorted_as_few_are(
            rows in prop::collection::vec((-9_i64..9, prop::sample::select(vec![-5_i64, 0, 7, 100_000, 1 << 40])), 0..1500),
            descends in any::<(bool, bool)>(),
            is_text: bool,
        ) {
            let interner = Interner::default();
            let cells = |column: fn(&(i64, i64)) -> i64| -> Vec<Cell> {
                rows.iter().map(|row| interner.int(column(row))).collect()
            };
            let (a, mut b) = (cells(|row| row.0), cells(|row| row.1));
            if is_text {
                b = rows.iter().map(|row| interner.text(&format!("{:020}", row.1 + 5))).collect();
            }
            let by = [(&a[..], descends.0), (&b[..], descends.1)];
            let found = order(&by, rows.len(), &interner, &|| Ok(())).unwrap();
            let mut want: Vec<u32> = (0..rows.len() as u32).collect();
            let by = |order: std::cmp::Ordering, descends| if descends { order.reverse() } else { order };
            want.sort_by(|&x, &y| {
                let (x, y) = (rows[x as usize], rows[y as usize]);
                by(x.0.cmp(&y.0), descends.0).then(by(x.1.cmp(&y.1), descends.1))
            });
            prop_assert_eq!(&found, &want);
            let as_they_stand: Vec<u32> = (0..rows.len() as u32).collect();
            if is_in_order(&[(&a, descends.0), (&b, descends.1)], rows.len()) {
                prop_assert_eq!(&want, &as_they_stand);
            }
            let ascending: Vec<Cell> = (0..rows.len() as i64).map(|i| interner.int(i * 3 - 9)).collect();
            prop_assert!(is_in_order(&[(&ascending, false), (&b, descends.1)], rows.len()));
        }
    }
}
