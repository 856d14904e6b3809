//! Paths into JSON: nested calls of `maybe_get` with constant steps, evaluated at once.
//!
//! # Why
//! A function takes its arguments as values. For each step of `doc->'addr'->'city'`, the calls
//! would copy the document or a part of it.
//!
//! # Invariants
//! 1. The result is that of the calls. Where the document is no JSON, they decide.
//! 2. The document is a constant or a variable, so it may be evaluated twice, and expressions that
//!    hold it twice stay small.

use crate::error::Result;
use crate::expr::batch::Rows;
use crate::expr::{Compiled, Computer, Made};
use model::{JsonStep, Value};

impl Computer<'_> {
    /// The call as a path, if it is one.
    pub(super) fn as_path(&self, call: Compiled) -> Compiled {
        let Compiled::Call { function, args, .. } = &call else { return call };
        let ("maybe_get", [of, Compiled::Const(key)]) = (function.name, args.as_slice()) else {
            return call;
        };
        let steps = self.interner.with(*key, JsonStep::all_of);
        let Some(mut last) = steps else { return call };
        let (of, mut steps) = match of {
            Compiled::Path { of, steps, .. } => (of.clone(), steps.clone()),
            Compiled::Const(_) | Compiled::Var(_) => (Box::new(of.clone()), Vec::new()),
            Compiled::Call { .. } => return call,
        };
        steps.append(&mut last);
        Compiled::Path { of, steps, calls: Box::new(call) }
    }

    /// The value at a path; `None` where the document is no JSON.
    pub(super) fn at_path(
        &self,
        of: &Compiled,
        steps: &[JsonStep],
        rows: &dyn Rows,
        row: usize,
    ) -> Result<Option<Made>> {
        let at = |document: &Value| match document {
            Value::Json(json) => Some(json.at(steps)),
            _ => None,
        };
        let held_bytes = self.meter.held_bytes();
        let found = match self.part(of, rows, row)? {
            Made::Cell(cell) => self.interner.with(cell, at),
            Made::Value(document) => at(&document),
        };
        Ok(found.map(|found| self.made(found, held_bytes)))
    }
}
