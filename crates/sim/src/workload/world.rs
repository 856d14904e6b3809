//! State shared by the tasks of one life: the open database, the model, the counts, the first
//! failure.

use crate::env::SimEnv;
use crate::faults::Fault;
use crate::workload::ledger::Ledger;
use crate::workload::model::Model;
use crate::workload::plan::{BlobsStep, CountersStep, GraphStep, Step, Swarm};
use crate::workload::read::{Answer, ReadStep};
use crate::workload::spaces::{
    BLOBS, COUNTERS, FORWARD, Ids, LARGE, NAMES, REVERSE, SLOTS, Slot, blobs_def, counters_schema,
    shape,
};
use crate::workload::vault::Vault;
use base::{Corruption, KeyspaceId};
use env::{Env, Signal};
use kv::{Kv, KvOptions};
use relation::{BlobsPart, Definition, GraphDef, GraphPart, VertexType, WeightType};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Store};
use views::write_buffer::{Buffering, Registry};

/// Folder of the database.
pub const FOLDER: &str = "/db";
/// Folder in which imports spill.
pub const SPILL: &str = "/db/tmp";

thread_local! {
    /// The worlds of this thread. A store must be `Send` and a world is not, so stores find it by
    /// number. A simulated machine never changes threads.
    static WORLDS: RefCell<BTreeMap<u64, Weak<World>>> = const { RefCell::new(BTreeMap::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Counts over all runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Openings of the database that were verified.
    pub openings: u64,
    /// Steps executed, by name.
    pub steps: BTreeMap<&'static str, u64>,
    /// Commits acknowledged.
    pub commits: u64,
    /// Transactions that rightly conflicted.
    pub conflicts: u64,
    /// Answers compared with the model.
    pub answers: u64,
    /// Rows in these answers.
    pub rows: u64,
    /// Numbers of counters compared with the possible ones.
    pub counters: u64,
    /// Blobs compared, read through the view.
    pub blobs: u64,
    /// Backups acknowledged.
    pub backups: u64,
    /// Restores of unacknowledged backups that were rightly refused.
    pub backups_refused: u64,
    /// Restored databases opened and compared.
    pub restored: u64,
    /// Comparisons that were skipped: a commit in flight at a crash hides the backup's state from
    /// the model.
    pub unjudged: u64,
    /// Errors explained by a fault of the machine.
    pub errors: u64,
    /// Openings refused because of damage, with file and offset.
    pub refused: u64,
    /// Commits lost at the end of a damaged log, where only the newest record could have shown
    /// them.
    pub tails_lost: u64,
    /// Runs given up because the database could not be opened on a machine with faults.
    pub given_up: u64,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.openings += other.openings;
        for (name, count) in &other.steps {
            *self.steps.entry(name).or_default() += count;
        }
        self.commits += other.commits;
        self.conflicts += other.conflicts;
        self.answers += other.answers;
        self.rows += other.rows;
        self.counters += other.counters;
        self.blobs += other.blobs;
        self.backups += other.backups;
        self.backups_refused += other.backups_refused;
        self.restored += other.restored;
        self.unjudged += other.unjudged;
        self.errors += other.errors;
        self.refused += other.refused;
        self.tails_lost += other.tails_lost;
        self.given_up += other.given_up;
    }
}

/// State of one life; see the module's header.
pub struct World {
    /// Environment of the writer.
    pub env: Arc<SimEnv>,
    /// Environment of another process.
    pub second: Arc<SimEnv>,
    /// Settings of the run.
    pub swarm: Swarm,
    /// Expected content of the database.
    pub model: Rc<RefCell<Model>>,
    /// Possible values of counters under durability `none`.
    pub ledger: Rc<RefCell<Ledger>>,
    /// Expected content of backups.
    pub vault: Rc<RefCell<Vault>>,
    /// Counts.
    pub tally: Rc<RefCell<Tally>>,
    /// Number of failed syncs before this life.
    syncs_failed: u64,
    /// Number by which its stores find it.
    pub number: Cell<u64>,
    opened: RefCell<Option<Opened>>,
    /// Number of the newest opening.
    generation: Cell<u64>,
    /// Openings with smaller numbers are closed, or being closed.
    closed: Cell<u64>,
    /// Whether a write was refused with `Poisoned`.
    pub poisoned: Cell<bool>,
    /// Whether the run must end although nothing is wrong.
    pub stop: Cell<bool>,

    /// Notified when the database is open, and when a task ends.
    pub signal: Arc<dyn Signal>,
    /// Whether the opening is under way. Afterwards there is a database, or there never will be.
    pub opening: Cell<bool>,
    /// Number of tasks that still run.
    pub running: Cell<usize>,
    /// Whether the opening was compared with the model.
    pub verified: Cell<bool>,
    /// Whether the database was closed without an error.
    pub closed_cleanly: Cell<bool>,
    failure: RefCell<Option<String>>,
}

/// An open database and the number of its opening.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub kv: Arc<Kv>,
    /// Number of the opening.
    pub generation: u64,
    /// Write buffers, under durability `none`.
    pub registry: Option<Arc<Registry>>,
}

