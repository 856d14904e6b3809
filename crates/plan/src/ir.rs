//! Rules with names resolved: predicates, literals and expressions by number.
//!
//! # Invariants
//! 1. A variable is a number within its rule; a place of an atom that nobody asks for is `None`.
//! 2. A body is a list of literals that all hold: disjunctions have become several rules.
//! 3. A positive atom's places hold each variable once; equal places are a [`Literal::Same`],
//!    constants a [`Literal::Assign`]. A negated one's variables are all bound before it, so that
//!    it may hold one twice.

use function::{Aggregate, Function, OwnAggregate};
use model::Value;
use std::sync::Arc;
use syntax::Span;

/// A variable of one rule.
pub type Var = usize;

/// A query's rules.
#[derive(Clone, Debug)]
pub struct Program {
    /// Derived relations; rules refer to them by index.
    pub predicates: Vec<Predicate>,
    /// Definitions of inline predicates.
    pub rules: Vec<Rule>,
    /// Stored relations that are read, by the catalog's number.
    pub stored: Vec<StoredUse>,
    /// The predicate whose rows are the result.
    pub entry: usize,
    /// Names of parameters, by number.
    pub parameters: Vec<String>,
}

/// Maximum literals of a body that other rules' literals or conditions move into. Without a bound a
/// long chain of rules would accumulate all conditions of its predecessors in each rule.
pub(crate) const LITERALS_MAX: usize = 64;

impl Program {
    /// Of each predicate the numbers of its rules, ascending.
    #[must_use]
    pub fn rules_of(&self) -> Vec<Vec<usize>> {
        let mut rules_of = vec![Vec::new(); self.predicates.len()];
        for (number, rule) in self.rules.iter().enumerate() {
            rules_of[rule.predicate].push(number);
        }
        rules_of
    }
}

/// A derived relation.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// As written.
    pub name: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// How it comes about.
    pub kind: PredicateKind,
    /// Where it is defined first.
    pub span: Span,
    /// Whether it holds what is asked of a rule, and is small therefore.
    pub is_asked: bool,
    /// Whether its rows are read in the order of their columns.
    pub is_sorted: bool,
}

impl Predicate {
    /// Whether an aggregate stands in its head.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        matches!(&self.kind, PredicateKind::Inline { aggregates } if aggregates.iter().any(Option::is_some))
    }

    /// Whether it may be recursive in spite of its aggregates: all are meet and stand last.
    #[must_use]
    pub fn is_meet(&self) -> bool {
        let PredicateKind::Inline { aggregates } = &self.kind else { return false };
        let keys = aggregates.iter().take_while(|aggregate| aggregate.is_none()).count();
        keys < aggregates.len()
            && aggregates[keys..].iter().all(|aggregate| {
                aggregate.as_ref().is_some_and(|aggregate| aggregate.aggregate.is_meet)
            })
    }
}

/// How a derived relation comes about.
#[derive(Clone, Debug)]
pub enum PredicateKind {
    /// By rules; one aggregate or none a column.
    Inline {
        /// Of each column.
        aggregates: Vec<Option<AggregateUse>>,
    },
    /// Rows that an expression without variables lists.
    Constant(Expr),
    /// Rows that an algorithm makes of relations.
    Fixed(FixedUse),
}

/// An aggregate with its further arguments.
#[derive(Clone, Debug)]
pub struct AggregateUse {
    /// Which.
    pub aggregate: &'static Aggregate,
    /// Where it is [`function::OWN`]: which of the program's.
    pub own: Option<Arc<OwnAggregate>>,
    /// Without variables.
    pub args: Vec<Expr>,
    /// Where it is written.
    pub span: Span,
}

/// An algorithm applied to relations.
#[derive(Clone, Debug)]
pub struct FixedUse {
    /// Its name as written.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// What it reads.
    pub inputs: Vec<FixedInput>,
    /// Its options, with names; unresolved, since some hold variables of an input.
    pub options: Vec<(String, syntax::Expr)>,
    /// Whether the head names its columns.
    pub has_head: bool,
}

/// A relation that an algorithm reads.
#[derive(Clone, Debug)]
pub struct FixedInput {
    /// Where its rows are.
    pub source: Source,
    /// Which columns, in order.
    pub columns: Vec<usize>,
    /// What the rule calls them; empty where it is a wildcard.
    pub names: Vec<String>,
    /// As of when.
    pub at: Option<Expr>,
    /// Where it is named.
    pub span: Span,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A predicate.
    Derived(usize),
    /// An entry of [`Program::stored`].
    Stored(usize),
}

/// A stored relation that a program reads.
#[derive(Clone, Debug)]
pub struct StoredUse {
    /// What the catalog calls it.
    pub handle: usize,
    /// Its name.
    pub name: String,
}

/// One definition of an inline predicate.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Whose.
    pub predicate: usize,
    /// The variable of each column.
    pub head: Vec<Var>,
    /// Names of the variables; made-up ones begin with `*`.
    pub variables: Vec<String>,
    /// All hold.
    pub body: Vec<Literal>,
    /// Where it is written.
    pub span: Span,
}

