//! A disk in memory that fails one operation, or loses unsynced writes in a power cut.
//!
//! # What a power cut keeps
//! Of an appended file: what was synced, and any prefix of the rest. Of a log file: what was
//! synced, and any of the 512-byte sectors written since. Of a folder: the names as of its last
//! sync, and any prefix of the changes since.

#![allow(clippy::disallowed_types, reason = "a test double below the engine has real locks")]

use super::Random;
use env::{
    AppendFile, Env, EnvError, FolderLock, Job, JobKind, LogFile, LogMode, LogSync, MemoryEnv,
    RandomReadFile, ReadOptions, ReadRequest, Result, Signal,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const SECTOR_BYTES: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This operation fails, after its effect or before it; all others succeed. A sync that fails
    /// without effect leaves its sectors clean: readers see them, no later sync writes them unless
    /// they are written again, and a power cut loses them.
    Once { done: bool },
    /// The power goes off at this operation: it and all later ones fail.
    PowerCut,
}

/// A callback that runs in the middle of an operation.
struct Hook(Box<dyn FnMut() + Send>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

/// A file that runs a callback before a read.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn RandomReadFile>,
    before_read: Arc<Mutex<Option<Hook>>>,
}

impl Watched {
    fn tell(&self) {
        let hook = self.before_read.lock().unwrap().take();
        if let Some(mut hook) = hook {
            (hook.0)();
        }
    }
}

impl RandomReadFile for Watched {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.tell();
        self.inner.read_at(buf, offset)
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()> {
        self.tell();
        self.inner.read_batch(requests)
    }

    fn read_ahead(&self, offset: u64, bytes: u64) {
        self.inner.read_ahead(offset, bytes);
    }

