//! Converts bodies to disjunctive normal form: a list of disjuncts, each a list of atoms that may
//! be negated.

use super::message::error;
use syntax::{Atom, Diagnostic, Formula, Span};

/// Maximum number of rules that the disjunctions of one rule may produce.
const DISJUNCTS_MAX: usize = 1024;

/// Appends the disjuncts of a formula to `out`. Each atom is paired with whether it is negated.
pub(super) fn flatten<'f>(
    formula: &'f Formula,
    negated: bool,
    span: Span,
    out: &mut Vec<Vec<(&'f Atom, bool)>>,
) -> Result<(), Diagnostic> {
    match formula {
        Formula::Atom(atom) => out.push(vec![(atom, negated)]),
        Formula::Not(inner, _) => flatten(inner, !negated, span, out)?,
        Formula::And(parts) | Formula::Or(parts)
            if matches!(formula, Formula::And(_)) == negated =>
        {
            for part in parts {
                flatten(part, negated, span, out)?;
            }
        }
        Formula::And(parts) | Formula::Or(parts) => {
            let mut all: Vec<Vec<(&Atom, bool)>> = vec![Vec::new()];
            for part in parts {
                let mut some = Vec::new();
                flatten(part, negated, span, &mut some)?;
                if all.len().saturating_mul(some.len()) > DISJUNCTS_MAX {
                    let message =
                        format!("the disjunctions become more than {DISJUNCTS_MAX} rules");
                    let hint = "give a part of the body a rule of its own".to_owned();
                    return Err(Diagnostic { message, span, hint: Some(hint) });
                }
                all = all
                    .iter()
                    .flat_map(|one| some.iter().map(move |more| [one.as_slice(), more].concat()))
                    .collect();
            }
            out.extend(all);
        }
    }
    if out.len() > DISJUNCTS_MAX {
        return Err(error(
            format!("the disjunctions become more than {DISJUNCTS_MAX} rules"),
            span,
        ));
    }
    Ok(())
}
