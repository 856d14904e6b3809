//! Scripts on graphs with string vertices: each result and each change equals that of a plain
//! relation with the same rows.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use quipu::{
    Database, ErrorKind, GraphOptions, Isolation, Options, Parameters, Value, VertexList,
    VertexType, WeightType, WeightsRef,
};

/// Queries for the graph `g` and for the relation `r`; `G` is replaced by either name.
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
    "?[v, n, o, i] <~ DegreeCentrality(*G{dst, src})",
    "s[] <- [['v9']] e[] <- [['v1']] ?[a, b, p] <~ ShortestPathBFS(*G{dst, src}, s[], e[])",
    "s[] <- [['v1']] e[] <- [['v9']] ?[a, b, c, p] <~ ShortestPathDijkstra(*G{src, dst}, s[x], e[])",
    "s[] <- [['v1']] e[] <- [['v9']] ?[a, b, c, p] <~ ShortestPathDijkstra(*G[a], s[], e[])",
    "?[collect(b)] := *G[_, b, _]",
    "?[c, collect(a)] := *G[a, b, _], *G[b, c, _]",
    "?[a, b] := *G[a, b, _] :order -a, b :limit 5",
    "f[a, a2] := *G[a, b, _], *G[a2, b, _] ?[n] := f['v1', a2], f[a2, n]",
];

fn options() -> GraphOptions {
    GraphOptions { vertex: VertexType::Str, weight: WeightType::Float, ..GraphOptions::default() }
}

