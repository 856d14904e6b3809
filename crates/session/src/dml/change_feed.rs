//! The change feed: callbacks that get the changes of a relation after each commit.
//!
//! # Invariants
//! 1. Uncommitted changes are never reported.
//! 2. No lock of the engine is held while a callback runs, so it may run scripts.
//! 3. Callbacks are not nested on a thread: changes by a callback are reported when it has
//!    returned. So a callback that triggers itself is a loop, and does not overflow the stack.

use crate::dml::changed_rows::ReturnedRows;
use env::sync::RwLock;
use model::{Frame, Value};
use relation::Entry;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use store::ErrorKind;
use syntax::MutationOp;

/// How rows were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// They were put.
    Put,
    /// They were removed.
    Rm,
}

impl ChangedBy {
    /// `Put` or `Rm`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "Put",
            Self::Rm => "Rm",
        }
    }
}

/// The changes of one relation by one statement of a script, or by one import.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The relation's name.
    pub relation: String,
    /// How the rows were changed.
    pub by: ChangedBy,
    /// The rows that were put. For removed rows, the requested keys, whether they existed or not.
    pub new: Frame,
    /// The previous rows with these keys.
    pub old: Frame,
}

/// A function that receives changes.
pub type Callback = Arc<dyn Fn(&Changed) + Send + Sync>;

/// The registered callbacks.
#[derive(Default)]
pub(crate) struct Callbacks {
    next_id: AtomicU64,
    by_id: RwLock<BTreeMap<u64, (String, Callback)>>,
}

impl Callbacks {
    pub(crate) fn register(&self, relation: &str, callback: Callback) -> u64 {
        let id = self.next_id.fetch_add(1, Relaxed);
        self.by_id.write().insert(id, (relation.to_owned(), callback));
        id
    }

    pub(crate) fn unregister(&self, id: u64) -> bool {
        let removed = self.by_id.write().remove(&id);
        // The callback is dropped without the lock: its destructor may do anything.
        removed.is_some()
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.by_id.write());
        drop(all);
    }

    /// Whether a callback is registered for a relation.
    pub(crate) fn wants(&self, relation: &str) -> bool {
        self.by_id.read().values().any(|(name, _)| name == relation)
    }

    /// Passes changes to the callbacks of their relations.
    pub(crate) fn tell(&self, changed: Vec<Changed>) {
        let mut calls = VecDeque::new();
        for changed in changed {
            let by_id = self.by_id.read();
            let of_it = by_id.values().filter(|(name, _)| *name == changed.relation);
            let callbacks: Vec<Callback> =
                of_it.map(|(_, callback)| Arc::clone(callback)).collect();
            if !callbacks.is_empty() {
                calls.push_back((callbacks, changed));
            }
        }
        if !calls.is_empty() {
            run(calls);
        }
    }
}

type Calls = VecDeque<(Vec<Callback>, Changed)>;

thread_local! {
    /// Calls that wait on this thread for the running callback to return; `None` while none runs.
    static WAITING: RefCell<Option<Calls>> = const { RefCell::new(None) };
}

/// Removes the waiting calls when dropped.
struct Telling;

impl Drop for Telling {
    fn drop(&mut self) {
        let rest = WAITING.with(|waiting| waiting.borrow_mut().take());
        drop(rest);
    }
}

fn run(mut calls: Calls) {
    let is_inside = WAITING.with(|waiting| match &mut *waiting.borrow_mut() {
        Some(waiting) => {
            waiting.append(&mut calls);
            true
        }
        none => {
            *none = Some(Calls::new());
            false
        }
    });
    if is_inside {
        return;
    }
    let _telling = Telling;
    loop {
        while let Some((callbacks, changed)) = calls.pop_front() {
            for callback in callbacks {
                // The change is committed whatever a callback does, so its writer gets no error.
                // The panic was already reported.
                let _ = catch_unwind(AssertUnwindSafe(|| callback(&changed)));
            }
        }
        let more = WAITING.with(|waiting| waiting.borrow_mut().as_mut().map(std::mem::take));
        calls = more.unwrap_or_default();
        if calls.is_empty() {
            return;
        }
    }
}

/// The change of a relation, from the rows that it returned; `None` where nothing changed.
/// `columns` are the relation's, keys first.
pub(crate) fn of_returned(
    relation: &str,
    op: MutationOp,
    columns: &[String],
    keys: usize,
    returned: &ReturnedRows,
) -> Option<Changed> {
    if returned.is_empty() {
        return None;
    }
    let is_removal = matches!(op, MutationOp::Rm | MutationOp::Delete);
    let rows = |kinds: [&str; 2], width: usize| {
        let of_kind = returned.iter().filter(|(kind, _)| kinds.contains(kind));
        let rows: Vec<Vec<Value>> = of_kind.map(|(_, row)| row[..width].to_vec()).collect();
        Frame::of_rows(columns[..width].to_vec(), rows).unwrap_or_default()
    };
    Some(Changed {
        relation: relation.to_owned(),
        by: if is_removal { ChangedBy::Rm } else { ChangedBy::Put },
        new: rows(["inserted", "requested"], if is_removal { keys } else { columns.len() }),
        old: rows(["replaced", "deleted"], columns.len()),
    })
}

/// Refuses entries that are changed by calls without callbacks.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for such an entry.
pub(crate) fn refuse_other_writers(entry: &Entry, name: &str) -> store::Result<()> {
    let Some(kind) = crate::access::other_writers(entry) else { return Ok(()) };
    let what =
        format!("callbacks do not get changes that calls make to {kind}, and `{name}` is {kind}");
    let hint = "store such changes in a relation of their own, or react where the calls are made";
    Err(store::Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")))
}

impl Changed {
    /// Appends the following rows of the same change.
    pub(crate) fn append(&mut self, more: Self) {
        self.new.append(more.new);
        self.old.append(more.old);
    }
}
