//! `Table` and `TableStream`: rows that other libraries read through the Arrow PyCapsule interface.

use crate::capsule::{NextBatch, schema_capsule, stream_capsule};
use crate::error::{OrRaise, check_process, invalid};
use crate::values::object;
use crate::{by_name, libraries};
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, LargeBinaryArray, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use env::Own;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple};
use quipu::{Edges, Series, VertexColumn, Weights};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are read from a scan at a time.
const ROWS_A_BATCH: usize = 1 << 16;
/// Tuples that a loop makes at a time.
const ROWS_MADE: usize = 64;
/// Rows that a notebook shows.
const ROWS_SHOWN: usize = 10;

/// Rows with named columns, as of the snapshot they were read from.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, mapping)]
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
    schema: Arc<Schema>,
    rows: usize,
}

impl Table {
    /// A table of batches that all have this schema.
    pub(crate) fn new(batches: Vec<RecordBatch>, schema: Arc<Schema>) -> Self {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        Self { batches, schema, rows }
    }

    /// A table of one batch, with its schema.
    pub(crate) fn of_batch(batch: RecordBatch) -> Self {
        let schema = batch.schema();
        Self::new(vec![batch], schema)
    }

    /// The values of one column.
    fn values<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let mut objects = Vec::with_capacity(self.rows);
        for batch in &self.batches {
            let values = Values::of(batch.column(column), self.schema.field(column))?;
            for row in 0..batch.num_rows() {
                objects.push(values.object(py, row)?);
            }
        }
        PyList::new(py, objects)
    }

    fn numbers<T: ArrowPrimitiveType>(&self, column: usize) -> Vec<T::Native> {
        let parts = self.batches.iter().map(|batch| batch.column(column).as_primitive::<T>());
        parts.flat_map(|part| part.values().iter().copied()).collect()
    }

    /// One column: numbers as an array of their type, others as an array of objects.
    fn array<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyAny>> {
        let has_nulls = self.batches.iter().any(|batch| batch.column(column).null_count() > 0);
        // A column has the type of the schema in each batch.
        Ok(match self.schema.field(column).data_type() {
            _ if has_nulls => by_name::objects(&self.values(py, column)?)?,
            DataType::UInt64 => {
                PyArray1::from_vec(py, self.numbers::<UInt64Type>(column)).into_any()
            }
            DataType::Int64 => PyArray1::from_vec(py, self.numbers::<Int64Type>(column)).into_any(),
            DataType::Float64 => {
                PyArray1::from_vec(py, self.numbers::<Float64Type>(column)).into_any()
            }
            _ => by_name::objects(&self.values(py, column)?)?,
        })
    }

    /// All edges of a graph.
    pub(crate) fn read(py: Python<'_>, graph: &quipu::Graph) -> PyResult<Self> {
        let batches = py.detach(|| -> quipu::Result<Vec<RecordBatch>> {
            let mut scan = graph.scan_edges()?;
            let mut batches = Vec::new();
            let mut edges = Edges::default();
            loop {
                edges.reset(graph.def().weight);
                if !scan.next_edges(ROWS_A_BATCH, &mut edges)? {
                    return Ok(batches);
                }
                batches.push(record_batch(graph, &edges)?);
            }
        });
        let batches = batches.or_raise()?;
        let mut none = Edges::default();
        none.reset(graph.def().weight);
        let empty = record_batch(graph, &none).or_raise()?;
        let schema = batches.first().unwrap_or(&empty).schema();
        Ok(Self::new(batches, schema))
    }
}

fn record_batch(graph: &quipu::Graph, edges: &Edges) -> quipu::Result<RecordBatch> {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("src", vertex_array(graph.to_vertices(&edges.src)?)),
        ("dst", vertex_array(graph.to_vertices(&edges.dst)?)),
    ];
    if graph.def().is_keyed {
        columns.push(("key", Arc::new(Int64Array::from(edges.key.clone()))));
    }
    match &edges.weight {
        Weights::None => {}
        Weights::Float(weights) => {
            columns.push(("weight", Arc::new(Float64Array::from(weights.clone()))));
        }
        Weights::Int(weights) => {
            columns.push(("weight", Arc::new(Int64Array::from(weights.clone()))));
        }
    }
    RecordBatch::try_from_iter(columns)
        .map_err(|error| quipu::Error::caused(quipu::ErrorKind::InvalidInput, error))
}

