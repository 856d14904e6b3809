//! User-defined rules that run scripts themselves, inside of a script.
#![allow(clippy::disallowed_methods, reason = "the threads are the test's own")]

use crate::common::engine_of;
use function::Failure;
use model::Value;
use quipu_session::{Engine, FixedRule, Parameters, RuleCall};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Time after which a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn engine() -> Arc<Engine> {
    Arc::new(engine_of(2, 1 << 30))
}

fn ask(engine: &Engine, script: &str) -> String {
    match engine.run(script, &Parameters::new()) {
        Ok(output) => (0..output.rows).map(|row| format!("{:?}", output.row(row))).collect(),
        Err(error) => error.render(script),
    }
}

/// A rule that calls a function with its engine.
struct Runs<F> {
    engine: Weak<Engine>,
    run: F,
}

impl<F: Fn(&Engine) -> String + Send + Sync> FixedRule for Runs<F> {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, _: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, Failure> {
        let engine = self.engine.upgrade().unwrap();
        Ok(vec![vec![Value::Str((self.run)(&engine))]])
    }
}

fn register(engine: &Arc<Engine>, run: impl Fn(&Engine) -> String + Send + Sync + 'static) {
    let rule = Runs { engine: Arc::downgrade(engine), run };
    engine.register_fixed_rule("Runs", Arc::new(rule)).unwrap();
}

#[test]
fn a_rule_that_writes_does_not_wait_for_an_index_that_waits_for_its_script() {
    let engine = engine();
    ask(&engine, "?[k, v] <- [[1, 2]] :create t {k: Int => v: Int}");
    ask(&engine, ":create log {k: Int}");
    let (inside, is_inside) = channel::<()>();
    register(&engine, move |engine| {
        inside.send(()).unwrap();
        while !ask(engine, "::running").contains("::index create") {
            std::thread::yield_now();
        }
        // By now the index waits, or soon will.
        for k in 0..300 {
            let script = format!("?[k] <- [[{k}]] :put log {{k}}");
            assert_eq!(ask(engine, &script), "[Str(\"OK\")]");
        }
        "done".to_owned()
    });
    let (done, is_done) = channel();
    let script = {
        let (engine, done) = (Arc::clone(&engine), done.clone());
        move || {
            let answer =
                ask(&engine, "x[a] <~ Runs() ?[k, v] := x[_], k = 2, v = 3 :put t {k => v}");
            done.send(answer).unwrap();
        }
    };
    let index = {
        let engine = Arc::clone(&engine);
        move || done.send(ask(&engine, "::index create t:by_v {v}")).unwrap()
    };
    std::thread::spawn(script);
    is_inside.recv_timeout(PATIENCE).unwrap();
    std::thread::spawn(index);
    for _ in 0..2 {
        let answer = is_done.recv_timeout(PATIENCE).expect("they wait for each other");
        assert_eq!(answer, "[Str(\"OK\")]");
    }
    assert_eq!(ask(&engine, "?[count(k)] := *log[k]"), "[Int(300)]");
    assert_eq!(ask(&engine, "?[k] := *t:by_v[v, k], v == 3"), "[Int(2)]");
}

#[test]
fn an_index_is_not_made_inside_of_a_script_that_it_would_wait_for() {
    let engine = engine();
    ask(&engine, "?[k, v] <- [[1, 2]] :create t {k: Int => v: Int}");
    register(&engine, |engine| ask(engine, "::index create t:by_v {v}"));
    let answer =
        ask(&engine, "x[a] <~ Runs() ?[k, v] := x[a], k = 2, v = length(a) :put t {k => v}");
    assert_eq!(answer, "[Str(\"OK\")]");
    let inside = ask(&engine, "x[a] <~ Runs() ?[a] := x[a] :create said {a}");
    assert_eq!(inside, "[Str(\"OK\")]");
    assert!(
        ask(&engine, "?[a] := *said[a]").contains("inside of a script"),
        "{}",
        ask(&engine, "?[a] := *said[a]")
    );
    assert_eq!(ask(&engine, "::index create t:by_v {v}"), "[Str(\"OK\")]");
}
