//! The table of built-in aggregates. A new aggregate needs a line here, in the order of the names.

use super::definition::{Aggregate, lattice, ordinary};
use super::{collect, meet, statistics};

/// The built-in aggregate with this name.
#[must_use]
pub fn aggregate(name: &str) -> Option<&'static Aggregate> {
    let i = AGGREGATES.binary_search_by(|aggregate| aggregate.name.cmp(name)).ok()?;
    AGGREGATES.get(i)
}

/// All built-in aggregates, sorted by name.
#[must_use]
pub fn aggregates() -> &'static [Aggregate] {
    AGGREGATES
}

/// Sorted by name, for binary search.
static AGGREGATES: &[Aggregate] = &[
    lattice(&meet::AND, |_| Ok(meet::AND.accumulate())),
    lattice(&meet::BIT_AND, |_| Ok(meet::BIT_AND.accumulate())),
    lattice(&meet::BIT_OR, |_| Ok(meet::BIT_OR.accumulate())),
    ordinary("bit_xor", 0, |_| Ok(Box::new(collect::BitXor::default()))),
    lattice(&meet::CHOICE, |_| Ok(meet::CHOICE.accumulate())),
    ordinary("choice_rand", 0, |_| Ok(Box::new(collect::ChoiceRand::default()))),
    ordinary("collect", 1, collect::Collect::start),
    ordinary("count", 0, |_| Ok(Box::new(collect::Count::default()))),
    ordinary("count_unique", 0, |_| Ok(Box::new(collect::Unique::new(collect::Unique::count)))),
    ordinary("group_count", 0, |_| Ok(Box::new(collect::GroupCount::default()))),
    lattice(&meet::INTERSECTION, |_| Ok(meet::INTERSECTION.accumulate())),
    ordinary("latest_by", 0, |_| Ok(Box::new(collect::ExtremeBy::latest()))),
    lattice(&meet::MAX, |_| Ok(meet::MAX.accumulate())),
    ordinary("mean", 0, |_| Ok(Box::new(statistics::Sum::mean()))),
    lattice(&meet::MIN, |_| Ok(meet::MIN.accumulate())),
    lattice(&meet::MIN_COST, |_| Ok(meet::MIN_COST.accumulate())),
    lattice(&meet::OR, |_| Ok(meet::OR.accumulate())),
    ordinary("product", 0, |_| Ok(Box::new(statistics::Product::default()))),
    lattice(&meet::SHORTEST, |_| Ok(meet::SHORTEST.accumulate())),
    ordinary("smallest_by", 0, |_| Ok(Box::new(collect::ExtremeBy::smallest()))),
    ordinary("std_dev", 0, |_| Ok(Box::new(statistics::Variance::std_dev()))),
    ordinary("sum", 0, |_| Ok(Box::new(statistics::Sum::total()))),
    lattice(&meet::UNION, |_| Ok(Box::new(collect::Unique::union()))),
    ordinary("unique", 0, |_| Ok(Box::new(collect::Unique::new(collect::Unique::list)))),
    ordinary("variance", 0, |_| Ok(Box::new(statistics::Variance::new()))),
];
