//! `quipu neighbors`: prints the neighbors of one vertex.

use crate::args::Neighbors;
use crate::failure::Failure;
use crate::output::{note, open_to_read, print, print_json};
use quipu::{Graph, VertexColumn, VertexList, VertexType};
use serde_json::{Value, json};
use std::fmt::{Display, Write};

pub(crate) fn run(arguments: &Neighbors) -> Result<(), Failure> {
    let database = open_to_read(&arguments.db)?;
    let graph = database.require_graph(&arguments.graph)?;
    let vertex = word(&graph, &arguments.vertex)?;
    let mut words = Vec::new();
    let direction = match (arguments.out, arguments.incoming) {
        (true, _) => {
            graph.successors(vertex, &mut words)?;
            "out"
        }
        (_, true) => {
            graph.predecessors(vertex, &mut words)?;
            "in"
        }
        _ => {
            graph.neighbors(vertex, &mut words)?;
            "both"
        }
    };
    let found = words.len();
    if found == 0 && !graph.has_vertex(vertex)? {
        note(&format!("note: no edge of graph {:?} has vertex {}", graph.name(), arguments.vertex));
    }
    words.truncate(arguments.limit.unwrap_or(usize::MAX));
    let shown = graph.to_vertices(&words)?;
    if arguments.json {
        return print_json(&json!({
            "graph": graph.name(),
            "vertex": json_vertex(&graph, &arguments.vertex),
            "direction": direction,
            "count": found,
            "neighbors": json_column(&shown),
        }));
    }
    print(&lines(&shown))?;
    if words.len() < found {
        note(&format!("note: {} of {found} shown", words.len()));
    }
    Ok(())
}

/// The 64-bit word of the vertex that the user named.
fn word(graph: &Graph, text: &str) -> Result<u64, Failure> {
    let wrong = |expected: &str| {
        Failure::Request(format!(
            "{text:?} is no vertex of graph {:?}\nhint: its vertices are {expected}",
            graph.name()
        ))
    };
    let mut words = Vec::with_capacity(1);
    match graph.def().vertex {
        VertexType::U64 => {
            let vertex = text.parse().map_err(|_| wrong("integers from 0 to 2^64 - 1"))?;
            graph.to_words(VertexList::U64(&[vertex]), &mut words)?;
        }
        VertexType::I64 => {
            let vertex = text.parse().map_err(|_| wrong("integers from -2^63 to 2^63 - 1"))?;
            graph.to_words(VertexList::I64(&[vertex]), &mut words)?;
        }
        VertexType::Str => graph.to_words(VertexList::Str(&[text]), &mut words)?,
    }
    words.first().copied().ok_or_else(|| wrong("something else"))
}

fn lines(vertices: &VertexColumn) -> String {
    let mut text = String::new();
    let mut line = |vertex: &dyn Display| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{vertex}");
    };
    match vertices {
        VertexColumn::U64(words) => words.iter().for_each(|v| line(v)),
        VertexColumn::I64(ints) => ints.iter().for_each(|v| line(v)),
        VertexColumn::Str(names) => {
            (0..names.len()).for_each(|i| line(&String::from_utf8_lossy(names.get(i))));
        }
    }
    text
}

fn json_column(vertices: &VertexColumn) -> Value {
    match vertices {
        VertexColumn::U64(words) => json!(words),
        VertexColumn::I64(ints) => json!(ints),
        VertexColumn::Str(names) => {
            (0..names.len()).map(|i| json!(String::from_utf8_lossy(names.get(i)))).collect()
        }
    }
}

/// The vertex as a JSON number or string, by the type of the graph's vertices.
fn json_vertex(graph: &Graph, text: &str) -> Value {
    match graph.def().vertex {
        VertexType::U64 => text.parse::<u64>().map_or(Value::Null, Value::from),
        VertexType::I64 => text.parse::<i64>().map_or(Value::Null, Value::from),
        VertexType::Str => Value::from(text),
    }
}
