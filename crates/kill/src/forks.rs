//! Forked children of the process that is killed. They are forked at random times, inherit its open
//! database, and try everything that a child must not do.
//!
//! # Checks
//! Kills are verified as without forks: whatever the children tried, every acknowledged operation
//! is there, and nothing else. A child whose calls are not refused, or that does not end in time,
//! fails the run.
//!
//! # Why unsafe
//! `fork`, `waitpid` and the ways to end a process have no safe form in the standard library.
#![allow(unsafe_code)]

use crate::message::Message;
use crate::ops::Random;
use crate::outcome::Outcome;
use crate::process::wait_us;
use quipu::{
    BackupOptions, Blobs, Counters, Database, Entry, Error, ErrorKind, Graph, Isolation,
    Parameters, Tx,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// After this time a child counts as hanging. Most take some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Exit status of a child whose calls were not refused.
const NOT_REFUSED: i32 = 9;

/// Forks children until the process ends.
pub(crate) fn run(db: &Database, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed ^ 0xf0f0);
    loop {
        wait_us(random.below(8_000));
        let inherited = Inherited::open(db);
        let (work, end) = (random.next(), random.below(4));
        // SAFETY: the child has only this thread; it only runs `misuse`, and then ends.
        let child = unsafe { libc::fork() };
        match child {
            0 => inherited.misuse(work, end),
            child if child > 0 => wait(child, end)?,
            _ => return Err("no child can be made".to_owned()),
        }
        Message::Forked.say()?;
    }
}

/// The handles that the process has open when it forks.
struct Inherited {
    db: Database,
    tx: Tx,
    graphs: Vec<Graph>,
    blobs: Vec<Blobs>,
    counters: Vec<Counters>,
}

/// A call on an inherited object.
type Call = fn(&Inherited) -> Result<(), Error>;

impl Inherited {
    /// Opens everything in the database, except the objects that the streams drop meanwhile.
    fn open(db: &Database) -> Self {
        let (mut graphs, mut blobs, mut counters) = (Vec::new(), Vec::new(), Vec::new());
        for entry in db.list().unwrap_or_default() {
            match &entry {
                Entry::Graph(..) => graphs.extend(db.require_graph(entry.name())),
                Entry::Blobs(..) => blobs.extend(db.require_blobs(entry.name())),
                Entry::Relation(..) => counters.extend(db.require_counters(entry.name())),
                Entry::Nodes(..) => {}
            }
        }
        let tx = db.transaction(Isolation::Snapshot);
        Self { db: db.clone(), tx, graphs, blobs, counters }
    }

    /// In the child: tries all calls, starting with one that `work` selects, and ends the process
    /// in the way that `end` selects.
    fn misuse(self, work: u64, end: u64) -> ! {
        // Closes the inherited pipe: the reader of the parent's output waits for its end.
        // SAFETY: this process has one thread; both are its descriptors.
        unsafe {
            let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            libc::dup2(nowhere, 1);
        }
        let mut calls = self.calls();
        let from = work as usize % calls.len();
        calls.rotate_left(from);
        let count = 1 + (work >> 32) as usize % calls.len();
        for (name, call) in calls.iter().take(count) {
            match call(&self) {
                Err(error) if error.kind() == ErrorKind::Forked => {}
                outcome => {
                    let said = outcome.map_or_else(|error| error.to_string(), |()| "done".into());
                    eprintln!("WRONG: {name} in a child: {said}");
                    // SAFETY: ends this process.
                    unsafe { libc::_exit(NOT_REFUSED) };
                }
            }
        }
        let db = self.db.clone();
        if work & 1 == 0 {
            drop(self);
        }
        if work & 2 == 0 {
            let _ = db.close();
        }
        drop(db);
        // SAFETY: each of them ends this process.
        unsafe {
            match end {
                0 => libc::exit(0),
                1 => drop(libc::kill(libc::getpid(), libc::SIGKILL)),
                _ => {}
            }
            libc::_exit(0)
        }
    }

    fn calls(&self) -> Vec<(&'static str, Call)> {
        vec![
            ("flush", |all| all.db.flush()),
            ("compact", |all| all.db.compact()),
            ("check", |all| all.db.check(&|_, _| true).map(drop)),
            ("a script", |all| {
                let script = "?[k] <- [[1]] :create child {k}";
                all.db.run(script, &Parameters::new()).map(drop)
            }),
            ("a backup", |all| {
                let target = PathBuf::from("/nowhere/at/all");
                all.db.backup(target, &BackupOptions::default(), &|_, _| true).map(drop)
            }),
            ("a commit", |all| all.tx.commit()),
            ("a transaction", |all| all.db.transaction(Isolation::Serializable).commit()),
            ("a clear of a graph", |all| refused(&all.graphs, Graph::clear)),
            ("an upsert", |all| refused(&all.graphs, |graph| graph.upsert(1, 2, None))),
            ("a drop of a graph", |all| refused(&all.graphs, |graph| graph.clone().drop_graph())),
            ("a clear of blobs", |all| refused(&all.blobs, Blobs::clear)),
            ("a reset of counters", |all| refused(&all.counters, Counters::reset)),
            ("a flush of counters", |all| refused(&all.counters, Counters::flush)),
            ("a drop by name", |all| {
                let name = all.graphs.first().map_or("nothing", Graph::name);
                all.db.drop_entry(name).map(drop)
            }),
            ("figures", |all| all.db.stats().map(drop)),
        ]
    }
}

/// Calls `call` on all of them and returns the first outcome that is not a refusal, if there is
/// one.
fn refused<T>(all: &[T], call: impl Fn(&T) -> Result<(), Error>) -> Result<(), Error> {
    let mut last = Err(Error::new(ErrorKind::Forked, "there is nothing to call"));
    for one in all {
        last = call(one);
        if !last.as_ref().is_err_and(|error| error.kind() == ErrorKind::Forked) {
            return last;
        }
    }
    last
}

/// Waits for a child that was to end in the way `end`.
fn wait(child: libc::pid_t, end: u64) -> Outcome<()> {
    let (begin, mut status) = (Instant::now(), 0);
    loop {
        // SAFETY: a child of this process that was not waited for; the status is ours to write.
        let waited = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if waited == child {
            break;
        }
        if begin.elapsed() > PATIENCE {
            // SAFETY: as above.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return Err(format!("WRONG: child {child} hangs"));
        }
        wait_us(200);
    }
    let expected = if end == 1 { libc::SIGKILL } else { 0 };
    match status == expected {
        true => Ok(()),
        false => Err(format!("WRONG: child {child} ended with wait status {status:#x}")),
    }
}
