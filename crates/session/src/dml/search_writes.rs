//! The search indexes of a relation, as its writers see them.

use crate::dml::extract::RowChange;
use crate::dml::search_rows::SearchIndex;
use crate::dml::vector_rows::VectorRows;
use base::KeyspaceId;
use exec::error::Result;
use function::FunctionContext;
use relation::{Catalog, Schema, SearchDef, SearchMethod};
use store::{Read, TableWrites};
use syntax::Span;

/// A search index of a relation, ready to be written.
pub(crate) enum SearchWriter {
    /// An index whose rows are made of one row of the relation each.
    Extracted(SearchIndex),
    /// A graph of vectors, which are linked to each other.
    Vectors(VectorRows),
}

impl SearchWriter {
    /// The search indexes of a relation, whose rows are in the keyspace `main`.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn all_of(
        catalog: &Catalog,
        read: &dyn Read,
        schema: &Schema,
        main: KeyspaceId,
    ) -> store::Result<Vec<Self>> {
        let found = catalog.search_indexes_of(read, &schema.name)?;
        found.into_iter().map(|(def, ids)| Self::open(def, &ids, schema, main)).collect()
    }

    /// An index of a relation with this schema; `ids` are the keyspaces of its parts.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn open(
        def: SearchDef,
        ids: &[KeyspaceId],
        schema: &Schema,
        main: KeyspaceId,
    ) -> store::Result<Self> {
        Ok(match def.method {
            SearchMethod::FullText | SearchMethod::NearDuplicates => {
                Self::Extracted(SearchIndex::open(def, ids, schema, main)?)
            }
            SearchMethod::Vector => Self::Vectors(VectorRows::open(def, ids, schema, main)?),
        })
    }

    /// Most rows that may be changed together.
    ///
    /// # Errors
    /// Failures of the store.
    pub(crate) fn rows_max(&self, read: &dyn Read, memory_bytes_max: u64) -> Result<usize> {
        match self {
            Self::Extracted(_) => Ok(usize::MAX),
            Self::Vectors(index) => Ok(index.rows_max(read, memory_bytes_max)?),
        }
    }

    /// The writes to all parts of the index for changed rows, which are not written yet.
    ///
    /// # Errors
    /// A text or a vector that cannot be computed; cancellation; failures of the store.
    pub(crate) fn writes(
        &self,
        read: &dyn Read,
        changes: &[RowChange<'_>],
        ambient: &dyn FunctionContext,
        span: Span,
    ) -> Result<Vec<TableWrites>> {
        match self {
            Self::Extracted(index) => index.writes(changes, ambient, span),
            Self::Vectors(index) => index.writes(read, changes, ambient, span),
        }
    }
}
