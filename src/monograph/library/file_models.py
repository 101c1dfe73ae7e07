"""Options and models of an open file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.store.file.database import Database
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.models import Describer, Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
    from monograph.settings import Settings
    from monograph.store.file.encryption import RawKey
    from monograph.vectors.design import Kind


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options of an open file. See :meth:`monograph.Monograph.open`."""

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


class FileModels:
    """Models of a file: those that were given, else those that it was built with, which are loaded at first use."""

    def __init__(self, database: Database, language_model: LanguageModel | None, trusted: Trusted) -> None:
        self._database = database
        self.language_model = language_model
        self.trusted = trusted
        self.given_embedder: Embedder | None = None
        self.given_extractor: Extractor | None = None
        self.given_summarizer: Summarizer | None = None
        self.given_describer: Describer | None = None
        self.given_reranker: Reranker | str | None = None
        self.describer_disabled = False
        """Whether the file is to have no describer from now on."""
        self.loaded: list[Embedder | Extractor | Summarizer | Describer] = []
        """Models that the file named itself."""
        self._rerankers: dict[str, Reranker] = {}

    def plug_in(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> None:
        """Use these models for the file from now on.

        Raises
        ------
        ModelMismatch
            If the file was built with another.
        """
        if embedder is not None:
            configuration.EMBEDDER.check(self._database, embedder)
            configuration.tell_dimension(self._database, embedder)
            self.given_embedder = embedder
        if extractor is not None:
            configuration.EXTRACTOR.check(self._database, extractor)
            self.given_extractor = extractor
        if summarizer is not None:
            configuration.SUMMARIZER.check(self._database, summarizer)
            self.given_summarizer = summarizer

    @property
    def embedder(self) -> Embedder:
        """The model that makes vectors. Raises ModelError if the file's own cannot be loaded here."""
        if self.given_embedder is None:
            self.given_embedder = configuration.EMBEDDER.made_again(self._database, self.trusted)
            configuration.tell_dimension(self._database, self.given_embedder)
            self.loaded.append(self.given_embedder)
        return self.given_embedder

    @property
    def extractor(self) -> Extractor:
        """The model that finds names in chunks. Raises as :attr:`embedder`."""
        if self.given_extractor is None:
            self.given_extractor = configuration.EXTRACTOR.made_again(self._database, self.trusted)
            self.loaded.append(self.given_extractor)
        return self.given_extractor

    @property
    def summarizer(self) -> Summarizer:
        """The model that makes summaries; in a file without a tree the one that would. Raises as :attr:`embedder`."""
        if self.given_summarizer is None:
            self.given_summarizer = configuration.SUMMARIZER.made_again(self._database, self.trusted)
            self.loaded.append(self.given_summarizer)
        return self.given_summarizer

    @property
    def describer(self) -> Describer | None:
        """The model that describes pictures in synced files; None if the file has none."""
        if self.given_describer is None and not self.describer_disabled:
            self.given_describer = configuration.describer_of(self._database, self.trusted)
            if self.given_describer is not None:
                self.loaded.append(self.given_describer)
        return self.given_describer

    def describe_by(self, given: Describer | str | None) -> None:
        """Use a describer, or the one that a text names; ``none`` gives up the file's own.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is none.
        """
        self.describer_disabled = given == configuration.NOBODY
        self.given_describer = None
        if not self.describer_disabled and given is not None and given != "":
            from monograph.derive.describe import checked_describer, load_describer

            self.given_describer = load_describer(given) if isinstance(given, str) else checked_describer(given)

    def reranker(self, given: Reranker | str | None = None) -> Reranker | None:
        """Return a reranker, or the one that a text names; the file's own for None, and none for an empty text.

        Raises
        ------
        ModelError
            If it cannot be made here.
        InputError
            If it is neither.
        """
        chosen = self.given_reranker if given is None else given
        if chosen is None or chosen == "":
            return None
        from monograph.derive.rerank import checked_reranker, load_reranker

        if not isinstance(chosen, str):
            return checked_reranker(chosen)
        if chosen not in self._rerankers:
            self._rerankers[chosen] = load_reranker(chosen)
        return self._rerankers[chosen]
