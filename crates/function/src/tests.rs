//! Property tests that hold for all functions and aggregates, with any arguments.

use crate::testing::context;
use crate::{aggregates, functions, lookup};
use model::{Decimal, Json, Validity, Value, Vector};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Values of every kind, including edge cases.
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
        (any::<i64>(), 0..39_i32)
            .prop_map(|(digits, scale)| Decimal::new(i128::from(digits), scale).unwrap())
            .prop_map(Value::Decimal),
        Just(Value::Decimal(Decimal::new(10_i128.pow(38) - 1, 0).unwrap())),
        prop_oneof![Just(i32::MIN), Just(i32::MAX), any::<i32>()].prop_map(Value::Date),
        prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Value::Timestamp),
        prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Value::Duration),
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
            if let Err(failure) = function.apply(&args, &context()) {
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

    /// A meet returns the same as accumulating, reports whether the value changed, and does not
    /// change for a repeated value.
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
        let call = |name: &str| lookup(name).unwrap().apply(&[list(&a), list(&b)], &context()).unwrap();
        let (x, y): (BTreeSet<i64>, BTreeSet<i64>) = (a.iter().copied().collect(), b.iter().copied().collect());
        let want = |items: Vec<&i64>| Value::List(items.into_iter().copied().map(Value::Int).collect());
        prop_assert_eq!(call("union"), want(x.union(&y).collect()));
        prop_assert_eq!(call("intersection"), want(x.intersection(&y).collect()));
        prop_assert_eq!(call("difference"), want(x.difference(&y).collect()));
    }

    #[test]
    fn sorted_is_a_permutation_in_order(values in prop::collection::vec(any_value(), 0..9)) {
        let found = lookup("sorted").unwrap().apply(&[Value::List(values.clone())], &context()).unwrap();
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
        let call = |name: &str, value: Value| lookup(name).unwrap().apply(&[value], &context()).unwrap();
        let found = call("decode_base64", call("encode_base64", Value::Bytes(bytes.clone())));
        prop_assert_eq!(found, Value::Bytes(bytes.clone()));
        let found = call("pack_bits", call("unpack_bits", Value::Bytes(bytes.clone())));
        prop_assert_eq!(found, Value::Bytes(bytes));
        let found = call("json_to_scalar", call("json", Value::Str(text.clone())));
        prop_assert_eq!(found, Value::Str(text.clone()));
        prop_assert_eq!(call("from_substrings", call("chars", Value::Str(text.clone()))), Value::Str(text));
    }
}
