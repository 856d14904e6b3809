//! The names that scripts consist of, for completion, highlighting and listings.

/// Names by kind; each list is sorted and not empty.
#[derive(Clone, Debug)]
pub struct Words {
    /// Functions; operators by their functions' names.
    pub functions: Vec<&'static str>,
    /// Aggregates.
    pub aggregates: Vec<&'static str>,
    /// Fixed rules, with aliases.
    pub fixed_rules: Vec<String>,
    /// System ops, without `::`.
    pub system_ops: Vec<&'static str>,
    /// Options of a query, and its commands on relations, without `:`.
    pub options: Vec<&'static str>,
    /// Statements of imperative scripts, without `%`.
    pub statements: Vec<&'static str>,
}

/// All names.
#[must_use]
pub fn words() -> Words {
    let sorted = |words: &[&'static str], more: &[&'static str]| {
        let mut words = [words, more].concat();
        words.sort_unstable();
        words
    };
    let functions: Vec<_> = function::functions().iter().map(|one| one.name).collect();
    let aggregates: Vec<_> = function::aggregates().iter().map(|one| one.name).collect();
    Words {
        functions: sorted(&functions, &[]),
        aggregates: sorted(&aggregates, &[]),
        fixed_rules: crate::fixed_rule::names(),
        system_ops: sorted(syntax::words::SYSTEM_OPS, &[]),
        options: sorted(syntax::words::OPTIONS, &[]),
        statements: sorted(syntax::words::STATEMENTS, &["else", "end", "then"]),
    }
}
