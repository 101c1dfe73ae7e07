"""Precomputed values of documents, made in other processes before the writer comes to them.

Only for the word vectors and the patterns that come with the package: what is plugged in otherwise is asked here, and
knows best how to be quick. What is made ahead and not needed, because the memo has it, costs nothing but its making.
"""

from __future__ import annotations

import gc
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from threading import local
from typing import TypeAlias

from monograph.derive.derivation import Derivation, extraction_key, name_codes, vectors
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor
from monograph.graph.build import DocumentPart, document_part
from monograph.read.child import PROCESSES, ChildProcess, parent
from monograph.settings import Settings
from monograph.store.file import settings
from monograph.store.graph import extractions, names
from monograph.values import Document, Problem
from monograph.write.batch import Parcel, Prepared, changed, grouped, prepare
from monograph.write.graph import NOTHING_PRECOMPUTED, Precomputed, embedded_keys
from monograph.write.pipeline import Pipeline

MODULE = "monograph.write.parallel"
AT_ONCE = 130_000
"""Characters after which no more documents are given to a process together."""

MOST_CODED = 200_000
"""Names of which a process remembers that it sent their codes."""


@dataclass(frozen=True, slots=True)
class _BatchRequest:
    """Documents with their hashes, how they are cut, and the names that someone set apart."""

    documents: tuple[tuple[Document, bytes], ...]
    settings: Settings
    cannot_link: frozenset[tuple[str, str]]


_FIRST = _BatchRequest(((Document("Ada Lovelace wrote to Charles Babbage."), b""),), Settings(), frozenset())
"""By making this a process loads all that it needs."""

_Made: TypeAlias = tuple[list[tuple[Prepared, DocumentPart] | None], dict[bytes, bytes]]
"""What a process sends back: for each document that can be stored, that without its texts, and its part of the graph;
and derived values by key."""

_Begun: TypeAlias = list[tuple[_BatchRequest, Future[bytes]]]
"""A batch on its way."""


def with_precomputed(pipeline: Pipeline, batches: Iterable[list[Parcel]]) -> Iterator[tuple[list[Parcel], Precomputed]]:
    """Yield every batch with what was made for it; while the caller has one, the next is made."""
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    if (
        PROCESSES == 1
        or type(pipeline.embedder) is not StaticEmbedder
        or type(pipeline.extractor) is not PatternExtractor
        or not has_graph  # What is left takes the writer less than to hand it out.
    ):
        yield from ((batch, NOTHING_PRECOMPUTED) for batch in batches)
        return
    with closing(_Makers()) as makers:
        waiting: deque[tuple[list[Parcel], _Begun]] = deque()
        for batch in batches:
            begun = makers.begin(pipeline, batch)
            waiting.append((batch, begun))
            # What is not made elsewhere need not wait, and what is waits for one batch only.
            while len(waiting) > (1 if begun else 0):
                yield waiting[0][0], makers.done(waiting.popleft()[1])
        while waiting:
            yield waiting[0][0], makers.done(waiting.popleft()[1])


