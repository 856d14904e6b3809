//! `Documents`: JSON by key, for Python.

use crate::arrays;
use crate::columns::{Column, KEY, column};
use crate::document_files::{export, format_of, import, pointer};
use crate::document_items::DocumentItems;
use crate::error::{OrRaise, check_process, invalid};
use crate::key_iterator::KeyIterator;
use crate::keys::{with_bound, with_bytes, with_key};
use crate::table::{Table, vertex_array};
use crate::values::{json_object, json_value};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use env::Own;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use quipu::{
    FieldChange, FieldType, FieldValues, Format, Json, KeyList, KeyOf, KeyType, Patch, Pointer,
};
use std::sync::Arc;

/// A map from keys to JSON documents, read and written through the database or a transaction.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, mapping)]
pub(crate) struct Documents {
    documents: Own<quipu::Documents>,
}

/// Calls `f` with one key as a list.
fn with_one<R>(key: KeyOf<'_>, f: impl FnOnce(KeyList<'_>) -> R) -> R {
    match key {
        KeyOf::U64(key) => f(KeyList::U64(&[key])),
        KeyOf::I64(key) => f(KeyList::I64(&[key])),
        KeyOf::Str(key) => f(KeyList::Str(&[key])),
    }
}

fn patch(operations: &Bound<'_, PyAny>) -> PyResult<Patch> {
    let patch = json_value(operations, "a patch")?;
    Patch::parse(&patch.to_tree()).map_err(|error| invalid(&error.to_string()))
}

/// A field of a document.
fn field_of(document: &Json, field: &Pointer) -> Option<Json> {
    // A part of a document nests no deeper than the whole.
    field.get(&document.to_tree()).and_then(|value| Json::of_tree(value.clone()).ok())
}

