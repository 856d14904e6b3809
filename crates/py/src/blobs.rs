//! `Blobs`: byte strings by key, for Python.

use crate::blob_items::BlobItems;
use crate::blob_stream::{BlobReader, BlobWriter};
use crate::columns::{KEY, column};
use crate::error::{OrRaise, check_process};
use crate::key_iterator::KeyIterator;
use crate::keys::{binary_array, values, with_bound, with_bytes, with_key, with_range};
use crate::python_code::attached;
use crate::table::{Table, TableStream, vertex_array};
use crate::{arrays, gil};
use arrow_array::RecordBatch;
use env::Own;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use quipu::{BlobRows, BytesColumn};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that are read from a scan at a time; fewer where values are long.
const ROWS_A_BATCH: usize = 4096;

/// Values of at most this length are written while holding the GIL: the write takes as long as
/// releasing the GIL and taking it back.
const QUICK_BYTES_MAX: usize = 1 << 16;

/// A map from keys to byte strings, read and written through the database or a transaction.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, mapping)]
pub(crate) struct Blobs {
    blobs: Own<quipu::Blobs>,
    pub(crate) database: quipu::Database,
}

impl Blobs {
    pub(crate) fn new(blobs: quipu::Blobs, database: quipu::Database) -> Self {
        Self { blobs: Own::new(blobs), database }
    }

    pub(crate) fn blobs(&self) -> PyResult<&quipu::Blobs> {
        check_process(&self.blobs)
    }
}

impl Blobs {
    fn value<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let blobs = self.blobs()?;
        with_key(blobs.def().key, key, |key| {
            let bytes = |value: Option<&[u8]>| value.map(|value| PyBytes::new(py, value));
            if let Some(found) = gil::try_with_gil(|| blobs.with_value(key, bytes)) {
                return found.or_raise();
            }
            let copied = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
            let found = gil::detached(py, || blobs.with_value(key, copied)).or_raise()?;
            Ok(bytes(found.as_deref()))
        })
    }

    fn rows(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&quipu::Blobs, &mut BlobRows) -> quipu::Result<()> + Send,
    ) -> PyResult<Table> {
        let blobs = self.blobs()?;
        let batch = py.detach(|| {
            let mut rows = BlobRows::new(blobs.def().key);
            read(blobs, &mut rows)?;
            record_batch(rows)
        });
        Ok(Table::of_batch(batch.or_raise()?))
    }
}

/// Rows as Arrow columns `key` and `value`.
fn record_batch(rows: BlobRows) -> quipu::Result<RecordBatch> {
    let (keys, values) = rows.into_columns()?;
    let columns = [("key", vertex_array(keys)), ("value", binary_array(values))];
    RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, array)| (name, array, name == "value")),
    )
    .map_err(|error| quipu::Error::caused(quipu::ErrorKind::InvalidInput, error))
}

#[documented]
#[guarded]
#[pymethods]
impl Blobs {
    #[getter]
    fn name(&self) -> &str {
        self.blobs.anywhere().name()
    }

