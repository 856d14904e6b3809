//! Exports a graph for Apache Spark: a folder of Parquet files, read by many machines at once.
//!
//! ```text
//! cites.spark/
//!   vertices/part-00000.parquet …   id, properties
//!   edges/part-00000.parquet …      src, dst, weight and properties
//!   quipu.json                      format, counts, columns, rows of each file
//!   _SUCCESS                        empty: the export is complete
//! ```
//!
//! # Invariants
//! 1. All files show one snapshot.
//! 2. Memory does not grow with a graph: a few batches of rows, and one row group. The ends of a
//!    relation that is no graph are held in memory, up to the limit of a query.
//! 3. A folder with the name of the export is complete ([`env::OutputFolder`]).
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the user's files

mod columns;
mod parts;
mod statistics;
mod vertices;

use crate::database::Database;
use crate::export::{check_is_outside, in_the_database};
use crate::relation::{Relation, RowScan};
use crate::typed_frame::typed;
use ::relation::Entry;
use columns::{check_names, settled};
use env::{EnvError, OutputFolder};
use model::{Frame, Type};
use parts::Parts;
use session::ColumnOf;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result, Snapshot};
use vertices::Vertices;
use views::graph::{GraphPart, VertexType};

pub use statistics::{PartFile, SparkExport};

/// Rows that are read, converted and written in one step.
const STEP_ROWS: usize = 1 << 16;

/// Options of [`Database::export_spark`].
#[derive(Clone, Debug)]
pub struct SparkOptions {
    /// A relation with one key, the vertex. Its other columns become properties of the vertices,
    /// and its rows are vertices even without an edge. Default: the properties that the graph has.
    pub vertices: Option<String>,
    /// Most rows of a file. A file also ends at about a gigabyte. Default: four million, some 30 to
    /// 60 MB of plain edges.
    pub file_rows_max: u64,
    /// Replace an earlier export. Any other folder is never replaced. Default: false.
    pub replace: bool,
}

impl Default for SparkOptions {
    fn default() -> Self {
        Self { vertices: None, file_rows_max: 4_000_000, replace: false }
    }
}

impl Database {
    /// Writes a graph, at a snapshot taken now, into a new folder of Parquet files for Apache
    /// Spark. `name` is a graph, or a relation whose first two columns are source and target.
    ///
    /// Vertices have the columns `id` and their properties, edges `src`, `dst`, `weight` and their
    /// properties. Numbers, strings, lists, days and instants keep their types; JSON and UUIDs are
    /// strings, durations integers of microseconds. A column of any type gets the type that all its
    /// values have, or else becomes strings. Vertices of numbers are written in ascending order,
    /// those of strings in the order of the graph.
    ///
    /// `progress` gets the rows written and returns false to stop.
    ///
    /// ```no_run
    /// use quipu::{Database, Options, SparkOptions};
    ///
    /// let db = Database::open("patents.quipu", Options::default())?;
    /// let report = db.export_spark("cites", "cites.spark", &SparkOptions::default(), &|_| true)?;
    /// println!("{} vertices, {} edges", report.vertices, report.edges);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: there is no such graph or relation, its vertices are neither
    /// numbers nor strings, columns of Parquet would have the same name, or the folder exists, is
    /// no export, or lies in a database. [`ErrorKind::Cancelled`]; [`ErrorKind::Limit`] if a
    /// relation has more vertices than fit the memory limit; a failed read or write. An existing
    /// folder is then unchanged.
    pub fn export_spark(
        &self,
        name: &str,
        folder: impl AsRef<Path>,
        options: &SparkOptions,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<SparkExport> {
        if options.file_rows_max == 0 {
            return Err(invalid("a file has at least one row"));
        }
        let folder = self.checked_folder(folder.as_ref(), options.replace)?;
        let snapshot =
            self.engine()?.moment().map_err(|e| crate::script::to_store_error(e, None))?;
        let written = Cell::new(0);
        let go_on = || match progress(written.get()) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Cancelled, "the export was stopped")),
        };
        let source = Source::open(self, name, options.vertices.as_deref(), snapshot, &go_on)?;
        let output = OutputFolder::create(&folder, options.replace).map_err(folder_error)?;
        let tell = |rows: usize| {
            written.set(written.get() + rows as u64);
            go_on()
        };
        let report = source.write(output.path(), options.file_rows_max, &tell)?;
        // Something else may have come into the folder meanwhile.
        self.checked_folder(&folder, options.replace)?;
        output.finish().map_err(folder_error)?;
        Ok(report)
    }

    /// Makes the path absolute, and refuses folders that must not be written.
    fn checked_folder(&self, folder: &Path, replace: bool) -> Result<PathBuf> {
        let absolute = std::path::absolute(folder);
        let absolute = absolute.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
        if self.holds(&absolute) {
            return Err(in_the_database(folder));
        }
        let shown = folder.display();
        // The database around a folder is found without the links above it.
        let above = absolute.parent().and_then(|above| std::fs::canonicalize(above).ok());
        let place = above.map(|above| above.join(absolute.file_name().unwrap_or_default()));
        check_is_outside(folder, place, "folder")?;
        let is_full = std::fs::read_dir(&absolute).is_ok_and(|mut there| there.next().is_some());
        if is_full && !statistics::is_export(&absolute) {
            return Err(invalid(format!(
                "{shown} exists and is no export\nhint: name a folder that does not exist"
            )));
        }
        if is_full && !replace {
            return Err(invalid(format!(
                "{shown} already exists\nhint: --replace, or replace=True in Python, writes it anew"
            )));
        }
        Ok(absolute)
    }
}

