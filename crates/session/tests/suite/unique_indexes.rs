//! No two rows are equal in the columns of a unique index, whatever changes them, also in
//! concurrent transactions.

use crate::common::{engine_of, engine_with_store};
use model::{Frame, Series, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run, TransactionState};
use std::collections::BTreeMap;
use store::{ErrorKind, Isolation, Kinds, TableWrites, Transaction, WriteBatch};

fn try_run(engine: &Engine, script: &str) -> Result<Vec<Vec<Value>>, String> {
    let output = engine.run(script, &Parameters::new()).map_err(|error| error.to_string())?;
    Ok((0..output.rows).map(|row| output.row(row)).collect())
}

#[track_caller]
fn run(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    try_run(engine, script).unwrap_or_else(|error| panic!("{script}: {error}"))
}

#[track_caller]
fn refused(engine: &Engine, script: &str) -> String {
    match try_run(engine, script) {
        Ok(rows) => panic!("{script}: {rows:?}"),
        Err(error) => error,
    }
}

/// `user{id => email: String?, n}` with three rows and a unique index by email.
fn users() -> Engine {
    let engine = engine_of(1, 1 << 30);
    fill(&engine);
    engine
}

fn fill(engine: &Engine) {
    run(
        engine,
        "?[id, email, n] <- [[0, 'a', 1], [1, 'b', 1], [2, 'c', 2]]
         :create user {id: Int => email: String?, n: Int}",
    );
    run(engine, "::index create user:mail {email} unique");
}

fn ints(ints: Vec<i64>) -> Series {
    model::Values::Int(ints).into()
}

fn frame(columns: Vec<(&str, Series)>) -> Frame {
    let (names, columns) = columns.into_iter().map(|(name, of)| (name.to_owned(), of)).unzip();
    Frame::new(names, columns).unwrap()
}

#[track_caller]
fn check_sound(engine: &Engine) {
    assert_eq!(engine.check_indexes().unwrap().1, Vec::<String>::new());
}

const ROWS: &str = "?[id, email, n] := *user{id, email, n}";

#[test]
fn no_change_leaves_two_rows_with_the_same_value() {
    let engine = users();
    let before = run(&engine, ROWS);
    for (script, new, there) in [
        ("?[id, email, n] <- [[3, 'a', 0]] :put user {id => email, n}", 3, 0),
        ("?[id, email, n] <- [[1, 'a', 0]] :put user {id => email, n}", 1, 0),
        ("?[id, email, n] <- [[3, 'a', 0]] :insert user {id => email, n}", 3, 0),
        ("?[id, email] <- [[0, 'c']] :update user {id => email}", 0, 2),
        ("?[id, email, n] <- [[3, 'a', 0]] :put user {id => email, n} :returning", 3, 0),
        ("?[id, email] <- [[0, 'c']] :update user {id => email} :returning", 0, 2),
    ] {
        let value = if there == 0 { "a" } else { "c" };
        assert_eq!(
            refused(&engine, script),
            format!(
                "row [{new}] of relation `user` cannot have email = \"{value}\": row [{there}] has \
                 it, and the index `user:mail` is unique"
            ),
            "{script}"
        );
        assert_eq!(run(&engine, ROWS), before, "{script}");
    }
    for script in [
        "?[id, email, n] <- [[3, 'x', 0], [4, 'x', 0]] :put user {id => email, n}",
        "?[id, email, n] <- [[3, 'x', 0], [4, 'x', 0]] :replace user {id: Int => email: String?, n: Int}",
        "?[id, email] := *user{id}, email = 'x' :update user {id => email}",
    ] {
        assert!(refused(&engine, script).contains("email = \"x\""), "{script}");
        assert_eq!(run(&engine, ROWS), before, "{script}");
    }
    check_sound(&engine);
}

#[test]
fn the_error_is_a_mistake_that_a_script_may_ignore() {
    let engine = users();
    let script = "?[id, email, n] <- [[3, 'a', 0]] :put user {id => email, n}";
    let error = engine.run(script, &Parameters::new()).unwrap_err();
    assert!(error.is_mistake());
    let goes_on = format!("%ignore_error {{ {script} }} {{ ?[id] := *user{{id, email: 'a'}} }}");
    assert_eq!(run(&engine, &goes_on), [[Value::Int(0)]]);
}

