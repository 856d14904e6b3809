//! Files and folders of the simulated machine: what is on the disk, and what only seems to be.
//!
//! Names are kept as they are now, with a list of the changes that no folder sync has made durable yet. A power
//! cut takes all of them back and lets some happen again. Files' bytes are in [`Content`].
//!
//! # Invariants
//! 1. A file lives while a name, an unsynced change of a name or an open handle refers to it.
//! 2. `changes` is in the order of happening; each is whole: a rename removes one name and adds the other, or
//!    neither.
//! 3. A file with unsynced bytes is in `dirty`.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use crate::disk_file::{Content, Keep, Loss};
use crate::{FaultCounts, MILLION, NameOrder, Random};

/// Changes of names kept in memory; past this many, the older half is durable (a journal commits by itself).
const CHANGES_MAX: usize = 4096;
/// Removed files whose bytes may turn up in blocks that were allocated but not written.
const GARBAGE_FILES: usize = 4;
const GARBAGE_BYTES: usize = 64 << 10;

/// The root folder, named `/` or by the empty path.
const ROOT: u32 = 0;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(u32),
    Folder(u32),
}

#[derive(Debug, Default)]
struct File {
    content: Content,
    /// Names that it has now.
    names: u32,
    /// Mentions in unsynced changes.
    mentions: u32,
    /// Open handles.
    handles: u32,
    in_dirty: bool,
    in_use: bool,
    /// Whether its bytes are in `used_bytes`: while it has a name or a handle.
    counted: bool,
}

#[derive(Debug, Default)]
struct Folder {
    names: BTreeMap<Box<str>, Entry>,
    exists: bool,
}

/// One name before and after a change.
#[derive(Debug)]
struct Part {
    folder: u32,
    name: Box<str>,
    before: Option<Entry>,
    after: Option<Entry>,
}

#[derive(Debug)]
struct Change {
    first: Part,
    /// The new name, where a rename moved one.
    second: Option<Part>,
}

impl Change {
    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Disk {
    files: Vec<File>,
    free: Vec<u32>,
    folders: Vec<Folder>,
    /// Every folder there ever was, by path.
    paths: BTreeMap<Box<str>, u32>,
    changes: Vec<Change>,
    dirty: Vec<u32>,
    garbage: VecDeque<Vec<u8>>,
    used_bytes: u64,
}

/// A path taken apart: the folder, if it exists, and the last name.
pub(crate) struct Place<'a> {
    folder: Option<u32>,
    name: &'a str,
    pub(crate) entry: Option<Entry>,
}

