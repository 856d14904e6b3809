//! `BlobReader` and `BlobWriter`: long values read and written in pieces, with the methods of
//! Python's binary files. `Blobs.reader` and `Blobs.writer` make them. Reads and writes release the
//! GIL.

use crate::error::{OrRaise, check_process, invalid};
use env::Own;
use env::sync::Mutex;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::io::{Seek, SeekFrom};

/// A reader of one value, with a position.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct BlobReader {
    reader: Own<Mutex<Option<quipu::BlobReader>>>,
}

impl BlobReader {
    pub(crate) fn new(reader: quipu::BlobReader) -> Self {
        Self { reader: Own::new(Mutex::new(Some(reader))) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut quipu::BlobReader) -> PyResult<R>) -> PyResult<R> {
        f(check_process(&self.reader)?
            .lock()
            .as_mut()
            .ok_or_else(|| invalid("the reader is closed"))?)
    }
}

#[documented]
#[guarded]
#[pymethods]
impl BlobReader {
    #[pyo3(signature = (size=-1))]
    fn read<'py>(&self, py: Python<'py>, size: i64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes_max = usize::try_from(size).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        py.detach(|| self.with(|reader| reader.take_bytes(bytes_max, &mut out).or_raise()))?;
        Ok(PyBytes::new(py, &out))
    }

    #[pyo3(signature = (offset, whence=0))]
    fn seek(&self, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match (whence, u64::try_from(offset)) {
            (0, Ok(offset)) => SeekFrom::Start(offset),
            (1, _) => SeekFrom::Current(offset),
            (2, _) => SeekFrom::End(offset),
            _ => return Err(invalid("whence is 0, 1 or 2, and a place is not before the begin")),
        };
        self.with(|reader| reader.seek(to).map_err(|error| invalid(&error.to_string())))
    }

    fn tell(&self) -> PyResult<u64> {
        self.seek(0, 1)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.with(|reader| Ok(reader.len() as usize))
    }

    fn close(&self) {
        if let Ok(reader) = self.reader.get() {
            *reader.lock() = None;
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close()
    }
}

/// A writer of one value, which is stored when the writer is closed.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct BlobWriter {
    writer: Own<Mutex<Option<quipu::BlobWriter>>>,
}

impl BlobWriter {
    pub(crate) fn new(writer: quipu::BlobWriter) -> Self {
        Self { writer: Own::new(Mutex::new(Some(writer))) }
    }
}

#[documented]
#[guarded]
#[pymethods]
impl BlobWriter {
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let writer = check_process(&self.writer)?;
        crate::keys::with_bytes(data, |bytes| {
            py.detach(|| {
                let mut writer = writer.lock();
                let writer = writer.as_mut().ok_or_else(|| invalid("the writer is closed"))?;
                writer.append(bytes).or_raise()
            })?;
            Ok(bytes.len())
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let writer = check_process(&self.writer)?;
        py.detach(|| {
            let writer = writer.lock().take();
            writer.map_or(Ok(()), |writer| writer.finish().or_raise())
        })
    }

    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let writer = check_process(&self.writer)?;
        py.detach(|| drop(writer.lock().take()));
        Ok(())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*args))]
    fn __exit__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        if self.writer.get().is_err() {
            // Only the parent decides whether the value is stored.
            return Ok(false);
        }
        if args.get_item(0).is_ok_and(|kind| !kind.is_none()) {
            self.abort(py)?;
        } else {
            self.close(py)?;
        }
        Ok(false)
    }
}
