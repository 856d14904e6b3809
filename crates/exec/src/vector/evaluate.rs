//! Evaluates nodes for selected rows of a batch.

use super::column::{Known, Texts, TypedColumn, Values};
use super::compare::Side;
use super::node::Node;
use super::selection::{Selection, merged};
use super::{arithmetic, compare, text};
use crate::batch_size::ROWS_A_LOOK;
use crate::expr::batch::Rows;
use crate::expr::{Compiled, Computer, Made};
use plan::VarId;
use std::borrow::Cow;
use syntax::Span;

/// The rows that expressions are evaluated on.
pub(crate) trait TypedRows: Rows {
    /// The values of a variable in some rows; `None` if they have to be read one by one.
    fn column(&self, var: VarId, rows: &Selection<'_>) -> Option<TypedColumn<'_>>;
}

/// Evaluates nodes on one batch.
pub(crate) struct Evaluator<'e> {
    /// The batch.
    pub rows: &'e dyn TypedRows,
    /// For parts that are evaluated row by row.
    pub computer: &'e Computer<'e>,
}

impl<'e> Evaluator<'e> {
    /// The values of a node for some rows. `None` where the row way has to tell.
    pub(crate) fn evaluate(&self, node: &'e Node, rows: &Selection<'_>) -> Option<TypedColumn<'e>> {
        let count = rows.len();
        Some(match node {
            Node::Null => TypedColumn::known(Known::Null),
            Node::Bool(bool) => TypedColumn::known(Known::Bool(*bool)),
            Node::Int(int) => TypedColumn::known(Known::Int(*int)),
            Node::Float(float) => TypedColumn::known(Known::Float(*float)),
            Node::Text(text) => TypedColumn::known(Known::Text(text)),
            Node::Column(var) => self.rows.column(*var, rows)?,
            Node::Compare(by, sides) => {
                let (a, b) = self.both(sides, rows)?;
                TypedColumn::bools(compare::compare(*by, &a, &b, count, self.computer)?)
            }
            Node::Same(sides) => {
                let (a, b) = self.both(sides, rows)?;
                TypedColumn::bools(compare::same(&a, &b, count, self.computer))
            }
            Node::Binary(by, sides) => {
                let (a, b) = self.both(sides, rows)?;
                arithmetic::binary(*by, &a, &b, count)?
            }
            Node::Unary(by, arg) => arithmetic::unary(*by, &self.evaluate(arg, rows)?, count)?,
            Node::And(_) | Node::Or(_) | Node::Not(_) => {
                TypedColumn::bools(rows.contains(&self.select(node, rows)?))
            }
            Node::If(pairs, otherwise) => self.choose(pairs, otherwise.as_deref(), rows)?,
            Node::Coalesce(args) => self.coalesce(args, rows)?,
            Node::IsIn(item, set) => {
                TypedColumn::bools(set.contains(&self.evaluate(item, rows)?, count)?)
            }
            Node::IsNull(arg) => {
                let arg = self.evaluate(arg, rows)?;
                TypedColumn::bools((0..count).map(|row| arg.is_null(row)).collect())
            }
            Node::Length(arg) => text::lengths(&self.evaluate(arg, rows)?, count)?,
            Node::Test(test, arg) => {
                TypedColumn::bools(text::test(test, &self.evaluate(arg, rows)?, count)?)
            }
            Node::Change(by, arg) => text::changed(*by, self.evaluate(arg, rows)?, count)?,
            Node::Rows(expr) => {
                let made = (0..count).map(|position| self.made(expr, rows.row(position), position));
                let made = made.collect::<Option<Vec<_>>>()?;
                TypedColumn::of_made(made, self.computer.interner)
            }
        })
    }

    /// The rows in which a condition is true. `None` where the row way has to tell.
    pub(crate) fn select(&self, node: &'e Node, rows: &Selection<'_>) -> Option<Vec<u32>> {
        match node {
            Node::And(args) => {
                let Some((first, rest)) = args.split_first() else { return Some(rows.to_vec()) };
                let mut kept = self.select(first, rows)?;
                for arg in rest {
                    kept = self.select(arg, &Selection::Some(&kept))?;
                }
                Some(kept)
            }
            Node::Or(args) => {
                let (mut kept, mut rest) = (Vec::new(), None);
                for arg in args {
                    let left = rest.as_deref().map_or(*rows, Selection::Some);
                    let more = self.select(arg, &left)?;
                    let others = left.without(&more);
                    kept = merged(&kept, &more);
                    rest = Some(others);
                }
                Some(kept)
            }
            Node::Not(arg) => Some(rows.without(&self.select(arg, rows)?)),
            _ => {
                let found = self.evaluate(node, rows)?;
                if rows.len() == 0 {
                    return Some(Vec::new());
                }
                match &found.values {
                    Values::Bools(bools) if !found.has_nulls() => Some(rows.narrowed(bools)),
                    Values::Known(Known::Bool(true)) => Some(rows.to_vec()),
                    Values::Known(Known::Bool(false)) => Some(Vec::new()),
                    _ => None,
                }
            }
        }
    }

    fn both(
        &self,
        sides: &'e [Node; 2],
        rows: &Selection<'_>,
    ) -> Option<(TypedColumn<'e>, TypedColumn<'e>)> {
        Some((self.evaluate(&sides[0], rows)?, self.evaluate(&sides[1], rows)?))
    }

    /// The value of one row.
    fn made(&self, expr: &Compiled, row: u32, position: usize) -> Option<Made> {
        if position % ROWS_A_LOOK == ROWS_A_LOOK - 1 {
            self.computer.go_on(Span::default()).ok()?;
        }
        self.computer.make(expr, self.rows, row as usize).ok()
    }

    /// `if` and `cond`: each value is computed for the rows whose first true condition it follows.
    fn choose(
        &self,
        pairs: &'e [(Node, Node)],
        otherwise: Option<&'e Node>,
        rows: &Selection<'_>,
    ) -> Option<TypedColumn<'e>> {
        let mut parts = Vec::with_capacity(pairs.len() + 1);
        let mut rest = rows.to_vec();
        for (condition, value) in pairs {
            let left = Selection::Some(&rest);
            let left = if rest.len() == rows.len() { *rows } else { left };
            let taken = self.select(condition, &left)?;
            let others = left.without(&taken);
            self.add_part(value, taken, &mut parts)?;
            rest = others;
        }
        match otherwise {
            Some(otherwise) => self.add_part(otherwise, rest, &mut parts)?,
            None => parts.push((rest, TypedColumn::known(Known::Null))),
        }
        assembled(&parts, rows)
    }

    /// Computes a value for some rows, if there are any.
    fn add_part(
        &self,
        value: &'e Node,
        rows: Vec<u32>,
        parts: &mut Vec<(Vec<u32>, TypedColumn<'e>)>,
    ) -> Option<()> {
        if !rows.is_empty() {
            let column = self.evaluate(value, &Selection::Some(&rows))?;
            parts.push((rows, column));
        }
        Some(())
    }

    fn coalesce(&self, args: &'e [Node], rows: &Selection<'_>) -> Option<TypedColumn<'e>> {
        let Some((first, others)) = args.split_first() else {
            return Some(TypedColumn::known(Known::Null));
        };
        let found = self.evaluate(first, rows)?;
        if !found.has_nulls() {
            return Some(found);
        }
        let mut parts = Vec::with_capacity(args.len());
        let mut rest = rows.to_vec();
        let mut found = Some(found);
        let mut others = others.iter();
        while let Some(column) = found.take() {
            let is_null: Vec<bool> = (0..rest.len()).map(|row| column.is_null(row)).collect();
            let nulls = Selection::Some(&rest).narrowed(&is_null);
            parts.push((std::mem::replace(&mut rest, nulls), column));
            if rest.is_empty() {
                break;
            }
            if let Some(next) = others.next() {
                found = Some(self.evaluate(next, &Selection::Some(&rest))?);
            }
        }
        // Later parts have the values of rows where earlier ones are null.
        assembled(&parts, rows)
    }
}

