//! Types of vertices and weights that fit one input, and several.

use crate::options::GraphOptions;
use views::graph::{VertexType, WeightType};

pub(crate) fn graph_options(
    (vertex, weight): (ingest::VertexType, ingest::WeightType),
) -> GraphOptions {
    let vertex = match vertex {
        ingest::VertexType::U64 => VertexType::U64,
        ingest::VertexType::I64 => VertexType::I64,
        ingest::VertexType::Str => VertexType::Str,
    };
    let weight = match weight {
        ingest::WeightType::None => WeightType::None,
        ingest::WeightType::Float => WeightType::Float,
        ingest::WeightType::Int => WeightType::Int,
    };
    GraphOptions { vertex, weight, ..GraphOptions::default() }
}

pub(crate) fn wider_vertex(a: VertexType, b: VertexType) -> VertexType {
    use VertexType::{I64, Str, U64};
    match (a, b) {
        (Str, _) | (_, Str) => Str,
        (I64, _) | (_, I64) => I64,
        (U64, U64) => U64,
    }
}

pub(crate) fn wider_weight(a: WeightType, b: WeightType) -> WeightType {
    use WeightType::{Float, Int, None};
    match (a, b) {
        (Float, _) | (_, Float) => Float,
        (Int, _) | (_, Int) => Int,
        (None, None) => None,
    }
}
