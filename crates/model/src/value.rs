//! Values of every kind, and their total order.

use crate::calendar::{write_date, write_duration, write_timestamp};
use crate::decimal::Decimal;
use crate::number::{decimal_key, float_key, int_key};
use std::cmp::{Ordering, Reverse};
use std::fmt;

/// A value.
///
/// Values of different kinds sort in the order in which the variants are declared; all numbers
/// count as one kind. `Int(1)`, `Float(1.0)` and the decimal 1 are different values: all lie
/// between 0.9 and 1.1, in this order. `number.rs` says how decimals above 2^53 are ordered.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// False sorts before true.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// A vertex id above `i64::MAX`; smaller ones are [`Value::Int`].
    Id(u64),
    /// A float, in the total order of IEEE 754: negative NaN first, positive NaN last.
    Float(f64),
    /// A decimal number.
    Decimal(Decimal),
    /// A string, in the order of its UTF-8 bytes.
    Str(String),
    /// A byte string.
    Bytes(Vec<u8>),
    /// A UUID, in the order of its bytes.
    Uuid([u8; 16]),
    /// A list. It sorts before longer lists that start with it.
    List(Vec<Value>),
    /// A vector of floats of one width.
    Vector(Vector),
    /// A JSON value.
    Json(Json),
    /// A time from which a fact holds or no longer holds.
    Validity(Validity),
    /// A day: days since 1970-01-01 in the Gregorian calendar.
    Date(i32),
    /// An instant: microseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// A length of time in microseconds.
    Duration(i64),
}

const _: () = assert!(size_of::<Value>() == 32, "frames and results hold millions of values");

/// A vector of floats. `F32` sorts before `F64`; vectors of one width sort as lists.
#[derive(Clone, Debug)]
pub enum Vector {
    /// 32 bits each.
    F32(Vec<f32>),
    /// 64 bits each.
    F64(Vec<f64>),
}

impl Value {
    /// The floats of a vector, or of a list of integers and floats.
    #[must_use]
    pub fn to_floats(&self) -> Option<Vec<f64>> {
        let float = |item: &Self| match *item {
            Self::Int(int) => Some(int as f64),
            Self::Float(float) => Some(float),
            _ => None,
        };
        match self {
            Self::Vector(vector) => Some(vector.to_floats()),
            Self::List(items) => items.iter().map(float).collect(),
            _ => None,
        }
    }
}

impl Vector {
    /// Its items in 64 bits.
    #[must_use]
    pub fn to_floats(&self) -> Vec<f64> {
        match self {
            Self::F32(items) => items.iter().map(|&item| f64::from(item)).collect(),
            Self::F64(items) => items.clone(),
        }
    }
}

/// JSON as canonical text, without white space and with sorted names. It sorts as this text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(String);

impl Json {
    /// How many lists and objects are nested in each other, at most. The parser has this limit. 512
    /// would overflow the smallest stacks that programs give their threads, 128 KiB.
    pub const LEVELS_MAX: usize = 127;

    /// Parses JSON text into its canonical form.
    ///
    /// # Errors
    /// The position at which the text is not JSON, or at which it nests deeper than
    /// [`Json::LEVELS_MAX`].
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let tree: serde_json::Value = serde_json::from_str(text)?;
        Ok(Self(sorted(tree).to_string()))
    }

    /// The canonical form of a tree.
    ///
    /// # Errors
    /// It nests deeper than [`Json::LEVELS_MAX`].
    pub fn of_tree(tree: serde_json::Value) -> Result<Self, serde_json::Error> {
        match Self::nests_within(&tree, Self::LEVELS_MAX) {
            true => Ok(Self(sorted(tree).to_string())),
            // The parser's error.
            false => Self::parse(&tree.to_string()),
        }
    }

    /// Whether at most `levels` lists and objects of a tree are nested in each other. Recurses no
    /// deeper.
    #[must_use]
    pub fn nests_within(tree: &serde_json::Value, levels: usize) -> bool {
        let below = |levels: usize| move |tree| Self::nests_within(tree, levels);
        match (tree, levels.checked_sub(1)) {
            (serde_json::Value::Array(items), Some(levels)) => items.iter().all(below(levels)),
            (serde_json::Value::Object(fields), Some(levels)) => fields.values().all(below(levels)),
            (tree, _) => !(tree.is_array() || tree.is_object()),
        }
    }

    /// Its value as a tree.
    #[must_use]
    pub fn to_tree(&self) -> serde_json::Value {
        // Canonical text always parses.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Wraps text that [`Json::parse`] made canonical.
    pub(crate) fn from_canonical(text: String) -> Self {
        Self(text)
    }

    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Sorts the names of objects: in some builds of `serde_json` maps keep the input order.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(n, v)| (n, sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            serde_json::Value::Object(fields.into_iter().collect())
        }
        scalar => scalar,
    }
}

/// From when on a fact holds or no longer holds. Newer times sort first; at one time the assertion
/// sorts before the retraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Validity {
    /// Microseconds since 1970-01-01 UTC.
    pub timestamp_us: i64,
    /// Whether the fact holds from then on (assertion) or does not (retraction).
    pub assert: bool,
}

impl Ord for Validity {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |validity: &Self| (Reverse(validity.timestamp_us), Reverse(validity.assert));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Validity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Value {
    /// An unsigned integer: [`Value::Int`] up to `i64::MAX`, [`Value::Id`] above.
    #[must_use]
    pub fn id(id: u64) -> Self {
        i64::try_from(id).map_or(Self::Id(id), Self::Int)
    }

