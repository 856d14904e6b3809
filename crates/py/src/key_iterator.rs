//! Iteration over keys, for `for` loops.

use crate::error::{OrRaise, check_process};
use crate::keys::key_object;
use env::Own;
use env::sync::Mutex;
use py_guard::guarded;
use pyo3::prelude::*;
use quipu::KeyColumn;

/// Keys that are read at a time, at most.
const KEYS_AT_ONCE: usize = 4096;

/// Returns about as many of the next keys as it is asked for; `None` at the end.
type Next = Box<dyn FnMut(usize) -> quipu::Result<Option<KeyColumn>> + Send>;

/// An iterator over keys, as of the snapshot at its creation.
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct KeyIterator(Own<Mutex<KeyBuffer>>);

struct KeyBuffer {
    /// `None` at the end and after an error.
    next: Option<Next>,
    keys: KeyColumn,
    /// Index of the next key.
    at: usize,
    /// Keys to read next.
    wanted: usize,
}

impl KeyIterator {
    pub(crate) fn new(next: Next) -> Self {
        let keys = KeyColumn::U64(Vec::new());
        let buffer = KeyBuffer { next: Some(next), keys, at: 0, wanted: 16 };
        Self(Own::new(Mutex::new(buffer)))
    }
}

impl KeyBuffer {
    /// Reads the next keys, unless another thread has read them meanwhile.
    fn fill(&mut self) -> quipu::Result<()> {
        let Some(next) = self.next.as_mut().filter(|_| self.at == self.keys.len()) else {
            return Ok(());
        };
        let keys = next(self.wanted);
        self.wanted = (8 * self.wanted).min(KEYS_AT_ONCE);
        if let Ok(Some(keys)) = keys {
            (self.keys, self.at) = (keys, 0);
            return Ok(());
        }
        self.next = None;
        keys.map(drop)
    }
}

#[guarded]
#[pymethods]
impl KeyIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let all = check_process(&self.0)?;
        let mut buffer = all.lock();
        while buffer.at == buffer.keys.len() {
            if buffer.next.is_none() {
                return Ok(None);
            }
            drop(buffer);
            // Without the GIL while this lock is held for a read: a thread that waits for this lock
            // may hold the GIL.
            py.detach(|| all.lock().fill()).or_raise()?;
            buffer = all.lock();
        }
        let at = buffer.at;
        buffer.at += 1;
        key_object(py, &buffer.keys, at).map(Some)
    }
}
