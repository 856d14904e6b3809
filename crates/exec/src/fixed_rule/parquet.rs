//! The fixed rule `ParquetReader`: rows from Parquet files, which the host decodes.

use super::call::Call;
use super::file::bytes;
use super::reader::{Rows, texts, types};
use crate::error::{Error, Result};
use crate::value::cell::Cell;

/// Reads the columns of a file: the named ones or all, with the given types or those of the file.
pub(super) fn read(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let names = call.option("columns").map(|expr| texts(call, "columns", expr)).transpose()?;
    let types = call.option("types").map(|_| types(call)).transpose()?;
    if let (Some(names), Some((types, span))) = (&names, &types)
        && names.len() != types.len()
    {
        let what = format!("ParquetReader: {} types for {} columns", types.len(), names.len());
        return Err(Error::value(what, *span));
    }
    let (bytes, file, span) = bytes(call)?;
    let Some(host) = call.host else {
        return Err(Error::value("nothing here reads Parquet files", span));
    };
    let mut rows: Option<Rows<'_, '_, '_>> = None;
    let mut failed = None;
    let read = host.read_parquet(bytes, &file, names.as_deref(), &mut |columns| {
        let mut add = || {
            if let Some((types, span)) = &types
                && types.len() != columns.len()
            {
                let what = format!(
                    "ParquetReader: {} types, and the file has {} columns",
                    types.len(),
                    columns.len()
                );
                return Err(Error::value(what, *span));
            }
            let rows = match &mut rows {
                Some(rows) => rows,
                None => rows.insert(Rows::new(call, columns.len())?),
            };
            let count = columns.first().map_or(0, model::Series::len);
            for row in 0..count {
                let number = rows.count() + 1;
                rows.add(columns.iter().enumerate().map(|(place, column)| {
                    let value = column.value(row);
                    let Some((types, span)) = &types else { return Ok(value) };
                    types[place].coerce(value).map_err(|error| {
                        let what =
                            format!("row {number} of the file, column {}: {error}", place + 1);
                        Error::value(what, *span)
                    })
                }))?;
            }
            Ok(())
        };
        failed = add().err();
        failed.is_none()
    });
    if let Some(error) = failed {
        return Err(error);
    }
    read.map_err(|error| Error::refused(error, span))?;
    Ok(rows.map(|rows| rows.columns).unwrap_or_default())
}
