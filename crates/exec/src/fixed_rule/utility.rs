//! Fixed rules without a graph: constant rows (`Constant`), and sorted rows with ranks
//! (`ReorderSort`).

use super::call::{Call, Columns};
use crate::error::{Error, Result};
use crate::expr::Compiled;
use crate::value::cell::Cell;
use model::Value;

/// Returns the rows of the option `data`.
pub(super) fn constant(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let hint = "write rows as lists in a list: Constant(data: [[1, 'a'], [2, 'b']])";
    let data = call.required("data", hint)?;
    let wrong = || {
        let what = "the option `data` is a list of rows, all of them lists of one length";
        Error::hinted(what, data.span(), hint)
    };
    let Value::List(rows) = call.known(data)? else { return Err(wrong()) };
    let mut columns = match rows.first() {
        Some(Value::List(first)) => vec![Vec::with_capacity(rows.len()); first.len()],
        Some(_) => return Err(wrong()),
        None => Vec::new(),
    };
    for row in rows {
        let Value::List(items) = row else { return Err(wrong()) };
        if items.len() != columns.len() {
            return Err(wrong());
        }
        for (column, item) in columns.iter_mut().zip(items) {
            column.push(call.query.interner.take(item));
        }
    }
    Ok(columns)
}

/// Returns rows of the rank and the items of the option `out`, in the order of `sort_by`.
pub(super) fn reorder_sort(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let names = call.names(0)?;
    let hint = "`out` lists the columns of the result after the rank: out: [a, b]";
    let out = match call.required("out", hint)? {
        syntax::Expr::List(items, _) => {
            let items = items.iter().map(|item| call.over(item, &names).map(|(_, item)| item));
            items.collect::<Result<Vec<Compiled>>>()?
        }
        other => {
            let what = "the option `out` is a list of expressions";
            return Err(Error::hinted(what, other.span(), hint));
        }
    };
    let sort_by = call.option("sort_by").map(|expr| call.over(expr, &names)).transpose()?;
    let descends = call.flag("descending")?;
    let breaks_ties = call.flag("break_ties")?;
    let number = |name| -> Result<usize> {
        Ok(call.count(name)?.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX)))
    };
    let skip = number("skip")?;
    // 0 means all rows, because a query for none would be pointless.
    let take = match number("take")? {
        0 => usize::MAX,
        take => take,
    };
    let input = call.columns(0)?;
    let rows = input.first().map_or(0, Vec::len);
    let computer = call.query.computer();
    let source = Columns(&input);
    let keys = match &sort_by {
        Some((_, by)) => {
            (0..rows).map(|row| computer.compute(by, &source, row)).collect::<Result<Vec<_>>>()?
        }
        None => vec![Cell::NULL; rows],
    };
    // Ties keep the order of a relation's rows.
    let mut by: Vec<(&[Cell], bool)> = vec![(&keys, descends)];
    by.extend(input.iter().map(|column| (column.as_slice(), false)));
    let order = crate::value::sort::order(&by, rows, call.query.interner, &|| call.query.check(0))?;
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); out.len() + 1];
    let mut rank = (0, None);
    for (place, &row) in order.iter().enumerate() {
        let row = row as usize;
        if rank.1 != Some(keys[row]) {
            rank = (place + 1, Some(keys[row]));
        }
        if place < skip || place - skip >= take {
            continue;
        }
        columns[0].push(call.int(if breaks_ties { place + 1 } else { rank.0 }));
        for (column, item) in columns.iter_mut().skip(1).zip(&out) {
            column.push(computer.compute(item, &source, row)?);
        }
        if place % 4096 == 0 {
            call.query.check(8 * (columns.len() * columns[0].capacity()) as u64)?;
        }
    }
    Ok(columns)
}
