//! Files and folders of the simulated disk: what processes see, and which changes are not synced
//! yet.
//!
//! `env` and `machine` call it for every operation, `disk_power` in a power cut.
//!
//! The current names are kept with a list of changes that no folder sync has made durable yet. A
//! power cut undoes all of them and repeats some (`disk_power`). The bytes of files are in
//! [`Content`].
//!
//! A folder has an id of its own, and its path only says where it is now: a renamed folder takes
//! its content along, including unsynced changes of names.
//!
//! # Invariants
//! 1. A file lives while a name, an unsynced change of a name or an open handle refers to it.
//! 2. `changes` is in the order in which they happened. Each is atomic: a rename removes one name
//!    and adds the other, or neither.
//! 3. A file with unsynced bytes is in `dirty`.
//! 4. A folder without a path is empty, and no folder contains itself.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use crate::disk_file::Content;
use crate::random::Random;

/// Most unsynced changes of names. Past this the older half becomes durable, as when a journal
/// commits by itself.
const CHANGES_MAX: usize = 4096;
/// Removed files whose bytes may appear in blocks that were allocated but not written.
const GARBAGE_FILES: usize = 4;
const GARBAGE_BYTES: usize = 64 << 10;

/// The root folder, named `/` or by the empty path.
pub(crate) const ROOT: u32 = 0;

/// The object that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    File(u32),
    Folder(u32),
}

#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) content: Content,
    /// Number of current names.
    pub(crate) names: u32,
    /// Number of times that unsynced changes refer to it.
    mentions: u32,
    /// Number of open handles.
    pub(crate) handles: u32,
    pub(crate) in_dirty: bool,
    in_use: bool,
    /// Whether its bytes count in `used_bytes`: while it has a name or a handle.
    pub(crate) counted: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Folder {
    pub(crate) names: BTreeMap<Box<str>, Entry>,
}

/// One name before and after a change.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) folder: u32,
    pub(crate) name: Box<str>,
    pub(crate) before: Option<Entry>,
    pub(crate) after: Option<Entry>,
}

#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) first: Part,
    /// The new name, if the change is a rename.
    pub(crate) second: Option<Part>,
}

impl Change {
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

/// The disk of one machine; see the module's header.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) files: Vec<File>,
    free: Vec<u32>,
    /// Every folder that ever existed; the index is its id.
    pub(crate) folders: Vec<Folder>,
    pub(crate) changes: Vec<Change>,
    pub(crate) dirty: Vec<u32>,
    pub(crate) garbage: VecDeque<Vec<u8>>,
    pub(crate) used_bytes: u64,
}

/// A resolved path: its folder, if that exists, its last name, and the object with this name.
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
            folders: vec![Folder::default()],
            changes: Vec::new(),
            dirty: Vec::new(),
            garbage: VecDeque::new(),
            used_bytes: 0,
        }
    }

    /// Bytes of files that have a name or are open.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    // --- names -------------------------------------------------------------------------------

    fn folder(&self, path: &str) -> Option<u32> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(ROOT, |folder, name| match self.folders[folder as usize].names.get(name) {
            Some(Entry::Folder(id)) => Some(*id),
            _ => None,
        })
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

    /// The folder and name for a new entry.
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
        let (Some(old_folder), Some(entry)) = (source.folder, source.entry) else {
            return error(io::ErrorKind::NotFound);
        };
        let Some(new_folder) = target.folder else { return error(io::ErrorKind::NotFound) };
        if target.entry == source.entry {
            return Ok(()); // As rename(2): two names of one file stay.
        }
        match (entry, target.entry) {
            (_, Some(Entry::Folder(_))) => return error(io::ErrorKind::IsADirectory),
            (Entry::Folder(_), Some(Entry::File(_))) => return error(io::ErrorKind::NotADirectory),
            (Entry::Folder(id), None) if id == ROOT || self.holds(id, new_folder) => {
                return error(io::ErrorKind::InvalidInput);
            }
            _ => {}
        }
        let removed = self.part(old_folder, source.name, None);
        let added = self.part(new_folder, target.name, Some(entry));
        self.change(removed, Some(added));
        Ok(())
    }

    /// Whether `inner` is `outer` or is in it at any depth.
    fn holds(&self, outer: u32, inner: u32) -> bool {
        let below = |entry: &Entry| matches!(entry, Entry::Folder(id) if self.holds(*id, inner));
        outer == inner || self.folders[outer as usize].names.values().any(below)
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
        let id = self.folders.len() as u32;
        self.folders.push(Folder::default());
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
        let part = self.part(parent, place.name, None);
        self.change(part, None);
        Ok(())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.place(path).entry.is_some()
    }

    /// Makes all changes of names in a folder durable.
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

    pub(crate) fn set_name(&mut self, folder: u32, name: &str, entry: Option<Entry>) {
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

    pub(crate) fn forget(&mut self, changes: Vec<Change>) {
        for part in changes.iter().flat_map(Change::parts) {
            for entry in [part.before, part.after] {
                if let Some(Entry::File(file)) = entry {
                    self.files[file as usize].mentions -= 1;
                    self.release(file);
                }
            }
        }
    }

    /// Frees a file's space when nothing refers to it any more.
    pub(crate) fn release(&mut self, id: u32) {
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
        // A handle may be closed after its machine was restarted.
        if let Some(open) = self.files.get_mut(file as usize).filter(|file| file.handles > 0) {
            open.handles -= 1;
            self.release(file);
        }
    }

    pub(crate) fn bytes(&self, file: u32) -> &[u8] {
        self.files.get(file as usize).map_or(&[], |file| file.content.bytes())
    }

    /// Writes at offset `at`, which is at most the file's length.
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
        // Lost sectors are clean, but a power cut must find the file.
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

    /// A random file with a name and bytes for a fault to hit, other than `not`, whose name
    /// contains `only`.
    pub(crate) fn victim(
        &self,
        only: Option<&str>,
        not: Option<u32>,
        random: &mut Random,
    ) -> Option<u32> {
        let names = self.folders.iter().flat_map(|folder| &folder.names);
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

    /// Every file with its path and bytes, sorted by path.
    pub(crate) fn all_files(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        let mut left = vec![(String::new(), ROOT)];
        while let Some((path, id)) = left.pop() {
            for (name, entry) in &self.folders[id as usize].names {
                let path = format!("{path}/{name}");
                match *entry {
                    Entry::File(file) => all.push((path, self.bytes(file).to_vec())),
                    Entry::Folder(id) => left.push((path, id)),
                }
            }
        }
        all.sort();
        all
    }
}
