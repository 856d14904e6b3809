//! Reads blobs directly from their keyspaces, without the view, to check what the view has written.

use crate::workload::spaces::{BLOBS, Cell, Ids, LARGE, Row, shape};
use base::{Batch, Column, Key, KeyRange, Projection};
use store::Read;

/// Keys and values of a range; no value where a piece is missing, or where a row has both a value
/// and pieces, or neither.
///
/// # Errors
/// The engine's.
pub fn whole(
    read: &dyn Read,
    ids: &Ids,
    range: &KeyRange,
    limit: usize,
) -> store::Result<Vec<(Key, Row)>> {
    let mut rows = Batch::new(&shape(BLOBS));
    read.scan_into(ids[&BLOBS], range, Projection::ALL, limit, &mut rows)?;
    let mut found = Vec::new();
    for i in 0..rows.rows {
        let [Column::Bytes(values), Column::Words(large), Column::Words(bytes)] = &rows.values[..]
        else {
            unreachable!("the columns of blobs");
        };
        let short = values.validity.is_valid(i).then(|| values.get(i).to_vec());
        let value = match (short, large.get(i), bytes.get(i)) {
            (Some(short), None, None) => Some(short),
            (None, Some(id), Some(bytes)) => {
                let long = long(read, ids, id)?;
                long.filter(|long| long.len() as u64 == bytes)
            }
            _ => None,
        };
        found.push((rows.keys.get(i), vec![value.map_or(Cell::Null, Cell::Bytes)]));
    }
    Ok(found)
}

/// The pieces of one value, concatenated; `None` where one is missing between others.
fn long(read: &dyn Read, ids: &Ids, id: u64) -> store::Result<Option<Vec<u8>>> {
    let mut pieces = Batch::new(&shape(LARGE));
    let range = KeyRange::prefix_words(&[id]);
    read.scan_into(ids[&LARGE], &range, Projection::ALL, usize::MAX, &mut pieces)?;
    let numbers = pieces.key_words(1);
    if !numbers.iter().copied().eq(0..numbers.len() as u64) {
        return Ok(None);
    }
    Ok(match &pieces.values[0] {
        Column::Bytes(bytes) => Some(bytes.heap.clone()),
        Column::Words(_) => None,
    })
}
