//! `open` and `Database`: arguments are checked and converted here, and nothing else is.

use crate::arguments::{bytes, files_of};
use crate::blobs::Blobs;
use crate::counters::Counters;
use crate::documents::Documents;
use crate::error::{OrRaise, check_process, invalid};
use crate::graph::Graph;
use crate::graph_properties::{Declared, ImportedProperties};
use crate::import::{self, Arguments, GivenTypes, ImportReport};
use crate::project::{self, Form};
use crate::projection::Projection;
use crate::relation::Relation;
use crate::result::{ResultObject, run_options};
use crate::result_stream::ResultStream;
use crate::transaction::Transaction;
use crate::user_defined::{Aggregate, Rule, number};
use env::Own;
use py_guard::{documented, guarded};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quipu::{
    BlobOptions, Combine, CounterOptions, Durability, GraphOptions, Isolation, KeyType, NumberType,
    Options, RunOptions, WeightType,
};
use std::path::PathBuf;
use std::sync::Arc;

/// An open database.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct Database {
    database: Own<quipu::Database>,
}

impl Database {
    pub(crate) fn db(&self) -> PyResult<&quipu::Database> {
        check_process(&self.database)
    }
}

#[documented]
#[guarded]
#[pyfunction]
#[pyo3(signature = (path=None, *, durability="sync", cache=None, memory_limit=None, threads=0,
                    read_only=false, create=true, table_folders=None, direct_io=false, files=None,
                    on_slow_query=None))]
#[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
pub(crate) fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    durability: &str,
    cache: Option<&Bound<'_, PyAny>>,
    memory_limit: Option<&Bound<'_, PyAny>>,
    threads: usize,
    read_only: bool,
    create: bool,
    table_folders: Option<Vec<PathBuf>>,
    direct_io: bool,
    files: Option<&Bound<'_, PyAny>>,
    on_slow_query: Option<&Bound<'_, PyAny>>,
) -> PyResult<Database> {
    let mut options = Options {
        durability: match durability {
            "sync" => Durability::Sync,
            "os" => Durability::Os,
            "none" => Durability::None,
            other => {
                return Err(invalid(&format!(
                    "durability is \"sync\", \"os\" or \"none\", not {other:?}"
                )));
            }
        },
        threads,
        read_only,
        create,
        table_folders: table_folders.unwrap_or_default(),
        direct_io,
        files: files_of(files)?.unwrap_or_default(),
        on_slow_query: crate::slow_query::slow_queries(on_slow_query)?,
        ..Options::default()
    };
    if let Some(cache) = cache {
        options.cache_bytes = bytes(cache)?;
    }
    if let Some(limit) = memory_limit {
        options.memory_limit_bytes = bytes(limit)?;
    }
    let database = py
        .detach(|| match path {
            Some(path) => quipu::Database::open(path, options),
            None => quipu::Database::in_memory(options),
        })
        .or_raise()?;
    Ok(Database { database: Own::new(database) })
}

/// The key type that a keyword argument names, `None` without one.
fn key_type(argument: &str, value: Option<&str>) -> PyResult<Option<KeyType>> {
    match value {
        None => Ok(None),
        Some("u64") => Ok(Some(KeyType::U64)),
        Some("i64") => Ok(Some(KeyType::I64)),
        Some("str") => Ok(Some(KeyType::Str)),
        Some(other) => {
            Err(invalid(&format!("{argument} is \"u64\", \"i64\" or \"str\", not {other:?}")))
        }
    }
}

/// Checks that a value can be called.
///
/// # Errors
/// `TypeError` where it cannot.
pub(crate) fn callable(value: &Bound<'_, PyAny>) -> PyResult<()> {
    match value.is_callable() {
        true => Ok(()),
        false => {
            let what = format!("a function is needed, not a {}", value.get_type().name()?);
            Err(PyTypeError::new_err(what))
        }
    }
}

/// Whether edges have keys, from their type.
fn edge_key(key: Option<&str>) -> PyResult<Option<bool>> {
    match key {
        None => Ok(None),
        Some("int" | "int64") => Ok(Some(true)),
        Some("none") => Ok(Some(false)),
        Some(other) => Err(invalid(&format!("key is \"int\" or \"none\", not {other:?}"))),
    }
}

