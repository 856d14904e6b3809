//! Meet aggregates: and, or, min, max, union, intersection, choice, min_cost, shortest, bit_and,
//! bit_or.
//!
//! # Invariants
//! 1. `combine` returns true exactly if it changed the value. A recursion ends when nothing
//!    changes, so a wrong true would run forever and a wrong false would lose rows.
//! 2. `first` returns a value in the form of any result: the union of one list is already sorted.
//! 3. Null is ignored, except by and, or, union, bit_and, bit_or and min_cost, which fail.

use super::accumulate::{Accumulate, value_bytes};
use crate::bits;
use crate::call::Call;
use crate::comparison::compare;
use crate::failure::Failure;
use model::Value;
use std::cmp::Ordering;

/// A meet aggregate: its functions, and the result over no rows.
pub(super) struct Lattice {
    pub(super) name: &'static str,
    pub(super) first: fn(&Value) -> Result<Value, Failure>,
    pub(super) combine: fn(&mut Value, &Value) -> Result<bool, Failure>,
    pub(super) empty: fn() -> Value,
}

impl Lattice {
    pub(super) fn accumulate(&'static self) -> Box<dyn Accumulate> {
        Box::new(Meeting { lattice: self, present: None })
    }
}

/// Accumulates with a meet aggregate, for use outside of recursion.
struct Meeting {
    lattice: &'static Lattice,
    present: Option<Value>,
}

impl Accumulate for Meeting {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        match &mut self.present {
            None => self.present = Some((self.lattice.first)(value)?),
            Some(present) => {
                (self.lattice.combine)(present, value)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(self.present.take().unwrap_or_else(self.lattice.empty))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.present.as_ref().map_or(0, value_bytes)
    }
}

pub(super) static AND: Lattice = Lattice {
    name: "and",
    first: |value| bool("and", value).map(Value::Bool),
    combine: |present, new| {
        let (before, new) = (bool("and", present)?, bool("and", new)?);
        Ok(replace(present, before && !new, || Value::Bool(false)))
    },
    empty: || Value::Bool(true),
};

pub(super) static OR: Lattice = Lattice {
    name: "or",
    first: |value| bool("or", value).map(Value::Bool),
    combine: |present, new| {
        let (before, new) = (bool("or", present)?, bool("or", new)?);
        Ok(replace(present, !before && new, || Value::Bool(true)))
    },
    empty: || Value::Bool(false),
};

pub(super) static MIN: Lattice = Lattice {
    name: "min",
    first: |value| Ok(value.clone()),
    combine: |present, new| Ok(extreme(present, new, Ordering::Less)),
    empty: || Value::Null,
};

pub(super) static MAX: Lattice = Lattice {
    name: "max",
    first: |value| Ok(value.clone()),
    combine: |present, new| Ok(extreme(present, new, Ordering::Greater)),
    empty: || Value::Null,
};

pub(super) static UNION: Lattice = Lattice {
    name: "union",
    first: |value| list("union", value).map(|items| Value::List(set(items))),
    combine: |present, new| {
        let new = list("union", new)?;
        let Value::List(items) = present else { return Err(refuse("union", "a list", present)) };
        let missing: Vec<Value> =
            new.iter().filter(|value| items.binary_search(value).is_err()).cloned().collect();
        if missing.is_empty() {
            return Ok(false);
        }
        items.extend(missing);
        items.sort();
        items.dedup();
        Ok(true)
    },
    empty: || Value::List(Vec::new()),
};

pub(super) static INTERSECTION: Lattice = Lattice {
    name: "intersection",
    first: |value| match value {
        Value::Null => Ok(Value::Null),
        _ => list("intersection", value).map(|items| Value::List(set(items))),
    },
    combine: |present, new| {
        if matches!(new, Value::Null) {
            return Ok(false);
        }
        let new = set(list("intersection", new)?);
        match present {
            Value::List(items) => {
                let before = items.len();
                items.retain(|value| new.binary_search(value).is_ok());
                Ok(items.len() < before)
            }
            Value::Null => Ok(replace(present, true, || Value::List(new))),
            _ => Err(refuse("intersection", "a list", present)),
        }
    },
    empty: || Value::Null,
};

pub(super) static CHOICE: Lattice = Lattice {
    name: "choice",
    first: |value| Ok(value.clone()),
    combine: |present, new| {
        let change = matches!(present, Value::Null) && !matches!(new, Value::Null);
        Ok(replace(present, change, || new.clone()))
    },
    empty: || Value::Null,
};

pub(super) static SHORTEST: Lattice = Lattice {
    name: "shortest",
    first: |value| match value {
        Value::Null => Ok(Value::Null),
        _ => list("shortest", value).map(|_| value.clone()),
    },
    combine: |present, new| {
        if matches!(new, Value::Null) {
            return Ok(false);
        }
        let len = list("shortest", new)?.len();
        let change = match present {
            Value::Null => true,
            _ => len < list("shortest", present)?.len(),
        };
        Ok(replace(present, change, || new.clone()))
    },
    empty: || Value::Null,
};

pub(super) static MIN_COST: Lattice = Lattice {
    name: "min_cost",
    first: |value| cost(value).map(|_| value.clone()),
    combine: |present, new| {
        let change = compare(cost(new)?, cost(present)?) == Some(Ordering::Less);
        Ok(replace(present, change, || new.clone()))
    },
    empty: || Value::List(vec![Value::Null, Value::Float(f64::INFINITY)]),
};

pub(super) static BIT_AND: Lattice = Lattice {
    name: "bit_and",
    first: |value| bytes("bit_and", value).map(|bytes| Value::Bytes(bytes.to_vec())),
    combine: |present, new| bitwise("bit_and", present, new, |a, b| a & b),
    empty: || Value::Bytes(Vec::new()),
};

pub(super) static BIT_OR: Lattice = Lattice {
    name: "bit_or",
    first: |value| bytes("bit_or", value).map(|bytes| Value::Bytes(bytes.to_vec())),
    combine: |present, new| bitwise("bit_or", present, new, |a, b| a | b),
    empty: || Value::Bytes(Vec::new()),
};

/// Replaces the value if `change` is set, and returns `change`.
fn replace(present: &mut Value, change: bool, new: impl FnOnce() -> Value) -> bool {
    if change {
        *present = new();
    }
    change
}

fn refuse(name: &'static str, wanted: &str, found: &Value) -> Failure {
    Call::new(name, &[]).refuse_operand(found, wanted)
}

fn bool(name: &'static str, value: &Value) -> Result<bool, Failure> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(refuse(name, "true or false", other)),
    }
}

