//! Runs tasks as coroutines on one thread; the seed decides which one runs.
//!
//! `Sim::run` calls [`run`]; `env` and `machine` switch tasks at every operation.
//!
//! A task has a stack of its own, so the engine's ordinary code can be suspended in the middle: at
//! an operation of the environment, at a lock that another task holds, at a signal that has not
//! come. Jobs are tasks that start when a worker of their process is free, as in the real
//! environment: one worker runs flushes only, the others flushes, foreground jobs and compactions,
//! in this order.
//!
//! # Invariants
//! 1. A task is in exactly one of these states: running (at most one), `ready`, waiting for a
//!    signal or for jobs, ended.
//! 2. A task that waits for a signal is ready only after a notification or its timeout. So a
//!    notification that the engine forgets is found as a deadlock.
//! 3. The clock jumps to the next timeout only when nothing else can run.
//!
//! # Unsafe
//! A coroutine gets its yielder as a reference to its own stack, and code deep in its calls must
//! find it to yield. So a thread-local holds a pointer to the running task's yielder (one block,
//! [`switch`]).

#![allow(unsafe_code)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use env::{Job, JobKind};

use crate::Random;
use crate::machine::Shared;

/// Stack size of a task, that of a usual thread. Only touched pages take memory.
const STACK_BYTES: usize = 2 << 20;
/// Rounds in which every task that can run finds its lock taken, before the clock advances.
const SPINS_UNTIL_TIMER: u32 = 16;
/// Number of such rounds that count as a deadlock.
const SPINS_UNTIL_DEADLOCK: u32 = 256;

/// Number of a task; numbers of ended tasks are reused.
pub(crate) type TaskId = u32;

/// How a run failed. Unfinished tasks never run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No task can run and no timeout is left.
    Deadlock {
        /// Each task and what it waits for, one per line.
        waiting: Vec<String>,
    },
    /// A task ended in a panic.
    Panic {
        /// The task's name.
        task: String,
        /// The panic's message.
        message: String,
    },
    /// More steps than [`crate::Settings::steps_max`]: the run seems endless.
    OutOfSteps {
        /// Each task and what it waits for, one per line.
        waiting: Vec<String>,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock { waiting } => {
                write!(f, "deadlock: no task can run\n  {}", waiting.join("\n  "))
            }
            Self::Panic { task, message } => write!(f, "task {task:?} panicked: {message}"),
            Self::OutOfSteps { waiting } => {
                write!(f, "the run does not end\n  {}", waiting.join("\n  "))
            }
        }
    }
}

impl std::error::Error for Failure {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Running or ready.
    None,
    /// Another task holds a lock that it wants; it tries again whenever it runs.
    Lock,
    /// A signal, with the time at which the wait ends (`u64::MAX`: never).
    Signal { until_us: u64 },
    /// The end of all jobs of a process.
    Jobs { process: u32 },
    /// It has ended.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    /// Not a job but a task that the test spawned.
    None,
    General,
    Flush,
}

#[derive(Debug)]
struct Task {
    name: &'static str,
    process: u32,
    worker: Worker,
    wait: Wait,
}

/// Queues and workers of a process.
#[derive(Default)]
struct Pool {
    flush: VecDeque<Job>,
    foreground: VecDeque<Job>,
    compaction: VecDeque<Job>,
    general_busy: usize,
    flush_busy: bool,
    /// Number of queued and running jobs.
    unfinished: usize,
}

impl Pool {
    fn can_start(&self, worker: Worker, parallelism: usize) -> bool {
        match worker {
            Worker::None => false,
            Worker::Flush => !self.flush_busy && !self.flush.is_empty(),
            Worker::General => {
                self.general_busy < parallelism
                    && !(self.flush.is_empty()
                        && self.foreground.is_empty()
                        && self.compaction.is_empty())
            }
        }
    }

    fn take(&mut self, worker: Worker) -> Option<(&'static str, Job)> {
        let named = |name| move |job| (name, job);
        let flush = self.flush.pop_front().map(named("flush job"));
        if worker == Worker::Flush {
            self.flush_busy = flush.is_some();
            return flush;
        }
        self.general_busy += 1;
        flush
            .or_else(|| self.foreground.pop_front().map(named("foreground job")))
            .or_else(|| self.compaction.pop_front().map(named("compaction job")))
    }
}

/// All tasks, with the state of the scheduler.
#[derive(Default)]
pub(crate) struct Tasks {
    all: Vec<Task>,
    /// Numbers of ended tasks, to be reused: loops over all tasks then stay short.
    free: Vec<TaskId>,
    ready: Vec<TaskId>,
    current: Option<TaskId>,
    pools: Vec<Pool>,
    /// Number of queued jobs in all pools. Usually 0, which answers quickly whether one can start.
    queued: usize,
    steps: u64,
    /// How often tasks found a lock taken since anything else happened.
    spins: u32,
    /// Number of waits with a timeout.
    timed: usize,
    /// Lower bound of all timeouts.
    timeout_us: u64,
}

