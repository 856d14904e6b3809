//! A relation of edges as a graph of numbers, and the values that the numbers stand for.
//!
//! # Why numbered in the order of values
//! Ties among vertices then fall as they would among the values, so an answer does not depend on the order in which rows came.
//! Columns of a key come in ascending order too, so the graph is mostly built without moving an edge.
//!
//! # Invariants
//! 1. `vertices` ascend by value and hold no cell twice; vertex `v` of the graph is `vertices[v]`.
//! 2. [`Projection::number`] is the inverse of that.

use crate::cell::{Cell, Interner};
use algo::{Csr, NO_VERTEX, Watch};
use hashbrown::HashMap;
use std::sync::Arc;

/// A span of integers is looked up in a table if it is at most so many times as long as there are cells.
const SPAN_MAX: usize = 4;

/// A graph whose vertices are cells.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    vertices: Vec<Cell>,
    numbers: Numbers,
    graph: Arc<Csr>,
}

/// Columns of edges.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Where they begin.
    pub sources: Vec<Cell>,
    /// Where they end.
    pub targets: Vec<Cell>,
    /// What they weigh; `None` where each weighs 1.
    pub weights: Option<Vec<f64>>,
    /// Vertices that need no edge to be there.
    pub lone: Vec<Cell>,
}

impl Edges {
    /// How many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        let cells = self.sources.capacity() + self.targets.capacity() + self.lone.capacity();
        let weights = self.weights.as_ref().map_or(0, Vec::capacity);
        8 * (cells + weights) as u64
    }
}

impl Projection {
    /// The graph of these edges.
    ///
    /// # Errors
    /// [`algo::Error`]: too many vertices, weights that are not finite, a watch that stops it.
    pub(crate) fn new(
        edges: Edges,
        interner: &Interner,
        watch: &dyn Watch,
    ) -> Result<Self, algo::Error> {
        let Edges { sources, targets, weights, lone } = edges;
        let (vertices, numbers) = number([&sources, &targets, &lone], interner);
        let total = vertices.len();
        if total >= NO_VERTEX as usize {
            return Err(algo::Error::TooManyVertices { vertices: total });
        }
        let (sources, targets) = (numbers.of(sources), numbers.of(targets));
        let graph = Csr::from_edges(total, &sources, &targets, weights.as_deref(), watch)?;
        Ok(Self { vertices, numbers, graph: Arc::new(graph) })
    }

    /// A graph and its vertices, ascending and as many as it has.
    pub(crate) fn of_parts(vertices: Vec<Cell>, graph: Arc<Csr>) -> Self {
        let numbers = Numbers::Map(vertices.iter().copied().zip(0..).collect());
        Self { vertices, numbers, graph }
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Csr {
        &self.graph
    }

    /// The graph, to be kept.
    pub(crate) fn shared_graph(&self) -> Arc<Csr> {
        Arc::clone(&self.graph)
    }

    /// The same edges, and these vertices beside those that have edges.
    pub(crate) fn edges_and(&self, lone: Vec<Cell>) -> Edges {
        let mut sources = Vec::with_capacity(self.graph.targets().len());
        for (vertex, &cell) in (0_u32..).zip(&self.vertices) {
            sources.extend(std::iter::repeat_n(cell, self.graph.degree(vertex)));
        }
        let targets = self.graph.targets().iter().map(|&to| self.cell(to)).collect();
        let weights = self.graph.weights().map(<[f64]>::to_vec);
        Edges { sources, targets, weights, lone }
    }

    /// Its vertices, ascending.
    pub(crate) fn vertices(&self) -> &[Cell] {
        &self.vertices
    }

    /// The cell of a vertex.
    pub(crate) fn cell(&self, vertex: u32) -> Cell {
        self.vertices.get(vertex as usize).copied().unwrap_or(Cell::NULL)
    }

    /// The number of a cell, if it is a vertex.
    pub(crate) fn number(&self, cell: Cell) -> Option<u32> {
        self.numbers.get(cell)
    }

    /// The numbers of those cells that are vertices.
    pub(crate) fn numbers(&self, cells: &[Cell]) -> Vec<u32> {
        cells.iter().filter_map(|&cell| self.number(cell)).collect()
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let graph = 8 * self.graph.offsets().len()
            + self.graph.targets().len() * if self.graph.weights().is_some() { 12 } else { 4 };
        let numbers = match &self.numbers {
            Numbers::Span(_, numbers) => 4 * numbers.capacity(),
            Numbers::Map(numbers) => 17 * numbers.capacity(),
        };
        (graph + numbers + 8 * self.vertices.capacity()) as u64
    }
}

/// From cells to numbers.
#[derive(Debug)]
enum Numbers {
    /// Of integers from the first on; [`NO_VERTEX`] where there is none.
    Span(i64, Vec<u32>),
    /// Of any cells.
    Map(HashMap<Cell, u32>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Span(0, Vec::new())
    }
}

impl Numbers {
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

    /// The numbers of cells that are all there.
    fn of(&self, cells: Vec<Cell>) -> Vec<u32> {
        let mut last = (Cell::NULL, self.get(Cell::NULL).unwrap_or(NO_VERTEX));
        let number = |cell: Cell| {
            // Edges that leave one vertex mostly come together.
            if cell != last.0 {
                last = (cell, self.get(cell).unwrap_or(NO_VERTEX));
            }
            last.1
        };
        cells.into_iter().map(number).collect()
    }
}

/// The distinct cells of the columns, ascending, and their numbers.
fn number(columns: [&[Cell]; 3], interner: &Interner) -> (Vec<Cell>, Numbers) {
    let cells = || columns.iter().flat_map(|column| column.iter().copied());
    if let Some((first, last)) = int_span(cells()) {
        let total: usize = columns.iter().map(|column| column.len()).sum();
        let span = usize::try_from(last - first).unwrap_or(usize::MAX);
        if span / SPAN_MAX <= total {
            return number_span(first, span + 1, cells());
        }
    }
    let mut numbers: HashMap<Cell, u32> = HashMap::new();
    let mut vertices = Vec::new();
    for column in columns {
        let mut last = None;
        for &cell in column {
            if last != Some(cell) && numbers.insert(cell, 0).is_none() {
                vertices.push(cell);
            }
            last = Some(cell);
        }
    }
    interner.sort(&mut vertices);
    for (number, cell) in vertices.iter().enumerate() {
        if let Some(place) = numbers.get_mut(cell) {
            *place = u32::try_from(number).unwrap_or(NO_VERTEX);
        }
    }
    (vertices, Numbers::Map(numbers))
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

/// The least and the greatest integer, if all cells are small integers and there is one.
fn int_span(mut cells: impl Iterator<Item = Cell>) -> Option<(i64, i64)> {
    let first = cells.next()?.as_small_int()?;
    cells.try_fold((first, first), |(low, high), cell| {
        cell.as_small_int().map(|int| (low.min(int), high.max(int)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Value;
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
        let found = projection.vertices().iter().map(|&cell| interner.value(cell));
        assert_eq!(found.collect::<Vec<_>>(), want);
        let mut edges = Vec::new();
        for (v, &cell) in (0_u32..).zip(projection.vertices()) {
            assert_eq!(projection.number(cell), Some(v));
            let ends = projection.graph().neighbors(v).iter();
            edges.extend(
                ends.map(|&to| (interner.value(cell), interner.value(projection.cell(to)))),
            );
        }
        let mut pairs = pairs.to_vec();
        pairs.sort();
        assert_eq!(edges, pairs);
        assert_eq!(projection.number(interner.cell(&Value::Str("no such".to_owned()))), None);
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
