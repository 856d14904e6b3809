//! Counts the distinct edges and vertices of imported rows, and those that exist already.

use model::{Frame, Series, Value, Values};
use std::collections::HashMap;
use store::Result;
use views::graph::{Graph, VertexList, VertexType};

/// Numbers of distinct rows.
pub(crate) struct Distinct {
    pub(crate) distinct: u64,
    /// Those that existed before.
    pub(crate) existing: u64,
}

/// The vertices of some columns as numbers: equal ones have equal numbers.
struct Numbered {
    columns: Vec<Vec<u64>>,
    /// The strings by number; `None`: the numbers are the vertices, as words of 64 bits.
    texts: Option<Vec<String>>,
}

impl Distinct {
    /// Counts the edges of rows with the columns `src` and `dst`.
    ///
    /// # Errors
    /// Those of reading the graph.
    pub(crate) fn of_edges(graph: &Graph, rows: &Frame) -> Result<Self> {
        let (Some(src), Some(dst)) = (rows.column("src"), rows.column("dst")) else {
            return Ok(Self { distinct: 0, existing: 0 });
        };
        let numbered = Numbered::of(&[src, dst], graph.def().vertex);
        let [src, dst] = numbered.columns.as_slice() else { unreachable!("two columns") };
        let keys = rows.column("key").filter(|_| graph.def().is_keyed);
        let key = |row| keys.map_or(0, |keys| word(keys, row, VertexType::U64).cast_signed());
        // Two ends of an undirected edge are the same in any order, also that of these numbers.
        let ends = src.iter().zip(dst).map(|(&u, &v)| graph.def().in_order(u, v)).enumerate();
        let mut edges: Vec<((u64, u64), i64)> = ends.map(|(row, ends)| (ends, key(row))).collect();
        edges.sort_unstable();
        edges.dedup();
        let distinct = edges.len() as u64;
        if graph.number_of_edges()? == 0 {
            return Ok(Self { distinct, existing: 0 });
        }
        let (ends, keys): (Vec<(u64, u64)>, Vec<i64>) = edges.into_iter().unzip();
        let (mut us, mut vs): (Vec<u64>, Vec<u64>) = ends.into_iter().unzip();
        if let Some(texts) = &numbered.texts {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut words = Vec::new();
            graph.to_words(VertexList::Str(&texts), &mut words)?;
            us.iter_mut().chain(&mut vs).for_each(|end| *end = words[*end as usize]);
        }
        let mut present = Vec::new();
        match graph.def().is_keyed {
            true => graph.has_keyed_edge_many(&us, &vs, &keys, &mut present)?,
            false => graph.has_edge_many(&us, &vs, &mut present)?,
        }
        let existing = present.iter().filter(|present| **present).count() as u64;
        Ok(Self { distinct, existing })
    }

    /// Counts the distinct vertices of rows with the column `vertex`.
    pub(crate) fn of_vertices(graph: &Graph, rows: &Frame) -> u64 {
        let Some(vertex) = rows.column("vertex") else { return 0 };
        let mut numbered = Numbered::of(&[vertex], graph.def().vertex);
        let mut all = numbered.columns.pop().unwrap_or_default();
        all.sort_unstable();
        all.dedup();
        all.len() as u64
    }
}

impl Numbered {
    fn of(columns: &[&Series], vertex: VertexType) -> Self {
        if vertex == VertexType::Str {
            let mut numbers: HashMap<String, u64> = HashMap::new();
            let mut texts = Vec::new();
            let mut number = |text: String| {
                *numbers.entry(text).or_insert_with_key(|text| {
                    texts.push(text.clone());
                    texts.len() as u64 - 1
                })
            };
            let mut of = |series: &&Series| {
                let text = |row| match series.value(row) {
                    Value::Str(text) => text,
                    other => other.to_string(),
                };
                (0..series.len()).map(|row| number(text(row))).collect()
            };
            let columns = columns.iter().map(&mut of).collect();
            return Self { columns, texts: Some(texts) };
        }
        let of =
            |series: &&Series| (0..series.len()).map(|row| word(series, row, vertex)).collect();
        Self { columns: columns.iter().map(of).collect(), texts: None }
    }
}

/// An integer vertex as the graph stores it, or the bits of a key (as those of `U64`). What is none
/// is refused when it is written.
fn word(series: &Series, row: usize, vertex: VertexType) -> u64 {
    let word = |int: i64| match vertex {
        VertexType::I64 => ingest::i64_to_word(int),
        VertexType::U64 | VertexType::Str => int.cast_unsigned(),
    };
    match &series.values {
        Values::Int(values) => word(values[row]),
        Values::Id(values) if vertex == VertexType::U64 => values[row],
        _ => match series.value(row) {
            Value::Int(int) => word(int),
            Value::Id(id) => id,
            Value::Float(float) => word(float as i64),
            _ => 0,
        },
    }
}
