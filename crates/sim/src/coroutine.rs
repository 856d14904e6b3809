//! Runs tasks as coroutines on one thread.
//!
//! A task has a stack of its own, so the engine's ordinary code can be suspended in the middle: at
//! an operation of the environment, at a lock that another task holds, while it waits for a signal.
//!
//! # Unsafe
//! A coroutine gets its yielder as a reference to its own stack, and code deep in its calls must
//! find it to yield. So a thread-local holds a pointer to the running task's yielder (one block,
//! [`switch`]).

#![allow(unsafe_code)]

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Stack size of a task, that of a usual thread. Only touched pages take memory.
const STACK_BYTES: usize = 2 << 20;

/// A task that is suspended, or has not started.
pub(crate) struct Body(Coroutine<(), (), Option<String>, DefaultStack>);

thread_local! {
    /// Yielder of the task that runs on this thread; null outside of tasks.
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
    /// Stacks of ended tasks, to be reused: mapping one costs more than a short task.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

impl Body {
    pub(crate) fn new(task: impl FnOnce() + 'static) -> Self {
        let stack = STACKS.with(|stacks| stacks.borrow_mut().pop());
        let new = || DefaultStack::new(STACK_BYTES).expect("the system has memory for a stack");
        Self(Coroutine::with_stack(stack.unwrap_or_else(new), move |yielder, ()| {
            YIELDER.set(yielder);
            catch_unwind(AssertUnwindSafe(task)).err().map(|panic| message(&*panic))
        }))
    }

    /// Runs the task until it is suspended (`None`) or has ended. An ended one returns the message
    /// of its panic, if it panicked.
    pub(crate) fn resume(&mut self) -> Option<Option<String>> {
        let end = self.0.resume(());
        YIELDER.set(std::ptr::null());
        match end {
            CoroutineResult::Return(panic) => Some(panic),
            CoroutineResult::Yield(()) => None,
        }
    }

    /// Keeps the stack of this ended task for a later one.
    pub(crate) fn reuse_stack(self) {
        STACKS.with(|stacks| stacks.borrow_mut().push(self.0.into_stack()));
    }
}

/// Whether a task runs on this thread.
pub(crate) fn is_in_task() -> bool {
    !YIELDER.get().is_null()
}

/// Suspends the running task until it is chosen again.
///
/// # Panics
/// Outside of tasks.
pub(crate) fn switch() {
    let yielder = YIELDER.get();
    assert!(!yielder.is_null(), "only a task can wait: run this in Sim::spawn");
    // SAFETY: the pointer was set by the coroutine that runs now (`Body::new` and the line below:
    // nothing else runs between a resume and them), and points to that coroutine's own stack, which
    // lives while it runs.
    unsafe { (*yielder).suspend(()) };
    YIELDER.set(yielder);
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}
