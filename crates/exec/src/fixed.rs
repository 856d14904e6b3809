//! Fixed rules: what `<~` applies to relations.

use crate::cell::Cell;
use crate::error::{Error, Result};
use crate::query::{Algorithms, Query};
use plan::FixedUse;

/// The algorithms that are built in.
pub(crate) struct Library;

impl Algorithms for Library {
    fn run(&self, _: &Query<'_>, fixed: &FixedUse) -> Result<Vec<Vec<Cell>>> {
        let near = syntax::closest(&fixed.name, NAMES.iter().copied());
        Err(Error::Value(syntax::Diagnostic {
            message: format!("no algorithm `{}`", fixed.name),
            span: fixed.span,
            hint: near.map(|near| format!("did you mean `{near}`?")),
        }))
    }
}

const NAMES: &[&str] = &[];

/// Their names.
pub(crate) fn names() -> Vec<String> {
    NAMES.iter().map(|&name| name.to_owned()).collect()
}