class _Makers:
    """Processes, each with a thread that speaks to it. Started when there is work, to be closed at the end."""

    def __init__(self) -> None:
        self._most = max(1, PROCESSES - 1)  # The writer makes as much as one.
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="ahead")
        self._own = local()  # Each thread has a process.
        self._workers: list[ChildProcess] = []
        self._coded: set[str] = set()  # Names whose codes were made here.
        self._started = False

    def close(self) -> None:
        """End them, whatever they do."""
        for worker in self._workers:
            worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.end()

    def begin(self, pipeline: Pipeline, batch: Sequence[Parcel]) -> _Begun:
        """Have the new and changed documents of a batch made."""
        with pipeline.database.read() as connection:
            cannot_link = frozenset(names.cannot_link(connection))
            pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
        if pairs and not self._started:
            # Each thread first starts its process: until that has loaded, the writer makes everything.
            self._started = True
            for _ in range(self._most):
                self._threads.submit(self._worker)  # Where that fails it is tried again for what is to be made.
        groups = grouped(pairs, (lambda pair: len(pair[0].text), AT_ONCE))
        asked = [_BatchRequest(tuple(group), pipeline.settings, cannot_link) for group in groups]
        return [(one, self._threads.submit(self._make, one)) for one in asked]

    def done(self, begun: _Begun) -> Precomputed:
        """Wait for a batch, and make meanwhile what no process has begun, from the end.

        What a process could not make is left out: the writer makes it, and says what is wrong.
        """
        here: list[_Made] = []
        while len(here) < len(begun) and begun[-1 - len(here)][1].cancel():
            here.append(_make(begun[-1 - len(here)][0], self._coded))
        # Read by the writer: a thread that does so would stand in its way.
        sent = (one.result() for _, one in begun[: len(begun) - len(here)])
        there: Iterator[_Made] = (pickle.loads(one) if one else ([], {}) for one in sent)  # noqa: S301
        prepared: dict[tuple[str, bytes], Prepared] = {}
        values: dict[bytes, bytes] = {}
        parts: dict[tuple[str, bytes], DocumentPart] = {}
        for (asked, _), (documents, derived) in zip(begun, chain(there, reversed(here)), strict=True):
            values.update(derived)
            for (document, sha256), made in zip(asked.documents, documents, strict=False):
                if made is not None:
                    prepared[document.id, sha256] = replace(made[0], document=document)
                    parts[document.id, sha256] = made[1]
        return Precomputed(prepared, values, parts, begun[0][0].cannot_link if begun else frozenset())

    def _make(self, asked: _BatchRequest) -> bytes:
        """Have documents made by the process of this thread; empty where that fails."""
        try:
            worker = self._worker()
            worker.asked.send(asked)
            return worker.answers.recv_bytes()
        except (EOFError, OSError):
            self._own.worker = None
            return b""

    def _worker(self) -> ChildProcess:
        """The process of this thread, which has loaded what it needs; raises EOFError or OSError if there is none."""
        worker: ChildProcess | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = ChildProcess(MODULE)
            self._workers.append(worker)
            worker.answers.recv_bytes()
            self._own.worker = worker
        return worker


def main() -> None:
    """Make what the writer asks for, until it is gone."""
    asked, answers = parent()
    _make(_FIRST, set())
    gc.freeze()  # What is loaded stays: it need not be gone through for what is made of each text.
    coded: set[str] = set()
    try:
        answers.send_bytes(b"ready")
        while True:
            answers.send(_make(asked.recv(), coded))
    except (EOFError, BrokenPipeError):
        return


def _make(asked: _BatchRequest, coded: set[str]) -> _Made:
    """Make what is asked for; ``coded`` are names whose codes were sent already."""
    embedder, extractor = StaticEmbedder(), PatternExtractor()
    cut = [None if isinstance(one, Problem) else one for one in prepare(asked.documents, embedder, asked.settings)]
    texts = {key: text for one in cut if one is not None for key, text in one.texts.items()}
    values = _values(vectors(embedder), texts)
    made: list[tuple[Prepared, DocumentPart] | None] = []
    for one in cut:
        if one is None:
            made.append(None)
            continue
        chunk_texts = [chunk.text for chunk in one.chunks]
        found = list(extractor.extract(one.chunks))
        for extraction, text in zip(found, chunk_texts, strict=True):
            values[extraction_key(extractor.key, text)] = extractions.pack(extraction, text)
        bare = replace(one, document=Document(id=one.document.id))
        made.append((bare, document_part(one.document.title, chunk_texts, found, asked.cannot_link)))
    named = sorted({key for one in made if one is not None for key in embedded_keys(one[1])} - coded)
    coded.update(named)
    if len(coded) > MOST_CODED:
        coded.clear()
    codes = name_codes(embedder)
    return made, values | _values(codes, codes.keyed(named))


def _values(derivation: Derivation[str], wanted: Mapping[bytes, str]) -> dict[bytes, bytes]:
    return {key: value for group in derivation.make(wanted) for key, value, _ in group}
