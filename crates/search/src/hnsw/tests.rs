//! Graphs are compared with the distances to all vectors, and parts of stored graphs with maps.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

const DIM: usize = 8;

fn settings(metric: Metric) -> GraphSettings {
    GraphSettings {
        dim: DIM,
        metric,
        m: 8,
        ef_construction: 64,
        extends_candidates: false,
        keeps_pruned: false,
    }
}

/// Pseudo-random floats from -1 to 1.
fn floats(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn vector(number: u32) -> Vec<f32> {
    floats(u64::from(number) + 1, DIM)
}

fn on_sphere(number: u32, dim: usize) -> Vec<f32> {
    let mut vector = floats(u64::from(number) + 1, dim);
    let norm = vector.iter().map(|item| item * item).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|item| *item /= norm);
    vector
}

fn id(number: u32) -> VertexId {
    VertexId::of_name(&number.to_be_bytes(), 0, 8)
}

fn go_on(_: &Graph) -> Result<(), Infallible> {
    Ok(())
}

fn insert(graph: &mut Graph, id: VertexId, vector: &[f32]) {
    let source = &mut WholeSource(go_on);
    let Ok(()) = Editor { graph, source }.insert(id, vector);
}

fn remove(graph: &mut Graph, id: VertexId) {
    let number = graph.number(id).unwrap();
    let source = &mut WholeSource(go_on);
    let Ok(()) = Editor { graph, source }.remove(number);
}

fn built(settings: GraphSettings, numbers: impl Iterator<Item = u32>) -> Graph {
    let mut graph = Graph::new(settings, false);
    numbers.for_each(|number| insert(&mut graph, id(number), &vector(number)));
    graph
}

fn search(graph: &Graph, query: &[f32], ef: usize) -> Vec<Near> {
    let query = graph.settings().metric.query(query.to_vec());
    let check = || Ok::<(), Infallible>(());
    let Ok(found) = nearest(&mut WholeGraph { graph, check }, &query, ef);
    found
}

/// The share of the 10 nearest vectors that searches find.
fn recall(graph: &Graph, ef: usize) -> f64 {
    let mut found = 0;
    for number in 0..100 {
        let query = floats(1_000_000 + number, DIM);
        let got: Vec<u32> = search(graph, &query, ef).iter().map(|near| near.number).collect();
        let query = graph.settings().metric.query(query);
        let Ok(wanted) = exhaustive(graph, &query, || Ok::<(), Infallible>(()));
        found += wanted.iter().take(10).filter(|near| got.contains(&near.number)).count();
    }
    found as f64 / 1000.0
}

/// Links of all vertices as they are stored.
type Rows = BTreeMap<(VertexId, usize), Vec<LinkRow>>;

fn rows_of(graph: &Graph) -> Rows {
    let mut rows = Rows::new();
    for number in 0..graph.numbers_end() as u32 {
        let Some(id) = graph.id(number) else { continue };
        for layer in 0..=id.layer() {
            rows.insert((id, layer), graph.link_rows(number, layer));
        }
    }
    rows
}

/// Checks what must hold for the rows of any graph.
fn check_rows(rows: &Rows) {
    for ((id, layer), links) in rows {
        let (mut to_before, mut from_before) = (false, false);
        assert!(links.windows(2).all(|pair| pair[0].to < pair[1].to), "no link is there twice");
        for link in links {
            let back = rows.get(&(link.to, *layer)).expect("a link leads to a vertex of its layer");
            let back = back.iter().find(|back| back.to == *id).expect("both ends know a link");
            assert!(!(link.is_pruned && back.is_pruned), "one of them follows it");
            assert_eq!(link.distance.to_bits(), back.distance.to_bits());
            to_before |= link.to < *id && !link.is_pruned;
            from_before |= link.to < *id && !back.is_pruned;
        }
        let is_first = rows.keys().all(|(other, of)| of != layer || other >= id);
        assert!(is_first || to_before && from_before, "a vertex can be reached and left");
    }
}

#[test]
fn searches_find_almost_all_that_comparing_all_vectors_finds() {
    for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
        let graph = built(settings(metric), 0..2000);
        check_rows(&rows_of(&graph));
        let recall = recall(&graph, 64);
        assert!(recall > 0.95, "recall {recall} with {metric:?}");
    }
}

