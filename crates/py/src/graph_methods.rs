//! The methods of `Graph`.
//!
//! # Why single lookups keep the GIL
//! A cached lookup takes about a third of a microsecond; releasing the GIL and taking it back costs
//! as much. So lookups of one vertex and writes of one edge hold it unless they would block
//! (`gil.rs`). Every `_many` call, scan and import releases it.

use crate::arrays::{self, EdgeArrays};
use crate::error::OrRaise;
use crate::gil;
use crate::graph::Graph;
use crate::graph_files::format_of;
use crate::graph_lookups::{Degrees, ManyEdges, Offsets};
use crate::graph_properties::Of;
use crate::import::{self, Arguments, ImportReport};
use crate::project::{self, Form};
use crate::projection::Projection;
use crate::relation::Relation;
use crate::table::Table;
use crate::vertices::{self, vertex};
use numpy::PyArray1;
use py_guard::{documented, guarded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quipu::Weights;

#[documented]
#[guarded]
#[pymethods]
impl Graph {
    #[getter]
    fn name(&self) -> &str {
        self.graph.anywhere().name()
    }

    #[getter]
    fn vertex(&self) -> &'static str {
        arrays::key_type(self.graph.anywhere().def().vertex)
    }

    #[getter]
    fn weight(&self) -> Option<&'static str> {
        match self.graph.anywhere().def().weight {
            quipu::WeightType::None => None,
            quipu::WeightType::Float => Some("float64"),
            quipu::WeightType::Int => Some("int64"),
        }
    }

    #[getter]
    fn key(&self) -> Option<&'static str> {
        self.graph.anywhere().def().is_keyed.then_some("int")
    }

    #[getter]
    fn is_directed(&self) -> bool {
        !self.graph.anywhere().def().is_undirected
    }

    // --- one edge ------------------------------------------------------------------------------

    #[pyo3(signature = (u, v, key=None))]
    fn edge<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        key: Option<i64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let graph = self.graph()?;
        let (u, v) = (vertex(graph, u)?, vertex(graph, v)?);
        let found = gil::lookup(py, || match key {
            None => graph.edge(u, v),
            Some(key) => graph.keyed_edge(u, v, key),
        });
        found.or_raise()?.map(|weight| arrays::weight(py, weight)).transpose()
    }

    #[pyo3(signature = (u, v, key=None))]
    fn has_edge(
        &self,
        u: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        key: Option<i64>,
    ) -> PyResult<bool> {
        let graph = self.graph()?;
        let py = u.py();
        let (u, v) = (vertex(graph, u)?, vertex(graph, v)?);
        let found = gil::lookup(py, || match key {
            None => graph.has_edge(u, v),
            Some(key) => graph.keyed_edge(u, v, key).map(|weight| weight.is_some()),
        });
        found.or_raise()
    }

    fn edge_keys<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let graph = self.graph()?;
        let (u, v) = (vertex(graph, u)?, vertex(graph, v)?);
        let mut keys = Vec::new();
        py.detach(|| graph.edge_keys(u, v, &mut keys)).or_raise()?;
        Ok(PyArray1::from_vec(py, keys))
    }

    #[pyo3(signature = (us, vs, keys=None))]
    fn edge_many<'py>(
        &self,
        py: Python<'py>,
        us: &Bound<'py, PyAny>,
        vs: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Bound<'py, PyAny>)> {
        let (mut present, mut weights) = (Vec::new(), Weights::default());
        self.with_edges(py, (us, vs), keys, |graph, us, vs, keys| match keys {
            None => graph.edge_many(us, vs, &mut present, &mut weights),
            Some(keys) => graph.keyed_edge_many(us, vs, keys, &mut present, &mut weights),
        })?;
        let count = present.len();
        Ok((arrays::flags(py, &present), arrays::moved_weights(py, weights, count)))
    }

    #[pyo3(signature = (us, vs, keys=None))]
    fn has_edge_many<'py>(
        &self,
        py: Python<'py>,
        us: &Bound<'py, PyAny>,
        vs: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut present = Vec::new();
        self.with_edges(py, (us, vs), keys, |graph, us, vs, keys| match keys {
            None => graph.has_edge_many(us, vs, &mut present),
            Some(keys) => graph.has_keyed_edge_many(us, vs, keys, &mut present),
        })?;
        Ok(arrays::flags(py, &present))
    }

    // --- properties ----------------------------------------------------------------------------

    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Relation> {
        self.relation_of(py, Of::Nodes)
    }

    #[getter]
    fn edges_table(&self, py: Python<'_>) -> PyResult<Relation> {
        self.relation_of(py, Of::Edges)
    }

    #[pyo3(signature = (v, /, **properties))]
    fn add_node(
        &self,
        py: Python<'_>,
        v: &Bound<'_, PyAny>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.merge_row(py, Of::Nodes, &[("vertex", v)], properties)
    }

    #[pyo3(signature = (u, v, /, **properties))]
    fn add_edge(
        &self,
        py: Python<'_>,
        u: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.merge_row(py, Of::Edges, &[("src", u), ("dst", v)], properties)
    }

    #[pyo3(signature = (data, *, merge=false))]
    fn upsert_nodes(&self, data: &Bound<'_, PyAny>, merge: bool) -> PyResult<()> {
        self.put_rows(Of::Nodes, data, merge)
    }

    #[pyo3(signature = (data, *, merge=false))]
    fn upsert_edges(&self, data: &Bound<'_, PyAny>, merge: bool) -> PyResult<()> {
        self.put_rows(Of::Edges, data, merge)
    }

    fn node<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.properties_of(py, Of::Nodes, &[("vertex", v)])
    }

    #[pyo3(signature = (u, v, key=None))]
    fn edge_properties<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let columns = [("src", Some(u)), ("dst", Some(v)), ("key", key)];
        self.properties_of(py, Of::Edges, &self.key_columns(columns)?)
    }

    fn node_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Table)> {
        self.rows_of_keys(py, Of::Nodes, vec![("vertex", vs)])
    }

    #[pyo3(signature = (us, vs, keys=None))]
    fn edge_properties_many<'py>(
        &self,
        py: Python<'py>,
        us: &Bound<'py, PyAny>,
        vs: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Table)> {
        let columns = [("src", Some(us)), ("dst", Some(vs)), ("key", keys)];
        self.rows_of_keys(py, Of::Edges, self.key_columns(columns)?)
    }

    // --- edges of a vertex ---------------------------------------------------------------------

    fn out_edges<'py>(&self, py: Python<'py>, v: &Bound<'py, PyAny>) -> PyResult<EdgeArrays<'py>> {
        self.edges_of(py, v, quipu::Graph::out_edges)
    }

    fn in_edges<'py>(&self, py: Python<'py>, v: &Bound<'py, PyAny>) -> PyResult<EdgeArrays<'py>> {
        self.edges_of(py, v, quipu::Graph::in_edges)
    }

    fn edges<'py>(&self, py: Python<'py>, v: &Bound<'py, PyAny>) -> PyResult<EdgeArrays<'py>> {
        self.edges_of(py, v, quipu::Graph::edges)
    }

    fn out_edges_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<ManyEdges<'py>> {
        self.edges_of_many(py, vs, quipu::Graph::out_edges_many)
    }

    fn in_edges_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<ManyEdges<'py>> {
        self.edges_of_many(py, vs, quipu::Graph::in_edges_many)
    }

    fn edges_many<'py>(&self, py: Python<'py>, vs: &Bound<'py, PyAny>) -> PyResult<ManyEdges<'py>> {
        self.edges_of_many(py, vs, quipu::Graph::edges_many)
    }

    // --- neighbors -----------------------------------------------------------------------------

    fn successors<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ids_of(py, v, quipu::Graph::successors)
    }

    fn predecessors<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ids_of(py, v, quipu::Graph::predecessors)
    }

    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ids_of(py, v, quipu::Graph::neighbors)
    }

    fn successors_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<Offsets<'py>> {
        self.ids_of_many(py, vs, quipu::Graph::successors_many)
    }

    fn predecessors_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<Offsets<'py>> {
        self.ids_of_many(py, vs, quipu::Graph::predecessors_many)
    }

    fn neighbors_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<Offsets<'py>> {
        self.ids_of_many(py, vs, quipu::Graph::neighbors_many)
    }

    // --- degrees -------------------------------------------------------------------------------

    fn degree(&self, v: &Bound<'_, PyAny>) -> PyResult<(u64, f64)> {
        self.degree_of(v, quipu::Graph::degree)
    }

    fn out_degree(&self, v: &Bound<'_, PyAny>) -> PyResult<(u64, f64)> {
        self.degree_of(v, quipu::Graph::out_degree)
    }

    fn in_degree(&self, v: &Bound<'_, PyAny>) -> PyResult<(u64, f64)> {
        self.degree_of(v, quipu::Graph::in_degree)
    }

    fn degree_many<'py>(&self, py: Python<'py>, vs: &Bound<'py, PyAny>) -> PyResult<Degrees<'py>> {
        self.degrees_of_many(py, vs, quipu::Graph::degree_many)
    }

    fn out_degree_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<Degrees<'py>> {
        self.degrees_of_many(py, vs, quipu::Graph::out_degree_many)
    }

    fn in_degree_many<'py>(
        &self,
        py: Python<'py>,
        vs: &Bound<'py, PyAny>,
    ) -> PyResult<Degrees<'py>> {
        self.degrees_of_many(py, vs, quipu::Graph::in_degree_many)
    }

    // --- writes --------------------------------------------------------------------------------

    #[pyo3(signature = (u, v, w=None, *, key=None))]
    fn upsert<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        w: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let graph = self.graph()?;
        if key.is_some() || graph.def().vertex == quipu::VertexType::Str {
            let list = |x: &Bound<'py, PyAny>| pyo3::types::PyList::new(py, [x.clone()]);
            let w = w.filter(|w| !w.is_none()).map(list).transpose()?;
            let key = key.map(list).transpose()?;
            let (w, key) = (w.as_ref().map(|w| w.as_any()), key.as_ref().map(|key| key.as_any()));
            let (u, v) = (list(u)?, list(v)?);
            return self.upsert_many(py, &u, &v, w, key);
        }
        let (u, v) = (vertex(graph, u)?, vertex(graph, v)?);
        let w = vertices::weight(graph, w)?;
        gil::write(py, &self.database, || graph.upsert(u, v, w))
    }

    #[pyo3(signature = (us, vs, ws=None, *, keys=None))]
    fn upsert_many<'py>(
        &self,
        py: Python<'py>,
        us: &Bound<'py, PyAny>,
        vs: &Bound<'py, PyAny>,
        ws: Option<&Bound<'py, PyAny>>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let graph = self.graph()?;
        if let Some(keys) = keys {
            return self.put_keyed(us, vs, ws.filter(|ws| !ws.is_none()), keys);
        }
        let (us, vs) = (vertices::column(graph, us)?, vertices::column(graph, vs)?);
        let ws = vertices::weights(graph, ws)?;
        let ws = ws.as_ref().map(vertices::WeightColumn::as_ref).transpose()?;
        us.with_list(|us| {
            vs.with_list(|vs| py.detach(|| graph.upsert_list(us, vs, ws)).or_raise())
        })??
    }

    #[pyo3(signature = (u, v, key=None))]
    fn remove<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        key: Option<i64>,
    ) -> PyResult<bool> {
        let graph = self.graph()?;
        let (u, v) = (vertex(graph, u)?, vertex(graph, v)?);
        gil::write(py, &self.database, || match key {
            None => graph.remove(u, v),
            Some(key) => graph.remove_keyed(u, v, key),
        })
    }

    #[pyo3(signature = (us, vs, keys=None))]
    fn remove_many<'py>(
        &self,
        py: Python<'py>,
        us: &Bound<'py, PyAny>,
        vs: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut removed = Vec::new();
        self.with_edges(py, (us, vs), keys, |graph, us, vs, keys| match keys {
            None => graph.remove_many(us, vs, &mut removed),
            Some(keys) => graph.remove_keyed_many(us, vs, keys, &mut removed),
        })?;
        Ok(arrays::flags(py, &removed))
    }

    fn remove_vertex(&self, py: Python<'_>, v: &Bound<'_, PyAny>) -> PyResult<u64> {
        let graph = self.graph()?;
        let v = vertex(graph, v)?;
        py.detach(|| graph.remove_vertex(v)).or_raise()
    }

    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let graph = self.graph()?;
        py.detach(|| graph.clear()).or_raise()
    }

    // --- the whole graph -----------------------------------------------------------------------

    fn number_of_edges(&self, py: Python<'_>) -> PyResult<u64> {
        let graph = self.graph()?;
        py.detach(|| graph.number_of_edges()).or_raise()
    }

    fn number_of_vertices(&self, py: Python<'_>) -> PyResult<u64> {
        let graph = self.graph()?;
        py.detach(|| graph.number_of_vertices()).or_raise()
    }

    fn has_vertex(&self, v: &Bound<'_, PyAny>) -> PyResult<bool> {
        let graph = self.graph()?;
        let word = vertex(graph, v)?;
        gil::lookup(v.py(), || graph.has_vertex(word)).or_raise()
    }

    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.graph()?;
        let mut words = Vec::new();
        py.detach(|| graph.vertices(&mut |some| words.extend_from_slice(some))).or_raise()?;
        arrays::moved(py, graph, words)
    }

    fn to_table(&self, py: Python<'_>) -> PyResult<Table> {
        let graph = self.graph()?;
        Table::read(py, graph)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.number_of_edges(py).map(|edges| usize::try_from(edges).unwrap_or(usize::MAX))
    }

    fn __contains__(&self, v: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.has_vertex(v)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (name, vertex) = (self.graph.anywhere().name(), self.vertex()?);
        let mut weight =
            self.weight()?.map_or(String::new(), |weight| format!(", weight={weight}"));
        if !self.is_directed()? {
            weight.push_str(", directed=False");
        }
        if self.key()?.is_some() {
            weight.push_str(", key=int");
        }
        // Debuggers and logs call this also in a forked child, where the graph cannot be read.
        let Ok(graph) = self.graph.get() else {
            let owner = self.graph.owner();
            return Ok(format!("<quipu.Graph {name:?} of {owner:?}, vertex={vertex}{weight}>"));
        };
        Ok(match py.detach(|| graph.number_of_edges()) {
            Ok(edges) => format!("<quipu.Graph {name:?}: {edges} edges, vertex={vertex}{weight}>"),
            Err(_) => format!("<quipu.Graph {name:?}: vertex={vertex}{weight}>"),
        })
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let graph = self.graph()?;
        Ok(format!(
            "<table><tr><th>graph</th><th>vertices</th><th>edges</th><th>vertex</th><th>weight</th></tr>\
             <tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr></table>",
            graph.name(),
            self.number_of_vertices(py)?,
            self.number_of_edges(py)?,
            self.vertex()?,
            self.weight()?.unwrap_or("none"),
        ))
    }

    // --- import and export ---------------------------------------------------------------------

    #[pyo3(signature = (path, *, columns=None, delimiter=None, header=None, on_error="fail",
                        missing=None, quote="\"", skip_rows=0, comment=None, decimal=".",
                        null_values=None, progress=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn import_csv(
        &self,
        path: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyAny>>,
        delimiter: Option<&str>,
        header: Option<bool>,
        on_error: &str,
        missing: Option<&Bound<'_, PyAny>>,
        quote: Option<&str>,
        skip_rows: u64,
        comment: Option<&str>,
        decimal: &str,
        null_values: Option<Vec<String>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        self.graph()?;
        let options = Arguments {
            columns,
            delimiter,
            header,
            on_error,
            missing,
            quote,
            skip_rows,
            comment,
            decimal,
            null_values,
        };
        self.import(path, options.options()?, progress)
    }

    #[pyo3(signature = (path, *, columns=None, missing=None, progress=None))]
    fn import_parquet(
        &self,
        path: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyAny>>,
        missing: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        self.graph()?;
        let options = Arguments { columns, missing, ..Arguments::default() }.options()?;
        self.import(path, options, progress)
    }

    #[pyo3(signature = (table, *, columns=None, missing=None, progress=None))]
    fn import_arrow(
        &self,
        table: &Bound<'_, PyAny>,
        columns: Option<&Bound<'_, PyAny>>,
        missing: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        self.graph()?;
        let options = Arguments { columns, missing, ..Arguments::default() }.options()?;
        self.import_table(table, options, progress)
    }

    #[pyo3(signature = (us, vs, ws=None, *, missing=None, progress=None))]
    fn import_arrays(
        &self,
        py: Python<'_>,
        us: &Bound<'_, PyAny>,
        vs: &Bound<'_, PyAny>,
        ws: Option<&Bound<'_, PyAny>>,
        missing: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        import::arrays(py, (self.graph()?, &self.database), us, vs, ws, missing, progress)
    }

    #[pyo3(signature = (source, *, column=None, delimiter=None, on_error="fail", quote="\"",
                        skip_rows=0, comment=None, decimal=".", null_values=None, progress=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn import_nodes(
        &self,
        source: &Bound<'_, PyAny>,
        column: Option<&Bound<'_, PyAny>>,
        delimiter: Option<&str>,
        on_error: &str,
        quote: Option<&str>,
        skip_rows: u64,
        comment: Option<&str>,
        decimal: &str,
        null_values: Option<Vec<String>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        self.outside_of_transactions()?;
        let arguments = Arguments {
            delimiter,
            on_error,
            quote,
            skip_rows,
            comment,
            decimal,
            null_values,
            ..Arguments::default()
        };
        let column = column.map(import::column).transpose()?;
        self.import_vertices(source, column, arguments.options()?, progress)
    }

    fn export_parquet(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<u64> {
        self.export(py, &path, quipu::ExportFormat::Parquet)
    }

    fn export_nodes(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<u64> {
        self.graph()?;
        self.export_of(py, Of::Nodes, &path, format_of(&path)?)
    }

    fn export_csv(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<u64> {
        // The name chooses tabs, spaces or commas; text is what was asked for.
        let format = match quipu::ExportFormat::of(&path) {
            Some(format @ quipu::ExportFormat::Text(_)) => format,
            _ => quipu::ExportFormat::Text(b','),
        };
        self.export(py, &path, format)
    }

    #[pyo3(signature = (*, weight=None, undirected=false, nodes=None, r#where=None, params=None,
                        parallel=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn project(
        &self,
        py: Python<'_>,
        weight: Option<&str>,
        undirected: bool,
        nodes: Option<&Bound<'_, PyAny>>,
        r#where: Option<&str>,
        params: Option<&Bound<'_, PyAny>>,
        parallel: Option<&str>,
    ) -> PyResult<Projection> {
        let graph = self.graph()?;
        let is_weighted = project::is_weighted(graph, weight, None)?;
        let form = Form::new(is_weighted, undirected, nodes, parallel)?;
        project::of_graph(py, graph, &self.database, &form, r#where, params)
    }

    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn _project(
        &self,
        py: Python<'_>,
        algorithm: &str,
        weight: Option<&str>,
        undirected: bool,
        nodes: Option<&Bound<'_, PyAny>>,
        r#where: Option<&str>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Projection> {
        let graph = self.graph()?;
        let is_weighted = project::is_weighted(graph, weight, Some(algorithm))?;
        let form = Form::new(is_weighted, undirected, nodes, None)?;
        project::of_graph(py, graph, &self.database, &form, r#where, params)
    }

    fn export_arrow(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<u64> {
        self.export(py, &path, quipu::ExportFormat::Arrow)
    }
}