/// Edges and vertices of an export, at one snapshot.
struct Source {
    name: String,
    is_directed: bool,
    snapshot: Arc<dyn Snapshot>,
    /// The relation of the edges, and its columns as they are written.
    edges: Relation,
    edge_columns: Vec<ColumnOf>,
    vertices: Vertices,
    vertex_columns: Vec<ColumnOf>,
}

impl Source {
    fn open(
        database: &Database,
        name: &str,
        properties: Option<&str>,
        snapshot: Arc<dyn Snapshot>,
        go_on: GoOn<'_>,
    ) -> Result<Self> {
        let edges = database.relation(name)?;
        let [source, target, ..] = edges.columns() else {
            let what = format!("{name:?} has no source and target: it has one column alone");
            return Err(invalid(what));
        };
        let (source, target) = (source.clone(), target.clone());
        let mut edge_columns = settled(&edges, &snapshot, go_on)?;
        edge_columns[0].name = "src".into();
        edge_columns[1].name = "dst".into();
        let graph = match database.entry(name)? {
            Some(Entry::Graph(..)) => database.existing_graph(name)?,
            _ => None,
        };
        let is_directed = graph.as_ref().is_none_or(|graph| !graph.def().is_undirected);
        let of = match &graph {
            Some(graph) => match graph.def().vertex {
                VertexType::U64 => Type::Id,
                VertexType::I64 => Type::Int,
                VertexType::Str => Type::String,
            },
            None => columns::vertex_type(&source, &target, &edge_columns)?,
        };
        for column in &mut edge_columns[..2] {
            column.column_type = of.clone();
        }
        check_names(name, &edge_columns)?;
        let own = graph.as_ref().filter(|graph| graph.def().nodes.is_some());
        let own = own.map(|graph| format!("{}{}", graph.name(), GraphPart::Nodes.suffix()));
        let is_own = properties.is_none() || properties == own.as_deref();
        let properties = properties.map(str::to_owned).or(own);
        let properties = properties.map(|name| database.relation(&name)).transpose()?;
        let mut vertex_columns = vec![ColumnOf {
            name: "id".into(),
            column_type: of.clone(),
            is_key: true,
            default: None,
        }];
        if let Some(relation) = &properties {
            vertex_columns.extend(columns::of_properties(relation, &of, &snapshot, go_on)?);
            check_names(relation.name(), &vertex_columns)?;
        }
        let ids = match graph {
            Some(graph) => vertices::Ids::of_graph(graph.at(&snapshot))?,
            None => {
                let limit = database.options().query_bytes();
                vertices::Ids::of_relation(&edges, &snapshot, (&of, limit), go_on)?
            }
        };
        let vertices = Vertices::new(ids, properties, is_own, &vertex_columns, &snapshot)?;
        let name = name.to_owned();
        Ok(Self { name, is_directed, snapshot, edges, edge_columns, vertices, vertex_columns })
    }

    fn write(
        mut self,
        folder: &Path,
        file_rows_max: u64,
        tell: &dyn Fn(usize) -> Result<()>,
    ) -> Result<SparkExport> {
        let mut parts = Parts::create(folder, "edges", &self.edge_columns, file_rows_max)?;
        let mut scan = self.edges.scan_at(&self.snapshot)?;
        while let Some(frame) = scan.next_rows(STEP_ROWS)? {
            parts.write(typed(&self.edge_columns, frame)?, tell)?;
        }
        let edges = parts.finish()?;
        let mut parts = Parts::create(folder, "vertices", &self.vertex_columns, file_rows_max)?;
        while let Some(frame) = self.vertices.next_rows(STEP_ROWS, &|| tell(0))? {
            parts.write(frame, tell)?;
        }
        let vertices = parts.finish()?;
        let report =
            SparkExport::new((self.name, self.is_directed), vertices, edges, file_rows_max);
        statistics::write(folder, &report)?;
        Ok(report)
    }
}

/// Asks whether the export goes on; an error stops it.
type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// Reads all rows of a relation at a snapshot.
fn for_each_frame(
    relation: &Relation,
    snapshot: &Arc<dyn Snapshot>,
    go_on: GoOn<'_>,
    mut visit: impl FnMut(&Frame) -> Result<()>,
) -> Result<()> {
    let mut scan: RowScan = relation.scan_at(snapshot)?;
    while let Some(frame) = scan.next_rows(STEP_ROWS)? {
        go_on()?;
        visit(&frame)?;
    }
    Ok(())
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

fn folder_error(error: EnvError) -> Error {
    use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, InvalidInput, NotFound};
    let kind = match &error {
        EnvError::Io { source, .. } => match source.kind() {
            AlreadyExists | DirectoryNotEmpty | InvalidInput | NotFound => ErrorKind::InvalidInput,
            _ => ErrorKind::Io,
        },
        _ => ErrorKind::Io,
    };
    Error::caused(kind, error)
}
