//! Converts columns of values to the stored columns of a relation, and back.
//!
//! # Why not only [`Schema::append`]
//! A row at a time costs an allocation for the row and a match for each value. If a column already
//! holds values of its own kind, as most imported columns do, one loop makes its words, and strings
//! are copied from one heap to the other.

use crate::schema::{KeyColumn, Schema, ValueColumn, push};
use base::{Batch, Column, Keys, Projection, Validity};
use base::{float_to_word, int_to_word, word_to_float, word_to_int};
use model::{Frame, Series, Type, Value, Values, encode_str, encode_value};
use std::ops::Range;

/// The error of a value that does not fit its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnError {
    /// Its row in the given columns, from 0.
    pub row: usize,
    /// Number of its column, keys first.
    pub column: usize,
    /// The reason.
    pub why: String,
}

/// Converts a value to a column's type, or returns why that is impossible.
pub type Coerce<'c> = &'c dyn Fn(&Type, Value) -> Result<Value, String>;

impl Schema {
    /// Appends rows of columns to a batch of this shape. `columns` has an item for each column of
    /// the relation, keys first. For deletes, value columns may be missing; they are filled with
    /// fillers. `coerce` is called for values that are not of their column's kind.
    ///
    /// # Errors
    /// The first value that does not fit. The contents of the batch are then unspecified.
    pub fn append_columns(
        &self,
        columns: &[Option<&Series>],
        rows: Range<usize>,
        coerce: Coerce<'_>,
        out: &mut Batch,
    ) -> Result<(), ColumnError> {
        let column = |place: usize| columns.get(place).copied().flatten();
        match &mut out.keys {
            Keys::Words(words) => {
                for (place, (key, words)) in self.keys.iter().zip(words).enumerate() {
                    let Some(series) = column(place) else { continue };
                    append_words(&key.column_type, false, series, rows.clone(), coerce, &mut |w| {
                        words.push(w.unwrap_or_default());
                    })
                    .map_err(|(row, why)| ColumnError {
                        row,
                        column: place,
                        why,
                    })?;
                }
            }
            Keys::Bytes(bytes) => {
                let mut encoded = Vec::new();
                for row in rows.clone() {
                    encoded.clear();
                    for (place, key) in self.keys.iter().enumerate() {
                        let Some(series) = column(place) else { continue };
                        encode(&key.column_type, series, row, coerce, &mut encoded)
                            .map_err(|why| ColumnError { row, column: place, why })?;
                    }
                    bytes.push(Some(&encoded));
                }
            }
        }
        for (place, (value, out)) in self.values.iter().zip(&mut out.values).enumerate() {
            let place = self.keys.len() + place;
            let refused = |(row, why)| ColumnError { row, column: place, why };
            let of = &value.column_type;
            match (column(place), out) {
                (None, Column::Words(out)) => {
                    rows.clone().for_each(|_| out.push(Some(0)));
                }
                (None, Column::Bytes(out)) => rows.clone().for_each(|_| out.push(Some(&[]))),
                (Some(series), Column::Words(out)) => {
                    let mut take = |word| out.push(word);
                    append_words(of, value.nullable, series, rows.clone(), coerce, &mut take)
                        .map_err(refused)?;
                }
                (Some(series), out) => {
                    append_bytes(of, value.nullable, series, rows.clone(), coerce, out)
                        .map_err(refused)?;
                }
            }
        }
        out.rows += rows.len();
        Ok(())
    }
}

/// Decoding of stored columns.
impl Schema {
    /// All rows of a batch of this shape as columns, keys first. A column whose type has a kind in
    /// [`Values`] is returned as that kind, others as [`Values::Any`].
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if stored bytes do not encode a value of their column.
    pub fn frame(&self, rows: Batch) -> store::Result<Frame> {
        self.frame_of(rows, Projection::ALL)
    }

