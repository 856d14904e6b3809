//! How to read a text file of edges.

use crate::{
    columns::Positions,
    matrix::Matrix,
    options::{Missing, OnError, TextOptions, VertexType, WeightType},
    syntax::Syntax,
};

/// How to read a text file. [`sniff`](crate::sniff) makes it; the splitter and the parser read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The caller's name of the input, for messages.
    pub file: String,
    /// Delimiter, quotes and comments.
    pub syntax: Syntax,
    /// The names in the header, if there is one.
    pub names: Option<Vec<String>>,
    /// The number of columns of the first record.
    pub columns: usize,
    /// Position of the source, from 0.
    pub source: usize,
    /// Position of the target, from 0.
    pub target: usize,
    /// Position of the weight, from 0; without one, edges get the default weight.
    pub weight: Option<usize>,
    /// Whether a record must have exactly `columns` columns.
    pub exact: bool,
    /// The type of vertices.
    pub vertex: VertexType,
    /// The type of weights.
    pub weight_type: WeightType,
    /// The weight of edges if there is no weight column.
    pub default_weight: f64,
    /// What happens to an edge whose weight is missing.
    pub missing: Missing,
    /// The decimal mark of weights.
    pub decimal: u8,
    /// Spellings of a missing value, in addition to the usual ones.
    pub null_values: Vec<String>,
    /// Whether the text is a table of vertices, which has no edges.
    pub is_of_vertices: bool,
    /// The size and symmetry of a Matrix Market file.
    pub matrix: Option<Matrix>,
    /// The detected properties, for the report.
    pub detected: Vec<(&'static str, String)>,
    /// Whether a bad record fails the parse or is skipped.
    pub on_error: OnError,
    /// The byte at which the first edge may start: after byte-order mark, leading comments and
    /// header.
    pub data_start: usize,
}

impl Dialect {
    /// Whether lines that start with `#` or `%` are also comments after the first record.
    ///
    /// Not for string vertices, where such a line may be an edge. Before the first record they are
    /// comments for all types.
    pub(crate) fn comments(&self) -> bool {
        self.vertex != VertexType::Str || self.syntax.comment.is_some()
    }
}

/// A dialect without records.
pub(crate) fn blank(file: &str, syntax: Syntax, options: &TextOptions, at: Positions) -> Dialect {
    Dialect {
        file: file.to_owned(),
        syntax,
        names: None,
        columns: 0,
        source: at.source,
        target: at.target,
        weight: at.weight,
        exact: at.exact,
        vertex: options.edges.vertex,
        weight_type: options.edges.weight,
        default_weight: options.edges.default_weight,
        missing: options.edges.missing,
        decimal: options.decimal,
        null_values: options.null_values.clone(),
        is_of_vertices: false,
        matrix: None,
        detected: Vec::new(),
        on_error: options.on_error,
        data_start: 0,
    }
}