#[test]
fn a_statement_may_exchange_and_pass_on_values() {
    let engine = users();
    for script in [
        "?[id, email] <- [[0, 'b'], [1, 'a']] :update user {id => email}",
        "?[id, email] <- [[0, 'a'], [1, 'b']] :update user {id => email} :returning",
        "?[id, email, n] <- [[0, 'b', 1], [1, 'c', 1], [2, 'a', 2]] :put user {id => email, n}",
        "?[id, email, n] <- [[2, 'new', 2], [3, 'a', 2]] :put user {id => email, n}",
        // The same row, and a value that its only owner gives up.
        "?[id, email, n] <- [[3, 'a', 9]] :put user {id => email, n}",
        "{ ?[id] <- [[0]] :rm user {id} } { ?[id, email] <- [[2, 'b']] :update user {id => email} }",
        // Of the rows of one key only the last one counts.
        "?[id, email, n] <- [[7, 'b', 0], [7, 'd', 0]] :put user {id => email, n} :returning",
    ] {
        run(&engine, script);
        check_sound(&engine);
    }
    let found = run(&engine, "?[email, id] := *user{id, email}");
    let text = |text: &str| Value::Str(text.to_owned());
    let want = [("a", 3), ("b", 2), ("c", 1), ("d", 7)];
    assert_eq!(found, want.map(|(email, id)| vec![text(email), Value::Int(id)]));
}

#[test]
fn rows_with_a_null_are_not_compared() {
    let engine = users();
    run(&engine, "?[id, email, n] := id in [3, 4], email = null, n = 7 :put user {id => email, n}");
    run(&engine, "?[id, email] := *user{id}, email = null :update user {id => email}");
    check_sound(&engine);
    run(&engine, "::index create user:both {n, email} unique");
    run(&engine, "?[id, n] := *user{id}, n = 1 :update user {id => n}");
    run(&engine, "?[id, email] <- [[0, 'x']] :update user {id => email}");
    run(&engine, "?[id, email, n] <- [[1, 'y', 1]] :put user {id => email, n}");
    let error = refused(&engine, "?[id, email, n] <- [[5, 'x', 1]] :put user {id => email, n}");
    assert!(error.contains("n = 1, email = \"x\""), "{error}");
    check_sound(&engine);
}

