//! Results of algorithms, with vertices as numbers, and as columns with ids.

use crate::failure::no_path;
use crate::projection::Projection;
use algo::NO_VERTEX;
use model::Value;
use std::sync::Arc;
use store::Result;
use views::graph::VertexColumn;

/// The result of an algorithm, with the projection that it belongs to.
#[derive(Clone, Debug)]
pub struct AlgorithmResult {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Where its vertices have their ids.
    pub projection: Arc<Projection>,
    /// The values, in the form that the algorithm returns.
    pub found: Found,
}

/// The values that an algorithm found. Vertices are numbers of the projection.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// One value.
    Scalar(Value),
    /// Some vertices, in an order that the algorithm defines.
    Vertices(Vec<u32>),
    /// Columns with a value for each vertex.
    Values(Vec<(&'static str, Numbers)>),
    /// Distances from the nearest source, and the vertex before on a shortest path.
    Tree(Tree),
    /// The group of each vertex, from 0.
    Groups {
        /// For each vertex.
        labels: Vec<u32>,
        /// Number of groups.
        count: u32,
    },
    /// Edges, each with a value.
    Edges {
        /// For each edge.
        sources: Vec<u32>,
        /// For each edge.
        targets: Vec<u32>,
        /// Name and values of the third column.
        values: Option<(&'static str, Numbers)>,
    },
    /// Paths with their lengths.
    Paths {
        /// The vertices of each path.
        paths: Vec<Vec<u32>>,
        /// The sum of weights of each path.
        lengths: Vec<f64>,
    },
    /// Rows of `width` vertices; a shorter walk is filled with [`NO_VERTEX`].
    Walks {
        /// Vertices of a row.
        width: usize,
        /// All rows.
        vertices: Vec<u32>,
    },
}

/// Distances and parents of all vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The name of the distance column: `level` or `distance`.
    pub name: &'static str,
    /// For each vertex.
    pub distances: Numbers,
    /// For each vertex; [`NO_VERTEX`] for sources and vertices that were not reached.
    pub parents: Vec<u32>,
    /// For each vertex.
    pub is_reached: Vec<bool>,
    /// Whether vertices that were not reached are in the columns too, as in LDBC Graphalytics.
    pub is_complete: bool,
}

/// Numbers of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Floats.
    Float(Vec<f64>),
    /// Integers.
    Int(Vec<i64>),
    /// Small integers: labels, levels and counts.
    Small(Vec<u32>),
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultColumn {
    /// Ids of vertices.
    Ids(VertexColumn),
    /// Ids of vertices, with fillers where the flags are false.
    OptionalIds(VertexColumn, Vec<bool>),
    /// Numbers.
    Numbers(Numbers),
    /// One value.
    Value(Value),
}

impl Numbers {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Float(all) => all.len(),
            Self::Int(all) => all.len(),
            Self::Small(all) => all.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `i` as a float.
    ///
    /// # Panics
    /// If it is out of bounds.
    #[must_use]
    pub fn float(&self, i: usize) -> f64 {
        match self {
            Self::Float(all) => all[i],
            Self::Int(all) => all[i] as f64,
            Self::Small(all) => all[i].into(),
        }
    }

    /// Value `i`.
    ///
    /// # Panics
    /// If it is out of bounds.
    #[must_use]
    pub fn value(&self, i: usize) -> Value {
        match self {
            Self::Float(all) => Value::Float(all[i]),
            Self::Int(all) => Value::Int(all[i]),
            Self::Small(all) => Value::Int(all[i].into()),
        }
    }

    /// The values at these places.
    #[must_use]
    pub fn gather(&self, places: &[u32]) -> Self {
        match self {
            Self::Float(all) => Self::Float(places.iter().map(|&i| all[i as usize]).collect()),
            Self::Int(all) => Self::Int(places.iter().map(|&i| all[i as usize]).collect()),
            Self::Small(all) => Self::Small(places.iter().map(|&i| all[i as usize]).collect()),
        }
    }
}

impl Tree {
    /// The path from a source to `goal`, both included. Empty if `goal` was not reached.
    #[must_use]
    pub fn path(&self, goal: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut next = goal;
        if !self.is_reached.get(goal as usize).is_some_and(|&is_reached| is_reached) {
            return path;
        }
        // A path visits a vertex once at most.
        while next != NO_VERTEX && path.len() <= self.parents.len() {
            path.push(next);
            next = self.parents[next as usize];
        }
        path.reverse();
        path
    }

    /// The vertices of the columns.
    fn shown(&self) -> Vec<u32> {
        let flags = (0..).zip(&self.is_reached);
        flags.filter(|(_, is_reached)| self.is_complete || **is_reached).map(|(v, _)| v).collect()
    }
}

impl AlgorithmResult {
    /// The vertices of the rows, where a row is a vertex: all vertices in ascending order (`None`),
    /// or some.
    #[must_use]
    pub fn row_vertices(&self) -> Option<Vec<u32>> {
        match &self.found {
            Found::Vertices(vertices) => Some(vertices.clone()),
            Found::Tree(tree) if tree.is_reached.contains(&false) => Some(tree.shown()),
            _ => None,
        }
    }

    /// The ids of the rows, where a row is a vertex; else `None`.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn row_ids(&self) -> Result<Option<VertexColumn>> {
        let ids = self.projection.ids();
        let is_of_vertices = matches!(
            self.found,
            Found::Vertices(_) | Found::Values(_) | Found::Tree(_) | Found::Groups { .. }
        );
        if !is_of_vertices {
            return Ok(None);
        }
        match self.row_vertices() {
            None => ids.all().map(Some),
            Some(vertices) => ids.of(&vertices).map(Some),
        }
    }

    /// The first column of numbers, in the order of the rows.
    #[must_use]
    pub fn values(&self) -> Option<Numbers> {
        match &self.found {
            Found::Values(columns) => columns.first().map(|(_, values)| values.clone()),
            Found::Groups { labels, .. } => Some(Numbers::Small(labels.clone())),
            Found::Tree(tree) => Some(match self.row_vertices() {
                None => tree.distances.clone(),
                Some(vertices) => tree.distances.gather(&vertices),
            }),
            Found::Edges { values, .. } => values.as_ref().map(|(_, values)| values.clone()),
            Found::Paths { lengths, .. } => Some(Numbers::Float(lengths.clone())),
            Found::Scalar(_) | Found::Vertices(_) | Found::Walks { .. } => None,
        }
    }

    /// The result as named columns: `vertex` and values; `source`, `target` and a value; `walk`
    /// or `path`, `step` and `vertex`.
    ///
    /// # Errors
    /// Those of reading a dictionary.
    pub fn columns(&self) -> Result<Vec<(&'static str, ResultColumn)>> {
        let ids = self.projection.ids();
        let numbers = |values: &Numbers| ResultColumn::Numbers(values.clone());
        match &self.found {
            Found::Scalar(value) => Ok(vec![("value", ResultColumn::Value(value.clone()))]),
            Found::Edges { sources, targets, values } => {
                let mut columns = vec![
                    ("source", ResultColumn::Ids(ids.of(sources)?)),
                    ("target", ResultColumn::Ids(ids.of(targets)?)),
                ];
                columns.extend(values.iter().map(|(name, values)| (*name, numbers(values))));
                Ok(columns)
            }
            Found::Paths { paths, .. } => self.steps("path", paths.iter().map(Vec::as_slice)),
            Found::Walks { width, vertices } => {
                let walks = vertices.chunks(*width.max(&1)).map(|walk| {
                    let end = walk.iter().position(|&v| v == NO_VERTEX);
                    &walk[..end.unwrap_or(walk.len())]
                });
                self.steps("walk", walks)
            }
            Found::Vertices(_) | Found::Values(_) | Found::Tree(_) | Found::Groups { .. } => {
                let vertex = self.row_ids()?.unwrap_or(VertexColumn::U64(Vec::new()));
                let mut columns = vec![("vertex", ResultColumn::Ids(vertex))];
                columns.extend(self.vertex_columns()?);
                Ok(columns)
            }
        }
    }

    /// The columns besides the vertex, where a row is a vertex.
    fn vertex_columns(&self) -> Result<Vec<(&'static str, ResultColumn)>> {
        let numbers = |values: &Numbers| ResultColumn::Numbers(values.clone());
        match &self.found {
            Found::Values(columns) => {
                Ok(columns.iter().map(|(name, values)| (*name, numbers(values))).collect())
            }
            Found::Groups { labels, .. } => {
                Ok(vec![("group", ResultColumn::Numbers(Numbers::Small(labels.clone())))])
            }
            Found::Tree(tree) => {
                let shown = tree.shown();
                let parents: Vec<u32> = shown.iter().map(|&v| tree.parents[v as usize]).collect();
                let flags = parents.iter().map(|&parent| parent != NO_VERTEX).collect();
                let known: Vec<u32> =
                    parents.into_iter().map(|v| if v == NO_VERTEX { 0 } else { v }).collect();
                let parents = ResultColumn::OptionalIds(self.projection.ids().of(&known)?, flags);
                let distances = ResultColumn::Numbers(tree.distances.gather(&shown));
                Ok(vec![(tree.name, distances), ("parent", parents)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// A row for each vertex of each path.
    fn steps<'p>(
        &self,
        name: &'static str,
        paths: impl Iterator<Item = &'p [u32]>,
    ) -> Result<Vec<(&'static str, ResultColumn)>> {
        let (mut path, mut step, mut vertices) = (Vec::new(), Vec::new(), Vec::new());
        for (number, one) in (0_u32..).zip(paths) {
            path.resize(path.len() + one.len(), number);
            step.extend(0..one.len() as u32);
            vertices.extend_from_slice(one);
        }
        let ids = ResultColumn::Ids(self.projection.ids().of(&vertices)?);
        let small = |all| ResultColumn::Numbers(Numbers::Small(all));
        Ok(vec![(name, small(path)), ("step", small(step)), ("vertex", ids)])
    }

    /// The path from a source to the vertex `goal`, if this is a search.
    ///
    /// # Errors
    /// There is none ([`crate::Refusal::NoPath`]); those of reading a dictionary.
    pub fn path(&self, goal: u32) -> Result<Option<Vec<u32>>> {
        let Found::Tree(tree) = &self.found else { return Ok(None) };
        let path = tree.path(goal);
        if path.is_empty() {
            let goal = self.projection.ids().value(goal)?;
            return Err(no_path(&Value::Str("the sources".to_owned()), &goal));
        }
        Ok(Some(path))
    }

    /// The `count` vertices with the largest first value, largest first; of equal values, the
    /// smaller vertex first. Numbers of rows.
    #[must_use]
    pub fn top(&self, count: usize) -> Vec<u32> {
        let Some(values) = self.values() else { return Vec::new() };
        let mut rows: Vec<u32> = (0..values.len() as u32).collect();
        let order = |a: &u32, b: &u32| {
            let (x, y) = (values.float(*a as usize), values.float(*b as usize));
            y.total_cmp(&x).then(a.cmp(b))
        };
        if count < rows.len() && count > 0 {
            rows.select_nth_unstable_by(count - 1, order);
        }
        rows.truncate(count);
        rows.sort_unstable_by(order);
        rows
    }

    /// The vertices of each group, where vertices have groups.
    #[must_use]
    pub fn groups(&self) -> Option<Vec<Vec<u32>>> {
        let Found::Groups { labels, count } = &self.found else { return None };
        let mut groups = vec![Vec::new(); *count as usize];
        for (v, &label) in (0..).zip(labels) {
            groups[label as usize].push(v);
        }
        Some(groups)
    }
}
