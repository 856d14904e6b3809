//! Stored relations as the executor reads them. Only this module reads rows of the store.

pub mod access_path;
pub mod band_index;
pub(crate) mod decode;
pub(crate) mod key_bounds;
pub(crate) mod ordered_rows;
pub(crate) mod probe_keys;
pub mod relation_source;
pub mod search_index;
pub mod statistics;
pub(crate) mod stored_columns;
pub mod text_index;
pub mod vector_cache;
pub mod vector_index;
