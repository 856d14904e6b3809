//! Converts Arrow arrays to columns of values.

use crate::result_arrow::{UUID_BYTES, are_validity_fields, is_json_field, is_uuid_field};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::{DataType, Field, TimeUnit};
use base::{BytesColumn, Validity as ValidRows};
use model::{Decimal, Json, Series, Validity, Value, Values};
use std::borrow::Cow;
use store::{Error, ErrorKind, Result};

/// Maximum nesting of lists and structs.
const DEPTH_MAX: usize = 128;

/// Converts an Arrow array to a column of values: numbers of any width, strings and bytes to
/// themselves; dates, times, durations and decimals to theirs, where times without a zone are UTC;
/// lists to lists; structs of `microseconds` and `asserted` to a validity; other structs, and
/// Arrow's extension type `arrow.json`, to JSON; `arrow.uuid` to UUIDs, also in lists.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for other types, and for invalid JSON in a JSON field.
pub fn series_of_arrow(array: &ArrayRef, field: &Field) -> Result<Series> {
    let name = field.name();
    let series = of_field(array, field, name, 0)?;
    if !is_json_field(field) || !matches!(series.values, Values::Str(_)) {
        return Ok(series);
    }
    let value = |row| match series.value(row) {
        Value::Str(text) => json(&text, name, row),
        other => Ok(other),
    };
    let values = (0..series.len()).map(value).collect::<Result<_>>()?;
    Ok(Series { values: Values::Any(values), valid: series.valid })
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

fn valid_rows(array: &dyn Array) -> ValidRows {
    let mut valid = ValidRows::default();
    if array.null_count() > 0 {
        (0..array.len()).for_each(|row| valid.push(row, !array.is_null(row)));
    }
    valid
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(array, to).map_err(|error| refused(error.to_string()))
}

fn texts<O: OffsetSizeTrait>(offsets: &[O], heap: &[u8], valid: ValidRows) -> BytesColumn {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    let last = offsets.last().map_or(0, |offset| offset.as_usize());
    BytesColumn {
        offsets: offsets.iter().map(|offset| (offset.as_usize() - first) as u64).collect(),
        heap: heap[first..last].to_vec(),
        validity: valid,
    }
}

/// The type that an array of this one is converted to first.
fn cast_type(of: &DataType) -> Option<Cow<'_, DataType>> {
    Some(Cow::Borrowed(match of {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => &DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => &DataType::Int64,
        DataType::Float16 | DataType::Float32 => &DataType::Float64,
        DataType::Utf8View => &DataType::LargeUtf8,
        DataType::BinaryView | DataType::FixedSizeBinary(_) => &DataType::LargeBinary,
        DataType::Dictionary(_, of) => of,
        DataType::RunEndEncoded(_, of) => of.data_type(),
        DataType::Date64 => &DataType::Date32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            return Some(Cow::Owned(DataType::Decimal128(*precision, *scale)));
        }
        _ => return None,
    }))
}

/// An array whose field may say that its bytes are UUIDs.
fn of_field(array: &ArrayRef, field: &Field, name: &str, depth: usize) -> Result<Series> {
    if !is_uuid_field(field) || *array.data_type() != DataType::FixedSizeBinary(UUID_BYTES) {
        return of_array(array, name, depth);
    }
    let value = |bytes: Option<&[u8]>| match bytes.map(<[u8; 16]>::try_from) {
        Some(Ok(uuid)) => Value::Uuid(uuid),
        _ => Value::Null,
    };
    let values = array.as_fixed_size_binary().iter().map(value).collect();
    Ok(Series { values: Values::Any(values), valid: valid_rows(array) })
}

