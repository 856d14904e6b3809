//! Ids of vertices: a hash of the vertex's name, with its highest layer.
//!
//! # Why the layer is a part of the id
//! Vertices in the order of their ids are in the order of their layers, the highest first. So the
//! entry point of a search is the first vertex, and no writer has to change a row that names it.

/// The highest layer that a vertex can have.
pub const LAYER_MAX: usize = 63;

/// Bits of the hash in an id.
const HASH_BITS: u32 = 56;

/// Id of a vertex: 63 minus its highest layer, then 56 bits of a hash. At most 2^62.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexId(u64);

impl VertexId {
    /// The id of the vertex that `name` identifies, in a graph of `m` links a vertex. Other
    /// attempts make other ids of the same name, for names whose hashes are equal.
    ///
    /// A vertex is in layer `l` with probability `m^-l`, as in the paper. The computation is on
    /// integers, so that it is the same on every machine: ids are stored.
    #[must_use]
    pub fn of_name(name: &[u8], attempt: u64, m: usize) -> Self {
        let hash = hash(name, attempt);
        let (mut layer, mut draw) = (0, mix(hash ^ 0x6c61_7965_7273_2121));
        let m = m.max(2) as u64;
        while layer < LAYER_MAX && draw < u64::MAX / m {
            layer += 1;
            draw = draw.wrapping_mul(m);
        }
        Self(((LAYER_MAX - layer) as u64) << HASH_BITS | hash >> (64 - HASH_BITS))
    }

    /// The id with this number; `None` if no vertex can have it.
    #[must_use]
    pub fn of_number(number: u64) -> Option<Self> {
        (number >> HASH_BITS <= LAYER_MAX as u64).then_some(Self(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// A hash of two ids, the same for both orders.
    pub(super) fn pair_hash(self, other: Self) -> u64 {
        mix(self.0 ^ other.0)
    }

    /// The highest layer of the vertex.
    #[must_use]
    pub fn layer(self) -> usize {
        LAYER_MAX - (self.0 >> HASH_BITS) as usize
    }
}

/// A hash of some bytes that never changes: FNV-1a, mixed.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ mix(seed);
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    mix(hash)
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_change() {
        let number = |name: &[u8], attempt| VertexId::of_name(name, attempt, 16).number();
        assert_eq!(number(b"", 0), 4_608_636_067_286_463_976);
        assert_eq!(number(b"a", 0), 4_540_403_295_533_405_216);
        assert_ne!(number(b"a", 0), number(b"a", 1));
    }

    #[test]
    fn a_layer_has_an_mth_of_the_vertices_of_the_one_below() {
        let ids: Vec<VertexId> =
            (0..100_000_u32).map(|i| VertexId::of_name(&i.to_be_bytes(), 0, 10)).collect();
        for (layer, wanted) in [(1, 10_000), (2, 1000), (3, 100)] {
            let found = ids.iter().filter(|id| id.layer() >= layer).count();
            assert!(found.abs_diff(wanted) < wanted / 3, "{found} vertices in layer {layer}");
        }
    }

    #[test]
    fn higher_vertices_come_first() {
        let mut ids: Vec<VertexId> =
            (0..1000_u32).map(|i| VertexId::of_name(&i.to_be_bytes(), 0, 4)).collect();
        ids.sort_unstable();
        assert!(ids.is_sorted_by_key(|id| std::cmp::Reverse(id.layer())));
        assert!(ids.iter().all(|id| VertexId::of_number(id.number()) == Some(*id)));
        assert_eq!(VertexId::of_number(u64::MAX), None);
    }
}
