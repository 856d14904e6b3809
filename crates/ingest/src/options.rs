//! What the caller wants of an edge list: types, columns, and what to do with a bad line.

/// What names a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VertexType {
    /// Unsigned integers up to 2^64 - 1.
    #[default]
    U64,
    /// Signed 64-bit integers, handed out as order-keeping words.
    I64,
    /// UTF-8 text.
    Str,
}

/// What an edge weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightType {
    /// Nothing: the edge is there or it is not.
    #[default]
    None,
    /// A finite 64-bit float.
    Float,
    /// A signed 64-bit integer.
    Int,
}

/// What a bad record does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Ends the parse with an error.
    #[default]
    Fail,
    /// Is counted and left out; the first few of each chunk are kept as messages.
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
    /// The weight, where there is one.
    pub weight: Option<ColumnRef>,
}

/// What to read out of any input, text or columns.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOptions {
    /// Which columns to use. `None`: by well-known names (`source`, `target`, `weight`, `src`,
    /// `dst`, `from`, `to`, ...), else by position; then the input must have two or three columns.
    pub columns: Option<Columns>,
    /// The type of both vertices.
    pub vertex: VertexType,
    /// The type of the weight.
    pub weight: WeightType,
    /// The weight of an edge whose input has no weight column, or a null in it.
    /// For [`WeightType::Int`] it must be a whole number.
    pub default_weight: f64,
}

impl Default for EdgeOptions {
    fn default() -> Self {
        Self {
            columns: None,
            vertex: VertexType::U64,
            weight: WeightType::None,
            default_weight: 1.0,
        }
    }
}

/// How to read a text. The default finds out everything it can.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextOptions {
    /// What is between two columns; `None` finds a comma, tab, semicolon, bar or white space.
    /// A space stands for runs of spaces and tabs.
    pub delimiter: Option<u8>,
    /// Whether the first record names the columns; `None` finds out.
    pub header: Option<bool>,
    /// What to read out of a record.
    pub edges: EdgeOptions,
    /// What a bad record does.
    pub on_error: OnError,
}
