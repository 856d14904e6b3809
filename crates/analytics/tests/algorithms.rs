//! The table of algorithms: arguments, results, and graphs of odd shapes.

use model::Value;
use quipu_analytics::{
    ALGORITHMS, AlgorithmResult, Arguments, EdgeColumns, Found, Numbers, ParameterType,
    ProjectOptions, Projection, Projector, ResultColumn, Run, reason_of, run_algorithm,
};
use std::sync::Arc;
use store::{ErrorKind, Result};
use views::graph::VertexColumn;

const MB: u64 = 1 << 20;

fn projection(edges: &[(u64, u64, f64)], options: ProjectOptions) -> Arc<Projection> {
    let columns = EdgeColumns {
        sources: VertexColumn::U64(edges.iter().map(|edge| edge.0).collect()),
        targets: VertexColumn::U64(edges.iter().map(|edge| edge.1).collect()),
        weights: options.is_weighted.then(|| edges.iter().map(|edge| edge.2).collect()),
    };
    let env = env::MemoryEnv::new(2);
    Projector::new(MB).columns(columns, &options, &Run::new(&env, MB)).unwrap()
}

fn directed(edges: &[(u64, u64)]) -> Arc<Projection> {
    let edges: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
    projection(&edges, ProjectOptions::default())
}

fn arguments<const N: usize>(all: [(&str, Value); N]) -> Arguments {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn run(projection: &Arc<Projection>, name: &str, given: &Arguments) -> Result<AlgorithmResult> {
    let env = env::MemoryEnv::new(2);
    run_algorithm(projection, name, given, &Run::new(&env, MB))
}

fn ids(all: &[u64]) -> Value {
    Value::List(all.iter().map(|&id| Value::id(id)).collect())
}

#[test]
fn every_algorithm_ends_on_graphs_of_every_shape() {
    let shapes: [&[(u64, u64, f64)]; 5] = [
        &[],
        &[(7, 7, 2.0)],
        &[(1, 2, 1.0), (1, 2, 3.0), (2, 1, 0.5), (3, 3, 1.0)],
        &[(1, 2, 1.0), (2, 3, 1.0), (3, 1, 2.0), (8, 9, 1.0)],
        &[(1, 2, -1.0), (2, 3, -2.0), (4, 5, 0.0)],
    ];
    for edges in shapes {
        for (is_weighted, is_undirected) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let options = ProjectOptions { is_weighted, is_undirected, ..Default::default() };
            let projection = projection(edges, options);
            let first = edges.first().map_or(0, |edge| edge.0);
            for algorithm in ALGORITHMS {
                let mut given = Arguments::new();
                for parameter in algorithm.parameters {
                    let value = match (parameter.of, parameter.name) {
                        (ParameterType::Vertex | ParameterType::Vertices, _) => Value::id(first),
                        (ParameterType::Communities, _) => {
                            let all = projection.ids().as_u64().unwrap();
                            Value::List(vec![ids(all)])
                        }
                        _ => continue,
                    };
                    given.insert(parameter.name.to_owned(), value);
                }
                match run(&projection, algorithm.name, &given) {
                    Ok(found) => drop(found.columns().unwrap()),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}"),
                }
            }
        }
    }
}

#[test]
fn a_search_knows_its_paths_and_leaves_out_what_it_does_not_reach() {
    let graph = directed(&[(10, 20), (20, 30), (10, 30), (40, 10)]);
    let found = run(&graph, "bfs", &arguments([("source", Value::Int(10))])).unwrap();
    assert_eq!(found.row_ids().unwrap(), Some(VertexColumn::U64(vec![10, 20, 30])));
    assert_eq!(found.values(), Some(Numbers::Small(vec![0, 1, 1])));
    assert_eq!(found.path(2).unwrap(), Some(vec![0, 2]));
    let error = found.path(3).unwrap_err();
    assert_eq!(reason_of(&error), Some("no_path"));
    let columns = found.columns().unwrap();
    assert_eq!(
        columns.iter().map(|column| column.0).collect::<Vec<_>>(),
        ["vertex", "level", "parent"]
    );
    let ResultColumn::OptionalIds(parents, flags) = &columns[2].1 else { panic!("no parents") };
    assert_eq!(flags, &[false, true, true]);
    assert_eq!(parents, &VertexColumn::U64(vec![10, 10, 10]));

    let ldbc = arguments([("source", Value::Int(10)), ("variant", Value::Str("ldbc".to_owned()))]);
    let found = run(&graph, "bfs", &ldbc).unwrap();
    assert_eq!(found.values(), Some(Numbers::Int(vec![0, 1, 1, i64::MAX])));
}