/// Edges among 25 vertices, with some self-loops, from a pseudorandom sequence.
fn edges() -> Vec<(String, String, f64)> {
    let mut state = 7;
    let mut next = |below| draw(&mut state, below);
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
    // The dictionary is available as a relation in both directions.
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

/// The next pseudorandom number below `below`.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// The result of a script: its rows, or its error without the relation's name.
fn outcome(db: &Database, script: &str, name: &str) -> Result<Vec<String>, String> {
    match db.run(script, &Parameters::new()) {
        Ok(answer) => Ok(answer.rows().map(|row| Value::List(row).to_string()).collect()),
        // The text after the first line quotes the script.
        Err(error) => {
            let message = error.to_string();
            Err(message.lines().next().unwrap().replace(&format!("`{name}`"), "`G`"))
        }
    }
}

#[test]
fn changes_by_scripts_do_to_a_graph_with_text_vertices_what_they_do_to_a_relation() {
    let db = filled();
    let mut state = 11;
    let (mut refused, mut done) = (0, 0);
    for step in 0..400 {
        let ops = ["put", "insert", "update", "rm", "delete", "ensure", "ensure_not"];
        let op = ops[draw(&mut state, 7) as usize];
        let mut given = Vec::new();
        for _ in 0..=draw(&mut state, 3) {
            let (src, dst) = (draw(&mut state, 30), draw(&mut state, 30));
            given.push(format!("['v{src}', 'v{dst}', {}]", draw(&mut state, 8) as f64 / 4.0));
        }
        let returning = if draw(&mut state, 2) == 0 { ":returning" } else { "" };
        let columns = if matches!(op, "rm" | "delete") { "src, dst" } else { "src, dst => weight" };
        let [graph, relation] = ["g", "r"].map(|name| {
            let rows = given.join(", ");
            let script =
                format!("?[src, dst, weight] <- [{rows}] :{op} {name} {{{columns}}} {returning}");
            outcome(&db, &script, name)
        });
        assert_eq!(graph, relation, "step {step}, {op}");
        if graph.is_err() {
            refused += 1
        } else {
            done += 1
        }
        if step % 20 == 0 {
            let reversed = rows(&db, "?[a, w] := *g[a, 'v7', w]");
            assert_eq!(reversed, rows(&db, "?[a, w] := *r[a, 'v7', w]"));
        }
    }
    assert!(refused > 50 && done > 50, "{refused} refused, {done} done");
    assert_eq!(rows(&db, "?[a, b, w] := *g[a, b, w]"), rows(&db, "?[a, b, w] := *r[a, b, w]"));
    let check = db.check(&|_, _| true).unwrap();
    assert!(check.is_sound(), "{check:?}");
    for name in ["g", "r"] {
        let script = format!(
            "?[src, dst, weight] <- [['v1', 'new', 1], ['new', 'newer', 2]] \
             :replace {name} {{src: String, dst: String => weight: Float}}"
        );
        db.run(&script, &Parameters::new()).unwrap();
    }
    assert_eq!(rows(&db, "?[a, b, w] := *g[a, b, w]"), rows(&db, "?[a, b, w] := *r[a, b, w]"));
    let graph = db.require_graph("g").unwrap();
    let mut words = Vec::new();
    graph.to_words(VertexList::Str(&["new"]), &mut words).unwrap();
    assert_eq!(graph.degree(words[0]).unwrap(), (2, 3.0));
    let wrong = "?[src, dst, weight] <- [[1, 'a', 1.0]] :put g {src, dst => weight}";
    let error = outcome(&db, wrong, "g").unwrap_err();
    assert!(error.contains("column `src`") && error.contains("expected String"), "{error}");
}

#[test]
fn triggers_write_texts_and_later_queries_see_them() {
    let db = filled();
    let run = |script: &str| db.run(script, &Parameters::new()).unwrap();
    run(":create log {src: String, dst: String}");
    run("::set_triggers log on put { \
           ?[src, dst, weight] := _new[src, dst], weight = 1.0 :put g {src, dst => weight} }");
    run("?[src, dst] <- [['p', 'q']] :put log {src, dst}");
    assert_eq!(rows(&db, "?[b] := *g['p', b, _]"), [r#"["q"]"#]);
    // In one script, the second query finds vertices that the first one added.
    let chained = "{ ?[src, dst, weight] <- [['x', 'y', 1.0]] :put g {src, dst => weight} } \
                   { ?[src, dst, weight] <- [['y', 'z', 1.0]] :put g {src, dst => weight} } \
                   { ?[c] := *g['x', b, _], *g[b, c, _] }";
    assert_eq!(rows(&db, chained), [r#"["z"]"#]);
}

#[test]
fn writers_of_new_texts_at_once_do_not_hinder_each_other() {
    const EACH: usize = 40;
    let db = Database::in_memory(Options { threads: 2, ..Options::default() }).unwrap();
    let graph = db.graph("g", options()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (db, graph) = (db.clone(), graph.clone());
            scope.spawn(move || {
                for i in 0..EACH {
                    let (src, dst) = (format!("{writer}-{i}"), format!("{writer}-{}", i + 1));
                    if writer == 0 {
                        let (u, v) = (VertexList::Str(&[&src]), VertexList::Str(&[&dst]));
                        graph.upsert_list(u, v, Some(WeightsRef::Float(&[1.0]))).unwrap();
                    } else {
                        let script = format!(
                            "?[src, dst, weight] <- [['{src}', '{dst}', 1.0]] \
                             :put g {{src, dst => weight}}"
                        );
                        db.run(&script, &Parameters::new()).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(rows(&db, "?[count(a)] := *g[a, b, _]"), [format!("[{}]", 4 * EACH)]);
    assert_eq!(rows(&db, "?[count(n)] := *g:names[i, n]"), [format!("[{}]", 4 * (EACH + 1))]);
    for writer in 0..4 {
        let reached = rows(
            &db,
            &format!(
                "r[b] := *g['{writer}-0', b, _] r[c] := r[b], *g[b, c, _] ?[count(b)] := r[b]"
            ),
        );
        assert_eq!(reached, [format!("[{EACH}]")]);
    }
    let check = db.check(&|_, _| true).unwrap();
    assert!(check.is_sound(), "{check:?}");
}

#[test]
fn that_an_edge_to_a_new_text_is_not_there_is_held_to_until_the_commit() {
    let db = filled();
    let tx = db.transaction(Isolation::Snapshot);
    let absent = "?[src, dst] <- [['v1', 'later']] :ensure_not g {src, dst}";
    tx.run(absent, &Parameters::new()).unwrap();
    let put = "?[src, dst, weight] <- [['v1', 'later', 1.0]] :put g {src, dst => weight}";
    db.run(put, &Parameters::new()).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let error = db.run(absent, &Parameters::new()).unwrap_err();
    assert!(error.to_string().contains("exists"), "{error}");
}

#[test]
fn rows_of_a_graph_with_text_vertices_go_out_and_come_in_as_columns() {
    let db = filled();
    let [graph, relation] = ["g", "r"].map(|name| db.relation(name).unwrap());
    let named = |relation: &quipu::Relation| {
        relation
            .columns()
            .iter()
            .map(|c| (c.name.clone(), c.column_type.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(named(&graph), named(&relation));
    let sorted = |relation: &quipu::Relation| {
        let frame = relation.to_frame().unwrap();
        let rows = (0..frame.len()).map(|row| Value::List(frame.row(row)).to_string());
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows
    };
    assert_eq!(sorted(&graph), sorted(&relation));
    let row = |src: &str, dst: &str, weight| {
        vec![Value::Str(src.into()), Value::Str(dst.into()), Value::Float(weight)]
    };
    let names = || vec!["src".to_owned(), "dst".to_owned(), "weight".to_owned()];
    let frame = |rows| quipu::Frame::of_rows(names(), rows).unwrap();
    let new = frame(vec![row("n1", "n2", 1.0), row("v1", "n1", 2.0), row("n1", "n2", 3.0)]);
    let key = |src: &str, dst: &str| {
        let row = vec![Value::Str(src.into()), Value::Str(dst.into())];
        quipu::Frame::of_rows(names()[..2].to_vec(), vec![row]).unwrap()
    };
    for relation in [&graph, &relation] {
        relation.put(&new).unwrap();
        assert!(relation.insert(&frame(vec![row("v1", "n1", 0.0)])).is_err());
        relation.insert(&frame(vec![row("v1", "n9", 0.0)])).unwrap();
        relation.update(&frame(vec![row("v1", "n1", 9.0)])).unwrap();
        relation.rm(&key("nobody", "n1")).unwrap();
        assert!(relation.delete(&key("nobody", "n1")).is_err());
        relation.delete(&key("v1", "n9")).unwrap();
    }
    assert_eq!(sorted(&graph), sorted(&relation));
    assert!(sorted(&graph).contains(&r#"["n1", "n2", 3.0]"#.to_owned()), "{:?}", sorted(&graph));
    let mut scan = graph.scan().unwrap();
    let mut scanned = 0;
    while let Some(frame) = scan.next_rows(7).unwrap() {
        scanned += frame.len();
    }
    assert_eq!(scanned as u64, graph.len().unwrap());
    // Exports from one database and imports into another; a transaction sees its own writes.
    let exported = db.export_relations(&["g"]).unwrap();
    let other = filled();
    other.run("?[src, dst] := *g[src, dst, _] :rm g {src, dst}", &Parameters::new()).unwrap();
    other.import_relations(&exported).unwrap();
    assert_eq!(sorted(&other.relation("g").unwrap()), sorted(&graph));
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.relation("g").unwrap();
    inside.put(&frame(vec![row("mine", "v1", 1.0)])).unwrap();
    assert!(sorted(&inside).iter().any(|row| row.contains("mine")));
    assert!(!sorted(&graph).iter().any(|row| row.contains("mine")));
    tx.rollback();
    assert!(db.check(&|_, _| true).unwrap().is_sound());
}