#[documented]
#[guarded]
#[pymethods]
impl Database {
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.database.anywhere().folder().map(PathBuf::from)
    }

    #[pyo3(signature = (name, *, weight=None, vertex=None, nodes=None, edges=None, directed=None,
                        key=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn graph(
        &self,
        py: Python<'_>,
        name: &str,
        weight: Option<&str>,
        vertex: Option<&str>,
        nodes: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
        directed: Option<bool>,
        key: Option<&str>,
    ) -> PyResult<Graph> {
        let is_keyed = edge_key(key)?;
        let database = self.db()?;
        let weight = match weight {
            None => None,
            Some("float64" | "float") => Some(WeightType::Float),
            Some("int64" | "int") => Some(WeightType::Int),
            Some(other) => {
                return Err(invalid(&format!("weight is \"float64\" or \"int64\", not {other:?}")));
            }
        };
        let vertex = key_type("vertex", vertex)?;
        let Declared { nodes, edges, weight: declared } = Declared::of(database, nodes, edges)?;
        if declared.is_some_and(|declared| weight.is_some_and(|weight| weight != declared)) {
            return Err(invalid("weight and edges name different types of the weight"));
        }
        let weight = weight.or(declared);
        let graph = py.detach(|| {
            // Options that are not given are those of the existing graph.
            let found = database.existing_graph(name)?;
            let there = found.as_ref().map(|graph| GraphOptions::of(graph.def()));
            let there = there.unwrap_or_default();
            let options = GraphOptions {
                vertex: vertex.unwrap_or(there.vertex),
                weight: weight.unwrap_or(there.weight),
                edges: edges.unwrap_or(there.edges),
                nodes: nodes.or(there.nodes),
                is_undirected: directed.map_or(there.is_undirected, |directed| !directed),
                is_keyed: is_keyed.unwrap_or(there.is_keyed),
            };
            database.graph(name, options)
        });
        Ok(Graph::new(graph.or_raise()?, database.clone()))
    }

    #[pyo3(signature = (name, source, *, vertex=None, weight=None, directed=None, key=None,
                        nodes=None, node_column=None, edge_properties=None, node_properties=None,
                        columns=None, delimiter=None, header=None, on_error="fail", missing=None,
                        quote="\"", skip_rows=0, comment=None, decimal=".", null_values=None,
                        progress=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn import_graph(
        &self,
        py: Python<'_>,
        name: &str,
        source: &Bound<'_, PyAny>,
        vertex: Option<&str>,
        weight: Option<&str>,
        directed: Option<bool>,
        key: Option<&str>,
        nodes: Option<&Bound<'_, PyAny>>,
        node_column: Option<&Bound<'_, PyAny>>,
        edge_properties: Option<&Bound<'_, PyAny>>,
        node_properties: Option<&Bound<'_, PyAny>>,
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
        let database = self.db()?;
        let weight = match weight {
            None => None,
            Some("none") => Some(WeightType::None),
            Some("float64" | "float") => Some(WeightType::Float),
            Some("int64" | "int") => Some(WeightType::Int),
            Some(other) => {
                let what = format!("weight is \"float64\", \"int64\" or \"none\", not {other:?}");
                return Err(invalid(&what));
            }
        };
        let is_undirected = directed.map(|directed| !directed);
        let (vertex, is_keyed) = (key_type("vertex", vertex)?, edge_key(key)?);
        let types = GivenTypes { vertex, weight, is_undirected, is_keyed };
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
        let options = options.options()?;
        let declared = ImportedProperties::of(database, edge_properties, node_properties)?;
        let found = py.detach(|| database.existing_graph(name)).or_raise()?;
        let has_some = found.is_some_and(|graph| graph.def().has_edge_rows());
        if nodes.is_none() && !declared.is_given && !has_some && types.is_keyed != Some(true) {
            let source = crate::edge_source::source(source)?;
            return import::into_graph(py, database, name, source, types, options, progress);
        }
        let (edges, raised) = crate::edge_source::property_source(source)?;
        let nodes = nodes.map(crate::edge_source::property_source).transpose()?;
        let (nodes, raised_by_nodes) = nodes.unzip();
        let import = quipu::PropertyImport {
            edges: Some(edges),
            nodes,
            vertex: types.vertex,
            weight: types.weight.or(declared.weight),
            is_undirected: types.is_undirected,
            is_keyed: types.is_keyed,
            edge_properties: declared.edges,
            node_properties: declared.nodes,
            node_column: node_column.map(import::column).transpose()?,
            options,
        };
        let raised: Vec<_> = std::iter::once(raised).chain(raised_by_nodes).collect();
        import::with_properties(py, database, name, import, &raised, progress)
    }

    #[pyo3(signature = (name, *, key=None))]
    fn blobs(&self, py: Python<'_>, name: &str, key: Option<&str>) -> PyResult<Blobs> {
        let database = self.db()?;
        let key = key_type("key", key)?;
        let blobs = py.detach(|| {
            // Options that are not given are those of the existing blobs.
            let there = match key {
                None => database.existing_blobs(name)?,
                Some(_) => None,
            };
            match there {
                Some(blobs) => Ok(blobs),
                None => database.blobs(name, BlobOptions { key: key.unwrap_or_default() }),
            }
        });
        Ok(Blobs::new(blobs.or_raise()?, database.clone()))
    }

    #[pyo3(signature = (name, *, key=None))]
    fn documents(&self, py: Python<'_>, name: &str, key: Option<&str>) -> PyResult<Documents> {
        let database = self.db()?;
        let key = key_type("key", key)?;
        let documents = py.detach(|| {
            let there = match key {
                None => database.existing_documents(name)?,
                Some(_) => None,
            };
            let options = quipu::DocumentOptions { key: key.unwrap_or_default() };
            there.map_or_else(|| database.documents(name, options), Ok)
        });
        Ok(Documents::new(documents.or_raise()?))
    }

    #[pyo3(signature = (name, *, key=None, number=None, combine=None))]
    fn counters(
        &self,
        py: Python<'_>,
        name: &str,
        key: Option<&str>,
        number: Option<&str>,
        combine: Option<&str>,
    ) -> PyResult<Counters> {
        let database = self.db()?;
        let key = key_type("key", key)?;
        let number = match number {
            None => None,
            Some("int64" | "int") => Some(NumberType::Int),
            Some("float64" | "float") => Some(NumberType::Float),
            Some(other) => {
                return Err(invalid(&format!("number is \"int64\" or \"float64\", not {other:?}")));
            }
        };
        let combine = match combine {
            None => None,
            Some("sum") => Some(Combine::Sum),
            Some("min") => Some(Combine::Min),
            Some("max") => Some(Combine::Max),
            Some(other) => {
                return Err(invalid(&format!(
                    "combine is \"sum\", \"min\" or \"max\", not {other:?}"
                )));
            }
        };
        let counters = py.detach(|| {
            // Options that are not given are those of the existing counters.
            let there = database.existing_counters(name)?;
            let there = there.as_ref().map(quipu::Counters::def);
            let options = CounterOptions {
                key: key.or(there.map(|def| def.key)).unwrap_or_default(),
                number: number.or(there.map(|def| def.number)).unwrap_or_default(),
                combine: combine.or(there.map(|def| def.combine)).unwrap_or_default(),
            };
            database.counters(name, options)
        });
        Ok(Counters::new(counters.or_raise()?, database.clone()))
    }

    #[pyo3(signature = (script, params=None, *, timeout=None, memory_limit=None, read_only=false, files=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn run(
        &self,
        py: Python<'_>,
        script: &str,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory_limit: Option<&Bound<'_, PyAny>>,
        read_only: bool,
        files: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ResultObject> {
        let database = self.db()?;
        let files = files_of(files)?;
        let options = run_options(timeout, memory_limit, read_only)?;
        crate::result::run(
            py,
            params,
            RunOptions { files: files.as_ref(), ..options },
            |parameters, options| database.try_run(script, parameters, options),
            |parameters, options| database.run_with(script, parameters, options),
        )
    }

    #[pyo3(signature = (script, params=None, *, timeout=None, memory_limit=None, read_only=false, files=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn stream(
        &self,
        py: Python<'_>,
        script: &str,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory_limit: Option<&Bound<'_, PyAny>>,
        read_only: bool,
        files: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ResultStream> {
        let database = self.db()?;
        let files = files_of(files)?;
        let options = run_options(timeout, memory_limit, read_only)?;
        crate::result_stream::stream(py, database, script, params, options, files)
    }

    #[pyo3(signature = (name, *, create=None, keys=None))]
    fn relation(
        &self,
        py: Python<'_>,
        name: &str,
        create: Option<&Bound<'_, PyAny>>,
        keys: Option<Vec<String>>,
    ) -> PyResult<Relation> {
        let database = self.db()?;
        crate::relation::open(py, database, name, create, keys)
    }

    fn export_relations<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let database = self.db()?;
        crate::relations::export(py, names, |names| database.export_relations(names))
    }

    fn import_relations(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let database = self.db()?;
        let columns = |name: &str| crate::relations::column_names(database, name);
        crate::relations::import(py, data, columns, |frames, options| {
            database.import_relations_with(frames, options)
        })
    }

    #[pyo3(signature = (query, params=None, *, undirected=false, nodes=None, parallel=None,
                        timeout=None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of one Python call
    fn project(
        &self,
        py: Python<'_>,
        query: &str,
        params: Option<&Bound<'_, PyAny>>,
        undirected: bool,
        nodes: Option<&Bound<'_, PyAny>>,
        parallel: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Projection> {
        let database = self.db()?;
        let form = Form::new((false, None), undirected, nodes, parallel)?;
        let options = run_options(timeout, None, true)?;
        project::of_query(py, database, query, params, &form, &options)
    }

    fn register_callback(&self, relation: &str, callback: &Bound<'_, PyAny>) -> PyResult<u64> {
        let database = self.db()?;
        callable(callback)?;
        let told = crate::callback::told(callback.clone().unbind());
        database.register_callback(relation, told).or_raise()
    }

    fn register_fixed_rule(
        &self,
        name: &str,
        arity: isize,
        function: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let database = self.db()?;
        callable(function)?;
        let (columns, function) = (number("arity", arity)?, function.clone().unbind());
        database.register_fixed_rule(name, Rule { columns, function }).or_raise()
    }

    fn unregister_fixed_rule(&self, name: &str) -> PyResult<bool> {
        let database = self.db()?;
        database.unregister_fixed_rule(name).or_raise()
    }

    #[pyo3(signature = (name, init, step, finish=None, *, args=0))]
    fn register_aggregate(
        &self,
        name: &str,
        init: &Bound<'_, PyAny>,
        step: &Bound<'_, PyAny>,
        finish: Option<&Bound<'_, PyAny>>,
        args: isize,
    ) -> PyResult<()> {
        let database = self.db()?;
        [init, step].into_iter().chain(finish).try_for_each(callable)?;
        let aggregate = Arc::new(Aggregate {
            init: init.clone().unbind(),
            step: step.clone().unbind(),
            finish: finish.map(|finish| finish.clone().unbind()),
        });
        let args = number("args", args)?;
        database.register_aggregate(name, args, move |args| aggregate.begin(args)).or_raise()
    }

    fn unregister_aggregate(&self, name: &str) -> PyResult<bool> {
        let database = self.db()?;
        database.unregister_aggregate(name).or_raise()
    }

    fn unregister_callback(&self, id: u64) -> PyResult<bool> {
        self.db()?.unregister_callback(id).or_raise()
    }

    fn drop(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let database = self.db()?;
        py.detach(|| database.drop_entry(name)).or_raise()
    }

    fn graphs(&self) -> PyResult<Vec<String>> {
        let database = self.db()?;
        Ok(database.graphs().or_raise()?.into_iter().map(|def| def.name).collect())
    }

    fn drop_graph(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let database = self.db()?;
        py.detach(|| database.drop_graph(name)).or_raise()
    }

    #[pyo3(signature = (isolation="snapshot"))]
    fn transaction(&self, py: Python<'_>, isolation: &str) -> PyResult<Transaction> {
        let database = self.db()?;
        let isolation = match isolation {
            "snapshot" => Isolation::Snapshot,
            "serializable" => Isolation::Serializable,
            other => {
                return Err(invalid(&format!(
                    "isolation is \"snapshot\" or \"serializable\", not {other:?}"
                )));
            }
        };
        database.check_open().or_raise()?;
        // Without the GIL: buffered increments are written to memtables first.
        let transaction = crate::gil::detached(py, || database.transaction(isolation));
        Ok(Transaction::new(transaction, database.clone()))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.db()?;
        py.detach(|| database.flush()).or_raise()
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.db()?;
        crate::interruptible::interruptible(py, |go_on| database.compact_while(go_on))
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.db()?;
        py.detach(|| database.refresh()).or_raise()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.db()?;
        let stats = py.detach(|| database.stats()).or_raise()?;
        let out = PyDict::new(py);
        out.set_item("disk_bytes", stats.disk_bytes)?;
        out.set_item("log_bytes", stats.log_bytes)?;
        let written = PyDict::new(py);
        written.set_item("log", stats.written.log)?;
        written.set_item("flushed", stats.written.flushed)?;
        written.set_item("loaded", stats.written.loaded)?;
        written.set_item("merged", stats.written.merged)?;
        out.set_item("written", written)?;
        out.set_item("cache_bytes", stats.cache_bytes)?;
        let activity = PyDict::new(py);
        activity.set_item("flushes", stats.activity.flushes)?;
        activity.set_item("compactions", stats.activity.compactions)?;
        activity.set_item("stalls", stats.activity.stalls)?;
        activity.set_item("stalled_s", stats.activity.stalled_us as f64 / 1e6)?;
        activity.set_item("cache_misses", stats.activity.cache_misses)?;
        activity.set_item("compaction_error", stats.activity.compaction_error)?;
        out.set_item("activity", activity)?;
        out.set_item("commits", stats.commits)?;
        let graphs = PyList::empty(py);
        for graph in stats.graphs {
            let row = PyDict::new(py);
            row.set_item("name", graph.def.name)?;
            row.set_item("edges", graph.edges)?;
            row.set_item("vertices", graph.vertices)?;
            row.set_item("disk_bytes", graph.disk_bytes)?;
            row.set_item("memory_bytes", graph.memory_bytes)?;
            row.set_item("tables", graph.tables)?;
            graphs.append(row)?;
        }
        out.set_item("graphs", graphs)?;
        let kinds = [
            ("relations", stats.relations),
            ("indexes", stats.indexes),
            ("blobs", stats.blobs),
            ("counters", stats.counters),
        ];
        for (kind, of_kind) in kinds {
            let list = PyList::empty(py);
            for relation in of_kind {
                let row = PyDict::new(py);
                row.set_item("name", relation.name)?;
                row.set_item("rows", relation.rows)?;
                row.set_item("disk_bytes", relation.disk_bytes)?;
                row.set_item("memory_bytes", relation.memory_bytes)?;
                row.set_item("tables", relation.tables)?;
                list.append(row)?;
            }
            out.set_item(kind, list)?;
        }
        Ok(out)
    }

    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let database = self.db()?;
        let check =
            crate::interruptible::interruptible(py, |go_on| database.check(&|_, _| go_on()))?;
        crate::repair::check_dict(py, &check)
    }

    #[pyo3(signature = (path, *, earlier=None, progress=None))]
    fn backup(
        &self,
        py: Python<'_>,
        path: PathBuf,
        earlier: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<crate::backup::BackupReport> {
        let database = self.db()?;
        crate::backup::back_up(py, database, path, earlier, progress)
    }

    /// Does nothing in a forked child, which has nothing to close.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Ok(database) = self.database.get() else { return Ok(()) };
        py.detach(|| database.close()).or_raise()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match self.database.anywhere().folder() {
            Some(folder) => format!("<quipu.Database {:?}>", folder.display().to_string()),
            None => "<quipu.Database in memory>".to_owned(),
        }
    }
}
