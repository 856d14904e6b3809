//! The syntax tree of a script. It keeps names as written and the span of every part.
//!
//! # Why operators are calls
//! `a + b` and `add(a, b)` mean the same, so both are [`Expr::Call`], and code that uses the tree
//! handles one case. The name's span is that of the operator. A chain of `||`, `&&`, `+`, `++`, `*`
//! or `~` is one call with all its operands, so that a long chain is not a deep tree. A `-` before
//! a number is part of the literal.

use model::{Type, Value};

/// A range of bytes in the text of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// A name as written in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name, without the `$` of a parameter or the `*` of a stored relation.
    pub text: String,
    /// Position in the script.
    pub span: Span,
}

/// A complete script.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Script {
    /// A system operation, `::…`.
    System(SystemOp),
    /// Rules and options.
    Query(Query),
    /// `{ … }` blocks and `%` statements, which run in one transaction.
    Imperative(Vec<Statement>),
}

/// A list of rules with options, which say what happens to the rows of the entry rule `?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// In the order of the script.
    pub rules: Vec<Rule>,
    /// The options, `:name …`.
    pub options: Options,
    /// Position in the script, without enclosing braces.
    pub span: Span,
}

/// A rule of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// A rule with a body, `name[head] := body`.
    Inline {
        /// The name; `?` for the entry rule.
        name: Ident,
        /// Columns: variables and aggregates.
        head: Vec<HeadItem>,
        /// The condition under which rows exist.
        body: Formula,
        /// Position of the whole rule.
        span: Span,
    },
    /// Constant rows, `name[head] <- expression`.
    Constant {
        /// The name; `?` for the entry rule.
        name: Ident,
        /// Column names; if empty, the rows determine the number of columns.
        head: Vec<Ident>,
        /// A list of rows. Each row is a list.
        data: Expr,
        /// Position of the whole rule.
        span: Span,
    },
    /// A fixed rule: the result of an algorithm,
    /// `name[head] <~ Algorithm(inputs, option: expression)`.
    Fixed {
        /// The name; `?` for the entry rule.
        name: Ident,
        /// Column names; if empty, those of the algorithm.
        head: Vec<Ident>,
        /// Name of the algorithm as written.
        algorithm: Ident,
        /// Input relations, in order.
        inputs: Vec<Atom>,
        /// Options with their values.
        options: Vec<(Ident, Expr)>,
        /// Position of the whole rule.
        span: Span,
    },
}

impl Rule {
    /// Name of the relation that the rule defines; `?` for the entry rule.
    #[must_use]
    pub fn name(&self) -> &Ident {
        match self {
            Self::Inline { name, .. } | Self::Constant { name, .. } | Self::Fixed { name, .. } => {
                name
            }
        }
    }
}

/// A column in the head of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadItem {
    /// The aggregate of the column, with its arguments after the variable.
    pub aggregate: Option<(Ident, Vec<Expr>)>,
    /// The variable that is returned or aggregated.
    pub variable: Ident,
    /// Position of the variable and its aggregate.
    pub span: Span,
}

/// The body of a rule, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A conjunction. An empty one is true.
    And(Vec<Formula>),
    /// A disjunction.
    Or(Vec<Formula>),
    /// A negation.
    Not(Box<Formula>, Span),
    /// An atom.
    Atom(Atom),
}

/// An atom of a body, or an input of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// A derived relation, `name[…]`.
    Rule {
        /// Name of the rule.
        name: Ident,
        /// One expression per column.
        args: Vec<Expr>,
        /// Position of the whole atom.
        span: Span,
    },
    /// A stored relation or an index: `*name[…]`, `*name{…}` or `*name:index{…}`, with an optional
    /// `@ time`.
    Stored {
        /// Name of the relation.
        name: Ident,
        /// Name of the index, if one is read.
        index: Option<Ident>,
        /// The columns that are matched.
        args: Args,
        /// Time at which the relation is read.
        at: Option<Expr>,
        /// Position of the whole atom.
        span: Span,
    },
    /// A search index, `~name:index{… | …}`.
    Search {
        /// Name of the relation.
        name: Ident,
        /// Name of the search index.
        index: Ident,
        /// The columns that are matched, by name.
        args: Vec<(Ident, Expr)>,
        /// Parameters of the search.
        parameters: Vec<(Ident, Expr)>,
        /// Position of the whole atom.
        span: Span,
    },
    /// An expression that must be true.
    Condition(Expr),
    /// An assignment, `variable = expression`.
    Unify {
        /// Bound to the value; compared with it if the variable is already bound.
        variable: Ident,
        /// The expression.
        value: Expr,
    },
    /// Membership in a list, `variable in expression`.
    Member {
        /// Bound to each item.
        variable: Ident,
        /// The list.
        list: Expr,
    },
}

