//! Streams of keys, as the specifications of the workloads define them.

/// A small and fast generator (SplitMix64), whose cost must not show in results.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        let number = shuffled(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// A float in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Zipf-distributed ranks from 0; rank `i` has weight `1 / (i + 1) ^ THETA` (Gray et al., as in
/// YCSB).
pub struct Zipf {
    items: f64,
    zeta: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    /// Over 10^10 items, whose sum of weights is known; for scrambled keys.
    pub fn huge() -> Self {
        Self::with(10_000_000_000, 26.469_028_201_783_02)
    }

    /// Over `items` items; takes time to add up their weights.
    pub fn new(items: u64) -> Self {
        Self::with(items, (1..=items).map(|i| (i as f64).powf(-THETA)).sum())
    }

    fn with(items: u64, zeta: f64) -> Self {
        let items = items as f64;
        let zeta_2 = 1.0 + 0.5_f64.powf(THETA);
        let eta = (1.0 - (2.0 / items).powf(1.0 - THETA)) / (1.0 - zeta_2 / zeta);
        Self { items, zeta, eta }
    }

    pub fn rank(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let at = unit * self.zeta;
        if at < 1.0 {
            return 0;
        }
        if at < 1.0 + 0.5_f64.powf(THETA) {
            return 1;
        }
        (self.items * (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - THETA))) as u64
    }
}

/// 64-bit FNV-1a over the bytes of a number.
pub fn fnv(number: u64) -> u64 {
    fnv_of(0xcbf2_9ce4_8422_2325, &number.to_le_bytes())
}

/// Continues a hash with more bytes.
pub fn fnv_of(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A permutation of the 64-bit integers (the finalizer of SplitMix64): consecutive numbers become
/// keys in random order.
pub fn shuffled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Values of random printable bytes: slices of a pool, prefixed by the key, so that a reader can
/// check them.
pub struct Values {
    pool: Vec<u8>,
    random: Random,
    bytes: usize,
}

/// Length of a value in UCSB.
pub const VALUE_BYTES: usize = 1024;
/// The shortest value consists of its key only.
pub const VALUE_BYTES_MIN: usize = KEY_BYTES;
pub const VALUE_BYTES_MAX: usize = 1 << 20;
const KEY_BYTES: usize = 16;
const POOL_BYTES: usize = 8 << 20;

impl Values {
    /// Values of `bytes` bytes each, from `VALUE_BYTES_MIN` to `VALUE_BYTES_MAX`.
    pub fn new(seed: u64, bytes: usize) -> Self {
        let mut random = Random::new(seed);
        let pool = (0..POOL_BYTES).map(|_| b' ' + random.below(95) as u8).collect();
        Self { pool, random, bytes }
    }

    pub fn of(&mut self, key: u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&name(key));
        let at = self.random.below((POOL_BYTES - self.bytes) as u64) as usize;
        out.extend_from_slice(&self.pool[at..at + self.bytes - KEY_BYTES]);
    }
}

/// Whether this is a value of the key and has `bytes` bytes.
pub fn is_value_of(key: u64, value: &[u8], bytes: usize) -> bool {
    value.len() == bytes && value[..KEY_BYTES] == name(key)
}

fn name(key: u64) -> [u8; KEY_BYTES] {
    std::array::from_fn(|i| b"0123456789abcdef"[(key >> (60 - 4 * i)) as usize & 15])
}
