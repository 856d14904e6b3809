//! Tables of values as columns (data frames): rows that a program passes to the query engine or
//! gets from it, as through the Python module. A column whose values have one kind is a vector of
//! that kind, not of [`Value`].

use crate::types::Type;
use crate::value::Value;
use base::{BytesColumn, Validity};
use std::collections::BTreeSet;
use std::fmt;

/// Named columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    names: Vec<String>,
    columns: Vec<Series>,
    rows: usize,
}

/// Why columns or rows do not make a [`Frame`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameError(String);

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FrameError {}

/// Values of one column.
#[derive(Clone, Debug)]
pub struct Series {
    /// The values, with fillers for nulls.
    pub values: Values,
    /// Which rows are not null. Not used for [`Values::Any`] and [`Values::Null`], which hold their
    /// nulls themselves.
    pub valid: Validity,
}

/// Values of one kind, or of mixed kinds.
#[derive(Clone, Debug)]
pub enum Values {
    /// Only nulls: their number.
    Null(usize),
    /// Booleans.
    Bool(Vec<bool>),
    /// Integers.
    Int(Vec<i64>),
    /// Integers that are not negative. Some may be above `i64::MAX`.
    Id(Vec<u64>),
    /// Floats.
    Float(Vec<f64>),
    /// UTF-8 strings.
    Str(BytesColumn),
    /// Byte strings.
    Bytes(BytesColumn),
    /// Values of mixed kinds, nulls included.
    Any(Vec<Value>),
}

impl Frame {
    /// A frame from named columns.
    ///
    /// # Errors
    /// The numbers of names and columns differ, a name occurs twice, or lengths differ.
    pub fn new(names: Vec<String>, columns: Vec<Series>) -> Result<Self, FrameError> {
        if names.len() != columns.len() {
            let what = format!("{} names for {} columns", names.len(), columns.len());
            return Err(FrameError(what));
        }
        check_names(&names)?;
        let rows = columns.first().map_or(0, Series::len);
        for (name, column) in names.iter().zip(&columns) {
            if column.len() != rows {
                let what =
                    format!("column `{name}` has {} rows, the first has {rows}", column.len());
                return Err(FrameError(what));
            }
        }
        Ok(Self { names, columns, rows })
    }

    /// A frame from rows of values. Its columns are [`Values::Any`].
    ///
    /// # Errors
    /// The number of values in a row is not the number of names, or a name occurs twice.
    pub fn of_rows(names: Vec<String>, rows: Vec<Vec<Value>>) -> Result<Self, FrameError> {
        check_names(&names)?;
        let count = rows.len();
        let mut columns: Vec<Vec<Value>> =
            names.iter().map(|_| Vec::with_capacity(count)).collect();
        for (place, row) in rows.into_iter().enumerate() {
            if row.len() != names.len() {
                let what = format!("row {place} has {} values for {}", row.len(), names.len());
                return Err(FrameError(format!("{what} columns")));
            }
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        Ok(Self { names, columns: columns.into_iter().map(Series::from).collect(), rows: count })
    }

    /// Names of the columns, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns, in the order of [`Frame::names`].
    #[must_use]
    pub fn columns(&self) -> &[Series] {
        &self.columns
    }

    /// Takes the columns out of the frame.
    #[must_use]
    pub fn into_columns(self) -> Vec<Series> {
        self.columns
    }

    /// The column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Series> {
        self.names.iter().position(|one| one == name).map(|place| &self.columns[place])
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends the rows of a frame with the same column names in the same order. A frame with other
    /// names is ignored.
    pub fn append(&mut self, more: Self) {
        if self.names != more.names {
            return;
        }
        self.rows += more.rows;
        self.columns.iter_mut().zip(more.columns).for_each(|(column, more)| column.append(more));
    }

    /// Values of a row, one for each column; nulls if there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|column| column.value(row)).collect()
    }

    /// Iterates over all rows, as [`Frame::row`].
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> {
        (0..self.len()).map(|row| self.row(row))
    }
}

