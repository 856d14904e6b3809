//! Random values, from the random bits that the caller provides.

use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use model::Value;

/// A float from 0 up to 1, exclusive, with 53 random bits.
pub(crate) fn unit(context: &dyn FunctionContext) -> f64 {
    (context.random() >> 11) as f64 * 2_f64.powi(-53)
}

/// An integer from 0 up to `end`, exclusive. Reducing 128 bits to at most 64 makes the bias
/// negligible.
fn below(end: u128, context: &dyn FunctionContext) -> u128 {
    let bits = u128::from(context.random()) << 64 | u128::from(context.random());
    bits.checked_rem(end).unwrap_or(0)
}

pub(crate) fn rand_float(context: &dyn FunctionContext) -> Result<Value, Failure> {
    Ok(Value::Float(unit(context)))
}

/// True with the given probability.
pub(crate) fn rand_bernoulli(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("rand_bernoulli", args);
    let probability = call.float(0)?;
    if !(0.0..=1.0).contains(&probability) {
        return Err(call.refuse(0, "a number from 0 to 1"));
    }
    Ok(Value::Bool(unit(context) < probability))
}

/// A random integer between two bounds, both inclusive.
pub(crate) fn rand_int(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("rand_int", args);
    let (low, high) = (call.int(0)?, call.int(1)?);
    let Ok(distance) = u128::try_from(i128::from(high) - i128::from(low)) else {
        return Err(call.fail(format_args!("nothing lies between {low} and {high}")));
    };
    let offset = below(distance + 1, context);
    Ok(Value::Int(low.wrapping_add_unsigned(offset as u64)))
}

/// A random item of a list; null if it is empty.
pub(crate) fn rand_choose(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let items = Call::new("rand_choose", args).list(0)?;
    let i = below(items.len() as u128, context) as usize;
    Ok(items.get(i).cloned().unwrap_or(Value::Null))
}

/// A UUID of the current time with a random node and clock sequence.
pub(crate) fn rand_uuid_v1(context: &dyn FunctionContext) -> Result<Value, Failure> {
    let ticks = crate::time::uuid_ticks(context.now_us());
    let [t0, t1, t2, t3, t4, t5, t6, t7] = ticks.to_be_bytes();
    let [s0, s1, n0, n1, n2, n3, n4, n5] = context.random().to_be_bytes();
    // The multicast bit marks a node that is not a network card.
    Ok(Value::Uuid([
        t4,
        t5,
        t6,
        t7,
        t2,
        t3,
        t0 & 0x0f | 0x10,
        t1,
        s0 & 0x3f | 0x80,
        s1,
        n0 | 1,
        n1,
        n2,
        n3,
        n4,
        n5,
    ]))
}

pub(crate) fn rand_uuid_v4(context: &dyn FunctionContext) -> Result<Value, Failure> {
    let bits = u128::from(context.random()) << 64 | u128::from(context.random());
    let mut uuid = bits.to_be_bytes();
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(Value::Uuid(uuid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::{context, table};
    use std::collections::BTreeSet;

    #[test]
    fn random_values_lie_where_they_should() {
        table(
            "rand_int(3, 3) => 3
         rand_int(5, 3) => rand_int: nothing lies between 5 and 3
         is_int(rand_int(-9223372036854775808, 9223372036854775807)) => true
         rand_bernoulli(1) => true
         rand_bernoulli(0) => false
         rand_bernoulli(2) => rand_bernoulli: expected a number from 0 to 1, found an Int (2)
         rand_choose([]) => null
         rand_choose([1]) => 1
         uuid_timestamp(rand_uuid_v1()) => 1.5
         uuid_timestamp(rand_uuid_v4()) => null",
        );
        let world = context();
        let call = |name: &str, args: &[Value]| lookup(name).unwrap().apply(args, &world).unwrap();
        let dice: BTreeSet<Value> =
            (0..200).map(|_| call("rand_int", &[Value::Int(1), Value::Int(6)])).collect();
        assert_eq!(dice, (1..=6).map(Value::Int).collect());
        for _ in 0..200 {
            assert!(
                matches!(call("rand_float", &[]), Value::Float(float) if (0.0..1.0).contains(&float))
            );
        }
        let Value::Uuid(uuid) = call("rand_uuid_v4", &[]) else { panic!("no UUID") };
        assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 2));
    }
}
