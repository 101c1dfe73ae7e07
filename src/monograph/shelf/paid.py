"""What models answered through a shelf is paid for once: the machine that asked remembers it in a file of its own."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

from monograph.answer.cache import AnswerCache
from monograph.errors import DamageWarning, FileError
from monograph.search.one_file.scores import Scores
from monograph.spending import Noted
from monograph.store import costs, replacing
from monograph.store.database import Database
from monograph.values import LedgerEntry

_FILE = "paid.mono"


class Paid:
    """Answers of language models, scores of rerankers, and the ledger of both, over all versions of a shelf.

    Each stands under a hash of all that made it, the texts included, so that it holds for every version. The file is an
    ordinary one without documents, made when there is something to remember. Safe for use by many threads.

    Parameters
    ----------
    home:
        The folder of the shelf on this machine.
    instead:
        A file that is open for reading only, in which nothing is remembered: it stands in where the folder cannot be
        written, or the file cannot be read, of which is warned.
    """

    def __init__(self, home: Path, instead: Database) -> None:
        self._path = home / _FILE
        self._instead = instead
        self._opened: Database | None = None
        self._scores: Scores | None = None
        self._lock = threading.Lock()

    @property
    def database(self) -> Database:
        """The file."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> Database:
        try:
            return Database(self._path)
        except FileError as error:
            warnings.warn(
                DamageWarning(f"what models answer is not remembered: {error}\n  next: remove {self._path}"),
                stacklevel=3,
            )
        except OSError:
            pass
        return self._instead

    @property
    def scores(self) -> Scores:
        """What rerankers scored."""
        database = self.database
        with self._lock:
            if self._scores is None:
                self._scores = Scores(database)
            return self._scores

    @property
    def answers(self) -> AnswerCache:
        """What language models answered."""
        return AnswerCache(self.database)

    def enter(self, noted: Noted) -> None:
        """Take what is noted over into the ledger; where that cannot be written just now, the next call writes it."""
        spent = noted.pending()
        if spent:
            database = self.database
            for asked, one in spent.items():
                database.noted.add(asked, one)
            noted.drop(spent)
            database.enter()

    def costs(self) -> list[LedgerEntry]:
        """What was asked, by day, model and purpose."""
        if self._opened is None and not self._path.exists():
            return []
        with self.database.read() as connection:
            return costs.every(connection)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None and self._opened is not self._instead:
                self._opened.close()
            self._opened = self._scores = None


def forget(home: Path) -> None:
    """Remove the file of a shelf's folder; programs that have it open keep what it holds until they close it."""
    replacing.drop(home / _FILE)
