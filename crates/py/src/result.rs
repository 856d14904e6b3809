//! `Result`: the rows that a script returned. Python objects are made of them when they are read.

use crate::capsule::arrow_error;
use crate::error::{OrRaise, invalid};
use crate::python_code::attached;
use crate::table::Table;
use crate::values::{object, parameters};
use crate::{by_name, exits, libraries};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use env::sync::Mutex;
use py_guard::{documented, guarded};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice, PyString, PyTuple};
use quipu::{Frame, RunOptions, Series, Value};
use std::time::Duration;

/// Results of at least this many rows untrack their tuples: Python's initial threshold of new
/// objects, from which on the garbage collector runs while tuples are made.
const COLLECTED_MIN: usize = 700;

/// Rows that `repr` and a notebook show.
const ROWS_SHOWN: usize = 10;

/// Rows with named columns, as of the snapshot that the script read.
#[documented(Result)]
#[pyclass(module = "quipu", name = "Result", frozen, weakref)]
pub(crate) struct ResultObject {
    answer: quipu::QueryResult,
    /// The same rows for Arrow, made at first use.
    batch: Mutex<Option<RecordBatch>>,
}

/// Runs a script. `try_run` runs with the GIL and returns `None` where it might take long; then
/// `run` runs without the GIL and can be interrupted by a signal.
pub(crate) fn run(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    options: RunOptions<'_>,
    try_run: impl FnOnce(
        &quipu::Parameters,
        &RunOptions<'_>,
    ) -> quipu::Result<Option<quipu::QueryResult>>,
    run: impl FnOnce(&quipu::Parameters, &RunOptions<'_>) -> quipu::Result<quipu::QueryResult> + Send,
) -> PyResult<ResultObject> {
    let parameters = parameters(given)?;
    if let Some(answer) = try_run(&parameters, &options).or_raise()? {
        return Ok(ResultObject::new(answer));
    }
    let answer = crate::interruptible::interruptible(py, |go_on| {
        run(&parameters, &RunOptions { go_on: Some(go_on), debug: Some(&debug), ..options })
    })?;
    Ok(ResultObject::new(answer))
}

/// Limits of a script from the keyword arguments of a call.
pub(crate) fn run_options(
    timeout: Option<f64>,
    memory_limit: Option<&Bound<'_, PyAny>>,
    read_only: bool,
) -> PyResult<RunOptions<'static>> {
    let timeout = timeout.map(Duration::try_from_secs_f64).transpose();
    let timeout = timeout.map_err(|_| invalid("timeout is a number of seconds, 0 is no limit"))?;
    let memory_limit_bytes = memory_limit.map(crate::arguments::bytes).transpose()?;
    Ok(RunOptions { timeout, memory_limit_bytes, read_only, ..RunOptions::default() })
}

/// Rows of a relation that `%debug` shows at most.
const DEBUG_ROWS_MAX: usize = 20;

/// Writes the relation that `%debug` names to `sys.stderr`.
fn debug(name: &str, answer: &quipu::QueryResult) {
    let more = if answer.len() > DEBUG_ROWS_MAX { "…\n" } else { "" };
    let rows = if answer.len() == 1 { "row" } else { "rows" };
    let table = answer.to_table(DEBUG_ROWS_MAX);
    let text = format!("{name}: {} {rows}\n{table}{more}", answer.len());
    attached(|py| {
        let write = || py.import("sys")?.getattr("stderr")?.call_method1("write", (text,));
        // The script goes on where `sys.stderr` cannot be written, but not after an exit.
        if let Err(error) = write()
            && exits::is_exit(py, &error)
        {
            exits::set_pending(error);
        }
    });
}

/// Removes a tuple of plain objects from the objects that the garbage collector tracks. Such a
/// tuple is in no cycle. The collector would untrack it itself, but only after visiting all its
/// items (`_PyTuple_MaybeUntrack`).
///
/// # Why unsafe here
/// PyO3 has no safe function for it. Making and dropping a tuple takes 53 ns instead of 62 (5,700
/// rows of one integer).
#[allow(unsafe_code)]
fn untrack(tuple: &Bound<'_, PyTuple>) {
    // SAFETY: a tuple is an object with a header for the collector, it is alive, and the GIL is
    // held.
    unsafe { pyo3::ffi::PyObject_GC_UnTrack(tuple.as_ptr().cast()) };
}