/// The columns of a stored relation that an atom matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Args {
    /// One expression per column, in order.
    Positional(Vec<Expr>),
    /// By name. `{column}` is short for `{column: column}`.
    Named(Vec<(Ident, Expr)>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant with its position.
    Literal(Value, Span),
    /// A variable. A name that starts with `_` is a wildcard.
    Variable(Ident),
    /// A parameter, `$name`.
    Parameter(Ident),
    /// A list, `[a, b]`.
    List(Vec<Expr>, Span),
    /// An object, `{k: v}`. Its keys are expressions.
    Object(Vec<(Expr, Expr)>, Span),
    /// A call of a function or operator. `if` and `cond` are calls too.
    Call {
        /// Name of the function in lower case, as registered: `add`, `negate`, `maybe_get`.
        name: Ident,
        /// Arguments in order.
        args: Vec<Expr>,
        /// Position of the whole call.
        span: Span,
    },
}

impl Expr {
    /// Position in the script.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Literal(_, span)
            | Self::List(_, span)
            | Self::Object(_, span)
            | Self::Call { span, .. } => *span,
            Self::Variable(ident) | Self::Parameter(ident) => ident.span,
        }
    }
}

/// The options of a query: what happens to the rows of `?`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// `:limit`, the maximum number of rows.
    pub limit: Option<Expr>,
    /// `:offset`, the number of rows to skip.
    pub offset: Option<Expr>,
    /// `:order` and `:sort`: columns, and whether their order is descending.
    pub order: Vec<(Ident, bool)>,
    /// `:timeout`, in seconds.
    pub timeout: Option<Expr>,
    /// `:sleep`, in seconds: the query waits before it runs.
    pub sleep: Option<Expr>,
    /// `:assert some` is true, `:assert none` is false.
    pub assert_some: Option<bool>,
    /// `:returning`: return the changed rows.
    pub returning: bool,
    /// `:disable_magic_rewrite`: whether to plan without magic sets.
    pub disable_magic_rewrite: Option<Expr>,
    /// The change of a stored relation.
    pub mutation: Option<Mutation>,
}

/// A change of a stored relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The kind of change.
    pub op: MutationOp,
    /// The stored relation.
    pub relation: Ident,
    /// Its columns; if `None`, those of the head or of the relation.
    pub spec: Option<Spec>,
}

/// The kinds of changes of a stored relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationOp {
    /// Creates the relation; fails if it exists.
    Create,
    /// Creates the relation, or replaces it if it exists.
    Replace,
    /// Inserts rows or overwrites those with the same keys.
    Put,
    /// Inserts rows; fails if a key exists.
    Insert,
    /// Changes some values of rows; fails if a row is missing.
    Update,
    /// Removes rows; ignores missing ones.
    Rm,
    /// Removes rows; fails if a row is missing.
    Delete,
    /// Fails unless the rows exist and still do at the commit.
    Ensure,
    /// Fails unless the keys are absent and still are at the commit.
    EnsureNot,
}

/// A list of columns, `{k: T, … => v: T, …}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Key columns.
    pub keys: Vec<SpecColumn>,
    /// Value columns.
    pub values: Vec<SpecColumn>,
    /// Position in the script, with the braces.
    pub span: Span,
}

impl Spec {
    /// All columns, the keys first.
    pub fn columns(&self) -> impl Iterator<Item = &SpecColumn> {
        self.keys.iter().chain(&self.values)
    }

    /// As [`Spec::columns`], mutably.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut SpecColumn> {
        self.keys.iter_mut().chain(&mut self.values)
    }
}

/// One column of a [`Spec`].
#[derive(Clone, Debug, PartialEq)]
pub struct SpecColumn {
    /// Name of the column in the relation.
    pub name: Ident,
    /// The type, if given. `T?` is [`Type::Nullable`].
    pub column_type: Option<Type>,
    /// `default e`: the value for rows without one.
    pub default: Option<Expr>,
    /// `= binding`: the column of the head that provides the values.
    pub binding: Option<Ident>,
}

