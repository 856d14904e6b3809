//! Reads edges from Arrow record batches, and writes them as batches.
//!
//! Columns are found as in text (`columns.rs`): those that the caller names, else those with
//! well-known names, else by position if there are no other columns. Types are never guessed.
//! Integers of any width are accepted as integer vertices, strings of any layout as string
//! vertices. Anything else is an error that says what to do.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch, UInt64Array,
    cast::AsArray, types::*,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{
    EdgeChunk, InputError, StrColumn, Weights,
    columns::{self, Positions},
    error::{Place, show},
    i64_to_word,
    options::{EdgeOptions, VertexType, WeightType},
    word_to_i64,
};

/// Reads the edges of a batch into `out`, which is emptied first.
///
/// `file` and `first_row` (the number of rows before this batch) are for messages. A null weight
/// becomes the default weight.
///
/// # Errors
/// The columns cannot be found or have other types, or a row has a null or negative vertex, a
/// weight that is not finite, or an integer out of range. The message names the row.
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
    let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    columns::resolve(file, Some(&names), names.len(), options)
}

/// The rows of one batch, with what is needed for types and messages.
pub(crate) struct Rows<'a> {
    pub(crate) file: &'a str,
    pub(crate) first_row: u64,
    pub(crate) options: &'a EdgeOptions,
    /// Positions of the columns in the caller's table, for messages.
    pub(crate) at: Positions,
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
        if self.options.vertex == VertexType::Str {
            self.texts(source, from, &mut out.src_str)?;
            self.texts(target, to, &mut out.dst_str)?;
        } else {
            self.words(source, from, &mut out.src)?;
            self.words(target, to, &mut out.dst)?;
        }
        if let (Some(weight), Some(column)) = (weight, self.at.weight) {
            match &mut out.weights {
                Weights::None => {}
                Weights::Float(weights) => self.floats(weight, column, weights)?,
                Weights::Int(weights) => self.ints(weight, column, weights)?,
            }
        }
        out.fill_weights(self.options.default_weight);
        Ok(())
    }

    fn words(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut Vec<u64>,
    ) -> Result<(), InputError> {
        let signed = self.options.vertex == VertexType::I64;
        let expected = if signed { "integers" } else { "unsigned integers" };
        let Some(integers) = integers(array) else {
            return Err(self.wrong_type(expected, array, column));
        };
        self.no_nulls(array, column)?;
        let bad = match (&integers, signed) {
            (Integers::Unsigned(values), false) => {
                out.extend_from_slice(values);
                None
            }
            (Integers::Signed(values), true) => {
                out.extend(values.iter().map(|&v| i64_to_word(v)));
                None
            }
            (Integers::Signed(values), false) => {
                out.extend(values.iter().map(|&v| v as u64));
                let bad = values.iter().position(|&v| v < 0);
                bad.map(|row| (row, "an unsigned integer", values[row].to_string()))
            }
            (Integers::Unsigned(values), true) => {
                out.extend(values.iter().map(|&v| i64_to_word(v as i64)));
                let bad = values.iter().position(|&v| i64::try_from(v).is_err());
                bad.map(|row| (row, "an integer below 2^63", values[row].to_string()))
            }
        };
        match bad {
            None => Ok(()),
            Some((row, expected, found)) => Err(self.bad(row, column, expected, found)),
        }
    }

    fn texts(
        &self,
        array: &dyn Array,
        column: usize,
        out: &mut StrColumn,
    ) -> Result<(), InputError> {
        let (values, keys) = match array.as_any_dictionary_opt() {
            Some(dictionary) => (dictionary.values().as_ref(), Some(dictionary)),
            None => (array, None),
        };
        if !matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        {
            return Err(self.wrong_type("strings", array, column));
        }
        self.no_nulls(array, column)?;
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
        fill_nulls(array, out, self.options.default_weight);
        match out.iter().position(|weight| !weight.is_finite()) {
            None => Ok(()),
            Some(row) => {
                let found = out[row].to_string();
                Err(self
                    .bad(row, column, "a finite number", found)
                    .hint("make it null to give the edge the default weight"))
            }
        }
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
        fill_nulls(array, out, self.options.default_weight as i64);
        Ok(())
    }

    fn no_nulls(&self, array: &dyn Array, column: usize) -> Result<(), InputError> {
        // Logical nulls, because a dictionary may have nulls among its values.
        let row =
            array.logical_nulls().and_then(|nulls| (0..nulls.len()).find(|&i| nulls.is_null(i)));
        match row {
            None => Ok(()),
            Some(row) => Err(self.bad(row, column, "a vertex", "null".to_owned())),
        }
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
            (kind, VertexType::Str) if kind.is_integer() => {
                error.hint("for numbers use integer vertices (u64 or i64)")
            }
            (kind, _) if kind.is_floating() => error.hint("cast the column to integers"),
            _ => error,
        }
    }
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

#[cfg(test)]
mod tests {
    use arrow_array::{
        BooleanArray, DictionaryArray, Float32Array, Int8Array, Int32Array, StringArray,
        StringViewArray, UInt16Array,
    };

    use super::*;
    use crate::{ColumnRef, Columns};

    const U64: VertexType = VertexType::U64;
    const I64: VertexType = VertexType::I64;
    const STR: VertexType = VertexType::Str;

