"""Open file: its database, vector indexes, settings and models, which readers and writers share."""

from __future__ import annotations

import copy
import functools
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from monograph.dates.span import TimeSpan
from monograph.errors import InputError, ModelError, calling_model
from monograph.spending import NOTED, count_while_iterating
from monograph.store.documents.filters import compile_condition
from monograph.store.file import settings
from monograph.store.file.database import Database
from monograph.store.file.errors import translate_system_errors
from monograph.store.vectors.clusters import SUMMARIES
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL, EcoVectorIndex
from monograph.write import configuration
from monograph.write.configuration import FileModels

if TYPE_CHECKING:
    from pathlib import Path

    from monograph.answer.ask import AnswerCache
    from monograph.explore.graph_state import GraphState
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.search.one_file.file_reader import SearchCache
    from monograph.search.one_file.scores import Scores
    from monograph.search.reader import Reader
    from monograph.settings import Settings
    from monograph.store.file.encryption import RawKey
    from monograph.values import Document, Float32, Report
    from monograph.vectors.design import Design, Kind
    from monograph.where import Condition
    from monograph.write.pipeline import Pipeline, WriteGuard

P = ParamSpec("P")
T = TypeVar("T")
Indexes: TypeAlias = tuple[EcoVectorIndex, EcoVectorIndex]
"""The vector indexes of chunks and of summaries."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options of an open file: see :meth:`monograph.Monograph.open`."""

    path: Path
    embedder: Embedder | None = None
    extractor: Extractor | None = None
    summarizer: Summarizer | None = None
    model: LanguageModel | None = None
    settings: Settings | None = None
    vector_index: Kind | None = None
    create: bool = True
    read_only: bool = False
    target_recall: float = DEFAULT_TARGET_RECALL
    cache_bytes: int = DEFAULT_CACHE_BYTES
    trusted: Trusted = ()
    key: str | RawKey | None = field(default=None, repr=False)
    reranker: Reranker | str | None = None
    describer: Describer | str | None = None
    clock: Callable[[], float] = time.time


