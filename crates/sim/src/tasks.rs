//! The tasks of a machine: what each waits for, and the choice of the next one to run.
//!
//! Jobs are tasks that start when a worker of their process is free, as in the real environment:
//! one worker runs flushes only, the others flushes, foreground jobs and compactions, in this
//! order.
//!
//! # Invariants
//! 1. A task is in exactly one of these states: running (at most one), `ready`, waiting for a
//!    signal or for jobs, ended.
//! 2. A task that waits for a signal is ready only after a notification or its timeout. So a
//!    notification that the engine forgets is found as a deadlock.
//! 3. The clock jumps to the next timeout only when nothing else can run.

use crate::random::Random;
use env::{Job, JobKind};
use std::collections::VecDeque;

/// Rounds in which every task that can run finds its lock taken, before the clock advances.
const SPINS_UNTIL_TIMER: u32 = 16;

/// Number of such rounds that count as a deadlock.
const SPINS_UNTIL_DEADLOCK: u32 = 256;

/// Number of a task; numbers of ended tasks are reused.
pub(crate) type TaskId = u32;

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

/// The next thing to run.
pub(crate) enum Next {
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

    /// Adds a task that a test spawned.
    pub(crate) fn spawn(&mut self, name: &'static str) -> TaskId {
        let task = self.begin(name, 0, Worker::None);
        self.ready.push(task);
        task
    }

    /// Notes that a task runs now.
    pub(crate) fn run(&mut self, task: TaskId) {
        self.all[task as usize].wait = Wait::None;
        self.current = Some(task);
    }

    /// Notes that no task runs.
    pub(crate) fn suspend(&mut self) {
        self.current = None;
    }

    /// Makes the running task ready, if there is one; the caller then switches.
    pub(crate) fn yield_now(&mut self) -> bool {
        self.ready.extend(self.current);
        self.current.is_some()
    }

    /// Makes the running task, which found a lock taken, ready to try again; the caller then
    /// switches.
    pub(crate) fn spin(&mut self) {
        let task = self.current.expect("a task runs");
        self.all[task as usize].wait = Wait::Lock;
        self.spins += 1;
        self.steps += 1;
        self.ready.push(task);
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

    pub(crate) fn choose(
        &mut self,
        clock_us: &mut u64,
        choices: &mut Random,
        parallelism: usize,
    ) -> Next {
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

    /// Notes that a task has ended; returns its name.
    pub(crate) fn end(&mut self, task: TaskId) -> &'static str {
        self.stepped();
        let Task { name, process, worker, .. } = self.all[task as usize];
        self.all[task as usize].wait = Wait::Ended;
        self.free.push(task);
        let pool = &mut self.pools[process as usize];
        match worker {
            Worker::None => return name,
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
        name
    }

    pub(crate) fn report(&self) -> Vec<String> {
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
    pub(crate) fn abandon(&mut self) {
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