/// The next thing to run.
enum Next {
    Resume(TaskId),
    Start(TaskId, Job),
    AllEnded,
    Deadlock,
    OutOfSteps,
}

impl Tasks {
    pub(crate) fn add_process(&mut self) {
        self.pools.push(Pool::default());
    }

    pub(crate) fn queue(&mut self, process: u32, kind: JobKind, job: Job) {
        let pool = &mut self.pools[process as usize];
        pool.unfinished += 1;
        self.queued += 1;
        match kind {
            JobKind::Flush => pool.flush.push_back(job),
            JobKind::Foreground => pool.foreground.push_back(job),
            JobKind::Compaction => pool.compaction.push_back(job),
        }
        self.stepped();
    }

    pub(crate) fn unfinished_jobs(&self, process: u32) -> usize {
        self.pools[process as usize].unfinished
    }

    /// The running task; `None` outside of tasks.
    pub(crate) fn current(&self) -> Option<TaskId> {
        self.current
    }

    pub(crate) fn current_name(&self) -> &'static str {
        self.current.map_or("no task", |task| self.all[task as usize].name)
    }

    /// Notes progress: something else happened than finding a lock taken.
    #[inline]
    pub(crate) fn stepped(&mut self) {
        self.steps += 1;
        self.spins = 0;
    }

    #[inline]
    pub(crate) fn others_can_run(&self, parallelism: usize) -> bool {
        !self.ready.is_empty() || (self.queued > 0 && self.startable(parallelism).next().is_some())
    }

    pub(crate) fn is_out_of_steps(&self, steps_max: u64) -> bool {
        self.steps > steps_max
    }

    fn startable(&self, parallelism: usize) -> impl Iterator<Item = (u32, Worker)> {
        let pools = (0..).zip(&self.pools);
        let workers =
            pools.flat_map(|(p, pool)| [Worker::General, Worker::Flush].map(|w| (p, w, pool)));
        workers.filter(move |(_, w, pool)| pool.can_start(*w, parallelism)).map(|(p, w, _)| (p, w))
    }

    fn begin(&mut self, name: &'static str, process: u32, worker: Worker) -> TaskId {
        let task = Task { name, process, worker, wait: Wait::None };
        if let Some(id) = self.free.pop() {
            self.all[id as usize] = task;
            return id;
        }
        self.all.push(task);
        (self.all.len() - 1) as TaskId
    }

    /// Makes the running task wait for a signal; the caller then switches.
    pub(crate) fn wait_for_signal(&mut self, task: TaskId, until_us: u64) {
        if until_us != u64::MAX {
            self.timeout_us =
                if self.timed == 0 { until_us } else { self.timeout_us.min(until_us) };
            self.timed += 1;
        }
        self.all[task as usize].wait = Wait::Signal { until_us };
        self.stepped();
    }

    pub(crate) fn wait_for_jobs(&mut self, task: TaskId, process: u32) {
        self.all[task as usize].wait = Wait::Jobs { process };
    }

    /// Wakes a task if it waits for a signal.
    pub(crate) fn wake(&mut self, task: TaskId) {
        if let Wait::Signal { until_us } = self.all[task as usize].wait {
            self.timed -= usize::from(until_us != u64::MAX);
            self.all[task as usize].wait = Wait::None;
            self.ready.push(task);
        }
    }

    /// The earliest timeout.
    fn next_timeout_us(&self) -> Option<u64> {
        let until = self.all.iter().filter_map(|task| match task.wait {
            Wait::Signal { until_us } if until_us != u64::MAX => Some(until_us),
            _ => None,
        });
        if self.timed == 0 { None } else { until.min() }
    }

    fn wake_timed_out(&mut self, now_us: u64) {
        for task in 0..self.all.len() {
            if matches!(self.all[task].wait, Wait::Signal { until_us } if until_us <= now_us) {
                self.wake(task as TaskId);
            }
        }
        self.timeout_us = self.next_timeout_us().unwrap_or(u64::MAX);
    }

    fn all_spin(&self) -> bool {
        self.ready.iter().all(|&task| self.all[task as usize].wait == Wait::Lock)
    }

    fn choose(&mut self, clock_us: &mut u64, choices: &mut Random, parallelism: usize) -> Next {
        loop {
            if self.timed > 0 && self.timeout_us <= *clock_us {
                self.wake_timed_out(*clock_us);
            }
            let startable = if self.queued == 0 { 0 } else { self.startable(parallelism).count() };
            let candidates = self.ready.len() + startable;
            let rounds = self.spins / (self.ready.len() as u32).max(1);
            let stuck = startable == 0 && rounds >= SPINS_UNTIL_TIMER && self.all_spin();
            if candidates == 0 || stuck {
                match self.next_timeout_us() {
                    Some(until_us) => {
                        *clock_us = until_us.max(*clock_us);
                        self.spins = 0;
                        continue;
                    }
                    None if candidates == 0 && self.has_ended() => return Next::AllEnded,
                    None if candidates == 0 || rounds >= SPINS_UNTIL_DEADLOCK => {
                        return Next::Deadlock;
                    }
                    None => {}
                }
            }
            let i = choices.index(candidates);
            if i < self.ready.len() {
                return Next::Resume(self.ready.swap_remove(i));
            }
            let (process, worker) = {
                let mut startable = self.startable(parallelism);
                startable.nth(i - self.ready.len()).expect("counted just now")
            };
            let job = self.pools[process as usize].take(worker);
            let (name, job) = job.expect("a worker starts only where a job is queued");
            self.queued -= 1;
            return Next::Start(self.begin(name, process, worker), job);
        }
    }

    fn has_ended(&self) -> bool {
        self.queued == 0 && self.all.iter().all(|task| task.wait == Wait::Ended)
    }

    fn end(&mut self, task: TaskId) {
        self.stepped();
        let Task { process, worker, .. } = self.all[task as usize];
        self.all[task as usize].wait = Wait::Ended;
        self.free.push(task);
        let pool = &mut self.pools[process as usize];
        match worker {
            Worker::None => return,
            Worker::General => pool.general_busy -= 1,
            Worker::Flush => pool.flush_busy = false,
        }
        pool.unfinished -= 1;
        if pool.unfinished == 0 {
            for (id, task) in (0..).zip(&mut self.all) {
                if task.wait == (Wait::Jobs { process }) {
                    task.wait = Wait::None;
                    self.ready.push(id);
                }
            }
        }
    }

    fn report(&self) -> Vec<String> {
        let waiting = (0..).zip(&self.all).filter(|(_, task)| task.wait != Wait::Ended);
        let line = |(id, task): (TaskId, &Task)| {
            let what = match task.wait {
                Wait::None => "runs".to_owned(),
                Wait::Lock => "waits for a lock".to_owned(),
                Wait::Signal { until_us: u64::MAX } => "waits for a signal".to_owned(),
                Wait::Signal { until_us } => format!("waits for a signal until {until_us} us"),
                Wait::Jobs { process } => format!("waits for all jobs of process {process}"),
                Wait::Ended => "has ended".to_owned(),
            };
            format!("task {id} {:?} of process {} {what}", task.name, task.process)
        };
        let queued = (self.queued > 0).then(|| format!("{} jobs are queued", self.queued));
        waiting.map(line).chain(queued).collect()
    }

    /// Abandons all unfinished tasks.
    fn abandon(&mut self) {
        self.ready.clear();
        self.timed = 0;
        self.all.iter_mut().for_each(|task| task.wait = Wait::Ended);
    }

    /// Removes the queued jobs. The caller drops them without holding a lock.
    pub(crate) fn take_jobs(&mut self) -> Vec<Job> {
        self.queued = 0;
        let queues = self
            .pools
            .iter_mut()
            .flat_map(|pool| [&mut pool.flush, &mut pool.foreground, &mut pool.compaction]);
        queues.flat_map(std::mem::take).collect()
    }
}

