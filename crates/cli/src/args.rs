//! Commands and flags: each is defined once, with its help. The doc comments here are what `--help`
//! prints.

use crate::paint::Color;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use quipu::ingest::{ColumnRef, Columns, Missing};
use quipu::{Durability, Files, VertexType, WeightType};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  quipu import patents.quipu cites cit-Patents.csv
  quipu neighbors patents.quipu cites 3858245 --out
  quipu run patents.quipu -e '?[to] := *cites{src: 3858245, dst: via}, *cites{src: via, dst: to}'
  quipu stats patents.quipu
  quipu export patents.quipu cites - | head
  quipu backup patents.quipu monday.qbak

Exit status: 0 done, 1 failed, 2 wrong usage, 3 corruption found, 130 interrupted.";

/// Quipu: an embedded database for graphs, facts and counts.
///
/// A database is one folder. Commands that only read may run while another process writes it.
#[derive(Debug, Parser)]
#[command(name = "quipu", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Import(Import),
    Stats(Stats),
    Check(Check),
    Repair(Repair),
    Neighbors(Neighbors),
    Algo(Algo),
    Run(Run),
    Shell(Shell),
    Export(Export),
    Backup(Backup),
    Restore(Restore),
    Migrate(Migrate),
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  quipu import db.quipu roads roads.csv.gz
  quipu import db.quipu follows part-1.tsv part-2.tsv --on-error skip
  quipu import db.quipu links wiki.csv --vertex str --columns from_title,to_title
  quipu import db.quipu g matrix.mtx people.graphml
  quipu import db.quipu g <(zcat edges.gz)
  quipu import db.quipu g edges.parquet --json
  quipu import db.quipu cites edges.csv --properties --nodes papers.csv

The database and the graph are created if they do not exist. Each file is imported atomically; with \
--properties or --nodes all files are one import. \
Ctrl-C stops and leaves the database as it was before the current file. An edge that exists gets \
the new weight; if a file has an edge several times, the last one counts.";

/// Import edges from text (CSV, TSV, white space), Parquet, Arrow, Matrix Market, GraphML, GEXF,
/// GML, Pajek, DIMACS, METIS and others; plain or compressed.
///
/// Format, delimiter, header and types are detected, and the report says what was. Without
/// --columns, source, target and weight are the columns with well-known names in the header; if
/// there are none, they are the first columns in this order.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Name of the graph
    pub(crate) graph: String,
    /// Files to import: text, Parquet, Arrow, Matrix Market, GraphML and others, compressed or not;
    /// pipes, folders; "-" reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A table of vertices with their properties: text with a header, Parquet or Arrow; may be
    /// given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Vec<PathBuf>,
    /// Further columns become properties of a new graph's edges; an existing graph has its own
    #[arg(long)]
    pub(crate) properties: bool,
    /// Type of vertices; default: that of the graph, for a new one what fits the files
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) vertex: Option<Vertex>,
    /// Type of weights; default: that of the graph, for a new one what fits the files
    #[arg(long, value_enum, value_name = "TYPE")]
    pub(crate) weight: Option<Weight>,
    /// Edges of a new graph have no direction: (a, b) and (b, a) are one edge
    #[arg(long)]
    pub(crate) undirected: bool,
    /// A new graph has parallel edges, told apart by the integers of the column "key"
    #[arg(long)]
    pub(crate) keyed: bool,
    /// Columns of source, target and, if any, weight: names in the header, or positions from 0
    #[arg(long, value_parser = columns, value_name = "A,B[,C]")]
    pub(crate) columns: Option<Columns>,
    /// Delimiter of columns: one character, "tab" or "space"; default: detected
    #[arg(long, value_parser = delimiter, value_name = "CHAR")]
    pub(crate) delimiter: Option<u8>,
    /// The first record is a header with the names of columns; default: detected
    #[arg(long, action = ArgAction::SetTrue, overrides_with = "no_header")]
    pub(crate) header: bool,
    /// The first record is an edge
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) no_header: bool,
    /// Whether a bad line fails the import, or is skipped and reported
    #[arg(long, value_enum, default_value_t = OnError::Fail, value_name = "WHAT")]
    pub(crate) on_error: OnError,
    /// Meaning of a missing weight: a number to use, or "skip" to leave such edges out; default:
    /// the import fails and counts them
    #[arg(long, value_parser = missing, value_name = "WHAT")]
    pub(crate) missing: Option<Missing>,
    /// Quotes are ordinary characters
    #[arg(long)]
    pub(crate) no_quotes: bool,
    /// Lines at the start to skip
    #[arg(long, default_value_t = 0, value_name = "COUNT")]
    pub(crate) skip_rows: u64,
    /// The character that starts a comment; default: "#" and "%"
    #[arg(long, value_parser = delimiter, value_name = "CHAR")]
    pub(crate) comment: Option<u8>,
    /// The decimal mark of weights
    #[arg(long, value_parser = ["." , ","], default_value = ".", value_name = "CHAR")]
    pub(crate) decimal: String,
    /// A further spelling of a missing weight; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) null_value: Vec<String>,
    /// Durability of commits; an import is durable when it ends, at every level
    #[arg(long, value_enum, default_value_t = Durable::Sync, value_name = "LEVEL")]
    pub(crate) durability: Durable,
    /// Memory for the import in addition to the cache, such as 256MB; what exceeds it spills to
    /// disk
    #[arg(long, value_parser = size, default_value = "1GB", value_name = "SIZE")]
    pub(crate) memory_limit: u64,
    /// Memory for cached blocks
    #[arg(long, value_parser = size, default_value = "512MB", value_name = "SIZE")]
    pub(crate) cache: u64,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