class OpenFile:
    """An open file for reading: its present state or its state at a moment, whole or limited by a filter.

    ``copy`` and ``deepcopy`` return the same object.

    Parameters
    ----------
    database:
        Database that is read.
    indexes:
        Vector indexes of chunks and of summaries.
    settings:
        Settings that the file was built with.
    models:
        Models of the file.
    origin:
        Database of the whole file; None if ``database`` is the whole file.
    """

    view = ""
    """The name of a view or snapshot; empty for the whole file in its present state."""
    filtered_by = ""
    """The text form of the filter that limits which rows are read; empty without a filter."""

    def __init__(
        self,
        database: Database,
        indexes: Indexes,
        settings: Settings,
        models: FileModels,
        origin: Database | None = None,
    ) -> None:
        self.database = database
        self.indexes = indexes
        self.chunk_index = indexes[0]
        self.settings = settings
        self.models = models
        self.origin = origin or database
        """Database of the whole file, in which answers, scores and costs are stored."""

    @classmethod
    def open(cls, options: OpenOptions) -> Self:
        """Open a file, or create it if it is missing: see :meth:`monograph.Monograph.open`."""
        recall, cache = options.target_recall, options.cache_bytes
        EcoVectorIndex(target_recall=recall, cache_bytes=cache)  # Raises InputError before the file is opened.
        database = Database(options.path, create=options.create, read_only=options.read_only, key=options.key)
        try:
            built, design = configuration.load_settings(database, options.settings, options.vector_index)
            database.clock = options.clock if built.history else None
            models = FileModels(database, options.model, options.trusted)
            file = cls(database, _make_indexes(design, recall, cache), built, models)
            database.diagnose = file._first_fault
            configuration.flush_vectors(database, file.indexes)
            with file.spending():
                models.use_models(options.embedder, options.extractor, options.summarizer)
            models.describe_by(options.describer)
            models.given_reranker = options.reranker
            models.reranker()
        except BaseException:
            database.close()
            raise
        return file

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @cached_property
    def cache(self) -> SearchCache:
        """Cache of the rows that searches read. It belongs to one state of the file: the state of the latest search."""
        from monograph.search.one_file.file_reader import SearchCache

        return SearchCache()

    @cached_property
    def scores(self) -> Scores:
        """Scores of rerankers, which are stored in the whole file."""
        from monograph.search.one_file.scores import Scores

        return Scores(self.origin)

    @property
    def embedder(self) -> Embedder:
        """The model that computes the file's vectors. Raises ModelError if it cannot be loaded on this machine."""
        return self.models.embedder

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of queries by the file's embedder, shape (n, dimension).

        Raises ModelMismatch if another process has given the file another embedder since this file was opened.
        """
        embedder = self.models.embedder
        configuration.EMBEDDER.check(self.database, embedder)
        with calling_model(embedder.key):
            return embedder.embed(texts, "query")

    def answers(self) -> AnswerCache:
        """Return the cache of model answers, which is stored in the whole file."""
        from monograph.answer.ask import AnswerCache

        return AnswerCache(self.origin)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Yield a reader for searches. It shows one state of the file until the context ends."""
        from monograph.search.one_file.file_reader import FileReader

        with self.database.read() as connection:
            self.cache = cache = self.cache.at(settings.generation(connection))
            yield FileReader(connection, cache, *self.indexes, self, self.filtered_by)

    @contextmanager
    def reading_graph(self) -> Iterator[GraphState]:
        """Yield a reader of the graph. It shows one state of the file until the context ends."""
        from monograph.explore.graph_state import GraphState

        with self.database.read() as connection:
            yield GraphState(connection)

    def require_graph(self) -> None:
        """Raise InputError if the file has no graph."""
        with self.database.read() as connection:
            if settings.has_graph(connection):
                return
        path = self.database.path
        raise InputError(
            f"{path} has no graph: it was made with Settings(graph=False)",
            f"monograph build {path}; in Python: archive.graph.build()",
        )

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Record the model calls within the ``with`` block in the file's ledger, even if the block raises an error."""
        token = NOTED.set(self.origin.noted)
        try:
            with translate_system_errors(self.database.path):
                yield
        finally:
            NOTED.reset(token)
            self.origin.enter()

    def spending_pieces(self, pieces: Iterator[T]) -> Iterator[T]:
        """Yield the items of an iterator, and record the model calls that produce them in the file's ledger.

        The calls are also recorded if the iteration stops early.
        """
        try:
            yield from count_while_iterating(self.origin.noted, pieces)
        finally:
            self.origin.enter()

    def close(self) -> None:
        """Close the connections to the database."""
        self.database.close()

    def _first_fault(self) -> str | None:
        from monograph.write import check

        with self.database.read() as connection:
            findings = check.findings(connection, self.indexes, self.settings)
            return next((f"{finding.table}: {finding.fault}" for finding in findings), None)