fn error<T>(kind: io::ErrorKind) -> io::Result<T> {
    Err(io::Error::from(kind))
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self {
            files: Vec::new(),
            free: Vec::new(),
            folders: vec![Folder { names: BTreeMap::new(), exists: true }],
            paths: BTreeMap::new(),
            changes: Vec::new(),
            dirty: Vec::new(),
            garbage: VecDeque::new(),
            used_bytes: 0,
        }
    }

    /// Bytes in files that have a name or are open.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    // --- names -------------------------------------------------------------------------------

    fn folder(&self, path: &str) -> Option<u32> {
        if path.is_empty() || path == "/" {
            return Some(ROOT);
        }
        let id = *self.paths.get(path)?;
        self.folders[id as usize].exists.then_some(id)
    }

    pub(crate) fn place<'a>(&self, path: &'a str) -> Place<'a> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.folder(folder);
        let entry = match folder {
            _ if name.is_empty() => Some(Entry::Folder(ROOT)),
            Some(folder) => self.folders[folder as usize].names.get(name).copied(),
            None => None,
        };
        Place { folder, name, entry }
    }

    /// The file at a path.
    pub(crate) fn find(&self, path: &str) -> io::Result<u32> {
        match self.place(path).entry {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Folder(_)) => error(io::ErrorKind::IsADirectory),
            None => error(io::ErrorKind::NotFound),
        }
    }

    /// The folder in which a new name may be made.
    fn new_place<'a>(&self, path: &'a str) -> io::Result<(u32, &'a str)> {
        let place = self.place(path);
        match (place.entry, place.folder) {
            (Some(_), _) => error(io::ErrorKind::AlreadyExists),
            (None, None) => error(io::ErrorKind::NotFound),
            (None, Some(folder)) => Ok((folder, place.name)),
        }
    }

    pub(crate) fn create(&mut self, path: &str, content: Content) -> io::Result<u32> {
        let (folder, name) = self.new_place(path)?;
        let id = self.free.pop().unwrap_or_else(|| {
            self.files.push(File::default());
            (self.files.len() - 1) as u32
        });
        self.files[id as usize] = File { content, in_use: true, ..File::default() };
        self.mark_dirty(id);
        let part = self.part(folder, name, Some(Entry::File(id)));
        self.change(part, None);
        Ok(id)
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let (source, target) = (self.place(from), self.place(to));
        let (Some(old_folder), Some(Entry::File(file))) = (source.folder, source.entry) else {
            return error(io::ErrorKind::NotFound);
        };
        let Some(new_folder) = target.folder else { return error(io::ErrorKind::NotFound) };
        if matches!(target.entry, Some(Entry::Folder(_))) {
            return error(io::ErrorKind::IsADirectory);
        }
        if target.entry == source.entry {
            return Ok(()); // As rename(2): two names of one file stay.
        }
        let removed = self.part(old_folder, source.name, None);
        let added = self.part(new_folder, target.name, Some(Entry::File(file)));
        self.change(removed, Some(added));
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &str) -> io::Result<()> {
        let place = self.place(path);
        let (Some(folder), Some(Entry::File(_))) = (place.folder, place.entry) else {
            return error(io::ErrorKind::NotFound);
        };
        let part = self.part(folder, place.name, None);
        self.change(part, None);
        Ok(())
    }

    pub(crate) fn link(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.find(from)?;
        let (folder, name) = self.new_place(to)?;
        let part = self.part(folder, name, Some(Entry::File(file)));
        self.change(part, None);
        Ok(())
    }

    pub(crate) fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let Some(id) = self.folder(folder) else { return error(io::ErrorKind::NotFound) };
        Ok(self.folders[id as usize].names.keys().map(|name| name.to_string()).collect())
    }

    pub(crate) fn create_folder(&mut self, path: &str) -> io::Result<()> {
        if self.folder(path).is_some() {
            return Ok(());
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.create_folder(parent)?;
        }
        let (folder, name) = self.new_place(path)?;
        let id = self.paths.get(path).copied().unwrap_or_else(|| {
            self.folders.push(Folder::default());
            let id = (self.folders.len() - 1) as u32;
            self.paths.insert(path.into(), id);
            id
        });
        self.folders[id as usize].exists = true;
        let part = self.part(folder, name, Some(Entry::Folder(id)));
        self.change(part, None);
        Ok(())
    }

    pub(crate) fn remove_folder(&mut self, path: &str) -> io::Result<()> {
        let place = self.place(path);
        let (Some(parent), Some(Entry::Folder(id))) = (place.folder, place.entry) else {
            return error(io::ErrorKind::NotFound);
        };
        if !self.folders[id as usize].names.is_empty() {
            return error(io::ErrorKind::DirectoryNotEmpty);
        }
        self.folders[id as usize].exists = false;
        let part = self.part(parent, place.name, None);
        self.change(part, None);
        Ok(())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.place(path).entry.is_some()
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync_folder(&mut self, path: &str) -> io::Result<()> {
        let Some(id) = self.folder(path) else { return error(io::ErrorKind::NotFound) };
        let (done, left): (Vec<Change>, Vec<Change>) = std::mem::take(&mut self.changes)
            .into_iter()
            .partition(|change| change.parts().any(|part| part.folder == id));
        self.changes = left;
        self.forget(done);
        Ok(())
    }

    fn part(&self, folder: u32, name: &str, after: Option<Entry>) -> Part {
        let before = self.folders[folder as usize].names.get(name).copied();
        Part { folder, name: name.into(), before, after }
    }

    fn change(&mut self, first: Part, second: Option<Part>) {
        let change = Change { first, second };
        for part in change.parts() {
            for entry in [part.before, part.after] {
                if let Some(Entry::File(file)) = entry {
                    self.files[file as usize].mentions += 1;
                }
            }
            self.set_name(part.folder, &part.name, part.after);
        }
        self.changes.push(change);
        if self.changes.len() > CHANGES_MAX {
            let done = self.changes.drain(..CHANGES_MAX / 2).collect();
            self.forget(done);
        }
    }

    fn set_name(&mut self, folder: u32, name: &str, entry: Option<Entry>) {
        let names = &mut self.folders[folder as usize].names;
        let before = match (entry, names.get_mut(name)) {
            (Some(entry), Some(there)) => Some(std::mem::replace(there, entry)),
            (Some(entry), None) => names.insert(name.into(), entry),
            (None, _) => names.remove(name),
        };
        if let Some(Entry::File(id)) = entry {
            let file = &mut self.files[id as usize];
            file.names += 1;
            if !std::mem::replace(&mut file.counted, true) {
                self.used_bytes += file.content.len() as u64;
            }
        }
        if let Some(Entry::File(file)) = before {
            self.files[file as usize].names -= 1;
            self.release(file);
        }
    }

    fn forget(&mut self, changes: Vec<Change>) {
        for part in changes.iter().flat_map(Change::parts) {
            for entry in [part.before, part.after] {
                if let Some(Entry::File(file)) = entry {
                    self.files[file as usize].mentions -= 1;
                    self.release(file);
                }
            }
        }
    }

    /// Gives a file's space back when nothing refers to it any more.
    fn release(&mut self, id: u32) {
        let file = &mut self.files[id as usize];
        if !file.in_use || file.names + file.handles > 0 {
            return;
        }
        if std::mem::replace(&mut file.counted, false) {
            self.used_bytes -= file.content.len() as u64;
        }
        if file.mentions > 0 {
            return;
        }
        file.in_use = false;
        let content = std::mem::take(&mut file.content);
        self.free.push(id);
        if (1..=GARBAGE_BYTES).contains(&content.len()) {
            self.garbage.truncate(GARBAGE_FILES - 1);
            self.garbage.push_front(content.into_bytes());
        }
    }

    // --- bytes -------------------------------------------------------------------------------

    pub(crate) fn open_handle(&mut self, file: u32) {
        self.files[file as usize].handles += 1;
    }

    pub(crate) fn close_handle(&mut self, file: u32) {
        // A handle may outlive the machine it was opened on.
        if let Some(open) = self.files.get_mut(file as usize).filter(|file| file.handles > 0) {
            open.handles -= 1;
            self.release(file);
        }
    }

    pub(crate) fn bytes(&self, file: u32) -> &[u8] {
        self.files.get(file as usize).map_or(&[], |file| file.content.bytes())
    }

    /// Writes at `at`, at most the file's length.
    pub(crate) fn write(&mut self, file: u32, bytes: &[u8], at: usize) {
        self.mark_dirty(file);
        let content = &mut self.files[file as usize].content;
        let len = content.len();
        content.write(bytes, at);
        self.used_bytes += (content.len() - len) as u64;
    }

    pub(crate) fn truncate(&mut self, file: u32, len: usize) {
        self.mark_dirty(file);
        let content = &mut self.files[file as usize].content;
        self.used_bytes -= (content.len() - len) as u64;
        content.truncate(len);
    }

    pub(crate) fn sync(&mut self, file: u32) {
        self.files[file as usize].content.sync();
    }

    pub(crate) fn fail_sync(&mut self, file: u32, random: &mut Random) {
        // Lost sectors are clean, but a power cut must still find them.
        self.mark_dirty(file);
        self.files[file as usize].content.fail_sync(random);
    }

    fn mark_dirty(&mut self, id: u32) {
        let file = &mut self.files[id as usize];
        if !file.in_dirty {
            file.in_dirty = true;
            self.dirty.push(id);
        }
        if self.dirty.len() > 256 {
            self.dirty.retain(|&id| {
                let file = &mut self.files[id as usize];
                file.in_dirty = file.in_use && file.content.is_dirty();
                file.in_dirty
            });
        }
    }

    /// A file with a name and bytes, other than `not`, for a fault to hit; its name holds `only`.
    pub(crate) fn victim(
        &self,
        only: Option<&str>,
        not: Option<u32>,
        random: &mut Random,
    ) -> Option<u32> {
        let names = self.folders.iter().filter(|folder| folder.exists).flat_map(|f| &f.names);
        let files = names.filter_map(|(name, entry)| match *entry {
            Entry::File(file)
                if only.is_none_or(|only| name.contains(only))
                    && Some(file) != not
                    && !self.bytes(file).is_empty() =>
            {
                Some(file)
            }
            _ => None,
        });
        let files: Vec<u32> = files.collect();
        (!files.is_empty()).then(|| files[random.index(files.len())])
    }

    pub(crate) fn flip(&mut self, file: u32, random: &mut Random) {
        let content = &mut self.files[file as usize].content;
        content.flip(random.index(content.len() * 8));
    }

    /// Every file with its path and bytes, in the order of the paths.
    pub(crate) fn all_files(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        let roots = [("", ROOT)].into_iter();
        let folders = roots.chain(self.paths.iter().map(|(path, &id)| (&**path, id)));
        for (path, id) in folders.filter(|&(_, id)| self.folders[id as usize].exists) {
            for (name, entry) in &self.folders[id as usize].names {
                if let Entry::File(file) = *entry {
                    all.push((format!("{path}/{name}"), self.bytes(file).to_vec()));
                }
            }
        }
        all
    }

    // --- the end of a process ------------------------------------------------------------------

    /// The process is gone, and its handles with it.
    pub(crate) fn close_all(&mut self) {
        for id in 0..self.files.len() {
            self.files[id].handles = 0;
            self.release(id as u32);
        }
    }

    /// Loses what was not synced: any part of it, as `order` and chance have it.
    pub(crate) fn cut_power(
        &mut self,
        order: NameOrder,
        torn_ppm: u32,
        random: &mut Random,
        counts: &mut FaultCounts,
    ) {
        self.cut_names(order, random, counts);
        let keep = match random.below(6) {
            0 => Keep::Chance(0),
            1 => Keep::Chance(MILLION),
            2 => Keep::Chance(MILLION / 2),
            3 => Keep::Chance(MILLION / 10),
            4 => Keep::Chance(MILLION - MILLION / 10),
            _ => Keep::Prefix,
        };
        let loss = Loss { keep, torn_ppm, garbage: random.below(3) == 0 };
        let garbage = self.garbage.iter().next().map_or(&[] as &[u8], Vec::as_slice);
        for id in self.dirty.drain(..) {
            let file = &mut self.files[id as usize];
            file.in_dirty = false;
            if file.names > 0 && file.content.is_dirty() {
                file.content.cut_power(loss, garbage, random, counts);
            }
        }
        self.close_all();
        let counted = self.files.iter().filter(|file| file.counted);
        self.used_bytes = counted.map(|file| file.content.len() as u64).sum();
    }

    fn cut_names(&mut self, order: NameOrder, random: &mut Random, counts: &mut FaultCounts) {
        let changes = std::mem::take(&mut self.changes);
        for part in changes.iter().rev().flat_map(|c| c.second.iter().chain([&c.first])) {
            self.set_name(part.folder, &part.name, part.before);
        }
        let keep_ppm = [0, MILLION, MILLION / 2, MILLION * 9 / 10][random.index(4)];
        let prefix = random.index(changes.len() + 1);
        // What cannot have happened since its predecessor was lost: the predecessors' folders and names.
        let mut lost: Vec<(u32, &str)> = Vec::new();
        for (i, change) in changes.iter().enumerate() {
            let drawn =
                if order == NameOrder::Journal { i < prefix } else { random.chance(keep_ppm) };
            let follows = |part: &Part| match order {
                NameOrder::Journal => true,
                NameOrder::Folder => lost.iter().all(|&(folder, _)| folder != part.folder),
                NameOrder::Name => !lost.contains(&(part.folder, &*part.name)),
            };
            if drawn && change.parts().all(follows) {
                counts.names_kept += 1;
                for part in change.parts() {
                    self.set_name(part.folder, &part.name, part.after);
                }
            } else {
                counts.names_lost += 1;
                lost.extend(change.parts().map(|part| (part.folder, &*part.name)));
            }
        }
        self.forget(changes);
        self.drop_unreachable();
    }

    /// A folder whose own name was lost takes everything in it along.
    fn drop_unreachable(&mut self) {
        let mut reached = vec![false; self.folders.len()];
        let mut next = vec![ROOT];
        while let Some(id) = next.pop() {
            reached[id as usize] = true;
            next.extend(self.folders[id as usize].names.values().filter_map(|entry| match entry {
                Entry::Folder(id) => Some(*id),
                Entry::File(_) => None,
            }));
        }
        for (id, reached) in reached.into_iter().enumerate() {
            self.folders[id].exists = reached;
            if !reached {
                for name in std::mem::take(&mut self.folders[id].names).into_values() {
                    if let Entry::File(file) = name {
                        self.files[file as usize].names -= 1;
                        self.release(file);
                    }
                }
            }
        }
    }
}
