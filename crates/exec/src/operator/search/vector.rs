//! Finds the nearest neighbors of a vector.
//!
//! # How a filter is inside of the search
//! The nearest `ef` vectors are found and filtered. As long as fewer than `k` rows pass, twice as
//! many are found; once a quarter of all vectors would be, all are compared. So `k` rows are found
//! where that many pass, and the nearest ones of those that were compared.

use super::{FILTERED_ROWS, FoundRows, RowReader, SearchRow};
use crate::batch_size::CHUNK_ROWS;
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::storage::vector_cache::VectorGraph;
use crate::storage::vector_index::{NO_LIST, StoredVectors, VectorIndex};
use hashbrown::HashSet;
use model::{Value, Vector, VectorKind};
use plan::{SearchInput, SearchOutput, SearchUse};
use search::hnsw::{Editor, Graph, Near, Query, WholeGraph, exhaustive, nearest};
use std::sync::Arc;
use syntax::Span;

/// Candidates of a search that does not say how many.
const EF: usize = 64;

/// All vectors are compared where more than this share of them, 1 / n, would be candidates.
const EXHAUSTIVE_SHARE: usize = 4;

/// Searches of a vector index.
pub(super) struct VectorSearch<'s> {
    rows: RowReader<'s>,
    index: &'s VectorIndex,
    context: &'s ExecContext<'s>,
    /// The graph, if it is in memory.
    whole: Option<Arc<VectorGraph>>,
}

/// The search of one row of a batch.
struct Asked {
    /// As 64-bit floats: those of distances that are returned.
    vector: Vec<f64>,
    query: Query,
    k: usize,
    ef: usize,
    radius: f64,
}

/// A vector that was found.
struct Hit {
    name: Vec<u8>,
    distance: f64,
    vector: Vector,
}

impl SearchRow for VectorSearch<'_> {
    fn search(&self, input: &Bindings, row: usize) -> Result<FoundRows> {
        let Some(asked) = self.asked(input, row)? else {
            return Ok(FoundRows::default());
        };
        let check = |bytes: u64| self.context.check(bytes);
        let stored = StoredVectors::<Error>::new(self.index, self.context.read, &check);
        let mut stored = (Graph::new(self.index.settings.clone(), true), stored);
        let Some(filter) = &self.rows.filter else {
            let (mut hits, _) = self.hits(&asked, asked.ef, &HashSet::new(), &mut stored)?;
            hits.truncate(asked.k);
            return self.rows(&hits);
        };
        let (mut seen, mut passed) = (HashSet::new(), Vec::new());
        let mut ef = asked.ef;
        loop {
            let (hits, is_all) = self.hits(&asked, ef, &seen, &mut stored)?;
            for some in hits.chunks(FILTERED_ROWS.max(CHUNK_ROWS.min(asked.k))) {
                self.context.check(0)?;
                let found = self.rows(some)?;
                let kept = self.rows.kept(filter, input, row, &found)?;
                passed.extend(kept.iter().map(|&row| {
                    let mut one = FoundRows::default();
                    one.append(&found, &[row]);
                    (some[row as usize].distance, one)
                }));
                // The rest of this round is farther than these.
                let reached = some.last().map_or(f64::INFINITY, |hit| hit.distance);
                if passed.iter().filter(|(distance, _)| *distance <= reached).count() >= asked.k {
                    break;
                }
            }
            if is_all || passed.len() >= asked.k {
                break;
            }
            seen.extend(hits.into_iter().map(|hit| hit.name));
            ef = ef.saturating_mul(2);
        }
        passed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut out = FoundRows::default();
        passed.iter().take(asked.k).for_each(|(_, one)| out.append(one, &[0]));
        Ok(out)
    }
}

