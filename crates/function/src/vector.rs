//! Functions on vectors: construction, elementwise arithmetic, distances.
//!
//! All arithmetic is in 64-bit floats. A result that is a vector is rounded to 32 bits if all
//! operands that are vectors have 32 bits. Distances have 64 bits.

use crate::call::{Call, Number};
use crate::context::FunctionContext;
use crate::failure::Failure;
use crate::random;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Value, Vector, VectorKind};

pub(crate) fn len(vector: &Vector) -> usize {
    match vector {
        Vector::F32(items) => items.len(),
        Vector::F64(items) => items.len(),
    }
}

fn get(vector: &Vector, i: usize) -> f64 {
    let item = match vector {
        Vector::F32(items) => items.get(i).map(|&item| f64::from(item)),
        Vector::F64(items) => items.get(i).copied(),
    };
    item.unwrap_or(f64::NAN)
}

pub(crate) fn items(vector: &Vector) -> impl Iterator<Item = f64> + '_ {
    (0..len(vector)).map(|i| get(vector, i))
}

fn kind(vector: &Vector) -> VectorKind {
    match vector {
        Vector::F32(_) => VectorKind::F32,
        Vector::F64(_) => VectorKind::F64,
    }
}

fn collect(kind: VectorKind, items: impl Iterator<Item = f64>) -> Vector {
    match kind {
        VectorKind::F32 => Vector::F32(items.map(|item| item as f32).collect()),
        VectorKind::F64 => Vector::F64(items.collect()),
    }
}

/// Applies a function to each element.
pub(crate) fn map(vector: &Vector, compute: fn(f64) -> f64) -> Vector {
    collect(kind(vector), items(vector).map(compute))
}

/// Applies an operator from left to right. Operands are vectors of equal length and numbers.
pub(crate) fn fold(call: Call<'_>, compute: fn(f64, f64) -> f64) -> Result<Value, Failure> {
    let mut found = call.value(0).clone();
    for value in call.args().iter().skip(1) {
        found = pair(call, &found, value, compute)?;
    }
    Ok(found)
}

fn pair(
    call: Call<'_>,
    a: &Value,
    b: &Value,
    compute: fn(f64, f64) -> f64,
) -> Result<Value, Failure> {
    let number = |value| {
        let number = Number::of(value).map(Number::to_float);
        number.ok_or_else(|| call.refuse_operand(value, "numbers or vectors"))
    };
    Ok(match (a, b) {
        (Value::Vector(a), Value::Vector(b)) => {
            let len = same_len(call, a, b)?;
            let kind = if kind(a) == kind(b) { kind(a) } else { VectorKind::F64 };
            Value::Vector(collect(kind, (0..len).map(|i| compute(get(a, i), get(b, i)))))
        }
        (Value::Vector(a), b) => {
            let b = number(b)?;
            Value::Vector(collect(kind(a), items(a).map(|a| compute(a, b))))
        }
        (a, Value::Vector(b)) => {
            let a = number(a)?;
            Value::Vector(collect(kind(b), items(b).map(|b| compute(a, b))))
        }
        (a, b) => Value::Float(compute(number(a)?, number(b)?)),
    })
}

fn same_len(call: Call<'_>, a: &Vector, b: &Vector) -> Result<usize, Failure> {
    if len(a) == len(b) {
        return Ok(len(a));
    }
    Err(call.fail(format_args!("the vectors have different lengths, {} and {}", len(a), len(b))))
}

/// `vec(list | JSON array | base64 of little-endian floats | vector [, "F32" | "F64"])`
pub(crate) fn vec(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("vec", args);
    let wanted = wanted_kind(call)?;
    let vector = match call.value(0) {
        Value::Vector(vector) => collect(wanted, items(vector)),
        Value::List(items) => numbers(call, wanted, items)?,
        Value::Json(json) => match crate::json::items(json) {
            Some(items) => numbers(call, wanted, &items)?,
            None => return Err(call.refuse(0, "a list of numbers")),
        },
        Value::Str(text) => packed(call, wanted, text)?,
        _ => return Err(call.refuse(0, "a list of numbers, a vector or base64")),
    };
    Ok(Value::Vector(vector))
}

fn wanted_kind(call: Call<'_>) -> Result<VectorKind, Failure> {
    if call.args().len() < 2 {
        return Ok(VectorKind::F32);
    }
    match call.text(1)? {
        "F32" | "Float" => Ok(VectorKind::F32),
        "F64" | "Double" => Ok(VectorKind::F64),
        _ => Err(call.refuse(1, "\"F32\" or \"F64\"")),
    }
}

fn numbers(call: Call<'_>, wanted: VectorKind, items: &[Value]) -> Result<Vector, Failure> {
    let number = |value| {
        let number = Number::of(value).map(Number::to_float);
        number.ok_or_else(|| call.refuse_operand(value, "a list of numbers"))
    };
    let floats = items.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(collect(wanted, floats.into_iter()))
}

