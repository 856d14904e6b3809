//! The contents of an export, and the file `quipu.json` that names them.

use crate::export::failed;
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use store::Result;

/// Number of the format that `quipu.json` names.
const FORMAT: u64 = 1;

const STATISTICS: &str = "quipu.json";

/// The file that marks a complete export, as Hadoop's tools write it.
const SUCCESS: &str = "_SUCCESS";

/// The contents of an export for Spark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparkExport {
    /// Name of the graph.
    pub graph: String,
    /// Whether edges have a direction. Those of an undirected graph are there once, with the
    /// smaller end as `src`.
    pub is_directed: bool,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges.
    pub edges: u64,
    /// Columns of the vertices: names, and types as pyarrow names them.
    pub vertex_columns: Vec<(String, String)>,
    /// Columns of the edges.
    pub edge_columns: Vec<(String, String)>,
    /// Most rows of a file.
    pub file_rows_max: u64,
    /// All files of rows.
    pub files: Vec<PartFile>,
}

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    /// Its path in the folder.
    pub name: String,
    /// Number of rows.
    pub rows: u64,
    /// Its length.
    pub bytes: u64,
}

/// The files of vertices, or of edges.
pub(super) struct Part {
    pub(super) rows: u64,
    pub(super) columns: Vec<(String, String)>,
    pub(super) files: Vec<PartFile>,
}

impl SparkExport {
    pub(super) fn new(
        (graph, is_directed): (String, bool),
        vertices: Part,
        edges: Part,
        file_rows_max: u64,
    ) -> Self {
        Self {
            graph,
            is_directed,
            vertices: vertices.rows,
            edges: edges.rows,
            vertex_columns: vertices.columns,
            edge_columns: edges.columns,
            file_rows_max,
            files: edges.files.into_iter().chain(vertices.files).collect(),
        }
    }

    /// The text of `quipu.json`. Objects keep the order of columns and files.
    fn to_json(&self) -> String {
        let columns = |columns: &[(String, String)]| {
            object(columns.iter().map(|(name, of)| (name.as_str(), json!(of))))
        };
        let files = |of: fn(&PartFile) -> u64| {
            object(self.files.iter().map(|file| (file.name.as_str(), json!(of(file)))))
        };
        let fields = [
            ("format", json!(FORMAT).to_string()),
            ("version", json!(env!("CARGO_PKG_VERSION")).to_string()),
            ("graph", json!(self.graph).to_string()),
            ("directed", json!(self.is_directed).to_string()),
            ("vertices", json!(self.vertices).to_string()),
            ("edges", json!(self.edges).to_string()),
            ("vertex_columns", columns(&self.vertex_columns)),
            ("edge_columns", columns(&self.edge_columns)),
            ("file_rows_max", json!(self.file_rows_max).to_string()),
            ("files", files(|file| file.rows)),
            ("file_bytes", files(|file| file.bytes)),
        ];
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("  {}: {value}", json!(name))).collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }
}

/// An object with its fields in this order, one on each line.
fn object<'n>(fields: impl Iterator<Item = (&'n str, Value)>) -> String {
    let fields: Vec<String> =
        fields.map(|(name, value)| format!("    {}: {value}", json!(name))).collect();
    match fields.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{\n{}\n  }}", fields.join(",\n")),
    }
}

/// Writes `quipu.json`, and `_SUCCESS` after it.
pub(super) fn write(folder: &Path, report: &SparkExport) -> Result<()> {
    for (name, text) in [(STATISTICS, report.to_json()), (SUCCESS, String::new())] {
        let path = folder.join(name);
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(failed(&path))?;
    }
    Ok(())
}

/// Whether a folder is an export, and holds nothing else.
pub(super) fn is_export(folder: &Path) -> bool {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|there| there.is_symlink());
    let Ok(text) = fs::read_to_string(folder.join(STATISTICS)) else { return false };
    let page: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_part = |name: &str| name.starts_with("part-") && name.ends_with(".parquet");
    !is_link
        && page["format"].is_u64()
        && page["files"].is_object()
        && holds_only(folder, &|name| {
            [STATISTICS, SUCCESS].contains(&name) || KINDS.contains(&name)
        })
        && KINDS.iter().all(|kind| holds_only(&folder.join(kind), &is_part))
}

/// The folders of an export.
const KINDS: [&str; 2] = ["edges", "vertices"];

/// Whether all entries of a folder have names that are the export's. A copy by Hadoop's tools has
/// checksums, too, in hidden files.
fn holds_only(folder: &Path, is_ours: &dyn Fn(&str) -> bool) -> bool {
    let is_checksum = |name: &str| name.starts_with('.') && name.ends_with(".crc");
    let is_one = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| is_ours(name) || is_checksum(name))
        })
    };
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(is_one))
}

/// The name that pyarrow has for a type.
pub(super) fn arrow_type_name(of: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match of {
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Date32 => "date32[day]".into(),
        DataType::Boolean => "bool".into(),
        DataType::Timestamp(of, Some(zone)) => format!("timestamp[{}, tz={zone}]", unit(of)),
        DataType::Timestamp(of, None) => format!("timestamp[{}]", unit(of)),
        DataType::Duration(of) => format!("duration[{}]", unit(of)),
        DataType::List(item) => {
            format!("list<{}: {}>", item.name(), arrow_type_name(item.data_type()))
        }
        DataType::FixedSizeList(item, len) => {
            let of = arrow_type_name(item.data_type());
            format!("fixed_size_list<{}: {of}>[{len}]", item.name())
        }
        DataType::Struct(fields) => {
            let mut text = "struct<".to_owned();
            for (place, field) in fields.iter().enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                let null = if field.is_nullable() { "" } else { " not null" };
                let of = arrow_type_name(field.data_type());
                // Writing to a string cannot fail.
                let _ = write!(text, "{comma}{}: {of}{null}", field.name());
            }
            text + ">"
        }
        other => other.to_string().to_lowercase(),
    }
}