impl World {
    /// The state before the opening.
    #[must_use]
    pub fn new(
        env: Arc<SimEnv>,
        second: Arc<SimEnv>,
        swarm: Swarm,
        model: Rc<RefCell<Model>>,
        ledger: Rc<RefCell<Ledger>>,
        vault: Rc<RefCell<Vault>>,
        tally: Rc<RefCell<Tally>>,
    ) -> Rc<Self> {
        let signal = env.signal();
        let world = Rc::new(Self {
            syncs_failed: env.counts().of(Fault::SyncFails),
            env,
            second,
            swarm,
            model,
            ledger,
            vault,
            tally,
            number: Cell::new(0),
            opened: RefCell::new(None),
            generation: Cell::new(0),
            closed: Cell::new(0),
            poisoned: Cell::new(false),
            stop: Cell::new(false),
            signal,
            opening: Cell::new(true),
            running: Cell::new(0),
            verified: Cell::new(false),
            closed_cleanly: Cell::new(false),
            failure: RefCell::new(None),
        });
        world.number.set(enter(&world));
        world
    }

    /// The world with this number, if it is still there.
    pub(super) fn numbered(number: u64) -> Option<Rc<Self>> {
        WORLDS.with_borrow(|worlds| worlds.get(&number).and_then(Weak::upgrade))
    }

