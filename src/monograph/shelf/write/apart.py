"""Names that are not one entity, over all shards: each shard that names one of the two keeps that they are apart.

So whatever is to be told apart by that lies in a shard that knows, and shards that name neither are not written to. One
that comes to name them is told before the names of all are read, or published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from monograph.library.opened import OpenFile
from monograph.store import catalogue, forgetting, graphs, names
from monograph.values import Report
from monograph.write import cannot_link
from monograph.write.cannot_link import Pairs

_NOTE = "apart.json"


def held(files: Sequence[OpenFile]) -> list[Pairs]:
    """What is apart in each shard."""
    found = []
    for file in files:
        with file.database.read() as connection:
            found.append(names.cannot_link(connection))
    return found


def put(files: Sequence[OpenFile], pairs: Pairs) -> None:
    """Have keys apart in the shards that name any of them; where none does, in the first."""
    naming = [file for file in files if _names_any(file, pairs)]
    for file in naming or files[:1]:
        with file.spending():
            cannot_link.put(file.writing_pipeline(), pairs)


def take_back(files: Sequence[OpenFile], pairs: Pairs) -> None:
    """Take back that keys are apart, wherever that is kept."""
    for file, own in zip(files, held(files), strict=True):
        if own & pairs:
            with file.spending():
                cannot_link.take_back(file.writing_pipeline(), pairs)


def heal(files: Sequence[OpenFile], work: Path) -> None:
    """Have apart what is so in any shard wherever it is named by now, and whoever set it apart was killed over it."""
    _go_on(files, work / _NOTE)
    known = held(files)
    every = set().union(*known)
    for file, own in zip(files, known, strict=True):
        if every - own and _names_any(file, every - own):
            with file.spending():
                cannot_link.put(file.writing_pipeline(), every - own)


@contextmanager
def kept(files: Sequence[OpenFile], work: Path) -> Iterator[None]:
    """Do what may have a shard forget what it does not name any more, though others name it.

    Of names that are apart no shard knows whether another has them: so what was apart is noted in the folder ``work``
    meanwhile. Killed over it, the next write goes on from there.
    """
    note = work / _NOTE
    _go_on(files, note)
    before = held(files)
    if not any(before):
        yield
        return
    times = _times_forgotten(files)
    note.write_text(json.dumps([times, [sorted(one) for one in before]]))
    try:
        yield
    finally:
        _end(files, note, times, before)


def _go_on(files: Sequence[OpenFile], note: Path) -> None:
    try:
        times, before = json.loads(note.read_bytes())
    except (FileNotFoundError, ValueError):  # What is not whole was noted before anything was done.
        return
    if len(before) == len(files):
        _end(files, note, times, [{(str(key), str(other)) for key, other in one} for one in before])


def _end(files: Sequence[OpenFile], note: Path, times: Sequence[int], before: Sequence[Pairs]) -> None:
    if _times_forgotten(files) != times:
        _settle(files, before)
    note.unlink(missing_ok=True)


def _times_forgotten(files: Sequence[OpenFile]) -> list[int]:
    found = []
    for file in files:
        with file.database.read() as connection:
            found.append(forgetting.times(connection))
    return found


def _settle(files: Sequence[OpenFile], before: Sequence[Pairs]) -> None:
    """Have apart what was so before shards dropped what they do not name any more, if any shard names it still.

    What none names is dropped everywhere, and is left in the bytes of none.
    """
    every: Pairs = set().union(*before)
    keys = {key for pair in every for key in pair}
    living: set[str] = set()
    for file in files:
        with file.database.read() as connection:
            living |= catalogue.in_use(connection, keys)
    gone = cannot_link.forgotten(every, living)
    for file, own, had in zip(files, held(files), before, strict=True):
        if own & gone:
            file.forgetting(lambda _: Report(removed=1), wanted=True, strict=True)
        with file.database.read() as connection:
            lost = had - gone - names.cannot_link(connection)
        if lost:
            with file.spending():
                cannot_link.put(file.writing_pipeline(), lost)


def _names_any(file: OpenFile, pairs: Pairs) -> bool:
    with file.database.read() as connection:
        rows = names.rows(connection, {key for pair in pairs for key in pair})
        return bool(graphs.documents_naming(connection, rows.values()))
