"""Archives that are built once a session, and random small corpora with histories of their writes."""

from __future__ import annotations

import functools
import hashlib
import pickle
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from monograph import Document, Graph, Hit, Monograph
from monograph.graph import evidence
from monograph.models import Embedder
from monograph.search import entity_graph, fusion, graph, minirag, names, words
from monograph.search.one_file.file_reader import SearchCache
from monograph.search.query import Query
from monograph.search.reader import Reader
from monograph.store.words import terms


def copy_archive(path: Path, documents: Sequence[Document], embedder: Embedder | None = None, **options: Any) -> Path:
    """Copy an archive of documents to `path`; the first call of a session with these documents and options builds it.

    Use it where a test starts with stored documents: `Monograph.open(copy_archive(tmp_path / "x.mono", DOCUMENTS))`.
    Reuse the documents of an existing test if you can: each corpus costs one build.
    """
    models = {name: getattr(value, "key", value) for name, value in options.items()}
    inputs = pickle.dumps((list(documents), embedder and embedder.key, models))
    built = Path(_session_folder().name, hashlib.sha256(inputs).hexdigest())
    if not built.exists():
        with Monograph.open(path, embedder, **options) as archive:
            archive.add(documents)
        shutil.copyfile(path, built)
        return path
    return Path(shutil.copyfile(built, path))


def clustered_archive(path: Path) -> Path:
    """Copy an archive whose vector index has two clusters to `path`. A search for 10 results needs one of them."""
    documents = [Document(f"Note {number}: the comet of {1800 + number}.", id=f"n{number}") for number in range(400)]
    return copy_archive(path, documents, vector_index="graph")


@functools.cache
def _session_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when the interpreter ends."""
    return tempfile.TemporaryDirectory(prefix="monograph-corpora-")


SENTENCES = (
    "Anna Calder met John Smith in Vienna.",
    "John Smith met Anna Calder in Vienna.",
    "J. Smith gave the comet plate to Anna Calder.",
    "Green is an album by Tobias Renk.",
    "Green is a band from Vienna.",
    "Tobias Renk sold the comet plate.",
    "The comet plate Tobias Renk sold.",
    "The North Sea Treaty (NST) was signed by Peter Okafor in Genoa.",
    "The NST ended in 1963.",
    "Invoice INV-2031 was paid in Genoa.",
    "Invoice INV-2031-A was paid in Genoa.",
    "The lamp oil stood in the yard.",
    "John Paul Smith was born in Genoa.",
)
TITLES = ("", "", "", "Green", "Green (album)", "Green (band)", "Anna Calder", "Comet", "John Smith")
QUERIES = (
    "Who met Anna Calder in Vienna?",
    "Was Green the band or the album of Tobias Renk?",
    "Was INV-2031 paid?",
    'who sold "comet plate" or "lamp oil"',
    "What did John Smith give to Anna, and where was J. Smith born?",
    "Who signed the NST in Genoa?",
    "the comet plate that Tobias Renk sold",
)
DOCUMENTS = st.builds(
    lambda title, sentences: Document(" ".join(sentences), title=title),
    st.sampled_from(TITLES),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
)


@dataclass(frozen=True, slots=True)
class History:
    """Order in which documents are added to a file.

    ``batches`` has the indexes of documents. Documents in ``drafts`` are first added with another text; documents in
    ``again`` are removed and added again. ``strangers`` are other documents, added first and removed last.
    """

    batches: tuple[tuple[int, ...], ...]
    drafts: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    strangers: tuple[Document, ...] = ()
    compacted: bool = False


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Document], History]:
    """Draw documents, many of them similar, and a history of writes that adds them."""
    texts = draw(st.lists(DOCUMENTS, min_size=1, max_size=14))
    documents = [replace(one, id=f"d{place}") for place, one in enumerate(texts)]
    order = draw(st.permutations(range(len(documents))))
    cuts = sorted(draw(st.sets(st.integers(1, len(documents)), max_size=2)))
    some = st.lists(st.sampled_from(order), unique=True, max_size=5).map(tuple)
    strangers = [replace(one, id=f"s{place}") for place, one in enumerate(draw(st.lists(DOCUMENTS, max_size=3)))]
    batches = tuple(tuple(order[one:other]) for one, other in pairwise([0, *cuts, len(order)]))
    return documents, History(batches, draw(some), draw(some), tuple(strangers), draw(st.booleans()))


def add(monograph: Monograph, documents: Sequence[Document], history: History) -> None:
    """Add documents in the order of a history."""
    drafts = (replace(documents[place], text=SENTENCES[place % len(SENTENCES)]) for place in history.drafts)
    monograph.add([*history.strangers, *drafts])
    for batch in history.batches:
        monograph.add(documents[place] for place in batch)
    monograph.remove(documents[place].id for place in history.again)
    if history.compacted:
        monograph.compact()
    monograph.add(documents[place] for place in history.again)
    monograph.remove(one.id for one in history.strangers)


@dataclass(frozen=True, slots=True)
class Formulas:
    """Search with MiniRAG's formulas and low limits."""

    most: int

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(entity_graph, "ENTITIES", 3 * self.most)
            patch.setattr(entity_graph, "NEIGHBOURS", self.most)
            patch.setattr(entity_graph, "CHUNKS", self.most)
            patch.setattr(minirag, "BEAM", minirag.Beam(width=self.most, kept=self.most))
            patch.setattr(minirag, "KEY_EDGES", self.most)
            patch.setattr(minirag, "ALIKE", self.most)
            return Graph(faithful=True).search(reader, query)


@contextmanager
def bounds(most: int) -> Iterator[None]:
    """Lower the limits of searches, so that small files reach them."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (fusion, "POOL"), (graph, "POOL"), (minirag, "POOL"), (words, "CANDIDATES"), (words, "TFIDF_CANDIDATES"), (terms, "_EXTRA_RESULTS"),
            (names, "MOST_DOCUMENTS"), (evidence, "STARTS"), (evidence, "COVERED"), (graph, "COVERED"),
        ):  # fmt: skip
            patch.setattr(module, name, most)
        # Caches of earlier searches were filled with other limits.
        patch.setattr(SearchCache, "at", lambda *_: SearchCache())
        yield