    /// Opens the store.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(&self, read_only: bool) -> store::Result<Kv> {
        let options = KvOptions { read_only, ..self.swarm.options() };
        let env: Arc<dyn Env> =
            if read_only { Arc::clone(&self.second) as _ } else { Arc::clone(&self.env) as _ };
        let kv = Kv::open(Arc::clone(&env), Path::new(FOLDER), options)?;
        // Only at the first opening of a life: an import into the closed database may still be
        // reading its runs.
        if !read_only && self.generation.get() == 0 {
            // Best effort: a run that stays only takes space.
            let _ = views::import::remove_stale_runs(&*env, Path::new(SPILL));
        }
        Ok(kv)
    }

    /// Publishes an open store, and its write buffers, to the tasks.
    pub(super) fn publish(&self, kv: Arc<Kv>, registry: Option<Arc<Registry>>) {
        self.generation.set(self.generation.get() + 1);
        let opened = Opened { kv, generation: self.generation.get(), registry };
        *self.opened.borrow_mut() = Some(opened);
        self.signal.notify();
    }

    /// Notes that the store is being closed, so that errors of its users are expected.
    pub fn closing(&self) {
        self.closed.set(self.generation.get() + 1);
    }

    /// The open store, if any.
    #[must_use]
    pub fn opened(&self) -> Option<Opened> {
        self.opened.borrow().clone()
    }

    /// Drops the store as the end of a process does: buffered increments are not written.
    pub fn let_go(&self) {
        let Some(opened) = self.opened.borrow_mut().take() else { return };
        let Some(registry) = &opened.registry else { return };
        self.model.borrow().live.values().for_each(|id| registry.end(*id));
    }

    /// Whether an opening has been closed.
    #[must_use]
    pub fn is_closed(&self, generation: u64) -> bool {
        generation < self.closed.get()
    }

    /// Records the first failure of the life.
    pub fn failed(&self, why: String) {
        self.failure.borrow_mut().get_or_insert(why);
        self.signal.notify();
    }

    /// The first failure of the life.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Whether tasks should end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stop.get() || self.failure.borrow().is_some()
    }

    /// The keyspaces of these slots; `None` where one does not exist.
    #[must_use]
    pub fn ids(&self, slots: &[Slot]) -> Option<Ids> {
        let model = self.model.borrow();
        slots.iter().map(|slot| Some((*slot, *model.live.get(slot)?))).collect()
    }

    /// Counts a step.
    pub fn count(&self, step: &Step) {
        let name = match step {
            Step::Write(..) => "write",
            Step::Begin(_) => "begin",
            Step::TxWrite(_) => "write in a transaction",
            Step::TxUndone(_) => "undo in a transaction",
            Step::TxRead(_) => "read in a transaction",
            Step::Commit => "commit",
            Step::Rollback => "roll back",
            Step::Read(_) => "read",
            Step::Hold => "hold",
            Step::HeldRead(_) => "read held",
            Step::LetGo => "let go",
            Step::Flush => "flush",
            Step::Compact => "compact",
            Step::Bulk(..) => "bulk load",
            Step::Create(_) => "create",
            Step::Drop(_) => "drop",
            Step::Check => "check",
            Step::Follow => "follow",
            Step::FollowRead(_) => "read in the follower",
            Step::Reopen => "reopen",
            Step::Graph(GraphStep::Import(_)) => "import",
            Step::Graph(GraphStep::Check(_)) => "check the graph",
            Step::Graph(_) => "write through the view",
            Step::Blobs(BlobsStep::Read(..)) => "read blobs",
            Step::Blobs(BlobsStep::Write(_)) => "write blobs",
            Step::Blobs(BlobsStep::Stream { .. }) => "write a blob in pieces",
            Step::Blobs(BlobsStep::Clear | BlobsStep::Collect) => "clear blobs",
            Step::TxBlobs(_) => "blobs in a transaction",
            Step::Counters(CountersStep::Write(_)) => "count",
            Step::Counters(CountersStep::Flush(_)) => "write what waits",
            Step::Counters(_) => "read counters",
            Step::TxCounters(_) => "count in a transaction",
            Step::Backup(_) => "backup",
            Step::Discard(_) => "discard",
            Step::Restore(_) => "restore",
            Step::Look(_) => "open what was restored",
            Step::Pause => "pause",
        };
        *self.tally.borrow_mut().steps.entry(name).or_default() += 1;
    }

    /// Whether a sync that failed in this life may have lost unsynced writes, without a crash.
    #[must_use]
    pub fn may_lose_unsynced(&self) -> bool {
        self.swarm.durability != Durability::Sync
            && self.env.counts().of(Fault::SyncFails) > self.syncs_failed
    }

    /// Accepts an error of the engine that the machine or another task explains.
    ///
    /// # Errors
    /// A message, if nothing explains it.
    pub fn tolerate(
        &self,
        doing: &str,
        error: &Error,
        touched: &Ids,
        generation: u64,
    ) -> Result<(), String> {
        if self.env.is_off() && matches!(error.kind(), ErrorKind::Io | ErrorKind::Poisoned) {
            // The machine is off; no later operation can succeed.
            self.poisoned.set(self.poisoned.get() || error.kind() == ErrorKind::Poisoned);
            return Ok(());
        }
        let model = self.model.borrow();
        let fine = match error.kind() {
            ErrorKind::InvalidInput => {
                self.is_closed(generation) || touched.values().any(|id| model.dropping.contains(id))
            }
            ErrorKind::Cancelled => self.is_closed(generation),
            ErrorKind::Limit => {
                // The sum that one commit adds to a key must fit a word. The model checks sums
                // across commits.
                self.swarm.transaction_bytes > 0 || error.to_string().contains("one commit adds")
            }
            ErrorKind::Poisoned => {
                self.poisoned.set(true);
                self.swarm.fails_for_good() || self.swarm.damages()
            }
            ErrorKind::Io => self.swarm.fails(),
            ErrorKind::Corruption => error.cause::<Corruption>().is_some() && self.swarm.damages(),
            _ => false,
        };
        self.tally.borrow_mut().errors += 1;
        if fine { Ok(()) } else { Err(format!("{doing}: {:?}: {error}", error.kind())) }
    }

    /// As [`World::tolerate`], for errors of `check`, which also reports failed reads.
    ///
    /// # Errors
    /// A message, if nothing explains it.
    pub fn tolerate_check(&self, error: &Error, generation: u64) -> Result<(), String> {
        let failing = self.swarm.fails() || self.env.is_off();
        if error.kind() == ErrorKind::Corruption && (failing || self.swarm.damages()) {
            self.tally.borrow_mut().errors += 1;
            return Ok(());
        }
        self.tolerate("check", error, &Ids::new(), generation)
    }

    /// As [`World::tolerate`], for an error of the follower.
    ///
    /// # Errors
    /// A message, if nothing explains it.
    pub fn tolerate_follower(&self, doing: &str, error: &Error) -> Result<(), String> {
        if self.second.is_off() && error.kind() != ErrorKind::Corruption {
            return Ok(());
        }
        let fine = match error.kind() {
            ErrorKind::Io => self.swarm.fails(),
            ErrorKind::Corruption => self.swarm.damages(),
            _ => false,
        };
        self.tally.borrow_mut().errors += 1;
        if fine { Ok(()) } else { Err(format!("{doing}: {:?}: {error}", error.kind())) }
    }

    /// Compares answers.
    ///
    /// # Errors
    /// The difference.
    pub fn compare(
        tally: &RefCell<Tally>,
        read: &ReadStep,
        found: &Answer,
        wanted: &Answer,
        moment: u64,
    ) -> Result<(), String> {
        let mut tally = tally.borrow_mut();
        tally.answers += 1;
        tally.rows += found.rows;
        if found == wanted {
            return Ok(());
        }
        let at = found.cells.iter().zip(&wanted.cells).position(|(a, b)| a != b);
        let at = at.unwrap_or(found.cells.len().min(wanted.cells.len()));
        let from = at.saturating_sub(6);
        let part = |answer: &Answer| {
            let end = answer.cells.len().min(at + 6);
            format!("{} rows, …{:?}…", answer.rows, &answer.cells[from.min(end)..end])
        };
        Err(format!(
            "{read} at moment {moment}: found {}, the model has {}",
            part(found),
            part(wanted)
        ))
    }
}

