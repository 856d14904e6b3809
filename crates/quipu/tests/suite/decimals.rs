//! Decimals in relations, results and Arrow.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal64Array, Decimal128Array, Decimal256Array, RecordBatch};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field};
use proptest::prelude::*;
use quipu::{
    Database, Decimal, ExportFormat, Frame, GraphOptions, ImportFile, Options, Parameters,
    PropertyImport, PropertySource, PropertyTypes, QueryResult, RunOptions, Series, Type, Value,
    Values, VertexType, export_relation,
};
use std::collections::BTreeMap;
use std::sync::Arc;

fn memory() -> Database {
    Database::in_memory(Options::default()).unwrap()
}

fn run(db: &Database, script: &str) -> QueryResult {
    db.run(script, &Parameters::new()).unwrap()
}

fn series(array: ArrayRef) -> quipu::Result<Vec<Value>> {
    let field = Field::new("p", array.data_type().clone(), true);
    let series = quipu::series_of_arrow(&array, &field)?;
    Ok((0..series.len()).map(|row| series.value(row)).collect())
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).unwrap())
}

/// Decimals of all sizes, many of them close to integers and floats.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    let large = 10_i128.pow(38) - 1;
    prop_oneof![
        (-300..300_i128, 0..3_i32),
        (any::<i64>().prop_map(i128::from), 0..39_i32),
        (-large..=large, 0..39_i32),
        (Just(large), 0..39_i32),
    ]
    .prop_map(|(coefficient, scale)| Decimal::new(coefficient, scale).unwrap())
}

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_decimal().prop_map(Value::Decimal),
        (-3..4_i64).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
        (-6..7_i32).prop_map(|half| Value::Float(f64::from(half) / 2.0)),
        any_decimal().prop_map(|value| Value::Float(value.to_float())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Rows go through a relation, in order, and through Arrow, and come back.
    #[test]
    fn rows_and_arrow_keep_every_value(
        given in prop::collection::vec(prop::option::of(any_decimal()), 1..20),
    ) {
        let db = memory();
        run(&db, ":create r {n: Int => p: Decimal?}");
        let values: Vec<Value> =
            given.iter().map(|value| value.map_or(Value::Null, Value::Decimal)).collect();
        let numbers = Series::from(Values::Int((0..given.len() as i64).collect()));
        let columns = vec![numbers, Series::from(Values::Any(values.clone()))];
        let frame = Frame::new(["n", "p"].map(str::to_owned).to_vec(), columns).unwrap();
        db.import_relations(&BTreeMap::from([("r".to_owned(), frame)])).unwrap();
        let answer = run(&db, "?[n, p] := *r[n, p]");
        let found: Vec<Value> = answer.rows().map(|mut row| row.remove(1)).collect();
        prop_assert_eq!(&found, &values);
        let batch = answer.to_batch().unwrap();
        prop_assert_eq!(&series(Arc::clone(batch.column(1))).unwrap(), &values);
        // The rows of the relation itself as Arrow data.
        let relation = db.relation("r").unwrap();
        let batch = quipu::record_batch(relation.columns(), relation.to_frame().unwrap()).unwrap();
        prop_assert_eq!(&series(Arc::clone(batch.column(1))).unwrap(), &values);
        // As keys of their type and of any type.
        for of in ["Decimal", "Any"] {
            let ordered = run(&db, &format!(
                "{{?[p, n] := *r{{n, p}}, !is_null(p) :replace k {{p: {of}, n: Int}}}} {{?[p] := *k{{p}}}}"
            ));
            let ordered: Vec<Value> = ordered.rows().map(|mut row| row.remove(0)).collect();
            prop_assert!(ordered.is_sorted(), "{ordered:?}");
        }
    }

    /// A range of a key finds what a condition on each row finds, among numbers of all kinds.
    #[test]
    fn ranges_of_keys_are_those_of_the_values(
        given in prop::collection::vec(any_number(), 1..40),
        low in any_number(),
        high in any_number(),
    ) {
        let db = memory();
        run(&db, ":create any {x: Any, n: Int}");
        run(&db, ":create decimals {x: Decimal, n: Int}");
        let (mut any, mut decimals) = (Vec::new(), Vec::new());
        for (n, value) in (0..).zip(&given) {
            any.push(vec![value.clone(), Value::Int(n)]);
            if matches!(value, Value::Decimal(_)) {
                decimals.push(vec![value.clone(), Value::Int(n)]);
            }
        }
        let names = || ["x", "n"].map(str::to_owned).to_vec();
        for (name, rows) in [("any", &any), ("decimals", &decimals)] {
            let frame = Frame::of_rows(names(), rows.clone()).unwrap();
            db.import_relations(&BTreeMap::from([(name.to_owned(), frame)])).unwrap();
            let parameters = Parameters::from([
                ("low".to_owned(), low.clone()), ("high".to_owned(), high.clone()),
            ]);
            let count = |condition: &str| {
                let script = format!("?[count(n)] := *{name}[x, n], {condition}");
                db.run(&script, &parameters).unwrap().value(0, 0)
            };
            // A call of the column has no range of the key.
            let wants = count("y = coalesce(x), y >= $low, y < $high");
            prop_assert_eq!(count("x >= $low, x < $high"), wants);
            let (low, high) = (&parameters["low"], &parameters["high"]);
            let text = format!("x >= {}, x < {}", literal(low), literal(high));
            prop_assert_eq!(count(&text), count("x >= $low, x < $high"), "{}", text);
        }
    }

    /// Queries add exactly, in whatever order and by however many threads.
    #[test]
    fn sums_are_those_of_integers(cents in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 1..60)) {
        let db = memory();
        let rows = (0..).zip(&cents).map(|(n, &cents)| {
            vec![Value::Int(n), Value::Decimal(Decimal::new(i128::from(cents), 2).unwrap())]
        });
        run(&db, ":create r {n: Int => p: Decimal}");
        let frame = Frame::of_rows(["n", "p"].map(str::to_owned).to_vec(), rows.collect()).unwrap();
        db.import_relations(&BTreeMap::from([("r".to_owned(), frame)])).unwrap();
        let sum: i64 = cents.iter().sum();
        let want = Value::Decimal(Decimal::new(i128::from(sum), 2).unwrap());
        prop_assert_eq!(run(&db, "?[sum(p)] := *r[_, p]").value(0, 0), want);
    }
}

