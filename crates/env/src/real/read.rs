//! Positional reads: through the page cache, direct, and batched.
//!
//! # When a batch goes through the ring
//! A cached 4 KiB block takes 0.75 us by `pread` and 0.83 us through the ring. The ring gains only
//! when several requests wait for the disk together: 16 direct reads took 59 us each one by one, 15
//! us each in flight together, with two cores. So a single request never uses it, and two requests
//! only with direct I/O. Trying `RWF_NOWAIT` first and the ring for the rest was measured without a
//! gain.
//!
//! # Invariants
//! 1. A direct read covers whole aligned blocks and reads into aligned memory. The requested bytes
//!    are copied out of it.
//! 2. If the file system refuses direct I/O when a file is opened, reads go through the page cache.
//! 3. Direct requests that are adjacent in the file and in the batch become one read of up to
//!    [`DIRECT_BYTES_MAX`]. Through the page cache the kernel does this itself.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::place::{Place, direct};
use super::sys;
use super::uring::RingPool;
use crate::error::{EnvError, Result};
use crate::files::{FileRead, RandomReadFile, ReadOptions, ReadRequest};
use crate::non_blocking::may_read;
use crate::owner::Own;

/// Alignment for direct I/O in bytes. Every common block device accepts it.
pub(super) const DIRECT_ALIGN: usize = 4096;

/// Maximum bytes of a direct read that serves several requests. Large enough that sectors read
/// twice do not matter; small enough that a scan's next MiB becomes several reads in flight, which
/// was measured to be faster than one.
const DIRECT_BYTES_MAX: usize = 256 << 10;

/// Minimum number of reads for which a batch uses the ring when it reads through the page cache.
/// The next constant is the minimum for direct I/O, which always waits for the device.
#[cfg(target_os = "linux")]
const RING_REQUESTS_MIN: usize = 3;
#[cfg(target_os = "linux")]
const RING_DIRECT_REQUESTS_MIN: usize = 2;

#[derive(Debug)]
pub(crate) struct RealReadFile {
    file: Own<File>,
    path: PathBuf,
    direct: bool,
    rings: Option<Arc<RingPool>>,
}

impl RealReadFile {
    pub(super) fn open(
        place: &Place<'_>,
        options: ReadOptions,
        rings: Option<Arc<RingPool>>,
    ) -> Result<Self> {
        let path = place.path().to_owned();
        if options.direct
            && let Some(file) = open_direct(place)
        {
            return Ok(Self { file: Own::new(file), path, direct: true, rings });
        }
        let file = place.open("open", OFlags::RDONLY)?;
        Ok(Self { file: Own::new(file), path, direct: false, rings })
    }

    fn fail(&self, error: io::Error) -> EnvError {
        EnvError::io("read", &self.path, error)
    }

    fn read_direct(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut span = Span::direct(file, offset, buf.len());
        span.finish()?;
        buf.copy_from_slice(span.wanted());
        Ok(())
    }
}

/// A request together with its file.
struct Piece<'a> {
    file: &'a RealReadFile,
    offset: u64,
    buf: &'a mut Vec<u8>,
}

impl Piece<'_> {
    /// Whether `next` can be added to a read of `bytes` bytes that ends with this piece.
    fn is_followed_by(&self, next: &Self, bytes: usize) -> bool {
        self.file.direct
            && std::ptr::eq(self.file, next.file)
            && self.offset + self.buf.len() as u64 == next.offset
            && bytes + next.buf.len() <= DIRECT_BYTES_MAX
    }
}

/// Fills pieces of several files. All reads are in flight together if there is a ring.
fn read_pieces(pieces: &mut [Piece<'_>]) -> Result<()> {
    if let Some(first) = pieces.first() {
        may_read(&first.file.path)?;
        first.file.file.get()?;
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let (mut end, mut bytes) = (start + 1, pieces[start].buf.len());
        while end < pieces.len() && pieces[end - 1].is_followed_by(&pieces[end], bytes) {
            bytes += pieces[end].buf.len();
            end += 1;
        }
        let first = &mut pieces[start];
        let (file, offset) = (first.file, first.offset);
        let span = match file.direct {
            true => Span::direct(file.file.get()?, offset, bytes),
            false => Span::whole(file.file.get()?, offset, std::mem::take(first.buf)),
        };
        groups.push(Group { span, pieces: start..end });
        start = end;
    }
    let mut read = Ok(());
    #[cfg(target_os = "linux")]
    if let Some(first) = pieces.first()
        && groups.len() >= min_for_ring(first)
        && let Some(rings) = &first.file.rings
    {
        let mut spans: Vec<&mut Span<'_>> =
            groups.iter_mut().map(|group| &mut group.span).collect();
        read = rings.read(&mut spans).map_err(|e| first.file.fail(e));
    }
    for Group { mut span, pieces: covered } in groups {
        let file = pieces[covered.start].file;
        read = read.and_then(|()| span.finish().map_err(|e| file.fail(e)));
        if !file.direct {
            *pieces[covered.start].buf = span.buf;
        } else if read.is_ok() {
            let mut wanted = span.wanted();
            for piece in &mut pieces[covered] {
                let (bytes, rest) = wanted.split_at(piece.buf.len());
                piece.buf.copy_from_slice(bytes);
                wanted = rest;
            }
        }
    }
    read
}

#[cfg(target_os = "linux")]
fn min_for_ring(first: &Piece<'_>) -> usize {
    if first.file.direct { RING_DIRECT_REQUESTS_MIN } else { RING_REQUESTS_MIN }
}

/// One read and the indexes of the pieces that it fills.
struct Group<'a> {
    span: Span<'a>,
    pieces: Range<usize>,
}

