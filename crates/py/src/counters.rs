//! The Python class `Counters`: numbers by key. An increment does not read the number.
//! `Database.counters` and `Transaction.counters` make it; the stub documents it. All rules are
//! those of `quipu::Counters`.

use crate::columns::{Column, KEY, NUMBER, column, floats, ints, slice};
use crate::error::{OrRaise, check_process};
use crate::gil;
use crate::key_iterator::KeyIterator;
use crate::keys::{number_array, with_bound, with_key, with_range};
use crate::table::{Table, TableStream, vertex_array};
use arrow_array::RecordBatch;
use env::Own;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use quipu::{
    Combine, CounterRows, KeyColumn, KeyType, Number, NumberColumn, NumberList, NumberType,
};

/// Rows that are read from a scan at a time.
const ROWS_A_BATCH: usize = 1 << 16;

/// A map from keys to numbers, read and written through the database or a transaction.
#[documented]
#[pyclass(module = "quipu", frozen, weakref, mapping)]
pub(crate) struct Counters {
    counters: Own<quipu::Counters>,
    pub(crate) database: quipu::Database,
}

impl Counters {
    pub(crate) fn new(counters: quipu::Counters, database: quipu::Database) -> Self {
        Self { counters: Own::new(counters), database }
    }

    pub(crate) fn counters(&self) -> PyResult<&quipu::Counters> {
        check_process(&self.counters)
    }
}

impl Counters {
    fn key_type(&self) -> KeyType {
        self.counters.anywhere().def().key
    }

    fn number(&self, value: &Bound<'_, PyAny>) -> PyResult<Number> {
        let counters = self.counters()?;
        let wrong = |what: &str| {
            PyTypeError::new_err(format!(
                "these counters hold {what}, {} was given",
                value.get_type()
            ))
        };
        Ok(match counters.def().number {
            NumberType::Int => Number::Int(value.extract().map_err(|error| {
                crate::columns::explain(
                    value,
                    error,
                    "a number here is an integer from -2**63 + 1 to 2**63 - 2",
                )
            })?),
            NumberType::Float => Number::Float(value.extract().map_err(|_| wrong("floats"))?),
        })
    }
}

/// Rows as Arrow columns `key` and `count`.
fn record_batch(rows: CounterRows) -> quipu::Result<RecordBatch> {
    let columns = [("key", vertex_array(rows.keys)), ("count", number_array(rows.numbers))];
    RecordBatch::try_from_iter(columns)
        .map_err(|error| quipu::Error::caused(quipu::ErrorKind::InvalidInput, error))
}

fn plain<'py>(py: Python<'py>, number: Number) -> PyResult<Bound<'py, PyAny>> {
    Ok(match number {
        Number::Int(number) => number.into_pyobject(py)?.into_any(),
        Number::Float(number) => number.into_pyobject(py)?.into_any(),
    })
}

#[documented]
#[guarded]
#[pymethods]
impl Counters {
    #[getter]
    fn name(&self) -> &str {
        self.counters.anywhere().name()
    }

