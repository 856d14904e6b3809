//! Reads edges from Arrow record batches, and writes them as batches.
//!
//! Columns are found as in text (`columns.rs`): those that the caller names, else those with
//! well-known names, else by position if there are no other columns. The index of a pandas frame is
//! left out. Integers of any width, and floats that are whole numbers, are accepted as integer
//! vertices, strings of any layout and UUIDs as string vertices; decimals and booleans are weights.
//! Anything else is an error that says what to do.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    UInt64Array, cast::AsArray, types::*,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::columns::{self, ColumnInfo, Positions};
use crate::edges::{EdgeChunk, SKIPPED_KEPT_MAX, StrColumn, Weights};
use crate::error::{InputError, Place, show};
use crate::number::{i64_to_word, word_to_i64};
use crate::options::{EdgeOptions, Missing, VertexType, WeightType};

#[cfg(test)]
mod tests;

/// Reads the edges of a batch into `out`, which is emptied first.
///
/// `file` and `first_row` (the number of rows before this batch) are for messages. A null weight is
/// a missing weight; NaN is a value.
///
/// # Errors
/// The columns cannot be found or have other types, or a weight is an integer out of range. The
/// message names the row. Nulls and numbers that are no vertices are counted in
/// [`EdgeChunk::unfit`].
pub fn read_batch(
    batch: &RecordBatch,
    file: &str,
    first_row: u64,
    options: &EdgeOptions,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    let at = positions(batch.schema_ref(), file, options)?;
    let rows = Rows { file, first_row, options, at };
    let column = |index: usize| batch.column(index).as_ref();
    rows.read(column(at.source), column(at.target), at.weight.map(column), out)
}

/// The positions of an edge's columns in a schema.
pub(crate) fn positions(
    schema: &Schema,
    file: &str,
    options: &EdgeOptions,
) -> Result<Positions, InputError> {
    columns::resolve(file, &infos(schema), options)
}

/// The detected parts of a schema, for the report: the columns of an edge and their types.
///
/// # Errors
/// As [`read_batch`] for the schema.
pub fn describe(
    schema: &Schema,
    file: &str,
    options: &EdgeOptions,
) -> Result<Vec<(&'static str, String)>, InputError> {
    let infos = infos(schema);
    let at = columns::resolve(file, &infos, options)?;
    let mut said = columns::describe_choice(at, &infos);
    let of = |index: usize| schema.field(index).data_type().to_string();
    let mut types = format!("{}, {}", of(at.source), of(at.target));
    if let Some(weight) = at.weight {
        types.push_str(&format!(", {}", of(weight)));
    }
    said.push(("types", types));
    Ok(said)
}

/// The types of vertices and weights that fit a schema, for a graph that does not exist yet. Signed
/// integers fit both types of integer vertices; they are taken as signed.
///
/// # Errors
/// The columns of an edge cannot be told apart, or have types that are those of no vertex.
pub fn types_of(
    schema: &Schema,
    file: &str,
    options: &EdgeOptions,
) -> Result<(VertexType, WeightType), InputError> {
    let options = EdgeOptions { weight: WeightType::Float, ..options.clone() };
    let at = positions(schema, file, &options)?;
    let of = |index: usize| match schema.field(index).data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    let is_text = |kind: &DataType| kind.is_string() || *kind == DataType::FixedSizeBinary(16);
    let (source, target) = (of(at.source), of(at.target));
    let vertex = if is_text(&source) || is_text(&target) {
        VertexType::Str
    } else if source.is_unsigned_integer() && target.is_unsigned_integer() {
        VertexType::U64
    } else {
        VertexType::I64
    };
    let weight = match at.weight.map(of) {
        None => WeightType::None,
        Some(kind) if kind.is_integer() || kind == DataType::Boolean => WeightType::Int,
        Some(_) => WeightType::Float,
    };
    Ok((vertex, weight))
}

