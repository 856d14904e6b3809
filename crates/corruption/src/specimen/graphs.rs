//! Graphs with properties, without directions, and with parallel edges.

use super::Specimen;
use base::{Batch, Kind};
use model::{Json, Type, Value};
use relation::ValueColumn;
use std::sync::Arc;
use store::{Result, Store};
use views::graph::{Graph, GraphDef, GraphPart, VertexList, VertexType, WeightType, WeightsRef};

impl Specimen {
    /// Also a vertex without edges, and an edge that is removed.
    pub(super) fn properties_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let graph = Graph::open(store, properties_def())?;
        for round in 0..2 {
            for part in [GraphPart::Forward, GraphPart::Reverse, GraphPart::Nodes] {
                if let Some(keyspace) = graph.keyspace(part) {
                    let rows = properties_rows(part, round)?;
                    self.write(keyspace, rows, Kind::Put, Vec::new())?;
                }
            }
            if round == 0 {
                self.store.flush()?;
            }
        }
        graph.remove(1, 1).map(drop)
    }

    /// String vertices; edges written from either end, replaced, and removed.
    pub(super) fn undirected_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let weight = WeightType::Float;
        let def = GraphDef {
            is_undirected: true,
            ..GraphDef::new("undirected", VertexType::Str, weight)
        };
        let graph = Graph::open(store, def)?;
        let put = |us: [&str; 3], vs: [&str; 3], weights: [f64; 3]| {
            let (us, vs) = (VertexList::Str(&us), VertexList::Str(&vs));
            graph.upsert_list(us, vs, Some(WeightsRef::Float(&weights)))
        };
        put(["é", "b", "c"], ["b", "a", "c"], [0.5, 1.0, -2.0])?;
        self.store.flush()?;
        put(["a", "d", "b"], ["é", "c", "é"], [3.0, 4.0, 5.0])?;
        let mut words = Vec::new();
        graph.to_words(VertexList::Str(&["a", "b"]), &mut words)?;
        graph.remove(words[0], words[1]).map(drop)
    }

    /// Parallel edges with keys of either sign, replaced and removed.
    pub(super) fn parallel_sample(&self) -> Result<()> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let def = GraphDef {
            is_keyed: true,
            ..GraphDef::new("parallel", VertexType::U64, WeightType::Int)
        };
        let graph = Graph::open(store, def.clone())?;
        for round in 0..2 {
            for part in [GraphPart::Forward, GraphPart::Reverse] {
                let schema = def.part_schema(part);
                let mut rows = Batch::new(&schema.shape());
                for i in 2 * round..2 * round + 6 {
                    let mut row = vec![i / 4, i % 3, i - 3, 10 * i + round];
                    if part == GraphPart::Reverse {
                        row.swap(0, 1);
                    }
                    schema.append(row.into_iter().map(Value::Int).collect(), &mut rows)?;
                }
                if let Some(keyspace) = graph.keyspace(part) {
                    self.write(keyspace, rows, Kind::Put, Vec::new())?;
                }
            }
            if round == 0 {
                self.store.flush()?;
            }
        }
        graph.remove_keyed(0, 1, -2).map(drop)
    }
}

fn properties_def() -> GraphDef {
    let nullable = |name: &str, of| ValueColumn { nullable: true, ..ValueColumn::new(name, of) };
    GraphDef {
        edges: vec![nullable("since", Type::Int), nullable("more", Type::Json)],
        nodes: Some(vec![ValueColumn::new("kind", Type::String), nullable("year", Type::Int)]),
        ..GraphDef::new("properties", VertexType::U64, WeightType::Float)
    }
}

/// Rows of a part of a graph with properties, some of them null; each round overwrites some.
fn properties_rows(part: GraphPart, round: i64) -> Result<Batch> {
    let schema = properties_def().part_schema(part);
    let mut rows = Batch::new(&schema.shape());
    let null_or = |is_null: bool, value: Value| if is_null { Value::Null } else { value };
    for i in 3 * round..3 * round + 8 {
        let row = match part {
            GraphPart::Nodes => {
                let kind = Value::Str(format!("kind {}", (i + round) % 3));
                vec![Value::Int(i * i), kind, null_or(i % 2 == 0, Value::Int(1900 + i))]
            }
            _ => {
                let (src, dst) = (Value::Int(i), Value::Int(i * i % 7));
                let ends = if part == GraphPart::Forward { [src, dst] } else { [dst, src] };
                let more = Json::parse(&format!("[{i}, null]")).map(Value::Json);
                let more = more.map_err(|error| relation::invalid(error.to_string()))?;
                let since = null_or(i % 4 == 0, Value::Int(-i - round));
                let weight = Value::Float(i as f64 / 4.0);
                [ends.to_vec(), vec![weight, since, null_or(i % 3 == 0, more)]].concat()
            }
        };
        schema.append(row, &mut rows)?;
    }
    Ok(rows)
}