/// A number as scripts write it.
fn literal(value: &Value) -> String {
    match value {
        Value::Decimal(decimal) => format!("to_decimal('{decimal}')"),
        other => format!("({other})"),
    }
}

#[test]
fn a_column_has_the_digits_of_its_values() {
    let db = memory();
    run(&db, ":create r {n: Int => p: Decimal?}");
    let types = |script: &str| {
        let batch = run(&db, script).to_batch().unwrap();
        batch.columns().iter().map(|array| array.data_type().clone()).collect::<Vec<_>>()
    };
    assert_eq!(types("?[p] := *r{p}"), [DataType::Decimal128(38, 0)]);
    run(&db, "?[n, p] <- [[1, '1.50'], [2, '0.125'], [3, null]] :put r {n => p}");
    assert_eq!(types("?[p] := *r{p}"), [DataType::Decimal128(38, 3)]);
    let batch = run(&db, "?[n, p] := *r{n, p}").to_batch().unwrap();
    let column = arrow_array::cast::AsArray::as_primitive::<Decimal128Type>(batch.column(1));
    assert_eq!(column.iter().collect::<Vec<_>>(), [Some(1500), Some(125), None]);
    run(&db, "?[n, p] <- [[4, '123456789012345678901234567890123456']] :put r {n => p}");
    assert_eq!(types("?[p] := *r{p}"), [DataType::Decimal256(76, 3)]);
    assert_eq!(types("?[l] := *r{p}, l = [p]"), types("?[l] <- [[['a']]]"));
}

#[test]
fn decimals_of_all_widths_are_read() {
    let of = |array: Decimal128Array, precision, scale| -> ArrayRef {
        Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
    };
    let cents = of(Decimal128Array::from(vec![Some(1250), None, Some(-5)]), 10, 2);
    let want = [decimal("12.5"), Value::Null, decimal("-0.05")];
    assert_eq!(series(cents).unwrap(), want);
    let thousands = of(Decimal128Array::from(vec![7]), 5, -3);
    assert_eq!(series(thousands).unwrap(), [decimal("7000")]);
    let short = Decimal64Array::from(vec![15]).with_precision_and_scale(18, 1).unwrap();
    assert_eq!(series(Arc::new(short)).unwrap(), [decimal("1.5")]);
    let wide = |value: i256| -> ArrayRef {
        Arc::new(Decimal256Array::from(vec![value]).with_precision_and_scale(76, 40).unwrap())
    };
    let ten = i256::from_i128(10);
    assert_eq!(series(wide(ten.wrapping_pow(39))).unwrap(), [decimal("0.1")]);
    let error = series(wide(i256::from_i128(1))).unwrap_err();
    assert_eq!(error.to_string(), "column `p`, row 0: a Decimal has 38 digits");
}

