//! Vector indexes of values that a caller may not think of: null, vectors without a direction,
//! values that a filter leaves out.

use crate::common::engine_of;
use crate::rows::run;
use model::Value;
use quipu_session::{Engine, Parameters};

/// Integers of the first column of a result.
fn ints(engine: &Engine, script: &str) -> Vec<i64> {
    let int = |row: &Vec<Value>| match row[0] {
        Value::Int(int) => int,
        ref other => panic!("{other}"),
    };
    run(engine, script).iter().map(int).collect()
}

fn is_sound(engine: &Engine) {
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
}

#[test]
fn rows_that_a_filter_leaves_out_may_have_any_value() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, "?[k, v] <- [[1, vec([1, 0])], [2, 'no vector']] :create doc {k => v}");
    run(&engine, "::hnsw create doc:near {dim: 2, fields: [v], filter: k != 2 && k != 4}");
    run(&engine, "?[k, v] <- [[3, vec([0, 1])], [4, vec([1, 2, 3])]] :put doc {k => v}");
    assert_eq!(ints(&engine, "?[k] := ~doc:near{k | query: [0, 0], k: 5}"), [1, 3]);
    is_sound(&engine);
    run(&engine, "?[k, v] <- [[1, 'no vector'], [3, vec([0, 2])]] :create other {k => v}");
    let create = "::hnsw create other:near {dim: 2, fields: [v]}";
    let error = engine.run(create, &Parameters::new()).unwrap_err().render(create);
    assert!(error.contains("expects vectors, not a String"), "{error}");
}

#[test]
fn null_is_not_indexed_in_a_list_either_and_finds_nothing() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create doc {k: Int => v: [<F32; 2>?]?}");
    run(&engine, "::hnsw create doc:near {dim: 2, fields: [v]}");
    run(&engine, "?[k, v] <- [[1, [null, [1, 0]]], [2, null], [3, []]] :put doc {k => v}");
    let search = "?[k, i] := ~doc:near{k | query: [0, 0], k: 5, bind_field_idx: i}";
    assert_eq!(run(&engine, search), [[Value::Int(1), Value::Int(1)]]);
    is_sound(&engine);
    let search = "?[q, k] := q in [null, [0, 0]], ~doc:near{k | query: q, k: 5}";
    assert_eq!(run(&engine, search).len(), 1);
}

#[test]
fn vectors_without_a_direction_come_last_and_end_no_search() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create doc {k: Int => v: <F32; 2>}");
    run(&engine, "::hnsw create doc:near {dim: 2, fields: [v], distance: Cosine}");
    run(
        &engine,
        "?[k, v] := k in int_range(1, 1000), v = if(k % 3 == 0, vec([0, 0]), vec([1, k])) \
         :put doc {k => v}",
    );
    is_sound(&engine);
    let all = "?[count(k)] := ~doc:near{k | query: [1, 0], k: 2000}";
    assert_eq!(ints(&engine, all), [999]);
    let within = "?[count(k)] := ~doc:near{k | query: [1, 0], k: 2000, radius: 2}";
    assert_eq!(ints(&engine, within), [666]);
    let filtered = "?[k] := ~doc:near{k | query: [1, 500], k: 2, filter: k % 400 == 0 || k > 998}";
    assert_eq!(ints(&engine, filtered), [400, 800]);
    let last = "?[k, d] := ~doc:near{k | query: [1, 0], k: 3, filter: is_in(k, [3, 6, 10]), \
                bind_distance: d} :order d, k";
    assert_eq!(ints(&engine, last), [10, 3, 6]);
    // Nor does a query without a direction.
    assert_eq!(run(&engine, "?[k] := ~doc:near{k | query: [0, 0], k: 7}").len(), 7);
}

#[test]
fn a_radius_includes_its_distance_whatever_the_sign_of_zero() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, "?[k, v] <- [[1, [1, 0]], [2, [0, 1]]] :create doc {k: Int => v: <F32; 2>}");
    run(&engine, "::hnsw create doc:near {dim: 2, fields: [v]}");
    let found = |radius: &str| {
        ints(&engine, &format!("?[k] := ~doc:near{{k | query: [1, 0], k: 5, radius: {radius}}}"))
    };
    assert_eq!(found("0"), [1]);
    assert_eq!(found("-0.0"), [1]);
    assert_eq!(found("2"), [1, 2]);
    assert_eq!(found("-1"), Vec::<i64>::new());
    let script = "?[k] := ~doc:near{k | query: [1, 0], k: 5, radius: to_float('NAN')}";
    let error = engine.run(script, &Parameters::new()).unwrap_err().render(script);
    assert!(error.contains("`radius` is a number, not "), "{error}");
}

#[test]
fn a_row_whose_vectors_are_equal_to_many_others_is_found_and_removed() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create doc {k: Int => v: <F32; 2>}");
    run(&engine, "::hnsw create doc:near {dim: 2, fields: [v], m: 4}");
    run(&engine, "?[k, v] := k in int_range(0, 400), v = vec([1, 1]) :put doc {k => v}");
    is_sound(&engine);
    let search = "?[count(k)] := ~doc:near{k | query: [1, 1], k: 400}";
    assert_eq!(ints(&engine, search), [400]);
    run(&engine, "?[k] := k in int_range(0, 399) :rm doc {k}");
    is_sound(&engine);
    assert_eq!(ints(&engine, search), [1]);
    run(&engine, "?[k] := k in int_range(0, 400) :rm doc {k}");
    assert_eq!(run(&engine, "?[k] := ~doc:near{k | query: [1, 1], k: 400}").len(), 0);
    is_sound(&engine);
}
