//! The runs below a merge: those that are older than all of its input.

use crate::version::{Run, first_key, last_key};
use base::{KeyRange, KeyRef};
use std::ops::Bound;

/// Runs older than the input; none where none of them can hold any key of it.
pub(crate) struct Below<'a>(Vec<&'a Run>);

impl<'a> Below<'a> {
    /// No runs.
    pub(crate) fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Whether there are no runs.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether no table can hold a key of `range`.
    pub(crate) fn holds_none_of(&self, range: &KeyRange) -> bool {
        self.0.iter().all(|run| run.overlapping(range).is_empty())
    }

    /// Whether no table can hold `key`, and how far that is so.
    pub(crate) fn stretch_at(&self, key: KeyRef<'_>) -> Stretch<'a> {
        Stretch::of(&self.0, key)
    }
}

impl<'a> FromIterator<&'a Run> for Below<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Run>>(runs: I) -> Self {
        Self(runs.into_iter().collect())
    }
}

/// Neighbouring keys that tables may hold, or that none does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    /// Whether no table can hold them.
    pub(crate) is_gap: bool,
    bounds: (Bound<KeyRef<'a>>, Bound<KeyRef<'a>>),
}

impl<'a> Stretch<'a> {
    /// The stretch of `key` in tables of these runs.
    fn of(runs: &[&'a Run], key: KeyRef<'_>) -> Self {
        let (mut before, mut after) = (None, None);
        for run in runs {
            let next = run.tables.partition_point(|table| last_key(table) < key);
            let behind = run.tables.get(next);
            if let Some(table) = behind.filter(|table| first_key(table) <= key) {
                let bounds = (Bound::Included(first_key(table)), Bound::Included(last_key(table)));
                return Self { is_gap: false, bounds };
            }
            let ahead = next.checked_sub(1).map(|table| last_key(&run.tables[table]));
            before = before.max(ahead);
            after = match (after, behind.map(|table| first_key(table))) {
                (Some(one), Some(other)) => Some(std::cmp::min::<KeyRef<'a>>(one, other)),
                (one, other) => one.or(other),
            };
        }
        let bound = |key: Option<KeyRef<'a>>| key.map_or(Bound::Unbounded, Bound::Excluded);
        Self { is_gap: true, bounds: (bound(before), bound(after)) }
    }

    /// Whether it reaches to this key.
    #[inline]
    pub(crate) fn holds(&self, key: KeyRef<'_>) -> bool {
        let behind = match self.bounds.0 {
            Bound::Included(from) => from <= key,
            Bound::Excluded(from) => from < key,
            Bound::Unbounded => true,
        };
        behind
            && match self.bounds.1 {
                Bound::Included(to) => key <= to,
                Bound::Excluded(to) => key < to,
                Bound::Unbounded => true,
            }
    }

    /// As if tables held these keys, which ascend, and nothing between them.
    #[cfg(test)]
    pub(crate) fn among(held: &'a [[u64; 1]], key: KeyRef<'_>) -> Self {
        let at = held.partition_point(|held| KeyRef::Words(held) < key);
        let bound = |held: Option<&'a [u64; 1]>| {
            held.map_or(Bound::Unbounded, |held| Bound::Excluded(KeyRef::Words(held)))
        };
        match held.get(at).map(|held| KeyRef::Words(held)) {
            Some(one) if one == key => {
                Self { is_gap: false, bounds: (Bound::Included(one), Bound::Included(one)) }
            }
            _ => {
                let before = at.checked_sub(1).map(|at| &held[at]);
                Self { is_gap: true, bounds: (bound(before), bound(held.get(at))) }
            }
        }
    }
}
