//! Rows of a relation, column after column, as its orders store them.
//!
//! # Why beside the way row by row
//! Where what was there plays no part, as in most changes of many rows, nothing has to be known of
//! a row as a whole: no list of values is made for each, and integers go from cells to words in
//! loops.

use crate::dml::coerce::coerced;
use crate::dml::target::Target;
use base::{Batch, Kind};
use exec::storage::access_path::StoredPath;
use exec::value::cell::{Cell, Interner, small_ints};
use function::FunctionContext;
use model::{Series, Type, Value, Values};
use relation::ColumnError;
use std::ops::Range;
use store::{Kinds, TableWrites};

/// Rows that are written at once: what is made of them does not grow with the change.
pub(crate) const CHUNK_ROWS: usize = 65_536;

/// Cells as values of a column, of the kind of its type where they all are.
pub(crate) fn series(of: &Type, cells: &[Cell], interner: &Interner) -> Series {
    if *of.without_null() == Type::Int
        && let Some(ints) = small_ints(cells)
    {
        return Values::Int(ints).into();
    }
    let mut series = Series::of_type(of);
    cells.iter().for_each(|&cell| series.push(interner.value(cell)));
    series
}

/// What puts or deletes rows of a relation in all its orders, whatever was there. Value columns may
/// be missing where rows are deleted.
///
/// # Errors
/// The first value that its column does not take.
pub(crate) fn writes(
    target: &Target,
    kind: Kind,
    columns: &[Option<&Series>],
    rows: &Range<usize>,
    ambient: &dyn FunctionContext,
) -> Result<Vec<TableWrites>, ColumnError> {
    let table = |path: &StoredPath| {
        Ok(TableWrites {
            keyspace: path.keyspace,
            kinds: Kinds::Uniform(kind),
            rows: encode(path, columns, rows.clone(), ambient)?,
            delete_ranges: Vec::new(),
        })
    };
    target.paths.iter().map(table).collect()
}

/// Rows as one of the orders of their relation stores them.
///
/// # Errors
/// As [`writes`].
pub(crate) fn encode(
    path: &StoredPath,
    columns: &[Option<&Series>],
    rows: Range<usize>,
    ambient: &dyn FunctionContext,
) -> Result<Batch, ColumnError> {
    let coerce = |of: &Type, value: Value| coerced(of, value, ambient);
    let own: Vec<Option<&Series>> = path.columns.iter().map(|&column| columns[column]).collect();
    let mut batch = Batch::new(&path.shape);
    let encoded = path.schema.append_columns(&own, rows, &coerce, &mut batch);
    encoded.map_err(|refused| ColumnError { column: path.columns[refused.column], ..refused })?;
    Ok(batch)
}