    fn len_bytes(&self) -> Result<u64> {
        self.inner.len_bytes()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

type Names = BTreeMap<PathBuf, Option<usize>>;

#[derive(Debug, Default)]
struct State {
    operations: u64,
    file_syncs: u64,
    fails_at: Option<(u64, Fault)>,
    failed: Option<String>,
    before_failed_table: Option<Hook>,
    /// The next table cannot be created for lack of a descriptor.
    lacks_descriptor: bool,
    files: Vec<Content>,
    /// Index of the file that was synced last.
    syncing: usize,
    /// The current names: a file's index, or `None` for a folder.
    names: Names,
    /// The names as of each folder's last sync.
    durable: Names,
    /// Changes of names since, oldest first.
    changes: Vec<Change>,
}

#[derive(Debug, Default, Clone)]
struct Content {
    is_log: bool,
    live: Vec<u8>,
    synced: Vec<u8>,
    /// Offsets of sectors that a failed sync has lost.
    lost: BTreeSet<usize>,
}

impl Content {
    fn durable(live: Vec<u8>) -> Self {
        Self { synced: live.clone(), live, ..Self::default() }
    }

    fn sectors(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let end = self.live.len();
        (0..end).step_by(SECTOR_BYTES).map(move |at| (at, end.min(at + SECTOR_BYTES)))
    }

    fn put(&mut self, bytes: &[u8], at: usize) {
        let end = at + bytes.len();
        self.live.resize(self.live.len().max(end), 0);
        self.live[at..end].copy_from_slice(bytes);
        self.lost.retain(|lost| lost + SECTOR_BYTES <= at || *lost >= end);
    }

    fn sync(&mut self) {
        self.synced.resize(self.live.len(), 0);
        for (at, end) in self.sectors().filter(|(at, _)| !self.lost.contains(at)) {
            self.synced[at..end].copy_from_slice(&self.live[at..end]);
        }
    }

    fn fail_sync(&mut self) {
        self.synced.resize(self.live.len(), 0);
        let dirty = |&(at, end): &(usize, usize)| self.live[at..end] != self.synced[at..end];
        let lost: Vec<_> = self.sectors().filter(dirty).map(|(at, _)| at).collect();
        self.lost.extend(lost);
    }
}

#[derive(Debug, Clone)]
struct Change {
    removed: Option<PathBuf>,
    added: Option<(PathBuf, Option<usize>)>,
    /// A renamed folder, with everything in it.
    moved: Option<(PathBuf, PathBuf)>,
}

impl Change {
    fn apply(&self, names: &mut Names) {
        if let Some(path) = &self.removed {
            names.remove(path);
        }
        if let Some((path, file)) = &self.added {
            names.insert(path.clone(), *file);
        }
        if let Some((from, to)) = &self.moved {
            let moved = |path: PathBuf| match path.strip_prefix(from) {
                Ok(rest) if rest.as_os_str().is_empty() => to.clone(),
                Ok(rest) => to.join(rest),
                Err(_) => path,
            };
            *names =
                std::mem::take(names).into_iter().map(|(path, file)| (moved(path), file)).collect();
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let path = self.removed.as_ref().or(self.added.as_ref().map(|(path, _)| path));
        let path = path.or(self.moved.as_ref().map(|(from, _)| from));
        path.and_then(|path| path.parent()) == Some(folder)
    }
}

/// The environment of this disk; see the module's header.
#[derive(Debug)]
pub struct FaultyEnv {
    inner: MemoryEnv,
    state: Arc<Mutex<State>>,
    before_list: Mutex<Option<(PathBuf, Hook)>>,
    before_read: Arc<Mutex<Option<Hook>>>,
    waiting: Arc<AtomicUsize>,
}

impl FaultyEnv {
    pub fn new() -> Self {
        Self {
            inner: MemoryEnv::new(1),
            state: Arc::default(),
            before_list: Mutex::default(),
            before_read: Arc::default(),
            waiting: Arc::default(),
        }
    }

    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.state.lock().unwrap().fails_at = Some((operation, fault));
    }

    /// Makes the next creation of a table fail, after `before` has run.
    pub fn fail_next_table(&self, before: impl FnMut() + Send + 'static) {
        self.state.lock().unwrap().before_failed_table = Some(Hook(Box::new(before)));
    }

    /// Makes the next creation of a table fail for lack of a descriptor.
    pub fn lack_descriptor_once(&self) {
        self.state.lock().unwrap().lacks_descriptor = true;
    }

    /// From now on `before` runs each time `folder` is about to be listed, but not while it runs
    /// itself.
    pub fn before_list(&self, folder: &Path, before: impl FnMut() + Send + 'static) {
        *self.before_list.lock().unwrap() = Some((folder.to_owned(), Hook(Box::new(before))));
    }

    /// `before` runs once, before the first read of a file that is opened from now on.
    pub fn before_read(&self, before: impl FnMut() + Send + 'static) {
        *self.before_read.lock().unwrap() = Some(Hook(Box::new(before)));
    }

    /// Number of threads that wait for a signal now.
    pub fn waiting(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.waiting)
    }

    pub fn operations(&self) -> u64 {
        self.state.lock().unwrap().operations
    }

    /// Number of file syncs so far.
    pub fn file_syncs(&self) -> u64 {
        self.state.lock().unwrap().file_syncs
    }

    /// The operation that failed, if one did.
    pub fn failed(&self) -> Option<String> {
        self.state.lock().unwrap().failed.clone()
    }

    /// The disk as the next opening finds it.
    pub fn after_power_cut(&self, seed: u64) -> Self {
        let mut random = Random(seed);
        let state = self.state.lock().unwrap();
        let mut names = state.durable.clone();
        let folders: Vec<PathBuf> = state
            .names
            .iter()
            .chain(&state.durable)
            .filter(|(_, file)| file.is_none())
            .map(|(path, _)| path.clone())
            .chain([PathBuf::from("/")])
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        for folder in folders {
            let changes: Vec<_> = state.changes.iter().filter(|c| c.is_in(&folder)).collect();
            let kept = random.below(changes.len() as u64 + 1) as usize;
            changes[..kept].iter().for_each(|change| change.apply(&mut names));
        }
        let new = Self::new();
        for (path, file) in names.iter().filter(|(_, file)| file.is_none()) {
            let reachable =
                path.ancestors().skip(1).all(|up| up == Path::new("/") || names.contains_key(up));
            if file.is_none() && reachable {
                new.inner.create_folder(path).unwrap();
            }
        }
        for (path, file) in &names {
            let Some(file) = *file else { continue };
            if new.inner.exists(path.parent().unwrap()) {
                let bytes = kept_bytes(&state.files[file], &mut random);
                new.inner.create(path).unwrap().append(&bytes).unwrap();
            }
        }
        new.adopt();
        new
    }

    /// Takes the files in the underlying memory as durable.
    fn adopt(&self) {
        let mut state = self.state.lock().unwrap();
        let mut folders = vec![PathBuf::from("/")];
        while let Some(folder) = folders.pop() {
            for name in self.inner.list(&folder).unwrap() {
                let path = folder.join(name);
                let file = match self.inner.read_file(&path) {
                    Ok(live) => {
                        state.files.push(Content::durable(live));
                        Some(state.files.len() - 1)
                    }
                    Err(_) => {
                        folders.push(path.clone());
                        None
                    }
                };
                state.names.insert(path, file);
            }
        }
        state.durable = state.names.clone();
    }

    /// Runs one operation that changes the disk.
    fn operate<R>(
        &self,
        what: &'static str,
        path: &Path,
        run: impl FnOnce(&mut State) -> Result<R>,
    ) -> Result<R> {
        operate(&self.state, what, path, run)
    }
}

fn operate<R>(
    state: &Mutex<State>,
    what: &'static str,
    path: &Path,
    run: impl FnOnce(&mut State) -> Result<R>,
) -> Result<R> {
    let shared = state;
    let mut state = shared.lock().unwrap();
    state.operations += 1;
    let fail = || Err(EnvError::io(what, path, io::Error::other("the disk failed in a test")));
    if what == "create"
        && path.extension().is_some_and(|extension| extension == "sst")
        && let Some(mut hook) = state.before_failed_table.take()
    {
        drop(state);
        (hook.0)();
        return fail();
    }
    let is_table = path.extension().is_some_and(|extension| extension == "sst");
    if what == "create" && is_table && std::mem::take(&mut state.lacks_descriptor) {
        const EMFILE: i32 = 24;
        return Err(EnvError::io(what, path, io::Error::from_raw_os_error(EMFILE)));
    }
    match state.fails_at {
        Some((at, Fault::PowerCut)) if state.operations >= at => {
            state.failed.get_or_insert_with(|| format!("{what} {}", path.display()));
            fail()
        }
        Some((at, Fault::Once { done })) if state.operations == at => {
            state.failed = Some(format!("{what} {}", path.display()));
            if done {
                run(&mut state)?;
            } else if what == "sync" {
                let file = state.syncing;
                state.files[file].fail_sync();
            }
            fail()
        }
        _ => run(&mut state),
    }
}

fn kept_bytes(content: &Content, random: &mut Random) -> Vec<u8> {
    let Content { is_log, live, synced, lost } = content;
    if !*is_log && !lost.is_empty() {
        return synced.clone();
    }
    if !*is_log {
        if live.len() < synced.len() || !live.starts_with(synced) {
            return if random.below(2) == 0 { live.clone() } else { synced.clone() };
        }
        let more = random.below((live.len() - synced.len()) as u64 + 1) as usize;
        return live[..synced.len() + more].to_vec();
    }
    let mut bytes = synced.clone();
    bytes.resize(live.len(), 0);
    let in_order = random.below(2) == 0;
    let dirty: Vec<usize> = (0..live.len())
        .step_by(SECTOR_BYTES)
        .filter(|&at| {
            let end = live.len().min(at + SECTOR_BYTES);
            live[at..end] != bytes[at..end] && !lost.contains(&at)
        })
        .collect();
    let first = random.below(dirty.len() as u64 + 1) as usize;
    for (i, at) in dirty.into_iter().enumerate() {
        if if in_order { i < first } else { random.below(2) == 0 } {
            let end = live.len().min(at + SECTOR_BYTES);
            bytes[at..end].copy_from_slice(&live[at..end]);
        }
    }
    bytes
}

#[derive(Debug)]
struct Handle {
    state: Arc<Mutex<State>>,
    file: usize,
    inner: Mutex<Box<dyn Writer>>,
    path: PathBuf,
}

/// A file in the underlying memory. It is written first, so that readers see the bytes.
trait Writer: Send + std::fmt::Debug {
    fn put(&mut self, bytes: &[u8], offset: u64) -> Result<()>;
}

#[derive(Debug)]
struct Append(Box<dyn AppendFile>);

impl Writer for Append {
    fn put(&mut self, bytes: &[u8], _: u64) -> Result<()> {
        self.0.append(bytes)
    }
}

#[derive(Debug)]
struct Log(Box<dyn LogFile>);

impl Writer for Log {
    fn put(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(bytes, offset)
    }
}

impl Handle {
    fn put(&self, bytes: &[u8], offset: Option<u64>) -> Result<()> {
        operate(&self.state, "write", &self.path, |state| {
            let content = &mut state.files[self.file];
            let at = offset.map_or(content.live.len(), |offset| offset as usize);
            content.put(bytes, at);
            self.inner.lock().unwrap().put(bytes, at as u64)
        })
    }

