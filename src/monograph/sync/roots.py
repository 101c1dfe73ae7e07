"""Which root a path belongs to: a known one, one that was moved there, or a new one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monograph.errors import InputError, NotFound
from monograph.read.file import sha256_of
from monograph.read.paths import path_to_text, text_to_path
from monograph.store.documents import roots, sources
from monograph.store.documents.roots import owner_of, unused_name
from monograph.store.file.database import Database
from monograph.values import Move, Root, arguments

ALIKE = 0.5
"""Share of a root's files that must be found, unchanged, in another place for it to have moved there."""


@dataclass(frozen=True, slots=True)
class Found:
    """The root that holds a path, all others that are known, and its move, if it was somewhere else."""

    root: Root
    others: tuple[Root, ...]
    move: Move | None = None


def absolute(path: str | os.PathLike[str]) -> str:
    """A path as roots have it: absolute, with links as they are."""
    return path_to_text(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def find(database: Database, path: str, files: Sequence[tuple[str, int, int]], named: Sequence[Root] = ()) -> Found:
    """The root of a path that is to be synced.

    Parameters
    ----------
    database:
        The file.
    path:
        Absolute.
    files:
        What lies there: absolute paths, bytes and times of change.
    named:
        Roots that are new with the same plan.
    """
    with database.read() as connection:
        known = [*roots.every(connection), *named]
    own = owner_of(known, path)
    if own is not None:
        return Found(own, _others(known, own))
    moved = _moved(database, known, path, files)
    if moved is not None:
        return Found(replace(moved, place=path), _others(known, moved), Move(moved.name, moved.place, path))
    name = unused_name(path, (root.name for root in known))
    return Found(Root(name, path), tuple(known))


def _others(known: Sequence[Root], own: Root) -> tuple[Root, ...]:
    return tuple(root for root in known if root.name != own.name)


def _moved(database: Database, known: Sequence[Root], path: str, files: Sequence[tuple[str, int, int]]) -> Root | None:
    """The root whose place is gone, and most of whose files lie here under the same names, unchanged."""
    away = [root for root in known if not os.path.lexists(text_to_path(root.place))]
    here = {name: (size, modified_ns) for name, size, modified_ns in files} if away else {}
    shares = []
    with database.read() as connection:
        for root in away:
            stored = [sources.find(connection, uri) for uri in sources.states(connection, root.name)]
            held = [source for source in stored if source is not None]
            same = sum(_is_same(source, replace(root, place=path).path(source.uri), here) for source in held)
            if held and same >= ALIKE * len(held):
                shares.append((same / len(held), root))
    best = max((share for share, _ in shares), default=0.0)
    alike = [root for share, root in shares if share == best]
    return alike[0] if len(alike) == 1 else None


def _is_same(source: sources.Source, path: str, files: Mapping[str, tuple[int, int]]) -> bool:
    state = files.get(path)
    if state is None or state[0] != source.size:
        return False
    return state[1] == source.modified_ns or sha256_of(text_to_path(path)) == source.sha256


def named(database: Database, name: str) -> Root:
    """A known root by its name or its place.

    Raises
    ------
    NotFound
        If there is none.
    """
    with database.read() as connection:
        known = roots.every(connection)
    place = absolute(arguments.path(name, "the folder"))
    for root in known:
        if name == root.name or place == root.place:
            return root
    mend = f"monograph sources {database.path}"
    raise NotFound(f"{database.path} follows no file or folder {name!r}", mend)


def move(database: Database, name: str, path: str | os.PathLike[str]) -> Move:
    """Say where a root lies now. Nothing is read: the next sync finds what changed there.

    Raises
    ------
    NotFound
        If no root has that name or place.
    InputError
        If nothing is there, or another root holds it.
    """
    root, place = named(database, name), absolute(path)
    if not text_to_path(place).exists():
        raise InputError(f"{path} is not there", "move the folder first, then say where it is")
    with database.write() as connection:
        other = next((one for one in roots.every(connection) if one.name != root.name and one.place == place), None)
        if other is not None:
            raise InputError(
                f"{path} is the place of {other.name!r} already",
                f"monograph sources {database.path} --remove {other.name}",
            )
        roots.put(connection, replace(root, place=place))
    return Move(root.name, root.place, place)
