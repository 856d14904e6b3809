//! `AlgorithmResult`: what an algorithm found, as arrays, Arrow columns and Python objects.

use crate::arrays::ids_array;
use crate::error::{OrRaise, invalid};
use crate::graph::Graph;
use crate::libraries;
use crate::projection::Projection;
use crate::table::Table;
use crate::values::object;
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use quipu::{Found, Numbers, ResultColumn, Value};

/// The result of an algorithm.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct AlgorithmResult {
    result: quipu::AlgorithmResult,
    database: quipu::Database,
}

impl AlgorithmResult {
    pub(crate) fn new(result: quipu::AlgorithmResult, database: quipu::Database) -> Self {
        Self { result, database }
    }

    /// As an argument of another algorithm: groups as lists of ids, values as pairs.
    pub(crate) fn as_argument(&self) -> PyResult<Value> {
        let ids = self.result.projection.ids();
        let id = |v: u32| ids.value(v).or_raise();
        if let Some(groups) = self.result.groups() {
            let list = |group: Vec<u32>| {
                group.into_iter().map(id).collect::<PyResult<_>>().map(Value::List)
            };
            return groups.into_iter().map(list).collect::<PyResult<_>>().map(Value::List);
        }
        let vertices = self.vertices()?;
        let Some(values) = self.result.values() else {
            return vertices.into_iter().map(id).collect::<PyResult<_>>().map(Value::List);
        };
        let pair = |(i, v): (usize, u32)| Ok(Value::List(vec![id(v)?, values.value(i)]));
        vertices.into_iter().enumerate().map(pair).collect::<PyResult<_>>().map(Value::List)
    }

    /// The vertices of the rows.
    fn vertices(&self) -> PyResult<Vec<u32>> {
        let is_of_vertices = matches!(
            self.result.found,
            Found::Vertices(_) | Found::Values(_) | Found::Tree(_) | Found::Groups { .. }
        );
        if !is_of_vertices {
            let what = format!("a row of {} is not a vertex", self.result.algorithm);
            let hint = "`columns` names what there is, and `result[name]` is a column";
            return Err(invalid(&format!("{what}\nhint: {hint}")));
        }
        let all = self.result.projection.vertices() as u32;
        Ok(self.result.row_vertices().unwrap_or_else(|| (0..all).collect()))
    }

    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let batch = py.detach(|| quipu::algorithm_batch(&self.result)).or_raise()?;
        Ok(Table::of_batch(batch))
    }

    /// Ids of vertices as Python objects.
    fn objects<'py>(&self, py: Python<'py>, vertices: &[u32]) -> PyResult<Bound<'py, PyAny>> {
        ids_array(py, self.result.projection.ids().of(vertices).or_raise()?)
    }
}

