"""The names of a batch: their codes made ahead, and their rows, in one transaction with what names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from monograph.graph.names import signature
from monograph.store.file.database import Connection
from monograph.store.file.row_numbers import next_row
from monograph.store.graph import graph_changes, names
from monograph.store.graph.embedded_names import is_embedded
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import NO_PARTS, Related, codes, embeddable_keys, keys_of
from monograph.write.pipeline import Pipeline
from monograph.write.vectors import at_once


@dataclass(frozen=True, slots=True)
class Named:
    """All names of some parts, those of them that are to have a code, and the codes that the file lacks, by key."""

    keys: frozenset[str]
    embedded: frozenset[str]
    codes: Mapping[str, bytes]


def name(pipeline: Pipeline, related: Sequence[Related], made: Mapping[str, bytes] = NO_PARTS.codes) -> Named:
    """Embed the names of some parts that are to be found by what they mean, and are not ``made`` already.

    A code that took a model is remembered as soon as it exists.
    """
    keys = frozenset[str]().union(*(keys_of(one.part) for one in related))
    embeddable = set[str]().union(*(embeddable_keys(one.part) for one in related))
    embedded = frozenset(key for key in embeddable if is_embedded(key))
    with pipeline.database.read() as connection:
        lacking = names.without_code(connection, sorted(embedded), names.code_size(pipeline.embedder.dimension))
    coded = {key: made[key] for key in lacking if key in made}
    left = [key for key in lacking if key not in made]
    if pipeline.embeds_quickly:
        coded |= zip(left, codes(pipeline.embedder, left), strict=True)
    else:
        _remember(pipeline, left)
    return Named(keys, embedded, coded)


def _remember(pipeline: Pipeline, keys: Sequence[str]) -> None:
    if not keys:
        return
    with pipeline.database.write() as connection:
        new = sorted(set(keys) - names.rows(connection, keys).keys())
        numbered = zip(count(next_row(connection, "names")), new)
        names.add(connection, [names.NewName(row, key, signature(key)) for row, key in numbered], {}, {})
    embed(pipeline, keys)


def embed(pipeline: Pipeline, keys: Sequence[str]) -> None:
    """Give names the signs of their embeddings."""
    most = at_once(pipeline.embedder)
    for first in range(0, len(keys), most):
        some = keys[first : first + most]
        made = codes(pipeline.embedder, some)
        with pipeline.database.write() as connection:
            # Another process may have given the file another embedder since this one was opened.
            EMBEDDER.check(pipeline.database, pipeline.embedder)
            names.set_codes(connection, zip(made, some, strict=True))


@dataclass(frozen=True, slots=True)
class Numbered:
    """The rows of names by key, within a transaction: those that are ``new`` have one to come."""

    rows: Mapping[str, int]
    new: Sequence[str]
    codes: Mapping[str, bytes]


def numbered(connection: Connection, pipeline: Pipeline, named: Named) -> Numbered | None:
    """The rows of names; None when one that is to have a code has none any more."""
    held = names.rows(connection, named.keys)
    new = sorted(named.keys - held.keys())
    lacking = names.without_code(connection, named.embedded, names.code_size(pipeline.embedder.dimension))
    if any(key not in named.codes for key in lacking):
        return None
    fresh = zip(new, count(next_row(connection, "names")))
    return Numbered(held | dict(fresh), new, {key: named.codes[key] for key in lacking})


def store(connection: Connection, found: Numbered, uses: graph_changes.Uses) -> None:
    """Store the names that are new, and of those that are not the codes they lack; and what has changed of uses."""
    new = {found.rows[key] for key in found.new}
    coming = [names.NewName(found.rows[key], key, signature(key), found.codes.get(key)) for key in found.new]
    names.set_codes(connection, [(code, key) for key, code in found.codes.items() if found.rows[key] not in new])
    names.add(connection, coming, uses.uses, uses.persons)
    names.use(connection, _without(uses.uses, new), _without(uses.persons, new))


def _without(changes: Mapping[int, int], rows: Iterable[int]) -> dict[int, int]:
    return {row: change for row, change in changes.items() if row not in rows}