/// Vertices or keys as an Arrow array of `uint64`, `int64` or strings.
pub(crate) fn vertex_array(vertices: VertexColumn) -> ArrayRef {
    match vertices {
        VertexColumn::U64(words) => Arc::new(UInt64Array::from(words)),
        VertexColumn::I64(ints) => Arc::new(Int64Array::from(ints)),
        VertexColumn::Str(texts) => {
            let mut builder = StringBuilder::new();
            for i in 0..texts.len() {
                builder.append_value(String::from_utf8_lossy(texts.get(i)));
            }
            Arc::new(builder.finish())
        }
    }
}

#[documented]
#[guarded]
#[pymethods]
impl Table {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut rows = Vec::with_capacity(self.rows);
        for batch in &self.batches {
            push_tuples(py, batch, 0..batch.num_rows(), &mut rows)?;
        }
        PyList::new(py, rows)
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    fn __iter__(&self) -> TableRows {
        let batches = self.batches.iter().rev().cloned().collect();
        TableRows(env::sync::Mutex::new(TableCursor { batches, at: 0, made: VecDeque::new() }))
    }

    pub(crate) fn __arrow_c_schema__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore a requested schema that it cannot meet.
        let _ = requested_schema;
        let mut batches = self.batches.clone().into_iter();
        stream_capsule(py, &self.schema, Box::new(move || Ok(batches.next())))
    }

    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_arrow(slf)
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let columns = slf.get().columns()?;
        libraries::to_pandas(slf, columns, || slf.get().rows(slf.py()))
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_polars(slf)
    }

    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        by_name::dicts(py, &self.columns()?, &self.rows(py)?)
    }

    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name::arrays(py, &self.columns()?, |column| self.array(py, column))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        self.values(py, by_name::position(&self.columns()?, column)?)
    }

    fn __repr__(&self) -> PyResult<String> {
        let columns = self.columns()?.join(", ");
        Ok(format!("<quipu.Table: {} rows, columns {columns}>", self.rows))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut html = String::from("<table><tr>");
        for name in self.columns()? {
            html.push_str(&format!("<th>{}</th>", escape(&name)));
        }
        html.push_str("</tr>");
        let mut shown = Vec::new();
        for batch in &self.batches {
            let more = batch.num_rows().min(ROWS_SHOWN - shown.len());
            push_tuples(py, batch, 0..more, &mut shown)?;
        }
        for row in shown {
            html.push_str("<tr>");
            for value in row.iter() {
                html.push_str(&format!("<td>{}</td>", escape(&value.str()?.to_string())));
            }
            html.push_str("</tr>");
        }
        html.push_str(&format!("</table><p>{} rows</p>", self.rows));
        Ok(html)
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A column, downcast once for many rows.
enum Values<'b> {
    U64(&'b [u64]),
    I64(&'b [i64]),
    F64(&'b [f64]),
    Binary(&'b LargeBinaryArray),
    Text(&'b StringArray),
    /// Of another type, or with nulls.
    Other(Series),
}

impl<'b> Values<'b> {
    fn of(column: &'b ArrayRef, field: &Field) -> PyResult<Self> {
        let is_plain = column.null_count() == 0 && !quipu::is_json_field(field);
        Ok(match column.data_type() {
            DataType::LargeBinary => Self::Binary(column.as_binary()),
            _ if !is_plain => Self::Other(quipu::series_of_arrow(column, field).or_raise()?),
            DataType::UInt64 => Self::U64(column.as_primitive::<UInt64Type>().values()),
            DataType::Int64 => Self::I64(column.as_primitive::<Int64Type>().values()),
            DataType::Float64 => Self::F64(column.as_primitive::<Float64Type>().values()),
            DataType::Utf8 => Self::Text(column.as_string()),
            _ => Self::Other(quipu::series_of_arrow(column, field).or_raise()?),
        })
    }

    fn object<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::U64(words) => words[row].into_pyobject(py)?.into_any(),
            Self::I64(ints) => ints[row].into_pyobject(py)?.into_any(),
            Self::F64(floats) => floats[row].into_pyobject(py)?.into_any(),
            Self::Binary(values) if values.is_null(row) => py.None().into_bound(py),
            Self::Binary(values) => PyBytes::new(py, values.value(row)).into_any(),
            Self::Text(texts) => texts.value(row).into_pyobject(py)?.into_any(),
            Self::Other(series) => object(py, &series.value(row))?,
        })
    }
}

/// Appends these rows of the batch to `out`, as tuples.
fn push_tuples<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
    rows: Range<usize>,
    out: &mut impl Extend<Bound<'py, PyTuple>>,
) -> PyResult<()> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| Values::of(column, field));
    let columns: Vec<Values<'_>> = columns.collect::<PyResult<_>>()?;
    let mut row_values = Vec::with_capacity(columns.len());
    for row in rows {
        for column in &columns {
            row_values.push(column.object(py, row)?);
        }
        out.extend([PyTuple::new(py, row_values.drain(..))?]);
    }
    Ok(())
}

