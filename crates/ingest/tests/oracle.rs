//! Compares the text reader with readers too simple to be wrong: the `csv` crate for delimited
//! text, `split_whitespace` for white space. Every text is read whole and in chunks of every size.

use ingest::{
    ColumnRef, Columns, EdgeChunk, EdgeOptions, Error, InputError, Missing, OnError, Place,
    Splitter, TextOptions, VertexType, WeightType, Weights, missing_error, parse_chunk, sniff,
    word_to_i64,
};
use proptest::prelude::*;
use quipu_ingest as ingest;

type Edge = (String, String, String);

/// Reads a text in chunks of about `chunk_bytes`.
fn read(
    text: &[u8],
    options: &TextOptions,
    chunk_bytes: usize,
) -> Result<(Vec<Edge>, Vec<InputError>, u64), Error> {
    let mut splitter = Splitter::with_chunk_bytes(text, "edges.csv", chunk_bytes);
    let dialect = sniff(splitter.head()?, "edges.csv", options)?;
    let (mut edges, mut skipped, mut count) = (Vec::new(), Vec::new(), 0);
    let mut out = EdgeChunk::default();
    let (mut seq, mut bytes, mut missing) = (0, Vec::new(), Vec::new());
    let mut buffer = Vec::new();
    while let Some(chunk) = splitter.next(&dialect, buffer)? {
        assert_eq!((chunk.seq, chunk.first_byte), (seq, bytes.len() as u64));
        assert_eq!(chunk.first_line, 1 + bytes.iter().filter(|&&b| b == b'\n').count() as u64);
        assert!(!chunk.bytes.is_empty());
        seq += 1;
        bytes.extend_from_slice(&chunk.bytes);
        parse_chunk(&dialect, &chunk, &mut out)?;
        missing.append(&mut out.missing);
        edges.extend(rows(&out, options.edges.vertex));
        skipped.append(&mut out.skipped);
        count += out.skipped_count;
        buffer = chunk.bytes;
    }
    assert_eq!(bytes, text, "the chunks are not the stream");
    if !missing.is_empty() && options.edges.missing == Missing::Fail {
        return Err(missing_error(missing.len() as u64, &missing).into());
    }
    Ok((edges, skipped, count))
}

fn rows(chunk: &EdgeChunk, vertex: VertexType) -> Vec<Edge> {
    let name = |i: usize, words: &[u64], texts: &ingest::StrColumn| match vertex {
        VertexType::U64 => words[i].to_string(),
        VertexType::I64 => word_to_i64(words[i]).to_string(),
        VertexType::Str => texts.get(i).unwrap().to_owned(),
    };
    let weight = |i: usize| match &chunk.weights {
        Weights::None => String::new(),
        Weights::Float(weights) => format!("{:?}", weights[i]),
        Weights::Int(weights) => weights[i].to_string(),
    };
    (0..chunk.len())
        .map(|i| {
            let source = name(i, &chunk.src, &chunk.src_str);
            (source, name(i, &chunk.dst, &chunk.dst_str), weight(i))
        })
        .collect()
}

fn options(vertex: VertexType, weight: WeightType) -> TextOptions {
    TextOptions {
        edges: EdgeOptions { vertex, weight, ..EdgeOptions::default() },
        ..TextOptions::default()
    }
}

#[track_caller]
fn check(text: &str, options: &TextOptions, want: &[(&str, &str, &str)]) {
    let want: Vec<Edge> =
        want.iter().map(|(s, t, w)| (s.to_string(), t.to_string(), w.to_string())).collect();
    for chunk_bytes in 1..=text.len() + 1 {
        let (edges, _, _) = read(text.as_bytes(), options, chunk_bytes).unwrap();
        assert_eq!(edges, want, "in chunks of {chunk_bytes}");
    }
}

/// The error message for a rejected text, which must be the same in chunks of every size.
#[track_caller]
fn rejected(text: &str, options: &TextOptions) -> String {
    let message = read(text.as_bytes(), options, 1 << 20).unwrap_err().to_string();
    for chunk_bytes in 1..=text.len() + 1 {
        let got = read(text.as_bytes(), options, chunk_bytes).unwrap_err().to_string();
        assert_eq!(got, message, "in chunks of {chunk_bytes}");
    }
    message
}

const U64: VertexType = VertexType::U64;
const STR: VertexType = VertexType::Str;
const NONE: WeightType = WeightType::None;
const FLOAT: WeightType = WeightType::Float;