/// One condition of a body.
#[derive(Clone, Debug)]
pub enum Literal {
    /// A row is in a relation, or is not.
    Atom {
        /// Which relation.
        source: Source,
        /// The variable of each place.
        args: Vec<Option<Var>>,
        /// Whether no such row may be there.
        negated: bool,
        /// As of when, of a stored relation.
        at: Option<Expr>,
        /// Where it is written.
        span: Span,
    },
    /// An expression is true.
    Condition(Expr),
    /// A variable is the value of an expression.
    Assign {
        /// Bound here, or compared where it is bound.
        var: Var,
        /// Its value.
        value: Expr,
        /// Where it is written.
        span: Span,
    },
    /// A variable is an item of a list.
    Member {
        /// Bound here, or compared where it is bound.
        var: Var,
        /// The list.
        list: Expr,
        /// Where it is written.
        span: Span,
    },
    /// Two variables are the same value.
    Same(Var, Var),
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A value known before the query runs.
    Const(Value),
    /// A parameter by number.
    Param(usize),
    /// A variable.
    Var(Var),
    /// A function of its arguments.
    Call(&'static Function, Vec<Expr>, Span),
}

impl Expr {
    /// Calls `visit` for each variable.
    pub fn each_var(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Self::Var(var) => visit(*var),
            Self::Call(_, args, _) => args.iter().for_each(|arg| arg.each_var(visit)),
            Self::Const(_) | Self::Param(_) => {}
        }
    }

    /// Whether a variable stands in it.
    #[must_use]
    pub fn has_var(&self, var: Var) -> bool {
        let mut found = false;
        self.each_var(&mut |one| found |= one == var);
        found
    }

    /// The items of a list that is written as one, and not yet known as a whole.
    #[must_use]
    pub fn list_items(&self) -> Option<&[Self]> {
        match self {
            Self::Call(function, items, _) if function.name == "list" => Some(items),
            _ => None,
        }
    }

    /// Whether all its variables are among these.
    #[must_use]
    pub fn is_bound(&self, bound: &[bool]) -> bool {
        let mut all = true;
        self.each_var(&mut |var| all &= bound[var]);
        all
    }

    /// Whether its value is the same whatever rows are read: no variable, and no function that
    /// answers otherwise each time.
    #[must_use]
    pub fn is_known(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) => true,
            Self::Var(_) => false,
            Self::Call(function, args, _) => {
                function.deterministic && args.iter().all(Self::is_known)
            }
        }
    }

    /// Whether its value is drawn, so that each row has its own. (The clock goes on between two
    /// rows too, but nobody asks for that.)
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) | Self::Var(_) => false,
            Self::Call(function, args, _) => {
                !function.deterministic && function.name != "now" || args.iter().any(Self::is_drawn)
            }
        }
    }

    /// The expression with other variables.
    #[must_use]
    pub fn renamed(&self, to: &dyn Fn(Var) -> Var) -> Self {
        match self {
            Self::Var(var) => Self::Var(to(*var)),
            Self::Call(function, args, span) => {
                Self::Call(function, args.iter().map(|arg| arg.renamed(to)).collect(), *span)
            }
            other => other.clone(),
        }
    }
}

impl Literal {
    /// Whether a value in it is drawn ([`Expr::is_drawn`]).
    pub(crate) fn is_drawn(&self) -> bool {
        match self {
            Self::Condition(expr)
            | Self::Assign { value: expr, .. }
            | Self::Member { list: expr, .. } => expr.is_drawn(),
            Self::Atom { .. } | Self::Same(..) => false,
        }
    }

    /// Calls `visit` for each variable.
    pub fn each_var(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Self::Atom { args, at, .. } => {
                args.iter().flatten().for_each(|&var| visit(var));
                at.iter().for_each(|at| at.each_var(visit));
            }
            Self::Condition(expr) => expr.each_var(visit),
            Self::Assign { var, value, .. } => {
                visit(*var);
                value.each_var(visit);
            }
            Self::Member { var, list, .. } => {
                visit(*var);
                list.each_var(visit);
            }
            Self::Same(a, b) => {
                visit(*a);
                visit(*b);
            }
        }
    }

    /// Its variables that have a value once it is taken, whether or not they had one before.
    pub fn each_bound(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Self::Atom { args, negated: false, .. } => {
                args.iter().flatten().for_each(|&var| visit(var));
            }
            Self::Assign { var, .. } | Self::Member { var, .. } => visit(*var),
            Self::Atom { .. } | Self::Condition(_) | Self::Same(..) => {}
        }
    }

    /// Where a variable of it stands: in an expression, or somewhere in it.
    #[must_use]
    pub fn span_of(&self, var: Var) -> Option<Span> {
        let expr = match self {
            Self::Assign { value: expr, .. } | Self::Member { list: expr, .. } => Some(expr),
            Self::Atom { at, .. } => at.as_ref(),
            Self::Condition(_) | Self::Same(..) => None,
        };
        match expr {
            Some(expr @ Expr::Call(_, _, span)) if expr.has_var(var) => Some(*span),
            _ => self.span(),
        }
    }

    /// Where it is written, where that is known.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Atom { span, .. }
            | Self::Assign { span, .. }
            | Self::Member { span, .. }
            | Self::Condition(Expr::Call(_, _, span)) => Some(*span),
            Self::Condition(_) | Self::Same(..) => None,
        }
    }
}
