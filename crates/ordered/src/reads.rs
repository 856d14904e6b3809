//! The read set of a serializable transaction.

use crate::key::{Prefix, Span};
use std::collections::BTreeSet;

/// Maximum number of keys and ranges; beyond it, whole keyspaces are noted instead.
const NOTED_MAX: usize = 100_000;

/// Keys and ranges that were read, present or not.
#[derive(Default)]
pub(crate) struct Reads {
    pub(crate) keys: BTreeSet<Vec<u8>>,
    pub(crate) spans: Vec<Span>,
    /// Keyspaces whose rows all count as read.
    whole: BTreeSet<Prefix>,
}

impl Reads {
    pub(crate) fn note_key(&mut self, key: &[u8]) {
        if !self.whole.contains(&Prefix::of(key)) {
            self.keys.insert(key.to_vec());
            self.limit();
        }
    }

    pub(crate) fn note_span(&mut self, span: Span) {
        if span.0 >= span.1 || self.whole.contains(&Prefix::of(&span.0)) {
            return;
        }
        match self.spans.last_mut() {
            // Pages of one scan follow each other.
            Some(last) if last.1 == span.0 => last.1 = span.1,
            _ => self.spans.push(span),
        }
        self.limit();
    }

    /// Fewer conflicts are worth less than bounded memory.
    fn limit(&mut self) {
        if self.keys.len() + self.spans.len() <= NOTED_MAX {
            return;
        }
        self.whole.extend(self.keys.iter().map(|key| Prefix::of(key)));
        self.whole.extend(self.spans.iter().map(|span| Prefix::of(&span.0)));
        self.keys.clear();
        self.spans = self.whole.iter().map(|prefix| prefix.all()).collect();
    }
}
