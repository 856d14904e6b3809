//! Output of graphs: NumPy arrays, and plain numbers for single values.

use crate::error::OrRaise;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;
use quipu::{Edges, Graph, VertexColumn, VertexType, Weight, Weights};

/// Vertices as the graph's vertex type has them: `uint64`, `int64`, or strings in an object array.
pub(crate) fn vertices<'py>(
    py: Python<'py>,
    graph: &Graph,
    words: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    if graph.def().vertex == VertexType::U64 {
        return Ok(PyArray1::from_slice(py, words).into_any());
    }
    Ok(match graph.to_vertices(words).or_raise()? {
        VertexColumn::U64(words) => PyArray1::from_vec(py, words).into_any(),
        VertexColumn::I64(ints) => PyArray1::from_vec(py, ints).into_any(),
        VertexColumn::Str(texts) => {
            let texts =
                (0..texts.len()).map(|i| String::from_utf8_lossy(texts.get(i)).into_owned());
            let list = PyList::new(py, texts.collect::<Vec<_>>())?;
            py.import("numpy")?.call_method1("array", (list, "object"))?
        }
    })
}

/// Python's name of the type of vertices or keys.
pub(crate) fn key_type(of: VertexType) -> &'static str {
    match of {
        VertexType::U64 => "u64",
        VertexType::I64 => "i64",
        VertexType::Str => "str",
    }
}

/// Weights as an array; all 1.0 where the graph has no weights.
pub(crate) fn weights<'py>(py: Python<'py>, weights: &Weights, edges: usize) -> Bound<'py, PyAny> {
    match weights {
        Weights::None => PyArray1::from_vec(py, vec![1.0_f64; edges]).into_any(),
        Weights::Float(weights) => PyArray1::from_slice(py, weights).into_any(),
        Weights::Int(weights) => PyArray1::from_slice(py, weights).into_any(),
    }
}

/// One weight as a Python number; 1.0 where the graph has no weights.
pub(crate) fn weight<'py>(py: Python<'py>, weight: Weight) -> PyResult<Bound<'py, PyAny>> {
    Ok(match weight {
        Weight::None => 1.0_f64.into_pyobject(py)?.into_any(),
        Weight::Float(weight) => weight.into_pyobject(py)?.into_any(),
        Weight::Int(weight) => weight.into_pyobject(py)?.into_any(),
    })
}

pub(crate) type EdgeArrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Edges as arrays of sources, targets and weights, all of one length.
pub(crate) fn edges<'py>(
    py: Python<'py>,
    graph: &Graph,
    edges: &Edges,
) -> PyResult<EdgeArrays<'py>> {
    Ok((
        vertices(py, graph, &edges.src)?,
        vertices(py, graph, &edges.dst)?,
        weights(py, &edges.weight, edges.len()),
    ))
}

/// Offsets as `int64`, with which NumPy and Arrow slice.
pub(crate) fn offsets<'py>(py: Python<'py>, offsets: &[u64]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, offsets.iter().map(|&offset| offset.cast_signed()))
}

/// Flags as an array of `bool`.
pub(crate) fn flags<'py>(py: Python<'py>, flags: &[bool]) -> Bound<'py, PyArray1<bool>> {
    PyArray1::from_slice(py, flags)
}

/// As [`vertices`], but the words move into NumPy without a copy where vertices are words.
pub(crate) fn moved<'py>(
    py: Python<'py>,
    graph: &Graph,
    words: Vec<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    if graph.def().vertex == VertexType::U64 {
        return Ok(PyArray1::from_vec(py, words).into_any());
    }
    vertices(py, graph, &words)
}

/// As [`weights`], but the column moves into NumPy without a copy.
pub(crate) fn moved_weights<'py>(
    py: Python<'py>,
    weights: Weights,
    edges: usize,
) -> Bound<'py, PyAny> {
    match weights {
        Weights::None => PyArray1::from_vec(py, vec![1.0_f64; edges]).into_any(),
        Weights::Float(weights) => PyArray1::from_vec(py, weights).into_any(),
        Weights::Int(weights) => PyArray1::from_vec(py, weights).into_any(),
    }
}

/// Ids as an array of their type, strings as objects.
pub(crate) fn ids_array(py: Python<'_>, ids: VertexColumn) -> PyResult<Bound<'_, PyAny>> {
    Ok(match ids {
        VertexColumn::U64(ids) => PyArray1::from_vec(py, ids).into_any(),
        VertexColumn::I64(ids) => PyArray1::from_vec(py, ids).into_any(),
        VertexColumn::Str(ids) => {
            let texts = (0..ids.len()).map(|i| String::from_utf8_lossy(ids.get(i)).into_owned());
            let list = PyList::new(py, texts.collect::<Vec<_>>())?;
            py.import("numpy")?.call_method1("array", (list, "object"))?
        }
    })
}
