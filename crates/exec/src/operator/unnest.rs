//! Operator: makes a row for each item of a list.

use crate::batch_size::{BATCH_ROWS, ROWS_A_LOOK, Wanted};
use crate::context::ExecContext;
use crate::error::Result;
use crate::expr::Made;
use crate::expr::batch::Bindings;
use crate::pipeline::{Operator, Pipeline};
use crate::sink::Out;
use crate::value::cell::Cell;
use crate::value::list_items::ListItems;
use plan::{OperatorName, Step};
use syntax::Span;

/// The items of a list in each row of a batch.
pub(crate) struct Unnest<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
}

impl Operator for Unnest<'_> {
    const NAME: OperatorName = OperatorName::Unnest;

    /// A row for each item of a list, or those rows whose list has the bound value.
    ///
    /// # Errors
    /// An expression that fails or is no list, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input } = self;
        let planned = pipeline.steps[at].planned;
        let Step::Member { var, compare, .. } = &planned.step else { return Ok(true) };
        let Some(expr) = pipeline.steps[at].expr.clone() else { return Ok(true) };
        let make = |rows: &[u32], items: &[Cell]| {
            let mut output = input.gather(rows, &planned.live);
            if !*compare && planned.live.contains(var) {
                output.columns[*var] = items.to_vec();
            }
            output
        };
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        // The list is mostly the same in each row, so its items are kept for the next one.
        let mut last: Option<(Cell, ListItems)> = None;
        for row in 0..input.rows {
            if row % ROWS_A_LOOK == ROWS_A_LOOK - 1 {
                context.check(0)?;
            }
            let list = context.computer().make(&expr, input, row)?;
            let made = items_of_row(list, &mut last, *compare, context, planned.span)?;
            let all = made.as_ref().or(last.as_ref().map(|(_, items)| items));
            let Some(all) = all else { continue };
            let asked = if *compare { Some(input.columns[*var][row]) } else { None };
            let found = match &asked {
                Some(cell) if all.has(*cell) => std::slice::from_ref(cell),
                Some(_) => &[],
                None => all.cells.as_slice(),
            };
            for piece in found.chunks(BATCH_ROWS) {
                rows.extend(std::iter::repeat_n(row as u32, piece.len()));
                items.extend_from_slice(piece);
                if rows.len() >= BATCH_ROWS {
                    let output = make(&rows, &items);
                    if !pipeline.hand_on(at, output, context, out)? {
                        return Ok(false);
                    }
                    rows.clear();
                    items.clear();
                }
            }
        }
        let output = make(&rows, &items);
        pipeline.hand_on(at, output, context, out)
    }
}

/// The items of a list that belongs to one row and is not interned. Those of an interned list
/// become `last`, unless they are there already.
#[inline]
fn items_of_row(
    list: Made,
    last: &mut Option<(Cell, ListItems)>,
    compare: bool,
    context: &ExecContext<'_>,
    span: Span,
) -> Result<Option<ListItems>> {
    match (list, &*last) {
        (Made::Cell(list), Some((of, _))) if *of == list => Ok(None),
        (Made::Cell(list), _) => {
            let cells = context.items_of(list, span)?;
            *last = Some((list, ListItems::new(cells, compare)));
            Ok(None)
        }
        (Made::Value(list), _) => Ok(Some(ListItems::new(context.items(list, span)?, compare))),
    }
}
