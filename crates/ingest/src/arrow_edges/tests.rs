use arrow_array::{
    BooleanArray, DictionaryArray, Float32Array, Int8Array, Int32Array, StringViewArray,
    UInt16Array,
};

use super::*;
use crate::{ColumnRef, Columns};

const U64: VertexType = VertexType::U64;
const I64: VertexType = VertexType::I64;
const STR: VertexType = VertexType::Str;

fn read(
    columns: Vec<(&str, ArrayRef)>,
    vertex: VertexType,
    weight: WeightType,
    picked: Option<Columns>,
) -> Result<Vec<String>, String> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let missing = Missing::Weight(9.0);
    let options = EdgeOptions { columns: picked, vertex, weight, default_weight: 9.0, missing };
    let mut out = EdgeChunk::default();
    read_batch(&batch, "table", 100, &options, &mut out).map_err(|e| e.to_string())?;
    if out.unfit_count > 0 {
        return Err(crate::vertices_error(out.unfit_count, &out.unfit).to_string());
    }
    Ok((0..out.len()).map(|i| out.describe(i, vertex).unwrap()).collect())
}

#[test]
fn integers_of_any_width_are_vertices_and_weights() {
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("dst", Arc::new(Int8Array::from(vec![1, 2]))),
            ("w", Arc::new(Float32Array::from(vec![Some(0.5), None]))),
            ("SRC", Arc::new(UInt16Array::from(vec![3, 65535]))),
        ]
    };
    assert_eq!(read(columns(), U64, WeightType::Float, None).unwrap(), ["3 1 0.5", "65535 2 9.0"]);
    assert_eq!(read(columns(), I64, WeightType::Float, None).unwrap(), ["3 1 0.5", "65535 2 9.0"]);
    let ints: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int32Array::from(vec![-1]))),
        ("b", Arc::new(Int64Array::from(vec![i64::MIN]))),
        ("c", Arc::new(UInt64Array::from(vec![None]))),
    ];
    assert_eq!(read(ints, I64, WeightType::Int, None).unwrap(), ["-1 -9223372036854775808 9"]);
}

#[test]
fn floats_that_are_whole_numbers_are_vertices() {
    let floats = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("a", Arc::new(Float64Array::from(vec![3.0, 9007199254740992.0]))),
            ("b", Arc::new(Float32Array::from(vec![-0.0, 16.0]))),
        ]
    };
    for of in [U64, I64] {
        let found = read(floats(), of, WeightType::None, None).unwrap();
        assert_eq!(found, ["3 0", "9007199254740992 16"]);
    }
}

#[test]
fn floats_beyond_the_whole_numbers_that_they_can_hold_are_no_vertices() {
    let refused = |array: ArrayRef, of| {
        let good: ArrayRef = Arc::new(Int64Array::from(vec![1; array.len()]));
        read(vec![("a", good), ("b", array)], of, WeightType::None, None).unwrap_err()
    };
    let single = |value: f32| -> ArrayRef { Arc::new(Float32Array::from(vec![1.0, value])) };
    let most = vec![("a", single(16777216.0)), ("b", single(0.0))];
    assert_eq!(read(most, U64, WeightType::None, None).unwrap(), ["1 1", "16777216 0"]);
    let large = refused(single(16777218.0), U64);
    let want = "table row 102, column 2: expected a whole number from 0 to 2^24, found 16777218";
    assert_eq!(large, want);
    let infinite = refused(single(f32::NEG_INFINITY), I64);
    let want = "table row 102, column 2: expected a whole number from -2^24 to 2^24, found -inf";
    assert_eq!(infinite, want);
}

#[test]
fn values_that_are_no_vertices_are_counted_with_their_places() {
    let floats = |values: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
    let columns = vec![
        ("src", floats(vec![Some(1.0), None, Some(3.0), Some(-4.0)])),
        ("dst", floats(vec![Some(2.5), Some(f64::NAN), Some(1e300), Some(4.0)])),
    ];
    let error = read(columns, U64, WeightType::None, None).unwrap_err();
    let want = "table row 101, column 2: expected a whole number from 0 to 2^53, found 5 values \
                that are none: 2.5 (row 101), null (row 102), NaN (row 102), ";
    assert!(error.starts_with(want), "{error}");
    assert!(error.ends_with("0 (row 103), -4 (row 104)"), "{error}");
    let many: ArrayRef = Arc::new(Int64Array::from(vec![-1; 12]));
    let error = read(vec![("a", many.clone()), ("b", many)], U64, WeightType::None, None);
    let error = error.unwrap_err();
    assert!(error.contains("found 24 values that are none: -1 (row 101), -1 (row 101)"));
    assert!(error.ends_with("-1 (row 105), -1 (row 105), …"), "{error}");
}

#[test]
fn strings_of_any_layout_are_vertices() {
    let dictionary: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
    let view = StringViewArray::from(vec!["a", "a longer string than twelve bytes", ""]);
    let columns: Vec<(&str, ArrayRef)> = vec![("u", Arc::new(dictionary)), ("v", Arc::new(view))];
    assert_eq!(
        read(columns, STR, WeightType::None, None).unwrap(),
        ["\"x\" \"a\"", "\"y\" \"a longer string than twelve bytes\"", "\"x\" \"\""]
    );
}

