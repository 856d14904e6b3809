//! Aggregates that count, collect or choose values: count, count_unique, unique, union,
//! group_count, collect, bit_xor, latest_by, smallest_by, choice_rand.

use super::accumulate::{Accumulate, value_bytes};
use crate::bits;
use crate::call::Call;
use crate::failure::Failure;
use model::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Estimated overhead per entry of a tree, in bytes.
const ENTRY_BYTES: usize = 16;

/// count. Nulls count too.
#[derive(Default)]
pub(super) struct Count(i64);

impl Accumulate for Count {
    fn add(&mut self, _: &Value) -> Result<(), Failure> {
        self.0 += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(Value::Int(self.0))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// unique, count_unique, and union over the items of lists.
pub(super) struct Unique {
    values: BTreeSet<Value>,
    bytes: usize,
    of_lists: bool,
    result: fn(BTreeSet<Value>) -> Value,
}

impl Unique {
    pub(super) fn new(result: fn(BTreeSet<Value>) -> Value) -> Self {
        Self { values: BTreeSet::new(), bytes: size_of::<Self>(), of_lists: false, result }
    }

    pub(super) fn union() -> Self {
        Self { of_lists: true, ..Self::new(Self::list) }
    }

    pub(super) fn list(values: BTreeSet<Value>) -> Value {
        Value::List(values.into_iter().collect())
    }

    pub(super) fn count(values: BTreeSet<Value>) -> Value {
        Value::Int(values.len() as i64)
    }

    fn insert(&mut self, value: &Value) {
        if !self.values.contains(value) {
            self.bytes += value_bytes(value) + ENTRY_BYTES;
            self.values.insert(value.clone());
        }
    }
}

impl Accumulate for Unique {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        match value {
            Value::List(items) if self.of_lists => items.iter().for_each(|item| self.insert(item)),
            other if self.of_lists => {
                return Err(Call::new("union", &[]).refuse_operand(other, "a list"));
            }
            value => self.insert(value),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok((self.result)(std::mem::take(&mut self.values)))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// group_count: a list of pairs of a value and its count, sorted by value.
#[derive(Default)]
pub(super) struct GroupCount {
    counts: BTreeMap<Value, i64>,
    bytes: usize,
}

impl Accumulate for GroupCount {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        match self.counts.get_mut(value) {
            Some(count) => *count += 1,
            None => {
                self.bytes += value_bytes(value) + ENTRY_BYTES;
                self.counts.insert(value.clone(), 1);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        let counts = std::mem::take(&mut self.counts).into_iter();
        let pairs = counts.map(|(value, count)| Value::List(vec![value, Value::Int(count)]));
        Ok(Value::List(pairs.collect()))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes
    }
}

/// collect: the values in order of arrival, up to `limit`.
pub(super) struct Collect {
    values: Vec<Value>,
    bytes: usize,
    limit: usize,
}

impl Collect {
    pub(super) fn start(args: &[Value]) -> Result<Box<dyn Accumulate>, Failure> {
        let call = Call::new("collect", args);
        let limit = match args {
            [] => Some(usize::MAX),
            _ => usize::try_from(call.int(0)?).ok().filter(|&limit| limit > 0),
        };
        let limit = limit.ok_or_else(|| call.refuse(0, "a limit from 1"))?;
        Ok(Box::new(Self { values: Vec::new(), bytes: size_of::<Self>(), limit }))
    }
}

impl Accumulate for Collect {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        if self.values.len() < self.limit {
            self.bytes += value_bytes(value);
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(Value::List(std::mem::take(&mut self.values)))
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// bit_xor of byte strings with equal length.
#[derive(Default)]
pub(super) struct BitXor(Option<Vec<u8>>);

impl Accumulate for BitXor {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let call = Call::new("bit_xor", &[]);
        let Value::Bytes(bytes) = value else { return Err(call.refuse_operand(value, "bytes")) };
        match &mut self.0 {
            None => self.0 = Some(bytes.clone()),
            Some(found) => bits::combine(call, found, bytes, |a, b| a ^ b)?,
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(Value::Bytes(self.0.take().unwrap_or_default()))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.as_ref().map_or(0, Vec::len)
    }
}

/// latest_by and smallest_by of `[data, cost]`: the data with the greatest or smallest cost, in the
/// total order of values. The first one wins among equal costs. A null cost is ignored.
pub(super) struct ExtremeBy {
    name: &'static str,
    better: Ordering,
    found: Option<(Value, Value)>,
}

impl ExtremeBy {
    pub(super) fn latest() -> Self {
        Self { name: "latest_by", better: Ordering::Greater, found: None }
    }

    pub(super) fn smallest() -> Self {
        Self { name: "smallest_by", better: Ordering::Less, found: None }
    }
}

impl Accumulate for ExtremeBy {
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        let pair = match value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        let [data, cost] = pair else {
            return Err(Call::new(self.name, &[])
                .refuse_operand(value, "a list of a value and what to compare by"));
        };
        let better = match &self.found {
            None => true,
            Some((_, found)) => cost.cmp(found) == self.better,
        };
        if better && !matches!(cost, Value::Null) {
            self.found = Some((data.clone(), cost.clone()));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(self.found.take().map_or(Value::Null, |(data, _)| data))
    }

    fn bytes(&self) -> usize {
        let held = |(data, cost): &(Value, Value)| value_bytes(data) + value_bytes(cost);
        size_of::<Self>() + self.found.as_ref().map_or(0, held)
    }
}

/// choice_rand: a random value, each with the same probability (reservoir sampling).
#[derive(Default)]
pub(super) struct ChoiceRand {
    found: Option<Value>,
    count: u64,
    state: u64,
}

impl ChoiceRand {
    /// Next number of the SplitMix64 sequence.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }
}

impl Accumulate for ChoiceRand {
    /// Replaces the choice by the n-th value with probability 1/n.
    fn add(&mut self, value: &Value) -> Result<(), Failure> {
        self.count += 1;
        let random = self.random();
        // The upper half of the product maps 64 random bits to 0..count.
        if (u128::from(random) * u128::from(self.count)) >> 64 == 0 {
            self.found = Some(value.clone());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Value, Failure> {
        Ok(self.found.take().unwrap_or(Value::Null))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.found.as_ref().map_or(0, value_bytes)
    }

    fn seed(&mut self, random: u64) {
        self.state = random;
    }
}
