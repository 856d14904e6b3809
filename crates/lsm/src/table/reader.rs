//! One open table: fences and filters in memory, blocks through the cache.

use super::{Block, Fill, RangeTombstone, TableMeta};
use crate::Result;
use crate::context::Context;
use base::{KeyRange, KeyRef, Shape};
use std::ops::Range;
use std::sync::Arc;

/// An open table. Shared by all versions that hold it.
#[derive(Debug)]
pub struct Table {}

impl Table {
    /// Reads and checks footer, index, properties, range tombstones and filters.
    ///
    /// # Errors
    /// A failed read; [`crate::Error::Corruption`] if a part is damaged or is not what `meta` says;
    /// [`crate::Error::Invalid`] for a format version that this program does not know.
    pub fn open(context: &Context, meta: &TableMeta, shape: &Shape) -> Result<Arc<Self>> {
        let _ = (context, meta, shape);
        unimplemented!()
    }

    /// The manifest's entry.
    #[must_use]
    pub fn meta(&self) -> &TableMeta {
        unimplemented!()
    }

    /// Range tombstones, in the order they were added.
    #[must_use]
    pub fn range_tombstones(&self) -> &[RangeTombstone] {
        unimplemented!()
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        unimplemented!()
    }

    /// Blocks that can hold keys of `range`.
    #[must_use]
    pub fn blocks_overlapping(&self, range: &KeyRange) -> Range<usize> {
        let _ = range;
        unimplemented!()
    }

    /// The first block that can hold `key` (its newest version) or, for a prefix, a key that
    /// begins with it. Later versions, or keys with the prefix, may go on in the next blocks.
    #[must_use]
    pub fn block_for(&self, key: KeyRef<'_>) -> Option<usize> {
        let _ = key;
        unimplemented!()
    }

    /// `false` if no row has this key (or, for a prefix, begins with its first word).
    #[must_use]
    pub fn may_contain_key(&self, key: KeyRef<'_>) -> bool {
        let _ = key;
        unimplemented!()
    }

    /// `false` if no row's key begins with `word`.
    #[must_use]
    pub fn may_contain_first_word(&self, word: u64) -> bool {
        let _ = word;
        unimplemented!()
    }

    /// Block `i`, from the cache or else from the file, checked.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn block(&self, i: usize, fill: Fill) -> Result<Arc<Block>> {
        let _ = (i, fill);
        unimplemented!()
    }

    /// These blocks in the order asked for; those not in the cache are read in one batch.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn read_blocks(&self, blocks: &[usize], fill: Fill) -> Result<Vec<Arc<Block>>> {
        let _ = (blocks, fill);
        unimplemented!()
    }

    /// Reads those of these blocks that are not in the cache into it, in one batch.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn prefetch(&self, blocks: &[usize]) -> Result<()> {
        let _ = blocks;
        unimplemented!()
    }

    /// Reads and checks every part and the order of all rows. `progress` is told the bytes checked
    /// so far and answers whether to go on.
    ///
    /// # Errors
    /// A failed read, corruption, or [`crate::Error::Cancelled`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        let _ = progress;
        unimplemented!()
    }
}
