"""What files hold is dealt out to other files, which is how shelves are split, joined and cut anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from heapq import merge
from itertools import islice

import numpy as np

from monograph.carry.taken import Taken
from monograph.library.carrying import stored
from monograph.library.opened import OpenFile
from monograph.read.source import INSIDE
from monograph.store import (
    chunks,
    documents,
    former_rows,
    graphs,
    memo,
    names,
    roots,
    sources,
    told,
    told_changes,
    vectors,
)
from monograph.store.checksums import given_key
from monograph.store.database import Connection, Database
from monograph.store.former_rows import FormerRow
from monograph.store.sources import Source
from monograph.store.told_changes import NOBODY
from monograph.values import OnProgress, Passage, Progress, Report, together
from monograph.write import tell
from monograph.write.past import make_up_for
from monograph.write.remember import remember

_AT_ONCE = 512
"""Documents that are read together."""


def deal(
    files: Sequence[Database],
    targets: Sequence[OpenFile],
    target_of: Callable[[str], int],
    progress: OnProgress | None = None,
) -> Report:
    """Store all documents of some files in others.

    Chunks keep their ids and places, and what was derived of them is remembered: no model is asked. What was told of
    things, the folders that are synced, names that were set apart, and former versions where targets keep them, go
    along; trees of summaries do not.

    Parameters
    ----------
    files:
        Files that do not change meanwhile.
    targets:
        Files with their settings and models.
    target_of:
        The place among the targets of a document, by its id, or by the uri of the file that it was read from.
    """
    reports: list[Report] = []
    done = 0
    with ExitStack() as reading:
        held = [reading.enter_context(file.read()) for file in files]
        for connection in held:
            _share_out(connection, targets)
        for connection in held:
            rows = iter(documents.numbers(connection))
            while some := list(islice(rows, _AT_ONCE)):
                reports += _dealt(connection, some, targets, target_of)
                done += len(some)
                if progress is not None:
                    progress(Progress("deal", done, max(done, documents.count(connection)), "documents"))
        _tell(held, targets)
        if targets[0].settings.history:
            for connection in held:
                _deal_former(connection, targets, target_of)
            for target in targets:
                make_up_for(target.writing_pipeline(), None)
    return together(reports)


def _deal_former(connection: Connection, targets: Sequence[OpenFile], target_of: Callable[[str], int]) -> None:
    """What documents were goes to where they are now, and of those that are gone to where they would come back."""
    rows, synced = former_rows.every(connection), tuple(root.name for root in roots.every(connection))
    while some := list(islice(rows, _AT_ONCE)):
        held: dict[str, int] = {}
        for place, target in enumerate(targets):
            with target.database.read() as there:
                held.update(dict.fromkeys(documents.known_ids(there, [one.id for one in some]), place))
        mine: dict[int, list[FormerRow]] = {}
        for one in some:
            back = held[one.id] if one.id in held else target_of(_dealt_by(one, synced))
            mine.setdefault(back, []).append(one)
        for place, rows_of_it in mine.items():
            target = targets[place]
            with target.database.write() as written:
                former_rows.put(written, rows_of_it)


def _dealt_by(former: FormerRow, synced: Sequence[str]) -> str:
    """What says where a document that is gone would come back: the file in a synced folder that it was, or its id."""
    file = former.uri.split(INSIDE)[0]
    return file if any(f"{file}/".startswith(f"{root}/") for root in synced) else former.id


def _share_out(connection: Connection, targets: Sequence[OpenFile]) -> None:
    """What every file is to know: the folders that are synced, and names that were set apart."""
    known, apart = roots.every(connection), names.cannot_link(connection)
    for target in targets:
        with target.database.write() as written:
            for root in known:
                roots.put(written, root)
            names.set_apart(written, apart)


def _dealt(
    connection: Connection, some: Sequence[int], targets: Sequence[OpenFile], target_of: Callable[[str], int]
) -> list[Report]:
    held: dict[int, list[tuple[int, Taken]]] = {}
    files: dict[int, dict[Source, list[str]]] = {}
    for row in some:
        one = _taken(connection, row)
        # All documents of a file stay together, where a sync seeks them.
        source, _ = sources.of_document(connection, row) or (None, 0)
        place = target_of(one.document.id if source is None else source.uri)
        held.setdefault(place, []).append((row, one))
        if source is not None:
            files.setdefault(place, {}).setdefault(source, []).append(one.document.id)
    reports = []
    for place, mine in held.items():
        target = targets[place]
        found = graphs.extractions_of_documents(connection, [row for row, _ in mine])
        remember(target.database, memo.EXTRACTION, found, None)
        reports.append(stored(target.writing_pipeline(), [one for _, one in mine]))
        with target.database.write() as written:
            began = {one.document.id: one.document.valid.since for _, one in mine if one.document.valid is not None}
            if target.settings.history:
                former_rows.began(written, began)
            for source, names_of_documents in files.get(place, {}).items():
                sources.take(written, source, names_of_documents)
    return reports


def _taken(connection: Connection, row: int) -> Taken:
    """A document with its chunks as they are, and the vectors that were made of them."""
    document = documents.load(connection, documents.by_number(connection, row))
    held = vectors.with_keys(connection, row)
    passages, made = [], []
    for one in chunks.of_document(connection, row, strict=True):
        key, value = held.get(one.chunk.id, (b"", b""))
        vector = np.frombuffer(value, dtype=vectors.STORED).astype(np.float32) if value else None
        given = vector is not None and key == given_key(value)
        made.append(None if given else vector)
        passages.append(
            Passage(one.chunk.text, one.chunk.id, one.chunk.metadata, vector if given else None, one.chunk.start)
        )
    return Taken(replace(document, passages=tuple(passages)), tuple(made))


def _tell(held: Sequence[Connection], targets: Sequence[OpenFile]) -> None:
    """What callers told, in the order in which they did, each by the file that has what says it; else by the first."""
    for each in (told.each_node, told.each_relation):
        said = enumerate(merge(*map(each, held), key=lambda one: one.number), 1)
        while some := list(islice(said, _AT_ONCE)):
            for place, target in enumerate(targets):
                with target.database.write() as written:
                    tell.put(written, _own(written, some, is_first=place == 0))


def _own(
    connection: Connection, some: Sequence[tuple[int, told.Numbered]], *, is_first: bool
) -> Iterator[tell.Telling]:
    """What a file that is written to is to have of what was told, with new numbers."""
    known = told_changes.origins(connection, list({name for _, one in some for name in one.said.origins}))
    for number, one in some:
        (origin,) = [known.get(name) for name in one.said.origins] or [NOBODY if is_first else None]
        if origin is not None:
            yield tell.Telling(one.said, origin, number, implied=one.implied)