#[test]
fn missing_fields_of_documents_count_as_null_and_others_are_compared() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create r {k: Int => d: Json?}");
    run(&engine, "::index create r:i {d->'a'->'b'} unique");
    let put = |k: i64, d: &str| {
        try_run(&engine, &format!("?[k, d] := k = {k}, d = parse_json('{d}') :put r {{k => d}}"))
    };
    for (k, d) in [r#"{}"#, "{}", r#"{"a":1}"#, r#"{"a":{"b":null}}"#, "1"].into_iter().enumerate()
    {
        put(k as i64, d).unwrap();
    }
    put(9, r#"{"a":{"b":"x"}}"#).unwrap();
    let error = put(10, r#"{"a":{"b":"x"},"c":1}"#).unwrap_err();
    assert!(error.contains("d->'a'->'b' = \"x\": row [9] has it"), "{error}");
    put(11, r#"{"a":{"b":[1]}}"#).unwrap();
    assert!(put(12, r#"{"a":{"b":[1]}}"#).is_err());
    put(11, r#"{"a":2}"#).unwrap();
    put(12, r#"{"a":{"b":[1]}}"#).unwrap();
    check_sound(&engine);
}

#[test]
fn rows_that_repeat_a_value_have_no_unique_index() {
    let engine = users();
    let error = refused(&engine, "::index create user:by_n {n} unique");
    assert_eq!(error, "`user:by_n` cannot be unique: rows [0] and [1] both have n = 1");
    let names = |engine: &Engine| {
        let rows = run(engine, "::indices user");
        rows.into_iter().map(|row| row[0].to_string() + &row[1].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&engine), ["\"mail\"\"unique\""]);
    run(&engine, "?[id, n] <- [[0, 0]] :update user {id => n}");
    run(&engine, "::index create user:by_n {n} unique");
    assert_eq!(names(&engine), ["\"by_n\"\"unique\"", "\"mail\"\"unique\""]);
    assert!(try_run(&engine, "?[id, n] <- [[1, 2]] :update user {id => n}").is_err());
    // More rows than are compared at a time, and the equal ones in different batches.
    run(&engine, "?[k, v] := k in int_range(70000), v = k :create many {k: Int => v: Int}");
    run(&engine, "?[k, v] <- [[65536, 65535]] :update many {k => v}");
    let error = refused(&engine, "::index create many:i {v} unique");
    assert_eq!(error, "`many:i` cannot be unique: rows [65535] and [65536] both have v = 65535");
    run(&engine, "?[k, v] <- [[65536, -1]] :update many {k => v}");
    run(&engine, "::index create many:i {v} unique");
    check_sound(&engine);
}

#[test]
fn the_columns_of_a_key_can_be_unique_too() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, "?[a, b] <- [[1, 1], [2, 2]] :create r {a: Int, b: Int}");
    run(&engine, "::index create r:i {b} unique");
    run(&engine, "::index create r:all {b, a} unique");
    run(&engine, "?[a, b] <- [[1, 1], [3, 3]] :put r {a, b}");
    let error = refused(&engine, "?[a, b] <- [[2, 1]] :put r {a, b}");
    assert!(error.contains("row [2, 1] of relation `r` cannot have b = 1: row [1, 1]"), "{error}");
    let rows = frame(vec![("a", ints(vec![5])), ("b", ints(vec![3]))]);
    let (kind, is_import) = (ChangeKind::Put, true);
    let change = Change { relation: "r", kind, rows: &rows, is_import };
    engine.change(&[change], &Run::new(&Parameters::new())).unwrap_err();
    check_sound(&engine);
}

#[test]
fn rows_of_a_history_have_no_unique_index() {
    let engine = engine_of(1, 1 << 30);
    run(&engine, ":create h {k: Int, at: Validity => v: Int}");
    let error = refused(&engine, "::index create h:i {v} unique");
    assert!(error.contains("a history"), "{error}");
    run(&engine, "::index create h:i {v}");
}

/// Rows that are written in several chunks of one statement.
#[test]
fn only_the_end_of_a_long_statement_counts() {
    let engine = engine_of(1, 16 << 20);
    run(&engine, "?[k, v] := k in int_range(100000), v = k :create r {k: Int => v: Int}");
    run(&engine, "::index create r:i {v} unique");
    for returning in ["", ":returning"] {
        for up in [1, -1] {
            let script = format!(
                "?[k, v] := *r{{k, v: u}}, k < 30000, v = (u + {up} + 30000) % 30000
                 :update r {{k => v}} {returning}"
            );
            let script = match returning {
                "" => script.replace("30000", "100000"),
                _ => script,
            };
            run(&engine, &script);
            check_sound(&engine);
        }
    }
    let script = "?[k, v] := *r{k, v: u}, v = min(u + 1, 99999) :update r {k => v}";
    assert!(refused(&engine, script).contains("v = 99999"));
    let found = run(&engine, "?[count(k), sum(v)] := *r{k, v}");
    assert_eq!(found, [[Value::Int(100_000), Value::Float(4_999_950_000.0)]]);
}

fn begin(engine: &Engine, store: &dyn store::Store, isolation: Isolation) -> Begun {
    (engine.transaction_state(), store.begin(isolation))
}

type Begun = (TransactionState, Box<dyn Transaction>);

fn run_in(engine: &Engine, (state, transaction): &mut Begun, script: &str) -> Result<(), String> {
    let parameters = Parameters::new();
    let done = engine.run_in(&**transaction, script, &Run::new(&parameters), state);
    done.map(drop).map_err(|error| error.to_string())
}

fn commit(engine: &Engine, (state, transaction): Begun) -> Option<ErrorKind> {
    engine.commit_in(state, transaction).err().map(|error| error.kind())
}

/// Whether keys in the index are words or byte strings, and whether what was committed is in memory
/// or in a table. The claim of the least key is the row itself.
#[test]
fn of_two_transactions_that_take_one_value_only_the_first_commits() {
    for of in ["Int", "String?"] {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            for (one, other) in [(1, 2), (i64::MIN, 2), (2, i64::MIN)] {
                for is_compacted in [false, true] {
                    let (engine, store) = engine_with_store(1, 1 << 30);
                    run(&engine, &format!(":create r {{k: Int => v: {of}}}"));
                    run(&engine, "::index create r:i {v} unique");
                    let (mut a, mut b, mut c) = (
                        begin(&engine, &*store, isolation),
                        begin(&engine, &*store, isolation),
                        begin(&engine, &*store, isolation),
                    );
                    let value = |number: i64| match of {
                        "Int" => number.to_string(),
                        _ => format!("'{number}'"),
                    };
                    let put = |k: i64, number| {
                        let k = format!("{} - 1", k + 1);
                        format!("?[k, v] <- [[{k}, {}]] :put r {{k => v}}", value(number))
                    };
                    run_in(&engine, &mut a, &put(one, 5)).unwrap();
                    run_in(&engine, &mut b, &put(other, 5)).unwrap();
                    run_in(&engine, &mut c, &put(7, 6)).unwrap();
                    assert_eq!(commit(&engine, a), None);
                    if is_compacted {
                        run(&engine, "::compact");
                    }
                    assert_eq!(commit(&engine, b), Some(ErrorKind::Conflict), "{of} {one} {other}");
                    assert_eq!(commit(&engine, c), None, "other values do not conflict");
                    let found = run(&engine, &format!("?[k] := *r{{k, v: {}}}", value(5)));
                    assert_eq!(found, [[Value::Int(one)]]);
                    check_sound(&engine);
                }
            }
        }
    }
}

#[test]
fn nulls_of_two_transactions_do_not_conflict() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    fill(&engine);
    let mut begun = [3, 4].map(|id| (id, begin(&engine, &*store, Isolation::Snapshot)));
    for (id, begun) in &mut begun {
        let put = format!("?[id, email, n] <- [[{id}, null, 0]] :put user {{id => email, n}}");
        run_in(&engine, begun, &put).unwrap();
    }
    for (_, begun) in begun {
        assert_eq!(commit(&engine, begun), None);
    }
    check_sound(&engine);
}

#[test]
fn a_value_given_up_and_one_taken_at_the_same_time_do_not_meet() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    fill(&engine);
    let mut gives = begin(&engine, &*store, Isolation::Snapshot);
    let mut takes = begin(&engine, &*store, Isolation::Snapshot);
    run_in(&engine, &mut gives, "?[id] <- [[0]] :rm user {id}").unwrap();
    let take = "?[id, email, n] <- [[5, 'a', 0]] :put user {id => email, n}";
    // It sees the row until it begins again.
    assert!(run_in(&engine, &mut takes, take).unwrap_err().contains("row [0] has it"));
    run_in(&engine, &mut gives, take).unwrap();
    assert_eq!(commit(&engine, gives), None);
    assert!(run_in(&engine, &mut takes, take).is_err());
    assert_eq!(commit(&engine, takes), None, "nothing of it is left");
    check_sound(&engine);
}

#[test]
fn a_refused_statement_leaves_its_transaction_as_it_was() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    fill(&engine);
    let mut begun = begin(&engine, &*store, Isolation::Snapshot);
    let put = |id: i64, email: &str| {
        format!("?[id, email, n] <- [[{id}, '{email}', 0]] :put user {{id => email, n}}")
    };
    run_in(&engine, &mut begun, &put(3, "x")).unwrap();
    assert!(run_in(&engine, &mut begun, &put(4, "x")).is_err());
    run_in(&engine, &mut begun, &put(0, "y")).unwrap();
    run_in(&engine, &mut begun, &put(5, "a")).unwrap();
    run_in(&engine, &mut begun, &put(0, "z")).unwrap();
    run_in(&engine, &mut begun, &put(1, "y")).unwrap();
    assert_eq!(commit(&engine, begun), None);
    let found = run(&engine, "?[id, email] := *user{id, email}");
    let want = [(0, "z"), (1, "y"), (2, "c"), (3, "x"), (5, "a")];
    assert_eq!(found, want.map(|(id, email)| vec![Value::Int(id), Value::Str(email.into())]));
    check_sound(&engine);
}

#[test]
fn triggers_are_statements_of_their_own() {
    let engine = users();
    run(&engine, ":create log {id: Int => email: String?}");
    run(&engine, "::index create log:mail {email} unique");
    run(
        &engine,
        "::set_triggers user on put { ?[id, email] := _new[id, email, _] :put log {id => email} }",
    );
    run(&engine, "?[id, email, n] <- [[0, 'b', 1], [1, 'a', 1]] :put user {id => email, n}");
    run(&engine, "?[id, email] <- [[9, 'z']] :put log {id => email}");
    let error = refused(&engine, "?[id, email, n] <- [[5, 'z', 1]] :put user {id => email, n}");
    assert!(error.contains("`log:mail` is unique"), "{error}");
    assert_eq!(run(&engine, "?[id] := *user{id, email: 'z'}"), Vec::<Vec<Value>>::new());
    check_sound(&engine);
}

#[test]
fn columns_keep_their_unique_index_under_new_names() {
    let engine = users();
    run(&engine, "::column rename user {email -> mail, id -> number}");
    run(&engine, "::column add user {more: Int default 1}");
    run(&engine, "::rename user -> person");
    let error = refused(&engine, "?[number, mail] <- [[1, 'a']] :update person {number => mail}");
    assert!(
        error.contains("mail = \"a\": row [0] has it, and the index `person:mail` is unique"),
        "{error}"
    );
    assert!(refused(&engine, "::column drop person {mail}").contains("person:mail"));
    run(&engine, "::index drop person:mail");
    run(&engine, "?[number, mail] <- [[1, 'a']] :update person {number => mail}");
}

/// Rows that came past the check, as after the repair of a database that lost a newer row.
#[test]
fn equal_rows_are_found_by_a_check_and_then_the_index_is_not_unique() {
    let (engine, store) = engine_with_store(1, 1 << 30);
    run(&engine, "?[k, v] <- [[1, 1], [2, 2]] :create r {k: Int => v: Int}");
    run(&engine, "::index create r:i {v} unique");
    let catalog = relation::Catalog::new(std::sync::Arc::clone(&store));
    let tables = [("r", vec![2, 1], 1), ("r:i", vec![1, 2], 2), ("r:i", vec![2, 2], 2)];
    let tables = tables.into_iter().enumerate().map(|(place, (name, row, _))| {
        let entry = catalog.find(name).unwrap().unwrap();
        let mut rows = base::Batch::new(&entry.schema().shape());
        entry.schema().append(row.into_iter().map(Value::Int).collect(), &mut rows).unwrap();
        let kind = if place == 2 { base::Kind::Delete } else { base::Kind::Put };
        let (keyspace, kinds) = (entry.keyspace(), Kinds::Uniform(kind));
        TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() }
    });
    for table in tables {
        store.write(&WriteBatch { tables: vec![table] }, None).unwrap();
    }
    let (sound, problems) = engine.check_indexes().unwrap();
    assert_eq!(sound, []);
    let rows = "rows [1] and [2] both have v = 1";
    let want = format!("index \"r:i\" is unique, but {rows}\nhint: change one of the rows");
    assert_eq!(problems, [want]);
    let repaired = engine.mend_indexes().unwrap();
    assert_eq!(repaired.rebuilt, ["r:i"]);
    let why = format!("`r:i` cannot be unique: {rows}");
    assert_eq!(repaired.not_unique, [("r:i".to_owned(), why)]);
    check_sound(&engine);
    assert_eq!(run(&engine, "::indices r")[0][1], Value::Str("normal".into()));
    // An index that lost a row is unique again.
    run(&engine, "{ ?[k] <- [[2]] :rm r {k} } { ::compact }");
    run(&engine, "::index drop r:i");
    run(&engine, "::index create r:i {v} unique");
    let entry = catalog.find("r:i").unwrap().unwrap();
    let delete_ranges = vec![entry.all_rows()];
    let rows = base::Batch::new(&entry.schema().shape());
    let kinds = Kinds::Uniform(base::Kind::Put);
    let table = TableWrites { keyspace: entry.keyspace(), kinds, rows, delete_ranges };
    store.write(&WriteBatch { tables: vec![table] }, None).unwrap();
    let repaired = engine.mend_indexes().unwrap();
    assert_eq!((repaired.rebuilt.len(), repaired.not_unique.len()), (1, 0));
    assert!(try_run(&engine, "?[k, v] <- [[3, 1]] :put r {k => v}").is_err());
}