#[test]
fn delimiters_are_found_out() {
    for text in ["1,2\n3,4\n", "1\t2\n3\t4", "1;2\n3;4", "1|2\r\n3|4\r\n", "1 2\n 3   4 \n"] {
        check(text, &options(U64, NONE), &[("1", "2", ""), ("3", "4", "")]);
    }
    check("1;2;3\n4;5;6.5\n", &options(U64, FLOAT), &[("1", "2", "3.0"), ("4", "5", "6.5")]);
    check("1, 2\n3, 4\n", &options(U64, NONE), &[("1", "2", ""), ("3", "4", "")]);
    let names = options(STR, NONE);
    check(
        "New York,Los Angeles\nBonn,Ulm\n",
        &names,
        &[("New York", "Los Angeles", ""), ("Bonn", "Ulm", "")],
    );
}

#[test]
fn marks_comments_blank_lines_and_headers_are_no_edges() {
    let text = "\u{feff}# nodes: 4 \"x\n\n% more\nfrom to\n1 2\n#3 4\n\n   \n5 6";
    check(text, &options(U64, NONE), &[("1", "2", ""), ("5", "6", "")]);
    check("target,source\n1,2\n", &options(U64, NONE), &[("2", "1", "")]);
    check("dst,weight,src\na,2,b\n", &options(STR, FLOAT), &[("b", "a", "2.0")]);
    check("x,y,z\na,b,2\n", &options(STR, FLOAT), &[("a", "b", "2.0")]);
    check("", &options(U64, NONE), &[]);
    check("# only a comment", &options(U64, NONE), &[]);
    check("src,dst\n", &options(U64, FLOAT), &[]);
}

#[test]
fn a_text_vertex_may_look_like_a_comment_after_the_first_record() {
    let text = "# heading \"\na,b\n#tag,c\n\"#x\",y\n";
    check(text, &options(STR, NONE), &[("a", "b", ""), ("#tag", "c", ""), ("#x", "y", "")]);
}

#[test]
fn quotes_hold_delimiters_newlines_and_quotes() {
    let text = "\"a,1\",\"b\"\"c\"\n\"two\nlines\r\n,x\",\"\"\n5\" disk,\"z\"\r\n";
    check(
        text,
        &options(STR, NONE),
        &[("a,1", "b\"c", ""), ("two\nlines\r\n,x", "", ""), ("5\" disk", "z", "")],
    );
    check("\"1\" \"2\"\n3 4\n", &options(U64, NONE), &[("1", "2", ""), ("3", "4", "")]);
}

#[test]
fn columns_are_taken_by_name_and_by_position() {
    let by = |s: ColumnRef, t: ColumnRef, w: Option<ColumnRef>, weight| {
        let mut options = options(U64, weight);
        options.edges.columns = Some(Columns { source: s, target: t, weight: w });
        options
    };
    let name = |n: &str| ColumnRef::Name(n.to_owned());
    let text = "id,A,b,title,w\n9,1,2,\"x\n,y\",3\n8,4,5,z,6\n";
    let want = [("1", "2", "3.0"), ("4", "5", "6.0")];
    check(text, &by(name("a"), name("b"), Some(name("w")), FLOAT), &want);
    check(text, &by(name("b"), name("A"), None, FLOAT), &[("2", "1", "1.0"), ("5", "4", "1.0")]);
    let text = "1 2 7 x\n3 4\n5 6 0 y\n";
    let want = [("1", "2", ""), ("3", "4", ""), ("5", "6", "")];
    check(text, &by(ColumnRef::Index(0), ColumnRef::Index(1), None, NONE), &want);
    let missing = by(name("a"), name("c"), None, NONE);
    let message = rejected("a,b\n1,2\n", &missing);
    assert!(message.contains("a column named \"c\""), "{message}");
    assert!(message.contains("\"a\", \"b\""), "{message}");
}

#[test]
fn a_header_may_be_longer_than_the_sample() {
    let names: Vec<_> = (0..20_000).map(|i| format!("column{i}")).collect();
    let values: Vec<_> = (0..20_000).map(|i| i.to_string()).collect();
    let text = format!("{}\n{}\n", names.join(","), values.join(","));
    let name = |n: &str| ColumnRef::Name(n.to_owned());
    let mut options = options(U64, NONE);
    options.edges.columns =
        Some(Columns { source: name("column19999"), target: name("column3"), weight: None });
    let (edges, _, _) = read(text.as_bytes(), &options, 1 << 20).unwrap();
    assert_eq!(edges, [("19999".to_owned(), "3".to_owned(), String::new())]);
    // A sample that ends inside the header is an error, not a shorter header.
    let error = read(text.as_bytes(), &options, 1).unwrap_err().to_string();
    assert!(error.starts_with("edges.csv line 1: expected a first record"), "{error}");
}

