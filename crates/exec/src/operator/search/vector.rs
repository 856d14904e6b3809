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
    radius: Option<f64>,
}

/// The graph that a search reads.
enum Reach<'r> {
    /// All of it, in memory.
    Whole(&'r VectorGraph),
    /// Parts, which are read from storage when they are needed.
    Parts(Box<Graph>, StoredVectors<'r, Error>),
}

/// A vector that was found.
struct Hit {
    /// Number of its vertex.
    number: u32,
    distance: f64,
}

impl Reach<'_> {
    fn graph(&self) -> &Graph {
        match self {
            Self::Whole(whole) => &whole.graph,
            Self::Parts(graph, _) => graph,
        }
    }

    fn name(&self, number: u32) -> &[u8] {
        match self {
            Self::Whole(whole) => whole.name(number),
            Self::Parts(_, stored) => stored.name(number),
        }
    }
}

impl SearchRow for VectorSearch<'_> {
    fn search(&self, input: &Bindings, row: usize) -> Result<FoundRows> {
        let Some(asked) = self.asked(input, row)? else {
            return Ok(FoundRows::default());
        };
        let check = |bytes: u64| self.context.check(bytes);
        let mut reach = match &self.whole {
            Some(whole) => Reach::Whole(whole),
            None => {
                let stored = StoredVectors::new(self.index, self.context.read, &check);
                let graph = Graph::new(self.index.settings.clone(), true);
                Reach::Parts(Box::new(graph), stored)
            }
        };
        let Some(filter) = &self.rows.filter else {
            let (mut hits, _) = self.hits(&asked, asked.ef, &HashSet::new(), &mut reach)?;
            hits.truncate(asked.k);
            return self.rows(&hits, &reach);
        };
        let (mut seen, mut passed) = (HashSet::new(), Vec::new());
        let mut ef = asked.ef;
        loop {
            let (hits, is_all) = self.hits(&asked, ef, &seen, &mut reach)?;
            for some in hits.chunks(FILTERED_ROWS.max(CHUNK_ROWS.min(asked.k))) {
                self.context.check(0)?;
                let found = self.rows(some, &reach)?;
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
            seen.extend(hits.iter().map(|hit| hit.number));
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

    /// The nearest vectors of `ef` candidates, without those that were seen, the nearest first; and
    /// whether these are all within the radius.
    fn hits(
        &self,
        asked: &Asked,
        ef: usize,
        seen: &HashSet<u32>,
        reach: &mut Reach<'_>,
    ) -> Result<(Vec<Hit>, bool)> {
        let check = || self.context.check(0);
        let (near, len) = match reach {
            Reach::Whole(whole) => {
                let graph = &whole.graph;
                let near = if ef > graph.len() / EXHAUSTIVE_SHARE {
                    let bytes = graph.len() * (size_of::<Near>() + size_of::<Hit>());
                    self.context.check(bytes as u64)?;
                    exhaustive(graph, &asked.query, check)?
                } else {
                    nearest(&mut WholeGraph { graph, check }, &asked.query, ef)?
                };
                (near, graph.len())
            }
            Reach::Parts(graph, source) => {
                (nearest(&mut Editor { graph, source }, &asked.query, ef)?, usize::MAX)
            }
        };
        let is_all = near.len() < ef || near.len() >= len;
        let unseen = near.iter().map(|near| near.number).filter(|number| !seen.contains(number));
        let mut hits = self.measured(asked, &unseen.collect::<Vec<u32>>(), reach)?;
        let Some(radius) = asked.radius else { return Ok((hits, is_all)) };
        // A distance that is not a number is not beyond it, and not within it either.
        let is_all = is_all || hits.iter().any(|hit| hit.distance > radius);
        hits.retain(|hit| hit.distance <= radius);
        Ok((hits, is_all))
    }

    /// Distances in 64-bit floats, of the vectors as the relation has them; the least first.
    fn measured(&self, asked: &Asked, numbers: &[u32], reach: &Reach<'_>) -> Result<Vec<Hit>> {
        let metric = self.index.settings.metric;
        let mut hits = Vec::with_capacity(numbers.len());
        for some in numbers.chunks(CHUNK_ROWS) {
            self.context.check(0)?;
            for (&number, vector) in some.iter().zip(self.vectors(some, reach)?) {
                let query = asked.vector.iter().copied();
                let distance = match &vector {
                    Vector::F32(items) => {
                        metric.exact(items.iter().map(|&item| f64::from(item)), query)
                    }
                    Vector::F64(items) => metric.exact(items.iter().copied(), query),
                };
                hits.push(Hit { number, distance });
            }
        }
        let name = |hit: &Hit| reach.name(hit.number);
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance).then_with(|| name(a).cmp(name(b))));
        Ok(hits)
    }

    /// The vectors of some vertices.
    fn vectors(&self, numbers: &[u32], reach: &Reach<'_>) -> Result<Vec<Vector>> {
        if self.index.kind == VectorKind::F32 {
            let vector = |&number: &u32| Vector::F32(reach.graph().vector(number).to_vec());
            return Ok(numbers.iter().map(vector).collect());
        }
        let names: Vec<&[u8]> = numbers.iter().map(|&number| reach.name(number)).collect();
        let vector = |value: Option<Value>| match value {
            Some(Value::Vector(vector)) => Ok(vector),
            _ => Err(self.index.corrupt("it has a vector that the relation does not have")),
        };
        let values = self.index.values(self.context.read, &names)?;
        Ok(values.into_iter().map(vector).collect::<store::Result<_>>()?)
    }

    /// The wanted columns of some rows.
    fn rows(&self, hits: &[Hit], reach: &Reach<'_>) -> Result<FoundRows> {
        let interner = self.context.interner;
        let parts = hits.iter().map(|hit| Ok(self.index.parts_of_name(reach.name(hit.number))?));
        let parts: Vec<(Vec<Value>, usize, i64)> = parts.collect::<Result<_>>()?;
        let mut computed = Vec::with_capacity(self.rows.wanted.computed.len());
        let columns = &self.index.relation.schema;
        for &(of, var) in &self.rows.wanted.computed {
            let column = match of {
                SearchOutput::Vector => {
                    let numbers: Vec<u32> = hits.iter().map(|hit| hit.number).collect();
                    let vectors = self.vectors(&numbers, reach)?.into_iter();
                    vectors.map(|vector| interner.take(Value::Vector(vector))).collect()
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
        let query = inputs.query(input, row)?;
        let k = inputs.positive(SearchInput::K, "k", input, row)?;
        let (Some((query, span)), Some(k)) = (query, k) else { return Ok(None) };
        let ef = inputs.positive(SearchInput::Ef, "ef", input, row)?.unwrap_or(EF);
        let radius = match inputs.value(SearchInput::Radius, input, row)? {
            None => None,
            Some((Value::Float(radius), _)) if !radius.is_nan() => Some(radius),
            Some((Value::Int(radius), _)) => Some(radius as f64),
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
        let Some(items) = query.to_floats() else {
            let found = match query {
                Value::List(_) => "a list of other values",
                other => other.kind(),
            };
            return Err(refused(format!("the query of a search is a vector, not {found}")));
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
