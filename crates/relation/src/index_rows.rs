//! Makes rows of an index, or of another order of a relation, from stored rows of the relation.
//!
//! # Why without values
//! A row decoded to a list of values costs an allocation for each string and a match for each
//! value. The stored words of a column are the words of an index's key, and most other values are
//! copied as they are encoded.

use crate::json_path::JsonPath;
use crate::schema::{Schema, pull};
use base::{Batch, BytesColumn, Column, Keys};
use model::{Type, Value, decode_next, decode_value, encode_str, encode_value};
use store::{Error, ErrorKind, Result};

/// Where a column of another order is in a relation.
enum Origin<'r> {
    KeyWords(&'r Type, &'r [u64]),
    /// The value with this number in each encoded key.
    KeyPart(usize),
    Value(&'r Type, bool, &'r Column),
    /// The value at steps into a value of JSON.
    Path(&'r JsonPath, Box<Self>),
}

impl Schema {
    /// Rows of another order of this relation, `other`, for the rows numbered in `picked`, in their
    /// order. `columns` has for each column of `other` its number in this relation, or that of the
    /// column into which its path goes. Columns that `other` lacks may be empty in `rows`.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if stored bytes do not encode a value of their column.
    pub fn other_order<'r>(
        &'r self,
        rows: &'r Batch,
        picked: &[u32],
        columns: &[usize],
        other: &'r Self,
    ) -> Result<Batch> {
        let mut out = Batch::new(&other.shape());
        let paths = other.keys.iter().map(|key| key.path.as_ref());
        let paths = paths.chain(std::iter::repeat(None));
        let origin = |(&column, path): (&usize, Option<&'r JsonPath>)| {
            let origin = self.origin(rows, column);
            match path {
                None => origin,
                Some(path) => Origin::Path(path, Box::new(origin)),
            }
        };
        let origins: Vec<Origin<'r>> = columns.iter().zip(paths).map(origin).collect();
        let (keys, values) = origins.split_at(other.keys.len());
        match &mut out.keys {
            Keys::Words(words) => {
                for (words, origin) in words.iter_mut().zip(keys) {
                    let from = match origin {
                        Origin::KeyWords(_, words) => words,
                        Origin::Value(_, _, Column::Words(column)) => column.words.as_slice(),
                        Origin::KeyPart(_) | Origin::Value(..) | Origin::Path(..) => {
                            return Err(self.corrupt_row("a word of a key is stored as bytes"));
                        }
                    };
                    words.extend(picked.iter().map(|&row| from[row as usize]));
                }
            }
            Keys::Bytes(out) => self.encode_keys(rows, picked, keys, out)?,
        }
        for (column, origin) in out.values.iter_mut().zip(values) {
            match origin {
                Origin::Value(_, _, from) => *column = from.gather(picked),
                Origin::KeyWords(..) | Origin::KeyPart(_) | Origin::Path(..) => {
                    return Err(self.corrupt_row("a key column is not a value of another order"));
                }
            }
        }
        out.rows = picked.len();
        Ok(out)
    }

    fn origin<'r>(&'r self, rows: &'r Batch, column: usize) -> Origin<'r> {
        match (column.checked_sub(self.keys.len()), &rows.keys) {
            (None, Keys::Words(words)) => {
                Origin::KeyWords(&self.keys[column].column_type, &words[column])
            }
            (None, Keys::Bytes(_)) => Origin::KeyPart(column),
            (Some(value), _) => {
                let of = &self.values[value];
                Origin::Value(&of.column_type, of.nullable, &rows.values[value])
            }
        }
    }

    fn encode_keys(
        &self,
        rows: &Batch,
        picked: &[u32],
        origins: &[Origin<'_>],
        out: &mut BytesColumn,
    ) -> Result<()> {
        let is_part = |origin: &Origin<'_>| match origin {
            Origin::Path(_, from) => matches!(**from, Origin::KeyPart(_)),
            origin => matches!(origin, Origin::KeyPart(_)),
        };
        let needs_parts = origins.iter().any(is_part);
        let (mut encoded, mut parts) = (Vec::new(), Vec::new());
        for &row in picked {
            let row = row as usize;
            encoded.clear();
            if needs_parts && let Keys::Bytes(keys) = &rows.keys {
                parts.clear();
                self.key_parts(keys.get(row), &mut parts)?;
            }
            for origin in origins {
                match origin {
                    Origin::KeyWords(of, words) => {
                        let value = model::value_of_word(of, words[row]);
                        let wrong = || self.corrupt_row("not a word of its type");
                        encode_value(&value.ok_or_else(wrong)?, &mut encoded);
                    }
                    Origin::KeyPart(part) => encoded.extend_from_slice(parts[*part]),
                    Origin::Value(of, nullable, column) => {
                        encode_stored(of, *nullable, column, row, &mut encoded)
                            .map_err(|why| self.corrupt_row(&why))?;
                    }
                    Origin::Path(path, from) => {
                        let document = match **from {
                            Origin::Value(of, nullable, column) => pull(of, nullable, column, row),
                            Origin::KeyPart(part) => {
                                let mut bytes = parts[part];
                                decode_value(&mut bytes).map_err(|error| error.to_string())
                            }
                            _ => Err("a path goes into no JSON".to_owned()),
                        };
                        let document = document.map_err(|why| self.corrupt_row(&why))?;
                        encode_value(&path.value_in(&document), &mut encoded);
                    }
                }
            }
            out.push(Some(&encoded));
        }
        Ok(())
    }

    /// The encoded values of a key.
    fn key_parts<'k>(&self, mut key: &'k [u8], parts: &mut Vec<&'k [u8]>) -> Result<()> {
        while !key.is_empty() {
            let rest = key;
            decode_next(&mut key).map_err(|error| self.corrupt_row(&error.to_string()))?;
            parts.push(&rest[..rest.len() - key.len()]);
        }
        match parts.len() == self.keys.len() {
            true => Ok(()),
            false => Err(self.corrupt_row("the key has another number of columns")),
        }
    }

    fn corrupt_row(&self, why: &str) -> Error {
        let what = format!("stored bytes are not a row of relation {:?}: {why}", self.name);
        Error::new(ErrorKind::Corruption, what)
    }
}

