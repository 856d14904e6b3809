//! Fixed rules from script to rows: each algorithm on a small graph of strings and one of numbers,
//! its options and its errors.

use crate::common::engine_of;
use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, Error, Parameters, Run};
use std::path::Path;
use std::sync::Arc;

/// Weighted edges: two paths from a to d, and a separate component.
const WORDS: &str = "e[a, b, w] <- [
    ['a', 'b', 1], ['b', 'c', 2], ['a', 'c', 5], ['c', 'd', 1.5], ['x', 'y', 1]
]
n[v, color] <- [
    ['a', 'red'], ['b', 'red'], ['c', 'blue'], ['d', 'blue'], ['q', 'red'], ['x', 'red'], ['y', 'blue']
]
";

/// A cycle of three with a tail; numbers far apart.
const NUMBERS: &str = "e[a, b] <- [[-7, 0], [0, 1000000], [1000000, -7], [1000000, 5]]
";

fn engine() -> Engine {
    engine_of(2, 1 << 28)
}

/// The rows, one per line.
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

/// Compares an error with its hint, and the text that it marks.
#[track_caller]
fn refused(given: &str, rule: &str, marked: &str, want: &str) {
    let script = format!("{given}{rule}");
    let error = engine().run(&script, &Parameters::new()).unwrap_err();
    let problem = match &error {
        quipu_session::Error::Script(problems) => problems[0].clone(),
        quipu_session::Error::Value(problem) => problem.clone(),
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
fn rankings_are_fused_by_ranks_alone() {
    let given = "a[x, s] <- [['p', 10.0], ['q', 10], ['r', 1.5]]
        b[x, d] <- [['q', 0.1], ['s', 0.2], ['q', 0.7], ['p', 0.7]]
        empty[x, s] <- []
        ";
    // Equal scores share a rank; the second `q` has rank 3 and does not count.
    let [first, third] = [1.0 / 61.0, 1.0 / 63.0];
    check(
        given,
        "?[] <~ ReciprocalRankFusion(a[], b[], empty[], descending: [true, false, true])",
        &format!("p {:?}\nq {:?}\nr {third:?}\ns {:?}", first + third, first + first, 1.0 / 62.0),
    );
    check(
        given,
        "?[] <~ ReciprocalRankFusion(a[x, s], b[x, d], k: 0, descending: false, weights: [0, 6])",
        "p 2.0\nq 6.0\nr 0.0\ns 3.0",
    );
    refused(
        given,
        "?[] <~ ReciprocalRankFusion(a[], b[], descending: [true])",
        "[true]",
        "ReciprocalRankFusion: `descending` is true or false, or a list of one for each of the 2 relations, found a list",
    );
    refused(
        "a[x, s] <- [['p', 'high']]\n",
        "?[] <~ ReciprocalRankFusion(a[])",
        "a[]",
        "ReciprocalRankFusion: a score is a number, found \"high\"",
    );
    refused(
        "a[x] <- [['p']]\n",
        "?[] <~ ReciprocalRankFusion(a[])",
        "a[]",
        "ReciprocalRankFusion reads rows of an item and its score",
    );
}

#[test]
fn relevant_results_that_differ_are_picked() {
    let given = "r[x, s, v] <- [
            ['bread', 0.9, [1, 0]], ['rolls', 0.88, [2, 0.1]], ['wine', 0.5, [0, 7]], ['none', 0.1, [0, 0]]
        ]
        ";
    let rule = |options: &str| format!("?[] <~ MaximalMarginalRelevance(r[x, s, v]{options})");
    check(given, &rule(""), "1 bread\n2 wine\n3 none\n4 rolls");
    check(given, &rule(", lambda: 1"), "1 bread\n2 rolls\n3 wine\n4 none");
    check(given, &rule(", take: 2"), "1 bread\n2 wine");
    check("r[x, s, v] <- []\n", &rule(""), "");
    refused(
        given,
        &rule(", lambda: 2"),
        "2",
        "MaximalMarginalRelevance: `lambda` is a number from 0 to 1, found 2",
    );
    let wrong = [
        ("r[x, s, v] <- [['a', 1, [1, 0]], ['b', 1, [1]]]\n", "vectors have 2 and 1 dimensions"),
        ("r[x, s, v] <- [['a', 1, 'north']]\n", "a vector is a list of numbers, found \"north\""),
    ];
    for (given, why) in wrong {
        refused(given, &rule(""), "r[x, s, v]", &format!("MaximalMarginalRelevance: {why}"));
    }
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

#[test]
fn searches_find_what_meets_the_condition() {
    check(
        WORDS,
        "?[] <~ BFS(e[], n[v, c], condition: c == 'blue', limit: 9)",
        "a c [a c]\na d [a c d]\nx y [x y]",
    );
    check(
        WORDS,
        "s[] <- [['a']] ?[] <~ BreadthFirstSearch(e[], n[v, c], s[], condition: c == 'blue')",
        "a c [a c]",
    );
    check(
        WORDS,
        "s[] <- [['a'], ['zz']] m[] <- [['b']] ?[] <~ BFS(e[], m[v], s[], condition: v == 'd')",
        "a d [a c d]",
    );
    check(
        WORDS,
        "?[] <~ DFS(e[], n[v, c], condition: c == 'blue', limit: 9)",
        "a c [a c]\na d [a c d]\nx y [x y]",
    );
    check(
        WORDS,
        "s[] <- [['a']] ?[] <~ DepthFirstSearch(e[], n[v, c], s[], condition: c == 'blue')",
        "a c [a c]",
    );
    check(
        NUMBERS,
        "n[v, w] <- [[-7, 1], [0, 2], [5, 3], [1000000, 4]] s[] <- [[0]] \
            ?[] <~ BFS(e[], n[v, w], s[], condition: w % 2 == 1, limit: 3)",
        "0 -7 [0 1000000 -7]\n0 5 [0 1000000 5]",
    );
    check(
        NUMBERS,
        "n[v, w] <- [[-7, 1], [0, 2], [5, 3], [1000000, 4]] s[] <- [[0]] \
            ?[] <~ DFS(e[], n[v, w], s[], condition: w % 2 == 1, limit: 1)",
        "0 5 [0 1000000 5]",
    );
}

#[test]
fn an_estimate_may_use_the_columns_of_vertex_and_goal() {
    check(
        WORDS,
        "s[] <- [['a'], ['zz']] g[] <- [['d'], ['y'], ['qq']] \
            ?[] <~ ShortestPathAStar(e[], n[v, c], s[], g[w], heuristic: if(v == w, 0, 1))",
        "
            a d 4.5 [a b c d]
            a qq inf []
            a y inf []
            zz d inf []
            zz qq inf []
            zz y inf []
        ",
    );
    check(
        NUMBERS,
        "n[v, x] <- [[-7, 1], [0, 2], [5, 3], [1000000, 4]] s[] <- [[0]] g[v, x] <- [[5, 3]] \
            ?[] <~ ShortestPathAStar(e[], n[v, x], s[], g[gv, gx], heuristic: abs(x - gx) / 2)",
        "0 5 2.0 [0 1000000 5]",
    );
}

#[test]
fn walks_take_no_step_that_weighs_nothing() {
    check(
        WORDS,
        "s[] <- [['x'], ['q']] ?[] <~ RandomWalk(e[], n[], s[], steps: 3)",
        "1 q [q]\n2 x [x y]",
    );
    check(
        WORDS,
        "s[] <- [['a']] \
            ?[] <~ RandomWalk(e[p, q, w], n[v, c], s[], steps: 3, iterations: 2, weight: if(q == 'c' || c == 'blue', 1, 0))",
        "1 a [a c d]\n2 a [a c d]",
    );
    check(
        NUMBERS,
        "n[] <- [[-7], [0], [5], [1000000]] s[] <- [[0]] \
            ?[] <~ RandomWalk(e[p, q], n[v], s[], steps: 4, weight: if(q == 5, 0.0, p + 8))",
        "1 0 [0 1000000 -7 0 1000000]",
    );
}

#[test]
fn wrong_conditions_estimates_and_weights_are_refused() {
    refused(
        WORDS,
        "?[] <~ BFS(e[], n[])",
        "BFS",
        "BFS needs the option `condition` | `condition` says of the columns of the second relation which vertices are looked for",
    );
    refused(
        WORDS,
        "?[] <~ BFS(e[], n[v, c], condition: c)",
        "c",
        "condition: expected a Bool, found a String (\"red\")",
    );
    refused(
        WORDS,
        "?[] <~ BFS(e[], n[v, c], condition: colour == 'red')",
        "colour",
        "no column `colour`",
    );
    refused(
        WORDS,
        "m[] <- [['a', 1]] ?[] <~ DFS(e[], m[v, c], condition: c == 2)",
        "m[v, c]",
        "DFS needs the row of \"c\", and there is none | each vertex that is reached has a row in this relation",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ ShortestPathAStar(e[], n[v, c], s[], s[w])",
        "ShortestPathAStar",
        "ShortestPathAStar needs the option `heuristic` | `heuristic` estimates from the columns of the second and the fourth relation what remains to the goal; 0 is always right",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ ShortestPathAStar(e[], n[v, c], s[], n[w, d], heuristic: c)",
        "c",
        "`heuristic` is a number, found \"red\"",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ ShortestPathAStar(e[], n[v, c], s[], n[w, d], heuristic: 0 / 0)",
        "e[]",
        "the cost that remains from \"b\" is not a number",
    );
    refused(
        WORDS,
        "s[] <- [['zz']] ?[] <~ RandomWalk(e[], n[], s[], steps: 3)",
        "s[]",
        "\"zz\" is none of the nodes, so no walk starts there",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ RandomWalk(e[], n[], s[])",
        "RandomWalk",
        "RandomWalk needs the option `steps` | `steps` is how long a walk gets",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ RandomWalk(e[], n[v, c], s[], steps: 1, weight: -1)",
        "e[]",
        "the edge from \"a\" to \"b\" weighs -1 | RandomWalk takes no weights below zero",
    );
    refused(
        WORDS,
        "s[] <- [['a']] ?[] <~ RandomWalk(e[], n[v, c], s[], steps: 1, weight: c)",
        "c",
        "`weight` is a number, found \"red\"",
    );
}

#[test]
fn wrong_options_of_readers_are_refused() {
    refused(
        WORDS,
        "?[] <~ CsvReader(url: 'file:///none.csv', types: ['Int'])",
        "'file:///none.csv'",
        "cannot open /none.csv: entity not found",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(url: 'http://a/b', types: ['Int'])",
        "'http://a/b'",
        "http is not read: a query opens no connection | fetch the file first, and name it as 'file:///folder/name'",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(url: '/a/b', types: ['Int'])",
        "'/a/b'",
        "\"/a/b\" is no URL | name a file as 'file:///a/b'",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(url: 'file:///a.csv', types: ['int'])",
        "['int']",
        "there is no type \"int\" | did you mean `Int`?",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(url: 'file:///a.csv', types: 'Int')",
        "'Int'",
        "CsvReader: `types` is a list of text, found \"Int\"",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(url: 'file:///a.csv', types: ['Int'], delimiter: ';;')",
        "';;'",
        "CsvReader: `delimiter` is one character of ASCII",
    );
    refused(
        WORDS,
        "?[] <~ CsvReader(types: ['Int'])",
        "CsvReader",
        "CsvReader needs the option `url` | `url` names a file: url: 'file:///folder/name'",
    );
    refused(
        WORDS,
        "?[a] <~ CsvReader(url: 'file:///a.csv', types: ['Int'], prepend_index: true)",
        "CsvReader",
        "CsvReader gives 2 columns, rule `?` names 1",
    );
    refused(
        WORDS,
        "?[] <~ JsonReader(url: 'file:///a.csv')",
        "JsonReader",
        "JsonReader needs the option `fields` | `fields` lists the names that become columns: fields: ['id', 'name']",
    );
    refused(
        WORDS,
        "?[] <~ JsonReader(url: 'file:///a.csv', fields: [1])",
        "[1]",
        "JsonReader: `fields` is a list of text, found 1",
    );
}

#[test]
fn an_empty_graph_has_no_vertices() {
    let of_edges = [
        "PageRank",
        "ConnectedComponents",
        "SCC",
        "DegreeCentrality",
        "TopSort",
        "ClusteringCoefficients",
        "ClosenessCentrality",
        "BetweennessCentrality",
        "CommunityDetectionLouvain",
        "LabelPropagation",
        "MinimumSpanningForestKruskal",
        "MinimumSpanningTreePrim",
    ];
    for given in ["e[a, b] <- []\n", "e[] <- []\n", "e[a, b] := a in [], b = a\n"] {
        for name in of_edges {
            check(given, &format!("?[] <~ {name}(e[])"), "");
        }
        let given = format!("{given}v[x] <- [[1], [2]]\n");
        check(&given, "?[] <~ ShortestPathDijkstra(e[], v[])", "");
        check(&given, "?[] <~ KShortestPathYen(e[], v[], v[], k: 1)", "");
        check(&given, "?[] <~ BFS(e[], v[x], condition: true)", "");
        check(&given, "?[] <~ RandomWalk(e[], v[], e[], steps: 1)", "");
        check(&given, "?[] <~ ShortestPathBFS(e[], e[], v[])", "");
        check(&given, "?[] <~ ShortestPathAStar(e[], v[x], e[], v[y], heuristic: 0)", "");
        check(&given, "?[] <~ DFS(e[], v[x], condition: x == 2)", "2 2 [2]");
        check(&given, "?[] <~ ConnectedComponents(e[], v[])", "1 0\n2 1");
    }
    check("e[a, b] <- []\n", "?[] <~ ReorderSort(e[a, b], out: [a])", "");
    check("", "?[] <~ Constant(data: [])", "");
}

#[test]
fn edges_are_read_from_the_store_and_options_from_parameters() {
    let engine = engine();
    let mut parameters = Parameters::new();
    let put = "?[a, b, w] <- [['x', 'y', 1], ['y', 'z', 2]] :create edge {w, a, b}";
    engine.run(put, &parameters).unwrap();
    parameters.insert("times".to_owned(), Value::Int(1));
    parameters.insert("from".to_owned(), Value::Str("x".to_owned()));
    let run = |script: &str| {
        let output = engine.run(script, &parameters).unwrap();
        (0..output.rows)
            .map(|row| output.row(row).iter().map(shown).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let yen = "s[] <- [[$from]] g[] <- [['z']]
        ?[] <~ KShortestPathYen(*edge{a, b, w}, s[], g[], k: $times * 2)";
    assert_eq!(run(yen), ["x z 3.0 [x y z]"]);
    // Without bindings the columns keep their order and names.
    assert_eq!(run("?[] <~ ReorderSort(*edge[], out: [b, w], sort_by: -w)"), ["1 z 2", "2 y 1"]);
    assert_eq!(run("?[] <~ ReorderSort(*edge{b: to}, out: [to])"), ["1 y", "1 z"]);
    let search = "?[] <~ BFS(*edge{a, b}, *edge{b, w}, condition: w > $times, limit: 5)";
    assert_eq!(run(search), ["y z [y z]"]);
}

#[test]
fn a_stopped_query_and_one_that_holds_too_much_end() {
    let parameters = Parameters::new();
    let run = Run { go_on: Some(&|| false), ..Run::new(&parameters) };
    let script = format!("{NUMBERS}?[] <~ PageRank(e[])");
    let stopped = engine().run_with(&script, &run).unwrap_err();
    assert!(matches!(stopped, quipu_session::Error::Stopped(_)), "{stopped}");

    let small = crate::common::engine_of(2, 1 << 18);
    let complete = "v[x] := x in int_range(40) e[a, b] := v[a], v[b], a != b
        s[] <- [[0]] g[] <- [[1]]
        ?[] <~ KShortestPathYen(e[], s[], g[], k: 100000)";
    let refused = small.run(complete, &Parameters::new()).unwrap_err();
    assert!(matches!(refused, quipu_session::Error::Limit(_)), "{refused}");
}

#[test]
fn files_become_rows() {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let files = [
        ("/a.csv", "id,name,x,u\r\n1,\"a, \"\"b\"\"\",1.5,\r\n\r\n2,\"two\nlines\",,true\n3,d"),
        ("/b.csv", "1;[1, 2];{\"b\":1,\"a\":2}\n2.0; 3 ;"),
        (
            "/a.jsonl",
            "{\"a\": 1, \"b\": [1, {\"c\": null}], \"d\": {\"z\": 1.5}}\n\n{\"a\": 12345678901234567890, \"b\": true}\n",
        ),
        ("/a.json", "[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}]"),
        ("/broken.json", "[{\"a\": 1},\n {\"a\" 2}]"),
        ("/no_comma.json", "[{\"a\": 1}\n {\"a\": 2}]"),
        ("/open.json", " [ {\"a\": 1},\n"),
        ("/comma.json", "[{\"a\": 1},\n]"),
        ("/none.json", " [\n]\n"),
        ("/behind.json", "[{\"a\": 1}]\n]"),
        ("/unclosed.csv", "id,name\n1,\"a\nb\"\n2,\"open, \"\"all\"\"\n3,c\n"),
    ];
    for (path, text) in files {
        let mut file = env.create(Path::new(path)).unwrap();
        file.append(text.as_bytes()).unwrap();
        file.flush().unwrap();
    }
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), env, 1 << 28);
    let run = |script: &str| match engine.run(script, &Parameters::new()) {
        Ok(output) => (0..output.rows)
            .map(|row| output.row(row).iter().map(shown).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("|"),
        Err(error) => error.to_string(),
    };
    let csv = |options: &str| run(&format!("?[] <~ CsvReader(url: 'file:///a.csv', {options})"));
    assert_eq!(
        csv("types: ['Int', 'String', 'Float?', 'Any']"),
        "1 a, \"b\" 1.5 |2 two\nlines null true|3 d null null"
    );
    assert_eq!(
        csv("types: ['Int?', 'String'], has_headers: false, prepend_index: true"),
        "0 null name|1 1 a, \"b\"|2 2 two\nlines|3 3 d"
    );
    assert_eq!(
        run("?[] <~ CsvReader(url: 'file:///unclosed.csv', types: ['Int', 'String'])"),
        "line 4 of the file has a quote that nothing closes"
    );
    assert_eq!(
        csv("types: ['Int', 'Bool']"),
        "line 2 of the file has \"a, \\\"b\\\"\" in column 2"
    );
    assert_eq!(csv("types: ['Int', 'String', 'Float']"), "line 4 of the file has \"\" in column 3");
    assert_eq!(
        run("?[] <~ CsvReader(url: 'file:///b.csv', types: ['Int', '[Int]?', 'Json?'],
            has_headers: false, delimiter: ';')"),
        "1 [1 2] {\"a\":2,\"b\":1}|2 null null"
    );
    let json = |options: &str| run(&format!("?[] <~ JsonReader({options})"));
    assert_eq!(
        json("url: 'file:///a.jsonl', fields: ['a', 'b']"),
        "1 [1 {\"c\":null}]|12345678901234567890 true"
    );
    assert_eq!(
        json(
            "url: 'file:///a.jsonl', fields: ['a', 'd'], null_if_absent: true, prepend_index: true"
        ),
        "0 1 {\"z\":1.5}|1 12345678901234567890 null"
    );
    assert_eq!(
        json("url: 'file:///a.json', fields: ['b'], json_lines: false, null_if_absent: true"),
        "null|x"
    );
    assert_eq!(
        json("url: 'file:///a.jsonl', fields: ['a', 'd']"),
        "item 2 of the file has no field `d`"
    );
    let array =
        |name: &str| json(&format!("url: 'file:///{name}.json', fields: ['a'], json_lines: false"));
    let no_json = |line: usize, what: &str| format!("line {line} of the file is no JSON: {what}");
    assert_eq!(array("a"), "1|2");
    assert_eq!(array("none"), "");
    assert_eq!(array("broken"), no_json(2, "expected `:` at line 2 column 7"));
    assert_eq!(array("no_comma"), no_json(2, "expected `,` or `]` at line 2 column 2"));
    assert_eq!(array("open"), no_json(2, "EOF while parsing a value at line 2 column 1"));
    assert_eq!(array("comma"), no_json(2, "trailing comma at line 2 column 1"));
    assert_eq!(array("behind"), no_json(2, "trailing characters at line 2 column 1"));
    assert_eq!(json("url: 'file:///a.json', fields: ['a']"), "line 1 of the file is an array");
    assert_eq!(
        json("url: 'file:///a.jsonl', fields: ['a'], json_lines: false"),
        "line 3 of the file is no JSON: trailing characters at line 3 column 1"
    );
}

/// Found by an audit: the whole file was parsed into a tree, whatever the query's limit.
#[test]
fn json_that_becomes_more_than_a_query_may_hold_is_refused_and_an_array_is_read_item_by_item() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let rows: Vec<String> = (0..100_000).map(|i| format!("{{\"a\": {i}}}")).collect();
    let long = format!("{{\"a\": [{}1]}}", "1,".repeat(1 << 20));
    for (path, text) in [
        ("/rows.json", format!("[{}]", rows.join(","))),
        ("/long.json", format!("[{long}]")),
        ("/long.jsonl", long),
    ] {
        let mut file = env.create(Path::new(path)).unwrap();
        file.append(text.as_bytes()).unwrap();
        file.flush().unwrap();
    }
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), env, 16 << 20);
    let read = |options: &str| {
        let script = format!("r[a] <~ JsonReader({options}, fields: ['a'])\n?[count(a)] := r[a]");
        engine.run(&script, &Parameters::new())
    };
    let found = read("url: 'file:///rows.json', json_lines: false").unwrap();
    assert_eq!(found.row(0), [Value::Int(100_000)]);
    for options in ["url: 'file:///long.json', json_lines: false", "url: 'file:///long.jsonl'"] {
        let refused = read(options);
        assert!(matches!(refused, Err(Error::Limit(_))), "{options}: {refused:?}");
    }
}

