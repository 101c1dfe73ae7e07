"""What callers tell of things goes into the shards that hold what says it; what nobody's text says into the first.

Over all shards it has the numbers that it would have in one file: by them it is laid over each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from monograph.library.opened import OpenFile
from monograph.store import told, told_changes
from monograph.store.told_changes import NOBODY, Ends, Origin
from monograph.values import Report, ToldNode, ToldRelation, together
from monograph.write import tell as telling
from monograph.write.tell import Telling


def tell(
    files: Sequence[OpenFile], nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool
) -> None:
    """Store nodes and relations: see :meth:`monograph.library.told.Telling.tell`.

    None is stored where one cannot be, or an origin is lacking. Killed in between, some shards have theirs.
    """
    telling.check(nodes, relations)
    given: list[ToldNode | ToldRelation] = [*nodes, *relations]
    asked = list(dict.fromkeys(name for one in given for name in one.origins))
    origins = _origins(files, asked)
    telling.require_all(asked, origins, missing_ok=missing_ok)
    numbers = count(1 + max(map(_last_number, files)))
    said: dict[int, list[Telling]] = {}
    for one in given:
        for shard, origin in telling.of(one.origins, origins, (0, NOBODY)):
            # Of a relation its ends may be told of by it.
            number = next(numbers)
            said.setdefault(shard, []).append(Telling(one, origin, number, (number, next(numbers))))
    for shard, some in said.items():
        files[shard].forgetting(lambda _, one=files[shard], mine=some: _put(one, mine), strict=True)  # type: ignore[misc]


def _put(file: OpenFile, some: Sequence[Telling]) -> Report:
    with file.database.write() as connection:
        return Report(changed=telling.put(connection, some))


def _last_number(file: OpenFile) -> int:
    with file.database.read() as connection:
        return told_changes.last_number(connection)


def _origins(files: Sequence[OpenFile], names: Sequence[str]) -> dict[str, tuple[int, Origin]]:
    """The shard of each origin, and its rows there; of a chunk and a document of one id the chunk."""
    found: dict[str, tuple[int, Origin]] = {}
    for shard, file in enumerate(files):
        with file.database.read() as connection:
            for name, origin in told_changes.origins(connection, names).items():
                if name not in found or (found[name][1].chunk is None and origin.chunk is not None):
                    found[name] = shard, origin
    return found


def untell(files: Sequence[OpenFile], nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
    """Take back nodes, with the relations that lead from or to them, and relations, wherever they are told."""
    return together(
        [
            file.forgetting(lambda _, one=file: telling.untell(one.database, nodes, relations), forget, strict=True)  # type: ignore[misc]
            for file in files
            if _says_any(file, nodes, relations)
        ]
    )


def _says_any(file: OpenFile, nodes: Sequence[str], relations: Sequence[Ends]) -> bool:
    with file.database.read() as connection:
        wanted = set(relations)
        led = told.relation_rows(connection, [*nodes, *(one.source for one in relations)])
        named = set(nodes)
        return bool(told.node_rows(connection, nodes)) or any(
            row[1] in named or row[3] in named or Ends(*row[1:4]) in wanted for row in led
        )
