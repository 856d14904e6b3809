//! Indexes on paths into JSON follow their relation, whatever changes its rows, and no query has
//! another result with them.

use crate::common::engine_of;
use model::{Frame, Json, Series, Value};
use proptest::prelude::*;
use quipu_session::{Change, ChangeKind, Engine, Parameters, Run};

fn try_run(engine: &Engine, script: &str) -> Result<Vec<Vec<Value>>, String> {
    let output = engine.run(script, &Parameters::new()).map_err(|error| error.render(script))?;
    Ok((0..output.rows).map(|row| output.row(row)).collect())
}

#[track_caller]
fn run(engine: &Engine, script: &str) -> Vec<Vec<Value>> {
    try_run(engine, script).unwrap_or_else(|error| panic!("{error}"))
}

const INDEXES: [&str; 5] = [
    "::index create r:by_a {d->'a'}",
    "::index create r:by_b {b: d->'a'->'b', n}",
    "::index create r:by_n {n, x: d->'a'->'b'}",
    "::index create r:by_item {d->'l'->0}",
    "::index create r:by_whole_item {d->'l', d->0}",
];

fn create_indexes(engine: &Engine) {
    INDEXES.iter().for_each(|script| drop(run(engine, script)));
}

fn engines() -> [Engine; 2] {
    [false, true].map(|is_indexed| {
        let engine = engine_of(1, 1 << 30);
        run(&engine, ":create r {k: Int => d: Json?, n: Int default 0}");
        if is_indexed {
            create_indexes(&engine);
        }
        engine
    })
}

/// A document as an expression of a script and as a value.
type Document = Option<Json>;

fn literal(document: &Document) -> String {
    match document {
        None => "null".to_owned(),
        Some(json) => format!("parse_json(___\"{}\"___)", json.as_str()),
    }
}

/// One change of the relation.
#[derive(Clone, Debug)]
enum Step {
    Put(Vec<(i64, Document, i64)>),
    Import(Vec<(i64, Document, i64)>),
    Remove(Vec<i64>),
    ImportedRemoval(Vec<i64>),
    /// Changes the documents of the rows that are there.
    Update(Document),
    /// Changes the other column of the rows that are there.
    Number(i64),
    Replace(Vec<(i64, Document, i64)>),
    /// Puts rows and then fails.
    Failed(Vec<(i64, Document, i64)>),
}

fn rows(rows: &[(i64, Document, i64)]) -> String {
    let rows = rows.iter().map(|(k, d, n)| format!("[{k}, {}, {n}]", literal(d)));
    format!("?[k, d, n] <- [{}]", rows.collect::<Vec<_>>().join(", "))
}

fn change(engine: &Engine, kind: ChangeKind, frame: &Frame) {
    let change = Change { relation: "r", kind, rows: frame, is_import: true };
    engine.change(&[change], &Run::new(&Parameters::new())).unwrap();
}

fn apply(engine: &Engine, step: &Step) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match step {
        Step::Put(new) => drop(run(engine, &format!("{} :put r {{k => d, n}}", rows(new)))),
        Step::Import(new) => {
            let ks: Vec<Value> = new.iter().map(|row| Value::Int(row.0)).collect();
            let ds = new.iter().map(|row| row.1.clone().map_or(Value::Null, Value::Json));
            let ns: Vec<Value> = new.iter().map(|row| Value::Int(row.2)).collect();
            let columns = vec![Series::from(ks), ds.collect::<Vec<_>>().into(), ns.into()];
            change(engine, ChangeKind::Put, &Frame::new(names(&["k", "d", "n"]), columns).unwrap());
        }
        Step::Remove(gone) => {
            let keys: Vec<String> = gone.iter().map(|k| format!("[{k}]")).collect();
            run(engine, &format!("?[k] <- [{}] :rm r {{k}}", keys.join(", ")));
        }
        Step::ImportedRemoval(gone) => {
            let ks: Vec<Value> = gone.iter().map(|k| Value::Int(*k)).collect();
            let frame = Frame::new(names(&["k"]), vec![ks.into()]).unwrap();
            change(engine, ChangeKind::Rm, &frame);
        }
        Step::Update(document) => {
            let document = literal(document);
            run(engine, &format!("?[k, d] := *r{{k}}, d = {document} :update r {{k => d}}"));
        }
        Step::Number(n) => {
            run(engine, &format!("?[k, n] := *r{{k}}, n = {n} + k :update r {{k => n}}"));
        }
        Step::Replace(new) => {
            let script =
                format!("{} :replace r {{k: Int => d: Json?, n: Int default 0}}", rows(new));
            run(engine, &script);
        }
        Step::Failed(new) => {
            let put = format!("{{ {} :put r {{k => d, n}} }}", rows(new));
            assert!(try_run(engine, &format!("{put} {{ ?[x] := x = assert(false) }}")).is_err());
        }
    }
}

