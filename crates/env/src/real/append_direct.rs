//! Large files written around the page cache, with several pieces in flight through `io_uring`.
//!
//! # Why it is an option
//! It takes half the processor time of write calls, and the disk never stalls behind dirty pages.
//! But new data is then not in memory, so the first reads go to the disk.
//! `docs/decisions/0009-large-writes.md` has the figures (from `examples/write_speed.rs`).
//!
//! # Why unsafe here
//! Submitting passes raw addresses to the kernel, which reads from them later. There is no safe
//! interface.
//!
//! # Invariants
//! 1. Only whole pieces bypass the page cache, each at a multiple of its length. A flush writes the
//!    rest through a second, ordinary descriptor. The piece is kept, and is written again as a
//!    whole once it is full.
//! 2. The memory of a piece in flight is not touched. It is freed only when nothing is in flight,
//!    or leaked if the ring breaks and this cannot be known.
//! 3. A piece that the kernel refused or wrote only in part is finished by write calls, which
//!    report the real error.
//! 4. A child of `fork` neither writes nor waits: the ring belongs to its parent.
//! 5. Dropping starts no further writes.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use io_uring::{IoUring, opcode, types};
use rustix::fs::{AtFlags, OFlags, unlinkat};

use super::place::Place;
use super::read::DIRECT_ALIGN;
use super::uring::{RingPool, is_transient};
use crate::error::{EnvError, Result};
use crate::files::AppendFile;
use crate::owner::Own;

/// Length of a piece. Larger pieces were not faster; smaller ones cost more submissions.
const PIECE_BYTES: usize = 1 << 20;

/// Pieces of memory per file: one is filled while the others are in flight.
const PIECES: usize = 4;

#[derive(Debug)]
struct Piece {
    memory: Vec<u8>,
    /// Offset of the aligned part in `memory`.
    start: usize,
    offset: u64,
    in_flight: bool,
}

impl Piece {
    fn new() -> Self {
        let memory = vec![0; PIECE_BYTES + DIRECT_ALIGN];
        let start = memory.as_ptr().align_offset(DIRECT_ALIGN);
        Self { memory, start, offset: 0, in_flight: false }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + PIECE_BYTES]
    }
}

pub(crate) struct DirectAppendFile {
    plain: Own<File>,
    direct: Own<File>,
    path: PathBuf,
    rings: Arc<RingPool>,
    /// Taken from the pool when the first piece is full. Most files never fill one.
    ring: Option<IoUring>,
    pieces: Vec<Piece>,
    /// Index of the piece that is being filled. `filled` is its length so far, and `flushed` the
    /// part of it that is already in the file.
    filling: usize,
    filled: usize,
    flushed: usize,
    in_flight: usize,
}

