//! The rows of scripts.

use model::Value;
use quipu_session::{Engine, Parameters};

/// The rows of a script that succeeds.
#[track_caller]
pub(crate) fn run(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Parameters::new());
    let output = output.unwrap_or_else(|error| panic!("{}", error.render(script)));
    (0..output.rows).map(|row| output.row(row)).collect()
}
