//! Repeated scripts: their cached plans and schemas are reused, and never after a change that
//! invalidates them.
#![allow(clippy::unwrap_used)]

use quipu::{Database, GraphOptions, Isolation, Options, Parameters, Tx, Value};

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn ask(db: &Database, script: &str) -> Result<Vec<String>, String> {
    let answer = db.run(script, &Parameters::new());
    let answer = answer.map_err(|error| error.to_string().lines().next().unwrap().to_owned())?;
    Ok(answer.rows().map(|row| Value::List(row).to_string()).collect())
}

/// Runs a script often enough that its plan is cached.
fn settle(db: &Database, script: &str) {
    (0..3).for_each(|_| drop(ask(db, script).unwrap()));
}

const COUNT: &str = "?[k, v] := k = 1, *t{k, v: before}, v = before + 1 :put t {k => v}";

fn counting() -> Database {
    let db = memory();
    ask(&db, "?[k, v] <- [[1, 0]] :create t {k => v: Int}").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[3]"]);
    db
}

#[test]
fn an_index_that_is_made_between_two_runs_is_kept_up() {
    let db = counting();
    ask(&db, "::index create t:by_v {v}").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[k, v] := *t:by_v[v, k]").unwrap(), ["[1, 6]"]);
    ask(&db, "::index drop t:by_v").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[9]"]);
}

#[test]
fn triggers_and_access_that_are_set_between_two_runs_hold() {
    let db = counting();
    ask(&db, ":create log {k, v}").unwrap();
    ask(&db, "::set_triggers t on put { ?[k, v] := _new[k, v] :put log {k, v} }").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *log[1, v]").unwrap(), ["[4]", "[5]", "[6]"]);
    ask(&db, "::access_level read_only t").unwrap();
    assert!(ask(&db, COUNT).unwrap_err().contains("read_only"));
    ask(&db, "::access_level normal t").unwrap();
    ask(&db, "::set_triggers t").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[count(v)] := *log[1, v]").unwrap(), ["[3]"]);
}

#[test]
fn a_relation_that_takes_the_name_is_the_one_that_is_changed() {
    let db = counting();
    ask(&db, "?[k, v] <- [[1, 100]] :create u {k => v: Int}").unwrap();
    ask(&db, "::rename t -> old, u -> t").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[103]"]);
    assert_eq!(ask(&db, "?[v] := *old[1, v]").unwrap(), ["[3]"]);
    ask(&db, "?[k, v, w] <- [[1, 7, 'a']] :replace t {k => v: Int, w: String default 'b'}")
        .unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v, w] := *t[1, v, w]").unwrap(), ["[10, \"b\"]"]);
    ask(&db, "::remove t").unwrap();
    assert!(ask(&db, COUNT).unwrap_err().contains("`t`"));
    ask(&db, "?[k, v] <- [[1, 50]] :create t {k => v: Int}").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[53]"]);
}

#[test]
fn a_graph_that_was_dropped_and_made_by_calls_is_found_anew() {
    let db = memory();
    let script = "?[src, dst] := src = 1, dst = rand_int(1, 1000000) :put g {src, dst}";
    db.graph("g", GraphOptions::default()).unwrap();
    settle(&db, script);
    db.drop_graph("g").unwrap();
    assert!(ask(&db, script).unwrap_err().contains("`g`"));
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    settle(&db, script);
    assert_eq!(ask(&db, "?[count(b)] := *g[1, b]").unwrap(), ["[3]"]);
    drop(graph);
    settle(&db, script);
    db.drop_graph("g").unwrap();
    db.graph("g", GraphOptions::default()).unwrap();
    settle(&db, script);
    assert_eq!(ask(&db, "?[count(b)] := *g[1, b]").unwrap(), ["[3]"]);
}

