//! Steps on the graph through its view: upserts, deletes, imports and reads, as users call them.
//!
//! # Why the same keyspaces
//! The workload's edges are a graph that the view recognises. Writes through the view and past it
//! therefore conflict, and one model checks both. In addition, the view's own check compares its
//! directions.

use super::{Outcome, Task, build, is_definite};
use crate::workload::model::State;
use crate::workload::plan::{GraphStep, ImportStep, RowStep, TableStep};
use crate::workload::recorder::Recorder;
use crate::workload::spaces::{Cell, FORWARD, Ids, NAMES, REVERSE, Span, key, row};
use crate::workload::teller::Recorded;
use crate::workload::world::{Opened, SPILL};
use base::{Key, KeyRef, KeyspaceId, Kind, SeqNo, int_to_word, word_to_int};
use env::Env;
use env::sync::Mutex;
use std::io::Cursor;
use std::rc::Rc;
use std::sync::Arc;
use store::{Result, Store};
use views::graph::{Edges, Graph, VertexList, Weights, WeightsRef};
use views::import::ImportOptions;

/// Memory of an import that must spill, and of one that need not, in bytes.
const LIMITS_BYTES: [u64; 2] = [256, 1 << 20];

/// Edges as columns.
#[derive(Default)]
struct Columns {
    us: Vec<u64>,
    vs: Vec<u64>,
    weights: Vec<i64>,
}

impl Columns {
    fn of(rows: &[RowStep]) -> Self {
        let mut columns = Self::default();
        for step in rows {
            let (u, v) = ends(&key(FORWARD, step.key));
            let weight = match row(FORWARD, step.seed).first() {
                Some(Cell::Word(word)) => word_to_int(*word),
                _ => unreachable!("every edge has a weight"),
            };
            columns.us.push(u);
            columns.vs.push(v);
            columns.weights.push(weight);
        }
        columns
    }

    fn text(&self) -> String {
        let mut text = "source,target,weight\n".to_owned();
        for ((u, v), weight) in self.us.iter().zip(&self.vs).zip(&self.weights) {
            text.push_str(&format!("{u},{v},{weight}\n"));
        }
        text
    }
}

fn ends(key: &Key) -> (u64, u64) {
    match key.as_ref() {
        KeyRef::Words([u, v]) => (*u, *v),
        _ => unreachable!("an edge has two ends"),
    }
}

impl Task {
    pub(super) fn graph(&self, opened: &Opened, step: &GraphStep) -> Outcome {
        let Some(ids) = self.world.ids(&[FORWARD, REVERSE]) else { return Ok(()) };
        match step {
            GraphStep::Upsert(rows) => {
                self.graph_write(opened, &ids, rows, &[], false, |graph, all| {
                    graph.upsert_many(&all.us, &all.vs, Some(WeightsRef::Int(&all.weights)))
                })
            }
            GraphStep::Remove(keys) => {
                let delete = |key: &u16| RowStep { key: *key, kind: Kind::Delete, seed: 0 };
                let rows: Vec<RowStep> = keys.iter().map(delete).collect();
                self.graph_write(opened, &ids, &rows, &[], true, |graph, all| {
                    graph.remove_many(&all.us, &all.vs, &mut Vec::new())
                })
            }
            GraphStep::Clear => {
                self.graph_write(opened, &ids, &[], &[Span::All], false, |graph, _| graph.clear())
            }
            GraphStep::Import(import) => self.import(opened, &ids, import),
            GraphStep::Check(key) => self.graph_check(opened, &ids, *key),
        }
    }

    fn graph_write(
        &self,
        opened: &Opened,
        ids: &Ids,
        rows: &[RowStep],
        spans: &[Span],
        tell: bool,
        call: impl FnOnce(&Graph, &Columns) -> Result<()>,
    ) -> Outcome {
        let table = TableStep { slot: FORWARD, spans: spans.to_vec(), rows: rows.to_vec() };
        let writes = build(&[table], ids);
        let columns = Columns::of(rows);
        self.commit_with(opened, ids, writes, tell, |existed| {
            let (graph, recorded) = through_the_view(opened)?;
            call(&graph, &columns)?;
            let recorded = recorded.lock().clone();
            existed.extend(recorded.existed);
            Ok(recorded.seq.unwrap_or(SeqNo::ZERO))
        })
    }

