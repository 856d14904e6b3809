//! The pool of worker threads, the signals that workers and callers wait on, and `parallel`.
//!
//! # Why a pool of our own
//! A writer that waits for a flush must never wait for a compaction. So there are three queues,
//! served in the order flush, foreground, compaction. One additional thread takes only flushes, so
//! a flush starts immediately even if every other worker is busy for a minute.
//!
//! # Invariants
//! 1. Jobs of one kind start in the order in which they were spawned.
//! 2. A panic in a job ends that job only; the pool counts it ([`JobPool::panics`]).
//! 3. Dropping the pool runs the queued jobs, then joins the threads. A job may hold the last
//!    handle of the environment, so a worker may drop its own pool: that thread is not joined.
//! 4. A child of `fork` has no worker threads. There, the pool takes no lock, runs nothing and
//!    waits for nothing.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::environment::{Env, Job, JobKind, Signal};
use crate::owner::Owner;

/// Takes a lock and ignores poisoning: no holder can leave the state half-changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool of worker threads, which start when they are first needed.
#[derive(Debug)]
pub(crate) struct JobPool {
    owner: Owner,
    shared: Arc<Shared>,
    threads: usize,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes general workers.
    work: Condvar,
    /// Wakes the worker that takes only flushes.
    flush: Condvar,
    /// Wakes the threads that wait in [`JobPool::drain`].
    done: Condvar,
}

#[derive(Default)]
struct State {
    flush: VecDeque<Job>,
    foreground: VecDeque<Job>,
    compaction: VecDeque<Job>,
    /// Number of queued and running jobs.
    unfinished: usize,
    general_started: usize,
    general_idle: usize,
    flush_started: bool,
    flush_idle: bool,
    stopping: bool,
    panics: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("unfinished", &self.unfinished)
            .field("panics", &self.panics)
            .finish_non_exhaustive()
    }
}

impl JobPool {
    /// A pool of `threads` general workers (0: one per core) and one worker for flushes.
    pub(crate) fn new(threads: usize) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Self {
            owner: Owner::here(),
            shared: Arc::new(Shared {
                state: Mutex::default(),
                work: Condvar::new(),
                flush: Condvar::new(),
                done: Condvar::new(),
            }),
            threads: if threads == 0 { cores() } else { threads },
            handles: Mutex::default(),
        }
    }

    pub(crate) fn parallelism(&self) -> usize {
        self.threads
    }

    /// Number of jobs that have ended in a panic.
    pub(crate) fn panics(&self) -> u64 {
        if !self.owner.is_here() {
            return 0;
        }
        locked(&self.shared.state).panics
    }

    pub(crate) fn spawn(&self, kind: JobKind, job: Job) {
        if !self.owner.is_here() {
            // The job's captures belong to the parent process.
            std::mem::forget(job);
            return;
        }
        let mut state = locked(&self.shared.state);
        state.unfinished += 1;
        match kind {
            JobKind::Flush => state.flush.push_back(job),
            JobKind::Foreground => state.foreground.push_back(job),
            JobKind::Compaction => state.compaction.push_back(job),
        }
        if kind == JobKind::Flush && !state.flush_started {
            state.flush_started = true;
            self.start("quipu-flush".to_owned(), true);
        } else if kind == JobKind::Flush && state.flush_idle {
            self.shared.flush.notify_one();
        } else if state.general_idle > 0 {
            // A notified worker still counts as idle until it wakes. A second notification before
            // that is not lost: it wakes another worker, or the worker finds the job in the queue.
            self.shared.work.notify_one();
        }
        let queued = state.flush.len() + state.foreground.len() + state.compaction.len();
        // The first flush has its own worker. A second one at the same time gets a general worker.
        let wants_general = kind != JobKind::Flush || state.flush.len() > 1;
        if wants_general && queued > state.general_idle && state.general_started < self.threads {
            let number = state.general_started;
            state.general_started += 1;
            self.start(format!("quipu-job-{number}"), false);
        }
    }

    /// Waits until no job is queued or running. Must not be called from a job: it would wait for
    /// itself.
    pub(crate) fn drain(&self) {
        if !self.owner.is_here() {
            return;
        }
        let mut state = locked(&self.shared.state);
        while state.unfinished > 0 {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn start(&self, name: String, only_flush: bool) {
        let shared = Arc::clone(&self.shared);
        let handle = thread::Builder::new().name(name).spawn(move || shared.run(only_flush));
        // Without a worker thread no queued job would ever run, so a database cannot go on.
        locked(&self.handles).push(handle.expect("the system starts a worker thread"));
    }
}

impl Shared {
    fn run(&self, only_flush: bool) {
        let mut state = locked(&self.state);
        loop {
            let job = if only_flush { state.flush.pop_front() } else { state.next() };
            if let Some(job) = job {
                drop(state);
                let panicked = catch_unwind(AssertUnwindSafe(job)).is_err();
                state = locked(&self.state);
                state.panics += u64::from(panicked);
                state.unfinished -= 1;
                if state.unfinished == 0 {
                    self.done.notify_all();
                }
            } else if state.stopping {
                return;
            } else if only_flush {
                state.flush_idle = true;
                state = self.flush.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.flush_idle = false;
            } else {
                state.general_idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.general_idle -= 1;
            }
        }
    }
}

impl State {
    fn next(&mut self) -> Option<Job> {
        let first = self.flush.pop_front().or_else(|| self.foreground.pop_front());
        first.or_else(|| self.compaction.pop_front())
    }
}

impl Drop for JobPool {
    fn drop(&mut self) {
        if !self.owner.is_here() {
            // Neither joined nor detached: the threads do not exist in this process, and the jobs'
            // captures belong to the parent.
            std::mem::forget(std::mem::take(&mut self.handles));
            std::mem::forget(Arc::clone(&self.shared));
            return;
        }
        locked(&self.shared.state).stopping = true;
        self.shared.work.notify_all();
        self.shared.flush.notify_all();
        for handle in locked(&self.handles).drain(..) {
            if handle.thread().id() != thread::current().id() {
                // Workers catch panics of their jobs, so joining cannot fail.
                let _ = handle.join();
            }
        }
    }
}

/// A signal made of a mutex and a condition variable.
///
/// The generation counter closes the gap between checking and waiting: a notification after the
/// check increments the counter, and then the wait does not begin.
#[derive(Debug, Default)]
pub(crate) struct ThreadSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    generation: u64,
    /// Number of waiting threads. Without any, `notify` makes no system call: committing threads
    /// notify often, and usually nobody waits.
    waiters: usize,
}

