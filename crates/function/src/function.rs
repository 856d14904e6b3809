//! A function with its name, its number of arguments and its memory estimate.

use crate::budget::MemoryEstimate;
use crate::context::FunctionContext;
use crate::failure::Failure;
use model::Value;
use std::fmt;

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
