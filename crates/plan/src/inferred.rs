//! The values that a column or variable may have, as far as known before a query runs.

use model::{Type, Value};

/// The values that a column or variable may have, from the fewest to the most. `Whole` fits `Int`
/// and `Id` alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Inferred {
    /// No values yet, or only nulls and parameters, which may be anything.
    Nothing,
    /// Integers that are neither of type `Int` nor `Id` alone: constants from 0.
    Whole,
    /// Values of one type, or nulls.
    Of(Type),
    /// Any values.
    Unknown,
}

impl Inferred {
    /// Values of a stored column.
    pub(crate) fn of_type(of: &Type) -> Self {
        match of.without_null() {
            Type::Any => Self::Unknown,
            of => Self::Of(of.clone()),
        }
    }

    /// A constant.
    pub(crate) fn of_value(value: &Value) -> Self {
        Self::Of(match value {
            Value::Null => return Self::Nothing,
            Value::Int(0..) => return Self::Whole,
            Value::Int(_) => Type::Int,
            Value::Bool(_) => Type::Bool,
            Value::Float(_) => Type::Float,
            Value::Str(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            Value::Date(_) => Type::Date,
            Value::Timestamp(_) => Type::Timestamp,
            Value::Duration(_) => Type::Duration,
            Value::Decimal(_) => Type::Decimal,
            _ => return Self::Unknown,
        })
    }

    /// The values of both.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Whole, Self::Whole) => Self::Whole,
            (Self::Whole, Self::Of(of)) | (Self::Of(of), Self::Whole)
                if matches!(of, Type::Int | Type::Id) =>
            {
                Self::Of(of)
            }
            (Self::Of(one), Self::Of(other)) if one == other => Self::Of(one),
            _ => Self::Unknown,
        }
    }

    /// A type of the values that both allow. `Id` comes before all others; of two others the first
    /// is taken, which matters only where no value is in both.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Of(Type::Id), _) | (_, Self::Of(Type::Id)) => Self::Of(Type::Id),
            (Self::Of(of), _) | (_, Self::Of(of)) => Self::Of(of),
            (Self::Whole, _) | (_, Self::Whole) => Self::Whole,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }

    /// The same as a type of its own, for arithmetic: constants are of type `Int`.
    pub(crate) fn settled(self) -> Self {
        if self == Self::Whole { Self::Of(Type::Int) } else { self }
    }

    /// Their type, if it is known.
    pub(crate) fn known(&self) -> Option<Type> {
        match self {
            Self::Whole => Some(Type::Int),
            Self::Of(of) => Some(of.clone()),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Inferred> {
        let types = [Type::Int, Type::Id, Type::Float, Type::String];
        let mut all = vec![Inferred::Nothing, Inferred::Whole, Inferred::Unknown];
        all.extend(types.map(Inferred::Of));
        all
    }

    #[test]
    fn values_of_both_do_not_depend_on_the_order() {
        for (a, b) in all().into_iter().flat_map(|a| all().into_iter().map(move |b| (a.clone(), b)))
        {
            assert_eq!(a.clone().or(b.clone()), b.clone().or(a.clone()), "{a:?} {b:?}");
            assert_eq!(a.clone().or(b.clone()).or(b.clone()), a.or(b), "joined again");
        }
    }

    #[test]
    fn whole_constants_are_integers_and_ids() {
        let whole = || Inferred::of_value(&Value::Int(5));
        assert_eq!(whole().or(Inferred::Of(Type::Id)), Inferred::Of(Type::Id));
        assert_eq!(whole().or(Inferred::Of(Type::Int)), Inferred::Of(Type::Int));
        assert_eq!(whole().or(Inferred::Of(Type::Float)), Inferred::Unknown);
        let negative = Inferred::of_value(&Value::Int(-5));
        assert_eq!(negative.or(Inferred::Of(Type::Id)), Inferred::Unknown);
        assert_eq!(whole().known(), Some(Type::Int));
    }
}
