//! Projections of graphs and of queries: runs the query, and passes columns to `analytics`.

use crate::database::Database;
use crate::query_result::QueryResult;
use crate::script::{Parameters, RunOptions};
use crate::typed_column::{ColumnValues, TypedColumn};
use analytics::{EdgeColumns, ProjectOptions, Projection, Projector, Run};
use base::BytesColumn;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};
use syntax::words::quote_name;
use views::graph::{Graph, VertexColumn, VertexType, WeightType};

impl Database {
    /// A frozen copy of a graph in memory, for algorithms. The graph is read at its newest
    /// snapshot, or in its transaction. Until it changes, the same options return the same object.
    /// The projection of an undirected graph is undirected, whatever the options say.
    ///
    /// ```
    /// use quipu::{Database, GraphOptions, Options, ProjectOptions};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let cites = db.graph("cites", GraphOptions::default())?;
    /// cites.upsert_many(&[7, 7, 9], &[8, 9, 7], None)?;
    ///
    /// let projection = db.project(&cites, &ProjectOptions::default(), &db.analytics_run())?;
    /// assert_eq!(projection.ids().as_u64(), Some(&[7, 8, 9][..]));
    /// assert_eq!(projection.graph().offsets(), [0, 2, 2, 3]);
    /// assert_eq!(projection.graph().targets(), [1, 2, 0]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: projections in use would hold more than a query may
    /// ([`Options::memory_limit_bytes`](crate::Options)); [`ErrorKind::InvalidInput`]: a weight is
    /// not finite, or weights are asked for and the graph has none; [`ErrorKind::Cancelled`].
    pub fn project(
        &self,
        graph: &Graph,
        options: &ProjectOptions,
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        self.check_open()?;
        check_weights(graph, options)?;
        self.projector()?.graph(graph, &options_for(graph, options), run)
    }

    /// As [`Database::project`], for the edges that meet a condition of the query language over
    /// `src`, `dst`, the weight if there is one, and all properties of edges: `weight > 0.5, src !=
    /// dst, since < 1990`. Vertices without such edges are not part of it. It is not cached. Reads
    /// committed edges, also if the graph is in a transaction.
    ///
    /// # Errors
    /// As [`Database::project`] and [`Database::run`].
    pub fn project_where(
        &self,
        graph: &Graph,
        condition: &str,
        parameters: &Parameters,
        options: &ProjectOptions,
        run: &RunOptions<'_>,
    ) -> Result<Arc<Projection>> {
        check_weights(graph, options)?;
        let name = quote_name(graph.name());
        let weight = (graph.def().weight != WeightType::None).then_some("weight");
        let property = options.property.and_then(|place| graph.def().edges.get(place));
        let head = property.map(|property| property.name.as_str()).or(weight);
        let head =
            head.filter(|_| options.is_weighted).map_or(String::new(), |name| format!(", {name}"));
        // Other properties are not read.
        let is_used = |name: &&str| condition.contains(name) || head.contains(name);
        let properties = graph.def().edges.iter().map(|property| property.name.as_str());
        // Parallel edges are as many rows only with their keys.
        let key = graph.def().is_keyed.then_some("key");
        let bound = weight.into_iter().chain(properties.filter(is_used)).chain(key);
        let bound: String = bound.map(|name| format!(", {name}")).collect();
        // On its own line, so that a comment at its end does not hide the rest.
        let last = if key.is_some() { ", key" } else { "" };
        let script =
            format!("?[src, dst{head}{last}] := *{name}{{src, dst{bound}}},\n{condition}\n");
        let answer = self.run_with(&script, parameters, run)?;
        let columns = answer.columns().len() - usize::from(key.is_some());
        let takes_null = property.is_some();
        let edges = edge_columns(&answer, columns, Some(graph.def().vertex), takes_null)?;
        self.projector()?.columns(edges, &options_for(graph, options), &self.run_of(run))
    }

