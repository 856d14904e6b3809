//! Runs the tasks of a machine; the seed decides which one runs.
//!
//! `Sim::run` calls [`run`]. Tasks switch in `env` and `machine`, at operations of the environment,
//! and here, where they find a lock taken.

#![allow(unsafe_code)] // The hook of locks gets no argument, so it finds the machine by a pointer.

use crate::coroutine::{Body, is_in_task, switch};
use crate::machine::Shared;
use crate::tasks::{Next, TaskId};
use std::cell::{Cell, RefCell};
use std::fmt;

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

thread_local! {
    /// The machine whose tasks run on this thread, for the hook of locks, which gets no argument.
    static MACHINE: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// Called by a task that finds a lock taken.
fn run_others() {
    let machine = MACHINE.get();
    assert!(is_in_task(), "a task that never ends holds this lock");
    // SAFETY: set by `run` on this thread, which holds the machine while tasks run.
    let shared = unsafe { &*machine };
    let mut state = shared.lock();
    state.tasks.spin();
    drop(state);
    switch();
}

/// A spawned task that has not started.
pub(crate) type NewTask = (&'static str, Box<dyn FnOnce()>);

/// Runs all tasks and jobs to their end. `new` collects the tasks spawned meanwhile.
pub(crate) fn run(shared: &Shared, new: &RefCell<Vec<NewTask>>) -> Result<(), Failure> {
    assert!(!is_in_task(), "a task cannot run a machine");
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
            let id = state.tasks.spawn(name);
            put(bodies, id, Body::new(task));
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
                put(bodies, id, Body::new(job));
                id
            }
        };
        tasks.run(id);
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
    let end = running.resume();
    env::sync::set_task(0);
    let mut state = shared.lock();
    state.tasks.suspend();
    let Some(panic) = end else { return Ok(()) };
    let name = state.tasks.end(id);
    drop(state);
    slot.take().into_iter().for_each(Body::reuse_stack);
    match panic {
        Some(message) => Err(Failure::Panic { task: name.to_owned(), message }),
        None => Ok(()),
    }
}
