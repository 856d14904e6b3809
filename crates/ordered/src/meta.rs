//! The catalog and the numbers of a store, as entries of the map under prefix 0.

use crate::error::{damaged, invalid, unknown};
use crate::key::{CATALOG, Prefix, Span, successor};
use crate::map::{MapRead, Order, Pair};
use crate::record::{open, seal};
use base::{ColumnShape, KeyShape, KeyspaceId, Merge, Shape, varint};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use store::{KeyspaceInfo, Result};

/// Version of the encoding.
const VERSION: u64 = 1;

/// Entries read at once.
const PAGE: usize = 1000;

/// The numbers of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The newest commit.
    pub(crate) seq: u64,
    /// The newest commit that changed a keyspace.
    pub(crate) catalog_seq: u64,
    /// Tombstones and deleted ranges up to this commit may be gone.
    pub(crate) floor: u64,
    /// The next id of a keyspace.
    pub(crate) next_id: u32,
    /// The next prefix.
    pub(crate) next_prefix: u32,
}

/// Figures of a keyspace, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Rows.
    pub(crate) rows: u64,
    /// Tombstones.
    pub(crate) tombstones: u64,
    /// Bytes of keys and values of rows.
    pub(crate) bytes: u64,
    /// The last commit that changed it.
    pub(crate) changed_at: u64,
}

/// A keyspace and where its rows are.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) info: KeyspaceInfo,
    pub(crate) prefix: Prefix,
}

/// Keyspaces by id.
pub(crate) type Spaces = BTreeMap<KeyspaceId, Arc<Space>>;

/// All keyspaces as of one commit.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) seq: u64,
    pub(crate) spaces: Spaces,
    by_name: HashMap<String, KeyspaceId>,
    by_prefix: HashMap<Prefix, KeyspaceId>,
}

impl Catalog {
    pub(crate) fn new(seq: u64, spaces: Spaces) -> Self {
        let by_name = spaces.values().map(|space| (space.info.name.clone(), space.info.id));
        let by_prefix = spaces.values().map(|space| (space.prefix, space.info.id));
        Self { seq, by_name: by_name.collect(), by_prefix: by_prefix.collect(), spaces }
    }

    pub(crate) fn space(&self, id: KeyspaceId) -> Result<&Arc<Space>> {
        self.spaces.get(&id).ok_or_else(|| unknown(id))
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Space>> {
        self.spaces.get(self.by_name.get(name)?)
    }

    /// The keyspace whose rows have this prefix.
    pub(crate) fn with_prefix(&self, prefix: Prefix) -> Option<&Arc<Space>> {
        self.spaces.get(self.by_prefix.get(&prefix)?)
    }
}

fn key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = CATALOG.all().0;
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

/// Key of the numbers.
fn meta_key() -> Vec<u8> {
    key(b'm', &[])
}

fn space_key(id: KeyspaceId) -> Vec<u8> {
    key(b'k', &id.0.to_be_bytes())
}

pub(crate) fn figures_key(id: KeyspaceId) -> Vec<u8> {
    key(b'f', &id.0.to_be_bytes())
}

/// Key of a deleted range; `number` differs among those of one commit.
fn range_key(seq: u64, number: u32) -> Vec<u8> {
    key(b'r', &[&seq.to_be_bytes()[..], &number.to_be_bytes()].concat())
}

/// Key of a prefix that an unfinished load fills.
pub(crate) fn load_key(prefix: Prefix) -> Vec<u8> {
    key(b'u', &prefix.0.to_be_bytes())
}

/// All entries of one kind.
fn kind_span(kind: u8) -> Span {
    (key(kind, &[]), key(kind + 1, &[]))
}

impl Meta {
    pub(crate) fn pair(&self) -> Pair {
        let mut out = Vec::new();
        let numbers = [VERSION, self.seq, self.catalog_seq, self.floor];
        numbers.iter().for_each(|&number| varint::put(&mut out, number));
        varint::put(&mut out, self.next_id.into());
        varint::put(&mut out, self.next_prefix.into());
        let key = meta_key();
        let value = seal(&key, out);
        (key, value)
    }

