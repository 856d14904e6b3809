//! Sorts the rows of a commit by key, each key once. Commits and transactions call it.
//!
//! # Why before the log
//! The memtable takes a key once per commit, and sorted rows cost it and the log less. A commit of
//! one row, or one already in order, passes without a copy.

use base::key_order::{compare_rows, sort};
use base::{Batch, Column, ColumnShape, Keys, Kind, Shape, Total};
use std::borrow::Cow;
use std::cmp::Ordering;
use store::{Kinds, TableWrites};

/// Returns `table` with its rows in strictly ascending key order.
///
/// Where a key occurs several times, the later row wins and merges combine. Where a sum overflows a
/// word, the result is one that [`base::Merge::is_past`] recognizes.
pub(crate) fn normalise<'a>(table: &'a TableWrites, shape: &Shape) -> Cow<'a, TableWrites> {
    let keys = &table.rows.keys;
    let rows = table.rows.rows;
    if (1..rows).all(|i| compare_rows(keys, i - 1, i) == Ordering::Less) {
        return Cow::Borrowed(table);
    }
    // Equal keys keep the order of their writes.
    let mut order: Vec<u32> = (0..rows as u32).collect();
    sort(keys, &mut order);
    let are_equal =
        |i: usize, j: usize| compare_rows(keys, order[i] as usize, order[j] as usize).is_eq();
    if !(1..rows).any(|i| are_equal(i - 1, i)) {
        return Cow::Owned(TableWrites {
            keyspace: table.keyspace,
            kinds: table.kinds.gather(&order),
            rows: table.rows.gather(&order),
            delete_ranges: table.delete_ranges.clone(),
        });
    }
    let mut out = Batch::new(shape);
    let mut kinds = Vec::with_capacity(rows);
    let mut at = 0;
    while at < rows {
        let mut end = at + 1;
        while end < rows && are_equal(at, end) {
            end += 1;
        }
        kinds.push(push_folded(&mut out, table, shape, &order[at..end]));
        at = end;
    }
    Cow::Owned(TableWrites {
        keyspace: table.keyspace,
        kinds: Kinds::PerRow(kinds),
        rows: out,
        delete_ranges: table.delete_ranges.clone(),
    })
}

/// Appends the combination of one key's `versions`, given oldest first.
fn push_folded(out: &mut Batch, table: &TableWrites, shape: &Shape, versions: &[u32]) -> Kind {
    let newest = versions.len() - 1;
    // Older versions than the newest put or delete have no effect.
    let first = (0..=newest)
        .rev()
        .find(|&i| table.kinds.get(versions[i] as usize) != Kind::Merge)
        .unwrap_or(0);
    let kind = match table.kinds.get(versions[first] as usize) {
        Kind::Delete if first < newest => Kind::Put, // a merge onto a deleted row makes a new one
        kind => kind,
    };
    let start = if kind == Kind::Put && table.kinds.get(versions[first] as usize) == Kind::Delete {
        first + 1
    } else {
        first
    };
    match (&mut out.keys, &table.rows.keys) {
        (Keys::Words(to), Keys::Words(from)) => {
            for (to, from) in to.iter_mut().zip(from) {
                to.push(from[versions[0] as usize]);
            }
        }
        (Keys::Bytes(to), Keys::Bytes(from)) => to.push(Some(from.get(versions[0] as usize))),
        _ => unreachable!("keys of one keyspace have one shape"),
    }
    out.rows += 1;
    for (i, column) in out.values.iter_mut().enumerate() {
        let from = &table.rows.values[i];
        match (shape.values[i], column, from) {
            (ColumnShape::Word { merge: Some(merge) }, Column::Words(to), Column::Words(from)) => {
                let words = versions[start..].iter().rev();
                let mut words = words.filter_map(|&version| from.get(version as usize));
                let total = words.next().map(|newest| {
                    let mut total = Total::of(merge, newest);
                    words.for_each(|older| total.add_older(merge, older));
                    total.word()
                });
                to.push(total);
            }
            (_, to, from) => to.push_from(from, versions[newest] as usize),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::shape::{int_to_word, word_to_int};
    use base::{KeyRef, KeyShape, KeyspaceId, Merge};

    fn check(rows: &[(u64, Kind, i64)], want: &[(u64, Kind, i64)]) {
        let shape = Shape {
            key: KeyShape::Words(1),
            values: vec![ColumnShape::Word { merge: Some(Merge::AddInt) }],
        };
        let mut batch = Batch::new(&shape);
        for (key, _, value) in rows {
            batch.keys.push(KeyRef::Words(&[*key]));
            if let Column::Words(column) = &mut batch.values[0] {
                column.push(Some(int_to_word(*value)));
            }
            batch.rows += 1;
        }
        let kinds = Kinds::PerRow(rows.iter().map(|row| row.1).collect());
        let table =
            TableWrites { keyspace: KeyspaceId(0), kinds, rows: batch, delete_ranges: vec![] };
        let out = normalise(&table, &shape);
        let got: Vec<_> = (0..out.rows.rows)
            .map(|i| {
                let value = word_to_int(out.rows.value_words(0)[i]);
                (out.rows.key_words(0)[i], out.kinds.get(i), value)
            })
            .collect();
        assert_eq!(got, want);
    }

    #[test]
    fn the_later_row_of_a_key_wins_and_merges_combine() {
        use Kind::{Delete, Merge, Put};
        check(&[(2, Put, 1), (1, Put, 1), (2, Put, 7)], &[(1, Put, 1), (2, Put, 7)]);
        check(&[(1, Merge, 1), (1, Merge, 2)], &[(1, Merge, 3)]);
        check(&[(1, Put, 10), (1, Merge, 2), (1, Merge, 3)], &[(1, Put, 15)]);
        check(&[(1, Merge, 9), (1, Delete, 0), (1, Merge, 3)], &[(1, Put, 3)]);
        check(&[(1, Put, 9), (1, Delete, 0)], &[(1, Delete, 0)]);
        check(&[(1, Merge, 9), (1, Put, 4)], &[(1, Put, 4)]);
    }
}
