"""A file whose vector index is of the graph design (EcoVector), through the public class."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monograph import Monograph
from monograph.errors import DamagedFile, InputError
from monograph.vectors import kernel
from monograph.vectors.cluster import unpack
from support.corpora import copy_archive
from support.models import HashEmbedder
from support.paths import TESTS
from support.vectors import UNIT_DIMENSION, unit_clumps, vector_document

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def recall(monograph: Monograph, held: dict[str, Vectors], k: int = 10) -> float:
    """Share of the true k nearest passages that dense searches find, of 40 queries."""
    names = [f"{name.replace('d', 'p')}-{place}" for name, vectors in held.items() for place in range(len(vectors))]
    matrix = np.concatenate(list(held.values()))
    shares = []
    for query in unit_clumps(40, seed=5):
        best = {names[row] for row in np.argsort(-(matrix @ query))[:k]}
        hits = monograph.search("", k, how="dense", vector=query)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        shares.append(len(best & {hit.chunk.id for hit in hits}) / k)
    return float(np.mean(shares))


def graphs_are_whole(monograph: Monograph) -> int:
    """Check that every cluster has a graph of exactly its entries, and the centroids have one; count the clusters."""
    with monograph._file.database.read() as connection:
        ((body, graph),) = connection.execute("SELECT body, graph FROM centroids WHERE space = 1").fetchall()
        kernel.graph_check(body, graph)
        found = connection.execute(
            "SELECT part & 1, body, graph FROM parts JOIN cluster_graphs ON cluster = part / 2"
        ).fetchall()
        (parts,) = connection.execute("SELECT count(*) FROM parts").fetchone()
    assert len(found) == parts
    for recent, body, graph in found:
        assert not recent
        kernel.graph_check(body, graph)
        assert (unpack(body).ids >= 0).all()
    return len(found)


@pytest.mark.long
def test_graph_index_keeps_its_recall_through_changes(tmp_path: Path) -> None:
    path = tmp_path / "graph.mono"
    made = unit_clumps(7_000)
    held = {f"d{name}": made[50 * name : 50 * name + 50] for name in range(120)}
    with Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
        monograph.add([vector_document(int(name[1:]), vectors) for name, vectors in held.items()])
        assert graphs_are_whole(monograph) == monograph.stats().index.clusters > 10
        assert monograph.stats().index.entries == 6_000
        assert recall(monograph, held) >= 0.93
        for name in range(120, 140):  # Algorithm 1, in later transactions.
            held[f"d{name}"] = made[50 * name : 50 * name + 50]
            monograph.add([vector_document(name, held[f"d{name}"])])
        graphs_are_whole(monograph)
        assert recall(monograph, held) >= 0.93
        monograph.remove([f"d{name}" for name in range(0, 60, 2)])  # Algorithm 2.
        for name in range(0, 60, 2):
            del held[f"d{name}"]
        held["d61"] = unit_clumps(50, seed=8)
        monograph.add([vector_document(61, held["d61"])])  # Replaced.
        graphs_are_whole(monograph)
        assert monograph.stats().index.dead == 0
        before = recall(monograph, held)
        assert before >= 0.93
        assert monograph.check() == []
    with Monograph.open(path, HashEmbedder(UNIT_DIMENSION)) as monograph:
        assert recall(monograph, held) == before
        hit = monograph.search("", 1, how="dense", vector=held["d61"][3])[0]
        assert hit.chunk.id == "p61-3"
        assert hit.origins[0].effort is not None
        assert 0 < hit.origins[0].effort.loads < monograph.stats().index.clusters
        monograph.compact()
        assert graphs_are_whole(monograph) == monograph.stats().index.clusters
        assert recall(monograph, held) == before


def test_graph_index_finds_few_vectors_and_none(tmp_path: Path) -> None:
    made = unit_clumps(30)
    with Monograph.open(tmp_path / "few.mono", HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
        monograph.add([vector_document(0, made[:1])])
        assert [hit.chunk.id for hit in monograph.search("", 5, how="dense", vector=made[7])] == ["p0-0"]
        monograph.add([vector_document(1, made)])
        assert recall(monograph, {"d0": made[:1], "d1": made}) == 1
        monograph.remove(["d0", "d1"])
        assert monograph.search("", 5, how="dense", vector=made[7]) == []
        assert monograph.check() == []
        monograph.add([vector_document(2, made)])
        assert recall(monograph, {"d2": made}) == 1
        assert graphs_are_whole(monograph) == 1


def test_filters_find_what_they_allow(tmp_path: Path) -> None:
    made = unit_clumps(3_000)
    with Monograph.open(tmp_path / "filtered.mono", HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
        monograph.add([vector_document(name, made[100 * name : 100 * name + 100]) for name in range(30)])
        # Clusters are compared as a whole, then all vectors that are allowed.
        for some, where in ((range(1, 30, 2), {"odd": 1}), (range(3), {"name": {"<": 3}})):
            wanted = {f"d{name}": made[100 * name : 100 * name + 100] for name in some}
            names = [f"p{name[1:]}-{place}" for name in wanted for place in range(100)]
            matrix = np.concatenate(list(wanted.values()))
            for query in unit_clumps(10, seed=5):
                hits = monograph.search("", 10, how="dense", vector=query, where=where)
                assert [hit.chunk.id for hit in hits] == [names[row] for row in np.argsort(-(matrix @ query))[:10]]


def test_index_design_of_a_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "v.mono"
    with Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="graph"):
        pass
    with pytest.raises(
        InputError, match=r"is 'graph', not 'codes' \(open it without vector_index, or make a new file\)"
    ):
        Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="codes")
    with Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
        monograph.add([vector_document(0, unit_clumps(20))])
        assert graphs_are_whole(monograph) == 1
    with pytest.raises(InputError, match=r"vector_index is 'tree' \(give one of codes, graph\)"):
        Monograph.open(tmp_path / "other.mono", HashEmbedder(UNIT_DIMENSION), vector_index="tree")  # type: ignore[arg-type]
    with Monograph.open(tmp_path / "usual.mono", HashEmbedder(UNIT_DIMENSION)) as monograph:
        monograph.add([vector_document(0, unit_clumps(20))])
        assert monograph.stats().index.clusters == 0
        with pytest.raises(InputError, match="is 'codes', not 'graph'"):
            Monograph.open(tmp_path / "usual.mono", HashEmbedder(UNIT_DIMENSION), vector_index="graph")


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE cluster_graphs SET graph = substr(graph, 1, length(graph) - 4) || x'01020304'",
        "UPDATE parts SET body = substr(body, 1, length(body) - 4) || x'01020304'",
        "DELETE FROM cluster_graphs",
        "UPDATE centroids SET graph = NULL",
    ],
)
def test_damaged_graph_indexes_are_repaired(tmp_path: Path, damage: str) -> None:
    made = unit_clumps(1_000)
    held = {f"d{name}": made[100 * name : 100 * name + 100] for name in range(10)}
    documents = [vector_document(int(name[1:]), vectors) for name, vectors in held.items()]
    path = copy_archive(tmp_path / "v.mono", documents, HashEmbedder(UNIT_DIMENSION), vector_index="graph")
    with (
        Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph,
        monograph._file.database.write() as connection,
    ):
        connection.execute(damage)
    with Monograph.open(path, HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
        if "centroids" not in damage:
            with pytest.raises(DamagedFile, match="monograph check .* --repair"):
                for query in made[:200:10]:
                    monograph.search("", 10, how="dense", vector=query)
        assert [one.table for one in monograph.check()] != []
        monograph.check(repair=True)
        assert monograph.check() == []
        assert recall(monograph, held) >= 0.93
        graphs_are_whole(monograph)


WRITER = """
import signal, sys
from support.models import HashEmbedder
from support.vectors import UNIT_DIMENSION, unit_clumps, vector_document
from monograph import Monograph
made = unit_clumps(20_000, seed=1)
with Monograph.open(sys.argv[1], HashEmbedder(UNIT_DIMENSION), vector_index="graph") as monograph:
    for name in range(1, 400):
        monograph.add([vector_document(name, made[50 * name : 50 * name + 50])])
        if name % 3 == 0:
            monograph.remove([f"d{name - 1}"])
        if name == int(sys.argv[2]):
            signal.setitimer(signal.ITIMER_PROF, float(sys.argv[3]))
"""
"""It is killed so many seconds of CPU after a step."""


@pytest.mark.long
def test_a_killed_writer_leaves_a_whole_index(tmp_path: Path) -> None:
    path = tmp_path / "killed.mono"
    for step in (3, 7, 12):
        writer = subprocess.run(
            [sys.executable, "-c", WRITER, str(path), str(step), str(0.01 * step)],
            cwd=TESTS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
        assert writer.returncode == -signal.SIGPROF
        with Monograph.open(path, HashEmbedder(UNIT_DIMENSION)) as monograph:
            assert monograph.check() == []
            graphs_are_whole(monograph)
            chunk = monograph.fetch()[0].chunk
            assert chunk.id.startswith("p")
