//! Options, graph names and error messages of the databases that children write.

use quipu::{Durability, GraphOptions, Options, WeightType};

/// Options so small that every few operations cause a flush, a compaction or a spill.
pub(crate) fn tiny_options(durability: Durability) -> Options {
    Options {
        durability,
        cache_bytes: 1 << 20,
        memory_limit_bytes: 256 << 10,
        threads: 2,
        ..Options::default()
    }
}

/// The name of a stream's graph.
pub(crate) fn graph_name(stream: usize, weighted: bool) -> String {
    format!("{}{stream}", if weighted { "weighted" } else { "plain" })
}

/// The options of a stream's graphs.
pub(crate) fn graph_options(weighted: bool) -> GraphOptions {
    let weight = if weighted { WeightType::Float } else { WeightType::None };
    GraphOptions { weight, ..GraphOptions::default() }
}

/// The message of an error.
pub(crate) fn text(error: quipu::Error) -> String {
    error.to_string()
}
