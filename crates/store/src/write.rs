//! Write batches: puts, deletes, merges and range deletes, in columns. [`crate::Store::write`] and
//! [`crate::Transaction::write`] take them.

use base::{Batch, KeyRange, KeyspaceId, Kind};

/// The kind of each row in a batch of writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All rows have this kind.
    Uniform(Kind),
    /// One kind for each row.
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

    /// Kinds of these rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Uniform(kind) => Self::Uniform(*kind),
            Self::PerRow(kinds) => {
                Self::PerRow(rows.iter().map(|&row| kinds[row as usize]).collect())
            }
        }
    }

    /// Appends the kinds of `more_rows` rows to those of `rows` rows.
    pub fn append(&mut self, rows: usize, more: &Self, more_rows: usize) {
        if let (Self::Uniform(one), Self::Uniform(other)) = (&*self, more)
            && one == other
        {
            return;
        }
        let mut kinds = match std::mem::replace(self, Self::PerRow(Vec::new())) {
            Self::Uniform(kind) => vec![kind; rows],
            Self::PerRow(kinds) => kinds,
        };
        match more {
            Self::Uniform(kind) => kinds.resize(rows + more_rows, *kind),
            Self::PerRow(more) => kinds.extend_from_slice(more),
        }
        *self = Self::PerRow(kinds);
    }

    /// Whether a row has this kind.
    #[must_use]
    pub fn contains(&self, kind: Kind) -> bool {
        match self {
            Self::Uniform(one) => *one == kind,
            Self::PerRow(kinds) => kinds.contains(&kind),
        }
    }
}

/// Writes to one keyspace. "Table" does not mean an SSTable here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWrites {
    /// The keyspace written to.
    pub keyspace: KeyspaceId,
    /// Put, delete or merge, for each row.
    pub kinds: Kinds,
    /// All columns of the shape; deletes hold fillers. If a key occurs twice, a merge combines with
    /// the row before it, and any other row replaces it.
    pub rows: Batch,
    /// Ranges to delete before the rows are written.
    pub delete_ranges: Vec<KeyRange>,
}

/// Writes to several keyspaces that become visible in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    /// One entry for each keyspace.
    pub tables: Vec<TableWrites>,
}

impl WriteBatch {
    /// Whether it has neither rows nor ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.rows.rows == 0 && table.delete_ranges.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_kinds_are_those_of_the_rows_one_by_one() {
        let all = [
            (Kinds::Uniform(Kind::Put), 2),
            (Kinds::Uniform(Kind::Delete), 3),
            (Kinds::PerRow(vec![Kind::Put, Kind::Delete]), 2),
            (Kinds::PerRow(vec![]), 0),
        ];
        let listed = |kinds: &Kinds, rows| (0..rows).map(|i| kinds.get(i)).collect::<Vec<_>>();
        for (one, rows) in &all {
            for (more, more_rows) in &all {
                let mut found = one.clone();
                found.append(*rows, more, *more_rows);
                let want = [listed(one, *rows), listed(more, *more_rows)].concat();
                assert_eq!(listed(&found, rows + more_rows), want, "{one:?} {more:?}");
            }
        }
    }
}
