//! Iteration over pairs of keys and documents, for `for` loops.

use crate::error::{OrRaise, check_process};
use crate::keys::key_object;
use crate::values::json_object;
use env::Own;
use env::sync::Mutex;
use py_guard::guarded;
use pyo3::prelude::*;
use quipu::{DocumentRows, DocumentScan};

/// Documents that are read at a time, at most.
const ROWS_MAX: usize = 256;

/// An iterator over pairs of keys and documents, as of the snapshot at its creation.
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct DocumentItems(Own<Mutex<Items>>);

struct Items {
    /// `None` at the end and after an error.
    scan: Option<DocumentScan>,
    rows: Option<DocumentRows>,
    /// Index of the next row.
    at: usize,
    /// Rows to read next.
    wanted: usize,
}

impl DocumentItems {
    pub(crate) fn new(scan: DocumentScan) -> Self {
        Self(Own::new(Mutex::new(Items { scan: Some(scan), rows: None, at: 0, wanted: 4 })))
    }

    /// An iterator over documents that were read.
    pub(crate) fn of_rows(rows: DocumentRows) -> Self {
        Self(Own::new(Mutex::new(Items { scan: None, rows: Some(rows), at: 0, wanted: 4 })))
    }
}

impl Items {
    fn row(&self) -> Option<(&DocumentRows, usize)> {
        self.rows.as_ref().filter(|rows| self.at < rows.documents.len()).map(|rows| (rows, self.at))
    }

    /// Reads the next rows, unless another thread has read them meanwhile.
    fn fill(&mut self) -> quipu::Result<()> {
        if self.row().is_some() {
            return Ok(());
        }
        let Some(scan) = self.scan.as_mut() else { return Ok(()) };
        let rows = scan.next_rows(self.wanted);
        self.wanted = (8 * self.wanted).min(ROWS_MAX);
        (self.rows, self.at) = (None, 0);
        match rows {
            Ok(Some(rows)) => self.rows = Some(rows),
            end => {
                self.scan = None;
                return end.map(drop);
            }
        }
        Ok(())
    }
}

type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

#[guarded]
#[pymethods]
impl DocumentItems {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        let all = check_process(&self.0)?;
        let mut items = all.lock();
        while items.row().is_none() {
            if items.scan.is_none() {
                return Ok(None);
            }
            drop(items);
            // Without the GIL while this lock is held for a read: a thread that waits for this lock
            // may hold the GIL.
            py.detach(|| all.lock().fill()).or_raise()?;
            items = all.lock();
        }
        let Some((rows, at)) = items.row() else { return Ok(None) };
        let key = key_object(py, &rows.keys, at)?;
        let document = rows.documents[at].clone();
        items.at += 1;
        drop(items);
        Ok(Some((key, json_object(py, &document)?)))
    }
}