// --- coroutines --------------------------------------------------------------------------------

type Body = Coroutine<(), (), Option<String>, DefaultStack>;

thread_local! {
    /// Yielder of the task that runs on this thread; null outside of tasks.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
    /// The machine whose tasks run on this thread, for the hook of locks, which gets no argument.
    static MACHINE: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
    /// Stacks of ended tasks, to be reused: mapping one costs more than a short task.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

fn body(task: impl FnOnce() + 'static) -> Body {
    let stack = STACKS.with(|stacks| stacks.borrow_mut().pop());
    let new = || DefaultStack::new(STACK_BYTES).expect("the system has memory for a stack");
    Coroutine::with_stack(stack.unwrap_or_else(new), move |yielder, ()| {
        YIELDER.set(yielder);
        catch_unwind(AssertUnwindSafe(task)).err().map(|panic| message(&*panic))
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

/// Suspends the running task until it is chosen again.
///
/// # Panics
/// Outside of tasks.
pub(crate) fn switch() {
    let yielder = YIELDER.get();
    assert!(!yielder.is_null(), "only a task can wait: run this in Sim::spawn");
    // SAFETY: the pointer was set by the coroutine that runs now (`body` and the line below:
    // nothing else runs between a resume and them), and points to that coroutine's own stack, which
    // lives while it runs.
    unsafe { (*yielder).suspend(()) };
    YIELDER.set(yielder);
}

/// Lets another task run, if one can; the running one stays ready.
pub(crate) fn pause(shared: &Shared) {
    // No switch while a panic unwinds: the count of panics belongs to the thread, not to the task.
    if YIELDER.get().is_null() || std::thread::panicking() {
        return;
    }
    let mut state = shared.lock();
    let Some(task) = state.tasks.current else { return };
    state.tasks.ready.push(task);
    drop(state);
    switch();
}

/// Called by a task that finds a lock taken.
fn run_others() {
    let machine = MACHINE.get();
    assert!(!YIELDER.get().is_null(), "a task that never ends holds this lock");
    // SAFETY: set by `run` on this thread, which holds the machine while tasks run.
    let shared = unsafe { &*machine };
    let mut state = shared.lock();
    let task = state.tasks.current.expect("a task runs");
    state.tasks.all[task as usize].wait = Wait::Lock;
    state.tasks.spins += 1;
    state.tasks.steps += 1;
    state.tasks.ready.push(task);
    drop(state);
    switch();
}

/// A spawned task that has not started.
pub(crate) type NewTask = (&'static str, Box<dyn FnOnce()>);

/// Runs all tasks and jobs to their end. `new` collects the tasks spawned meanwhile.
pub(crate) fn run(shared: &Shared, new: &RefCell<Vec<NewTask>>) -> Result<(), Failure> {
    assert!(YIELDER.get().is_null(), "a task cannot run a machine");
    env::sync::on_contention(Some(run_others));
    MACHINE.set(shared);
    let mut bodies: Vec<Option<Body>> = Vec::new();
    let result = run_loop(shared, new, &mut bodies);
    if result.is_err() {
        let mut state = shared.lock();
        state.tasks.abandon();
        let jobs = state.tasks.take_jobs();
        drop(state);
        jobs.into_iter().for_each(std::mem::forget);
    }
    MACHINE.set(std::ptr::null());
    env::sync::on_contention(None);
    // Unfinished tasks are leaked: unwinding them would run the engine's destructors on a machine
    // that has stopped.
    bodies.into_iter().flatten().for_each(std::mem::forget);
    result
}

fn run_loop(
    shared: &Shared,
    new: &RefCell<Vec<NewTask>>,
    bodies: &mut Vec<Option<Body>>,
) -> Result<(), Failure> {
    loop {
        let begun: Vec<NewTask> = new.take();
        let mut guard = shared.lock();
        let state = &mut *guard;
        for (name, task) in begun {
            let id = state.tasks.begin(name, 0, Worker::None);
            state.tasks.ready.push(id);
            put(bodies, id, body(task));
        }
        let (settings, tasks) = (&state.settings, &mut state.tasks);
        let next = if tasks.is_out_of_steps(settings.steps_max) {
            Next::OutOfSteps
        } else {
            tasks.choose(&mut state.clock_us, &mut state.choices, settings.parallelism)
        };
        let id = match next {
            Next::AllEnded => return Ok(()),
            Next::Deadlock => return Err(Failure::Deadlock { waiting: tasks.report() }),
            Next::OutOfSteps => return Err(Failure::OutOfSteps { waiting: tasks.report() }),
            Next::Resume(id) => id,
            Next::Start(id, job) => {
                put(bodies, id, body(job));
                id
            }
        };
        tasks.all[id as usize].wait = Wait::None;
        tasks.current = Some(id);
        let clock_us = state.clock_us;
        state.mix(u64::from(id) ^ clock_us << 16);
        drop(guard);
        resume(shared, bodies, id)?;
    }
}

fn put(bodies: &mut Vec<Option<Body>>, id: TaskId, body: Body) {
    bodies.resize_with(bodies.len().max(id as usize + 1), || None);
    bodies[id as usize] = Some(body);
}

fn resume(shared: &Shared, bodies: &mut [Option<Body>], id: TaskId) -> Result<(), Failure> {
    let slot = &mut bodies[id as usize];
    let running = slot.as_mut().expect("a task that has not ended has a body");
    env::sync::set_task(u64::from(id) + 1);
    let end = running.resume(());
    env::sync::set_task(0);
    YIELDER.set(std::ptr::null());
    let mut state = shared.lock();
    state.tasks.current = None;
    let CoroutineResult::Return(panic) = end else { return Ok(()) };
    state.tasks.end(id);
    let name = state.tasks.all[id as usize].name;
    drop(state);
    let stack = slot.take().map(Coroutine::into_stack);
    STACKS.with(|stacks| stacks.borrow_mut().extend(stack));
    match panic {
        Some(message) => Err(Failure::Panic { task: name.to_owned(), message }),
        None => Ok(()),
    }
}