#[test]
fn each_query_of_a_script_has_its_own_and_a_transaction_sees_its_own_names() {
    let db = memory();
    ask(&db, ":create a {k => v: Int}").unwrap();
    ask(&db, ":create b {k => v: Int}").unwrap();
    let both = "{?[k, v] := k = 1, *b[k, w], v = w + 1 :put a {k => v}}
                {?[k, v] := k = 1, *a[k, w], v = w * 2 :put b {k => v}}";
    ask(&db, "?[k, v] <- [[1, 1]] :put b {k => v}").unwrap();
    settle(&db, both);
    assert_eq!(ask(&db, "?[v, w] := *a[1, v], *b[1, w]").unwrap(), ["[11, 22]"]);
    let tx = db.transaction(Isolation::Snapshot);
    let inside = |script: &str| tx.run(script, &Parameters::new()).unwrap();
    inside("::rename a -> b, b -> a");
    inside(both);
    tx.commit().unwrap();
    // Inside the transaction, `b` was 11 and `a` was 22 at first.
    assert_eq!(ask(&db, "?[v, w] := *a[1, v], *b[1, w]").unwrap(), ["[12, 24]"]);
    // A temporary relation of the script is not visible in its next run.
    let own = "{?[x] <- [[5]] :create _x {x}} {?[k, v] := k = 1, *_x[v] :put a {k => v}}";
    settle(&db, own);
    assert_eq!(ask(&db, "?[v] := *a[1, v]").unwrap(), ["[5]"]);
}

/// Runs a script in a transaction.
fn inside(tx: &Tx, script: &str) -> Result<Vec<String>, String> {
    let answer = tx.run(script, &Parameters::new());
    let answer = answer.map_err(|error| error.to_string().lines().next().unwrap().to_owned())?;
    Ok(answer.rows().map(|row| Value::List(row).to_string()).collect())
}

#[test]
fn a_script_that_is_run_again_in_a_transaction_sees_what_it_wrote() {
    let db = counting();
    let tx = db.transaction(Isolation::Snapshot);
    for before in 3..8 {
        assert_eq!(inside(&tx, "?[v] := *t[1, v]").unwrap(), [format!("[{before}]")]);
        inside(&tx, COUNT).unwrap();
    }
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[3]"]);
    tx.commit().unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[11]"]);
}

#[test]
fn what_a_transaction_sets_holds_for_its_scripts_that_were_kept() {
    let db = counting();
    ask(&db, ":create log {k, v}").unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    inside(&tx, COUNT).unwrap();
    inside(&tx, "::set_triggers t on put { ?[k, v] := _new[k, v] :put log {k, v} }").unwrap();
    inside(&tx, COUNT).unwrap();
    assert_eq!(inside(&tx, "?[v] := *log[1, v]").unwrap(), ["[5]"]);
    inside(&tx, "::access_level read_only t").unwrap();
    assert!(inside(&tx, COUNT).unwrap_err().contains("read_only"));
    tx.rollback();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[6]"]);
    assert!(ask(&db, "?[v] := *log[1, v]").unwrap().is_empty());
}

#[test]
fn what_others_set_after_a_transaction_has_begun_is_not_mixed_with_what_it_sees() {
    let db = counting();
    ask(&db, ":create log {k, v}").unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    inside(&tx, COUNT).unwrap();
    ask(&db, "::set_triggers t on put { ?[k, v] := _new[k, v] :put log {k, v} }").unwrap();
    settle(&db, COUNT);
    assert_eq!(ask(&db, "?[v] := *log[1, v]").unwrap(), ["[4]", "[5]", "[6]"]);
    // The transaction's snapshot is older than the trigger.
    inside(&tx, COUNT).unwrap();
    assert!(inside(&tx, "?[v] := *log[1, v]").unwrap().is_empty());
    assert!(tx.commit().is_err());
    let tx = db.transaction(Isolation::Snapshot);
    inside(&tx, COUNT).unwrap();
    tx.commit().unwrap();
    assert_eq!(ask(&db, "?[count(v)] := *log[1, v]").unwrap(), ["[4]"]);
}

#[test]
fn a_relation_that_goes_beside_a_transaction_is_not_written_by_its_scripts() {
    let db = counting();
    db.graph("g", GraphOptions::default()).unwrap();
    let (read, write) = ("?[b] := *g[1, b]", "?[src, dst] <- [[1, 2]] :put g {src, dst}");
    settle(&db, read);
    settle(&db, write);
    let tx = db.transaction(Isolation::Snapshot);
    assert_eq!(inside(&tx, read).unwrap(), ["[2]"]);
    db.drop_graph("g").unwrap();
    // The transaction reads its snapshot, and a cached name is used for at most two seconds.
    assert!(inside(&tx, read).is_ok_and(|rows| rows == ["[2]"]) || inside(&tx, read).is_err());
    let written = inside(&tx, write);
    assert!(tx.commit().is_err() || written.is_err());
    assert!(ask(&db, read).unwrap_err().contains("`g`"));
}

