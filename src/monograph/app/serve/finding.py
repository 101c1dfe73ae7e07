"""Routes that find: search, and the context of a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.app import answer_output, document_output
from monograph.app.command import where_of
from monograph.app.serve.faults import Fault, fault_of
from monograph.app.serve.pieces import Marks, Piece, Words
from monograph.app.serve.served import Served
from monograph.errors import MonographError
from monograph.values import DEFAULT_CUT, Context, Hit, PassageOrder, cite
from monograph.values.arguments import BUDGET, FOUND

if TYPE_CHECKING:
    from monograph.shelf import Archive

MOST_HITS = 1_000
"""Of one answer."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Parameters
    ----------
    q:
        A question, words, or a code.
    k:
        Most hits of each file, at most 1,000.
    how:
        How to search, as the command line has it: ``auto``, ``tree:detail=0.5``.
    where:
        Filters, as the command line has them: ``year >= 2020``, or JSON. All must hold.
    file:
        Names of files; without any, all.
    as_of:
        A moment at whose end the files are searched: ``2026-03``; empty for now.
    """

    q: str
    k: int = 5
    how: str = "auto"
    where: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit, and how to show it.

    Parameters
    ----------
    hit:
        As ``monograph search --json`` prints it.
    why:
        How it was found, on one line.
    way:
        The path through the graph that led to it, in words; empty without one.
    place:
        ``page 3``, ``sheet Sales, rows 4-9``; empty where it has none.
    section:
        The headings above it, without its document's title.
    pieces:
        Its text, with the words of the query marked; offsets into the document, or into a summary.
    """

    hit: Hit
    why: str
    way: str
    place: str
    section: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class FoundInFile:
    """What was found in one file.

    Parameters
    ----------
    file:
        Its name.
    relevance:
        How probable it is that the file answers the query, 0 to 1.
    doubt:
        That perhaps nothing relevant was found; empty where there is no doubt.
    hits:
        Best first.
    error:
        Why the file could not be searched; null when all went well.
    """

    file: str
    relevance: float = 0.0
    doubt: str = ""
    hits: tuple[FoundHit, ...] = ()
    error: Fault | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, file by file: scores of several files are not compared."""

    query: str
    files: tuple[FoundInFile, ...]


def search(served: Served, asked: Query) -> Found:
    """Find passages, grouped by file."""
    named = [served.named(name) for name in dict.fromkeys(asked.file)] or list(served.files.items())
    # What will not do for one file will do for none, and is no answer.
    alone = len(named) == 1
    return Found(asked.q, tuple(_in_file(name, file, asked, alone=alone) for name, file in named))


def _in_file(name: str, file: Archive, asked: Query, *, alone: bool) -> FoundInFile:
    try:
        found = file.context(
            asked.q,
            k=min(asked.k, MOST_HITS),
            how=asked.how,
            where=where_of(list(asked.where)),
            as_of=asked.as_of or None,
        )
    except MonographError as error:
        if alone:
            raise
        return FoundInFile(name, error=fault_of(error))
    words = Words(asked.q)
    hits = tuple(_shown(hit, words) for hit in found.hits)
    return FoundInFile(name, found.relevance, answer_output.doubt_of(found.question, found.hits, found.relevance), hits)


def _shown(hit: Hit, words: Words) -> FoundHit:
    text, offset = hit.text, 0 if hit.summary else hit.chunk.start
    cut = Marks(words=words).cut(text, 0, len(text))
    return FoundHit(
        hit,
        hit.explain(),
        "" if hit.path is None else str(hit.path),
        "" if hit.summary else cite(hit.metadata),
        "" if hit.summary else document_output.section_of(hit.title, hit.metadata),
        tuple(Piece(one.start + offset, one.end + offset, one.text, one.marks, one.word) for one in cut),
    )


@dataclass(frozen=True, slots=True)
class ContextQuestion:
    """What a context is made for: parameters as for ``monograph context``."""

    q: str
    budget: int = BUDGET
    k: int = FOUND
    cut: float = DEFAULT_CUT
    order: PassageOrder = "relevance"
    how: str = "auto"
    where: tuple[str, ...] = ()
    threshold: float = 0.0
    file: str = ""
    as_of: str = ""


def context(served: Served, asked: ContextQuestion) -> Context:
    """What a model needs to answer a question, as ``monograph context --json`` prints it."""
    return served.archive(asked.file).context(
        asked.q,
        asked.budget,
        k=min(asked.k, MOST_HITS),
        how=asked.how,
        where=where_of(list(asked.where)),
        cut=asked.cut,
        order=asked.order,
        threshold=asked.threshold,
        as_of=asked.as_of or None,
    )
