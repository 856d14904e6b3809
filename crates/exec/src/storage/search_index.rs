//! Search indexes as searches read them.

use crate::storage::access_path::StoredPath;
use crate::storage::band_index::BandIndex;
use crate::storage::text_index::TextIndex;
use crate::storage::vector_index::VectorIndex;
use model::Value;
use plan::SearchMethod;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// A search index, by its method.
#[derive(Clone, Debug)]
pub enum SearchIndex {
    /// A full-text index.
    Text(Arc<TextIndex>),
    /// An index of near duplicates.
    Bands(Arc<BandIndex>),
    /// A vector index.
    Vector(Arc<VectorIndex>),
}

impl SearchIndex {
    /// How it finds rows.
    #[must_use]
    pub fn method(&self) -> SearchMethod {
        match self {
            Self::Text(_) => SearchMethod::FullText,
            Self::Bands(_) => SearchMethod::NearDuplicates,
            Self::Vector(_) => SearchMethod::Vector,
        }
    }
}

/// The values of the key of a row of the indexed relation, which follows the first column in the
/// keys of the index.
///
/// # Errors
/// [`ErrorKind::Corruption`] if the bytes are not a key.
pub(crate) fn source_key(path: &StoredPath, source: &[u8]) -> Result<Vec<Value>> {
    let values = model::decode_tuple(source).map_err(|error| corrupt(path, &error.to_string()))?;
    match values.len() + 1 == path.schema.keys.len() {
        true => Ok(values),
        false => Err(corrupt(path, "a key has the wrong number of columns")),
    }
}

/// The error of stored bytes that are not a row of an index.
pub(crate) fn corrupt(path: &StoredPath, why: &str) -> Error {
    let what = format!("stored bytes are not a row of the index {:?}: {why}", path.schema.name);
    Error::new(ErrorKind::Corruption, what)
}
