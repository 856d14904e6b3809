//! A relation of edges as a graph with numbered vertices, and the values of the vertices.
//!
//! # Why vertices are numbered in the order of values
//! Ties between vertices are then resolved as between the values, so a result does not depend on
//! the order of the input rows. Key columns are ascending too, so the graph is mostly built without
//! moving edges.
//!
//! # Invariants
//! 1. Names are ascending and distinct; vertex `v` of the graph has name `v`.
//! 2. [`Projection::number`] is the inverse of that.

use crate::value::cell::{Cell, Interner, bytes_of};
use algo::{Csr, Limits, NO_VERTEX};
use base::STEPS;
use hashbrown::HashMap;
use model::Value;
use std::sync::Arc;

/// A range of integers is numbered by a table if it is at most this many times as long as the
/// number of cells.
const SPAN_MAX: usize = 4;

/// A graph whose vertices are cells of a query.
#[derive(Clone, Debug)]
pub(crate) struct Projection<'i> {
    names: Arc<Names>,
    graph: Arc<Csr>,
    interner: &'i Interner,
}

/// The values of the vertices, ascending.
#[derive(Debug)]
pub(crate) enum Names {
    /// Cells of the query that made them, with their numbers.
    Cells(Vec<Cell>, Numbers),
    /// Values, which are valid in every query. They become cells one by one, when a query needs
    /// them.
    Values(Vec<Value>),
}

impl Names {
    /// The same names in a form that is valid for any query.
    pub(crate) fn lasting(self: &Arc<Self>, interner: &Interner) -> Arc<Self> {
        match &**self {
            Self::Cells(cells, _) if !cells.iter().all(|cell| cell.is_word()) => {
                Arc::new(Self::Values(cells.iter().map(|&cell| interner.value(cell)).collect()))
            }
            _ => Arc::clone(self),
        }
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Cells(cells, numbers) => 8 * cells.capacity() as u64 + numbers.bytes(),
            Self::Values(values) => values.iter().map(bytes_of).sum(),
        }
    }
}

/// Columns of edges.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Source of each edge.
    pub sources: Vec<Cell>,
    /// Target of each edge.
    pub targets: Vec<Cell>,
    /// Weight of each edge; `None` where all are 1.
    pub weights: Option<Vec<f64>>,
    /// Vertices to include even without edges.
    pub lone: Vec<Cell>,
}

impl Edges {
    /// Size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.sources.capacity() + self.targets.capacity() + self.lone.capacity();
        let weights = self.weights.as_ref().map_or(0, Vec::capacity);
        8 * (cells + weights) as u64
    }
}

impl<'i> Projection<'i> {
    /// Builds the graph of these edges.
    ///
    /// # Errors
    /// [`algo::Error`]: too many vertices, weights that are not finite, or stopped by `limits`.
    pub(crate) fn new(
        edges: Edges,
        interner: &'i Interner,
        limits: &dyn Limits,
    ) -> Result<Self, algo::Error> {
        let Edges { sources, targets, weights, lone } = edges;
        let (vertices, numbers) = number([&sources, &targets, &lone], interner, limits)?;
        let total = vertices.len();
        if total >= NO_VERTEX as usize {
            return Err(algo::Error::TooManyVertices { vertices: total });
        }
        let (sources, targets) = (numbers.of(sources), numbers.of(targets));
        let graph = Csr::from_edges(total, &sources, &targets, weights.as_deref(), limits)?;
        Ok(Self::of_parts(Arc::new(Names::Cells(vertices, numbers)), Arc::new(graph), interner))
    }

    /// A projection from a graph and as many names as it has vertices.
    pub(crate) fn of_parts(names: Arc<Names>, graph: Arc<Csr>, interner: &'i Interner) -> Self {
        Self { names, graph, interner }
    }

    /// Names and graph.
    pub(crate) fn parts(&self) -> (&Arc<Names>, &Arc<Csr>) {
        (&self.names, &self.graph)
    }

