//! Expressions over typed columns: integers, floats, truth values and texts, a batch at a time.
//!
//! A scan evaluates the conditions and assignments behind it here, on the columns as they are
//! stored. Only rows that pass have their values made into cells.
//!
//! # Why
//! As cells, each text that is looked at is hashed and copied into the query's interner, and each
//! row walks the expression with a branch for every node and every kind of value. A loop over a
//! column has one branch a column, and a text stays where the store decoded it (decision 0045).
//!
//! # How
//! [`node::Node`] is the column form of an expression: kernels for common operations, and the row
//! way ([`Computer`](crate::expr::Computer)) for every other part whose result is short.
//! [`evaluate::Evaluator`] computes a node for a selection of rows.
//!
//! # Invariants
//! 1. The column way returns the same as the row way, or nothing. If a kernel does not handle
//!    something (an overflow, a null in a sum, a mistake in an argument), the caller evaluates the
//!    expression again row by row, which gives the value, or the error of the first row.
//! 2. What the row way does not evaluate, such as the other branch of `if`, is not evaluated:
//!    arguments are computed for the rows that need them.
//! 3. A column of values is bounded by its batch: parts whose values may be long, such as lists,
//!    are evaluated and consumed row by row.

pub(crate) mod arithmetic;
pub(crate) mod column;
pub(crate) mod compare;
pub(crate) mod evaluate;
pub(crate) mod list_set;
pub(crate) mod node;
pub(crate) mod selection;
pub(crate) mod text;
pub(crate) mod text_cells;
