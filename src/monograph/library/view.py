"""An open file as a view has it: what is read of it meets a filter, and what is written carries the filter's values."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from monograph import where as filters
from monograph.answer.cache import AnswerCache
from monograph.errors import InputError, OutsideView
from monograph.library.opened import OpenFile
from monograph.models import Embedder, Extractor, Reranker, Summarizer
from monograph.store.documents.filters import compile_condition
from monograph.store.file.database import Database
from monograph.store.file.view import ViewDatabase
from monograph.values import Document, OnProgress, Report
from monograph.where import Combination, Condition
from monograph.write.fence import Fence
from monograph.write.pipeline import Pipeline


class LeaningFile(OpenFile):
    """It has the other's models, and what they were asked is remembered there. It is closed with the other."""

    whole: OpenFile

    def lean_on(self, whole: OpenFile) -> None:
        """Take a file for the other; its own connections go with the last who has it."""
        self.whole = whole
        self.scores = whole.scores
        self.reranker = whole.reranker
        weakref.finalize(self, self.database.close)

    @property
    def summarizer(self) -> Summarizer:
        """The file's."""
        return self.whole.summarizer

    @property
    def written(self) -> Database:
        """The file's own connections."""
        return self.whole.written

    def reranker_of(self, given: Reranker | str | None) -> Reranker | None:
        """The file's, which is made once."""
        return self.whole.reranker_of(given)

    def answers(self) -> AnswerCache:
        """The file's: an answer is found by the question and all of its context."""
        return self.whole.answers()

    def close(self) -> None:
        """Nothing: it is closed with the file, or when nobody has it any more."""


class ViewFile(LeaningFile):
    """A part of an open file: that of the documents of which every chunk meets a condition.

    It shares the file's models and vector indexes, and has connections of its own through which nothing else can be
    read (see :mod:`monograph.store.file.view`). It is closed with the file.
    """

    def __init__(self, whole: OpenFile, condition: Condition) -> None:
        allowed = compile_condition(condition)
        database = ViewDatabase(whole.database, allowed)
        super().__init__(database, whole.chunk_index, whole.settings, whole.model, whole.trusted)
        self.lean_on(whole)
        self.condition = condition
        self.fence = Fence(condition, allowed)
        self.view = repr(condition)
        self.summary_index = whole.summary_index
        # Which rows contradict each other is for who may read them all.
        database.diagnose = lambda: None if whole.database.diagnose is None else "rows of it contradict each other"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return ViewFile, (self.whole, self.condition)

    @property
    def embedder(self) -> Embedder:
        """The file's."""
        return self.whole.embedder

    @property
    def extractor(self) -> Extractor:
        """The file's."""
        return self.whole.extractor

    def only_whole(self, what: str) -> NoReturn:
        """Raise OutsideView."""
        raise OutsideView(f"a view of {self.database.path} does no {what}", f"call {what} of the file itself")

    def pipeline(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> NoReturn:
        """Raise OutsideView: what is planned and priced is the whole file."""
        self.only_whole("planning")

    def writing_pipeline(self, progress: OnProgress | None = None) -> NoReturn:
        """Raise OutsideView: what is made anew is the whole file."""
        self.only_whole("rebuilding")

    def adding_pipeline(self, passages: Iterable[Document] = ()) -> Pipeline:
        """The file's, which refuses documents outside of the view."""
        return replace(self.whole.adding_pipeline(passages), check=None if self.fence is None else self.fence.check)

    def require_graph(self) -> None:
        """As the whole file."""
        self.whole.require_graph()

    def followed(self, report: Report) -> Report:
        """The whole file's tree follows."""
        return self.whole.followed(report)

    def forgetting(self, work: Callable[[bool], Report], wanted: bool | None = None, *, strict: bool = False) -> Report:
        """As the file. What was remembered is not told: that another had the same text is nobody's business."""
        report = self.whole.forgetting(work, wanted, strict=strict)
        return replace(report, embedded=0, remembered=0, extracted=0, fell_back=0, summarized=0)


def within(file: OpenFile, where: Mapping[str, Any]) -> ViewFile:
    """The part of a file, or of a view, that meets a filter.

    Raises
    ------
    InputError
        If the filter says nothing, or cannot be understood.
    """
    condition = filters.parse(where)
    if condition is None:
        raise InputError(
            "a view needs a filter",
            'say what is in it: collection=notes; in Python: archive.within({"collection": "notes"})',
        )
    whole = file
    if isinstance(file, ViewFile):
        whole, condition = file.whole, Combination("and", (file.condition, condition))
    return narrowed(whole, condition)


def narrowed(whole: OpenFile, condition: Condition) -> ViewFile:
    """The part of a file that meets a condition, made once."""
    whole.database.connection()  # A closed file says so.
    held = whole.views.get(repr(condition))
    if isinstance(held, ViewFile):
        return held
    made = ViewFile(whole, condition)
    whole.views[made.view] = made
    return made