fn of_array(array: &ArrayRef, name: &str, depth: usize) -> Result<Series> {
    if depth > DEPTH_MAX {
        return Err(refused(format!("column `{name}` is nested deeper than {DEPTH_MAX}")));
    }
    if let Some(to) = cast_type(array.data_type()) {
        return of_array(&cast(array, &to)?, name, depth + 1);
    }
    let valid = valid_rows(array);
    let values = match array.data_type() {
        DataType::Null => Values::Null(array.len()),
        DataType::Boolean => Values::Bool(array.as_boolean().values().iter().collect()),
        DataType::Int64 => Values::Int(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::UInt64 => Values::Id(array.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::Float64 => Values::Float(array.as_primitive::<Float64Type>().values().to_vec()),
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Values::Str(texts(array.value_offsets(), array.value_data(), valid.clone()))
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            Values::Str(texts(array.value_offsets(), array.value_data(), valid.clone()))
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Values::Bytes(texts(array.value_offsets(), array.value_data(), valid.clone()))
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Values::Bytes(texts(array.value_offsets(), array.value_data(), valid.clone()))
        }
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().iter();
            Values::Any(days.map(|days| days.map_or(Value::Null, Value::Date)).collect())
        }
        // Arrow stores times with a zone as UTC.
        DataType::Timestamp(unit, _) => {
            Values::Any(microseconds(array, *unit, name, Value::Timestamp)?)
        }
        DataType::Duration(unit) => Values::Any(microseconds(array, *unit, name, Value::Duration)?),
        DataType::Decimal128(..) | DataType::Decimal256(..) => Values::Any(decimals(array, name)?),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Struct(_) => {
            let nested =
                (0..array.len()).map(|row| nested(array, row, name, depth)).collect::<Result<_>>();
            Values::Any(nested?)
        }
        other => {
            let what = format!("column `{name}` is of the Arrow type {other}");
            return Err(refused(format!("{what}\nhint: cast it to numbers or text")));
        }
    };
    Ok(Series { values, valid })
}

/// Times or durations of a unit as values. Nanoseconds are rounded down.
fn microseconds(
    array: &ArrayRef,
    unit: TimeUnit,
    name: &str,
    make: fn(i64) -> Value,
) -> Result<Vec<Value>> {
    let counts = cast(array, &DataType::Int64)?;
    let value = |(row, count): (usize, Option<i64>)| {
        let Some(count) = count else { return Ok(Value::Null) };
        let us = match unit {
            TimeUnit::Second => count.checked_mul(1_000_000),
            TimeUnit::Millisecond => count.checked_mul(1000),
            TimeUnit::Microsecond => Some(count),
            TimeUnit::Nanosecond => Some(count.div_euclid(1000)),
        };
        let what =
            || refused(format!("column `{name}`, row {row}: microseconds need over 64 bits"));
        us.map(make).ok_or_else(what)
    };
    counts.as_primitive::<Int64Type>().iter().enumerate().map(value).collect()
}

/// Decimals as values.
fn decimals(array: &ArrayRef, name: &str) -> Result<Vec<Value>> {
    let value = |row: usize| {
        let found = match array.data_type() {
            _ if array.is_null(row) => return Ok(Value::Null),
            DataType::Decimal128(_, scale) => {
                let coefficient = array.as_primitive::<Decimal128Type>().value(row);
                Decimal::new(coefficient, i32::from(*scale))
            }
            _ => Decimal::parse(&array.as_primitive::<Decimal256Type>().value_as_string(row)),
        };
        let what = || refused(format!("column `{name}`, row {row}: a Decimal has 38 digits"));
        found.map(Value::Decimal).ok_or_else(what)
    };
    (0..array.len()).map(value).collect()
}

fn json(text: &str, name: &str, row: usize) -> Result<Value> {
    let parsed = Json::parse(text).map(Value::Json);
    parsed.map_err(|error| refused(format!("column `{name}`, row {row}: no JSON: {error}")))
}

/// One row of a list or struct column as a value.
fn nested(array: &ArrayRef, row: usize, name: &str, depth: usize) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let list = |items: ArrayRef, item: &Field| {
        let items = of_field(&items, item, name, depth + 1)?;
        Ok(Value::List((0..items.len()).map(|item| items.value(item)).collect()))
    };
    match array.data_type() {
        DataType::List(item) => list(array.as_list::<i32>().value(row), item),
        DataType::LargeList(item) => list(array.as_list::<i64>().value(row), item),
        DataType::ListView(item) => list(array.as_list_view::<i32>().value(row), item),
        DataType::LargeListView(item) => list(array.as_list_view::<i64>().value(row), item),
        DataType::FixedSizeList(item, _) => list(array.as_fixed_size_list().value(row), item),
        DataType::Struct(fields) if are_validity_fields(fields) => {
            let columns = array.as_struct();
            let (times, asserted) = (columns.column(0), columns.column(1));
            if times.is_null(row) || asserted.is_null(row) {
                return Ok(Value::Null);
            }
            let timestamp_us = times.as_primitive::<Int64Type>().value(row);
            Ok(Value::Validity(Validity { timestamp_us, assert: asserted.as_boolean().value(row) }))
        }
        _ => {
            let fields = array.as_struct();
            let mut text = String::from("{");
            for (place, (field, column)) in fields.fields().iter().zip(fields.columns()).enumerate()
            {
                let value = of_array(&column.slice(row, 1), name, depth + 1)?.value(0);
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&Value::Str(field.name().clone()).to_string());
                text.push(':');
                text.push_str(&value.to_string());
            }
            text.push('}');
            json(&text, name, row)
        }
    }
}
