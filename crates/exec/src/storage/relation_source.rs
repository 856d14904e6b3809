//! The relations that a query reads with `*`: stored ones, and temporary ones of the script in
//! memory.

use crate::error::Result;
use crate::limits::QueryLimits;
use crate::storage::access_path::StoredPath;
use crate::storage::search_index::SearchIndex;
use crate::table::Table;
use crate::table::owned::OwnedTable;
use crate::value::cell::Interner;
use std::sync::Arc;

/// A stored relation, with the orders in which it is stored.
#[derive(Clone, Debug)]
pub struct StoredRelation {
    /// In the order of [`plan::RelationInfo::paths`].
    pub paths: Vec<StoredPath>,
    /// The search index that has these rows, if there is one.
    pub search_index: Option<SearchIndex>,
}

impl StoredRelation {
    /// The path from which all rows are read for a trie of these columns.
    pub(crate) fn read_for(&self, columns: &[usize]) -> &StoredPath {
        let covering = self.paths.iter().filter(|path| path.covers(columns));
        let in_order = |path: &&StoredPath| {
            path.columns.iter().zip(columns).take_while(|(a, b)| a == b).count()
        };
        // Among equals the first: the relation itself, unless an index has a better order.
        covering.rev().max_by_key(in_order).unwrap_or(&self.paths[0])
    }
}

/// A relation that a query reads with `*`.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A stored relation.
    Stored(Arc<StoredRelation>),
    /// A temporary relation of the script, in memory.
    Script(OwnedTable),
}

/// A relation as one query reads it.
#[derive(Clone, Debug)]
pub enum Readable {
    /// A stored relation.
    Stored(Arc<StoredRelation>),
    /// A table in memory, with cells of the query's interner.
    Memory(Arc<Table>),
}

impl Relation {
    /// The keyspace of its rows, unless they are in memory.
    pub fn keyspace(&self) -> Option<base::KeyspaceId> {
        match self {
            Self::Stored(stored) => stored.paths.first().map(|path| path.keyspace),
            Self::Script(_) => None,
        }
    }
}

impl Readable {
    pub(crate) fn of(
        relation: Relation,
        interner: &Interner,
        limits: &QueryLimits<'_>,
    ) -> Result<Self> {
        let check = || limits.check(interner.bytes());
        Ok(match relation {
            Relation::Stored(stored) => Self::Stored(stored),
            Relation::Script(table) => Self::Memory(table.table_for(interner, &check)?),
        })
    }
}
