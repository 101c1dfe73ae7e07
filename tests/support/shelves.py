"""Shelves of random documents, single files of the same documents, and queries to compare them with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Settings
from monograph.library.opened import OpenOptions
from monograph.library.questions import Questions
from monograph.models import Embedder, Extractor
from monograph.shelf import catalogue
from monograph.shelf.engines import Local
from monograph.shelf.shelf import OpenShelf
from monograph.store.catalogue import load_share
from support.corpora import corpora
from support.models import BagEmbedder

WAYS = ("lexical", "tfidf", "dense", "hybrid", "graph", "graph:faithful=true", "auto")
HAN = (
    "北京是中国的首都。故宫在北京。", "故宫博物院建于1925年，在北京。", "東京は日本の首都です。", "서울은 대한민국의 수도이다.",
    "서울 타워는 남산에 있다.", "บางกอกเป็นเมืองหลวงของไทย", "京都有很多寺。", "Anna Calder visited 北京 in 1925.",
)  # fmt: skip
HAN_QUERIES = ("北京", "故宫在哪里？", "京", "서울 타워", "首都", "Who visited 北京 in 1925?", "首", "เมืองหลวง")
ENGINE_NOTES = [
    Document(f"Ada Lovelace wrote note {n} to Charles Babbage in {1800 + n}. It is about engine {n}.", id=f"note-{n}")
    for n in range(20)
]


def empty_file(folder: Path, **chosen: Any) -> Path:
    """Create an empty file with short chunks. Copying it is faster than creating another file."""
    path = folder / "empty.mono"
    settings = Settings(chunk_tokens=16, chunk_overlap=0, **chosen)
    with Monograph.open(path, BagEmbedder(8), settings=settings) as archive:
        archive.add([])
    return path


@contextmanager
def shelf_beside_file(
    folder: Path,
    documents: Sequence[Document],
    shards: Sequence[int],
    count: int = 3,
    empty: Path | None = None,
    extractor: Extractor | None = None,
) -> Iterator[tuple[Questions, Monograph]]:
    """Yield a shelf and a file of the same documents.

    ``shards`` has the shard number of each document. With ``empty``, all files start as copies of that file.
    """
    names = [*(f"{number}.mono" for number in range(count)), "one.mono"]
    for number, path in enumerate(folder / name for name in names):
        if empty is not None:
            shutil.copy(empty, path)
        with Monograph.open(path, BagEmbedder(8), extractor) as archive:
            archive.add(document for document, shard in zip(documents, shards, strict=True) if number in (shard, count))
    files = [folder / name for name in names[:-1]]
    with shelf_of(files, folder, BagEmbedder(8)) as shelf, Monograph.open(folder / "one.mono", BagEmbedder(8)) as one:
        yield shelf, one


@contextmanager
def shelf_of(files: Sequence[Path], folder: Path, embedder: Embedder | None = None) -> Iterator[Questions]:
    """Open a shelf of files, with their catalogue; threads read the shards."""
    shares = []
    for path in files:
        with Monograph.open(path, embedder, read_only=True) as archive, archive._file.database.read() as connection:
            shares.append(load_share(connection))
            origin = catalogue.origin(connection)
    names = folder / "catalogue.mono"
    catalogue.make(names, origin, shares)
    shelf = OpenShelf.open(OpenOptions(names, embedder=embedder, read_only=True))
    shelf.begin(Local([OpenOptions(path) for path in files]))
    questions = Questions()
    questions._file = shelf
    try:
        yield questions
    finally:
        shelf.close()


@contextmanager
def drawn_shelf(folder: Path, data: st.DataObject, empty: Path) -> Iterator[tuple[Questions, Monograph]]:
    """Yield a shelf and a file of the same drawn documents, with metadata for filters and in random shards."""
    drawn, _ = data.draw(corpora())
    documents = [replace(one, metadata={"kind": "abc"[place % 3], "number": place}) for place, one in enumerate(drawn)]
    count = data.draw(st.integers(1, 4))
    shards = data.draw(st.lists(st.integers(0, count - 1), min_size=len(documents), max_size=len(documents)))
    with shelf_beside_file(folder, documents, shards, count, empty) as both:
        yield both


def hits_of(archive: Questions, query: str, how: object, k: int, where: object = None) -> list[Hit]:
    """Return the hits of a query, without the ``effort`` of their origins."""
    hits = archive.search(query, k, how, where)  # type: ignore[arg-type]
    return [replace(hit, origins=tuple(replace(one, effort=None) for one in hit.origins)) for hit in hits]
