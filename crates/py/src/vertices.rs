//! Input vertices and weights: plain numbers, NumPy arrays, lists and Arrow data.

use crate::columns::{Column, Ints, KEY, VERTEX, WEIGHT, explain, floats, ints, slice};
use crate::error::{OrRaise, invalid};
use crate::gil;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use quipu::{Graph, VertexList, VertexType, Weight, WeightType, WeightsRef};

/// The 64-bit word of one vertex. A string that is not a vertex gets a word that no read finds.
#[inline]
pub(crate) fn vertex(graph: &Graph, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match graph.def().vertex {
        VertexType::U64 => value
            .extract::<u64>()
            .map_err(|error| explain(value, error, "a vertex is an integer from 0 to 2**64 - 1")),
        VertexType::I64 => {
            let int = value.extract::<i64>().map_err(|error| {
                explain(value, error, "a vertex is an integer from -2**63 to 2**63 - 1")
            })?;
            Ok(int.cast_unsigned() ^ (1 << 63))
        }
        VertexType::Str => {
            let text = value.cast::<PyString>().map_err(|_| text_expected(value))?;
            let mut words = Vec::with_capacity(1);
            let text = [text.to_str()?];
            gil::lookup(value.py(), || graph.to_words(VertexList::Str(&text), &mut words))
                .or_raise()?;
            Ok(words.first().copied().unwrap_or(u64::MAX))
        }
    }
}

fn text_expected(value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("a vertex of this graph is text, not {}", value.get_type()))
}

/// A column of vertices of the graph's type.
pub(crate) fn column<'py>(graph: &Graph, value: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
    crate::columns::column(graph.def().vertex, VERTEX, value)
}

/// A column of the keys of edges.
pub(crate) fn keys<'py>(value: &Bound<'py, PyAny>) -> PyResult<Ints<'py>> {
    ints(KEY, value)
}

/// An input column of weights.
pub(crate) enum WeightColumn<'py> {
    Float(PyReadonlyArray1<'py, f64>),
    Int(Ints<'py>),
}

impl WeightColumn<'_> {
    pub(crate) fn as_ref(&self) -> PyResult<WeightsRef<'_>> {
        Ok(match self {
            Self::Float(array) => WeightsRef::Float(slice(array)?),
            Self::Int(ints) => WeightsRef::Int(ints.as_slice()?),
        })
    }
}

/// A column of weights of the graph's type.
pub(crate) fn weights<'py>(
    graph: &Graph,
    value: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<WeightColumn<'py>>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    Ok(Some(match graph.def().weight {
        WeightType::None => return Err(invalid("this graph has no weights")),
        WeightType::Float => WeightColumn::Float(floats(WEIGHT, value)?),
        WeightType::Int => WeightColumn::Int(ints(WEIGHT, value)?),
    }))
}

/// One weight of the graph's type; `None` where no value is given.
pub(crate) fn weight(graph: &Graph, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Weight>> {
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    Ok(Some(match graph.def().weight {
        WeightType::None => return Err(invalid("this graph has no weights")),
        WeightType::Float => Weight::Float(value.extract()?),
        WeightType::Int => Weight::Int(value.extract()?),
    }))
}