/// One column of the values of parts. A later part replaces the values of earlier ones.
fn assembled<'v>(
    parts: &[(Vec<u32>, TypedColumn<'_>)],
    rows: &Selection<'_>,
) -> Option<TypedColumn<'v>> {
    let count = rows.len();
    let mut nulls = vec![false; count];
    for (part, column) in parts {
        for (row, position) in rows.positions(part).enumerate() {
            nulls[position] = column.is_null(row);
        }
    }
    let values = values_of_one_kind(parts, rows, count)
        .unwrap_or_else(|| Values::Mixed(mixed(parts, rows, count)));
    let nulls = nulls.contains(&true).then_some(nulls);
    Some(TypedColumn { values, nulls })
}

/// The values, if all that are not null have one kind.
fn values_of_one_kind<'v>(
    parts: &[(Vec<u32>, TypedColumn<'_>)],
    rows: &Selection<'_>,
    count: usize,
) -> Option<Values<'v>> {
    let has_values =
        |column: &&TypedColumn<'_>| !matches!(column.values, Values::Known(Known::Null));
    let first = parts.iter().map(|(_, column)| column).find(has_values);
    match first.map(|column| &column.values) {
        None => Some(Values::Known(Known::Null)),
        Some(Values::Ints(_) | Values::Known(Known::Int(_))) => {
            let ints = scattered(parts, rows, vec![0; count], compare::ints)?;
            Some(Values::Ints(Cow::Owned(ints)))
        }
        Some(Values::Floats(_) | Values::Known(Known::Float(_))) => {
            let zeros = vec![0.0; count];
            let floats = scattered(parts, rows, zeros, compare::floats)?;
            Some(Values::Floats(Cow::Owned(floats)))
        }
        Some(Values::Bools(_) | Values::Known(Known::Bool(_))) => {
            let bools = scattered(parts, rows, vec![false; count], compare::bools);
            bools.map(Values::Bools)
        }
        Some(Values::Texts(_) | Values::Known(Known::Text(_))) => {
            scattered_texts(parts, rows, count).map(Values::Texts)
        }
        Some(_) => None,
    }
}

