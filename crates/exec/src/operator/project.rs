//! Operator: binds a variable to the value of an expression, or to another variable.

use crate::batch_size::{ROWS_A_LOOK, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::batch::Bindings;
use crate::pipeline::Pipeline;
use crate::pipeline::sweep::batch_bytes;
use crate::sink::Out;
use plan::Step;

impl Pipeline<'_> {
    /// Binds a variable to another one, or keeps the rows in which both are equal.
    ///
    /// # Errors
    /// What stops the query.
    pub(crate) fn same(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Same { a, b, compare } = &planned.step else { return Ok(true) };
        if *compare {
            let (a, b) = (&input.columns[*a], &input.columns[*b]);
            let kept = (0..input.rows).filter(|&row| a[row] == b[row]);
            let kept: Vec<u32> = kept.map(|row| row as u32).collect();
            return self.hand_on(at, input.gather(&kept, &planned.live), context, out);
        }
        let mut output = input;
        output.columns[*b] = output.columns[*a].clone();
        self.hand_on(at, output.keep(&planned.live), context, out)
    }

    /// Computes a value for each row. Where values are long, rows are passed on before all are
    /// computed.
    pub(crate) fn assign(
        &mut self,
        at: usize,
        input: Bindings,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Assign { var, compare, .. } = &planned.step else { return Ok(true) };
        let (rows, bytes_max) = (input.rows, batch_bytes(context));
        let mark = self.mark(context);
        let mut input = Some(input);
        let mut start = 0;
        while start < rows
            && let (Some(given), Some(expr)) = (&input, &self.steps[at].expr)
        {
            let computer = context.computer();
            let full_bytes = context.interner.bytes().saturating_add(bytes_max);
            let mut column = Vec::with_capacity(rows - start);
            let mut row = start;
            while row < rows && (row == start || context.interner.bytes() < full_bytes) {
                column.push(computer.compute(expr, given, row)?);
                row += 1;
                if row % ROWS_A_LOOK == 0 {
                    computer.go_on(planned.span)?;
                }
            }
            let mut some = match (start, row == rows) {
                (0, true) => input.take(),
                _ => Some(given.slice(start..row)),
            };
            let Some(some) = some.take() else { break };
            start = row;
            let output = if *compare {
                let kept = (0..some.rows).filter(|&row| column[row] == some.columns[*var][row]);
                let kept: Vec<u32> = kept.map(|row| row as u32).collect();
                some.gather(&kept, &planned.live)
            } else {
                let mut output = some;
                output.columns[*var] = column;
                output.keep(&planned.live)
            };
            if !self.hand_on(at, output, context, out)? {
                return Ok(false);
            }
            if start < rows {
                context.check(0)?;
            }
            self.handed_on(mark.as_ref(), context, out);
        }
        Ok(true)
    }
}
