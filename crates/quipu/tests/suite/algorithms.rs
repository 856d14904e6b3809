//! Algorithms through the database, and results that are written to relations.

use quipu::{
    Arguments, Database, ErrorKind, GraphOptions, Options, Parameters, ProjectOptions, RunOptions,
    Value, VertexList, VertexType, algorithm_batch,
};

fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    db.run(query, &Parameters::new()).unwrap().rows().collect()
}

#[test]
fn a_result_becomes_a_relation_that_is_replaced_by_the_next() {
    let db = Database::in_memory(Options::default()).unwrap();
    let options = GraphOptions { vertex: VertexType::Str, ..Default::default() };
    let graph = db.graph("g", options).unwrap();
    let (us, vs) = (VertexList::Str(&["a", "b", "a"]), VertexList::Str(&["b", "c", "c"]));
    graph.upsert_list(us, vs, None).unwrap();
    let run = db.analytics_run();
    let projection = db.project(&graph, &ProjectOptions::default(), &run).unwrap();
    let call =
        |name: &str, given: &Arguments| db.run_algorithm(&projection, name, given, &run).unwrap();
    let none = Arguments::new();
    let text = |text: &str| Value::Str(text.to_owned());

    let cores = call("core_number", &none);
    db.write_result(&cores, "found", &RunOptions::default()).unwrap();
    let want: Vec<_> = ["a", "b", "c"].iter().map(|id| vec![text(id), Value::Int(2)]).collect();
    assert_eq!(rows(&db, "?[vertex, core] := *found{vertex, core}"), want);

    let from = Arguments::from([("source".to_owned(), text("b"))]);
    db.write_result(&call("bfs", &from), "found", &RunOptions::default()).unwrap();
    let want =
        [vec![text("b"), Value::Int(0), Value::Null], vec![text("c"), Value::Int(1), text("b")]];
    assert_eq!(rows(&db, "?[vertex, level, parent] := *found{vertex, level, parent}"), want);

    let tree = call("minimum_spanning_tree", &none);
    db.write_result(&tree, "tree", &RunOptions::default()).unwrap();
    assert_eq!(rows(&db, "?[count(source)] := *tree{source, target, weight}"), [[Value::Int(2)]]);

    let error = db.write_result(&tree, "g", &RunOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_result_is_an_arrow_batch_with_ids() {
    let db = Database::in_memory(Options::default()).unwrap();
    let graph = db.graph("g", GraphOptions::default()).unwrap();
    graph.upsert_many(&[u64::MAX, 1], &[1, 2], None).unwrap();
    let run = db.analytics_run();
    let projection = db.project(&graph, &ProjectOptions::default(), &run).unwrap();
    let found = db.run_algorithm(&projection, "hits", &Arguments::new(), &run).unwrap();
    let batch = algorithm_batch(&found).unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(
        (names, batch.num_rows()),
        (["vertex", "hub", "authority"].map(str::to_owned).into(), 3)
    );
    db.write_result(&found, "h", &RunOptions::default()).unwrap();
    assert_eq!(rows(&db, "?[max(vertex)] := *h{vertex}"), [[Value::id(u64::MAX)]]);
}
