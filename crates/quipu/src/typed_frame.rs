//! Converts the columns of frames to the types that files need.

use model::{Frame, Series, Type, Value, Values};
use session::ColumnOf;
use store::{Error, ErrorKind, Result};

/// The rows with columns of these names and types, in place of columns of any type.
///
/// # Errors
/// A name occurs twice.
pub(crate) fn typed(columns: &[ColumnOf], frame: Frame) -> Result<Frame> {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let series = frame.into_columns().into_iter().zip(columns);
    let series = series.map(|(series, column)| as_type(series, &column.column_type)).collect();
    Frame::new(names, series).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}

/// Converts values to a type other than any. For a string column, other values become their text.
pub(crate) fn as_type(series: Series, of: &Type) -> Series {
    let of = of.without_null();
    match (&series.values, of) {
        (Values::Null(_), _) | (Values::Str(_), Type::String) => series,
        (_, Type::String) => {
            let text = |value| match value {
                Value::Null | Value::Str(_) => value,
                other => Value::Str(other.to_field()),
            };
            convert(&series, of, text)
        }
        (Values::Any(_), Type::Bool | Type::Int | Type::Id | Type::Float | Type::Bytes) => {
            convert(&series, of, |value| of.coerce(value).unwrap_or(Value::Null))
        }
        // A column of vertices may be stored as the other kind of integers.
        (Values::Int(_), Type::Id) | (Values::Id(_), Type::Int) => {
            convert(&series, of, |value| value)
        }
        _ => series,
    }
}

fn convert(series: &Series, of: &Type, value: impl Fn(Value) -> Value) -> Series {
    let mut converted = Series::of_type(of);
    (0..series.len()).for_each(|row| converted.push(value(series.value(row))));
    converted
}