    /// As [`Schema::frame`], of rows that were read with this projection, which has all key columns
    /// or none. The columns that it left out are null.
    ///
    /// # Errors
    /// As [`Schema::frame`].
    pub fn frame_of(&self, rows: Batch, projection: Projection) -> store::Result<Frame> {
        let left_out = || Series::from(Values::Null(rows.rows));
        let mut columns = match projection.keys {
            0 => self.keys.iter().map(|_| left_out()).collect(),
            _ => self.key_columns(rows.keys)?,
        };
        for (place, (column, stored)) in self.values.iter().zip(rows.values).enumerate() {
            columns.push(match projection.value(place) {
                true => self.value_column(column, stored, rows.rows)?,
                false => left_out(),
            });
        }
        Frame::new(self.names().cloned().collect(), columns)
            .map_err(|error| self.no_value("", &error.to_string()))
    }

    fn no_value(&self, column: &str, why: &str) -> store::Error {
        let what = format!("column {column:?} of relation {:?} holds no value: {why}", self.name);
        store::Error::new(store::ErrorKind::Corruption, what)
    }

    fn key_columns(&self, keys: Keys) -> store::Result<Vec<Series>> {
        let bytes = match keys {
            Keys::Words(words) => {
                let series = |(key, words): (&KeyColumn, Vec<u64>)| {
                    of_words(&key.column_type, words, Validity::default())
                        .ok_or_else(|| self.no_value(&key.name, "not a word of its type"))
                };
                return self.keys.iter().zip(words).map(series).collect();
            }
            Keys::Bytes(bytes) => bytes,
        };
        let mut columns: Vec<Series> =
            self.keys.iter().map(|key| Series::of_type(&key.column_type)).collect();
        let first = &self.keys[0].name;
        for row in 0..bytes.len() {
            let values = model::decode_tuple(bytes.get(row))
                .map_err(|error| self.no_value(first, &error.to_string()))?;
            if values.len() != columns.len() {
                return Err(self.no_value(first, "the key has another number of columns"));
            }
            columns.iter_mut().zip(values).for_each(|(series, value)| series.push(value));
        }
        Ok(columns)
    }

    fn value_column(
        &self,
        column: &ValueColumn,
        stored: Column,
        rows: usize,
    ) -> store::Result<Series> {
        let wrong = |why: &str| self.no_value(&column.name, why);
        let of = &column.column_type;
        if !column.nullable && !stored_whole(&stored, rows) {
            return Err(wrong("it is null"));
        }
        Ok(match stored {
            Column::Words(words) => of_words(of, words.words, words.validity)
                .ok_or_else(|| wrong("not a word of its type"))?,
            Column::Bytes(texts) if *of == Type::String => {
                // Checked string by string: the heap may be valid UTF-8 although the boundary of
                // two strings splits a character.
                if (0..texts.len()).any(|row| str::from_utf8(texts.get(row)).is_err()) {
                    return Err(wrong("it is not UTF-8"));
                }
                let valid = texts.validity.clone();
                Series { values: Values::Str(texts), valid }
            }
            Column::Bytes(bytes) if *of == Type::Bytes => {
                let valid = bytes.validity.clone();
                Series { values: Values::Bytes(bytes), valid }
            }
            Column::Bytes(bytes) => {
                let mut values = Vec::with_capacity(bytes.len());
                for row in 0..bytes.len() {
                    let mut rest = bytes.get(row);
                    values.push(match bytes.validity.is_valid(row) {
                        false => Value::Null,
                        true => model::decode_value(&mut rest)
                            .map_err(|error| wrong(&error.to_string()))?,
                    });
                }
                values.into()
            }
        })
    }
}

fn stored_whole(column: &Column, rows: usize) -> bool {
    let validity = match column {
        Column::Words(words) => &words.validity,
        Column::Bytes(bytes) => &bytes.validity,
    };
    validity.0.is_none() || (0..rows).all(|row| validity.is_valid(row))
}

