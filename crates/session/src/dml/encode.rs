//! Encodes rows of a relation column by column, in all orders in which they are stored. Bulk
//! changes and mutations that need no existing rows call it; `writer.rs` handles the others row by
//! row.
//!
//! # Why not only row by row
//! Where existing rows do not matter, as in most changes of many rows, no row has to be handled as
//! a whole: no list of values is made per row, and integers are converted from cells to words in
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

/// Rows that are written at a time, so that memory does not grow with the change.
pub(crate) const CHUNK_ROWS: usize = 65_536;

/// Converts cells to a series, with a typed one for integers.
pub(crate) fn series(of: &Type, cells: &[Cell], interner: &Interner) -> Series {
    if *of.without_null() == Type::Int
        && let Some(ints) = small_ints(cells)
    {
        return Values::Int(ints).into();
    }
    let mut series = Series::of_type(of);
    interner.each(cells, |value| match (&mut series, value) {
        // Not by way of a string of its own.
        (Series { values: Values::Str(texts), valid }, Value::Str(text)) => {
            valid.push(texts.len(), true);
            texts.push(Some(text.as_bytes()));
        }
        (series, value) => series.push(value.clone()),
    });
    series
}

/// Puts or deletes for rows in all orders of their relation, regardless of existing rows. Value
/// columns may be missing where rows are deleted.
///
/// # Errors
/// The first value that its column does not accept.
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

/// Encodes rows for one order of their relation.
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
    path.order_ends(&mut batch);
    Ok(batch)
}
