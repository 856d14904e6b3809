//! Files that are read sequentially: regular files, pipes and virtual files.
//!
//! # Why not a [`crate::files::RandomReadFile`]
//! A pipe has no length and no offsets. A file in `/proc` reports a length of 0. Both may block
//! their reader forever.
//!
//! # Invariants
//! 1. No call waits longer than the caller allows. Files that may block are opened non-blocking and
//!    polled.
//! 2. A folder, a block device or a socket is refused before it is opened, since opening a device
//!    may have side effects.
//! 3. If the file must lie below a folder, its path is resolved first, and then opened one name at
//!    a time without following links. So a link that is put in between leads nowhere.
//!
//! # Why unsafe here
//! The standard library cannot open a file relative to a folder's descriptor, and has no `poll`.
#![allow(unsafe_code)]

use crate::error::{EnvError, Result};
use crate::files::StreamFile;
use std::ffi::CString;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// A file that is read sequentially.
#[derive(Debug)]
pub(crate) struct RealStream {
    file: File,
    path: PathBuf,
    /// Whether a read may block.
    may_wait: bool,
    len_bytes: Option<u64>,
}

impl RealStream {
    /// Opens a file. If `below` is not empty, the file must lie below each of these folders.
    pub(crate) fn open(path: &Path, below: &[&Path]) -> Result<Self> {
        let fail = |error| EnvError::io("open", path, error);
        let kind = fs::metadata(path).map_err(fail)?.file_type();
        check_kind(kind).map_err(fail)?;
        let file = match below {
            [] => OpenOptions::new().read(true).custom_flags(FLAGS).open(path),
            below => open_below(path, below),
        };
        let file = file.map_err(fail)?;
        // The path may lead to another file by now.
        let now = file.metadata().map_err(fail)?;
        check_kind(now.file_type()).map_err(fail)?;
        let is_plain = now.file_type().is_file();
        // A file that reports a length of 0 may be one of `/proc`.
        let len_bytes = (is_plain && now.len() > 0).then_some(now.len());
        Ok(Self { file, path: path.to_owned(), may_wait: !is_plain, len_bytes })
    }

    fn fail(&self, error: io::Error) -> EnvError {
        EnvError::io("read", &self.path, error)
    }
}

impl StreamFile for RealStream {
    fn read_some(&mut self, buf: &mut [u8], wait_us: u64) -> Result<Option<usize>> {
        // To a read, a pipe that no writer has opened yet looks like the end of a file. A poll can
        // tell the difference.
        if self.may_wait && !is_ready(&self.file, wait_us).map_err(|error| self.fail(error))? {
            return Ok(None);
        }
        match self.file.read(buf) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_again(&error) => Ok(None),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn len_bytes(&self) -> Option<u64> {
        self.len_bytes
    }
}

/// Non-blocking, not inherited by child processes, and never the controlling terminal.
const FLAGS: i32 = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;

fn is_again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Refuses files that cannot be read sequentially.
fn check_kind(kind: FileType) -> io::Result<()> {
    let refused = |what: &str| {
        let what = format!("it is {what}, which is not read");
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    };
    match kind {
        kind if kind.is_dir() => refused("a folder"),
        kind if kind.is_block_device() => refused("a block device"),
        kind if kind.is_socket() => refused("a socket"),
        _ => Ok(()),
    }
}

/// Waits up to `wait_us` microseconds until data or the end of the file is available.
fn is_ready(file: &File, wait_us: u64) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let wait_ms = i32::try_from(wait_us.div_ceil(1000)).unwrap_or(i32::MAX);
    // SAFETY: one descriptor, open as long as `file` is borrowed; `asked` is a local variable.
    match unsafe { libc::poll(&raw mut asked, 1, wait_ms) } {
        0 => Ok(false),
        ready if ready > 0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if is_again(&error) => Ok(false),
            error => Err(error),
        },
    }
}

/// Opens a file that lies below each of these folders, without following links that appear
/// meanwhile.
fn open_below(path: &Path, below: &[&Path]) -> io::Result<File> {
    let real = fs::canonicalize(path)?;
    let outside = |folder: &Path| {
        let what = format!("it is not below {}", folder.display());
        io::Error::new(io::ErrorKind::PermissionDenied, what)
    };
    let mut innermost = PathBuf::new();
    for folder in below {
        let root = fs::canonicalize(folder)?;
        if !real.starts_with(&root) {
            return Err(outside(folder));
        }
        if root.components().count() > innermost.components().count() {
            innermost = root;
        }
    }
    let names = real.strip_prefix(&innermost).map_err(|_| outside(&innermost))?;
    let folder = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(&innermost)?;
    let mut at = OwnedFd::from(folder);
    let mut names = names.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else { return Err(outside(&innermost)) };
        let kind = if names.peek().is_some() { libc::O_DIRECTORY } else { FLAGS };
        at = open_at(&at, name.as_bytes(), kind | libc::O_NOFOLLOW | libc::O_CLOEXEC)?;
    }
    Ok(File::from(at))
}

