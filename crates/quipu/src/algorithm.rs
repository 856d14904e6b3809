//! Algorithms on projections, and their results as Arrow columns.

use crate::database::Database;
use crate::graph_relations::GraphRelations;
use crate::script::{Parameters, RunOptions};
use crate::series_arrow::series_of_arrow;
use analytics::{AlgorithmResult, Arguments, Found, Numbers, Projection, ResultColumn, Run};
use arrow_array::builder::LargeStringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use model::{Frame, Value};
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

/// The columns of a result ([`AlgorithmResult::columns`]) as an Arrow batch.
///
/// # Errors
/// Those of reading the names of vertices.
pub fn algorithm_batch(result: &AlgorithmResult) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, column) in result.columns()? {
        let is_nullable = matches!(column, ResultColumn::OptionalIds(..));
        let array = array(column);
        fields.push(Field::new(name, array.data_type().clone(), is_nullable));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::caused(ErrorKind::Internal, error))
}

fn array(column: ResultColumn) -> ArrayRef {
    match column {
        ResultColumn::Ids(column) => id_array(&column, None),
        ResultColumn::OptionalIds(column, flags) => id_array(&column, Some(flags)),
        ResultColumn::Numbers(Numbers::Float(all)) => Arc::new(Float64Array::from(all)),
        ResultColumn::Numbers(Numbers::Int(all)) => Arc::new(Int64Array::from(all)),
        ResultColumn::Numbers(Numbers::Small(all)) => Arc::new(UInt32Array::from(all)),
        ResultColumn::Value(Value::Bool(bool)) => Arc::new(BooleanArray::from(vec![bool])),
        ResultColumn::Value(Value::Int(int)) => Arc::new(Int64Array::from(vec![int])),
        ResultColumn::Value(Value::Float(float)) => Arc::new(Float64Array::from(vec![float])),
        ResultColumn::Value(other) => {
            let mut builder = LargeStringBuilder::new();
            builder.append_value(other.to_string());
            Arc::new(builder.finish())
        }
    }
}

/// Ids as an array; null where a flag is false.
pub(crate) fn id_array(column: &VertexColumn, flags: Option<Vec<bool>>) -> ArrayRef {
    match column {
        VertexColumn::U64(ids) => {
            Arc::new(UInt64Array::new(ids.clone().into(), flags.map(NullBuffer::from)))
        }
        VertexColumn::I64(ids) => {
            Arc::new(Int64Array::new(ids.clone().into(), flags.map(NullBuffer::from)))
        }
        VertexColumn::Str(ids) => {
            let mut builder = LargeStringBuilder::new();
            for i in 0..ids.len() {
                match flags.as_ref().is_none_or(|flags| flags[i]) {
                    true => builder.append_value(String::from_utf8_lossy(ids.get(i))),
                    false => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
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
        let batch = algorithm_batch(result)?;
        let is_of_vertices =
            matches!(result.found, Found::Values(_) | Found::Tree(_) | Found::Groups { .. });
        if !is_of_vertices || batch.num_columns() < 2 {
            let what = format!("{} finds no value for each vertex", result.algorithm);
            let hint = "`write` writes its columns to a relation";
            return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
        }
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
        for start in (0..batch.num_rows()).step_by(PROPERTY_ROWS_STEP) {
            let step = batch.slice(start, PROPERTY_ROWS_STEP.min(batch.num_rows() - start));
            let schema = batch.schema();
            let series = (0..2).map(|i| series_of_arrow(step.column(i), schema.field(i)));
            let frame = Frame::new(names.clone(), series.collect::<Result<_>>()?)
                .map_err(|error| Error::caused(ErrorKind::Internal, error))?;
            self.merge_nodes(&frame)?;
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
        let batch = algorithm_batch(result)?;
        let (schema, names) = (batch.schema(), batch.schema());
        let names = names.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let keys = match result.found {
            Found::Edges { .. } | Found::Paths { .. } | Found::Walks { .. } => 2,
            _ => 1,
        };
        let column = |i: usize| {
            let of = match batch.column(i).data_type() {
                DataType::Float64 => "Float",
                DataType::Boolean => "Bool",
                DataType::LargeUtf8 => "String",
                // An id may be above the largest `Int`.
                DataType::UInt64 => "Any",
                _ => "Int",
            };
            let null = if schema.field(i).is_nullable() && of != "Any" { "?" } else { "" };
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
        let series = batch.columns().iter().zip(schema.fields());
        let series = series.map(|(array, field)| series_of_arrow(array, field));
        let frame = Frame::new(names, series.collect::<Result<_>>()?)
            .map_err(|error| Error::caused(ErrorKind::Internal, error))?;
        let data = BTreeMap::from([(relation.to_owned(), frame)]);
        if batch.num_rows() >= BULK_ROWS_MIN {
            self.run_with(&script, &Parameters::new(), options)?;
            return self.import_relations_with(&data, options);
        }
        let transaction = self.transaction(Isolation::Snapshot);
        transaction.run_with(&script, &Parameters::new(), options)?;
        transaction.import_relations_with(&data, options)?;
        transaction.commit().map(drop)
    }
}