fn of_words(of: &Type, words: Vec<u64>, valid: Validity) -> Option<Series> {
    let values = match of {
        Type::Int => Values::Int(words.into_iter().map(word_to_int).collect()),
        Type::Id => Values::Id(words),
        Type::Float => Values::Float(words.into_iter().map(word_to_float).collect()),
        Type::Bool => Values::Bool(
            words
                .into_iter()
                .map(|word| (word <= 1).then_some(word == 1))
                .collect::<Option<_>>()?,
        ),
        _ => {
            let value = |(row, word)| match valid.is_valid(row) {
                true => model::value_of_word(of, word),
                false => Some(Value::Null),
            };
            let values: Option<_> = words.into_iter().enumerate().map(value).collect();
            return Some(Values::Any(values?).into());
        }
    };
    Some(Series { values, valid })
}

/// Converts rows of a one-word column; in one loop if the series has the column's kind.
fn append_words(
    of: &Type,
    nullable: bool,
    series: &Series,
    rows: Range<usize>,
    coerce: Coerce<'_>,
    take: &mut dyn FnMut(Option<u64>),
) -> Result<(), (usize, String)> {
    if series.valid.0.is_none() && rows.end <= series.len() {
        let rows = rows.clone();
        match (of, &series.values) {
            (Type::Int, Values::Int(ints)) => {
                ints[rows].iter().for_each(|&int| take(Some(int_to_word(int))));
                return Ok(());
            }
            (Type::Id, Values::Id(ids)) => {
                ids[rows].iter().for_each(|&id| take(Some(id)));
                return Ok(());
            }
            (Type::Float, Values::Float(floats)) => {
                // One positive NaN, which sorts above all numbers as in comparisons. Negative NaNs
                // would sort below them.
                let one_nan = |float: f64| if float.is_nan() { f64::NAN } else { float };
                floats[rows].iter().for_each(|&float| take(Some(float_to_word(one_nan(float)))));
                return Ok(());
            }
            (Type::Bool, Values::Bool(bools)) => {
                bools[rows].iter().for_each(|&bool| take(Some(u64::from(bool))));
                return Ok(());
            }
            _ => {}
        }
    }
    for row in rows {
        let value = series.value(row);
        if nullable && value == Value::Null {
            take(None);
            continue;
        }
        let value = coerce(of, value).map_err(|why| (row, why))?;
        take(model::word_of_value(of, &value));
    }
    Ok(())
}

/// Converts rows of a column that is stored as bytes.
fn append_bytes(
    of: &Type,
    nullable: bool,
    series: &Series,
    rows: Range<usize>,
    coerce: Coerce<'_>,
    out: &mut Column,
) -> Result<(), (usize, String)> {
    for row in rows {
        if let Column::Bytes(out) = out
            && series.valid.is_valid(row)
            && let (Type::String, Values::Str(texts)) | (Type::Bytes, Values::Bytes(texts)) =
                (of, &series.values)
            && row < texts.len()
        {
            let text = texts.get(row);
            if *of == Type::String && str::from_utf8(text).is_err() {
                return Err((row, "the text is not UTF-8".to_owned()));
            }
            out.push(Some(text));
            continue;
        }
        let value = series.value(row);
        if nullable && value == Value::Null {
            out.push_null();
            continue;
        }
        let value = coerce(of, value).map_err(|why| (row, why))?;
        push(of, &value, nullable, out);
    }
    Ok(())
}

