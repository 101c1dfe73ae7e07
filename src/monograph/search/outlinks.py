"""What stands in the texts of a search's starts: names, where, and which of the question's words beside them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from monograph.graph.chunk_names import NO_SENTENCE
from monograph.search import titles
from monograph.search.beside import Start, beside, start_of
from monograph.search.question import Question
from monograph.store import graphs, names, readable
from monograph.store.database import Connection


class Outlink(NamedTuple):
    """A name in a start: where it stands, and what the question has to do with it. A tuple, for there are many."""

    start: int
    name: names.NameRow
    own: bool
    first: bool
    words: float
    beside: float


def outlinks(connection: Connection, question: Question, starts: Sequence[int]) -> list[Outlink]:
    """The names in the texts of some chunks, as far as they can lead on, in an order that hangs on the chunks alone."""
    named = {chunk: some.tolist() for chunk, some in graphs.named(connection, starts).items()}
    own = graphs.own_subjects(connection, starts)
    texts = [start_of(*titled) for titled in readable.titled_texts(connection, starts)]
    rows = {name for some in named.values() for name, *_ in some}
    loaded = names.load(connection, rows.union(*own.values()))
    found = []
    for chunk, text, within in zip(starts, texts, _titles_within(connection, texts), strict=True):
        where = _where(loaded, named.get(chunk, ()), text, within)
        about = (loaded[row] for row in own.get(chunk, ()) if row in loaded)
        for name in sorted(about, key=lambda name: name.key):
            where.setdefault(name, ())
        found.append(where)
    said = beside(question, texts, [([name.key for name in where], list(where.values())) for where in found])
    return [
        Outlink(chunk, name, name.row in own.get(chunk, ()), 0 in sentences, words / 4, weight)
        for chunk, where, of_chunk in zip(starts, found, said, strict=True)
        for (name, sentences), (words, weight) in zip(where.items(), of_chunk, strict=True)
    ]


def _titles_within(connection: Connection, texts: Sequence[Start]) -> list[list[tuple[names.NameRow, int]]]:
    """(name, offset) of documents' subjects that stand in each text and begin with a capital or digit."""
    phrases = titles.phrases([one.text for one in texts])
    known = graphs.known_subjects(connection, set().union(*phrases))
    return [[(known[key], some[key]) for key in sorted(known.keys() & some.keys())] for some in phrases]


def _where(
    loaded: Mapping[int, names.NameRow],
    named: Iterable[tuple[int, int, int, int]],
    text: Start,
    within: Iterable[tuple[names.NameRow, int]],
) -> dict[names.NameRow, tuple[int, ...]]:
    """The sentences of a text that names stand in: of those it is known to name, and of titles within it."""
    where: dict[names.NameRow, tuple[int, ...]] = {}
    for row, first, second, _ in named:
        if row in loaded:
            where[loaded[row]] = (first,) if second == NO_SENTENCE else (first, second)
    for name, offset in within:
        if name not in where:
            where[name] = (bisect_right(text.sentences, offset) - 1,)
    return where
