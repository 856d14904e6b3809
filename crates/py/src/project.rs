//! Makes projections of graphs and of queries: their keyword arguments, and the calls.

use crate::algorithm_result::AlgorithmResult;
use crate::called::Called;
use crate::error::{OrRaise, invalid};
use crate::interruptible::interruptible;
use crate::projection::Projection;
use crate::values::{parameters, value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};
use quipu::{Parallel, ProjectOptions, RunOptions, Value, WeightType};
use std::sync::Arc;

/// The keyword arguments that all projections share.
pub(crate) struct Form {
    pub(crate) options: ProjectOptions,
    nodes: Option<Vec<Value>>,
}

impl Form {
    pub(crate) fn new(
        (is_weighted, property): (bool, Option<usize>),
        undirected: bool,
        nodes: Option<&Bound<'_, PyAny>>,
        parallel: Option<&str>,
    ) -> PyResult<Self> {
        let parallel = match parallel {
            None if undirected => Parallel::First,
            None | Some("keep") => Parallel::Keep,
            Some("sum") => Parallel::Sum,
            Some("min") => Parallel::Min,
            Some("first") => Parallel::First,
            Some(other) => {
                let what = "parallel is \"keep\", \"sum\", \"min\" or \"first\"";
                return Err(invalid(&format!("{what}, not {other:?}")));
            }
        };
        let options = ProjectOptions { is_weighted, is_undirected: undirected, parallel, property };
        let nodes = match nodes {
            None => None,
            Some(nodes) => match argument(nodes)? {
                Value::List(nodes) => Some(nodes),
                one => Some(vec![one]),
            },
        };
        Ok(Self { options, nodes })
    }

    /// The nodes of the projection alone, if there are some.
    fn restricted(
        &self,
        database: &quipu::Database,
        projection: Arc<quipu::Projection>,
        run: &quipu::AnalyticsRun<'_>,
    ) -> quipu::Result<Arc<quipu::Projection>> {
        let Some(nodes) = &self.nodes else { return Ok(projection) };
        let mut kept = Vec::with_capacity(nodes.len());
        for node in nodes {
            kept.extend(projection.ids().vertex(node)?);
        }
        database.project_vertices(&projection, &kept, run)
    }
}

/// Projects a graph, or those of its edges that meet a condition.
pub(crate) fn of_graph(
    py: Python<'_>,
    graph: &quipu::Graph,
    database: &quipu::Database,
    form: &Form,
    condition: Option<&str>,
    params: Option<&Bound<'_, PyAny>>,
) -> PyResult<Projection> {
    let given = parameters(params)?;
    if condition.is_none() && !given.is_empty() {
        return Err(invalid("params are those of where, which is not given"));
    }
    let made = interruptible(py, |go_on| {
        let run = database.analytics_run().with_go_on(Some(go_on));
        let projection = match condition {
            None => database.project(graph, &form.options, &run)?,
            Some(condition) => {
                let options = RunOptions { go_on: Some(go_on), ..RunOptions::default() };
                database.project_where(graph, condition, &given, &form.options, &options)?
            }
        };
        form.restricted(database, projection, &run)
    })?;
    Ok(Projection::new(made, database.clone()))
}

/// Projects the rows of a query.
pub(crate) fn of_query(
    py: Python<'_>,
    database: &quipu::Database,
    query: &str,
    params: Option<&Bound<'_, PyAny>>,
    form: &Form,
    options: &RunOptions<'_>,
) -> PyResult<Projection> {
    let given = parameters(params)?;
    let made = interruptible(py, |go_on| {
        let options = RunOptions { go_on: Some(go_on), ..*options };
        let projection = database.project_query(query, &given, &form.options, &options)?;
        let run = database.analytics_run().with_go_on(Some(go_on));
        form.restricted(database, projection, &run)
    })?;
    Ok(Projection::new(made, database.clone()))
}

/// Whether a projection of the graph has weights, and their property: `weight` names them, is
/// `None`, or is `"auto"` for the algorithm's default.
pub(crate) fn is_weighted(
    graph: &quipu::Graph,
    weight: Option<&str>,
    algorithm: Option<&str>,
) -> PyResult<(bool, Option<usize>)> {
    let has_weights = graph.def().weight != WeightType::None;
    match weight {
        None => Ok((false, None)),
        Some("weight") => Ok((true, None)),
        Some("auto") => {
            let found = algorithm.map(quipu::find_algorithm).transpose().or_raise()?;
            let uses = found.map(|algorithm| algorithm.weights);
            Ok((has_weights && uses == Some(quipu::WeightUse::IfThere), None))
        }
        Some(other) => {
            let properties = &graph.def().edges;
            if let Some(place) = properties.iter().position(|property| property.name == other) {
                return Ok((true, Some(place)));
            }
            let what = format!("the graph has no weights with the name {other:?}");
            let hint = "weight is None, \"weight\" or the name of a property of edges";
            Err(invalid(&format!("{what}\nhint: {hint}")))
        }
    }
}

/// An argument of an algorithm: a value, pairs for a dict or a result, or lists for any container.
pub(crate) fn argument(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(result) = given.cast::<AlgorithmResult>() {
        return result.get().as_argument();
    }
    if let Ok(dict) = given.cast::<PyDict>() {
        let pair = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok(Value::List(vec![argument(&key)?, argument(&item)?]))
        };
        return dict.iter().map(pair).collect::<PyResult<_>>().map(Value::List);
    }
    let is_container = given.is_instance_of::<PyList>()
        || given.is_instance_of::<PyTuple>()
        || given.is_instance_of::<PySet>()
        || given.is_instance_of::<PyFrozenSet>();
    let is_scalar = given.is_instance_of::<PyString>() || given.hasattr("dtype")?;
    if is_container || !is_scalar && given.hasattr("__iter__")? && !given.hasattr("encode")? {
        let items = given.try_iter()?.map(|item| argument(&item?));
        return items.collect::<PyResult<_>>().map(Value::List);
    }
    value(given, Called::Parameter("argument"), 0)
}