#[test]
fn a_rule_whose_rows_tell_its_columns_has_those_it_is_used_with() {
    let open = "r[] <~ Constant(data: concat([], [[1, 2]]))\n";
    check(open, "?[a, b] := r[a, b]", "1 2");
    check(open, "?[] <~ DegreeCentrality(r[a, b])", "1 1 1 0\n2 1 0 1");
    check(open, "?[] <~ DegreeCentrality(r[])", "1 1 1 0\n2 1 0 1");
    refused(open, "?[a] := r[a]", "Constant", "Constant gives 2 columns, rule `r` has 1");
    refused(
        open,
        "?[] <~ ReorderSort(r[a, b, c], out: [c])",
        "r[a, b, c]",
        "rule `r` has 2 columns, 3 are given here",
    );
    let empty = "r[] <~ Constant(data: concat([], []))\n";
    check(empty, "?[a, b] := r[a, b]", "");
    check(empty, "?[] <~ PageRank(r[a, b])", "");
    check(empty, "?[] <~ PageRank(r[])", "");
    check("", "?[] <- concat([[1, 2]], [[3, 4]])", "1 2\n3 4");
    check("r[] <- concat([[1, 2]], [])\n", "?[b] := r[_, b]", "2");
}

#[test]
fn all_names_are_listed() {
    assert_eq!(rows("::fixed_rules").lines().count(), 52);
}

