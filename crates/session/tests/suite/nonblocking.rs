//! Non-blocking scripts run on the calling thread, or leave everything unchanged.

use crate::common::engine_of;
use model::Value;
use quipu_session::{Engine, NonBlocking, Parameters, QueryResult, Run};
use std::sync::Arc;

const RELATIONS: &[&str] = &[
    "?[k, v] := k in int_range(1000), v = k % 7 :create r {k: Int => v: Int}",
    "?[a, b] := a in int_range(20), b in int_range(a) :create pairs {a: Int, b: Int}",
    "?[a, b] := a = 1, b in int_range(300) :put pairs {a, b}",
    "?[k, v] := k in int_range(9), v = k :create triggering {k: Int => v: Int}",
    "?[k, v] := k in int_range(9), v = k :create told {k: Int => v: Int}",
    "::set_triggers triggering on put { ?[k, v] := _new[k, v] :put r {k => v} }",
];

/// Scripts with a single query each.
const SHORT: &[&str] = &[
    "?[v] := *r{k: $id, v}",
    "?[k, w] := k = $id, *r{k, v}, w = v + 1",
    "?[b] := *pairs{a: $id, b}",
    "?[b] := *pairs{a: $id, b} :limit 2",
    "?[b] := *pairs{a: $id, b} :order -b :limit 2",
    "?[k, v] <- [[$id, 77]] :put r {k => v}",
    "?[k, v] <- [[$id, 78]] :put r {k => v} :returning",
    "?[k, v] := k = $id, *r{k, v: before}, v = before + 1 :put r {k => v}",
    "?[k, v] <- [[$id, 5]] :update r {k => v}",
    "?[k, v] := k = $id, *r{k, v} :ensure r {k => v}",
    "{ ?[k, v] <- [[$id, 1]] :put r {k => v} } { ?[a, b] <- [[$id, 3000]] :put pairs {a, b} }",
    "{?[k, v] <- [[$id, 1]] :put r {k => v}} {?[k, v] <- [[$id, 2]] :put r {k => v}}",
    "?[k] <- [[$id]] :rm r {k}",
    "?[k] <- [[$id]] :ensure_not r {k}",
];

const LONG: &[&str] = &[
    "?[v] := *pairs{a: $id, b}, *r{k: b, v}",
    "?[k] := *r{k, v: 3}",
    "?[count(k)] := *r{k}",
    "n[b] := *pairs{a: $id, b} n[c] := n[b], *pairs{a: b, b: c} ?[b] := n[b]",
    "?[v] := *r{k: $id, v} :sleep 0.001",
    "?[w] := *r{k: $id, v}, w = length(int_range(v))",
    "?[k, v] <- [[$id, length(int_range(3))]] :put r {k => v}",
    "?[k] <- [[$id]] :put r {k => v: Int default length(int_range(3))}",
    "?[b] := *pairs{a: 1, b}",
    "%loop %if { ?[v] := *r{k: $id, v} } %then %break %end { ?[k, v] <- [[$id, 1]] :put r {k => v} } %end",
    "{ ?[v] := *r{k: $id, v} } { ?[v] := *r{k: $id, v} }",
    "{ ?[a, b] <- [[$id, 1]] :put pairs {a, b} } { ?[k, v] := *r{k, v}, v == 3 :put r {k => v} }",
    "{:create _own {k: Int => v: Int}} {?[k, v] <- [[$id, 1]] :put r {k => v}}",
    "?[k, v] <- [] :replace r {k: Int => v: Int}",
    "{ ?[k, v] <- [[$id, 1]] :put r {k => v} } { ?[k, v] <- [[$id, 1]] :put triggering {k => v} }",
    "{ ?[k, v] <- [[$id, 1]] :put r {k => v} } { ?[k, v] <- [[$id, 1]] :put told {k => v} }",
    "?[k, v] <- $rows :put r {k => v}",
    "?[k, v] <- [[$id, 1]] :replace r {k => v: Int}",
    "::relations",
];

fn engine() -> Engine {
    let engine = engine_of(2, 1 << 30);
    for script in RELATIONS {
        engine.run(script, &Parameters::new()).unwrap();
    }
    engine.register_callback("told", Arc::new(|_: &quipu_session::Changed| {})).unwrap();
    engine
}

