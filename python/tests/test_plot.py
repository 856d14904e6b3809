"""Pictures: their content, refused input, and names of vertices, which are text and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import quipu

SVG = "{http://www.w3.org/2000/svg}"


def star(leaves: int) -> quipu.Graph:
    graph = quipu.open().graph("star", weight="float64")
    graph.upsert_many([0] * leaves, list(range(1, leaves + 1)), [0.5] * leaves)
    return graph


def test_a_whole_graph_is_drawn() -> None:
    picture = quipu.plot(star(3))
    assert picture.edges.vertices == [0, 1, 2, 3]
    assert picture.edges.pairs == [(0, 1), (0, 2), (0, 3)]
    assert picture.edges.weights == [0.5] * 3
    assert picture.title == "star"
    assert repr(picture).startswith("<quipu.Picture of 4 vertices and 3 edges;")


def test_a_neighbourhood_has_the_vertices_within_its_hops_and_the_edges_between_them() -> None:
    graph = quipu.open().graph("path")
    graph.upsert_many([1, 2, 3, 4, 3], [2, 3, 4, 5, 2])
    one = quipu.plot(graph, around=3)
    assert set(one.edges.vertices) == {2, 3, 4}
    named = {(one.edges.vertices[s], one.edges.vertices[t]) for s, t in one.edges.pairs}
    assert named == {(2, 3), (3, 2), (3, 4)}
    assert one.edges.weights == [None] * 3
    assert set(quipu.plot(graph, around=[1, 5], hops=1).edges.vertices) == {1, 2, 4, 5}
    assert quipu.plot(graph, around=1, hops=0).edges.vertices == [1]
    assert len(quipu.plot(graph, around=np.uint64(3), hops=9).edges.vertices) == 5


def test_rows_of_a_query_and_pairs_are_drawn_as_a_graph_is() -> None:
    db = quipu.open()
    graph = db.graph("g", vertex="str")
    graph.upsert_many(["a", "b", "c"], ["b", "c", "d"])
    result = db.run("?[src, dst] := *g{src, dst}")
    for edges in (result, result.rows(), graph.to_table()):
        picture = quipu.plot(edges, around="b")
        assert sorted(picture.edges.vertices) == ["a", "b", "c"]


def test_a_networkx_graph_keeps_its_lone_vertices_and_has_no_arrows_if_undirected() -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([(1, 2)])
    graph.add_node(9)
    picture = quipu.plot(graph)
    assert picture.edges.vertices == [1, 2, 9]
    assert not picture.edges.directed
    assert picture.to_svg().count("M") == 1


def test_a_vertex_without_edges_is_drawn() -> None:
    graph = quipu.open().graph("g", nodes={"kind": "str"})
    graph.upsert(1, 2)
    graph.add_node(9, kind="alone")
    assert sorted(quipu.plot(graph).edges.vertices) == [1, 2, 9]
    assert quipu.plot(graph, around=9).edges.vertices == [9]


def test_a_projection_is_drawn() -> None:
    graph = quipu.open().graph("g", weight="float64", vertex="str")
    graph.upsert_many(["a", "b", "c"], ["b", "c", "d"], [1.0, 2.0, 3.0])
    picture = quipu.plot(graph.project(weight="weight"))
    named = {(picture.edges.vertices[s], picture.edges.vertices[t]) for s, t in picture.edges.pairs}
    assert named == {("a", "b"), ("b", "c"), ("c", "d")}
    assert sorted(w for w in picture.edges.weights if w is not None) == [1.0, 2.0, 3.0]
    assert sorted(quipu.plot(graph.project(), around="a", hops=2).edges.vertices) == ["a", "b", "c"]


def test_results_of_algorithms_are_colors_and_sizes() -> None:
    graph = star(12)
    ranks = graph.pagerank()
    picture = quipu.plot(graph, colors=ranks, sizes=ranks)
    assert [kind.rpartition(" ")[2] for kind, _ in picture.colors.legend] == ["(12)", "(1)"]
    assert max(picture.radii) == 18.0


def test_pictures_of_nothing_and_of_one_vertex() -> None:
    assert quipu.plot([]).edges.vertices == []
    loop = quipu.plot([("a", "a")])
    assert loop.edges.pairs == [(0, 0)]
    for picture in (quipu.plot([]), loop):
        ElementTree.fromstring(picture.to_svg())


def test_too_many_vertices_are_refused_with_a_way_out() -> None:
    graph = star(50)
    with pytest.raises(quipu.LimitError, match=r"(?s)51 vertices is too large.*hint: .*around="):
        quipu.plot(graph, vertices_max=50)
    with pytest.raises(quipu.LimitError, match="51 or more"):
        quipu.plot(graph, around=3, hops=2, vertices_max=50)
    with pytest.raises(quipu.LimitError, match="4 or more"):
        quipu.plot([(1, 2), (3, 4)], vertices_max=2)
    assert len(quipu.plot(graph, around=3, vertices_max=50).edges.vertices) == 2


@pytest.mark.parametrize(
    ("edges", "arguments", "message"),
    [
        ([(1, 2)], {"around": 7}, "no edge has the vertex 7"),
        ([(1,)], {}, "an edge is a pair or a triple"),
        ([(1, 2)], {"hops": -1}, "hops= is a number from 0"),
        ([(1, 2)], {"sizes": {1: -1.0}}, "the size of vertex 1 is a number of at least 0"),
        ([(1, 2)], {"sizes": {1: "big"}}, "the size of vertex 1"),
        ([(1, 2)], {"sizes": {1: float("nan")}}, "the size of vertex 1"),
    ],
)
def test_bad_input_is_named(edges: list[tuple[int, ...]], arguments: dict[str, object], message: str) -> None:
    with pytest.raises(quipu.InvalidInputError, match=re.escape(message)):
        quipu.plot(edges, **arguments)  # pyright: ignore[reportArgumentType]


def test_an_unknown_vertex_of_a_graph_is_named() -> None:
    with pytest.raises(quipu.InvalidInputError, match="'star' has no vertex 99"):
        quipu.plot(star(3), around=99)


def test_names_are_text_in_the_page() -> None:
    evil = '</script><script>alert("x")</script>&'
    picture = quipu.plot([("a<b", evil)], labels={"a<b": evil + "2"}, title="<i>")
    page = picture.to_html()
    assert "<script>alert" not in page
    assert "<title>&lt;i&gt;</title>" in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data is not None
    assert json.loads(data[1])["labels"] == [evil + "2", evil]
    texts = [element.text for element in ElementTree.fromstring(picture.to_svg()).iter(SVG + "text")]
    assert texts == [evil + "2", evil]
    # Nothing is fetched: the page works offline.
    assert not re.search(r"(?:src|href)\s*=|url\(|import ", page)


def test_few_values_are_kinds_and_many_numbers_a_scale() -> None:
    pairs = [(0, i) for i in range(1, 30)]
    kinds = quipu.plot(pairs, colors={i: "odd" if i % 2 else "even" for i in range(29)})
    assert [name for name, _ in kinds.colors.legend] == ["even (15)", "odd (14)", "others (1)"]
    assert kinds.colors.of[0] != kinds.colors.of[1]
    scale = quipu.plot(pairs, colors={i: float(i) for i in range(30)})
    assert (scale.colors.of[0], scale.colors.of[29]) == ("#440154", "#fde725")
    assert [name for name, _ in scale.colors.legend] == ["0", "7.25", "14.5", "21.75", "29"]


def test_areas_follow_sizes() -> None:
    picture = quipu.plot([(1, 2), (1, 3)], sizes={1: 4, 2: 1})
    assert picture.radii == [18.0, 11.0, 4.0]


def test_the_same_seed_gives_the_same_picture() -> None:
    first, second, other = (quipu.plot(star(8), seed=seed).to_svg() for seed in (1, 1, 2))
    assert first == second
    assert first != other


def test_a_picture_is_saved_by_the_name_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = quipu.plot(star(3))
    picture.save(tmp_path / "a.html")
    picture.save(str(tmp_path / "a.SVG"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == picture.to_html()
    assert (tmp_path / "a.SVG").read_text(encoding="utf-8") == picture.to_svg()
    with pytest.raises(quipu.InvalidInputError, match=r"not '\.gif'"):
        picture.save(tmp_path / "a.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.collections", None)
    with pytest.raises(ImportError):
        picture.save(tmp_path / "a.png")


def test_matplotlib_draws_the_same_places(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    quipu.plot(star(3)).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_importing_the_package_does_not_import_numpy() -> None:
    code = (
        "import sys, quipu; assert 'plot' in dir(quipu); assert not hasattr(quipu, 'plots')\n"
        "assert 'numpy' not in sys.modules; quipu.plot([(1, 2)]); assert 'numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    shown = quipu.plot(star(2))._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html')
    assert 'sandbox="allow-scripts"' in shown
