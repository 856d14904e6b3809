//! The rule for names of catalog entries.

use crate::error::invalid;
use store::Result;
use unicode_ident::{is_xid_continue, is_xid_start};

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Checks the name of a relation, a graph or another entry: a letter or `_`, then letters, digits,
/// `_`, `.` and `-`. Letters and digits may be of any script (Unicode's `XID_Start` and
/// `XID_Continue`). Scripts write names with `-` in backquotes. Names are compared byte by byte,
/// without normalisation.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`] with the rule that the name breaks.
pub fn check_name(name: &str) -> Result<()> {
    if name.contains(':') {
        return Err(invalid(format!(
            "the name {name:?} has a colon\nhint: `:` is kept for the system's own keyspaces"
        )));
    }
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| is_xid_start(c) || c == '_');
    let goes_on = letters.all(|c| is_xid_continue(c) || matches!(c, '.' | '-'));
    if starts && goes_on && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(invalid(format!(
        "{name:?} cannot be a name\nhint: a letter or `_`, then letters, digits, `_`, `.` and `-`; \
         at most {NAME_BYTES_MAX} bytes"
    )))
}
