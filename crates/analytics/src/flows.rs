//! Entry functions of the flow algorithms (see `table.rs`). Weights are capacities; without weights
//! each edge has capacity 1, so a maximum flow is the number of paths without a common edge.

use crate::call::{Call, groups};
use crate::result::{Found, Numbers};
use algo::max_flow::{MaxFlow, max_flow};
use model::Value;
use store::Result;

fn flow(call: &Call<'_>) -> Result<MaxFlow<f64>> {
    let (source, sink) = (call.given.vertex("source")?, call.given.vertex("target")?);
    let graph = call.graph();
    let ones;
    let capacities = match graph.weights() {
        Some(weights) => weights,
        None => {
            ones = vec![1.0; graph.targets().len()];
            &ones
        }
    };
    call.check(max_flow(graph, capacities, source, sink, call.run))
}

pub(crate) fn maximum_flow_value(call: &Call<'_>) -> Result<Found> {
    Ok(Found::Scalar(Value::Float(flow(call)?.value)))
}

pub(crate) fn maximum_flow(call: &Call<'_>) -> Result<Found> {
    let flows = flow(call)?.flows;
    let graph = call.graph();
    let (mut sources, mut targets, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let ends =
        (0..graph.vertices()).flat_map(|v| graph.neighbors(v).iter().map(move |&to| (v, to)));
    for ((source, target), flow) in ends.zip(flows) {
        if flow > 0.0 {
            sources.push(source);
            targets.push(target);
            values.push(flow);
        }
    }
    Ok(Found::Edges { sources, targets, values: Some(("flow", Numbers::Float(values))) })
}

pub(crate) fn minimum_cut(call: &Call<'_>) -> Result<Found> {
    let sides = flow(call)?.is_source_side;
    Ok(groups(sides.into_iter().map(|is_source_side| u32::from(!is_source_side)).collect()))
}