#[test]
fn parts_of_a_stream_have_one_type() {
    let db = memory();
    run(&db, ":create r {n: Int => p: Decimal}");
    run(&db, "?[n, p] := n in int_range(200000), p = to_decimal(n) / 8 :put r {n => p}");
    // Rows of a key are passed on as they are read. Distinct values are known before the
    // first part.
    for (script, scale) in [("?[p, n] := *r{n, p}", 18), ("?[p] := *r{p}", 3)] {
        let mut types = Vec::new();
        db.stream(script, &Parameters::new(), &RunOptions::default(), |part: QueryResult| {
            types.push(part.to_batch().unwrap().column(0).data_type().clone());
            Ok(true)
        })
        .unwrap();
        assert!(types.len() > 1, "{script}");
        types.dedup();
        assert_eq!(types, [DataType::Decimal128(38, scale)], "{script}");
    }
}

#[test]
fn items_of_lists_are_converted_to_decimals() {
    let db = memory();
    run(&db, ":create r {n: Int => p: [Decimal?]}");
    run(&db, "?[n, p] <- [[1, ['1.10', 2, null]]] :put r {n => p}");
    let found = run(&db, "?[p] := *r{p}").value(0, 0);
    assert_eq!(found, Value::List(vec![decimal("1.1"), decimal("2"), Value::Null]));
}

/// Rows of an exported file: the type of each column, and the values of the last one.
fn exported(db: &Database, relation: &str, format: ExportFormat) -> (Vec<DataType>, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let relation = db.relation(relation).unwrap();
    export_relation(db, &relation, &path, format, &|_| true).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let batches: Vec<RecordBatch> = match format {
        ExportFormat::Parquet => {
            let mut rows = ingest::parquet_rows::ParquetRows::open(bytes, "rows", None).unwrap();
            std::iter::from_fn(|| rows.next_batch().unwrap()).collect()
        }
        _ => {
            let file = std::io::Cursor::new(bytes);
            let reader = arrow_ipc::reader::FileReader::try_new(file, None).unwrap();
            reader.map(Result::unwrap).collect()
        }
    };
    let mut types: Vec<Vec<DataType>> = Vec::new();
    let mut values = Vec::new();
    for batch in batches {
        types.push(batch.columns().iter().map(|array| array.data_type().clone()).collect());
        values.extend(series(Arc::clone(batch.columns().last().unwrap())).unwrap());
    }
    types.dedup();
    assert!(types.len() <= 1, "{types:?}");
    (types.pop().unwrap_or_default(), values)
}

#[test]
fn files_have_the_digits_of_all_rows() {
    let db = memory();
    run(&db, ":create r {n: Int => p: Decimal?}");
    for format in [ExportFormat::Parquet, ExportFormat::Arrow] {
        run(&db, "?[n, p] <- [] :replace r {n: Int => p: Decimal?}");
        // The widest value is past the first rows that are written at once.
        let put = "?[n, p] := n in int_range(70000), p = to_decimal(n) / 4 :put r {n => p}";
        run(&db, put);
        run(&db, "?[n, p] <- [[0, null], [69999, '-0.00125']] :put r {n => p}");
        let (types, values) = exported(&db, "r", format);
        assert_eq!(types[1], DataType::Decimal128(38, 5), "{format:?}");
        assert_eq!(values.len(), 70_000);
        assert_eq!([&values[0], &values[7]], [&Value::Null, &decimal("1.75")]);
        assert_eq!(values[69_999], decimal("-0.00125"));
        let many = "123456789012345678901234567890123456";
        run(&db, &format!("?[n, p] <- [[3, '{many}'], [4, '1e-38']] :put r {{n => p}}"));
        let (types, values) = exported(&db, "r", format);
        assert_eq!(types[1], DataType::Decimal256(76, 38), "{format:?}");
        assert_eq!([&values[3], &values[4]], [&decimal(many), &decimal("1e-38")]);
    }
}

