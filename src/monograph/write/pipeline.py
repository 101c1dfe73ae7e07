"""Parts that turn documents into rows: file, indexes, models and settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from monograph.models import Describer, Embedder, Extractor, Summarizer
from monograph.settings import Settings
from monograph.store.file.database import Database
from monograph.vectors.index import EcoVectorIndex
from monograph.write.guard import WriteGuard


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Parts that turn documents into rows: the file, its vector indexes, the models and the settings.

    ``summaries`` is the index of the summaries' vectors; ``summarizer`` is None in a file without a tree;
    ``describer`` where pictures are not described. ``forgets`` says whether what is taken out or replaced is to leave
    no trace, so that no former version is kept of it. ``guard`` limits writes to a view.
    """

    database: Database
    index: EcoVectorIndex
    summaries: EcoVectorIndex
    embedder: Embedder
    extractor: Extractor
    summarizer: Summarizer | None
    settings: Settings
    describer: Describer | None = None
    forgets: bool = False
    guard: WriteGuard | None = None

    @property
    def indexes(self) -> tuple[EcoVectorIndex, EcoVectorIndex]:
        """The vector indexes of chunks and of summaries."""
        return self.index, self.summaries

    def forgetting(self, forgets: bool) -> Pipeline:
        """Return a pipeline that forgets what it removes or replaces, or one that does not."""
        return replace(self, forgets=forgets)
