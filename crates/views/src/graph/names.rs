//! Vertices as users name them, and the dictionary of string vertices. Calls of a graph convert
//! vertices to words here; a read never adds a string to the dictionary.

use super::edges::weight_words;
use super::write::HINT_ROWS;
use super::{Graph, VertexType, WeightsRef, damaged, scratch};
use crate::source::Source;
use crate::transaction::retry;
use base::shape::{int_to_word, word_to_int};
use base::{BytesColumn, KeyspaceId, Kind};
use env::sync::Mutex;
use relation::{ABSENT, invalid};
use store::{Isolation, Result, TableWrites};

/// Vertices passed to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VertexList<'a> {
    /// Unsigned integers.
    U64(&'a [u64]),
    /// Signed integers.
    I64(&'a [i64]),
    /// Strings.
    Str(&'a [&'a str]),
}

/// Vertices returned by a call.
#[derive(Clone, Debug, PartialEq)]
pub enum VertexColumn {
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Signed integers.
    I64(Vec<i64>),
    /// UTF-8 strings.
    Str(BytesColumn),
}

/// The dictionary of a graph with string vertices.
pub(crate) struct Dictionary {
    pub(crate) stored: relation::Dictionary,
    /// Lower bound of the next free id, where the search for it starts. Locked while ids are
    /// assigned.
    pub(crate) next: Mutex<u64>,
}

impl Dictionary {
    pub(super) fn new(ids: KeyspaceId, names: KeyspaceId) -> Self {
        Self { stored: relation::Dictionary { ids, names }, next: Mutex::new(0) }
    }
}

impl VertexList<'_> {
    /// Number of vertices.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U64(list) => list.len(),
            Self::I64(list) => list.len(),
            Self::Str(list) => list.len(),
        }
    }

    /// Whether there are no vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kind(&self) -> VertexType {
        match self {
            Self::U64(_) => VertexType::U64,
            Self::I64(_) => VertexType::I64,
            Self::Str(_) => VertexType::Str,
        }
    }
}

impl Graph {
    /// Appends the words of `list` to `out`. A string that is not a vertex becomes [`ABSENT`], for
    /// which every read finds nothing.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] if the list is not of the graph's vertex type.
    pub fn to_words(&self, list: VertexList<'_>, out: &mut Vec<u64>) -> Result<()> {
        self.check_list(list)?;
        match (list, &self.core.dictionary) {
            (VertexList::U64(list), _) => out.extend_from_slice(list),
            (VertexList::I64(list), _) => out.extend(list.iter().map(|&v| int_to_word(v))),
            (VertexList::Str(list), Some(dictionary)) => {
                out.extend(self.read(|read| dictionary.stored.look_up(read, list))?);
            }
            (VertexList::Str(_), None) => return Err(damaged("the graph has no dictionary")),
        }
        Ok(())
    }

    /// The vertices of `words`, which must be results of this graph.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`] if a word has no string.
    pub fn to_vertices(&self, words: &[u64]) -> Result<VertexColumn> {
        match (self.core.def.vertex, &self.core.dictionary) {
            (VertexType::U64, _) => Ok(VertexColumn::U64(words.to_vec())),
            (VertexType::I64, _) => {
                Ok(VertexColumn::I64(words.iter().map(|&word| word_to_int(word)).collect()))
            }
            (VertexType::Str, Some(dictionary)) => {
                let texts = self.read(|read| dictionary.stored.texts(read, words.to_vec()))?;
                Ok(VertexColumn::Str(texts))
            }
            (VertexType::Str, None) => Err(damaged("the graph has no dictionary")),
        }
    }

    /// As [`Graph::upsert_many`], for vertices of any type. New strings become vertices in the same
    /// commit, with ids that ascend in the order of first appearance.
    ///
    /// # Errors
    /// As [`Graph::upsert_many`].
    pub fn upsert_list(
        &self,
        us: VertexList<'_>,
        vs: VertexList<'_>,
        weights: Option<WeightsRef<'_>>,
    ) -> Result<()> {
        self.check_list(us)?;
        self.check_list(vs)?;
        self.refuse_keyed(HINT_ROWS)?;
        match (us, vs) {
            (VertexList::Str(us), VertexList::Str(vs)) => self.upsert_texts(us, vs, weights),
            _ => {
                let (mut u_words, mut v_words) = (Vec::new(), Vec::new());
                self.to_words(us, &mut u_words)?;
                self.to_words(vs, &mut v_words)?;
                self.upsert_many(&u_words, &v_words, weights)
            }
        }
    }

    fn upsert_texts(
        &self,
        us: &[&str],
        vs: &[&str],
        weights: Option<WeightsRef<'_>>,
    ) -> Result<()> {
        if us.len() != vs.len() {
            return Err(invalid(format!("{} sources, but {} targets", us.len(), vs.len())));
        }
        let Some(dictionary) = &self.core.dictionary else {
            return Err(damaged("the graph has no dictionary"));
        };
        // Strings are never removed from the dictionary, so the ids found here stay valid.
        let ends = [us, vs].concat();
        let words = self.read(|read| dictionary.stored.look_up(read, &ends))?;
        if !words.contains(&ABSENT) {
            return self.upsert_words(&words, weights, Vec::new());
        }
        // Locked until the commit ends, so that writers of one graph do not compete for ids.
        let mut next = dictionary.next.lock();
        let from = *next;
        *next = match &self.source {
            Source::Store(store) => retry(store, Isolation::Snapshot, |transaction| {
                self.in_transaction(transaction).upsert_new(dictionary, from, &ends, weights)
            })?,
            _ => self.upsert_new(dictionary, from, &ends, weights)?,
        };
        Ok(())
    }

    /// Assigns ids to new strings and upserts the edges. Returns the next free id, at least `from`.
    fn upsert_new(
        &self,
        dictionary: &Dictionary,
        from: u64,
        ends: &[&str],
        weights: Option<WeightsRef<'_>>,
    ) -> Result<u64> {
        let mut words = self.read(|read| dictionary.stored.look_up(read, ends))?;
        let mut next = self.read(|read| dictionary.stored.free_id(read, from))?;
        // In the order of edges: source, target, next source.
        let edges = ends.len() / 2;
        let order = (0..edges).flat_map(|edge| [edge, edges + edge]);
        let tables = dictionary.stored.assign_ids(ends, &mut words, order, &mut next);
        self.upsert_words(&words, weights, tables)?;
        Ok(next)
    }

    /// Upserts edges with the dictionary rows `tables` in the same batch. The first half of `words`
    /// are the sources, the second half the targets.
    fn upsert_words(
        &self,
        words: &[u64],
        weights: Option<WeightsRef<'_>>,
        tables: Vec<TableWrites>,
    ) -> Result<()> {
        let (us, vs) = words.split_at(words.len() / 2);
        scratch::with(&self.core.layout, |scratch| {
            let weight = self.core.def.weight;
            let batch = self.edge_batch(scratch, Kind::Put, us, vs, &[], |out| {
                weight_words(weight, weights, us.len(), out)
            })?;
            batch.tables.extend(tables);
            self.apply(batch)
        })
    }

    pub(crate) fn check_list(&self, list: VertexList<'_>) -> Result<()> {
        if list.kind() == self.core.def.vertex {
            return Ok(());
        }
        Err(invalid(format!(
            "the vertices of graph {:?} are {}, {} was given",
            self.name(),
            self.core.def.vertex,
            list.kind()
        )))
    }
}