#[test]
fn numbers_are_read_to_their_limits() {
    let text = "18446744073709551615,+0007\n00000000000000000000012,12345678901234567890\n";
    check(
        text,
        &options(U64, NONE),
        &[("18446744073709551615", "7", ""), ("12", "12345678901234567890", "")],
    );
    let text = "-9223372036854775808,9223372036854775807\n-1,+2\n";
    check(
        text,
        &options(VertexType::I64, NONE),
        &[("-9223372036854775808", "9223372036854775807", ""), ("-1", "2", "")],
    );
    let text = "1,2,-0.125\n1,2,1e-7\n1,2,+3\n1,2,.5\n1,2,0.1234567890123456789\n";
    check(
        text,
        &options(U64, FLOAT),
        &[
            ("1", "2", "-0.125"),
            ("1", "2", "1e-7"),
            ("1", "2", "3.0"),
            ("1", "2", "0.5"),
            ("1", "2", "0.12345678901234568"),
        ],
    );
    check("1,2,-5\n", &options(U64, WeightType::Int), &[("1", "2", "-5")]);
}

#[test]
fn a_bad_record_is_named_by_line_and_column() {
    for (text, want) in [
        ("1,2\n3,abc\n", "edges.csv line 2, column 2: expected an unsigned integer, found \"abc\""),
        ("1,2\n3\n", "edges.csv line 2: expected 2 columns, found 1"),
        ("1,2\n3,4,5\n", "edges.csv line 2: expected 2 columns, found 3"),
        ("1,2\n\n#\n12.0,4\n", "edges.csv line 4, column 1: expected an unsigned integer"),
        ("1,2\n3,18446744073709551616\n", "line 2, column 2: expected an unsigned integer below"),
        ("1,2\n-3,4\n", "edges.csv line 2, column 1: expected an unsigned integer, found \"-3\""),
        ("1,2\n3,\n", "edges.csv line 2, column 2: expected an unsigned integer, found nothing"),
        ("1,2\n\"3,4\n5,6\n", "edges.csv line 2, column 1: expected a closing quote"),
        ("1,2\n\"3\"x,4\n", "line 2, column 1: expected a delimiter after the closing quote"),
        ("abc\n", "edges.csv line 1: expected columns separated by"),
        ("1,2,3,4\n", "edges.csv line 1: expected two columns, found 4 columns"),
    ] {
        let message = rejected(text, &options(U64, NONE));
        assert!(message.contains(want), "{text:?}: {message}");
    }
    for bad in ["1e999", "x", "0x10"] {
        let message = rejected(&format!("1,2,3\n1,2,{bad}\n"), &options(U64, FLOAT));
        assert!(message.starts_with("edges.csv line 2, column 3: expected a "), "{message}");
    }
}

#[test]
fn a_missing_weight_is_an_error_that_counts_unless_it_is_said_what_it_means() {
    let text = "1,2,3\n1,3,\n2,4,nan\n3,4,NA\n4,5,NaN\n5,6,-Infinity\n";
    let mut options = options(U64, FLOAT);
    let message = rejected(text, &options);
    assert!(message.contains("3 edges without one: line 2, line 3, line 4"), "{message}");
    let whole = [("1", "2", "3.0"), ("4", "5", "NaN"), ("5", "6", "-inf")];
    options.edges.missing = Missing::Skip;
    check(text, &options, &whole);
    options.edges.missing = Missing::Weight(1.0);
    let given = [("1", "3", "1.0"), ("2", "4", "1.0"), ("3", "4", "1.0")];
    check(text, &options, &[whole[0], given[0], given[1], given[2], whole[1], whole[2]]);
}

