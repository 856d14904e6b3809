//! to_string, to_int, to_float, to_decimal, to_bool, to_unity, to_uuid.

use crate::call::{Call, Number};
use crate::failure::Failure;
use crate::json;
use model::{Decimal, Json, Type, Value};
use serde_json::Value as Tree;

/// Strings are returned unchanged, UUIDs in standard notation, bytes as base64, other values as
/// JSON.
pub(crate) fn to_string(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_string", args);
    let text = match call.value(0) {
        // JSON cannot represent these. to_float accepts them.
        Value::Float(float) if float.is_nan() => "NAN".to_owned(),
        Value::Float(float) if *float == f64::INFINITY => "INF".to_owned(),
        Value::Float(float) if *float == f64::NEG_INFINITY => "NEG_INF".to_owned(),
        value => json::text_of(call, value)?,
    };
    Ok(Value::Str(text))
}

/// Rounds towards zero. Null and false are 0, true is 1, a validity, a timestamp and a duration
/// are their microseconds, a date is its days since 1970-01-01.
pub(crate) fn to_int(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_int", args);
    match call.value(0) {
        Value::Null => Ok(Value::Int(0)),
        Value::Bool(value) => Ok(Value::Int(i64::from(*value))),
        value @ (Value::Int(_) | Value::Id(_)) => Ok(value.clone()),
        Value::Float(float) => match crate::call::whole(float.trunc()) {
            Some(int) => Ok(Value::Int(int)),
            None => Err(call.refuse(0, "a number that an Int can hold")),
        },
        Value::Decimal(decimal) => match i64::try_from(decimal.trunc()) {
            Ok(int) => Ok(Value::Int(int)),
            Err(_) => Err(call.refuse(0, "a number that an Int can hold")),
        },
        Value::Str(text) => match text.parse() {
            Ok(int) => Ok(Value::Int(int)),
            Err(_) => Err(call.refuse(0, "a string that is an integer")),
        },
        Value::Validity(validity) => Ok(Value::Int(validity.timestamp_us)),
        Value::Date(days) => Ok(Value::Int(i64::from(*days))),
        Value::Timestamp(us) | Value::Duration(us) => Ok(Value::Int(*us)),
        _ => Err(call.refuse(0, "a number, a string, true, false or null")),
    }
}

/// Timestamps and durations are seconds. Also accepts the strings PI, E, INF, NEG_INF and NAN.
pub(crate) fn to_float(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_float", args);
    let float = match call.value(0) {
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Timestamp(us) | Value::Duration(us) => *us as f64 / 1e6,
        Value::Str(text) => match text.as_str() {
            "PI" => std::f64::consts::PI,
            "E" => std::f64::consts::E,
            "INF" => f64::INFINITY,
            "NEG_INF" => f64::NEG_INFINITY,
            "NAN" => f64::NAN,
            text => text.parse().map_err(|_| call.refuse(0, "a string that is a number"))?,
        },
        value => match Number::of(value) {
            Some(number) => number.to_float(),
            None => return Err(call.refuse(0, "a number, a string, true, false or null")),
        },
    };
    Ok(Value::Float(float))
}

/// The decimal of a number or of a text. A float becomes the shortest decimal that reads as it.
pub(crate) fn to_decimal(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_decimal", args);
    let value = call.value(0);
    let wanted = match value {
        Value::Str(_) => "a decimal number of at most 38 digits",
        _ if Number::of(value).is_some() => "a number of at most 38 digits",
        _ => return Err(call.refuse(0, "a number or a string")),
    };
    Type::Decimal.coerce(value.clone()).map_err(|_| call.refuse(0, wanted))
}

pub(crate) fn to_bool(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(truth(Call::new("to_bool", args).value(0))))
}

pub(crate) fn to_unity(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Int(i64::from(truth(Call::new("to_unity", args).value(0)))))
}

/// False for null, false, 0, empty values, the nil UUID, retractions, and the duration 0.
fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Int(int) => *int != 0,
        Value::Id(id) => *id != 0,
        Value::Float(float) => *float != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::Bytes(bytes) => !bytes.is_empty(),
        Value::Uuid(uuid) => uuid.iter().any(|&byte| byte != 0),
        Value::List(items) => !items.is_empty(),
        Value::Vector(_) => true,
        Value::Json(json) => json_truth(json),
        Value::Validity(validity) => validity.assert,
        Value::Date(_) | Value::Timestamp(_) => true,
        Value::Duration(us) => *us != 0,
        Value::Decimal(decimal) => *decimal != Decimal::ZERO,
    }
}

