//! Golden tests: aggregates of lists, with results as text.

use super::*;
use crate::testing::evaluate;
use model::Value;

/// Aggregates the items of a list.
#[track_caller]
fn check(name: &str, values: &str, want: &str) {
    let Ok(Value::List(values)) = evaluate(values) else { panic!("no list: {values}") };
    let found = aggregate(name).unwrap();
    let mut state = (found.start)(&[]).unwrap();
    let found = values.iter().try_for_each(|value| state.add(value)).and_then(|()| state.finish());
    let found = found.map_or_else(|failure| failure.message, |value| value.to_string());
    assert_eq!(found, want, "{name} of {values:?}");
}

#[test]
fn over_no_rows_each_has_its_neutral_value() {
    for (name, want) in [
        ("and", "true"),
        ("or", "false"),
        ("min", "null"),
        ("max", "null"),
        ("union", "[]"),
        ("intersection", "null"),
        ("choice", "null"),
        ("shortest", "null"),
        ("min_cost", "[null, inf]"),
        ("bit_and", "0x"),
        ("bit_xor", "0x"),
        ("count", "0"),
        ("count_unique", "0"),
        ("unique", "[]"),
        ("collect", "[]"),
        ("group_count", "[]"),
        ("latest_by", "null"),
        ("choice_rand", "null"),
        ("sum", "0.0"),
        ("product", "1.0"),
        ("mean", "NaN"),
        ("variance", "NaN"),
        ("std_dev", "NaN"),
    ] {
        check(name, "[]", want);
    }
}

#[test]
fn sums_of_integers_are_exact() {
    check("sum", "[9007199254740992, 1, -9007199254740992]", "1.0");
    check("sum", "[9223372036854775807, 9223372036854775807]", "1.8446744073709552e19");
    check("sum", "[1, 2.5]", "3.5");
    check("sum", "[null]", "sum: expected numbers, found null");
    check("mean", "[1, 2, 4]", "2.3333333333333335");
    check("product", "[3, 4, 0.5]", "6.0");
    check("product", "[9223372036854775807, 9223372036854775807, 9223372036854775807, 0]", "0.0");
    check("variance", "[1000000000000001, 1000000000000002, 1000000000000003]", "1.0");
    check("std_dev", "[1, 3]", "1.4142135623730951");
    // Near 2^60, where floats are multiples of 256.
    let near = "[1152921504606846976, 1152921504606847077, 1152921504606847177]";
    check("variance", near, "10100.333333333334");
    check("mean", near, "1.152921504606847e18");
    check("variance", "[9223372036854775807, -9223372036854775807]", "1.7014118346046923e38");
    check("variance", "[1152921504606846976, 1152921504606846978.0, 0.5]", "4.43075998594972e35");
    check("variance", "[1]", "NaN");
}

#[test]
fn min_and_max_pass_over_null_and_take_values_of_all_kinds() {
    check("min", "[null, 2, 1, 1.0]", "1");
    check("max", "[1.0, 1, null]", "1.0");
    check("max", "['a', 'b']", "\"b\"");
    check("min", "['a', 1, null]", "1");
    check("max", "[vec([1.0]), 'a', validity(1)]", "validity(1, true)");
    check("min", "[null]", "null");
}

#[test]
fn values_are_gathered_counted_and_chosen() {
    check("count", "[null, 1]", "2");
    check("count_unique", "[1, 1, 1.0, 2]", "3");
    check("unique", "[3, 1, 3]", "[1, 3]");
    check("group_count", "[3, 1, 3]", "[[1, 1], [3, 2]]");
    check("collect", "[3, 1, 3]", "[3, 1, 3]");
    check("choice", "[null, 3, 4]", "3");
    check("choice_rand", "[7, 7]", "7");
    check("union", "[[2, 1], [3, 1]]", "[1, 2, 3]");
    check("union", "[1]", "union: expected a list, found an Int (1)");
    check("intersection", "[[2, 1, 1], null, [1, 3]]", "[1]");
    check("shortest", "[[1, 2], [3], [4]]", "[3]");
    check("min_cost", "[['a', 3], ['b', 2], ['c', 2]]", "[\"b\", 2]");
    check(
        "min_cost",
        "[['a', null]]",
        "min_cost: expected a list of a value and its cost, a number, found a list ([\"a\", null])",
    );
    check("latest_by", "[['a', 1], ['b', 'x'], ['c', null]]", "\"b\"");
    check("smallest_by", "[['a', null], ['b', 3], ['c', 2]]", "\"c\"");
    check(
        "latest_by",
        "[[1]]",
        "latest_by: expected a list of a value and what to compare by, found a list ([1])",
    );
    check("bit_and", "[pack_bits([true]), pack_bits([false])]", "0x00");
    check("bit_or", "[pack_bits([true]), pack_bits([false])]", "0x80");
    check("bit_xor", "[pack_bits([true]), pack_bits([true])]", "0x00");
    check("and", "[true, false]", "false");
    check("or", "[1]", "or: expected true or false, found an Int (1)");
}

#[test]
fn collect_stops_at_its_limit() {
    let found = aggregate("collect").unwrap();
    let mut state = (found.start)(&[Value::Int(2)]).unwrap();
    for i in 0..5 {
        state.add(&Value::Int(i)).unwrap();
    }
    assert_eq!(state.finish(), Ok(Value::List(vec![Value::Int(0), Value::Int(1)])));
    let Err(failure) = (found.start)(&[Value::Int(0)]) else { panic!("a limit of 0") };
    assert_eq!(failure.message, "collect: expected a limit from 1, found an Int (0)");
    assert_eq!(
        found.check_arity(2).unwrap_err().message,
        "collect: takes at most 1 argument after the variable, 2 given"
    );
}

#[test]
fn and_and_or_report_change_as_it_is() {
    let (and, or) = (aggregate("and").unwrap(), aggregate("or").unwrap());
    for (found, present, new, changed) in [
        (and, true, true, false),
        (and, true, false, true),
        (and, false, true, false),
        (or, false, false, false),
        (or, false, true, true),
        (or, true, false, false),
    ] {
        let mut value = Value::Bool(present);
        assert_eq!(found.meet(&mut value, &Value::Bool(new)), Ok(changed));
        assert_eq!(value, Value::Bool(present != changed));
    }
    assert!(aggregate("count").unwrap().meet_first(&Value::Null).is_err());
}

#[test]
fn a_random_choice_is_fair_and_follows_its_seed() {
    let choose = |seed| {
        let mut state = (aggregate("choice_rand").unwrap().start)(&[]).unwrap();
        state.seed(seed);
        (0..4).for_each(|i| state.add(&Value::Int(i)).unwrap());
        state.finish().unwrap()
    };
    for i in 0..4 {
        let count = (0..4000).filter(|&seed| choose(seed) == Value::Int(i)).count();
        assert!((850..1150).contains(&count), "{i} was chosen {count} times of 4000");
    }
    assert_eq!(choose(5), choose(5));
}