    fn sync_now(&self) -> Result<()> {
        sync_file(&self.state, self.file, &self.path)
    }

    fn bytes(&self) -> u64 {
        self.state.lock().unwrap().files[self.file].live.len() as u64
    }
}

fn sync_file(state: &Mutex<State>, file: usize, path: &Path) -> Result<()> {
    {
        let mut state = state.lock().unwrap();
        state.syncing = file;
        state.file_syncs += 1;
    }
    operate(state, "sync", path, |state| {
        state.files[file].sync();
        Ok(())
    })
}

impl AppendFile for Handle {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(bytes, None)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        self.sync_now()
    }
    fn len_bytes(&self) -> u64 {
        self.bytes()
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

/// Counts the threads that have found that they must wait.
struct CountedSignal {
    inner: Arc<dyn Signal>,
    waiting: Arc<AtomicUsize>,
}

impl Signal for CountedSignal {
    fn notify(&self) {
        self.inner.notify();
    }

    fn wait_until(&self, ready: &mut dyn FnMut() -> bool) {
        let mut waits = false;
        self.inner.wait_until(&mut || {
            let is_ready = ready();
            if is_ready && waits {
                self.waiting.fetch_sub(1, Ordering::AcqRel);
            } else if !is_ready && !waits {
                self.waiting.fetch_add(1, Ordering::AcqRel);
            }
            waits = !is_ready;
            is_ready
        });
    }

    fn wait_until_timeout(&self, timeout_us: u64, ready: &mut dyn FnMut() -> bool) -> bool {
        self.inner.wait_until_timeout(timeout_us, ready)
    }
}

#[derive(Debug)]
struct SyncOne {
    state: Arc<Mutex<State>>,
    file: usize,
    path: PathBuf,
}

impl LogSync for SyncOne {
    fn sync(&self) -> Result<()> {
        sync_file(&self.state, self.file, &self.path)
    }
}

impl LogFile for Handle {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.put(bytes, Some(offset))
    }
    fn sync(&mut self) -> Result<()> {
        self.sync_now()
    }
    fn sync_handle(&self) -> Arc<dyn LogSync> {
        let state = Arc::clone(&self.state);
        Arc::new(SyncOne { state, file: self.file, path: self.path.clone() })
    }
    fn len_bytes(&self) -> u64 {
        self.bytes()
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

impl FaultyEnv {
    fn handle(&self, path: &Path, file: usize, inner: Box<dyn Writer>) -> Handle {
        let state = Arc::clone(&self.state);
        Handle { state, file, inner: Mutex::new(inner), path: path.to_owned() }
    }
}

fn add(state: &mut State, path: &Path, content: Content) -> usize {
    state.files.push(content);
    let file = state.files.len() - 1;
    change(state, None, Some((path.to_owned(), Some(file))));
    file
}

fn change(state: &mut State, removed: Option<&Path>, added: Option<(PathBuf, Option<usize>)>) {
    record(state, Change { removed: removed.map(Path::to_owned), added, moved: None });
}

fn record(state: &mut State, change: Change) {
    change.apply(&mut state.names);
    state.changes.push(change);
}

fn file_of(state: &State, path: &Path) -> usize {
    state.names.get(path).copied().flatten().unwrap()
}

impl Env for FaultyEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        let (file, inner) = self.operate("create", path, |state| {
            let inner = self.inner.create(path)?;
            Ok((add(state, path, Content::default()), inner))
        })?;
        Ok(Box::new(self.handle(path, file, Box::new(Append(inner)))))
    }

    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>> {
        let (file, inner) = self.operate("open to append", path, |state| {
            let inner = self.inner.open_append(path, keep_bytes)?;
            let file = file_of(state, path);
            state.files[file].is_log = false;
            state.files[file].live.truncate(keep_bytes as usize);
            state.files[file].lost.retain(|at| *at < keep_bytes as usize);
            Ok((file, inner))
        })?;
        Ok(Box::new(self.handle(path, file, Box::new(Append(inner)))))
    }

    fn open_read(&self, path: &Path, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        let inner = self.inner.open_read(path, options)?;
        Ok(Arc::new(Watched { inner, before_read: Arc::clone(&self.before_read) }))
    }

    fn create_log(&self, path: &Path, len: u64, mode: LogMode) -> Result<Box<dyn LogFile>> {
        let (file, inner) = self.operate("create", path, |state| {
            let inner = self.inner.create_log(path, len, mode)?;
            let zeros = vec![0; len as usize];
            let content = Content { is_log: true, ..Content::durable(zeros) };
            Ok((add(state, path, content), inner))
        })?;
        Ok(Box::new(self.handle(path, file, Box::new(Log(inner)))))
    }

    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>> {
        let inner = self.inner.open_log(path, mode)?;
        let mut state = self.state.lock().unwrap();
        let file = file_of(&state, path);
        state.files[file].is_log = true;
        drop(state);
        Ok(Box::new(self.handle(path, file, Box::new(Log(inner)))))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.operate("rename", from, |state| {
            self.inner.rename(from, to)?;
            if state.names.get(from) == Some(&None) {
                let moved = Some((from.to_owned(), to.to_owned()));
                record(state, Change { removed: None, added: None, moved });
                return Ok(());
            }
            let file = file_of(state, from);
            change(state, Some(from), Some((to.to_owned(), Some(file))));
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.operate("remove", path, |state| {
            self.inner.remove(path)?;
            change(state, Some(path), None);
            Ok(())
        })
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.operate("link", to, |state| {
            self.inner.link(from, to)?;
            let file = file_of(state, from);
            change(state, None, Some((to.to_owned(), Some(file))));
            Ok(())
        })
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        let hook = self.before_list.lock().unwrap().take_if(|(asked, _)| asked == folder);
        if let Some((asked, mut hook)) = hook {
            (hook.0)();
            *self.before_list.lock().unwrap() = Some((asked, hook));
        }
        self.inner.list(folder)
    }

    fn create_folder(&self, folder: &Path) -> Result<()> {
        self.operate("create folder", folder, |state| {
            self.inner.create_folder(folder)?;
            let mut new: Vec<_> = folder.ancestors().filter(|up| up.parent().is_some()).collect();
            new.retain(|up| !state.names.contains_key(*up));
            for folder in new.into_iter().rev() {
                change(state, None, Some((folder.to_owned(), None)));
            }
            Ok(())
        })
    }

    fn remove_folder(&self, folder: &Path) -> Result<()> {
        self.operate("remove folder", folder, |state| {
            self.inner.remove_folder(folder)?;
            change(state, Some(folder), None);
            Ok(())
        })
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.operate("sync folder", folder, |state| {
            self.inner.sync_folder(folder)?;
            let (done, left) =
                std::mem::take(&mut state.changes).into_iter().partition(|c| c.is_in(folder));
            state.changes = left;
            let done: Vec<Change> = done;
            done.iter().for_each(|change| change.apply(&mut state.durable));
            Ok(())
        })
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64> {
        self.inner.free_bytes(folder)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>> {
        self.inner.lock(path, holder)
    }

    fn monotonic_us(&self) -> u64 {
        self.inner.monotonic_us()
    }

    fn wall_us(&self) -> u64 {
        self.inner.wall_us()
    }

    fn random_u64(&self) -> u64 {
        self.inner.random_u64()
    }

    fn process_line(&self) -> String {
        self.inner.process_line()
    }

    fn spawn(&self, kind: JobKind, job: Job) {
        self.inner.spawn(kind, job);
    }

    fn parallelism(&self) -> usize {
        self.inner.parallelism()
    }

    fn signal(&self) -> Arc<dyn Signal> {
        Arc::new(CountedSignal { inner: self.inner.signal(), waiting: self.waiting() })
    }

    fn drain_jobs(&self) {
        self.inner.drain_jobs();
    }
}
