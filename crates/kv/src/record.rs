//! Encodes and decodes a commit's record in the write-ahead log. `commit` encodes; recovery,
//! followers and salvage decode.
//!
//! Page `docs/formats/wal.md`, section *Commit payload*:
//!
//! ```text
//! commit  = seq:u64le table_count:varint table*
//! table   = keyspace:varint bytes:u32le rows         (bytes: length of rows)
//! rows    = row_count:varint kind:u8 key_columns value_column* range_count:varint range*
//! kind    = 0 delete | 1 put | 2 merge | 255 one byte a row follows
//! words   = u64le*                                  (row_count of them)
//! bytes   = length:varint* heap                     (row_count lengths, then the strings)
//! value   = 0:u8 column | 1:u8 validity:u64le* column   (delete-only tables have no value columns)
//! range   = key has_upper:u8 key?
//! key     = 0:u8 count:u8 u64le* | 1:u8 length:varint byte*
//! ```
//! Columns carry no type tags: the keyspace's shape is in the manifest before its first row is
//! logged.

use base::{Batch, BytesColumn, Column, Key, KeyRange, KeyRef, Keys, KeyspaceId, Kind, Shape};
use base::{SeqNo, varint};
use std::borrow::Borrow;
use store::{Kinds, TableWrites, WriteBatch};

const PER_ROW: u8 = 255;

/// Encodes a commit without its sequence number, which is assigned under the writer lock.
pub(crate) fn encode<T: Borrow<TableWrites>>(tables: &[T], out: &mut Vec<u8>) {
    varint::put(out, tables.len() as u64);
    for table in tables {
        let table = table.borrow();
        varint::put(out, u64::from(table.keyspace.0));
        let at = out.len();
        out.extend([0; 4]);
        encode_table(table, out);
        // A commit to one keyspace stays below 4 GiB: the memory limit refuses larger ones.
        let bytes = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
        out[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
    }
}

fn encode_table(table: &TableWrites, out: &mut Vec<u8>) {
    let rows = table.rows.rows;
    varint::put(out, rows as u64);
    match &table.kinds {
        Kinds::Uniform(kind) => out.push(*kind as u8),
        Kinds::PerRow(kinds) => {
            out.push(PER_ROW);
            out.extend(kinds.iter().map(|kind| *kind as u8));
        }
    }
    match &table.rows.keys {
        Keys::Words(columns) => columns.iter().for_each(|words| put_words(out, words)),
        Keys::Bytes(column) => put_strings(out, column),
    }
    if has_values(&table.kinds) {
        for column in &table.rows.values {
            let validity = match column {
                Column::Words(column) => &column.validity,
                Column::Bytes(column) => &column.validity,
            };
            match &validity.0 {
                None => out.push(0),
                Some(bits) => {
                    out.push(1);
                    let words = rows.div_ceil(64);
                    put_words(out, &bits[..words.min(bits.len())]);
                    put_words(out, &vec![0; words.saturating_sub(bits.len())]);
                }
            }
            match column {
                Column::Words(column) => put_words(out, &column.words),
                Column::Bytes(column) => put_strings(out, column),
            }
        }
    }
    varint::put(out, table.delete_ranges.len() as u64);
    for range in &table.delete_ranges {
        put_key(out, range.lower.as_ref());
        out.push(u8::from(range.upper.is_some()));
        if let Some(upper) = &range.upper {
            put_key(out, upper.as_ref());
        }
    }
}

fn has_values(kinds: &Kinds) -> bool {
    !matches!(kinds, Kinds::Uniform(Kind::Delete))
}

fn put_words(out: &mut Vec<u8>, words: &[u64]) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn put_strings(out: &mut Vec<u8>, column: &BytesColumn) {
    for pair in column.offsets.windows(2) {
        varint::put(out, pair[1] - pair[0]);
    }
    out.extend_from_slice(&column.heap);
}

fn put_key(out: &mut Vec<u8>, key: KeyRef<'_>) {
    match key {
        KeyRef::Words(words) => {
            out.extend([0, words.len() as u8]);
            put_words(out, words);
        }
        KeyRef::Bytes(bytes) => {
            out.push(1);
            varint::put_bytes(out, bytes);
        }
    }
}

/// Decodes a payload into sequence number and writes.
///
/// `shape` returns the columns of a live keyspace, and `None` for one that was dropped after the
/// commit; its rows are skipped. Errors say what is malformed.
pub(crate) fn decode<'s>(
    payload: &[u8],
    shape: &dyn Fn(KeyspaceId) -> Option<&'s Shape>,
) -> Result<(SeqNo, WriteBatch), String> {
    let mut rest = payload;
    let seq = SeqNo(take_word(&mut rest).ok_or("the sequence number is cut off")?);
    let count = varint::take(&mut rest).ok_or("the number of tables is cut off")?;
    let mut batch = WriteBatch::default();
    for _ in 0..count {
        let id = varint::take(&mut rest).and_then(|id| u32::try_from(id).ok());
        let id = KeyspaceId(id.ok_or("a keyspace number is cut off")?);
        let malformed = || format!("the rows of keyspace {} are cut off or malformed", id.0);
        let bytes = take(&mut rest, 4).and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.map(u32::from_le_bytes).ok_or_else(malformed)?;
        let mut rows = take(&mut rest, bytes as usize).ok_or_else(malformed)?;
        if let Some(shape) = shape(id) {
            batch.tables.push(decode_table(&mut rows, id, shape).ok_or_else(malformed)?);
            if !rows.is_empty() {
                return Err(malformed());
            }
        } else {
            base::mark::hit(base::mark::Mark::ReplayWithoutKeyspace);
        }
    }
    if rest.is_empty() { Ok((seq, batch)) } else { Err("bytes follow the last table".to_owned()) }
}

