"""Rows that no version writes, with checksums that are right: what reads them says that the file is damaged, or goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

from fuzz.blobs import base, seal
from monograph import Document, Monograph
from monograph.errors import DamagedFile
from monograph.store import tree
from monograph.store.documents.filters import EVERYTHING
from monograph.store.file.errors import UNDECODABLE
from monograph.store.graph import extractions
from monograph.store.vectors.vectors import allowed_bits
from monograph.vectors import cluster, kernel
from support.models import HashEmbedder
from support.paths import ROOT
from support.raw_sql import connected

Work = Callable[[Monograph], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base(tmp_path_factory.mktemp("rows"))


def changed(whole: Path, place: Path, statement: str) -> Path:
    path = place / "changed.mono"
    copyfile(whole, path)
    with closing(connected(path)) as connection:
        connection.create_function("casefold", 1, lambda one: one)
        connection.execute(statement)
        seal(connection)
    return path


def filtered(opened: Monograph) -> object:
    return opened.search("Anna", how="dense", where={"year": {">": 10}})


def removed(opened: Monograph) -> object:
    return opened.remove([f"d{at}" for at in range(10, 40)])


@pytest.mark.parametrize(
    ("statement", "work"),
    [
        ("UPDATE vectors SET memo = 2147483648 WHERE chunk = (SELECT max(chunk) FROM vectors)", filtered),
        ("DELETE FROM chunk_graphs WHERE chunk % 2", lambda opened: opened.graph.unite("Anna Calder", "Ines Okafor")),
        ("UPDATE vector_indexes SET dimension = -9223372036854775808", removed),
        ("UPDATE vector_indexes SET dimension = 70000", removed),
        ("""UPDATE settings SET value = '{"key": "x", "spec": {}}' WHERE name = 'summarizer'""", Monograph.stats),
        (
            """UPDATE settings SET value = '{"key": "x", "spec": 5, "dimension": 16}' WHERE name = 'embedder'""",
            Monograph.stats,
        ),
        (
            "UPDATE names SET name = name + 1099511627776 WHERE uses > 0 AND key LIKE '%renk%'",
            lambda opened: opened.graph.rebuild(),
        ),
    ],
)
def test_impossible_rows_are_damage(whole: Path, tmp_path: Path, statement: str, work: Work) -> None:
    path = changed(whole, tmp_path, statement)
    with (
        pytest.raises(DamagedFile, match=r"changed\.mono.* --repair"),
        Monograph.open(path, HashEmbedder(16)) as opened,
    ):
        work(opened)


@pytest.mark.parametrize(
    "gist",
    ['{"text": 5}', '{"text": "x", "quotes": [true]}', '{"text": "x", "quotes": [[0, 1, 0, 0, "1"]]}',
     '{"text": "x", "tokens": [1]}', '{"text": "\\ud800"}', "[]", "{}", "5"],
)  # fmt: skip
def test_summary_that_is_no_text_is_damage(whole: Path, tmp_path: Path, gist: str) -> None:
    with pytest.raises(UNDECODABLE):
        tree.unpack(gist.encode())
    path = changed(whole, tmp_path, f"UPDATE memo SET value = CAST('{gist}' AS BLOB) WHERE kind = 'summary'")
    with Monograph.open(path, HashEmbedder(16)) as opened, pytest.raises(DamagedFile, match="summary"):
        opened.add([Document("Anna Calder came back to Riga.", id=f"new{at}") for at in range(3)])
        opened.tree.rebuild()


@pytest.mark.parametrize(
    "stored",
    ['{"mentions": [[0, "0", 3]]}', '{"mentions": [[0, 0, 3, 7]]}', '{"mentions": [[99, 0, 3]]}', '{"mentions": 4}',
     '{"mentions": [], "relations": [["a", "b", 1, 2, ["c"]]]}', '{"mentions": [], "relations": [["a", "b", "c", "", []]]}',
     '{"mentions": [], "failure": 3}', '{"mentions": [], "tokens": "3"}', '{"mentions": [[0, 0, 36893488147419103232]]}'],
)  # fmt: skip
def test_extraction_of_wrong_types_is_damage(stored: str) -> None:
    with pytest.raises(UNDECODABLE):
        extractions.unpack(stored.encode(), "Anna met Otto.")


def test_impossible_name_numbers_are_repaired(whole: Path, tmp_path: Path) -> None:
    path = changed(whole, tmp_path, "UPDATE names SET name = name + 1099511627776 WHERE key LIKE '%renk%'")
    with Monograph.open(path, HashEmbedder(16)) as opened:
        assert "names" in {one.table for one in opened.check() if one.repairable}
        assert opened.check(repair=True) == []
        assert opened.graph.neighbourhood("Tobias Renk").centre


def test_kept_error_does_not_keep_a_snapshot_open(whole: Path, tmp_path: Path) -> None:
    path = changed(whole, tmp_path, "UPDATE chunk_graphs SET names = x'010203' WHERE chunk = 9")
    with Monograph.open(path, HashEmbedder(16)) as opened:
        with pytest.raises(DamagedFile, match="nodes that cannot be read") as kept:
            opened.graph.entities()
            opened.graph.neighbourhood("Anna Calder", 2)
        assert kept.value.__traceback__ is not None
        opened.remove(["d5"], forget=True)
        assert opened.check(repair=True) == []


def test_no_cursor_has_a_name() -> None:
    """The frames of an error that is kept would keep a named cursor, which keeps a snapshot open."""
    named = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "src" / "monograph").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "execute"
    ]
    assert named == []


def test_cluster_with_too_many_dimensions_is_damage() -> None:
    body = cluster.pack(cluster.encode(np.arange(3), np.eye(3, 16, dtype=np.float32)))
    assert cluster.unpack(body).ids.tolist() == [0, 1, 2]
    for dimension in (65_537, 2**30, 2**32 - 1):
        with pytest.raises(kernel.DamagedBytes, match="dimensions"):
            cluster.unpack(body[:12] + dimension.to_bytes(4, "little") + body[16:])


def test_allowed_bits_equal_rows_with_vectors(whole: Path) -> None:
    with Monograph.open(whole, HashEmbedder(16)) as opened, opened._file.database.read() as connection:
        bits = allowed_bits(connection, EVERYTHING)
        wanted = {row for (row,) in connection.execute("SELECT memo FROM vectors")}
        assert set(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()) == wanted
        assert len(bits) == max(wanted) // 8 + 1
