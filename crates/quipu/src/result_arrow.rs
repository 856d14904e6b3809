//! Converts the result of a script to Arrow, and writes it as Parquet or Arrow files.

use crate::query_result::QueryResult;
use crate::typed_column::{ColumnValues, Digits, TypedColumn};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DurationMicrosecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array,
    GenericBinaryArray, GenericStringArray, Int64Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, ListArray, NullArray, RecordBatch, RecordBatchOptions, StructArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_ipc::writer::FileWriter;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{
    ArrowError, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, Fields,
    Schema, SchemaRef,
};
use base::{BytesColumn, Validity as ValidRows};
use ingest::parquet_rows::UUID;
use model::{Decimal, Type};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, LogicalType, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType};
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Result of an Arrow call.
type Made<T> = std::result::Result<T, ArrowError>;

/// Rows of a batch in an Arrow file, and of a row group in a Parquet file.
const ROWS_A_GROUP: usize = 1 << 20;

/// A writer of a Parquet file with [`parquet_properties`]. UUIDs have Parquet's type of that name.
pub(crate) fn parquet_writer<W: Write + Send>(
    out: W,
    schema: SchemaRef,
) -> std::result::Result<ArrowWriter<W>, ParquetError> {
    let mut options = ArrowWriterOptions::new().with_properties(parquet_properties());
    if schema.fields().iter().any(|field| is_uuid_field(field)) {
        options = options.with_parquet_schema(schema_with_uuids(&schema)?);
    }
    ArrowWriter::try_new_with_options(out, schema, options)
}

/// The Parquet schema of an Arrow schema. The conversion of `parquet` makes UUIDs plain bytes.
fn schema_with_uuids(schema: &Schema) -> std::result::Result<SchemaDescriptor, ParquetError> {
    let converted = ArrowSchemaConverter::new().convert(schema)?;
    let root = converted.root_schema();
    let field = |(field, of): (&Arc<Field>, &Arc<ParquetType>)| {
        if !is_uuid_field(field) {
            return Ok(Arc::clone(of));
        }
        let bytes = PhysicalType::FIXED_LEN_BYTE_ARRAY;
        let uuid = ParquetType::primitive_type_builder(field.name(), bytes)
            .with_length(UUID_BYTES)
            .with_repetition(of.get_basic_info().repetition())
            .with_logical_type(Some(LogicalType::Uuid));
        uuid.build().map(Arc::new)
    };
    let fields = schema.fields().iter().zip(root.get_fields()).map(field);
    let fields = fields.collect::<std::result::Result<Vec<_>, ParquetError>>()?;
    let root = ParquetType::group_type_builder(root.name()).with_fields(fields).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

/// Properties of Parquet files: compressed with Zstandard, in groups of [`ROWS_A_GROUP`].
pub(crate) fn parquet_properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROWS_A_GROUP))
        .build()
}

impl QueryResult {
    /// Converts all rows to one batch. Columns have the types of [`QueryResult::column`].
    ///
    /// # Errors
    /// A column larger than Arrow's offsets allow.
    pub fn to_batch(&self) -> std::result::Result<RecordBatch, ArrowError> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (column, name) in self.columns().iter().enumerate() {
            let column = self.column(column);
            let extension = column.values.extension();
            let array = column.into_arrow(self.len())?;
            fields.push(arrow_field(name, array.data_type().clone(), extension));
            arrays.push(array);
        }
        // A result may have rows and no columns.
        let options = RecordBatchOptions::new().with_row_count(Some(self.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
    }

    /// Writes the rows as a Parquet file, compressed with Zstandard.
    ///
    /// # Errors
    /// A failed write, or columns that Parquet does not support.
    pub fn write_parquet(&self, out: impl Write + Send) -> Result<()> {
        let mut parts = ParquetParts::new(out);
        parts.write(self)?;
        parts.finish()
    }

    /// Writes the rows as an Arrow IPC file, also known as Feather.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_arrow(&self, out: impl Write) -> Result<()> {
        let mut parts = ArrowParts::new(out);
        parts.write(self)?;
        parts.finish()
    }
}

/// State of a file that is written in parts.
enum Parts<W, F> {
    /// No part is written yet.
    Empty(W),
    /// At least one part is written.
    Begun(Box<F>),
    /// Writing a part failed.
    Failed,
}

