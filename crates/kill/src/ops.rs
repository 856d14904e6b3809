//! Operations on graphs as a function of seed, stream and number, and their effect on a plain map.
//!
//! # Why two streams
//! Two threads of a child run a stream each, on graphs of their own. So imports, compactions and
//! backups of one run during commits of the other, and with `sync` both share syncs of the WAL.

use std::collections::BTreeMap;

/// Streams that a child runs concurrently. Exactly two: a message has one bit for the stream
/// (`message.rs`), and a backup looks at the other one.
pub(crate) const STREAMS: usize = 2;

/// Number of vertices that commits use.
const VERTICES: u64 = 96;

/// Number of targets that imports use. It is larger than [`VERTICES`], so most imported edges are
/// not edges that commits also write.
const IMPORT_TARGETS: u64 = 400;

/// Rows of each import file. The first two fit into the memory of a child, the third does not.
pub(crate) const IMPORT_ROWS: [usize; 3] = [300, 3_000, 40_000];

/// Edges of a graph, with the bits of their weights.
pub(crate) type Edges = BTreeMap<(u64, u64), u64>;

/// The state that a stream has written: a graph with float weights and one without weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) weighted: Edges,
    pub(crate) plain: Edges,
}

/// Edges by column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) src: Vec<u64>,
    pub(crate) dst: Vec<u64>,
}

impl State {
    /// Number of edges in both graphs.
    pub(crate) fn rows(&self) -> usize {
        self.weighted.len() + self.plain.len()
    }

    /// A digest of all edges, to compare with another process.
    pub(crate) fn digest(&self) -> u64 {
        let mut sum = 0_u64;
        for (graph, edges) in [&self.weighted, &self.plain].into_iter().enumerate() {
            for ((u, v), weight) in edges {
                let seed = Random::new(u << 32 ^ v << 1 ^ graph as u64).next() ^ weight;
                sum = sum.wrapping_add(Random::new(seed).next());
            }
        }
        sum
    }
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Upserts edges into the weighted graph; their weight is the operation's number.
    Upsert(Columns),
    /// Removes edges from the weighted graph.
    Remove(Columns),
    /// One transaction over both graphs, with upserts and removes in each.
    Transaction {
        upserts: Columns,
        removes: Columns,
        plain_upserts: Columns,
        plain_removes: Columns,
    },
    /// Removes all edges of a vertex from the weighted graph.
    RemoveVertex(u64),
    /// Empties the weighted graph.
    Clear,
    /// Imports the file of this number into the weighted graph.
    ImportFile(usize),
    /// Imports columns into the graph without weights.
    ImportColumns(Columns),
    /// Creates a graph, fills it and drops it; no trace is left at the end.
    Passing(Columns),
    Flush,
    Compact,
    Check,
    Backup,
}

impl Op {
    /// The operation of this number.
    pub(crate) fn of(seed: u64, stream: usize, number: u32) -> Self {
        let mut random = Random::new(seed ^ (stream as u64) << 61 ^ u64::from(number) << 20);
        match random.below(1000) {
            0..440 => Self::Upsert(random.columns(24)),
            440..560 => Self::Remove(random.columns(24)),
            560..780 => Self::Transaction {
                upserts: random.columns(16),
                removes: random.columns(8),
                plain_upserts: random.columns(16),
                plain_removes: random.columns(8),
            },
            780..800 => Self::RemoveVertex(random.below(VERTICES)),
            800..804 => Self::Clear,
            804..840 => Self::ImportFile(random.below(2) as usize),
            840..844 => Self::ImportFile(2),
            844..870 => Self::ImportColumns(random.columns(400)),
            870..880 => Self::Passing(random.columns(200)),
            880..920 => Self::Flush,
            920..950 => Self::Compact,
            950..970 => Self::Check,
            970.. => Self::Backup,
        }
    }

    /// The kind of the operation, in a word; kills are counted by it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Upsert(_) | Self::Remove(_) | Self::RemoveVertex(_) | Self::Clear => "write",
            Self::Transaction { .. } => "transaction",
            Self::ImportFile(_) | Self::ImportColumns(_) => "import",
            Self::Passing(_) => "create and drop",
            Self::Flush => "flush",
            Self::Compact => "compaction",
            Self::Check => "check",
            Self::Backup => "backup",
        }
    }

    /// Applies the operation of this number to plain maps.
    pub(crate) fn apply(&self, number: u32, files: &[Columns], state: &mut State) {
        let weight = weight_of(number).to_bits();
        match self {
            Self::Upsert(edges) => upsert(&mut state.weighted, edges, weight),
            Self::Remove(edges) => remove(&mut state.weighted, edges),
            Self::Transaction { upserts, removes, plain_upserts, plain_removes } => {
                upsert(&mut state.weighted, upserts, weight);
                remove(&mut state.weighted, removes);
                upsert(&mut state.plain, plain_upserts, 1.0_f64.to_bits());
                remove(&mut state.plain, plain_removes);
            }
            Self::RemoveVertex(v) => state.weighted.retain(|(a, b), _| a != v && b != v),
            Self::Clear => state.weighted.clear(),
            Self::ImportFile(file) => {
                let rows = &files[*file];
                for (row, (&u, &v)) in rows.src.iter().zip(&rows.dst).enumerate() {
                    state.weighted.insert((u, v), import_weight(*file, row).to_bits());
                }
            }
            Self::ImportColumns(edges) => upsert(&mut state.plain, edges, 1.0_f64.to_bits()),
            Self::Passing(_) | Self::Flush | Self::Compact | Self::Check | Self::Backup => {}
        }
    }
}

/// The weight that an operation writes.
pub(crate) fn weight_of(number: u32) -> f64 {
    f64::from(number)
}

/// The weight in a row of an imported file.
pub(crate) fn import_weight(file: usize, row: usize) -> f64 {
    (file * 1_000_000 + row) as f64 + 0.5
}

/// The rows of the import file of this number.
pub(crate) fn import_rows(seed: u64, file: usize) -> Columns {
    let mut random = Random::new(seed ^ 0xf11e ^ (file as u64) << 32);
    let mut rows = Columns::default();
    for _ in 0..IMPORT_ROWS[file] {
        rows.src.push(random.below(VERTICES));
        rows.dst.push(random.below(IMPORT_TARGETS));
    }
    rows
}

fn upsert(edges: &mut Edges, columns: &Columns, weight: u64) {
    edges.extend(columns.src.iter().zip(&columns.dst).map(|(&u, &v)| ((u, v), weight)));
}

fn remove(edges: &mut Edges, columns: &Columns) {
    for (&u, &v) in columns.src.iter().zip(&columns.dst) {
        edges.remove(&(u, v));
    }
}

/// The generator SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// One to `most` edges.
    fn columns(&mut self, most: u64) -> Columns {
        let count = 1 + self.below(most);
        let mut columns = Columns::default();
        for _ in 0..count {
            columns.src.push(self.below(VERTICES));
            columns.dst.push(self.below(VERTICES));
        }
        columns
    }
}
