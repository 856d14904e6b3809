//! A body as disjuncts, each a list of atoms: negations move inwards, disjunctions outwards.

use super::error;
use syntax::{Atom, Diagnostic, Formula, Span};

/// Rules that disjunctions of one rule may become.
const DISJUNCTS_MAX: usize = 1024;

/// The disjuncts of a formula: lists of atoms, each negated or not.
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