#[test]
fn a_matrix_market_file_is_its_entries() {
    let head = |kind: &str| format!("%%MatrixMarket matrix coordinate {kind}\n% made by hand\n%\n");
    let text = head("real general") + "3 3 2\n1 2 0.5\n3 1 -2\n";
    check(&text, &options(U64, FLOAT), &[("1", "2", "0.5"), ("3", "1", "-2.0")]);
    let text = head("pattern symmetric") + "3 3 2\n2 1\n3 3\n";
    let mut edges = read(text.as_bytes(), &options(U64, NONE), 1 << 20).unwrap().0;
    edges.sort();
    assert_eq!(
        edges.iter().map(|e| (&*e.0, &*e.1)).collect::<Vec<_>>(),
        [("1", "2"), ("2", "1"), ("3", "3")]
    );
    let text = head("real skew-symmetric") + "3 3 1\n3 1 7\n";
    check(&text, &options(STR, FLOAT), &[("3", "1", "7.0"), ("1", "3", "-7.0")]);
    for (text, want) in [
        (head("real general") + "3 3\n", "expected the size"),
        (head("real general") + "2 2 1\n1 3 1\n", "expected a column from 1 to 2, found 3"),
        (head("real general") + "2 2 1\n0 1 1\n", "expected a row from 1 to 2, found 0"),
        (head("complex hermitian") + "2 2 1\n2 1 1 0\n", "complex values"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n".to_owned(), "in coordinates"),
    ] {
        let message = rejected(&text, &options(U64, FLOAT));
        assert!(message.contains(want), "{message}");
    }
}

#[test]
fn a_quote_that_does_not_close_spoils_one_line() {
    let mut skip = options(STR, NONE);
    skip.on_error = OnError::Skip;
    let text = format!("a,b\n\"c,d\n{}", "e,f\n".repeat(300));
    for chunk_bytes in [1, 10, 100, 1000, 1 << 20] {
        let (edges, skipped, count) = read(text.as_bytes(), &skip, chunk_bytes).unwrap();
        assert_eq!((edges.len(), count), (301, 1), "in chunks of {chunk_bytes}");
        assert_eq!(skipped[0].place, Place::Line(2));
    }
    // The quote of the next quoted field does not close it either.
    let text = "a,b\n\"c,d\ne,f\n\"g\",h\ni,j\n";
    let (edges, _, count) = read(text.as_bytes(), &skip, 1 << 20).unwrap();
    assert_eq!((edges.len(), count), (4, 1));
    let mut plain = options(STR, NONE);
    plain.quotes = false;
    check("a,b\n\"c,d\n", &plain, &[("a", "b", ""), ("\"c", "d", "")]);
}

#[test]
fn lines_are_skipped_and_numbers_have_commas_on_request() {
    let mut said = options(U64, FLOAT);
    said.skip_rows = 2;
    said.decimal = b',';
    said.comment = Some(b'!');
    said.null_values = vec!["?".to_owned()];
    said.edges.missing = Missing::Skip;
    check(
        "x,y\nz\n! no\n1;2;0,5\n! no\n3;4;?\n5;6;7\n",
        &said,
        &[("1", "2", "0.5"), ("5", "6", "7.0")],
    );
    said.on_error = OnError::Skip;
    let (edges, _, count) = read(b"x\ny\n1;2;0,5\n3;4;1.5\n", &said, 1 << 20).unwrap();
    assert_eq!((edges.len(), count), (1, 1));
}

#[test]
fn columns_are_found_by_name_and_never_against_one() {
    let unweighted = options(U64, NONE);
    check(
        "id,source,target\n9,1,2\n8,3,4\n",
        &options(U64, FLOAT),
        &[("1", "2", "1.0"), ("3", "4", "1.0")],
    );
    check(",source,target\n0,1,2\n1,3,4\n", &unweighted, &[("1", "2", ""), ("3", "4", "")]);
    check("src,dst,timestamp\n1,2,170\n", &unweighted, &[("1", "2", "")]);
    check(
        "Source,Target,Type,Weight\n1,2,Directed,0.5\n",
        &options(U64, FLOAT),
        &[("1", "2", "0.5")],
    );
    check(
        ":START_ID(P),since:int,:END_ID(P),:TYPE\n1,1999,2,KNOWS\n",
        &options(U64, FLOAT),
        &[("1", "2", "1.0")],
    );
    let message = rejected("source,target,weight\n1,2,3\n", &unweighted);
    assert!(message.contains("the graph has no weights"), "{message}");
    let twice = Columns { source: ColumnRef::Index(0), target: ColumnRef::Index(0), weight: None };
    let mut same = options(U64, NONE);
    same.edges.columns = Some(twice);
    assert!(rejected("1,2\n", &same).contains("column 1 twice"));
}

#[test]
fn skipping_counts_every_bad_record_and_keeps_the_first_ten() {
    let mut options = options(U64, NONE);
    options.on_error = OnError::Skip;
    let text = format!("1,2\n{}3,4\n", "x,1\n".repeat(25));
    let (edges, skipped, count) = read(text.as_bytes(), &options, 1 << 20).unwrap();
    assert_eq!((edges.len(), skipped.len(), count), (2, 10, 25));
    assert_eq!(skipped[9].place, Place::Line(11));
}

#[test]
fn what_is_no_text_of_edges_is_named() {
    for (head, want) in [
        (&b"PAR1"[..], "Parquet"),
        (b"PK\x03\x04", "compressed"),
        (b"\x1f\x8b\x08x", "compressed"),
        (b"1,2\0", "binary data: byte 4"),
        (b"1,2\r3,4\r", "lines that end with a carriage return alone"),
        (b"[[1, 2]]", "JSON"),
    ] {
        let error = sniff(head, "x", &TextOptions::default()).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

/// Numbers of a generated text.
fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..1_000_000_u64).prop_map(|v| v.to_string()),
        3 => any::<u64>().prop_map(|v| v.to_string()),
        1 => (0..100_u64).prop_map(|v| format!("+00{v}")),
        1 => (0..100_u64).prop_map(|v| format!("\"{v}\"")),
        1 => Just("18446744073709551616".to_owned()),
        1 => "[0-9a-z.\\-]{0,3}",
    ]
}

