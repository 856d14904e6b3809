//! Imports tables of edges and of vertices with properties into a graph.
//!
//! # Why beside the import of edges
//! The import of edges (`views/src/import`) sorts packed pairs of words with a weight in memory
//! that is limited, and stays as it is. Rows with properties are converted to columns of values and
//! loaded as rows of the graph's relations, which checks their types.
//!
//! # Invariants
//! 1. Rows with properties become visible in one step, edges together with vertices, or not at all.
//!    Edges without properties beside vertices are a second step, after the vertices.
//! 2. A graph that the call created is dropped if the call fails. One that another writer created
//!    meanwhile is not.

use crate::database::Database;
use crate::file_errors::failed;
use crate::graph_relations::{GraphRelations, Part};
use crate::import_file::import_files;
use crate::options::{GraphOptions, Properties};
use crate::property_counts::Distinct;
use crate::property_rows::{PropertySource, read};
use crate::property_schema::{self, PropertyTypes, Tables, names_property};
use crate::property_table::{Picked, PropertyTable, Role};
use crate::raw_rows::{Limit, RawRows};
use crate::script::{RunOptions, no_parameters, run_of, to_store_error};
use ingest::{ColumnRef, TextOptions, WeightNames};
use model::{Frame, Type};
use session::{Change, ChangeKind};
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Error, ErrorKind, Result};
use views::graph::{Graph, GraphPart, VertexType, WeightType};
use views::import::{ImportOptions, ImportProgress, ImportReport, Phase, ProgressFn};

/// Memory of an import in terms of the rows that were read: these, their values, and both
/// directions of edges.
const COPIES: u64 = 4;

/// The input of [`Database::import_properties`]. The default imports nothing.
#[derive(Default)]
pub struct PropertyImport {
    /// Edges.
    pub edges: Option<PropertySource>,
    /// Vertices.
    pub nodes: Option<PropertySource>,
    /// The type of vertices of a new graph; `None`: what fits.
    pub vertex: Option<VertexType>,
    /// The type of weights of a new graph; `None`: that of a column called `weight`, if there is
    /// one; floats for text.
    pub weight: Option<WeightType>,
    /// Whether edges of a new graph have no direction; `None`: they have one.
    pub is_undirected: Option<bool>,
    /// Whether edges of a new graph have integer keys, from the column `key`; `None`: they have
    /// none.
    pub is_keyed: Option<bool>,
    /// The properties of edges of a new graph; `None`: no properties. An existing graph has its
    /// own, which columns of these names become.
    pub edge_properties: Option<PropertyTypes>,
    /// The properties of vertices of a new graph, if `nodes` are given.
    pub node_properties: PropertyTypes,
    /// The column of `nodes` that holds the vertex; `None`: by well-known names (`vertex`, `id`,
    /// `:ID`, `node`, …), else the first.
    pub node_column: Option<ColumnRef>,
    /// How text is read, and the memory for rows. The columns are those of edges.
    pub options: ImportOptions,
}

impl Database {
    /// Imports rows of edges, of vertices, or both into a graph, which is created with the types
    /// that fit if it does not exist. Rows of the same edge or vertex are replaced; the last one
    /// wins, and properties without a column become null.
    ///
    /// Source, target and weight are found as in other imports, except that only a name makes a
    /// column the weight. A column is the property with its name; a type after a colon
    /// (`since:int`, as Neo4j writes) is not part of it. Text needs a header. In text an empty
    /// field without quotes and `\N` are null, and for other types than strings also `NA`, `null`
    /// and the like.
    ///
    /// # Errors
    /// - [`crate::ErrorKind::InvalidInput`]: the input cannot be read as such rows (the message has
    ///   the file and line), or the graph has other types;
    /// - [`crate::ErrorKind::Limit`]: the rows exceed the memory of the options;
    /// - [`crate::ErrorKind::Cancelled`] if `progress` returns false;
    /// - [`crate::ErrorKind::Io`] and [`crate::ErrorKind::Conflict`].
    ///
    /// Nothing was imported then, but for vertices whose edges without properties failed in a graph
    /// that existed.
    pub fn import_properties(
        &self,
        name: &str,
        import: PropertyImport,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport> {
        let began_us = self.env().monotonic_us();
        let found = self.existing_graph(name)?;
        let teller = Teller::new(self, progress, began_us);
        let options = import.options.clone();
        let mut job = Job { database: self, name, options, teller: &teller, is_new: false };
        job.options.text.edges.vertex = ingest::VertexType::Str;
        let mut report = match job.run(found, import) {
            Ok(report) => report,
            Err(error) => {
                if job.is_new && self.existing_graph(name)?.is_some() {
                    self.drop_graph(name)?;
                }
                return Err(error);
            }
        };
        report.seconds = self.env().monotonic_us().saturating_sub(began_us) as f64 / 1e6;
        Ok(report)
    }
}

/// Reports progress from the thread that called the import.
struct Teller<'t> {
    database: &'t Database,
    progress: ProgressFn<'t>,
    began_us: u64,
    caller: std::thread::ThreadId,
    is_cancelled: AtomicBool,
}

