//! Runs algorithms on small graphs given as text and prints the resulting rows as JSON, to compare
//! them with other systems.
//!
//! Each line of the input has a name, options, a semicolon and the edges of a graph. It produces
//! one line of output: `echo "dijkstra starts=0 goals=2,3 ties=1; 0-1:2.5 1-2 0-3" | cargo run -p
//! quipu-algo --example rows`. Lists of vertices are separated by commas. The number of vertices
//! follows from the largest number, or is given as `n`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, stdin};

use quipu_algo as algo;
use quipu_algo::{Csr, Stopped, pagerank::pagerank};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn go() -> bool {
    true
}

fn main() -> Result<()> {
    for line in stdin().lock().lines() {
        let line = line?;
        let (head, edges) = line.split_once(';').ok_or("a line is `name options; edges`")?;
        let (name, options) = head.split_once(' ').unwrap_or((head, ""));
        let options = Options::read(options)?;
        let graph = read_graph(edges, options.number("n")?)?;
        let mut rows = Vec::new();
        run(name, &options, &graph, &mut rows)?;
        println!("[{}]", rows.join(","));
    }
    Ok(())
}

struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    fn read(text: &'a str) -> Result<Self> {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('='));
        Ok(Self(pairs.collect::<Option<_>>().ok_or("an option is `name=value`")?))
    }

    fn number(&self, name: &str) -> Result<u32> {
        Ok(self.0.get(name).map_or(Ok(0), |text| text.parse())?)
    }

    fn list(&self, name: &str) -> Result<Option<Vec<u32>>> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let items = text.split(',').filter(|item| !item.is_empty());
        Ok(Some(items.map(str::parse).collect::<std::result::Result<_, _>>()?))
    }
}

fn read_graph(text: &str, vertices: u32) -> Result<Csr> {
    let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for edge in text.split_whitespace() {
        let (ends, weight) = match edge.split_once(':') {
            Some((ends, weight)) => (ends, Some(weight)),
            None => (edge, None),
        };
        let (source, target) = ends.split_once('-').ok_or("an edge is `from-to:weight`")?;
        sources.push(source.parse::<u32>()?);
        targets.push(target.parse::<u32>()?);
        weights.extend(weight.map(str::parse::<f64>).transpose()?);
    }
    let most = sources.iter().chain(&targets).max().map_or(0, |&v| v as usize + 1);
    let weights = (!weights.is_empty()).then_some(&weights[..]);
    Ok(Csr::from_edges(most.max(vertices as usize), &sources, &targets, weights, &go)?)
}

fn number(value: f64) -> String {
    if value.is_infinite() { "Infinity".into() } else { format!("{value:?}") }
}

fn pairs<T>(values: Vec<T>, show: impl Fn(T) -> String, rows: &mut Vec<String>) {
    rows.extend(values.into_iter().enumerate().map(|(v, value)| format!("[{v},{}]", show(value))));
}