fn check_names(names: &[String]) -> Result<(), FrameError> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(FrameError(format!("two columns are named `{name}`"))),
        None => Ok(()),
    }
}

impl Series {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Null(rows) => *rows,
            Values::Bool(values) => values.len(),
            Values::Int(values) => values.len(),
            Values::Id(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Str(values) | Values::Bytes(values) => values.len(),
            Values::Any(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An empty column for values of this type.
    #[must_use]
    pub fn of_type(of: &Type) -> Self {
        Self::from(match of.without_null() {
            Type::Bool => Values::Bool(Vec::new()),
            Type::Int => Values::Int(Vec::new()),
            Type::Id => Values::Id(Vec::new()),
            Type::Float => Values::Float(Vec::new()),
            Type::String => Values::Str(BytesColumn::default()),
            Type::Bytes => Values::Bytes(BytesColumn::default()),
            _ => Values::Any(Vec::new()),
        })
    }

    /// Appends a value. A value of another kind turns the column into [`Values::Any`].
    pub fn push(&mut self, value: Value) {
        let row = self.len();
        let is_there = value != Value::Null;
        match (&mut self.values, value) {
            (Values::Any(values), value) => return values.push(value),
            (Values::Null(rows), Value::Null) => return *rows += 1,
            (Values::Bool(values), Value::Bool(value)) => values.push(value),
            (Values::Bool(values), Value::Null) => values.push(false),
            (Values::Int(values), Value::Int(value)) => values.push(value),
            (Values::Int(values), Value::Null) => values.push(0),
            (Values::Id(values), Value::Id(value)) => values.push(value),
            (Values::Id(values), Value::Int(value)) if value >= 0 => {
                values.push(value.cast_unsigned());
            }
            (Values::Id(values), Value::Null) => values.push(0),
            (Values::Float(values), Value::Float(value)) => values.push(value),
            (Values::Float(values), Value::Null) => values.push(0.0),
            (Values::Str(values), Value::Str(text)) => values.push(Some(text.as_bytes())),
            (Values::Bytes(values), Value::Bytes(bytes)) => values.push(Some(&bytes)),
            (Values::Str(values) | Values::Bytes(values), Value::Null) => values.push(None),
            (_, value) => {
                let mut values: Vec<Value> = (0..row).map(|row| self.value(row)).collect();
                values.push(value);
                *self = values.into();
                return;
            }
        }
        self.valid.push(row, is_there);
    }

    /// Appends all rows of another column. If it has values of another kind, this one becomes
    /// [`Values::Any`].
    pub fn append(&mut self, more: Self) {
        let (before, rows) = (self.len(), more.len());
        if before == 0 {
            *self = more;
            return;
        }
        match (&mut self.values, more.values) {
            (Values::Bool(all), Values::Bool(mut more)) => all.append(&mut more),
            (Values::Int(all), Values::Int(mut more)) => all.append(&mut more),
            (Values::Id(all), Values::Id(mut more)) => all.append(&mut more),
            (Values::Float(all), Values::Float(mut more)) => all.append(&mut more),
            (Values::Str(all), Values::Str(more)) | (Values::Bytes(all), Values::Bytes(more)) => {
                all.append(&more, 0..rows);
            }
            (Values::Any(all), Values::Any(mut more)) => all.append(&mut more),
            (_, values) => {
                let more = Self { values, valid: more.valid };
                (0..rows).for_each(|row| self.push(more.value(row)));
                return;
            }
        }
        if self.valid.0.is_some() || more.valid.0.is_some() {
            self.valid.extend(before, rows, |row| more.valid.bits(row));
        }
    }

    /// These rows, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        let of = |row: &u32| *row as usize;
        let values = match &self.values {
            Values::Null(_) => Values::Null(rows.len()),
            Values::Bool(all) => Values::Bool(rows.iter().map(|row| all[of(row)]).collect()),
            Values::Int(all) => Values::Int(rows.iter().map(|row| all[of(row)]).collect()),
            Values::Id(all) => Values::Id(rows.iter().map(|row| all[of(row)]).collect()),
            Values::Float(all) => Values::Float(rows.iter().map(|row| all[of(row)]).collect()),
            Values::Str(all) => Values::Str(all.gather(rows)),
            Values::Bytes(all) => Values::Bytes(all.gather(rows)),
            Values::Any(all) => Values::Any(rows.iter().map(|row| all[of(row)].clone()).collect()),
        };
        Self { values, valid: self.valid.gather(rows) }
    }

    /// The value of a row; null if there is no such row, or if its string is not UTF-8.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        if !self.valid.is_valid(row) || row >= self.len() {
            return Value::Null;
        }
        match &self.values {
            Values::Null(_) => Value::Null,
            Values::Bool(values) => Value::Bool(values[row]),
            Values::Int(values) => Value::Int(values[row]),
            Values::Id(values) => Value::id(values[row]),
            Values::Float(values) => Value::Float(values[row]),
            Values::Str(texts) => match str::from_utf8(texts.get(row)) {
                Ok(text) => Value::Str(text.to_owned()),
                Err(_) => Value::Null,
            },
            Values::Bytes(bytes) => Value::Bytes(bytes.get(row).to_vec()),
            Values::Any(values) => values[row].clone(),
        }
    }
}

