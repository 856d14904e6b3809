//! Runs scripts whose rows go to a consumer as they are found: `Database::stream` calls it. The
//! rows themselves are handed on by `exec::result_stream`.

use crate::engine::Engine;
use crate::run_options::Run;
use exec::error::Result;
use exec::result_stream::{Consumer, Part, TakePart};

impl Engine {
    /// Runs a script in a new transaction; `take` receives its rows in parts, at least one.
    ///
    /// Rows of a query that are provably distinct and not ordered come while it runs, in no
    /// particular order. The query then holds little more than one part, and the time of `take`
    /// does not count for it. Any other result is one part.
    ///
    /// # Errors
    /// As [`Engine::run_with`], and those of `take`. Parts may have been passed on before.
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