impl<'t> Teller<'t> {
    fn new(database: &'t Database, progress: ProgressFn<'t>, began_us: u64) -> Self {
        let (caller, is_cancelled) = (std::thread::current().id(), AtomicBool::new(false));
        Self { database, progress, began_us, caller, is_cancelled }
    }

    fn tell(&self, phase: Phase, rows: u64) -> bool {
        if std::thread::current().id() == self.caller {
            let now_us = self.database.env().monotonic_us();
            let fraction = match phase {
                Phase::Read => 0.0,
                Phase::Forward | Phase::Reverse => 0.5,
                Phase::Commit => 0.9,
            };
            let told = ImportProgress {
                phase,
                bytes_read: 0,
                bytes_total: None,
                rows,
                fraction,
                seconds: now_us.saturating_sub(self.began_us) as f64 / 1e6,
            };
            if !(self.progress)(&told) {
                self.is_cancelled.store(true, Ordering::Relaxed);
            }
        }
        !self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// One import.
struct Job<'j> {
    database: &'j Database,
    name: &'j str,
    options: ImportOptions,
    teller: &'j Teller<'j>,
    /// Whether it created the graph.
    is_new: bool,
}

impl Job<'_> {
    fn run(&mut self, found: Option<Graph>, import: PropertyImport) -> Result<ImportReport> {
        let PropertyImport { mut edges, nodes, edge_properties, node_properties, .. } = import;
        if let Some(graph) = &found {
            self.check_types(
                graph,
                &edge_properties,
                &node_properties,
                import.vertex,
                import.weight,
                [import.is_undirected, import.is_keyed],
            )?;
        }
        let by_rows = match (&mut edges, &found) {
            (None, _) => false,
            (Some(edges), Some(graph)) => edges.has_property(graph, &self.options.text)?,
            (Some(edges), None) => {
                edge_properties.is_some()
                    || import.is_keyed == Some(true)
                    || matches!(edges, PropertySource::Rows(_))
            }
        };
        let (row_edges, mut plain_edges) =
            if by_rows { (edges.take(), None) } else { (None, edges.take()) };
        let go_on = || self.teller.tell(Phase::Read, 0);
        let bytes_max = self.options.memory_limit_bytes / COPIES;
        let mut limit = Limit { bytes_max, held: 0, go_on: &go_on };
        let edges = row_edges.map(|rows| read(rows, &self.options, &mut limit)).transpose()?;
        let nodes = nodes.map(|rows| read(rows, &self.options, &mut limit)).transpose()?;
        let graph = match found {
            Some(graph) => graph,
            None => {
                let plain = match &mut plain_edges {
                    Some(source) => Some(source.types(&self.options)?),
                    None => None,
                };
                let tables = Tables {
                    edges: edges.as_deref(),
                    nodes: nodes.as_deref(),
                    node_column: import.node_column.as_ref(),
                    is_keyed: import.is_keyed == Some(true),
                    options: &self.options.text,
                };
                let of_edges = edge_properties.unwrap_or(PropertyTypes::Given(Vec::new()));
                let mut wanted = tables.graph_options(plain, of_edges, node_properties)?;
                wanted.vertex = import.vertex.unwrap_or(wanted.vertex);
                wanted.weight = import.weight.unwrap_or(wanted.weight);
                wanted.is_undirected = import.is_undirected.unwrap_or_default();
                wanted.is_keyed = import.is_keyed.unwrap_or_default();
                // While the rows were read, another writer may have created it.
                let (graph, is_new) = self.database.open_or_create_graph(self.name, wanted)?;
                self.is_new = is_new;
                graph
            }
        };
        let report = self.put(&graph, edges, nodes, import.node_column.as_ref())?;
        match plain_edges {
            Some(source) => self.import_plain(&graph, source, report),
            None => Ok(report),
        }
    }