/// A direct-mapped cache of Python objects for values that repeat, such as a few distinct strings.
/// Its keys are of [`quipu::QueryResult::word`].
#[derive(Default)]
struct ObjectCache<'py>([Option<(u64, Bound<'py, PyAny>)>; CACHED_MAX]);

/// Slots of the cache; a power of two.
const CACHED_MAX: usize = 16;

impl<'py> ObjectCache<'py> {
    /// The Python object of a value. Only immutable objects are shared: a list or a dict is a new
    /// object each time.
    fn object(
        &mut self,
        py: Python<'py>,
        answer: &quipu::QueryResult,
        row: usize,
        column: usize,
    ) -> PyResult<Cell<'py>> {
        // Fibonacci hashing (Knuth): the high bits of the product.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let word = answer.word(row, column);
        let place = word.wrapping_mul(GOLDEN) >> (u64::BITS - CACHED_MAX.trailing_zeros());
        let place = &mut self.0[place as usize];
        if let Some((of, object)) = place
            && *of == word
        {
            return Ok(Cell { object: object.clone(), is_plain: true });
        }
        if let Some(text) = answer.short_text(row, column) {
            let object = text.as_str().into_bound_py_any(py)?;
            *place = Some((word, object.clone()));
            return Ok(Cell { object, is_plain: true });
        }
        answer.with_value(row, column, |value| {
            let object = object(py, value)?;
            let is_plain = match value {
                Value::Null | Value::Str(_) => {
                    *place = Some((word, object.clone()));
                    true
                }
                Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Bytes(_) => true,
                _ => false,
            };
            Ok(Cell { object, is_plain })
        })
    }
}

/// The Python object of one column of a row.
struct Cell<'py> {
    object: Bound<'py, PyAny>,
    /// Whether it refers to no other object and never will, such as a number or a string.
    is_plain: bool,
}

impl ResultObject {
    pub(crate) fn new(answer: quipu::QueryResult) -> Self {
        Self { answer, batch: Mutex::new(None) }
    }

    /// The same rows as a frame, for imports and puts.
    pub(crate) fn frame(&self) -> PyResult<Frame> {
        let columns = 0..self.answer.columns().len();
        let column = |column| -> Series {
            (0..self.answer.len())
                .map(|row| self.answer.value(row, column))
                .collect::<Vec<_>>()
                .into()
        };
        Frame::new(self.answer.columns().to_vec(), columns.map(column).collect())
            .map_err(|error| invalid(&error.to_string()))
    }

    fn tuple<'py>(
        &self,
        py: Python<'py>,
        row: usize,
        cache: &mut ObjectCache<'py>,
        is_one_of_many: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut is_plain = is_one_of_many;
        let mut cell = |column| -> PyResult<_> {
            if let Some(int) = self.answer.small_int(row, column) {
                return int.into_bound_py_any(py);
            }
            let cell = cache.object(py, &self.answer, row, column)?;
            is_plain &= cell.is_plain;
            Ok(cell.object)
        };
        // Large results mostly have few columns. These lengths need no temporary vector.
        let tuple = match self.answer.columns().len() {
            1 => PyTuple::new(py, [cell(0)?]),
            2 => PyTuple::new(py, [cell(0)?, cell(1)?]),
            3 => PyTuple::new(py, [cell(0)?, cell(1)?, cell(2)?]),
            4 => PyTuple::new(py, [cell(0)?, cell(1)?, cell(2)?, cell(3)?]),
            columns => PyTuple::new(py, (0..columns).map(cell).collect::<PyResult<Vec<_>>>()?),
        }?;
        if is_plain {
            untrack(&tuple);
        }
        Ok(tuple)
    }

    fn tuples<'py>(
        &self,
        py: Python<'py>,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut cache = ObjectCache::default();
        let are_many = rows.len() >= COLLECTED_MIN;
        let mut tuples = Vec::with_capacity(rows.len());
        for row in rows {
            tuples.push(self.tuple(py, row, &mut cache, are_many)?);
        }
        PyList::new(py, tuples)
    }

    /// The values of one column.
    fn values<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let mut cache = ObjectCache::default();
        let rows = 0..self.answer.len();
        let value = |row| match self.answer.small_int(row, column) {
            Some(int) => int.into_bound_py_any(py),
            None => Ok(cache.object(py, &self.answer, row, column)?.object),
        };
        PyList::new(py, rows.map(value).collect::<PyResult<Vec<_>>>()?)
    }

    /// Number of rows, and how to see more if only some of them are shown.
    fn summary(&self) -> String {
        let rows = self.answer.len();
        let many = format!("{rows} {}", if rows == 1 { "row" } else { "rows" });
        if rows <= ROWS_SHOWN {
            return many;
        }
        let next = 2 * ROWS_SHOWN;
        let more = format!("result[{ROWS_SHOWN}:{next}], .to_pandas(), .to_polars(), .rows()");
        format!("{many}, {ROWS_SHOWN} shown; see more: {more}")
    }

    /// The rows as an Arrow table. The GIL is released while it is made.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let batch = py.detach(|| -> Result<RecordBatch, ArrowError> {
            let mut made = self.batch.lock();
            if let Some(batch) = &*made {
                return Ok(batch.clone());
            }
            Ok(made.insert(self.answer.to_batch()?).clone())
        });
        Ok(Table::of_batch(batch.map_err(arrow_error)?))
    }
}

