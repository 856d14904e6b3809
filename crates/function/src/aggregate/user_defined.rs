//! User-defined aggregates: those that the program around the database registers by name.

use super::accumulate::Accumulate;
use super::definition::{Aggregate, ordinary};
use crate::failure::Failure;
use model::Value;
use std::fmt;

/// Creates an accumulator for a group. Fails if the arguments are not valid.
type Begin = dyn Fn(&[Value]) -> Result<Box<dyn Accumulate>, Failure> + Send + Sync;

/// A user-defined aggregate. It is never a meet aggregate.
pub struct UserAggregate {
    /// Name in scripts.
    pub name: String,
    /// Maximum number of arguments after the variable.
    pub args_max: usize,
    begin: Box<Begin>,
}

/// The placeholder in plans for every user-defined aggregate. The plan holds the [`UserAggregate`]
/// next to it. It cannot be started itself.
pub static OWN: Aggregate = ordinary("", usize::MAX, |_| {
    Err(Failure::new("an aggregate of the program's is begun by itself"))
});

impl UserAggregate {
    /// Creates an aggregate. `begin` receives the arguments after the variable and creates an
    /// accumulator for each group.
    pub fn new(
        name: &str,
        args_max: usize,
        begin: impl Fn(&[Value]) -> Result<Box<dyn Accumulate>, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), args_max, begin: Box::new(begin) }
    }

    /// Creates an accumulator. Its errors start with the name of the aggregate.
    ///
    /// # Errors
    /// Those of the user's function.
    pub fn start(&self, args: &[Value]) -> Result<Box<dyn Accumulate>, Failure> {
        let name = self.name.clone();
        match (self.begin)(args) {
            Ok(inner) => Ok(Box::new(Named { name, inner })),
            Err(failure) => Err(named(&name, failure)),
        }
    }
}

impl fmt::Debug for UserAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserAggregate({})", self.name)
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
