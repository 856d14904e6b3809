//! Functions on byte strings: bitwise operators, conversion to lists of bits, base64.

use crate::budget::reserve;
use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Value;

/// bit_and, bit_or and bit_xor of byte strings with equal length.
pub(crate) fn bitwise(
    name: &'static str,
    args: &[Value],
    compute: fn(u8, u8) -> u8,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    let mut found = call.bytes(0)?.to_vec();
    combine(call, &mut found, call.bytes(1)?, compute)?;
    Ok(Value::Bytes(found))
}

/// Combines bytes of equal length into `into`.
pub(crate) fn combine(
    call: Call<'_>,
    into: &mut [u8],
    from: &[u8],
    compute: fn(u8, u8) -> u8,
) -> Result<(), Failure> {
    if into.len() != from.len() {
        return Err(call.fail(format_args!(
            "the operands have different lengths, {} and {} bytes",
            into.len(),
            from.len()
        )));
    }
    for (into, from) in into.iter_mut().zip(from) {
        *into = compute(*into, *from);
    }
    Ok(())
}

pub(crate) fn bit_not(args: &[Value]) -> Result<Value, Failure> {
    let bytes = Call::new("bit_not", args).bytes(0)?;
    Ok(Value::Bytes(bytes.iter().map(|byte| !byte).collect()))
}

/// The first item becomes the highest bit of the first byte. The last byte is padded with zeros.
pub(crate) fn pack_bits(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("pack_bits", args);
    let items = call.list(0)?;
    let mut bytes = Vec::with_capacity(items.len().div_ceil(8));
    for part in items.chunks(8) {
        let mut byte = 0;
        for (i, item) in part.iter().enumerate() {
            match item {
                Value::Bool(bit) => byte |= u8::from(*bit) << (7 - i),
                other => return Err(call.refuse_operand(other, "a list of true and false")),
            }
        }
        bytes.push(byte);
    }
    Ok(Value::Bytes(bytes))
}

pub(crate) fn unpack_bits(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("unpack_bits", args);
    let bytes = call.bytes(0)?;
    call.check_items(bytes.len() as u128 * 8)?;
    let bits = |byte: &u8| {
        let byte = *byte;
        (0..8).map(move |i| Value::Bool(byte << i & 0x80 != 0))
    };
    let mut items = Vec::new();
    reserve(&mut items, 8 * bytes.len(), context)?;
    items.extend(bytes.iter().flat_map(bits));
    Ok(Value::List(items))
}

pub(crate) fn encode_base64(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Str(STANDARD.encode(Call::new("encode_base64", args).bytes(0)?)))
}

pub(crate) fn decode_base64(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("decode_base64", args);
    let bytes = STANDARD.decode(call.text(0)?);
    bytes.map(Value::Bytes).map_err(|error| call.fail(format_args!("not base64: {error}")))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn bytes_are_combined_and_written_as_text() {
        table(
            "bit_and(decode_base64('AQI='), decode_base64('AwM=')) => 0x0102
         bit_or(decode_base64('AQI='), decode_base64('AwM=')) => 0x0303
         bit_xor(decode_base64('AQI='), decode_base64('AwM=')) => 0x0201
         bit_not(decode_base64('AQI=')) => 0xfefd
         bit_and(decode_base64('AQI='), decode_base64('Aw==')) => bit_and: the operands have different lengths, 2 and 1 bytes
         bit_or(1, 2) => bit_or: expected bytes as argument 1, found an Int (1)
         pack_bits([true, false, true, false, false, false, false, false, true]) => 0xa080
         pack_bits([1]) => pack_bits: expected a list of true and false, found an Int (1)
         unpack_bits(decode_base64('gQ==')) => [true, false, false, false, false, false, false, true]
         encode_base64(decode_base64('gQ==')) => \"gQ==\"
         decode_base64('g!') => decode_base64: not base64: Invalid symbol 33, offset 1.",
        );
    }
}
