//! Kinds of columns: the narrowest type that fits all values of a column.

use crate::typed_column::{ColumnValues, Digits, TypedColumn};
use base::{BytesColumn, Validity as ValidRows};
use model::{Type, Value, Vector, VectorKind};
use session::{Cell, Interner};
use std::fmt;

/// The type that fits all values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Int,
    Id,
    Float,
    Str,
    Bytes,
    /// Vectors with this width and number of floats.
    Vector(VectorKind, usize),
    /// Lists whose items have one kind.
    List(Item),
    Json,
    Validity,
    Date,
    Timestamp,
    Duration,
    Uuid,
    /// Decimals with at most these digits.
    Decimal(Digits),
    Literal,
}

impl Kind {
    /// The kind for a column of this type.
    pub(crate) fn of(column_type: &Type) -> Self {
        match column_type.without_null() {
            Type::Vector(kind, len) => {
                usize::try_from(*len).map_or(Self::Literal, |len| Self::vector(*kind, len))
            }
            Type::List(item, _) => Item::of(item).map_or(Self::Literal, Self::List),
            Type::Validity => Self::Validity,
            Type::Date => Self::Date,
            Type::Timestamp => Self::Timestamp,
            Type::Duration => Self::Duration,
            Type::Uuid => Self::Uuid,
            Type::Decimal => Self::Decimal(Digits::default()),
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Id => Self::Id,
            Type::Float => Self::Float,
            Type::String => Self::Str,
            Type::Bytes => Self::Bytes,
            Type::Json => Self::Json,
            _ => Self::Literal,
        }
    }

    /// Whether a column of this kind can hold the values that were seen.
    pub(crate) fn takes(self, seen: &Seen) -> bool {
        let Seen { bool, int, negative, id, float, str, bytes, other, shape, null: _ } = *seen;
        match self {
            Self::Literal => true,
            Self::Vector(..)
            | Self::List(_)
            | Self::Json
            | Self::Validity
            | Self::Date
            | Self::Timestamp
            | Self::Duration
            | Self::Uuid
            | Self::Decimal(_) => {
                let fits = shape.is_none_or(|shape| shape.join(self) == self);
                !(bool || int || id || float || str || bytes) && fits
            }
            Self::Null => !(bool || int || id || float || str || bytes || other),
            Self::Bool => !(int || id || float || str || bytes || other),
            Self::Int => !(bool || id || float || str || bytes || other),
            Self::Id => !(bool || negative || float || str || bytes || other),
            Self::Float => !(bool || str || bytes || other),
            Self::Str => !(bool || int || id || float || bytes || other),
            Self::Bytes => !(bool || int || id || float || str || other),
        }
    }

    /// The kind of vectors; literal if an Arrow list cannot have their length.
    fn vector(kind: VectorKind, len: usize) -> Self {
        let fits = (1..=i32::MAX as usize).contains(&len);
        if fits { Self::Vector(kind, len) } else { Self::Literal }
    }

    /// The kind of a value that is not a boolean, number, string or byte string.
    fn of_nested(value: &Value) -> Self {
        match value {
            Value::Vector(Vector::F32(floats)) => Self::vector(VectorKind::F32, floats.len()),
            Value::Vector(Vector::F64(floats)) => Self::vector(VectorKind::F64, floats.len()),
            Value::List(items) => Item::of_items(items).map_or(Self::Literal, Self::List),
            Value::Json(_) => Self::Json,
            Value::Validity(_) => Self::Validity,
            Value::Date(_) => Self::Date,
            Value::Timestamp(_) => Self::Timestamp,
            Value::Duration(_) => Self::Duration,
            Value::Uuid(_) => Self::Uuid,
            Value::Decimal(decimal) => Self::Decimal(Digits::of(*decimal)),
            _ => Self::Literal,
        }
    }

