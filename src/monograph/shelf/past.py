"""A version of a shelf as it stood at a moment: its shards as they stood, and the names of these."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from monograph.dates.span import Span
from monograph.errors import InputError, OutsideView
from monograph.library.leaning import LeaningFile
from monograph.library.past import Moment, time_of
from monograph.library.view import narrowed
from monograph.models import Embedder, Extractor
from monograph.shelf import catalogue
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.leaning import LeaningShelf, Through
from monograph.shelf.opened import OpenShelf
from monograph.shelf.view import OpenView
from monograph.store.past import MemoryDatabase
from monograph.vectors.index import EcoVectorIndex


class OpenPast(LeaningFile, LeaningShelf):
    """A version of a shelf as it stood at the end of a second.

    Each shard has a copy of its own file, brought back; the names of all are laid together here, in memory. It is
    closed with the shelf.
    """

    whole: OpenShelf
    is_past = True

    def __init__(self, whole: OpenShelf, second: int) -> None:
        self.shards = Asking(Through(whole.shards.engine, "as_of", second), whole.shards.rows)
        index = whole.chunk_index
        index = EcoVectorIndex(target_recall=index.target_recall, cache_bytes=index.cache_bytes)
        super().__init__(self._names(whole), index, whole.settings, whole.model, whole.trusted)
        self.lean_on(whole)
        self.second, self.url = second, whole.url
        self.view = f"as of {Span(second, second)}"
        self.read_before = Memory()

    def _names(self, whole: OpenShelf) -> MemoryDatabase:
        """The catalogue of the shards as they stood."""
        shares = self.shards.all("share")
        with whole.database.read() as connection:
            made_with = catalogue.origin(connection)
        with TemporaryDirectory(prefix="monograph-") as folder:
            path = Path(folder) / "catalogue.mono"
            catalogue.make(path, made_with, shares, len(shares))
            made = MemoryDatabase(path)
        made.path = whole.database.path
        return made

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return OpenPast, (self.whole, self.second)

    @property
    def hidden(self) -> str:
        """Nothing: what is not to be seen is not there."""
        return ""

    @property
    def embedder(self) -> Embedder:
        """The shelf's."""
        return self.whole.embedder

    @property
    def extractor(self) -> Extractor:
        """The shelf's."""
        return self.whole.extractor

    def only_whole(self, what: str) -> NoReturn:
        """Raise OutsideView."""
        raise OutsideView(
            f"{self.url} as it was at {Span(self.second, self.second)} does no {what}", f"call {what} of the shelf"
        )


def require_history(file: OpenShelf) -> None:
    """Raise InputError where a shelf keeps no former versions."""
    if not file.settings.history:
        raise InputError(
            f"{file.url} keeps no former versions of documents",
            "make a new shelf that does: Settings(history=True), or --history of monograph shelf create",
        )


def as_of(file: OpenShelf, moment: Moment) -> OpenShelf:
    """A version of a shelf, or a view of one, as it stood at the end of a moment.

    Raises
    ------
    InputError
        If it keeps no former versions, or the moment is no time.
    StorageFull
        If a shard takes more memory than 1 GiB.
    """
    if isinstance(file, OpenView):
        assert isinstance(file.whole, OpenShelf)  # noqa: S101 - what a view of a shelf is made of
        return narrowed(as_of(file.whole, moment), file.condition, OpenView)
    whole = file.whole if isinstance(file, OpenPast) else file
    require_history(whole)
    second = time_of(moment).last
    # All moments between two changes are one.
    last = max(whole.shards.all("last_change", second))
    held = whole.views.get(f"as of {last}")
    if isinstance(held, OpenPast) and not held.database.is_closed:
        return held
    made = OpenPast(whole, last)
    whole.views[f"as of {last}"] = made
    return made
