"""Names of a batch of documents: their codes are derived first, their rows stored with the documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from monograph.derive.derivation import NOTHING, Forgotten, name_codes, retry
from monograph.graph.names import signature
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.file.rows import next_row
from monograph.store.graph import graphs, names
from monograph.write.configuration import EMBEDDER
from monograph.write.graph import Related, embedded_keys, keys_of
from monograph.write.pipeline import Pipeline
from monograph.write.transaction import write


@dataclass(frozen=True, slots=True)
class Named:
    """Keys of all names of a batch, of those that have a code, and the memo keys of codes that are missing, by name."""

    keys: frozenset[str]
    embedded: frozenset[str]
    codes: Mapping[str, bytes]


NO_NAMES = Named(frozenset(), frozenset(), {})


def name(
    pipeline: Pipeline,
    related: Sequence[Related],
    waiting: dict[bytes, bytes] | None = None,
    ahead: Mapping[bytes, bytes] = NOTHING,
) -> Named:
    """Return the names of some parts, and derive the codes that are missing."""
    keys = frozenset[str]().union(*(keys_of(one.part) for one in related))
    embedded = frozenset[str]().union(*(embedded_keys(one.part) for one in related))
    with pipeline.database.read() as connection:
        lacking = names.without_code(connection, sorted(embedded), names.code_size(pipeline.embedder.dimension))
    codes = name_codes(pipeline.embedder)
    wanted = codes.keyed(lacking)
    codes.derive_missing(pipeline.database, wanted, waiting, ahead)
    return Named(keys, embedded, {name: key for key, name in wanted.items()})


@dataclass(frozen=True, slots=True)
class Numbered:
    """Rows of names by key, within a transaction; rows of ``new`` names are still to be inserted."""

    rows: Mapping[str, int]
    new: Sequence[str]
    codes: Mapping[str, bytes]


def numbered(
    connection: Connection, pipeline: Pipeline, named: Named, waiting: Mapping[bytes, bytes] = NOTHING
) -> Numbered:
    """Return the rows of names, and the codes that they lack. Raises Forgotten if a code is not there any more."""
    # Another process may have given the file another embedder since this one was opened.
    EMBEDDER.check(pipeline.database, pipeline.embedder)
    held = names.rows(connection, named.keys)
    new = sorted(named.keys - held.keys())
    lacking = names.without_code(connection, named.embedded, names.code_size(pipeline.embedder.dimension))
    if any(key not in named.codes for key in lacking):
        raise Forgotten
    fresh = zip(new, count(next_row(connection, "names")))
    return Numbered(
        held | dict(fresh), new, take_codes(connection, {key: named.codes[key] for key in lacking}, waiting)
    )


def store(connection: Connection, found: Numbered, uses: graphs.Uses) -> None:
    """Store new names, missing codes of known ones, and the changed numbers of uses."""
    new = {found.rows[key] for key in found.new}
    coming = [names.NewName(found.rows[key], key, signature(key), found.codes.get(key)) for key in found.new]
    names.set_codes(connection, [(code, key) for key, code in found.codes.items() if found.rows[key] not in new])
    names.add(connection, coming, uses.uses, uses.persons)
    names.use(connection, _without(uses.uses, new), _without(uses.persons, new))


def _without(changes: Mapping[int, int], rows: Iterable[int]) -> dict[int, int]:
    return {row: change for row, change in changes.items() if row not in rows}


def take_codes(
    connection: Connection, wanted: Mapping[str, bytes], waiting: Mapping[bytes, bytes] = NOTHING
) -> dict[str, bytes]:
    """Return the codes of names, to be moved to their rows, by memo keys: they are deleted from the memo.

    Raises Forgotten if one is neither stored nor waiting.
    """
    left = [key for key in wanted.values() if key not in waiting]
    rows = memo.rows(connection, memo.CODE, left)
    if len(rows) < len(left):
        raise Forgotten
    values = memo.values(connection, rows.values())
    memo.delete(connection, rows.values())
    return {name: values[rows[key]] if key in rows else waiting[key] for name, key in wanted.items()}


def without_code(connection: Connection, pipeline: Pipeline) -> list[str]:
    """Return the keys of names that have no code by the pipeline's embedder, and are to have one.

    Where the file has another embedder, those are all names that are embedded.
    """
    embedded = graphs.embedded_keys(connection)
    stored = settings.load_model(connection, "embedder")
    if stored is None or stored.key != pipeline.embedder.key:
        return embedded
    return names.without_code(connection, embedded, names.code_size(stored.dimension))


def complete_codes(pipeline: Pipeline) -> None:
    """Derive the codes that names lack, and find again which of them are one entity."""
    codes = name_codes(pipeline.embedder)

    def complete() -> None:
        with pipeline.database.read() as connection:
            wanted = codes.keyed(without_code(connection, pipeline))
        codes.derive_missing(pipeline.database, wanted)
        if wanted:
            with write(pipeline.database, pipeline.indexes) as connection:
                EMBEDDER.check(pipeline.database, pipeline.embedder)
                made = take_codes(connection, {name: key for key, name in wanted.items()})
                names.set_codes(connection, [(code, key) for key, code in made.items()])

    retry(pipeline.database, complete)
