//! `Relation`: reads and writes the columns of one relation. `Database.relation` and
//! `Transaction.relation` make it; the stub documents it. All rules are those of `quipu::Relation`.

use crate::arrays;
use crate::capsule::{NextBatch, arrow_error, schema_of, speaks_arrow};
use crate::error::{OrRaise, check_process, invalid};
use crate::frames::{frame, is_pandas, is_unnamed_index, without_index};
use crate::libraries;
use crate::table::{Table, TableStream};
use crate::values::object;
use arrow_schema::{DataType, Field, Schema};
use env::Own;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple};
use quipu::{ChangeKind, ColumnOf, RunOptions, Type, VectorKind, record_batch};
use std::sync::Arc;

/// Rows in a batch of a stream.
const ROWS_A_BATCH: usize = 1 << 16;

/// A stored relation, as the database or a transaction sees it.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct Relation {
    relation: Own<quipu::Relation>,
}

impl Relation {
    pub(crate) fn new(relation: quipu::Relation) -> Self {
        Self { relation: Own::new(relation) }
    }

    pub(crate) fn relation(&self) -> PyResult<&quipu::Relation> {
        check_process(&self.relation)
    }
}

/// A column of a relation: its name, its type, its default, and whether it is part of the key.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, get_all)]
pub(crate) struct Column {
    name: String,
    r#type: String,
    is_key: bool,
    default: Option<String>,
}

#[documented]
#[guarded]
#[pymethods]
impl Column {
    fn __repr__(&self) -> String {
        let key = if self.is_key { "key " } else { "" };
        let default = self.default.as_ref().map(|text| format!(" default {text}"));
        format!("<{key}{}: {}{}>", self.name, self.r#type, default.unwrap_or_default())
    }
}

/// Opens a relation, or creates it with the columns of `create`, where that is given.
pub(crate) fn open(
    py: Python<'_>,
    database: &quipu::Database,
    name: &str,
    create: Option<&Bound<'_, PyAny>>,
    keys: Option<Vec<String>>,
) -> PyResult<Relation> {
    let relation = match (create, keys) {
        (None, None) => py.detach(|| database.relation(name)).or_raise()?,
        (None, Some(_)) => return Err(invalid("keys name the columns of create")),
        (Some(create), keys) => match create.cast::<PyString>() {
            Ok(_) if keys.is_some() => return Err(invalid("the text of create says the keys")),
            Ok(spec) => {
                let spec = spec.to_str()?.to_owned();
                py.detach(|| database.create_relation(name, &spec)).or_raise()?
            }
            Err(_) => {
                let keys = keys.ok_or_else(|| {
                    invalid("keys are needed: the names of the columns that rows are found by")
                })?;
                let columns = columns_of(&with_columns_alone(create, &keys)?, &keys)?;
                py.detach(|| database.create_relation_of(name, &columns)).or_raise()?
            }
        },
    };
    Ok(Relation::new(relation))
}

/// A frame without the index that numbers its rows; anything else unchanged.
fn with_columns_alone<'py>(
    create: &Bound<'py, PyAny>,
    keys: &[String],
) -> PyResult<Bound<'py, PyAny>> {
    match is_pandas(create)? {
        true => without_index(create, keys),
        false => Ok(create.clone()),
    }
}

/// The columns of a relation that can store what an Arrow schema describes.
fn columns_of(schema: &Bound<'_, PyAny>, keys: &[String]) -> PyResult<Vec<ColumnOf>> {
    if !schema.hasattr("__arrow_c_schema__")? && !speaks_arrow(schema)? {
        let what = format!("create cannot be a {}", schema.get_type().name()?);
        let hint =
            "a text such as \"{key: Int => value: String?}\" and an Arrow schema or table can";
        return Err(PyTypeError::new_err(format!("{what}\nhint: {hint}")));
    }
    let schema = schema_of(schema)?;
    if let Some(unknown) = keys.iter().find(|key| schema.field_with_name(key).is_err()) {
        return Err(invalid(&format!("the key `{unknown}` is none of the columns")));
    }
    let column = |field: &Field, is_key: bool| -> PyResult<ColumnOf> {
        let of = type_of_field(field, field.name())?;
        let nullable = !is_key && field.is_nullable() && !matches!(of, Type::Nullable(_));
        let column_type = if nullable { Type::Nullable(Box::new(of)) } else { of };
        Ok(ColumnOf { name: field.name().clone(), column_type, is_key, default: None })
    };
    let mut columns = Vec::new();
    for key in keys {
        columns.push(column(schema.field_with_name(key).map_err(arrow_error)?, true)?);
    }
    let is_value = |name: &String| !keys.contains(name) && !is_unnamed_index(name);
    for field in schema.fields().iter().filter(|field| is_value(field.name())) {
        columns.push(column(field, false)?);
    }
    Ok(columns)
}

fn type_of_field(field: &Field, name: &str) -> PyResult<Type> {
    if quipu::is_uuid_field(field) {
        return Ok(Type::Uuid);
    }
    if quipu::is_json_field(field) {
        return Ok(Type::Json);
    }
    type_of(field.data_type(), name)
}

