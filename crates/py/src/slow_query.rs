//! Reports scripts that took long to Python: to a callable, or to the logger `quipu`.

use crate::error::invalid;
use crate::exits;
use crate::python_code::attached;
use pyo3::prelude::*;
use quipu::{SlowQueries, SlowQuery};
use std::sync::Arc;
use std::time::Duration;

/// The meaning of the argument `on_slow_query`: seconds, or a pair of seconds and a callable.
pub(crate) fn slow_queries(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<SlowQueries>> {
    let Some(argument) = argument else { return Ok(None) };
    let wrong = || invalid("on_slow_query is a number of seconds, or a pair of it and a callable");
    let (seconds, callable) = match argument.extract::<f64>() {
        Ok(seconds) => (seconds, None),
        Err(_) => {
            let (seconds, callable): (f64, Py<PyAny>) = argument.extract().map_err(|_| wrong())?;
            if !callable.bind(argument.py()).is_callable() {
                return Err(wrong());
            }
            (seconds, Some(callable))
        }
    };
    let threshold = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    let report = move |query: &SlowQuery<'_>| report(query, callable.as_ref());
    Ok(Some(SlowQueries { threshold, report: Arc::new(report) }))
}

/// Calls the callable, or logs. The script's result stays whatever that raises: an exception goes
/// to `sys.unraisablehook`, and an exit to the caller that ran the script.
fn report(query: &SlowQuery<'_>, callable: Option<&Py<PyAny>>) {
    let seconds = query.elapsed.as_secs_f64();
    attached(|py| {
        exits::call_apart(py, callable.map(|callable| callable.bind(py).as_any()), || {
            let result = match callable {
                Some(callable) => callable.bind(py).call1((query.script, seconds)),
                None => {
                    let logger = py.import("logging")?.call_method1("getLogger", ("quipu",))?;
                    let text = "slow query: %.3f s: %s";
                    logger.call_method1("warning", (text, seconds, query.script))
                }
            };
            result.map(Bound::unbind)
        });
    });
}