fn decode_table(rest: &mut &[u8], keyspace: KeyspaceId, shape: &Shape) -> Option<TableWrites> {
    let rows = usize::try_from(varint::take(rest)?).ok()?;
    let kinds = match take_byte(rest)? {
        PER_ROW => {
            let kinds = take(rest, rows)?;
            Kinds::PerRow(kinds.iter().map(|&kind| Kind::from_u8(kind)).collect::<Option<_>>()?)
        }
        kind => Kinds::Uniform(Kind::from_u8(kind)?),
    };
    let mut batch = Batch::new(shape);
    batch.rows = rows;
    match &mut batch.keys {
        Keys::Words(columns) => {
            for column in columns {
                *column = take_words(rest, rows)?;
            }
        }
        Keys::Bytes(column) => *column = take_strings(rest, rows)?,
    }
    for column in &mut batch.values {
        if !has_values(&kinds) {
            // Placeholders: every column has a value for every row.
            match column {
                Column::Words(column) => column.words.resize(rows, 0),
                Column::Bytes(column) => column.offsets.resize(rows + 1, 0),
            }
            continue;
        }
        let validity = match take_byte(rest)? {
            0 => None,
            1 => Some(take_words(rest, rows.div_ceil(64))?),
            _ => return None,
        };
        match column {
            Column::Words(column) => {
                column.words = take_words(rest, rows)?;
                column.validity.0 = validity;
            }
            Column::Bytes(column) => {
                *column = take_strings(rest, rows)?;
                column.validity.0 = validity;
            }
        }
    }
    let mut delete_ranges = Vec::new();
    for _ in 0..varint::take(rest)? {
        let lower = take_key(rest)?;
        let upper = match take_byte(rest)? {
            0 => None,
            1 => Some(take_key(rest)?),
            _ => return None,
        };
        delete_ranges.push(KeyRange { lower, upper });
    }
    Some(TableWrites { keyspace, kinds, rows: batch, delete_ranges })
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    Some(head)
}

