//! Algorithms on projections, and their results as properties and relations.

use crate::database::Database;
use crate::graph_relations::GraphRelations;
use crate::script::{Parameters, RunOptions};
use analytics::{AlgorithmResult, Arguments, Found, Numbers, Projection, ResultColumn, Run};
use base::Validity;
use model::{Frame, Series, Type, Value, Values};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use store::{Error, ErrorKind, Isolation, Result};
use syntax::words::quote_name;
use views::graph::VertexColumn;

impl Database {
    /// Runs an algorithm of the table ([`ALGORITHMS`](crate::ALGORITHMS)) on a projection.
    ///
    /// ```
    /// use quipu::{Arguments, Database, GraphOptions, Options, ProjectOptions, Value};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let cites = db.graph("cites", GraphOptions::default())?;
    /// cites.upsert_many(&[7, 8, 9], &[8, 9, 8], None)?;
    /// let run = db.analytics_run();
    /// let projection = db.project(&cites, &ProjectOptions::default(), &run)?;
    ///
    /// let ranks = db.run_algorithm(&projection, "pagerank", &Arguments::new(), &run)?;
    /// let best = ranks.top(1)[0];
    /// assert_eq!(projection.ids().value(best)?, Value::Int(8));
    ///
    /// let from = Arguments::from([("source".to_owned(), Value::Int(7))]);
    /// let search = db.run_algorithm(&projection, "bfs", &from, &run)?;
    /// assert_eq!(search.path(2)?, Some(vec![0, 1, 2]));
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: no such algorithm, an argument that is not one of its
    /// parameters, or a graph that it does not accept ([`reason_of`](crate::reason_of) says why);
    /// [`ErrorKind::Limit`], [`ErrorKind::Cancelled`].
    pub fn run_algorithm(
        &self,
        projection: &Arc<Projection>,
        name: &str,
        arguments: &Arguments,
        run: &Run<'_>,
    ) -> Result<AlgorithmResult> {
        self.check_open()?;
        analytics::run_algorithm(projection, name, arguments, run)
    }
}

/// The columns of a result ([`AlgorithmResult::columns`]), and which of them may have nulls.
///
/// # Errors
/// Those of reading the names of vertices.
pub(crate) fn frame_of(result: &AlgorithmResult) -> Result<(Frame, Vec<bool>)> {
    let (mut names, mut series, mut optional) = (Vec::new(), Vec::new(), Vec::new());
    for (name, column) in result.columns()? {
        names.push(name.to_owned());
        optional.push(matches!(column, ResultColumn::OptionalIds(..)));
        series.push(series_of(column));
    }
    let frame = Frame::new(names, series);
    Ok((frame.map_err(|error| Error::caused(ErrorKind::Internal, error))?, optional))
}

fn series_of(column: ResultColumn) -> Series {
    match column {
        ResultColumn::Ids(ids) => ids_of(ids).into(),
        ResultColumn::OptionalIds(ids, flags) => {
            let mut valid = Validity::default();
            flags.into_iter().enumerate().for_each(|(i, flag)| valid.push(i, flag));
            Series { values: ids_of(ids), valid }
        }
        ResultColumn::Numbers(Numbers::Float(all)) => Values::Float(all).into(),
        ResultColumn::Numbers(Numbers::Int(all)) => Values::Int(all).into(),
        ResultColumn::Numbers(Numbers::Small(all)) => {
            Values::Int(all.into_iter().map(i64::from).collect()).into()
        }
        ResultColumn::Value(Value::Bool(bool)) => Values::Bool(vec![bool]).into(),
        ResultColumn::Value(Value::Int(int)) => Values::Int(vec![int]).into(),
        ResultColumn::Value(Value::Float(float)) => Values::Float(vec![float]).into(),
        ResultColumn::Value(other) => {
            let mut strings = Series::of_type(&Type::String);
            strings.push(Value::Str(other.to_string()));
            strings
        }
    }
}

fn ids_of(column: VertexColumn) -> Values {
    match column {
        VertexColumn::U64(ids) => Values::Id(ids),
        VertexColumn::I64(ids) => Values::Int(ids),
        VertexColumn::Str(ids) => Values::Str(ids),
    }
}