impl<W, F> Parts<W, F> {
    /// Writes a part.
    ///
    /// # Errors
    /// Errors of `begin` and `write`; after one, nothing more can be written.
    fn write(
        &mut self,
        begin: impl FnOnce(W) -> Made<F>,
        write: impl FnOnce(&mut F) -> Made<()>,
    ) -> Result<()> {
        let mut file = match std::mem::replace(self, Self::Failed) {
            Self::Empty(out) => Box::new(begin(out).map_err(failed)?),
            Self::Begun(file) => file,
            Self::Failed => return Err(Self::broken()),
        };
        write(&mut file).map_err(failed)?;
        *self = Self::Begun(file);
        Ok(())
    }

    /// Writes the end of the file, if there is a part.
    ///
    /// # Errors
    /// The error of `end`, or an error if an earlier part failed.
    fn finish(self, end: impl FnOnce(F) -> Made<()>) -> Result<()> {
        match self {
            Self::Empty(_) => Ok(()),
            Self::Begun(file) => end(*file).map_err(failed),
            Self::Failed => Err(Self::broken()),
        }
    }

    fn broken() -> Error {
        failed("an earlier part could not be written")
    }
}

/// Writes the parts of a result as one Parquet file, compressed with Zstandard.
pub struct ParquetParts<W: Write + Send>(Parts<W, ArrowWriter<W>>);

impl<W: Write + Send> ParquetParts<W> {
    /// A writer for `out`. Writes nothing yet.
    pub fn new(out: W) -> Self {
        Self(Parts::Empty(out))
    }

    /// Writes a part. Its columns must be those of the first.
    ///
    /// # Errors
    /// A failed write, or columns that Parquet does not support. Nothing more can be written then.
    pub fn write(&mut self, part: &QueryResult) -> Result<()> {
        let batch = part.to_batch().map_err(failed)?;
        let begin = |out| Ok(parquet_writer(out, batch.schema())?);
        self.0.write(begin, |file| Ok(file.write(&batch)?))
    }

    /// Writes the end of the file; nothing if there is no part.
    ///
    /// # Errors
    /// A failed write, now or of an earlier part.
    pub fn finish(self) -> Result<()> {
        self.0.finish(|file| Ok(file.close().map(drop)?))
    }
}

impl<W: Write + Send> fmt::Debug for ParquetParts<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetParts").finish_non_exhaustive()
    }
}

/// Writes the parts of a result as one Arrow IPC file, also known as Feather.
pub struct ArrowParts<W: Write>(Parts<W, FileWriter<W>>);

impl<W: Write> ArrowParts<W> {
    /// A writer for `out`. Writes nothing yet.
    pub fn new(out: W) -> Self {
        Self(Parts::Empty(out))
    }

    /// Writes a part. Its columns must be those of the first.
    ///
    /// # Errors
    /// A failed write. Nothing more can be written then.
    pub fn write(&mut self, part: &QueryResult) -> Result<()> {
        let batch = part.to_batch().map_err(failed)?;
        let begin = |out| FileWriter::try_new(out, &batch.schema());
        self.0.write(begin, |file| {
            let rows = batch.num_rows();
            let mut groups = (0..rows).step_by(ROWS_A_GROUP);
            groups.try_for_each(|row| file.write(&batch.slice(row, ROWS_A_GROUP.min(rows - row))))
        })
    }

    /// Writes the end of the file; nothing if there is no part.
    ///
    /// # Errors
    /// A failed write, now or of an earlier part.
    pub fn finish(self) -> Result<()> {
        self.0.finish(|mut file| file.finish())
    }
}

impl<W: Write> fmt::Debug for ArrowParts<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowParts").finish_non_exhaustive()
    }
}

fn failed(error: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write the rows: {error}"))
}

