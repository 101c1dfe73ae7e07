"""An open file with what is plugged in: what Monograph and its parts work on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from monograph.errors import InputError, ModelError
from monograph.library.given import Given
from monograph.spending import Noted, noting
from monograph.store.file import settings
from monograph.store.file.database import Database
from monograph.store.vectors.clusters import SUMMARIES
from monograph.vectors.index import EcoVectorIndex
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.answer.cache import AnswerCache
    from monograph.explore.surroundings import Surroundings
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.search.one_file.memory import Memory
    from monograph.search.one_file.scores import Scores
    from monograph.search.snapshot import Snapshot
    from monograph.settings import Settings
    from monograph.values import Document, OnProgress, Report
    from monograph.write.fence import Fence
    from monograph.write.pipeline import Pipeline


class OpenFile:
    """A file, its vector indexes, its settings, and the models that were given or that it was built with.

    A model that was not given is made when it is first wanted, the one that the file was built with. A copy is the same
    open file; one that is pickled is opened anew by its path, with the models that it was given. A key is in no pickle:
    an encrypted file is not pickled.
    """

    def __init__(
        self,
        database: Database,
        index: EcoVectorIndex,
        settings: Settings,
        model: LanguageModel | None = None,
        trusted: Trusted = (),
    ) -> None:
        self.database = database
        self.chunk_index = index
        self.summary_index = EcoVectorIndex(
            SUMMARIES, index.design, target_recall=index.target_recall, cache_bytes=index.cache_bytes
        )
        self.settings = settings
        self.model = model
        self.trusted = trusted
        self.given_embedder: Embedder | None = None
        self.given_extractor: Extractor | None = None
        self.given_summarizer: Summarizer | None = None
        self.given_describer: Describer | None = None
        self.undescribed = False
        """Whether the file is to have no describer from now on."""
        self._made: list[Embedder | Extractor | Summarizer | Describer] = []
        self.view = ""
        """What the view is called whose part of a file this is; empty for the whole file."""
        self.fence: Fence | None = None
        """What of a view keeps others' documents from being written over."""
        self.views: weakref.WeakValueDictionary[str, OpenFile] = weakref.WeakValueDictionary()
        """The parts of it that are in use, by what their views are called."""
        self.lately: OpenFile | None = None
        """What it was at the moment that a filter asked for last."""
        self.given_reranker: Reranker | str | None = None
        self.reranker: Reranker | None = None
        self._rerankers: dict[str, Reranker] = {}
        database.diagnose = self._diagnosis

    @classmethod
    def open(cls, given: Given) -> Self:
        """Open a file, or make it; raises as :meth:`monograph.Monograph.open`."""
        EcoVectorIndex(target_recall=given.target_recall, cache_bytes=given.cache_bytes)  # Refuses bad numbers.
        database = Database(given.path, create=given.create, read_only=given.read_only, key=given.key)
        try:
            built = configuration.settle(database, given.settings, given.vector_index)
            design = configuration.vector_design(database, given.vector_index)
            index = EcoVectorIndex(design=design, target_recall=given.target_recall, cache_bytes=given.cache_bytes)
            database.clock = given.clock if built.history else None
            file = cls(database, index, built, given.model, given.trusted)
        except BaseException:
            database.close()
            raise
        try:
            configuration.catch_up(database, file.indexes)
            with file.spending():
                file.plug_in(given.embedder, given.extractor, given.summarizer)
            file.describe_by(given.describer)
            file.given_reranker = given.reranker
            file.reranker = file.reranker_of(given.reranker)
        except BaseException:
            file.close()
            raise
        return file

    def __copy__(self) -> OpenFile:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenFile:
        return self

    def __reduce__(self) -> tuple[Any, tuple[Given]]:
        with self.database.read():
            pass  # A closed file says so.
        if self.database.raw_key is not None:
            raise InputError(
                f"{self.database.path} is encrypted and cannot be pickled: its key would go with it",
                "hand over its path, and open it with the key where it is wanted",
            )
        made = {id(one) for one in self._made}
        describer = None if id(self.given_describer) in made else self.given_describer
        given = Given(
            self.database.path.absolute(),
            None if id(self.given_embedder) in made else self.given_embedder,
            None if id(self.given_extractor) in made else self.given_extractor,
            None if id(self.given_summarizer) in made else self.given_summarizer,
            self.model,
            create=False,
            read_only=self.database.read_only,
            target_recall=self.chunk_index.target_recall,
            cache_bytes=self.chunk_index.cache_bytes,
            trusted=self.trusted,
            reranker=self.given_reranker,
            describer=configuration.NOBODY if self.undescribed else describer,
        )
        return OpenFile.open, (given,)

    def plug_in(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> None:
        """Take these models for the file from now on.

        Raises
        ------
        ModelMismatch
            If the file was built with another.
        """
        if embedder is not None:
            configuration.EMBEDDER.check(self.database, embedder)
            configuration.tell_dimension(self.database, embedder)
            self.given_embedder = embedder
        if extractor is not None:
            configuration.EXTRACTOR.check(self.database, extractor)
            self.given_extractor = extractor
        if summarizer is not None:
            configuration.SUMMARIZER.check(self.database, summarizer)
            self.given_summarizer = summarizer

    def reranker_of(self, given: Reranker | str | None) -> Reranker | None:
        """A reranker, or the one that a text names, which is made once; None for none and for an empty text.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is neither.
        """
        if given is None or given == "":
            return None
        from monograph.derive.rerank import checked_reranker, load_reranker

        if not isinstance(given, str):
            return checked_reranker(given)
        if given not in self._rerankers:
            self._rerankers[given] = load_reranker(given)
        return self._rerankers[given]

    @cached_property
    def memory(self) -> Memory:
        """What searches have read of the file."""
        from monograph.search.one_file.memory import Memory

        return Memory()

    @cached_property
    def scores(self) -> Scores:
        """What rerankers scored."""
        from monograph.search.one_file.scores import Scores

        return Scores(self.database)

    def _diagnosis(self) -> str | None:
        from monograph.library import faults

        return faults.diagnosis(self.database, self.indexes, self.settings)

    @property
    def indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        """The vector indexes of chunks and of summaries."""
        return self.chunk_index, self.summary_index

    @property
    def embedder(self) -> Embedder:
        """See :attr:`monograph.Monograph.embedder`."""
        if self.given_embedder is None:
            self.given_embedder = configuration.EMBEDDER.made_again(self.database, self.trusted)
            configuration.tell_dimension(self.database, self.given_embedder)
            self._made.append(self.given_embedder)
        return self.given_embedder

    @property
    def extractor(self) -> Extractor:
        """See :attr:`monograph.Monograph.extractor`."""
        if self.given_extractor is None:
            self.given_extractor = configuration.EXTRACTOR.made_again(self.database, self.trusted)
            self._made.append(self.given_extractor)
        return self.given_extractor

    @property
    def summarizer(self) -> Summarizer:
        """See :attr:`monograph.Monograph.summarizer`."""
        if self.given_summarizer is None:
            self.given_summarizer = configuration.SUMMARIZER.made_again(self.database, self.trusted)
            self._made.append(self.given_summarizer)
        return self.given_summarizer

    @property
    def describer(self) -> Describer | None:
        """What describes pictures in files that are synced; None where nothing does."""
        if self.given_describer is None and not self.undescribed:
            self.given_describer = configuration.describer_of(self.database, self.trusted)
            if self.given_describer is not None:
                self._made.append(self.given_describer)
        return self.given_describer

    def describe_by(self, given: Describer | str | None) -> None:
        """Take a describer, or the one that a text names; ``none`` gives the file's own up.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is none.
        """
        self.undescribed = given == configuration.NOBODY
        self.given_describer = None
        if not self.undescribed and given is not None and given != "":
            from monograph.derive.describe import checked_describer, load_describer

            self.given_describer = load_describer(given) if isinstance(given, str) else checked_describer(given)

    def pipeline(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> Pipeline:
        """What plans and prices, and what writes once the models are adopted; those of the file in place of None."""
        from monograph.write.pipeline import Pipeline

        # One that was given makes a tree with the next write: a plan is to say what that takes.
        if summarizer is None and (self.given_summarizer or configuration.SUMMARIZER.known(self.database)):
            summarizer = self.summarizer
        return Pipeline(
            self.database,
            *self.indexes,
            embedder or self.embedder,
            extractor or self.extractor,
            summarizer,
            self.settings,
        )

    def describing(self, pipeline: Pipeline, *, adopt: bool = False) -> Pipeline:
        """A pipeline that describes pictures, where the file has a describer, which it may ``adopt`` first."""
        if adopt and (self.undescribed or self.given_describer is not None):
            configuration.adopt_describer(self.database, self.given_describer)
        return replace(pipeline, describer=self.describer)

    def writing_pipeline(self, progress: OnProgress | None = None) -> Pipeline:
        """A pipeline whose embedder and extractor the file knows, and whose graph lacks nothing."""
        from monograph.write import rebuild_graph

        configuration.adopt_embedder(self.database, self.embedder)
        if self.given_summarizer is not None:
            configuration.adopt_summarizer(self.database, self.given_summarizer)
        pipeline = self.pipeline()
        configuration.EXTRACTOR.check(self.database, self.extractor)
        rebuild_graph.catch_up(pipeline, progress)
        return pipeline

    def reading(self) -> AbstractContextManager[Snapshot]:
        """Begin to read a state of it as a search sees it, until the context ends."""
        from monograph.search.one_file import snapshot

        return snapshot.reader(self.database, self.memory, *self.indexes, view=self.hidden)()

    @contextmanager
    def around(self) -> Iterator[Surroundings]:
        """Begin to look round in a state of its graph, until the context ends."""
        from monograph.explore.one_file import OneFile

        with self.database.read() as connection:
            yield OneFile(connection)

    @property
    def hidden(self) -> str:
        """What a search calls the view that hides something of what it reads in; empty where nothing is hidden."""
        return self.view

    @property
    def written(self) -> Database:
        """Where what changes is written."""
        return self.database

    @property
    def noted(self) -> Noted:
        """What models were asked, and the ledger lacks as yet."""
        return self.written.noted

    def enter(self) -> None:
        """Enter in the ledger what models were asked, where that can be done just now."""
        self.written.enter()

    def adding_pipeline(self, passages: Iterable[Document] = ()) -> Pipeline:
        """What stores documents. A file that holds none yet may take the vectors of passages for those of a model."""
        listed = list(passages)
        if listed and self.given_embedder is None:
            self.given_embedder = configuration.outside_embedder(self.database, listed)
        return self.writing_pipeline()

    def answers(self) -> AnswerCache:
        """What models answered before."""
        from monograph.answer.cache import AnswerCache

        return AnswerCache(self.database)

    def only_whole(self, what: str) -> None:
        """Raise OutsideView where this is a view, which does not do such things."""

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
        """Enter in the file's ledger what models are asked meanwhile, also where it fails."""
        try:
            with noting(self.noted):
                yield
        finally:
            self.enter()

    def followed(self, report: Report) -> Report:
        """A report of a change that the tree has followed, where the file has one and that could be done."""
        if configuration.SUMMARIZER.known(self.database) is None:
            return report
        from monograph.write import tree

        try:
            pipeline = self.pipeline()
        except ModelError as error:  # What makes the tree cannot be made here, and the change is stored.
            return replace(report, problems=(*report.problems, tree.lagging(self.database, error)))
        made, problems = tree.follow(pipeline)
        return replace(report, summarized=made, problems=(*report.problems, *problems))

    def forgetting(self, work: Callable[[bool], Report], wanted: bool | None = None, *, strict: bool = False) -> Report:
        """Do what may take text out, and leave no trace where that is wanted: see :mod:`monograph.write.forget`."""
        from monograph.write import forget

        self.lately = None
        return forget.carried_out(self.database, self.indexes, work, wanted, strict=strict)

    def close(self) -> None:
        """Close the file, and the views of it."""
        for one in list(self.views.values()):
            one.database.close()
        self.database.close()