    /// Refuses types that are given and that the existing graph does not have.
    fn check_types(
        &self,
        graph: &Graph,
        edges: &Option<PropertyTypes>,
        nodes: &PropertyTypes,
        vertex: Option<VertexType>,
        weight: Option<WeightType>,
        [is_undirected, is_keyed]: [Option<bool>; 2],
    ) -> Result<()> {
        let mut wanted = GraphOptions::of(graph.def());
        if let Some(PropertyTypes::Given(given)) = edges {
            wanted.edges.clone_from(given);
        }
        if let PropertyTypes::Given(given) = nodes {
            wanted.nodes = Some(given.clone());
        }
        wanted.vertex = vertex.unwrap_or(wanted.vertex);
        wanted.weight = weight.unwrap_or(wanted.weight);
        wanted.is_undirected = is_undirected.unwrap_or(wanted.is_undirected);
        wanted.is_keyed = is_keyed.unwrap_or(wanted.is_keyed);
        self.database.graph(self.name, wanted).map(drop)
    }

    /// Puts rows of edges and of vertices in one step.
    fn put(
        &self,
        graph: &Graph,
        edges: Option<Vec<RawRows>>,
        nodes: Option<Vec<RawRows>>,
        node_column: Option<&ColumnRef>,
    ) -> Result<ImportReport> {
        let relations = self.database.graph_relations(self.name)?;
        let mut report = ImportReport::default();
        let edges = edges.map(|rows| self.edge_rows(graph, &relations, rows, &mut report));
        let edges = edges.transpose()?;
        let nodes = nodes.map(|rows| {
            // It says that there is none, with a hint.
            relations.nodes()?;
            self.node_rows(graph, &relations, rows, node_column, &mut report)
        });
        let nodes = nodes.transpose()?;
        let name_of_nodes = format!("{}{}", self.name, GraphPart::Nodes.suffix());
        let change =
            |relation, rows| Change { relation, kind: ChangeKind::Put, rows, is_import: true };
        let mut changes = Vec::new();
        changes.extend(nodes.as_ref().map(|rows| change(name_of_nodes.as_str(), rows)));
        changes.extend(edges.as_ref().map(|rows| change(self.name, rows)));
        let go_on = || self.teller.tell(Phase::Forward, report.rows);
        if changes.is_empty() {
            return Ok(report);
        }
        let run = RunOptions { go_on: Some(&go_on), ..RunOptions::default() };
        let run = run_of(no_parameters(), &run);
        let changed = self.database.engine()?.change(&changes, &run);
        changed.map_err(|error| to_store_error(error, None))?;
        Ok(report)
    }

    fn edge_rows(
        &self,
        graph: &Graph,
        relations: &GraphRelations,
        rows: Vec<RawRows>,
        report: &mut ImportReport,
    ) -> Result<Frame> {
        let options = self.text_options(graph);
        let def = GraphOptions::of(graph.def());
        let properties: Vec<String> = def.edges.iter().map(|(name, _)| name.clone()).collect();
        let pick = |rows: &RawRows| {
            let names = WeightNames::Except(&properties);
            let ends = ingest::edge_ends(&rows.name, &rows.names, &options.edges, names);
            let ends = ends.map_err(|error| failed(error.into()))?;
            let vertex = |column, name: &str| Picked {
                column,
                name: name.to_owned(),
                column_type: vertex_type(def.vertex),
                role: Role::Vertex,
            };
            let mut picked = vec![vertex(ends.source, "src"), vertex(ends.target, "dst")];
            if def.is_keyed {
                picked.push(key_column(rows, [ends.source, ends.target])?);
            }
            let weight = match def.weight {
                WeightType::None => None,
                WeightType::Float => Some(Type::Float),
                WeightType::Int => Some(Type::Int),
            };
            if let (Some(column), Some(column_type)) = (ends.weight, weight) {
                let (name, role) = ("weight".to_owned(), Role::Weight);
                picked.push(Picked { column, name, column_type, role });
            }
            picked.extend(properties_in(rows, &def.edges, &picked)?);
            Ok(picked)
        };
        let table = PropertyTable::of(rows, &pick, &options)?;
        report.rows = table.frame.len() as u64;
        let counted = Distinct::of_edges(graph, &table.frame)?;
        report.edges = counted.distinct;
        report.duplicates = report.rows - counted.distinct + counted.existing;
        let said = list_of(&table.frame, &["src", "dst", "key", "weight"]);
        note(report, table, "properties", said, |table| relations.complete(Part::Edges, table))
    }

