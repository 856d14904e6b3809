//! An output file whose path the user gave, such as an export.
//!
//! # What happens to an existing file
//! | at the path | what happens |
//! | --- | --- |
//! | nothing | a new file with the mode that the process's umask leaves |
//! | a regular file | replaced after everything is written; mode, owner and group stay |
//! | a symbolic link | followed, also to a file that does not exist yet |
//! | a named pipe, a character device | written to as a stream |
//! | a folder, a block device, a socket | refused |
//!
//! # Invariants
//! 1. A regular file has either its old or its complete new content: a temporary file beside it is
//!    written, and renamed at the end.
//! 2. The temporary file never overwrites or removes another file: its name contains a random
//!    number, and creating it fails if the name exists.
//! 3. If the owner or group cannot be preserved, or the file may not be written, the call fails
//!    before the target changes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown, fcntl_setfl};
use rustix::io::Errno;

use super::sys;
use crate::error::{EnvError, Result};
use crate::owner::Own;

/// Maximum number of symbolic links that are followed in one path, as on Linux.
const LINKS_MAX: usize = 40;

/// Interval between attempts to open a named pipe without a reader. The kernel sends no
/// notification when a reader appears.
const PIPE_WAIT: Duration = Duration::from_millis(20);

/// The bits of a mode that `chmod` sets.
const MODE_BITS: u32 = 0o7777;

/// An open output file; see the module documentation. If it is dropped without [`Output::finish`],
/// a regular file keeps its old content.
#[derive(Debug)]
pub struct Output {
    file: Own<File>,
    path: PathBuf,
    replaces: Option<Replacement>,
}

/// A temporary file and the target that it replaces.
#[derive(Debug)]
struct Replacement {
    part: PathBuf,
    target: PathBuf,
    is_done: bool,
}

impl Output {
    /// Opens `path` for sequential writing. While a named pipe has no reader, `go_on` is called
    /// repeatedly and ends the wait by returning false.
    ///
    /// # Errors
    /// `InvalidInput` if the path cannot be written as a file (a folder, a block device, a socket).
    /// `PermissionDenied` if the file may not be written or its owner cannot be preserved.
    /// `Interrupted` if `go_on` returns false. A missing folder or a full disk.
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

    /// Resolves all symbolic links in `path`, including the last component. The target need not
    /// exist.
    ///
    /// # Errors
    /// A missing folder, circular links, a folder without permission to read it, or a path that
    /// names a folder.
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
        // The path may lead to another file by now.
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
        // Restricted from the start: the new content may be as confidential as the old file.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&part)?;
        let replaces = Some(Replacement { part, target, is_done: false });
        let output = Self { file: Own::new(file), path: path.to_owned(), replaces };
        if let Some(old) = old {
            copy_access(&old, output.file.get().map_err(io::Error::other)?)?;
        }
        Ok(output)
    }

    /// Completes the output: a regular file replaces its target.
    ///
    /// # Errors
    /// A failed rename; the target is no longer a regular file. The target is then unchanged.
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
            // Best effort. The target is unchanged in any case.
            let _ = fs::remove_file(&replacement.part);
        }
    }
}

/// Copies owner, group and mode of `old` to `new`.
///
/// # Errors
/// `PermissionDenied` if the process may not set that owner or group.
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
    // After the owner, because `chown` clears some mode bits.
    Ok(fchmod(new, Mode::from_raw_mode(old.mode() & MODE_BITS))?)
}

/// Checks that this process may write the file that is to be replaced, and returns its metadata.
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

/// Whether the path can only mean a folder. `Path` drops a trailing slash or dot.
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
