//! Fixed rules and aggregates written in Python. The interpreter lock is taken where they are
//! called: scripts run without it.

use crate::error::invalid;
use crate::exits::{self, Raised};
use crate::python_code::attached;
use crate::relations::rows;
use crate::values::{Called, object, value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quipu::{Accumulate, ErrorKind, Failure, FixedRule, RuleCall, Value};
use std::sync::Arc;

/// What a state of a Python aggregate is taken to hold, in bytes.
const STATE_BYTES: usize = 256;

/// A fixed rule.
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
                    // A rule that goes on for ever can be stopped between two rows.
                    if !given.go_on() {
                        return Ok(());
                    }
                    let row = row?;
                    let values = row.try_iter()?.map(|item| value(&item?, Called::Answer, 0));
                    // One by one: what a generator gives need not be there at once.
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

/// The functions of an aggregate.
pub(crate) struct Aggregate {
    pub(crate) init: Py<PyAny>,
    pub(crate) step: Py<PyAny>,
    pub(crate) finish: Option<Py<PyAny>>,
}

impl Aggregate {
    /// Begins with a group.
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

/// One group's.
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

/// An exception as a script tells it. One of the database's own that is no mistake of the function
/// keeps its class, and an exit ends the script.
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

/// How many columns a rule gives, or arguments an aggregate takes.
pub(crate) fn number(of: &str, number: isize) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| invalid(&format!("{of} is not negative")))
}