    /// The graph whose edges are the rows of a query: source, target and perhaps weight. Vertices
    /// are all integers or all strings. It is not cached.
    ///
    /// ```
    /// use quipu::{Database, Options, Parameters, ProjectOptions, RunOptions};
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// let query = "?[a, b] <- [['Ann', 'Bo'], ['Bo', 'Cy'], ['Cy', 'Bo']]";
    /// let options = ProjectOptions::default();
    /// let none = Parameters::new();
    /// let projection = db.project_query(query, &none, &options, &RunOptions::default())?;
    /// assert_eq!((projection.vertices(), projection.edges()), (3, 3));
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::project`] and [`Database::run`]; [`ErrorKind::InvalidInput`] if the columns
    /// are not those of edges.
    pub fn project_query(
        &self,
        query: &str,
        parameters: &Parameters,
        options: &ProjectOptions,
        run: &RunOptions<'_>,
    ) -> Result<Arc<Projection>> {
        let run = RunOptions { read_only: true, ..*run };
        let answer = self.run_with(query, parameters, &run)?;
        let edges = edge_columns(&answer, answer.columns().len(), None, false)?;
        if options.is_weighted && edges.weights.is_none() {
            return Err(invalid("the query has no third column for weights", ""));
        }
        self.projector()?.columns(edges, options, &self.run_of(&run))
    }

    /// Some vertices of a projection and the edges between them, as a projection. Numbers that are
    /// not vertices must not be among them.
    ///
    /// # Errors
    /// As [`Database::project`].
    pub fn project_vertices(
        &self,
        projection: &Projection,
        vertices: &[u32],
        run: &Run<'_>,
    ) -> Result<Arc<Projection>> {
        self.projector()?.induced(projection, vertices, run)
    }

    /// Threads and limits of a projection or an algorithm: all threads of the database, and the
    /// memory of a query for a result.
    #[must_use]
    pub fn analytics_run(&self) -> Run<'_> {
        Run::new(&**self.env(), self.options().query_bytes())
    }

    fn run_of<'r>(&'r self, options: &RunOptions<'r>) -> Run<'r> {
        self.analytics_run().with_go_on(options.go_on)
    }

    fn projector(&self) -> Result<&Projector> {
        Ok(&self.parts()?.projector)
    }
}

/// The options with the direction of the graph's edges.
fn options_for(graph: &Graph, options: &ProjectOptions) -> ProjectOptions {
    ProjectOptions { is_undirected: options.is_undirected || graph.def().is_undirected, ..*options }
}

fn check_weights(graph: &Graph, options: &ProjectOptions) -> Result<()> {
    if let Some(property) = options.property.filter(|_| options.is_weighted) {
        return graph.weight_of_property(property).map(drop);
    }
    if options.is_weighted && graph.def().weight == WeightType::None {
        let what = format!("the graph {:?} has no weights", graph.name());
        return Err(invalid(&what, "without weights, each edge counts as 1"));
    }
    Ok(())
}

/// The first `columns` columns of a result as columns of edges. Ids become those of `vertex`, if it
/// is given. A weight may be null, which is 1, if `takes_null`.
fn edge_columns(
    answer: &QueryResult,
    columns: usize,
    vertex: Option<VertexType>,
    takes_null: bool,
) -> Result<EdgeColumns> {
    let names = &answer.columns()[..columns];
    if !(2..=3).contains(&names.len()) {
        let what = format!("edges have 2 or 3 columns, the query has {}", names.len());
        return Err(invalid(&what, "?[source, target] or ?[source, target, weight]"));
    }
    let [sources, targets] = [0, 1].map(|i| ids(answer.column(i), answer.len(), &names[i]));
    let (sources, targets) = match (sources?, targets?) {
        (Ids::Str(sources), Ids::Str(targets)) => {
            (VertexColumn::Str(sources), VertexColumn::Str(targets))
        }
        (Ids::None, Ids::None) if vertex == Some(VertexType::Str) => {
            (VertexColumn::Str(BytesColumn::default()), VertexColumn::Str(BytesColumn::default()))
        }
        (Ids::Str(_), _) | (_, Ids::Str(_)) => {
            let what = "the vertices are integers in one column and strings in the other";
            return Err(invalid(
                what,
                "to_string(…) or to_int(…) in the query makes them one type",
            ));
        }
        (sources, targets) => integers(sources, targets, vertex)?,
    };
    let weights = match names.get(2) {
        Some(name) => {
            let column = answer.column(2);
            let valid = column.valid.clone();
            let column = if takes_null { filled(column) } else { column };
            let mut weights = numbers(column, answer.len(), name)?;
            if takes_null {
                let missing = (0..weights.len()).filter(|&row| !valid.is_valid(row));
                missing.for_each(|row| weights[row] = 1.0);
            }
            Some(weights)
        }
        None => None,
    };
    Ok(EdgeColumns { sources, targets, weights })
}

/// A column of vertices.
enum Ids {
    /// No rows.
    None,
    Int(Vec<i64>),
    Id(Vec<u64>),
    Str(BytesColumn),
}

fn ids(column: TypedColumn, rows: usize, name: &str) -> Result<Ids> {
    refuse_null(&column, rows, name)?;
    match column.values {
        ColumnValues::Null(0) => Ok(Ids::None),
        ColumnValues::Int(ids) => Ok(Ids::Int(ids)),
        ColumnValues::Id(ids) => Ok(Ids::Id(ids)),
        ColumnValues::Str(ids) => Ok(Ids::Str(ids)),
        _ => {
            let what = format!("column `{name}` holds vertices that are no integers or strings");
            Err(invalid(&what, "to_int(…) or to_string(…) in the query makes them one type"))
        }
    }
}

/// Both columns with one type: unsigned if one of them is, or `vertex` is.
fn integers(
    sources: Ids,
    targets: Ids,
    vertex: Option<VertexType>,
) -> Result<(VertexColumn, VertexColumn)> {
    let is_unsigned = vertex == Some(VertexType::U64)
        || matches!(sources, Ids::Id(_))
        || matches!(targets, Ids::Id(_));
    let column = |ids: Ids| -> Result<VertexColumn> {
        Ok(match (ids, is_unsigned) {
            (Ids::Int(ids), false) => VertexColumn::I64(ids),
            (Ids::Int(ids), true) => {
                let ids: std::result::Result<_, _> = ids.into_iter().map(u64::try_from).collect();
                let what = "some vertices are negative, others above the largest signed integer";
                VertexColumn::U64(ids.map_err(|_| invalid(what, ""))?)
            }
            (Ids::Id(ids), _) => VertexColumn::U64(ids),
            (Ids::None | Ids::Str(_), false) => VertexColumn::I64(Vec::new()),
            (Ids::None | Ids::Str(_), true) => VertexColumn::U64(Vec::new()),
        })
    };
    Ok((column(sources)?, column(targets)?))
}

/// The column without nulls: fillers take their places.
fn filled(column: TypedColumn) -> TypedColumn {
    let values = match column.values {
        ColumnValues::Null(rows) => ColumnValues::Float(vec![1.0; rows]),
        values => values,
    };
    TypedColumn { values, valid: base::Validity::default() }
}

fn numbers(column: TypedColumn, rows: usize, name: &str) -> Result<Vec<f64>> {
    refuse_null(&column, rows, name)?;
    match column.values {
        ColumnValues::Null(0) => Ok(Vec::new()),
        ColumnValues::Int(weights) => Ok(weights.into_iter().map(|weight| weight as f64).collect()),
        ColumnValues::Float(weights) => Ok(weights),
        _ => {
            let what = format!("column `{name}` holds weights that are no numbers");
            Err(invalid(&what, "to_float(…) in the query makes them numbers"))
        }
    }
}

fn refuse_null(column: &TypedColumn, rows: usize, name: &str) -> Result<()> {
    let has_null = match (&column.values, &column.valid.0) {
        (ColumnValues::Null(rows), _) => *rows > 0,
        (_, None) => false,
        (_, Some(_)) => (0..rows).any(|row| !column.valid.is_valid(row)),
    };
    if has_null {
        let what = format!("column `{name}` holds nulls");
        return Err(invalid(&what, &format!("`!is_null({name})` in the query leaves them out")));
    }
    Ok(())
}

fn invalid(what: &str, hint: &str) -> Error {
    let message = if hint.is_empty() { what.to_owned() } else { format!("{what}\nhint: {hint}") };
    Error::new(ErrorKind::InvalidInput, message)
}