/// The rest of a rule `?[k] := *r{k, d, n}, …`, or a whole query.
fn queries(path: &str, v: &str, w: &str) -> Vec<String> {
    let conditions = [
        format!("{path} == {v}"),
        format!("{v} == {path}"),
        format!("p = {path}, p == {v}"),
        format!("p = {v}, p = {path}"),
        format!("{path} == {v} && n > 1"),
        format!("{path} == {v} || {path} == {w}"),
        format!("p = {path}, q = {path}, p == {v}, q == {v}"),
        format!("{path} > {v}"),
        format!("{path} >= {v} && {path} <= {w}"),
        format!("p = {path}, p < {w}"),
        format!("starts_with({path}, {v})"),
        format!("n == 1, {path} == {v}"),
        format!("n == 1, {path} > {v}"),
        format!("!is_null({path}), {path} != {v}"),
        format!("is_in({path}, [{v}, {w}])"),
    ];
    let whole = [
        format!("?[k] := p in [{v}, {w}], *r{{k, d}}, p = {path}"),
        format!("a[p] <- [[{v}], [{w}]] ?[k, p] := a[p], *r{{k, d, n}}, p = {path}, n < 5"),
        format!("?[k, j] := *r{{k, d: e}}, p = {path}, *r{{k: j, d}}, p = e->'a'"),
        format!("?[p, k] := *r{{k, d}}, p = {path} :order p, k :limit 3"),
        format!("?[p, k] := *r{{k, d}}, p = {path} :order -p, k :limit 2"),
        format!("?[p, k] := *r{{k, d, n}}, n == 1, p = {path} :order -p :limit 2"),
        format!("?[p, k] := *r{{k, d}}, p = {path}, p == {v} :order k :limit 2"),
        format!("?[max(p)] := *r{{k, d}}, p = {path}"),
        format!("?[min(p), count(k)] := *r{{k, d}}, p = {path}, p == {v}"),
        format!("?[min(p)] := *r{{k, d}}, p = {path}"),
        format!("s[k, d] := *r{{k, d}} ?[k] := s[k, d], {path} == {v}"),
    ];
    let rules = conditions.into_iter().map(|rest| format!("?[k] := *r{{k, d, n}}, {rest}"));
    rules.chain(whole).collect()
}

const PATHS: [&str; 8] = [
    "d->'a'",
    "d->'a'->'b'",
    "maybe_get(d, ['a', 'b'])",
    "get(d, 'a', null)",
    "get(d, 'a')",
    "d->'l'->0",
    "d->'l'",
    "d->0",
];

/// A condition that fails for some value may fail without an index and not with one, which skips
/// the row.
#[track_caller]
fn check_queries(engines: &[Engine; 2], queries: &[String]) {
    for query in queries {
        let [plain, indexed] = engines.each_ref().map(|engine| try_run(engine, query));
        match (plain, indexed) {
            (Ok(plain), indexed) => assert_eq!(Ok(plain), indexed, "{query}"),
            (Err(_), _) => {}
        }
    }
}

#[track_caller]
fn check(engines: &[Engine; 2]) {
    let (sound, problems) = engines[1].check_indexes().unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(sound.len(), INDEXES.len());
    let all = |engine| run(engine, "?[k, d, n] := *r{k, d, n}");
    assert_eq!(all(&engines[0]), all(&engines[1]));
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null"),
        Just("true"),
        Just("0"),
        Just("1"),
        Just("1.0"),
        Just("-0.0"),
        Just("2.5"),
        Just("18446744073709551615"),
        Just("\"\""),
        Just("\"a\""),
        Just("\"ab\""),
        Just("\"1\""),
        Just("[1]"),
        Just("{}"),
        Just("{\"b\":1}"),
    ]
    .prop_map(str::to_owned)
}

fn document() -> impl Strategy<Value = Document> {
    let text = prop_oneof![
        4 => (scalar(), scalar()).prop_map(|(a, l)| format!("{{\"a\":{a},\"l\":[{l}]}}")),
        4 => (scalar(), scalar()).prop_map(|(b, a)| format!("{{\"a\":{{\"b\":{b}}},\"0\":{a}}}")),
        1 => scalar(),
        1 => scalar().prop_map(|item| format!("[{item}]")),
    ];
    prop_oneof![
        9 => text.prop_map(|text| Some(Json::parse(&text).unwrap())),
        1 => Just(None),
    ]
}

fn any_rows() -> impl Strategy<Value = Vec<(i64, Document, i64)>> {
    prop::collection::vec((0_i64..12, document(), 0_i64..3), 1..8)
}

fn any_step() -> impl Strategy<Value = Step> {
    let gone = || prop::collection::vec(0_i64..12, 1..4);
    prop_oneof![
        4 => any_rows().prop_map(Step::Put),
        3 => any_rows().prop_map(Step::Import),
        2 => gone().prop_map(Step::Remove),
        1 => gone().prop_map(Step::ImportedRemoval),
        1 => document().prop_map(Step::Update),
        1 => (0_i64..3).prop_map(Step::Number),
        1 => any_rows().prop_map(Step::Replace),
        1 => any_rows().prop_map(Step::Failed),
    ]
}

