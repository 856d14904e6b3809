//! Fixed rules that combine rankings: `ReciprocalRankFusion` and `MaximalMarginalRelevance`.

use super::call::{Call, RuleRows};
use super::options::float;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use hashbrown::HashMap;
use model::Value;

/// The constant of the paper.
const RANK_OFFSET: f64 = 60.0;

/// Items that are picked by default.
const PICKED: u64 = 10;

/// Products between two checks of the limits.
const PRODUCTS_UNCHECKED: usize = 1 << 20;

/// Adds 1 / (k + rank) of each item over all rankings, times the ranking's weight (Cormack, Clarke
/// and Büttcher, SIGIR 2009). Equal scores have equal ranks; of an item that is in a ranking more
/// than once, the best rank counts.
pub(super) fn reciprocal_rank_fusion(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let lists = call.fixed.inputs.len();
    let offset = call.size("k", RANK_OFFSET)?;
    let descends =
        call.of_each("descending", "true or false", lists, true, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })?;
    let weights = call.of_each("weights", "a number", lists, 1.0, float)?;
    let mut places: HashMap<Cell, usize, foldhash::fast::FixedState> = HashMap::default();
    let mut sums: Vec<(Cell, f64)> = Vec::new();
    for list in 0..lists {
        let columns = call.columns(list)?;
        let (items, scores) = scored(call, list, &columns)?;
        let mut order: Vec<usize> = (0..items.len()).collect();
        let before = |a: usize, b: usize| match descends[list] {
            true => scores[b].total_cmp(&scores[a]),
            false => scores[a].total_cmp(&scores[b]),
        };
        order.sort_by(|&a, &b| before(a, b));
        let mut seen = vec![false; sums.len()];
        let mut rank = (0, f64::NAN);
        for (at, &row) in order.iter().enumerate() {
            if at == 0 || scores[row].total_cmp(&rank.1).is_ne() {
                rank = (at + 1, scores[row]);
            }
            let place = *places.entry(items[row]).or_insert_with(|| {
                sums.push((items[row], 0.0));
                seen.push(false);
                sums.len() - 1
            });
            if !std::mem::replace(&mut seen[place], true) {
                sums[place].1 += weights[list] / (offset + rank.0 as f64);
            }
        }
        call.query.check(64 * sums.len() as u64)?;
    }
    let mut answer = RuleRows::new(2);
    for (item, sum) in sums {
        answer.push([item, call.query.interner.float(sum)]);
    }
    Ok(answer.into_columns())
}

/// Picks items one by one: the next has the most of `lambda` times its relevance minus
/// `1 - lambda` times its cosine similarity to the nearest one picked (Carbonell and Goldstein,
/// SIGIR 1998). Among equals the first row is picked.
pub(super) fn maximal_marginal_relevance(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let lambda = call.fraction("lambda", 0.5)?;
    let take = usize::try_from(call.positive("take")?.unwrap_or(PICKED)).unwrap_or(usize::MAX);
    let columns = call.columns(0)?;
    let (items, relevance) = scored(call, 0, &columns)?;
    let vectors = directions(call, &columns)?;
    // The similarity to the nearest picked item; before the first pick there is none.
    let mut nearest = vec![f64::NEG_INFINITY; items.len()];
    let mut left: Vec<usize> = (0..items.len()).collect();
    let mut answer = RuleRows::new(2);
    let mut unchecked = 0;
    while answer.rows() < take && !left.is_empty() {
        let worth = |row: usize| match nearest[row] {
            f64::NEG_INFINITY => lambda * relevance[row],
            near => lambda * relevance[row] - (1.0 - lambda) * near,
        };
        let mut best = 0;
        for at in 1..left.len() {
            if worth(left[at]).total_cmp(&worth(left[best])).is_gt() {
                best = at;
            }
        }
        let picked = left.remove(best);
        answer.push([call.int(answer.rows() + 1), items[picked]]);
        for &row in &left {
            let product: f64 = vectors[row].iter().zip(&vectors[picked]).map(|(a, b)| a * b).sum();
            nearest[row] = nearest[row].max(product);
            unchecked += vectors[row].len();
            if unchecked >= PRODUCTS_UNCHECKED {
                unchecked = 0;
                call.query.check(answer.bytes())?;
            }
        }
    }
    Ok(answer.into_columns())
}

/// The items of an input and their scores, its first two columns.
fn scored<'c>(
    call: &Call<'_, '_>,
    input: usize,
    columns: &'c [Vec<Cell>],
) -> Result<(&'c [Cell], Vec<f64>)> {
    let (items, scores) = match columns {
        [items, scores, ..] => (items.as_slice(), scores.as_slice()),
        [items] if !items.is_empty() => {
            return Err(misses_column(call, input, "an item and its score"));
        }
        _ => return Ok((&[], Vec::new())),
    };
    let score = |&cell: &Cell| {
        let value = call.query.interner.value(cell);
        // Zero is added so that -0.0 is 0.0.
        float(&value).filter(|score| !score.is_nan()).map(|score| score + 0.0).ok_or_else(|| {
            let what = format!("{}: a score is a number, found {value}", call.name());
            Error::value(what, call.input_span(input))
        })
    };
    let scores = scores.iter().map(score).collect::<Result<_>>()?;
    Ok((items, scores))
}

/// The vectors in the third column, of length 1. A vector without a direction is zero.
fn directions(call: &Call<'_, '_>, columns: &[Vec<Cell>]) -> Result<Vec<Vec<f64>>> {
    let Some(cells) = columns.get(2) else {
        return match columns.first().is_none_or(Vec::is_empty) {
            true => Ok(Vec::new()),
            false => Err(misses_column(call, 0, "an item, its relevance and its vector")),
        };
    };
    let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(cells.len());
    let mut bytes = 0;
    for &cell in cells {
        let vector = call.query.interner.with(cell, of_vector).ok_or_else(|| {
            let value = call.query.interner.value(cell);
            let what = format!("{}: a vector is a list of numbers, found {value}", call.name());
            Error::value(what, call.input_span(0))
        })?;
        if let Some(first) = vectors.first().filter(|first| first.len() != vector.len()) {
            let (has, other) = (first.len(), vector.len());
            let what = format!("{}: vectors have {has} and {other} dimensions", call.name());
            return Err(Error::value(what, call.input_span(0)));
        }
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if length > 0.0 && length.is_finite() { 1.0 / length } else { 0.0 };
        bytes += 8 * vector.len() as u64;
        vectors.push(vector.into_iter().map(|x| x * scale).collect());
        call.query.check(bytes)?;
    }
    Ok(vectors)
}

fn of_vector(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Vector(vector) => Some(vector.to_floats()),
        Value::List(items) => items.iter().map(float).collect(),
        _ => None,
    }
}

fn misses_column(call: &Call<'_, '_>, input: usize, columns: &str) -> Error {
    let what = format!("{} reads rows of {columns}", call.name());
    Error::value(what, call.input_span(input))
}
