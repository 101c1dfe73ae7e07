"""What callers tell of things goes into the shards that hold what says it; what nobody's text says into the first.

Over all shards it has the numbers that it would have in one file: by them it is laid over each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from monograph.library.opened import OpenFile
from monograph.store import told, told_changes
from monograph.store.told_changes import NOBODY, Ends, Origin
from monograph.values import Report, ToldNode, ToldRelation, together
from monograph.write import tell as telling
from monograph.write.tell import Telling


def dealt(
    files: Sequence[OpenFile], nodes: Sequence[ToldNode], relations: Sequence[ToldRelation], *, missing_ok: bool
) -> dict[int, list[Telling]]:
    """What each shard is to store of nodes and relations.

    Raises as :meth:`monograph.library.told.Telling.tell`; then nothing is stored.
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
            number = next(numbers)  # Of a relation its ends may be told of by it.
            said.setdefault(shard, []).append(Telling(one, origin, number, (number, next(numbers))))
    return said


def tell(files: Sequence[OpenFile], said: Mapping[int, Sequence[Telling]]) -> None:
    """Have shards store what they are to. Killed in between, some of them have."""
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


def saying(files: Sequence[OpenFile], nodes: Sequence[str], relations: Sequence[Ends]) -> list[OpenFile]:
    """The shards that tell of any of some nodes, or relations that lead from or to them, or of some relations."""
    named, wanted = set(nodes), set(relations)
    found = []
    for file in files:
        with file.database.read() as connection:
            led = told.relation_rows(connection, [*nodes, *(one.source for one in relations)])
            said = any(row[1] in named or row[3] in named or Ends(*row[1:4]) in wanted for row in led)
            if said or told.node_rows(connection, nodes):
                found.append(file)
    return found


def untell(files: Sequence[OpenFile], nodes: Sequence[str], relations: Sequence[Ends], forget: bool | None) -> Report:
    """Have shards take back nodes, with the relations that lead from or to them, and relations."""
    return together(
        [
            file.forgetting(lambda _, one=file: telling.untell(one.database, nodes, relations), forget, strict=True)  # type: ignore[misc]
            for file in files
        ]
    )
