//! Children of `fork`, for `fork.rs`: starts a child, passes messages both ways, and waits for its
//! end.
//!
//! # Why unsafe
//! `fork`, `_exit`, `waitpid`, `kill` and `poll` have no safe form in the standard library.
#![allow(unsafe_code)]

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A child that reports nothing for this long hangs. Only a failing test waits for it to expire.
const SILENCE_MS: i32 = 60_000;

/// A guard that each test holds. So tests run one at a time, and a child inherits only the handles
/// of its test.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Immediately, as by `os._exit`.
    AtOnce,
    /// Like a program that returns from `main`: exit handlers run.
    Exit,
    /// By a signal that cannot be caught.
    Killed,
}

/// A running child.
pub(crate) struct Child {
    pub(crate) process: i32,
    report: PipeReader,
    /// Dropping it lets a child continue that waits for it.
    go_on: Option<PipeWriter>,
}

/// A child's connection to its parent.
pub(crate) struct Side {
    report: PipeWriter,
    go_on: PipeReader,
}

impl Side {
    /// Sends a message to the parent.
    pub(crate) fn say(&mut self, text: &str) {
        self.report.write_all(text.as_bytes()).unwrap();
    }

    /// Whether this is one of its descriptors.
    pub(crate) fn needs(&self, descriptor: i32) -> bool {
        [self.report.as_raw_fd(), self.go_on.as_raw_fd()].contains(&descriptor)
    }

    /// Waits until the parent lets it continue, or has ended.
    pub(crate) fn wait(&mut self) {
        let _ = self.go_on.read(&mut [0]);
    }
}

/// Forks. The child runs `work` and ends as `end` says, with status 7 after a panic.
pub(crate) fn fork(end: End, work: impl FnOnce(&mut Side)) -> Child {
    let (report_from, report_to) = pipe().unwrap();
    let (go_from, go_to) = pipe().unwrap();
    // SAFETY: the child calls nothing but what `work` does before it ends; that is what is tested.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "a process can be made");
    if process > 0 {
        return Child { process, report: report_from, go_on: Some(go_to) };
    }
    drop((report_from, go_to));
    let mut side = Side { report: report_to, go_on: go_from };
    let done = catch_unwind(AssertUnwindSafe(|| work(&mut side)));
    if let Err(panic) = &done {
        let what = panic.downcast_ref::<String>().cloned().or_else(|| {
            let text: Option<&&str> = panic.downcast_ref();
            text.map(|text| (*text).to_owned())
        });
        side.say(&format!("panicked: {}", what.unwrap_or_default()));
    }
    drop(side);
    // SAFETY: plain calls that end this process.
    unsafe {
        match end {
            _ if done.is_err() => libc::_exit(7),
            End::AtOnce => libc::_exit(0),
            End::Exit => libc::exit(0),
            End::Killed => libc::kill(libc::getpid(), libc::SIGKILL),
        };
        libc::_exit(8)
    }
}

impl Child {
    /// The next output of the child; with `all`, everything until it ends.
    fn hear(&mut self, all: bool) -> String {
        let mut said = Vec::new();
        loop {
            let mut wait =
                libc::pollfd { fd: self.report.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor, which is open.
            let ready = unsafe { libc::poll(&raw mut wait, 1, SILENCE_MS) };
            if ready == 0 {
                // SAFETY: a child of this process that was not waited for.
                unsafe { libc::kill(self.process, libc::SIGKILL) };
                panic!("the child hangs; it said {:?}", String::from_utf8_lossy(&said));
            }
            let mut some = [0; 4096];
            let count = self.report.read(&mut some).unwrap();
            said.extend_from_slice(&some[..count]);
            if count == 0 || !all {
                return String::from_utf8(said).unwrap();
            }
        }
    }

    /// The next output of the child.
    pub(crate) fn next(&mut self) -> String {
        self.hear(false)
    }

    /// Lets the child continue. Returns its output until its end, and its wait status.
    pub(crate) fn end(mut self) -> (String, i32) {
        drop(self.go_on.take());
        let said = self.hear(true);
        let mut status = 0;
        // SAFETY: a child of this process that was not waited for; we own the status that is
        // written.
        let waited = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
        assert_eq!(waited, self.process);
        (said, status)
    }
}

/// Forks, runs `work` in the child, and returns its output after it has ended as it should.
#[track_caller]
pub(crate) fn in_child(end: End, work: impl FnOnce(&mut Side)) -> String {
    let (said, status) = fork(end, work).end();
    let expected = if end == End::Killed { libc::SIGKILL } else { 0 };
    assert_eq!(status, expected, "how the child ended, which said {said:?}");
    said
}
