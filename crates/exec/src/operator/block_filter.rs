//! Finds the blocks that a scan can skip: their statistics show that a condition on a value column
//! holds for none of their rows.
//!
//! # Invariants
//! 1. A row is left out only if a condition is false for it, and no condition before that one fails
//!    on a row of its block. So neither the result nor its error changes.

use crate::expr::Comparison;
use crate::operator::column_steps::Layout;
use crate::storage::access_path::{Place, StoredPath};
use crate::storage::key_bounds::bound_word;
use crate::vector::node::Node;
use crate::vector::text::TextTest;
use base::{BlockFilter, ColumnRanges, leading_word};
use model::{Type, Value};
use std::sync::Arc;

/// Most ranges of a condition; further ones are joined.
const RANGES_MAX: usize = 64;

/// The filter of conditions that are evaluated one after the other; `None` if they exclude nothing.
/// `conditions` ends where a step is not a condition on columns.
pub(crate) fn block_filter<'n>(
    conditions: impl Iterator<Item = &'n Node>,
    layout: &Layout<'_>,
) -> Option<Arc<BlockFilter>> {
    let mut columns = Vec::new();
    for condition in conditions {
        if !add(condition, layout, &mut columns) {
            break;
        }
    }
    (!columns.is_empty()).then(|| Arc::new(BlockFilter::new(columns)))
}

/// Adds the columns of a condition; returns whether all of it was understood.
fn add(condition: &Node, layout: &Layout<'_>, columns: &mut Vec<ColumnRanges>) -> bool {
    // The parts of `and` are evaluated from left to right, as conditions are.
    if let Node::And(parts) = condition {
        return parts.iter().all(|part| add(part, layout, columns));
    }
    let found = ranges(condition, layout);
    let is_known = found.is_some();
    columns.extend(found);
    is_known
}

fn ranges(condition: &Node, layout: &Layout<'_>) -> Option<ColumnRanges> {
    match condition {
        Node::Compare(by, sides) => {
            let [a, b] = &**sides;
            match value_of(b) {
                Some(value) => compared(*by, a, &value, layout),
                None => compared(by.flipped(), b, &value_of(a)?, layout),
            }
        }
        Node::Same(sides) => {
            let [a, b] = &**sides;
            match value_of(b) {
                Some(value) => compared(Comparison::Eq, a, &value, layout),
                None => compared(Comparison::Eq, b, &value_of(a)?, layout),
            }
        }
        Node::Test(TextTest::StartsWith(part), text) => {
            let (column, of) = stored_value(text, layout)?;
            let mut last = [u8::MAX; 8];
            let len = part.len().min(8);
            last[..len].copy_from_slice(&part.as_bytes()[..len]);
            let range = (leading_word(part.as_bytes()), u64::from_be_bytes(last));
            // The test fails for a null.
            (*of == Type::String).then(|| ColumnRanges {
                column,
                ranges: vec![range],
                wants_nulls: true,
            })
        }
        Node::IsIn(item, set) => {
            let (column, of) = stored_value(item, layout)?;
            let (values, has_null) = set.values(of)?;
            let ranges: Option<Vec<_>> = values.iter().map(|value| equal(of, value)).collect();
            Some(ColumnRanges { column, ranges: joined(ranges?), wants_nulls: has_null })
        }
        _ => None,
    }
}

/// The value column of a node, with its type.
fn stored_value<'l>(node: &Node, layout: &'l Layout<'_>) -> Option<(usize, &'l Type)> {
    let Node::Column(var) = node else { return None };
    let path: &StoredPath = layout.path;
    let place = layout.place(*var)?;
    let Place::Value(column) = place else { return None };
    Some((column, path.column_type(place)))
}

fn value_of(node: &Node) -> Option<Value> {
    Some(match node {
        Node::Bool(bool) => Value::Bool(*bool),
        Node::Int(int) => Value::Int(*int),
        Node::Float(float) => Value::Float(*float),
        Node::Text(text) => Value::Str(text.clone()),
        _ => return None,
    })
}

/// The ranges of a column compared with a value of its kind.
fn compared(
    by: Comparison,
    column: &Node,
    value: &Value,
    layout: &Layout<'_>,
) -> Option<ColumnRanges> {
    let (column, of) = stored_value(column, layout)?;
    let (low, high) = equal(of, value)?;
    let range = match by {
        Comparison::Eq => (low, high),
        Comparison::Lt | Comparison::Le => (0, high),
        Comparison::Gt | Comparison::Ge => (low, u64::MAX),
        Comparison::Neq => return None,
    };
    // A null equals no value, and has no order.
    Some(ColumnRanges { column, ranges: vec![range], wants_nulls: by != Comparison::Eq })
}

/// Words between which the words of all values lie that equal this one.
fn equal(of: &Type, value: &Value) -> Option<(u64, u64)> {
    match (of, value) {
        (Type::String, Value::Str(text)) => {
            let word = leading_word(text.as_bytes());
            Some((word, word))
        }
        (Type::Bool, Value::Bool(_)) | (Type::Int | Type::Id | Type::Float, _) => {
            let is_number = matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_));
            let is_fitting = is_number && matches!(value, Value::Bool(_)) == (*of == Type::Bool);
            is_fitting.then(|| bound_word(of, value, false).zip(bound_word(of, value, true)))?
        }
        (Type::Date | Type::Timestamp | Type::Duration, _) => {
            model::word_of_value(of, value).map(|word| (word, word))
        }
        _ => None,
    }
}

/// Ranges in order; the closest are joined where there are too many.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let chunk_ranges = ranges.len().div_ceil(RANGES_MAX).max(1);
    let join = |some: &[(u64, u64)]| {
        let last = some.iter().map(|range| range.1).max().unwrap_or_default();
        (some[0].0, last)
    };
    ranges.chunks(chunk_ranges).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranges_become_few_that_hold_them() {
        let ranges: Vec<(u64, u64)> = (0..1000).rev().map(|i| (10 * i, 10 * i + 1)).collect();
        let few = joined(ranges.clone());
        assert!(few.len() <= RANGES_MAX);
        assert!(few.is_sorted());
        for (from, to) in ranges {
            assert!(few.iter().any(|&(low, high)| low <= from && to <= high));
        }
        assert_eq!(joined(vec![(7, 9), (1, 2)]), [(1, 2), (7, 9)]);
        assert_eq!(joined(Vec::new()), []);
    }
}
