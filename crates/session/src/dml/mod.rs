//! Changes of rows: of stored relations, of relations of a script, and who is told of them.

pub(crate) mod bulk_load;
pub(crate) mod change_feed;
pub(crate) mod change_rows;
pub(crate) mod changed_rows;
pub(crate) mod coerce;
pub(crate) mod dictionary_ids;
pub(crate) mod encode;
pub(crate) mod sources;
pub(crate) mod spec;
pub(crate) mod target;
pub(crate) mod temp_relation;
pub(crate) mod trigger;
pub(crate) mod writer;
