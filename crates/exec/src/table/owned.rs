//! Cells together with the interner that gives them their meaning.
//!
//! # Why
//! A cell of a long string, a list or a large number is an entry in one [`Interner`]. In another
//! interner the same word is another value, or none. So cells that outlive their query are always
//! stored with their interner.
//!
//! # Invariants
//! 1. Temporary relations of a script and results of queries have the types of this file. Only this
//!    file reads their fields.
//! 2. Cells are returned for a given interner: unchanged if it is their own, otherwise as its cells
//!    of the same values.

use crate::error::Result;
use crate::limits::Check;
use crate::table::Table;
use crate::value::cell::{Cell, Interner};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Columns of cells with their interner.
#[derive(Clone, Debug)]
pub struct OwnedCells {
    columns: Vec<Vec<Cell>>,
    interner: Arc<Interner>,
}

impl OwnedCells {
    /// Cells that belong to `interner`.
    pub fn new(columns: Vec<Vec<Cell>>, interner: Arc<Interner>) -> Self {
        Self { columns, interner }
    }

    /// Their interner.
    pub fn interner(&self) -> &Arc<Interner> {
        &self.interner
    }

    /// The cells, valid for their own interner only.
    pub fn columns(&self) -> &[Vec<Cell>] {
        &self.columns
    }

    /// The values of a column as cells of `interner`.
    pub fn column_for(&self, column: usize, interner: &Interner) -> Cow<'_, [Cell]> {
        let cells = self.columns[column].as_slice();
        match is_same(&self.interner, interner) {
            true => Cow::Borrowed(cells),
            false => Cow::Owned(moved(cells, &self.interner, interner)),
        }
    }

    /// The values of all columns as cells of `interner`.
    pub fn cells_for(&self, interner: &Interner) -> Cow<'_, [Vec<Cell>]> {
        match is_same(&self.interner, interner) {
            true => Cow::Borrowed(&self.columns),
            false => {
                let column = |cells: &Vec<Cell>| moved(cells, &self.interner, interner);
                Cow::Owned(self.columns.iter().map(column).collect())
            }
        }
    }

    /// A range of rows.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| column[rows.clone()].to_vec()).collect();
        Self { columns, interner: Arc::clone(&self.interner) }
    }
}

/// The rows of a temporary relation.
#[derive(Clone, Debug)]
pub struct OwnedTable {
    table: Arc<Table>,
    interner: Arc<Interner>,
}

impl OwnedTable {
    /// A table whose cells belong to `interner`.
    pub fn new(table: Table, interner: &Arc<Interner>) -> Self {
        Self { table: Arc::new(table), interner: Arc::clone(interner) }
    }

    /// Number of live rows.
    pub fn live_rows(&self) -> usize {
        self.table.live_rows()
    }

    /// The table, with its values as cells of `interner`.
    ///
    /// # Errors
    /// Those of `check`.
    pub fn table_for(&self, interner: &Interner, check: Check<'_>) -> Result<Arc<Table>> {
        if is_same(&self.interner, interner) {
            return Ok(Arc::clone(&self.table));
        }
        let columns: Vec<Vec<Cell>> = self
            .table
            .live_columns()
            .iter()
            .map(|column| moved(column, &self.interner, interner))
            .collect();
        let table = Table::new(self.table.arity(), self.table.keys());
        table.with_rows(&columns, self.live_rows(), check).map(Arc::new)
    }

    /// Removes and returns the table, as cells of `interner`. Without other references it can be
    /// changed without a copy.
    ///
    /// # Errors
    /// Those of `check`. Then the table is unchanged.
    pub fn take_for(&mut self, interner: &Interner, check: Check<'_>) -> Result<Arc<Table>> {
        let table = self.table_for(interner, check)?;
        self.table = Arc::default();
        Ok(table)
    }
}

fn is_same(own: &Arc<Interner>, interner: &Interner) -> bool {
    std::ptr::eq(Arc::as_ptr(own), interner)
}

/// Translates cells from one interner to another. The only place where cells change interners.
fn moved(cells: &[Cell], from: &Interner, to: &Interner) -> Vec<Cell> {
    let mut known: HashMap<Cell, Cell, foldhash::fast::FixedState> = HashMap::default();
    let cell = |&cell: &Cell| match cell.is_word() {
        true => cell,
        false => *known.entry(cell).or_insert_with(|| from.with(cell, |value| to.cell(value))),
    };
    cells.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;

    #[test]
    fn cells_come_out_of_their_owner_as_cells_of_the_interner_that_asks() {
        let (own, other) = (Arc::<Interner>::default(), Arc::<Interner>::default());
        other.cell(&Value::Str("some other text".to_owned()));
        let values =
            [Value::Str("a text of some length".to_owned()), Value::Int(i64::MAX), Value::Null];
        let column: Vec<Cell> = values.iter().map(|value| own.cell(value)).collect();
        let owned = OwnedCells::new(vec![column.clone()], Arc::clone(&own));
        assert!(matches!(owned.cells_for(&own), Cow::Borrowed(_)));
        let table = Table::new(1, 1).with_rows(&[column], 3, &|| Ok(())).unwrap();
        let table = OwnedTable::new(table, &own).table_for(&other, &|| Ok(())).unwrap();
        for cells in [&owned.cells_for(&other)[0][..], table.column(0)] {
            let found: Vec<Value> = cells.iter().map(|&cell| other.value(cell)).collect();
            assert_eq!(found, values);
        }
    }

    #[test]
    #[should_panic(expected = "a cell met an interner that did not make it")]
    fn a_cell_has_no_value_in_another_interner() {
        let text = Value::Str("a text of some length".to_owned());
        let (own, other) = (Interner::default(), Interner::default());
        let (cell, _) = (own.cell(&text), other.cell(&text));
        other.value(cell);
    }
}
