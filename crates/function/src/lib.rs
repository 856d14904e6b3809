//! Scalar functions and aggregates of the query language, over values.
