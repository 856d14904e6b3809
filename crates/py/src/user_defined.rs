//! Fixed rules and aggregates written in Python; `Database.register_fixed_rule` and
//! `register_aggregate` register them. Scripts run without the GIL; it is taken around each call of
//! such a function. An exception that is not an `Exception` ends the script (`exits.rs`).

use crate::called::Called;
use crate::error::invalid;
use crate::exits::{self, Raised};
use crate::python_code::attached;
use crate::relations::rows;
use crate::values::{object, value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quipu::{Accumulate, ErrorKind, Failure, FixedRule, RuleCall, Value};
use std::sync::Arc;

/// Assumed size of a Python aggregate's state in bytes, which counts towards the memory limit.
const STATE_BYTES: usize = 256;

/// A fixed rule: its number of columns, and a function of its inputs and options that returns an
/// iterable of rows.
pub(crate) struct Rule {
    pub(crate) columns: usize,
    pub(crate) function: Py<PyAny>,
}

impl FixedRule for Rule {
    fn columns(&self) -> usize {
        self.columns
    }

    fn run(&self, given: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, Failure> {
        let mut refused = None;
        attached(|py| {
            let mut run = || -> PyResult<()> {
                let inputs = given.inputs.iter().map(|input| rows(py, input));
                let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
                let options = PyDict::new(py);
                for (name, value) in given.options {
                    options.set_item(name, object(py, value)?)?;
                }
                let answer = self.function.bind(py).call1((inputs, options))?;
                for row in answer.try_iter()? {
                    // A rule that never ends can be stopped between two rows.
                    if !given.go_on() {
                        return Ok(());
                    }
                    let row = row?;
                    let values = row.try_iter()?.map(|item| value(&item?, Called::Answer, 0));
                    // Row by row, so that the rows of a generator are never all in memory at once.
                    if let Err(failure) = given.add(values.collect::<PyResult<_>>()?) {
                        refused = Some(failure);
                        return Ok(());
                    }
                }
                Ok(())
            };
            run().map_err(|error| failure(py, error))
        })?;
        match refused {
            Some(failure) => Err(failure),
            None => Ok(Vec::new()),
        }
    }
}

/// The functions of an aggregate: `init(*args)` makes the state of a group, `step(state, value)`
/// returns the next state, and `finish(state)` returns the result. Without `finish` the last state
/// is the result.
pub(crate) struct Aggregate {
    pub(crate) init: Py<PyAny>,
    pub(crate) step: Py<PyAny>,
    pub(crate) finish: Option<Py<PyAny>>,
}

impl Aggregate {
    /// The state of a new group.
    pub(crate) fn begin(self: &Arc<Self>, args: &[Value]) -> Result<Box<dyn Accumulate>, Failure> {
        let state = attached(|py| {
            let begin = || -> PyResult<Py<PyAny>> {
                let args = args.iter().map(|arg| object(py, arg));
                let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
                Ok(self.init.bind(py).call1(args)?.unbind())
            };
            begin().map_err(|error| failure(py, error))
        })?;
        Ok(Box::new(State { of: Arc::clone(self), state }))
    }
}

/// The state of one group.
struct State {
    of: Arc<Aggregate>,
    state: Py<PyAny>,
}

impl Accumulate for State {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        self.state = attached(|py| {
            let step = || -> PyResult<Py<PyAny>> {
                Ok(self.of.step.bind(py).call1((&self.state, object(py, value)?))?.unbind())
            };
            step().map_err(|error| failure(py, error))
        })?;
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        attached(|py| {
            let finish = || -> PyResult<Value> {
                let state = self.state.bind(py).clone();
                let last = match &self.of.finish {
                    Some(finish) => finish.bind(py).call1((state,))?,
                    None => state,
                };
                value(&last, Called::Answer, 0)
            };
            finish().map_err(|error| failure(py, error))
        })
    }

    fn bytes(&self) -> usize {
        STATE_BYTES
    }
}

/// The failure of a script whose Python function raised an exception. An exception of the database
/// keeps its class, unless it is an `InvalidInputError`, which is a mistake of the function. An
/// exit ends the script.
fn failure(py: Python<'_>, error: PyErr) -> Failure {
    let value = error.value(py);
    let class = value.get_type().name();
    let message = class.map_or_else(|_| error.to_string(), |name| format!("{name}: {value}"));
    if exits::is_exit(py, &error) {
        return Failure::caused(exits::error(error, message));
    }
    match crate::error::kind_of(py, &error) {
        None | Some(ErrorKind::InvalidInput) => {
            Failure { message, ..Failure::caused(Raised(error)) }
        }
        Some(kind) => {
            Failure::caused(quipu::Error::caused(kind, Raised(error)).with_message(message))
        }
    }
}

/// The number of columns of a rule, or of arguments of an aggregate.
pub(crate) fn number(of: &str, number: isize) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| invalid(&format!("{of} is not negative")))
}
