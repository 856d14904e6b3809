//! Columns of a relation, the shape that the engine sees, and the conversion of rows of values to
//! the columns of a batch and back.
//!
//! # Invariants
//! 1. A key of 1 to 4 one-word columns is stored as those words. Any other key is one byte string
//!    (see [`encode_tuple`]). Both preserve the order of the columns' values.
//! 2. A value of a one-word type is stored as a word, a string or byte string as its bytes, and any
//!    other value encoded (see [`encode_value`]).

use crate::error::invalid;
use crate::json_path::JsonPath;
use base::{Batch, Column, ColumnShape, KeyShape, Keys, Merge, Shape, VALUES_MAX, WORDS_MAX};
use model::{Type, Value, decode_tuple, decode_value, encode_tuple, encode_value};
use store::{Error, ErrorKind, Result};

/// A key column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Unique among the relation's columns.
    pub name: String,
    /// Type of its values.
    pub column_type: Type,
    /// The value of rows that do not give one: the text of an expression of the query language.
    pub default: Option<String>,
    /// In an index: where the value is in a JSON column of the relation; `None` for a column of the
    /// relation.
    pub path: Option<JsonPath>,
    /// In a unique index: whether it is part of the unique key, whose columns come first.
    pub is_unique: bool,
}

/// A value column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueColumn {
    /// Unique among the relation's columns.
    pub name: String,
    /// Type of its values that are not null.
    pub column_type: Type,
    /// Whether it may be null.
    pub nullable: bool,
    /// How writes combine, for one-word types. `None`: the newest write replaces.
    pub merge: Option<Merge>,
    /// As [`KeyColumn::default`].
    pub default: Option<String>,
}

/// A relation's name and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Name of the relation.
    pub name: String,
    /// Columns that identify and order rows; at least one.
    pub keys: Vec<KeyColumn>,
    /// The other columns; at most [`VALUES_MAX`].
    pub values: Vec<ValueColumn>,
}

impl KeyColumn {
    /// A key column without a default and a path, and not of a unique index.
    #[must_use]
    pub fn new(name: impl Into<String>, column_type: Type) -> Self {
        Self { name: name.into(), column_type, default: None, path: None, is_unique: false }
    }
}

impl ValueColumn {
    /// A value column that is not nullable, has no default and is replaced by a write.
    #[must_use]
    pub fn new(name: impl Into<String>, column_type: Type) -> Self {
        Self { name: name.into(), column_type, nullable: false, merge: None, default: None }
    }

    /// Its type as scripts see it: nullable if the column is.
    #[must_use]
    pub fn shown_type(&self) -> Type {
        match self.nullable {
            true => Type::Nullable(Box::new(self.column_type.clone())),
            false => self.column_type.clone(),
        }
    }
}