const STATS_EXAMPLES: &str = "\
Examples:
  quipu stats patents.quipu
  quipu stats patents.quipu --json | jq '.graphs[] | {name, edges}'";

/// Print the contents of a database and their size.
#[derive(Debug, Args)]
#[command(after_help = STATS_EXAMPLES)]
pub(crate) struct Stats {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  quipu check patents.quipu
  quipu check patents.quipu --json || echo 'restore from a backup'

Works while another process writes, and on a database that can no longer be opened. The command reads \
everything and lists all problems, up to a hundred. Exit status 0: intact. 3: bytes on disk differ from \
what was written; each message names the file and the byte. 130: stopped by Ctrl-C.";

/// Read every file and verify all checksums, the order of all rows, and that both directions of
/// each graph agree.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const REPAIR_EXAMPLES: &str = "\
Examples:
  quipu repair patents.quipu rescued.quipu
  quipu repair patents.quipu rescued.quipu --json | jq '.graphs[] | {name, edges, in_doubt}'

Saves every row whose checksum is correct, rebuilds a damaged direction of a graph from the other one, and \
checks the new database. The damaged one is never changed. Close it first. Exit status 0: nothing is lost. \
4: the new database is intact, but lacks what the report names, or may hold stale rows where the report \
says so. 3: nothing could be saved.";

/// Write a new database with everything that is intact in a damaged one, and report what is lost.
#[derive(Debug, Args)]
#[command(after_help = REPAIR_EXAMPLES)]
pub(crate) struct Repair {
    /// Folder of the damaged database
    pub(crate) db: PathBuf,
    /// A new or empty folder for the new database
    pub(crate) target: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const NEIGHBORS_EXAMPLES: &str = "\
Examples:
  quipu neighbors patents.quipu cites 3858245
  quipu neighbors patents.quipu cites 3858245 --in --limit 20
  quipu neighbors wiki.quipu links 'Inca Empire' --out --json";

/// Print the neighbors of a vertex, one per line, in ascending order.
///
/// A vertex is its own neighbor only with --out or --in, and only where it has an edge to itself.
#[derive(Debug, Args)]
#[command(after_help = NEIGHBORS_EXAMPLES)]
pub(crate) struct Neighbors {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Name of the graph
    pub(crate) graph: String,
    /// The vertex
    #[arg(allow_negative_numbers = true)]
    pub(crate) vertex: String,
    /// Only targets of edges that leave the vertex
    #[arg(long, conflicts_with = "incoming")]
    pub(crate) out: bool,
    /// Only sources of edges that enter the vertex
    #[arg(long = "in", id = "incoming")]
    pub(crate) incoming: bool,
    /// Print at most N neighbors
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const ALGO_EXAMPLES: &str = "\
Examples:
  quipu algo list
  quipu algo pagerank
  quipu algo pagerank db.quipu cites --param alpha=0.9 | sort -t, -k2gr | head
  quipu algo shortest_paths db.quipu roads --weight weight --param source=1 --out near.parquet
  quipu algo louvain db.quipu friends --undirected --relation communities
  quipu algo diameter db.quipu roads --undirected

The graph is read into memory. Without --out or --relation, the result is printed as CSV with a header, a number as \
itself. Parameters are JSON, or else strings; personalization is a list of pairs: [[1, 0.5], [2, 0.5]].";

/// Run an algorithm on a graph: PageRank, shortest paths, components, communities and others.
///
/// Without a database, the parameters of the algorithm are listed; "list" lists all algorithms.
#[derive(Debug, Args)]
#[command(after_help = ALGO_EXAMPLES)]
pub(crate) struct Algo {
    /// Name of the algorithm, or "list"
    pub(crate) algorithm: String,
    /// Folder of the database
    #[arg(requires = "graph")]
    pub(crate) db: Option<PathBuf>,
    /// Name of the graph
    pub(crate) graph: Option<String>,
    /// Value of the parameter NAME: JSON, or else a string
    #[arg(long = "param", value_parser = parameter, value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<(String, String)>,
    /// Whether edges have their weights
    #[arg(long, value_enum, default_value_t = ProjectedWeight::Auto, value_name = "WHICH")]
    pub(crate) weight: ProjectedWeight,
    /// Ignore the directions of edges
    #[arg(long)]
    pub(crate) undirected: bool,
    /// Condition for edges over src, dst and weight, such as 'weight > 0.5'
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) condition: Option<String>,
    /// File for the result: .csv, .tsv, .txt, .parquet or .arrow; it is replaced
    #[arg(long, value_name = "FILE", conflicts_with = "relation")]
    pub(crate) out: Option<PathBuf>,
    /// Relation for the result; it is created, or replaced
    #[arg(long, value_name = "NAME")]
    pub(crate) relation: Option<String>,
    /// Memory for the database and the graph, such as 4GB
    #[arg(long, value_parser = size, default_value = "1GB", value_name = "SIZE")]
    pub(crate) memory_limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProjectedWeight {
    /// Where NetworkX uses them by default
    Auto,
    /// Each edge counts as 1
    None,
    /// Edges have their weights
    Weight,
}

const RUN_EXAMPLES: &str = "\
Examples:
  quipu run db.quipu -e '?[to] := *cites{src: $v, dst: to}' --param v=42
  quipu run db.quipu reach.q --format csv > reached.csv
  quipu run db.quipu schema.q load.q --param day='\"2026-01-01\"'
  quipu run db.quipu reach.q --format parquet > reached.parquet
  quipu run db.quipu -e '?[src, dst] := *cites{src, dst}' --stream | sort -t, -k2n | head
  echo '::relations' | quipu run db.quipu -

Several scripts run in order until one fails; the rows of the last one are printed. A script is one query, one \
operation that begins with '::', or several queries in braces. A script that only reads opens the database read-only, \
while another process may write. A script that may change something creates the database if it does not exist. In CSV, \
null is an empty cell and an empty string is \"\". In JSON, numbers that JSON lacks (inf, NaN) are null, and bytes and \
UUIDs are strings. Run an untrusted script with --files none: it then reads no file of this machine. Ctrl-C stops the \
script and changes nothing. With --stream, rows may be printed before a script fails.";

/// Run a script of the query language (Datalog), and print the rows of its result.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Files with scripts, run in this order; "-" is standard input
    #[arg(required_unless_present = "script", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A script, run after those of the files
    #[arg(short = 'e', long = "script", value_name = "SCRIPT")]
    pub(crate) script: Option<String>,
    /// Value of the script's parameter $NAME: JSON, or else a string
    #[arg(long = "param", value_parser = parameter, value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<(String, String)>,
    /// Format of the rows; default: table on a terminal, else csv
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RowFormat>,
    /// Print rows while the query runs, in no particular order, where no two can be equal: a result
    /// may be larger than memory
    #[arg(long)]
    pub(crate) stream: bool,
    /// Timeout in seconds, which overrides the script's own; 0 is no limit
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    pub(crate) timeout: Option<Duration>,
    /// Which files scripts may read: any, none, or those below a folder
    #[arg(id = "readable", long = "files", value_parser = readable, default_value = "any", value_name = "WHICH")]
    pub(crate) readable: Files,
    /// Memory for the database and the script, such as 4GB
    #[arg(long, value_parser = size, default_value = "1GB", value_name = "SIZE")]
    pub(crate) memory_limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Aligned columns
    Table,
    /// A header with the names of columns, then a line per row
    Csv,
    /// One JSON object with "columns" and "rows"
    Json,
    /// A JSON object per row
    Jsonl,
    /// A Parquet file
    Parquet,
    /// An Arrow file
    Arrow,
}

const SHELL_EXAMPLES: &str = "\
Examples:
  quipu shell db.quipu
  quipu shell db.quipu --read-only
  quipu shell < scripts.txt

On a terminal, Enter runs a script once it is complete. Alt-Enter always starts a new line, and an empty line runs the \
script as it is. Tab completes names; \\h lists the shell's own commands. Without a folder, the database is in memory. \
If the input is not a terminal, the scripts in it are separated by empty lines, and the first failure ends the shell.";

/// Run scripts of the query language (Datalog) interactively, with history and completion.
#[derive(Debug, Args)]
#[command(after_help = SHELL_EXAMPLES)]
pub(crate) struct Shell {
    /// Folder of the database; it is created if it does not exist
    pub(crate) db: Option<PathBuf>,
    /// Open read-only, while another process may write
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Value of the scripts' parameter $NAME: JSON, or else a string
    #[arg(long = "param", value_parser = parameter, value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<(String, String)>,
    /// Format of the rows; default: table on a terminal, else csv
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RowFormat>,
    /// Timeout of a script in seconds, which overrides the script's own; 0 is no limit
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    pub(crate) timeout: Option<Duration>,
    /// Which files scripts may read: any, none, or those below a folder
    #[arg(id = "readable", long = "files", value_parser = readable, default_value = "any", value_name = "WHICH")]
    pub(crate) readable: Files,
    /// Memory for the database and its scripts, such as 4GB
    #[arg(long, value_parser = size, default_value = "1GB", value_name = "SIZE")]
    pub(crate) memory_limit: u64,
    /// When to use colors; NO_COLOR turns them off too
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    /// Neither read nor write the history, which is a file in the user's state folder
    #[arg(long)]
    pub(crate) no_history: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  quipu export patents.quipu cites cites.parquet
  quipu export patents.quipu cites cites.tsv --force
  quipu export patents.quipu cites - | sort -t, -k2n | head
  quipu export papers.quipu cites edges.parquet --nodes papers.parquet
  quipu export papers.quipu cites --spark cites.spark

An exported file can be imported again unchanged. An export for Spark is a folder: vertices/ and edges/ have \
Parquet files of bounded size, quipu.json their counts and columns; _SUCCESS is written last. The folder gets \
its name when it is complete. An interrupted command leaves nothing, a killed one a folder .quipu-….part.";

/// Write all edges of a graph with their properties to a file: .csv, .tsv, .parquet or .arrow, or
/// "-" for CSV on standard output. With --spark, write vertices and edges to a folder for Apache
/// Spark.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// Name of the graph
    pub(crate) graph: String,
    /// The file; its extension selects the format
    #[arg(required_unless_present = "spark", conflicts_with = "spark")]
    pub(crate) file: Option<PathBuf>,
    /// Write the vertices that have rows, with their properties, to this file
    #[arg(long, value_name = "FILE", conflicts_with = "spark")]
    pub(crate) nodes: Option<PathBuf>,
    /// Write vertices and edges with their properties, as Parquet files, to this new folder. The
    /// graph may be a relation whose first two columns are source and target
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spark: Option<PathBuf>,
    /// With --spark: a relation with one key, the vertex, whose columns are the properties of
    /// vertices; default: those of the graph
    #[arg(long, value_name = "RELATION", conflicts_with = "file")]
    pub(crate) vertices: Option<String>,
    /// With --spark: most rows of a file [default: 4000000]
    #[arg(long, value_name = "COUNT", conflicts_with = "file", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) file_rows: Option<u64>,
    /// Replace existing files; with --spark, an earlier export
    #[arg(long, visible_alias = "replace")]
    pub(crate) force: bool,
}

const BACKUP_EXAMPLES: &str = "\
Examples:
  quipu backup patents.quipu /backups/monday
  quipu backup patents.quipu /backups/tuesday --earlier /backups/monday
  quipu backup patents.quipu monday.qbak --json

A backup folder is itself a database that can be opened. Its tables are hard links if the file system has \
them, so it takes hardly any space. With --earlier, tables that are already in that backup are links to it; \
every backup is still complete in itself, and any of them can be removed. A name that ends in .qbak makes \
one compressed file. Another process may write the database meanwhile. A backup that was interrupted is \
not valid, and restore refuses it.";

/// Write the current committed state to a new folder, or to one compressed file (.qbak).
#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(crate) struct Backup {
    /// Folder of the database
    pub(crate) db: PathBuf,
    /// A new or empty folder, or a file that ends in .qbak
    pub(crate) target: PathBuf,
    /// Folder of an earlier backup of this database, whose tables are shared
    #[arg(long, value_name = "BACKUP")]
    pub(crate) earlier: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const MIGRATE_EXAMPLES: &str = "\
Examples:
  quipu migrate patents.quipu sqlite:///data/patents.db
  quipu migrate sqlite:///data/patents.db patents.quipu --json

The copy is of one commit of the source, which another process may write meanwhile. All rows are read \
again and compared before the target shows anything. If it fails or is stopped, the target is empty. \
Engines but the one of folders are in a build with their feature: sqlite, postgres, tikv.";

/// Copy a database to another engine: a folder, sqlite://FILE, postgres://USER@HOST/DATABASE, or
/// tikv://PD:PORT/NAME.
#[derive(Debug, Args)]
#[command(after_help = MIGRATE_EXAMPLES)]
pub(crate) struct Migrate {
    /// Folder or address of the database
    pub(crate) from: PathBuf,
    /// Folder or address that holds no database yet
    pub(crate) to: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const RESTORE_EXAMPLES: &str = "\
Examples:
  quipu restore /backups/tuesday patents.quipu
  quipu restore monday.qbak patents.quipu --replace

The backup is copied next to the target. Every checksum is compared and every row read before the copy \
replaces the target. Whatever happens, the target is either the old database or the new one. \
Exit status 3: the backup is damaged; the message names the file.";

/// Create a database from a backup.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(crate) struct Restore {
    /// Folder or .qbak file that `quipu backup` made
    pub(crate) backup: PathBuf,
    /// Folder of the new database
    pub(crate) target: PathBuf,
    /// Replace an existing database
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vertex {
    /// Integers from 0 to 2^64 - 1
    U64,
    /// Integers from -2^63 to 2^63 - 1
    I64,
    /// Strings
    Str,
}

impl From<Vertex> for VertexType {
    fn from(vertex: Vertex) -> Self {
        match vertex {
            Vertex::U64 => Self::U64,
            Vertex::I64 => Self::I64,
            Vertex::Str => Self::Str,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Weight {
    /// 64-bit floats
    Float64,
    /// Signed 64-bit integers
    Int64,
    /// No weights
    None,
}

impl From<Weight> for WeightType {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Float64 => Self::Float,
            Weight::Int64 => Self::Int,
            Weight::None => Self::None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    Fail,
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durable {
    /// A power cut
    Sync,
    /// A killed process
    Os,
    /// Nothing until the next flush
    None,
}

impl From<Durable> for Durability {
    fn from(durable: Durable) -> Self {
        match durable {
            Durable::Sync => Self::Sync,
            Durable::Os => Self::Os,
            Durable::None => Self::None,
        }
    }
}

fn columns(text: &str) -> Result<Columns, String> {
    let column = |text: &str| match text.parse() {
        Ok(index) => ColumnRef::Index(index),
        Err(_) => ColumnRef::Name(text.to_owned()),
    };
    match text.split(',').collect::<Vec<_>>()[..] {
        [source, target] => {
            Ok(Columns { source: column(source), target: column(target), weight: None })
        }
        [source, target, weight] => Ok(Columns {
            source: column(source),
            target: column(target),
            weight: Some(column(weight)),
        }),
        _ => Err("two or three columns are needed: source, target and perhaps weight".to_owned()),
    }
}

fn missing(text: &str) -> Result<Missing, String> {
    match (text, text.parse()) {
        ("skip", _) => Ok(Missing::Skip),
        ("fail", _) => Ok(Missing::Fail),
        (_, Ok(weight)) => Ok(Missing::Weight(weight)),
        _ => Err("a number, \"skip\" or \"fail\" is needed".to_owned()),
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = named.ok_or("a name, \"=\" and a value are needed")?;
    Ok((name.trim_start_matches('$').to_owned(), value.to_owned()))
}

/// Parses the value of `--files`.
#[expect(clippy::unnecessary_wraps, reason = "as the flags' parser wants it")]
fn readable(text: &str) -> Result<Files, String> {
    Ok(match text {
        "any" => Files::Any,
        "none" => Files::None,
        folder => Files::Below(folder.into()),
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn size(text: &str) -> Result<u64, String> {
    quipu::parse_bytes(text).map_err(|error| error.to_string())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() => Ok(*byte),
            _ => Err("one ASCII character, \"tab\" or \"space\" is needed".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn columns_are_two_or_three_names_or_positions() {
        let weight = Some(ColumnRef::Index(4));
        let (source, target) = (ColumnRef::Name("from".to_owned()), ColumnRef::Index(0));
        assert_eq!(columns("from,0,4"), Ok(Columns { source, target, weight }));
        for text in ["", "a", "a,b,c,d"] {
            assert!(columns(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_delimiter_is_a_character_or_its_name() {
        for (text, byte) in [(",", b','), ("tab", b'\t'), ("\\t", b'\t'), ("space", b' ')] {
            assert_eq!(delimiter(text), Ok(byte), "{text:?}");
        }
        for text in ["", ",,", "ä"] {
            assert!(delimiter(text).is_err(), "{text:?}");
        }
    }
}