    fn read(
        columns: Vec<(&str, ArrayRef)>,
        vertex: VertexType,
        weight: WeightType,
        picked: Option<Columns>,
    ) -> Result<Vec<String>, String> {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let options = EdgeOptions { columns: picked, vertex, weight, default_weight: 9.0 };
        let mut out = EdgeChunk::default();
        read_batch(&batch, "table", 100, &options, &mut out).map_err(|e| e.to_string())?;
        Ok((0..out.len()).map(|i| out.describe(i, vertex).unwrap()).collect())
    }

    #[test]
    fn integers_of_any_width_are_vertices_and_weights() {
        let columns = || -> Vec<(&str, ArrayRef)> {
            vec![
                ("dst", Arc::new(Int8Array::from(vec![1, 2]))),
                ("w", Arc::new(Float32Array::from(vec![Some(0.5), None]))),
                ("SRC", Arc::new(UInt16Array::from(vec![3, 65535]))),
            ]
        };
        assert_eq!(
            read(columns(), U64, WeightType::Float, None).unwrap(),
            ["3 1 0.5", "65535 2 9.0"]
        );
        assert_eq!(
            read(columns(), I64, WeightType::Float, None).unwrap(),
            ["3 1 0.5", "65535 2 9.0"]
        );
        let ints: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(Int32Array::from(vec![-1]))),
            ("b", Arc::new(Int64Array::from(vec![i64::MIN]))),
            ("c", Arc::new(UInt64Array::from(vec![None]))),
        ];
        assert_eq!(read(ints, I64, WeightType::Int, None).unwrap(), ["-1 -9223372036854775808 9"]);
    }

    #[test]
    fn strings_of_any_layout_are_vertices() {
        let dictionary: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
        let view = StringViewArray::from(vec!["a", "a longer string than twelve bytes", ""]);
        let columns: Vec<(&str, ArrayRef)> =
            vec![("u", Arc::new(dictionary)), ("v", Arc::new(view))];
        assert_eq!(
            read(columns, STR, WeightType::None, None).unwrap(),
            ["\"x\" \"a\"", "\"y\" \"a longer string than twelve bytes\"", "\"x\" \"\""]
        );
    }

    #[test]
    fn a_bad_row_is_named() {
        let good = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2])) };
        let of = |array: ArrayRef, vertex| {
            read(vec![("a", good()), ("b", array)], vertex, WeightType::None, None).unwrap_err()
        };
        let null = of(Arc::new(Int64Array::from(vec![Some(1), None])), U64);
        assert_eq!(null, "table row 102, column 2: expected a vertex, found null");
        let negative = of(Arc::new(Int64Array::from(vec![-7, 1])), U64);
        assert_eq!(negative, "table row 101, column 2: expected an unsigned integer, found -7");
        let large = of(Arc::new(UInt64Array::from(vec![1, u64::MAX])), I64);
        assert!(large.starts_with("table row 102, column 2: expected an integer below 2^63"));
        let float = of(Arc::new(Float64Array::from(vec![1.0, 2.0])), U64);
        assert!(
            float.starts_with("table column 2: expected unsigned integers, found type Float64")
        );
        let text = of(Arc::new(StringArray::from(vec!["a", "b"])), U64);
        assert!(text.contains("hint: for names use text vertices"), "{text}");
        assert!(of(Arc::new(BooleanArray::from(vec![true, true])), U64).contains("Boolean"));
        assert!(of(good(), STR).contains("integer vertices"));
        let nan: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
        let nan =
            read(vec![("a", good()), ("b", good()), ("c", nan)], U64, WeightType::Float, None);
        assert!(nan.unwrap_err().starts_with("table row 102, column 3: expected a finite number"));
    }

    #[test]
    fn more_columns_than_an_edge_has_must_be_named() {
        let one = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
        let columns = || vec![("src", one()), ("dst", one()), ("weight", one()), ("at", one())];
        let error = read(columns(), U64, WeightType::Float, None).unwrap_err();
        assert!(error.contains("found 4 columns: \"src\", \"dst\", \"weight\", \"at\""), "{error}");
        let picked = Columns {
            source: ColumnRef::Name("dst".to_owned()),
            target: ColumnRef::Index(3),
            weight: None,
        };
        assert_eq!(read(columns(), U64, WeightType::Float, Some(picked)).unwrap(), ["1 1 9.0"]);
    }

    #[test]
    fn a_batch_made_of_edges_reads_back() {
        for vertex in [U64, I64] {
            let chunk = EdgeChunk {
                src: vec![0, u64::MAX],
                dst: vec![1 << 63, 7],
                weights: Weights::Int(vec![-1, i64::MAX]),
                ..EdgeChunk::default()
            };
            let batch = to_batch(&chunk, vertex, WeightType::Int).unwrap();
            let options = EdgeOptions { vertex, weight: WeightType::Int, ..EdgeOptions::default() };
            let mut out = EdgeChunk::default();
            read_batch(&batch, "table", 0, &options, &mut out).unwrap();
            assert_eq!(out, chunk);
        }
        assert!(
            to_batch(&EdgeChunk { src: vec![1], ..EdgeChunk::default() }, U64, WeightType::None)
                .is_err()
        );
    }
}
