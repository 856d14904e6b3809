//! Files of a graph: imports and exports of edges and of vertices, with their properties.
//! `graph_methods.rs` has the methods.

use crate::edge_source::{self, EdgeSource, Raised};
use crate::error::invalid;
use crate::graph::Graph;
use crate::graph_properties::Of;
use crate::import::{self, ImportReport};
use crate::interruptible::interruptible;
use pyo3::prelude::*;
use quipu::ingest::ColumnRef;
use quipu::{ExportFormat, ImportOptions, PropertyImport, PropertySource};
use std::path::Path;

impl Graph {
    fn has_edge_properties(&self) -> PyResult<bool> {
        Ok(self.graph()?.def().has_edge_rows())
    }

    /// The name of the graph, if it is in no transaction.
    pub(crate) fn outside_of_transactions(&self) -> PyResult<&str> {
        let name = self.graph()?.name();
        match self.transaction()? {
            None => Ok(name),
            Some(_) => Err(invalid(
                "an import is a commit of its own: it needs a graph outside of transactions",
            )),
        }
    }

    /// Imports edges of files, with the properties that the graph has.
    pub(crate) fn import(
        &self,
        path: &Bound<'_, PyAny>,
        options: ImportOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        let files = edge_source::files_of(path)?;
        match files {
            EdgeSource::Files(files, raised) if self.has_edge_properties()? => {
                let source = PropertySource::Files(files);
                self.import_edges(path.py(), source, raised, options, progress)
            }
            files => {
                let target = (self.graph()?, &self.database);
                import::from_source(path.py(), target, files, options, progress)
            }
        }
    }

    /// Imports edges of a table, with the properties that the graph has.
    pub(crate) fn import_table(
        &self,
        table: &Bound<'_, PyAny>,
        options: ImportOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        if !self.has_edge_properties()? {
            let source = edge_source::table(table)?;
            let target = (self.graph()?, &self.database);
            return import::from_source(table.py(), target, source, options, progress);
        }
        let (source, raised) = edge_source::property_source(table)?;
        self.import_edges(table.py(), source, raised, options, progress)
    }

    fn import_edges(
        &self,
        py: Python<'_>,
        edges: PropertySource,
        raised: Raised,
        options: ImportOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        let name = self.outside_of_transactions()?;
        let edges = Some(edges);
        let import = PropertyImport { edges, options, ..PropertyImport::default() };
        import::with_properties(py, &self.database, name, import, &[raised], progress)
    }

    /// Imports vertices with properties. `column` has the vertices.
    pub(crate) fn import_vertices(
        &self,
        source: &Bound<'_, PyAny>,
        column: Option<ColumnRef>,
        options: ImportOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<ImportReport> {
        let name = self.outside_of_transactions()?;
        let (nodes, raised) = edge_source::property_source(source)?;
        let (nodes, node_column) = (Some(nodes), column);
        let import = PropertyImport { nodes, node_column, options, ..PropertyImport::default() };
        import::with_properties(source.py(), &self.database, name, import, &[raised], progress)
    }

    /// Writes edges to a file, with their properties.
    pub(crate) fn export(
        &self,
        py: Python<'_>,
        path: &Path,
        format: ExportFormat,
    ) -> PyResult<u64> {
        let graph = self.graph()?;
        if !self.has_edge_properties()? {
            return interruptible(py, |go_on| {
                quipu::export_file(graph, path, format, &|_| go_on())
            });
        }
        self.export_of(py, Of::Edges, path, format)
    }

    /// Writes the rows of edges or of vertices to a file.
    pub(crate) fn export_of(
        &self,
        py: Python<'_>,
        of: Of,
        path: &Path,
        format: ExportFormat,
    ) -> PyResult<u64> {
        let rows = self.relation_of(py, of)?;
        let rows = rows.relation()?;
        interruptible(py, |go_on| {
            quipu::export_relation(&self.database, rows, path, format, &|_| go_on())
        })
    }
}

/// The format that the name of a file says.
pub(crate) fn format_of(path: &Path) -> PyResult<ExportFormat> {
    ExportFormat::of(path).ok_or_else(|| {
        let path = path.display();
        let hint = "the name ends in .csv, .tsv, .txt, .parquet or .arrow";
        invalid(&format!("the name of {path} says no format\nhint: {hint}"))
    })
}