#[test]
fn one_row_of_a_unique_index_is_better_than_more_columns_of_another_index() {
    let engine = engine_of(1, 1 << 30);
    run(
        &engine,
        "?[k, v, c, d] := k in int_range(3000), v = k, c = k % 2, d = k % 3
         :create r {k: Int => v: Int, c: Int, d: Int}",
    );
    let uses = |index: &str| {
        let rows = run(&engine, "::explain { ?[k] := *r{k, v: 300, c: 0, d: 0} }");
        rows.iter().any(|row| row[5].to_string().contains(index))
    };
    run(&engine, "::index create r:cd {c, d}");
    run(&engine, "::index create r:v {v}");
    assert!(uses("*r:cd") && !uses("*r:v"));
    run(&engine, "::index drop r:v");
    run(&engine, "::index create r:v {v} unique");
    assert!(uses("*r:v") && !uses("*r:cd"));
    assert_eq!(run(&engine, "?[k] := *r{k, v: 300, c: 0, d: 0}"), [[Value::Int(300)]]);
    assert_eq!(run(&engine, "?[k] := *r{k, v: 301, c: 0, d: 0}"), Vec::<Vec<Value>>::new());
}

/// The rows of a naive model: `r{k => a: Int, b: String?}`, unique in `a` and in `b`.
type Model = BTreeMap<i64, (i64, Option<String>)>;

