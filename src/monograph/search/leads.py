"""Where entities lead: to the documents about them, and to the chunks that name them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from monograph.store import graphs, names
from monograph.store.database import Connection
from monograph.store.filters import Allowed

MOST_MENTIONS = 25
"""A name that more chunks have says little of any of them, and is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it leads to: of many homonyms the first chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """Where an entity leads: chunks of documents about it, and all others that name it, by row.

    Of the first ``by_beginning`` tells which documents only begin with it, ``rarity`` is 1 / sqrt(documents about it).
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = Leads((), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of names before: those that were read, by row, and which of them nothing else names."""

    names: Mapping[int, names.NameRow]
    alone: Set[int]


def read(connection: Connection, heads: Sequence[int], known: Known, allowed: Allowed) -> dict[int, Leads]:
    """Where entities lead, by the row of their head."""
    members = names.members(connection, heads, known.names)
    # One of a single name that nothing else names leads back to where it is named alone.
    entities = [(head, some) for head, some in members.items() if len(some) > 1 or head not in known.alone]
    about: dict[int, list[graphs.SubjectChunk]] = {}
    for one in graphs.subject_chunks(connection, [name.row for _, some in entities for name in some], allowed):
        if len(about.setdefault(one.name, [])) < MOST_DOCUMENTS:
            about[one.name].append(one)
    rare = [name.row for _, some in entities for name in some if name.uses <= MOST_MENTIONS]
    naming = graphs.mentions(connection, rare, allowed)
    found = dict.fromkeys(heads, NOWHERE)
    for head, some in entities:
        found[head] = _leads(
            [one for name in some for one in about.get(name.row, ())],
            [chunk for name in some for chunk in naming.get(name.row, ())],
        )
    return found


def _leads(about: Sequence[graphs.SubjectChunk], naming: Sequence[int]) -> Leads:
    if not about:
        return Leads((), (), (), tuple(naming)) if naming else NOWHERE
    documents = tuple(one.chunk for one in about)
    return Leads(
        documents,
        tuple(not one.by_title for one in about),
        tuple(one.documents**-0.5 for one in about),
        tuple(chunk for chunk in naming if chunk not in documents),
    )