/// As [`types_of`]. Signed vertices are unsigned if none is negative.
///
/// # Errors
/// As [`types_of`].
pub fn types_of_batch(
    batch: &RecordBatch,
    file: &str,
    options: &EdgeOptions,
) -> Result<(VertexType, WeightType), InputError> {
    let (vertex, weight) = types_of(batch.schema_ref(), file, options)?;
    let weighted = EdgeOptions { weight: WeightType::Float, ..options.clone() };
    let at = positions(batch.schema_ref(), file, &weighted)?;
    let is_unsigned = |column: usize| {
        let array = plain(batch.column(column).as_ref(), &DataType::Int64);
        match integers(&array) {
            Some(Integers::Signed(values)) => values.iter().all(|&value| value >= 0),
            Some(Integers::Unsigned(_)) => true,
            None if array.data_type().is_floating() => {
                let floats = arrow_cast::cast(&array, &DataType::Float64);
                // NaN is refused for any type of vertices.
                floats.is_ok_and(|floats| {
                    !floats.as_primitive::<Float64Type>().iter().flatten().any(|value| value < 0.0)
                })
            }
            None => false,
        }
    };
    match vertex {
        VertexType::I64 if is_unsigned(at.source) && is_unsigned(at.target) => {
            Ok((VertexType::U64, weight))
        }
        _ => Ok((vertex, weight)),
    }
}

fn infos(schema: &Schema) -> Vec<ColumnInfo> {
    let indexes = schema.metadata().get("pandas").map(|text| pandas_indexes(text));
    let info = |field: &arrow_schema::FieldRef| {
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            kind => kind,
        };
        let is_numeric = kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null);
        let is_index = indexes.as_ref().is_some_and(|names| names.contains(field.name()));
        ColumnInfo { name: Some(field.name().clone()), is_numeric, is_index, ..Default::default() }
    };
    schema.fields().iter().map(info).collect()
}

/// The names of the columns that pandas marks as index. It writes
/// `{"index_columns": ["__index_level_0__"], …}`; an index that is a range has no column.
fn pandas_indexes(metadata: &str) -> Vec<String> {
    let Some((_, rest)) = metadata.split_once("\"index_columns\":") else { return Vec::new() };
    let Some(list) = rest.trim_start().strip_prefix('[').and_then(|l| l.split(']').next()) else {
        return Vec::new();
    };
    if list.trim_start().starts_with('{') {
        return Vec::new();
    }
    list.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect()
}

/// The rows of one batch, with the state that types and messages need.
pub(crate) struct Rows<'a> {
    pub(crate) file: &'a str,
    pub(crate) first_row: u64,
    pub(crate) options: &'a EdgeOptions,
    /// Positions of the columns in the caller's table, for messages.
    pub(crate) at: Positions,
}

/// Values of a column that are not valid vertices.
#[derive(Default)]
struct Unfit {
    count: u64,
    /// The first ones, with their rows.
    first: Vec<(usize, InputError)>,
}

impl Unfit {
    fn add(&mut self, row: usize, error: impl FnOnce() -> InputError) {
        self.count += 1;
        if self.first.len() < SKIPPED_KEPT_MAX {
            self.first.push((row, error()));
        }
    }
}

