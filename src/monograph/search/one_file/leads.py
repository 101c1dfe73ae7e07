"""Where entities lead, read out of one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monograph.search.leads import NOWHERE, Leads
from monograph.search.one_file.joined import others
from monograph.store import graphs, names
from monograph.store.database import Connection
from monograph.store.filters import Allowed

MOST_MENTIONS = 25
"""A name that more chunks have says little of any of them, and is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it leads to: of many homonyms the first chunks."""


def read(
    connection: Connection, heads: Sequence[int], known: Mapping[int, names.NameRow], allowed: Allowed
) -> dict[int, Leads]:
    """Where entities lead, by the row of their head; one that callers joined to others leads where these do as well."""
    members = names.members(connection, heads, known)
    joined = others(connection, members)
    beyond = {row for some in joined.values() for row in some} - {row for some in members.values() for row in some}
    every = [*(name for some in members.values() for name in some), *sorted(beyond)]
    about: dict[int, list[graphs.SubjectChunk]] = {}
    for one in graphs.subject_chunks(connection, [name.row for name in every], allowed):
        if len(about.setdefault(one.name, [])) < MOST_DOCUMENTS:
            about[one.name].append(one)
    rare = [name.row for name in every if name.uses <= MOST_MENTIONS]
    naming = graphs.mentions(connection, rare, allowed)
    found = dict.fromkeys(heads, NOWHERE)
    for head, own in members.items():
        some = [*own, *joined.get(head, ())]
        chunks = [chunk for name in some for chunk in naming.get(name.row, ())]
        found[head] = _leads(
            [one for name in some for one in about.get(name.row, ())],
            list(dict.fromkeys(chunks)) if head in joined else chunks,
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
