//! Stored relations as the executor sees them: the only door to the rows of the store.

pub(crate) mod access_path;
pub(crate) mod decode;
pub(crate) mod probe_keys;
pub(crate) mod relation_source;
pub(crate) mod statistics;
