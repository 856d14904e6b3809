//! Quipu: an embedded database for graphs, facts and counts.
