//! One small file of each format.

use super::*;
use crate::{EdgeOptions, Missing};

const KARATE: &str = "Creator \"me\"\ngraph\n[\n  directed 0\n  node [ id 1 label \"Ann \
                      &amp; Bob\" ]\n  node [ id 2 label \"Carl\" x [ y 1 ] ]\n  edge [ source 1 \
                      target 2 value 2.5 ]\n]\n";

const GRAPHML: &str = r#"<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="weight" attr.type="double"><default>1.5</default></key>
<key id="d1" for="node" attr.name="color" attr.type="string"><default>blue</default></key>
<graph edgedefault="directed"><node id="n0"><data key="d1">red</data></node><node id="n1"/>
<edge source="n0" target="n1"><data key="d0">0.5</data></edge><edge source="n1" target="n0"/>
</graph></graphml>"#;

const GEXF: &str = r#"<gexf version="1.3"><graph defaultedgetype="directed"><nodes>
<node id="0" label="Ann"/><node id="1" label="B &lt; C"/></nodes><edges>
<edge id="0" source="0" target="1" weight="2"/></edges></graph></gexf>"#;

const PAJEK: &str =
    "*Vertices 3\n1 \"Ann B\" 0.1 0.2\n2 Carl\n3 Dora\n*Arcs\n1 2 4\n*Edges\n2 3 1\n";

fn read(
    text: &str,
    name: &str,
    vertex: VertexType,
    weight: WeightType,
) -> Result<(Vec<String>, Vec<String>), String> {
    let format = GraphFormat::detect(text.as_bytes(), name).unwrap();
    let edges = EdgeOptions { vertex, weight, missing: Missing::Fail, ..EdgeOptions::default() };
    let options = TextOptions { edges, ..TextOptions::default() };
    let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
    let mut reader = GraphReader::new(format, bytes, name, &options);
    let (mut out, mut all) = (EdgeChunk::default(), Vec::new());
    let (mut missing, mut count) = (Vec::new(), 0);
    // The reader ends, whatever it has found.
    while reader.next_chunk(&mut out).map_err(|error| error.to_string())? {
        all.extend((0..out.len()).filter_map(|i| out.describe(i, vertex)));
        missing.append(&mut out.missing);
        count += out.missing_count;
    }
    if count > 0 {
        return Err(crate::missing_error(count, &missing).to_string());
    }
    let notes = reader.detected().into_iter().filter(|(key, _)| *key == "note");
    Ok((all, notes.map(|(_, note)| note).collect()))
}

#[track_caller]
fn check(text: &str, name: &str, vertex: VertexType, want: &[&str], note: &str) {
    let (edges, notes) = read(text, name, vertex, WeightType::Float).unwrap();
    assert_eq!(edges, want);
    assert!(notes.iter().any(|n| n.contains(note)) || note.is_empty(), "{notes:?}");
}

#[test]
fn each_format_gives_its_edges_and_says_what_is_left_out() {
    let (u64, text) = (VertexType::U64, VertexType::Str);
    let dimacs = "c roads\np sp 3 2\na 1 2 7\na 2 3 0.5\n";
    check(dimacs, "roads.gr", u64, &["1 2 7.0", "2 3 0.5"], "");
    check("p edge 2 1\ne 1 2\n", "x.col", u64, &["1 2 1.0"], "without direction");
    let metis = "% made by hand\n3 2 001\n2 5\n1 5 3 6\n2 6\n";
    check(metis, "x.metis", u64, &["1 2 5.0", "2 1 5.0", "2 3 6.0", "3 2 6.0"], "");
    check(
        "2 1 11\n9 2 5\n9 1 5\n",
        "x.graph.gz",
        u64,
        &["1 2 5.0", "2 1 5.0"],
        "weights and sizes",
    );
    check(KARATE, "k.gml", u64, &["1 2 2.5"], "without direction");
    check(KARATE, "k.gml", text, &["\"Ann & Bob\" \"Carl\" 2.5"], "attributes of vertices");
    check(
        GRAPHML,
        "x",
        text,
        &["\"n0\" \"n1\" 0.5", "\"n1\" \"n0\" 1.5"],
        "attributes of vertices",
    );
    check(GEXF, "x", u64, &["0 1 2.0"], "labels");
    check(GEXF, "x", text, &["\"Ann\" \"B < C\" 2.0"], "labels");
    check(PAJEK, "x.net", text, &["\"Ann B\" \"Carl\" 4.0", "\"Carl\" \"Dora\" 1.0"], "positions");
    check("*Vertices 2\n*Arcslist\n1 2 3\n", "x", u64, &["1 2 1.0", "1 3 1.0"], "");
    check("1 2 {}\n2 3 {}\n", "x", u64, &["1 2 1.0", "2 3 1.0"], "");
    let data = "a b {'weight': 2.5, 'color': 'red'}\n";
    check(data, "x", text, &["\"a\" \"b\" 2.5"], "attributes of edges");
}

#[test]
fn a_file_that_ends_in_the_middle_is_an_error() {
    for (text, name) in [
        ("p sp 3 3\na 1 2 7\na 2 3 1\n", "x"),
        ("3 2\n2\n1 3\n", "x.graph"),
        (&KARATE[..KARATE.len() - 3], "x"),
        (&GRAPHML[..GRAPHML.len() - 20], "x"),
        (&GEXF[..GEXF.len() - 20], "x"),
    ] {
        let error = read(text, name, VertexType::Str, WeightType::Float);
        assert!(error.is_err(), "{text}");
    }
}

#[test]
fn an_edge_without_a_weight_among_others_is_missing_one() {
    let text = "1 2 {'weight': 1}\n2 3 {}\n";
    let error = read(text, "x", VertexType::U64, WeightType::Float).unwrap_err();
    assert!(error.contains("1 edge without one: line 2"), "{error}");
    assert!(read(text, "x", VertexType::U64, WeightType::None).is_ok());
}

#[test]
fn texts_of_columns_are_none_of_these_formats() {
    for text in ["1 2\n3 4\n", "a,b\n", "p,q\nc,d\n", "# graph [\n1 2\n", "", "graph,edge\n"] {
        assert_eq!(GraphFormat::detect(text.as_bytes(), "x.txt"), None, "{text:?}");
    }
}