    /// The kind that fits values of both kinds.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a.join(b).map_or(Self::Literal, Self::List),
            (Self::Decimal(a), Self::Decimal(b)) => Self::Decimal(a.join(b)),
            (a, b) if a == b => a,
            _ => Self::Literal,
        }
    }

    /// The kind for a whole result if only its first part is known: a column of empty lists
    /// may have lists of any items later.
    pub(crate) fn of_first(self) -> Self {
        match self {
            Self::List(Item { leaf: Leaf::Null, .. }) => Self::Literal,
            Self::Decimal(digits) if digits.join(Digits::OF_FIRST) == Digits::OF_FIRST => {
                Self::Decimal(Digits::OF_FIRST)
            }
            Self::Decimal(_) => Self::Decimal(Digits::ALL),
            kind => kind,
        }
    }
}

/// Maximum nesting of lists that become Arrow lists.
const ITEM_DEPTH_MAX: u8 = 16;

/// The kind of the items of lists, apart from nulls: `lists` levels of lists around values of the
/// kind `leaf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    lists: u8,
    leaf: Leaf,
}

/// The kind of items that are not lists. [`Leaf::Null`] if there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Bytes,
    Date,
    Timestamp,
    Duration,
    Uuid,
    Decimal,
}

impl Item {
    const NULL: Self = Self { lists: 0, leaf: Leaf::Null };

    fn of(item_type: &Type) -> Option<Self> {
        let leaf = match item_type.without_null() {
            Type::Bool => Leaf::Bool,
            Type::Int => Leaf::Int,
            Type::Float => Leaf::Float,
            Type::String => Leaf::Str,
            Type::Bytes => Leaf::Bytes,
            Type::Date => Leaf::Date,
            Type::Timestamp => Leaf::Timestamp,
            Type::Duration => Leaf::Duration,
            Type::Uuid => Leaf::Uuid,
            Type::Decimal => Leaf::Decimal,
            Type::List(item, _) => return Self::of(item)?.in_a_list(),
            _ => return None,
        };
        Some(Self { lists: 0, leaf })
    }

    fn of_value(item: &Value) -> Option<Self> {
        let leaf = match item {
            Value::Null => Leaf::Null,
            Value::Bool(_) => Leaf::Bool,
            Value::Int(_) => Leaf::Int,
            Value::Float(_) => Leaf::Float,
            Value::Str(_) => Leaf::Str,
            Value::Bytes(_) => Leaf::Bytes,
            Value::Date(_) => Leaf::Date,
            Value::Timestamp(_) => Leaf::Timestamp,
            Value::Duration(_) => Leaf::Duration,
            Value::Uuid(_) => Leaf::Uuid,
            Value::Decimal(_) => Leaf::Decimal,
            Value::List(items) => return Self::of_items(items)?.in_a_list(),
            _ => return None,
        };
        Some(Self { lists: 0, leaf })
    }

    /// The kind that fits all items of a list; `None` if there is none.
    fn of_items(items: &[Value]) -> Option<Self> {
        items.iter().try_fold(Self::NULL, |all, item| all.join(Self::of_value(item)?))
    }

    fn in_a_list(self) -> Option<Self> {
        (self.lists < ITEM_DEPTH_MAX).then_some(Self { lists: self.lists + 1, ..self })
    }

    /// The kind that fits items of both kinds, with the rules for numbers of columns; `None` if
    /// none does.
    fn join(self, other: Self) -> Option<Self> {
        let leaf = match (self.leaf, other.leaf) {
            // Where one side has only nulls and empty lists, the other may have more levels.
            (Leaf::Null, _) if self.lists <= other.lists => return Some(other),
            (_, Leaf::Null) if other.lists <= self.lists => return Some(self),
            _ if self.lists != other.lists => return None,
            (Leaf::Int, Leaf::Float) | (Leaf::Float, Leaf::Int) => Leaf::Float,
            (a, b) if a == b => a,
            _ => return None,
        };
        Some(Self { leaf, ..self })
    }

