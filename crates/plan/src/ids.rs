//! Numbers of the parts of a program, each of a type of its own, and lists with an item for each of
//! them. Plans also number rules and columns, which must not be taken for these.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of a part.
pub trait Id: Copy {
    /// The part with this place in the program.
    fn new(place: usize) -> Self;

    /// Its place in the program.
    fn place(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(usize);

        impl Id for $name {
            #[inline]
            fn new(place: usize) -> Self {
                Self(place)
            }

            #[inline]
            fn place(self) -> usize {
                self.0
            }
        }
    };
}

id! {
    /// A derived relation of a [`Program`](crate::Program).
    PredicateId
}

id! {
    /// A stored relation that a [`Program`](crate::Program) reads.
    StoredId
}

id! {
    /// A variable of a [`Rule`](crate::Rule). Execution has a column of values for each.
    VarId
}

/// An item for each part that an id can name.
#[derive(Debug, PartialEq, Eq)]
pub struct PerId<I, T>(Vec<T>, PhantomData<fn(I)>);

/// An item for each derived relation of a program.
pub type PerPredicate<T> = PerId<PredicateId, T>;

/// An item for each stored relation that a program reads.
pub type PerStored<T> = PerId<StoredId, T>;

/// An item for each variable of a rule.
pub type PerVar<T> = PerId<VarId, T>;

impl<I: Id, T> PerId<I, T> {
    /// The same item for this many parts.
    pub fn filled(item: T, len: usize) -> Self
    where
        T: Clone,
    {
        Self(vec![item; len], PhantomData)
    }

    /// Number of parts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a part.
    pub fn push(&mut self, item: T) -> I {
        self.0.push(item);
        I::new(self.0.len() - 1)
    }

    /// The item of a part, if the list has it.
    #[must_use]
    pub fn get(&self, id: I) -> Option<&T> {
        self.0.get(id.place())
    }

    /// All items.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// All items, to change them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// All parts.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.0.len()).map(I::new)
    }

    /// The parts whose items meet a condition.
    pub fn which(&self, is_one: impl Fn(&T) -> bool) -> impl Iterator<Item = I> {
        self.enumerate().filter(move |(_, item)| is_one(item)).map(|(id, _)| id)
    }

    /// All parts with their items.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.0.iter().enumerate().map(|(place, item)| (I::new(place), item))
    }
}

impl PerVar<String> {
    /// Adds a variable with a generated name.
    pub(crate) fn fresh(&mut self) -> VarId {
        self.push(format!("*{}", self.len()))
    }
}

impl PerPredicate<usize> {
    /// For each of `len` relations, the number of the group that it is in; `usize::MAX` if it is in
    /// none.
    pub(crate) fn of_groups<'g>(
        groups: impl Iterator<Item = &'g [PredicateId]>,
        len: usize,
    ) -> Self {
        let mut group_of = Self::filled(usize::MAX, len);
        for (number, group) in groups.enumerate() {
            group.iter().for_each(|&predicate| group_of[predicate] = number);
        }
        group_of
    }
}

impl<I, T: Clone> Clone for PerId<I, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<I, T> Default for PerId<I, T> {
    fn default() -> Self {
        Self(Vec::new(), PhantomData)
    }
}

impl<I, T> FromIterator<T> for PerId<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self(items.into_iter().collect(), PhantomData)
    }
}

impl<I, T> IntoIterator for PerId<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a PerId<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<I: Id, T> Index<I> for PerId<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.0[id.place()]
    }
}

impl<I: Id, T> IndexMut<I> for PerId<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.place()]
    }
}
