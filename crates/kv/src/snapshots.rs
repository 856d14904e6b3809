//! Registered snapshots, so that flush and compaction retain the versions they see.
//!
//! Readers register and release; flushes and compactions ask for the protected sequence numbers.
//!
//! # Why registration reads the newest number under the lock
//! A job gets the registered snapshots and the newest published number in one step. A snapshot that
//! registers later reads a number at least as new, and so needs nothing that the job may drop.

use base::SeqNo;
use env::sync::Mutex;
use env::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

/// The registered snapshots and the newest published sequence number.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// Newest sequence number that readers may see.
    visible: AtomicU64,
    held: Mutex<BTreeMap<SeqNo, usize>>,
}

impl Snapshots {
    /// Newest published sequence number.
    pub(crate) fn visible(&self) -> SeqNo {
        SeqNo(self.visible.load(Ordering::Acquire))
    }

    /// Publishes commits up to `seq`. Smaller numbers than the published one are ignored.
    pub(crate) fn publish(&self, seq: SeqNo) {
        self.visible.fetch_max(seq.0, Ordering::AcqRel);
    }

    /// Registers a snapshot at the newest published number, and returns that.
    pub(crate) fn acquire(&self) -> SeqNo {
        let mut held = self.held.lock();
        let seq = self.visible();
        *held.entry(seq).or_insert(0) += 1;
        seq
    }

    /// Releases a snapshot that [`Snapshots::acquire`] returned.
    pub(crate) fn release(&self, seq: SeqNo) {
        let mut held = self.held.lock();
        if let Some(count) = held.get_mut(&seq) {
            *count -= 1;
            if *count == 0 {
                held.remove(&seq);
            }
        }
    }

    /// Sequence numbers of all registered snapshots and the newest published one, ascending.
    pub(crate) fn protected(&self) -> Vec<SeqNo> {
        let held = self.held.lock();
        let visible = self.visible();
        let mut all: Vec<SeqNo> = held.keys().copied().collect();
        if all.last() != Some(&visible) {
            all.push(visible);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_held_twice_is_protected_until_both_let_go() {
        let snapshots = Snapshots::default();
        snapshots.publish(SeqNo(5));
        let (a, b) = (snapshots.acquire(), snapshots.acquire());
        snapshots.publish(SeqNo(9));
        assert_eq!(snapshots.protected(), [SeqNo(5), SeqNo(9)]);
        snapshots.release(a);
        assert_eq!(snapshots.protected(), [SeqNo(5), SeqNo(9)]);
        snapshots.release(b);
        assert_eq!(snapshots.protected(), [SeqNo(9)]);
    }
}
