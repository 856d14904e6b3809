//! The relations behind a graph with properties: rows of its edges, and of its vertices.
//!
//! # Why properties have no calls of their own in the graph view
//! Everything is a relation: rows with properties are written as rows of relations, which checks
//! types, assigns dictionary ids, and updates the reverse direction in the same commit.

use crate::database::{Database, Tx};
use crate::relation::Relation;
use model::{Frame, FrameError, Series, Type, Value, encode_tuple};
use std::collections::BTreeSet;
use store::{Error, ErrorKind, Result};
use views::graph::{Graph, GraphDef, GraphPart, WeightType};

/// The relations of a graph: `NAME {src, dst => weight, …}` has its edges, and `NAME:nodes {vertex
/// => …}` the properties of its vertices. As the database or a transaction sees them.
///
/// ```
/// use quipu::{Database, Frame, GraphOptions, Options, Type, Value};
///
/// let db = Database::in_memory(Options::default())?;
/// let year = Type::Nullable(Box::new(Type::Int));
/// let options = GraphOptions {
///     edges: vec![("since".into(), year)],
///     nodes: Some(vec![("kind".into(), Type::String)]),
///     ..GraphOptions::default()
/// };
/// let cites = db.graph("cites", options)?;
/// let relations = db.graph_relations("cites")?;
///
/// let row = |v, kind: &str| vec![Value::Int(v), Value::Str(kind.into())];
/// let names = vec!["vertex".into(), "kind".into()];
/// let rows = vec![row(1, "book"), row(2, "paper")];
/// relations.upsert_nodes(&Frame::of_rows(names, rows).unwrap())?;
/// assert!(cites.has_vertex(2)?, "it has no edge");
///
/// let names = ["src", "dst", "since"].map(str::to_owned).to_vec();
/// let edge = vec![1, 2, 1998].into_iter().map(Value::Int).collect();
/// relations.merge_edges(&Frame::of_rows(names, vec![edge]).unwrap())?;
/// assert!(cites.has_edge(1, 2)?);
/// # Ok::<(), quipu::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphRelations {
    database: Database,
    transaction: Option<Tx>,
    name: String,
    def: GraphDef,
}

/// One of the relations of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Edges,
    Nodes,
}

impl Database {
    /// The relations of the graph with this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such graph.
    pub fn graph_relations(&self, name: &str) -> Result<GraphRelations> {
        let def = self.require_graph(name)?.def().clone();
        Ok(GraphRelations { database: self.clone(), transaction: None, name: name.into(), def })
    }
}

impl Tx {
    /// The relations of a graph in the transaction.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no such graph.
    pub fn graph_relations(&self, name: &str) -> Result<GraphRelations> {
        let def = self.graph(name)?.def().clone();
        let (database, transaction) = (self.database().clone(), Some(self.clone()));
        Ok(GraphRelations { database, transaction, name: name.into(), def })
    }
}

impl GraphRelations {
    /// The relation of the edges.
    ///
    /// # Errors
    /// The graph was dropped; failed reads.
    pub fn edges(&self) -> Result<Relation> {
        self.relation(self.transaction.as_ref(), Part::Edges)
    }

    /// The relation of the vertices.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the graph was created without one, or dropped; failed reads.
    pub fn nodes(&self) -> Result<Relation> {
        self.relation(self.transaction.as_ref(), Part::Nodes)
    }

    /// The graph, as the database or the transaction sees it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if it was dropped.
    pub fn graph(&self) -> Result<Graph> {
        match &self.transaction {
            Some(transaction) => transaction.graph(&self.name),
            None => self.database.require_graph(&self.name),
        }
    }

    /// Puts edges: rows with `src`, `dst` and properties. Whole rows are replaced: a missing weight
    /// is 1, and other missing properties are null.
    ///
    /// # Errors
    /// As [`Relation::put`], and if a property that cannot be null is missing.
    pub fn upsert_edges(&self, rows: &Frame) -> Result<()> {
        self.edges()?.put(&self.complete(Part::Edges, rows)?)
    }

    /// Puts vertices: rows with `vertex` and properties. Whole rows are replaced: missing
    /// properties are null.
    ///
    /// # Errors
    /// As [`GraphRelations::upsert_edges`]; [`ErrorKind::InvalidInput`] if the graph was created
    /// without a relation of vertices.
    pub fn upsert_nodes(&self, rows: &Frame) -> Result<()> {
        self.nodes()?.put(&self.complete(Part::Nodes, rows)?)
    }

    /// Puts edges as [`GraphRelations::upsert_edges`], but keeps the properties of existing edges
    /// that the rows do not have.
    ///
    /// # Errors
    /// As [`GraphRelations::upsert_edges`]; [`ErrorKind::Conflict`] if other writers keep changing
    /// the same edges.
    pub fn merge_edges(&self, rows: &Frame) -> Result<()> {
        self.merge(Part::Edges, rows)
    }

    /// Puts vertices as [`GraphRelations::upsert_nodes`], but keeps the properties of existing rows
    /// that the given rows do not have.
    ///
    /// # Errors
    /// As [`GraphRelations::upsert_nodes`]; [`ErrorKind::Conflict`] if other writers keep changing
    /// the same vertices.
    pub fn merge_nodes(&self, rows: &Frame) -> Result<()> {
        self.merge(Part::Nodes, rows)
    }

