"""What is read to tell which summaries go with what was found: the port behind which a file stands, or many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from monograph.search.one_file import summaries
from monograph.store import chunks, documents, filters
from monograph.store import tree as store
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.store.terms import words_of

_HEADS = ",:;–—|("


class Ground(summaries.Passages, Protocol):
    """Chunks and documents, by their rows, under the tree that is in ``connection``.

    Where documents are given, only chunks of them are allowed; None stands for all.
    """

    @property
    def connection(self) -> Connection:
        """Where the tree is."""
        ...

    def has_tree(self) -> bool:
        """Whether there are summaries that may go with what was found."""
        ...

    def named_in(self, question: str) -> dict[str, list[int]]:
        """The documents that a question names, by the name that stands in it, even one within a longer one."""
        ...

    def of_which_documents(self, allowed: Allowed, most: int) -> list[int]:
        """The documents of which a chunk is allowed, at most so many."""
        ...

    def rows_of_documents(self, documents: Sequence[int]) -> list[int]:
        """All chunks of some documents."""
        ...

    def rows_of(self, ids: Collection[str]) -> dict[str, int]:
        """Chunks by their ids."""
        ...

    def openings(self, documents: Sequence[int], allowed: Allowed, most: int) -> list[int]:
        """At most so many allowed chunks of documents, which are in order of id: the first of each, then the second."""
        ...

    def allowed_ids(self, ids: Sequence[str], allowed: Allowed, documents: Sequence[int] | None) -> set[str]:
        """Those of some chunks that are allowed, by their ids."""
        ...

    def barred(self, allowed: Allowed, documents: Sequence[int] | None) -> set[int]:
        """The summaries over at least one chunk that is not allowed."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FileGround(summaries.OwnPassages):
    """One file: see :class:`Ground`."""

    def has_tree(self) -> bool:
        """See :class:`Ground`."""
        return store.exists(self.connection)

    def named_in(self, question: str) -> dict[str, list[int]]:
        """See :class:`Ground`."""
        return named_in(self.connection, question)

    def of_which_documents(self, allowed: Allowed, most: int) -> list[int]:
        """See :class:`Ground`."""
        return chunks.of_which_documents(self.connection, allowed, most)

    def rows_of_documents(self, documents: Sequence[int]) -> list[int]:
        """See :class:`Ground`."""
        return [row for number in documents for row in chunks.rows_of_document(self.connection, number)]

    def rows_of(self, ids: Collection[str]) -> dict[str, int]:
        """See :class:`Ground`."""
        return chunks.rows_of(self.connection, ids)

    def openings(self, documents: Sequence[int], allowed: Allowed, most: int) -> list[int]:
        """See :class:`Ground`."""
        return [row for _, _, row in chunks.openings(self.connection, documents, allowed, most)]

    def allowed_ids(self, ids: Sequence[str], allowed: Allowed, documents: Sequence[int] | None) -> set[str]:
        """See :class:`Ground`."""
        return allowed_ids(self.connection, ids, scope(allowed, documents))

    def barred(self, allowed: Allowed, documents: Sequence[int] | None) -> set[int]:
        """See :class:`Ground`."""
        return store.barred(self.connection, scope(allowed, documents))


def scope(allowed: Allowed, documents: Sequence[int] | None) -> Allowed:
    """Of what is allowed the chunks of some documents; all of it without any."""
    return allowed if documents is None else filters.within(allowed, documents)


def allowed_ids(connection: Connection, ids: Sequence[str], allowed: Allowed) -> set[str]:
    """Those of some chunks that are allowed, by their ids."""
    return set(chunks.ids(connection, chunks.asked(connection, ids, allowed)).values())


def named_in(connection: Connection, question: str) -> dict[str, list[int]]:
    """See :meth:`Ground.named_in`."""
    there = f" {' '.join(words_of(question))} "
    found: dict[str, list[int]] = {}
    for row, title, uri in documents.names(connection):
        for name in _names(title, uri):
            if f" {' '.join(words_of(name))} " in there:
                found.setdefault(name, []).append(row)
                break
    return found


def longest(found: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Documents by the names that stand in a question, without the names within longer ones."""
    words = {name: f" {' '.join(words_of(name))} " for name in found}
    return {
        name: rows
        for name, rows in found.items()
        if not any(words[name] != other and words[name] in other for other in words.values())
    }


def _names(title: str, uri: str) -> Iterable[str]:
    """What a document may be called: its title, the title's head if it has several words, the name of its file."""
    if words_of(title):
        yield title
    head = title[: min((at for mark in _HEADS if (at := title.find(mark)) > 0), default=0)]
    if len(words_of(head)) > 1:
        yield head
    file = uri.rstrip("/").rpartition("/")[2]
    if len(words_of(file)) > 1:
        yield file
