//! Binary operators: their tokens, functions and precedence.

use crate::lexer::Kind;

/// A binary operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator {
    pub(crate) kind: Kind,
    pub(crate) symbol: &'static str,
    /// The function that implements it.
    pub(crate) function: &'static str,
    /// Precedence: larger binds tighter.
    pub(crate) tightness: u8,
    pub(crate) right_associative: bool,
    /// Whether `a + b + c` is one call with three arguments. Otherwise the tree of a long sum would
    /// be as deep as the sum is long.
    pub(crate) chains: bool,
}

const fn operator(
    kind: Kind,
    symbol: &'static str,
    function: &'static str,
    tightness: u8,
) -> Operator {
    Operator { kind, symbol, function, tightness, right_associative: false, chains: false }
}

const fn chained(
    kind: Kind,
    symbol: &'static str,
    function: &'static str,
    tightness: u8,
) -> Operator {
    Operator { kind, symbol, function, tightness, right_associative: false, chains: true }
}

/// All binary operators in ascending precedence. Prefix operators bind tighter than all of them.
pub(crate) const OPERATORS: [Operator; 17] = [
    chained(Kind::OrOr, "||", "or", 1),
    chained(Kind::AndAnd, "&&", "and", 2),
    operator(Kind::GreaterEquals, ">=", "ge", 3),
    operator(Kind::LessEquals, "<=", "le", 3),
    operator(Kind::Greater, ">", "gt", 3),
    operator(Kind::Less, "<", "lt", 3),
    operator(Kind::EqualsEquals, "==", "eq", 4),
    operator(Kind::NotEquals, "!=", "neq", 4),
    operator(Kind::Percent, "%", "mod", 5),
    chained(Kind::Plus, "+", "add", 6),
    operator(Kind::Minus, "-", "sub", 6),
    chained(Kind::PlusPlus, "++", "concat", 6),
    chained(Kind::Star, "*", "mul", 7),
    operator(Kind::Slash, "/", "div", 7),
    Operator {
        kind: Kind::Caret,
        symbol: "^",
        function: "pow",
        tightness: 8,
        right_associative: true,
        chains: false,
    },
    chained(Kind::Tilde, "~", "coalesce", 9),
    operator(Kind::Arrow, "->", "maybe_get", 10),
];

/// The binary operator that a token stands for.
pub(crate) fn of_kind(kind: Kind) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.kind == kind)
}

/// The operator for a function.
pub(crate) fn of_function(function: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.function == function)
}
