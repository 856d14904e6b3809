//! Implements `env::Env` for one process of the simulated machine, with its files and signals.
//!
//! # Invariants
//! 1. Every operation of the disk that may fail goes through `Shared::operate`, which counts it,
//!    may fail it, and may run other tasks after it. Clocks, random numbers and closing do not.
//! 2. A handle keeps its file open, as on a real system, and may be used safely after its machine's
//!    end.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use env::sync::Mutex;
use env::{
    AppendFile, Env, EnvError, FolderLock, Job, JobKind, LogFile, LogMode, LogSync, RandomReadFile,
    ReadOptions, ReadRequest, Result, Signal,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::coroutine;
use crate::disk_file::Content;
use crate::faults::{Crash, Fault, FaultCounts};
use crate::machine::{Op, Shared, State, disk_full, io_error};
use crate::tasks::TaskId;

/// Error number of a process that has too many files open.
const EMFILE: i32 = 24;

/// The environment of one process on the simulated machine. Made by [`crate::Sim::env`].
#[derive(Debug)]
pub struct SimEnv {
    shared: Arc<Shared>,
    process: u32,
}

impl SimEnv {
    pub(crate) fn new(shared: Arc<Shared>, process: u32) -> Self {
        Self { shared, process }
    }

    /// Whether this process has ended, so that every operation of it fails.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.shared.lock().processes[self.process as usize].dead
    }

    /// As [`crate::Sim::crash`], for use in tasks.
    pub fn crash(&self, kind: Crash) {
        self.shared.lock().crash(kind);
    }

    /// Number of operations so far, of all processes and across restarts.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.shared.lock().operations
    }

    /// How often each fault has happened on the machine.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.shared.lock().counts
    }

    /// A scheduling point: other tasks may run here.
    pub fn step(&self) {
        self.shared.step();
    }

    fn operate<R>(
        &self,
        op: Op,
        path: &Path,
        args: [u64; 2],
        run: impl FnOnce(&mut State, &str) -> io::Result<R>,
    ) -> Result<R> {
        let text = normal(path);
        let args = [xxh3_64(text.as_bytes()) ^ args[0], args[1]];
        self.shared.operate(self.process, op, path, args, |state| run(state, &text))
    }

    fn open<R>(
        &self,
        op: Op,
        path: &Path,
        arg: u64,
        run: impl FnOnce(&mut State, &str) -> io::Result<(u32, R)>,
    ) -> Result<(Handle, R)> {
        let (file, result) = self.operate(op, path, [arg, 0], |state, text| {
            let (file, result) = run(state, text)?;
            state.disk.open_handle(file);
            Ok((file, result))
        })?;
        let (shared, process) = (Arc::clone(&self.shared), self.process);
        Ok((Handle { shared, process, file, path: path.to_owned() }, result))
    }
}

/// The path without `.` and doubled slashes. The engine's own paths are returned unchanged.
fn normal(path: &Path) -> Cow<'_, str> {
    let text = path.to_string_lossy();
    let odd = text.contains("/.") || text.contains("//") || text.starts_with("./");
    let folder_spelled_out = text.len() > 1 && text.ends_with('/');
    if !(odd || folder_spelled_out) {
        return text;
    }
    let parts = path.components().filter(|part| !matches!(part, std::path::Component::CurDir));
    Cow::Owned(parts.collect::<PathBuf>().to_string_lossy().into_owned())
}