/// A column of integers, widened to 64 bits where needed.
enum Integers<'a> {
    Signed(Cow<'a, [i64]>),
    Unsigned(Cow<'a, [u64]>),
}

impl Rows<'_> {
    /// Reads source, target and weight columns of equal length.
    pub(crate) fn read(
        &self,
        source: &dyn Array,
        target: &dyn Array,
        weight: Option<&dyn Array>,
        out: &mut EdgeChunk,
    ) -> Result<(), InputError> {
        out.reset(self.options.weight);
        if source.is_empty() {
            return Ok(());
        }
        let (from, to) = (self.at.source, self.at.target);
        let kind = match self.options.vertex {
            VertexType::U64 => DataType::UInt64,
            VertexType::I64 => DataType::Int64,
            VertexType::Str => DataType::Utf8,
        };
        let (source, target) = (plain(source, &kind), plain(target, &kind));
        let (source, target) = (source.as_ref(), target.as_ref());
        let mut unfit = [Unfit::default(), Unfit::default()];
        if self.options.vertex == VertexType::Str {
            self.texts(source, from, &mut out.src_str, &mut unfit[0])?;
            self.texts(target, to, &mut out.dst_str, &mut unfit[1])?;
        } else {
            self.words(source, from, &mut out.src, &mut unfit[0])?;
            self.words(target, to, &mut out.dst, &mut unfit[1])?;
        }
        let unfit_count = unfit.iter().map(|of| of.count).sum();
        if unfit_count > 0 {
            let mut first: Vec<_> = unfit.into_iter().flat_map(|of| of.first).collect();
            // The sort is stable: sources come before targets of the same row.
            first.sort_by_key(|(row, _)| *row);
            out.reset(self.options.weight);
            out.unfit = first.into_iter().map(|(_, error)| error).take(SKIPPED_KEPT_MAX).collect();
            out.unfit_count = unfit_count;
            return Ok(());
        }
        if let (Some(weight), Some(column)) = (weight, self.at.weight) {
            let nulls = match &mut out.weights {
                Weights::None => None,
                Weights::Float(weights) => {
                    let weight = plain(weight, &DataType::Float64);
                    self.floats(&weight, column, weights)?;
                    weight.logical_nulls()
                }
                Weights::Int(weights) => {
                    let weight = plain(weight, &DataType::Int64);
                    self.ints(&weight, column, weights)?;
                    weight.logical_nulls()
                }
            };
            if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
                let rows: Vec<_> = (0..nulls.len()).filter(|&i| nulls.is_null(i)).collect();
                let (row, column) = (self.first_row, column_number(column));
                out.note_missing(self.file, row, column, &rows, self.options.missing);
            }
        }
        out.fill_weights(self.options.default_weight);
        Ok(())
    }

    /// The value of a weight that is null. An edge that does not get one is left out afterwards.
    fn weight_of_null(&self) -> f64 {
        match self.options.missing {
            Missing::Weight(weight) => weight,
            Missing::Fail | Missing::Skip => self.options.default_weight,
        }
    }

    fn words(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut Vec<u64>,
        unfit: &mut Unfit,
    ) -> Result<(), InputError> {
        if array.data_type().is_floating() {
            return self.whole_numbers(array, column, out, unfit);
        }
        let signed = self.options.vertex == VertexType::I64;
        let Some(integers) = integers(array) else {
            let expected = if signed { "integers" } else { "unsigned integers" };
            return Err(self.wrong_type(expected, array, column));
        };
        match (&integers, signed) {
            (Integers::Unsigned(values), false) => out.extend_from_slice(values),
            (Integers::Signed(values), true) => out.extend(values.iter().map(|&v| i64_to_word(v))),
            (Integers::Signed(values), false) => out.extend(values.iter().map(|&v| v as u64)),
            (Integers::Unsigned(values), true) => {
                out.extend(values.iter().map(|&v| i64_to_word(v as i64)));
            }
        }
        let is_fit = |row: usize| match &integers {
            Integers::Signed(values) => signed || values[row] >= 0,
            Integers::Unsigned(values) => !signed || i64::try_from(values[row]).is_ok(),
        };
        let found = |row: usize| match &integers {
            Integers::Signed(values) => values[row].to_string(),
            Integers::Unsigned(values) => values[row].to_string(),
        };
        let expected = if signed { "an integer below 2^63" } else { "an unsigned integer" };
        self.count_unfit(array, column, unfit, expected, is_fit, found);
        Ok(())
    }

    /// Reads floats that are whole numbers. Other libraries store integers as floats where values
    /// are missing.
    fn whole_numbers(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut Vec<u64>,
        unfit: &mut Unfit,
    ) -> Result<(), InputError> {
        let floats = arrow_cast::cast(array, &DataType::Float64)
            .map_err(|_| self.wrong_type("integers", array, column))?;
        let floats = floats.as_primitive::<Float64Type>();
        let (max, bits) = whole_max(array.data_type());
        let signed = self.options.vertex == VertexType::I64;
        let word = |value: &f64| match signed {
            true => i64_to_word(*value as i64),
            false => *value as u64,
        };
        out.extend(floats.values().iter().map(word));
        let (min, from) = match signed {
            true => (-max, format!("-2^{bits}")),
            false => (0.0, "0".to_owned()),
        };
        let is_whole = |row: usize| {
            let value = floats.value(row);
            value.trunc() == value && (min..=max).contains(&value)
        };
        let found = |row: usize| floats.value(row).to_string();
        let expected = format!("a whole number from {from} to 2^{bits}");
        self.count_unfit(floats, column, unfit, &expected, is_whole, found);
        Ok(())
    }

    /// Counts the nulls of a column, and its values that are no vertices.
    fn count_unfit(
        &self,
        array: &dyn Array,
        column: usize,
        unfit: &mut Unfit,
        expected: &str,
        is_fit: impl Fn(usize) -> bool,
        found: impl Fn(usize) -> String,
    ) {
        // Logical nulls, because a dictionary may have nulls among its values.
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        if nulls.is_none() && (0..array.len()).all(&is_fit) {
            return;
        }
        for row in 0..array.len() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                unfit.add(row, || self.bad(row, column, "a vertex", "null".to_owned()));
            } else if !is_fit(row) {
                unfit.add(row, || self.bad(row, column, expected, found(row)));
            }
        }
    }

    fn texts(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut StrColumn,
        unfit: &mut Unfit,
    ) -> Result<(), InputError> {
        let (values, keys) = match array.as_any_dictionary_opt() {
            Some(dictionary) => (dictionary.values().as_ref(), Some(dictionary)),
            None => (array, None),
        };
        if !matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        {
            return Err(self.wrong_type("strings", array, column));
        }
        self.count_unfit(array, column, unfit, "a vertex", |_| true, |_| String::new());
        if unfit.count > 0 {
            return Ok(());
        }
        // Without nulls and with at least one row the dictionary has at least one value.
        let keys = keys.map(|dictionary| dictionary.normalized_keys());
        let index = |row: usize| keys.as_ref().map_or(row, |keys| keys[row]);
        let rows = 0..array.len();
        match values.data_type() {
            DataType::Utf8 => {
                let values = values.as_string::<i32>();
                rows.for_each(|row| out.push(values.value(index(row))));
            }
            DataType::LargeUtf8 => {
                let values = values.as_string::<i64>();
                rows.for_each(|row| out.push(values.value(index(row))));
            }
            _ => {
                let values = values.as_string_view();
                rows.for_each(|row| out.push(values.value(index(row))));
            }
        }
        Ok(())
    }

    fn floats(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut Vec<f64>,
    ) -> Result<(), InputError> {
        match (array.data_type(), integers(array)) {
            (_, Some(Integers::Signed(values))) => out.extend(values.iter().map(|&v| v as f64)),
            (_, Some(Integers::Unsigned(values))) => out.extend(values.iter().map(|&v| v as f64)),
            (DataType::Float64, _) => {
                out.extend_from_slice(array.as_primitive::<Float64Type>().values());
            }
            (DataType::Float32, _) => {
                let values = array.as_primitive::<Float32Type>().values();
                out.extend(values.iter().map(|&v| f64::from(v)));
            }
            (DataType::Float16, _) => {
                let values = array.as_primitive::<Float16Type>().values();
                out.extend(values.iter().map(|&v| f64::from(v)));
            }
            _ => return Err(self.wrong_type("numbers", array, column)),
        }
        fill_nulls(array, out, self.weight_of_null());
        Ok(())
    }

    fn ints(&self, array: &dyn Array, column: usize, out: &mut Vec<i64>) -> Result<(), InputError> {
        match integers(array) {
            Some(Integers::Signed(values)) => out.extend_from_slice(&values),
            Some(Integers::Unsigned(values)) => {
                let valid = |row: usize| array.is_valid(row);
                let bad =
                    (0..values.len()).find(|&i| i64::try_from(values[i]).is_err() && valid(i));
                if let Some(row) = bad {
                    let found = values[row].to_string();
                    return Err(self.bad(row, column, "an integer below 2^63", found));
                }
                out.extend(values.iter().map(|&v| v as i64));
            }
            None => {
                let error = self.wrong_type("integers", array, column);
                return Err(error.hint("for decimal weights use float weights"));
            }
        }
        fill_nulls(array, out, self.weight_of_null() as i64);
        Ok(())
    }

    fn bad(&self, row: usize, column: usize, expected: &str, found: String) -> InputError {
        let row = self.first_row + row as u64 + 1;
        InputError::whole(self.file, expected, found).at(Place::Row(row), column_number(column))
    }

    fn wrong_type(&self, expected: &str, array: &dyn Array, column: usize) -> InputError {
        let found = format!("type {}", array.data_type());
        let error = InputError::whole(self.file, expected, found);
        let error = error.at(Place::Whole, column_number(column));
        match (array.data_type(), self.options.vertex) {
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, vertex)
                if vertex != VertexType::Str && expected != "numbers" =>
            {
                error.hint("for names use text vertices (str)")
            }
            (kind, VertexType::Str) if kind.is_integer() || kind.is_floating() => {
                error.hint("for numbers use integer vertices (u64 or i64)")
            }
            _ => error,
        }
    }
}

