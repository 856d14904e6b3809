//! Rows of a result in the formats of `--format` and `\o`.

use crate::args::RowFormat;
use crate::failure::Failure;
use crate::output::plural;
use quipu::{ArrowParts, ParquetParts, QueryResult, Value, Vector};
use serde_json::{Map, json};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes all rows of a result to a stream.
pub(crate) fn write(
    out: &mut (impl Write + Send),
    answer: &QueryResult,
    format: RowFormat,
) -> Result<(), Failure> {
    let mut writer = ResultWriter::new(out, format);
    writer.write(answer)?;
    writer.finish()
}

/// Writes a result in batches. At least one is written, for the names of columns.
pub(crate) enum ResultWriter<W: Write + Send> {
    Parquet(ParquetParts<W>),
    Arrow(ArrowParts<W>),
    Text {
        out: W,
        format: RowFormat,
        /// Rows of the batches before; `None` before the first.
        rows: Option<u64>,
    },
}

impl<W: Write + Send> ResultWriter<W> {
    pub(crate) fn new(out: W, format: RowFormat) -> Self {
        match format {
            RowFormat::Parquet => Self::Parquet(ParquetParts::new(out)),
            RowFormat::Arrow => Self::Arrow(ArrowParts::new(out)),
            _ => Self::Text { out, format, rows: None },
        }
    }

    pub(crate) fn write(&mut self, part: &QueryResult) -> Result<(), Failure> {
        match self {
            Self::Parquet(parts) => parts.write(part)?,
            Self::Arrow(parts) => parts.write(part)?,
            Self::Text { out, format, rows } => {
                text(out, part, *format, *rows).map_err(Failure::output)?;
                *rows = Some(rows.unwrap_or(0) + part.len() as u64);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Parquet(parts) => parts.finish()?,
            Self::Arrow(parts) => parts.finish()?,
            Self::Text { mut out, format, rows } => {
                let rows = rows.unwrap_or(0);
                let ended = match format {
                    RowFormat::Json => writeln!(out, "]}}"),
                    RowFormat::Table => writeln!(out, "({})", plural(rows, "row", "rows")),
                    _ => Ok(()),
                };
                ended.map_err(Failure::output)?;
            }
        }
        Ok(())
    }
}

/// Rows of a relation that `%debug` shows at most.
const DEBUG_ROWS_MAX: usize = 20;

/// Writes the relation that `%debug` names to standard error.
pub(crate) fn debug(name: &str, answer: &QueryResult) {
    let many = plural(answer.len() as u64, "row", "rows");
    let table = answer.to_table(DEBUG_ROWS_MAX);
    let more = if answer.len() > DEBUG_ROWS_MAX { "…\n" } else { "" };
    crate::output::note(format!("{name}: {many}\n{table}{more}").trim_end());
}

/// The format for the extension of a file's name; `None` for any other extension.
pub(crate) fn format_of(path: &Path) -> Option<RowFormat> {
    Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => RowFormat::Csv,
        "json" => RowFormat::Json,
        "jsonl" | "ndjson" => RowFormat::Jsonl,
        "parquet" => RowFormat::Parquet,
        "arrow" | "feather" => RowFormat::Arrow,
        "txt" => RowFormat::Table,
        _ => return None,
    })
}

/// Writes the rows to a file, or into a pipe or a device. A file is replaced only where all was
/// written.
pub(crate) fn write_file(
    path: &Path,
    answer: &QueryResult,
    format: RowFormat,
) -> Result<(), Failure> {
    let failed = |error| Failure::File(path.display().to_string(), error);
    quipu::write_output(path, &crate::interrupt::go_on, |file| {
        let mut out = BufWriter::new(file);
        write(&mut out, answer, format)?;
        out.flush().map_err(failed)
    })
}

/// Writes a batch as text. `before` is the number of rows before it, `None` for the first batch.
fn text(
    out: &mut impl Write,
    answer: &QueryResult,
    format: RowFormat,
    before: Option<u64>,
) -> io::Result<()> {
    let (rows, columns) = (answer.len(), answer.columns().len());
    match format {
        RowFormat::Csv => {
            if before.is_none() {
                let names: Vec<String> = answer.columns().iter().map(|name| quoted(name)).collect();
                writeln!(out, "{}", names.join(","))?;
            }
            for row in 0..rows {
                for column in 0..columns {
                    let gap = if column == 0 { "" } else { "," };
                    write!(out, "{gap}{}", answer.with_value(row, column, csv))?;
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        RowFormat::Json => {
            if before.is_none() {
                write!(out, "{{\"columns\":{},\"rows\":[", json!(answer.columns()))?;
            }
            for row in 0..rows {
                let values = (0..columns).map(|column| answer.with_value(row, column, json));
                let gap = if row == 0 && before.unwrap_or(0) == 0 { "" } else { "," };
                write!(out, "{gap}{}", serde_json::Value::Array(values.collect()))?;
            }
            Ok(())
        }
        RowFormat::Jsonl => {
            for row in 0..rows {
                let values = (0..columns).map(|column| answer.with_value(row, column, json));
                let fields = answer.columns().iter().cloned().zip(values);
                writeln!(out, "{}", serde_json::Value::Object(fields.collect::<Map<_, _>>()))?;
            }
            Ok(())
        }
        RowFormat::Table | RowFormat::Parquet | RowFormat::Arrow => {
            out.write_all(answer.to_table(usize::MAX).as_bytes())
        }
    }
}

/// A cell of CSV: null is empty, an empty string is `""`.
fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) if text.is_empty() => "\"\"".to_owned(),
        Value::Str(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(bool) => json!(bool),
        Value::Int(int) => json!(int),
        Value::Id(id) => json!(id),
        Value::Float(float) => json!(float),
        Value::Str(text) => json!(text),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Vector(Vector::F32(items)) => json!(items),
        Value::Vector(Vector::F64(items)) => json!(items),
        Value::Json(json) => json.to_tree(),
        Value::Validity(validity) => json!([validity.timestamp_us, validity.assert]),
        Value::Bytes(_)
        | Value::Uuid(_)
        | Value::Date(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Decimal(_) => json!(value.to_string()),
    }
}