fn take_words(rest: &mut &[u8], count: usize) -> Option<Vec<u64>> {
    let bytes = take(rest, count.checked_mul(8)?)?;
    Some(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

fn take_strings(rest: &mut &[u8], count: usize) -> Option<BytesColumn> {
    // A length takes at least one byte, so a corrupt count cannot make us allocate more than the
    // payload.
    if count > rest.len() {
        return None;
    }
    let mut column = BytesColumn::default();
    let mut end = 0_u64;
    for _ in 0..count {
        end = end.checked_add(varint::take(rest)?)?;
        column.offsets.push(end);
    }
    column.heap = take(rest, usize::try_from(end).ok()?)?.to_vec();
    Some(column)
}

fn take_key(rest: &mut &[u8]) -> Option<Key> {
    match take_byte(rest)? {
        0 => {
            let count = usize::from(take_byte(rest)?);
            (count <= base::WORDS_MAX).then_some(())?;
            Some(Key::words(&take_words(rest, count)?))
        }
        1 => Some(Key::bytes(varint::take_bytes(rest)?)),
        _ => None,
    }
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    Some(*first)
}

fn take_word(rest: &mut &[u8]) -> Option<u64> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(u64::from_le_bytes(*head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{ColumnShape, KeyShape};
    use proptest::prelude::*;

    fn shapes() -> [Shape; 2] {
        let values = vec![ColumnShape::Word { merge: None }, ColumnShape::Bytes];
        [
            Shape { key: KeyShape::Words(2), values: values.clone() },
            Shape { key: KeyShape::Bytes, values },
        ]
    }

    type Row = (u64, u64, Option<u64>, Option<Vec<u8>>, u8);

    fn batch_of(rows: &[Row], uniform: Option<Kind>) -> WriteBatch {
        let shapes = shapes();
        let tables = shapes.iter().enumerate().map(|(id, shape)| {
            let mut batch = Batch::new(shape);
            for (a, b, word, bytes, _) in rows {
                match shape.key {
                    KeyShape::Words(_) => batch.keys.push(KeyRef::Words(&[*a, *b])),
                    KeyShape::Bytes => batch.keys.push(KeyRef::Bytes(&a.to_be_bytes())),
                }
                let deleted = uniform == Some(Kind::Delete);
                if let Column::Words(column) = &mut batch.values[0] {
                    if deleted { column.words.push(0) } else { column.push(*word) }
                }
                if let Column::Bytes(column) = &mut batch.values[1] {
                    column.push(if deleted { Some(&[]) } else { bytes.as_deref() });
                }
            }
            batch.rows = rows.len();
            let kinds = uniform.map_or_else(
                || Kinds::PerRow(rows.iter().filter_map(|row| Kind::from_u8(row.4)).collect()),
                Kinds::Uniform,
            );
            let lower = batch.keys.get(0);
            let delete_ranges = vec![KeyRange { lower: lower.clone(), upper: Some(lower) }];
            TableWrites { keyspace: KeyspaceId(id as u32), kinds, rows: batch, delete_ranges }
        });
        WriteBatch { tables: tables.collect() }
    }

    fn decode_it(payload: &[u8]) -> Result<(SeqNo, WriteBatch), String> {
        let shapes = shapes();
        decode(payload, &|id| shapes.get(id.0 as usize))
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let bytes = prop::option::of(prop::collection::vec(any::<u8>(), 0..9));
        prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<Option<u64>>(), bytes, 0..3_u8),
            1..80,
        )
    }

    proptest! {
        #[test]
        fn a_commit_comes_back_as_it_was(rows in rows(), uniform in prop::option::of(0..3_u8)) {
            let batch = batch_of(&rows, uniform.and_then(Kind::from_u8));
            let mut payload = 77_u64.to_le_bytes().to_vec();
            encode(&batch.tables, &mut payload);
            prop_assert_eq!(decode_it(&payload), Ok((SeqNo(77), batch)));
        }

        #[test]
        fn a_damaged_commit_is_refused_or_reads_as_some_commit_but_never_panics(
            rows in rows(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<bool>(),
        ) {
            let mut payload = 77_u64.to_le_bytes().to_vec();
            encode(&batch_of(&rows, None).tables, &mut payload);
            let at = at.index(payload.len());
            if cut { payload.truncate(at) } else { payload[at] = to }
            let _ = decode_it(&payload);
        }
    }
}
