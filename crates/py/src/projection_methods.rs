//! The methods of `Projection`, whose columns NumPy reads in place.
//!
//! # Why unsafe here
//! NumPy arrays of the columns are views, which keep the projection alive and cannot be written. A
//! safe array is a copy: 16 million targets took 6.3 ms and 64 MB each time they were asked for, a
//! view 2 microseconds (medians of 7). Copies would not be within the database's memory limit.

use crate::algorithm_result::AlgorithmResult;
use crate::arrays::ids_array;
use crate::error::OrRaise;
use crate::interruptible::interruptible;
use crate::project::argument;
use crate::projection::Projection;
use crate::values::object;
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use py_guard::{documented, guarded};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quipu::{Arguments, Found, Value, VertexList};
use std::sync::Arc;

/// A read-only array of a column that `owner` keeps alive.
#[allow(unsafe_code)]
fn view<'py, T: Element>(column: &[T], owner: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let view = ArrayView1::from(column);
    // SAFETY: the column belongs to a frozen object that `owner` is or holds, which never changes
    // or moves it, and the array holds a reference to `owner`. It is made read-only before anyone
    // else sees it.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner.clone()) };
    array.readwrite().make_nonwriteable();
    array.into_any()
}

/// Keeps a graph alive for views of its columns.
#[pyclass(module = "quipu", name = "_Columns", frozen)]
struct Columns(Arc<Csr>);

type Csr = quipu::Csr;

/// Offsets, targets and weights of a graph.
type CsrArrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn csr_arrays<'py>(py: Python<'py>, graph: &Arc<Csr>) -> PyResult<CsrArrays<'py>> {
    let owner = Bound::new(py, Columns(Arc::clone(graph)))?;
    let graph = &owner.get().0;
    let any = owner.as_any();
    // The same bytes: an offset is far below 2^63. SciPy takes signed ones.
    let offsets = view(graph.offsets(), any).call_method1("view", ("int64",))?;
    Ok((offsets, view(graph.targets(), any), graph.weights().map(|weights| view(weights, any))))
}

#[documented]
#[guarded]
#[pymethods]
impl Projection {
    #[getter]
    fn ids<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        if let Some(ids) = this.projection.ids().as_u64() {
            return Ok(view(ids, slf.as_any()));
        }
        let make = || ids_array(py, this.projection.ids().all().or_raise()?).map(Bound::unbind);
        Ok(this.ids.get_or_try_init(py, make)?.bind(py).clone())
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(csr_arrays(py, self.projection.graph())?.0)
    }

    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(csr_arrays(py, self.projection.graph())?.1)
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(csr_arrays(py, self.projection.graph())?.2)
    }

    #[getter]
    fn reverse<'py>(&self, py: Python<'py>) -> PyResult<CsrArrays<'py>> {
        let graph = interruptible(py, |go_on| {
            let run = self.database.analytics_run().with_go_on(Some(go_on));
            self.projection.reverse(&run)
        })?;
        csr_arrays(py, &graph)
    }

    #[getter]
    fn is_directed(&self) -> bool {
        self.projection.is_directed()
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.projection.bytes()
    }

    fn number_of_vertices(&self) -> usize {
        self.projection.vertices()
    }

    fn number_of_edges(&self) -> u64 {
        self.projection.edges()
    }

    fn positions<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = positions(&self.projection, ids)?;
        let found = found.into_iter().map(|place| place.map_or(-1, i64::from));
        Ok(PyArray1::from_iter(py, found).into_any())
    }

    fn subgraph(&self, py: Python<'_>, nodes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kept: Vec<u32> = positions(&self.projection, nodes)?.into_iter().flatten().collect();
        let made = interruptible(py, |go_on| {
            let run = self.database.analytics_run().with_go_on(Some(go_on));
            self.database.project_vertices(&self.projection, &kept, &run)
        })?;
        Ok(Self::new(made, self.database.clone()))
    }

    fn _run<'py>(
        &self,
        py: Python<'py>,
        algorithm: &str,
        arguments: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut given = Arguments::new();
        for (name, item) in arguments {
            if !item.is_none() {
                given.insert(name.extract()?, argument(&item)?);
            }
        }
        let result = interruptible(py, |go_on| {
            let run = self.database.analytics_run().with_go_on(Some(go_on));
            self.database.run_algorithm(&self.projection, algorithm, &given, &run)
        })?;
        match &result.found {
            Found::Scalar(value) => object(py, value),
            _ => AlgorithmResult::new(result, self.database.clone()).into_bound_py_any(py),
        }
    }

    fn __repr__(&self) -> String {
        let (vertices, edges) = (self.projection.vertices(), self.projection.edges());
        let kind = if self.projection.is_directed() { "directed" } else { "undirected" };
        let weights = if self.projection.graph().weights().is_some() { ", weighted" } else { "" };
        format!("<quipu.Projection: {vertices} vertices, {edges} edges, {kind}{weights}>")
    }
}

/// The vertices with these ids.
fn positions(projection: &quipu::Projection, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u32>>> {
    if let Ok(array) = ids.extract::<numpy::PyReadonlyArray1<'_, u64>>() {
        let ids = array.as_slice().map(<[u64]>::to_vec);
        if let Ok(ids) = ids {
            return projection.ids().vertices(VertexList::U64(&ids)).or_raise();
        }
    }
    let list = match argument(ids)? {
        Value::List(list) => list,
        one => vec![one],
    };
    list.iter().map(|id| projection.ids().vertex(id).or_raise()).collect()
}

/// The table of algorithms: name, description, whether weights matter, and parameters with name,
/// type, words, default and description. `python/quipu/_algorithms.py` makes methods from it, and
/// `tools/algorithms.py` their stubs.
#[guarded]
#[pyfunction]
pub(crate) fn _algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for algorithm in quipu::ALGORITHMS {
        let parameters = PyList::empty(py);
        for parameter in algorithm.parameters {
            let (of, words): (_, &[&str]) = match parameter.of {
                quipu::ParameterType::Choice(words) => ("choice", words),
                quipu::ParameterType::Bool => ("bool", &[]),
                quipu::ParameterType::Int => ("int", &[]),
                quipu::ParameterType::Float => ("float", &[]),
                quipu::ParameterType::Vertex => ("vertex", &[]),
                quipu::ParameterType::Vertices => ("vertices", &[]),
                quipu::ParameterType::VertexValues => ("vertex_values", &[]),
                quipu::ParameterType::Communities => ("communities", &[]),
            };
            let default = match parameter.default {
                quipu::DefaultArgument::Required => py.Ellipsis().into_bound(py),
                quipu::DefaultArgument::None => py.None().into_bound(py),
                quipu::DefaultArgument::Bool(bool) => bool.into_bound_py_any(py)?,
                quipu::DefaultArgument::Int(int) => int.into_bound_py_any(py)?,
                quipu::DefaultArgument::Float(float) => float.into_bound_py_any(py)?,
                quipu::DefaultArgument::Choice(word) => word.into_bound_py_any(py)?,
            };
            let words = PyList::new(py, words)?;
            parameters.append((parameter.name, of, words, default, parameter.about))?;
        }
        let weights = algorithm.weights != quipu::WeightUse::None;
        all.append((algorithm.name, algorithm.about, weights, parameters))?;
    }
    Ok(all)
}