/// The array in a layout that is read directly: decoded if it is a dictionary or runs, converted if
/// it is all null, or decimals, booleans or UUIDs that are wanted as `to`. What cannot be converted
/// stays as it is, and is then refused by its type.
fn plain(array: &dyn Array, to: &DataType) -> ArrayRef {
    let converted: Option<ArrayRef> = match (array.data_type(), to) {
        (DataType::Null, _) => Some(arrow_array::new_null_array(to, array.len())),
        (DataType::Dictionary(_, values), _) if !values.is_string() => {
            arrow_cast::cast(array, values).ok().map(|array| plain(&array, to))
        }
        (DataType::RunEndEncoded(_, values), _) => {
            let decoded = arrow_cast::cast(array, values.data_type()).ok();
            decoded.map(|array| plain(&array, to))
        }
        (DataType::Boolean, DataType::Int64 | DataType::Float64) => {
            arrow_cast::cast(array, to).ok()
        }
        (kind, DataType::Float64) if kind.is_decimal() => arrow_cast::cast(array, to).ok(),
        (
            DataType::Decimal32(_, 0)
            | DataType::Decimal64(_, 0)
            | DataType::Decimal128(_, 0)
            | DataType::Decimal256(_, 0),
            DataType::Int64 | DataType::UInt64,
        ) => {
            let exact = arrow_cast::CastOptions { safe: false, ..Default::default() };
            arrow_cast::cast_with_options(array, to, &exact).ok()
        }
        (DataType::FixedSizeBinary(16), DataType::Utf8) => Some(Arc::new(uuids(array))),
        _ => None,
    };
    converted.unwrap_or_else(|| array.slice(0, array.len()))
}

