//! Text of the query language to a syntax tree and diagnostics. Never fails, never reads a file.

mod ast;

pub use ast::{
    Args, Atom, Block, Condition, Expr, Formula, HeadItem, Ident, Mutation, MutationOp, Options,
    Query, Rule, Script, Span, Spec, SpecColumn, Statement, SystemOp,
};
