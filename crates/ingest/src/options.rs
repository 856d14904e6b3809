//! Options of an import: types, columns, and whether bad lines are skipped.

/// The type of vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VertexType {
    /// Unsigned integers up to 2^64 - 1.
    #[default]
    U64,
    /// Signed 64-bit integers, returned as words whose unsigned order is theirs.
    I64,
    /// UTF-8 strings.
    Str,
}

/// The type of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightType {
    /// Edges have no weight.
    #[default]
    None,
    /// A 64-bit float; infinities and NaN are values.
    Float,
    /// A signed 64-bit integer.
    Int,
}

/// The types of an edge's columns for the report: `u64, u64, float64`.
pub(crate) fn describe_types(vertex: VertexType, weight: WeightType) -> String {
    let vertex = match vertex {
        VertexType::U64 => "u64",
        VertexType::I64 => "i64",
        VertexType::Str => "str",
    };
    match weight {
        WeightType::None => format!("{vertex}, {vertex}"),
        WeightType::Float => format!("{vertex}, {vertex}, float64"),
        WeightType::Int => format!("{vertex}, {vertex}, int64"),
    }
}

/// Whether a bad record fails the parse or is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The parse ends with an error.
    #[default]
    Fail,
    /// The record is counted and skipped; each chunk keeps the messages of its first few.
    Skip,
}

/// What happens to an edge whose weight is missing: a null, an empty field, or a spelling of null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Missing {
    /// The import fails. Its error counts the missing weights and names the first places.
    #[default]
    Fail,
    /// The edge gets this weight. For [`WeightType::Int`] it must be a whole number.
    Weight(f64),
    /// The edge is left out.
    Skip,
}

/// One column of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRef {
    /// By the name in the header. An exact match wins over one that differs in ASCII case.
    Name(String),
    /// By position, from 0.
    Index(usize),
}

/// Which columns hold an edge. Columns that are not named here are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The source vertex.
    pub source: ColumnRef,
    /// The target vertex.
    pub target: ColumnRef,
    /// The weight, if the input has one.
    pub weight: Option<ColumnRef>,
}

/// Options for all inputs: text, Arrow and Parquet.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOptions {
    /// Which columns to use. `None`: by well-known names (`source`, `target`, `weight`, `src`,
    /// `dst`, `from`, `to`, ...), else by position; then the input must have two or three columns.
    pub columns: Option<Columns>,
    /// The type of both vertices.
    pub vertex: VertexType,
    /// The type of the weight.
    pub weight: WeightType,
    /// The weight of an edge whose input has no weight column. For [`WeightType::Int`] it must be a
    /// whole number.
    pub default_weight: f64,
    /// What happens to an edge whose weight is missing.
    pub missing: Missing,
}

impl Default for EdgeOptions {
    fn default() -> Self {
        Self {
            columns: None,
            vertex: VertexType::U64,
            weight: WeightType::None,
            default_weight: 1.0,
            missing: Missing::Fail,
        }
    }
}

/// Options for text. The default detects everything.
#[derive(Clone, Debug, PartialEq)]
pub struct TextOptions {
    /// The delimiter of columns; `None` detects a comma, tab, semicolon, bar or white space. A
    /// space means runs of spaces and tabs.
    pub delimiter: Option<u8>,
    /// Whether the first record is a header; `None` detects it.
    pub header: Option<bool>,
    /// Columns and types of the edges.
    pub edges: EdgeOptions,
    /// Whether a bad record fails the parse or is skipped.
    pub on_error: OnError,
    /// Whether `"` at the start of a field opens a quoted field. Without quotes it is an ordinary
    /// character.
    pub quotes: bool,
    /// Lines at the start that are skipped, before anything is detected.
    pub skip_rows: u64,
    /// The character that starts a line of comment. `None`: `#` and `%`; for string vertices only
    /// before the first record.
    pub comment: Option<u8>,
    /// The decimal mark of weights, `.` or `,`.
    pub decimal: u8,
    /// Spellings of a missing value, in addition to the usual ones.
    pub null_values: Vec<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            header: None,
            edges: EdgeOptions::default(),
            on_error: OnError::Fail,
            quotes: true,
            skip_rows: 0,
            comment: None,
            decimal: b'.',
            null_values: Vec::new(),
        }
    }
}
