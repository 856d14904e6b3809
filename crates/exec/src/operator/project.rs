//! Binds a variable to a value that is computed for each row, or to another variable.

use crate::batch_size::Wanted;
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::operator::row_step;
use crate::pipeline::sweep::batch_bytes;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use plan::{OperatorName, Step};

/// An assignment to a variable of a batch.
pub(crate) struct Project {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: Bindings,
}

impl Operator for Project {
    const NAME: OperatorName = OperatorName::Project;

    /// Where values are long, some rows are handed on before the others are computed.
    ///
    /// # Errors
    /// An expression that fails, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input } = self;
        let planned = pipeline.steps[at].planned;
        let Step::Assign { var, compare, .. } = &planned.step else {
            let output = row_step::apply(planned, None, input, &context.computer())?;
            return pipeline.hand_on(at, output, context, out);
        };
        let (rows, bytes_max) = (input.rows, batch_bytes(context));
        let mark = pipeline.mark(context);
        let mut input = Some(input);
        let mut start = 0;
        while start < rows
            && let (Some(given), Some(expr)) = (&input, &pipeline.steps[at].expr)
        {
            let full_bytes = context.interner.bytes().saturating_add(bytes_max);
            let computer = context.computer();
            let column = row_step::compute(planned, expr, given, start, full_bytes, &computer)?;
            let end = start + column.len();
            let some = match (start, end == rows) {
                (0, true) => input.take(),
                _ => Some(given.slice(start..end)),
            };
            let Some(some) = some else { break };
            start = end;
            let output = row_step::assign(planned, *var, *compare, some, column);
            if !pipeline.hand_on(at, output, context, out)? {
                return Ok(false);
            }
            if start < rows {
                context.check(0)?;
            }
            pipeline.handed_on(mark.as_ref(), context, out);
        }
        Ok(true)
    }
}
