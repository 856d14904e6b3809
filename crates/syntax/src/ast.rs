//! The syntax tree of a script: names as written, every part with its place in the text.
//!
//! # Why operators are calls
//! `a + b` and `add(a, b)` mean the same, so both are [`Expr::Call`]; whatever reads the tree knows
//! one way to compute. The span of an operator's name is the operator's own. Chains of `||`, `&&`,
//! `+`, `++`, `*` and `~` are one call of all their operands, so that a long one is no deep tree. A
//! `-` before a number is a part of the literal.

use model::{Type, Value};

/// Bytes `start..end` of the script's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Past the last byte.
    pub end: u32,
}

/// A name as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name; of a parameter without `$`, of a stored relation without `*`.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A whole script.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Script {
    /// `::…`
    System(SystemOp),
    /// Rules and options.
    Query(Query),
    /// `{ … }` blocks and `%` statements, in one transaction.
    Imperative(Vec<Statement>),
}

/// Rules, with what is to happen to the rows of the rule `?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// In written order.
    pub rules: Vec<Rule>,
    /// The `:` lines.
    pub options: Options,
    /// All of it, without the braces.
    pub span: Span,
}

/// One definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// `name[head] := body`
    Inline {
        /// `?` for the entry.
        name: Ident,
        /// Variables and aggregates.
        head: Vec<HeadItem>,
        /// What must hold.
        body: Formula,
        /// The whole rule.
        span: Span,
    },
    /// `name[head] <- expression`
    Constant {
        /// `?` for the entry.
        name: Ident,
        /// Column names; empty: as many as the rows have.
        head: Vec<Ident>,
        /// A list of rows, each a list.
        data: Expr,
        /// The whole rule.
        span: Span,
    },
    /// `name[head] <~ Algorithm(inputs, option: expression)`
    Fixed {
        /// `?` for the entry.
        name: Ident,
        /// Column names; empty: those of the algorithm.
        head: Vec<Ident>,
        /// Its name as written.
        algorithm: Ident,
        /// Relations it reads, in order.
        inputs: Vec<Atom>,
        /// Its options.
        options: Vec<(Ident, Expr)>,
        /// The whole rule.
        span: Span,
    },
}

impl Rule {
    /// What it defines; `?` is the entry.
    #[must_use]
    pub fn name(&self) -> &Ident {
        match self {
            Self::Inline { name, .. } | Self::Constant { name, .. } | Self::Fixed { name, .. } => {
                name
            }
        }
    }
}

/// A column of a rule's head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadItem {
    /// The aggregate applied to the variable, and its further arguments.
    pub aggregate: Option<(Ident, Vec<Expr>)>,
    /// The variable.
    pub variable: Ident,
    /// Variable and aggregate.
    pub span: Span,
}

/// A rule's body or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// All hold. An empty one holds.
    And(Vec<Formula>),
    /// One holds.
    Or(Vec<Formula>),
    /// It does not hold.
    Not(Box<Formula>, Span),
    /// One fact or condition.
    Atom(Atom),
}

/// One fact or condition of a body, or an input of an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// `name[…]`
    Rule {
        /// The rule.
        name: Ident,
        /// One a column.
        args: Vec<Expr>,
        /// All of it.
        span: Span,
    },
    /// `*name[…]`, `*name{…}`, `*name:index{…}`, each with an optional `@ time`.
    Stored {
        /// The relation.
        name: Ident,
        /// Its index.
        index: Option<Ident>,
        /// What its columns are to be.
        args: Args,
        /// As of when.
        at: Option<Expr>,
        /// All of it.
        span: Span,
    },
    /// `~name:index{… | …}`: a search index.
    Search {
        /// The relation.
        name: Ident,
        /// Its index.
        index: Ident,
        /// What its columns are to be.
        args: Vec<(Ident, Expr)>,
        /// Parameters of the search.
        parameters: Vec<(Ident, Expr)>,
        /// All of it.
        span: Span,
    },
    /// An expression that is to be true.
    Condition(Expr),
    /// `variable = expression`
    Unify {
        /// Bound, or compared where it is bound before.
        variable: Ident,
        /// The value.
        value: Expr,
    },
    /// `variable in expression`
    Member {
        /// Bound to each item.
        variable: Ident,
        /// A list.
        list: Expr,
    },
}

/// What the columns of a stored relation are to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Args {
    /// One a column, in order.
    Positional(Vec<Expr>),
    /// By name; `{column}` is `{column: column}`.
    Named(Vec<(Ident, Expr)>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Literal(Value, Span),
    /// A variable; one whose name begins with `_` is a wildcard.
    Variable(Ident),
    /// `$name`
    Parameter(Ident),
    /// `[a, b]`
    List(Vec<Expr>, Span),
    /// `{k: v}`; names are expressions.
    Object(Vec<(Expr, Expr)>, Span),
    /// A function or operator by its function's name. `if` and `cond` are calls too.
    Call {
        /// Lower case, as registered: `add`, `negate`, `maybe_get`.
        name: Ident,
        /// In order.
        args: Vec<Expr>,
        /// All of it.
        span: Span,
    },
}

