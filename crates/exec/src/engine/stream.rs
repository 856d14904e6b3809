//! Scripts whose rows are handed out while they are found.

use super::Engine;
use crate::error::{Error, Result};
use crate::host::Run;
use crate::outlet::{Part, TakePart};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use store::ErrorKind;

impl Engine {
    /// Runs a script in a transaction of its own; `take` gets its rows in parts, one at least.
    ///
    /// Of a query whose rows cannot be equal, and which asks for no order, the parts come while it runs, in no order, and it holds little more than one; the
    /// time that `take` needs does not count as its own. Of any other script the whole result is one part.
    ///
    /// # Errors
    /// As [`Engine::run_with`], and those of `take`. Parts may have been handed out before.
    pub fn stream(&self, text: &str, run: &Run<'_>, take: TakePart<'_>) -> Result<()> {
        let has_begun = AtomicBool::new(false);
        let noting = |part: Part<'_>| {
            has_begun.store(true, Relaxed);
            take(part)
        };
        let run = Run { take: Some(&noting), brief: None, ..*run };
        let output = match self.run_with(text, &run) {
            // A relation may have gone since the plan was made.
            Err(Error::Store(error))
                if error.kind() == ErrorKind::InvalidInput && !has_begun.load(Relaxed) =>
            {
                self.plans.remove(text);
                self.run_with(text, &run)?
            }
            output => output?,
        };
        if !has_begun.load(Relaxed) {
            take(Part { output, types: None })?;
        }
        Ok(())
    }
}
