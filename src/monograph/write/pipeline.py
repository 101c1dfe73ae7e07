"""What turns documents into rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from monograph.models import Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.database import Database
from monograph.store.refusals import refusals
from monograph.vectors.index import EcoVectorIndex

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What turns documents into rows: the file, its vector indexes, the models and the settings.

    ``summaries`` is the index of the summaries' vectors; ``summarizer`` is None in a file without a tree.
    """

    database: Database
    index: EcoVectorIndex
    summaries: EcoVectorIndex
    embedder: Embedder
    extractor: Extractor
    summarizer: Summarizer | None
    settings: Settings

    @property
    def indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        """The vector indexes of chunks and of summaries."""
        return self.index, self.summaries


def telling_refusals(work: Callable[Concatenate[Pipeline, P], T]) -> Callable[Concatenate[Pipeline, P], T]:
    """Work of a pipeline in which what the system refuses, room or memory, is an error of ours."""

    @functools.wraps(work)
    def told(pipeline: Pipeline, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with refusals(pipeline.database.path):
            return work(pipeline, *args, **kwargs)

    return told