/// The largest number up to which every whole number is exact as a float of this type, and its
/// logarithm to base 2. A larger float may be a rounded value.
#[must_use]
pub fn whole_max(of: &DataType) -> (f64, u32) {
    let bits = match of {
        DataType::Float16 => 11,
        DataType::Float32 => f32::MANTISSA_DIGITS,
        _ => f64::MANTISSA_DIGITS,
    };
    ((1_u64 << bits) as f64, bits)
}

/// UUIDs as text.
fn uuids(array: &dyn Array) -> StringArray {
    let values = array.as_fixed_size_binary();
    let text = |bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
    };
    values.iter().map(|bytes| bytes.map(text)).collect()
}

fn column_number(column: usize) -> u32 {
    u32::try_from(column + 1).unwrap_or(u32::MAX)
}

fn fill_nulls<T: Copy>(array: &dyn Array, out: &mut [T], value: T) {
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        for (row, slot) in out.iter_mut().enumerate() {
            if nulls.is_null(row) {
                *slot = value;
            }
        }
    }
}

fn integers(array: &dyn Array) -> Option<Integers<'_>> {
    macro_rules! widened {
        ($kind:ty, $wide:ty) => {
            array.as_primitive::<$kind>().values().iter().map(|&v| <$wide>::from(v)).collect()
        };
    }
    Some(match array.data_type() {
        DataType::Int64 => {
            Integers::Signed(Cow::Borrowed(array.as_primitive::<Int64Type>().values()))
        }
        DataType::UInt64 => {
            Integers::Unsigned(Cow::Borrowed(array.as_primitive::<UInt64Type>().values()))
        }
        DataType::Int32 => Integers::Signed(widened!(Int32Type, i64)),
        DataType::Int16 => Integers::Signed(widened!(Int16Type, i64)),
        DataType::Int8 => Integers::Signed(widened!(Int8Type, i64)),
        DataType::UInt32 => Integers::Unsigned(widened!(UInt32Type, u64)),
        DataType::UInt16 => Integers::Unsigned(widened!(UInt16Type, u64)),
        DataType::UInt8 => Integers::Unsigned(widened!(UInt8Type, u64)),
        _ => return None,
    })
}

