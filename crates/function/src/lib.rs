//! Scalar functions and aggregates of the query language, over values.
//!
//! # Why functions see no machine
//! A function is its name, its arguments and, for five of them, the clock and randomness that the
//! caller hands in as [`Ambient`], and for those that may take long, whether to go on. So constants
//! fold, a simulated machine replays, and every function is tested by one line of text.
//!
//! # Invariants
//! 1. No argument makes a function panic, loop without end or wrap around silently; it fails and
//!    says why.
//! 2. What a function makes is at most [`ITEMS_MAX`] items or [`TEXT_BYTES_MAX`] bytes long, or not
//!    much longer than its arguments. Before it makes more than [`UNASKED_BYTES`] it asks for them
//!    ([`Ambient::ask`]), or [`Function::compute`] has asked for it.
//! 3. The same arguments give the same value, unless [`Function::deterministic`] is false.
//! 4. What makes or sorts long lists asks now and then whether to go on.
//! 5. Of the meet aggregates, [`Aggregate::meet`] says that a value changed exactly where it did.

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
mod time;
mod vector;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use aggregate::{Accumulate, Aggregate, OWN, OwnAggregate, Start, aggregate, aggregates, mean};
pub use budget::{Makes, UNASKED_BYTES, bytes_of};
pub use comparison::{compare, equal};
pub use json::{json_of, scalar_of_json};
pub use list::copied;
pub use registry::{functions, lookup};
pub use time::parse_time_us;

use model::Value;
use std::fmt;
use std::sync::Arc;

/// Most items in a list that a function makes out of less: ranges, windows, bits.
pub const ITEMS_MAX: usize = 1 << 24;

/// Most bytes of a text that a function makes out of less: replacements.
pub const TEXT_BYTES_MAX: usize = 1 << 28;

/// What functions may ask of the world outside.
pub trait Ambient: Sync {
    /// Microseconds since 1970-01-01 UTC.
    fn now_us(&self) -> i64;
    /// The same when it was asked for first: one moment for all that asks here.
    fn moment_us(&self) -> i64 {
        self.now_us()
    }
    /// 64 random bits.
    fn random(&self) -> u64;
    /// Asked once in some ten thousand steps by what may take many more.
    ///
    /// # Errors
    /// [`Failure::stopped`], which the function then fails with, once nobody waits for its value any more.
    fn go_on(&self) -> Result<(), Failure> {
        Ok(())
    }
    /// Asked before a function makes something of so many bytes, and whether to go on with it.
    ///
    /// # Errors
    /// [`Failure::limit`] where the query may not hold as much; those of [`Ambient::go_on`].
    fn ask(&self, _bytes: u64) -> Result<(), Failure> {
        self.go_on()
    }
}

/// Why a function has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Names the function, what it wanted and what it found.
    pub message: String,
    /// What to do instead, where there is a likely answer.
    pub hint: Option<String>,
    /// Whether it was told to stop, and would have had one.
    pub is_stopped: bool,
    /// Whether the value would have taken more memory than the query may hold.
    pub is_limit: bool,
    /// What failed below, where the values are not to blame. The script then ends with this error,
    /// and keeps its kind.
    pub cause: Option<Cause>,
}

/// An error that a [`Failure`] carries along.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// The error, where it is of type `E`.
    #[must_use]
    pub fn get<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The error, whatever it is.
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
    /// Without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            is_stopped: false,
            is_limit: false,
            cause: None,
        }
    }

    /// Of an error below that the values are not to blame for: a failed read of the database, say.
    pub fn caused(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = cause.to_string();
        Self { cause: Some(Cause(Arc::new(cause))), ..Self::new(message) }
    }

    /// Told to stop, for this reason.
    pub fn stopped(why: impl Into<String>) -> Self {
        Self { is_stopped: true, ..Self::new(why) }
    }

    /// More memory was asked for than may be held.
    pub fn limit(why: impl Into<String>) -> Self {
        Self { is_limit: true, ..Self::new(why) }
    }

    /// With a hint.
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
    /// As scripts write it, or as the parser names an operator.
    pub name: &'static str,
    /// Fewest arguments.
    pub args_min: usize,
    /// Most arguments; `None`: any number.
    pub args_max: Option<usize>,
    /// Whether the same arguments always give the same value, so that a call of constants is one.
    pub deterministic: bool,
    /// How many bytes it may make of its arguments.
    pub makes: Makes,
    /// Computes it. The number of arguments was checked before, and [`Function::makes`] was asked
    /// for: [`Function::apply`] does all three.
    pub call: fn(&[Value], &dyn Ambient) -> Result<Value, Failure>,
}

impl Function {
    /// Checks that it takes so many arguments.
    ///
    /// # Errors
    /// Says how many it takes.
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

    /// Checks the number of arguments and computes it.
    ///
    /// # Errors
    /// Where it has no value for these arguments.
    pub fn apply(&self, args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
        self.check_arity(args.len())?;
        self.compute(args, ambient)
    }

    /// Asks for the memory that it may need, and computes it. The number of arguments was checked
    /// before.
    ///
    /// # Errors
    /// Where it has no value for these arguments; those of `ambient`.
    pub fn compute(&self, args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
        self.makes.ask(args, ambient)?;
        (self.call)(args, ambient)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}
