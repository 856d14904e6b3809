//! `quipu stats`: prints the graphs, relations, indexes, blobs, counters and combined values of a
//! database, and the space that they take.

use crate::args::Stats;
use crate::failure::Failure;
use crate::output::{bytes, count, open_to_read, plural, print, print_json, table};
use quipu::{DatabaseStats, GraphStats, RelationStats};
use serde_json::{Value, json};

pub(crate) fn run(arguments: &Stats) -> Result<(), Failure> {
    let database = open_to_read(&arguments.db)?;
    let stats = database.stats()?;
    if arguments.json { print_json(&as_json(&stats)) } else { print(&as_text(&stats)) }
}

fn as_json(stats: &DatabaseStats) -> Value {
    let graph = |graph: &GraphStats| {
        json!({
            "name": graph.def.name,
            "vertex": graph.def.vertex.to_string(),
            "weight": graph.def.weight.to_string(),
            "edges": graph.edges,
            "vertices": graph.vertices,
            "disk_bytes": graph.disk_bytes,
            "memory_bytes": graph.memory_bytes,
            "tables": graph.tables,
        })
    };
    let relation = |relation: &RelationStats| {
        json!({
            "name": relation.name,
            "rows": relation.rows,
            "disk_bytes": relation.disk_bytes,
            "memory_bytes": relation.memory_bytes,
            "tables": relation.tables,
        })
    };
    json!({
        "disk_bytes": stats.disk_bytes,
        "log_bytes": stats.log_bytes,
        "commits": stats.commits,
        "activity": {
            "flushes": stats.activity.flushes,
            "compactions": stats.activity.compactions,
            "stalls": stats.activity.stalls,
            "stalled_us": stats.activity.stalled_us,
            "cache_misses": stats.activity.cache_misses,
            "compaction_error": stats.activity.compaction_error,
        },
        "graphs": stats.graphs.iter().map(graph).collect::<Vec<_>>(),
        "relations": stats.relations.iter().map(relation).collect::<Vec<_>>(),
        "indexes": stats.indexes.iter().map(relation).collect::<Vec<_>>(),
        "blobs": stats.blobs.iter().map(relation).collect::<Vec<_>>(),
        "counters": stats.counters.iter().map(relation).collect::<Vec<_>>(),
        "combined": stats.combined.iter().map(relation).collect::<Vec<_>>(),
    })
}

fn as_text(stats: &DatabaseStats) -> String {
    let mut text = format!(
        "{} in tables, {} in the log, {}\n",
        bytes(stats.disk_bytes),
        bytes(stats.log_bytes),
        plural(stats.commits, "commit", "commits"),
    );
    let kinds = [
        ("relation", "rows", &stats.relations),
        ("index", "rows", &stats.indexes),
        ("blobs", "keys", &stats.blobs),
        ("counters", "keys", &stats.counters),
        ("combined", "keys", &stats.combined),
    ];
    for (kind, unit, of_kind) in kinds {
        if of_kind.is_empty() {
            continue;
        }
        let mut rows = vec![[kind, unit, "in tables", "in memory"].map(str::to_owned).to_vec()];
        for relation in of_kind {
            rows.push(vec![
                relation.name.clone(),
                count(relation.rows),
                bytes(relation.disk_bytes),
                bytes(relation.memory_bytes),
            ]);
        }
        text.push('\n');
        text.push_str(&table(&rows));
    }
    if stats.graphs.is_empty() {
        let nothing_else = kinds.iter().all(|(.., of_kind)| of_kind.is_empty());
        return text + if nothing_else { "nothing in it yet\n" } else { "" };
    }
    let heads = ["graph", "vertices", "edges", "vertex", "weight", "in tables", "bytes an edge"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for graph in &stats.graphs {
        // Edges in the WAL and in memtables take no space in tables yet.
        let per_edge = graph.disk_bytes as f64 / graph.edges.max(1) as f64;
        rows.push(vec![
            graph.def.name.clone(),
            count(graph.vertices),
            count(graph.edges),
            graph.def.vertex.to_string(),
            graph.def.weight.to_string(),
            bytes(graph.disk_bytes),
            format!("{per_edge:.2}"),
        ]);
    }
    text.push('\n');
    text + &table(&rows)
}
