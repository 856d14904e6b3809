//! Chooses the links of a vertex among candidates: algorithm 4.

use super::graph::Link;
use super::search::{GraphView, Near};
use hashbrown::HashSet;

/// A vertex and a layer whose links are chosen.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    /// The vertex.
    pub(super) of: u32,
    /// The layer.
    pub(super) layer: usize,
    /// The most links.
    pub(super) links_max: usize,
    /// Whether neighbors of candidates are candidates.
    pub(super) extends: bool,
}

/// Chooses links among candidates, the nearest first. One that is nearer to a chosen vertex than
/// to the vertex itself is refused: it can be reached through that one, and links in other
/// directions are worth more.
///
/// Other than in the paper, a candidate that is equally near to both is not refused, and at most
/// half of the links lead to vectors equal to the vertex's own. With the paper's rule a vertex
/// with an equal one links to that one alone; without a bound, many equal vectors link only to
/// each other.
pub(super) fn select<V: GraphView>(
    view: &mut V,
    choice: Choice,
    mut candidates: Vec<Near>,
) -> Result<Vec<Link>, V::Error> {
    let Choice { of, layer, links_max, extends } = choice;
    if extends {
        extend(view, of, layer, &mut candidates)?;
    }
    let graph = view.graph();
    // In another order for each vertex: else all of many equal vectors would link to the same few.
    let tie = |near: &Near| Some(graph.id(near.number)?.pair_hash(graph.id(of)?));
    candidates.sort_unstable_by(|a, b| {
        a.distance.total_cmp(&b.distance).then_with(|| tie(a).cmp(&tie(b)))
    });
    let link = |near: &Near| Link { to: near.number, distance: near.distance };
    let mut chosen: Vec<Link> = Vec::with_capacity(links_max);
    let (mut refused, mut equal) = (Vec::new(), 0);
    for near in &candidates {
        if chosen.len() >= links_max {
            break;
        }
        if graph.vector(near.number) == graph.vector(of) {
            equal += 1;
            if equal > links_max.div_ceil(2) {
                continue;
            }
        }
        let is_farther =
            |chosen: &Link| graph.distance_between(near.number, chosen.to) >= near.distance;
        match chosen.iter().all(is_farther) {
            true => chosen.push(link(near)),
            false => refused.push(link(near)),
        }
    }
    if graph.settings().keeps_pruned {
        let free = links_max - chosen.len();
        chosen.extend(refused.into_iter().take(free));
    }
    Ok(chosen)
}

/// Adds the neighbors of candidates.
fn extend<V: GraphView>(
    view: &mut V,
    of: u32,
    layer: usize,
    candidates: &mut Vec<Near>,
) -> Result<(), V::Error> {
    let mut known: HashSet<u32> = candidates.iter().map(|near| near.number).collect();
    known.insert(of);
    for place in 0..candidates.len() {
        let number = candidates[place].number;
        view.read(number, layer)?;
        let graph = view.graph();
        for link in graph.links(number, layer) {
            if known.insert(link.to) {
                let distance = graph.distance_between(of, link.to);
                candidates.push(Near { distance, number: link.to });
            }
        }
    }
    Ok(())
}
