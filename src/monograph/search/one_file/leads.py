"""Links of entities to chunks, read from one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monograph.search.leads import NOWHERE, Leads
from monograph.store.documents.filters import Allowed
from monograph.store.file.database import Connection
from monograph.store.graph import assertions, graphs, names

MOST_MENTIONS = 25
"""A name that more chunks have is not followed to them."""

MOST_JOINED = 25
"""An entity that relations of callers join to more others is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it links to: of many homonyms the first chunks."""


def read(
    connection: Connection, heads: Sequence[int], known: Mapping[int, names.NameRow], allowed: Allowed
) -> dict[int, Leads]:
    """Return the links of entities, by the row of their head, with those of entities that callers joined to them."""
    asked = ask(connection, heads, known)
    about = graphs.subject_chunks(connection, asked.names, allowed)
    return found(asked, about, graphs.mentions(connection, asked.rare, allowed))


@dataclass(frozen=True, slots=True, eq=False)
class LinkRequest:
    """Entities whose links are to be read.

    Parameters
    ----------
    heads:
        Rows of their heads.
    members, joined:
        The names of each, and those of entities that callers joined to it, by the row of its head.
    names, rare:
        Rows of all these, and of those few enough chunks have.
    """

    heads: Sequence[int]
    members: Mapping[int, Sequence[names.NameRow]]
    joined: Mapping[int, Sequence[names.NameRow]]
    names: Sequence[int]
    rare: Sequence[int]


def ask(connection: Connection, heads: Sequence[int], known: Mapping[int, names.NameRow]) -> LinkRequest:
    """Return the names whose links are to be read for some entities; ``known`` are names that were read before."""
    members = names.members(connection, heads, known)
    joined = others(connection, members)
    beyond = {row for some in joined.values() for row in some} - {row for some in members.values() for row in some}
    every = [*(name for some in members.values() for name in some), *sorted(beyond)]
    rare = [name.row for name in every if name.uses <= MOST_MENTIONS]
    return LinkRequest(heads, members, joined, [name.row for name in every], rare)


def found(
    asked: LinkRequest, subject_chunks: Sequence[graphs.SubjectChunk], naming: Mapping[int, Sequence[int]]
) -> dict[int, Leads]:
    """Return the links of entities, by the row of their head."""
    about: dict[int, list[graphs.SubjectChunk]] = {}
    for one in subject_chunks:
        if len(about.setdefault(one.name, [])) < MOST_DOCUMENTS:
            about[one.name].append(one)
    made = dict.fromkeys(asked.heads, NOWHERE)
    for head, own in asked.members.items():
        some = [*own, *asked.joined.get(head, ())]
        chunks = [chunk for name in some for chunk in naming.get(name.row, ())]
        made[head] = _leads(
            [one for name in some for one in about.get(name.row, ())],
            list(dict.fromkeys(chunks)) if head in asked.joined else chunks,
        )
    return made


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


def joined_names(connection: Connection, some: Iterable[names.NameRow]) -> set[int]:
    """Return the rows of those of some names that relations of callers join to others."""
    if assertions.is_empty(connection):
        return set()
    rows = {one.key: one.row for one in some}
    return {rows[key] for key in assertions.joined(connection, rows, MOST_JOINED)}


def others(connection: Connection, members: Mapping[int, Sequence[names.NameRow]]) -> dict[int, list[names.NameRow]]:
    """Return the names of the entities that relations of callers join to some, by the row of their head."""
    if assertions.is_empty(connection):
        return {}
    joined = assertions.joined(connection, [name.key for some in members.values() for name in some], MOST_JOINED)
    known = names.known(connection, {key for some in joined.values() for key in some})
    named = names.members(connection, {one.head for one in known.values()})
    found = {}
    for head, some in members.items():
        keys = (key for name in some for key in joined.get(name.key, ()))
        heads = dict.fromkeys(known[key].head for key in keys if key in known)
        beyond = [name for other in heads if other != head for name in named.get(other, ())]
        if beyond:
            found[head] = beyond
    return found
