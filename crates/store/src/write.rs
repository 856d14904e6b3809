//! Writes in columns.

use base::{Batch, KeyRange, KeyspaceId, Kind};

/// What kind each row of a batch of writes is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All alike.
    Uniform(Kind),
    /// One a row.
    PerRow(Vec<Kind>),
}

impl Kinds {
    /// Kind of row `i`.
    #[must_use]
    pub fn get(&self, i: usize) -> Kind {
        match self {
            Self::Uniform(kind) => *kind,
            Self::PerRow(kinds) => kinds[i],
        }
    }
}

/// Writes of one keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWrites {
    /// Where to.
    pub keyspace: KeyspaceId,
    /// What each row is.
    pub kinds: Kinds,
    /// All columns of the shape; deletes hold fillers. Where a key occurs twice the later row wins
    /// (two merges combine).
    pub rows: Batch,
    /// Ranges deleted before the rows are written.
    pub delete_ranges: Vec<KeyRange>,
}

/// Writes that become visible together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// One entry a keyspace.
    pub tables: Vec<TableWrites>,
}

impl WriteBatch {
    /// Rows and ranges in all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.rows.rows == 0 && table.delete_ranges.is_empty())
    }
}
