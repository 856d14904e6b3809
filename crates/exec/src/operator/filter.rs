//! Operator: keeps the rows for which a condition is true.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::Pipeline;
use crate::sink::Out;

impl Pipeline<'_> {
    /// Passes on the rows for which the condition of the step at `at` is true.
    ///
    /// # Errors
    /// A condition that fails or has no truth value, and what stops the query.
    pub(crate) fn filter(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let ready = &self.steps[at];
        let planned = ready.planned;
        let computer = context.computer();
        let Some(expr) = &ready.expr else { return Ok(true) };
        let kept = computer.select(expr, &input, planned.span)?;
        let output = match kept.len() == input.rows {
            true => input.keep(&planned.live),
            false => input.gather(&kept, &planned.live),
        };
        self.hand_on(at, output, context, out)
    }
}