/// The Arrow schema of edges: `source`, `target` and, with weights, `weight`. Vertices are
/// `UInt64`, `Int64` or `LargeUtf8`, weights `Float64` or `Int64`; there are no nulls.
pub fn schema(vertex: VertexType, weight: WeightType) -> SchemaRef {
    let vertices = match vertex {
        VertexType::U64 => DataType::UInt64,
        VertexType::I64 => DataType::Int64,
        VertexType::Str => DataType::LargeUtf8,
    };
    let mut fields =
        vec![Field::new("source", vertices.clone(), false), Field::new("target", vertices, false)];
    match weight {
        WeightType::None => {}
        WeightType::Float => fields.push(Field::new("weight", DataType::Float64, false)),
        WeightType::Int => fields.push(Field::new("weight", DataType::Int64, false)),
    }
    Arc::new(Schema::new(fields))
}

/// The edges of a chunk as a batch of [`schema`].
///
/// # Errors
/// The chunk's columns are not of these types, or not of one length.
pub fn to_batch(
    chunk: &EdgeChunk,
    vertex: VertexType,
    weight: WeightType,
) -> Result<RecordBatch, InputError> {
    let vertices = |words: &[u64], texts: &StrColumn| -> ArrayRef {
        match vertex {
            VertexType::U64 => Arc::new(UInt64Array::from(words.to_vec())),
            VertexType::I64 => {
                Arc::new(words.iter().map(|&w| word_to_i64(w)).collect::<Int64Array>())
            }
            VertexType::Str => Arc::new(LargeStringArray::from_iter_values(texts.iter())),
        }
    };
    let mut columns =
        vec![vertices(&chunk.src, &chunk.src_str), vertices(&chunk.dst, &chunk.dst_str)];
    match &chunk.weights {
        _ if weight == WeightType::None => {}
        Weights::None => {}
        Weights::Float(weights) => columns.push(Arc::new(Float64Array::from(weights.clone()))),
        Weights::Int(weights) => columns.push(Arc::new(Int64Array::from(weights.clone()))),
    }
    RecordBatch::try_new(schema(vertex, weight), columns).map_err(|error| {
        InputError::whole(
            "edges",
            "columns of one length and of the declared types",
            show(error.to_string().as_bytes()),
        )
    })
}
