//! The items of a constant list, for `is_in` on typed columns.
//!
//! Equality is that of lists: `1` and `1.0` are two values, as are `0.0` and `-0.0`.

use super::column::{Known, Texts, TypedColumn, Values};
use hashbrown::HashSet;
use model::{Type, Value};

/// Strings that are compared one by one.
const FEW: usize = 4;

/// Bits of a bit set for each integer in it.
const BITS_AN_INT: u64 = 128;

type Set<T> = HashSet<T, foldhash::fast::FixedState>;

/// The items of a list, by kind.
#[derive(Debug)]
pub(crate) struct ListSet {
    has_null: bool,
    /// Whether false, and true, is an item.
    bools: [bool; 2],
    ints: IntSet,
    /// Their bits.
    floats: Set<u64>,
    few_texts: Vec<Box<str>>,
    texts: Set<Box<str>>,
}

/// A set of integers.
#[derive(Debug)]
enum IntSet {
    /// Integers that lie close together: a bit for each, from the first on.
    Bits(i64, Vec<u64>),
    Hashed(Set<i64>),
}

impl IntSet {
    fn new(ints: Vec<i64>) -> Self {
        let (Some(&least), Some(&most)) = (ints.iter().min(), ints.iter().max()) else {
            return Self::Hashed(Set::default());
        };
        let width = most.abs_diff(least);
        if width >= BITS_AN_INT * ints.len() as u64 {
            return Self::Hashed(ints.into_iter().collect());
        }
        let mut words = vec![0; width as usize / 64 + 1];
        for int in ints {
            let bit = int.abs_diff(least);
            words[bit as usize / 64] |= 1 << (bit % 64);
        }
        Self::Bits(least, words)
    }

    fn items(&self) -> Vec<i64> {
        match self {
            Self::Bits(least, words) => {
                let bits =
                    (0..64 * words.len()).filter(|bit| words[bit / 64] >> (bit % 64) & 1 == 1);
                bits.map(|bit| least.wrapping_add_unsigned(bit as u64)).collect()
            }
            Self::Hashed(ints) => ints.iter().copied().collect(),
        }
    }

    #[inline]
    fn has(&self, int: i64) -> bool {
        match self {
            Self::Bits(least, words) => {
                // Smaller integers wrap around, past the last bit.
                let bit = int.wrapping_sub(*least).cast_unsigned();
                words.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
            }
            Self::Hashed(ints) => ints.contains(&int),
        }
    }
}

impl ListSet {
    /// Bytes that the set of a list may take.
    pub(crate) fn bytes(items: &[Value]) -> u64 {
        let text_bytes = |item: &Value| match item {
            Value::Str(text) => text.len() as u64,
            _ => 0,
        };
        items.iter().map(|item| 48 + text_bytes(item)).sum()
    }

    /// The items of a list. Those of kinds that no typed column has are left out.
    pub(crate) fn new(items: &[Value]) -> Self {
        let mut set = Self {
            has_null: false,
            bools: [false; 2],
            ints: IntSet::Hashed(Set::default()),
            floats: Set::default(),
            few_texts: Vec::new(),
            texts: Set::default(),
        };
        let mut ints = Vec::new();
        for item in items {
            match item {
                Value::Null => set.has_null = true,
                Value::Bool(bool) => set.bools[usize::from(*bool)] = true,
                Value::Int(int) => ints.push(*int),
                Value::Float(float) => {
                    set.floats.insert(float.to_bits());
                }
                Value::Str(text) => {
                    set.texts.insert(text.as_str().into());
                }
                _ => {}
            }
        }
        set.ints = IntSet::new(ints);
        if set.texts.len() <= FEW {
            set.few_texts = set.texts.drain().collect();
        }
        set
    }

    /// The items that a column of this type may have, and whether null is one; `None` if it has
    /// other kinds.
    pub(crate) fn values(&self, of: &Type) -> Option<(Vec<Value>, bool)> {
        let values = match of {
            Type::Bool => [false, true]
                .into_iter()
                .filter(|&b| self.bools[usize::from(b)])
                .map(Value::Bool)
                .collect(),
            Type::Int | Type::Id => self.ints.items().into_iter().map(Value::Int).collect(),
            Type::Float => {
                self.floats.iter().map(|&bits| Value::Float(f64::from_bits(bits))).collect()
            }
            Type::String => {
                let texts = self.few_texts.iter().chain(&self.texts);
                texts.map(|text| Value::Str(text.to_string())).collect()
            }
            _ => return None,
        };
        Some((values, self.has_null))
    }

    /// Whether the value of each row is an item; `None` if the row way has to tell.
    pub(crate) fn contains(&self, column: &TypedColumn<'_>, rows: usize) -> Option<Vec<bool>> {
        let mut found: Vec<bool> = match &column.values {
            Values::Known(known) => vec![self.has_known(known); rows],
            Values::Bools(bools) => bools.iter().map(|&one| self.bools[usize::from(one)]).collect(),
            Values::Ints(ints) => ints.iter().map(|&int| self.ints.has(int)).collect(),
            Values::Floats(floats) => {
                floats.iter().map(|float| self.floats.contains(&float.to_bits())).collect()
            }
            Values::Texts(texts) => self.contains_texts(texts, rows),
            Values::Mixed(_) => return None,
        };
        if let Some(nulls) = &column.nulls {
            for (found, _) in found.iter_mut().zip(nulls).filter(|(_, is_null)| **is_null) {
                *found = self.has_null;
            }
        }
        Some(found)
    }

    fn contains_texts(&self, texts: &Texts<'_>, rows: usize) -> Vec<bool> {
        if self.texts.is_empty() {
            let has = |row| self.few_texts.iter().any(|item| **item == *texts.get(row));
            return (0..rows).map(has).collect();
        }
        (0..rows).map(|row| self.texts.contains(texts.get(row))).collect()
    }

    fn has_known(&self, known: &Known<'_>) -> bool {
        match known {
            Known::Null => self.has_null,
            Known::Bool(bool) => self.bools[usize::from(*bool)],
            Known::Int(int) => self.ints.has(*int),
            Known::Float(float) => self.floats.contains(&float.to_bits()),
            Known::Text(text) => {
                self.texts.contains(*text) || self.few_texts.iter().any(|item| **item == **text)
            }
        }
    }
}
