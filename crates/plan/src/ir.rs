//! The intermediate representation: rules with names resolved to indexes.
//!
//! # Invariants
//! 1. A variable is an index within its rule. An argument of an atom that is not used is `None`.
//! 2. A body is a conjunction of literals. Disjunctions have become several rules.
//! 3. A positive atom contains each variable once: repeated variables become [`Literal::Same`],
//!    constants [`Literal::Assign`]. The variables of a negated atom are bound before it, so it may
//!    repeat them.

use crate::ids::{PerPredicate, PerStored, PerVar, PredicateId, StoredId, VarId};
use crate::search::{SearchInput, SearchOutput};
use function::{Aggregate, Function, UserAggregate};
use model::Value;
use std::sync::Arc;
use syntax::Span;

/// The rules of a query.
#[derive(Clone, Debug)]
pub struct Program {
    /// Derived relations. Rules refer to them by their ids.
    pub predicates: PerPredicate<Predicate>,
    /// Rules of inline predicates.
    pub rules: Vec<Rule>,
    /// Stored relations that the program reads.
    pub stored: PerStored<StoredUse>,
    /// The predicate whose rows are the result.
    pub entry: PredicateId,
    /// Names of parameters. Expressions refer to them by index.
    pub parameters: Vec<String>,
}

/// Maximum number of literals in a body that other rules' literals or conditions move into. Without
/// a bound, in a long chain of rules each one would accumulate the conditions of all earlier ones.
pub(crate) const LITERALS_MAX: usize = 64;

impl Program {
    /// For each predicate, the indexes of its rules in ascending order.
    #[must_use]
    pub fn rules_of(&self) -> PerPredicate<Vec<usize>> {
        let mut rules_of = PerPredicate::filled(Vec::new(), self.predicates.len());
        for (number, rule) in self.rules.iter().enumerate() {
            rules_of[rule.predicate].push(number);
        }
        rules_of
    }
}

/// A derived relation.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Name as written.
    pub name: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Definition.
    pub kind: PredicateKind,
    /// Position of the first definition.
    pub span: Span,
    /// Whether it is a magic set: the values for which a rule is asked, which are few.
    pub is_magic_set: bool,
    /// Whether its rows are read in the order of their columns.
    pub is_sorted: bool,
}

impl Predicate {
    /// Whether the head contains an aggregate.
    #[must_use]
    pub fn is_aggregated(&self) -> bool {
        matches!(&self.kind, PredicateKind::Inline { aggregates } if aggregates.iter().any(Option::is_some))
    }

    /// Whether it may be recursive although it aggregates: all its aggregates are meet aggregates
    /// (semilattices) and are in the last columns.
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

/// The definition of a derived relation.
#[derive(Clone, Debug)]
pub enum PredicateKind {
    /// Defined by rules.
    Inline {
        /// The aggregate of each column, if any.
        aggregates: Vec<Option<AggregateUse>>,
    },
    /// Constant rows, as an expression without variables.
    Constant(Expr),
    /// The result of an algorithm.
    Fixed(FixedUse),
}

/// An aggregate with its arguments.
#[derive(Clone, Debug)]
pub struct AggregateUse {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// The user-defined aggregate, if `aggregate` is [`function::OWN`].
    pub own: Option<Arc<UserAggregate>>,
    /// Arguments after the variable; they contain no variables.
    pub args: Vec<Expr>,
    /// Position in the script.
    pub span: Span,
}

/// An algorithm applied to relations.
#[derive(Clone, Debug)]
pub struct FixedUse {
    /// Name of the algorithm as written.
    pub name: String,
    /// Position of the name.
    pub span: Span,
    /// Input relations.
    pub inputs: Vec<FixedInput>,
    /// Options by name. Not resolved yet, since some contain variables of an input.
    pub options: Vec<(String, syntax::Expr)>,
    /// Whether the head names the columns.
    pub has_head: bool,
    /// Columns of its result that hold vertices of its inputs.
    pub vertices: &'static [usize],
}

/// An input of an algorithm.
#[derive(Clone, Debug)]
pub struct FixedInput {
    /// The relation.
    pub source: Source,
    /// Columns that are read, in order.
    pub columns: Vec<usize>,
    /// Names of the columns in the rule; empty for a wildcard.
    pub names: Vec<String>,
    /// Time at which a stored relation is read.
    pub at: Option<Expr>,
    /// Position in the script.
    pub span: Span,
}

/// A relation that a rule reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// One of [`Program::predicates`].
    Derived(PredicateId),
    /// One of [`Program::stored`].
    Stored(StoredId),
}

