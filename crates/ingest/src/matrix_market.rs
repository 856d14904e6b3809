//! Matrix Market files: coordinates of a sparse matrix, whose entries are edges from row to column.
//!
//! The entries are a text of white space, so all workers parse them. Only the head is read here. A
//! matrix that is stored by its lower half is completed: each entry off the diagonal is two edges.
//! Indexes begin at 1 and stay as they are.

use crate::columns::{self, ColumnInfo, Positions};
use crate::dialect::{Dialect, blank};
use crate::edges::{EdgeChunk, StrColumn, Weights};
use crate::error::{InputError, Place, show};
use crate::matrix::{Matrix, Mirror};
use crate::number::word_to_i64;
use crate::options::{Missing, TextOptions, VertexType, WeightType, describe_types};
use crate::scan;
use crate::syntax::{Delimiter, Syntax};

const BANNER: &[u8] = b"%MatrixMarket";

/// Whether a file begins as one. Some writers put one `%` in front, the format has two.
pub(crate) fn is_one(head: &[u8]) -> bool {
    let head = if head.starts_with(b"%%") { &head[1..] } else { head };
    head.get(..BANNER.len()).is_some_and(|start| start.eq_ignore_ascii_case(BANNER))
}

/// Refuses a file that has the name of a matrix and not its first line: the size would be an edge.
///
/// # Errors
/// The file is one of these.
pub(crate) fn refuse_without_banner(file: &str, options: &TextOptions) -> Result<(), InputError> {
    let is_named = file.split('.').rev().take(2).any(|end| end.eq_ignore_ascii_case("mtx"));
    if !is_named || options.edges.columns.is_some() {
        return Ok(());
    }
    let found = "a matrix without it";
    Err(InputError::whole(file, "%%MatrixMarket and what it holds in the first line", found)
        .at(Place::Line(1), 0)
        .hint("if it is a list of edges, columns=[0, 1] or columns=[0, 1, 2] say so"))
}

/// The type of weights that fits the values.
pub(crate) fn weight_type(head: &[u8]) -> WeightType {
    let banner = String::from_utf8_lossy(&head[..scan::next_line(head, 0)]).to_ascii_lowercase();
    match banner.split_whitespace().nth(3) {
        Some("pattern") => WeightType::None,
        Some("integer" | "unsigned-integer") => WeightType::Int,
        _ => WeightType::Float,
    }
}

/// The dialect of the entries.
///
/// # Errors
/// The head is not that of a matrix in coordinates, or its values cannot be weights.
pub(crate) fn dialect(
    head: &[u8],
    file: &str,
    options: &TextOptions,
) -> Result<Dialect, InputError> {
    let banner_end = scan::next_line(head, 0);
    let Banner { said, values, mirror } = Banner::parse(&head[..banner_end], file)?;
    if values == 2 && options.edges.columns.is_none() {
        return Err(wrong(file, 1, "weights", b"complex values")
            .hint("columns=[0, 1, 2] takes the real part, columns=[0, 1] the edges alone"));
    }
    let (mut at, mut line) = (banner_end, 2);
    let syntax = Syntax { delimiter: Delimiter::Whitespace, quotes: false, comment: Some(b'%') };
    while at < head.len()
        && (scan::is_comment(head, at, syntax) || scan::is_blank_line(head, at, syntax))
    {
        at = scan::next_line(head, at);
        line += 1;
    }
    let data_start = scan::next_line(head, at);
    let size = String::from_utf8_lossy(&head[at..data_start]);
    let numbers: Vec<u64> = size.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [rows, columns, entries] = numbers[..] else {
        return Err(wrong(
            file,
            line,
            "the size: rows, columns and entries",
            size.trim().as_bytes(),
        ));
    };
    let infos: Vec<_> =
        (0..2 + values).map(|_| ColumnInfo { is_numeric: true, ..ColumnInfo::default() }).collect();
    let positions = columns::resolve(file, &infos, &options.edges)?;
    let mut dialect = blank(file, syntax, options, Positions { exact: true, ..positions });
    dialect.columns = infos.len();
    dialect.data_start = data_start;
    dialect.matrix = Some(Matrix { rows, columns, entries, mirror });
    dialect.detected = vec![
        ("format", format!("Matrix Market, {said}")),
        ("size", format!("{rows} rows, {columns} columns, {entries} entries")),
    ];
    dialect.detected.extend(columns::describe_choice(positions, &infos));
    let weight = positions.weight.map_or(WeightType::None, |_| options.edges.weight);
    dialect.detected.push(("types", describe_types(options.edges.vertex, weight)));
    if mirror != Mirror::None {
        let said = "each entry off the diagonal is two edges";
        dialect.detected.push(("note", said.to_owned()));
    }
    Ok(dialect)
}

