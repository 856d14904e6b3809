"""Samples of neighborhoods for training on graphs: arrays, from one seed, without replacement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from ._quipu import Projection


class Sample(NamedTuple):
    """A part of a graph around some vertices.

    ``vertices`` are positions in the projection's ``ids``: the given ones, then those of each hop in the order in which
    they were reached. ``ids`` are the same as ids. ``sources`` and ``targets`` are positions in ``vertices``, an item
    for each sampled edge, in the direction of the edge; ``weights`` belong to them. ``counts[h]`` is the number of
    vertices within ``h`` hops.
    """

    vertices: np.ndarray[Any, Any]
    ids: np.ndarray[Any, Any]
    sources: np.ndarray[Any, Any]
    targets: np.ndarray[Any, Any]
    weights: np.ndarray[Any, Any] | None
    counts: np.ndarray[Any, Any]


def sample(
    self: Projection,
    nodes: Any,
    fan_outs: Sequence[int],
    *,
    seed: int = 0,
    incoming: bool = False,
) -> Sample:
    """Return a sample of the neighborhood of some vertices, for training on graphs.

    Each vertex of a hop keeps at most that hop's number of edges, chosen at random without
    replacement. The same seed gives the same sample.

    >>> g.project().sample([1, 2], [10, 5], seed=7).ids

    Args:
        nodes: The vertices; each counts once.
        fan_outs: For each hop the largest number of edges of a vertex.
        seed: Seed of the random numbers.
        incoming: Whether edges are followed from target to source.

    Raises:
        InvalidInputError: A vertex is not part of the projection, or a fan-out is negative.
    """
    import numpy as np

    sampler = _Sampler(self, fan_outs, incoming)
    return sampler.sample(_positions(self, nodes), np.random.default_rng(seed))


def samples(
    self: Projection,
    nodes: Any = None,
    fan_outs: Sequence[int] = (10, 10),
    *,
    batch_size: int = 512,
    shuffle: bool = True,
    seed: int = 0,
    incoming: bool = False,
) -> Iterator[Sample]:
    """Return an iterator over samples of the neighborhoods of batches of vertices.

    >>> for batch in g.project().samples(fan_outs=[10, 5], batch_size=256): ...

    Args:
        nodes: The vertices; ``None``: all.
        fan_outs: As in :meth:`sample`.
        batch_size: Number of vertices in a batch; the last may have fewer.
        shuffle: Whether vertices are put in a random order.
        seed: Seed of the order and of the samples.
        incoming: As in :meth:`sample`.

    Raises:
        InvalidInputError: As in :meth:`sample`, or a batch has no vertex.
    """
    import numpy as np

    if batch_size < 1:
        raise InvalidInputError(f"a batch has one vertex or more, not {batch_size}")
    sampler = _Sampler(self, fan_outs, incoming)
    positions = np.arange(self.number_of_vertices()) if nodes is None else _positions(self, nodes)
    if shuffle:
        positions = np.random.default_rng(seed).permutation(positions)
    starts = range(0, len(positions), batch_size)
    return (
        # A batch has its own random numbers, so it does not depend on the size of those before it.
        sampler.sample(positions[start : start + batch_size], np.random.default_rng([seed, batch]))
        for batch, start in enumerate(starts)
    )


def _positions(projection: Projection, nodes: Any) -> np.ndarray[Any, Any]:
    """Distinct positions of vertices, in the order given."""
    import numpy as np

    is_one = isinstance(nodes, str) or not hasattr(nodes, "__iter__")
    given: Any = [nodes] if is_one else nodes
    found = np.asarray(projection.positions(given), dtype=np.int64)
    if np.any(found < 0):
        unknown = list(given)[int(np.argmax(found < 0))]
        raise InvalidInputError(f"{unknown!r} is not a vertex of the projection")
    _, first = np.unique(found, return_index=True)
    return found[np.sort(first)]


class _Sampler:
    """The rows that samples are taken from, and where vertices are in the current sample."""

    def __init__(self, projection: Projection, fan_outs: Sequence[int], incoming: bool):
        import numpy as np

        self.fan_outs = [int(count) for count in fan_outs]
        if any(count < 0 for count in self.fan_outs):
            raise InvalidInputError(f"a fan-out is not negative: {self.fan_outs}")
        self.ids = projection.ids
        self.incoming = incoming
        if incoming:
            self.offsets, self.neighbors, self.weights = projection.reverse
        else:
            self.offsets, self.neighbors = projection.offsets, projection.targets
            self.weights = projection.weights
        self.place = np.full(len(self.offsets) - 1, -1, dtype=np.int64)

    def sample(self, start: np.ndarray[Any, Any], random: np.random.Generator) -> Sample:
        import numpy as np

        parts, counts = [start], [len(start)]
        near_parts: list[np.ndarray[Any, Any]] = []
        far_parts: list[np.ndarray[Any, Any]] = []
        edge_parts: list[np.ndarray[Any, Any]] = []
        place, frontier = self.place, start
        place[start] = np.arange(len(start))
        for fan_out in self.fan_outs:
            rows, edges = self._pick(frontier, fan_out, random)
            reached = self.neighbors[edges].astype(np.int64)
            new = reached[place[reached] < 0]
            _, first = np.unique(new, return_index=True)
            new = new[np.sort(first)]
            place[new] = counts[-1] + np.arange(len(new))
            near_parts.append(place[frontier[rows]])
            far_parts.append(place[reached])
            edge_parts.append(edges)
            parts.append(new)
            counts.append(counts[-1] + len(new))
            frontier = new
        vertices = np.concatenate(parts)
        place[vertices] = -1
        empty = np.empty(0, dtype=np.int64)
        near, far, edges = (np.concatenate([empty, *arrays]) for arrays in (near_parts, far_parts, edge_parts))
        sources, targets = (far, near) if self.incoming else (near, far)
        weights = None if self.weights is None else self.weights[edges]
        return Sample(vertices, self.ids[vertices], sources, targets, weights, np.asarray(counts))

    def _pick(
        self, frontier: np.ndarray[Any, Any], fan_out: int, random: np.random.Generator
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Rows of the frontier and positions of edges: at most ``fan_out`` of each vertex."""
        import numpy as np

        begins = self.offsets[frontier]
        degrees = self.offsets[frontier + 1] - begins
        few = np.minimum(degrees, fan_out)
        rows = np.repeat(np.arange(len(frontier)), few)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(few) - few, few)
        large = np.flatnonzero(degrees > fan_out)
        if len(large) and fan_out:
            # Floyd's algorithm for all rows: k different ones of 0..d, each set as likely.
            chosen = np.empty((len(large), fan_out), dtype=np.int64)
            for j in range(fan_out):
                last = degrees[large] - fan_out + j
                drawn = random.integers(0, last + 1)
                is_taken = (chosen[:, :j] == drawn[:, None]).any(axis=1)
                chosen[:, j] = np.where(is_taken, last, drawn)
            chosen.sort(axis=1)
            is_large = np.zeros(len(frontier), dtype=bool)
            is_large[large] = True
            within[is_large[rows]] = chosen.ravel()
        return rows, begins[rows] + within
