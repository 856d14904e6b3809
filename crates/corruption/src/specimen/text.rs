//! The content of a database as text, read in several ways.

use base::{Batch, Column, Key, KeyRange, KeyspaceId, Projection};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use store::{Result, Store};
use views::graph::Graph;

/// The content of a store, one line per row, keyspaces in order of their ids.
///
/// # Errors
/// Corruption, and failed reads.
pub fn content(store: &dyn Store) -> Result<String> {
    let mut text = String::new();
    for info in store.keyspaces() {
        let _ = writeln!(
            text,
            "{} {:?} {:?} {:02x?}",
            info.id.0, info.name, info.shape, info.definition
        );
        let mut rows = Batch::new(&info.shape);
        let mut scan = store.scan(info.id, KeyRange::all(&info.shape.key), Projection::ALL)?;
        while scan.next_batch(1000, &mut rows)? {}
        for i in 0..rows.rows {
            write_row(&rows, i, &mut text);
        }
    }
    Ok(text)
}

/// Adds the lines of a [`content`] to `rows`, by the line of their keyspace.
pub fn by_keyspace(content: &str, rows: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut head = "";
    for line in content.lines() {
        // A line of a row begins with a bracket or a letter, that of a keyspace with a digit.
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            head = line;
            rows.entry(head.to_owned()).or_default();
        } else if let Some(lines) = rows.get_mut(head) {
            lines.insert(line.to_owned());
        }
    }
}

/// The content as text, by other reads than [`content`] uses: single keys, many keys, first words,
/// counts; and a check that both directions of each graph of `Specimen::fill` agree. `want` has the
/// rows of the undamaged store, whose keys are read.
///
/// # Errors
/// Corruption, and failed reads.
pub fn other_ways(store: &Arc<dyn Store>, want: &[(KeyspaceId, Batch)]) -> Result<String> {
    let mut text = String::new();
    for (id, known) in want {
        let Some(info) = store.keyspaces().into_iter().find(|info| info.id == *id) else {
            let _ = writeln!(text, "{} is not there", id.0);
            continue;
        };
        let mut one = Batch::new(&info.shape);
        for i in 0..known.rows {
            let there = store.get(*id, known.keys.get(i).as_ref(), Projection::ALL, &mut one)?;
            let _ = write!(text, "{}", u8::from(there));
        }
        for i in 0..one.rows {
            write_row(&one, i, &mut text);
        }
        let (mut present, mut many) = (Vec::new(), Batch::new(&info.shape));
        store.get_many(*id, &known.keys, Projection::ALL, &mut present, &mut many)?;
        let _ = writeln!(text, "{present:?} {:?}", many.values);
        let _ = writeln!(text, "{} rows", store.count(*id)?);
        if info.shape.key_words() > 1 {
            let mut firsts = Vec::new();
            store.first_words(*id, &mut |words| firsts.extend_from_slice(words))?;
            firsts.push(1 << 40);
            let (mut offsets, mut rows) = (Vec::new(), Batch::new(&info.shape));
            store.prefix_many(*id, &firsts, Projection::ALL, &mut offsets, &mut rows)?;
            let _ = writeln!(text, "{firsts:?} {offsets:?} {:?} {:?}", rows.keys, rows.values);
        }
    }
    for name in ["plain", "weighted", "named"] {
        if let Some(graph) = Graph::find(Arc::clone(store), name)? {
            let _ = writeln!(text, "{name} {:?}", graph.check()?);
        }
    }
    Ok(text)
}

/// All rows, keyspace by keyspace.
///
/// # Errors
/// Corruption, and failed reads.
pub fn rows(store: &dyn Store) -> Result<Vec<(KeyspaceId, Batch)>> {
    let mut all = Vec::new();
    for info in store.keyspaces() {
        let mut rows = Batch::new(&info.shape);
        store.scan_into(
            info.id,
            &KeyRange::all(&info.shape.key),
            Projection::ALL,
            usize::MAX,
            &mut rows,
        )?;
        all.push((info.id, rows));
    }
    Ok(all)
}

fn write_row(rows: &Batch, i: usize, text: &mut String) {
    match rows.keys.get(i) {
        Key::Words { words, len } => {
            let _ = write!(text, "{:?}", &words[..usize::from(len)]);
        }
        Key::Bytes(bytes) => {
            let _ = write!(text, "{}", bytes.escape_ascii());
        }
    }
    for column in &rows.values {
        let _ = match column {
            Column::Words(words) => write!(text, " {:?}", words.get(i)),
            Column::Bytes(bytes) if bytes.validity.is_valid(i) => {
                write!(text, " {}", bytes.get(i).escape_ascii())
            }
            Column::Bytes(_) => write!(text, " None"),
        };
    }
    text.push('\n');
}
