"""What a file is opened with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL

if TYPE_CHECKING:
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.settings import Settings
    from monograph.store.file.encryption import RawKey
    from monograph.vectors.design import Kind


@dataclass(frozen=True, slots=True)
class Given:
    """What a file is opened with. See :meth:`monograph.Monograph.open`."""

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