fn weight_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,8}(\\.[0-9]{1,9})?",
        any::<f64>().prop_map(|v| v.to_string()),
        any::<f64>().prop_map(|v| format!("{v:e}")),
        "[0-9.e+\\-]{0,5}",
    ]
}

/// The edges of the text as the `csv` crate reads it. Bad records are left out.
fn obvious(text: &str, delimiter: u8, weighted: bool) -> Vec<Edge> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .terminator(csv::Terminator::CRLF)
        .from_reader(text.as_bytes());
    let mut edges = Vec::new();
    for record in reader.records().map(Result::unwrap) {
        let columns = if weighted { 3 } else { 2 };
        if record.len() != columns {
            continue;
        }
        let (Ok(source), Ok(target)) = (record[0].parse::<u64>(), record[1].parse::<u64>()) else {
            continue;
        };
        let weight = match weighted.then(|| record[2].parse::<f64>()) {
            None => "1.0".to_owned(),
            // Past the range of floats.
            Some(Ok(weight)) if weight.is_infinite() && !record[2].contains(['i', 'I']) => continue,
            // NaN in another spelling and an empty field are missing weights.
            Some(Ok(weight)) if !weight.is_nan() || &record[2] == "NaN" => format!("{weight:?}"),
            Some(_) => continue,
        };
        edges.push((source.to_string(), target.to_string(), weight));
    }
    edges
}