    /// The same edges with further vertices.
    pub(crate) fn edges_and(&self, lone: Vec<Cell>) -> Edges {
        let vertices = self.vertices();
        let mut sources = Vec::with_capacity(self.graph.targets().len());
        for (vertex, &cell) in (0_u32..).zip(&vertices) {
            sources.extend(std::iter::repeat_n(cell, self.graph.degree(vertex)));
        }
        let targets = self.graph.targets().iter().map(|&to| vertices[to as usize]).collect();
        let weights = self.graph.weights().map(<[f64]>::to_vec);
        Edges { sources, targets, weights, lone }
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Csr {
        &self.graph
    }

    /// Number of vertices.
    pub(crate) fn len(&self) -> usize {
        self.graph.vertices() as usize
    }

    /// All vertices, ascending.
    pub(crate) fn vertices(&self) -> Vec<Cell> {
        match &*self.names {
            Names::Cells(cells, _) => cells.clone(),
            Names::Values(values) => values.iter().map(|value| self.interner.cell(value)).collect(),
        }
    }

    /// The cell of a vertex.
    pub(crate) fn cell(&self, vertex: u32) -> Cell {
        match &*self.names {
            Names::Cells(cells, _) => cells.get(vertex as usize).copied().unwrap_or(Cell::NULL),
            Names::Values(values) => {
                values.get(vertex as usize).map_or(Cell::NULL, |value| self.interner.cell(value))
            }
        }
    }

    /// The value of a vertex.
    pub(crate) fn value(&self, vertex: u32) -> Value {
        match &*self.names {
            Names::Cells(..) => self.interner.value(self.cell(vertex)),
            Names::Values(values) => values.get(vertex as usize).cloned().unwrap_or(Value::Null),
        }
    }

    /// The number of a cell, if it is a vertex.
    pub(crate) fn number(&self, cell: Cell) -> Option<u32> {
        match &*self.names {
            Names::Cells(_, numbers) => numbers.get(cell),
            Names::Values(values) => {
                let place = self.interner.with(cell, |value| values.binary_search(value));
                u32::try_from(place.ok()?).ok()
            }
        }
    }

    /// The numbers of those cells that are vertices.
    pub(crate) fn numbers(&self, cells: &[Cell]) -> Vec<u32> {
        cells.iter().filter_map(|&cell| self.number(cell)).collect()
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let edge = if self.graph.weights().is_some() { 12 } else { 4 };
        let graph = 8 * self.graph.offsets().len() + edge * self.graph.targets().len();
        graph as u64 + self.names.bytes()
    }
}

/// Maps cells to vertex numbers.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// For integers from the first on; [`NO_VERTEX`] where there is none.
    Span(i64, Vec<u32>),
    /// For any cells.
    Map(HashMap<Cell, u32>),
}

impl Numbers {
    fn bytes(&self) -> u64 {
        match self {
            Self::Span(_, numbers) => 4 * numbers.capacity() as u64,
            Self::Map(numbers) => 17 * numbers.capacity() as u64,
        }
    }

    #[inline]
    fn get(&self, cell: Cell) -> Option<u32> {
        match self {
            Self::Span(first, numbers) => {
                let place = usize::try_from(cell.as_small_int()?.checked_sub(*first)?).ok()?;
                numbers.get(place).copied().filter(|&number| number != NO_VERTEX)
            }
            Self::Map(numbers) => numbers.get(&cell).copied(),
        }
    }

    /// The numbers of cells that are all vertices.
    fn of(&self, cells: Vec<Cell>) -> Vec<u32> {
        let mut last = (Cell::NULL, self.get(Cell::NULL).unwrap_or(NO_VERTEX));
        let number = |cell: Cell| {
            // Edges with the same source are mostly adjacent.
            if cell != last.0 {
                last = (cell, self.get(cell).unwrap_or(NO_VERTEX));
            }
            last.1
        };
        cells.into_iter().map(number).collect()
    }
}

/// The distinct cells of the columns, ascending, and their numbers.
fn number(
    columns: [&[Cell]; 3],
    interner: &Interner,
    limits: &dyn Limits,
) -> Result<(Vec<Cell>, Numbers), algo::Error> {
    let check = || if limits.go_on() { Ok(()) } else { Err(algo::Error::Stopped) };
    let cells = || columns.iter().flat_map(|column| column.iter().copied());
    if let Some((first, last)) = int_span(cells()) {
        let total: usize = columns.iter().map(|column| column.len()).sum();
        let span = usize::try_from(last - first).unwrap_or(usize::MAX);
        if span / SPAN_MAX <= total {
            return Ok(number_span(first, span + 1, cells()));
        }
    }
    let mut numbers: HashMap<Cell, u32> = HashMap::new();
    let mut vertices = Vec::new();
    for piece in columns.iter().flat_map(|column| column.chunks(STEPS)) {
        check()?;
        let mut last = None;
        for &cell in piece {
            if last != Some(cell) && numbers.insert(cell, 0).is_none() {
                vertices.push(cell);
            }
            last = Some(cell);
        }
    }
    let vertices = interner.sort(vertices, check)?;
    for (number, cell) in vertices.iter().enumerate() {
        if number % STEPS == STEPS - 1 {
            check()?;
        }
        if let Some(place) = numbers.get_mut(cell) {
            *place = u32::try_from(number).unwrap_or(NO_VERTEX);
        }
    }
    Ok((vertices, Numbers::Map(numbers)))
}