impl TypedColumn {
    /// Converts the column to an array of `rows` rows, which must be its number of rows.
    ///
    /// # Errors
    /// More data than Arrow's offsets allow.
    pub fn into_arrow(self, rows: usize) -> std::result::Result<ArrayRef, ArrowError> {
        let valid = nulls(self.valid, rows);
        Ok(match self.values {
            ColumnValues::Null(rows) => Arc::new(NullArray::new(rows)),
            ColumnValues::Bool(values) => Arc::new(BooleanArray::new(values.into(), valid)),
            ColumnValues::Int(values) => Arc::new(Int64Array::new(values.into(), valid)),
            ColumnValues::Id(values) => Arc::new(UInt64Array::new(values.into(), valid)),
            ColumnValues::Float(values) => Arc::new(Float64Array::new(values.into(), valid)),
            ColumnValues::Str(texts) | ColumnValues::Json(texts) | ColumnValues::Literal(texts) => {
                text(texts, valid)?
            }
            ColumnValues::Bytes(bytes) => binary(bytes, valid)?,
            ColumnValues::Vector32(len, floats) => {
                vectors(len, Arc::new(Float32Array::from(floats)), valid)?
            }
            ColumnValues::Vector64(len, floats) => {
                vectors(len, Arc::new(Float64Array::from(floats)), valid)?
            }
            ColumnValues::List(offsets, items) => lists(&offsets, *items, valid)?,
            ColumnValues::Validity(times, asserted) => {
                let (times, asserted) = (Int64Array::from(times), BooleanArray::from(asserted));
                let columns: Vec<ArrayRef> = vec![Arc::new(times), Arc::new(asserted)];
                Arc::new(StructArray::try_new(validity_fields(), columns, valid)?)
            }
            ColumnValues::Date(days) => Arc::new(Date32Array::new(days.into(), valid)),
            ColumnValues::Timestamp(us) => {
                Arc::new(TimestampMicrosecondArray::new(us.into(), valid).with_timezone(UTC))
            }
            ColumnValues::Duration(us) => Arc::new(DurationMicrosecondArray::new(us.into(), valid)),
            ColumnValues::Decimal(decimals, digits) => decimal_array(&decimals, digits, valid)?,
            ColumnValues::Uuid(uuids) => {
                let bytes = Buffer::from_vec(uuids.into_flattened());
                Arc::new(FixedSizeBinaryArray::try_new(UUID_BYTES, bytes, valid)?)
            }
        })
    }
}

/// An extension type of Arrow: the meaning of values that are stored as text or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extension {
    /// JSON text.
    Json,
    /// 16 bytes that are a UUID.
    Uuid,
}

impl Extension {
    /// The extension type for columns of this type.
    pub(crate) fn of(column_type: &Type) -> Option<Self> {
        match column_type.without_null() {
            Type::Json => Some(Self::Json),
            Type::Uuid => Some(Self::Uuid),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Uuid => UUID,
        }
    }
}

impl ColumnValues {
    /// The extension type of the Arrow field for these values.
    fn extension(&self) -> Option<Extension> {
        match self {
            Self::Json(_) => Some(Extension::Json),
            Self::Uuid(_) => Some(Extension::Uuid),
            _ => None,
        }
    }
}

/// The Arrow field of a nullable column.
pub(crate) fn arrow_field(name: &str, of: DataType, extension: Option<Extension>) -> Field {
    let field = Field::new(name, of, true);
    let Some(extension) = extension else { return field };
    let says = [(EXTENSION_TYPE_NAME_KEY, extension.name()), (EXTENSION_TYPE_METADATA_KEY, "")];
    let says = says.map(|(key, value)| (key.to_owned(), value.to_owned()));
    field.with_metadata(HashMap::from(says))
}

/// The fields of a struct that represents a `Validity`.
fn validity_fields() -> Fields {
    let field = |name, of| Field::new(name, of, false);
    Fields::from(vec![field("microseconds", DataType::Int64), field("asserted", DataType::Boolean)])
}

/// Whether a struct with these fields represents a `Validity`.
#[must_use]
pub fn are_validity_fields(fields: &Fields) -> bool {
    let of = |fields: &Fields| -> Vec<_> {
        fields.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    of(fields) == of(&validity_fields())
}

/// Whether the column has Arrow's extension type for JSON text.
#[must_use]
pub fn is_json_field(field: &Field) -> bool {
    field.extension_type_name() == Some(JSON)
}

/// Whether the column has Arrow's extension type for UUIDs.
#[must_use]
pub fn is_uuid_field(field: &Field) -> bool {
    field.extension_type_name() == Some(UUID)
        && *field.data_type() == DataType::FixedSizeBinary(UUID_BYTES)
}

const JSON: &str = "arrow.json";

/// Bytes of a UUID.
pub(crate) const UUID_BYTES: i32 = 16;

/// The time zone of timestamps.
const UTC: &str = "UTC";

impl Digits {
    /// The type of a column whose decimals have at most these digits.
    pub(crate) fn arrow_type(self) -> DataType {
        let scale = self.scale as i8;
        match self.fit_128_bits() {
            true => DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale),
            false => DataType::Decimal256(DECIMAL256_MAX_PRECISION, scale),
        }
    }
}