class WholeFile(OpenFile):
    """A whole open file, for reading and writing. It keeps track of its views and snapshots that are in use.

    Unpickling opens the file again by its path, with the models that the caller passed when it was opened. An encrypted
    file cannot be pickled, because the pickle would contain its key.
    """

    condition = None
    second = None
    guard = None

    def __init__(self, database: Database, indexes: Indexes, settings: Settings, models: FileModels) -> None:
        super().__init__(database, indexes, settings, models)
        self.parts: weakref.WeakValueDictionary[tuple[str, str], FilePart] = weakref.WeakValueDictionary()
        """Views and snapshots that are in use, by (name of the state, text form of the filter).

        Both texts are empty if not applicable: a view of the present file has no state, a snapshot no filter."""
        self.last_snapshot: FilePart | None = None
        """The snapshot that the last search with ``as_of`` used, kept so that searches of the same moment reuse it."""

    @property
    def whole(self) -> WholeFile:
        """The whole file: this object."""
        return self

    def __reduce__(self) -> tuple[Any, tuple[OpenOptions]]:
        with self.database.read():
            pass  # Raises ClosedFile for a closed file.
        if self.database.raw_key is not None:
            raise InputError(
                f"{self.database.path} is encrypted and cannot be pickled: the pickle would contain its key",
                "pass its path instead, and open it there with the key",
            )
        models = self.models

        def unless_loaded(model: T | None) -> T | None:
            return None if any(model is loaded for loaded in models.loaded) else model

        options = OpenOptions(
            self.database.path.absolute(),
            unless_loaded(models.given_embedder),
            unless_loaded(models.given_extractor),
            unless_loaded(models.given_summarizer),
            models.language_model,
            create=False,
            read_only=self.database.read_only,
            target_recall=self.chunk_index.target_recall,
            cache_bytes=self.chunk_index.cache_bytes,
            trusted=models.trusted,
            reranker=models.given_reranker,
            describer=configuration.NOBODY if models.describer_disabled else unless_loaded(models.given_describer),
        )
        return WholeFile.open, (options,)

    def part(self, condition: Condition | None, second: int | None) -> FilePart:
        """Return a part of the file: a view, a snapshot, or a view of a snapshot.

        ``condition`` is the filter of a view; None for all documents. ``second`` is the moment of a snapshot, which
        shows the state at the end of this second, counted from 1970 in UTC; None for the present state. At most one of
        ``condition`` and ``second`` may be None.

        As long as a part is in use, the same object is returned for the same condition and the same state of the file.
        """
        self.database.connection()  # Raises ClosedFile for a closed file.
        state = ""
        if second is not None:
            from monograph.store import versions

            with self.database.read() as connection:
                state = f"{versions.last_change(connection, second)} in {settings.generation(connection)}"
        name = state, "" if condition is None else repr(condition)
        cached = self.parts.get(name)
        if cached is None or cached.database.is_closed:
            if condition is None:
                cached = self._open_snapshot(second or 0)
            else:
                from monograph.store.file import view

                base = self if second is None else self.part(None, second)
                database = view.limited(base.database, compile_condition(condition))
                # A view must not reveal rows outside of it, so the message names no row.
                database.diagnose = lambda: "some of its rows contradict each other"
                cached = FilePart(self, condition, second, database, base)
            self.parts[name] = cached
        return cached

    def _open_snapshot(self, second: int) -> FilePart:
        from monograph.store.file import view
        from monograph.write import apply
        from monograph.write.pipeline import Pipeline

        index, models = self.chunk_index, self.models
        with self.spending():
            pipeline = Pipeline(self.database, self.indexes, models.embedder, models.extractor, None, self.settings)
            if not self.database.read_only:  # A read-only file cannot store these values: each snapshot derives them.
                apply.derive_missing(pipeline, second)
            database = view.snapshot_in_memory(self.database)
            database.diagnose = self.database.diagnose
            indexes = _make_indexes(index.design, index.target_recall, index.cache_bytes)
            base = OpenFile(database, indexes, self.settings, copy.copy(models))
            snapshot = FilePart(self, None, second, database, base)
            apply.restore(replace(pipeline, database=database, indexes=base.indexes), second)
        return snapshot

    def pipeline(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> Pipeline:
        """Return a write pipeline with the given models. None means the file's own model.

        Before a write with the pipeline, its models must be stored in the file: :meth:`writing_pipeline` does that.
        """
        from monograph.write.pipeline import Pipeline

        # The next write builds a tree if a summarizer was given, so a plan must include the cost of it.
        if summarizer is None and (self.models.given_summarizer or configuration.SUMMARIZER.known(self.database)):
            summarizer = self.models.summarizer
        return Pipeline(
            self.database,
            self.indexes,
            embedder or self.models.embedder,
            extractor or self.models.extractor,
            summarizer,
            self.settings,
        )

    def writing_pipeline(self, passages: Sequence[Document] = ()) -> Pipeline:
        """Return a pipeline that is ready to write, with the file's own models.

        Before the pipeline is returned, the models are stored as those of the file, and missing parts of the graph are
        built. ``passages`` are the documents to write, if they have ready-made chunks. If all these chunks have
        vectors, a file without an embedder accepts only given vectors from then on.
        """
        from monograph.write import rebuild_graph

        self.models.adopt(passages)
        pipeline = self.pipeline()
        rebuild_graph.catch_up(pipeline)
        return pipeline

    def update_tree(self, report: Report) -> Report:
        """Update the tree of summaries after a change of the file; do nothing if there is no tree.

        ``report`` is the report of the change. It is returned with the number of summaries made, and with the problems
        of the update added.
        """
        if configuration.SUMMARIZER.known(self.database) is None:
            return report
        from monograph.write import tree
        from monograph.write.changes import Tally

        tally = Tally()
        try:
            tree.follow(self.pipeline(), tally)
        except ModelError as error:  # A model for the tree cannot be loaded here, but the change is stored.
            tally.problems.append(tree.tree_problem(self.database, error))
        return replace(report, summarized=tally.summarized, problems=(*report.problems, *tally.problems))

    def forgetting(self, work: Callable[[bool], Report], wanted: bool | None = None, *, strict: bool = False) -> Report:
        """Run a write that may remove text; then erase the removed text if ``wanted``.

        Parameters are as for :func:`monograph.write.forget.write_and_erase`. The cached ``last_snapshot`` is
        dropped first.
        """
        from monograph.write import forget

        self.last_snapshot = None
        return forget.write_and_erase(self.database, self.indexes, work, wanted, strict=strict)

    def close(self) -> None:
        """Close the file, its views and its snapshots."""
        for part in list(self.parts.values()):
            part.close()
        super().close()


class FilePart(OpenFile):
    """Part of an open file: a view, a snapshot, or a view of a snapshot. :meth:`WholeFile.part` returns it.

    It uses the file's models, and stores their results in the file. It is closed with the file, or when nothing refers
    to it any more.

    Parameters
    ----------
    whole:
        The whole file.
    condition:
        Filter of the view; None for a snapshot of the whole file.
    second:
        Moment of the snapshot, which shows the state at the end of this second, counted from 1970 in UTC. None for the
        present state.
    database:
        Database that shows only this part.
    base:
        The open file that ``condition`` filters: the whole file or a snapshot of it.
    """

    def __init__(
        self, whole: WholeFile, condition: Condition | None, second: int | None, database: Database, base: OpenFile
    ) -> None:
        super().__init__(database, base.indexes, whole.settings, base.models, whole.database)
        self.whole, self.condition, self.second, self.base = whole, condition, second, base
        self.scores = whole.scores
        self.filtered_by = "" if condition is None else repr(condition)
        self.view = self.filtered_by or f"as of {TimeSpan(second or 0, second or 0)}"
        weakref.finalize(self, database.close)

    @property
    def guard(self) -> WriteGuard | None:
        """Guard that keeps writes within the filter of the view; None if this part has no filter."""
        from monograph.write.pipeline import WriteGuard

        return None if self.condition is None else WriteGuard(self.condition, compile_condition(self.condition))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return WholeFile.part, (self.whole, self.condition, self.second)


def spends(work: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Decorate a method so that its model calls are recorded in the ledger of ``self._file``."""

    @functools.wraps(work)
    def wrapper(part: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with part._file.spending():
            return work(part, *args, **kwargs)

    return wrapper


def _make_indexes(design: Design, target_recall: float, cache_bytes: int) -> Indexes:
    return (
        EcoVectorIndex(design=design, target_recall=target_recall, cache_bytes=cache_bytes),
        EcoVectorIndex(SUMMARIES, design, target_recall=target_recall, cache_bytes=cache_bytes),
    )
