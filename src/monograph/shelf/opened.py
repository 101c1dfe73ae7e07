"""A version of a shelf, open: its catalogue is a file, and what is searched is gathered from its shards."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from monograph.answer.cache import AnswerCache
from monograph.answer.ground import Ground
from monograph.errors import PartialAnswer, ShardLost
from monograph.library.opened import OpenFile
from monograph.models import Reranker
from monograph.read import path_to_text
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.shelf import catalogue
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.gathered import Gathered
from monograph.shelf.gather.listing import the_one
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.gather.rows import Rows
from monograph.shelf.gather.surroundings import ManyFiles
from monograph.shelf.hold.engine import Engine
from monograph.shelf.hold.partial import Partial
from monograph.shelf.paid import Paid
from monograph.shelf.shard.shard import Facts
from monograph.shelf.tree.check import faults as tree_faults
from monograph.shelf.tree.ground import ShelfGround
from monograph.spending import Noted
from monograph.store.costs import together
from monograph.values import Document, Finding, Hit, LedgerEntry


class OpenShelf(OpenFile):
    """One version of a shelf. Its models are those that its catalogue names, or that were given with that."""

    shards: Asking
    url: str = ""
    """Where the shelf lies."""
    paid: Paid | None = None
    is_past = False
    """Whether it is what the shelf held at a moment."""

    def begin(self, engine: Engine, shards: int, home: Path) -> None:
        """Ask these shards from now on, and remember in a folder what models answer."""
        self.shards = Asking(engine, Rows(shards))
        self.read_before = Memory()
        self.paid, self._noted = Paid(home, self.database), Noted()
        self.reranker_of(self.reranker)

    @contextmanager
    def reading(self) -> Iterator[Gathered]:
        """Begin a search of all shards: nothing of a version changes."""
        self.read_before = memory = self.read_before.for_search()
        with super().reading() as catalogue, self._lenient() as lacking:
            if lacking is not None:  # What is lacking now may be there next time.
                memory = Memory()
            assert isinstance(catalogue, FileSnapshot)  # noqa: S101 - what a file gives
            yield Gathered(self.shards, catalogue, memory, self.is_past)

    @contextmanager
    def around(self) -> Iterator[ManyFiles]:
        """Begin to look round in the graph of all shards.

        Raises ShardLost where one cannot be had, also where searches go without it: what is shown would not say so.
        """
        with self._lenient() as lacking, self.reading() as gathered:
            yield ManyFiles(gathered, self.url)
        if lacking:
            raise next(iter(lacking.values()))

    @contextmanager
    def ground(self) -> Iterator[Ground]:
        """See :meth:`monograph.library.opened.OpenFile.ground`."""
        with self.reading() as gathered:
            yield ShelfGround(gathered)

    def found(self, search: Callable[[], list[Hit]]) -> list[Hit]:
        """What a search finds, marked where it went without shards.

        Raises ShardLost where nothing is found, since what was to be found may be in these.
        """
        with self._lenient() as lacking:
            hits = search()
        if not lacking:
            return hits
        if not hits:
            raise next(iter(lacking.values()))
        numbers = ", ".join(map(str, sorted(lacking)))
        note = f"without shard{'s' if len(lacking) > 1 else ''} {numbers} of {self.shards.rows.shards}"
        why = "; ".join(str(lacking[shard]) for shard in sorted(lacking))
        warnings.warn(PartialAnswer(f"left out: {why}"), stacklevel=4)
        return [replace(one, note="; ".join(filter(None, (one.note, note)))) for one in hits]

    @contextmanager
    def _lenient(self) -> Iterator[dict[int, ShardLost] | None]:
        """Let shards be lacking where that is allowed; gives those that are, or None where it is not."""
        engine = self.shards.engine
        if isinstance(engine, Partial):
            with engine.lenient() as lacking:
                yield lacking
        else:
            yield None

    def reranker_of(self, given: Reranker | str | None) -> Reranker | None:
        """See :meth:`monograph.library.opened.OpenFile.reranker_of`: from then on its scores are remembered."""
        found = super().reranker_of(given)
        if found is not None and self.paid is not None:
            self.scores = self.paid.scores
        return found

    def answers(self) -> AnswerCache:
        """What models answered before."""
        return super().answers() if self.paid is None else self.paid.answers

    @property
    def noted(self) -> Noted:
        """What models were asked, and the ledger lacks as yet."""
        return super().noted if self.paid is None else self._noted

    def enter(self) -> None:
        """Enter in the ledger what models were asked, where that can be done just now."""
        if self.paid is not None:
            self.paid.enter(self._noted)

    def costs(self) -> list[LedgerEntry]:
        """See :meth:`monograph.shelf.Shelf.costs`."""
        self.enter()
        here = [] if self.paid is None else self.paid.costs()
        return together([here, *self.shards.all("costs")])

    def forget_paid(self) -> None:
        """Forget on this machine what models answered."""
        if self.paid is not None:
            self.paid.forget()
            self.reranker_of(self.reranker)

    def require_graph(self) -> None:
        """Nothing to do: every shard has its graph."""

    def facts(self) -> Sequence[Facts]:
        """What stays the same of each shard while the version does."""
        facts: Sequence[Facts] = self.shards.all("facts")
        return facts

    def document(self, name: str) -> Document:
        """See :meth:`monograph.shelf.Shelf.document`."""
        found: Document = the_one(self.shards.all("documents", path_to_text(name)), self.url, name)
        return found

    def findings(self) -> list[Finding]:
        """See :meth:`monograph.shelf.Shelf.check`."""
        found = [
            replace(one, fault=f"shard {shard}: {one.fault}")
            for shard, answer in enumerate(self.shards.all("findings"))
            for one in answer
        ]
        with self.database.read() as connection:
            found += catalogue.faults(connection, self.shards.all("share"))
            return found + tree_faults(connection, self.shards)

    def close(self) -> None:
        """Let the shards go, and the catalogue."""
        if hasattr(self, "shards"):  # Else it could not be opened.
            self.shards.engine.close()
        if self.paid is not None:
            self.paid.close()
        super().close()
