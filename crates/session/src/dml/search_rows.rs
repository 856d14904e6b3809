//! The rows of search indexes: made of a relation's rows, and changed with them.
//!
//! # How a change stays exact
//! The entry of the old row is made anew from the row that is there, so nothing of it stays.
//! Only rows that differ are written.

use crate::dml::band_rows::{BandRows, band_writes};
use crate::dml::extract::{Extractor, NewRows, RowChange};
use crate::dml::new_postings::NewPostings;
use crate::dml::posting_rows::posting_writes;
use crate::search_storage::search_storage;
use base::KeyspaceId;
use exec::error::Result;
use exec::storage::search_index::SearchIndex as Storage;
use exec::value::cell::Interner;
use function::FunctionContext;
use relation::{Schema, SearchDef};
use store::TableWrites;
use syntax::Span;

/// A search index of a relation, ready to be written.
pub(crate) struct SearchIndex {
    /// Its definition.
    pub def: SearchDef,
    /// Where its rows are, and how they are made.
    pub storage: Storage,
    /// Its expressions over rows.
    pub extractor: Extractor,
}

impl SearchIndex {
    /// An index of a relation with this schema, whose rows are in the keyspace `main`; `ids` are
    /// the keyspaces of its parts.
    ///
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn open(
        def: SearchDef,
        ids: &[KeyspaceId],
        schema: &Schema,
        main: KeyspaceId,
    ) -> store::Result<Self> {
        let storage = search_storage(&def, ids, schema, main)?;
        let extractor = Extractor::of(&def, schema)?;
        Ok(Self { def, storage, extractor })
    }

    /// The writes to all parts of the index for changed rows.
    ///
    /// # Errors
    /// An extractor that fails; cancellation.
    pub(crate) fn writes(
        &self,
        changes: &[RowChange<'_>],
        ambient: &dyn FunctionContext,
        span: Span,
    ) -> Result<Vec<TableWrites>> {
        let interner = Interner::default();
        let extract = self.extractor.extract(&interner, ambient, span)?;
        match &self.storage {
            Storage::Text(index) => posting_writes(index, &extract, changes),
            Storage::Bands(index) => band_writes(index, &extract, changes),
            Storage::Vector(_) => unreachable!("`SearchWriter` keeps them apart"),
        }
    }

    /// Collects the rows of a new index.
    pub(crate) fn new_rows(&self) -> Box<dyn NewRows + '_> {
        match &self.storage {
            Storage::Text(index) => Box::new(NewPostings::new(index)),
            Storage::Bands(index) => Box::new(BandRows::new(index)),
            Storage::Vector(_) => unreachable!("`SearchWriter` keeps them apart"),
        }
    }
}
