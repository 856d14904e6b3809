//! The operators: how they are written, which functions they are, and how tightly they bind.

use crate::lexer::Kind;

/// An operator between two expressions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator {
    pub(crate) kind: Kind,
    pub(crate) symbol: &'static str,
    /// The function that it calls.
    pub(crate) function: &'static str,
    /// Larger binds tighter.
    pub(crate) tightness: u8,
    pub(crate) right_associative: bool,
    /// Whether `a + b + c` is one call of three. Else long sums would be trees as deep as they are
    /// long.
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

/// All of them, the loosest first. Prefixes bind tighter than any.
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

/// The operator a token is between two expressions.
pub(crate) fn of_kind(kind: Kind) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.kind == kind)
}

/// The operator that calls a function.
pub(crate) fn of_function(function: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.function == function)
}