/// The vector in a base64 string of little-endian floats.
fn packed(call: Call<'_>, wanted: VectorKind, text: &str) -> Result<Vector, Failure> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| call.fail(format_args!("the string is not base64: {error}")))?;
    let whole = |width: usize| {
        if bytes.len().is_multiple_of(width) {
            return Ok(());
        }
        Err(call
            .fail(format_args!("{} bytes are no whole number of {width}-byte floats", bytes.len())))
    };
    match wanted {
        VectorKind::F32 => {
            whole(4)?;
            Ok(Vector::F32(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()))
        }
        VectorKind::F64 => {
            whole(8)?;
            Ok(Vector::F64(bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()))
        }
    }
}

/// A vector of random floats from 0 up to 1, exclusive.
pub(crate) fn rand_vec(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("rand_vec", args);
    let wanted = wanted_kind(call)?;
    let len = usize::try_from(call.int(0)?).map_err(|_| call.refuse(0, "a length from 0"))?;
    call.check_items(len as u128)?;
    crate::budget::request_memory(8 * len as u64, context)?;
    Ok(Value::Vector(collect(wanted, (0..len).map(|_| random::unit(context)))))
}

/// Scales a vector to length 1. The zero vector is returned unchanged.
pub(crate) fn l2_normalize(args: &[Value]) -> Result<Value, Failure> {
    let vector = Call::new("l2_normalize", args).vector(0)?;
    let norm = dot(vector, vector).sqrt();
    let divisor = if norm == 0.0 { 1.0 } else { norm };
    Ok(Value::Vector(collect(kind(vector), items(vector).map(|item| item / divisor))))
}

/// The squared Euclidean distance.
pub(crate) fn l2_dist(args: &[Value]) -> Result<Value, Failure> {
    let (a, b) = two(Call::new("l2_dist", args))?;
    Ok(Value::Float(items(a).zip(items(b)).map(|(a, b)| (a - b) * (a - b)).sum()))
}

/// 1 minus the inner product.
pub(crate) fn ip_dist(args: &[Value]) -> Result<Value, Failure> {
    let (a, b) = two(Call::new("ip_dist", args))?;
    Ok(Value::Float(1.0 - dot(a, b)))
}

/// 1 minus the cosine of the angle; NaN if a vector is zero.
pub(crate) fn cos_dist(args: &[Value]) -> Result<Value, Failure> {
    let (a, b) = two(Call::new("cos_dist", args))?;
    Ok(Value::Float(1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()))
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    items(a).zip(items(b)).map(|(a, b)| a * b).sum()
}

fn two<'a>(call: Call<'a>) -> Result<(&'a Vector, &'a Vector), Failure> {
    let (a, b) = (call.vector(0)?, call.vector(1)?);
    same_len(call, a, b)?;
    if kind(a) != kind(b) {
        return Err(call
            .fail("one vector has 32-bit floats, the other 64-bit ones")
            .hint("vec(v, 'F64') converts"));
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn vectors_are_computed_elementwise() {
        table(
            "add(vec([1, 2]), 1) => [2.0, 3.0]
         sub(1, vec([1, 2])) => [0.0, -1.0]
         mul(vec([1, 2]), 2, 3) => [6.0, 12.0]
         mul(vec([1, 2]), vec([3, 4])) => [3.0, 8.0]
         div(2, vec([1, 2])) => [2.0, 1.0]
         pow(vec([1, 4]), 2) => [1.0, 16.0]
         add(vec([1]), vec([1, 2])) => add: the vectors have different lengths, 1 and 2
         add(vec([1]), 'a') => add: expected numbers or vectors, found a String (\"a\")
         minus(vec([1])) => [-1.0]
         sqrt(vec([4])) => [2.0]
         add(vec([0.1]), vec([0.1], 'F64')) => [0.20000000149011612]
         vec('AACAPwAAAEA=') => [1.0, 2.0]
         vec('AACAPwAA') => vec: 6 bytes are no whole number of 4-byte floats
         vec('!') => vec: the string is not base64: Invalid symbol 33, offset 0.
         vec(json([1, 2])) => [1.0, 2.0]
         vec(json(1)) => vec: expected a list of numbers, found Json (1)
         vec([1, 'a']) => vec: expected a list of numbers, found a String (\"a\")
         vec([1], 'F16') => vec: expected \"F32\" or \"F64\" as argument 2, found a String (\"F16\")
         l2_normalize(vec([3, 4], 'F64')) => [0.6, 0.8]
         l2_normalize(vec([0, 0])) => [0.0, 0.0]
         l2_dist(vec([1, 2]), vec([3, 4])) => 8.0
         l2_dist(vec([1]), vec([1], 'F64')) => l2_dist: one vector has 32-bit floats, the other 64-bit ones
         ip_dist(vec([1, 2]), vec([3, 4])) => -10.0
         cos_dist(vec([1, 0]), vec([0, 1])) => 1.0
         length(rand_vec(3)) => 3
         rand_vec(-1) => rand_vec: expected a length from 0, found an Int (-1)
         rand_vec(99999999999) => rand_vec: the result would have 99999999999 items, the limit is 16777216",
        );
    }
}
