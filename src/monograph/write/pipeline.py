"""What turns documents into rows."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.models import Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.database import Database
from monograph.vectors.index import EcoVectorIndex


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
