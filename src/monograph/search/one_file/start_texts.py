"""The texts that a search follows links from, read out of one file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from monograph.graph.chunk_names import NO_SENTENCE
from monograph.search import titles
from monograph.search.one_file.subject_keys import SubjectKeys
from monograph.search.start_texts import Start, StartText, start_of
from monograph.store import graphs, names, readable
from monograph.store.database import Connection


def read(connection: Connection, chunks: Sequence[int], subjects: SubjectKeys) -> dict[int, StartText]:
    """The texts of chunks and the names in them, by row, in an order that hangs on the chunks alone."""
    nodes = graphs.named_and_own(connection, chunks)
    named = {chunk: some.tolist() for chunk, (some, _) in nodes.items()}
    own = {chunk: frozenset(some) for chunk, (_, some) in nodes.items()}
    texts = [start_of(*one) for one in readable.titled_texts(connection, chunks)]
    wanted = {name for some in named.values() for name, *_ in some}.union(*own.values())
    subjects.ahead.names(connection, wanted)
    loaded = names.load(connection, wanted)
    found = {}
    for chunk, text, within in zip(chunks, texts, _titles_within(connection, texts, subjects), strict=True):
        where = _where(loaded, named.get(chunk, ()), text, within)
        about = own.get(chunk, frozenset())
        for name in sorted((loaded[row] for row in about if row in loaded), key=lambda name: name.key):
            where.setdefault(name, ())
        used = (loaded[row] for row, *_ in named.get(chunk, ()) if row in loaded)
        found[chunk] = StartText(
            text,
            tuple(where),
            tuple(where.values()),
            tuple(name.row in about for name in where),
            frozenset(name.row for name in used if name.uses == 1 and name.head == name.row),
        )
    return found


def _titles_within(
    connection: Connection, texts: Sequence[Start], subjects: SubjectKeys
) -> list[list[tuple[names.NameRow, int]]]:
    """(name, offset) of documents' subjects that stand in each text and begin with a capital or digit."""
    phrases = titles.phrases([one.text for one in texts], subjects.every(connection))
    known = subjects.known(connection, set().union(*phrases))
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
