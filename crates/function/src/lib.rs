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

mod aggregate;
mod arithmetic;
mod bits;
mod budget;
mod call;
mod comparison;
mod control;
mod convert;
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
pub use comparison::{compare, equal};
pub use json::{json_of, scalar_of_json};
pub use list::copied;
pub use regexes::Pattern;
pub use registry::{functions, lookup};
pub use temporal::{duration_of_rows, rounded_div};
pub use time::parse_time_us;

use model::Value;
use std::fmt;
use std::sync::Arc;

/// Maximum number of items in a list that is built from a shorter input: ranges, windows, bits.
pub const ITEMS_MAX: usize = 1 << 24;

/// Maximum length in bytes of a string that is built from shorter ones, by replacements.
pub const TEXT_BYTES_MAX: usize = 1 << 28;

/// Inputs of functions besides their arguments: clock, randomness, cancellation.
pub trait FunctionContext: Sync {
    /// Microseconds since 1970-01-01 UTC.
    fn now_us(&self) -> i64;
    /// The time of the first call, for implementations that keep it: all uses in a query then see
    /// the same time. The default is [`FunctionContext::now_us`].
    fn statement_time_us(&self) -> i64 {
        self.now_us()
    }
    /// 64 random bits.
    fn random(&self) -> u64;
    /// Checks for cancellation. Long-running functions call it every ten thousand steps or so.
    ///
    /// # Errors
    /// [`Failure::stopped`] if the query was cancelled or timed out. The function then fails with
    /// it.
    fn check_cancelled(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// Requests memory for a result, and checks for cancellation.
    ///
    /// # Errors
    /// [`Failure::limit`] if the query's memory limit would be exceeded; those of
    /// [`FunctionContext::check_cancelled`].
    fn request_memory(&self, _bytes: u64) -> Result<(), Failure> {
        self.check_cancelled()
    }
}

/// Why a function failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the function, the expected argument and the given one.
    pub message: String,
    /// A suggestion, if there is a likely one.
    pub hint: Option<String>,
    /// The kind of the failure.
    pub kind: FailureKind,
    /// An underlying error that the arguments did not cause. The script ends with this error and
    /// its kind.
    pub cause: Option<Cause>,
}

/// The kind of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The function does not take its arguments, or something below it failed.
    Refused,
    /// The query ended early.
    Stopped(Stop),
    /// A memory limit would have been exceeded.
    Limit,
}

/// Why a query ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Another session killed it.
    Killed,
    /// Its caller asked it to end, for example by Ctrl-C.
    Interrupted,
    /// It ran longer than its timeout.
    TimedOut,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "the query was killed",
            Self::Interrupted => "the query was interrupted",
            Self::TimedOut => "the query ran into its timeout",
        })
    }
}

/// The underlying error of a [`Failure`].
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// The error if it has type `E`.
    #[must_use]
    pub fn get<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The error as a trait object.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + 'static) {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Cause {}

impl Failure {
    /// A failure without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind: FailureKind::Refused, cause: None }
    }

    /// A failure with an underlying error, such as a failed read of the database.
    pub fn caused(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = cause.to_string();
        Self { cause: Some(Cause(Arc::new(cause))), ..Self::new(message) }
    }

    /// A failure because the query ends early.
    #[must_use]
    pub fn stopped(why: Stop) -> Self {
        Self { kind: FailureKind::Stopped(why), ..Self::new(why.to_string()) }
    }

    /// A failure because of a memory limit.
    pub fn limit(why: impl Into<String>) -> Self {
        Self { kind: FailureKind::Limit, ..Self::new(why) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// A function of the query language.
pub struct Function {
    /// Name in scripts, or the parser's name for an operator.
    pub name: &'static str,
    /// Minimum number of arguments.
    pub args_min: usize,
    /// Maximum number of arguments; `None` if there is no limit.
    pub args_max: Option<usize>,
    /// Whether the same arguments always give the same value. Constant calls are then folded.
    pub deterministic: bool,
    /// How much memory a call may need.
    pub memory: MemoryEstimate,
    /// The implementation. The number of arguments must have been checked and the memory of
    /// [`Function::memory`] requested, as [`Function::apply`] does.
    pub call: fn(&[Value], &dyn FunctionContext) -> Result<Value, Failure>,
}

impl Function {
    /// Checks the number of arguments.
    ///
    /// # Errors
    /// The number is wrong; the message says how many are allowed.
    pub fn check_arity(&self, given: usize) -> Result<(), Failure> {
        let few = given < self.args_min;
        let many = self.args_max.is_some_and(|max| given > max);
        if !few && !many {
            return Ok(());
        }
        let wanted = match self.args_max {
            None => format!("at least {}", self.args_min),
            Some(max) if max == self.args_min => max.to_string(),
            Some(max) => format!("{} to {max}", self.args_min),
        };
        let noun = if wanted.ends_with('1') { "argument" } else { "arguments" };
        Err(Failure::new(format!("{}: takes {wanted} {noun}, {given} given", self.name)))
    }

    /// Checks the number of arguments, requests memory and calls the function.
    ///
    /// # Errors
    /// The number of arguments is wrong, or the function is not defined for them.
    pub fn apply(&self, args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
        self.check_arity(args.len())?;
        self.compute(args, context)
    }

    /// Requests memory and calls the function. The number of arguments must have been checked.
    ///
    /// # Errors
    /// The function is not defined for these arguments; those of `context`.
    pub fn compute(&self, args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
        self.memory.request_memory(args, context)?;
        (self.call)(args, context)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}