/// A column that an index is made with.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexColumn {
    /// A column of the relation.
    Column(Ident),
    /// The value of an expression, with the name of the column if it has one.
    Expression(Option<Ident>, Expr),
}

/// A system operation, `::…`.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemOp {
    /// `::relations`: lists relations.
    Relations,
    /// `::columns r`: lists the columns of a relation.
    Columns(Ident),
    /// `::indices r`: lists the indexes of a relation.
    Indices(Ident),
    /// `::remove a, b`
    Remove(Vec<Ident>),
    /// `::rename a -> b, …`
    Rename(Vec<(Ident, Ident)>),
    /// `::describe r "text"`
    Describe(Ident, String),
    /// `::index create r:i {column, name: expression, …}`; true if `unique` follows.
    IndexCreate(Ident, Ident, Vec<IndexColumn>, bool),
    /// `::index drop r:i`
    IndexDrop(Ident, Ident),
    /// `::column add r {column: Type default e, …}`
    ColumnAdd(Ident, Spec),
    /// `::column drop r {column, …}`
    ColumnDrop(Ident, Vec<Ident>),
    /// `::column rename r {column -> new, …}`
    ColumnRename(Ident, Vec<(Ident, Ident)>),
    /// `::fts create r:i {settings}`; `::hnsw` and `::lsh` likewise. The first name is that of the
    /// operation. Settings are expressions, but `Simple` and `Stemmer('english')` name parts of a
    /// search.
    SearchCreate(Ident, Ident, Ident, Vec<(Ident, Expr)>),
    /// `::fts drop r:i`; `::hnsw` and `::lsh` likewise.
    SearchDrop(Ident, Ident, Ident),
    /// `::show_triggers r`
    ShowTriggers(Ident),
    /// `::set_triggers r on put { … } on rm { … } on replace { … }`
    SetTriggers {
        /// Name of the relation.
        relation: Ident,
        /// Scripts to run after rows are put, as written and without braces.
        put: Vec<String>,
        /// Scripts to run after rows are removed.
        rm: Vec<String>,
        /// Scripts to run after the relation is replaced.
        replace: Vec<String>,
    },
    /// `::access_level level a, b`
    AccessLevel(Ident, Vec<Ident>),
    /// `::running`: lists running scripts.
    Running,
    /// `::kill id`
    Kill(Expr),
    /// `::explain { query }`
    Explain(Box<Query>),
    /// `::explain analyze { query }`
    Analyze(Box<Query>),
    /// `::compact`
    Compact,
    /// `::fixed_rules`: lists the algorithms.
    FixedRules,
}

/// A statement of an imperative script.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `{ … } as name`
    Run(Block, Option<Ident>),
    /// `%if condition %then … %else … %end`; `%if_not` is negated.
    If {
        /// Whether the statement is `%if_not`.
        negated: bool,
        /// True if it has a row and the first value of its first row is not `false`, `null` or 0.
        condition: Condition,
        /// Statements to run if it is true.
        then: Vec<Statement>,
        /// Statements to run if it is false.
        otherwise: Vec<Statement>,
    },
    /// `%mark label %loop … %end`
    Loop {
        /// Label for `%break` and `%continue`.
        label: Option<Ident>,
        /// Statements to run until the loop is left.
        body: Vec<Statement>,
    },
    /// `%break label`
    Break(Option<Ident>, Span),
    /// `%continue label`
    Continue(Option<Ident>, Span),
    /// `%return a, {…}`
    Return(Vec<Condition>, Span),
    /// `%debug relation`
    Debug(Ident),
    /// `%ignore_error { … } as name`
    IgnoreError(Block, Option<Ident>),
    /// `%swap a b`
    Swap(Ident, Ident),
}

/// The content of a block in braces.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Block {
    /// A query.
    Query(Query),
    /// A system operation.
    System(SystemOp),
}

/// Where an imperative statement gets rows from: a query, or a temporary relation by name. Used for
/// the condition of `%if`, and also for the results of `%return`. A condition in the body of a rule
/// is [`Atom::Condition`].
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Condition {
    /// `{ … }`
    Query(Query),
    /// Name of the relation.
    Relation(Ident),
}