#[test]
fn settings_of_the_scripts_own_hold_for_the_rest_of_it_and_for_nobody_if_it_fails() {
    let db = counting();
    let locking = |lock: bool| {
        let script = format!(
            "%if {{?[x] := x = 1, $lock}} %then {{::access_level read_only t}} %end {{{COUNT}}}"
        );
        let parameters = Parameters::from([("lock".to_owned(), Value::Bool(lock))]);
        db.run(&script, &parameters).map(drop).map_err(|error| error.to_string())
    };
    (0..3).for_each(|_| locking(false).unwrap());
    assert!(locking(true).unwrap_err().contains("read_only"));
    locking(false).unwrap();
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[7]"]);
    ask(&db, ":create log {k, v}").unwrap();
    let failing = |fails: bool| {
        let script = format!(
            "%if {{?[x] := x = 1, $fails}}
             %then {{::set_triggers t on put {{ ?[k, v] := _new[k, v] :put log {{k, v}} }}}} %end
             {{{COUNT}}}
             {{?[x] := x = 1, $fails :assert none}}"
        );
        let parameters = Parameters::from([("fails".to_owned(), Value::Bool(fails))]);
        db.run(&script, &parameters).is_ok()
    };
    assert!(failing(false));
    assert!(!failing(true));
    assert!(failing(false));
    assert_eq!(ask(&db, "?[v] := *log[1, v]").unwrap(), [""; 0]);
    assert_eq!(ask(&db, "?[v] := *t[1, v]").unwrap(), ["[9]"]);
    let looping = format!(
        "{{?[n] <- [[0]] :create _n {{n}}}}
         %loop
            {{{COUNT}}}
            {{::access_level read_only t}}
            %if {{?[n] := *_n[n], n > 0}} %then %break %end
            {{?[n] <- [[1]] :replace _n {{n}}}}
         %end"
    );
    for _ in 0..3 {
        assert!(ask(&db, &looping).unwrap_err().contains("read_only"));
    }
}

#[test]
fn an_error_that_is_ignored_is_none_of_what_was_kept() {
    let db = memory();
    db.graph("g", GraphOptions::default()).unwrap();
    let script =
        "%ignore_error {?[src, dst] := src = 1, dst = rand_int(1, 1000000) :put g {src, dst}}";
    settle(&db, script);
    db.drop_graph("g").unwrap();
    db.graph("g", GraphOptions::default()).unwrap();
    settle(&db, script);
    assert_eq!(ask(&db, "?[count(b)] := *g[1, b]").unwrap(), ["[3]"]);
}

#[test]
fn a_loop_sees_what_it_wrote() {
    let db = memory();
    ask(&db, ":create t {k => v: Int}").unwrap();
    let script = "{?[k, v] <- [[0, 1]] :put t {k => v}}
        %loop
            {?[k, v] := *t[i, w], k = i + 1, k < 20, not *t[k, _], v = 2 * w :put t {k => v}}
            %if {?[k] := *t[k, _], k == 19} %then %break %end
        %end
        {?[count(k), max(v)] := *t[k, v]}
        %return {?[n, most] := *t[k, most], k == 19, n = 20}";
    for _ in 0..4 {
        assert_eq!(ask(&db, script).unwrap(), ["[20, 524288]"]);
        ask(&db, "?[k, v] := *t[k, v] :rm t {k => v}").unwrap();
    }
}

#[test]
fn few_results_are_enough_whatever_is_joined() {
    let db = memory();
    let rows: Vec<String> =
        (0..400).map(|i| format!("[{}, {}]", i % 40, (i * i + i / 40) % 40)).collect();
    ask(&db, &format!("?[a, b] <- [{}] :create e {{a, b}}", rows.join(", "))).unwrap();
    let path = "?[a, d] := *e[a, b], *e[b, c], *e[c, d], a + d != 41";
    let all = ask(&db, path).unwrap();
    assert!(all.len() > 300);
    for limit in [1, 2, 7, 100, 299, all.len(), all.len() + 5] {
        let some = ask(&db, &format!("{path} :limit {limit}")).unwrap();
        assert_eq!(some.len(), limit.min(all.len()));
        assert!(some.iter().all(|row| all.contains(row)));
    }
    assert_eq!(ask(&db, "?[a] := *e[a, b], *e[b, c], c == 77 :limit 1").unwrap(), [""; 0]);
}