fn numbers(py: Python<'_>, numbers: Numbers) -> Bound<'_, PyAny> {
    match numbers {
        Numbers::Float(all) => PyArray1::from_vec(py, all).into_any(),
        Numbers::Int(all) => PyArray1::from_vec(py, all).into_any(),
        Numbers::Small(all) => PyArray1::from_vec(py, all).into_any(),
    }
}

#[documented]
#[guarded]
#[pymethods]
impl AlgorithmResult {
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.result.algorithm
    }

    #[getter]
    fn projection(&self) -> Projection {
        Projection::new(self.result.projection.clone(), self.database.clone())
    }

    #[getter]
    fn columns(&self) -> PyResult<Vec<&'static str>> {
        Ok(self.result.columns().or_raise()?.into_iter().map(|(name, _)| name).collect())
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.objects(py, &self.vertices()?)
    }

    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.result.values() {
            Some(values) => Ok(numbers(py, values)),
            None => {
                let what = format!("{} finds no values", self.result.algorithm);
                let hint = "`columns` names what there is, and `result[name]` is a column";
                Err(invalid(&format!("{what}\nhint: {hint}")))
            }
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(match &self.result.found {
            Found::Edges { sources, .. } => sources.len(),
            Found::Paths { paths, .. } => paths.len(),
            Found::Walks { width, vertices } => vertices.len() / width.max(&1),
            Found::Groups { count, .. } => *count as usize,
            _ => self.vertices()?.len(),
        })
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let columns = self.result.columns().or_raise()?;
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let Some((_, column)) = columns.into_iter().find(|(one, _)| *one == name) else {
            let what = format!("no column {name:?}; there are: {}", names.join(", "));
            return Err(PyKeyError::new_err(what));
        };
        match column {
            ResultColumn::Ids(ids) => ids_array(py, ids),
            ResultColumn::OptionalIds(ids, flags) => {
                let ids = ids_array(py, ids)?.call_method1("astype", ("object",))?;
                for (i, _) in flags.iter().enumerate().filter(|(_, is_there)| !**is_there) {
                    ids.set_item(i, py.None())?;
                }
                Ok(ids)
            }
            ResultColumn::Numbers(values) => Ok(numbers(py, values)),
            ResultColumn::Value(value) => object(py, &value),
        }
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if let Found::Edges { sources, targets, .. } = &self.result.found {
            let ends =
                [sources, targets].map(|ends| self.objects(py, ends)?.call_method0("tolist"));
            let [sources, targets] = ends;
            let values = self.values(py)?.call_method0("tolist")?;
            for ((source, target), value) in
                sources?.try_iter()?.zip(targets?.try_iter()?).zip(values.try_iter()?)
            {
                dict.set_item((source?, target?), value?)?;
            }
            return Ok(dict);
        }
        let ids = self.ids(py)?.call_method0("tolist")?;
        let values = self.values(py)?.call_method0("tolist")?;
        for (id, value) in ids.try_iter()?.zip(values.try_iter()?) {
            dict.set_item(id?, value?)?;
        }
        Ok(dict)
    }

    #[pyo3(signature = (n=10))]
    fn top<'py>(
        &self,
        py: Python<'py>,
        n: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let vertices = self.vertices()?;
        let rows = self.result.top(n);
        let Some(values) = self.result.values() else { return Ok(Vec::new()) };
        let best: Vec<u32> = rows.iter().map(|&row| vertices[row as usize]).collect();
        let ids = self.objects(py, &best)?.call_method0("tolist")?;
        let pair = |(id, &row): (PyResult<Bound<'py, PyAny>>, &u32)| {
            Ok((id?, object(py, &values.value(row as usize))?))
        };
        ids.try_iter()?.zip(&rows).map(pair).collect()
    }

    fn path<'py>(&self, py: Python<'py>, goal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let goal = crate::values::value(goal, crate::called::Called::Parameter("goal"), 0)?;
        let ids = self.result.projection.ids();
        let Some(vertex) = ids.vertex(&goal).or_raise()? else {
            return Err(invalid(&format!("{goal} is not a vertex of the projection")));
        };
        match self.result.path(vertex).or_raise()? {
            Some(path) => self.objects(py, &path)?.call_method0("tolist"),
            None => {
                let what = format!("{} finds no paths to vertices", self.result.algorithm);
                Err(PyTypeError::new_err(what))
            }
        }
    }

    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let paths: Vec<&[u32]> = match &self.result.found {
            Found::Paths { paths, .. } => paths.iter().map(Vec::as_slice).collect(),
            Found::Walks { width, vertices } => vertices
                .chunks(*width.max(&1))
                .map(|walk| {
                    let end = walk.iter().position(|&v| v == u32::MAX);
                    &walk[..end.unwrap_or(walk.len())]
                })
                .collect(),
            _ => {
                let what = format!("{} finds no list of paths", self.result.algorithm);
                return Err(PyTypeError::new_err(what));
            }
        };
        let list = PyList::empty(py);
        for path in paths {
            list.append(self.objects(py, path)?.call_method0("tolist")?)?;
        }
        Ok(list)
    }

    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let Some(groups) = self.result.groups() else {
            let what = format!("{} finds no groups", self.result.algorithm);
            return Err(PyTypeError::new_err(what));
        };
        let list = PyList::empty(py);
        for group in groups {
            list.append(self.objects(py, &group)?)?;
        }
        Ok(list)
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
        let py = slf.py();
        let this = slf.get();
        let columns = this.columns()?.into_iter().map(str::to_owned).collect();
        libraries::to_pandas(slf, columns, || {
            let rows = Bound::new(py, this.table(py)?)?;
            rows.call_method0("rows")?.cast_into().map_err(Into::into)
        })
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::to_polars(slf)
    }

    fn write(&self, py: Python<'_>, relation: &str) -> PyResult<()> {
        crate::interruptible::interruptible(py, |go_on| {
            let options = quipu::RunOptions { go_on: Some(go_on), ..Default::default() };
            self.database.write_result(&self.result, relation, &options)
        })
    }

    fn write_property(&self, py: Python<'_>, graph: &Graph, name: &str) -> PyResult<()> {
        let relations = graph.relations()?;
        py.detach(|| relations.write_property(&self.result, name)).or_raise()
    }

    fn __repr__(&self) -> PyResult<String> {
        let rows = self.__len__()?;
        let columns = self.columns()?.join(", ");
        Ok(format!(
            "<quipu.AlgorithmResult of {}: {rows} rows of {columns}>",
            self.result.algorithm
        ))
    }
}