/// Opens a name in a folder for reading.
fn open_at(folder: &OwnedFd, name: &[u8], flags: i32) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: the folder is open as long as it is borrowed; `name` is a C string that outlives the
    // call.
    let found = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), libc::O_RDONLY | flags) };
    match found {
        // SAFETY: the descriptor is new and has no other owner.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(found) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn all(path: &Path, below: &[&Path]) -> Result<Vec<u8>> {
        let mut file = RealStream::open(path, below)?;
        let (mut found, mut buf) = (Vec::new(), [0; 7]);
        loop {
            match file.read_some(&mut buf, 1_000_000)? {
                Some(0) => return Ok(found),
                Some(bytes) => found.extend_from_slice(&buf[..bytes]),
                None => panic!("{} has nothing to say", path.display()),
            }
        }
    }

    fn pipe(path: &Path) {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    }

    #[test]
    fn a_file_is_read_to_its_end_whatever_length_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"some bytes of a file").unwrap();
        assert_eq!(all(&path, &[]).unwrap(), b"some bytes of a file");
        assert_eq!(RealStream::open(&path, &[]).unwrap().len_bytes(), Some(20));
        #[cfg(target_os = "linux")]
        {
            let status = Path::new("/proc/self/status");
            assert_eq!(RealStream::open(status, &[]).unwrap().len_bytes(), None);
            assert!(all(status, &[]).unwrap().starts_with(b"Name:"));
        }
    }

    #[test]
    fn a_pipe_that_nobody_writes_makes_nobody_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let mut file = RealStream::open(&path, &[]).unwrap();
        let mut buf = [0; 16];
        assert_eq!(file.read_some(&mut buf, 1000).unwrap(), None, "no writer yet");
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(file.read_some(&mut buf, 1000).unwrap(), None, "nothing written yet");
        writer.write_all(b"now").unwrap();
        assert_eq!(file.read_some(&mut buf, 1_000_000).unwrap(), Some(3));
        assert_eq!(&buf[..3], b"now");
        drop(writer);
        assert_eq!(file.read_some(&mut buf, 1_000_000).unwrap(), Some(0), "the writer is gone");
    }

    #[test]
    fn what_is_no_file_is_refused_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in [(folder.path(), "a folder"), (&socket, "a socket")] {
            let error = RealStream::open(path, &[]).unwrap_err();
            assert_eq!(error.io_kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn nothing_outside_of_a_folder_is_below_it() {
        let home = tempfile::tempdir().unwrap();
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("deep/a"), b"in").unwrap();
        fs::write(outside.join("secret"), b"out").unwrap();
        symlink("deep/a", inside.join("link")).unwrap();
        symlink(inside.join("deep"), inside.join("folder")).unwrap();
        symlink(&inside, outside.join("back")).unwrap();
        symlink(outside.join("secret"), inside.join("escape")).unwrap();
        symlink("../out", inside.join("up")).unwrap();
        let read = |path: &Path| all(path, &[&inside]).map_err(|error| error.io_kind());
        let good = ["deep/a", "link", "folder/a", "deep/../deep/a"];
        for name in good {
            assert_eq!(read(&inside.join(name)).unwrap(), b"in", "{name}");
        }
        assert_eq!(read(&outside.join("back/deep/a")).unwrap(), b"in");
        for name in ["escape", "up/secret", "../out/secret", "deep/../../out/secret"] {
            let kind = read(&inside.join(name)).unwrap_err();
            assert_eq!(kind, io::ErrorKind::PermissionDenied, "{name}");
        }
        // Another folder whose name only starts the same.
        fs::create_dir(home.path().join("inner")).unwrap();
        fs::write(home.path().join("inner/a"), b"no").unwrap();
        read(&home.path().join("inner/a")).unwrap_err();
        // With several folders, the file must lie below each.
        let deep = inside.join("deep");
        assert_eq!(all(&inside.join("link"), &[&inside, &deep]).unwrap(), b"in");
        fs::write(inside.join("b"), b"in").unwrap();
        all(&inside.join("b"), &[&deep, &inside]).unwrap_err();
        all(&inside.join("b"), &[&outside, &inside]).unwrap_err();
    }
}
