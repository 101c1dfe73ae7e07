"""Derived values of documents, computed in other processes before the writer needs them.

Values are precomputed only if the file has a graph and uses two models of the package: the static word vectors and the
pattern extractor. With any other embedder or extractor, the writer's process calls both models when it stores a batch.
Precomputed values that the memo already has are discarded.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, TypeAlias

from monograph.derive.derivation import Derivation, extraction_key, name_codes, vectors
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor
from monograph.errors import SourceError
from monograph.graph.build import DocumentPart, document_part
from monograph.read.child import PROCESSES, Call, ChildPool
from monograph.read.limits import Limits
from monograph.settings import Settings
from monograph.store.file import settings
from monograph.store.graph import extractions, names
from monograph.values import Document, Problem, arguments
from monograph.write.batch import Parcel, PreparedDocument, changed, grouped, prepare
from monograph.write.graph import NOTHING_PRECOMPUTED, Precomputed, embedded_keys
from monograph.write.pipeline import Pipeline

AT_ONCE = 130_000
"""Size of a task, in characters of text. Documents are added to a task until it has at least this many."""

MOST_CODED = 200_000
"""Largest size of the set in which a process keeps the names whose codes it has computed.

A larger set is emptied. The process may then compute the code of a name again.
"""


_Reply: TypeAlias = tuple[list[tuple[PreparedDocument, DocumentPart] | None], dict[bytes, bytes]]
"""List with (prepared document without text, part of the graph) or None for each document; values by memo key."""

_coded: set[str] = set()
"""Names whose codes this process has computed for an earlier batch."""


@dataclass(frozen=True, slots=True)
class _BatchTask:
    """Task for a process: documents with their hashes, the file's settings, and pairs of names.

    ``cannot_link`` has the pairs of names that are never merged into one entity.
    """

    documents: tuple[tuple[Document, bytes], ...]
    settings: Settings
    cannot_link: frozenset[tuple[str, str]]
    is_warm_up: bool = False
    limits: ClassVar = Limits(max_seconds=arguments.MOST, max_memory=arguments.MOST_BYTES)

    def parts(self) -> Iterator[_Reply]:
        """Compute the reply to this task, and yield it whole, as the only part of the result."""
        yield _make(self, set() if self.is_warm_up else _coded)
        if self.is_warm_up:
            gc.freeze()  # Loaded models stay in memory, so the garbage collector need not scan them.


_WARM_UP = _BatchTask(
    ((Document("Ada Lovelace wrote to Charles Babbage."), b""),), Settings(), frozenset(), is_warm_up=True
)
"""First task of each process. It makes the process load all models and tables."""

_PendingBatch: TypeAlias = list[tuple[_BatchTask, Call[_Reply]]]
"""Tasks of one batch, each with the call that runs it in a process."""


def with_precomputed(pipeline: Pipeline, batches: Iterable[list[Parcel]]) -> Iterator[tuple[list[Parcel], Precomputed]]:
    """Yield each batch with its precomputed values. While the caller stores a batch, the next one is computed."""
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
    with _Makers() as makers:
        waiting: deque[tuple[list[Parcel], _PendingBatch]] = deque()
        for batch in batches:
            calls = makers.begin(pipeline, batch)
            waiting.append((batch, calls))
            # A batch without calls is yielded at once; any other after the calls for the next batch have begun.
            while len(waiting) > (1 if calls else 0):
                yield waiting[0][0], makers.done(waiting.popleft()[1])
        while waiting:
            yield waiting[0][0], makers.done(waiting.popleft()[1])


class _Makers(ChildPool):
    """Processes that compute the derived values of batches. They are started when the first batch is given to them."""

    def __init__(self) -> None:
        self._most = max(1, PROCESSES - 1)  # The writer itself occupies one processor.
        super().__init__(self._most)
        self._coded: set[str] = set()  # Names whose codes were computed in this process.
        self._started = False

    def begin(self, pipeline: Pipeline, batch: Sequence[Parcel]) -> _PendingBatch:
        """Give the new and changed documents of a batch to the processes; return the tasks with their calls."""
        with pipeline.database.read() as connection:
            cannot_link = frozenset(names.cannot_link(connection))
            pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
        if pairs and not self._started:
            # Until a process has loaded, the writer computes everything.
            self._started = True
            for _ in range(self._most):
                self.call(_WARM_UP)
        groups = grouped(pairs, (lambda pair: len(pair[0].text), AT_ONCE))
        tasks = [_BatchTask(tuple(group), pipeline.settings, cannot_link) for group in groups]
        return [(task, self.call(task)) for task in tasks]

    def done(self, calls: _PendingBatch) -> Precomputed:
        """Wait for the tasks of a batch, and return their values."""
        computed_here: list[_Reply] = []
        # Tasks that no process has begun are computed here, from the last one back.
        while len(computed_here) < len(calls) and calls[-1 - len(computed_here)][1].cancel():
            computed_here.append(_make(calls[-1 - len(computed_here)][0], self._coded))
        computed_there = (_reply(call) for _, call in calls[: len(calls) - len(computed_here)])
        prepared: dict[tuple[str, bytes], PreparedDocument] = {}
        values: dict[bytes, bytes] = {}
        parts: dict[tuple[str, bytes], DocumentPart] = {}
        for (task, _), (documents, derived) in zip(calls, chain(computed_there, reversed(computed_here)), strict=True):
            values.update(derived)
            # The reply of a failed process is empty: the writer computes these values and reports errors.
            for (document, sha256), result in zip(task.documents, documents, strict=False):
                if result is not None:
                    prepared[document.id, sha256] = replace(result[0], document=document)
                    parts[document.id, sha256] = result[1]
        return Precomputed(prepared, values, parts, calls[0][0].cannot_link if calls else frozenset())


def _reply(call: Call[_Reply]) -> _Reply:
    """Return the reply of a process, or an empty reply if the process failed."""
    try:
        (reply,) = call
    except (OSError, SourceError):
        return [], {}
    return reply


def _make(task: _BatchTask, coded: set[str]) -> _Reply:
    """Compute the reply to a task. Codes of the names in ``coded`` are left out, and new names are added to it."""
    embedder, extractor = StaticEmbedder(), PatternExtractor()
    cut = [
        None if isinstance(result, Problem) else result for result in prepare(task.documents, embedder, task.settings)
    ]
    texts = {key: text for prepared in cut if prepared is not None for key, text in prepared.texts.items()}
    values = _derive_values(vectors(embedder), texts)
    results: list[tuple[PreparedDocument, DocumentPart] | None] = []
    for prepared in cut:
        if prepared is None:
            results.append(None)
            continue
        chunk_texts = [chunk.text for chunk in prepared.chunks]
        extracted = list(extractor.extract(prepared.chunks))
        for extraction, text in zip(extracted, chunk_texts, strict=True):
            values[extraction_key(extractor.key, text)] = extractions.pack(extraction, text)
        without_text = replace(prepared, document=Document(id=prepared.document.id))
        results.append((without_text, document_part(prepared.document.title, chunk_texts, extracted, task.cannot_link)))
    named = sorted({key for result in results if result is not None for key in embedded_keys(result[1])} - coded)
    coded.update(named)
    if len(coded) > MOST_CODED:
        coded.clear()
    codes = name_codes(embedder)
    return results, values | _derive_values(codes, codes.keyed(named))


def _derive_values(derivation: Derivation[str], inputs: Mapping[bytes, str]) -> dict[bytes, bytes]:
    return {key: value for group in derivation.make(inputs) for key, value, _ in group}