#[test]
fn a_graph_that_is_kept_follows_what_is_written() {
    for vertex in ["i", "concat('v', to_string(i + 10000))"] {
        let engine = engine();
        let run = |script: &str| {
            let output = engine.run(script, &Parameters::new()).unwrap();
            (0..output.rows)
                .map(|row| output.row(row).iter().map(shown).collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        run(&format!(
            "w[i, v] := i in int_range(2001), v = {vertex}
             ?[a, b] := w[i, a], w[j, b], j == i + 1 :create edge {{a, b}}"
        ));
        let count =
            "c[v, k] <~ ConnectedComponents(*edge[]) ?[count_unique(k), count(v)] := c[v, k]";
        let lone = "n[] <- [[-1], [7], ['v10007'], ['w']]
            c[v, k] <~ ConnectedComponents(*edge[], n[])
            ?[count_unique(k), count(v)] := c[v, k]";
        for _ in 0..2 {
            assert_eq!(run(count), ["1 2001"]);
            assert_eq!(run(lone), ["4 2004"]);
        }
        run("?[a, b] <- [['new', 'newer']] :put edge {a, b}");
        assert_eq!(run(count), ["2 2003"]);
        assert_eq!(run(lone), ["5 2006"]);
        // A transaction sees its own writes, and others see nothing of those that it rolls back.
        let script = format!("{{ ?[a, b] <- [['x', 'y']] :put edge {{a, b}} }} {{ {count} }}");
        assert_eq!(run(&script), ["3 2005"]);
        let script = "{ ?[a, b] := *edge[a, b] :rm edge {a, b} }
            { ?[] <~ PageRank(*edge[]) } { ?[a] := a = 1 / 'x' }";
        engine.run(script, &Parameters::new()).unwrap_err();
        assert_eq!(run(count), ["3 2005"]);
    }
}

#[test]
fn a_graph_that_is_kept_goes_with_its_relation() {
    let engine = engine();
    let parameters = Parameters::new();
    let make = "?[a, b] := a in int_range(2000), b = a + 1 :create edge {a, b}";
    let ask = "?[] <~ TopSort(*edge[])";
    engine.run(make, &parameters).unwrap();
    assert_eq!(engine.run(ask, &parameters).unwrap().rows, 2001);
    engine.run("::remove edge", &parameters).unwrap();
    let error = engine.run(ask, &parameters).map(|output| output.rows).unwrap_err();
    assert_eq!(error.to_string(), "no relation `edge`");
    engine.run("?[a, b] <- [[1, 2]] :create edge {a, b}", &parameters).unwrap();
    assert_eq!(engine.run(ask, &parameters).unwrap().rows, 2);
    engine
        .run("?[a, b, c] <- [[1, 2, 3], [2, 3, 4]] :replace edge {a, b, c}", &parameters)
        .unwrap();
    assert_eq!(engine.run(ask, &parameters).unwrap().rows, 3);
}
