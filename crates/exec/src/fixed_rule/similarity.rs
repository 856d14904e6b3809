//! Fixed rules for the similarity of vertices by their neighbors. None of them is in Cozo.

use super::call::{Call, RuleRows};
use super::cohesion::simple_undirected;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use algo::OneThread;
use algo::similarity::Similarity;
use model::Value;

/// The measures by name.
const MEASURES: [(&str, Similarity); 6] = [
    ("common", Similarity::CommonNeighbors),
    ("jaccard", Similarity::Jaccard),
    ("overlap", Similarity::Overlap),
    ("adamic_adar", Similarity::AdamicAdar),
    ("resource_allocation", Similarity::ResourceAllocation),
    ("preferential_attachment", Similarity::PreferentialAttachment),
];

fn measure(call: &Call<'_, '_>) -> Result<Similarity> {
    let Some(name) = call.text("measure")? else { return Ok(Similarity::Jaccard) };
    let found = MEASURES.iter().find(|(known, _)| *known == name);
    found.map(|&(_, measure)| measure).ok_or_else(|| {
        let names = MEASURES.map(|(name, _)| format!("'{name}'"));
        let wanted = format!("one of {}", names.join(", "));
        let span = call.option("measure").map_or(call.fixed.span, syntax::Expr::span);
        call.wrong("measure", &wanted, &Value::Str(name), span)
    })
}

/// Returns rows `vertex, vertex, score` for the rows of the second relation. A vertex without edges
/// is similar to none.
pub(super) fn of_pairs(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let measure = measure(call)?;
    let projection = call.projection(false, &[])?;
    let both = simple_undirected(call, &projection)?;
    let mut answer = RuleRows::new(3);
    let (mut cells, mut pairs) = (Vec::new(), Vec::new());
    let columns = call.columns(1)?;
    let [ones, others, ..] = &columns[..] else {
        if columns.is_empty() {
            return Ok(answer.into_columns());
        }
        let what = format!("{} reads pairs, which have two columns or more", call.name());
        return Err(Error::value(what, call.input_span(1)));
    };
    for (&one, &other) in ones.iter().zip(others) {
        match (projection.number(one), projection.number(other)) {
            (Some(a), Some(b)) => {
                cells.push((one, other));
                pairs.push((a, b));
            }
            _ => answer.push([one, other, call.float(0.0)]),
        }
    }
    let scores = algo::similarity::similarities(&both, &pairs, measure, &OneThread, call.limits())
        .map_err(|error| call.failed(error, &projection))?;
    for ((one, other), score) in cells.into_iter().zip(scores) {
        answer.push([one, other, call.float(score)]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}

/// Returns rows `start, vertex, score`.
pub(super) fn most_similar(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let measure = measure(call)?;
    let k = usize::try_from(call.positive("k")?.unwrap_or(10)).unwrap_or(usize::MAX);
    let projection = call.projection(false, &[])?;
    let both = simple_undirected(call, &projection)?;
    let starts = projection.numbers(&call.cells(1)?);
    let found =
        algo::similarity::most_similar(&both, &starts, k, measure, &OneThread, call.limits())
            .map_err(|error| call.failed(error, &projection))?;
    let mut answer = RuleRows::new(3);
    for (&start, similar) in starts.iter().zip(found) {
        for one in similar {
            let (start, vertex) = (projection.cell(start), projection.cell(one.vertex));
            answer.push([start, vertex, call.float(one.score)]);
            call.check(&mut answer)?;
        }
    }
    Ok(answer.into_columns())
}