#[test]
fn arguments_are_checked_and_errors_say_what_there_is() {
    let graph = directed(&[(1, 2)]);
    for (name, given, what) in [
        ("page_rank", arguments([]), "no algorithm \"page_rank\""),
        ("pagerank", arguments([("alfa", Value::Int(1))]), "has no parameter \"alfa\""),
        ("pagerank", arguments([("alpha", Value::Bool(true))]), "alpha is a number, not true"),
        (
            "pagerank",
            arguments([("variant", Value::Str("cozo".to_owned()))]),
            "\"networkx\" or \"ldbc\"",
        ),
        ("pagerank", arguments([("max_iter", Value::Int(-1))]), "max_iter is an integer from 0"),
        ("triangles", arguments([("k", Value::Int(1))]), "triangles has no parameters"),
        ("bfs", arguments([]), "bfs needs the parameter \"source\""),
        ("bfs", arguments([("source", Value::Int(5))]), "5 is not a vertex"),
        ("betweenness_centrality", arguments([("k", Value::Int(9))]), "k is 9"),
        ("modularity", arguments([("communities", ids(&[1]))]), "a list of lists of vertices"),
        ("modularity", arguments([("communities", Value::List(vec![ids(&[1])]))]), "2 is in none"),
        (
            "modularity",
            arguments([("communities", Value::List(vec![ids(&[1, 2]), ids(&[2])]))]),
            "2 is in two",
        ),
    ] {
        let error = run(&graph, name, &given).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn refusals_have_a_reason_and_the_ids_of_vertices() {
    let options = ProjectOptions { is_weighted: true, ..Default::default() };
    let cycle = projection(&[(70, 80, -2.0), (80, 70, 1.0)], options);
    let from = arguments([("source", Value::Int(70))]);
    for (graph, name, given, reason, what) in [
        (
            &cycle,
            "shortest_paths",
            &from,
            "negative_weight",
            "the edge from 70 to 80 has weight -2",
        ),
        (&cycle, "bellman_ford", &from, "negative_cycle", "is on a cycle of negative weight"),
        (&cycle, "topological_sort", &Arguments::new(), "has_cycle", "hint: "),
        (
            &directed(&[(7, 8)]),
            "eccentricity",
            &Arguments::new(),
            "disconnected",
            "8 does not reach",
        ),
        (
            &directed(&[(7, 7)]),
            "core_number",
            &Arguments::new(),
            "self_loop",
            "7 has an edge to itself",
        ),
        (&directed(&[]), "diameter", &Arguments::new(), "null_graph", "no vertices"),
    ] {
        let error = run(graph, name, given).unwrap_err();
        assert_eq!(reason_of(&error), Some(reason), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn groups_and_the_largest_values_are_found_by_vertex() {
    let graph = directed(&[(1, 2), (5, 6), (6, 5), (7, 6)]);
    let found = run(&graph, "connected_components", &Arguments::new()).unwrap();
    assert_eq!(found.groups(), Some(vec![vec![0, 1], vec![2, 3, 4]]));
    let found = run(&graph, "in_degree_centrality", &Arguments::new()).unwrap();
    assert_eq!(found.top(2), [3, 1]);
    assert_eq!(found.top(0), Vec::<u32>::new());
    assert_eq!(found.top(9).len(), 5);
    let Found::Values(columns) = &found.found else { panic!("no values") };
    assert_eq!(columns[0].1, Numbers::Float(vec![0.0, 0.25, 0.25, 0.5, 0.0]));
}

#[test]
fn pairs_of_vertices_and_numbers_are_arguments() {
    let graph = directed(&[(1, 2), (2, 3), (3, 1)]);
    let pair = |id, number| Value::List(vec![Value::Int(id), Value::Float(number)]);
    let all = Value::List(vec![pair(1, 1.0), pair(99, 5.0)]);
    let found = run(&graph, "pagerank", &arguments([("personalization", all)])).unwrap();
    assert_eq!(found.top(3), [0, 1, 2]);
    let zero = Value::List(vec![pair(1, 0.0)]);
    let error = run(&graph, "pagerank", &arguments([("personalization", zero)])).unwrap_err();
    assert_eq!(reason_of(&error), Some("zero_sum"));
}
