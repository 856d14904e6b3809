//! The steps behind a scan that are evaluated on its columns, before a value is made into a cell.
//!
//! `late_materialize.rs` makes and runs them.

use crate::error::Result;
use crate::expr::batch::{Bindings, Rows};
use crate::expr::{Compiled, Computer, Made};
use crate::pipeline::PreparedStep;
use crate::storage::access_path::{Place, StoredPath};
use crate::storage::stored_columns::StoredColumns;
use crate::value::cell::Cell;
use crate::vector::column::TypedColumn;
use crate::vector::evaluate::{Evaluator, TypedRows};
use crate::vector::node::{ListSets, Node, Scope, known};
use crate::vector::selection::Selection;
use model::{ListItem, Value};
use plan::{Id, PerVar, Step, VarId};
use std::rc::Rc;
use syntax::Span;

/// A step on columns.
pub(crate) struct ColumnStep {
    /// Its action.
    action: Action,
    /// Its column form; `None` if it is evaluated row by row.
    node: Option<Node>,
    span: Span,
    /// Batches and rows that it has taken.
    pub(crate) taken: (u64, u64),
}

/// The action of a step on columns.
enum Action {
    /// Keeps the rows in which a stored column has the same value as a variable.
    Check(Place, VarId),
    /// Keeps the rows for which a condition is true.
    Filter(Compiled),
    /// Keeps the rows in which a variable has the value of an expression.
    Compare(VarId, Compiled),
    /// Keeps the rows in which two variables have the same value.
    Same(VarId, VarId),
    /// Binds a variable.
    Bind(VarId, Compiled),
}

/// The columns and variables that the steps of a scan refer to.
pub(crate) struct Layout<'l> {
    /// The order that is read.
    pub path: &'l StoredPath,
    /// The place in the path of each variable's column, if the scan reads it.
    pub places: PerVar<Option<Place>>,
    /// Variables that steps bind, in order.
    pub computed: Vec<VarId>,
    /// The input row.
    pub input: &'l Bindings,
}

impl Layout<'_> {
    /// A variable with a number past those of the rule, for the column at a place in the path.
    fn slot(&self, place: Place) -> VarId {
        VarId::new(self.places.len() + self.path.number_of(place))
    }

    /// The place in the path of a variable's column.
    pub(crate) fn place(&self, var: VarId) -> Option<Place> {
        match var.place().checked_sub(self.places.len()) {
            Some(number) => Some(self.path.place_at(number)),
            None => self.places[var],
        }
    }

    fn is_of_rows(&self, var: VarId) -> bool {
        self.place(var).is_some() || self.computed.contains(&var)
    }
}

impl ColumnStep {
    /// The condition that it evaluates on columns; `None` if it is another step.
    pub(crate) fn condition(&self) -> Option<&Node> {
        match self.action {
            Action::Bind(..) => None,
            _ => self.node.as_ref(),
        }
    }

    /// The check of a column that is bound before the scan.
    pub(crate) fn check(
        column: usize,
        var: VarId,
        layout: &Layout<'_>,
        computer: &Computer<'_>,
    ) -> Option<Self> {
        let place = layout.path.place(column)?;
        let cell = layout.input.columns[var][0];
        let sought = match computer.interner.value(cell) {
            Value::Str(text) => Some(Node::Text(text)),
            _ => known(cell, computer.interner),
        };
        let slot = Node::Column(layout.slot(place));
        let node = sought.filter(|_| layout.path.is_typed(place));
        let node = node.map(|sought| Node::Same(Box::new([slot, sought])));
        Some(Self { action: Action::Check(place, var), node, span: Span::default(), taken: (0, 0) })
    }

