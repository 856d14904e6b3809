//! Iteration over pairs of keys and values, for `for` loops.
//!
//! # Why not `TableStream`
//! A table owns its rows, and each value is copied once more from there. A loop reads a pair at a
//! time, so rows are read into a buffer that is reused.

use crate::error::{OrRaise, check_process};
use env::Own;
use env::sync::Mutex;
use py_guard::guarded;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use quipu::{BlobRows, BlobScan, VertexColumn};

/// Rows that are read at a time, at most.
const ROWS_MAX: usize = 256;
/// Bytes of values in a batch above which the next batch has half as many rows. (The scan itself
/// ends a batch after 4 MiB.)
const BYTES: usize = 1 << 20;

/// An iterator over pairs of keys and values, as of the snapshot at its creation.
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct BlobItems(Own<Mutex<Items>>);

struct Items {
    /// `None` at the end and after an error.
    scan: Option<BlobScan>,
    rows: BlobRows,
    keys: VertexColumn,
    /// Index of the next row.
    at: usize,
    /// Rows to read next.
    wanted: usize,
}

impl BlobItems {
    pub(crate) fn new(scan: BlobScan) -> Self {
        let rows = BlobRows::new(scan.key_type());
        let keys = VertexColumn::U64(Vec::new());
        let items = Items { scan: Some(scan), rows, keys, at: 0, wanted: 4 };
        Self(Own::new(Mutex::new(items)))
    }
}

impl Items {
    /// Reads the next rows, unless another thread has read them meanwhile.
    fn fill(&mut self) -> quipu::Result<()> {
        let Some(scan) = self.scan.as_mut().filter(|_| self.at == self.rows.len()) else {
            return Ok(());
        };
        self.at = 0;
        let keys = match scan.next_rows(self.wanted, &mut self.rows) {
            Ok(true) => self.rows.keys().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match keys {
            Ok(Some(keys)) => self.keys = keys,
            // After an error the partly read rows are dropped.
            end => {
                self.scan = None;
                self.rows = BlobRows::default();
                return end.map(drop);
            }
        }
        let is_much = self.rows.values().heap.len() > BYTES;
        self.wanted =
            if is_much { self.wanted.div_ceil(2) } else { (8 * self.wanted).min(ROWS_MAX) };
        Ok(())
    }
}

type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyBytes>);

#[guarded]
#[pymethods]
impl BlobItems {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        let all = check_process(&self.0)?;
        let mut items = all.lock();
        while items.at == items.rows.len() {
            if items.scan.is_none() {
                return Ok(None);
            }
            drop(items);
            // Without the GIL while this lock is held for a read: a thread that waits for this lock
            // may hold the GIL.
            py.detach(|| all.lock().fill()).or_raise()?;
            items = all.lock();
        }
        let at = items.at;
        items.at += 1;
        let key = match &items.keys {
            VertexColumn::U64(words) => words[at].into_pyobject(py)?.into_any(),
            VertexColumn::I64(ints) => ints[at].into_pyobject(py)?.into_any(),
            VertexColumn::Str(texts) => PyString::from_bytes(py, texts.get(at))?.into_any(),
        };
        Ok(Some((key, PyBytes::new(py, items.rows.value(at)))))
    }
}