    #[getter]
    fn key(&self) -> &'static str {
        crate::arrays::key_type(self.blobs.anywhere().def().key)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.value(py, key)?.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.value(py, key)?.map(Bound::into_any).or(default))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let blobs = self.blobs()?;
        let py = key.py();
        with_key(blobs.def().key, key, |key| gil::lookup(py, || blobs.contains(key)).or_raise())
    }

    fn contains_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        let mut present = Vec::new();
        keys.with_list(|keys| py.detach(|| blobs.contains_many(keys, &mut present)))?.or_raise()?;
        Ok(arrays::flags(py, &present))
    }

    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        let (mut present, mut values) = (Vec::new(), BytesColumn::default());
        keys.with_list(|keys| py.detach(|| blobs.get_many(keys, &mut present, &mut values)))?
            .or_raise()?;
        let value = |i: usize| present[i].then(|| PyBytes::new(py, values.get(i)));
        PyList::new(py, (0..present.len()).map(value))
    }

    fn get_many_arrow(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<Table> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        let batch = keys.with_list(|keys| {
            py.detach(|| {
                let (mut present, mut values) = (Vec::new(), BytesColumn::default());
                blobs.get_many(keys, &mut present, &mut values)?;
                for (i, &present) in present.iter().enumerate() {
                    values.validity.push(i, present);
                }
                let columns = [("value", binary_array(values), true)];
                RecordBatch::try_from_iter_with_nullable(columns)
                    .map_err(|error| quipu::Error::caused(quipu::ErrorKind::InvalidInput, error))
            })
        })?;
        Ok(Table::of_batch(batch.or_raise()?))
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.put(py, key, value)
    }

    fn put(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let blobs = self.blobs()?;
        with_key(blobs.def().key, key, |key| {
            with_bytes(value, |value| {
                if value.len() < QUICK_BYTES_MAX {
                    return gil::write(py, &self.database, || blobs.put(key, value));
                }
                py.detach(|| blobs.put(key, value)).or_raise()
            })
        })
    }

    fn put_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        let values = self::values(values)?;
        keys.with_list(|keys| py.detach(|| blobs.put_many(keys, &values)))?.or_raise()
    }

    fn load(&self, py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<u64> {
        let blobs = self.blobs()?;
        let key = blobs.def().key;
        let batches = batches.try_iter()?.unbind();
        // An exception of the iterable stops the load, and is raised again after it.
        let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let raising = Arc::clone(&raised);
        let next = move |out: &mut BlobRows| {
            let pulled = attached(|py| {
                let Some(batch) = batches.bind(py).clone().next() else { return Ok(false) };
                let (keys, values): (Bound<'_, PyAny>, Bound<'_, PyAny>) = batch?.extract()?;
                let (keys, values) = (column(key, KEY, &keys)?, self::values(&values)?);
                keys.with_list(|keys| out.push_many(keys, &values))?.or_raise()?;
                Ok(true)
            });
            pulled.map_err(|error: PyErr| {
                let what = error.to_string();
                *raising.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                quipu::Error::new(quipu::ErrorKind::InvalidInput, what)
            })
        };
        let loaded = py.detach(|| blobs.load(next));
        match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(loaded.or_raise()?.rows),
        }
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.delete(py, key)? {
            return Ok(());
        }
        Err(PyKeyError::new_err(key.clone().unbind()))
    }

    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let blobs = self.blobs()?;
        with_key(blobs.def().key, key, |key| gil::write(py, &self.database, || blobs.delete(key)))
    }

    fn delete_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        let mut deleted = Vec::new();
        keys.with_list(|keys| py.detach(|| blobs.delete_many(keys, &mut deleted)))?.or_raise()?;
        Ok(arrays::flags(py, &deleted))
    }

    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let blobs = self.blobs()?;
        with_key(blobs.def().key, key, |key| gil::write(py, &self.database, || blobs.discard(key)))
    }

    fn discard_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let blobs = self.blobs()?;
        let keys = column(blobs.def().key, KEY, keys)?;
        keys.with_list(|keys| py.detach(|| blobs.discard_many(keys)))?.or_raise()
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let blobs = self.blobs()?;
        py.detach(|| blobs.clear()).or_raise()
    }

    #[pyo3(signature = (start=None, count=100, *, backward=false))]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        count: usize,
        backward: bool,
    ) -> PyResult<Table> {
        let blobs = self.blobs()?;
        with_bound(blobs.def().key, start, |start| {
            self.rows(py, |blobs, rows| match backward {
                false => blobs.scan(start, count, rows),
                true => blobs.scan_back(start, count, rows),
            })
        })
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TableStream> {
        let blobs = self.blobs()?;
        let of = blobs.def().key;
        let mut scan = with_range(of, start, stop, |start, stop| {
            py.detach(|| blobs.range(start, stop)).or_raise()
        })?;
        let empty = record_batch(BlobRows::new(of)).or_raise()?.schema();
        let next = move || -> quipu::Result<Option<RecordBatch>> {
            let mut rows = BlobRows::new(of);
            let more = scan.next_rows(ROWS_A_BATCH, &mut rows)?;
            more.then(|| record_batch(rows)).transpose()
        };
        Ok(TableStream::new(empty, Box::new(next)))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn items(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<BlobItems> {
        let blobs = self.blobs()?;
        let scan = with_range(blobs.def().key, start, stop, |start, stop| {
            py.detach(|| blobs.range(start, stop)).or_raise()
        })?;
        Ok(BlobItems::new(scan))
    }

    #[pyo3(signature = (count, *, seed=None))]
    fn sample(&self, py: Python<'_>, count: usize, seed: Option<u64>) -> PyResult<Table> {
        let seed = seed.unwrap_or_else(|| self.database.env().random_u64());
        self.rows(py, |blobs, rows| blobs.sample(count, seed, rows))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn measure<'py>(
        &self,
        py: Python<'py>,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let blobs = self.blobs()?;
        let measure = with_range(blobs.def().key, start, stop, |start, stop| {
            py.detach(|| blobs.measure(start, stop)).or_raise()
        })?;
        let out = PyDict::new(py);
        out.set_item("rows", measure.rows)?;
        out.set_item("bytes", measure.bytes)?;
        Ok(out)
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn keys(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<KeyIterator> {
        let blobs = self.blobs()?;
        let mut keys = with_range(blobs.def().key, start, stop, |start, stop| {
            py.detach(|| blobs.keys(start, stop)).or_raise()
        })?;
        Ok(KeyIterator::new(Box::new(move |count| keys.next_keys(count))))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<KeyIterator> {
        self.keys(py, None, None)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let blobs = self.blobs()?;
        Ok(py.detach(|| blobs.len()).or_raise()? as usize)
    }

    /// Without this method Python would call `__len__`, which counts keys.
    fn __bool__(&self) -> bool {
        true
    }

    fn reader(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<BlobReader> {
        let blobs = self.blobs()?;
        let reader =
            with_key(blobs.def().key, key, |key| gil::lookup(py, || blobs.reader(key)).or_raise())?;
        reader.map(BlobReader::new).ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn writer(&self, key: &Bound<'_, PyAny>) -> PyResult<BlobWriter> {
        let blobs = self.blobs()?;
        with_key(blobs.def().key, key, |key| blobs.writer(key).or_raise()).map(BlobWriter::new)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<quipu.Blobs {:?}, keys {}>", self.blobs.anywhere().name(), self.key()?))
    }
}
