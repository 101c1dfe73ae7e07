"""A shelf of many files answers as one file of the same documents does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Settings
from monograph.errors import InputError, NotFound, ShelfConflict
from monograph.library.opened import Given
from monograph.library.questions import Questions
from monograph.models import Embedder
from monograph.shelf import Shelf, catalogue
from monograph.shelf.engine import Local
from monograph.shelf.opened import OpenShelf
from monograph.store.catalogue import share
from test_order import QUERIES, BagEmbedder, Formulas, bounds, corpora, found

WAYS = ("lexical", "tfidf", "dense", "hybrid", "graph", "graph:faithful=true", "auto")
HAN = (
    "北京是中国的首都。故宫在北京。", "故宫博物院建于1925年，在北京。", "東京は日本の首都です。", "서울은 대한민국의 수도이다.",
    "서울 타워는 남산에 있다.", "บางกอกเป็นเมืองหลวงของไทย", "京都有很多寺。", "Anna Calder visited 北京 in 1925.",
)  # fmt: skip
HAN_QUERIES = ("北京", "故宫在哪里？", "京", "서울 타워", "首都", "Who visited 北京 in 1925?", "首", "เมืองหลวง")
FILTERS = (None, {"kind": "a"}, {"kind": {"in": ["a", "b"]}}, {"$title": "Green"}, {"number": {">=": 3}})


@contextmanager
def shelf_of(files: Sequence[Path], folder: Path, embedder: Embedder | None = None) -> Iterator[Questions]:
    """Files as shards, with their catalogue, asked by threads."""
    shares = []
    for path in files:
        with Monograph.open(path, embedder, read_only=True) as archive, archive._file.database.read() as connection:
            shares.append(share(connection))
            made_with = catalogue.origin(connection)
    names = folder / "catalogue.mono"
    catalogue.make(names, made_with, shares, len(files))
    held = OpenShelf.open(Given(names, embedder=embedder, read_only=True))
    held.begin(Local([Given(path) for path in files]), len(files))
    asked = Questions()
    asked._file = held
    try:
        yield asked
    finally:
        held.close()


def hits_of(asked: Questions, query: str, how: object, k: int, where: object = None) -> list[Hit]:
    hits = asked.search(query, k, how, where)  # type: ignore[arg-type]
    return [replace(hit, origins=tuple(replace(one, effort=None) for one in hit.origins)) for hit in hits]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "empty.mono"
    with Monograph.open(path, BagEmbedder(8), settings=Settings(chunk_tokens=16, chunk_overlap=0)) as archive:
        archive.add([])
    return path


@settings(max_examples=90, deadline=None, phases=(Phase.reuse,Phase.generate))
@given(
    corpus=corpora(),
    shards=st.integers(1, 4),
    query=st.sampled_from(QUERIES),
    k=st.sampled_from([1, 2, 3, 20]),
    most=st.sampled_from([1, 2, 4, 100]),
    where=st.sampled_from(FILTERS),
    data=st.data(),
)
def test_a_shelf_finds_what_one_file_finds(
    empty: Path,
    tmp_path_factory: pytest.TempPathFactory,
    corpus: tuple[list[Document], object],
    shards: int,
    query: str,
    k: int,
    most: int,
    where: dict[str, object] | None,
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
    with Monograph.open(one_path, BagEmbedder(8)) as one, shelf_of(files, folder, BagEmbedder(8)) as shelf:
        one.add(documents)
        with bounds(most):
            for how in (*WAYS, Formulas(most)):
                assert hits_of(shelf, query, how, k, where) == hits_of(one, query, how, k, where), how
        assert shelf.context(query).text == one.context(query).text
        assert shelf.ask(query).text == one.ask(query).text