/// A stored relation that a program reads.
#[derive(Clone, Debug)]
pub struct StoredUse {
    /// The catalog's id of the relation.
    pub handle: usize,
    /// Name of the relation.
    pub name: String,
}

/// A rule of an inline predicate.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The predicate that it defines.
    pub predicate: PredicateId,
    /// The variable of each head column.
    pub head: Vec<VarId>,
    /// Names of the variables. Generated names start with `*`.
    pub variables: PerVar<String>,
    /// A conjunction of literals.
    pub body: Vec<Literal>,
    /// Position in the script.
    pub span: Span,
}

/// A search for rows of a stored relation by an index.
#[derive(Clone, Debug)]
pub struct SearchUse {
    /// The relation.
    pub relation: StoredId,
    /// The search index.
    pub index: StoredId,
    /// The parameters of the search, with positions in the script.
    pub inputs: Vec<(SearchInput, Expr, Span)>,
    /// Columns of the relation with the variables that they bind. No other literal binds these.
    pub columns: Vec<(usize, VarId)>,
    /// The values that it computes of each row, with the variables that it binds.
    pub computed: Vec<(SearchOutput, VarId)>,
    /// A condition on its rows, with its position. It may use variables of the search.
    pub filter: Option<(Expr, Span)>,
    /// Position in the script.
    pub span: Span,
}

impl SearchUse {
    /// Calls `visit` for each variable that the search binds.
    pub fn each_bound(&self, visit: &mut dyn FnMut(VarId)) {
        let computed = self.computed.iter().map(|(_, var)| *var);
        self.columns.iter().map(|(_, var)| *var).chain(computed).for_each(visit);
    }

    /// Calls `visit` for each variable that must be bound before.
    pub fn each_read(&self, visit: &mut dyn FnMut(VarId)) {
        self.inputs.iter().for_each(|(_, expr, _)| expr.each_var(visit));
        let mut own = Vec::new();
        self.each_bound(&mut |var| own.push(var));
        if let Some((filter, _)) = &self.filter {
            filter.each_var(&mut |var| {
                if !own.contains(&var) {
                    visit(var);
                }
            });
        }
    }

    /// Whether all variables that it reads are bound.
    pub(crate) fn is_ready(&self, bound: &PerVar<bool>) -> bool {
        let mut all = true;
        self.each_read(&mut |var| all &= bound[var]);
        all
    }

    /// The same with its variables replaced.
    pub(crate) fn renamed(&self, to: &dyn Fn(VarId) -> VarId) -> Self {
        let inputs = self.inputs.iter().map(|(of, expr, span)| (*of, expr.renamed(to), *span));
        Self {
            inputs: inputs.collect(),
            columns: self.columns.iter().map(|(column, var)| (*column, to(*var))).collect(),
            computed: self.computed.iter().map(|(of, var)| (*of, to(*var))).collect(),
            filter: self.filter.as_ref().map(|(filter, span)| (filter.renamed(to), *span)),
            ..self.clone()
        }
    }
}

/// A literal of a body.
#[derive(Clone, Debug)]
pub enum Literal {
    /// A row is in a relation, or is not if `negated`.
    Atom {
        /// The relation.
        source: Source,
        /// The variable of each column; `None` if the column is not used.
        args: Vec<Option<VarId>>,
        /// Whether no matching row may exist.
        negated: bool,
        /// Time at which a stored relation is read.
        at: Option<Expr>,
        /// Position in the script.
        span: Span,
    },
    /// A condition that must be true.
    Condition(Expr),
    /// A variable has the value of an expression.
    Assign {
        /// Bound by the literal; compared if it is already bound.
        var: VarId,
        /// The expression.
        value: Expr,
        /// Position in the script.
        span: Span,
    },
    /// A variable is an item of a list.
    Member {
        /// Bound by the literal; compared if it is already bound.
        var: VarId,
        /// The list.
        list: Expr,
        /// Position in the script.
        span: Span,
    },
    /// Two variables have the same value.
    Same(VarId, VarId),
    /// A row is found by a search index.
    Search(Box<SearchUse>),
}

/// An expression with resolved names.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A parameter, as an index into [`Program::parameters`].
    Param(usize),
    /// A variable.
    Var(VarId),
    /// A function call.
    Call(&'static Function, Vec<Expr>, Span),
}

