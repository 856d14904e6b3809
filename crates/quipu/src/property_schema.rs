//! The types of a new graph, found from tables of edges and of vertices.

#[cfg(feature = "arrow")]
use crate::arrow_file::{first_of, types_of_batches};
use crate::edge_types::{wider_vertex, wider_weight};
use crate::file_errors::failed;
use crate::import_file::types_of_files;
use crate::options::{GraphOptions, Properties};
use crate::property_rows::PropertySource;
use crate::property_types::{Guess, type_of_series, wider};
use crate::raw_rows::{RawColumn, RawRows};
use ingest::{ColumnRef, EdgeOptions, TextOptions, WeightNames, property_name};
use model::{Type, Value, Values};
use std::collections::BTreeSet;
use store::{Error, ErrorKind, Result};
use views::graph::{Graph, VertexType, WeightType};
use views::import::ImportOptions;

/// Names that no property of an edge can have; a column of such a name gets a `_` at its end.
const RESERVED: [&str; 5] = ["src", "dst", "weight", "key", "vertex"];

impl PropertySource {
    /// Whether it has a column that is a property of edges of the graph.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn has_property(&mut self, graph: &Graph, options: &TextOptions) -> Result<bool> {
        let properties = &graph.def().edges;
        if graph.def().is_keyed {
            return Ok(true);
        }
        if properties.is_empty() {
            return Ok(matches!(self, Self::Rows(_)));
        }
        let is_one =
            |name: &String| properties.iter().any(|property| names_property(name, &property.name));
        match self {
            Self::Rows(_) => Ok(true),
            #[cfg(feature = "arrow")]
            Self::Batches(batches) => {
                let Some(first) = first_of(batches)? else { return Ok(false) };
                Ok(first.schema().fields().iter().any(|field| is_one(field.name())))
            }
            Self::Files(files) => {
                for file in files {
                    if file.column_names(options)?.iter().any(is_one) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// The types of vertices and weights for edges without properties.
    ///
    /// # Errors
    /// As [`types_of_files`].
    pub(crate) fn types(&mut self, options: &ImportOptions) -> Result<GraphOptions> {
        match self {
            Self::Files(files) => types_of_files(files, options),
            #[cfg(feature = "arrow")]
            Self::Batches(batches) => types_of_batches(batches, options),
            Self::Rows(_) => Ok(GraphOptions::default()),
        }
    }
}

/// The tables that a graph is created for.
pub(crate) struct Tables<'t> {
    pub(crate) edges: Option<&'t [RawRows]>,
    pub(crate) nodes: Option<&'t [RawRows]>,
    /// The column of the vertex in `nodes`.
    pub(crate) node_column: Option<&'t ColumnRef>,
    /// Whether a column `key` has the keys of edges.
    pub(crate) is_keyed: bool,
    pub(crate) options: &'t TextOptions,
}

impl Tables<'_> {
    /// The options of a graph that holds the tables. `plain` are those of edges that are imported
    /// without properties.
    ///
    /// # Errors
    /// The ends of edges, or the vertices, cannot be told among the columns; two columns become the
    /// same property.
    pub(crate) fn graph_options(
        &self,
        plain: Option<GraphOptions>,
        edge_properties: PropertyTypes,
        node_properties: PropertyTypes,
    ) -> Result<GraphOptions> {
        let mut wanted = plain.unwrap_or_default();
        let mut ends = Vec::new();
        for rows in self.edges.unwrap_or_default() {
            ends.push(self.ends(rows)?);
        }
        let mut vertices = Vec::new();
        for rows in self.nodes.unwrap_or_default() {
            vertices.push(self.vertex(rows)?);
        }
        let edges = || self.edges.unwrap_or_default().iter().zip(&ends);
        let nodes = || self.nodes.unwrap_or_default().iter().zip(&vertices);
        let of_edges = edges()
            .flat_map(|(rows, ends)| [&rows.columns[ends.source], &rows.columns[ends.target]]);
        let of_nodes = nodes().map(|(rows, vertex)| &rows.columns[*vertex]);
        let found = of_edges.chain(of_nodes).filter(|column| !column.is_empty()).map(vertex_type);
        wanted.vertex = found.fold(wanted.vertex, wider_vertex);
        for (rows, ends) in edges() {
            if let Some(weight) = ends.weight {
                wanted.weight = wider_weight(wanted.weight, weight_type(&rows.columns[weight]));
            }
        }
        wanted.edges = match edge_properties {
            PropertyTypes::Given(given) => given,
            PropertyTypes::Found => {
                let taken = |(rows, ends): (&RawRows, &ingest::EdgeEnds)| {
                    let key = || key_column(&rows.names, [ends.source, ends.target]);
                    let key = if self.is_keyed { key() } else { None };
                    let known = [Some(ends.source), Some(ends.target), ends.weight, key];
                    known.into_iter().flatten().collect()
                };
                let taken: Vec<BTreeSet<usize>> = edges().map(taken).collect();
                self.properties(self.edges.unwrap_or_default(), &taken)?
            }
        };
        if let Some(nodes) = self.nodes {
            wanted.nodes = Some(match node_properties {
                PropertyTypes::Given(given) => given,
                PropertyTypes::Found => {
                    let taken: Vec<_> = vertices.iter().map(|&v| BTreeSet::from([v])).collect();
                    self.properties(nodes, &taken)?
                }
            });
        }
        Ok(wanted)
    }

    fn ends(&self, rows: &RawRows) -> Result<ingest::EdgeEnds> {
        let weight = ingest::WeightType::Float;
        let edges = EdgeOptions { weight, ..self.options.edges.clone() };
        let ends = ingest::edge_ends(&rows.name, &rows.names, &edges, WeightNames::Plain);
        ends.map_err(|error| failed(error.into()))
    }

    fn vertex(&self, rows: &RawRows) -> Result<usize> {
        let column = ingest::vertex_column(&rows.name, &rows.names, self.node_column);
        column.map_err(|error| failed(error.into()))
    }

    /// All further columns as properties. `taken` are the other columns of each input.
    fn properties(&self, inputs: &[RawRows], taken: &[BTreeSet<usize>]) -> Result<Properties> {
        let Some(first) = inputs.first() else { return Ok(Vec::new()) };
        let mut found: Properties = Vec::new();
        for (place, name) in first.names.iter().enumerate() {
            let is_taken = taken.first().is_some_and(|taken| taken.contains(&place));
            if is_taken || ingest::is_index_column(name) {
                continue;
            }
            let same = inputs.iter().filter_map(|rows| {
                let place = rows.names.iter().position(|one| one == name)?;
                rows.columns.get(place)
            });
            let property = graph_property_name(name);
            if found.iter().any(|(other, _)| *other == property) {
                let what = format!("{}: two columns become the property {property:?}", first.name);
                let hint = "give their types by name, or rename one of them";
                return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
            }
            found.push((property, self.property_type(same)));
        }
        Ok(found)
    }

    /// The type that holds all values of a column in all inputs.
    fn property_type<'c>(&self, columns: impl Iterator<Item = &'c RawColumn>) -> Type {
        let (mut guess, mut of_values) = (None::<Guess>, None::<Type>);
        for column in columns {
            match column {
                RawColumn::Text(column) => {
                    guess.get_or_insert_default().look(column, self.options);
                }
                RawColumn::FileValues(series) | RawColumn::Values(series) => {
                    let of = type_of_series(series).without_null().clone();
                    of_values = Some(of_values.map_or(of.clone(), |other| wider(other, of)));
                }
            }
        }
        let of_text = guess.map(|guess| guess.property().without_null().clone());
        let of = match (of_text, of_values) {
            (Some(a), Some(b)) => wider(a, b),
            (a, b) => a.or(b).unwrap_or(Type::String),
        };
        Type::Nullable(Box::new(of))
    }
}

