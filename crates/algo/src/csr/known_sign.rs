//! Knowledge about the signs of the weights of a graph.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether all weights were found to be at least zero. Each search by weights asks, and reading all
/// weights takes longer than a search that reaches few vertices.
#[derive(Debug, Default)]
pub(crate) struct KnownSign {
    is_non_negative: AtomicBool,
}

impl KnownSign {
    /// Whether no weight is negative; false also where nobody has looked.
    pub(crate) fn is_non_negative(&self) -> bool {
        self.is_non_negative.load(Relaxed)
    }

    /// Notes that no weight is negative.
    pub(crate) fn note_non_negative(&self) {
        self.is_non_negative.store(true, Relaxed);
    }
}

impl Clone for KnownSign {
    fn clone(&self) -> Self {
        Self { is_non_negative: AtomicBool::new(self.is_non_negative()) }
    }
}

/// Graphs are equal whether their signs are known or not.
impl PartialEq for KnownSign {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
