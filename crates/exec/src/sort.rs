//! Rows in the order of their values.

use crate::cell::{Cell, Interner};
use hashbrown::HashMap;

/// Row numbers in the order of these columns, each descending or not; equal rows keep their order.
pub(crate) fn order(columns: &[(&[Cell], bool)], rows: usize, interner: &Interner) -> Vec<u32> {
    let keys: Vec<Vec<u64>> =
        columns.iter().map(|(column, descends)| sort_keys(column, *descends, interner)).collect();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    match keys.as_slice() {
        [] => {}
        [key] => order.sort_by_key(|&row| key[row as usize]),
        keys => order.sort_by(|&a, &b| {
            let pairs = keys.iter().map(|key| key[a as usize].cmp(&key[b as usize]));
            pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        }),
    }
    order
}

/// A word a cell, in the order of the cells' values.
fn sort_keys(column: &[Cell], descends: bool, interner: &Interner) -> Vec<u64> {
    let mut keys: Vec<u64> = Vec::with_capacity(column.len());
    for cell in column {
        match cell.as_small_int() {
            Some(int) => keys.push(base::int_to_word(int)),
            None => break,
        }
    }
    if keys.len() < column.len() {
        keys.clear();
        let mut distinct: Vec<Cell> = column.to_vec();
        distinct.sort_unstable_by_key(|cell| cell.word());
        distinct.dedup();
        distinct.sort_by(|&a, &b| interner.cmp(a, b));
        let ranks: HashMap<Cell, u64> = distinct.into_iter().zip(0..).collect();
        keys.extend(column.iter().map(|cell| ranks[cell]));
    }
    if descends {
        keys.iter_mut().for_each(|key| *key = !*key);
    }
    keys
}