impl Expr {
    /// Where it stands.
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

/// What is asked of the rows of `?`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// `:limit`
    pub limit: Option<Expr>,
    /// `:offset`
    pub offset: Option<Expr>,
    /// `:order` and `:sort`: columns, and whether they descend.
    pub order: Vec<(Ident, bool)>,
    /// `:timeout` in seconds.
    pub timeout: Option<Expr>,
    /// `:sleep` in seconds.
    pub sleep: Option<Expr>,
    /// `:assert some` is true, `:assert none` false.
    pub assert_some: Option<bool>,
    /// `:returning`
    pub returning: bool,
    /// `:disable_magic_rewrite`
    pub disable_magic_rewrite: Option<Expr>,
    /// What is done to a stored relation.
    pub mutation: Option<Mutation>,
}

/// A change of a stored relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// What is done.
    pub op: MutationOp,
    /// To which relation.
    pub relation: Ident,
    /// Its columns; `None`: those of the head, or the relation's.
    pub spec: Option<Spec>,
}

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationOp {
    /// Fails where the relation exists.
    Create,
    /// Creates or overwrites the relation.
    Replace,
    /// Writes rows.
    Put,
    /// Writes rows whose keys must be new.
    Insert,
    /// Changes some values of rows that must be there.
    Update,
    /// Removes rows, those missing ignored.
    Rm,
    /// Removes rows that must be there.
    Delete,
    /// Fails unless the rows are there and stay so.
    Ensure,
    /// Fails unless the keys are absent and stay so.
    EnsureNot,
}

/// `{k: T, … => v: T, …}`
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Key columns.
    pub keys: Vec<SpecColumn>,
    /// Value columns.
    pub values: Vec<SpecColumn>,
    /// With the braces.
    pub span: Span,
}

impl Spec {
    /// All columns, keys first.
    pub fn columns(&self) -> impl Iterator<Item = &SpecColumn> {
        self.keys.iter().chain(&self.values)
    }

    /// The same, to be changed.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut SpecColumn> {
        self.keys.iter_mut().chain(&mut self.values)
    }
}

/// One column of a [`Spec`].
#[derive(Clone, Debug, PartialEq)]
pub struct SpecColumn {
    /// Its name in the relation.
    pub name: Ident,
    /// Its type; `T?` is [`Type::Nullable`]. `None`: not said.
    pub column_type: Option<Type>,
    /// `default e`: for rows that say nothing.
    pub default: Option<Expr>,
    /// `= binding`: the head's column it is taken from.
    pub binding: Option<Ident>,
}

/// `::…`
#[derive(Clone, Debug, PartialEq)]
pub enum SystemOp {
    /// `::relations`
    Relations,
    /// `::columns r`
    Columns(Ident),
    /// `::indices r`
    Indices(Ident),
    /// `::remove a, b`
    Remove(Vec<Ident>),
    /// `::rename a -> b, …`
    Rename(Vec<(Ident, Ident)>),
    /// `::describe r "text"`
    Describe(Ident, String),
    /// `::index create r:i {columns}`
    IndexCreate(Ident, Ident, Vec<Ident>),
    /// `::index drop r:i`
    IndexDrop(Ident, Ident),
    /// `::hnsw …`, `::fts …`, `::lsh …`: which, and all of it. What follows is not read.
    SearchIndex(Ident, Span),
    /// `::show_triggers r`
    ShowTriggers(Ident),
    /// `::set_triggers r on put { … } on rm { … } on replace { … }`
    SetTriggers {
        /// The relation.
        relation: Ident,
        /// Scripts run after rows were put, as written, without braces.
        put: Vec<String>,
        /// After rows were removed.
        rm: Vec<String>,
        /// After the relation was replaced.
        replace: Vec<String>,
    },
    /// `::access_level level a, b`
    AccessLevel(Ident, Vec<Ident>),
    /// `::running`
    Running,
    /// `::kill id`
    Kill(Expr),
    /// `::explain { query }`
    Explain(Box<Query>),
    /// `::explain analyze { query }`
    Analyze(Box<Query>),
    /// `::compact`
    Compact,
    /// `::fixed_rules`
    FixedRules,
}

/// One statement of an imperative script.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `{ … } as name`
    Run(Block, Option<Ident>),
    /// `%if condition %then … %else … %end`; `%if_not` is negated.
    If {
        /// Whether it is `%if_not`.
        negated: bool,
        /// True where the first value of its first row is not `false`, `null`, or 0, and there is
        /// one.
        condition: Condition,
        /// Run where it is true.
        then: Vec<Statement>,
        /// Run where it is not.
        otherwise: Vec<Statement>,
    },
    /// `%mark label %loop … %end`
    Loop {
        /// For `%break` and `%continue`.
        label: Option<Ident>,
        /// Run until left.
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

/// What stands in braces.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Block {
    /// A query.
    Query(Query),
    /// A system op.
    System(SystemOp),
}

/// A query, or the name of an ephemeral relation that is read.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a script, or one a statement")]
pub enum Condition {
    /// `{ … }`
    Query(Query),
    /// A name.
    Relation(Ident),
}
