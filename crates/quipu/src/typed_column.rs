//! Columns of one type, as results are passed on.

use base::{BytesColumn, Validity as ValidRows};
use model::Decimal;
#[cfg(feature = "arrow")]
use model::{Series, Value, Values};

/// A column of one type.
///
/// Values of several types become strings, with some exceptions. Integers mixed with floats become
/// floats (above 2^53 rounded to the nearest). Integers mixed with ids above `i64::MAX` become ids
/// if none is negative. Vectors of equal length stay vectors, and lists whose items have one type
/// (by the same rules) stay lists; UUIDs in lists become strings.
#[derive(Clone, Debug)]
pub struct TypedColumn {
    /// The values, with fillers for nulls.
    pub values: ColumnValues,
    /// Which rows are not null.
    pub valid: ValidRows,
}

/// Values of one type.
#[derive(Clone, Debug)]
pub enum ColumnValues {
    /// Only nulls: their number.
    Null(usize),
    /// Booleans.
    Bool(Vec<bool>),
    /// Integers.
    Int(Vec<i64>),
    /// Unsigned integers, some of them above `i64::MAX`.
    Id(Vec<u64>),
    /// Floats.
    Float(Vec<f64>),
    /// UTF-8 strings.
    Str(BytesColumn),
    /// Byte strings.
    Bytes(BytesColumn),
    /// Vectors of 32-bit floats: their length, and all floats in order.
    Vector32(usize, Vec<f32>),
    /// Vectors of 64-bit floats: their length, and all floats in order.
    Vector64(usize, Vec<f64>),
    /// Lists: the offset of each list in the items plus the end of the last, and the items.
    List(Vec<u64>, Box<TypedColumn>),
    /// JSON text.
    Json(BytesColumn),
    /// Validities: times in microseconds since 1970-01-01 UTC, and whether the row holds from then
    /// on.
    Validity(Vec<i64>, Vec<bool>),
    /// Dates: days since 1970-01-01.
    Date(Vec<i32>),
    /// Timestamps: microseconds since 1970-01-01 UTC.
    Timestamp(Vec<i64>),
    /// Durations in microseconds.
    Duration(Vec<i64>),
    /// UUIDs.
    Uuid(Vec<[u8; 16]>),
    /// Decimals, and the digits that they have at most.
    Decimal(Vec<Decimal>, Digits),
    /// Values of any other or of mixed types, as literals of the query language.
    Literal(BytesColumn),
}

/// Digits of decimals, before and behind the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    /// Digits before the point, 0 for a zero.
    pub whole: u32,
    /// Digits behind the point.
    pub scale: u32,
}

impl Digits {
    /// Digits of a column whose first rows alone are known: others should fit, too.
    pub(crate) const OF_FIRST: Self = Self { whole: 20, scale: 18 };
    /// Enough for all decimals.
    pub(crate) const ALL: Self = Self { whole: Decimal::DIGITS_MAX, scale: Decimal::SCALE_MAX };

    pub(crate) fn of(decimal: Decimal) -> Self {
        let log = decimal.trunc().unsigned_abs().checked_ilog10();
        Self { whole: log.map_or(0, |log| log + 1), scale: decimal.scale() }
    }

    /// The digits of the decimals of a column.
    #[cfg(feature = "arrow")]
    pub(crate) fn of_series(series: &Series) -> Self {
        let Values::Any(values) = &series.values else { return Self::default() };
        let of = |digits: Self, value: &Value| match value {
            Value::Decimal(decimal) => digits.join(Self::of(*decimal)),
            _ => digits,
        };
        values.iter().fold(Self::default(), of)
    }

    pub(crate) fn join(self, other: Self) -> Self {
        Self { whole: self.whole.max(other.whole), scale: self.scale.max(other.scale) }
    }

    /// Whether 128 bits hold them all.
    #[cfg(feature = "arrow")]
    pub(crate) fn fit_128_bits(self) -> bool {
        self.whole + self.scale <= Decimal::DIGITS_MAX
    }
}
