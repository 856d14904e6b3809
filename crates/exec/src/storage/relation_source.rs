//! What a query reads by a name with `*`: a relation in the store, or one of the script in memory.

use crate::error::Result;
use crate::limits::QueryLimits;
use crate::storage::access_path::StoredPath;
use crate::table::Table;
use crate::table::owned::OwnedTable;
use crate::value::cell::Interner;
use std::sync::Arc;

/// A stored relation and the orders in which it is found.
#[derive(Clone, Debug)]
pub struct StoredRelation {
    /// As [`plan::RelationInfo::paths`].
    pub paths: Vec<StoredPath>,
}

impl StoredRelation {
    /// The path on which all rows are read for a trie of these columns.
    pub(crate) fn read_for(&self, columns: &[usize]) -> &StoredPath {
        let covering = self.paths.iter().filter(|path| path.covers(columns));
        let in_order = |path: &&StoredPath| {
            path.columns.iter().zip(columns).take_while(|(a, b)| a == b).count()
        };
        // The first of equals: the relation itself, unless an index is in the right order.
        covering.rev().max_by_key(in_order).unwrap_or(&self.paths[0])
    }
}

/// What a query reads by a name with `*`.
#[derive(Clone, Debug)]
pub enum Relation {
    /// In the store.
    Stored(Arc<StoredRelation>),
    /// A script's own, in memory.
    Script(OwnedTable),
}

/// The same for one query.
#[derive(Clone, Debug)]
pub enum Readable {
    /// In the store.
    Stored(Arc<StoredRelation>),
    /// In memory, in cells of the query's interner.
    Memory(Arc<Table>),
}

impl Relation {
    /// Where its rows are, unless they are in memory.
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