#[test]
fn a_bad_row_is_named() {
    let good = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2])) };
    let of = |array: ArrayRef, vertex| {
        read(vec![("a", good()), ("b", array)], vertex, WeightType::None, None).unwrap_err()
    };
    let null = of(Arc::new(Int64Array::from(vec![Some(1), None])), U64);
    assert_eq!(null, "table row 102, column 2: expected a vertex, found null");
    let negative = of(Arc::new(Int64Array::from(vec![-7, 1])), U64);
    assert_eq!(negative, "table row 101, column 2: expected an unsigned integer, found -7");
    let large = of(Arc::new(UInt64Array::from(vec![1, u64::MAX])), I64);
    assert!(large.starts_with("table row 102, column 2: expected an integer below 2^63"));
    for (bad, found) in [(2.5, "2.5"), (f64::NAN, "NaN"), (9007199254740994.0, "900719925")] {
        let float = of(Arc::new(Float64Array::from(vec![1.0, bad])), U64);
        let expected = "table row 102, column 2: expected a whole number from 0 to 2^53, ";
        assert!(float.starts_with(&format!("{expected}found {found}")), "{float}");
    }
    let null = of(Arc::new(Float32Array::from(vec![Some(1.0), None])), U64);
    assert_eq!(null, "table row 102, column 2: expected a vertex, found null");
    let negative = of(Arc::new(Float64Array::from(vec![-7.0, 1.0])), U64);
    let want = "table row 101, column 2: expected a whole number from 0 to 2^53, found -7";
    assert_eq!(negative, want);
    let text = of(Arc::new(StringArray::from(vec!["a", "b"])), U64);
    assert!(text.contains("hint: for names use text vertices"), "{text}");
    assert!(of(Arc::new(BooleanArray::from(vec![true, true])), U64).contains("Boolean"));
    assert!(of(good(), STR).contains("integer vertices"));
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let nan = read(vec![("a", good()), ("b", good()), ("c", nan)], U64, WeightType::Float, None);
    assert_eq!(nan.unwrap(), ["1 1 1.0", "2 2 NaN"]);
}

#[test]
fn columns_are_found_among_more_by_name_and_refused_without() {
    let one = || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) };
    let columns = |names: [&'static str; 4]| names.map(|name| (name, one())).to_vec();
    let known = columns(["at", "dst", "weight", "src"]);
    assert_eq!(read(known, U64, WeightType::Float, None).unwrap(), ["1 1 1.0"]);
    let unknown = || columns(["p", "q", "r", "s"]);
    let error = read(unknown(), U64, WeightType::Float, None).unwrap_err();
    assert!(error.contains("found 4 columns: \"p\", \"q\", \"r\", \"s\""), "{error}");
    let named = |name: &str, index: usize| Columns {
        source: ColumnRef::Name(name.to_owned()),
        target: ColumnRef::Index(index),
        weight: None,
    };
    let picked = Some(named("q", 3));
    assert_eq!(read(unknown(), U64, WeightType::Float, picked).unwrap(), ["1 1 9.0"]);
    let error = read(unknown(), U64, WeightType::None, Some(named("q", 1))).unwrap_err();
    assert!(error.contains("found column \"q\" twice"), "{error}");
}

#[test]
fn missing_weights_are_counted_with_their_places() {
    let columns = |weights: ArrayRef| -> RecordBatch {
        let ends = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2, 3])) };
        let columns = [("source", ends()), ("target", ends()), ("weight", weights)];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(n, a)| (n, a, true))).unwrap()
    };
    let weights: ArrayRef = Arc::new(Float64Array::from(vec![None, Some(2.0), None]));
    for (missing, want) in [
        (Missing::Fail, vec!["2 2 2.0"]),
        (Missing::Skip, vec!["2 2 2.0"]),
        (Missing::Weight(7.0), vec!["1 1 7.0", "2 2 2.0", "3 3 7.0"]),
    ] {
        let options = EdgeOptions { weight: WeightType::Float, missing, ..EdgeOptions::default() };
        let mut out = EdgeChunk::default();
        read_batch(&columns(Arc::clone(&weights)), "t", 10, &options, &mut out).unwrap();
        let edges: Vec<_> = (0..out.len()).map(|i| out.describe(i, U64).unwrap()).collect();
        assert_eq!((edges, out.missing_count), (want.iter().map(|w| (*w).to_owned()).collect(), 2));
        let error = crate::missing_error(out.missing_count, &out.missing).to_string();
        assert!(error.contains("2 edges without one: row 11, row 13"), "{error}");
    }
}

#[test]
fn the_index_of_pandas_is_no_column_of_an_edge() {
    let text = r#"{"index_columns": ["day", "b"], "columns": []}"#;
    assert_eq!(pandas_indexes(text), ["day", "b"]);
    let range = r#"{"index_columns": [{"kind": "range"}], "columns": []}"#;
    assert!(pandas_indexes(range).is_empty());
}

#[test]
fn a_batch_made_of_edges_reads_back() {
    for vertex in [U64, I64] {
        let chunk = EdgeChunk {
            src: vec![0, u64::MAX],
            dst: vec![1 << 63, 7],
            weights: Weights::Int(vec![-1, i64::MAX]),
            ..EdgeChunk::default()
        };
        let batch = to_batch(&chunk, vertex, WeightType::Int).unwrap();
        let options = EdgeOptions { vertex, weight: WeightType::Int, ..EdgeOptions::default() };
        let mut out = EdgeChunk::default();
        read_batch(&batch, "table", 0, &options, &mut out).unwrap();
        assert_eq!(out, chunk);
    }
    assert!(
        to_batch(&EdgeChunk { src: vec![1], ..EdgeChunk::default() }, U64, WeightType::None)
            .is_err()
    );
}