    /// An empty column for items of this kind.
    pub(crate) fn column(self) -> TypedColumn {
        let values = match (self.lists, self.leaf) {
            (1.., leaf) => {
                let within = Self { lists: self.lists - 1, leaf };
                ColumnValues::List(vec![0], Box::new(within.column()))
            }
            (0, Leaf::Null) => ColumnValues::Null(0),
            (0, Leaf::Bool) => ColumnValues::Bool(Vec::new()),
            (0, Leaf::Int) => ColumnValues::Int(Vec::new()),
            (0, Leaf::Float) => ColumnValues::Float(Vec::new()),
            // As text: pandas cannot read lists of an extension type, and decimals of a list have
            // no common number of digits.
            (0, Leaf::Str | Leaf::Uuid | Leaf::Decimal) => {
                ColumnValues::Str(BytesColumn::default())
            }
            (0, Leaf::Bytes) => ColumnValues::Bytes(BytesColumn::default()),
            (0, Leaf::Date) => ColumnValues::Date(Vec::new()),
            (0, Leaf::Timestamp) => ColumnValues::Timestamp(Vec::new()),
            (0, Leaf::Duration) => ColumnValues::Duration(Vec::new()),
        };
        TypedColumn { values, valid: ValidRows::default() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "Bool",
            Self::Int => "Int",
            Self::Id => "ids",
            Self::Float => "Float",
            Self::Str => "String",
            Self::Bytes => "Bytes",
            Self::Vector(..) => "vectors",
            Self::List(_) => "lists",
            Self::Json => "Json",
            Self::Validity => "Validity",
            Self::Date => "Date",
            Self::Timestamp => "Timestamp",
            Self::Duration => "Duration",
            Self::Uuid => "Uuid",
            Self::Decimal(_) => "Decimal",
            Self::Literal => "several types",
        })
    }
}

/// Which types of values a column has.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) null: bool,
    bool: bool,
    int: bool,
    negative: bool,
    id: bool,
    float: bool,
    str: bool,
    bytes: bool,
    other: bool,
    /// The kind that fits all values counted as `other`.
    shape: Option<Kind>,
}

impl Seen {
    pub(crate) fn look(&mut self, cell: Cell, interner: &Interner) {
        if let Some(int) = cell.as_small_int() {
            self.int = true;
            self.negative |= int < 0;
        } else if cell.as_plain_float().is_some() {
            self.float = true;
        } else if cell.as_short_text().is_some() {
            self.str = true;
        } else {
            interner.with(cell, |value| match value {
                Value::Null => self.null = true,
                Value::Bool(_) => self.bool = true,
                Value::Int(int) => {
                    self.int = true;
                    self.negative |= *int < 0;
                }
                Value::Id(_) => self.id = true,
                Value::Float(_) => self.float = true,
                Value::Str(_) => self.str = true,
                Value::Bytes(_) => self.bytes = true,
                other => {
                    self.other = true;
                    let kind = Kind::of_nested(other);
                    self.shape = Some(self.shape.map_or(kind, |shape| shape.join(kind)));
                }
            });
        }
    }

    /// The narrowest kind that fits all values seen.
    pub(crate) fn kind(&self) -> Kind {
        let number = self.int || self.id || self.float;
        let kinds = [self.bool, number, self.str, self.bytes, self.other];
        let is_one_kind = kinds.iter().filter(|&&seen| seen).count() <= 1;
        if !is_one_kind {
            Kind::Literal
        } else if self.other {
            self.shape.unwrap_or(Kind::Literal)
        } else if self.bool {
            Kind::Bool
        } else if self.float {
            Kind::Float
        } else if self.id && self.negative {
            Kind::Literal
        } else if self.id {
            Kind::Id
        } else if self.int {
            Kind::Int
        } else if self.str {
            Kind::Str
        } else if self.bytes {
            Kind::Bytes
        } else {
            Kind::Null
        }
    }
}