impl Schema {
    /// Checks that the relation can be stored.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: there is no key column, there are more than [`VALUES_MAX`]
    /// value columns, a column name occurs twice, a type nests too deep, the type of a value column
    /// is itself nullable, or a merge operator does not fit its column.
    pub fn check(&self) -> Result<()> {
        let of = &self.name;
        if self.keys.is_empty() {
            return Err(invalid(format!("relation {of:?} has no key column")));
        }
        if self.values.len() > VALUES_MAX {
            let what = format!("relation {of:?} has more than {VALUES_MAX} value columns");
            return Err(invalid(what));
        }
        let mut names: Vec<_> = self.names().collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid(format!("relation {of:?} has two columns named {:?}", pair[0])));
        }
        let types = self.keys.iter().map(|c| &c.column_type);
        let mut types = types.chain(self.values.iter().map(|c| &c.column_type));
        if types.any(|of| depth(of) > TYPE_DEPTH_MAX) {
            return Err(invalid(format!("a type of relation {of:?} nests too deep")));
        }
        for column in &self.values {
            if matches!(column.column_type, Type::Nullable(_)) {
                return Err(invalid(format!(
                    "column {:?} of relation {of:?} says in its type that it may be null\n\
                     hint: say it of the column",
                    column.name
                )));
            }
            let fits = match column.merge {
                None => true,
                Some(Merge::AddInt) => column.column_type == Type::Int,
                Some(Merge::AddFloat) => column.column_type == Type::Float,
                Some(Merge::Min | Merge::Max) => column.column_type.is_word(),
            };
            if !fits {
                return Err(invalid(format!(
                    "column {:?} of relation {of:?} is of type {}, which its merge operator does \
                     not combine",
                    column.name, column.column_type
                )));
            }
        }
        Ok(())
    }

    /// The shape that the engine sees.
    #[must_use]
    pub fn shape(&self) -> Shape {
        let words = self.keys.len() <= WORDS_MAX
            && self.keys.iter().all(|column| column.column_type.is_word());
        let key = if words { KeyShape::Words(self.keys.len() as u8) } else { KeyShape::Bytes };
        let value = |column: &ValueColumn| match column.column_type.is_word() {
            true => ColumnShape::Word { merge: column.merge },
            false => ColumnShape::Bytes,
        };
        Shape { key, values: self.values.iter().map(value).collect() }
    }

    /// Of a unique index: the number of columns in which no two rows are equal, unless one of them
    /// is null. 0 for other indexes, and for relations.
    #[must_use]
    pub fn unique_columns(&self) -> usize {
        self.keys.iter().take_while(|key| key.is_unique).count()
    }

    /// Of a unique index: the columns that it was made with, in which no two rows are equal. Of
    /// others all key columns.
    #[must_use]
    pub fn distinct_columns(&self) -> &[KeyColumn] {
        match self.unique_columns() {
            0 => &self.keys,
            unique => &self.keys[..unique],
        }
    }

    /// Whether rows are versions of each other: the last key column is their time of validity.
    #[must_use]
    pub fn is_historical(&self) -> bool {
        self.keys.last().is_some_and(|key| key.column_type == Type::Validity)
    }

    /// The default of each column, keys first.
    pub fn defaults(&self) -> impl Iterator<Item = Option<&str>> {
        let keys = self.keys.iter().map(|column| column.default.as_deref());
        keys.chain(self.values.iter().map(|column| column.default.as_deref()))
    }

    /// The names of all columns, keys first.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let keys = self.keys.iter().map(|column| &column.name);
        keys.chain(self.values.iter().map(|column| &column.name))
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// Appends a row, keys first, to a batch of this shape. Converts values to their columns'
    /// types.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the number of columns differs, or a value does not fit its
    /// column. The batch is then unchanged.
    pub fn append(&self, row: Vec<Value>, out: &mut Batch) -> Result<()> {
        if row.len() != self.columns() {
            return Err(invalid(format!(
                "relation {:?} has {} columns, the row has {}",
                self.name,
                self.columns(),
                row.len()
            )));
        }
        let coerced = row.into_iter().enumerate().map(|(i, value)| self.coerce(i, value));
        let row = coerced.collect::<Result<Vec<Value>>>()?;
        let (keys, values) = row.split_at(self.keys.len());
        match &mut out.keys {
            Keys::Words(words) => {
                for ((word, key), column) in words.iter_mut().zip(keys).zip(&self.keys) {
                    word.push(model::word_of_value(&column.column_type, key).unwrap_or_default());
                }
            }
            Keys::Bytes(bytes) => {
                let mut encoded = Vec::new();
                encode_tuple(keys, &mut encoded);
                bytes.push(Some(&encoded));
            }
        }
        for ((out, value), column) in out.values.iter_mut().zip(values).zip(&self.values) {
            push(&column.column_type, value, column.nullable, out);
        }
        out.rows += 1;
        Ok(())
    }

    /// Row `i` of a batch of this shape, with all columns, keys first.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if stored bytes do not encode a value of their column.
    pub fn row(&self, rows: &Batch, i: usize) -> Result<Vec<Value>> {
        let mut row = self.key(rows, i)?;
        for column in 0..self.values.len() {
            row.push(self.value(rows, column, i)?);
        }
        Ok(row)
    }

    /// The key of row `i` of a batch of this shape.
    ///
    /// # Errors
    /// As [`Schema::row`].
    pub fn key(&self, rows: &Batch, i: usize) -> Result<Vec<Value>> {
        let wrong = |column: &str, why: &str| {
            let of = &self.name;
            let what = format!("column {column:?} of relation {of:?} holds no value: {why}");
            Error::new(ErrorKind::Corruption, what)
        };
        match &rows.keys {
            Keys::Words(words) => {
                let columns = self.keys.iter().zip(words);
                let value = |(column, words): (&KeyColumn, &Vec<u64>)| {
                    let word = words.get(i).copied();
                    word.and_then(|word| model::value_of_word(&column.column_type, word))
                        .ok_or_else(|| wrong(&column.name, "not a word of its type"))
                };
                columns.map(value).collect()
            }
            Keys::Bytes(bytes) => {
                let first = &self.keys[0].name;
                let keys =
                    decode_tuple(bytes.get(i)).map_err(|error| wrong(first, &error.to_string()))?;
                if keys.len() != self.keys.len() {
                    return Err(wrong(first, "the key has another number of columns"));
                }
                Ok(keys)
            }
        }
    }

    /// Value `i` of a value column of a batch of this shape.
    ///
    /// # Errors
    /// As [`Schema::row`].
    pub fn value(&self, rows: &Batch, column: usize, i: usize) -> Result<Value> {
        let (of, stored) = (&self.values[column], &rows.values[column]);
        pull(&of.column_type, of.nullable, stored, i).map_err(|why| {
            let (column, of) = (&of.name, &self.name);
            let what = format!("column {column:?} of relation {of:?} holds no value: {why}");
            Error::new(ErrorKind::Corruption, what)
        })
    }

    fn coerce(&self, i: usize, value: Value) -> Result<Value> {
        let (name, of, nullable) = match i.checked_sub(self.keys.len()) {
            None => (&self.keys[i].name, &self.keys[i].column_type, false),
            Some(i) => (&self.values[i].name, &self.values[i].column_type, self.values[i].nullable),
        };
        if nullable && value == Value::Null {
            return Ok(Value::Null);
        }
        of.coerce(value).map_err(|error| {
            invalid(format!("column {name:?} of relation {:?}: {error}", self.name))
        })
    }
}