#[test]
fn files_without_decimals_have_their_type() {
    let db = memory();
    run(&db, ":create r {n: Int => p: Decimal?}");
    run(&db, "?[n, p] <- [[1, null]] :put r {n => p}");
    for format in [ExportFormat::Parquet, ExportFormat::Arrow] {
        let (types, values) = exported(&db, "r", format);
        assert_eq!(types[1], DataType::Decimal128(38, 0), "{format:?}");
        assert_eq!(values, [Value::Null]);
    }
}

#[test]
fn files_of_a_graph_come_back_with_their_decimals() {
    let db = memory();
    let nullable = Type::Nullable(Box::new(Type::Decimal));
    let options = GraphOptions {
        edges: vec![("amount".into(), nullable)],
        nodes: Some(vec![("limit".into(), Type::Decimal)]),
        ..GraphOptions::default()
    };
    db.graph("paid", options).unwrap();
    run(
        &db,
        "?[src, dst, amount] <- [[1, 2, '0.10'], [2, 3, null]] :put paid {src, dst => amount}",
    );
    run(&db, "?[vertex, limit] <- [[1, '1000'], [9, '1e-3']] :put paid:nodes {vertex => limit}");
    let folder = tempfile::tempdir().unwrap();
    for (end, format) in [("parquet", ExportFormat::Parquet), ("arrow", ExportFormat::Arrow)] {
        let path = |name: &str| folder.path().join(format!("{name}.{end}"));
        for name in ["paid", "paid:nodes"] {
            let relation = db.relation(name).unwrap();
            export_relation(&db, &relation, &path(name), format, &|_| true).unwrap();
        }
        let files = |name: &str| PropertySource::Files(ImportFile::all_at(&path(name)).unwrap());
        let import = PropertyImport {
            edges: Some(files("paid")),
            nodes: Some(files("paid:nodes")),
            edge_properties: Some(PropertyTypes::Found),
            ..PropertyImport::default()
        };
        db.import_properties(end, import, &|_| true).unwrap();
        for (of, columns) in [("", "src, dst, amount"), (":nodes", "vertex, limit")] {
            let rows = |name: &str| {
                let found = run(&db, &format!("?[{columns}] := *{name}{of}{{{columns}}}"));
                found.rows().collect::<Vec<_>>()
            };
            assert_eq!(rows(end), rows("paid"));
        }
        let columns = db.columns_of(end).unwrap();
        let amount = columns.iter().find(|column| column.name == "amount").unwrap();
        assert_eq!(amount.column_type.to_string(), "Decimal?");
    }
}

/// The scan for the digits reads no other columns.
#[test]
fn files_have_the_digits_of_decimals_beside_other_columns() {
    let db = memory();
    run(&db, ":create keyed {p: Decimal, s: String => t: String}");
    run(&db, "?[p, s, t] <- [['1.25', 'a', 'x'], ['1000', 'b', 'y']] :put keyed {p, s => t}");
    run(&db, ":create wide {s: String => t: String, i: Int, p: Decimal, l: [Int], q: Decimal?}");
    let rows = "[['a', 'x', 1, '0.125', [1], null], ['b', 'y', 2, '7', [], '-2.5']]";
    run(&db, &format!("?[s, t, i, p, l, q] <- {rows} :put wide {{s => t, i, p, l, q}}"));
    let options = GraphOptions {
        vertex: VertexType::Str,
        edges: vec![("name".into(), Type::String), ("amount".into(), Type::Decimal)],
        ..GraphOptions::default()
    };
    db.graph("paid", options).unwrap();
    let edges = "[['a', 'b', 'x', '0.10'], ['b', 'c', 'y', '12']]";
    run(
        &db,
        &format!("?[src, dst, name, amount] <- {edges} :put paid {{src, dst => name, amount}}"),
    );
    for format in [ExportFormat::Parquet, ExportFormat::Arrow] {
        let (types, values) = exported(&db, "keyed", format);
        assert_eq!(types[0], DataType::Decimal128(38, 2), "{format:?}");
        assert_eq!(values, ["x", "y"].map(|text| Value::Str(text.into())));
        let (types, values) = exported(&db, "wide", format);
        assert_eq!(types[3], DataType::Decimal128(38, 3), "{format:?}");
        assert_eq!(types[5], DataType::Decimal128(38, 1), "{format:?}");
        assert_eq!(values, [Value::Null, decimal("-2.5")]);
        let (types, values) = exported(&db, "paid", format);
        assert_eq!(types[3], DataType::Decimal128(38, 1), "{format:?}");
        assert_eq!(values, [decimal("0.1"), decimal("12")]);
    }
}
