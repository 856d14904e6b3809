//! The types of result columns: vertices of unsigned graphs are ids, with rows and without.
#![allow(clippy::unwrap_used)]

use quipu::{
    ColumnValues, Database, GraphOptions, Options, Parameters, QueryResult, RunOptions, Value,
    VertexType,
};

/// Graphs with two edges, without edges, and of signed vertices; and a relation of integers.
fn database() -> Database {
    let db = Database::in_memory(Options::default()).unwrap();
    let unsigned = |name| db.graph(name, GraphOptions::default()).unwrap();
    let (g, _) = (unsigned("g"), unsigned("none"));
    g.upsert(1, 2, None).unwrap();
    g.upsert(2, 3, None).unwrap();
    let options = GraphOptions { vertex: VertexType::I64, ..GraphOptions::default() };
    db.graph("signed", options).unwrap().upsert(1, 2, None).unwrap();
    db.run(
        "?[i, name] <- [[1, 'one'], [2, 'two']] :create people {i: Int => name: String}",
        &Parameters::new(),
    )
    .unwrap();
    db
}

fn kind(result: &QueryResult, column: usize) -> &'static str {
    match result.column(column).values {
        ColumnValues::Id(_) => "id",
        ColumnValues::Int(_) => "int",
        ColumnValues::Float(_) => "float",
        ColumnValues::Str(_) => "text",
        ColumnValues::Null(_) => "null",
        _ => "other",
    }
}

fn start() -> Parameters {
    Parameters::from([("start".to_owned(), Value::Int(1))])
}

/// The kinds of the first two columns.
#[track_caller]
fn check(db: &Database, script: &str, want: [&str; 2]) {
    let kinds = |script: &str, parameters: &Parameters| {
        let result = db.run(script, parameters).unwrap();
        let columns = result.columns().len().min(2);
        ((0..columns).map(|column| kind(&result, column)).collect::<Vec<_>>(), result.len())
    };
    let want = want.iter().copied().filter(|one| !one.is_empty()).collect::<Vec<_>>();
    let (of_rows, rows) = kinds(script, &start());
    assert!(rows > 0, "{script} has no rows");
    assert_eq!(of_rows, want, "{script}");
    let (of_none, rows) = kinds(&script.replace("*g", "*none"), &start());
    // A start is a row without an edge, too. Only vertices have a type without rows for certain.
    if rows == 0 {
        let ids = |kinds: &[&str]| kinds.iter().map(|one| *one == "id").collect::<Vec<_>>();
        assert_eq!(ids(&of_none), ids(&want), "{script}, without rows");
    }
    let mut parts = Vec::new();
    let mut take = |part: QueryResult| {
        parts.push(kind(&part, 0));
        Ok(true)
    };
    db.stream(script, &start(), &RunOptions::default(), &mut take).unwrap();
    assert!(parts.iter().all(|one| *one == want[0]), "{script}, as a stream: {parts:?}");
}

