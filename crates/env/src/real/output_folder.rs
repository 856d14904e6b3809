//! An output folder whose path the user gave, such as an export of several files.
//!
//! # What happens to an existing folder
//! | at the path | what happens |
//! | --- | --- |
//! | nothing, an empty folder | the new folder gets its name when it is complete |
//! | another folder | refused, or exchanged for the new one if the caller allows it |
//! | anything else, also a symbolic link to a folder | refused |
//!
//! # Invariants
//! 1. A folder at the path is complete: its files are written into a temporary folder beside it,
//!    synced, and renamed at the end.
//! 2. The temporary folder never touches another one: its name contains a random number, and
//!    creating it fails if the name exists.
//! 3. An old folder is removed only after the new one has its name. Where the file system can
//!    exchange two names, there is a folder at the path at all times.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::output::followed;
use super::sys;
use crate::error::{EnvError, Result};
use crate::owner::Owner;

/// An output folder that is being written; see the module documentation. If it is dropped without
/// [`OutputFolder::finish`], what was written is removed and the target is unchanged.
#[derive(Debug)]
pub struct OutputFolder {
    owner: Owner,
    part: PathBuf,
    target: PathBuf,
    replaces: bool,
    is_done: bool,
}

impl OutputFolder {
    /// Creates the temporary folder for `path`. A folder there that is not empty is replaced only
    /// if `replaces` is true.
    ///
    /// # Errors
    /// `AlreadyExists` for a folder that must not be replaced, `InvalidInput` for a path that is no
    /// folder; a missing folder above it.
    pub fn create(path: &Path, replaces: bool) -> Result<Self> {
        let fail = |error| EnvError::io("write", path, error);
        let target = check(path, replaces).map_err(fail)?;
        let part = target.with_file_name(format!(".quipu-{:016x}.part", sys::random_seed()));
        fs::create_dir(&part).map_err(fail)?;
        Ok(Self { owner: Owner::here(), part, target, replaces, is_done: false })
    }

    /// The temporary folder, for the files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.part
    }

    /// Syncs the names of the files, and gives the folder its name. The files themselves must be
    /// synced.
    ///
    /// # Errors
    /// As [`OutputFolder::create`], if the target has changed since; a failed sync or rename. The
    /// target is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        self.owner.check()?;
        self.renamed().map_err(|error| EnvError::io("write", &self.target, error))
    }

    fn renamed(&mut self) -> io::Result<()> {
        sync_folders(&self.part)?;
        check(&self.target, self.replaces)?;
        // A rename replaces an empty folder, and fails for any other.
        let is_new = fs::read_dir(&self.target).map_or(true, |mut there| there.next().is_none());
        match is_new {
            true => {
                fs::rename(&self.part, &self.target)?;
                self.is_done = true;
            }
            // The drop removes the old folder.
            false => exchange(&self.part, &self.target)?,
        }
        match self.target.parent() {
            Some(above) => File::open(above)?.sync_all(),
            None => Ok(()),
        }
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // A child of `fork` leaves its parent's files alone.
        if self.owner.is_here() && !self.is_done {
            // Best effort: a name that begins with a dot and ends in `.part` is no output.
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// Checks that the path may become the folder, and returns it without symbolic links above it.
fn check(path: &Path, replaces: bool) -> io::Result<PathBuf> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => return Err(invalid("it is a symbolic link")),
        Ok(there) if !there.is_dir() => return Err(invalid("it is a file")),
        Ok(_) if !replaces && fs::read_dir(path)?.next().is_some() => {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // `components` drops a slash at the end, after which `followed` expects a folder.
    let target = followed(&path.components().collect::<PathBuf>())?;
    match target.file_name() {
        Some(_) => Ok(target),
        None => Err(invalid("it has no name")),
    }
}

/// Syncs a folder and the folders in it.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}

/// Exchanges the names of two folders, in one step where the file system can.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let aside = new.with_extension("old");
    fs::rename(old, &aside)?;
    if let Err(error) = fs::rename(new, old) {
        fs::rename(&aside, old)?;
        return Err(error);
    }
    fs::rename(&aside, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str, text: &str) {
        fs::write(folder.join(name), text).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_gets_its_name_at_the_end_alone() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let output = OutputFolder::create(&target, false).unwrap();
        fs::create_dir(output.path().join("in")).unwrap();
        file(&output.path().join("in"), "a", "1");
        assert!(!target.exists());
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(target.join("in/a")).unwrap(), "1");
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn a_dropped_folder_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let output = OutputFolder::create(&place.path().join("out"), false).unwrap();
        file(output.path(), "a", "1");
        drop(output);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn a_full_folder_is_replaced_only_on_request() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        fs::create_dir(&target).unwrap();
        OutputFolder::create(&target, false).unwrap().finish().unwrap();
        file(&target, "old", "1");
        assert!(OutputFolder::create(&target, false).is_err());
        let output = OutputFolder::create(&target, true).unwrap();
        file(output.path(), "new", "2");
        assert_eq!(names(&target), ["old"]);
        output.finish().unwrap();
        assert_eq!(names(&target), ["new"]);
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn a_folder_that_was_filled_meanwhile_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let output = OutputFolder::create(&target, false).unwrap();
        fs::create_dir(&target).unwrap();
        file(&target, "theirs", "1");
        assert!(output.finish().is_err());
        assert_eq!(names(&target), ["theirs"]);
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn files_links_and_roots_are_refused() {
        let place = tempfile::tempdir().unwrap();
        file(place.path(), "file", "1");
        fs::create_dir(place.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("folder", place.path().join("link")).unwrap();
        for name in ["file", "link", "missing/out"] {
            assert!(OutputFolder::create(&place.path().join(name), true).is_err(), "{name}");
        }
        assert!(OutputFolder::create(Path::new("/"), true).is_err());
        assert_eq!(names(place.path()), ["file", "folder", "link"]);
    }
}
