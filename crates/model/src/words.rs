//! Values of one-word types (Bool, Int, Id, Float, Date, Timestamp, Duration) encoded as words that
//! keep their order. Words are stored on disk and read by `relation` and `exec`, so the encoding is
//! fixed.

use crate::types::Type;
use crate::value::Value;
use base::shape::{float_to_word, int_to_word, word_to_float, word_to_int};

/// The word of a value that [`Type::coerce`] returned for a one-word type; `None` otherwise.
#[must_use]
pub fn word_of_value(of: &Type, value: &Value) -> Option<u64> {
    match (of, value) {
        (Type::Bool, Value::Bool(value)) => Some(u64::from(*value)),
        (Type::Int, Value::Int(value)) => Some(int_to_word(*value)),
        (Type::Id, Value::Int(value)) => u64::try_from(*value).ok(),
        (Type::Id, Value::Id(value)) => Some(*value),
        (Type::Float, Value::Float(value)) => Some(float_to_word(*value)),
        (Type::Date, Value::Date(days)) => Some(int_to_word(i64::from(*days))),
        (Type::Timestamp, Value::Timestamp(us)) | (Type::Duration, Value::Duration(us)) => {
            Some(int_to_word(*us))
        }
        _ => None,
    }
}

/// The value of a word; `None` if the type is not a one-word type, or no value has this word.
#[must_use]
pub fn value_of_word(of: &Type, word: u64) -> Option<Value> {
    match (of, word) {
        (Type::Bool, 0 | 1) => Some(Value::Bool(word == 1)),
        (Type::Int, _) => Some(Value::Int(word_to_int(word))),
        (Type::Id, _) => Some(Value::id(word)),
        (Type::Float, _) => Some(Value::Float(word_to_float(word))),
        (Type::Date, _) => i32::try_from(word_to_int(word)).ok().map(Value::Date),
        (Type::Timestamp, _) => Some(Value::Timestamp(word_to_int(word))),
        (Type::Duration, _) => Some(Value::Duration(word_to_int(word))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_one_type() -> impl Strategy<Value = (Type, Value, Value)> {
        prop_oneof![
            any::<(bool, bool)>().prop_map(|(a, b)| (Type::Bool, Value::Bool(a), Value::Bool(b))),
            any::<(i64, i64)>().prop_map(|(a, b)| (Type::Int, Value::Int(a), Value::Int(b))),
            any::<(u64, u64)>().prop_map(|(a, b)| (Type::Id, Value::id(a), Value::id(b))),
            any::<(i32, i32)>().prop_map(|(a, b)| (Type::Date, Value::Date(a), Value::Date(b))),
            any::<(i64, i64)>().prop_map(|(a, b)| (
                Type::Timestamp,
                Value::Timestamp(a),
                Value::Timestamp(b)
            )),
            any::<(i64, i64)>().prop_map(|(a, b)| (
                Type::Duration,
                Value::Duration(a),
                Value::Duration(b)
            )),
            any::<(f64, f64)>().prop_map(|(a, b)| (Type::Float, Value::Float(a), Value::Float(b))),
        ]
    }

    proptest! {
        #[test]
        fn words_compare_as_their_values_and_come_back((of, a, b) in of_one_type()) {
            let [x, y] = [&a, &b].map(|value| word_of_value(&of, value).unwrap());
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(value_of_word(&of, x), Some(a));
        }
    }
}