fn any_value() -> impl Strategy<Value = String> {
    scalar().prop_map(|text| match text.as_bytes()[0] {
        b'[' => format!("json({text})"),
        _ => text.replace("18446744073709551615", "18446744073709551615.0"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn queries_find_the_same_with_an_index_after_every_change(
        steps in prop::collection::vec((any_step(), 0..PATHS.len(), any_value(), any_value()), 1..7),
    ) {
        let engines = engines();
        for (step, path, v, w) in &steps {
            engines.iter().for_each(|engine| apply(engine, step));
            check(&engines);
            check_queries(&engines, &queries(PATHS[*path], v, w));
        }
        // Indexes that are made of the rows are those that followed the changes.
        for index in ["by_a", "by_b", "by_n", "by_item", "by_whole_item"] {
            run(&engines[1], &format!("::index drop r:{index}"));
        }
        create_indexes(&engines[1]);
        check(&engines);
        let (_, path, v, w) = &steps[0];
        check_queries(&engines, &queries(PATHS[*path], v, w));
    }
}

/// With many rows, ranges are chosen by estimates, workers help, and orders are read backwards.
#[test]
fn queries_of_many_documents_find_the_same_with_an_index() {
    let engines = engines();
    let script = "?[k, d, n] := k in int_range(5000), n = k % 3,
        d = json_object('a', json_object('b', if(k % 10 == 0, null, k % 100)), 'l', [to_string(k % 50)])
        :put r {k => d, n}";
    for engine in &engines {
        run(engine, script);
        engine.set_parallel_rows(100);
    }
    check(&engines);
    for path in ["d->'a'->'b'", "d->'l'->0", "d->'a'"] {
        for (v, w) in [("7", "9.5"), ("95", "1000"), ("'7'", "'9'"), ("null", "7"), ("-1", "-0.5")]
        {
            let mut queries = queries(path, v, w);
            // Without an index, these compare each document with each.
            queries.retain(|query| !query.contains("k: j"));
            check_queries(&engines, &queries);
        }
    }
}

/// Operator, order and expression of the steps that read `r`.
fn reads(engine: &Engine, query: &str) -> Vec<(String, String, String)> {
    let steps = run(engine, &format!("::explain {{ {query} }}"));
    let text = |value: &Value| match value {
        Value::Str(text) => text.clone(),
        other => other.to_string(),
    };
    let steps = steps.iter().map(|row| (text(&row[4]), text(&row[5]), text(&row[7])));
    steps.filter(|(_, of, _)| of.starts_with("*r")).collect()
}

#[test]
fn a_plan_reads_the_index_whose_path_a_query_compares() {
    let [plain, indexed] = engines();
    for (query, operator, bounds) in [
        ("?[k] := *r{k, d}, d->'a'->'b' == 7", "scan", "d->'a'->'b' == 7"),
        ("?[k] := *r{k, d}, a = d->'a', a->'b' == 7", "scan", "d->'a'->'b' == 7"),
        (
            "?[k] := *r{k, d}, c = d->'a'->'b', c >= 7, c < 9",
            "scan",
            "d->'a'->'b' >= 7, d->'a'->'b' <= 9",
        ),
        ("?[k] := c = 7, *r{k, d}, c = d->'a'->'b'", "index_join", ""),
        ("?[k] := c = 7, *r{k, d, n}, c = d->'a'->'b', n > 1", "index_join", "n >= 1"),
    ] {
        let [(found, of, expr)] = &reads(&indexed, query)[..] else { panic!("{query}") };
        assert_eq!((&**found, &**of, &**expr), (operator, "*r:by_b", bounds), "{query}");
        let [(_, of, _)] = &reads(&plain, query)[..] else { panic!("{query}") };
        assert_eq!(of, "*r", "{query}");
    }
    // Another path, a path of another column, and a computed step are no such value.
    for query in [
        "?[k] := *r{k, d}, d->'a'->'c' == 1",
        "?[k] := *r{k, d}, d->'a'->'b'->'c' == 1",
        "?[k] := *r{k, d: e}, d = e->'x', d->'a'->'b' == 1",
        "?[k] := *r{k, d}, s = concat('a', ''), d->s->'b' == 1",
    ] {
        let [(_, of, _)] = &reads(&indexed, query)[..] else { panic!("{query}") };
        assert_eq!(of, "*r", "{query}");
    }
}

/// Found by review: each level held its document twice, so thirty of them took all memory.
#[test]
fn paths_into_computed_documents_nest() {
    let engine = engine_of(1, 1 << 28);
    let nested =
        (0..40).fold("d".to_owned(), |of, _| format!("coalesce({of}->'a', parse_json('{{}}'))"));
    let script = format!("?[x] := d = parse_json('{{\"a\": {{\"a\": 1}}}}'), x = {nested}");
    assert_eq!(run(&engine, &script), [[Value::Json(Json::parse("{}").unwrap())]]);
}