fn json_truth(json: &Json) -> bool {
    match json.to_tree() {
        Tree::Null => false,
        Tree::Bool(value) => value,
        Tree::Number(number) => number.as_f64() != Some(0.0),
        Tree::String(text) => !text.is_empty(),
        Tree::Array(items) => !items.is_empty(),
        Tree::Object(object) => !object.is_empty(),
    }
}

/// Accepts text with or without dashes, in braces, or with the prefix `urn:uuid:`.
pub(crate) fn to_uuid(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("to_uuid", args);
    let text = match call.value(0) {
        uuid @ Value::Uuid(_) => return Ok(uuid.clone()),
        Value::Str(text) => text,
        _ => return Err(call.refuse(0, "a string")),
    };
    let plain = text.strip_prefix("urn:uuid:").unwrap_or(text);
    let inner = plain.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(plain);
    let dashes_fit = match inner.len() {
        32 => true,
        36 => [8, 13, 18, 23].iter().all(|&i| inner.as_bytes().get(i) == Some(&b'-')),
        _ => false,
    };
    let uuid = Type::Uuid.coerce(Value::Str(inner.to_owned()));
    match uuid {
        Ok(uuid) if dashes_fit => Ok(uuid),
        _ => Err(call.refuse(0, "a string that is a UUID")),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn values_are_converted() {
        table(
            "to_string(1.0) => \"1.0\"
         to_string('a') => \"a\"
         to_string(json('a')) => \"a\"
         to_string([1, 'a', null]) => \"[1,\\\"a\\\",null]\"
         to_string(to_float('NEG_INF')) => \"NEG_INF\"
         to_float(to_string(to_float('INF'))) => inf
         to_string(to_uuid('00112233445566778899aabbccddeeff')) => \"00112233-4455-6677-8899-aabbccddeeff\"
         to_int(null) => 0
         to_int(-2.9) => -2
         to_int('+5') => 5
         to_int('x') => to_int: expected a string that is an integer, found a String (\"x\")
         to_int(1e300) => to_int: expected a number that an Int can hold, found a Float (1e300)
         to_int(validity(7)) => 7
         to_int(json(5)) => to_int: expected a number, a string, true, false or null, found Json (5)
         to_float('PI') => 3.141592653589793
         to_float(' 1') => to_float: expected a string that is a number, found a String (\" 1\")
         to_float(18446744073709551615) => 1.8446744073709552e19
         to_decimal('1.10') => 1.1
         to_decimal(-0.25) => -0.25
         to_decimal(18446744073709551615) => 18446744073709551615
         to_decimal(to_decimal('7')) => 7
         to_decimal('1,5') => to_decimal: expected a decimal number of at most 38 digits, found a String (\"1,5\")
         to_decimal(1e300) => to_decimal: expected a number of at most 38 digits, found a Float (1e300)
         to_decimal(true) => to_decimal: expected a number or a string, found a Bool (true)
         to_string(to_decimal('-0.50')) => \"-0.5\"
         to_int(to_decimal('-2.9')) => -2
         to_int(to_decimal('1e19')) => to_int: expected a number that an Int can hold, found a Decimal (10000000000000000000)
         to_float(to_decimal('0.1')) => 0.1
         to_bool(to_decimal('0.0')) => false
         is_decimal(to_decimal(1)) => true
         is_decimal(1.5) => false
         is_num(to_decimal(1)) => true
         is_finite(to_decimal(1)) => true
         is_finite('a') => false
         to_bool('false') => true
         to_bool(0.0) => false
         to_bool(json({})) => false
         to_unity([0]) => 1
         to_unity(null) => 0
         to_uuid('{00112233-4455-6677-8899-aabbccddeeff}') => 00112233-4455-6677-8899-aabbccddeeff
         to_uuid('0011-22334455-6677-8899-aabbccddeeff') => to_uuid: expected a string that is a UUID, found a String (\"0011-22334455-6677-8899-aabbccddeeff\")
         to_uuid(1) => to_uuid: expected a string, found an Int (1)
         is_int(18446744073709551615) => true
         is_num('a') => false
         is_finite(1) => true
         is_infinite(div(1, 0)) => true
         is_nan(1) => false
         is_vec(vec([1])) => true
         is_json(null) => false",
        );
    }
}
