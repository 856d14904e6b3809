//! The number of a derived relation within a program, and lists with an item for each of them. Plans
//! also number rules, variables and columns, which must not be taken for it.

use std::ops::{Index, IndexMut};

/// A derived relation of a [`Program`](crate::Program).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PredicateId(usize);

impl PredicateId {
    /// The relation with this place in the program.
    #[must_use]
    pub const fn new(place: usize) -> Self {
        Self(place)
    }

    /// Its place in the program.
    #[must_use]
    pub const fn place(self) -> usize {
        self.0
    }
}

/// An item for each derived relation of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerPredicate<T>(Vec<T>);

impl<T> PerPredicate<T> {
    /// The same item for this many relations.
    pub fn filled(item: T, len: usize) -> Self
    where
        T: Clone,
    {
        Self(vec![item; len])
    }

    /// Number of relations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a relation.
    pub fn push(&mut self, item: T) -> PredicateId {
        self.0.push(item);
        PredicateId(self.0.len() - 1)
    }

    /// The item of a relation, if the list has it.
    #[must_use]
    pub fn get(&self, id: PredicateId) -> Option<&T> {
        self.0.get(id.0)
    }

    /// All relations, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = PredicateId> + ExactSizeIterator + use<T> {
        (0..self.0.len()).map(PredicateId)
    }

    /// All items.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// All relations with their items.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (PredicateId, &T)> {
        self.ids().zip(&self.0)
    }
}

impl<T> Default for PerPredicate<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FromIterator<T> for PerPredicate<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a PerPredicate<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> Index<PredicateId> for PerPredicate<T> {
    type Output = T;

    fn index(&self, id: PredicateId) -> &T {
        &self.0[id.0]
    }
}

impl<T> IndexMut<PredicateId> for PerPredicate<T> {
    fn index_mut(&mut self, id: PredicateId) -> &mut T {
        &mut self.0[id.0]
    }
}
