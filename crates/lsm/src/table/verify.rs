//! Reads a whole table and checks what a single look-up cannot: order, counts, fences, filters.

use super::reader::Parts;
use super::{Block, Table};
use crate::rows::Rows;
use crate::{Error, Result};
use base::{Key, Keys, Kind, Projection};
use std::cmp::Ordering;

/// Blocks that the kernel is asked for ahead of the one being checked.
const AHEAD_BLOCKS: usize = 64;

impl Table {
    /// Reads every part again, past the cache, and checks it, and the order of all rows. `progress`
    /// is told the bytes checked so far and answers whether to go on.
    ///
    /// # Errors
    /// A failed read, corruption, or [`Error::Cancelled`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        Parts::read(&*self.file, &self.meta, &self.shape)?;
        let mut before: Option<(Key, u64)> = None;
        let mut rows = Rows::new(&self.shape);
        let (mut deletes, mut merges, mut repeats) = (0, 0, 0);
        for i in 0..self.blocks() {
            if i % AHEAD_BLOCKS == 0 {
                self.read_ahead(i..(i + AHEAD_BLOCKS).min(self.blocks()));
            }
            let block = self.load(i)?;
            rows.clear();
            block.append_versions(0..block.rows(), Projection::ALL, &mut rows);
            self.verify_block(i, &block, &rows)?;

            for row in 0..rows.len() {
                let (key, seq) = (rows.keys.get(row), rows.seq(row));
                let order = before.as_ref().map_or(Ordering::Less, |(last, _)| last.cmp(&key));
                let newer_first = before.as_ref().is_none_or(|(_, last)| *last > seq);
                if order == Ordering::Greater || (order == Ordering::Equal && !newer_first) {
                    return Err(self.damaged(i, &format!("row {row} is out of order")).into());
                }
                repeats += u64::from(order == Ordering::Equal);
                match Kind::from_u8(rows.kind(row)) {
                    Some(Kind::Delete) => deletes += 1,
                    Some(Kind::Merge) => merges += 1,
                    Some(Kind::Put) => {}
                    None => return Err(self.damaged(i, "a row of unknown kind").into()),
                }
                if !self.may_contain_key(key.as_ref()) {
                    return Err(self.damaged(i, "a filter denies a key that is there").into());
                }
                before = Some((key, seq));
            }
            if !progress(self.index.bytes(i).end) {
                return Err(Error::Cancelled);
            }
        }
        let want = &self.meta.summary;
        if (deletes, merges, repeats) != (want.deletes, want.merges, want.repeats) {
            let what = "deletes, merges or repeats are not as many as the properties say";
            return Err(
                base::Corruption::new(self.file.path(), self.index.blocks_end(), what).into()
            );
        }
        progress(want.bytes);
        Ok(())
    }

    /// Compares a block with its fences and with the numbers that the properties allow.
    fn verify_block(&self, i: usize, block: &Block, rows: &Rows) -> Result<()> {
        let summary = &self.meta.summary;
        let last = block.rows() - 1;
        let fences = self.block_keys(i);
        if (rows.keys.get(0), rows.keys.get(last)) != fences {
            return Err(self
                .damaged(i, "the fences are not the block's first and last key")
                .into());
        }
        // A stored 0 reads as the global number, so the smallest stored one tells nothing then.
        let known = self.meta.global_seq != 0;
        let max = self.meta.seq_max();
        let fits = |seq: u64| seq <= max && (known || seq >= summary.seq_min);
        if !(0..rows.len()).all(|row| fits(rows.seq(row))) {
            return Err(self.damaged(i, "a sequence number past those of the table").into());
        }
        let even = match &rows.keys {
            Keys::Words(columns) => columns.iter().all(|column| column.len() == rows.len()),
            Keys::Bytes(_) => true,
        };
        if !even || rows.values.iter().any(|value| value.len() != rows.len()) {
            return Err(self.damaged(i, "columns of different lengths").into());
        }
        Ok(())
    }
}
