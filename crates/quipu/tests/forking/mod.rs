//! Children of `fork`, for tests.
//!
//! # Why unsafe
//! `fork`, `_exit`, `waitpid`, `kill` and `poll` have no safe form in the standard library.
#![allow(unsafe_code)]

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A child that has said nothing for so long hangs. Nothing waits for it to pass but a test that
/// fails.
const SILENCE_MS: i32 = 60_000;

/// One test at a time: what a child inherits is then this test's alone.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At once, as after `os._exit`.
    AtOnce,
    /// As a program that returns from `main`: handlers that were registered for the exit run.
    Exit,
    /// By a signal that nobody can catch.
    Killed,
}

/// A child at work.
pub(crate) struct Child {
    pub(crate) process: i32,
    report: PipeReader,
    /// Closed, it tells the child to go on, if the child waits for that.
    go_on: Option<PipeWriter>,
}

/// What a child has of its parent's end.
pub(crate) struct Side {
    report: PipeWriter,
    go_on: PipeReader,
}

impl Side {
    /// Says something to the parent.
    pub(crate) fn say(&mut self, text: &str) {
        self.report.write_all(text.as_bytes()).unwrap();
    }

    /// Whether this is one of its descriptors.
    pub(crate) fn needs(&self, descriptor: i32) -> bool {
        [self.report.as_raw_fd(), self.go_on.as_raw_fd()].contains(&descriptor)
    }

    /// Waits until the parent lets it go on, or is gone.
    pub(crate) fn wait(&mut self) {
        let _ = self.go_on.read(&mut [0]);
    }
}

/// Forks; the child does `work` and ends as said, 7 where it panicked.
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
    /// The next thing that the child says; what there is until it ends where `all`.
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

    /// The next thing that it says.
    pub(crate) fn next(&mut self) -> String {
        self.hear(false)
    }

    /// Lets it go on, and returns what it says until its end, and its wait status.
    pub(crate) fn end(mut self) -> (String, i32) {
        drop(self.go_on.take());
        let said = self.hear(true);
        let mut status = 0;
        // SAFETY: a child of this process that was not waited for; the status is ours to write.
        let waited = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
        assert_eq!(waited, self.process);
        (said, status)
    }
}

/// Forks, lets the child do `work`, and returns what it said when it has ended as it should.
#[track_caller]
pub(crate) fn in_child(end: End, work: impl FnOnce(&mut Side)) -> String {
    let (said, status) = fork(end, work).end();
    let expected = if end == End::Killed { libc::SIGKILL } else { 0 };
    assert_eq!(status, expected, "how the child ended, which said {said:?}");
    said
}
