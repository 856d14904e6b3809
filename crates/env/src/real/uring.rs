//! Batched reads through `io_uring`: all requests of a batch wait for the disk together. `read`
//! submits batches here, and `append_direct` borrows rings for its writes ([`RingPool::take`]).
//!
//! # Why unsafe here
//! Submitting passes raw addresses to the kernel, which writes to them later. There is no safe
//! interface. `examples/env_cost.rs` measures the gain.
//!
//! # Invariants
//! 1. While a read is in flight its buffer is neither moved nor freed: [`RingPool::read`] returns
//!    only when nothing is in flight. If the ring breaks and this cannot be known, the buffers are
//!    leaked.
//! 2. A ring goes back into the pool only with nothing in flight.
//! 3. A short or failed read leaves its span unfinished. The caller reads the rest with system
//!    calls, which report the real error.
//! 4. A child of `fork` neither uses nor closes a ring: it shares the ring with its parent.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use io_uring::{IoUring, opcode, types};

use super::read::Span;
use crate::jobs::locked;
use crate::owner::Owner;

/// Maximum number of requests in flight per ring.
const RING_ENTRIES: u32 = 256;

/// Maximum number of idle rings that are kept. If more threads read at the same time, the others
/// create rings for one batch.
const RINGS_KEPT_MAX: usize = 32;

/// A pool of idle rings. A thread takes one for each batch, so there are as many rings as threads
/// that read at the same time.
pub(crate) struct RingPool {
    owner: Owner,
    idle: Mutex<Vec<IoUring>>,
}

impl Drop for RingPool {
    fn drop(&mut self) {
        if !self.owner.is_here() {
            std::mem::forget(std::mem::take(&mut self.idle));
        }
    }
}

impl std::fmt::Debug for RingPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingPool").field("idle", &locked(&self.idle).len()).finish()
    }
}

impl RingPool {
    /// Creates a pool if the kernel lets this process create a ring that can read and write.
    pub(crate) fn probe() -> Option<Self> {
        let ring = IoUring::new(RING_ENTRIES).ok()?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe).ok()?;
        if !probe.is_supported(opcode::Read::CODE) || !probe.is_supported(opcode::Write::CODE) {
            return None;
        }
        Some(Self { owner: Owner::here(), idle: Mutex::new(vec![ring]) })
    }

    /// Submits one read for the missing part of each span. Spans may remain unfinished (invariant
    /// 3).
    pub(crate) fn read(&self, spans: &mut [&mut Span<'_>]) -> io::Result<()> {
        let mut missing: Vec<_> = spans.iter_mut().filter(|s| s.done < s.len).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // Without a ring, the caller reads with system calls.
        let Some(mut ring) = self.take() else { return Ok(()) };
        for batch in missing.chunks_mut(RING_ENTRIES as usize) {
            if let Err(error) = read_batch(&mut ring, batch) {
                for span in batch {
                    // The kernel may still write to this memory.
                    std::mem::forget(std::mem::take(&mut span.buf));
                }
                return Err(error);
            }
        }
        self.put(ring);
        Ok(())
    }

    /// Takes an idle ring or creates one. `None` when out of locked memory or descriptors.
    pub(crate) fn take(&self) -> Option<IoUring> {
        let taken = locked(&self.idle).pop();
        taken.or_else(|| IoUring::new(RING_ENTRIES).ok())
    }

    /// Returns a ring to the pool. Nothing may be in flight.
    pub(crate) fn put(&self, ring: IoUring) {
        let mut idle = locked(&self.idle);
        if idle.len() < RINGS_KEPT_MAX {
            idle.push(ring);
        }
    }
}

/// Submits all of `batch` (at most [`RING_ENTRIES`]) and waits for the completions. After an error,
/// some reads may still be in flight.
fn read_batch(ring: &mut IoUring, batch: &mut [&mut &mut Span<'_>]) -> io::Result<()> {
    for (index, span) in batch.iter_mut().enumerate() {
        let descriptor = types::Fd(span.file.as_raw_fd());
        let target = &mut span.buf[span.start + span.done..span.start + span.len];
        // A longer read comes short, and the caller finishes it.
        let len = u32::try_from(target.len()).unwrap_or(1 << 30);
        let entry = opcode::Read::new(descriptor, target.as_mut_ptr(), len)
            .offset(span.offset + span.done as u64)
            .build()
            .user_data(index as u64);
        // SAFETY: the buffer lives in `span`, which is borrowed until this function returns, and
        // that is after its completion; on an error the caller leaks it. Its file is borrowed as
        // long. The batch fits the queue, which is empty between batches.
        unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
    }
    let mut reaped = 0;
    while reaped < batch.len() {
        match ring.submit_and_wait(batch.len() - reaped) {
            Ok(_) => {}
            Err(e) if is_transient(&e) => {}
            Err(e) => return Err(e),
        }
        for completion in ring.completion() {
            reaped += 1;
            let index = usize::try_from(completion.user_data()).unwrap_or(usize::MAX);
            // A failed read adds nothing. The caller tries again and reports the error.
            if let (Some(span), Ok(read)) =
                (batch.get_mut(index), usize::try_from(completion.result()))
            {
                span.done += read;
            }
        }
    }
    Ok(())
}

pub(crate) fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
