"""An open file that leans on another: it is a part of that, or what that was."""

from __future__ import annotations

import weakref

from monograph.answer.cache import AnswerCache
from monograph.library.opened import OpenFile
from monograph.models import Reranker, Summarizer
from monograph.store.database import Database


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