    #[getter]
    fn key(&self) -> &'static str {
        crate::arrays::key_type(self.key_type())
    }

    #[getter]
    fn number_type(&self) -> &'static str {
        match self.counters.anywhere().def().number {
            NumberType::Int => "int64",
            NumberType::Float => "float64",
        }
    }

    #[getter]
    fn combine(&self) -> &'static str {
        match self.counters.anywhere().def().combine {
            Combine::Sum => "sum",
            Combine::Min => "min",
            Combine::Max => "max",
        }
    }

    #[pyo3(signature = (key, number=None))]
    fn add(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        number: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let counters = self.counters()?;
        let number = number.map_or(Ok(Number::Int(1)), |number| self.number(number))?;
        with_key(self.key_type(), key, |key| {
            gil::write(py, &self.database, || counters.add(key, number))
        })
    }

    #[pyo3(signature = (keys, numbers=None))]
    fn add_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        numbers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let counters = self.counters()?;
        let keys = column(self.key_type(), KEY, keys)?;
        let add = |numbers: NumberList<'_>| {
            keys.with_list(|keys| py.detach(|| counters.add_many(keys, numbers)))?.or_raise()
        };
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_none()) else {
            return add(NumberList::Ones);
        };
        match counters.def().number {
            NumberType::Int => add(NumberList::Int(ints(NUMBER, numbers)?.as_slice()?)),
            NumberType::Float => add(NumberList::Float(slice(&floats(NUMBER, numbers)?)?)),
        }
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let counters = self.counters()?;
        let number =
            with_key(self.key_type(), key, |key| gil::lookup(py, || counters.get(key)).or_raise())?;
        plain(py, number)
    }

    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let counters = self.counters()?;
        let number = with_key(self.key_type(), key, |key| {
            gil::lookup(py, || counters.find(key)).or_raise()
        })?;
        Ok(number.map(|number| plain(py, number)).transpose()?.or(default))
    }

    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let counters = self.counters()?;
        let keys: Column<'_> = column(self.key_type(), KEY, keys)?;
        let numbers = keys.with_list(|keys| py.detach(|| counters.get_many(keys)))?.or_raise()?;
        Ok(match numbers {
            NumberColumn::Int(numbers) => PyArray1::from_vec(py, numbers).into_any(),
            NumberColumn::Float(numbers) => PyArray1::from_vec(py, numbers).into_any(),
        })
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let counters = self.counters()?;
        let py = key.py();
        with_key(self.key_type(), key, |key| gil::lookup(py, || counters.contains(key)).or_raise())
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        number: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.set(py, key, number)
    }

    fn set(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        number: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let counters = self.counters()?;
        let number = self.number(number)?;
        with_key(self.key_type(), key, |key| {
            gil::write(py, &self.database, || counters.set(key, number))
        })
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.remove(py, key)? {
            return Ok(());
        }
        Err(PyKeyError::new_err(key.clone().unbind()))
    }

    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let counters = self.counters()?;
        with_key(self.key_type(), key, |key| {
            gil::write(py, &self.database, || counters.remove(key))
        })
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        let counters = self.counters()?;
        py.detach(|| counters.reset()).or_raise()
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let counters = self.counters()?;
        py.detach(|| counters.flush()).or_raise()
    }

    #[pyo3(signature = (count=10))]
    fn top(&self, py: Python<'_>, count: usize) -> PyResult<Table> {
        let counters = self.counters()?;
        let batch = py.detach(|| record_batch(counters.top(count)?));
        Ok(Table::of_batch(batch.or_raise()?))
    }

    #[pyo3(signature = (start=None, count=100, *, backward=false))]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        count: usize,
        backward: bool,
    ) -> PyResult<Table> {
        let counters = self.counters()?;
        let batch = with_bound(self.key_type(), start, |start| {
            py.detach(|| {
                record_batch(match backward {
                    false => counters.scan(start, count)?,
                    true => counters.scan_back(start, count)?,
                })
            })
            .or_raise()
        });
        Ok(Table::of_batch(batch?))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn range(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TableStream> {
        let counters = self.counters()?;
        let of = self.key_type();
        let mut scan = with_range(of, start, stop, |start, stop| {
            py.detach(|| counters.range(start, stop)).or_raise()
        })?;
        let keys = match of {
            KeyType::U64 => KeyColumn::U64(Vec::new()),
            KeyType::I64 => KeyColumn::I64(Vec::new()),
            KeyType::Str => KeyColumn::Str(quipu::BytesColumn::default()),
        };
        let numbers = match counters.def().number {
            NumberType::Int => NumberColumn::Int(Vec::new()),
            NumberType::Float => NumberColumn::Float(Vec::new()),
        };
        let schema = record_batch(CounterRows { keys, numbers }).or_raise()?.schema();
        let next = move || scan.next_rows(ROWS_A_BATCH)?.map(record_batch).transpose();
        Ok(TableStream::new(schema, Box::new(next)))
    }

    #[pyo3(signature = (start=None, stop=None))]
    fn keys(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<KeyIterator> {
        let counters = self.counters()?;
        let mut rows = with_range(self.key_type(), start, stop, |start, stop| {
            py.detach(|| counters.range(start, stop)).or_raise()
        })?;
        let next = move |count| Ok(rows.next_rows(count)?.map(|rows| rows.keys));
        Ok(KeyIterator::new(Box::new(next)))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<KeyIterator> {
        self.keys(py, None, None)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let counters = self.counters()?;
        Ok(py.detach(|| counters.len()).or_raise()? as usize)
    }

    /// Without this method Python would call `__len__`, which counts keys.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> PyResult<String> {
        let (name, key) = (self.counters.anywhere().name(), self.key()?);
        let (combine, number_type) = (self.combine()?, self.number_type()?);
        Ok(format!("<quipu.Counters {name:?}, keys {key}, {combine} of {number_type}>"))
    }
}