/// The first line.
struct Banner {
    /// Type of values and symmetry, as written.
    said: String,
    /// Numbers of an entry after its row and column.
    values: usize,
    mirror: Mirror,
}

impl Banner {
    /// # Errors
    /// It is not that of a matrix in coordinates.
    fn parse(line: &[u8], file: &str) -> Result<Self, InputError> {
        let text = String::from_utf8_lossy(line).to_ascii_lowercase();
        let words: Vec<_> = text.split_whitespace().skip(1).collect();
        let [object, format, field, symmetry] = words[..] else {
            let expected = "\"matrix coordinate\", a type of values and a symmetry";
            return Err(wrong(file, 1, expected, line));
        };
        if object != "matrix" || format != "coordinate" {
            let found = format!("{object} {format}");
            return Err(wrong(file, 1, "a matrix in coordinates", found.as_bytes())
                .hint("a dense matrix names no edges; write it as a sparse one"));
        }
        let values = match field {
            "pattern" => 0,
            "real" | "double" | "integer" | "unsigned-integer" => 1,
            "complex" => 2,
            _ => {
                let expected = "real, integer, complex or pattern values";
                return Err(wrong(file, 1, expected, field.as_bytes()));
            }
        };
        let mirror = match symmetry {
            "general" => Mirror::None,
            "symmetric" | "hermitian" => Mirror::Same,
            "skew-symmetric" => Mirror::Negated,
            _ => return Err(wrong(file, 1, "a symmetry such as general", symmetry.as_bytes())),
        };
        Ok(Self { said: format!("{field} {symmetry}"), values, mirror })
    }
}

fn wrong(file: &str, line: u64, expected: &str, found: &[u8]) -> InputError {
    InputError::whole(file, expected, show(found)).at(Place::Line(line), 0)
}

/// Checks that the entries lie in the matrix, and appends those of its other half.
///
/// # Errors
/// An index outside of the matrix.
pub(crate) fn complete(
    matrix: &Matrix,
    dialect: &Dialect,
    out: &mut EdgeChunk,
) -> Result<(), InputError> {
    let is_kept = matches!(dialect.missing, Missing::Weight(_));
    let left_out = if is_kept { 0 } else { out.missing_count };
    out.records = out.len() as u64 + out.skipped_count + left_out;
    let word = |word: u64| match dialect.vertex {
        VertexType::I64 => u64::try_from(word_to_i64(word)).unwrap_or(0),
        VertexType::U64 | VertexType::Str => word,
    };
    for (words, last, of) in [(&out.src, matrix.rows, "row"), (&out.dst, matrix.columns, "column")]
    {
        if let Some(&bad) = words.iter().find(|&&w| word(w) == 0 || word(w) > last) {
            let expected = format!("a {of} from 1 to {last}");
            return Err(InputError::whole(&dialect.file, expected, word(bad).to_string()));
        }
    }
    if matrix.mirror == Mirror::None {
        return Ok(());
    }
    let off: Vec<_> = (0..out.len()).filter(|&i| !is_loop(out, i)).collect();
    for &i in &off {
        if dialect.vertex == VertexType::Str {
            mirror_text(&mut out.src_str, &mut out.dst_str, i);
        } else {
            let (src, dst) = (out.src[i], out.dst[i]);
            out.src.push(dst);
            out.dst.push(src);
        }
        let negated = matrix.mirror == Mirror::Negated;
        match &mut out.weights {
            Weights::Float(weights) => {
                weights.push(if negated { -weights[i] } else { weights[i] });
            }
            Weights::Int(weights) => {
                weights.push(if negated { weights[i].wrapping_neg() } else { weights[i] });
            }
            Weights::None => {}
        }
    }
    debug_assert!(dialect.weight_type == WeightType::None || out.weights.len() == out.len());
    Ok(())
}

fn is_loop(out: &EdgeChunk, i: usize) -> bool {
    match out.src.get(i) {
        Some(src) => out.dst.get(i) == Some(src),
        None => out.src_str.get(i) == out.dst_str.get(i),
    }
}

fn mirror_text(src: &mut StrColumn, dst: &mut StrColumn, i: usize) {
    let (a, b) =
        (src.get(i).unwrap_or_default().to_owned(), dst.get(i).unwrap_or_default().to_owned());
    src.push(&b);
    dst.push(&a);
}