/// Registers a world for its stores; returns its number.
fn enter(world: &Rc<World>) -> u64 {
    let number = NEXT.get();
    NEXT.set(number + 1);
    WORLDS.with_borrow_mut(|worlds| {
        worlds.retain(|_, world| world.strong_count() > 0);
        worlds.insert(number, Rc::downgrade(world));
    });
    number
}

/// Settings of the write buffers.
#[must_use]
pub fn buffering(swarm: &Swarm) -> Buffering {
    Buffering {
        durability: swarm.durability,
        rows_max: swarm.waiting_rows,
        bytes_max: 1 << 20,
        commit_rows: swarm.commit_rows,
    }
}

/// Slots of the keyspaces that exist at the start of this run.
#[must_use]
pub fn slots(swarm: &Swarm) -> Vec<Slot> {
    let blobs = [BLOBS, LARGE].into_iter().filter(|_| swarm.blobs);
    // The last slots are created by steps of the run.
    (0..SLOTS - 2).chain(blobs).chain(COUNTERS.into_iter().filter(|_| swarm.counters)).collect()
}

/// Slots that a write to `slot` writes.
#[must_use]
pub fn written(slot: Slot) -> Vec<Slot> {
    if slot == FORWARD { vec![FORWARD, REVERSE] } else { vec![slot] }
}

/// The keyspaces of a store, by slot.
///
/// # Errors
/// A keyspace that was never created, or was created with other properties.
pub fn listed(kv: &Kv) -> Result<BTreeMap<Slot, KeyspaceId>, String> {
    let mut found = BTreeMap::new();
    for info in kv.keyspaces() {
        let slot = NAMES.iter().position(|name| *name == info.name);
        let slot = slot.ok_or_else(|| format!("a keyspace \"{}\" that nobody made", info.name))?;
        let slot = slot as Slot;
        if info.shape != shape(slot) || info.definition != definition(slot) {
            return Err(format!("keyspace \"{}\" was made with other columns", info.name));
        }
        if found.insert(slot, info.id).is_some() {
            return Err(format!("two keyspaces are called \"{}\"", info.name));
        }
    }
    Ok(found)
}

/// Definition of a keyspace of the workload.
#[must_use]
pub fn definition(slot: Slot) -> Vec<u8> {
    match slot {
        BLOBS => return Definition::Blobs(blobs_def(), BlobsPart::Rows).encode(),
        LARGE => return Definition::Blobs(blobs_def(), BlobsPart::Large).encode(),
        _ if COUNTERS.contains(&slot) => {
            return Definition::Relation(counters_schema(slot)).encode();
        }
        _ => {}
    }
    let part = match slot {
        FORWARD => GraphPart::Forward,
        REVERSE => GraphPart::Reverse,
        _ => return vec![slot; usize::from(slot)],
    };
    // The definition by which the view recognises its graph.
    let def = GraphDef::new(NAMES[usize::from(FORWARD)], VertexType::U64, WeightType::Int);
    Definition::Graph(def, part).encode()
}