fn parameters(id: i64) -> Parameters {
    let row = |k: i64| Value::List(vec![Value::Int(k), Value::Int(9)]);
    let rows = Value::List((0..257).map(row).collect());
    [("id".to_owned(), Value::Int(id)), ("rows".to_owned(), rows)].into()
}

fn try_run(engine: &Engine, script: &str, id: i64) -> Result<Option<QueryResult>, String> {
    let mut parameters = parameters(id);
    if !script.contains("$rows") {
        parameters.remove("rows");
    }
    let found = engine.try_run(script, NonBlocking::Changing, &Run::new(&parameters));
    found.map_err(|error| error.to_string())
}

fn rows(output: &QueryResult) -> Vec<Vec<Value>> {
    (0..output.rows).map(|row| output.row(row)).collect()
}

fn all(engine: &Engine) -> Vec<Vec<Vec<Value>>> {
    let ask = |script: &str| rows(&engine.run(script, &Parameters::new()).unwrap());
    vec![ask("?[k, v] := *r{k, v}"), ask("?[a, b] := *pairs{a, b}")]
}

#[test]
fn what_is_brief_does_the_same_briefly() {
    let (one, other) = (engine(), engine());
    for script in SHORT {
        for id in [3, 5, 1001] {
            let usual = other.run(script, &parameters(id));
            // After a run with another id everything is cached, for two seconds, which may have
            // passed.
            let mut found = Ok(None);
            for _ in 0..20 {
                one.run(script, &parameters(2000)).ok();
                found = try_run(&one, script, id);
                if !matches!(found, Ok(None)) {
                    break;
                }
            }
            match (usual, found) {
                (Ok(usual), Ok(Some(found))) => assert_eq!(rows(&found), rows(&usual), "{script}"),
                (Err(usual), Err(found)) => assert_eq!(found, usual.to_string()),
                (usual, found) => panic!("{script} with {id}: {usual:?} and {found:?}"),
            }
        }
    }
    for (mut found, usual) in all(&one).into_iter().zip(all(&other)) {
        found.retain(|row| row[0] != Value::Int(2000));
        assert_eq!(found, usual);
    }
}

#[test]
fn what_may_take_longer_is_not_begun() {
    let engine = engine();
    for script in LONG {
        // By then everything that may be cached is cached.
        for _ in 0..3 {
            engine.run(script, &parameters(4)).unwrap();
        }
        let before = all(&engine);
        for id in [4, 6] {
            assert!(try_run(&engine, script, id).unwrap().is_none(), "{script}");
        }
        assert_eq!(all(&engine), before, "{script}");
    }
}

#[test]
fn what_was_never_asked_is_not_begun() {
    let engine = engine();
    for script in SHORT {
        let before = all(&engine);
        assert!(try_run(&engine, script, 3).unwrap().is_none(), "{script}");
        assert_eq!(all(&engine), before, "{script}");
    }
}

#[test]
fn where_commits_wait_for_the_device_nothing_is_changed_briefly() {
    let engine = engine();
    let (ask, put) = (SHORT[0], SHORT[5]);
    let (mut asked, mut changed) = (false, false);
    for _ in 0..20 {
        engine.run(ask, &parameters(4)).unwrap();
        engine.run(put, &parameters(4)).unwrap();
        let parameters = [("id".to_owned(), Value::Int(6))].into();
        let runs = |script, non_blocking| {
            engine.try_run(script, non_blocking, &Run::new(&parameters)).unwrap().is_some()
        };
        assert!(!runs(put, NonBlocking::Reading));
        asked |= runs(ask, NonBlocking::Reading);
        changed |= runs(put, NonBlocking::Changing);
    }
    assert!(asked && changed);
}

#[test]
fn a_brief_script_is_told_what_is_wrong_with_it() {
    let engine = engine();
    let script = "?[k, v] <- [[$id, $v]] :put r {k => v}";
    let given =
        |v: Value| -> Parameters { [("id".to_owned(), Value::Int(6)), ("v".to_owned(), v)].into() };
    let wrong = given(Value::Str("text".to_owned()));
    let usual = engine.run(script, &wrong).unwrap_err();
    let mut told = false;
    for _ in 0..20 {
        engine.run(script, &given(Value::Int(1))).unwrap();
        match engine.try_run(script, NonBlocking::Changing, &Run::new(&wrong)) {
            Err(found) => {
                assert_eq!(found.render(script), usual.render(script));
                told = true;
            }
            Ok(found) => assert!(found.is_none()),
        }
    }
    assert!(told);
}
