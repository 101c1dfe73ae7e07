"""The tree over a shelf is the tree of one file of the same documents, and is searched as that is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, Settings
from monograph.library.opened import Given
from monograph.library.questions import Questions
from monograph.models import Embedder, Summarizer
from monograph.shelf import catalogue
from monograph.shelf.asking import Asking
from monograph.shelf.engine import Local
from monograph.shelf.opened import OpenShelf
from monograph.shelf.rows import Rows
from monograph.shelf.tree import grow
from monograph.store import tree as store
from monograph.store.catalogue import share
from monograph.store.database import Connection
from test_order import QUERIES, BagEmbedder, corpora
from test_shelf import FILTERS, hits_of
from test_tree import Counting

WAYS = ("tree", "tree:detail=0", "tree:detail=0.5", "tree:budget=40")


@contextmanager
def shelf_of(
    files: Sequence[Path], folder: Path, embedder: Embedder, summarizer: Summarizer | None
) -> Iterator[Questions]:
    """Files as shards, with their catalogue and a tree in it, asked by threads."""
    shares = []
    for path in files:
        with Monograph.open(path, embedder, read_only=True) as archive, archive._file.database.read() as connection:
            shares.append(share(connection))
            made_with = catalogue.origin(connection)
    names = folder / "catalogue.mono"
    catalogue.make(names, made_with, shares, len(files))
    engine = Local([Given(path) for path in files])
    models = Given(names, embedder=embedder, summarizer=summarizer)
    grow.follow(names, Asking(engine, Rows(len(files))), models, None)
    held = OpenShelf.open(Given(names, embedder=embedder, read_only=True))
    held.begin(engine, len(files), folder / "home")
    asked = Questions()
    asked._file = held
    try:
        yield asked
    finally:
        held.close()


def nodes_of(connection: Connection) -> list[tuple[object, ...]]:
    """All of a tree but row numbers: layers, ranks, keys and parents' keys."""
    rows = store.load(connection, store.above(connection, -1))
    return sorted(
        (row.layer, row.rank, row.key, rows[row.parent].key if row.parent is not None else b"") for row in rows.values()
    )


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "empty.mono"
    chosen = Settings(chunk_tokens=16, chunk_overlap=0, segment_least=2, segment_most=4)
    with Monograph.open(path, BagEmbedder(8), settings=chosen) as archive:
        archive.add([])
    return path


@settings(max_examples=10, deadline=None)
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 3, 20]),
    where=st.sampled_from(FILTERS),
    quoting=st.booleans(),
    data=st.data(),
)
def test_a_shelf_has_the_tree_of_one_file(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    query: str,
    k: int,
    where: dict[str, object] | None,
    quoting: bool,
    data: st.DataObject,
) -> None:
    documents = [
        replace(one, metadata={"kind": "abc"[place % 3], "number": place}) for place, one in enumerate(corpus[0])
    ]
    dealt = data.draw(st.lists(st.integers(0, shards - 1), min_size=len(documents), max_size=len(documents)))
    folder = tmp_path_factory.mktemp("shelf")
    files = [Path(shutil.copy(empty, folder / f"{number}.mono")) for number in range(shards)]
    for number, path in enumerate(files):
        with Monograph.open(path, BagEmbedder(8)) as archive:
            archive.add(one for one, shard in zip(documents, dealt, strict=True) if shard == number)
    one_path = shutil.copy(empty, folder / "one.mono")
    summarizer = None if quoting else Counting()
    with Monograph.open(one_path, BagEmbedder(8)) as one:
        one.add(documents)
        one.tree.rebuild(summarizer)
        chosen = one.tree.summarizer
        with shelf_of(files, folder, BagEmbedder(8), chosen) as shelf:
            with one._file.database.read() as mine, shelf._file.database.read() as held:
                assert nodes_of(held) == nodes_of(mine)
                assert store.planes(held) == store.planes(mine)
            for how in WAYS:
                assert hits_of(shelf, query, how, k, where) == hits_of(one, query, how, k, where), how