    /// A step behind the scan; `None` if it is not evaluated on columns. Adds the variable that it
    /// binds to the layout.
    pub(crate) fn new(
        ready: &PreparedStep<'_>,
        layout: &mut Layout<'_>,
        sets: &mut ListSets,
        computer: &Computer<'_>,
    ) -> Option<Self> {
        let mut bound = None;
        let (action, node) = {
            let layout = &*layout;
            let mut scope = Scope {
                is_typed: &|var| match layout.place(var) {
                    Some(place) => layout.path.is_typed(place),
                    None => layout.computed.contains(&var),
                },
                known: &|var| {
                    let is_known = !layout.is_of_rows(var);
                    is_known.then(|| layout.input.columns[var].first().copied()).flatten()
                },
                sets,
                computer,
            };
            match (&ready.planned.step, &ready.expr) {
                (Step::Filter(_), Some(expr)) => {
                    (Action::Filter(expr.clone()), Some(scope.condition(expr)))
                }
                (Step::Assign { var, compare: false, .. }, Some(expr)) => {
                    let node = scope.value(expr)?;
                    bound = Some(*var);
                    (Action::Bind(*var, expr.clone()), Some(node))
                }
                (Step::Assign { var, compare: true, .. }, Some(expr)) => {
                    let sides = scope.value(expr).zip(scope.value(&Compiled::Var(*var)));
                    let node = sides.map(|(a, b)| Node::Same(Box::new([a, b])));
                    (Action::Compare(*var, expr.clone()), node)
                }
                (Step::Same { a, b, compare: true }, _) => {
                    let sides =
                        scope.value(&Compiled::Var(*a)).zip(scope.value(&Compiled::Var(*b)));
                    let node = sides.map(|(a, b)| Node::Same(Box::new([a, b])));
                    (Action::Same(*a, *b), node)
                }
                _ => return None,
            }
        };
        layout.computed.extend(bound);
        Some(Self { action, node, span: ready.planned.span, taken: (0, 0) })
    }

    /// Evaluates the step on some rows of a piece, which are narrowed to those that it keeps.
    ///
    /// # Errors
    /// That of the first row that fails.
    pub(crate) fn run(
        &mut self,
        piece: &mut Piece<'_>,
        kept: &mut Kept,
        computer: &Computer<'_>,
    ) -> Result<()> {
        self.taken.0 += 1;
        self.taken.1 += kept.len() as u64;
        if let Action::Bind(var, expr) = &self.action {
            let column = self.bind(expr, piece, kept, computer)?;
            piece.computed.push(Computed { var: *var, column, rows: kept.clone() });
            return Ok(());
        }
        let evaluator = Evaluator { rows: &*piece, computer };
        let selected = self.node.as_ref().filter(|node| !matches!(node, Node::Rows(_)));
        let selected = selected.and_then(|node| evaluator.select(node, &kept.selection()));
        *kept = Kept::of(
            match selected {
                Some(rows) => rows,
                None => self.select_by_row(piece, kept, computer)?,
            },
            piece.rows,
        );
        Ok(())
    }

