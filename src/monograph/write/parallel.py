"""Derived values of documents, computed in other processes before the writer needs them.

Only the static word vectors and the pattern extractor of the package run in other processes. Other models are called in
this process, and are responsible for their own speed. Precomputed values that the memo already has are discarded.
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
"""Number of characters at which a request to a process is full."""

MOST_CODED = 200_000
"""Largest number of names that a process keeps in its set of names whose codes were sent; then the set is emptied."""


@dataclass(frozen=True, slots=True)
class _BatchRequest:
    """Request to a process: documents with their hashes, the file's settings, and pairs of names to keep apart."""

    documents: tuple[tuple[Document, bytes], ...]
    settings: Settings
    cannot_link: frozenset[tuple[str, str]]


_FIRST = _BatchRequest(((Document("Ada Lovelace wrote to Charles Babbage."), b""),), Settings(), frozenset())
"""Request that each process computes at its start, so that it loads all models and tables."""

_Made: TypeAlias = tuple[list[tuple[Prepared, DocumentPart] | None], dict[bytes, bytes]]
"""Reply of a process: for each document its prepared form, without the document's text, and its part of the graph, or
None if it cannot be stored; and derived values by memo key."""

_Begun: TypeAlias = list[tuple[_BatchRequest, Future[bytes]]]
"""Requests of one batch, each with the future of its pickled reply."""


def with_precomputed(pipeline: Pipeline, batches: Iterable[list[Parcel]]) -> Iterator[tuple[list[Parcel], Precomputed]]:
    """Yield each batch with its precomputed values; while the caller stores a batch, the next one is computed."""
    with pipeline.database.read() as connection:
        has_graph = settings.has_graph(connection)
    if (
        PROCESSES == 1
        or type(pipeline.embedder) is not StaticEmbedder
        or type(pipeline.extractor) is not PatternExtractor
        or not has_graph  # The remaining work takes the writer less time than sending it to a process.
    ):
        yield from ((batch, NOTHING_PRECOMPUTED) for batch in batches)
        return
    with closing(_Makers()) as makers:
        waiting: deque[tuple[list[Parcel], _Begun]] = deque()
        for batch in batches:
            begun = makers.begin(pipeline, batch)
            waiting.append((batch, begun))
            # A batch without requests is yielded at once; any other after the requests of the next batch are sent.
            while len(waiting) > (1 if begun else 0):
                yield waiting[0][0], makers.done(waiting.popleft()[1])
        while waiting:
            yield waiting[0][0], makers.done(waiting.popleft()[1])


class _Makers:
    """Pool of processes, each with a thread that sends it requests. They start with the first work; close the pool."""

    def __init__(self) -> None:
        self._most = max(1, PROCESSES - 1)  # The writer itself occupies one processor.
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="ahead")
        self._own = local()  # Holds the process of each thread.
        self._workers: list[ChildProcess] = []
        self._coded: set[str] = set()  # Names whose codes were computed in this process.
        self._started = False

    def close(self) -> None:
        """Kill the processes and end their threads."""
        for worker in self._workers:
            worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.end()

    def begin(self, pipeline: Pipeline, batch: Sequence[Parcel]) -> _Begun:
        """Send the new and changed documents of a batch to the processes, and return the requests."""
        with pipeline.database.read() as connection:
            cannot_link = frozenset(names.cannot_link(connection))
            pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
        if pairs and not self._started:
            # Each thread first starts its process. Until the process has loaded, the writer computes everything.
            self._started = True
            for _ in range(self._most):
                self._threads.submit(self._worker)  # If that fails, the thread's next request retries it.
        groups = grouped(pairs, (lambda pair: len(pair[0].text), AT_ONCE))
        asked = [_BatchRequest(tuple(group), pipeline.settings, cannot_link) for group in groups]
        return [(one, self._threads.submit(self._make, one)) for one in asked]

    def done(self, begun: _Begun) -> Precomputed:
        """Return the precomputed values of a batch; requests that no process has begun are computed here, last first.

        Documents that a process failed on are left out: the writer computes their values and reports errors.
        """
        here: list[_Made] = []
        while len(here) < len(begun) and begun[-1 - len(here)][1].cancel():
            here.append(_make(begun[-1 - len(here)][0], self._coded))
        # Replies are unpickled in this thread, because it would wait for any other thread that does so.
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
        """Return the pickled reply of this thread's process to a request; empty bytes if the process fails."""
        try:
            worker = self._worker()
            worker.asked.send(asked)
            return worker.answers.recv_bytes()
        except (EOFError, OSError):
            self._own.worker = None
            return b""

    def _worker(self) -> ChildProcess:
        """Return this thread's process, started and loaded. Raises EOFError or OSError if it cannot be started."""
        worker: ChildProcess | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = ChildProcess(MODULE)
            self._workers.append(worker)
            worker.answers.recv_bytes()
            self._own.worker = worker
        return worker


def main() -> None:
    """Answer the requests of the writer until its process ends."""
    asked, answers = parent()
    _make(_FIRST, set())
    gc.freeze()  # Loaded models stay in memory, so the garbage collector need not scan them.
    coded: set[str] = set()
    try:
        answers.send_bytes(b"ready")
        while True:
            answers.send(_make(asked.recv(), coded))
    except (EOFError, BrokenPipeError):
        return


def _make(asked: _BatchRequest, coded: set[str]) -> _Made:
    """Return the reply to a request; codes of names in ``coded`` were sent before and are left out."""
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