    fn node_rows(
        &self,
        graph: &Graph,
        relations: &GraphRelations,
        rows: Vec<RawRows>,
        column: Option<&ColumnRef>,
        report: &mut ImportReport,
    ) -> Result<Frame> {
        let options = self.text_options(graph);
        let def = GraphOptions::of(graph.def());
        let properties = def.nodes.clone().unwrap_or_default();
        let pick = |rows: &RawRows| {
            let column = ingest::vertex_column(&rows.name, &rows.names, column);
            let vertex = Picked {
                column: column.map_err(|error| failed(error.into()))?,
                name: "vertex".to_owned(),
                column_type: vertex_type(def.vertex),
                role: Role::Vertex,
            };
            let mut picked = vec![vertex];
            picked.extend(properties_in(rows, &properties, &picked)?);
            Ok(picked)
        };
        let table = PropertyTable::of(rows, &pick, &options)?;
        report.nodes = Distinct::of_vertices(graph, &table.frame);
        let said = list_of(&table.frame, &["vertex"]);
        note(report, table, "vertex properties", said, |table| {
            relations.complete(Part::Nodes, table)
        })
    }

    /// Options for text, with the types of the graph.
    fn text_options(&self, graph: &Graph) -> TextOptions {
        let mut options = self.options.text.clone();
        (options.edges.vertex, options.edges.weight) = graph.ingest_types();
        options
    }

    /// Imports edges without properties by the import of edges.
    fn import_plain(
        &self,
        graph: &Graph,
        source: PropertySource,
        before: ImportReport,
    ) -> Result<ImportReport> {
        let (env, progress) = (self.database.env(), self.teller.progress);
        let report = match source {
            PropertySource::Files(files) => {
                import_files(graph, env, files, &self.options, progress)?
            }
            #[cfg(feature = "arrow")]
            PropertySource::Batches(mut batches) => {
                graph.import_arrow(env, &mut batches, "the table", &self.options, progress)?
            }
            PropertySource::Rows(_) => return Ok(before),
        };
        let ImportReport { nodes, skipped, mut skipped_lines, mut detected, .. } = before;
        skipped_lines.extend(report.skipped_lines);
        let of_nodes = detected.drain(..).filter(|(key, _)| *key == "vertex properties");
        let of_nodes: Vec<_> = of_nodes.collect();
        Ok(ImportReport {
            nodes,
            skipped: skipped + report.skipped,
            skipped_lines,
            detected: report.detected.into_iter().chain(of_nodes).collect(),
            bytes_read: before.bytes_read + report.bytes_read,
            ..report
        })
    }
}

/// Adds what is known of a table to the report, and completes its rows.
fn note(
    report: &mut ImportReport,
    table: PropertyTable,
    what: &'static str,
    said: String,
    complete: impl FnOnce(&Frame) -> Result<Frame>,
) -> Result<Frame> {
    report.skipped += table.skipped_count;
    report.skipped_lines.extend(table.skipped);
    report.missing += table.missing_count;
    report.bytes_read += table.bytes_read;
    if report.detected.is_empty() {
        report.detected = table.detected;
    }
    report.detected.push((what, said));
    complete(&table.frame)
}

/// The names of the columns of a frame but for some.
fn list_of(frame: &Frame, others: &[&str]) -> String {
    let names = frame.names().iter().filter(|name| !others.contains(&name.as_str()));
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The column of an input that has the keys of edges.
fn key_column(rows: &RawRows, ends: [usize; 2]) -> Result<Picked> {
    let column = property_schema::key_column(&rows.names, ends).ok_or_else(|| {
        let what =
            format!("{}: the graph's edges have keys, and no column is called key", rows.name);
        let hint = "number the edges between the same vertices in a column of this name";
        Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
    })?;
    let (name, column_type, role) = ("key".to_owned(), Type::Int, Role::Key);
    Ok(Picked { column, name, column_type, role })
}

/// The columns of an input that are properties of these names.
fn properties_in(
    rows: &RawRows,
    properties: &Properties,
    picked: &[Picked],
) -> Result<Vec<Picked>> {
    let mut found = Vec::new();
    for (name, column_type) in properties {
        let is_free = |column: &usize| !picked.iter().any(|one| one.column == *column);
        let named = |same: &dyn Fn(&str) -> bool| {
            (0..rows.names.len()).find(|i| is_free(i) && same(&rows.names[*i]))
        };
        let exact = named(&|one| one == name);
        if let Some(column) = exact.or_else(|| named(&|one| names_property(one, name))) {
            let (name, column_type, role) = (name.clone(), column_type.clone(), Role::Property);
            found.push(Picked { column, name, column_type, role });
        }
    }
    Ok(found)
}

fn vertex_type(of: VertexType) -> Type {
    match of {
        VertexType::U64 => Type::Id,
        VertexType::I64 => Type::Int,
        VertexType::Str => Type::String,
    }
}