    /// The numbers in the map; `None` if it holds no store yet.
    pub(crate) fn read(place: &str, map: &mut dyn MapRead) -> Result<Option<Self>> {
        let (key, mut found) = (meta_key(), Vec::new());
        map.get(std::slice::from_ref(&key), &mut found)?;
        let Some(value) = found.pop().flatten() else { return Ok(None) };
        let mut rest = open(place, &key, &value)?;
        let mut take = || varint::take(&mut rest);
        let early = || damaged(place, "its numbers end early");
        let version = take().ok_or_else(early)?;
        if version != VERSION {
            return Err(invalid(format!(
                "{place} has version {version} of the format, this program reads version {VERSION}"
            )));
        }
        let meta = (|| {
            let (seq, catalog_seq, floor) = (take()?, take()?, take()?);
            let (next_id, next_prefix) = (take()?, take()?);
            let next_id = u32::try_from(next_id).ok()?;
            let next_prefix = u32::try_from(next_prefix).ok()?;
            Some(Self { seq, catalog_seq, floor, next_id, next_prefix })
        })();
        meta.map(Some).ok_or_else(early)
    }
}

impl Figures {
    pub(crate) fn pair(&self, id: KeyspaceId) -> Pair {
        let mut out = Vec::new();
        let numbers = [self.rows, self.tombstones, self.bytes, self.changed_at];
        numbers.iter().for_each(|&number| varint::put(&mut out, number));
        let key = figures_key(id);
        let value = seal(&key, out);
        (key, value)
    }

    pub(crate) fn read(place: &str, map: &mut dyn MapRead, id: KeyspaceId) -> Result<Self> {
        let (key, mut found) = (figures_key(id), Vec::new());
        map.get(std::slice::from_ref(&key), &mut found)?;
        let Some(value) = found.pop().flatten() else { return Ok(Self::default()) };
        let mut rest = open(place, &key, &value)?;
        let mut take = || varint::take(&mut rest);
        (|| Some(Self { rows: take()?, tombstones: take()?, bytes: take()?, changed_at: take()? }))(
        )
        .ok_or_else(|| damaged(place, "the figures of a keyspace end early"))
    }
}

/// A range that was deleted, with the commit that did.
#[derive(Clone, Debug)]
pub(crate) struct DeletedRange {
    pub(crate) seq: u64,
    pub(crate) span: Span,
}

impl DeletedRange {
    pub(crate) fn pair(&self, number: u32) -> Pair {
        let mut out = Vec::new();
        varint::put_bytes(&mut out, &self.span.0);
        varint::put_bytes(&mut out, &self.span.1);
        let key = range_key(self.seq, number);
        let value = seal(&key, out);
        (key, value)
    }

    /// The ranges deleted after commit `since`.
    pub(crate) fn read_since(place: &str, map: &mut dyn MapRead, since: u64) -> Result<Vec<Self>> {
        let (mut lower, upper) = (range_key(since.saturating_add(1), 0), kind_span(b'r').1);
        let mut ranges = Vec::new();
        loop {
            let mut pairs = Vec::new();
            map.scan(&lower, &upper, Order::Forward, PAGE, &mut pairs)?;
            for (key, value) in &pairs {
                let early = || damaged(place, "a deleted range ends early");
                let mut rest = open(place, key, value)?;
                let seq = key.get(5..).unwrap_or_default();
                let lower = varint::take_bytes(&mut rest).ok_or_else(early)?;
                let upper = varint::take_bytes(&mut rest).ok_or_else(early)?;
                let span = (lower.to_vec(), upper.to_vec());
                ranges.push(Self { seq: base::leading_word(seq), span });
            }
            match pairs.last() {
                Some((last, _)) if pairs.len() == PAGE => lower = successor(last),
                _ => return Ok(ranges),
            }
        }
    }