/// The items of an iterable, each as JSON.
fn json_values(values: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Json>> {
    values.try_iter()?.map(|value| json_value(&value?, name)).collect()
}

/// Writes values of documents, or of one field of them.
fn write(
    documents: &quipu::Documents,
    keys: KeyList<'_>,
    values: Vec<Json>,
    field: Option<&Pointer>,
    change: FieldChange,
) -> quipu::Result<()> {
    match (field.filter(|field| !field.is_root()), change) {
        (Some(field), change) => documents.set_field(keys, field, &values, change),
        (None, FieldChange::Insert) => documents.insert_many(keys, values),
        (None, FieldChange::Update) => documents.update_many(keys, values),
        (None, FieldChange::Upsert) => documents.put_many(keys, values),
    }
}

/// Documents as Arrow columns `key` and `doc`, of JSON text.
fn record_batch(rows: quipu::DocumentRows) -> quipu::Result<RecordBatch> {
    let texts: StringArray = rows.documents.iter().map(|doc| Some(doc.as_str())).collect();
    batch([("key", vertex_array(rows.keys)), ("doc", Arc::new(texts))])
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> quipu::Result<RecordBatch> {
    let columns = columns.map(|(name, array)| (name, array, false));
    RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|error| quipu::Error::caused(quipu::ErrorKind::InvalidInput, error))
}

impl Documents {
    pub(crate) fn new(documents: quipu::Documents) -> Self {
        Self { documents: Own::new(documents) }
    }

    fn documents(&self) -> PyResult<&quipu::Documents> {
        check_process(&self.documents)
    }

    fn key_type(&self) -> KeyType {
        self.documents.anywhere().def().key
    }

    fn column<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        column(self.key_type(), KEY, keys)
    }

    fn found(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<Json>> {
        let documents = self.documents()?;
        let py = key.py();
        with_key(self.key_type(), key, |key| py.detach(|| documents.get(key)).or_raise())
    }

    fn write_one(
        &self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        field: Option<&str>,
        change: FieldChange,
    ) -> PyResult<()> {
        let (documents, py) = (self.documents()?, key.py());
        let (value, field) = (json_value(value, "a document")?, field.map(pointer).transpose()?);
        with_key(self.key_type(), key, |key| {
            let write =
                |keys: KeyList<'_>| write(documents, keys, vec![value], field.as_ref(), change);
            py.detach(|| with_one(key, write)).or_raise()
        })
    }

    fn write_many(
        &self,
        keys: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        field: Option<&str>,
        change: FieldChange,
    ) -> PyResult<()> {
        let (documents, py) = (self.documents()?, keys.py());
        let (keys, values) = (self.column(keys)?, json_values(values, "a document")?);
        let field = field.map(pointer).transpose()?;
        keys.with_list(|keys| py.detach(|| write(documents, keys, values, field.as_ref(), change)))?
            .or_raise()
    }
}

#[documented]
#[guarded]
#[pymethods]
impl Documents {
    #[getter]
    fn name(&self) -> &str {
        self.documents.anywhere().name()
    }

    #[getter]
    fn key(&self) -> &'static str {
        arrays::key_type(self.key_type())
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.found(key)?;
        let found = found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))?;
        json_object(key.py(), &found)
    }

    #[pyo3(signature = (key, default=None, *, field=None, format=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        field: Option<&str>,
        format: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let format = format.map(format_of).transpose()?;
        let found = match field.map(pointer).transpose()? {
            None => self.found(key)?,
            Some(field) => self.found(key)?.and_then(|found| field_of(&found, &field)),
        };
        match (found, format) {
            (None, _) => Ok(default),
            (Some(found), None) => json_object(py, &found).map(Some),
            (Some(found), Some(format)) => {
                let bytes = format.encode(&found).map_err(|error| invalid(&error.to_string()))?;
                Ok(Some(PyBytes::new(py, &bytes).into_any()))
            }
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.found(key)?.is_some())
    }

    #[pyo3(signature = (keys, *, field=None))]
    fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        field: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (documents, py) = (self.documents()?, keys.py());
        let (keys, field) = (self.column(keys)?, field.map(pointer).transpose()?);
        let found = keys.with_list(|keys| py.detach(|| documents.get_many(keys)))?.or_raise()?;
        let value = |found: Option<Json>| {
            let value = match &field {
                None => found,
                Some(field) => found.and_then(|found| field_of(&found, field)),
            };
            value.map(|value| json_object(py, &value)).transpose()
        };
        PyList::new(py, found.into_iter().map(value).collect::<PyResult<Vec<_>>>()?)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, document: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(key, document, None)
    }

    #[pyo3(signature = (key, document, *, format=None))]
    fn put(
        &self,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        format: Option<&str>,
    ) -> PyResult<()> {
        let Some(format) = format.map(format_of).transpose()? else {
            return self.write_one(key, document, None, FieldChange::Upsert);
        };
        let (documents, py) = (self.documents()?, key.py());
        let decoded = with_bytes(document, |bytes| Ok(format.decode(bytes)))?;
        let document = decoded.map_err(|error| invalid(&error.to_string()))?;
        with_key(self.key_type(), key, |key| py.detach(|| documents.put(key, document)).or_raise())
    }

    fn put_many(&self, keys: &Bound<'_, PyAny>, documents: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write_many(keys, documents, None, FieldChange::Upsert)
    }

    #[pyo3(signature = (key, document, *, field=None))]
    fn insert(
        &self,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_one(key, document, field, FieldChange::Insert)
    }

    #[pyo3(signature = (keys, documents, *, field=None))]
    fn insert_many(
        &self,
        keys: &Bound<'_, PyAny>,
        documents: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_many(keys, documents, field, FieldChange::Insert)
    }

    #[pyo3(signature = (key, document, *, field=None))]
    fn update(
        &self,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_one(key, document, field, FieldChange::Update)
    }

    #[pyo3(signature = (keys, documents, *, field=None))]
    fn update_many(
        &self,
        keys: &Bound<'_, PyAny>,
        documents: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_many(keys, documents, field, FieldChange::Update)
    }

    #[pyo3(signature = (key, document, *, field=None))]
    fn upsert(
        &self,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_one(key, document, field, FieldChange::Upsert)
    }

    #[pyo3(signature = (keys, documents, *, field=None))]
    fn upsert_many(
        &self,
        keys: &Bound<'_, PyAny>,
        documents: &Bound<'_, PyAny>,
        field: Option<&str>,
    ) -> PyResult<()> {
        self.write_many(keys, documents, field, FieldChange::Upsert)
    }

    fn patch(&self, key: &Bound<'_, PyAny>, operations: &Bound<'_, PyAny>) -> PyResult<()> {
        let (documents, py) = (self.documents()?, key.py());
        let patch = patch(operations)?;
        with_key(self.key_type(), key, |key| py.detach(|| documents.patch(key, &patch)).or_raise())
    }

    fn patch_many(&self, keys: &Bound<'_, PyAny>, patches: &Bound<'_, PyAny>) -> PyResult<()> {
        let (documents, py) = (self.documents()?, keys.py());
        let keys = self.column(keys)?;
        let patches: Vec<Patch> =
            patches.try_iter()?.map(|one| patch(&one?)).collect::<PyResult<_>>()?;
        keys.with_list(|keys| py.detach(|| documents.patch_many(keys, &patches)))?.or_raise()
    }

    fn merge(&self, key: &Bound<'_, PyAny>, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let (documents, py) = (self.documents()?, key.py());
        let changes = json_value(changes, "a merge patch")?;
        with_key(self.key_type(), key, |key| {
            py.detach(|| documents.merge(key, &changes)).or_raise()
        })
    }

    fn merge_many(&self, keys: &Bound<'_, PyAny>, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let (documents, py) = (self.documents()?, keys.py());
        let (keys, changes) = (self.column(keys)?, json_values(changes, "a merge patch")?);
        keys.with_list(|keys| py.detach(|| documents.merge_many(keys, &changes)))?.or_raise()
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.delete(key)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (documents, py) = (self.documents()?, key.py());
        with_key(self.key_type(), key, |key| {
            let delete = || with_one(key, |keys| documents.delete_many(keys));
            Ok(py.detach(delete).or_raise()?.contains(&true))
        })
    }

    fn delete_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let (documents, py) = (self.documents()?, keys.py());
        let keys = self.column(keys)?;
        let had = keys.with_list(|keys| py.detach(|| documents.delete_many(keys)))?.or_raise()?;
        Ok(arrays::flags(py, &had))
    }

    fn delete_field(&self, key: &Bound<'_, PyAny>, field: &str) -> PyResult<()> {
        let (documents, py) = (self.documents()?, key.py());
        let field = pointer(field)?;
        with_key(self.key_type(), key, |key| {
            let remove = || with_one(key, |keys| documents.remove_field(keys, &field));
            py.detach(remove).or_raise()
        })
    }

    #[pyo3(signature = (start=None, count=100))]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        count: usize,
    ) -> PyResult<Table> {
        let documents = self.documents()?;
        with_bound(self.key_type(), start, |start| {
            let batch = py.detach(|| record_batch(documents.scan(start, count)?));
            Ok(Table::of_batch(batch.or_raise()?))
        })
    }

    fn items(&self, py: Python<'_>) -> PyResult<DocumentItems> {
        let documents = self.documents()?;
        Ok(DocumentItems::new(py.detach(|| documents.all()).or_raise()?))
    }

    fn keys(&self, py: Python<'_>) -> PyResult<KeyIterator> {
        let documents = self.documents()?;
        let mut scan = py.detach(|| documents.all()).or_raise()?;
        let next = move |count| Ok(scan.next_rows(count)?.map(|rows| rows.keys));
        Ok(KeyIterator::new(Box::new(next)))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<KeyIterator> {
        self.keys(py)
    }

    #[pyo3(signature = (name, *fields, unique=false))]
    fn create_index(
        &self,
        py: Python<'_>,
        name: &str,
        fields: Vec<String>,
        unique: bool,
    ) -> PyResult<()> {
        let documents = self.documents()?;
        let fields = fields.iter().map(|field| pointer(field)).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| documents.create_index(name, &fields, unique)).or_raise()
    }

    fn drop_index(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let documents = self.documents()?;
        py.detach(|| documents.drop_index(name)).or_raise()
    }

    #[pyo3(signature = (field, *value, minimum=None, maximum=None))]
    fn find(
        &self,
        field: &str,
        value: &Bound<'_, PyTuple>,
        minimum: Option<&Bound<'_, PyAny>>,
        maximum: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DocumentItems> {
        let (documents, py) = (self.documents()?, value.py());
        let field = pointer(field)?;
        let bound = |given: Option<&Bound<'_, PyAny>>, name: &str| {
            given.map(|given| json_value(given, name)).transpose()
        };
        let values = match (value.len(), minimum, maximum) {
            (1, None, None) => FieldValues::Equal(json_value(&value.get_item(0)?, "the value")?),
            (0, Some(_), _) | (0, _, Some(_)) => {
                FieldValues::Between(bound(minimum, "minimum")?, bound(maximum, "maximum")?)
            }
            _ => return Err(invalid("find takes one value, or minimum or maximum")),
        };
        let rows = py.detach(|| documents.find(&field, &values)).or_raise()?;
        Ok(DocumentItems::of_rows(rows))
    }

    fn gist(&self, py: Python<'_>) -> PyResult<Table> {
        let documents = self.documents()?;
        let batch = py.detach(|| {
            let gist = documents.gist()?;
            let fields: StringArray = gist.rows().map(|(field, ..)| Some(field)).collect();
            let kinds: StringArray =
                gist.rows().map(|(_, kind, _)| Some(kind.to_string())).collect();
            let counts: UInt64Array = gist.rows().map(|(.., count)| Some(count)).collect();
            let columns: [(&str, ArrayRef); 3] = [
                ("field", Arc::new(fields)),
                ("type", Arc::new(kinds)),
                ("documents", Arc::new(counts)),
            ];
            self::batch(columns)
        });
        Ok(Table::of_batch(batch.or_raise()?))
    }

    fn gather(
        &self,
        py: Python<'_>,
        keys: Option<&Bound<'_, PyAny>>,
        fields: &Bound<'_, PyDict>,
    ) -> PyResult<(Table, Table, Table)> {
        let documents = self.documents()?;
        let field = |(name, of): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let of: FieldType = of
                .extract::<String>()?
                .parse()
                .map_err(|error: quipu::DocumentError| invalid(&error.to_string()))?;
            Ok((name.extract::<String>()?, of))
        };
        let fields = fields.iter().map(field).collect::<PyResult<Vec<_>>>()?;
        let gathered = match keys {
            None => py.detach(|| documents.gather(None, &fields)),
            Some(keys) => self
                .column(keys)?
                .with_list(|keys| py.detach(|| documents.gather(Some(keys), &fields)))?,
        };
        let quipu::Gathered { values, converted, collided } = gathered.or_raise()?;
        Ok((Table::of_batch(values), Table::of_batch(converted), Table::of_batch(collided)))
    }

    #[pyo3(signature = (source, key_field, *, commit_every=None))]
    fn import_ndjson(
        &self,
        source: &Bound<'_, PyAny>,
        key_field: &str,
        commit_every: Option<u64>,
    ) -> PyResult<u64> {
        import(self.documents()?, Format::Json, source, key_field, commit_every)
    }

    #[pyo3(signature = (target, *, key_field=None))]
    fn export_ndjson(&self, target: &Bound<'_, PyAny>, key_field: Option<&str>) -> PyResult<u64> {
        export(self.documents()?, Format::Json, target, key_field)
    }

    #[pyo3(signature = (source, key_field="_id", *, commit_every=None))]
    fn import_bson(
        &self,
        source: &Bound<'_, PyAny>,
        key_field: &str,
        commit_every: Option<u64>,
    ) -> PyResult<u64> {
        import(self.documents()?, Format::Bson, source, key_field, commit_every)
    }

    #[pyo3(signature = (target, *, key_field=None))]
    fn export_bson(&self, target: &Bound<'_, PyAny>, key_field: Option<&str>) -> PyResult<u64> {
        export(self.documents()?, Format::Bson, target, key_field)
    }

    #[pyo3(signature = (source, key_field, *, commit_every=None))]
    fn import_msgpack(
        &self,
        source: &Bound<'_, PyAny>,
        key_field: &str,
        commit_every: Option<u64>,
    ) -> PyResult<u64> {
        import(self.documents()?, Format::MessagePack, source, key_field, commit_every)
    }

    #[pyo3(signature = (target, *, key_field=None))]
    fn export_msgpack(&self, target: &Bound<'_, PyAny>, key_field: Option<&str>) -> PyResult<u64> {
        export(self.documents()?, Format::MessagePack, target, key_field)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let documents = self.documents()?;
        Ok(usize::try_from(py.detach(|| documents.len()).or_raise()?)?)
    }

    /// Without this method Python would call `__len__`, which counts documents.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        format!(
            "<quipu.Documents {:?}, keys {}>",
            self.documents.anywhere().name(),
            arrays::key_type(self.key_type())
        )
    }
}