impl<'s> VectorSearch<'s> {
    /// # Errors
    /// Those of the store; what stops the query.
    pub(super) fn new(
        wanted: &'s SearchUse,
        context: &'s ExecContext<'s>,
        index: &'s VectorIndex,
    ) -> Result<Self> {
        let check = |bytes: u64| context.check(bytes);
        // A transaction that has changed rows sees others than its snapshot has.
        let whole = match (context.cached_tries, context.cached_vectors) {
            (Some(tries), Some(cache)) => cache.graph::<Error>(tries.snapshot, index, &check)?,
            _ => None,
        };
        let rows = RowReader::new(wanted, context, index.links.schema.name.clone())?;
        Ok(Self { rows, index, context, whole })
    }

    /// Number of vectors, where that is known.
    fn len(&self) -> usize {
        self.whole.as_ref().map_or(usize::MAX, |whole| whole.graph.len())
    }

    /// The nearest vectors of `ef` candidates, without those that were seen, the nearest first; and
    /// whether these are all within the radius.
    fn hits(
        &self,
        asked: &Asked,
        ef: usize,
        seen: &HashSet<Vec<u8>>,
        (graph, stored): &mut (Graph, StoredVectors<'_, Error>),
    ) -> Result<(Vec<Hit>, bool)> {
        let (near, graph, name): (Vec<Near>, &Graph, &dyn Fn(u32) -> Vec<u8>) = match &self.whole {
            Some(whole) if ef > whole.graph.len() / EXHAUSTIVE_SHARE => {
                self.context.check(whole.graph.len() as u64 * size_of::<Near>() as u64)?;
                let near = exhaustive(&whole.graph, &asked.query);
                (near, &whole.graph, &|number| whole.name(number).to_vec())
            }
            Some(whole) => {
                let check = || self.context.check(0);
                let near =
                    nearest(&mut WholeGraph { graph: &whole.graph, check }, &asked.query, ef)?;
                (near, &whole.graph, &|number| whole.name(number).to_vec())
            }
            None => {
                let near = nearest(&mut Editor { graph, source: stored }, &asked.query, ef)?;
                (near, &*graph, &|number| stored.name(number).to_vec())
            }
        };
        let is_all = near.len() < ef || near.len() >= self.len();
        let unseen = near.into_iter().map(|near| (near.number, name(near.number)));
        let unseen: Vec<(u32, Vec<u8>)> =
            unseen.filter(|(_, name)| seen.is_empty() || !seen.contains(name)).collect();
        let mut hits = self.exact(asked, unseen, graph)?;
        let before = hits.len();
        hits.retain(|hit| hit.distance.total_cmp(&asked.radius).is_le());
        let is_all = is_all || hits.len() < before;
        Ok((hits, is_all))
    }

    /// Distances in 64-bit floats, of the vectors as the relation has them.
    fn exact(&self, asked: &Asked, found: Vec<(u32, Vec<u8>)>, graph: &Graph) -> Result<Vec<Hit>> {
        let vectors: Vec<Vector> = match self.index.kind {
            VectorKind::F32 => {
                let vector = |(number, _): &(u32, Vec<u8>)| graph.vector(*number).to_vec();
                found.iter().map(|one| Vector::F32(vector(one))).collect()
            }
            VectorKind::F64 => {
                let names: Vec<&[u8]> = found.iter().map(|(_, name)| name.as_slice()).collect();
                let values = self.index.values(self.context.read, &names)?.into_iter();
                let vector = |value: Option<Value>| match value {
                    Some(Value::Vector(vector)) => Ok(vector),
                    _ => Err(self.index.corrupt("it has a vector that the relation does not have")),
                };
                values.map(vector).collect::<store::Result<_>>()?
            }
        };
        let metric = self.index.settings.metric;
        let hit = |((_, name), vector): ((u32, Vec<u8>), Vector)| {
            let query = asked.vector.iter().copied();
            let distance = match &vector {
                Vector::F32(items) => {
                    metric.exact(items.iter().map(|&item| f64::from(item)), query)
                }
                Vector::F64(items) => metric.exact(items.iter().copied(), query),
            };
            Hit { name, distance, vector }
        };
        let mut hits: Vec<Hit> = found.into_iter().zip(vectors).map(hit).collect();
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance).then_with(|| a.name.cmp(&b.name)));
        Ok(hits)
    }

    /// The wanted columns of some rows.
    fn rows(&self, hits: &[Hit]) -> Result<FoundRows> {
        let interner = self.context.interner;
        let parts = hits.iter().map(|hit| Ok(self.index.parts_of_name(&hit.name)?));
        let parts: Vec<(Vec<Value>, usize, i64)> = parts.collect::<Result<_>>()?;
        let mut computed = Vec::with_capacity(self.rows.wanted.computed.len());
        let columns = &self.index.relation.schema;
        for &(of, var) in &self.rows.wanted.computed {
            let column = match of {
                SearchOutput::Vector => {
                    let vectors = hits.iter().map(|hit| Value::Vector(hit.vector.clone()));
                    vectors.map(|vector| interner.take(vector)).collect()
                }
                SearchOutput::Field => {
                    let name = |field: usize| {
                        let column = self.index.fields[field] - columns.keys.len();
                        Value::Str(columns.values[column].name.clone())
                    };
                    parts.iter().map(|(_, field, _)| interner.take(name(*field))).collect()
                }
                SearchOutput::FieldIndex => {
                    let place = |sub_idx: i64| match sub_idx {
                        NO_LIST => Value::Null,
                        place => Value::Int(place),
                    };
                    parts.iter().map(|(.., sub_idx)| interner.take(place(*sub_idx))).collect()
                }
                _ => hits.iter().map(|hit| interner.float(hit.distance)).collect(),
            };
            computed.push((var, column));
        }
        let keys = parts.into_iter().map(|(key, ..)| key).collect();
        Ok(self.rows.found(&self.rows.columns(keys, &[])?, computed))
    }

    /// The search of a row.
    fn asked(&self, input: &Bindings, row: usize) -> Result<Option<Asked>> {
        let inputs = &self.rows.inputs;
        let query = inputs.value(SearchInput::Query, input, row)?;
        let k = inputs.positive(SearchInput::K, "k", input, row)?;
        let (Some((query, span)), Some(k)) = (query, k) else { return Ok(None) };
        let ef = inputs.positive(SearchInput::Ef, "ef", input, row)?.unwrap_or(EF);
        let radius = match inputs.value(SearchInput::Radius, input, row)? {
            None => f64::INFINITY,
            Some((Value::Float(radius), _)) => radius,
            Some((Value::Int(radius), _)) => radius as f64,
            Some((other, span)) => {
                return Err(Error::value(format!("`radius` is a number, not {other}"), span));
            }
        };
        let vector = self.query_vector(query, span)?;
        let query = self.index.settings.metric.query(vector.iter().map(|&f| f as f32).collect());
        Ok(Some(Asked { vector, query, k, ef: ef.max(k), radius }))
    }

    /// The floats of a query, with the width of the index.
    fn query_vector(&self, query: Value, span: Span) -> Result<Vec<f64>> {
        let refused = |what: String| {
            let hint = "write vec([…]), a parameter, or a column with vectors";
            Error::hinted(what, span, hint)
        };
        let items: Vec<f64> = match &query {
            Value::Vector(Vector::F32(items)) => items.iter().map(|&f| f64::from(f)).collect(),
            Value::Vector(Vector::F64(items)) => items.clone(),
            Value::List(items) => {
                let number = |item: &Value| match *item {
                    Value::Int(int) => Some(int as f64),
                    Value::Float(float) => Some(float),
                    _ => None,
                };
                let items: Option<Vec<f64>> = items.iter().map(number).collect();
                items.ok_or_else(|| {
                    refused("the query of a search is a vector, not a list of other values".into())
                })?
            }
            other => {
                let what = format!("the query of a search is a vector, not {}", other.kind());
                return Err(refused(what));
            }
        };
        let dim = self.index.settings.dim;
        if items.len() != dim {
            let (name, found) = (&self.index.links.schema.name, items.len());
            let what =
                format!("the query has {found} numbers, the vectors of index `{name}` have {dim}");
            return Err(Error::value(what, span));
        }
        Ok(match self.index.kind {
            VectorKind::F32 => items.into_iter().map(|item| f64::from(item as f32)).collect(),
            VectorKind::F64 => items,
        })
    }
}