fn is_unique(model: &Model) -> bool {
    let rows = || model.iter().flat_map(|one| model.iter().map(move |other| (one, other)));
    rows()
        .filter(|((k, _), (l, _))| k < l)
        .all(|((_, (a, b)), (_, (c, d)))| a != c && (b.is_none() || b != d))
}

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(i64, i64, Option<String>)>),
    Import(Vec<(i64, i64, Option<String>)>),
    Update(Vec<(i64, i64)>),
    Swap(i64, i64),
    Shift(i64),
    Remove(Vec<i64>),
    Replace(Vec<(i64, i64, Option<String>)>),
}

/// The model after a step, as if nothing were unique; `None` if the step fails for another reason.
fn after(model: &Model, step: &Step) -> Option<Model> {
    let mut model = model.clone();
    match step {
        Step::Put(rows) | Step::Import(rows) => {
            model.extend(rows.iter().cloned().map(|(k, a, b)| (k, (a, b))));
        }
        Step::Replace(rows) => {
            model = rows.iter().cloned().map(|(k, a, b)| (k, (a, b))).collect();
        }
        Step::Update(rows) => {
            for (k, a) in rows {
                model.get_mut(k)?.0 = *a;
            }
        }
        Step::Swap(k, l) => {
            let (one, other) = (model.get(k).cloned(), model.get(l).cloned());
            if let (Some(one), Some(other)) = (one, other) {
                model.insert(*k, other);
                model.insert(*l, one);
            }
        }
        Step::Shift(by) => model.values_mut().for_each(|(a, _)| *a += by),
        Step::Remove(keys) => keys.iter().for_each(|k| drop(model.remove(k))),
    }
    Some(model)
}

