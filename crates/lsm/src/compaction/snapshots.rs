//! The stripes that live snapshots divide sequence numbers into. Flushes and compactions use them
//! to decide which versions of a key no reader can see.

use base::SeqNo;

/// Live snapshots, ascending. A reader of the newest is always there: it is the last stripe.
///
/// Versions of one stripe look the same to every snapshot, so of a key only the newest of each
/// stripe is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshots<'a>(&'a [SeqNo]);

impl<'a> Snapshots<'a> {
    pub(crate) fn new(ascending: &'a [SeqNo]) -> Self {
        debug_assert!(ascending.is_sorted(), "snapshots are ascending");
        Self(ascending)
    }

    /// Which stripe a sequence number lies in; older stripes have smaller numbers.
    pub(crate) fn stripe(self, seq: SeqNo) -> usize {
        self.0.partition_point(|&snapshot| snapshot < seq)
    }

    /// Every snapshot sees the versions with this number or an older one.
    pub(crate) fn oldest(self) -> SeqNo {
        self.0.first().copied().unwrap_or(SeqNo::MAX)
    }
}
