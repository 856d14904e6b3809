//! Bulk load: writes very many rows as tables, past the log.
//!
//! # Why
//! A transaction keeps its writes in memory, and writes them to the log and later to tables. A bulk
//! load sorts the rows and writes tables directly. It is atomic, like a transaction. It never
//! conflicts itself; an open transaction that writes one of its rows does.
//!
//! # Invariants
//! 1. Of several rows with one key the last one stays, as if they were put one after the other.
//! 2. Existing rows are not read. So the relation must have no index on value columns.

use base::{Batch, Keys};
use exec::error::{Error, Result};
use exec::limits::Check;
use std::ops::Range;
use std::sync::Arc;
use store::{SortedRows, Store};
use syntax::Span;

/// Least rows for a bulk load, which flushes the memtables.
pub(crate) const LOADED_ROWS_MIN: usize = 100_000;

/// Rows that one worker writes.
const PARTITION_ROWS: usize = 500_000;

/// Rows passed on at a time.
const STEP_ROWS: usize = 16 << 10;

/// Rows of one keyspace, in any order.
pub(crate) struct Rows {
    pub keyspace: base::KeyspaceId,
    pub rows: Batch,
}

/// Loads the rows, and makes all of them visible together.
///
/// # Errors
/// Those of the store and of `check`.
pub(crate) fn load(store: &dyn Store, tables: Vec<Rows>, check: Check<'_>) -> Result<()> {
    let mut bulk = store.begin_bulk()?;
    for Rows { keyspace, rows } in tables {
        check()?;
        let order = Arc::new(order(&rows.keys, rows.rows, check)?);
        let rows = Arc::new(rows);
        let starts = (0..order.len()).step_by(PARTITION_ROWS);
        let partitions = starts.map(|start| -> Box<dyn SortedRows> {
            let range = start..order.len().min(start + PARTITION_ROWS);
            Box::new(Partition { rows: Arc::clone(&rows), order: Arc::clone(&order), range })
        });
        bulk.write(keyspace, partitions.collect())?;
    }
    check()?;
    bulk.commit()?;
    Ok(())
}

/// Row numbers in key order, for each key the last one.
fn order(keys: &Keys, rows: usize, check: Check<'_>) -> Result<Vec<u32>> {
    let count = u32::try_from(rows)
        .map_err(|_| Error::value("more than 2^32 rows are too many at once", Span::default()))?;
    let order: Vec<u32> = (0..count).collect();
    // A stable sort, so that the last row of equal keys stays last.
    match keys {
        Keys::Words(words) => match words.as_slice() {
            [first] => sort(order, |row| first[row], check),
            [first, second] => sort(order, |row| (first[row], second[row]), check),
            all => {
                let key = |row: usize| {
                    let mut key = [0; base::WORDS_MAX];
                    key.iter_mut().zip(all).for_each(|(word, column)| *word = column[row]);
                    key
                };
                sort(order, key, check)
            }
        },
        Keys::Bytes(bytes) => sort(order, |row| bytes.get(row), check),
    }
}

fn sort<K: Ord>(
    mut order: Vec<u32>,
    key: impl Fn(usize) -> K,
    check: Check<'_>,
) -> Result<Vec<u32>> {
    let key = |row: &u32| key(*row as usize);
    if !order.is_sorted_by(|a, b| key(a) < key(b)) {
        order = base::sort_in_pieces(order, |a, b| key(a).cmp(&key(b)), check)?;
        let mut kept = 0;
        for place in 0..order.len() {
            let is_last = place + 1 == order.len() || key(&order[place]) != key(&order[place + 1]);
            if is_last {
                order[kept] = order[place];
                kept += 1;
            }
        }
        order.truncate(kept);
    }
    Ok(order)
}

/// A range of the rows, in key order.
struct Partition {
    rows: Arc<Batch>,
    order: Arc<Vec<u32>>,
    range: Range<usize>,
}

impl SortedRows for Partition {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        let to = self.range.end.min(self.range.start + STEP_ROWS);
        let step = &self.order[self.range.start..to];
        self.range.start = to;
        match (&mut out.keys, &self.rows.keys) {
            (Keys::Words(out), Keys::Words(words)) => {
                for (out, words) in out.iter_mut().zip(words) {
                    out.extend(step.iter().map(|&row| words[row as usize]));
                }
            }
            (Keys::Bytes(out), Keys::Bytes(bytes)) => {
                step.iter().for_each(|&row| out.push(Some(bytes.get(row as usize))));
            }
            _ => {}
        }
        for (out, column) in out.values.iter_mut().zip(&self.rows.values) {
            step.iter().for_each(|&row| out.push_from(column, row as usize));
        }
        out.rows += step.len();
        Ok(!step.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::BytesColumn;

    #[test]
    fn of_the_rows_of_a_key_the_last_stays_in_key_order() {
        let words = Keys::Words(vec![vec![3, 1, 3, 2, 1]]);
        assert_eq!(order(&words, 5, &|| Ok(())).unwrap(), [4, 3, 2]);
        let pairs = Keys::Words(vec![vec![1, 1, 0], vec![2, 1, 9]]);
        assert_eq!(order(&pairs, 3, &|| Ok(())).unwrap(), [2, 1, 0]);
        let sorted = Keys::Words(vec![vec![1, 2, 3]]);
        assert_eq!(order(&sorted, 3, &|| Ok(())).unwrap(), [0, 1, 2]);
        let wide = Keys::Words(vec![vec![1, 1], vec![0, 0], vec![5, 4]]);
        assert_eq!(order(&wide, 2, &|| Ok(())).unwrap(), [1, 0]);
        let mut bytes = BytesColumn::default();
        [&b"b"[..], b"a", b"b"].into_iter().for_each(|key| bytes.push(Some(key)));
        assert_eq!(order(&Keys::Bytes(bytes), 3, &|| Ok(())).unwrap(), [1, 2]);
        assert!(order(&Keys::Words(vec![Vec::new()]), 0, &|| Ok(())).unwrap().is_empty());
    }
}