impl RandomReadFile for RealReadFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        may_read(&self.path)?;
        let file = self.file.get()?;
        let read = match self.direct {
            true => Self::read_direct(file, buf, offset),
            false => file.read_exact_at(buf, offset),
        };
        read.map_err(|e| self.fail(e))
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()> {
        let pieces = requests.iter_mut();
        let pieces = pieces.map(|r| Piece { file: self, offset: r.offset, buf: &mut r.buf });
        read_pieces(&mut pieces.collect::<Vec<_>>())
    }

    fn read_together(&self, reads: &mut [FileRead]) -> Result<bool> {
        let pieces = reads.iter_mut().map(|FileRead { file, offset, buf }| {
            let file = file.as_any()?.downcast_ref()?;
            Some(Piece { file, offset: *offset, buf })
        });
        match pieces.collect::<Option<Vec<_>>>() {
            Some(mut pieces) => read_pieces(&mut pieces).map(|()| true),
            None => Ok(false),
        }
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn may_read(&self) -> Result<()> {
        may_read(&self.path)
    }

    fn read_ahead(&self, offset: u64, bytes: u64) {
        if let (false, Ok(file)) = (self.direct, self.file.get()) {
            sys::will_need(file, offset, bytes);
        }
    }

    fn len_bytes(&self) -> Result<u64> {
        let metadata = self.file.get()?.metadata();
        Ok(metadata.map_err(|e| EnvError::io("ask for the length of", &self.path, e))?.len())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// One read in flight with its memory: the kernel fills `buf[start..start + len]` from `offset`.
#[derive(Debug)]
pub(super) struct Span<'a> {
    pub(super) file: &'a File,
    pub(super) buf: Vec<u8>,
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) offset: u64,
    /// Number of bytes read so far, from `start` on.
    pub(super) done: usize,
    /// Range of the requested bytes, counted from `start`.
    skip: usize,
    want: usize,
}

impl<'a> Span<'a> {
    fn whole(file: &'a File, offset: u64, buf: Vec<u8>) -> Self {
        let len = buf.len();
        Self { file, buf, start: 0, len, offset, done: 0, skip: 0, want: len }
    }

    fn direct(file: &'a File, offset: u64, want: usize) -> Self {
        let skip = (offset % DIRECT_ALIGN as u64) as usize;
        let len = (skip + want).next_multiple_of(DIRECT_ALIGN);
        let buf = vec![0; len + DIRECT_ALIGN];
        let start = buf.as_ptr().align_offset(DIRECT_ALIGN);
        assert!(start < DIRECT_ALIGN, "bytes can be aligned to any power of two");
        Self { file, buf, start, len, offset: offset - skip as u64, done: 0, skip, want }
    }

    /// Reads the remaining bytes with one call after another.
    fn finish(&mut self) -> io::Result<()> {
        // The last block of a file may be short, so only the requested bytes must arrive.
        while self.done < self.skip + self.want {
            let rest = &mut self.buf[self.start + self.done..self.start + self.len];
            match self.file.read_at(rest, self.offset + self.done as u64) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(read) => self.done += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn wanted(&self) -> &[u8] {
        &self.buf[self.start + self.skip..][..self.want]
    }
}

/// Opens the file for direct I/O; `None` if that fails for any reason.
fn open_direct(place: &Place<'_>) -> Option<File> {
    if direct().is_empty() {
        return None;
    }
    let file = place.open("open", OFlags::RDONLY | direct()).ok()?;
    // Some file systems accept the flag but refuse reads, so one block is read as a test.
    let mut probe = Span::direct(&file, 0, 1);
    let range = probe.start..probe.start + probe.len;
    file.read_at(&mut probe.buf[range], 0).ok()?;
    Some(file)
}
