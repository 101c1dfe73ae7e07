"""Documents dealt out over files by chance: what tests of shelves hold against one file of them all."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from monograph import Document, Monograph, Settings
from test_order import BagEmbedder


def empty_file(folder: Path, **chosen: int) -> Path:
    """A file without documents, of short chunks: to copy it is faster than to make another."""
    path = folder / "empty.mono"
    settings = Settings(chunk_tokens=16, chunk_overlap=0, **chosen)
    with Monograph.open(path, BagEmbedder(8), settings=settings) as archive:
        archive.add([])
    return path


def marked(documents: Sequence[Document]) -> list[Document]:
    """Documents with metadata that filters can tell apart."""
    return [replace(one, metadata={"kind": "abc"[place % 3], "number": place}) for place, one in enumerate(documents)]


def dealt_files(
    empty: Path, folder: Path, documents: Sequence[Document], shards: int, data: st.DataObject
) -> list[Path]:
    """So many files, copies of an empty one, with each document in one of them."""
    dealt = data.draw(st.lists(st.integers(0, shards - 1), min_size=len(documents), max_size=len(documents)))
    files = [Path(shutil.copy(empty, folder / f"{number}.mono")) for number in range(shards)]
    for number, path in enumerate(files):
        with Monograph.open(path, BagEmbedder(8)) as archive:
            archive.add(one for one, shard in zip(documents, dealt, strict=True) if shard == number)
    return files
