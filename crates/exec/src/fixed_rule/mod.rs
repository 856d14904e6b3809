//! Fixed rules: the algorithms and utilities that `<~` applies to relations.
//!
//! # How to add one
//! A line in `TABLE` gives its names, its inputs, its options and its number of columns; a function
//! in the file of its family evaluates it. The line is checked before the function is called, so
//! the function only reads inputs and options that may exist.

pub mod registry;

mod cache;
mod call;
mod centrality;
mod cohesion;
mod communities;
mod components;
mod file;
mod flow;
mod matching;
mod measures;
mod options;
mod parquet;
mod paths;
mod projection;
mod ranking;
mod reader;
mod search;
mod similarity;
mod utility;

use crate::context::{Algorithms, ExecContext};
use crate::error::{Error, Result};
use crate::files::Files;
use crate::fixed_rule::registry::UserDefined;
use crate::host::Host;
use crate::value::cell::Cell;
pub use cache::Projections;
pub use call::CachedProjections;
pub(crate) use call::Call;
use plan::{AlgorithmColumns, FixedUse};
use syntax::{Diagnostic, Expr, Ident};

/// The built-in and user-defined fixed rules, as [`Algorithms`] of a query.
pub struct Library<'e> {
    /// The projection cache; `None` for a query that may see uncommitted changes.
    pub kept: Option<CachedProjections<'e>>,
    /// The user-defined rules.
    pub own: &'e UserDefined,
    /// The database around the engine, which reads Parquet files.
    pub host: Option<&'e dyn Host>,
    /// Files that may be read.
    pub files: &'e Files,
}

/// Number of columns of an algorithm's result.
#[derive(Clone, Copy)]
enum Arity {
    /// A constant.
    Is(usize),
    /// That of the rows in the option `data`.
    Data,
    /// The number of items in this option, plus a constant.
    Items(&'static str, usize),
    /// The number of items in this option, plus one if `prepend_index` is true.
    Indexed(&'static str),
}

/// Static description of an algorithm.
struct Algorithm {
    /// Its name, then its aliases.
    names: &'static [&'static str],
    /// Names of its inputs, in order.
    inputs: &'static [&'static str],
    /// Number of required inputs.
    inputs_min: usize,
    /// Names of its options.
    options: &'static [&'static str],
    /// Its number of columns.
    arity: Arity,
    /// The columns that hold vertices of its inputs.
    vertices: &'static [usize],
    /// Evaluates it.
    run: fn(&Call<'_, '_>) -> Result<Vec<Vec<Cell>>>,
}

