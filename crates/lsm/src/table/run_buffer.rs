//! Memory that several blocks are read into at once, used again and again.
//!
//! # Why not fresh memory
//! An allocator returns pieces of this length to the system, and their next pages cost more than
//! what is read into them: half of the time of a range of 256 values of 1 KiB was page faults.

use env::sync::Mutex;
use std::sync::Arc;

/// Buffers that wait to be used again: what two long scans hold.
const KEPT_MAX: usize = 8;

/// Longest buffer that is kept, in bytes.
pub(super) const KEPT_BYTES_MAX: usize = 256 << 10;

/// Where buffers wait.
#[derive(Clone, Debug, Default)]
pub(super) struct RunBuffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// Bytes of some blocks that follow one another. Goes back to where it came from.
#[derive(Debug)]
pub(super) struct RunBuffer {
    bytes: Vec<u8>,
    home: RunBuffers,
}

impl RunBuffers {
    /// `len` bytes, whatever they hold.
    pub(super) fn take(&self, len: usize) -> Vec<u8> {
        let mut bytes = self.0.lock().pop().unwrap_or_default();
        bytes.resize(len, 0);
        bytes
    }

    /// The bytes, now filled, until the last block of them is gone.
    pub(super) fn lend(&self, bytes: Vec<u8>) -> Arc<RunBuffer> {
        Arc::new(RunBuffer { bytes, home: self.clone() })
    }
}

impl RunBuffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for RunBuffer {
    fn drop(&mut self) {
        if self.bytes.capacity() <= 2 * KEPT_BYTES_MAX {
            // If another thread holds the lock, this buffer is not kept. In a child of a `fork`
            // that thread may not exist to release it.
            let Some(mut kept) = self.home.0.try_lock() else { return };
            if kept.len() < KEPT_MAX {
                kept.push(std::mem::take(&mut self.bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_block_is_gone() {
        let buffers = RunBuffers::default();
        let mut bytes = buffers.take(1000);
        bytes.fill(7);
        let place = bytes.as_ptr();
        let lent = buffers.lend(bytes);
        let other = Arc::clone(&lent);
        drop(lent);
        let second = buffers.take(1000);
        assert_ne!(second.as_ptr(), place, "it is still read");
        assert!(other.bytes().iter().all(|byte| *byte == 7));
        drop(other);
        let again = buffers.take(900);
        assert_eq!((again.as_ptr(), again.len()), (place, 900));
    }
}
