//! A file that the user named to be written to: an export, say.
//!
//! # How existing files are handled
//! | at the path | what happens |
//! | --- | --- |
//! | nothing | a new file, with the mode that the process's mask leaves |
//! | a regular file | replaced once all is written; mode, owner and group stay |
//! | a symbolic link | followed, also to a file that is not there yet |
//! | a named pipe, a character device | written into as a stream |
//! | a folder, a block device, a socket | refused |
//!
//! # Invariants
//! 1. A regular file is whole, or as before: what is written goes to a file of another name beside
//!    it, which takes its place at the end.
//! 2. Nobody else's file is removed or opened to be written to by that other name: it is made of a
//!    random number, and must be new.
//! 3. What cannot be kept (an owner, a group) or may not be written is an error before anything
//!    changes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown, fcntl_setfl};
use rustix::io::Errno;

use super::sys;
use crate::{EnvError, Own, Result};

/// As many links as Linux follows in one path.
const LINKS_MAX: usize = 40;

/// How long to wait before a named pipe is asked again whether somebody reads it: the kernel tells
/// nobody.
const PIPE_WAIT: Duration = Duration::from_millis(20);

/// Bits of a mode that `chmod` sets.
const MODE_BITS: u32 = 0o7777;

/// What the user named to be written to, opened; see the module's header. Dropped without
/// [`Output::finish`], a regular file is as it was.
#[derive(Debug)]
pub struct Output {
    file: Own<File>,
    path: PathBuf,
    replaces: Option<Replacement>,
}

/// The file that is written, and the one whose place it takes.
#[derive(Debug)]
struct Replacement {
    part: PathBuf,
    target: PathBuf,
    is_done: bool,
}

impl Output {
    /// Opens `path` to be written front to back. `go_on` is asked while a named pipe has no reader.
    ///
    /// # Errors
    /// `InvalidInput` for what is no file to be written (a folder, a block device, a socket),
    /// `PermissionDenied` for a file that may not be written, or whose owner cannot be kept;
    /// `Interrupted` where `go_on` says no; missing folder, full disk.
    pub fn create(path: &Path, go_on: &dyn Fn() -> bool) -> Result<Self> {
        let fail = |error| EnvError::io("write", path, error);
        match fs::metadata(path) {
            Ok(there) if is_stream(&there) => Self::stream(path, go_on),
            Ok(there) => {
                check_is_file(&there).map_err(fail)?;
                Self::replacement(path, true).map_err(fail)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::replacement(path, false).map_err(fail)
            }
            Err(error) => Err(fail(error)),
        }
    }

    /// Resolves all links of `path`, the last component included. The target need not exist.
    ///
    /// # Errors
    /// A missing folder, links in a circle, a folder that may not be looked into; a path that names
    /// no file.
    pub fn followed(path: &Path) -> Result<PathBuf> {
        followed(path).map_err(|error| EnvError::io("resolve", path, error))
    }

