//! A small citation graph: written in a transaction, read from both ends, and opened again.
//!
//! `cargo run --example graph -p quipu`

use quipu::{Database, Edges, GraphOptions, Isolation, Options, Weight, WeightType};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("papers.quipu");
    let db = Database::open(&path, Options::default())?;
    let options = GraphOptions { weight: WeightType::Float, ..GraphOptions::default() };
    let cites = db.graph("cites", options)?;
    cites.upsert(1, 2, Some(Weight::Float(0.5)))?;

    // A transaction becomes visible as a whole at its commit, or not at all.
    let tx = db.transaction(Isolation::Snapshot);
    let in_tx = tx.graph("cites")?;
    in_tx.upsert(3, 2, Some(Weight::Float(1.0)))?;
    in_tx.upsert(2, 4, None)?;
    tx.commit()?;

    let mut ids = Vec::new();
    cites.predecessors(2, &mut ids)?;
    println!("2 is cited by {ids:?}");
    let mut edges = Edges::default();
    cites.edges(2, &mut edges)?;
    println!("edges of 2: from {:?} to {:?}", edges.src, edges.dst);
    db.close()?;

    let again = Database::open(&path, Options::default())?;
    let (count, weight) = again.require_graph("cites")?.degree(2)?;
    println!("opened again: vertex 2 has {count} edges of weight {weight}");
    again.close()?;
    Ok(())
}