    /// The span of the records of all commits up to `seq`.
    pub(crate) fn records_until(seq: u64) -> Span {
        (kind_span(b'r').0, range_key(seq.saturating_add(1), 0))
    }
}

impl Space {
    pub(crate) fn pair(&self) -> Pair {
        let KeyspaceInfo { id, name, shape, definition } = &self.info;
        let mut out = Vec::new();
        varint::put(&mut out, self.prefix.0.into());
        varint::put_bytes(&mut out, name.as_bytes());
        out.push(match shape.key {
            KeyShape::Words(words) => words,
            KeyShape::Bytes => 0,
        });
        varint::put(&mut out, shape.values.len() as u64);
        out.extend(shape.values.iter().map(|column| match column {
            ColumnShape::Bytes => 0,
            ColumnShape::Word { merge: None } => 1,
            ColumnShape::Word { merge: Some(Merge::AddInt) } => 2,
            ColumnShape::Word { merge: Some(Merge::AddFloat) } => 3,
            ColumnShape::Word { merge: Some(Merge::Min) } => 4,
            ColumnShape::Word { merge: Some(Merge::Max) } => 5,
        }));
        varint::put_bytes(&mut out, definition);
        let key = space_key(*id);
        let value = seal(&key, out);
        (key, value)
    }

    /// The keys of its entries in the catalog.
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        vec![space_key(self.info.id), figures_key(self.info.id)]
    }

    fn decode(id: KeyspaceId, mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let prefix = Prefix(u32::try_from(varint::take(rest)?).ok()?);
        let name = String::from_utf8(varint::take_bytes(rest)?.to_vec()).ok()?;
        let (&words, tail) = rest.split_first()?;
        *rest = tail;
        let key = if words == 0 { KeyShape::Bytes } else { KeyShape::Words(words) };
        let columns = usize::try_from(varint::take(rest)?).ok()?;
        let (columns, tail) = rest.split_at_checked(columns)?;
        *rest = tail;
        let column = |&kind: &u8| {
            let merge = match kind {
                0 => return Some(ColumnShape::Bytes),
                1 => None,
                2 => Some(Merge::AddInt),
                3 => Some(Merge::AddFloat),
                4 => Some(Merge::Min),
                5 => Some(Merge::Max),
                _ => return None,
            };
            Some(ColumnShape::Word { merge })
        };
        let values = columns.iter().map(column).collect::<Option<_>>()?;
        let definition = varint::take_bytes(rest)?.to_vec();
        let info = KeyspaceInfo { id, name, shape: Shape { key, values }, definition };
        Some(Self { info, prefix })
    }
}

/// Reads all keyspaces.
pub(crate) fn read_catalog(place: &str, map: &mut dyn MapRead, seq: u64) -> Result<Catalog> {
    let (mut lower, upper) = kind_span(b'k');
    let mut spaces = BTreeMap::new();
    loop {
        let mut pairs = Vec::new();
        map.scan(&lower, &upper, Order::Forward, PAGE, &mut pairs)?;
        for (key, value) in &pairs {
            let id = key.get(5..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
            let id = KeyspaceId(u32::from_be_bytes(id));
            let space = Space::decode(id, open(place, key, value)?)
                .ok_or_else(|| damaged(place, format!("the entry of keyspace {}", id.0)))?;
            spaces.insert(id, Arc::new(space));
        }
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => lower = successor(last),
            _ => return Ok(Catalog::new(seq, spaces)),
        }
    }
}

/// Prefixes of loads that did not finish.
pub(crate) fn read_loads(map: &mut dyn MapRead) -> Result<Vec<Prefix>> {
    let (lower, upper) = kind_span(b'u');
    let mut pairs = Vec::new();
    map.scan(&lower, &upper, Order::Forward, usize::MAX, &mut pairs)?;
    let prefix = |(key, _): &Pair| Prefix::of(key.get(5..).unwrap_or_default());
    Ok(pairs.iter().map(prefix).collect())
}
