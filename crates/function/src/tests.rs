//! What each function gives, one call a line; and what holds of all of them.

use crate::testing::{ambient, check, evaluate, table};
use crate::{aggregates, functions, lookup};
use model::{Json, Validity, Value, Vector};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn conditions_compare_numbers_by_what_they_say() {
    table(
        "eq(1, 1.0) => true
         eq(0.0, -0.0) => true
         eq(9007199254740993, 9007199254740992.0) => false
         eq(to_float('NAN'), to_float('NAN')) => true
         eq([1], [1.0]) => false
         neq(1, 2) => true
         neq('a', 1) => true
         gt(18446744073709551615, 9223372036854775807) => true
         gt(18446744073709551615, 1e300) => false
         lt(-9223372036854775808, -1e300) => false
         gt(2, 1.5) => true
         lt(2, 2.5) => true
         lt(-2, -2.5) => false
         gt(to_float('NAN'), 1) => true
         le(to_float('NAN'), 1.0) => false
         ge('b', 'a') => true
         lt([1], [1, 0]) => true
         le(null, null) => true
         lt(1, 'a') => lt: cannot compare an Int (1) with a String (\"a\")
         lt(null, 1) => lt: cannot compare null with an Int (1)
         lt(validity(1), validity(2)) => lt: cannot compare a Validity (validity(1, true)) with a Validity (validity(2, true))
         lt(json(1), json(2)) => lt: cannot compare Json (1) with Json (2)",
    );
}

#[test]
fn max_and_min_take_values_of_one_kind() {
    table(
        "max(1, 1.0) => 1.0
         max(1.0, 1) => 1.0
         min(1, 1.0) => 1
         max(3, 18446744073709551615, 2.5) => 18446744073709551615
         max('a', 'b') => \"b\"
         max(null) => max: expected numbers, strings or other values with an order, found null
         max([1, 2]) => max: expected numbers, strings or other values with an order, found a list ([1, 2])
         max(1, 'a') => max: cannot compare an Int (1) with a String (\"a\")
         max() => max: takes at least 1 argument, 0 given",
    );
}

#[test]
fn conditions_take_nothing_for_true_or_false() {
    table(
        "and() => true
         or() => false
         and(false, 1) => false
         and(true, 1) => and: expected true or false as argument 2, found an Int (1)
         or(true, null) => true
         negate(true) => false
         negate(1) => negate: expected true or false, found an Int (1)
         if(true, 1) => 1
         if(false, 1) => null
         if(null, 1, 2) => if: expected true or false as argument 1, found null
         cond(false, 1, true, 2) => 2
         cond(false, 1) => null
         cond(false, 1, true) => null
         coalesce() => null
         coalesce(null, 2, 3) => 2
         assert(true) => true
         assert(false) => assert: the assertion does not hold
         assert(false, 'no', 1) => assert: no 1
         assert(1) => assert: expected true, found an Int (1)",
    );
}

#[test]
fn integers_are_exact_or_a_failure() {
    table(
        "add() => 0
         add(1, 2, 3) => 6
         add(1, 0.0) => 1.0
         add(1.5, -1.5) => 0.0
         add(9223372036854775807, 1) => add: the result 9223372036854775808 does not fit an Int, which has 64 bits
         add(9223372036854775807, 1, -1) => 9223372036854775807
         add(9223372036854775807, 1.0) => 9.223372036854776e18
         add(9223372036854775808, 1) => 9223372036854775809
         sub(9223372036854775808, 1) => 9223372036854775807
         sub(0, 9223372036854775809) => sub: the result -9223372036854775809 does not fit an Int, which has 64 bits
         add('a') => add: expected numbers, found a String (\"a\")
         add(1, null) => add: expected numbers, found null
         mul() => 1
         mul(3, 4) => 12
         mul(2, 1.0) => 2.0
         mul(18446744073709551615, 18446744073709551615, 18446744073709551615) => mul: the result does not fit an Int, which has 64 bits
         minus(-9223372036854775808) => minus: the result 9223372036854775808 does not fit an Int, which has 64 bits
         minus(9223372036854775808) => -9223372036854775808
         abs(-9223372036854775808) => abs: the result 9223372036854775808 does not fit an Int, which has 64 bits
         abs(-2.5) => 2.5
         mod(-7, 3) => -1
         mod(-9223372036854775808, -1) => 0
         mod(5, 0) => mod: the divisor is 0
         mod(5.5, 2) => 1.5
         mod(5.0, 0) => NaN",
    );
}

#[test]
fn divisions_and_powers_are_floats() {
    table(
        "div(4, 2) => 2.0
         div(1, 0) => inf
         div(0, 0) => NaN
         pow(2, 3) => 8.0
         pow(0, -1) => inf
         pow('a', 1) => pow: expected numbers, found a String (\"a\")
         signum(-0.0) => 0
         signum(-2.5) => -1
         signum(to_float('NAN')) => NaN
         floor(2) => 2
         floor(2.7) => 2.0
         ceil(2.1) => 3.0
         round(-2.5) => -3.0
         round('a') => round: expected numbers, found a String (\"a\")
         sqrt(4) => 2.0
         sqrt(-1) => NaN
         ln(0) => -inf
         atan2(0, 1) => 0.0
         haversine_deg_input(0, 0, 0, 180) => 3.141592653589793
         haversine(0, 0, 0, to_float('NAN')) => NaN
         deg_to_rad(180) => 3.141592653589793
         sin('a') => sin: expected a number, found a String (\"a\")",
    );
}

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

#[test]
fn json_is_made_read_and_changed() {
    table(
        "json([1, {'a': null}]) => [1,{\"a\":null}]
         json(to_uuid('00112233-4455-6677-8899-aabbccddeeff')) => \"00112233-4455-6677-8899-aabbccddeeff\"
         json(decode_base64('AQI=')) => \"AQI=\"
         json(div(1, 0)) => null
         json_object('b', 1, 'a', 2, 'b', 3) => {\"a\":2,\"b\":3}
         json_object('b') => json_object: takes names and values in turn, 1 arguments given
         parse_json('{\"b\":1, \"a\":[1.0]}') => {\"a\":[1.0],\"b\":1}
         parse_json('{') => parse_json: not JSON: EOF while parsing an object at line 1 column 1
         dump_json({'a': 1}) => \"{\\\"a\\\":1}\"
         dump_json('a') => dump_json: expected JSON, found a String (\"a\")
         json_to_scalar(json('a')) => \"a\"
         is_list(json_to_scalar(json([1]))) => false
         get({'a': {'b': 2}}, ['a', 'b']) => 2
         get({'a': {'b': 2}}, ['a', 'c']) => get: the JSON has nothing at \"c\"
         get({'a': [1, 2]}, ['a', 1]) => 2
         get({'1': 5}, 1) => 5
         get(json([1]), -1) => get: the JSON has nothing at -1
         get(json([1]), 'a') => get: expected an integer as the index of an array, found a String (\"a\")
         get({'a': 1}, 'b', 7) => 7
         get(1, 'b') => get: expected a list or JSON as argument 1, found an Int (1)
         maybe_get({'a': 1}, 'b') => null
         maybe_get(5, 'b') => null
         set_json_path({'a': 1}, ['b', 'c'], 2) => {\"a\":1,\"b\":{\"c\":2}}
         set_json_path({'a': [1]}, ['a', 2], 'x') => {\"a\":[1,null,\"x\"]}
         set_json_path({'a': [1]}, ['a', -1], 'x') => set_json_path: expected an index from 0, found an Int (-1)
         set_json_path([], [99999999999], 1) => set_json_path: the result would have 100000000000 items, the limit is 16777216
         set_json_path({'a': 1}, ['a', 'c'], 2) => set_json_path: what the path leads to is no object or array, so it has no \"c\"
         remove_json_path({'a': [1, 2]}, ['a', 0]) => {\"a\":[2]}
         remove_json_path({'a': [1, 2]}, ['a', 5]) => {\"a\":[1,2]}
         remove_json_path({'a': 1}, ['x', 'y']) => {\"a\":1}
         remove_json_path({'a': 1}, []) => remove_json_path: the path is empty
         concat({'a': {'x': 1}, 'l': [1]}, {'a': {'y': 2}, 'l': [2]}) => {\"a\":{\"x\":1,\"y\":2},\"l\":[1,2]}",
    );
}

#[test]
fn json_never_nests_deeper_than_it_can_be_read() {
    let mut deep = Value::List(Vec::new());
    for _ in 0..200 {
        deep = Value::List(vec![deep]);
    }
    let call = |name: &str, args: &[Value]| lookup(name).unwrap().apply(args, &ambient());
    assert_eq!(
        call("json", &[deep.clone()]).unwrap_err().message,
        "json: JSON nests at most 120 levels"
    );
    let path = Value::List(vec![Value::Str("a".to_owned()); 1000]);
    let object = Value::Json(Json::parse("{}").unwrap());
    assert!(call("set_json_path", &[object.clone(), path, Value::Null]).is_err());
    let path = Value::List(vec![Value::Str("a".to_owned()); 110]);
    let long = call("set_json_path", &[object.clone(), path.clone(), Value::Int(1)]).unwrap();
    assert!(call("set_json_path", &[object, path, long]).is_err());
}

#[test]
fn strings_count_characters() {
    table(
        "length('héllo') => 5
         length([1, 2]) => 2
         length(null) => length: expected a list, a string, bytes or a vector, found null
         concat('a', 'b') => \"ab\"
         concat('a', 1) => concat: expected a string as argument 2, found an Int (1)
         concat([1], [2]) => [1, 2]
         concat(1) => concat: expected a string, a list or JSON, found an Int (1)
         str_includes('abc', 'b') => true
         lowercase('ÀB') => \"àb\"
         uppercase('ß') => \"SS\"
         trim('\u{3000}a ') => \"a\"
         trim_start(' a ') => \"a \"
         trim_end(' a ') => \" a\"
         starts_with('abc', 'ab') => true
         ends_with('abc', 'ab') => false
         ends_with('abc', 1) => ends_with: expected a string as argument 2, found an Int (1)
         starts_with(decode_base64('AQI='), decode_base64('AQ==')) => true
         length(unicode_normalize('\u{e9}', 'nfd')) => 2
         unicode_normalize('e', 'x') => unicode_normalize: expected \"nfc\", \"nfd\", \"nfkc\" or \"nfkd\" as argument 2, found a String (\"x\")
         chars('añ') => [\"a\", \"ñ\"]
         from_substrings(['a', 'b']) => \"ab\"
         from_substrings(['a', 1]) => from_substrings: expected a list of strings, found an Int (1)
         slice_string('héllo', 1, 3) => \"él\"
         slice_string('abc', 1, 10) => \"bc\"
         slice_string('abc', 2, 1) => slice_string: expected an integer not below argument 2 as argument 3, found an Int (1)
         t2s('é') => \"é\"
         t2s('漢') => t2s: traditional Chinese cannot be made simplified yet",
    );
}

#[test]
fn lists_are_taken_apart_and_put_together() {
    table(
        "is_in(1, [1.0]) => false
         is_in(1, 1) => is_in: expected a list as argument 2, found an Int (1)
         first([]) => null
         last([1, 2]) => 2
         get([1, 2, 3], -1) => 3
         get([1, 2, 3], 1.0) => 2
         get([1], 5) => get: index 5 is outside the list of 1 item
         get([1], -9223372036854775808) => get: index -9223372036854775808 is outside the list of 1 item
         maybe_get([1], 5) => null
         slice([1, 2, 3], 1, -1) => [2]
         slice([1, 2, 3], 3, 3) => []
         slice([1, 2, 3], 2, 1) => slice: it would start at 2 and end before, at 1
         slice([1, 2, 3], 0, 4) => slice: index 4 is outside the list of 3 items
         slice([1, 2], 'a', 1) => slice: expected an integer as argument 2, found a String (\"a\")
         prepend([1], 2) => [2, 1]
         append([1], 2) => [1, 2]
         reverse([1, 2]) => [2, 1]
         sorted([3, 1, 'a', null, 2.5, true, 1.0]) => [null, true, 1, 1.0, 2.5, 3, \"a\"]
         chunks([1, 2, 3], 2) => [[1, 2], [3]]
         chunks([1], 0) => chunks: expected a length from 1 as argument 2, found an Int (0)
         chunks_exact([1, 2, 3], 2) => [[1, 2]]
         windows([1, 2, 3], 2) => [[1, 2], [2, 3]]
         windows([1, 2, 3], 9223372036854775807) => []
         windows(int_range(100000), 50000) => windows: the result would have 2500050000 items, the limit is 16777216
         union([2, 1], [1, 1.0]) => [1, 1.0, 2]
         intersection([3, 2, 1], [2, 3], [3]) => [3]
         difference([3, 1, 1], [3]) => [1]
         int_range(3) => [0, 1, 2]
         int_range(-3) => []
         int_range(10, 0, -3) => [10, 7, 4, 1]
         int_range(0, 10, 3) => [0, 3, 6, 9]
         int_range(5, 2) => []
         int_range(2, 0, 0) => int_range: the step is 0, so the end is never reached
         int_range(-9223372036854775808, 9223372036854775807, 9223372036854775807) => [-9223372036854775808, -1, 9223372036854775806]
         int_range(-9223372036854775808, 9223372036854775807) => int_range: the result would have 18446744073709551615 items, the limit is 16777216",
    );
}

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
    let world = ambient();
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

#[test]
fn regular_expressions_match_extract_and_replace() {
    table(
        "regex_matches('abc', 'b') => true
         regex_matches('abc', null) => regex_matches: expected a string as argument 2, found null
         regex_replace('aXbX', 'X', 'Y') => \"aYbX\"
         regex_replace_all('aXbX', '([a-b])X', '$1-') => \"a-b-\"
         regex_replace_all('abc', '', '-') => \"-a-b-c-\"
         regex_extract('abcXYZ1', '[a-z]|1') => [\"a\", \"b\", \"c\", \"1\"]
         regex_extract_first('abc', 'b.') => \"bc\"
         regex_extract_first('abc', 'x') => null",
    );
    assert!(evaluate("regex_matches('abc', '(')").is_err());
    assert!(evaluate("regex_matches('abc', '(((a{100}){100}){100}){100}')").is_err());
    // More patterns than are kept, twice.
    for i in (0..40).chain(0..40) {
        check(&format!("regex_matches('{i}', '^{i}$')"), "true");
    }
}

#[test]
fn a_replacement_cannot_fill_the_memory() {
    let text = |text: String| Value::Str(text);
    let args = [text("a".repeat(100_000)), text("a+".to_owned()), text("$0".repeat(100_000))];
    let failure = lookup("regex_replace_all").unwrap().apply(&args, &ambient()).unwrap_err();
    assert_eq!(
        failure.message,
        "regex_replace_all: the result would be longer than 268435456 bytes"
    );
}

#[test]
fn times_are_read_and_written_before_1970_too() {
    table(
        "now() => 1.5
         format_timestamp(0) => \"1970-01-01T00:00:00+00:00\"
         format_timestamp(1.5) => \"1970-01-01T00:00:01.500+00:00\"
         format_timestamp(-1.5) => \"1969-12-31T23:59:58.500+00:00\"
         format_timestamp(-62135596801) => \"0000-12-31T23:59:59+00:00\"
         format_timestamp(-99999999999) => \"-1199-02-15T14:13:21+00:00\"
         format_timestamp(0, 'Asia/Shanghai') => \"1970-01-01T08:00:00+08:00\"
         format_timestamp(1700000000, 'Asia/Kathmandu') => \"2023-11-15T03:58:20+05:45\"
         format_timestamp(0, 'America/New_York') => \"1969-12-31T19:00:00-05:00\"
         format_timestamp(validity(-1)) => \"1969-12-31T23:59:59.999+00:00\"
         format_timestamp(0, 'Nowhere') => format_timestamp: expected the name of a time zone as argument 2, found a String (\"Nowhere\")
         format_timestamp(1e12) => format_timestamp: expected a time between the years -9999 and 9999, found a Float (1000000000000.0)
         format_timestamp(div(0, 0)) => format_timestamp: expected a time between the years -9999 and 9999, found a Float (NaN)
         parse_timestamp('1970-01-01T00:00:01.5Z') => 1.5
         parse_timestamp('1969-12-31T23:59:59Z') => -1.0
         parse_timestamp('1969-12-31T23:59:58.5Z') => -1.5
         parse_timestamp('2020-01-01T00:00:00+01:00') => 1577833200.0
         parse_timestamp('2020-01-01') => 1577836800.0
         parse_timestamp('2020-01-01T00:00:00') => parse_timestamp: expected a time in RFC 3339, found a String (\"2020-01-01T00:00:00\")
         parse_timestamp(1) => parse_timestamp: expected a string, found an Int (1)
         validity(1) => validity(1, true)
         validity(-1, false) => validity(-1, false)
         validity(1.0) => validity: expected integer microseconds, found a Float (1.0)
         uuid_timestamp(to_uuid('dd85b926-3f09-11ed-b878-0242ac120002')) => 1664354712.2137382
         uuid_timestamp(to_uuid('1ed3f09d-d85b-6926-b878-0242ac120002')) => 1664354712.2137382
         uuid_timestamp(to_uuid('018b2f2e-6f00-7000-8000-000000000000')) => 1697303654.144
         uuid_timestamp('x') => uuid_timestamp: expected a UUID, found a String (\"x\")",
    );
    assert_eq!(crate::parse_time_us("1969-12-31T23:59:59.999999Z"), Ok(-1));
}

#[test]
fn what_was_found_is_cut_short_in_a_message() {
    let args = [Value::List(vec![Value::Int(1); 100_000])];
    let failure = lookup("trim").unwrap().apply(&args, &ambient()).unwrap_err();
    let shown = "1, ".repeat(13);
    assert_eq!(failure.message, format!("trim: expected a string, found a list ([{shown}…)"));
}

#[test]
fn names_are_sorted_so_that_look_up_finds_them() {
    assert!(functions().is_sorted_by(|a, b| a.name < b.name));
    assert!(aggregates().is_sorted_by(|a, b| a.name < b.name));
    for function in functions() {
        assert_eq!(lookup(function.name).map(|found| found.name), Some(function.name));
    }
    assert!(lookup("no_such_function").is_none());
    let changing: Vec<_> =
        functions().iter().filter(|found| !found.deterministic).map(|found| found.name).collect();
    assert_eq!(
        changing,
        [
            "now",
            "rand_bernoulli",
            "rand_choose",
            "rand_float",
            "rand_int",
            "rand_uuid_v1",
            "rand_uuid_v4",
            "rand_vec"
        ]
    );
}

/// Values of every kind, with the awkward ones among them.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just(String::new()),
        Just("a".to_owned()),
        Just("1970-01-01T00:00:00Z".to_owned()),
        Just("AQID".to_owned()),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![Just(0), Just(-1), Just(1), Just(i64::MIN), Just(i64::MAX), any::<i64>()]
            .prop_map(Value::Int),
        any::<u64>().prop_map(Value::id),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-0.0), any::<f64>()]
            .prop_map(Value::Float),
        text.prop_map(Value::Str),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::Bytes),
        any::<[u8; 16]>().prop_map(Value::Uuid),
        prop::collection::vec(any::<f32>(), 0..3).prop_map(|v| Value::Vector(Vector::F32(v))),
        prop::collection::vec(any::<f64>(), 0..3).prop_map(|v| Value::Vector(Vector::F64(v))),
        prop_oneof![Just("{\"a\":[1]}"), Just("[1,{}]"), Just("null"), Just("-0.0")]
            .prop_map(|text| Value::Json(Json::parse(text).unwrap())),
        (any::<i64>(), any::<bool>()).prop_map(|(timestamp_us, assert)| {
            Value::Validity(Validity { timestamp_us, assert })
        }),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::List))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_function_panics_and_each_failure_names_it(args in prop::collection::vec(any_value(), 0..5)) {
        for function in functions() {
            if let Err(failure) = function.apply(&args, &ambient()) {
                prop_assert!(failure.message.starts_with(&format!("{}: ", function.name)), "{failure}");
            }
        }
    }

    #[test]
    fn no_aggregate_panics(values in prop::collection::vec(any_value(), 0..5)) {
        for aggregate in aggregates() {
            let mut state = (aggregate.start)(&[]).unwrap();
            let added = values.iter().try_for_each(|value| state.add(value));
            prop_assert!(state.bytes() > 0);
            if let Err(failure) = added.and_then(|()| state.finish().map(|_| ())) {
                prop_assert!(failure.message.starts_with(&format!("{}: ", aggregate.name)), "{failure}");
            }
        }
    }

    /// A meet gives what accumulating gives, says whether the value changed, and stands still when the same comes again.
    #[test]
    fn a_meet_says_exactly_when_it_changed(values in prop::collection::vec(any_value(), 1..5)) {
        for aggregate in aggregates().iter().filter(|aggregate| aggregate.is_meet) {
            let Ok(mut present) = aggregate.meet_first(&values[0]) else { continue };
            let mut failed = false;
            for value in &values {
                let before = present.clone();
                match aggregate.meet(&mut present, value) {
                    Ok(changed) => prop_assert_eq!(changed, present != before),
                    Err(_) => { failed = true; break }
                }
                prop_assert_eq!(aggregate.meet(&mut present, value), Ok(false), "{}", aggregate.name);
            }
            if !failed {
                let mut state = (aggregate.start)(&[]).unwrap();
                values.iter().try_for_each(|value| state.add(value)).unwrap();
                prop_assert_eq!(state.finish().unwrap(), present, "{}", aggregate.name);
            }
        }
    }

    #[test]
    fn set_functions_do_as_sets_do(a in prop::collection::vec(0..9_i64, 0..9), b in prop::collection::vec(0..9_i64, 0..9)) {
        let list = |items: &[i64]| Value::List(items.iter().copied().map(Value::Int).collect());
        let call = |name: &str| lookup(name).unwrap().apply(&[list(&a), list(&b)], &ambient()).unwrap();
        let (x, y): (BTreeSet<i64>, BTreeSet<i64>) = (a.iter().copied().collect(), b.iter().copied().collect());
        let want = |items: Vec<&i64>| Value::List(items.into_iter().copied().map(Value::Int).collect());
        prop_assert_eq!(call("union"), want(x.union(&y).collect()));
        prop_assert_eq!(call("intersection"), want(x.intersection(&y).collect()));
        prop_assert_eq!(call("difference"), want(x.difference(&y).collect()));
    }

    #[test]
    fn sorted_is_a_permutation_in_order(values in prop::collection::vec(any_value(), 0..9)) {
        let found = lookup("sorted").unwrap().apply(&[Value::List(values.clone())], &ambient()).unwrap();
        let Value::List(found) = found else { panic!("no list") };
        prop_assert!(found.is_sorted());
        let mut want = values;
        want.sort();
        prop_assert_eq!(found, want);
    }

    #[test]
    fn a_comparison_is_exact_whatever_the_types(int in any::<i64>(), near in -3..4_i64) {
        let float = (int as f64) + near as f64;
        let want = (int as i128).cmp(&(float as i128));
        prop_assert_eq!(crate::compare(&Value::Int(int), &Value::Float(float)), Some(want));
    }

    #[test]
    fn text_goes_into_bytes_and_json_and_back(bytes in prop::collection::vec(any::<u8>(), 0..40), text in ".*") {
        let call = |name: &str, value: Value| lookup(name).unwrap().apply(&[value], &ambient()).unwrap();
        let found = call("decode_base64", call("encode_base64", Value::Bytes(bytes.clone())));
        prop_assert_eq!(found, Value::Bytes(bytes.clone()));
        let found = call("pack_bits", call("unpack_bits", Value::Bytes(bytes.clone())));
        prop_assert_eq!(found, Value::Bytes(bytes));
        let found = call("json_to_scalar", call("json", Value::Str(text.clone())));
        prop_assert_eq!(found, Value::Str(text.clone()));
        prop_assert_eq!(call("from_substrings", call("chars", Value::Str(text.clone()))), Value::Str(text));
    }
}
