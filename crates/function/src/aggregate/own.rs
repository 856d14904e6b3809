//! Aggregates that the program brings along.

use super::{Accumulate, Aggregate};
use crate::Failure;
use model::Value;
use std::fmt;

/// Begins with a group's values; fails where the arguments make no sense.
type Begin = dyn Fn(&[Value]) -> Result<Box<dyn Accumulate>, Failure> + Send + Sync;

/// An ordinary aggregate of the program's.
pub struct OwnAggregate {
    /// As scripts write it.
    pub name: String,
    /// Most arguments after the variable.
    pub args_max: usize,
    begin: Box<Begin>,
}

/// What all of them are to planning: ordinary, and none of those that are built in.
pub static OWN: Aggregate = super::ordinary("", usize::MAX, |_| {
    Err(Failure::new("an aggregate of the program's is begun by itself"))
});

impl OwnAggregate {
    /// Of a function that begins with a group's values, given the arguments after the variable.
    pub fn new(
        name: &str,
        args_max: usize,
        begin: impl Fn(&[Value]) -> Result<Box<dyn Accumulate>, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), args_max, begin: Box::new(begin) }
    }

    /// An accumulator without values, whose failures name the aggregate.
    ///
    /// # Errors
    /// The program's.
    pub fn start(&self, args: &[Value]) -> Result<Box<dyn Accumulate>, Failure> {
        let name = self.name.clone();
        match (self.begin)(args) {
            Ok(inner) => Ok(Box::new(Named { name, inner })),
            Err(failure) => Err(named(&name, failure)),
        }
    }
}

impl fmt::Debug for OwnAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnAggregate({})", self.name)
    }
}

fn named(name: &str, failure: Failure) -> Failure {
    Failure { message: format!("{name}: {}", failure.message), ..failure }
}

struct Named {
    name: String,
    inner: Box<dyn Accumulate>,
}

impl Accumulate for Named {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        self.inner.add(value).map_err(|failure| named(&self.name, failure))
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        self.inner.finish().map_err(|failure| named(&self.name, failure))
    }

    fn bytes(&self) -> usize {
        self.inner.bytes().saturating_add(self.name.len())
    }

    fn seed(&mut self, random: u64) {
        self.inner.seed(random);
    }
}