    fn import(&self, opened: &Opened, ids: &Ids, step: &ImportStep) -> Outcome {
        let world = &self.world;
        let table = TableStep { slot: FORWARD, spans: Vec::new(), rows: step.rows.clone() };
        let writes = build(&[table], ids);
        let columns = Columns::of(&step.rows);
        let options = ImportOptions {
            memory_limit_bytes: LIMITS_BYTES[usize::from(!step.spill)],
            spill_folder: Some(SPILL.into()),
            ..ImportOptions::default()
        };
        let poisoned = world.poisoned.get();
        let op = world.model.borrow_mut().begin(writes);
        let env: Arc<dyn Env> = Arc::clone(&world.env) as _;
        let import = || -> Result<(u64, SeqNo)> {
            let (graph, recorded) = through_the_view(opened)?;
            let report = if step.text {
                let text = Box::new(Cursor::new(columns.text().into_bytes()));
                graph.import_reader(&env, text, "edges", &options, &|_| true)?
            } else {
                let (us, vs) = (VertexList::U64(&columns.us), VertexList::U64(&columns.vs));
                let weights = Some(WeightsRef::Int(&columns.weights));
                graph.import_columns(&env, us, vs, weights, &options, &|_| true)?
            };
            let seq = recorded.lock().seq.unwrap_or(SeqNo::ZERO);
            Ok((report.rows, seq))
        };
        let done = import();
        let mut model = world.model.borrow_mut();
        match done {
            Ok((rows, _)) if rows != step.rows.len() as u64 => {
                Err(format!("an import of {} rows read {rows}", step.rows.len()))
            }
            Ok((_, seq)) => {
                world.tally.borrow_mut().commits += 1;
                model.durable = model.durable.max(seq.0);
                model.place(op, seq.0, &[])
            }
            Err(error) => {
                if is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                drop(model);
                world.tolerate("import", &error, ids, opened.generation)
            }
        }
    }

    /// Runs the view's check at a snapshot, and reads a vertex's edges in both directions.
    fn graph_check(&self, opened: &Opened, ids: &Ids, number: u16) -> Outcome {
        let acknowledged = self.world.model.borrow().acknowledged;
        let snapshot = opened.kv.snapshot();
        let seq = snapshot.seq().0;
        self.seen(opened, seq, acknowledged, "a snapshot")?;
        let env: Arc<dyn Env> = Arc::clone(&self.world.env) as _;
        let (u, v) = ends(&key(FORWARD, number));
        let ask = || -> Result<(u64, u64, Vec<[u64; 3]>)> {
            let (graph, _) = through_the_view(opened)?;
            let graph = graph.at(&snapshot);
            let check = graph.check_with(Some(&env), &|_| true)?;
            let mut edges = Edges::default();
            graph.out_edges(u, &mut edges)?;
            let mut found = rows_of(&edges);
            graph.in_edges(v, &mut edges)?;
            found.extend(rows_of(&edges));
            Ok((check.edges, graph.number_of_edges()?, found))
        };
        let (checked, count, found) = match ask() {
            Ok(answer) => answer,
            Err(error) => {
                return self.world.tolerate("check a graph", &error, ids, opened.generation);
            }
        };
        let (forward, tally) = (ids[&FORWARD], Rc::clone(&self.world.tally));
        self.world.model.borrow_mut().when_known(seq, move |model| {
            let Some(state) = model.state(seq) else { return Ok(()) };
            let all = edges_of(state, forward);
            let out = all.iter().filter(|edge| edge[0] == u);
            let wanted: Vec<[u64; 3]> = out.chain(all.iter().filter(|edge| edge[1] == v)).copied().collect();
            tally.borrow_mut().answers += 1;
            tally.borrow_mut().rows += found.len() as u64;
            if (checked, count, &found) == (all.len() as u64, all.len() as u64, &wanted) {
                return Ok(());
            }
            Err(format!(
                "the view at moment {seq}: {checked} edges checked, {count} counted, of {u} and to {v} {found:?}; \
                 the model has {} and {wanted:?}",
                all.len(),
            ))
        })
    }
}

/// The graph's view, and the record of its next commit.
fn through_the_view(opened: &Opened) -> Result<(Graph, Arc<Mutex<Recorded>>)> {
    let store = Recorder::new(Arc::clone(&opened.kv));
    let recorded = store.recorded();
    let store: Arc<dyn Store> = Arc::new(store);
    match Graph::find(store, NAMES[usize::from(FORWARD)])? {
        Some(graph) => Ok((graph, recorded)),
        None => Err(relation::invalid("the graph is not there")),
    }
}

fn rows_of(edges: &Edges) -> Vec<[u64; 3]> {
    let weight = |i: usize| match &edges.weight {
        Weights::Int(weights) => int_to_word(weights[i]),
        _ => unreachable!("weights are integers"),
    };
    (0..edges.len()).map(|i| [edges.src[i], edges.dst[i], weight(i)]).collect()
}

fn edges_of(state: &State, id: KeyspaceId) -> Vec<[u64; 3]> {
    let rows = state.rows(id);
    let edge = |(key, row): (&Key, &Rc<Vec<Cell>>)| {
        let (u, v) = ends(key);
        match row.first() {
            Some(Cell::Word(word)) => [u, v, *word],
            _ => unreachable!("every edge has a weight"),
        }
    };
    rows.iter().map(edge).collect()
}