fn literals(rows: &[(i64, i64, Option<String>)]) -> String {
    let text = |b: &Option<String>| b.as_ref().map_or("null".to_owned(), |b| format!("'{b}'"));
    let rows = rows.iter().map(|(k, a, b)| format!("[{k}, {a}, {}]", text(b)));
    rows.collect::<Vec<_>>().join(", ")
}

fn apply(engine: &Engine, step: &Step, returning: &str) -> Result<(), String> {
    let script = match step {
        Step::Put(rows) => {
            format!("?[k, a, b] <- [{}] :put r {{k => a, b}} {returning}", literals(rows))
        }
        Step::Replace(rows) => format!(
            "?[k, a, b] <- [{}] :replace r {{k: Int => a: Int, b: String?}}",
            literals(rows)
        ),
        Step::Import(rows) => {
            let k: Vec<i64> = rows.iter().map(|row| row.0).collect();
            let a: Vec<i64> = rows.iter().map(|row| row.1).collect();
            let b = rows.iter().map(|row| row.2.clone().map_or(Value::Null, Value::Str));
            let b: Vec<Value> = b.collect();
            let rows = frame(vec![("k", ints(k)), ("a", ints(a)), ("b", b.into())]);
            let (kind, is_import) = (ChangeKind::Put, true);
            let change = Change { relation: "r", kind, rows: &rows, is_import };
            let done = engine.change(&[change], &Run::new(&Parameters::new()));
            return done.map_err(|error| error.to_string());
        }
        Step::Update(rows) => {
            let rows: Vec<String> = rows.iter().map(|(k, a)| format!("[{k}, {a}]")).collect();
            format!("?[k, a] <- [{}] :update r {{k => a}} {returning}", rows.join(", "))
        }
        Step::Swap(k, l) => format!(
            "?[k, a, b] := *r{{k: {k}, a, b}}, *r{{k: {l}}}, k = {l}
             ?[k, a, b] := *r{{k: {l}, a, b}}, *r{{k: {k}}}, k = {k}
             :put r {{k => a, b}} {returning}"
        ),
        Step::Shift(by) => {
            format!("?[k, a] := *r{{k, a: c}}, a = c + {by} :update r {{k => a}} {returning}")
        }
        Step::Remove(keys) => {
            let keys: Vec<String> = keys.iter().map(|k| format!("[{k}]")).collect();
            format!("?[k] <- [{}] :rm r {{k}} {returning}", keys.join(", "))
        }
    };
    try_run(engine, &script).map(drop)
}

