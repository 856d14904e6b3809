//! Changes of rows of stored and temporary relations, and the change feed.

pub(crate) mod band_rows;
pub(crate) mod bulk_change;
pub(crate) mod bulk_load;
pub(crate) mod change_feed;
pub(crate) mod change_rows;
pub(crate) mod changed_rows;
pub(crate) mod coerce;
pub(crate) mod dictionary_ids;
pub(crate) mod encode;
pub(crate) mod extract;
pub(crate) mod new_postings;
pub(crate) mod posting_rows;
pub(crate) mod refusal;
pub(crate) mod search_rows;
pub(crate) mod search_writes;
pub(crate) mod sources;
pub(crate) mod spec;
pub(crate) mod target;
pub(crate) mod temp_relation;
pub(crate) mod trigger;
pub(crate) mod unique_check;
pub(crate) mod vector_rows;
pub(crate) mod vertex_names;
pub(crate) mod writer;