    fn relation(&self, transaction: Option<&Tx>, part: Part) -> Result<Relation> {
        let name = match part {
            Part::Edges => self.name.clone(),
            Part::Nodes if self.def.nodes.is_none() => {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "the vertices of graph {:?} have no rows of their own\n\
                         hint: create the graph with properties of vertices (an empty list will do)",
                        self.name
                    ),
                ));
            }
            Part::Nodes => format!("{}{}", self.name, GraphPart::Nodes.suffix()),
        };
        match transaction {
            Some(transaction) => transaction.relation(&name),
            None => self.database.relation(&name),
        }
    }

    /// The rows with values for the properties that they lack and that have one.
    pub(crate) fn complete(&self, part: Part, rows: &Frame) -> Result<Frame> {
        let columns = match part {
            Part::Edges => self.def.edges.as_slice(),
            Part::Nodes => self.def.nodes.as_deref().unwrap_or_default(),
        };
        let nullable = columns.iter().filter(|column| column.nullable);
        let mut fillers: Vec<(&str, Value)> =
            nullable.map(|column| (column.name.as_str(), Value::Null)).collect();
        match self.def.weight {
            _ if part == Part::Nodes => {}
            WeightType::None => {}
            WeightType::Float => fillers.push(("weight", Value::Float(1.0))),
            WeightType::Int => fillers.push(("weight", Value::Int(1))),
        }
        fillers.retain(|(name, _)| rows.column(name).is_none());
        if fillers.is_empty() || (rows.is_empty() && rows.names().is_empty()) {
            return Ok(rows.clone());
        }
        let (mut names, mut all) = (rows.names().to_vec(), rows.columns().to_vec());
        for (name, value) in fillers {
            names.push(name.to_owned());
            all.push(Series::from(vec![value; rows.len()]));
        }
        Frame::new(names, all).map_err(wrong)
    }

    fn merge(&self, part: Part, rows: &Frame) -> Result<()> {
        let columns = self.relation(self.transaction.as_ref(), part)?.columns().to_vec();
        let is_given = |name: &str| rows.column(name).is_some();
        if columns.iter().all(|column| is_given(&column.name)) {
            // Nothing is kept, so nothing has to be read.
            return self.relation(self.transaction.as_ref(), part)?.put(rows);
        }
        if let Some(transaction) = &self.transaction {
            return self.merge_in(transaction, part, rows);
        }
        self.database.retried(|transaction| self.merge_in(transaction, part, rows))
    }

    fn merge_in(&self, transaction: &Tx, part: Part, rows: &Frame) -> Result<()> {
        let relation = self.relation(Some(transaction), part)?;
        let keys = relation.columns().iter().filter(|column| column.is_key);
        let names: Vec<String> = keys.map(|column| column.name.clone()).collect();
        let of_key = names.iter().filter_map(|name| rows.column(name)).cloned().collect();
        let keys = match Frame::new(names, of_key) {
            Ok(keys) => keys,
            // A key column is missing, which the relation says.
            Err(_) => return relation.put(rows),
        };
        let (present, _) = relation.get_many(&keys)?;
        let (mut new, mut old, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (row, is_there) in present.into_iter().enumerate() {
            let mut key = Vec::new();
            encode_tuple(&keys.row(row), &mut key);
            let is_new = !is_there && seen.insert(key);
            if is_new { new.push(row) } else { old.push(row) }
        }
        if !new.is_empty() {
            relation.put(&self.complete(part, &pick(rows, &new)?)?)?;
        }
        let has_values = rows.names().len() > keys.names().len();
        if has_values && !old.is_empty() {
            relation.update(&pick(rows, &old)?)?;
        }
        Ok(())
    }
}

/// These rows of a frame.
fn pick(rows: &Frame, chosen: &[usize]) -> Result<Frame> {
    if chosen.len() == rows.len() {
        return Ok(rows.clone());
    }
    let picked = chosen.iter().map(|&row| rows.row(row)).collect();
    Frame::of_rows(rows.names().to_vec(), picked).map_err(wrong)
}

fn wrong(error: FrameError) -> Error {
    Error::caused(ErrorKind::InvalidInput, error)
}

impl Database {
    /// The type that a text such as `int?` names: a type of the query language, or Python's name
    /// for it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a text that names no type.
    pub fn type_of_text(&self, text: &str) -> Result<Type> {
        let (of, null) = match text.trim().strip_suffix('?') {
            Some(of) => (of.trim(), "?"),
            None => (text.trim(), ""),
        };
        let of = match of.to_ascii_lowercase().as_str() {
            "str" | "string" | "text" => "String",
            "int" | "int64" => "Int",
            "float" | "float64" => "Float",
            "bool" => "Bool",
            "bytes" => "Bytes",
            "json" => "Json",
            "uuid" => "Uuid",
            "date" => "Date",
            "timestamp" | "datetime" => "Timestamp",
            "duration" | "timedelta" => "Duration",
            "decimal" => "Decimal",
            "any" => "Any",
            _ => of,
        };
        let unknown = || {
            let hint = "such as \"str\", \"int?\" (may be null), \"float\", \"json\", \"[Int]\"";
            Error::new(ErrorKind::InvalidInput, format!("{text:?} is no type\nhint: {hint}"))
        };
        let columns = self
            .engine()?
            .columns_of_spec(&format!("{{k: Int => v: {of}{null}}}"))
            .map_err(|_| unknown())?;
        match <[_; 2]>::try_from(columns) {
            Ok([_, value]) if value.name == "v" && value.default.is_none() => Ok(value.column_type),
            _ => Err(unknown()),
        }
    }
}