fn list<'a>(name: &'static str, value: &'a Value) -> Result<&'a [Value], Failure> {
    match value {
        Value::List(items) => Ok(items),
        other => Err(refuse(name, "a list", other)),
    }
}

fn bytes<'a>(name: &'static str, value: &'a Value) -> Result<&'a [u8], Failure> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        other => Err(refuse(name, "bytes", other)),
    }
}

/// The cost in `[data, cost]`.
fn cost(value: &Value) -> Result<&Value, Failure> {
    match value {
        Value::List(pair) => match pair.as_slice() {
            [_, cost] if crate::kind::number(cost) => Ok(cost),
            _ => Err(refuse("min_cost", "a list of a value and its cost, a number", value)),
        },
        _ => Err(refuse("min_cost", "a list of a value and its cost, a number", value)),
    }
}

/// min and max. They use the total order of values, which covers all kinds, in recursion and
/// outside.
fn extreme(present: &mut Value, new: &Value, better: Ordering) -> bool {
    let change = match (&present, new) {
        (_, Value::Null) => false,
        (Value::Null, _) => true,
        (present, new) => new.cmp(present) == better,
    };
    replace(present, change, || new.clone())
}

fn bitwise(
    name: &'static str,
    present: &mut Value,
    new: &Value,
    compute: fn(u8, u8) -> u8,
) -> Result<bool, Failure> {
    let new = bytes(name, new)?;
    let Value::Bytes(present) = present else { return Err(refuse(name, "bytes", present)) };
    let mut met = present.clone();
    bits::combine(Call::new(name, &[]), &mut met, new, compute)?;
    let change = met != *present;
    *present = met;
    Ok(change)
}

/// The items sorted and without duplicates.
fn set(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    items.sort();
    items.dedup();
    items
}