fn type_of(of: &DataType, name: &str) -> PyResult<Type> {
    Ok(match of {
        DataType::Null => Type::Nullable(Box::new(Type::Any)),
        DataType::Boolean => Type::Bool,
        of if of.is_integer() => Type::Int,
        of if of.is_floating() => Type::Float,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::String,
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Timestamp(..) => Type::Timestamp,
        DataType::Duration(_) => Type::Duration,
        of if of.is_decimal() => Type::Decimal,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Type::Bytes,
        DataType::Dictionary(_, of) => return type_of(of, name),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Type::List(Box::new(item_type(item, name)?), None),
        DataType::FixedSizeList(item, len) => {
            let len = u64::try_from(*len).unwrap_or_default();
            match item.data_type() {
                DataType::Float32 => Type::Vector(VectorKind::F32, len),
                DataType::Float64 => Type::Vector(VectorKind::F64, len),
                _ => Type::List(Box::new(item_type(item, name)?), Some(len)),
            }
        }
        DataType::Struct(fields) if quipu::are_validity_fields(fields) => Type::Validity,
        DataType::Struct(_) => Type::Json,
        other => {
            let what = format!("column `{name}` is of the Arrow type {other}");
            return Err(invalid(&format!("{what}\nhint: cast it to numbers or text")));
        }
    })
}

fn item_type(item: &Field, name: &str) -> PyResult<Type> {
    let of = type_of_field(item, name)?;
    let is_nullable = item.is_nullable() && !matches!(of, Type::Nullable(_));
    Ok(if is_nullable { Type::Nullable(Box::new(of)) } else { of })
}

impl Relation {
    fn change(&self, data: &Bound<'_, PyAny>, kind: ChangeKind) -> PyResult<()> {
        let relation = self.relation()?;
        let names: Vec<String> =
            relation.columns().iter().map(|column| column.name.clone()).collect();
        let rows = frame(data, &names)?;
        crate::interruptible::interruptible(data.py(), |go_on| {
            let options = RunOptions { go_on: Some(go_on), ..RunOptions::default() };
            relation.change(kind, &rows, &options)
        })
    }

    /// The Arrow schema of the relation; `None` where a column's type depends on its values.
    fn schema(&self) -> Option<Schema> {
        quipu::arrow_schema(self.relation.anywhere().columns())
    }

    /// All rows as one table. The GIL is released while they are read.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let relation = self.relation()?;
        let batch = py.detach(|| record_batch(relation.columns(), relation.to_frame()?));
        Ok(Table::of_batch(batch.or_raise()?))
    }
}

#[documented]
#[guarded]
#[pymethods]
impl Relation {
    #[getter]
    fn name(&self) -> &str {
        self.relation.anywhere().name()
    }

    #[getter]
    fn columns(&self) -> Vec<Column> {
        let column = |column: &ColumnOf| Column {
            name: column.name.clone(),
            r#type: column.column_type.to_string(),
            is_key: column.is_key,
            default: column.default.clone(),
        };
        self.relation.anywhere().columns().iter().map(column).collect()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let relation = self.relation()?;
        let rows = py.detach(|| relation.len()).or_raise()?;
        Ok(usize::try_from(rows)?)
    }

    /// True for an empty relation, too: otherwise Python would call `__len__`.
    fn __bool__(&self) -> bool {
        true
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let relation = self.relation()?;
        let frame = py.detach(|| relation.to_frame()).or_raise()?;
        let rows = PyList::empty(py);
        for row in 0..frame.len() {
            let values = frame.columns().iter().map(|column| object(py, &column.value(row)));
            rows.append(PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        Ok(rows)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.call_method0("__iter__")
    }

    fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Table)> {
        rows_of_keys(self.relation()?, keys)
    }

    fn put(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(data, ChangeKind::Put)
    }

    fn insert(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(data, ChangeKind::Insert)
    }

    fn update(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(data, ChangeKind::Update)
    }

    fn rm(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(data, ChangeKind::Rm)
    }

    fn delete(&self, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(data, ChangeKind::Delete)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        match self.schema() {
            Some(schema) => Table::new(Vec::new(), Arc::new(schema)).__arrow_c_schema__(py),
            None => self.table(py)?.__arrow_c_schema__(py),
        }
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let relation = self.relation()?;
        let Some(schema) = self.schema() else {
            return self.table(py)?.__arrow_c_stream__(py, requested_schema);
        };
        let mut scan = py.detach(|| relation.scan()).or_raise()?;
        let columns = relation.columns().to_vec();
        let next: NextBatch = Box::new(move || match scan.next_rows(ROWS_A_BATCH)? {
            Some(rows) => record_batch(&columns, rows).map(Some),
            None => Ok(None),
        });
        TableStream::new(Arc::new(schema), next).__arrow_c_stream__(py, requested_schema)
    }

    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_arrow(slf)
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let columns =
            slf.get().relation()?.columns().iter().map(|column| column.name.clone()).collect();
        libraries::to_pandas(slf, columns, || slf.get().rows(slf.py()))
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_polars(slf)
    }

    fn __repr__(&self) -> String {
        let text = |column: &ColumnOf| format!("{}: {}", column.name, column.column_type);
        let (keys, values): (Vec<_>, Vec<_>) =
            self.relation.anywhere().columns().iter().partition(|column| column.is_key);
        let of =
            |columns: Vec<&ColumnOf>| columns.into_iter().map(text).collect::<Vec<_>>().join(", ");
        let (keys, values) = (of(keys), of(values));
        let arrow = if values.is_empty() { "" } else { " => " };
        format!("<quipu.Relation {} {{{keys}{arrow}{values}}}>", self.relation.anywhere().name())
    }
}

/// Whether each key exists, and a table of the rows that do, in the order of the keys.
pub(crate) fn rows_of_keys<'py>(
    relation: &quipu::Relation,
    keys: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<bool>>, Table)> {
    let py = keys.py();
    let of_key = relation.columns().iter().filter(|column| column.is_key);
    let names: Vec<String> = of_key.map(|column| column.name.clone()).collect();
    let keys = frame(keys, &names)?;
    let found = py.detach(|| {
        let (present, rows) = relation.get_many(&keys)?;
        Ok((present, record_batch(relation.columns(), rows)?))
    });
    let (present, rows) = found.or_raise()?;
    Ok((arrays::flags(py, &present), Table::of_batch(rows)))
}
