//! C library calls that the standard library does not offer.
//!
//! # Why unsafe here
//! Each function wraps one foreign call and keeps no state. `std` has no safe equivalent for any of
//! them.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A random number from the kernel; derived from the clock and the process id if that fails.
pub(crate) fn random_seed() -> u64 {
    let mut bytes = [0_u8; 8];
    let read = File::open("/dev/urandom")
        .and_then(|mut source| io::Read::read_exact(&mut source, &mut bytes));
    match read {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => crate::memory::since_epoch_us() ^ u64::from(std::process::id()).rotate_left(32),
    }
}

/// Raises the soft limit on descriptors to the hard limit, and returns the resulting limit; 0 if it
/// is unknown.
pub(crate) fn raise_descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a local variable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 0;
    }
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    if raised.rlim_cur > limit.rlim_cur {
        // SAFETY: `raised` is only read.
        let set = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
        if set == 0 {
            limit = raised;
        }
    }
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Returns freed memory to the system. Without this, glibc kept all memory of an import resident
/// after its end. The pieces had some hundred KiB. Once the first was freed, glibc took further
/// ones from its arenas, where freed memory stays resident.
pub(crate) fn release_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointer; the allocator locks its own data.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Resident memory of the process in bytes, without mapped files; 0 if unknown.
pub(crate) fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Bytes that an unprivileged process may still write to the file system of `folder`.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let name = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: all-zero is a valid `statvfs`, which is plain integers.
    let mut answer: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is a C string that outlives the call; `answer` is a local variable.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut answer) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The widths of the fields differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    Ok((answer.f_bavail as u64).saturating_mul(answer.f_frsize as u64))
}

/// The host name, for the line in a lock file.
pub(crate) fn host_name() -> String {
    let mut buf = [0_u8; 256];
    // SAFETY: the buffer is a local variable and its length is passed.
    let failed = unsafe { libc::gethostname(buf.as_mut_ptr().cast(), buf.len()) } != 0;
    let end = buf.iter().position(|byte| *byte == 0).unwrap_or(buf.len());
    if failed || end == 0 {
        return "an unnamed host".to_owned();
    }
    String::from_utf8_lossy(&buf[..end]).into_owned()
}

/// Asks the kernel to read this range into its cache. Best effort.
pub(crate) fn will_need(file: &File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (i64::try_from(offset), i64::try_from(bytes)) {
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, bytes, libc::POSIX_FADV_WILLNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
}

/// Asks the kernel to start writing this range of its cache to the device, and does not wait. Best
/// effort: it makes nothing durable, and errors are reported by the next wait or sync.
pub(crate) fn begin_writing(file: &File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (i64::try_from(offset), i64::try_from(bytes)) {
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
        unsafe {
            libc::sync_file_range(file.as_raw_fd(), offset, bytes, libc::SYNC_FILE_RANGE_WRITE)
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
}

/// Waits until this range is written to the device, as far as the kernel reports it. It is not a
/// sync.
///
/// # Errors
/// A failed write of any part of the file. It is reported once: a later sync does not report it
/// again.
pub(crate) fn wait_written(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (i64::try_from(offset), i64::try_from(bytes)) {
        let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
            | libc::SYNC_FILE_RANGE_WRITE
            | libc::SYNC_FILE_RANGE_WAIT_AFTER;
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
        if unsafe { libc::sync_file_range(file.as_raw_fd(), offset, bytes, all) } != 0 {
            let error = io::Error::last_os_error();
            // If the call is missing or not permitted, the kernel writes when it likes.
            let is_missing = matches!(
                error.raw_os_error(),
                Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE | libc::EPERM | libc::EOPNOTSUPP)
            );
            return if is_missing { Ok(()) } else { Err(error) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, bytes);
    Ok(())
}

/// Reserves `bytes` of disk space for the file and sets its length.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let len = i64::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            0 => return Ok(()),
            libc::EINVAL | libc::EOPNOTSUPP => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
    // This file system cannot reserve space. Writing zeros takes the space too, only slower.
    let zeros = vec![0; 1 << 20];
    let mut at = 0;
    while at < bytes {
        let piece = (bytes - at).min(zeros.len() as u64);
        std::os::unix::fs::FileExt::write_all_at(file, &zeros[..piece as usize], at)?;
        at += piece;
    }
    Ok(())
}