impl Expr {
    /// Calls `visit` for each occurrence of a variable.
    pub fn each_var(&self, visit: &mut dyn FnMut(VarId)) {
        match self {
            Self::Var(var) => visit(*var),
            Self::Call(_, args, _) => args.iter().for_each(|arg| arg.each_var(visit)),
            Self::Const(_) | Self::Param(_) => {}
        }
    }

    /// Whether the expression contains `var`.
    #[must_use]
    pub fn has_var(&self, var: VarId) -> bool {
        let mut found = false;
        self.each_var(&mut |one| found |= one == var);
        found
    }

    /// The items, if the expression is a list with separate item expressions.
    #[must_use]
    pub fn list_items(&self) -> Option<&[Self]> {
        match self {
            Self::Call(function, items, _) if function.name == "list" => Some(items),
            _ => None,
        }
    }

    /// Whether all variables are bound.
    #[must_use]
    pub fn is_bound(&self, bound: &PerVar<bool>) -> bool {
        let mut all = true;
        self.each_var(&mut |var| all &= bound[var]);
        all
    }

    /// Whether both are the same expression, and so have the same value.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Const(one), Self::Const(other)) => one == other,
            (Self::Param(one), Self::Param(other)) => one == other,
            (Self::Var(one), Self::Var(other)) => one == other,
            (Self::Call(one, args, _), Self::Call(other, others, _)) => {
                one.deterministic
                    && one.name == other.name
                    && args.len() == others.len()
                    && args.iter().zip(others).all(|(arg, other)| arg.is_same(other))
            }
            _ => false,
        }
    }

    /// Whether the value does not depend on rows: no variables and only deterministic functions.
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

    /// Whether the expression calls a random function, so that each row gets its own value. `now`
    /// also changes between rows, but nothing depends on that.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) | Self::Var(_) => false,
            Self::Call(function, args, _) => {
                !function.deterministic && function.name != "now"
                    || args.iter().any(Self::is_random)
            }
        }
    }

    /// The expression with its variables replaced.
    #[must_use]
    pub fn renamed(&self, to: &dyn Fn(VarId) -> VarId) -> Self {
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
    /// Whether it is an atom that is not negated.
    pub(crate) fn is_positive(&self) -> bool {
        matches!(self, Self::Atom { negated: false, .. })
    }

    /// Whether an expression in it is random ([`Expr::is_random`]).
    pub(crate) fn is_random(&self) -> bool {
        match self {
            Self::Condition(expr)
            | Self::Assign { value: expr, .. }
            | Self::Member { list: expr, .. } => expr.is_random(),
            Self::Search(search) => {
                search.inputs.iter().any(|(_, expr, _)| expr.is_random())
                    || search.filter.as_ref().is_some_and(|(filter, _)| filter.is_random())
            }
            Self::Atom { .. } | Self::Same(..) => false,
        }
    }

    /// Calls `visit` for each occurrence of a variable.
    pub fn each_var(&self, visit: &mut dyn FnMut(VarId)) {
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
            Self::Search(search) => {
                search.each_read(visit);
                search.each_bound(visit);
            }
        }
    }

    /// Calls `visit` for each variable that is bound after the literal, even if it was bound
    /// before. [`Literal::Same`] is not included.
    pub fn each_bound(&self, visit: &mut dyn FnMut(VarId)) {
        match self {
            Self::Atom { args, negated: false, .. } => {
                args.iter().flatten().for_each(|&var| visit(var));
            }
            Self::Assign { var, .. } | Self::Member { var, .. } => visit(*var),
            Self::Search(search) => search.each_bound(visit),
            Self::Atom { .. } | Self::Condition(_) | Self::Same(..) => {}
        }
    }

    /// Position of a use of `var` for messages: of a call that contains it, or of the whole
    /// literal.
    #[must_use]
    pub fn span_of(&self, var: VarId) -> Option<Span> {
        let expr = match self {
            Self::Assign { value: expr, .. } | Self::Member { list: expr, .. } => Some(expr),
            Self::Atom { at, .. } => at.as_ref(),
            Self::Condition(_) | Self::Same(..) | Self::Search(_) => None,
        };
        match expr {
            Some(expr @ Expr::Call(_, _, span)) if expr.has_var(var) => Some(*span),
            _ => self.span(),
        }
    }

    /// Position in the script, if known.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Atom { span, .. }
            | Self::Assign { span, .. }
            | Self::Member { span, .. }
            | Self::Condition(Expr::Call(_, _, span)) => Some(*span),
            Self::Search(search) => Some(search.span),
            Self::Condition(_) | Self::Same(..) => None,
        }
    }
}