#[test]
fn vertices_of_unsigned_graphs_are_ids_through_rules_and_algorithms() {
    let db = database();
    let reached =
        |start: &str| format!("r[v] := {start} r[w] := r[v], *g{{src: v, dst: w}} ?[v] := r[v]");
    for script in [
        "?[v] := *g{src: v}",
        "?[v] := *g{src: v}, v > 0",
        "?[v] := *g{src: v, dst: w}, v < w :order -v",
        "a[v] := *g{dst: v} ?[v] := a[v]",
        "a[v] := *g{src: v} a[v] := *g{dst: v} ?[v] := a[v]",
        "?[v] := *g{src: v}, *people{i: v}",
        "?[v] := *people{i: v}, *g{src: v}",
        "?[v] := *g{src: w}, v = w",
        "?[v] := *g{src: w}, v = if(w > 1, w, 0)",
        "?[min(v)] := *g{src: v}",
        "?[v] := v in [1, 2], *g{src: v}",
        &reached("v = 1"),
        &reached("v = $start"),
        &reached("*g{src: $start, dst: v}"),
        "s[v] <- [[$start]] r[v] := s[v] r[w] := r[v], *g{src: v, dst: w} ?[v] := r[v]",
        "s[v] <- [[1], [7]] ?[v] := s[v] ?[v] := *g{src: v}",
        "even[v] := v = 1 even[w] := odd[v], *g{src: v, dst: w}
         odd[w] := even[v], *g{src: v, dst: w} ?[v] := even[v]",
        "d[v, min(n)] := v = 1, n = 0 d[w, min(n)] := d[v, m], *g{src: v, dst: w}, n = m + 1
         ?[v] := d[v, n]",
    ] {
        check(&db, script, ["id", ""]);
    }
    check(&db, "?[v, rank] <~ PageRank(*g[])", ["id", "float"]);
    check(
        &db,
        "d[v, n, o, i] <~ DegreeCentrality(*g[]) ?[v, w] := d[v, n, o, i], *g{src: v, dst: w}",
        ["id", "id"],
    );
    check(&db, "?[n, v] <~ TopSort(*g[])", ["int", "id"]);
    check(&db, "s[v] <- [[1]] ?[from, v, d, p] <~ ShortestDistancesBFS(*g[], s[])", ["id", "id"]);
}

#[test]
fn other_integers_stay_integers() {
    let db = database();
    for script in [
        "?[v] := *signed{src: v}",
        "?[v] := *people{i: v}",
        "?[v] := v = 1",
        "?[v] := *g{src: w}, v = w + 1",
        "?[v] := *g{src: w}, v = to_int(w)",
        "?[count(v)] := *g{src: v}",
        "?[v] := *g{src: v} ?[v] := *people{i: v}",
        "?[v] := *g{src: v} ?[v] := v = -1",
        "?[v] := *people{i: v} ?[v] := *signed{src: v}",
        "r[v] := *people{i: v} r[w] := r[v], *g{src: v, dst: w} ?[v] := r[v]",
    ] {
        let result = db.run(script, &start()).unwrap();
        assert!(!result.is_empty(), "{script}");
        assert_eq!(kind(&result, 0), "int", "{script}");
    }
}

/// A parameter counts as a value of the type that the other rules give, and may be anything.
#[test]
fn a_parameter_of_another_type_decides_the_type_of_its_column() {
    let db = database();
    let script = "r[v] := v = $start r[v] := *g{src: v} ?[v] := r[v] :order v";
    for (value, want) in [
        (Value::Int(7), "id"),
        (Value::Int(-7), "int"),
        (Value::Float(0.5), "float"),
        (Value::Str("x".into()), "other"),
        (Value::Null, "id"),
        (Value::Id(1 << 63), "id"),
    ] {
        let result = db.run(script, &Parameters::from([("start".to_owned(), value.clone())]));
        let result = result.unwrap();
        assert_eq!(kind(&result, 0), want, "{value}");
        assert!((0..result.len()).any(|row| result.value(row, 0) == value), "{value}");
    }
}

#[test]
fn a_column_of_nulls_has_the_type_that_it_would_have_with_values() {
    let db = database();
    let result = db.run("?[name] := *people{i, name: n}, name = if(i > 9, n)", &Parameters::new());
    let result = result.unwrap();
    assert_eq!((result.len(), kind(&result, 0)), (1, "text"));
}

/// A long chain of columns of one recursion is more than the inference follows.
#[test]
fn a_long_chain_within_a_recursion_keeps_its_values() {
    let db = database();
    let names: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    let moved = names[1..].iter().chain(&names[..1]).cloned().collect::<Vec<_>>().join(", ");
    let names = names.join(", ");
    let script = format!(
        "r[{names}] := *g{{src: c0}}, {} r[{names}] := r[{moved}], c0 < 0 ?[c0, c1] := r[{names}]",
        (1..40).map(|i| format!("c{i} = c0")).collect::<Vec<_>>().join(", ")
    );
    let result = db.run(&script, &Parameters::new()).unwrap();
    assert_eq!(result.row(0), [Value::Int(1), Value::Int(1)]);
}
