//! Scalar functions and aggregates of the query language.
//!
//! # Why functions have no access to the machine
//! A function depends only on its arguments and on the [`FunctionContext`] that the caller passes,
//! which provides the clock, randomness, cancellation and memory limits. So constant calls can be
//! folded, simulations are reproducible, and every function can be tested with a line of text.
//!
//! # Invariants
//! 1. No argument causes a panic, an endless loop or silent wrapping: the function fails with a
//!    reason.
//! 2. A result has at most [`ITEMS_MAX`] items or [`TEXT_BYTES_MAX`] bytes, or is not much longer
//!    than the arguments. Allocations above [`UNASKED_BYTES`] are requested in advance, by the
//!    function ([`FunctionContext::request_memory`]) or by [`Function::compute`].
//! 3. The same arguments give the same value, unless [`Function::deterministic`] is false.
//! 4. Functions that build or sort long lists check regularly for cancellation.
//! 5. For meet aggregates, [`Aggregate::meet`] returns true exactly if the value changed.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `failure`, `context`: errors, and inputs besides the arguments.
//! 2. `budget`, `call`: memory in advance, and typed access to the arguments.
//! 3. `function`: a function with its name and its number of arguments.
//! 4. `kind`, `control`, `bits`, `string`, `regexes`, `time`, `random`, `temporal`, `json`: the
//!    functions that need no others.
//! 5. `vector`, `convert`, `comparison`: they use random numbers, JSON and dates.
//! 6. `list`, `arithmetic`, `math`: they use vectors.
//! 7. `registry`: the table of the functions.
//! 8. `aggregate::accumulate`: the state of an aggregate for one group.
//! 9. `aggregate::collect`, `aggregate::meet`, `aggregate::statistics`: the built-in aggregates.
//! 10. `aggregate::definition`: an aggregate with its name.
//! 11. `aggregate::user_defined`, `aggregate::registry`, `aggregate`: those of the program, the
//!     table of the built-in ones.
//! 12. `testing`: calls as lines of text, for tests.

mod aggregate;
mod arithmetic;
mod bits;
mod budget;
mod call;
mod comparison;
mod context;
mod control;
mod convert;
mod failure;
mod function;
mod json;
mod kind;
mod list;
mod math;
mod random;
mod regexes;
mod registry;
mod string;
mod temporal;
mod time;
mod vector;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use aggregate::{
    Accumulate, Aggregate, OWN, SUM_TOO_LARGE, Start, UserAggregate, aggregate, aggregates,
    decimal_of_rows, mean,
};
pub use budget::{MemoryEstimate, UNASKED_BYTES, bytes_of};
pub use call::ITEMS_MAX;
pub use comparison::{compare, equal};
pub use context::FunctionContext;
pub use failure::{Cause, Failure, FailureKind, Stop};
pub use function::Function;
pub use json::{json_of, scalar_of_json};
pub use list::copied;
pub use regexes::{Pattern, TEXT_BYTES_MAX};
pub use registry::{functions, lookup};
pub use temporal::{duration_of_rows, rounded_div};
pub use time::parse_time_us;