/// Rows of a result that one transaction writes as properties of vertices.
const PROPERTY_ROWS_STEP: usize = 50_000;

impl GraphRelations {
    /// Writes the values that an algorithm found for vertices as their property `name`, which the
    /// graph must have, and keeps the other properties. Vertices without a row get one.
    ///
    /// Outside of a transaction, each 50,000 rows are a commit.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`]: the result has no value for each vertex, the graph has no such
    /// property of vertices, or its type does not fit; those of
    /// [`GraphRelations::merge_nodes`].
    pub fn write_property(&self, result: &AlgorithmResult, name: &str) -> Result<()> {
        let (frame, _) = frame_of(result)?;
        let is_of_vertices =
            matches!(result.found, Found::Values(_) | Found::Tree(_) | Found::Groups { .. });
        let ([vertices, values, ..], true) = (frame.columns(), is_of_vertices) else {
            let what = format!("{} finds no value for each vertex", result.algorithm);
            let hint = "`write` writes its columns to a relation";
            return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
        };
        let nodes = self.nodes()?;
        if !nodes.columns().iter().any(|column| !column.is_key && column.name == name) {
            let names = nodes.columns().iter().filter(|column| !column.is_key);
            let names: Vec<&str> = names.map(|column| column.name.as_str()).collect();
            let what = format!("vertices of the graph have no property {name:?}");
            let hint = match names.as_slice() {
                [] => "they have none; create the graph with nodes={…}".to_owned(),
                names => format!("they have {}", names.join(", ")),
            };
            return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
        }
        let names = vec!["vertex".to_owned(), name.to_owned()];
        for start in (0..frame.len()).step_by(PROPERTY_ROWS_STEP) {
            let end = frame.len().min(start + PROPERTY_ROWS_STEP);
            let rows: Vec<u32> = (start..end).map(|row| row as u32).collect();
            let step =
                Frame::new(names.clone(), vec![vertices.gather(&rows), values.gather(&rows)])
                    .map_err(|error| Error::caused(ErrorKind::Internal, error))?;
            self.merge_nodes(&step)?;
        }
        Ok(())
    }
}

/// Rows from which a result is written as a bulk load, which no transaction holds.
const BULK_ROWS_MIN: usize = 100_000;

impl Database {
    /// Writes a result to a relation, which is created, or replaced with its columns if it exists.
    /// The keys are the vertex, the two ends of an edge, or a path and a step.
    ///
    /// Atomic for fewer than 100,000 rows. With more the relation is empty if an error stops it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the name belongs to a graph or another view, or its access
    /// level forbids it; [`ErrorKind::Cancelled`]; failed writes.
    pub fn write_result(
        &self,
        result: &AlgorithmResult,
        relation: &str,
        options: &RunOptions<'_>,
    ) -> Result<()> {
        let (frame, optional) = frame_of(result)?;
        let names = frame.names();
        let keys = match result.found {
            Found::Edges { .. } | Found::Paths { .. } | Found::Walks { .. } => 2,
            _ => 1,
        };
        let column = |i: usize| {
            let series = &frame.columns()[i];
            let of = match series.values {
                Values::Float(_) => "Float",
                Values::Bool(_) => "Bool",
                Values::Str(_) => "String",
                Values::Int(_) => "Int",
                // An id may be above the largest `Int`.
                _ => "Any",
            };
            let null = if optional[i] && of != "Any" { "?" } else { "" };
            format!("{}: {of}{null}", names[i])
        };
        let list = |range: Range<usize>| range.map(column).collect::<Vec<_>>().join(", ");
        let script = format!(
            "?[{}] <- [] :replace {} {{{} => {}}}",
            names.join(", "),
            quote_name(relation),
            list(0..keys),
            list(keys..names.len()),
        );
        let rows = frame.len();
        let data = BTreeMap::from([(relation.to_owned(), frame)]);
        if rows >= BULK_ROWS_MIN {
            self.run_with(&script, &Parameters::new(), options)?;
            return self.import_relations_with(&data, options);
        }
        let transaction = self.transaction(Isolation::Snapshot);
        transaction.run_with(&script, &Parameters::new(), options)?;
        transaction.import_relations_with(&data, options)?;
        transaction.commit().map(drop)
    }
}
