//! Values from fields of text files, and values from JSON.

use crate::types::Type;
use crate::value::{Json, Value};
use serde_json::Value as Tree;

impl Type {
    /// The value of this type that a field of a text file holds; `None` if it holds none. Lists,
    /// tuples and vectors are JSON arrays, bytes are base64, and what [`Type::coerce`] makes of
    /// strings is accepted.
    #[must_use]
    pub fn parse_field(&self, field: &str) -> Option<Value> {
        let trimmed = field.trim();
        match self {
            Self::Any | Self::String => Some(Value::Str(field.to_owned())),
            Self::Nullable(inner) => inner.parse_field(field),
            Self::Bool => trimmed.parse().ok().map(Value::Bool),
            Self::Int => match trimmed.parse() {
                Ok(int) => Some(Value::Int(int)),
                Err(_) => self.coerce(Value::Float(trimmed.parse().ok()?)).ok(),
            },
            Self::Id => Some(Value::id(trimmed.parse().ok()?)),
            Self::Float => trimmed.parse().ok().map(Value::Float),
            Self::Json => Json::parse(trimmed).ok().map(Value::Json),
            Self::List(..) | Self::Tuple(_) | Self::Vector(..) => {
                self.coerce(Value::of_tree(serde_json::from_str(trimmed).ok()?)).ok()
            }
            _ => self.coerce(Value::Str(trimmed.to_owned())).ok(),
        }
    }
}

impl Value {
    /// The value of JSON: arrays become lists, objects stay JSON.
    #[must_use]
    pub fn of_tree(tree: Tree) -> Self {
        match tree {
            Tree::Null => Self::Null,
            Tree::Bool(value) => Self::Bool(value),
            Tree::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => Self::Int(int),
                (None, Some(id), _) => Self::id(id),
                (None, None, Some(float)) => Self::Float(float),
                (None, None, None) => Self::Null,
            },
            Tree::String(text) => Self::Str(text),
            Tree::Array(items) => Self::List(items.into_iter().map(Self::of_tree).collect()),
            Tree::Object(_) => Json::of_tree(tree).map_or(Self::Null, Self::Json),
        }
    }

    /// The value as a field of a text file, which [`Type::parse_field`] reads back for columns with
    /// a type. Null is the empty field; the caller decides what that means when it is read. Values
    /// of a column of any type are read back as strings.
    #[must_use]
    pub fn to_field(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Str(text) => text.clone(),
            Self::Bytes(_) | Self::List(_) | Self::Vector(_) | Self::Validity(_) => {
                match Json::tree_of(self) {
                    Some(Tree::String(text)) => text,
                    Some(tree) => tree.to_string(),
                    None => self.to_string(),
                }
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::VectorKind;
    use crate::value::Vector;

    #[track_caller]
    fn comes_back(of: &Type, value: Value) {
        assert_eq!(of.parse_field(&value.to_field()), Some(value), "{of}");
    }

    #[test]
    fn a_value_written_as_a_field_comes_back() {
        comes_back(&Type::Bool, Value::Bool(true));
        comes_back(&Type::Int, Value::Int(i64::MIN));
        comes_back(&Type::Id, Value::id(u64::MAX));
        for float in [0.1, -0.0, f64::INFINITY, 1e300, f64::MIN_POSITIVE] {
            comes_back(&Type::Float, Value::Float(float));
        }
        comes_back(&Type::String, Value::Str(" a\"\n".to_owned()));
        comes_back(&Type::Bytes, Value::Bytes(vec![0, 255, 3]));
        comes_back(&Type::Uuid, Value::Uuid([7; 16]));
        comes_back(&Type::Json, Value::Json(Json::parse(r#"{"a": [1, null]}"#).unwrap()));
        comes_back(&Type::Date, Value::Date(-1));
        comes_back(&Type::Timestamp, Value::Timestamp(-1_500_001));
        comes_back(&Type::Duration, Value::Duration(90_000_001));
        let price = crate::Decimal::parse("-12.50").unwrap();
        comes_back(&Type::Decimal, Value::Decimal(price));
        let dates = Type::List(Box::new(Type::Nullable(Box::new(Type::Date))), None);
        comes_back(&dates, Value::List(vec![Value::Date(5), Value::Null]));
        let floats = Value::Vector(Vector::F32(vec![0.1, -2.5]));
        comes_back(&Type::Vector(VectorKind::F32, 2), floats);
    }

    #[test]
    fn a_field_of_another_type_is_none() {
        for (of, field) in [(Type::Int, "1.5"), (Type::Bool, "yes"), (Type::Date, "1998-02-30")] {
            assert_eq!(of.parse_field(field), None);
        }
        assert_eq!(Type::Int.parse_field(" 3.0 "), Some(Value::Int(3)));
    }
}
