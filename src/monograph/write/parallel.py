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


_WARM_UP_REQUEST = _BatchRequest(((Document("Ada Lovelace wrote to Charles Babbage."), b""),), Settings(), frozenset())
"""Request that each process computes at its start, so that it loads all models and tables."""

_Reply: TypeAlias = tuple[list[tuple[Prepared, DocumentPart] | None], dict[bytes, bytes]]
"""Reply of a process: for each document its prepared form, without the document's text, and its part of the graph, or
None if it cannot be stored; and derived values by memo key."""

_PendingBatch: TypeAlias = list[tuple[_BatchRequest, Future[bytes]]]
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
        waiting: deque[tuple[list[Parcel], _PendingBatch]] = deque()
        for batch in batches:
            requests = makers.begin(pipeline, batch)
            waiting.append((batch, requests))
            # A batch without requests is yielded at once; any other after the requests of the next batch are sent.
            while len(waiting) > (1 if requests else 0):
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

    def begin(self, pipeline: Pipeline, batch: Sequence[Parcel]) -> _PendingBatch:
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
        requests = [_BatchRequest(tuple(group), pipeline.settings, cannot_link) for group in groups]
        return [(request, self._threads.submit(self._make, request)) for request in requests]

    def done(self, begun: _PendingBatch) -> Precomputed:
        """Return the precomputed values of a batch; requests that no process has begun are computed here, last first.

        Documents that a process failed on are left out: the writer computes their values and reports errors.
        """
        computed_here: list[_Reply] = []
        while len(computed_here) < len(begun) and begun[-1 - len(computed_here)][1].cancel():
            computed_here.append(_make(begun[-1 - len(computed_here)][0], self._coded))
        # Replies are unpickled in this thread, because it would wait for any other thread that does so.
        sent = (future.result() for _, future in begun[: len(begun) - len(computed_here)])
        computed_there: Iterator[_Reply] = (pickle.loads(reply) if reply else ([], {}) for reply in sent)  # noqa: S301
        prepared: dict[tuple[str, bytes], Prepared] = {}
        values: dict[bytes, bytes] = {}
        parts: dict[tuple[str, bytes], DocumentPart] = {}
        for (request, _), (documents, derived) in zip(
            begun, chain(computed_there, reversed(computed_here)), strict=True
        ):
            values.update(derived)
            for (document, sha256), result in zip(request.documents, documents, strict=False):
                if result is not None:
                    prepared[document.id, sha256] = replace(result[0], document=document)
                    parts[document.id, sha256] = result[1]
        return Precomputed(prepared, values, parts, begun[0][0].cannot_link if begun else frozenset())

    def _make(self, request: _BatchRequest) -> bytes:
        """Return the pickled reply of this thread's process to a request; empty bytes if the process fails."""
        try:
            worker = self._worker()
            worker.asked.send(request)
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
    requests, answers = parent()
    _make(_WARM_UP_REQUEST, set())
    gc.freeze()  # Loaded models stay in memory, so the garbage collector need not scan them.
    coded: set[str] = set()
    try:
        answers.send_bytes(b"ready")
        while True:
            answers.send(_make(requests.recv(), coded))
    except (EOFError, BrokenPipeError):
        return


def _make(request: _BatchRequest, coded: set[str]) -> _Reply:
    """Return the reply to a request; codes of names in ``coded`` were sent before and are left out."""
    embedder, extractor = StaticEmbedder(), PatternExtractor()
    cut = [
        None if isinstance(result, Problem) else result
        for result in prepare(request.documents, embedder, request.settings)
    ]
    texts = {key: text for prepared in cut if prepared is not None for key, text in prepared.texts.items()}
    values = _derive_values(vectors(embedder), texts)
    results: list[tuple[Prepared, DocumentPart] | None] = []
    for prepared in cut:
        if prepared is None:
            results.append(None)
            continue
        chunk_texts = [chunk.text for chunk in prepared.chunks]
        extracted = list(extractor.extract(prepared.chunks))
        for extraction, text in zip(extracted, chunk_texts, strict=True):
            values[extraction_key(extractor.key, text)] = extractions.pack(extraction, text)
        bare = replace(prepared, document=Document(id=prepared.document.id))
        results.append((bare, document_part(prepared.document.title, chunk_texts, extracted, request.cannot_link)))
    named = sorted({key for result in results if result is not None for key in embedded_keys(result[1])} - coded)
    coded.update(named)
    if len(coded) > MOST_CODED:
        coded.clear()
    codes = name_codes(embedder)
    return results, values | _derive_values(codes, codes.keyed(named))


def _derive_values(derivation: Derivation[str], inputs: Mapping[bytes, str]) -> dict[bytes, bytes]:
    return {key: value for group in derivation.make(inputs) for key, value, _ in group}
