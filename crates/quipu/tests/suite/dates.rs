//! Dates, timestamps and durations in relations, results and Arrow.
#![allow(clippy::unwrap_used)]

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use arrow_array::{
    Date32Array, Date64Array, DurationMillisecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, TimeUnit};
use proptest::prelude::*;
use quipu::{Database, Frame, Options, Parameters, QueryResult, Series, Value, Values};
use std::collections::BTreeMap;
use std::sync::Arc;

fn memory() -> Database {
    Database::in_memory(Options::default()).unwrap()
}

fn run(db: &Database, script: &str) -> QueryResult {
    db.run(script, &Parameters::new()).unwrap()
}

fn series(array: ArrayRef) -> quipu::Result<Vec<Value>> {
    let field = Field::new("t", array.data_type().clone(), true);
    let series = quipu::series_of_arrow(&array, &field)?;
    Ok((0..series.len()).map(|row| series.value(row)).collect())
}

fn any_value() -> impl Strategy<Value = (Option<i32>, Option<i64>, Option<i64>)> {
    (any::<Option<i32>>(), any::<Option<i64>>(), any::<Option<i64>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Rows go through a relation, in order, and through Arrow, and come back.
    #[test]
    fn rows_and_arrow_keep_every_value(given in prop::collection::btree_set(any_value(), 1..20)) {
        let db = memory();
        run(&db, ":create r {n: Int => d: Date?, t: Timestamp?, l: Duration?}");
        let rows: Vec<Vec<Value>> = (0..).zip(&given).map(|(n, (d, t, l))| {
            let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
            let (d, t) = (or_null(d.map(Value::Date)), or_null(t.map(Value::Timestamp)));
            vec![Value::Int(n), d, t, or_null(l.map(Value::Duration))]
        }).collect();
        let names = ["n", "d", "t", "l"].map(str::to_owned).to_vec();
        let frame = Frame::of_rows(names, rows.clone()).unwrap();
        db.import_relations(&BTreeMap::from([("r".to_owned(), frame)])).unwrap();
        let answer = run(&db, "?[n, d, t, l] := *r[n, d, t, l]");
        let found: Vec<Vec<Value>> = answer.rows().collect();
        prop_assert_eq!(&found, &rows);
        let batch = answer.to_batch().unwrap();
        for column in 1..4 {
            let back = series(Arc::clone(batch.column(column))).unwrap();
            let want: Vec<Value> = rows.iter().map(|row| row[column].clone()).collect();
            prop_assert_eq!(back, want);
        }
        // As keys, and as the order of a query.
        for column in ["t", "l", "d"] {
            let script = format!(
                "{{?[x, n] := *r{{n, {column}: x}}, !is_null(x) :replace k {{x: Any, n: Int}}}}
                 {{?[x] := *k{{x}} :order x}}"
            );
            let ordered: Vec<Value> =
                run(&db, &script).rows().map(|mut row| row.remove(0)).collect();
            prop_assert!(ordered.is_sorted());
        }
    }

    /// A range of a key finds what a condition on each row finds.
    #[test]
    fn ranges_of_keys_and_indexes_are_those_of_the_values(
        times in prop::collection::vec(-50_i64..50, 1..40),
        low in -60_i64..60,
        high in -60_i64..60,
    ) {
        let db = memory();
        run(&db, ":create r {t: Timestamp, n: Int => d: Duration, u: Date}");
        run(&db, "::index create r:d {d}");
        let column = |of: &dyn Fn(i64) -> Value| {
            Series::from(Values::Any(times.iter().map(|&time| of(time)).collect()))
        };
        let numbers = Series::from(Values::Int((0..times.len() as i64).collect()));
        let columns = vec![
            column(&Value::Timestamp), numbers, column(&Value::Duration),
            column(&|time| Value::Date(time as i32)),
        ];
        let names = ["t", "n", "d", "u"].map(str::to_owned).to_vec();
        let frame = Frame::new(names, columns).unwrap();
        db.import_relations(&BTreeMap::from([("r".to_owned(), frame)])).unwrap();
        let want = times.iter().filter(|&&time| low <= time && time < high).count() as i64;
        let timestamp = |us: i64| Value::Timestamp(us).to_string();
        let duration = |us: i64| Value::Duration(us).to_string();
        let date = |days: i64| Value::Date(days as i32).to_string();
        for (column, make, low, high) in [
            ("t", "to_timestamp", timestamp(low), timestamp(high)),
            ("d", "to_duration", duration(low), duration(high)),
            ("u", "to_date", date(low), date(high)),
        ] {
            let found = run(&db, &format!(
                "?[count(n)] := *r{{n, {column}: x}}, x >= {make}('{low}'), x < {make}('{high}')"
            ));
            prop_assert_eq!(found.value(0, 0), Value::Int(want), "{}", column);
        }
    }
}

#[test]
fn results_have_the_types_of_arrow_also_without_rows() {
    let db = memory();
    run(&db, ":create r {d: Date => t: Timestamp?, l: Duration}");
    let want = [
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Duration(TimeUnit::Microsecond),
    ];
    for rows in 0..2 {
        let batch = run(&db, "?[d, t, l] := *r[d, t, l]").to_batch().unwrap();
        assert_eq!(batch.num_rows(), rows);
        let found: Vec<_> = batch.columns().iter().map(|array| array.data_type().clone()).collect();
        assert_eq!(found, want);
        run(
            &db,
            "?[d, t, l] <- [['2026-01-31', '2026-01-31T00:00:00.5Z', 'PT1S']] :put r {d => t, l}",
        );
    }
    let batch = run(&db, "?[t] := *r{t}").to_batch().unwrap();
    let times = batch.column(0).as_primitive::<types::TimestampMicrosecondType>();
    assert_eq!(times.value(0), 1_769_817_600_500_000);
}

#[test]
fn times_of_other_units_become_microseconds() {
    let utc = TimestampMicrosecondArray::from(vec![1]).with_timezone("+02:00");
    assert_eq!(series(Arc::new(utc)).unwrap(), [Value::Timestamp(1)]);
    let ns = TimestampNanosecondArray::from(vec![Some(-1), None, Some(1999)]);
    let want = [Value::Timestamp(-1), Value::Null, Value::Timestamp(1)];
    assert_eq!(series(Arc::new(ns)).unwrap(), want);
    let seconds = TimestampSecondArray::from(vec![-2]);
    assert_eq!(series(Arc::new(seconds)).unwrap(), [Value::Timestamp(-2_000_000)]);
    let ms = DurationMillisecondArray::from(vec![7]);
    assert_eq!(series(Arc::new(ms)).unwrap(), [Value::Duration(7000)]);
    assert_eq!(series(Arc::new(Date32Array::from(vec![3]))).unwrap(), [Value::Date(3)]);
    let days = Date64Array::from(vec![3 * 86_400_000]);
    assert_eq!(series(Arc::new(days)).unwrap(), [Value::Date(3)]);
    let far = series(Arc::new(TimestampSecondArray::from(vec![i64::MAX]))).unwrap_err();
    assert_eq!(far.to_string(), "column `t`, row 0: microseconds need over 64 bits");
}

#[test]
fn columns_of_strings_still_take_dates_and_times() {
    let db = memory();
    run(&db, ":create r {k: Int => d: String, t: String}");
    run(
        &db,
        "?[k, d, t] := k = 1, d = to_date('2026-01-02'), t = to_timestamp(0) :put r {k => d, t}",
    );
    let found = run(&db, "?[d, t] := *r{d, t}");
    assert_eq!(found.value(0, 0).to_string(), "\"2026-01-02\"");
    assert_eq!(found.value(0, 1).to_string(), "\"1970-01-01T00:00:00Z\"");
}
