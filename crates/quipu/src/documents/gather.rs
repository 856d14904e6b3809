//! Fields of many documents as Arrow columns.

use super::{CHUNK_ROWS, Documents, invalid};
use arrow_array::RecordBatchOptions;
use arrow_array::builder::{BooleanBuilder, Float32Builder, Float64Builder, StringBuilder};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::{Field, Schema};
use document::{Converted, FieldType, Pointer, Scalar, convert};
use model::Json;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use views::keys::KeyList;

/// Fields of some documents, a row for each key.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The values; null where a document or its field is missing, is null, or cannot be converted.
    pub values: RecordBatch,
    /// Whether a value has another type in the document, or is rounded.
    pub converted: RecordBatch,
    /// Whether a document has a value that cannot be converted.
    pub collided: RecordBatch,
}

impl Documents {
    /// Reads fields of documents into columns, which have the names and types of `fields`. Rows of
    /// keys without a document are null. Without keys all documents are read, in key order.
    ///
    /// # Errors
    /// See [`Documents`]; [`ErrorKind::InvalidInput`] if a name is no field or occurs twice.
    pub fn gather(
        &self,
        keys: Option<KeyList<'_>>,
        fields: &[(String, FieldType)],
    ) -> Result<Gathered> {
        let mut columns = Vec::with_capacity(fields.len());
        for (place, (name, of)) in fields.iter().enumerate() {
            if fields[..place].iter().any(|(other, _)| other == name) {
                return Err(invalid(format!("the field {name:?} is given twice")));
            }
            let pointer = Pointer::of_field(name).map_err(|error| invalid(error.to_string()))?;
            columns.push((pointer, *of, Vec::<Converted>::new()));
        }
        let mut rows = 0;
        let mut gather = |document: Option<&Json>| {
            let tree = document.map(Json::to_tree);
            for (pointer, of, values) in &mut columns {
                let value = tree.as_ref().and_then(|tree| pointer.get(tree));
                values.push(convert(value, *of));
            }
            rows += 1;
        };
        match keys {
            Some(keys) => {
                self.get_many(keys)?.iter().for_each(|document| gather(document.as_ref()));
            }
            None => {
                let mut scan = self.all()?;
                while let Some(rows) = scan.next_rows(CHUNK_ROWS)? {
                    rows.documents.iter().for_each(|document| gather(Some(document)));
                }
            }
        }
        let (mut values, mut converted, mut collided) = (Vec::new(), Vec::new(), Vec::new());
        for ((name, _), (_, of, column)) in fields.iter().zip(columns) {
            let flags = |is: fn(&Converted) -> bool| -> ArrayRef {
                Arc::new(column.iter().map(|value| Some(is(value))).collect::<BooleanArray>())
            };
            converted.push((name, flags(|value| matches!(value, Converted::Changed(_)))));
            collided.push((name, flags(|value| matches!(value, Converted::Collided))));
            values.push((name, array(&column, of)));
        }
        Ok(Gathered {
            values: batch(values, rows, true)?,
            converted: batch(converted, rows, false)?,
            collided: batch(collided, rows, false)?,
        })
    }
}

fn batch(columns: Vec<(&String, ArrayRef)>, rows: usize, nullable: bool) -> Result<RecordBatch> {
    let field = |(name, array): &(&String, ArrayRef)| {
        Field::new(name.as_str(), array.data_type().clone(), nullable)
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}

/// A column of values of one type.
fn array(column: &[Converted], of: FieldType) -> ArrayRef {
    let scalars = column.iter().map(|value| match value {
        Converted::Same(scalar) | Converted::Changed(scalar) => Some(scalar),
        Converted::Collided | Converted::Missing => None,
    });
    match of {
        FieldType::Bool => {
            let mut out = BooleanBuilder::new();
            scalars.for_each(|scalar| match scalar {
                Some(Scalar::Bool(bool)) => out.append_value(*bool),
                _ => out.append_null(),
            });
            Arc::new(out.finish())
        }
        FieldType::Int(8) => ints::<Int8Type>(scalars),
        FieldType::Int(16) => ints::<Int16Type>(scalars),
        FieldType::Int(32) => ints::<Int32Type>(scalars),
        FieldType::Int(_) => ints::<Int64Type>(scalars),
        FieldType::UInt(8) => ints::<UInt8Type>(scalars),
        FieldType::UInt(16) => ints::<UInt16Type>(scalars),
        FieldType::UInt(32) => ints::<UInt32Type>(scalars),
        FieldType::UInt(_) => ints::<UInt64Type>(scalars),
        FieldType::Float(32) => {
            let mut out = Float32Builder::new();
            floats(scalars).for_each(|float| out.append_option(float.map(|float| float as f32)));
            Arc::new(out.finish())
        }
        FieldType::Float(_) => {
            let mut out = Float64Builder::new();
            floats(scalars).for_each(|float| out.append_option(float));
            Arc::new(out.finish())
        }
        FieldType::String | FieldType::Json => {
            let mut out = StringBuilder::new();
            scalars.for_each(|scalar| match scalar {
                Some(Scalar::String(text)) => out.append_value(text),
                _ => out.append_null(),
            });
            Arc::new(out.finish())
        }
    }
}

/// Integers that are in the range of their type.
fn ints<'s, T>(scalars: impl Iterator<Item = Option<&'s Scalar>>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let int = |scalar: Option<&Scalar>| match scalar {
        Some(Scalar::Int(int)) => T::Native::try_from(*int).ok(),
        _ => None,
    };
    Arc::new(scalars.map(int).collect::<PrimitiveArray<T>>())
}

fn floats<'s>(
    scalars: impl Iterator<Item = Option<&'s Scalar>>,
) -> impl Iterator<Item = Option<f64>> {
    scalars.map(|scalar| match scalar {
        Some(Scalar::Float(float)) => Some(*float),
        _ => None,
    })
}
