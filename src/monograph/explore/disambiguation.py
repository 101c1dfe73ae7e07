"""Senses of a name that several entities have: whether a chunk means Green the album, or Green the band."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from monograph.explore.surroundings import Surroundings
from monograph.store.graph import graphs, neighbours


@dataclass(frozen=True, slots=True)
class Sense:
    """One of the things of a name.

    Parameters
    ----------
    qualifier:
        What the titles of its documents have in parentheses; empty for the plain name.
    documents:
        Rows of the documents whose titles name it so.
    names:
        Rows of the names in the first chunks of these.
    """

    qualifier: str
    documents: frozenset[int]
    names: frozenset[int]


def senses(around: Surroundings, titled: Mapping[int, Sequence[neighbours.Titled]]) -> dict[int, list[Sense]]:
    """The senses, in order of qualifier, of the entities that titles qualify in several ways; of the others nothing.

    Parameters
    ----------
    around:
        What is looked round in.
    titled:
        The documents whose titles name each entity.
    """
    several = {entity: some for entity, some in titled.items() if len({one.qualifier for one in some}) > 1}
    if not several:
        return {}
    rows = around.first_chunks({one.document for some in several.values() for one in some}, graphs.SUBJECT_CHUNKS)
    named = around.linked({chunk for some in rows.values() for chunk in some})
    found: dict[int, list[Sense]] = {}
    for entity, some in several.items():
        for qualifier in sorted({one.qualifier for one in some}):
            documents = frozenset(one.document for one in some if one.qualifier == qualifier)
            chunks = [chunk for document in documents for chunk in rows.get(document, ()) if chunk in named]
            names = frozenset(int(name) for chunk in chunks for name in named[chunk][0]["name"])
            found.setdefault(entity, []).append(Sense(qualifier, documents, names))
    return found


def meant(known: Collection[Sense], document: int, beside: Mapping[int, float]) -> str:
    """The qualifier of the sense in which a chunk uses a name; empty for the plain name, and where none is nearest.

    A document about one of the senses means that one. Any other chunk means the sense whose documents have most of the
    names that it has too.

    Parameters
    ----------
    known:
        The senses of the name.
    document:
        The chunk's.
    beside:
        How much each other name of the chunk counts, by row: the rarer, the more.
    """
    own = [one for one in known if document in one.documents]
    if len(own) == 1:
        return own[0].qualifier
    shares = [(fsum(beside[name] for name in one.names & beside.keys()), one.qualifier) for one in own or known]
    most = max(share for share, _ in shares)
    best = [qualifier for share, qualifier in shares if share == most]
    return best[0] if most > 0 and len(best) == 1 else ""
