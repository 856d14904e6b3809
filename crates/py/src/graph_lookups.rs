//! Lookups of edges, neighbors and degrees, of one vertex and of many. `graph_methods.rs` has the
//! methods.

use crate::arrays::{self, EdgeArrays};
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
        let graph = self.graph()?;
        let column = vertices::column(graph, vs)?;
        let words = column.words(graph)?;
        let words = &*words;
        let (mut offsets, mut edges) = (Vec::new(), Edges::default());
        py.detach(|| read(graph, words, &mut offsets, &mut edges)).or_raise()?;
        let count = edges.len();
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
        let graph = self.graph()?;
        let column = vertices::column(graph, vs)?;
        let words = column.words(graph)?;
        let words = &*words;
        let (mut offsets, mut ids) = (Vec::new(), Vec::new());
        py.detach(|| read(graph, words, &mut offsets, &mut ids)).or_raise()?;
        Ok((arrays::offsets(py, &offsets), arrays::moved(py, graph, ids)?))
    }

    pub(crate) fn degrees_of_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
        read: impl FnOnce(&quipu::Graph, &[u64], &mut Vec<u64>, &mut Vec<f64>) -> quipu::Result<()>
        + Send,
    ) -> PyResult<Degrees<'py>> {
        let graph = self.graph()?;
        let column = vertices::column(graph, vs)?;
        let words = column.words(graph)?;
        let words = &*words;
        let (mut counts, mut sums) = (Vec::new(), Vec::new());
        py.detach(|| read(graph, words, &mut counts, &mut sums)).or_raise()?;
        Ok((PyArray1::from_vec(py, counts), PyArray1::from_vec(py, sums)))
    }
}
