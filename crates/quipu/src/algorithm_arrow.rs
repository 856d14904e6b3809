//! Results of algorithms as Arrow columns.

use analytics::{AlgorithmResult, Numbers, ResultColumn};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use model::Value;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use views::graph::VertexColumn;

/// The columns of a result ([`AlgorithmResult::columns`]) as an Arrow batch.
///
/// # Errors
/// Those of reading the names of vertices.
pub fn algorithm_batch(result: &AlgorithmResult) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, column) in result.columns()? {
        let is_nullable = matches!(column, ResultColumn::OptionalIds(..));
        let array = array(column);
        fields.push(Field::new(name, array.data_type().clone(), is_nullable));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::caused(ErrorKind::Internal, error))
}

fn array(column: ResultColumn) -> ArrayRef {
    match column {
        ResultColumn::Ids(column) => id_array(&column, None),
        ResultColumn::OptionalIds(column, flags) => id_array(&column, Some(flags)),
        ResultColumn::Numbers(Numbers::Float(all)) => Arc::new(Float64Array::from(all)),
        ResultColumn::Numbers(Numbers::Int(all)) => Arc::new(Int64Array::from(all)),
        ResultColumn::Numbers(Numbers::Small(all)) => Arc::new(UInt32Array::from(all)),
        ResultColumn::Value(Value::Bool(bool)) => Arc::new(BooleanArray::from(vec![bool])),
        ResultColumn::Value(Value::Int(int)) => Arc::new(Int64Array::from(vec![int])),
        ResultColumn::Value(Value::Float(float)) => Arc::new(Float64Array::from(vec![float])),
        ResultColumn::Value(other) => {
            let mut builder = LargeStringBuilder::new();
            builder.append_value(other.to_string());
            Arc::new(builder.finish())
        }
    }
}

/// Ids as an array; null where a flag is false.
pub(crate) fn id_array(column: &VertexColumn, flags: Option<Vec<bool>>) -> ArrayRef {
    match column {
        VertexColumn::U64(ids) => {
            Arc::new(UInt64Array::new(ids.clone().into(), flags.map(NullBuffer::from)))
        }
        VertexColumn::I64(ids) => {
            Arc::new(Int64Array::new(ids.clone().into(), flags.map(NullBuffer::from)))
        }
        VertexColumn::Str(ids) => {
            let mut builder = LargeStringBuilder::new();
            for i in 0..ids.len() {
                match flags.as_ref().is_none_or(|flags| flags[i]) {
                    true => builder.append_value(String::from_utf8_lossy(ids.get(i))),
                    false => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
    }
}
