//! The arguments of an algorithm's entry function, and helpers that several of them share.

use crate::error::from_algo;
use crate::parameter::Given;
use crate::projection::Projection;
use crate::result::{Found, Numbers, Tree};
use crate::run::Run;
use algo::{Csr, NO_VERTEX};
use std::sync::Arc;
use store::Result;

/// A call of an algorithm.
pub(crate) struct Call<'a> {
    pub(crate) projection: &'a Projection,
    pub(crate) given: Given<'a>,
    pub(crate) run: &'a Run<'a>,
}

impl Call<'_> {
    /// The outgoing edges.
    pub(crate) fn graph(&self) -> &Csr {
        self.projection.graph()
    }

    /// See [`Projection::reverse`].
    pub(crate) fn reverse(&self) -> Result<Arc<Csr>> {
        self.projection.reverse(self.run)
    }

    /// See [`Projection::undirected`].
    pub(crate) fn undirected(&self) -> Result<Arc<Csr>> {
        self.projection.undirected(self.run)
    }

    /// The result of a kernel, with ids in its error.
    pub(crate) fn check<T>(
        &self,
        done: std::result::Result<T, impl Into<algo::Error>>,
    ) -> Result<T> {
        done.map_err(|error| from_algo(error.into(), self.projection.ids()))
    }

    /// Number of vertices.
    pub(crate) fn vertices(&self) -> u32 {
        self.graph().vertices()
    }

    /// Number of edge ends at each vertex: outgoing and incoming, a self-loop twice.
    pub(crate) fn degrees(&self) -> Result<Vec<u64>> {
        let graph = self.graph();
        if self.projection.is_directed() {
            let degrees = self.check(algo::degree::degrees(graph, self.run))?;
            return Ok(degrees.into_iter().map(|degree| degree.total()).collect());
        }
        let degree = |v| (graph.degree(v) + self.projection.loops(v)) as u64;
        Ok((0..graph.vertices()).map(degree).collect())
    }
}

/// One float for each vertex.
pub(crate) fn floats(name: &'static str, values: Vec<f64>) -> Found {
    Found::Values(vec![(name, Numbers::Float(values))])
}

/// Groups from labels from 0 without gaps.
pub(crate) fn groups(labels: Vec<u32>) -> Found {
    let count = labels.iter().max().map_or(0, |&last| last + 1);
    Found::Groups { labels, count }
}

/// Groups from any labels below the number of vertices, numbered by their smallest vertices.
pub(crate) fn renumbered(mut labels: Vec<u32>) -> Found {
    let mut numbers = vec![NO_VERTEX; labels.len()];
    let mut count = 0;
    for label in &mut labels {
        let number = &mut numbers[*label as usize];
        if *number == NO_VERTEX {
            *number = count;
            count += 1;
        }
        *label = *number;
    }
    Found::Groups { labels, count }
}

/// The tree of a search by weights.
pub(crate) fn weighted_tree(tree: algo::sssp::ShortestTree, is_complete: bool) -> Found {
    let is_reached = tree.distances.iter().map(|distance| distance.is_finite()).collect();
    Found::Tree(Tree {
        name: "distance",
        distances: Numbers::Float(tree.distances),
        parents: tree.parents,
        is_reached,
        is_complete,
    })
}
