//! Fixed rules from script to rows: each algorithm on a small graph of words and on one of numbers, its options, its mistakes.

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_exec::{Engine, Parameters};
use std::path::Path;
use std::sync::Arc;

/// Edges with weights: two ways from a to d, and a part of its own.
const WORDS: &str = "e[a, b, w] <- [
    ['a', 'b', 1], ['b', 'c', 2], ['a', 'c', 5], ['c', 'd', 1.5], ['x', 'y', 1]
]
n[v, color] <- [
    ['a', 'red'], ['b', 'red'], ['c', 'blue'], ['d', 'blue'], ['q', 'red'], ['x', 'red'], ['y', 'blue']
]
";

/// A cycle of three with a tail, numbers far apart.
const NUMBERS: &str = "e[a, b] <- [[-7, 0], [0, 1000000], [1000000, -7], [1000000, 5]]
";

fn engine() -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    Engine::new(Arc::new(store), env, 1 << 28)
}

/// The rows, a line each.
fn rows(script: &str) -> String {
    match engine().run(script, &Parameters::new()) {
        Ok(output) => (0..output.rows)
            .map(|row| output.row(row).iter().map(shown).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(error) => panic!("{}", error.render(script)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Float(float) => format!("{float:?}"),
        Value::List(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

#[track_caller]
fn check(given: &str, rule: &str, want: &str) {
    let script = format!("{given}{rule}");
    let want: Vec<&str> = want.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(rows(&script).lines().collect::<Vec<_>>(), want, "{rule}");
}

/// What is said of a mistake, with its hint, and the text that it is about.
#[track_caller]
fn refused(given: &str, rule: &str, marked: &str, want: &str) {
    let script = format!("{given}{rule}");
    let error = engine().run(&script, &Parameters::new()).unwrap_err();
    let problem = match &error {
        quipu_exec::Error::Script(problems) => problems[0].clone(),
        quipu_exec::Error::Value(problem) => problem.clone(),
        other => panic!("{other}"),
    };
    let said = problem.to_string().replace("\nhint: ", " | ");
    assert_eq!(said, want);
    assert_eq!(&script[problem.span.start as usize..problem.span.end as usize], marked);
}

#[test]
fn page_rank_ranks_vertices() {
    check(
        WORDS,
        "?[v, r] <~ PageRank(e[])",
        "
            a 0.025000000000000005
            b 0.035625000000000004
            c 0.06590625000000001
            d 0.08102031250000001
            x 0.025000000000000005
            y 0.04625000000000001
        ",
    );
    check(
        WORDS,
        "?[v, r] <~ PageRank(e[], undirected: true, theta: 0.5, epsilon: 0, iterations: 3)",
        "
            a 0.16205964265046297
            b 0.16158605504918983
            c 0.22478032995153358
            d 0.12079672165858893
            x 0.16666666666666666
            y 0.16666666666666666
        ",
    );
    check(
        NUMBERS,
        "?[v, r] <~ PageRank(e[])",
        "
            -7 0.09667938647871113
            0 0.11967747850690447
            5 0.09667098911061925
            1000000 0.1392258567308688
        ",
    );
}

#[test]
fn components_are_numbered_from_zero_and_a_lone_vertex_is_one() {
    check(WORDS, "?[] <~ ConnectedComponents(e[])", "a 0\nb 0\nc 0\nd 0\nx 1\ny 1");
    check(WORDS, "?[] <~ ConnectedComponents(e[], n[])", "a 0\nb 0\nc 0\nd 0\nq 2\nx 1\ny 1");
    check(NUMBERS, "?[] <~ ConnectedComponents(e[])", "-7 0\n0 0\n5 0\n1000000 0");
    check(WORDS, "?[] <~ StronglyConnectedComponents(e[])", "a 0\nb 1\nc 2\nd 3\nx 4\ny 5");
    check(NUMBERS, "?[] <~ SCC(e[])", "-7 0\n0 0\n5 1\n1000000 0");
}

#[test]
fn degrees_count_all_edges_those_that_leave_and_those_that_enter() {
    check(
        WORDS,
        "?[] <~ DegreeCentrality(e[], n[])",
        "
            a 2 2 0
            b 2 1 1
            c 3 1 2
            d 1 0 1
            q 0 0 0
            x 1 1 0
            y 1 0 1
        ",
    );
    check(NUMBERS, "?[] <~ DegreeCentrality(e[])", "-7 2 1 1\n0 2 1 1\n5 1 0 1\n1000000 3 2 1");
}

#[test]
fn paths_of_fewest_edges_are_null_where_there_is_none() {
    check(
        WORDS,
        "s[] <- [['a'], ['zz']] g[] <- [['d'], ['y'], ['qq'], ['a']] \
            ?[] <~ ShortestPathBFS(e[], s[], g[])",
        "
            a a null
            a d [a c d]
            a qq null
            a y null
            zz a null
            zz d null
            zz qq null
            zz y null
        ",
    );
    check(
        NUMBERS,
        "s[] <- [[5], [0]] g[] <- [[5]] ?[] <~ ShortestPathBFS(e[], s[], g[])",
        "0 5 [0 1000000 5]\n5 5 null",
    );
}

#[test]
fn paths_of_least_weight_cost_infinity_where_there_is_none() {
    check(
        WORDS,
        "s[] <- [['a'], ['zz']] g[] <- [['d'], ['y'], ['qq'], ['a']] \
            ?[] <~ ShortestPathDijkstra(e[], s[], g[])",
        "a a 0.0 [a]\na d 4.5 [a b c d]\na y inf []",
    );
    check(
        WORDS,
        "s[] <- [['d']] ?[] <~ ShortestPathDijkstra(e[], s[], undirected: true)",
        "
            d a 4.5 [d c b a]
            d b 3.5 [d c b]
            d c 1.5 [d c]
            d d 0.0 [d]
            d x inf []
            d y inf []
        ",
    );
    check(
        NUMBERS,
        "s[] <- [[0]] ?[] <~ ShortestPathDijkstra(e[], s[])",
        "
            0 -7 2.0 [0 1000000 -7]
            0 0 0.0 [0]
            0 5 2.0 [0 1000000 5]
            0 1000000 1.0 [0 1000000]
        ",
    );
    check(
        WORDS,
        "t[a, b, w] := e[a, b, w] t[a, b, w] := a = 'a', b = 'c', w = 3 s[] <- [['a']] g[] <- [['c']] \
            ?[] <~ ShortestPathDijkstra(t[], s[], g[], keep_ties: true)",
        "a c 3.0 [a b c]\na c 3.0 [a c]",
    );
}

#[test]
fn several_paths_come_cheapest_first() {
    check(
        WORDS,
        "s[] <- [['a']] g[] <- [['d']] ?[] <~ KShortestPathYen(e[], s[], g[], k: 5)",
        "a d 4.5 [a b c d]\na d 6.5 [a c d]",
    );
    check(
        NUMBERS,
        "s[] <- [[5]] g[] <- [[-7]] \
            ?[] <~ KShortestPathYen(e[], s[], g[], k: 2, undirected: true)",
        "5 -7 2.0 [5 1000000 -7]\n5 -7 3.0 [5 1000000 0 -7]",
    );
}

#[test]
fn an_order_leaves_out_what_is_on_a_cycle_or_behind_it() {
    check(WORDS, "?[] <~ TopSort(e[])", "0 x\n1 y\n2 a\n3 b\n4 c\n5 d");
    check(NUMBERS, "?[] <~ TopSort(e[])", "");
}

#[test]
fn spanning_trees_take_the_lightest_edges() {
    check(WORDS, "?[] <~ MinimumSpanningForestKruskal(e[])", "a b 1.0\nb c 2.0\nc d 1.5\nx y 1.0");
    check(
        NUMBERS,
        "?[] <~ MinimumSpanningForestKruskal(e[])",
        "-7 0 1.0\n0 1000000 1.0\n1000000 5 1.0",
    );
    check(WORDS, "?[] <~ MinimumSpanningTreePrim(e[])", "a b 1.0\nb c 2.0\nc d 1.5");
    check(WORDS, "s[] <- [['y']] ?[] <~ MinimumSpanningTreePrim(e[], s[])", "y x 1.0");
    check(
        NUMBERS,
        "s[] <- [[5]] ?[] <~ MinimumSpanningTreePrim(e[], s[])",
        "-7 0 1.0\n5 1000000 1.0\n1000000 -7 1.0",
    );
}

#[test]
fn clustering_counts_triangles() {
    check(
        WORDS,
        "?[] <~ ClusteringCoefficients(e[])",
        "
            a 1.0 1 2
            b 1.0 1 2
            c 0.3333333333333333 1 3
            d 0.0 0 1
            x 0.0 0 1
            y 0.0 0 1
        ",
    );
    check(
        NUMBERS,
        "?[] <~ ClusteringCoefficients(e[])",
        "
            -7 1.0 1 2
            0 1.0 1 2
            5 0.0 0 1
            1000000 0.3333333333333333 1 3
        ",
    );
}

#[test]
fn communities_hang_together() {
    check(
        WORDS,
        "?[] <~ CommunityDetectionLouvain(e[])",
        "[0 0] a\n[0 0] b\n[0 0] c\n[0 1] d\n[1 2] x\n[1 2] y",
    );
    check(
        WORDS,
        "?[] <~ CommunityDetectionLouvain(e[], undirected: true, max_iter: 5, delta: 0, keep_depth: 1)",
        "[0] a\n[0] b\n[0] c\n[0] d\n[1] x\n[1] y",
    );
    check(NUMBERS, "?[] <~ CommunityDetectionLouvain(e[])", "[0] -7\n[0] 0\n[0] 1000000\n[1] 5");
    check(WORDS, "?[] <~ LabelPropagation(e[])", "3 a\n3 b\n3 c\n3 d\n5 x\n5 y");
    check(
        NUMBERS,
        "?[] <~ LabelPropagation(e[], undirected: true, max_iter: 3)",
        "3 -7\n3 0\n3 5\n3 1000000",
    );
}

#[test]
fn centralities_follow_shortest_paths() {
    check(
        WORDS,
        "?[] <~ ClosenessCentrality(e[])",
        "
            a 0.3764705882352941
            b 0.32727272727272727
            c 0.5333333333333333
            d inf
            x 0.8
            y inf
        ",
    );
    check(
        NUMBERS,
        "?[] <~ ClosenessCentrality(e[], undirected: true)",
        "
            -7 1.3333333333333333
            0 1.3333333333333333
            5 1.0666666666666667
            1000000 1.7777777777777777
        ",
    );
    check(WORDS, "?[] <~ BetweennessCentrality(e[])", "a 0.0\nb 2.0\nc 2.0\nd 0.0\nx 0.0\ny 0.0");
    check(
        NUMBERS,
        "?[] <~ BetweennessCentrality(e[], undirected: true)",
        "-7 0.0\n0 0.0\n5 0.0\n1000000 4.0",
    );
}

#[test]
fn rows_get_ranks_in_the_order_that_is_asked_for() {
    check(
        WORDS,
        "?[] <~ ReorderSort(n[v, c], out: [v, c], sort_by: c, take: 3)",
        "1 c blue\n1 d blue\n1 y blue",
    );
    check(
        WORDS,
        "?[] <~ ReorderSort(n[v, c], out: [v], sort_by: c, descending: true, break_ties: true, skip: 2, take: 3)",
        "3 q\n4 x\n5 c",
    );
    check(
        NUMBERS,
        "?[] <~ ReorderSort(e[a, b], out: [a + b], sort_by: -b, take: 100)",
        "1 1000000\n2 1000005\n3 -7\n4 999993",
    );
}

#[test]
fn constant_rows_are_given_as_they_are() {
    check(NUMBERS, "?[] <~ Constant(data: [[1, 'a'], [2, 'b']])", "1 a\n2 b");
}

#[test]
fn a_rule_without_a_head_has_the_columns_of_its_algorithm() {
    check(
        WORDS,
        "r[] <~ PageRank(e[]) ?[v, w] := r[v, w], w > 0.05",
        "c 0.06590625000000001\nd 0.08102031250000001",
    );
    refused(
        WORDS,
        "r[] <~ PageRank(e[]) ?[v] := r[v]",
        "r[v]",
        "rule `r` has 2 columns, 1 is given here",
    );
    refused(
        WORDS,
        "?[a] <~ PageRank(e[])",
        "PageRank",
        "PageRank gives 2 columns, rule `?` names 1",
    );
}

#[test]
fn wrong_options_are_refused() {
    refused(
        WORDS,
        "?[] <~ PageRank(e[], undirectd: true)",
        "true",
        "PageRank has no option `undirectd` | did you mean `undirected`?",
    );
    refused(
        WORDS,
        "?[] <~ PageRank(e[], theta: 2)",
        "2",
        "PageRank: `theta` is a number from 0 to 1, found 2",
    );
    refused(
        WORDS,
        "?[] <~ PageRank(e[], iterations: 0.5)",
        "0.5",
        "PageRank: `iterations` is a whole number above zero, found 0.5",
    );
    refused(
        WORDS,
        "?[] <~ PageRank(e[], iterations: 1, iterations: 2)",
        "2",
        "PageRank is given `iterations` twice | PageRank(edges[], undirected: …, theta: …, epsilon: …, iterations: …)",
    );
    refused(
        WORDS,
        "?[] <~ PageRank(e[], undirected: 'yes')",
        "'yes'",
        "PageRank: `undirected` is true or false, found \"yes\"",
    );
    refused(
        WORDS,
        "?[] <~ KShortestPathYen(e[], n[], n[])",
        "KShortestPathYen",
        "KShortestPathYen needs the option `k` | `k` is how many paths there are to be for each pair",
    );
    refused(
        WORDS,
        "?[] <~ KShortestPathYen(e[], n[], n[], k: 0)",
        "0",
        "KShortestPathYen: `k` is a whole number above zero, found 0",
    );
}

#[test]
fn wrong_names_and_inputs_are_refused() {
    refused(
        WORDS,
        "?[] <~ PageRank()",
        "PageRank",
        "PageRank is given no `edges` | PageRank(edges[], undirected: …, theta: …, epsilon: …, iterations: …)",
    );
    refused(
        WORDS,
        "?[] <~ PageRank(e[], n[])",
        "n[]",
        "PageRank reads one relation, 2 are given | PageRank(edges[], undirected: …, theta: …, epsilon: …, iterations: …)",
    );
    refused(
        WORDS,
        "?[] <~ Pagerank(e[])",
        "Pagerank",
        "no algorithm `Pagerank` | did you mean `PageRank`?",
    );
    refused(
        WORDS,
        "?[] <~ TopSort(x[]) x[] <- [['a']]",
        "x[]",
        "TopSort reads edges, which have two columns or more | the first is the source, the second the target",
    );
    refused(
        WORDS,
        "?[] <~ ShortestPathDijkstra(x[], x[]) x[] <- [['a', 'b', 'q']]",
        "x[]",
        "\"q\" is no weight of an edge | the third column of the edges holds finite numbers",
    );
    refused(
        WORDS,
        "?[] <~ ShortestPathDijkstra(x[], x[]) x[] <- [['a', 'b', null]]",
        "x[]",
        "null is no weight of an edge | the third column of the edges holds finite numbers",
    );
    refused(
        WORDS,
        "?[] <~ ShortestPathDijkstra(x[], x[]) x[] <- [['a', 'b', -1]]",
        "x[]",
        "the edge from \"a\" to \"b\" weighs -1 | ShortestPathDijkstra takes no weights below zero",
    );
    refused(
        WORDS,
        "?[] <~ MinimumSpanningTreePrim(e[], x[]) x[] <- [['zz']]",
        "x[]",
        "\"zz\" is on no edge, so no tree starts there",
    );
    refused(
        WORDS,
        "?[] <~ MinimumSpanningTreePrim(e[], x[]) x[] <- []",
        "x[]",
        "MinimumSpanningTreePrim is given no vertex to start from",
    );
    refused(
        WORDS,
        "?[] <~ Foo()",
        "Foo",
        "no algorithm `Foo` | `::fixed_rules` lists the algorithms",
    );
}

#[test]
fn wrong_orders_and_constants_are_refused() {
    refused(
        WORDS,
        "?[] <~ ReorderSort(e[x, y, w], sort_by: w)",
        "ReorderSort",
        "ReorderSort needs the option `out` | `out` lists the columns of the result after the rank: out: [a, b]",
    );
    refused(
        WORDS,
        "?[] <~ ReorderSort(e[x, y, w], out: x)",
        "x",
        "the option `out` is a list of expressions | `out` lists the columns of the result after the rank: out: [a, b]",
    );
    refused(
        WORDS,
        "?[] <~ ReorderSort(e[x, y, w], out: [x], sort_by: weight)",
        "weight",
        "no column `weight`",
    );
    refused(
        WORDS,
        "?[] <~ ReorderSort(e[x, y, w], out: [x], skip: -1)",
        "-1",
        "ReorderSort: `skip` is a whole number that is not negative, found -1",
    );
    refused(
        WORDS,
        "?[] <~ Constant(data: [[1, 2], [3]])",
        "[[1, 2], [3]]",
        "the option `data` is a list of rows, all of them lists of one length | write rows as lists in a list: Constant(data: [[1, 'a'], [2, 'b']])",
    );
    refused(
        WORDS,
        "?[] <~ Constant()",
        "Constant",
        "Constant needs the option `data` | write rows as lists in a list: Constant(data: [[1, 'a'], [2, 'b']])",
    );
    refused(
        WORDS,
        "?[] <~ Constant(data: 1)",
        "1",
        "the option `data` is a list of rows, all of them lists of one length | write rows as lists in a list: Constant(data: [[1, 'a'], [2, 'b']])",
    );
}
