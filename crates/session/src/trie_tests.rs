//! Tests of the trie cache through an engine.

use crate::Engine;
use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 400;

/// Users with ages, and the age of requested users.
fn engine() -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), env, 1 << 30);
    run(
        &engine,
        &format!(
            "?[u, age] := u in int_range({ROWS}), age = u % 80 :create user {{u: Int => age: Int}}"
        ),
    );
    run(&engine, "?[a] <- [[1]] :create other {a: Int}");
    engine
}

fn run(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    let output = engine.run(script, &Default::default()).unwrap();
    (0..output.rows).map(|row| output.row(row)).collect()
}

fn ages(engine: &Engine) -> Vec<i64> {
    let found = run(engine, &format!("?[u, age] := u in int_range({ROWS} + 50), *user[u, age]"));
    let int = |value: &Value| match value {
        Value::Int(int) => *int,
        other => panic!("{other}"),
    };
    found.iter().map(|row| int(&row[1])).collect()
}

/// Number of cached tries, and of patched groups in the last one.
fn kept(engine: &Engine) -> (usize, usize) {
    let things = engine.tries.kept.values();
    (things.len(), things.last().map_or(0, |trie| trie.patched()))
}

#[test]
fn what_changes_is_mended_in_the_trie_that_is_kept() {
    let engine = engine();
    let mut want: Vec<i64> = (0..ROWS).map(|user| user % 80).collect();
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 0));
    run(&engine, "?[u, age] <- [[3, 99]] :put user {u => age}");
    want[3] = 99;
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 1));
    run(&engine, "?[a] <- [[2]] :put other {a}");
    run(&engine, "?[u, age] <- [[5, 98], [6, 97]] :put user {u => age}");
    (want[5], want[6]) = (98, 97);
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 3));
    run(&engine, "?[u] <- [[5]] :rm user {u}");
    run(&engine, &format!("?[u, age] <- [[{ROWS}, 96]] :insert user {{u => age}}"));
    want.remove(5);
    want.push(96);
    assert_eq!(ages(&engine), want);
    assert_eq!(kept(&engine), (1, 4));
}

/// Found by review: an index numbers its columns differently, and a query of the relation got the
/// trie of the index.
#[test]
fn an_index_by_its_own_name_has_tries_of_its_own() {
    let engine = engine();
    run(&engine, "::index create user:by_age {age}");
    let by_age = format!("?[u, age] := age in int_range({ROWS}), *user{{u, age}}");
    let by_user = format!("?[u, age] := u in int_range({ROWS}), *user:by_age{{u, age}}");
    let want = run(&engine, "?[u, age] := *user{u, age}");
    for _ in 0..2 {
        assert_eq!(run(&engine, &by_age), want);
        assert_eq!(run(&engine, &by_user), want);
    }
}

/// Found by review: patching read all long strings into the query's memory, and each later query
/// failed the same way.
#[test]
fn long_texts_that_come_end_a_trie_of_words_and_no_query() {
    let engine = engine();
    run(
        &engine,
        &format!(
            "?[k, t] := k in int_range({ROWS}), t = 'short' :create doc {{k: Int => t: String}}"
        ),
    );
    let short = format!("?[count(k), count_unique(t)] := k in int_range({ROWS}), *doc[k, t]");
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(1)]]);
    assert_eq!(kept(&engine).0, 1);
    let of_words = engine.tries.kept.values().pop().unwrap();
    run(
        &engine,
        "?[k, t] := k in int_range(300), t = concat('long ', to_string(k), ' and more') :put doc {k => t}",
    );
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(301)]]);
    let of_texts = engine.tries.kept.values();
    assert!(of_texts.iter().all(|trie| !Arc::ptr_eq(trie, &of_words)));
    assert_eq!((of_texts.len(), of_texts[0].patched()), (1, 0));
    run(&engine, "?[k, t] := k in int_range(300), t = 'short' :put doc {k => t}");
    assert_eq!(run(&engine, &short), [[Value::Int(ROWS), Value::Int(1)]]);
}

#[test]
fn tries_of_relations_that_are_gone_go() {
    let engine = engine();
    ages(&engine);
    run(&engine, "::remove user");
    run(&engine, &format!("?[u] := u in int_range({ROWS}) :create third {{u: Int}}"));
    run(&engine, &format!("?[count(u)] := u in int_range({ROWS}), *third{{u}}"));
    assert_eq!(kept(&engine).0, 1);
}

#[test]
fn a_change_of_another_relation_ends_nothing() {
    let engine = engine();
    let before = ages(&engine);
    let trie = engine.tries.kept.values().pop().unwrap();
    run(&engine, "?[a] <- [[2]] :put other {a}");
    assert_eq!(ages(&engine), before);
    assert!(Arc::ptr_eq(&trie, &engine.tries.kept.values()[0]));
}