#[documented(Result)]
#[guarded]
#[pymethods]
impl ResultObject {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.answer.columns().to_vec()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.tuples(py, 0..self.answer.len())
    }

    fn __len__(&self) -> usize {
        self.answer.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.call_method0("__iter__")
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tuples(py, (0..self.answer.len()).rev())?.call_method0("__iter__")
    }

    #[pyo3(signature = (value, start=0, stop=isize::MAX))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
        start: isize,
        stop: isize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.call_method1("index", (value, start, stop))
    }

    fn count<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.rows(py)?.call_method1("count", (value,))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = index.cast::<PyString>() {
            let column = by_name::position(self.answer.columns(), name.to_str()?)?;
            return Ok(self.values(py, column)?.into_any());
        }
        let len = self.answer.len() as isize;
        if let Ok(slice) = index.cast::<PySlice>() {
            let places = slice.indices(len)?;
            let rows = (0..places.slicelength).map(|i| places.start + i as isize * places.step);
            return Ok(self.tuples(py, rows.map(|row| row as usize))?.into_any());
        }
        let index: isize = index.extract()?;
        let row = if index < 0 { index + len } else { index };
        if !(0..len).contains(&row) {
            let what = format!("row {index} of {len}");
            return Err(PyIndexError::new_err(what));
        }
        Ok(self.tuple(py, row as usize, &mut ObjectCache::default(), false)?.into_any())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.table(py)?.__arrow_c_schema__(py)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.table(py)?.__arrow_c_stream__(py, requested_schema)
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
        by_name::dicts(py, self.answer.columns(), &self.rows(py)?)
    }

    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name::arrays(py, self.answer.columns(), |column| {
            match by_name::numbers(py, &self.answer, column)? {
                Some(array) => Ok(array),
                None => by_name::objects(&self.values(py, column)?),
            }
        })
    }

    fn __repr__(&self) -> String {
        let mut text = self.answer.to_table(ROWS_SHOWN);
        if self.answer.len() > ROWS_SHOWN {
            text.push_str("…\n");
        }
        text + &format!("<quipu.Result: {}>", self.summary())
    }

    fn _repr_html_(&self) -> String {
        let escape = crate::table::escape;
        let mut html = String::from("<table><tr>");
        for name in self.answer.columns() {
            html.push_str(&format!("<th>{}</th>", escape(name)));
        }
        html.push_str("</tr>");
        for row in 0..self.answer.len().min(ROWS_SHOWN) {
            html.push_str("<tr>");
            for column in 0..self.answer.columns().len() {
                html.push_str(&format!("<td>{}</td>", escape(&self.answer.shown(row, column))));
            }
            html.push_str("</tr>");
        }
        html + &format!("</table><p>{}</p>", escape(&self.summary()))
    }
}