/// All built-in algorithms, by name.
#[rustfmt::skip]
const TABLE: &[Algorithm] = &[
    Algorithm { names: &["ApproximateBetweenness"], inputs: &["edges"], inputs_min: 1, options: &["undirected", "error", "confidence", "seed"], arity: Arity::Is(2), vertices: &[0], run: centrality::approximate_betweenness },
    Algorithm { names: &["ArticulationPoints"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(1), vertices: &[0], run: cohesion::articulation_points },
    Algorithm { names: &["BetweennessCentrality"], inputs: &["edges"], inputs_min: 1, options: &["undirected"], arity: Arity::Is(2), vertices: &[0], run: centrality::betweenness },
    Algorithm { names: &["BiconnectedComponents"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0], run: cohesion::biconnected_components },
    Algorithm { names: &["BreadthFirstSearch", "BFS"], inputs: &["edges", "nodes", "starts"], inputs_min: 2, options: &["condition", "limit"], arity: Arity::Is(3), vertices: &[0, 1], run: search::breadth_first },
    Algorithm { names: &["Bridges"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0, 1], run: cohesion::bridges },
    Algorithm { names: &["ClosenessCentrality"], inputs: &["edges"], inputs_min: 1, options: &["undirected"], arity: Arity::Is(2), vertices: &[0], run: centrality::closeness },
    Algorithm { names: &["ClusteringCoefficients"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(4), vertices: &[0], run: centrality::clustering },
    Algorithm { names: &["CommunityDetectionLeiden"], inputs: &["edges"], inputs_min: 1, options: &["resolution", "seed"], arity: Arity::Is(2), vertices: &[1], run: communities::leiden },
    Algorithm { names: &["CommunityDetectionLouvain"], inputs: &["edges"], inputs_min: 1, options: &["undirected", "max_iter", "delta", "keep_depth"], arity: Arity::Is(2), vertices: &[1], run: communities::louvain },
    Algorithm { names: &["ConnectedComponents"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0], run: components::connected },
    Algorithm { names: &["Constant"], inputs: &[], inputs_min: 0, options: &["data"], arity: Arity::Data, vertices: &[], run: utility::constant },
    Algorithm { names: &["CoreNumbers"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0], run: components::cores },
    Algorithm { names: &["CsvReader"], inputs: &[], inputs_min: 0, options: &["url", "types", "delimiter", "prepend_index", "has_headers"], arity: Arity::Indexed("types"), vertices: &[], run: reader::csv },
    Algorithm { names: &["DegreeCentrality"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(4), vertices: &[0], run: centrality::degree },
    Algorithm { names: &["DepthFirstSearch", "DFS"], inputs: &["edges", "nodes", "starts"], inputs_min: 2, options: &["condition", "limit"], arity: Arity::Is(3), vertices: &[0, 1], run: search::depth_first },
    Algorithm { names: &["EgoGraph"], inputs: &["edges", "starts"], inputs_min: 2, options: &["undirected", "radius", "weighted"], arity: Arity::Is(4), vertices: &[0, 1, 2], run: measures::ego },
    Algorithm { names: &["GraphSummary"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[], run: measures::summary },
    Algorithm { names: &["GreedyColoring"], inputs: &["edges", "nodes"], inputs_min: 1, options: &["order"], arity: Arity::Is(2), vertices: &[0], run: matching::coloring },
    Algorithm { names: &["JsonReader"], inputs: &[], inputs_min: 0, options: &["url", "fields", "json_lines", "null_if_absent", "prepend_index"], arity: Arity::Indexed("fields"), vertices: &[], run: reader::json },
    Algorithm { names: &["KShortestPathYen"], inputs: &["edges", "starts", "goals"], inputs_min: 3, options: &["k", "undirected"], arity: Arity::Is(4), vertices: &[0, 1], run: paths::yen },
    Algorithm { names: &["LabelPropagation"], inputs: &["edges"], inputs_min: 1, options: &["undirected", "max_iter"], arity: Arity::Is(2), vertices: &[1], run: communities::label_propagation },
    Algorithm { names: &["LabelPropagationSynchronous"], inputs: &["edges", "nodes"], inputs_min: 1, options: &["max_iter"], arity: Arity::Is(2), vertices: &[0, 1], run: communities::synchronous },
    Algorithm { names: &["MaximalIndependentSet"], inputs: &["edges", "nodes"], inputs_min: 1, options: &["seed"], arity: Arity::Is(1), vertices: &[0], run: matching::independent },
    Algorithm { names: &["MaximalMarginalRelevance"], inputs: &["rows"], inputs_min: 1, options: &["lambda", "take"], arity: Arity::Is(2), vertices: &[], run: ranking::maximal_marginal_relevance },
    Algorithm { names: &["MaximalMatching"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0, 1], run: matching::maximal },
    Algorithm { names: &["MaximumBipartiteMatching"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0, 1], run: matching::bipartite },
    Algorithm { names: &["MaximumFlow"], inputs: &["edges", "source", "sink"], inputs_min: 3, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: flow::maximum_flow },
    Algorithm { names: &["MaximumWeightMatching"], inputs: &["edges"], inputs_min: 1, options: &["max_cardinality"], arity: Arity::Is(2), vertices: &[0, 1], run: matching::heaviest },
    Algorithm { names: &["MinimumCut"], inputs: &["edges", "source", "sink"], inputs_min: 3, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: flow::minimum_cut },
    Algorithm { names: &["MinimumSpanningForestKruskal"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: components::forest },
    Algorithm { names: &["MinimumSpanningTreePrim"], inputs: &["edges", "start"], inputs_min: 1, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: components::tree },
    Algorithm { names: &["MostSimilar"], inputs: &["edges", "starts"], inputs_min: 2, options: &["measure", "k"], arity: Arity::Is(3), vertices: &[0, 1], run: similarity::most_similar },
    Algorithm { names: &["NeighborSimilarity"], inputs: &["edges", "pairs"], inputs_min: 2, options: &["measure"], arity: Arity::Is(3), vertices: &[0, 1], run: similarity::of_pairs },
    Algorithm { names: &["OnionLayers"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0], run: components::onion },
    Algorithm { names: &["PageRank"], inputs: &["edges"], inputs_min: 1, options: &["undirected", "theta", "epsilon", "iterations"], arity: Arity::Is(2), vertices: &[0], run: centrality::pagerank },
    Algorithm { names: &["ParquetReader"], inputs: &[], inputs_min: 0, options: &["url", "columns", "types", "prepend_index"], arity: Arity::Indexed("columns"), vertices: &[], run: parquet::read },
    Algorithm { names: &["RandomWalk"], inputs: &["edges", "nodes", "starts"], inputs_min: 3, options: &["steps", "weight", "iterations"], arity: Arity::Is(3), vertices: &[1], run: search::random_walk },
    Algorithm { names: &["ReciprocalRankFusion"], inputs: &["ranking 1", "ranking 2", "ranking 3", "ranking 4", "ranking 5", "ranking 6", "ranking 7", "ranking 8"], inputs_min: 1, options: &["k", "descending", "weights"], arity: Arity::Is(2), vertices: &[], run: ranking::reciprocal_rank_fusion },
    Algorithm { names: &["ReorderSort"], inputs: &["rows"], inputs_min: 1, options: &["out", "sort_by", "descending", "break_ties", "skip", "take"], arity: Arity::Items("out", 1), vertices: &[], run: utility::reorder_sort },
    Algorithm { names: &["ShortestDistancesBFS"], inputs: &["edges", "starts"], inputs_min: 2, options: &["undirected", "limit"], arity: Arity::Is(4), vertices: &[0, 1, 3], run: paths::levels },
    Algorithm { names: &["ShortestDistancesDijkstra"], inputs: &["edges", "starts"], inputs_min: 2, options: &["undirected", "limit"], arity: Arity::Is(4), vertices: &[0, 1, 3], run: paths::distances },
    Algorithm { names: &["ShortestPathAStar"], inputs: &["edges", "nodes", "starts", "goals"], inputs_min: 4, options: &["heuristic"], arity: Arity::Is(4), vertices: &[0, 1], run: search::a_star },
    Algorithm { names: &["ShortestPathBFS"], inputs: &["edges", "starts", "goals"], inputs_min: 3, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: paths::shortest },
    Algorithm { names: &["ShortestPathDijkstra"], inputs: &["edges", "starts", "goals"], inputs_min: 2, options: &["undirected", "keep_ties"], arity: Arity::Is(4), vertices: &[0, 1], run: paths::dijkstra },
    Algorithm { names: &["StronglyConnectedComponents", "SCC"], inputs: &["edges", "nodes"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[0], run: components::strong },
    Algorithm { names: &["TopSort"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(2), vertices: &[1], run: components::top_sort },
    Algorithm { names: &["TrussNumbers"], inputs: &["edges"], inputs_min: 1, options: &[], arity: Arity::Is(3), vertices: &[0, 1], run: cohesion::trusses },
    Algorithm { names: &["WeightedClusteringCoefficients"], inputs: &["edges"], inputs_min: 1, options: &["undirected"], arity: Arity::Is(2), vertices: &[0], run: centrality::weighted_clustering },
];

impl Algorithms for Library<'_> {
    fn run(&self, query: &ExecContext<'_>, fixed: &FixedUse) -> Result<Vec<Vec<Cell>>> {
        let (kept, host, files) = (self.kept.as_ref(), self.host, self.files);
        let call = Call { query, fixed, kept, host, files };
        if let Some(rule) = self.own.rule(&fixed.name) {
            return crate::fixed_rule::registry::run(&*rule, &call);
        }
        let algorithm = find(&fixed.name, fixed.span, self.own).map_err(|problem| vec![problem])?;
        algorithm.check(fixed)?;
        (algorithm.run)(&call)
    }
}

impl Algorithm {
    /// Refuses surplus inputs and unknown options.
    fn check(&self, fixed: &FixedUse) -> Result<()> {
        let given = fixed.inputs.len();
        let most = self.inputs.len();
        if given < self.inputs_min {
            let missing = self.inputs.get(given).copied().unwrap_or_default();
            let what = format!("{} is given no `{missing}`", fixed.name);
            return Err(Error::hinted(what, fixed.span, self.usage()));
        }
        if let Some(input) = fixed.inputs.get(most) {
            let what = match most {
                0 => format!("{} reads no relation", fixed.name),
                1 => format!("{} reads one relation, {given} are given", fixed.name),
                _ => format!("{} reads at most {most} relations, {given} are given", fixed.name),
            };
            return Err(Error::hinted(what, input.span, self.usage()));
        }
        for (place, (name, value)) in fixed.options.iter().enumerate() {
            let hint = if !self.options.contains(&name.as_str()) {
                let near = syntax::closest(name, self.options.iter().copied());
                let near = near.map(|near| format!("did you mean `{near}`?"));
                (format!("has no option `{name}`"), near.unwrap_or_else(|| self.usage()))
            } else if fixed.options.iter().take(place).any(|(known, _)| known == name) {
                (format!("is given `{name}` twice"), self.usage())
            } else {
                continue;
            };
            let what = format!("{} {}", fixed.name, hint.0);
            return Err(Error::hinted(what, value.span(), hint.1));
        }
        Ok(())
    }

    /// Its usage, for messages.
    fn usage(&self) -> String {
        let inputs = self.inputs.iter().enumerate().map(|(place, input)| {
            if place < self.inputs_min { format!("{input}[]") } else { format!("[{input}[]]") }
        });
        let options = self.options.iter().map(|option| format!("{option}: …"));
        let all: Vec<String> = inputs.chain(options).collect();
        format!("{}({})", self.names[0], all.join(", "))
    }
}

/// The built-in algorithm with this name.
fn find(
    name: &str,
    span: syntax::Span,
    own: &UserDefined,
) -> std::result::Result<&'static Algorithm, Diagnostic> {
    if let Some(found) = TABLE.iter().find(|algorithm| algorithm.names.contains(&name)) {
        return Ok(found);
    }
    let owned = own.rule_names();
    let owned = || owned.iter().map(String::as_str);
    let built_in = || TABLE.iter().flat_map(|algorithm| algorithm.names.iter().copied());
    let all = || built_in().chain(owned());
    let same = all().find(|known| known.eq_ignore_ascii_case(name));
    let near = same.or_else(|| syntax::closest(name, all()));
    let hint = near.map(|near| format!("did you mean `{near}`?"));
    let hint = hint.or_else(|| Some("`::fixed_rules` lists the algorithms".to_owned()));
    Err(Diagnostic { message: format!("no algorithm `{name}`"), span, hint })
}

/// The columns of an algorithm's result. Their number is known if its options tell it before
/// evaluation.
///
/// # Errors
/// There is no such algorithm.
pub fn columns(
    name: &Ident,
    options: &[(Ident, Expr)],
    own: &UserDefined,
) -> std::result::Result<AlgorithmColumns, Diagnostic> {
    if let Some(rule) = own.rule(&name.text) {
        return Ok(AlgorithmColumns { count: Some(rule.columns()), vertices: &[] });
    }
    let algorithm = find(&name.text, name.span, own)?;
    let option =
        |wanted: &str| options.iter().find(|(name, _)| name.text == wanted).map(|(_, expr)| expr);
    let items = |wanted: &str| match option(wanted) {
        Some(Expr::List(items, _)) => Some(items.len()),
        _ => None,
    };
    let count = match algorithm.arity {
        Arity::Is(columns) => Some(columns),
        Arity::Items(name, more) => items(name).map(|items| items + more),
        Arity::Indexed(name) => match option("prepend_index") {
            None | Some(Expr::Literal(model::Value::Bool(false), _)) => items(name),
            Some(Expr::Literal(model::Value::Bool(true), _)) => items(name).map(|items| items + 1),
            Some(_) => None,
        },
        Arity::Data => match option("data") {
            Some(Expr::List(rows, _)) => match rows.first() {
                Some(Expr::List(items, _)) => Some(items.len()),
                _ => None,
            },
            _ => None,
        },
    };
    Ok(AlgorithmColumns { count, vertices: algorithm.vertices })
}

/// Whether this is the name or alias of a built-in algorithm.
pub(crate) fn has_algorithm(name: &str) -> bool {
    TABLE.iter().any(|algorithm| algorithm.names.contains(&name))
}

/// All names, with aliases, sorted.
pub fn names() -> Vec<String> {
    let all = TABLE.iter().flat_map(|algorithm| algorithm.names);
    let mut names: Vec<String> = all.map(|&name| name.to_owned()).collect();
    names.sort_unstable();
    names
}
