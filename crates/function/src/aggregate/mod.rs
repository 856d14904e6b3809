//! Aggregates: functions from many values to one.
//!
//! An ordinary aggregate implements [`Accumulate`] and nothing else. The result of a *meet*
//! aggregate does not depend on the order or the repetition of values (a semilattice). So recursive
//! rules can use it: [`Aggregate::meet`] combines the current value of a row with each new one.
//! Outside of recursion, meet aggregates accumulate like the others.

mod accumulate;
mod collect;
mod definition;
mod meet;
mod registry;
mod statistics;
mod user_defined;

#[cfg(test)]
mod tests;

pub use accumulate::{Accumulate, Start};
pub use definition::Aggregate;
pub use registry::{aggregate, aggregates};
pub use statistics::{SUM_TOO_LARGE, decimal_of_rows, mean};
pub use user_defined::{OWN, UserAggregate};