    /// The kind in words, with its article, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a Bool",
            Self::Int(_) | Self::Id(_) => "an Int",
            Self::Float(_) => "a Float",
            Self::Decimal(_) => "a Decimal",
            Self::Str(_) => "a String",
            Self::Bytes(_) => "Bytes",
            Self::Uuid(_) => "a Uuid",
            Self::List(_) => "a list",
            Self::Vector(_) => "a vector",
            Self::Json(_) => "Json",
            Self::Validity(_) => "a Validity",
            Self::Date(_) => "a Date",
            Self::Timestamp(_) => "a Timestamp",
            Self::Duration(_) => "a Duration",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Id(_) | Self::Float(_) | Self::Decimal(_) => 2,
            Self::Str(_) => 3,
            Self::Bytes(_) => 4,
            Self::Uuid(_) => 5,
            Self::List(_) => 6,
            Self::Vector(_) => 7,
            Self::Json(_) => 8,
            Self::Validity(_) => 9,
            Self::Date(_) => 10,
            Self::Timestamp(_) => 11,
            Self::Duration(_) => 12,
        }
    }

    /// The sort key of a number, see `number.rs`; `None` for other kinds.
    pub(crate) fn number_key(&self) -> Option<(u64, u16)> {
        match *self {
            Self::Int(int) => Some(int_key(i128::from(int))),
            Self::Id(id) => Some(int_key(i128::from(id))),
            Self::Float(float) => Some(float_key(float)),
            Self::Decimal(decimal) => Some(decimal_key(decimal)),
            _ => None,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Str(a), Self::Str(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => a.cmp(b),
            (Self::Vector(a), Self::Vector(b)) => a.cmp(b),
            (Self::Json(a), Self::Json(b)) => a.cmp(b),
            (Self::Validity(a), Self::Validity(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Timestamp(a), Self::Timestamp(b)) | (Self::Duration(a), Self::Duration(b)) => {
                a.cmp(b)
            }
            (Self::Decimal(a), Self::Decimal(b)) => a.cmp(b),
            (a, b) => (a.rank(), a.number_key()).cmp(&(b.rank(), b.number_key())),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Ord for Vector {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::F32(_), Self::F64(_)) => Ordering::Less,
            (Self::F64(_), Self::F32(_)) => Ordering::Greater,
            (Self::F32(a), Self::F32(b)) => order(a, b, f32::total_cmp),
            (Self::F64(a), Self::F64(b)) => order(a, b, f64::total_cmp),
        }
    }
}

/// Lexicographic order of two lists whose items `cmp` compares.
fn order<T>(a: &[T], b: &[T], cmp: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let first = a.iter().zip(b).map(|(a, b)| cmp(a, b)).find(|order| order.is_ne());
    first.unwrap_or_else(|| a.len().cmp(&b.len()))
}

impl PartialOrd for Vector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Vector {}

impl fmt::Display for Value {
    /// Writes the value as a literal of the query language if the language has one for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Id(value) => value.fmt(f),
            // `{:?}` writes 1.0 with its decimal point.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Str(value) => write!(f, "{}", serde_json::Value::from(value.as_str())),
            Self::Bytes(value) => {
                f.write_str("0x")?;
                value.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Uuid(value) => {
                for (i, byte) in value.iter().enumerate() {
                    let dash = if [4, 6, 8, 10].contains(&i) { "-" } else { "" };
                    write!(f, "{dash}{byte:02x}")?;
                }
                Ok(())
            }
            Self::List(items) => list(f, items, |item, f| item.fmt(f)),
            Self::Vector(Vector::F32(items)) => list(f, items, |item, f| write!(f, "{item:?}")),
            Self::Vector(Vector::F64(items)) => list(f, items, |item, f| write!(f, "{item:?}")),
            Self::Json(json) => f.write_str(json.as_str()),
            Self::Validity(Validity { timestamp_us, assert }) => {
                write!(f, "validity({timestamp_us}, {assert})")
            }
            Self::Date(days) => write_date(f, i64::from(*days)),
            Self::Timestamp(us) => write_timestamp(f, *us),
            Self::Duration(us) => write_duration(f, *us),
            Self::Decimal(value) => value.fmt(f),
        }
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    show: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        show(item, f)?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::Json;

    fn nested(levels: usize) -> String {
        let (open, close): (String, String) = (0..levels)
            .map(|level| if level % 2 == 0 { ("[", "]") } else { ("{\"[\\\"\":", "}") })
            .unzip();
        format!("{open}1{}", close.chars().rev().collect::<String>())
    }

    #[test]
    fn json_nests_127_levels_and_no_more() {
        let deep = Json::parse(&nested(Json::LEVELS_MAX)).unwrap();
        assert_eq!((Json::LEVELS_MAX, deep.as_str()), (127, nested(127).as_str()));
        assert_eq!(Json::of_tree(deep.to_tree()).unwrap(), deep);
        let tree = serde_json::Value::Array(vec![deep.to_tree()]);
        assert!(Json::of_tree(tree).unwrap_err().to_string().contains("recursion limit"));
        assert!(Json::parse(&nested(128)).unwrap_err().to_string().contains("recursion limit"));
        assert!(Json::parse(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn floats_are_read_as_they_were_written() {
        for text in ["[-7.312715117751976e-237,3.9166573353688696e-29]", "[0.1,1e+308,5e-324]"] {
            assert_eq!(Json::parse(text).unwrap().to_tree().to_string(), text);
        }
    }

    #[test]
    fn text_that_is_no_json_is_refused() {
        for text in ["", " ", "[", "[1] 2", "1 2", "{} x", "nul", "\"", "[1]]", "01"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            Json::parse(" {\"b\": [1, 2.50], \"a\": \"x\"} ").unwrap().as_str(),
            "{\"a\":\"x\",\"b\":[1,2.5]}"
        );
    }
}