    fn bind(
        &self,
        expr: &Compiled,
        piece: &Piece<'_>,
        kept: &Kept,
        computer: &Computer<'_>,
    ) -> Result<TypedColumn<'static>> {
        let evaluator = Evaluator { rows: piece, computer };
        let found = self.node.as_ref();
        if let Some(found) = found.and_then(|node| evaluator.evaluate(node, &kept.selection())) {
            return Ok(found.into_owned(kept.len()));
        }
        let selection = kept.selection();
        let rows = (0..kept.len()).map(|position| selection.row(position) as usize);
        let made = rows.map(|row| computer.make(expr, piece, row)).collect::<Result<_>>()?;
        Ok(TypedColumn::of_made(made, computer.interner))
    }

    fn select_by_row(
        &self,
        piece: &Piece<'_>,
        kept: &Kept,
        computer: &Computer<'_>,
    ) -> Result<Vec<u32>> {
        let selection = kept.selection();
        let mut found = Vec::new();
        for position in 0..kept.len() {
            if position % crate::batch_size::ROWS_A_LOOK == crate::batch_size::ROWS_A_LOOK - 1 {
                computer.go_on(self.span)?;
            }
            let row = selection.row(position);
            if self.keeps(piece, row as usize, computer)? {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// Whether a row is kept, by the row way.
    fn keeps(&self, piece: &Piece<'_>, row: usize, computer: &Computer<'_>) -> Result<bool> {
        let is_same = |a: Made, b: Made| computer.value_of(a) == computer.value_of(b);
        match &self.action {
            Action::Check(place, var) => {
                let stored = piece.stored.made(*place, piece.start + row)?;
                Ok(is_same(stored, piece.made(*var, row)?))
            }
            Action::Filter(expr) => {
                let made = computer.make(expr, piece, row)?;
                computer.truth(computer.cell_of(made), "a condition", self.span)
            }
            Action::Compare(var, expr) => {
                Ok(is_same(computer.make(expr, piece, row)?, piece.made(*var, row)?))
            }
            Action::Same(a, b) => Ok(is_same(piece.made(*a, row)?, piece.made(*b, row)?)),
            Action::Bind(..) => Ok(true),
        }
    }
}

/// The rows of a piece that are still there.
#[derive(Clone)]
pub(crate) enum Kept {
    /// All of this number of rows.
    All(usize),
    /// These rows.
    Some(Rc<[u32]>),
}

impl Kept {
    pub(crate) fn of(rows: Vec<u32>, all: usize) -> Self {
        if rows.len() == all { Self::All(all) } else { Self::Some(rows.into()) }
    }

    pub(crate) fn selection(&self) -> Selection<'_> {
        match self {
            Self::All(rows) => Selection::All(*rows),
            Self::Some(rows) => Selection::Some(rows),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.selection().len()
    }
}

/// A column that a step has computed.
struct Computed {
    var: VarId,
    column: TypedColumn<'static>,
    /// The rows that it has values for.
    rows: Kept,
}

/// Rows of a batch that steps are evaluated on together.
pub(crate) struct Piece<'p> {
    pub stored: &'p StoredColumns<'p>,
    /// Its first row in the batch.
    pub start: usize,
    pub rows: usize,
    pub layout: &'p Layout<'p>,
    computed: Vec<Computed>,
    computer: &'p Computer<'p>,
}

impl<'p> Piece<'p> {
    pub(crate) fn new(
        stored: &'p StoredColumns<'p>,
        rows: std::ops::Range<usize>,
        layout: &'p Layout<'p>,
        computer: &'p Computer<'p>,
    ) -> Self {
        let (start, rows) = (rows.start, rows.len());
        Self { stored, start, rows, layout, computed: Vec::new(), computer }
    }

    /// The cells of a variable that a step has bound, in some of its rows.
    pub(crate) fn computed_cells(
        &self,
        var: VarId,
        kept: &Kept,
        is_compared: bool,
    ) -> Option<Vec<Cell>> {
        let column = self.computed_column(var, &kept.selection())?;
        Some(column.into_cells(kept.len(), is_compared, self.computer.interner))
    }

    fn computed_column(&self, var: VarId, rows: &Selection<'_>) -> Option<TypedColumn<'_>> {
        let computed = self.computed.iter().find(|computed| computed.var == var)?;
        if computed.rows.len() == rows.len() {
            return Some(computed.column.borrowed());
        }
        let wanted = rows.to_vec();
        let of = computed.rows.selection();
        let positions: Vec<u32> = of.positions(&wanted).map(|position| position as u32).collect();
        Some(computed.column.gathered(&positions))
    }
}

impl Rows for Piece<'_> {
    /// Expressions read values by `made`, which does not intern them.
    fn cell(&self, var: VarId, row: usize) -> Cell {
        match self.made(var, row) {
            Ok(made) => self.computer.cell_of(made),
            Err(_) => Cell::NULL,
        }
    }

    fn made(&self, var: VarId, row: usize) -> Result<Made> {
        if let Some(place) = self.layout.place(var) {
            return self.stored.made(place, self.start + row);
        }
        let Some(computed) = self.computed.iter().find(|computed| computed.var == var) else {
            return Ok(Made::Cell(self.layout.input.columns[var][0]));
        };
        let position = match &computed.rows {
            Kept::All(_) => Some(row),
            Kept::Some(rows) => rows.binary_search(&(row as u32)).ok(),
        };
        Ok(position.map_or(Made::Cell(Cell::NULL), |position| computed.column.made(position)))
    }

    fn list_item(&self, var: VarId, row: usize, index: i64) -> Result<Option<ListItem>> {
        match self.layout.place(var) {
            Some(place) => self.stored.list_item(place, self.start + row, index),
            None => Ok(None),
        }
    }
}

impl TypedRows for Piece<'_> {
    fn column(&self, var: VarId, rows: &Selection<'_>) -> Option<TypedColumn<'_>> {
        match self.layout.place(var) {
            Some(place) if !self.layout.path.is_typed(place) => None,
            Some(place) => self.stored.column(place, self.start, rows),
            None => self.computed_column(var, rows),
        }
    }
}
