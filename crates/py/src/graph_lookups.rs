//! Lookups of edges, neighbors and degrees, of one vertex and of many. `graph_methods.rs` has the
//! methods.

use crate::arrays::{self, EdgeArrays};
use crate::columns::Ints;
use crate::error::OrRaise;
use crate::gil;
use crate::graph::Graph;
use crate::vertices::{self, vertex};
use numpy::PyArray1;
use pyo3::prelude::*;
use quipu::Edges;
use std::cell::RefCell;

thread_local! {
    /// Buffers that lookups reuse, so that they allocate only their result.
    static EDGES: RefCell<(Edges, Vec<u64>)> = RefCell::default();
}

/// Offsets, sources, targets and weights. The edges of vertex `i` are `offsets[i]..offsets[i + 1]`.
pub(crate) type ManyEdges<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);
pub(crate) type Offsets<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>);
pub(crate) type Degrees<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>);

impl Graph {
    pub(crate) fn edges_of<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
        read: impl Fn(&quipu::Graph, u64, &mut Edges) -> quipu::Result<()> + Sync,
    ) -> PyResult<EdgeArrays<'py>> {
        let graph = self.graph()?;
        let v = vertex(graph, v)?;
        EDGES.with_borrow_mut(|(edges, _)| {
            gil::lookup(py, || read(graph, v, edges)).or_raise()?;
            arrays::edges(py, graph, edges)
        })
    }

    pub(crate) fn ids_of<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
        read: impl Fn(&quipu::Graph, u64, &mut Vec<u64>) -> quipu::Result<()> + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.graph()?;
        let v = vertex(graph, v)?;
        EDGES.with_borrow_mut(|(_, ids)| {
            gil::lookup(py, || read(graph, v, ids)).or_raise()?;
            arrays::vertices(py, graph, ids)
        })
    }

    pub(crate) fn edges_of_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
        read: impl FnOnce(&quipu::Graph, &[u64], &mut Vec<u64>, &mut Edges) -> quipu::Result<()> + Send,
    ) -> PyResult<ManyEdges<'py>> {
        let (offsets, edges) = self.read_many(py, vs, read)?;
        let (graph, count) = (self.graph()?, edges.len());
        Ok((
            arrays::offsets(py, &offsets),
            arrays::moved(py, graph, edges.src)?,
            arrays::moved(py, graph, edges.dst)?,
            arrays::moved_weights(py, edges.weight, count),
        ))
    }

    pub(crate) fn ids_of_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
        read: impl FnOnce(&quipu::Graph, &[u64], &mut Vec<u64>, &mut Vec<u64>) -> quipu::Result<()>
        + Send,
    ) -> PyResult<Offsets<'py>> {
        let (offsets, ids) = self.read_many(py, vs, read)?;
        Ok((arrays::offsets(py, &offsets), arrays::moved(py, self.graph()?, ids)?))
    }

    pub(crate) fn degree_of(
        &self,
        v: &Bound<'_, PyAny>,
        read: impl Fn(&quipu::Graph, u64) -> quipu::Result<(u64, f64)> + Sync,
    ) -> PyResult<(u64, f64)> {
        let graph = self.graph()?;
        let word = vertex(graph, v)?;
        gil::lookup(v.py(), || read(graph, word)).or_raise()
    }

    pub(crate) fn degrees_of_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
        read: impl FnOnce(&quipu::Graph, &[u64], &mut Vec<u64>, &mut Vec<f64>) -> quipu::Result<()>
        + Send,
    ) -> PyResult<Degrees<'py>> {
        let (counts, sums) = self.read_many(py, vs, read)?;
        Ok((PyArray1::from_vec(py, counts), PyArray1::from_vec(py, sums)))
    }

    /// The two buffers that `read` fills for a column of vertices, without the GIL.
    fn read_many<A: Default + Send, B: Default + Send>(
        &self,
        py: Python<'_>,
        vs: &Bound<'_, PyAny>,
        read: impl FnOnce(&quipu::Graph, &[u64], &mut A, &mut B) -> quipu::Result<()> + Send,
    ) -> PyResult<(A, B)> {
        let graph = self.graph()?;
        let column = vertices::column(graph, vs)?;
        let words = column.words(graph)?;
        let words = &*words;
        let (mut a, mut b) = (A::default(), B::default());
        py.detach(|| read(graph, words, &mut a, &mut b)).or_raise()?;
        Ok((a, b))
    }

    /// Calls `call` for edges, without the GIL: with columns of their sources and targets, and of
    /// their keys if these are given.
    pub(crate) fn with_edges(
        &self,
        py: Python<'_>,
        (us, vs): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        keys: Option<&Bound<'_, PyAny>>,
        call: impl FnOnce(&quipu::Graph, &[u64], &[u64], Option<&[i64]>) -> quipu::Result<()> + Send,
    ) -> PyResult<()> {
        let graph = self.graph()?;
        let (us, vs) = (vertices::column(graph, us)?, vertices::column(graph, vs)?);
        let (us, vs) = (us.words(graph)?, vs.words(graph)?);
        let (us, vs) = (&*us, &*vs);
        let keys = keys.map(vertices::keys).transpose()?;
        let keys = keys.as_ref().map(Ints::as_slice).transpose()?;
        py.detach(|| call(graph, us, vs, keys)).or_raise()
    }
}