/// The column that has the keys of edges: that of the name, perhaps with a type, but for
/// the ends.
pub(crate) fn key_column(names: &[String], ends: [usize; 2]) -> Option<usize> {
    let is_key = |i: &usize| property_name(&names[*i]).eq_ignore_ascii_case("key");
    (0..names.len()).find(|i| is_key(i) && !ends.contains(i))
}

/// Whether a column has the values of a property: by its name, or by its name in a new graph.
pub(crate) fn names_property(column: &str, property: &str) -> bool {
    column == property
        || property_name(column) == property
        || graph_property_name(column) == property
}

/// The name of a graph's property for the name of a column; see [`property_name`].
fn graph_property_name(column: &str) -> String {
    let name = property_name(column);
    if RESERVED.contains(&name.as_str()) { format!("{name}_") } else { name }
}

fn vertex_type(column: &RawColumn) -> VertexType {
    use VertexType::{I64, Str, U64};
    match column {
        RawColumn::Text(column) => match Guess::of_vertices(column) {
            (true, _) => U64,
            (false, true) => I64,
            (false, false) => Str,
        },
        RawColumn::FileValues(series) | RawColumn::Values(series) => match &series.values {
            Values::Id(_) => U64,
            Values::Int(values) if values.iter().all(|&value| value >= 0) => U64,
            Values::Int(_) => I64,
            // Fractions and NaN are refused for any type of vertices.
            Values::Float(values) if values.iter().any(|&value| value < 0.0) => I64,
            Values::Float(_) => U64,
            Values::Any(values) => {
                let each = values.iter().map(|value| match value {
                    Value::Int(value) if *value >= 0 => U64,
                    Value::Id(_) | Value::Null => U64,
                    Value::Float(value) if *value < 0.0 => I64,
                    Value::Float(_) => U64,
                    Value::Int(_) => I64,
                    _ => Str,
                });
                each.fold(U64, wider_vertex)
            }
            _ => Str,
        },
    }
}

fn weight_type(column: &RawColumn) -> WeightType {
    let is_int = |value: &Value| matches!(value, Value::Int(_) | Value::Bool(_) | Value::Null);
    match column {
        RawColumn::FileValues(series) | RawColumn::Values(series) => match &series.values {
            Values::Int(_) | Values::Bool(_) => WeightType::Int,
            Values::Any(values) if values.iter().all(is_int) => WeightType::Int,
            _ => WeightType::Float,
        },
        RawColumn::Text(_) => WeightType::Float,
    }
}

impl RawColumn {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(column) => column.present.is_empty(),
            Self::FileValues(series) | Self::Values(series) => series.is_empty(),
        }
    }
}

/// Where the properties of a new graph come from.
#[derive(Clone, Debug, Default)]
pub enum PropertyTypes {
    /// All further columns become properties that may be null, with the types that fit all values.
    #[default]
    Found,
    /// These; other columns are ignored.
    Given(Properties),
}