    fn stream(path: &Path, go_on: &dyn Fn() -> bool) -> Result<Self> {
        let fail = |error| EnvError::io("write", path, error);
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let file = loop {
            match OpenOptions::new().write(true).custom_flags(flags).open(path) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
                    if !go_on() {
                        return Err(fail(io::ErrorKind::Interrupted.into()));
                    }
                    std::thread::sleep(PIPE_WAIT);
                }
                opened => break opened.map_err(fail)?,
            }
        };
        // It may be another file by now.
        if !is_stream(&file.metadata().map_err(fail)?) {
            let error = io::Error::other("it was replaced while it was opened");
            return Err(fail(error));
        }
        fcntl_setfl(&file, OFlags::empty()).map_err(|error| fail(error.into()))?;
        Ok(Self { file: Own::new(file), path: path.to_owned(), replaces: None })
    }

    fn replacement(path: &Path, is_there: bool) -> io::Result<Self> {
        let target = followed(path)?;
        let old = if is_there { Some(open_old(&target)?) } else { None };
        let part = target.with_file_name(format!(".quipu-{:016x}.part", sys::random_seed()));
        // With the content of a file that others may not read, from the first byte on.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
        let replaces = Some(Replacement { part, target, is_done: false });
        let output = Self { file: Own::new(file), path: path.to_owned(), replaces };
        if let Some(old) = old {
            copy_access(&old, output.file.get().map_err(io::Error::other)?)?;
        }
        Ok(output)
    }

    /// Ends the writing: a regular file takes its place.
    ///
    /// # Errors
    /// A failed renaming; something else than a regular file has come to the path meanwhile. What
    /// was there is as before.
    pub fn finish(mut self) -> Result<()> {
        self.file.get()?;
        let Some(replacement) = &mut self.replaces else { return Ok(()) };
        let fail = |error| EnvError::io("write", &self.path, error);
        match fs::symlink_metadata(&replacement.target) {
            Ok(there) => check_is_file(&there).map_err(fail)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        fs::rename(&replacement.part, &replacement.target).map_err(fail)?;
        replacement.is_done = true;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.get_mut().map_err(io::Error::other)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.get_mut().map_err(io::Error::other)?.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A child of `fork` leaves its parent's file alone.
        if let (Some(replacement), true) = (&self.replaces, self.file.get().is_ok())
            && !replacement.is_done
        {
            // Best effort: what matters is that nothing stands under the name that was asked for.
            let _ = fs::remove_file(&replacement.part);
        }
    }
}

/// Gives `new` the owner, the group and the mode of a file or folder.
///
/// # Errors
/// `PermissionDenied` where the process may not give it to that owner or group.
pub(super) fn copy_access(old: &Metadata, new: &File) -> io::Result<()> {
    let now = new.metadata()?;
    if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
        let changed = |old, new| (old != new).then_some(old);
        let owner = changed(old.uid(), now.uid()).map(Uid::from_raw);
        let group = changed(old.gid(), now.gid()).map(Gid::from_raw);
        fchown(new, owner, group).map_err(|error| {
            let (user, group) = (old.uid(), old.gid());
            let what = format!(
                "it belongs to user {user} and group {group}, which this process may not keep ({error})\n\
                 hint: remove it first, or name another"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, what)
        })?;
    }
    // After the owner: changing that one takes bits away.
    Ok(fchmod(new, Mode::from_raw_mode(old.mode() & MODE_BITS))?)
}

/// The file that is to be replaced, which this process must be allowed to write.
fn open_old(target: &Path) -> io::Result<Metadata> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let old = OpenOptions::new().write(true).custom_flags(flags).open(target)?.metadata()?;
    check_is_file(&old)?;
    Ok(old)
}

pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            resolved => return resolved,
        }
        let name = path.file_name().filter(|_| !names_a_folder(&path));
        let Some(name) = name else {
            let what = "it names a folder, and no file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = fs::canonicalize(above.unwrap_or(Path::new(".")))?;
        match fs::read_link(above.join(name)) {
            Ok(to) => path = above.join(to),
            Err(_) => return Ok(above.join(name)),
        }
    }
    Err(Errno::LOOP.into())
}

/// Whether only a folder can be meant: of the last part the standard library tells nothing.
fn names_a_folder(path: &Path) -> bool {
    let text = path.as_os_str().as_bytes();
    text.ends_with(b"/") || text.ends_with(b"/.") || text == b"."
}

fn is_stream(there: &Metadata) -> bool {
    there.file_type().is_fifo() || there.file_type().is_char_device()
}

fn check_is_file(there: &Metadata) -> io::Result<()> {
    let kind = there.file_type();
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "it is a folder",
        _ if kind.is_block_device() => "it is a block device, which is not written to",
        _ if kind.is_socket() => "it is a socket, which is not written to",
        _ => "it is not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