impl ThreadSignal {
    fn wait(&self, deadline: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> bool {
        loop {
            let seen = locked(&self.state).generation;
            if ready() {
                return true;
            }
            let mut state = locked(&self.state);
            state.waiters += 1;
            let mut late = false;
            while state.generation == seen && !late {
                if let Some(deadline) = deadline {
                    let left = deadline.saturating_duration_since(Instant::now());
                    late = left.is_zero();
                    let waited = self.changed.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                } else {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
            state.waiters -= 1;
            drop(state);
            if late {
                return ready();
            }
        }
    }
}

impl Signal for ThreadSignal {
    fn notify(&self) {
        let mut state = locked(&self.state);
        state.generation += 1;
        if state.waiters > 0 {
            self.changed.notify_all();
        }
    }

    fn wait_until(&self, ready: &mut dyn FnMut() -> bool) {
        self.wait(None, ready);
    }

    fn wait_until_timeout(&self, timeout_us: u64, ready: &mut dyn FnMut() -> bool) -> bool {
        // A deadline that the clock cannot express counts as none.
        let deadline = Instant::now().checked_add(Duration::from_micros(timeout_us));
        self.wait(deadline, ready)
    }
}

/// Applies `f` to every item on up to [`Env::parallelism`] threads. Results are in the order of the
/// items.
///
/// The calling thread takes part, so this returns even if every worker is busy, and may be called
/// from a job. Items should take tens of microseconds or more: each costs three locks. `f` is
/// dropped before this returns, even if a worker is still about to exit.
///
/// # Panics
/// If `f` panics for an item: the first such panic is resumed here after all running items have
/// ended.
pub fn parallel<T, R, F>(env: &dyn Env, items: Vec<T>, f: F) -> Vec<R>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Fn(T) -> R + Send + Sync + 'static,
{
    let count = items.len();
    let helpers = env.parallelism().min(count).saturating_sub(1);
    if helpers == 0 {
        return items.into_iter().map(f).collect();
    }
    let work = Arc::new(Parallel {
        items: Mutex::new(items.into_iter().enumerate()),
        outcome: Mutex::new(Outcome { finished: 0, results: Vec::new(), panic: None }),
        done: env.signal(),
        count,
        f: Mutex::new(Some(Arc::new(f))),
    });
    for _ in 0..helpers {
        let work = Arc::clone(&work);
        env.spawn(JobKind::Foreground, Box::new(move || work.run()));
    }
    work.run();
    work.done.wait_until(&mut || locked(&work.outcome).finished == count);
    drop(locked(&work.f).take());
    let mut outcome = locked(&work.outcome);
    if let Some(panic) = outcome.panic.take() {
        drop(outcome);
        resume_unwind(panic);
    }
    let mut results = std::mem::take(&mut outcome.results);
    drop(outcome);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

struct Parallel<T, R, F> {
    items: Mutex<std::iter::Enumerate<std::vec::IntoIter<T>>>,
    outcome: Mutex<Outcome<R>>,
    done: Arc<dyn Signal>,
    count: usize,
    /// Taken when all items are done, because late workers still hold the rest of this structure.
    f: Mutex<Option<Arc<F>>>,
}

struct Outcome<R> {
    finished: usize,
    results: Vec<(usize, R)>,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

impl<T, R, F: Fn(T) -> R> Parallel<T, R, F> {
    fn run(&self) {
        loop {
            let Some((index, item)) = locked(&self.items).next() else { return };
            // The caller waits for every item that was taken, so `f` is still there.
            let Some(f) = locked(&self.f).clone() else { return };
            let result = catch_unwind(AssertUnwindSafe(|| f(item)));
            // Dropped before the item counts as finished, so that the caller drops the last
            // reference.
            drop(f);
            let mut outcome = locked(&self.outcome);
            outcome.finished += 1;
            match result {
                Ok(result) => outcome.results.push((index, result)),
                Err(panic) => outcome.panic = outcome.panic.take().or(Some(panic)),
            }
            let last = outcome.finished == self.count;
            drop(outcome);
            if last {
                self.done.notify();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_the_work_holds_is_given_back_before_its_results_are() {
        let env = crate::memory::MemoryEnv::new(4);
        for _ in 0..2000 {
            let held = Arc::new(());
            let inside = Arc::clone(&held);
            parallel(&env, vec![(); 4], move |()| Arc::strong_count(&inside));
            assert_eq!(Arc::strong_count(&held), 1, "a late helper holds it still");
        }
    }

    #[test]
    fn flushes_run_while_every_other_worker_is_busy() {
        let pool = JobPool::new(2);
        let gate = Arc::new(ThreadSignal::default());
        let open = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (gate, open) = (Arc::clone(&gate), Arc::clone(&open));
            let wait = move || gate.wait_until(&mut || open.load(Ordering::SeqCst) == 1);
            pool.spawn(JobKind::Compaction, Box::new(wait));
        }
        let (gate, open) = (Arc::clone(&gate), Arc::clone(&open));
        // Only the flush opens the gate. Without a worker of its own the pool would never drain.
        pool.spawn(
            JobKind::Flush,
            Box::new(move || {
                open.store(1, Ordering::SeqCst);
                gate.notify();
            }),
        );
        pool.drain();
    }

    #[test]
    fn a_panic_ends_its_job_only() {
        let pool = JobPool::new(1);
        let ran = Arc::new(AtomicUsize::new(0));
        pool.spawn(JobKind::Foreground, Box::new(|| resume_unwind(Box::new("on purpose"))));
        let counter = Arc::clone(&ran);
        let count = move || {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        pool.spawn(JobKind::Foreground, Box::new(count));
        pool.drain();
        assert_eq!((ran.load(Ordering::SeqCst), pool.panics()), (1, 1));
    }

    #[test]
    fn dropping_the_pool_runs_what_is_queued() {
        let ran = Arc::new(AtomicUsize::new(0));
        let pool = JobPool::new(2);
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            let count = move || {
                ran.fetch_add(1, Ordering::SeqCst);
            };
            pool.spawn(JobKind::Compaction, Box::new(count));
        }
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), 100);
    }

    #[test]
    fn a_job_may_hold_the_last_handle_of_its_pool() {
        let pool = Arc::new(JobPool::new(1));
        let ended = Arc::new(ThreadSignal::default());
        let flag = Arc::new(AtomicUsize::new(0));
        let (inner, signal, done) = (Arc::clone(&pool), Arc::clone(&ended), Arc::clone(&flag));
        let last = move || {
            // Waits until this job holds the last handle, then drops the pool from inside.
            while Arc::strong_count(&inner) > 1 {
                thread::yield_now();
            }
            drop(inner);
            done.store(1, Ordering::SeqCst);
            signal.notify();
        };
        pool.spawn(JobKind::Foreground, Box::new(last));
        drop(pool);
        ended.wait_until(&mut || flag.load(Ordering::SeqCst) == 1);
    }

    #[test]
    fn no_wake_up_is_lost_between_check_and_wait() {
        let signal = Arc::new(ThreadSignal::default());
        let turn = Arc::new(AtomicUsize::new(0));
        let other = {
            let (signal, turn) = (Arc::clone(&signal), Arc::clone(&turn));
            thread::spawn(move || play(&signal, &turn, 1))
        };
        play(&signal, &turn, 0);
        other.join().unwrap();
        assert_eq!(turn.load(Ordering::SeqCst), 2 * TURNS);
    }

    /// Turns of each thread. Fewer under Miri, which is slow.
    const TURNS: usize = if cfg!(miri) { 100 } else { 10_000 };

    /// Two threads take turns. After one lost wake-up both would wait forever.
    fn play(signal: &ThreadSignal, turn: &AtomicUsize, parity: usize) {
        for _ in 0..TURNS {
            signal.wait_until(&mut || turn.load(Ordering::SeqCst) % 2 == parity);
            turn.fetch_add(1, Ordering::SeqCst);
            signal.notify();
        }
    }

    #[test]
    fn a_wait_with_a_timeout_says_whether_it_was_ready() {
        let signal = ThreadSignal::default();
        assert!(!signal.wait_until_timeout(1, &mut || false));
        assert!(signal.wait_until_timeout(0, &mut || true));
    }
}