/// Maximum nesting of types in a column's type.
pub(crate) const TYPE_DEPTH_MAX: usize = 32;

fn depth(of: &Type) -> usize {
    match of {
        Type::List(inner, _) | Type::Nullable(inner) => 1 + depth(inner),
        Type::Tuple(types) => 1 + types.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Appends a value that [`Type::coerce`] returned for its column.
pub(crate) fn push(of: &Type, value: &Value, nullable: bool, out: &mut Column) {
    match (out, value) {
        // A column of type `Any` that is not nullable stores its nulls as encoded values.
        (out, Value::Null) if nullable => out.push_null(),
        (Column::Words(words), value) => words.push(model::word_of_value(of, value)),
        (Column::Bytes(bytes), Value::Str(text)) if *of == Type::String => {
            bytes.push(Some(text.as_bytes()));
        }
        (Column::Bytes(bytes), Value::Bytes(value)) if *of == Type::Bytes => {
            bytes.push(Some(value));
        }
        (Column::Bytes(bytes), value) => {
            let mut encoded = Vec::new();
            encode_value(value, &mut encoded);
            bytes.push(Some(&encoded));
        }
    }
}

/// Value `i` of a stored column, or the reason why it cannot be decoded.
pub(crate) fn pull(
    of: &Type,
    nullable: bool,
    stored: &Column,
    i: usize,
) -> std::result::Result<Value, String> {
    let valid = match stored {
        Column::Words(words) => words.validity.is_valid(i),
        Column::Bytes(bytes) => bytes.validity.is_valid(i),
    };
    if !valid {
        return if nullable { Ok(Value::Null) } else { Err("it is null".to_owned()) };
    }
    match stored {
        Column::Words(words) => {
            model::value_of_word(of, words.words[i]).ok_or_else(|| "not a word of its type".into())
        }
        Column::Bytes(bytes) if *of == Type::Bytes => Ok(Value::Bytes(bytes.get(i).to_vec())),
        Column::Bytes(bytes) if *of == Type::String => String::from_utf8(bytes.get(i).to_vec())
            .map(Value::Str)
            .map_err(|_| "it is not UTF-8".into()),
        Column::Bytes(bytes) => {
            let mut rest = bytes.get(i);
            let value = decode_value(&mut rest).map_err(|error| error.to_string())?;
            if rest.is_empty() { Ok(value) } else { Err("more than one value".into()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keys: &[Type], want: KeyShape) {
        let keys =
            keys.iter().enumerate().map(|(i, of)| KeyColumn::new(format!("k{i}"), of.clone()));
        let schema = Schema { name: "r".into(), keys: keys.collect(), values: vec![] };
        assert_eq!(schema.shape().key, want);
    }

    #[test]
    fn keys_of_up_to_four_words_are_words_and_others_are_bytes() {
        check(&[Type::Id, Type::Id], KeyShape::Words(2));
        check(&[Type::Bool, Type::Int, Type::Float, Type::Id], KeyShape::Words(4));
        check(&[Type::Int, Type::Int, Type::Int, Type::Int, Type::Int], KeyShape::Bytes);
        check(&[Type::Int, Type::String], KeyShape::Bytes);
        check(&[Type::Any], KeyShape::Bytes);
        check(&[Type::Nullable(Box::new(Type::Int))], KeyShape::Bytes);
    }

    #[test]
    fn rows_come_back_coerced() {
        let nullable =
            |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
        let schema = Schema {
            name: "r".into(),
            keys: vec![KeyColumn::new("k", Type::Any), KeyColumn::new("n", Type::Int)],
            values: vec![
                ValueColumn::new("f", Type::Float),
                nullable("s", Type::String),
                nullable("l", Type::List(Box::new(Type::Int), None)),
                ValueColumn::new("a", Type::Any),
            ],
        };
        schema.check().unwrap();
        let mut rows = Batch::new(&schema.shape());
        let text = |text: &str| Value::Str(text.into());
        let list = Value::List(vec![Value::Int(1)]);
        let given = [
            vec![Value::Null, 7.into_int(), 1.into_int(), Value::Null, list, Value::Null],
            vec![text("x"), 8.into_int(), Value::Float(0.5), text("y"), Value::Null, text("z")],
        ];
        for row in given.clone() {
            schema.append(row, &mut rows).unwrap();
        }
        let mut want = given;
        want[0][2] = Value::Float(1.0);
        assert_eq!([schema.row(&rows, 0).unwrap(), schema.row(&rows, 1).unwrap()], want);

        let before = rows.clone();
        let bad = vec![text("x"), text("no"), Value::Null, Value::Null, Value::Null, Value::Null];
        let error = schema.append(bad, &mut rows).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column \"n\" of relation \"r\": expected Int, found a String (\"no\")"
        );
        assert_eq!(rows, before);
    }

    trait IntoInt {
        fn into_int(self) -> Value;
    }
    impl IntoInt for i64 {
        fn into_int(self) -> Value {
            Value::Int(self)
        }
    }

    #[test]
    fn a_merge_operator_must_fit_its_column() {
        let merge = Some(Merge::AddInt);
        let column = ValueColumn { merge, ..ValueColumn::new("n", Type::Float) };
        let keys = vec![KeyColumn::new("k", Type::Int)];
        let schema = Schema { name: "r".into(), keys, values: vec![column] };
        assert_eq!(schema.check().unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
