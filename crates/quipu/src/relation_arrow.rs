//! Rows of relations as Arrow data: schemas and record batches.

use crate::result_arrow::{Extension, arrow_field};
use crate::typed_column::{Digits, TypedColumn};
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use model::{Frame, Series, Type, Value, VectorKind};
use session::ColumnOf;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// The Arrow type of a column's values; `None` where only the values determine it.
fn arrow_type(of: &Type) -> Option<DataType> {
    Some(match of.without_null() {
        // The number of digits is that of the values.
        Type::Any | Type::Decimal => return None,
        Type::Bool => DataType::Boolean,
        Type::Int => DataType::Int64,
        Type::Id => DataType::UInt64,
        Type::Float => DataType::Float64,
        Type::Bytes => DataType::Binary,
        Type::Vector(kind, len) if (1..=i32::MAX as u64).contains(len) => {
            let float = match kind {
                VectorKind::F32 => DataType::Float32,
                VectorKind::F64 => DataType::Float64,
            };
            DataType::FixedSizeList(Arc::new(Field::new("item", float, true)), *len as i32)
        }
        // As in results of scripts.
        Type::List(..)
        | Type::Validity
        | Type::Date
        | Type::Timestamp
        | Type::Duration
        | Type::Uuid => {
            let none = Series::from(Vec::<Value>::new());
            let column = TypedColumn::of(none, of).into_arrow(0);
            column.map_or(DataType::Utf8, |none| none.data_type().clone())
        }
        _ => DataType::Utf8,
    })
}

/// The Arrow schema of rows with these columns; `None` if a column's type depends on its values.
#[must_use]
pub fn arrow_schema(columns: &[ColumnOf]) -> Option<Schema> {
    arrow_schema_with(columns, &vec![None; columns.len()])
}

/// As [`arrow_schema`], with decimals of the digits that are given for a column.
pub(crate) fn arrow_schema_with(columns: &[ColumnOf], digits: &[Option<Digits>]) -> Option<Schema> {
    let field = |(column, digits): (&ColumnOf, &Option<Digits>)| {
        let of = digits.map_or_else(|| arrow_type(&column.column_type), |of| Some(of.arrow_type()));
        of.map(|of| field_of(column, of))
    };
    let fields: Option<Vec<Field>> = columns.iter().zip(digits).map(field).collect();
    fields.map(Schema::new)
}

fn field_of(column: &ColumnOf, of: DataType) -> Field {
    arrow_field(&column.name, of, Extension::of(&column.column_type))
}

/// Rows of a relation with these columns as a record batch. A column of any type gets the type that
/// fits its values.
///
/// # Errors
/// More data than Arrow's offsets allow.
pub fn record_batch(columns: &[ColumnOf], rows: Frame) -> Result<RecordBatch> {
    record_batch_with(columns, &vec![None; columns.len()], rows)
}

/// As [`record_batch`], with decimals of the digits that are given for a column.
///
/// # Errors
/// As [`record_batch`]; a decimal with more digits.
pub(crate) fn record_batch_with(
    columns: &[ColumnOf],
    digits: &[Option<Digits>],
    rows: Frame,
) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    let count = rows.len();
    let failed = |error| Error::caused(ErrorKind::InvalidInput, error);
    for ((column, digits), series) in columns.iter().zip(digits).zip(rows.into_columns()) {
        let values = match digits {
            Some(digits) => TypedColumn::of_decimals(&series, *digits),
            None => TypedColumn::of(series, &column.column_type),
        };
        let array = values.into_arrow(count).map_err(failed)?;
        // A column that holds only nulls still gets its declared type.
        let array = match arrow_type(&column.column_type) {
            Some(of) if of != *array.data_type() => {
                arrow_cast::cast(&array, &of).map_err(failed)?
            }
            _ => array,
        };
        fields.push(field_of(column, array.data_type().clone()));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(failed)
}
