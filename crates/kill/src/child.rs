//! The process that is killed: runs both streams of operations, and reports the start and the end
//! of each on standard output. `parent.rs`, `values.rs` and `full.rs` start it.

use crate::arguments::Arguments;
use crate::backup::Backups;
use crate::database::{graph_name, graph_options, text};
use crate::message::Message;
use crate::ops::{Columns, Op, STREAMS, weight_of};
use crate::outcome::Outcome;
use crate::work::Work;
use crate::worker::Failure;
use crate::{files, forks, full};
use quipu::{Database, Graph, Isolation, VertexList, WeightsRef};
use std::path::PathBuf;

/// Runs until the parent kills it; with `--operations N`, until each stream has run N operations.
pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    // Otherwise a panic in a background job would be caught and only be seen on standard error.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let folder = arguments.needed_path("folder")?;
    let durability = files::durability(arguments.text("durability").unwrap_or("sync"))?;
    let seed = arguments.number("seed", 0)?;
    let work = Work::of(arguments)?;
    let options = work.options(seed, durability);
    let db = Database::open(&folder, options).map_err(|e| e.to_string())?;
    Message::Opened.say()?;
    if arguments.text("only") == Some("open") {
        return wait_for_the_end();
    }
    if arguments.number("forking", 0)? > 0 {
        let db = db.clone();
        std::thread::spawn(move || {
            if let Err(message) = forks::run(&db, seed) {
                eprintln!("{message}");
                std::process::abort();
            }
        });
    }
    let count = arguments.number("operations", u64::MAX)?;
    let mut threads = Vec::new();
    for stream in 0..STREAMS {
        let first = arguments.number(&format!("first{stream}"), 0)?;
        let last = first.saturating_add(count).min(u64::from(u32::MAX));
        let numbers = first as u32..last as u32;
        if let Some(mut worker) = work.worker(&db, seed, stream) {
            threads.push(std::thread::spawn(move || worker.run(stream, numbers)));
            continue;
        }
        let stream = Stream {
            db: db.clone(),
            seed,
            stream,
            inputs: arguments.needed_path("inputs")?,
            backups: Backups::new(&folder, stream),
        };
        threads.push(std::thread::spawn(move || stream.run(numbers)));
    }
    let mut failures = Vec::new();
    for thread in threads {
        let ended = thread.join().map_err(|_| "a stream ended in a panic".to_owned())?;
        failures.extend(ended.err());
    }
    match failures.first() {
        None => Ok(()),
        Some(_) if arguments.text("only") == Some("fill") => {
            full::after_failure(&db, &folder, &failures)
        }
        Some(first) => Err(first.to_string()),
    }
}

/// Blocks until the parent ends. The parent holds the other end of standard input, and closes it
/// only by ending this process.
fn wait_for_the_end() -> Outcome<()> {
    let mut nothing = String::new();
    std::io::stdin().read_line(&mut nothing).map(drop).map_err(|error| error.to_string())
}

/// The worker of one stream of graphs.
struct Stream {
    db: Database,
    seed: u64,
    stream: usize,
    inputs: PathBuf,
    backups: Backups,
}

impl Stream {
    fn run(mut self, numbers: std::ops::Range<u32>) -> Result<(), Failure> {
        let stream = self.stream;
        let failed =
            |number, operation| move |message| Failure { stream, number, operation, message };
        let open = |weighted| {
            let graph = self.db.graph(&graph_name(stream, weighted), graph_options(weighted));
            graph.map_err(text).map_err(failed(numbers.start, "opening a graph before"))
        };
        let (weighted, plain) = (open(true)?, open(false)?);
        for number in numbers {
            let op = Op::of(self.seed, stream, number);
            Message::Begins { stream, number }.say().map_err(failed(number, "telling of"))?;
            let done = self.perform(&op, number, &weighted, &plain);
            done.map_err(failed(number, op.name()))?;
            Message::Done { stream, number }.say().map_err(failed(number, "telling of"))?;
        }
        Ok(())
    }

    fn perform(&mut self, op: &Op, number: u32, weighted: &Graph, plain: &Graph) -> Outcome<()> {
        match op {
            Op::Upsert(edges) => upsert(weighted, edges, number),
            Op::Remove(edges) => remove(weighted, edges),
            Op::Transaction { upserts, removes, plain_upserts, plain_removes } => {
                let tx = self.db.transaction(Isolation::Snapshot);
                let (weighted, plain) = (graph_in(&tx, weighted)?, graph_in(&tx, plain)?);
                upsert(&weighted, upserts, number)?;
                remove(&weighted, removes)?;
                plain.upsert_many(&plain_upserts.src, &plain_upserts.dst, None).map_err(text)?;
                remove(&plain, plain_removes)?;
                tx.commit().map_err(text)
            }
            Op::RemoveVertex(v) => weighted.remove_vertex(*v).map(drop).map_err(text),
            Op::Clear => weighted.clear().map_err(text),
            Op::ImportFile(file) => {
                let path = files::import_file(&self.inputs, *file);
                let (env, options) = (self.db.env(), self.db.import_options());
                weighted.import_csv(env, &path, &options, &|_| true).map(drop).map_err(text)
            }
            Op::ImportColumns(edges) => self.import_columns(plain, edges),
            Op::Passing(edges) => {
                let name = format!("passing{}", self.stream);
                let graph = self.db.graph(&name, graph_options(false)).map_err(text)?;
                self.import_columns(&graph, edges)?;
                drop(graph);
                self.db.drop_graph(&name).map_err(text)
            }
            Op::Flush => self.db.flush().map_err(text),
            Op::Compact => self.db.compact().map_err(text),
            Op::Check => self.db.check(&|_, _| true).map(drop).map_err(text),
            Op::Backup => self.backups.make(&self.db, number),
        }
    }

    fn import_columns(&self, graph: &Graph, edges: &Columns) -> Outcome<()> {
        let (src, dst) = (VertexList::U64(&edges.src), VertexList::U64(&edges.dst));
        let options = self.db.import_options();
        graph
            .import_columns(self.db.env(), src, dst, None, &options, &|_| true)
            .map(drop)
            .map_err(text)
    }
}

fn graph_in(tx: &quipu::Tx, graph: &Graph) -> Outcome<Graph> {
    tx.graph(graph.name()).map_err(text)
}

fn upsert(graph: &Graph, edges: &Columns, number: u32) -> Outcome<()> {
    let weights = vec![weight_of(number); edges.src.len()];
    graph.upsert_many(&edges.src, &edges.dst, Some(WeightsRef::Float(&weights))).map_err(text)
}

fn remove(graph: &Graph, edges: &Columns) -> Outcome<()> {
    graph.remove_many(&edges.src, &edges.dst, &mut Vec::new()).map_err(text)
}