/// The values that `side` reads of the parts, over fillers; `None` if it does not read a part that
/// has values.
fn scattered<T: Copy>(
    parts: &[(Vec<u32>, TypedColumn<'_>)],
    rows: &Selection<'_>,
    mut all: Vec<T>,
    side: impl for<'s> Fn(&'s TypedColumn<'_>) -> Option<Side<'s, T>>,
) -> Option<Vec<T>> {
    for (part, column) in parts {
        if matches!(column.values, Values::Known(Known::Null)) {
            continue;
        }
        let side = side(column)?;
        for (row, position) in rows.positions(part).enumerate() {
            all[position] = side.at(row);
        }
    }
    Some(all)
}

fn scattered_texts<'v>(
    parts: &[(Vec<u32>, TypedColumn<'_>)],
    rows: &Selection<'_>,
    count: usize,
) -> Option<Texts<'v>> {
    let mut from: Vec<(u32, u32)> = vec![(0, 0); count];
    for (number, (part, column)) in (0..).zip(parts) {
        if !matches!(column.values, Values::Texts(_) | Values::Known(Known::Text(_) | Known::Null))
        {
            return None;
        }
        for (row, position) in (0..).zip(rows.positions(part)) {
            from[position] = (number, row);
        }
    }
    let mut texts = Texts::new(count);
    for (number, row) in from {
        texts.push(match &parts[number as usize].1.values {
            Values::Texts(texts) => texts.get(row as usize),
            Values::Known(Known::Text(text)) => text,
            _ => "",
        })?;
    }
    Some(texts)
}

fn mixed(parts: &[(Vec<u32>, TypedColumn<'_>)], rows: &Selection<'_>, count: usize) -> Vec<Made> {
    let mut all = vec![Made::Cell(crate::value::cell::Cell::NULL); count];
    for (part, column) in parts {
        for (row, position) in rows.positions(part).enumerate() {
            all[position] = column.made(row);
        }
    }
    all
}
