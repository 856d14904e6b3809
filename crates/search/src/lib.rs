//! Full-text search: splits texts into words, parses queries, and scores documents. Near
//! duplicates: signatures of sets of words. Vectors: graphs of nearest neighbors ([`hnsw`]).
//!
//! # What is deliberately absent
//! Relations, storage and the query language. The caller stores the postings and returns
//! them through [`PostingSource`]. So a search is a function of postings; tests compare it with
//! counting words in all documents.
//!
//! # Invariants
//! 1. Every text can be indexed, every text is a query or an error with a position, and nothing
//!    panics.
//! 2. Results are deterministic: the best score first, and equal scores in the order of their
//!    documents.
//!
//! ```
//! use model::Value;
//! use quipu_search::{Analyzer, Component};
//!
//! let stemmer = Component::new("stemmer", vec![Value::Str("english".to_owned())]);
//! let filters = [Component::new("lowercase", Vec::new()), stemmer];
//! let analyzer = Analyzer::new(&Component::new("simple", Vec::new()), &filters)?;
//! let words: Vec<String> = analyzer.tokens("Running foxes").into_iter().map(|t| t.text).collect();
//! assert_eq!(words, ["run", "fox"]);
//! # Ok::<(), quipu_search::SettingError>(())
//! ```
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `component`, `token`, `stop_words`: settings by name; words with their places; lists.
//! 2. `tokenizer`, `filter`: the steps from a text to its words.
//! 3. `analyzer`: all steps together.
//! 4. `query`, `positions`, `score`: the query language; encoded positions; formulas.
//! 5. `plan`, `postings`: the analyzed query; the postings of a word.
//! 6. `occurrences`, `highlight`: documents that match a word, a prefix, a phrase, or words near
//!    each other; matches within a text.
//! 7. `evaluate`: whole queries.
//! 8. `lsh`: signatures of texts, and the bands that similar ones share.
//! 9. `hnsw`: vectors and their nearest neighbors.

mod analyzer;
mod component;
mod evaluate;
mod filter;
mod highlight;
pub mod hnsw;
mod lsh;
mod occurrences;
mod plan;
mod positions;
mod postings;
mod query;
mod score;
mod stop_words;
#[cfg(test)]
mod tests;
mod token;
mod tokenizer;

pub use analyzer::Analyzer;
pub use component::{Component, SettingError};
pub use evaluate::{Hit, search};
pub use highlight::{Marks, highlight, snippet};
pub use lsh::{BAND_KEY_BYTES, Bands, BandsWanted, Shingles, Signature};
pub use occurrences::first_from;
pub use plan::Plan;
pub use positions::{PositionLists, append_positions, decode_positions, encode_positions};
pub use postings::{PostingList, PostingSource};
pub use query::{Query, QueryError, parse};
pub use score::{ScoreKind, Totals};
pub use token::{TOKEN_BYTES_MAX, Token};