#[test]
fn what_is_removed_and_added_again_costs_no_recall() {
    let mut graph = built(settings(Metric::L2), 0..2000);
    let before = recall(&graph, 32);
    for round in 0..3 {
        (0..1000).map(|i| 2 * i + round % 2).for_each(|number| remove(&mut graph, id(number)));
        check_rows(&rows_of(&graph));
        let half = recall(&graph, 32);
        assert!(half > before - 0.02, "recall {half} after removing half, {before} before");
        (0..1000)
            .map(|i| 2 * i + round % 2)
            .for_each(|number| insert(&mut graph, id(number), &vector(number)));
    }
    let after = recall(&graph, 32);
    assert!(after > before - 0.02, "recall {after} afterwards, {before} before");
}

/// Vectors on a sphere are nearer to its center than to each other, so that they link to vertices
/// in the center alone.
#[test]
fn all_vectors_around_many_equal_ones_are_found_by_enough_candidates() {
    let mut graph = Graph::new(settings(Metric::L2), false);
    for number in 0..1500 {
        let vector = if number % 5 == 0 { vec![0.0; DIM] } else { on_sphere(number, DIM) };
        insert(&mut graph, id(number), &vector);
    }
    check_rows(&rows_of(&graph));
    assert_eq!(search(&graph, &on_sphere(1, DIM), 1500).len(), 1500);
    (0..1500).step_by(10).for_each(|number| remove(&mut graph, id(number)));
    check_rows(&rows_of(&graph));
    assert_eq!(search(&graph, &on_sphere(1, DIM), 1500).len(), 1350);
}

#[test]
fn almost_all_of_many_equal_vectors_are_found() {
    let mut graph = Graph::new(settings(Metric::L2), false);
    (0..300).for_each(|number| insert(&mut graph, id(number), &vector(number % 3)));
    check_rows(&rows_of(&graph));
    for number in 0..3 {
        let found = search(&graph, &vector(number), 100);
        assert!(found.iter().filter(|near| near.distance == 0.0).count() > 95);
        assert_eq!(search(&graph, &vector(number), 300).len(), 300);
    }
}

/// Every vector of a sphere is nearer to its center than to the others.
#[test]
fn a_vertex_that_all_others_link_to_can_be_removed() {
    let mut graph = Graph::new(GraphSettings { dim: 64, ..settings(Metric::L2) }, false);
    insert(&mut graph, id(0), &[0.0; 64]);
    (1..2000).for_each(|number| insert(&mut graph, id(number), &on_sphere(number, 64)));
    let center = graph.number(id(0)).unwrap();
    assert!(graph.link_rows(center, 0).len() > 1000);
    let checks = &mut 0;
    let source = &mut WholeSource(|_: &Graph| {
        *checks += 1;
        Ok::<(), Infallible>(())
    });
    let Ok(()) = Editor { graph: &mut graph, source }.remove(center);
    assert!(*checks > 1000, "it can be stopped");
    check_rows(&rows_of(&graph));
    let query = Metric::L2.query(on_sphere(7, 64));
    let view = &mut WholeGraph { graph: &graph, check: || Ok::<(), Infallible>(()) };
    let Ok(found) = nearest(view, &query, 2000);
    assert_eq!(found.len(), 1999);
    assert_eq!(graph.id(found[0].number), Some(id(7)));
}

#[test]
fn the_same_calls_make_the_same_graph() {
    let make = || {
        let mut graph = built(settings(Metric::Cosine), 0..500);
        (100..200).for_each(|number| remove(&mut graph, id(number)));
        rows_of(&graph)
    };
    assert!(make() == make());
}

#[test]
fn pruned_links_and_neighbors_of_candidates_are_used_where_asked() {
    let plain = built(settings(Metric::L2), 0..500);
    let links = |graph: &Graph| (0..500).map(|number| graph.links(number, 0).len()).sum::<usize>();
    let kept = GraphSettings { keeps_pruned: true, ..settings(Metric::L2) };
    assert!(links(&built(kept, 0..500)) > links(&plain));
    let extended = GraphSettings { extends_candidates: true, ..settings(Metric::L2) };
    let extended = built(extended, 0..500);
    check_rows(&rows_of(&extended));
    assert!(recall(&extended, 64) > 0.95);
}

#[test]
fn strange_vectors_do_no_harm() {
    for metric in [Metric::L2, Metric::Cosine, Metric::InnerProduct] {
        let mut graph = built(settings(metric), 0..50);
        for (place, odd) in
            [0.0, f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE].into_iter().enumerate()
        {
            insert(&mut graph, id(100 + place as u32), &[odd; DIM]);
        }
        assert_eq!(search(&graph, &vector(7), 100).len(), 55);
        assert!(search(&graph, &[f32::NAN; DIM], 10).len() == 10);
    }
}

