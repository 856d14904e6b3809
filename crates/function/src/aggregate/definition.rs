//! An aggregate with its name, its number of arguments and its functions.

use super::accumulate::Start;
use super::meet::Lattice;
use crate::failure::Failure;
use model::Value;
use std::fmt;

/// An aggregate of the query language.
pub struct Aggregate {
    /// Name in scripts.
    pub name: &'static str,
    /// Whether it may be used in recursion.
    pub is_meet: bool,
    /// Maximum number of arguments after the variable. All are optional.
    pub args_max: usize,
    /// Creates an accumulator. The number of arguments must have been checked.
    pub start: Start,
    /// How to combine values, for meet aggregates.
    lattice: Option<&'static Lattice>,
}

pub(super) const fn ordinary(name: &'static str, args_max: usize, start: Start) -> Aggregate {
    Aggregate { name, is_meet: false, args_max, start, lattice: None }
}

pub(super) const fn lattice(lattice: &'static Lattice, start: Start) -> Aggregate {
    Aggregate { name: lattice.name, is_meet: true, args_max: 0, start, lattice: Some(lattice) }
}

impl Aggregate {
    /// For meet aggregates: combines a new value into the current one. Returns whether the current
    /// one changed.
    ///
    /// # Errors
    /// The aggregate is not defined for the value, or is not a meet aggregate.
    pub fn meet(&self, present: &mut Value, new: &Value) -> Result<bool, Failure> {
        (self.lattice()?.combine)(present, new)
    }

    /// For meet aggregates: the result for a single value.
    ///
    /// # Errors
    /// The aggregate is not defined for the value, or is not a meet aggregate.
    pub fn meet_first(&self, value: &Value) -> Result<Value, Failure> {
        (self.lattice()?.first)(value)
    }

    /// Checks the number of arguments after the variable.
    ///
    /// # Errors
    /// There are too many; the message says how many are allowed.
    pub fn check_arity(&self, given: usize) -> Result<(), Failure> {
        if given <= self.args_max {
            return Ok(());
        }
        let wanted = match self.args_max {
            0 => "no argument".to_owned(),
            1 => "at most 1 argument".to_owned(),
            more => format!("at most {more} arguments"),
        };
        Err(Failure::new(format!(
            "{}: takes {wanted} after the variable, {given} given",
            self.name
        )))
    }

    fn lattice(&self) -> Result<&'static Lattice, Failure> {
        self.lattice.ok_or_else(|| Failure::new(format!("{}: is no meet aggregate", self.name)))
    }
}

impl fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aggregate({})", self.name)
    }
}