/// Encodes a stored value as part of a key.
fn encode_stored(
    of: &Type,
    nullable: bool,
    column: &Column,
    row: usize,
    out: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    match column {
        Column::Bytes(texts) if *of == Type::String && texts.validity.is_valid(row) => {
            let text = str::from_utf8(texts.get(row)).map_err(|_| "it is not UTF-8".to_owned())?;
            encode_str(text, out);
        }
        column => {
            let value: Value = pull(of, nullable, column, row)?;
            encode_value(&value, out);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyColumn, ValueColumn};
    use model::JsonStep;
    use proptest::prelude::*;

    /// Another order by all columns at these places.
    fn index(schema: &Schema, columns: &[usize]) -> Schema {
        let key = |&column: &usize| match column.checked_sub(schema.keys.len()) {
            None => schema.keys[column].clone(),
            Some(value) => {
                let ValueColumn { name, column_type, nullable, .. } = &schema.values[value];
                let of = match nullable {
                    true => Type::Nullable(Box::new(column_type.clone())),
                    false => column_type.clone(),
                };
                KeyColumn::new(name, of)
            }
        };
        Schema { name: "i".into(), keys: columns.iter().map(key).collect(), values: vec![] }
    }

    fn check(keys: &[Type], columns: &[usize], rows: &[(i64, Option<i64>, String)]) {
        let keys =
            keys.iter().enumerate().map(|(i, of)| KeyColumn::new(format!("k{i}"), of.clone()));
        let schema = Schema {
            name: "r".into(),
            keys: keys.collect(),
            values: vec![
                ValueColumn::new("f", Type::Float),
                ValueColumn { nullable: true, ..ValueColumn::new("n", Type::Int) },
                ValueColumn::new("s", Type::String),
                ValueColumn { nullable: true, ..ValueColumn::new("a", Type::Any) },
            ],
        };
        let other = index(&schema, columns);
        let (mut stored, mut want) = (Batch::new(&schema.shape()), Batch::new(&other.shape()));
        for (int, maybe, text) in rows {
            let key = |of: &KeyColumn| match of.column_type {
                Type::Int => Value::Int(*int),
                _ => Value::Str(text.clone()),
            };
            let maybe = maybe.map_or(Value::Null, Value::Int);
            let list = Value::List(vec![maybe.clone(), Value::Str(text.clone())]);
            let values = [Value::Float(*int as f64), maybe, Value::Str(text.clone()), list];
            let row: Vec<Value> = schema.keys.iter().map(key).chain(values).collect();
            schema.append(row, &mut stored).unwrap();
        }
        let picked: Vec<u32> = (0..rows.len() as u32).rev().step_by(2).collect();
        for &row in &picked {
            let row = schema.row(&stored, row as usize).unwrap();
            other.append(columns.iter().map(|&c| row[c].clone()).collect(), &mut want).unwrap();
        }
        assert_eq!(schema.other_order(&stored, &picked, columns, &other).unwrap(), want);
    }

    proptest! {
        #[test]
        fn rows_of_an_index_are_those_made_of_values(
            rows in prop::collection::vec((-9_i64..9, prop::option::of(-9_i64..9), "[a\0é]{0,3}"), 0..20),
        ) {
            check(&[Type::Int], &[1, 0], &rows);
            check(&[Type::Int, Type::Int], &[1, 0], &rows);
            check(&[Type::Int], &[2, 0], &rows);
            check(&[Type::Int], &[3, 1, 0], &rows);
            check(&[Type::Int], &[4, 0], &rows);
            check(&[Type::Int, Type::String], &[1, 0], &rows);
            check(&[Type::Int, Type::String], &[2, 3, 4, 5, 1, 0], &rows);
        }
    }

    #[test]
    fn rows_of_an_index_have_the_values_at_its_paths() {
        let json = |text: &str| Value::Json(model::Json::parse(text).unwrap());
        for key in [Type::Int, Type::Json] {
            let schema = Schema {
                name: "r".into(),
                keys: vec![KeyColumn::new("k", key.clone())],
                values: vec![ValueColumn { nullable: true, ..ValueColumn::new("d", Type::Json) }],
            };
            let path = |column: &str| {
                let steps = vec![JsonStep::Name("a".into())];
                let path = Some(JsonPath { column: column.to_owned(), steps });
                KeyColumn { path, ..KeyColumn::new(column, Type::Any) }
            };
            let keys = vec![path("d"), path("k"), KeyColumn::new("i", key.clone())];
            let (keys, columns) = match key {
                Type::Int => (vec![keys[0].clone(), keys[2].clone()], vec![1, 0]),
                _ => (keys, vec![1, 0, 0]),
            };
            let other = Schema { name: "i".into(), keys, values: vec![] };
            let mut stored = Batch::new(&schema.shape());
            let documents = [json(r#"{"a":"x"}"#), json(r#"{"a":[1]}"#), json("{}"), Value::Null];
            for (row, document) in documents.into_iter().enumerate() {
                let key = match key {
                    Type::Int => Value::Int(row as i64),
                    _ => json(&format!("{{\"a\":{row}}}")),
                };
                schema.append(vec![key, document], &mut stored).unwrap();
            }
            let found = schema.other_order(&stored, &[0, 1, 2, 3], &columns, &other).unwrap();
            for (row, value) in
                [Value::Str("x".into()), json("[1]"), Value::Null, Value::Null].iter().enumerate()
            {
                let found = other.row(&found, row).unwrap();
                assert_eq!(found[0], *value);
                assert!(key == Type::Int || found[1] == Value::Int(row as i64));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_key_are_corruption() {
        let schema = Schema {
            name: "r".into(),
            keys: vec![KeyColumn::new("k", Type::String), KeyColumn::new("l", Type::Int)],
            values: vec![],
        };
        let other = index(&schema, &[1, 0]);
        for bytes in [&b"\xffx"[..], &b""[..]] {
            let mut stored = Batch::new(&schema.shape());
            stored.keys.push(base::KeyRef::Bytes(bytes));
            stored.rows = 1;
            let error = schema.other_order(&stored, &[0], &[1, 0], &other).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
        }
    }
}