/// A stored graph.
#[derive(Default)]
struct Stored {
    rows: Rows,
    vectors: BTreeMap<VertexId, Vec<f32>>,
}

impl Source for &Stored {
    type Error = Infallible;

    fn read_entry(&mut self, graph: &mut Graph) -> Result<(), Infallible> {
        if let Some((id, vector)) = self.vectors.iter().find(|(id, _)| !graph.is_removed(**id)) {
            graph.add_vertex(*id, vector, false);
        }
        Ok(())
    }

    fn read_links(
        &mut self,
        graph: &mut Graph,
        number: u32,
        layer: usize,
    ) -> Result<(), Infallible> {
        let rows = &self.rows[&(graph.id(number).unwrap(), layer)];
        let (mut links, mut pruned) = (Vec::new(), Vec::new());
        for row in rows {
            assert!(!graph.is_removed(row.to), "its neighbors were read before");
            let to = graph.add_vertex(row.to, &self.vectors[&row.to], false);
            let link = Link { to, distance: row.distance };
            if row.is_pruned { pruned.push(link) } else { links.push(link) }
        }
        graph.set_links(number, layer, links, pruned);
        Ok(())
    }

    fn check(&mut self, _: &Graph) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Stored {
    /// Applies some changes through a part of the graph, as a transaction does.
    fn edit(&mut self, changes: &[(u32, Option<u32>)]) {
        let mut vectors = self.vectors.clone();
        let mut graph = Graph::new(settings(Metric::L2), true);
        for &(name, new) in changes {
            let id = id(name);
            let source = &mut &*self;
            if vectors.remove(&id).is_some() {
                let number = graph
                    .number(id)
                    .unwrap_or_else(|| graph.add_vertex(id, &self.vectors[&id], false));
                let Ok(()) = Editor { graph: &mut graph, source }.remove(number);
            }
            if let Some(new) = new {
                vectors.insert(id, vector(new));
                let Ok(()) = Editor { graph: &mut graph, source }.insert(id, &vector(new));
            }
        }
        let changes = graph.changes();
        for ((id, layer), (old, new)) in changes.links {
            let there = self.rows.remove(&(id, layer)).unwrap_or_default();
            assert_eq!(there, old, "what was there before is what was read");
            if vectors.contains_key(&id) {
                self.rows.insert((id, layer), new);
            } else {
                assert_eq!(new, []);
            }
        }
        for id in changes.added {
            assert!(!self.vectors.contains_key(&id) && vectors.contains_key(&id));
            self.rows.extend(
                (0..=id.layer())
                    .filter(|layer| !self.rows.contains_key(&(id, *layer)))
                    .map(|layer| ((id, layer), Vec::new()))
                    .collect::<Vec<_>>(),
            );
        }
        for id in changes.removed {
            assert!(self.vectors.contains_key(&id) && !vectors.contains_key(&id));
        }
        for id in changes.replaced {
            assert!(self.vectors.contains_key(&id) && vectors.contains_key(&id));
            self.rows.extend(
                (0..=id.layer())
                    .filter(|layer| !self.rows.contains_key(&(id, *layer)))
                    .map(|layer| ((id, layer), Vec::new()))
                    .collect::<Vec<_>>(),
            );
        }
        self.vectors = vectors;
    }
}

proptest! {
    #[test]
    fn a_graph_that_is_changed_by_parts_stays_sound(
        changes in prop::collection::vec(
            prop::collection::vec((0..60_u32, prop::option::weighted(0.6, 0..60_u32)), 1..12),
            1..12,
        ),
    ) {
        let mut stored = Stored::default();
        for changes in &changes {
            stored.edit(changes);
            check_rows(&stored.rows);
            let keys: std::collections::BTreeSet<VertexId> =
                stored.rows.keys().map(|(id, _)| *id).collect();
            prop_assert!(keys.iter().eq(stored.vectors.keys()));
        }
        // Everything is found, in a graph that is not in memory at first.
        let mut graph = Graph::new(settings(Metric::L2), true);
        let query = Metric::L2.query(vector(1));
        let source = &mut &stored;
        let Ok(found) = nearest(&mut Editor { graph: &mut graph, source }, &query, 100);
        prop_assert_eq!(found.len(), stored.vectors.len());
        prop_assert_eq!(graph.changes().links.len(), 0);
    }
}