/// Decimals with the largest of their scales, in 128 bits if they fit.
fn decimal_array(
    decimals: &[Decimal],
    digits: Digits,
    valid: Option<NullBuffer>,
) -> Made<ArrayRef> {
    let scale = digits.scale as i8;
    let failed = || ArrowError::ComputeError("a decimal has more digits than its column".into());
    if digits.fit_128_bits() {
        let coefficients = decimals.iter().map(|decimal| decimal.coefficient_at(digits.scale));
        let coefficients = coefficients.collect::<Option<Vec<i128>>>().ok_or_else(failed)?;
        let array = Decimal128Array::try_new(coefficients.into(), valid)?;
        return Ok(Arc::new(array.with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale)?));
    }
    let ten = i256::from_i128(10);
    let coefficient = |decimal: &Decimal| {
        let more = ten.checked_pow(digits.scale.checked_sub(decimal.scale())?)?;
        i256::from_i128(decimal.coefficient()).checked_mul(more)
    };
    let coefficients = decimals.iter().map(coefficient).collect::<Option<Vec<i256>>>();
    let array = Decimal256Array::try_new(coefficients.ok_or_else(failed)?.into(), valid)?;
    Ok(Arc::new(array.with_precision_and_scale(DECIMAL256_MAX_PRECISION, scale)?))
}

fn item_field(items: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new("item", items.data_type().clone(), true))
}

fn vectors(len: usize, floats: ArrayRef, valid: Option<NullBuffer>) -> Made<ArrayRef> {
    let len = i32::try_from(len).map_err(|error| ArrowError::ExternalError(error.into()))?;
    Ok(Arc::new(FixedSizeListArray::try_new(item_field(&floats), len, floats, valid)?))
}

fn lists(offsets: &[u64], items: TypedColumn, valid: Option<NullBuffer>) -> Made<ArrayRef> {
    let items = items.into_arrow(offsets.last().map_or(0, |&end| end as usize))?;
    let field = item_field(&items);
    Ok(match short(offsets) {
        Some(offsets) => Arc::new(ListArray::try_new(field, offsets, items, valid)?),
        None => Arc::new(LargeListArray::try_new(field, long(offsets), items, valid)?),
    })
}

fn nulls(valid: ValidRows, rows: usize) -> Option<NullBuffer> {
    let words = valid.0?;
    let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, rows);
    Some(NullBuffer::new(bits))
}

/// 32-bit offsets, which most readers expect; `None` if the data is too long for them.
fn short(offsets: &[u64]) -> Option<OffsetBuffer<i32>> {
    let last = offsets.last().copied().unwrap_or(0);
    i32::try_from(last).ok()?;
    let offsets: ScalarBuffer<i32> = offsets.iter().map(|&offset| offset as i32).collect();
    Some(OffsetBuffer::new(offsets))
}

fn long(offsets: &[u64]) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|&offset| offset.cast_signed()).collect())
}

fn text(texts: BytesColumn, valid: Option<NullBuffer>) -> Made<ArrayRef> {
    Ok(match short(&texts.offsets) {
        Some(offsets) => {
            Arc::new(GenericStringArray::<i32>::try_new(offsets, texts.heap.into(), valid)?)
        }
        None => {
            Arc::new(LargeStringArray::try_new(long(&texts.offsets), texts.heap.into(), valid)?)
        }
    })
}

fn binary(bytes: BytesColumn, valid: Option<NullBuffer>) -> Made<ArrayRef> {
    Ok(match short(&bytes.offsets) {
        Some(offsets) => {
            Arc::new(GenericBinaryArray::<i32>::try_new(offsets, bytes.heap.into(), valid)?)
        }
        None => {
            Arc::new(LargeBinaryArray::try_new(long(&bytes.offsets), bytes.heap.into(), valid)?)
        }
    })
}