fn skipping(delimiter: u8) -> TextOptions {
    TextOptions {
        delimiter: Some(delimiter),
        header: Some(false),
        on_error: OnError::Skip,
        ..options(U64, FLOAT)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn delimited_text_means_what_the_csv_crate_says(
        records in prop::collection::vec((number_text(), number_text(), weight_text()), 0..40),
        delimiter in prop::sample::select(vec![b',', b'\t', b';', b'|']),
        weighted: bool,
        crlf: bool,
        last_newline: bool,
        chunk_bytes in 1..400_usize,
    ) {
        // The first record is valid, so that the columns are detected.
        let mut text = String::new();
        let d = delimiter as char;
        let end = if crlf { "\r\n" } else { "\n" };
        text += &if weighted { format!("1{d}2{d}3{end}") } else { format!("1{d}2{end}") };
        for (a, b, w) in records {
            text += &if weighted { format!("{a}{d}{b}{d}{w}{end}") } else { format!("{a}{d}{b}{end}") };
        }
        if !last_newline {
            text.truncate(text.len() - end.len());
        }
        let (edges, _, _) = read(text.as_bytes(), &skipping(delimiter), chunk_bytes).unwrap();
        prop_assert_eq!(edges, obvious(&text, delimiter, weighted));
    }

    #[test]
    fn spaced_text_means_what_splitting_it_says(
        lines in prop::collection::vec("[ \t]{0,2}[0-9x]{0,4}[ \t]{1,3}[0-9]{1,12}[ \t]{0,2}\r?", 0..40),
        chunk_bytes in 1..400_usize,
    ) {
        let text = format!("1 2\n{}", lines.iter().map(|l| format!("{l}\n")).collect::<String>());
        let want: Vec<Edge> = text
            .lines()
            .filter_map(|line| {
                let fields: Vec<_> = line.split_whitespace().collect();
                let [a, b] = fields[..] else { return None };
                let (a, b) = (a.parse::<u64>().ok()?, b.parse::<u64>().ok()?);
                Some((a.to_string(), b.to_string(), "1.0".to_owned()))
            })
            .collect();
        let (edges, _, _) = read(text.as_bytes(), &skipping(b' '), chunk_bytes).unwrap();
        prop_assert_eq!(edges, want);
    }

    #[test]
    fn text_vertices_are_cut_the_same_everywhere(
        records in prop::collection::vec(("[ab\"\r\n,# ]{0,5}", "[ab\"\r\n,# ]{0,5}"), 1..12),
    ) {
        let options = TextOptions { header: Some(false), ..options(STR, NONE) };
        let mut chunk = EdgeChunk::default();
        for (a, b) in &records {
            chunk.src_str.push(a);
            chunk.dst_str.push(b);
        }
        let mut text = Vec::new();
        ingest::TextEdgeWriter::new(b',', STR, NONE).edges(&chunk, &mut text);
        let options = TextOptions { delimiter: Some(b','), ..options };
        for chunk_bytes in 1..=text.len() {
            let (edges, _, _) = read(&text, &options, chunk_bytes).unwrap();
            prop_assert_eq!(&edges, &rows(&chunk, STR), "in chunks of {}", chunk_bytes);
        }
        // The `csv` crate reads the written text in the same way.
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&text[..]);
        let theirs: Vec<_> = reader.records().map(|r| r.unwrap()).collect();
        prop_assert_eq!(theirs.len(), records.len());
        for (theirs, ours) in theirs.iter().zip(&records) {
            prop_assert_eq!((&theirs[0], &theirs[1]), (ours.0.as_str(), ours.1.as_str()));
        }
    }

    #[test]
    fn any_bytes_give_edges_or_an_error(
        bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(b"0123456789,,\t \"\"\n\n\r#.-e;|a".to_vec())],
            0..300,
        ),
        vertex in prop::sample::select(vec![VertexType::U64, VertexType::I64, VertexType::Str]),
        weight in prop::sample::select(vec![WeightType::None, WeightType::Float, WeightType::Int]),
        skip: bool,
        picked: bool,
        delimiter in prop::option::of(prop::sample::select(b", \t;".to_vec())),
        chunk_bytes in 1..300_usize,
    ) {
        let mut options = TextOptions { delimiter, ..options(vertex, weight) };
        if picked {
            let column = |i| ColumnRef::Index(i);
            options.edges.columns = Some(Columns { source: column(1), target: column(0), weight: None });
        }
        if skip {
            options.on_error = OnError::Skip;
        }
        let whole = read(&bytes, &options, 1 << 20);
        let parts = read(&bytes, &options, chunk_bytes);
        match (whole, parts) {
            (Ok(whole), Ok(parts)) => {
                prop_assert_eq!(whole.0, parts.0);
                prop_assert_eq!(whole.2, parts.2);
            }
            (Err(whole), Err(parts)) => prop_assert_eq!(whole.to_string(), parts.to_string()),
            (whole, parts) => prop_assert!(false, "{:?} but {:?}", whole, parts),
        }
    }

    #[test]
    fn what_is_written_reads_back(
        edges in prop::collection::vec((any::<i64>(), any::<i64>(), any::<f64>()), 0..30),
        signed: bool,
        float: bool,
        delimiter in prop::sample::select(b",\t; ".to_vec()),
    ) {
        let vertex = if signed { VertexType::I64 } else { VertexType::U64 };
        let weight = if float { FLOAT } else { WeightType::Int };
        let mut chunk = EdgeChunk::default();
        chunk.src.extend(edges.iter().map(|e| e.0 as u64));
        chunk.dst.extend(edges.iter().map(|e| e.1 as u64));
        chunk.weights = if float {
            Weights::Float(edges.iter().map(|e| e.2).collect())
        } else {
            Weights::Int(edges.iter().map(|e| e.0 ^ e.1).collect())
        };
        let writer = ingest::TextEdgeWriter::new(delimiter, vertex, weight);
        let mut text = Vec::new();
        writer.header(&mut text);
        writer.edges(&chunk, &mut text);
        let (read, _, _) = read(&text, &options(vertex, weight), 100).unwrap();
        prop_assert_eq!(read, rows(&chunk, vertex));
    }
}