/// Encodes one column of a byte-string key.
fn encode(
    of: &Type,
    series: &Series,
    row: usize,
    coerce: Coerce<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    if let (Type::String, Values::Str(texts)) = (of, &series.values)
        && series.valid.is_valid(row)
        && row < texts.len()
        && let Ok(text) = str::from_utf8(texts.get(row))
    {
        encode_str(text, out);
        return Ok(());
    }
    encode_value(&coerce(of, series.value(row))?, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::BytesColumn;
    use proptest::prelude::*;

    fn coerce(of: &Type, value: Value) -> Result<Value, String> {
        of.coerce(value).map_err(|error| error.to_string())
    }

    fn schema(key: Type) -> Schema {
        let nullable =
            |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
        Schema {
            name: "r".into(),
            keys: vec![KeyColumn::new("k", Type::Int), KeyColumn::new("l", key)],
            values: vec![
                ValueColumn::new("f", Type::Float),
                nullable("n", Type::Int),
                nullable("s", Type::String),
                ValueColumn::new("a", Type::Any),
            ],
        }
    }

    /// Typed columns, and a column of values of any kind.
    fn columns(
        rows: usize,
        seed: &[(i64, Option<i64>, Option<String>)],
        key: &Type,
    ) -> Vec<Series> {
        let row = |i: usize| &seed[i % seed.len()];
        let (mut valid, mut texts) = (Validity::default(), BytesColumn::default());
        for i in 0..rows {
            valid.push(i, row(i).1.is_some());
            texts.push(row(i).2.as_deref().map(str::as_bytes));
        }
        let text_valid = texts.validity.clone();
        let key: Series = match key {
            Type::String => {
                let mut keys = BytesColumn::default();
                (0..rows).for_each(|i| keys.push(Some(format!("k{}", row(i).0).as_bytes())));
                Values::Str(keys).into()
            }
            _ => Values::Int((0..rows).map(|i| row(i).0 / 2).collect()).into(),
        };
        vec![
            Values::Int((0..rows).map(|i| row(i).0).collect()).into(),
            key,
            Values::Int((0..rows).map(|i| row(i).0 / 3).collect()).into(),
            Series {
                values: Values::Int((0..rows).map(|i| row(i).1.unwrap_or(0)).collect()),
                valid,
            },
            Series { values: Values::Str(texts), valid: text_valid },
            (0..rows).map(|i| Value::List(vec![Value::Int(row(i).0)])).collect::<Vec<_>>().into(),
        ]
    }

    proptest! {
        #[test]
        fn columns_become_what_their_rows_become(
            rows in 0..130_usize,
            from in 0..70_usize,
            is_text in any::<bool>(),
            seed in prop::collection::vec((-9_i64..9, prop::option::of(-9_i64..9), prop::option::of("[a\0]{0,3}")), 1..9),
        ) {
            let key = if is_text { Type::String } else { Type::Int };
            let schema = schema(key.clone());
            let columns = columns(rows, &seed, &key);
            let (mut want, mut found) = (Batch::new(&schema.shape()), Batch::new(&schema.shape()));
            let from = from.min(rows);
            for row in from..rows {
                let values = columns.iter().map(|column| column.value(row)).collect();
                schema.append(values, &mut want).unwrap();
            }
            let given: Vec<Option<&Series>> = columns.iter().map(Some).collect();
            schema.append_columns(&given, from..rows, &coerce, &mut found).unwrap();
            prop_assert_eq!(&found, &want);
            let back = schema.frame(found).unwrap();
            for row in from..rows {
                prop_assert_eq!(back.row(row - from), schema.row(&want, row - from).unwrap());
            }
        }
    }

    #[test]
    fn a_value_that_is_refused_is_told_by_row_and_column() {
        let schema = schema(Type::String);
        let mut columns = columns(5, &[(1, None, None)], &Type::String);
        columns[2] = [1, 2, 3, 4, 5].map(Value::Int).to_vec().into();
        if let Values::Any(values) = &mut columns[2].values {
            values[3] = Value::Str("x".into());
        }
        let given: Vec<Option<&Series>> = columns.iter().map(Some).collect();
        let mut out = Batch::new(&schema.shape());
        let refused = schema.append_columns(&given, 1..5, &coerce, &mut out).unwrap_err();
        let why = "expected Float, found a String (\"x\")".to_owned();
        assert_eq!(refused, ColumnError { row: 3, column: 2, why });
    }
}