fn number_span(first: i64, span: usize, cells: impl Iterator<Item = Cell>) -> (Vec<Cell>, Numbers) {
    let mut numbers = vec![NO_VERTEX; span];
    for int in cells.filter_map(Cell::as_small_int) {
        numbers[(int - first) as usize] = 0;
    }
    let mut vertices = Vec::new();
    for (place, number) in numbers.iter_mut().enumerate().filter(|(_, one)| **one != NO_VERTEX) {
        *number = u32::try_from(vertices.len()).unwrap_or(NO_VERTEX);
        vertices.extend(Cell::small_int(first + place as i64));
    }
    (vertices, Numbers::Span(first, numbers))
}

/// The least and greatest integer, if all cells are small integers and there is at least one.
fn int_span(mut cells: impl Iterator<Item = Cell>) -> Option<(i64, i64)> {
    let first = cells.next()?.as_small_int()?;
    cells.try_fold((first, first), |(low, high), cell| {
        cell.as_small_int().map(|int| (low.min(int), high.max(int)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(values: &[Value], interner: &Interner) -> Vec<Cell> {
        values.iter().map(|value| interner.cell(value)).collect()
    }

    fn vertex() -> impl Strategy<Value = Value> {
        prop_oneof![
            (-3_i64..9).prop_map(Value::Int),
            any::<i64>().prop_map(Value::Int),
            Just(Value::Null),
            (-2_i8..2).prop_map(|x| Value::Float(f64::from(x))),
            "[ab]{0,2}".prop_map(Value::Str),
        ]
    }

    fn check(pairs: &[(Value, Value)], lone: &[Value]) {
        let interner = Interner::default();
        let (sources, targets): (Vec<Value>, Vec<Value>) = pairs.iter().cloned().unzip();
        let edges = Edges {
            sources: cells(&sources, &interner),
            targets: cells(&targets, &interner),
            weights: None,
            lone: cells(lone, &interner),
        };
        let projection = Projection::new(edges, &interner, &|| true).unwrap();
        let mut want: Vec<Value> = [sources, targets, lone.to_vec()].concat();
        want.sort();
        want.dedup();
        let mut pairs = pairs.to_vec();
        pairs.sort();
        let (names, graph) = projection.parts();
        let other = Interner::default();
        let lasting = Projection::of_parts(names.lasting(&interner), Arc::clone(graph), &other);
        for projection in [projection, lasting] {
            let interner = projection.interner;
            let vertices = projection.vertices();
            let found = vertices.iter().map(|&cell| interner.value(cell));
            assert_eq!(found.collect::<Vec<_>>(), want);
            let mut edges = Vec::new();
            for (v, cell) in (0_u32..).zip(vertices) {
                assert_eq!(projection.number(cell), Some(v));
                assert_eq!((projection.cell(v), projection.value(v)), (cell, interner.value(cell)));
                let ends = projection.graph().neighbors(v).iter();
                edges.extend(ends.map(|&to| (interner.value(cell), projection.value(to))));
            }
            assert_eq!(edges, pairs);
            assert_eq!(projection.number(interner.cell(&Value::Str("no such".to_owned()))), None);
        }
    }

    proptest! {
        #[test]
        fn vertices_are_the_distinct_values_in_order_and_edges_are_kept(
            pairs in prop::collection::vec((vertex(), vertex()), 0..20),
            lone in prop::collection::vec(vertex(), 0..4),
        ) {
            check(&pairs, &lone);
        }

        #[test]
        fn so_it_is_with_integers_alone(
            pairs in prop::collection::vec((-9_i64..30, -9_i64..30), 0..20),
            far in prop::option::of(any::<i64>()),
        ) {
            let pairs: Vec<_> =
                pairs.into_iter().map(|(a, b)| (Value::Int(a), Value::Int(b))).collect();
            let lone: Vec<_> = far.into_iter().map(Value::Int).collect();
            check(&pairs, &lone);
        }
    }
}