fn any_rows() -> impl Strategy<Value = Vec<(i64, i64, Option<String>)>> {
    let row = (0_i64..8, 0_i64..12, prop::option::of("[a-h]"));
    // One row of each key: which of two is last depends on the statement.
    prop::collection::vec(row, 1..5).prop_map(|mut rows| {
        rows.sort();
        rows.dedup_by_key(|row| row.0);
        rows
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_rows().prop_map(Step::Put),
        3 => any_rows().prop_map(Step::Import),
        2 => prop::collection::btree_map(0_i64..8, 0_i64..12, 1..4)
            .prop_map(|rows| Step::Update(rows.into_iter().collect())),
        3 => (0_i64..8, 0_i64..8).prop_map(|(k, l)| Step::Swap(k, l)),
        1 => (-1_i64..2).prop_map(Step::Shift),
        2 => prop::collection::vec(0_i64..8, 1..3).prop_map(Step::Remove),
        1 => any_rows().prop_map(Step::Replace),
    ]
}

fn rows_of(engine: &Engine) -> Model {
    let text = |value: &Value| match value {
        Value::Str(text) => Some(text.clone()),
        _ => None,
    };
    let int = |value: &Value| match value {
        Value::Int(int) => *int,
        other => panic!("{other}"),
    };
    let rows = run(engine, "?[k, a, b] := *r{k, a, b}");
    rows.iter().map(|row| (int(&row[0]), (int(&row[1]), text(&row[2])))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_change_is_refused_exactly_where_a_model_finds_equal_rows(
        steps in prop::collection::vec((any_step(), any::<bool>()), 1..20),
    ) {
        let engine = engine_of(1, 1 << 30);
        run(&engine, ":create r {k: Int => a: Int, b: String?}");
        run(&engine, "::index create r:a {a} unique");
        run(&engine, "::index create r:b {b} unique");
        let mut model = Model::new();
        for (step, returns) in &steps {
            let done = apply(&engine, step, if *returns { ":returning" } else { "" });
            match after(&model, step).filter(is_unique) {
                Some(after) => {
                    prop_assert_eq!(&done, &Ok(()), "{:?}", step);
                    model = after;
                }
                None => prop_assert!(done.is_err(), "{:?}", step),
            }
            prop_assert_eq!(&rows_of(&engine), &model);
            check_sound(&engine);
        }
    }
}
