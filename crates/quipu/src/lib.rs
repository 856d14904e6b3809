//! Quipu: an embedded database for graphs, facts and counts.
//!
//! A database is one folder, opened inside your process, without a server. It imports a graph of
//! tens of millions of edges in seconds, changes it in transactions, and finds edges from both
//! ends.
//!
//! ```
//! use quipu::{Database, GraphOptions, Options, WeightType};
//!
//! let db = Database::in_memory(Options::default())?;
//! let options = GraphOptions { weight: WeightType::Float, ..Default::default() };
//! let cites = db.graph("cites", options)?;
//! cites.upsert(1, 2, Some(quipu::Weight::Float(0.5)))?;
//! cites.upsert(3, 2, None)?;
//!
//! let mut who = Vec::new();
//! cites.predecessors(2, &mut who)?;
//! assert_eq!(who, [1, 3]);
//! # Ok::<(), quipu::Error>(())
//! ```
//!
//! # Architecture invariants
//! 1. This crate connects the others. It contains no logic of storage or graphs.
//! 2. Only this crate chooses an environment: the operating system or memory.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `size`, `file_errors`, `export_format`, `slow_query`, `options`: options, and what they need.
//! 2. `typed_column`, `column_kind`, `cell_columns`, `query_result`: results, row by row and as
//!    columns of one type.
//! 3. `typed_frame`, `result_arrow`, `relation_arrow`, `series_arrow`, `algorithm_arrow`,
//!    `columnar_export`, `parquet_reader`: the same as Arrow and Parquet.
//! 4. `edge_types`, `arrow_file`, `import_file`, `export`: files that a user names.
//! 5. `raw_rows`, `property_types`, `property_counts`, `property_table`, `property_batches`,
//!    `property_rows`, `property_schema`: rows of edges and vertices with properties.
//! 6. `view_host`, `database`, `engines`, `script`: an open database, and scripts on it.
//! 7. `backup`, `callback`, `check`, `migrate`, `user_defined`, `stream`, `repair`: more calls of a
//!    database.
//! 8. `relation`, `relation_export`, `export_import`, `documents`, `graph_relations`, `projection`,
//!    `spark_export`: handles of its graphs and relations.
//! 9. `algorithm`, `algorithm_export`, `property_import`: algorithms, and imports of properties.

mod algorithm;
#[cfg(feature = "arrow")]
mod algorithm_arrow;
mod algorithm_export;
#[cfg(feature = "arrow")]
mod arrow_file;
mod backup;
mod callback;
mod cell_columns;
mod check;
mod column_kind;
#[cfg(feature = "arrow")]
mod columnar_export;
mod database;
mod documents;
mod edge_types;
mod engines;
mod export;
mod export_format;
mod export_import;
mod file_errors;
mod graph_relations;
mod import_file;
mod migrate;
mod options;
#[cfg(feature = "arrow")]
mod parquet_reader;
mod projection;
#[cfg(feature = "arrow")]
mod property_batches;
mod property_counts;
mod property_import;
mod property_rows;
mod property_schema;
mod property_table;
mod property_types;
mod query_result;
mod raw_rows;
mod relation;
#[cfg(feature = "arrow")]
mod relation_arrow;
mod relation_export;
mod repair;
#[cfg(feature = "arrow")]
mod result_arrow;
mod script;
#[cfg(feature = "arrow")]
mod series_arrow;
mod size;
mod slow_query;
#[cfg(feature = "arrow")]
mod spark_export;
mod stream;
mod typed_column;
#[cfg(feature = "arrow")]
mod typed_frame;
mod user_defined;
mod view_host;

