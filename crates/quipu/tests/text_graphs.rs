//! Scripts over graphs whose vertices are text: each answer is that of a plain relation with the same rows.
#![allow(clippy::unwrap_used)]

use quipu::{
    Database, ErrorKind, GraphOptions, Isolation, Options, Parameters, ScriptError, Value,
    VertexList, VertexType, WeightType, WeightsRef,
};

/// Asked of the graph `g` and of the relation `r`: `G` stands for either.
const QUESTIONS: &[&str] = &[
    "?[a, b, w] := *G[a, b, w]",
    "?[b, w] := *G['v1', b, w]",
    "?[a] := *G[a, 'v1', _]",
    "?[w] := *G['v1', 'v2', w]",
    "?[b] := *G[$v, b, _]",
    "?[b] := *G['nobody', b, _]",
    "?[b] := *G[1, b, _]",
    "?[b] := *G['v1', b, _], b == 2",
    "?[b] := *G[a, b, _], a = concat('v', '3')",
    "?[a, w] := *G{src: a, weight: w}, w > 0.5",
    "?[a] := *G[a, a, _]",
    "?[c] := *G['v1', b, _], *G[b, c, _]",
    "?[a, c] := *G[a, b, _], *G[b, c, _], not *G[a, c, _]",
    "?[a] := *G[a, _, _], not *G[_, a, _]",
    "?[x] := x in ['v1', 'nobody', 'v3'], not *G[x, 'v2', _]",
    "?[x] := x in ['v1', 'nobody', 'v3'], not *G[x, _, _]",
    "?[a, b] := *G[a, b, _], not *G[b, a, _]",
    "?[a] := *G[a, 'v2', _] or *G['v2', a, _]",
    "?[a, b] := *G[a, b, _], a > 'v2', starts_with(b, 'v1')",
    "?[a] := *G[a, _, _], a >= 'v18', a < 'v3'",
    "?[count(b)] := *G[a, b, _]",
    "?[a, count(b), sum(w)] := *G[a, b, w]",
    "?[count(a)] := *G[a, b, _], *G[b, c, _], *G[c, a, _]",
    "?[max(a), min(b)] := *G[a, b, _]",
    "r1[b] := *G['v1', b, _] r1[c] := r1[b], *G[b, c, _] ?[b] := r1[b]",
    "t[a, b] := *G[a, b, _] t[a, c] := t[a, b], *G[b, c, _] ?[b] := t['v5', b]",
    "d[b, min(n)] := *G['v1', b, _], n = 1 d[c, min(n)] := d[b, m], *G[b, c, _], n = m + 1 ?[b, n] := d[b, n]",
    "?[v, n, o, i] <~ DegreeCentrality(*G[])",
    "?[v, c] <~ ConnectedComponents(*G{src, dst})",
    "s[] <- [['v1']] e[] <- [['v9']] ?[a, b, c, p] <~ ShortestPathDijkstra(*G[src, dst, weight], s[], e[])",
    "?[a, b] := *G[a, b, _] :order -a, b :limit 5",
    "f[a, a2] := *G[a, b, _], *G[a2, b, _] ?[n] := f['v1', a2], f[a2, n]",
];

fn options() -> GraphOptions {
    GraphOptions { vertex: VertexType::Str, weight: WeightType::Float }
}

/// Edges among 25 vertices, some to themselves, by a small generator.
fn edges() -> Vec<(String, String, f64)> {
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..90)
        .map(|_| (format!("v{}", next(20)), format!("v{}", next(25)), next(8) as f64 / 4.0))
        .collect()
}

fn filled() -> Database {
    let db = Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap();
    let graph = db.graph("g", options()).unwrap();
    db.run(":create r {src: String, dst: String => weight: Float}", &Parameters::new()).unwrap();
    for (src, dst, weight) in edges() {
        let (u, v) = (VertexList::Str(&[&src]), VertexList::Str(&[&dst]));
        graph.upsert_list(u, v, Some(WeightsRef::Float(&[weight]))).unwrap();
        let script = format!(
            "?[src, dst, weight] <- [['{src}', '{dst}', {weight}]] :put r {{src, dst => weight}}"
        );
        db.run(&script, &Parameters::new()).unwrap();
    }
    db
}

fn rows(db: &Database, script: &str) -> Vec<String> {
    let parameters = Parameters::from([("v".to_owned(), Value::Str("v4".to_owned()))]);
    let answer = db.run(script, &parameters).unwrap_or_else(|error| panic!("{script}: {error}"));
    let mut rows: Vec<String> = answer.rows().map(|row| Value::List(row).to_string()).collect();
    if !script.contains(":order") {
        rows.sort();
    }
    rows
}

#[test]
fn a_graph_with_text_vertices_answers_as_a_relation_with_its_rows() {
    let db = filled();
    let mut answered = 0;
    for question in QUESTIONS {
        let [graph, relation] = ["*g", "*r"].map(|name| rows(&db, &question.replace("*G", name)));
        assert_eq!(graph, relation, "{question}");
        answered += usize::from(!graph.is_empty());
    }
    assert!(answered > QUESTIONS.len() - 6, "{answered} questions have an answer");
}

#[test]
fn components_and_names_are_those_of_the_graph() {
    let db = filled();
    let columns = rows(&db, "::columns g");
    assert!(columns[..2].iter().all(|column| column.contains("String")), "{columns:?}");
    // The dictionary is a relation that is found from both sides.
    let id = rows(&db, "?[i] := *g:names[i, 'v1']");
    assert_eq!(id, rows(&db, "?[i] := *g:ids['v1', i]"));
    assert_eq!(id.len(), 1);
    assert_eq!(
        rows(&db, "?[n] := *g:names[i, n], *g:ids[n, i]").len(),
        rows(&db, "?[n] := *g:names[_, n]").len()
    );
}

#[test]
fn a_transaction_asks_for_the_vertices_that_it_named() {
    let db = filled();
    let tx = db.transaction(Isolation::Snapshot);
    let graph = tx.graph("g").unwrap();
    let (u, v) = (VertexList::Str(&["new"]), VertexList::Str(&["v1"]));
    graph.upsert_list(u, v, Some(WeightsRef::Float(&[1.0]))).unwrap();
    let answer = tx.run("?[b] := *g['new', b, _]", &Parameters::new()).unwrap();
    assert_eq!(answer.len(), 1);
    assert!(rows(&db, "?[b] := *g['new', b, _]").is_empty());
    tx.commit().unwrap();
    assert_eq!(rows(&db, "?[b] := *g['new', b, _]"), [r#"["v1"]"#]);
}

#[test]
fn scripts_do_not_change_a_graph_with_text_vertices() {
    let db = filled();
    let before = rows(&db, "?[a, b, w] := *g[a, b, w]");
    for change in
        [":put g {src, dst => weight}", ":rm g {src, dst}", ":replace g {src, dst => weight}"]
    {
        let script = format!("?[src, dst, weight] <- [['v1', 'v2', 1.0]] {change}");
        let error = db.run(&script, &Parameters::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let hint = error.cause::<ScriptError>().unwrap().hint().map(str::to_owned);
        assert_eq!(hint.as_deref(), Some("upsert and remove edges by the calls for graphs"));
    }
    assert_eq!(rows(&db, "?[a, b, w] := *g[a, b, w]"), before);
}