/// An iterator over the rows of a table. It makes 64 tuples at a time.
#[pyclass(module = "quipu", frozen, weakref)]
struct TableRows(env::sync::Mutex<TableCursor>);

struct TableCursor {
    /// Batches that are not finished, the next one last.
    batches: Vec<RecordBatch>,
    /// Rows of the last batch whose tuples are made or are being made.
    at: usize,
    made: VecDeque<Py<PyTuple>>,
}

impl TableCursor {
    /// The next rows to make tuples of, with their batch.
    fn next_rows(&mut self) -> Option<(RecordBatch, Range<usize>)> {
        let batch = self.batches.last()?.clone();
        let rows = self.at..batch.num_rows().min(self.at + ROWS_MADE);
        self.at = rows.end;
        if rows.end == batch.num_rows() {
            self.batches.pop();
            self.at = 0;
        }
        Some((batch, rows))
    }
}

#[guarded]
#[pymethods]
impl TableRows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        loop {
            let (batch, rows) = {
                let left = &mut *self.0.lock();
                if let Some(tuple) = left.made.pop_front() {
                    return Ok(Some(tuple.into_bound(py)));
                }
                let Some(next) = left.next_rows() else { return Ok(None) };
                next
            };
            // Without the lock: making tuples may run any Python code.
            let mut tuples = Vec::with_capacity(rows.len());
            push_tuples(py, &batch, rows, &mut tuples)?;
            self.0.lock().made.extend(tuples.into_iter().map(Bound::unbind));
        }
    }
}

/// An iterator over tables, as of the snapshot that the stream reads.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct TableStream {
    schema: Arc<Schema>,
    /// `None` once it is exported to Arrow.
    next: Own<env::sync::Mutex<Option<NextBatch>>>,
}

impl TableStream {
    pub(crate) fn new(schema: Arc<Schema>, next: NextBatch) -> Self {
        Self { schema, next: Own::new(env::sync::Mutex::new(Some(next))) }
    }

    /// Takes the remaining batches out of the stream.
    fn take(&self) -> PyResult<NextBatch> {
        check_process(&self.next)?
            .lock()
            .take()
            .ok_or_else(|| invalid("the stream was handed out already"))
    }
}

#[documented]
#[guarded]
#[pymethods]
impl TableStream {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let next = check_process(&self.next)?;
        let batch = py.detach(|| match &mut *next.lock() {
            Some(next) => next(),
            None => Ok(None),
        });
        Ok(batch.or_raise()?.map(Table::of_batch))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // as in `Table`
        stream_capsule(py, &self.schema, self.take()?)
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut next = self.take()?;
        let mut rows = Vec::new();
        while let Some(batch) = py.detach(&mut next).or_raise()? {
            push_tuples(py, &batch, 0..batch.num_rows(), &mut rows)?;
        }
        PyList::new(py, rows)
    }

    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_arrow(slf)
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let columns = slf.get().columns()?;
        libraries::to_pandas(slf, columns, || slf.get().rows(slf.py()))
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_polars(slf)
    }
}