pub use self::relation::{Relation, RowScan};
pub use ::relation::Entry;
pub use algo::Csr;
#[cfg(feature = "arrow")]
pub use algorithm_arrow::algorithm_batch;
pub use algorithm_export::export_result;
pub use analytics::{
    ALGORITHMS, Algorithm, AlgorithmResult, Arguments, DefaultArgument, Found,
    GoOn as AnalyticsGoOn, Numbers, Parallel, Parameter, ParameterType, ProjectOptions, Projection,
    ResultColumn, Run as AnalyticsRun, Tree, VertexIds, WeightUse, algorithm as find_algorithm,
    reason_of,
};
#[cfg(feature = "arrow")]
pub use arrow_file::{RecordBatches, types_of_batches};
pub use backup::{
    BackupOptions, BackupReport, RestoreOptions, RestoreReport, remove_database, restore,
};
pub use base::{BytesColumn, KeyspaceId, SeqNo, Validity as ValidRows};
pub use check::{Check, Problem, check};
pub use database::{Database, DatabaseStats, GraphStats, RelationStats, Tx};
pub use document::{DocumentError, FieldKind, FieldType, Format, Gist, Patch, Pointer};
#[cfg(feature = "arrow")]
pub use documents::Gathered;
pub use documents::{
    DocumentImport, DocumentOptions, DocumentRows, DocumentScan, Documents, FieldChange,
    FieldValues,
};
pub use engines::is_address;
pub use export::{export_file, in_the_database, is_replaced, is_same_output, write_output};
pub use export_format::ExportFormat;
pub use function::{Accumulate, Cause, Failure};
pub use graph_relations::GraphRelations;
pub use import_file::{ImportFile, import_files, types_of_files};
pub use ingest;
pub use migrate::{MigrateReport, migrate};
pub use model::{
    Decimal, Frame, FrameError, Json, Series, Type, Validity, Value, Values, Vector, VectorKind,
};
pub use options::{
    BlobOptions, CombinedOptions, CounterOptions, GraphOptions, Options, Properties,
};
pub use property_import::PropertyImport;
pub use property_rows::PropertySource;
pub use property_schema::PropertyTypes;
pub use query_result::QueryResult;
#[cfg(feature = "arrow")]
pub use relation_arrow::{arrow_schema, record_batch};
pub use relation_export::{export_relation, export_relation_text};
pub use repair::{RepairReport, RepairedKeyspace, RepairedRange, repair, repair_in};
#[cfg(feature = "arrow")]
pub use result_arrow::{
    ArrowParts, ParquetParts, are_validity_fields, is_json_field, is_uuid_field,
};
pub use script::{Debug, Parameters, RunOptions, ScriptError};
#[cfg(feature = "arrow")]
pub use series_arrow::series_of_arrow;
pub use session::IndexCheck;
pub use session::{
    ChangeKind, Changed, ChangedBy, ColumnOf, Files, FixedRule, GoOn, RuleCall, ShortText, Words,
    may_change, words,
};
pub use size::parse_bytes;
pub use slow_query::{SlowQueries, SlowQuery};
#[cfg(feature = "arrow")]
pub use spark_export::{PartFile, SparkExport, SparkOptions};
pub use store::{
    Activity, BulkWritten, Durability, Error, ErrorKind, Isolation, Result, WrittenBytes,
};
pub use syntax::is_unfinished;
pub use syntax::words::quote_name;
pub use typed_column::{ColumnValues, Digits, TypedColumn};
pub use views::blobs::{
    BlobReader, BlobRows, BlobScan, BlobWriter, Blobs, BlobsCheck, BlobsReconciled, KeyScan,
    Measure,
};
pub use views::combined::{
    Combined, CombinedDef, CombinedRows, CombinedScan, Combiner,
    VALUE_BYTES_MAX as COMBINED_BYTES_MAX,
};
pub use views::counters::{
    Combine, CounterRows, CounterScan, Counters, CountersDef, Number, NumberColumn, NumberList,
    NumberType,
};
pub use views::graph::{
    EdgeScan, Edges, Graph, GraphCheck, GraphDef, Reconciled, VertexColumn, VertexList, VertexScan,
    VertexType, Weight, WeightType, Weights, WeightsRef,
};
pub use views::import::{
    ImportInput, ImportOptions, ImportProgress, ImportReport, OnlyVertices, Phase, ProgressFn,
};
pub use views::keys::{KeyColumn, KeyList, KeyOf, KeyType};