fn run(name: &str, options: &Options<'_>, graph: &Csr, rows: &mut Vec<String>) -> Result<()> {
    let undirected = options.number("undirected")? == 1;
    let both = if undirected { graph.symmetric(&go)? } else { graph.clone() };
    let starts = options.list("starts")?.unwrap_or_default();
    let goals = options.list("goals")?;
    let some_goals = goals.clone().unwrap_or_default();
    let limit = options.number("limit")? as usize;
    let mut output = |path: algo::dijkstra::Path<'_>| {
        let (start, goal, cost) = (path.start, path.goal, number(path.cost));
        rows.push(format!("[{start},{goal},{cost},{:?}]", path.vertices));
        Ok(())
    };
    match name {
        "components" => {
            let found = algo::components::connected_components(graph, &go)?;
            pairs(found, |v| v.to_string(), rows);
        }
        "strong_components" => {
            let found = algo::strong_components::strong_components(graph, &go)?;
            pairs(found, |v| v.to_string(), rows);
        }
        "top_sort" => {
            pairs(algo::top_sort::topological_order(graph, &go)?, |v| v.to_string(), rows)
        }
        "degrees" => pairs(
            algo::degree::degrees(graph, &go)?,
            |d| format!("{},{},{}", d.total(), d.out_edges, d.in_edges),
            rows,
        ),
        "pagerank" => {
            let order = graph.scan_order(&go)?;
            let knobs = algo::pagerank::Options {
                iterations: options.number("iterations")?,
                ..Default::default()
            };
            let incoming = both.reverse(&go)?;
            pairs(pagerank(&both, &incoming, Some(&order), knobs, &go)?, number, rows);
        }
        "closeness" => pairs(algo::closeness::closeness(&both, &go)?, number, rows),
        "betweenness" => pairs(algo::betweenness::betweenness(&both, &go)?, number, rows),
        "clustering" => pairs(
            algo::clustering::clustering_coefficients(&graph.symmetric(&go)?, &go)?,
            |c| format!("{},{},{}", number(c.coefficient), c.triangles, c.degree),
            rows,
        ),
        "labels" => pairs(
            algo::label_propagation::label_propagation(&both, Some(&both), 10, &go)?,
            |v| v.to_string(),
            rows,
        ),
        "louvain" => {
            let found = algo::louvain::louvain(graph, undirected, Default::default(), &go)?;
            for v in 0..graph.vertices() {
                rows.push(format!("[{:?},{v}]", found.labels(v)));
            }
        }
        "forest" | "tree" => {
            let found = match name {
                "forest" => algo::spanning_forest::minimum_spanning_forest(graph, &go)?,
                _ => {
                    let start = graph.scan_order(&go)?.first().copied().unwrap_or(0);
                    let start = starts.first().copied().unwrap_or(start);
                    algo::spanning_tree::minimum_spanning_tree(&graph.symmetric(&go)?, start, &go)?
                }
            };
            for edge in found {
                rows.push(format!("[{},{},{}]", edge.source, edge.target, number(edge.weight)));
            }
        }
        "paths" => {
            algo::paths::shortest_paths(
                &both,
                &starts,
                &some_goals,
                &go,
                &mut |start, goal, path| {
                    let path = path.map_or("null".into(), |path| format!("{path:?}"));
                    rows.push(format!("[{start},{goal},{path}]"));
                    Ok(())
                },
            )?;
        }
        "dijkstra" => {
            let ties = match options.number("ties")? {
                0 => algo::dijkstra::Ties::One,
                _ => algo::dijkstra::Ties::All,
            };
            algo::dijkstra::dijkstra(&both, &starts, goals.as_deref(), ties, &go, &mut output)?;
        }
        "yen" => {
            let k = options.number("k")? as usize;
            algo::k_shortest_paths::k_shortest_paths(
                &both,
                &starts,
                &some_goals,
                k,
                &go,
                &mut output,
            )?;
        }
        "astar" => {
            let estimate = &mut |_: u32, _: u32| Ok(0.0);
            algo::astar::a_star(&both, &starts, &some_goals, estimate, &go, &mut output)?;
        }
        "bfs" | "dfs" => {
            let walk = match name {
                "bfs" => algo::traverse::breadth_first,
                _ => algo::traverse::depth_first,
            };
            let odd = &mut |v: u32| Ok(v % 2 == 1);
            walk(graph, &starts, limit, odd, &go, &mut |start, v, path| {
                found(rows, start, v, path)
            })?;
        }
        other => return Err(format!("there is no algorithm {other}").into()),
    }
    Ok(())
}

fn found(
    rows: &mut Vec<String>,
    start: u32,
    v: u32,
    path: &[u32],
) -> std::result::Result<(), Stopped> {
    let mut row = String::new();
    write!(row, "[{start},{v},{path:?}]").map_err(|_| Stopped)?;
    rows.push(row);
    Ok(())
}