/// The name of a vertex: every third one fits a word.
fn vertex(number: u8) -> String {
    if number.is_multiple_of(3) { format!("v{number}") } else { format!("vertex number {number}") }
}

/// Edges between vertices with long names.
fn engine_of_edges(edges: impl Iterator<Item = (u8, u8)>) -> Engine {
    let engine = engine();
    run(&engine, ":create e {a: String, b: String}");
    let rows: Vec<String> =
        edges.map(|(a, b)| format!("['{}', '{}']", vertex(a), vertex(b))).collect();
    run(&engine, &format!("?[a, b] <- [{}] :put e {{a, b}}", rows.join(", ")));
    engine
}

const WALKS: &str = "?[a, count(c)] := *e[a, b], *e[b, c]";

#[test]
fn long_strings_are_in_a_trie_that_later_queries_use() {
    let engine = engine_of_edges((0..200).map(|i| (i, ((u32::from(i) * 7 + 3) % 200) as u8)));
    let want = run(&engine, WALKS);
    assert_eq!(want.len(), 200);
    let made = engine.tries.kept.values();
    assert!(!made.is_empty(), "the first query has looked up enough keys");
    for _ in 0..3 {
        assert_eq!(run(&engine, WALKS), want);
    }
    let now = engine.tries.kept.values();
    assert!(made.iter().zip(&now).all(|(made, now)| Arc::ptr_eq(made, now)));
    // A change ends it; the old row is not found, the new one is.
    run(&engine, "?[a, b] <- [['vertex number 1', 'vertex number 10']] :rm e {a, b}");
    run(
        &engine,
        "?[a, b] <- [['vertex number 1', 'a new vertex'], ['a new vertex', 'v0']] :put e {a, b}",
    );
    let found = run(&engine, "?[c] := *e['vertex number 1', b], *e[b, c]");
    assert_eq!(found, [[Value::Str("v0".to_owned())]]);
    let reversed = run(&engine, WALKS);
    assert_eq!(run(&engine, WALKS), reversed);
}

proptest::proptest! {
    /// Found rows are compared with loops over pairs.
    #[test]
    fn queries_of_long_strings_find_the_rows_that_are_there(
        edges in proptest::collection::btree_set((0_u8..20, 0_u8..20), 30..90),
        changes in proptest::collection::vec(((0_u8..24, 0_u8..24), proptest::bool::ANY, 0_usize..4), 1..8),
    ) {
        let engine = engine_of_edges(edges.iter().copied());
        let mut edges = edges;
        for ((a, b), puts, asks) in changes {
            for _ in 0..asks {
                check_answers(&engine, &edges, a);
            }
            let op = if puts { ":put" } else { ":rm" };
            if puts { edges.insert((a, b)) } else { edges.remove(&(a, b)) };
            run(&engine, &format!("?[a, b] <- [['{}', '{}']] {op} e {{a, b}}", vertex(a), vertex(b)));
            check_answers(&engine, &edges, b);
        }
    }
}

/// Compares queries with loops over the edges.
fn check_answers(engine: &Engine, edges: &std::collections::BTreeSet<(u8, u8)>, start: u8) {
    use std::collections::BTreeSet;
    let text = |number: u8| Value::Str(vertex(number));
    let next = |from: u8| edges.iter().filter(move |edge| edge.0 == from).map(|edge| edge.1);
    let found = |script: &str| run(engine, script).into_iter().collect::<BTreeSet<_>>();
    let walks = edges.iter().flat_map(|&(a, b)| next(b).map(move |c| vec![text(a), text(c)]));
    assert_eq!(found("?[a, c] := *e[a, b], *e[b, c]"), walks.collect());
    // Strings that the query makes are those that are stored.
    let made =
        "?[a, b] := k in int_range(24), a = concat('vertex number ', to_string(k)), *e[a, b]";
    let wanted =
        edges.iter().filter(|edge| !edge.0.is_multiple_of(3)).map(|&(a, b)| vec![text(a), text(b)]);
    assert_eq!(found(made), wanted.collect());
    let mut reached = BTreeSet::new();
    let mut new: Vec<u8> = next(start).collect();
    while let Some(vertex) = new.pop() {
        if reached.insert(vertex) {
            new.extend(next(vertex));
        }
    }
    let closure =
        format!("t[y] := *e['{0}', y] t[y] := t[x], *e[x, y] ?[y] := t[y]", vertex(start));
    assert_eq!(found(&closure), reached.into_iter().map(|vertex| vec![text(vertex)]).collect());
}
