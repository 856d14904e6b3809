//! Blocks in memory within a budget that all tables share.

/// What a read does to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The block may be wanted again: it pushes out others.
    Keep,
    /// A scan's block: it takes free room, but pushes out nothing.
    Once,
}

/// A budget of bytes for the blocks, indexes and filters of all open tables.
#[derive(Debug)]
pub struct BlockCache {}

impl BlockCache {
    /// A cache that holds at most `budget_bytes` of blocks, indexes and filters.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        let _ = budget_bytes;
        unimplemented!()
    }

    /// Bytes that blocks, indexes and filters take.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        unimplemented!()
    }

    /// Blocks read from files so far. (Hits are not counted: it would cost more than the hit.)
    #[must_use]
    pub fn misses(&self) -> u64 {
        unimplemented!()
    }
}
