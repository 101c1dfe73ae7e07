"""Names that were taken for one entity and are not, and taking that back."""

from __future__ import annotations

from monograph.errors import InputError, NotFound
from monograph.graph.names import key_of
from monograph.graph.short_names import is_short_form
from monograph.store.file.database import Connection
from monograph.store.graph import graphs, names
from monograph.values import arguments
from monograph.write.pipeline import Pipeline
from monograph.write.rebuild_graph import begin_again, end_again
from monograph.write.transaction import flush

Pairs = set[tuple[str, str]]


def set_apart(pipeline: Pipeline, name: str, other: str) -> None:
    """Say that two names are not one entity: they never become one again, whatever the file holds.

    The documents that name them are done again from what is remembered. Killed before the end, the next write goes on
    from there.

    Raises
    ------
    InputError
        If they are one but for case, accents, signs or an article.
    NotFound
        If no chunk and no title has one of them.
    """
    with pipeline.database.write() as connection:
        pairs = _pairs(connection, pipeline, name, other)
        names.add_cannot_link(connection, pairs)
        touched = _note(connection, pipeline, pairs)
    end_again(pipeline, touched)


def unite(pipeline: Pipeline, name: str, other: str) -> None:
    """Take back that two names are not one entity. Whether they become one is for the rules to say, as before.

    A short name is taken back from every name that the entity has now.

    Raises
    ------
    InputError
        As :func:`set_apart`.
    NotFound
        If they were not set apart.
    """
    with pipeline.database.write() as connection:
        pairs = _pairs(connection, pipeline, name, other, known_only=False) & names.cannot_link(connection)
        if not pairs:
            place = pipeline.database.path
            raise NotFound(f"{name!r} and {other!r} were not set apart", f"monograph entities {place} --why")
        names.remove_cannot_link(connection, pairs)
        touched = _note(connection, pipeline, pairs)
    end_again(pipeline, touched)


def drop_forgotten(connection: Connection) -> None:
    """Forget what was said of names that the file does not know any more.

    A first or last name that was held apart from a full one is kept with it, also where nothing has it by itself.
    """
    pairs = names.cannot_link(connection)
    known = names.rows(connection, {key for pair in pairs for key in pair})

    def is_known(key: str, other: str) -> bool:
        return key in known or (other in known and is_short_form(key, other))

    gone = {pair for pair in pairs if not (is_known(*pair) and is_known(*pair[::-1]))}
    names.remove_cannot_link(connection, gone, mark=False)


def _pairs(connection: Connection, pipeline: Pipeline, name: str, other: str, *, known_only: bool = True) -> Pairs:
    """Return the pairs of keys to keep apart, a short one from every name of the entity that it may stand for.

    Raises as :func:`set_apart`; without ``known_only`` names need not be known.
    """
    keys = key_of(arguments.text(name, "a name")), key_of(arguments.text(other, "a name"))
    if not all(keys) or keys[0] == keys[1]:
        raise InputError(
            f"{name!r} and {other!r} are one name but for case, accents, signs or an article",
            "give two names that differ in more",
        )
    known = names.known(connection, keys)
    pairs: Pairs = {keys}
    for full, short in (keys, keys[::-1]):
        members = names.members(connection, [known[full].head])[known[full].head] if full in known else []
        pairs.update((one.key, short) for one in members if is_short_form(short, one.key))
    lacking = [one for one in keys if one not in known and not any(one == short for _, short in pairs - {keys})]
    if lacking and known_only:
        written = name if lacking[0] == keys[0] else other
        place = pipeline.database.path
        raise NotFound(f"{place} names nothing like {written!r}", f"monograph entities {place}")
    return pairs


def _note(connection: Connection, pipeline: Pipeline, pairs: Pairs) -> list[int]:
    """Note the documents that name any of some keys, to be done again; returns their rows."""
    rows = names.rows(connection, {key for pair in pairs for key in pair})
    touched = graphs.documents_naming(connection, rows.values())
    begin_again(connection, touched)
    flush(connection, pipeline.indexes)
    return touched