impl Env for SimEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        let (handle, ()) = self.open(Op::Create, path, 0, |state, path| {
            if path.ends_with(".sst") && state.hits(Fault::NoDescriptor) {
                state.counts.count(Fault::NoDescriptor);
                return Err(io::Error::from_raw_os_error(EMFILE));
            }
            Ok((state.disk.create(path, Content::default())?, ()))
        })?;
        Ok(Box::new(Append { handle, buffer: Vec::new(), written_bytes: 0 }))
    }

    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>> {
        let (handle, ()) = self.open(Op::OpenAppend, path, keep_bytes, |state, path| {
            let file = state.disk.find(path)?;
            let len = state.disk.bytes(file).len();
            let keep = usize::try_from(keep_bytes).unwrap_or(usize::MAX);
            if keep > len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if keep < len {
                state.disk.truncate(file, keep);
            }
            Ok((file, ()))
        })?;
        Ok(Box::new(Append { handle, buffer: Vec::new(), written_bytes: keep_bytes }))
    }

    fn open_read(&self, path: &Path, _: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        let (handle, ()) =
            self.open(Op::OpenRead, path, 0, |state, path| Ok((state.disk.find(path)?, ())))?;
        Ok(Arc::new(Reader(handle)))
    }

    fn create_log(&self, path: &Path, len_bytes: u64, mode: LogMode) -> Result<Box<dyn LogFile>> {
        let (handle, ()) = self.open(Op::CreateLog, path, len_bytes, |state, path| {
            let len = usize::try_from(len_bytes).unwrap_or(usize::MAX);
            if state.room(len) < len {
                state.counts.count(Fault::DiskFull);
                return Err(disk_full());
            }
            Ok((state.disk.create(path, Content::zeros(len))?, ()))
        })?;
        Ok(Box::new(Log { handle: Arc::new(handle), mode, len_bytes }))
    }

    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>> {
        let (handle, len_bytes) = self.open(Op::OpenLog, path, 0, |state, path| {
            let file = state.disk.find(path)?;
            Ok((file, state.disk.bytes(file).len() as u64))
        })?;
        Ok(Box::new(Log { handle: Arc::new(handle), mode, len_bytes }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let to = normal(to);
        let arg = xxh3_64(to.as_bytes());
        self.operate(Op::Rename, from, [0, arg], |state, from| state.disk.rename(from, &to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.operate(Op::Remove, path, [0; 2], |state, path| state.disk.remove(path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let to = normal(to);
        let arg = xxh3_64(to.as_bytes());
        self.operate(Op::Link, from, [0, arg], |state, from| state.disk.link(from, &to))
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        self.operate(Op::List, folder, [0; 2], |state, path| state.disk.list(path))
    }

    fn create_folder(&self, folder: &Path) -> Result<()> {
        self.operate(Op::CreateFolder, folder, [0; 2], |state, path| state.disk.create_folder(path))
    }

    fn remove_folder(&self, folder: &Path) -> Result<()> {
        self.operate(Op::RemoveFolder, folder, [0; 2], |state, path| state.disk.remove_folder(path))
    }

    fn exists(&self, path: &Path) -> bool {
        // On a machine that is off nothing exists; the caller's next operation returns the error.
        self.operate(Op::Exists, path, [0; 2], |state, path| Ok(state.disk.exists(path)))
            .unwrap_or(false)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.operate(Op::SyncFolder, folder, [0; 2], |state, path| state.disk.sync_folder(path))
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64> {
        self.operate(Op::Free, folder, [0; 2], |state, _| {
            Ok(state.settings.disk_bytes.saturating_sub(state.disk.used_bytes()))
        })
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>> {
        let process = self.process;
        let taken = self.operate(Op::Lock, path, [0; 2], |state, text| {
            let file = match state.disk.find(text) {
                Ok(file) => file,
                Err(_) => state.disk.create(text, Content::default())?,
            };
            let mut locks = state.processes.iter().flat_map(|process| &process.locks);
            if let Some((_, holder)) = locks.find(|(locked, _)| *locked == file) {
                return Ok(Err(holder.clone()));
            }
            state.disk.truncate(file, 0);
            state.write(file, path, format!("{holder}\n").as_bytes(), 0)?;
            state.disk.open_handle(file);
            state.processes[process as usize].locks.push((file, holder.to_owned()));
            Ok(Ok(file))
        })?;
        match taken {
            Ok(file) => Ok(Box::new(Lock { shared: Arc::clone(&self.shared), process, file })),
            Err(holder) => Err(EnvError::Locked { path: path.to_owned(), holder }),
        }
    }

    fn monotonic_us(&self) -> u64 {
        self.shared.step();
        let mut state = self.shared.lock();
        state.clock_us += 1;
        state.clock_us
    }

    fn wall_us(&self) -> u64 {
        self.monotonic_us()
    }

    fn random_u64(&self) -> u64 {
        self.shared.lock().words.word()
    }

    fn process_line(&self) -> String {
        let restarts = self.shared.lock().restarts;
        format!("process {}.{restarts} (simulated)", self.process + 1)
    }

    fn spawn(&self, kind: JobKind, job: Job) {
        self.shared.lock().tasks.queue(self.process, kind, job);
        self.shared.step();
    }

    fn has_threads(&self) -> bool {
        false
    }

    fn parallelism(&self) -> usize {
        self.shared.lock().settings.parallelism
    }

    fn signal(&self) -> Arc<dyn Signal> {
        let shared = Arc::clone(&self.shared);
        Arc::new(SimSignal { shared, generation: AtomicU64::new(0), waiting: Mutex::default() })
    }

    fn drain_jobs(&self) {
        loop {
            let mut state = self.shared.lock();
            if state.tasks.unfinished_jobs(self.process) == 0 {
                return;
            }
            if let Some(task) = state.tasks.current() {
                state.tasks.wait_for_jobs(task, self.process);
            }
            drop(state);
            coroutine::switch();
        }
    }
}

/// An open file.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    process: u32,
    file: u32,
    path: PathBuf,
}

impl Handle {
    fn operate<R>(
        &self,
        op: Op,
        args: [u64; 2],
        run: impl FnOnce(&mut State, u32) -> io::Result<R>,
    ) -> Result<R> {
        let args = [args[0] ^ u64::from(self.file) << 40, args[1]];
        self.shared.operate(self.process, op, &self.path, args, |state| run(state, self.file))
    }

    /// Writes bytes to the file, subject to the machine's faults.
    fn write(&self, op: Op, bytes: &[u8], at: u64) -> Result<()> {
        self.operate(op, [at, xxh3_64(bytes)], |state, file| {
            state.write(file, &self.path, bytes, at as usize)
        })
    }

    fn sync(&self) -> Result<()> {
        // A scheduling point before the sync as well as after it: others may write between the call
        // and its effect.
        self.shared.step();
        self.operate(Op::Sync, [0; 2], State::sync)
    }

    fn len_bytes(&self) -> u64 {
        self.shared.lock().disk.bytes(self.file).len() as u64
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().disk.close_handle(self.file);
    }
}

#[derive(Debug)]
struct Reader(Handle);

impl RandomReadFile for Reader {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.0.operate(Op::Read, [offset, buf.len() as u64], |state, file| {
            if !buf.is_empty() && state.hits(Fault::ReadShort) {
                state.counts.count(Fault::ReadShort);
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let bytes = state.disk.bytes(file);
            match start.checked_add(buf.len()).and_then(|end| bytes.get(start..end)) {
                Some(piece) => {
                    buf.copy_from_slice(piece);
                    Ok(())
                }
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        })
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()> {
        requests.iter_mut().try_for_each(|request| self.read_at(&mut request.buf, request.offset))
    }

    fn read_ahead(&self, _: u64, _: u64) {}

    fn len_bytes(&self) -> Result<u64> {
        self.0.operate(Op::Length, [0; 2], |state, file| Ok(state.disk.bytes(file).len() as u64))
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}

/// A file that is appended to, with a buffer that a killed process loses.
#[derive(Debug)]
struct Append {
    handle: Handle,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl Append {
    fn push(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.handle.write(Op::Flush, &self.buffer, self.written_bytes);
        if written.is_ok() {
            self.written_bytes += self.buffer.len() as u64;
        } else {
            // A part may have been written, so the next append continues at the file's end.
            self.written_bytes = self.handle.len_bytes();
        }
        self.buffer.clear();
        written
    }
}

impl AppendFile for Append {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        let most = self.handle.shared.lock().settings.append_buffer_bytes;
        if self.buffer.len() > most { self.push() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.push()
    }

    fn sync(&mut self) -> Result<()> {
        self.push()?;
        self.handle.sync()
    }

    fn len_bytes(&self) -> u64 {
        self.written_bytes + self.buffer.len() as u64
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }
}

#[derive(Debug)]
struct Log {
    handle: Arc<Handle>,
    mode: LogMode,
    len_bytes: u64,
}

impl LogFile for Log {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.len_bytes) {
            let error = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(EnvError::io("write past the end of", &self.handle.path, error));
        }
        if self.mode == LogMode::Write {
            return self.handle.write(Op::WriteLog, bytes, offset);
        }
        // A copy into a mapping cannot fail; only its sync can.
        self.handle.operate(Op::WriteLog, [offset, xxh3_64(bytes)], |state, file| {
            let end = offset as usize + bytes.len();
            if end > state.disk.bytes(file).len() {
                return Err(io_error());
            }
            state.store(file, &self.handle.path, bytes, offset as usize);
            Ok(())
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.handle.sync()
    }

    fn sync_handle(&self) -> Arc<dyn LogSync> {
        Arc::new(SyncHandle(Arc::clone(&self.handle)))
    }

    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }
}

#[derive(Debug)]
struct SyncHandle(Arc<Handle>);

impl LogSync for SyncHandle {
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
}

#[derive(Debug)]
struct Lock {
    shared: Arc<Shared>,
    process: u32,
    file: u32,
}

impl FolderLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(process) = state.processes.get_mut(self.process as usize) {
            process.locks.retain(|(file, _)| *file != self.file);
        }
        state.disk.close_handle(self.file);
    }
}

struct SimSignal {
    shared: Arc<Shared>,
    /// Grows with each notification, so that a notification between check and wait is noticed.
    generation: AtomicU64,
    waiting: Mutex<Vec<TaskId>>,
}

impl SimSignal {
    fn wait(&self, timeout_us: Option<u64>, ready: &mut dyn FnMut() -> bool) -> bool {
        self.shared.step();
        let mut until_us = None;
        loop {
            let seen = self.generation.load(Ordering::Relaxed);
            if ready() {
                return true;
            }
            if self.generation.load(Ordering::Relaxed) != seen {
                continue; // `ready` waited for a lock, and other tasks ran
            }
            let mut state = self.shared.lock();
            let now_us = state.clock_us;
            let until = *until_us
                .get_or_insert(timeout_us.map_or(u64::MAX, |wait| now_us.saturating_add(wait)));
            if until <= now_us {
                return false;
            }
            let task = state.tasks.current();
            let task = task.expect("only a task can wait: run this in Sim::spawn");
            state.tasks.wait_for_signal(task, until);
            drop(state);
            self.waiting.lock().push(task);
            coroutine::switch();
            self.waiting.lock().retain(|&waiting| waiting != task);
        }
    }
}

impl Signal for SimSignal {
    fn notify(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.waiting.lock());
        if !waiting.is_empty() {
            let mut state = self.shared.lock();
            waiting.into_iter().for_each(|task| state.tasks.wake(task));
        }
        self.shared.step();
    }

    fn wait_until(&self, ready: &mut dyn FnMut() -> bool) {
        self.wait(None, ready);
    }

    fn wait_until_timeout(&self, timeout_us: u64, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait(Some(timeout_us), ready)
    }
}