impl From<Vec<Value>> for Series {
    fn from(values: Vec<Value>) -> Self {
        Values::Any(values).into()
    }
}

impl From<Values> for Series {
    fn from(values: Values) -> Self {
        Self { values, valid: Validity::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (-2_i64..5).prop_map(Value::Int),
            any::<u64>().prop_map(Value::id),
            (-2_i32..5).prop_map(|float| Value::Float(f64::from(float))),
            "[ab]{0,2}".prop_map(Value::Str),
            prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::Bytes),
        ]
    }

    proptest! {
        #[test]
        fn what_is_pushed_is_there(
            values in prop::collection::vec(value(), 0..80),
            more in prop::collection::vec(value(), 0..3),
            kind in 0..7_usize,
        ) {
            let of = [Type::Any, Type::Bool, Type::Int, Type::Id, Type::Float, Type::String, Type::Bytes];
            let mut series = Series::of_type(&of[kind]);
            let is_its = |value: &Value| *value == Value::Null || of[kind].coerce(value.clone()).as_ref() == Ok(value);
            let mut all: Vec<Value> = values.into_iter().filter(is_its).collect();
            all.extend(more);
            all.iter().for_each(|value| series.push(value.clone()));
            prop_assert_eq!(series.len(), all.len());
            let found: Vec<Value> = (0..all.len()).map(|row| series.value(row)).collect();
            prop_assert_eq!(found, all);
        }
    }

    #[test]
    fn a_frame_is_even_and_names_each_column_once() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let rows = vec![vec![Value::Int(1), Value::Null], vec![Value::Int(2)]];
        let uneven = Frame::of_rows(names(&["a", "b"]), rows).unwrap_err();
        assert_eq!(uneven.to_string(), "row 1 has 1 values for 2 columns");
        let twice = Frame::of_rows(names(&["a", "a"]), Vec::new()).unwrap_err();
        assert_eq!(twice.to_string(), "two columns are named `a`");
        let columns = vec![Values::Null(2).into(), Values::Int(vec![1]).into()];
        let lengths = Frame::new(names(&["a", "b"]), columns).unwrap_err();
        assert_eq!(lengths.to_string(), "column `b` has 1 rows, the first has 2");
        let int = |int| Values::Int(vec![int]).into();
        let mut frame = Frame::new(names(&["a"]), vec![int(1)]).unwrap();
        frame.append(Frame::new(names(&["a"]), vec![int(2)]).unwrap());
        frame.append(Frame::of_rows(names(&["a"]), vec![vec![Value::Null]]).unwrap());
        assert_eq!(
            frame.rows().collect::<Vec<_>>(),
            [[Value::Int(1)], [Value::Int(2)], [Value::Null]]
        );
        assert_eq!(frame.len(), 3);
    }
}
