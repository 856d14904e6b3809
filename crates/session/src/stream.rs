//! Scripts whose rows go to a consumer while they are found.

use crate::engine::Engine;
use crate::run_options::Run;
use exec::error::Result;
use exec::result_stream::{Consumer, Part, TakePart};

impl Engine {
    /// Runs a script in a transaction of its own; `take` gets its rows in parts, one at least.
    ///
    /// Of a query whose rows cannot be equal, and which asks for no order, the parts come while it
    /// runs, in no order, and it holds little more than one; the time that `take` needs does not
    /// count as its own. Of any other script the whole result is one part.
    ///
    /// # Errors
    /// As [`Engine::run_with`], and those of `take`. Parts may have been handed out before.
    pub fn stream(&self, text: &str, run: &Run<'_>, take: TakePart<'_>) -> Result<()> {
        let consumer = Consumer::new(take);
        let output =
            self.run_with(text, &Run { consumer: Some(&consumer), non_blocking: None, ..*run })?;
        if !consumer.has_begun() {
            consumer.hand(Part { output, types: None })?;
        }
        Ok(())
    }
}
