//! Keeps the rows for which a condition is true, or a variable has a computed value.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::project::Project;
use crate::operator::row_step;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use plan::{OperatorName, Step};

/// A condition on a batch.
pub(crate) struct Filter {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: Bindings,
}

impl Operator for Filter {
    const NAME: OperatorName = OperatorName::Filter;

    /// # Errors
    /// A condition that fails or is no truth value, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input } = self;
        let ready = &pipeline.steps[at];
        if let Step::Assign { .. } = ready.planned.step {
            // Compared with the computed values, in pieces as values are bound.
            return Project { at, input }.push(pipeline, context, out);
        }
        let expr = ready.expr.as_ref();
        let output = row_step::apply(ready.planned, expr, input, &context.computer())?;
        pipeline.hand_on(at, output, context, out)
    }
}