impl std::fmt::Debug for DirectAppendFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectAppendFile")
            .field("path", &self.path)
            .field("len_bytes", &self.len_bytes())
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl DirectAppendFile {
    /// Creates the file. Returns `None` and removes the file if the file system refuses direct I/O.
    pub(super) fn create(place: &Place<'_>, rings: &Arc<RingPool>) -> Result<Option<Self>> {
        let plain = place.create("create", OFlags::WRONLY)?;
        let Ok(direct) = place.open("create", OFlags::WRONLY | OFlags::DIRECT) else {
            unlinkat(place.descriptor(), place.name(), AtFlags::empty())
                .map_err(|error| place.fail("remove", error))?;
            return Ok(None);
        };
        Ok(Some(Self {
            plain: Own::new(plain),
            direct: Own::new(direct),
            path: place.path().to_owned(),
            rings: Arc::clone(rings),
            ring: None,
            pieces: vec![Piece::new()],
            filling: 0,
            filled: 0,
            flushed: 0,
            in_flight: 0,
        }))
    }

    fn fail(&self, needed: usize, error: io::Error) -> EnvError {
        super::write_error("write", &self.path, needed as u64, error)
    }

    /// Submits the full piece and continues with a free one.
    fn send(&mut self) -> Result<()> {
        if self.ring.is_none() {
            self.ring = self.rings.take();
        }
        let piece = &self.pieces[self.filling];
        let next = piece.offset + PIECE_BYTES as u64;
        if let Some(ring) = &mut self.ring {
            let entry = opcode::Write::new(
                types::Fd(self.direct.get()?.as_raw_fd()),
                piece.bytes().as_ptr(),
                PIECE_BYTES as u32,
            )
            .offset(piece.offset)
            .build()
            .user_data(self.filling as u64);
            // SAFETY: the piece's memory and the descriptor belong to this file, which frees
            // neither before the piece's completion (invariant 2). At most `PIECES` entries are
            // queued, fewer than the ring has.
            let pushed = unsafe { ring.submission().push(&entry) };
            pushed.map_err(|e| EnvError::io("write", &self.path, io::Error::other(e)))?;
            self.pieces[self.filling].in_flight = true;
            self.in_flight += 1;
            self.reap(0)?;
        } else {
            // No ring available: out of descriptors or locked memory.
            let written = self.direct.get()?.write_all_at(piece.bytes(), piece.offset);
            written.map_err(|e| self.fail(PIECE_BYTES, e))?;
        }
        let free = loop {
            if let Some(free) = self.pieces.iter().position(|piece| !piece.in_flight) {
                break free;
            }
            if self.pieces.len() < PIECES {
                self.pieces.push(Piece::new());
            } else {
                self.reap(1)?;
            }
        };
        self.pieces[free].offset = next;
        (self.filling, self.filled, self.flushed) = (free, 0, 0);
        Ok(())
    }

    /// Submits queued writes and waits until at least `least` more pieces are written.
    fn reap(&mut self, least: usize) -> Result<()> {
        let plain = self.plain.get()?;
        let Some(ring) = &mut self.ring else { return Ok(()) };
        let mut reaped = 0;
        loop {
            match ring.submit_and_wait(least.saturating_sub(reaped)) {
                Ok(_) => {}
                Err(e) if is_transient(&e) => {}
                Err(e) => return Err(EnvError::io("write", &self.path, e)),
            }
            for completion in ring.completion() {
                let index = usize::try_from(completion.user_data()).unwrap_or(usize::MAX);
                let Some(piece) = self.pieces.get_mut(index) else { continue };
                piece.in_flight = false;
                self.in_flight -= 1;
                reaped += 1;
                let done = usize::try_from(completion.result()).unwrap_or(0).min(PIECE_BYTES);
                if done < PIECE_BYTES {
                    let rest = &piece.bytes()[done..];
                    let written = plain.write_all_at(rest, piece.offset + done as u64);
                    let needed = rest.len() as u64;
                    written.map_err(|e| super::write_error("write", &self.path, needed, e))?;
                }
            }
            if reaped >= least {
                return Ok(());
            }
        }
    }
}

impl AppendFile for DirectAppendFile {
    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.plain.get()?;
        while !bytes.is_empty() {
            let piece = &mut self.pieces[self.filling];
            let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.filled));
            let at = piece.start + self.filled;
            piece.memory[at..at + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == PIECE_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.reap(self.in_flight)?;
        let piece = &self.pieces[self.filling];
        let tail = &piece.bytes()[self.flushed..self.filled];
        let written = self.plain.get()?.write_all_at(tail, piece.offset + self.flushed as u64);
        written.map_err(|e| self.fail(tail.len(), e))?;
        self.flushed = self.filled;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.plain.get()?.sync_data().map_err(|e| EnvError::io("sync", &self.path, e))
    }

    fn len_bytes(&self) -> u64 {
        self.pieces[self.filling].offset + self.filled as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DirectAppendFile {
    fn drop(&mut self) {
        if self.plain.get().is_err() {
            // The ring and the writes in flight belong to the parent.
            std::mem::forget(self.ring.take());
            return;
        }
        while self.in_flight > 0 {
            let before = self.in_flight;
            // A failed write no longer matters. After a broken ring the kernel may still read the
            // memory, so it is leaked.
            if self.reap(1).is_err() && self.in_flight == before {
                for piece in &mut self.pieces {
                    std::mem::forget(std::mem::take(&mut piece.memory));
                }
                return;
            }
        }
        if let Some(ring) = self.ring.take() {
            self.rings.put(ring);
        }
    }
}
