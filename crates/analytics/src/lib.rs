//! Projections of stored graphs, algorithms on them, and their results.
//!
//! A [`Projection`] is a frozen graph in memory. A [`Projector`] builds it from a stored graph at a
//! snapshot, or from columns such as the result of a query, within a budget of memory, and caches
//! it until the graph changes. `quipu` calls this crate, and through it `py` and `cli`.
//!
//! # Architecture invariants
//! 1. The algorithms are those of `algo`, which knows only dense vertex numbers. This crate
//!    translates ids to numbers and back, and defines the parameters and the results.
//! 2. It knows no query language: `quipu` runs a query and passes columns.
//!
//! # Floors
//! A module imports only from modules that are named before it (`tests/floors.rs`).
//!
//! 1. `budget`, `numbering`, `options`, `run`: memory; numbers of words; options of a projection;
//!    threads and limits of a call.
//! 2. `ids`: vertices as users name them.
//! 3. `error`: errors of algorithms with ids.
//! 4. `combine`, `projection`: forms of a graph; the projection.
//! 5. `from_columns`, `from_graph`: graphs from columns of edges and from stored graphs.
//! 6. `projector`: builds and caches projections.
//! 7. `failure`, `parameter`, `result`: errors, arguments and results of algorithms.
//! 8. `call`: a call of an algorithm.
//! 9. `centrality`, `flows`, `searches`, `structure`, `summaries`: the algorithms.
//! 10. `table`: all of them with their parameters.

mod budget;
mod call;
mod centrality;
mod combine;
mod error;
mod failure;
mod flows;
mod from_columns;
mod from_graph;
mod ids;
mod numbering;
mod options;
mod parameter;
mod projection;
mod projector;
mod result;
mod run;
mod searches;
mod structure;
mod summaries;
mod table;

pub use failure::{Refusal, reason_of};
pub use from_columns::EdgeColumns;
pub use ids::VertexIds;
pub use options::{Parallel, ProjectOptions};
pub use parameter::{Arguments, Default as DefaultArgument, Parameter, ParameterType};
pub use projection::Projection;
pub use projector::Projector;
pub use result::{AlgorithmResult, Found, Numbers, ResultColumn, Tree};
pub use run::{GoOn, Progress, Run};
pub use table::{ALGORITHMS, Algorithm, WeightUse, algorithm, run_algorithm};
