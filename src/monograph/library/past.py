"""An open file as it stood at a moment: a copy in memory, which is searched as any file and never written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any, NoReturn, TypeAlias

from monograph.dates import span
from monograph.dates.span import Span
from monograph.errors import InputError, OutsideView
from monograph.library.opened import OpenFile
from monograph.library.view import LeaningFile, ViewFile, narrowed
from monograph.models import Embedder, Extractor, Summarizer
from monograph.store.file import settings
from monograph.store.file.past import PastDatabase
from monograph.store.history import versions
from monograph.values import Document, OnProgress, Report
from monograph.values.arguments import shown
from monograph.vectors.index import EcoVectorIndex
from monograph.write.past import bring_back, make_up_for
from monograph.write.pipeline import Pipeline

Moment: TypeAlias = str | int | float | datetime | date
"""A time as a ``where`` takes it, or as Python has it; what has no zone is taken for UTC."""


def time_of(moment: Moment, name: str = "as_of") -> Span:
    """All seconds that a moment may mean. Raises InputError if it is no time."""
    when = None
    if isinstance(moment, datetime):
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        when = span.parse(aware.astimezone(UTC).isoformat())
    elif isinstance(moment, date):
        when = span.of_day(moment)
    elif isinstance(moment, str):
        when = span.parse(moment)
    elif isinstance(moment, int | float) and not isinstance(moment, bool):
        when = span.of_number(moment)
    if when is None:
        raise InputError(
            f"{name} is {shown(moment)}, which is no time", "write 2026, 2026-03, 2026-03-01 or 2026-03-01T09:30:00Z"
        )
    return when


def require_history(file: OpenFile) -> None:
    """Raise InputError where a file keeps no former versions."""
    if not file.settings.history:
        raise InputError(
            f"{file.database.path} keeps no former versions of documents",
            "make a new file that does: monograph sync FILE FOLDER --history; in Python: Settings(history=True)",
        )


def as_of(file: OpenFile, moment: Moment) -> OpenFile:
    """A file, or a view of one, as it stood at the end of a moment.

    Raises
    ------
    InputError
        If the file keeps no former versions, or the moment is no time.
    """
    if isinstance(file, ViewFile):
        return narrowed(as_of(file.whole, moment), file.condition)
    whole = file.whole if isinstance(file, PastFile) else file
    require_history(whole)
    second = time_of(moment).last
    with whole.database.read() as connection:
        name = f"as of {versions.last_change(connection, second)} in {settings.generation(connection)}"
    held = whole.views.get(name)  # One snapshot for each state of the file, as long as it is in use.
    if isinstance(held, PastFile) and not held.database.is_closed:
        return held
    with whole.spending():
        if not whole.database.read_only:  # Else the copy makes it each time.
            make_up_for(_pipeline(whole), second)
        made = PastFile(whole, second)
    whole.views[name] = made
    return made


def searched(file: OpenFile, moment: Moment) -> OpenFile:
    """Return a file, or view, as it stood at a moment, for a search. Raises as :func:`as_of`.

    The last snapshot is kept with the file, for searches that follow and ask for the same moment.
    """
    made = as_of(file, moment)
    past = made.whole if isinstance(made, ViewFile) else made
    if isinstance(past, LeaningFile):
        past.whole.lately = past
    return made


class PastFile(LeaningFile):
    """An open file as it stood at the end of a second.

    It has the file's models, and shares what they were asked. It is closed with the file.
    """

    def __init__(self, whole: OpenFile, second: int) -> None:
        index = whole.chunk_index
        index = EcoVectorIndex(design=index.design, target_recall=index.target_recall, cache_bytes=index.cache_bytes)
        super().__init__(PastDatabase(whole.database), index, whole.settings, whole.model, whole.trusted)
        # Of the file, whose rows it has; and nothing of it leads back here, so that it goes with the last who has it.
        self.database.diagnose = lambda: None if whole.database.diagnose is None else whole.database.diagnose()
        self.lean_on(whole)
        self.second = second
        self.view = f"as of {Span(second, second)}"
        self.given_embedder, self.given_extractor = whole.embedder, whole.extractor
        bring_back(_pipeline(self), second)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return PastFile, (self.whole, self.second)

    @property
    def hidden(self) -> str:
        """Nothing: what is not to be seen is not in the copy."""
        return ""

    def only_whole(self, what: str) -> NoReturn:
        """Raise OutsideView."""
        raise OutsideView(
            f"{self.database.path} as it was at {Span(self.second, self.second)} does no {what}",
            f"call {what} of the file itself",
        )

    def pipeline(
        self, embedder: Embedder | None = None, extractor: Extractor | None = None, summarizer: Summarizer | None = None
    ) -> NoReturn:
        """Raise OutsideView: what was is not planned."""
        self.only_whole("planning")

    def writing_pipeline(self, progress: OnProgress | None = None) -> NoReturn:
        """Raise OutsideView: what was is not written."""
        self.only_whole("writing")

    def adding_pipeline(self, passages: Iterable[Document] = ()) -> NoReturn:
        """Raise OutsideView: what was is not written."""
        self.only_whole("adding")

    def followed(self, report: Report) -> NoReturn:
        """Raise OutsideView: what was is not written."""
        self.only_whole("writing")

    def forgetting(
        self, work: Callable[[bool], Report], wanted: bool | None = None, *, strict: bool = False
    ) -> NoReturn:
        """Raise OutsideView: what was is not written."""
        self.only_whole("writing")


def _pipeline(file: OpenFile) -> Pipeline:
    """What stores documents in a file, and makes no summaries."""
    return Pipeline(file.database, *file.indexes, file.embedder, file.extractor, None, file.settings)
