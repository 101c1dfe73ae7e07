"""The codes of names by another embedder: made and remembered ahead, and stored with its vectors."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph import embedded_names
from monograph.values import content_hash
from monograph.write.graph import codes
from monograph.write.names import embed
from monograph.write.pipeline import Pipeline
from monograph.write.transaction import write
from monograph.write.vectors import at_once


def lacking(connection: Connection, pipeline: Pipeline) -> list[str]:
    """Names that have no code by the pipeline's embedder: all that are embedded, where the file has another."""
    stored = settings.load_model(connection, settings.StoredEmbedder)
    if stored is None or stored.key != pipeline.embedder.key:
        return embedded_names.keys(connection)
    return embedded_names.lacking(connection, pipeline.embedder.dimension)


def prepare(pipeline: Pipeline) -> None:
    """Make the codes that names lack, and remember each group of them as soon as it exists."""
    with pipeline.database.read() as connection:
        wanted = _by_key(pipeline, lacking(connection, pipeline))
        held = memo.rows(connection, memo.CODE, list(wanted))
    left = [pair for pair in wanted.items() if pair[0] not in held]
    most = at_once(pipeline.embedder)
    for first in range(0, len(left), most):
        some = left[first : first + most]
        made = codes(pipeline.embedder, [name for _, name in some])
        with pipeline.database.write() as connection:
            memo.put(connection, memo.CODE, ((key, code, 0) for (key, _), code in zip(some, made, strict=True)))


def take(connection: Connection, pipeline: Pipeline, names: Sequence[str]) -> tuple[list[tuple[bytes, str]], list[str]]:
    """(code, name) of those of some names that have one remembered, which then is no more, and the other names."""
    wanted = _by_key(pipeline, names)
    rows = memo.rows(connection, memo.CODE, list(wanted))
    values = memo.values(connection, rows.values())
    memo.drop(connection, memo.CODE)
    return (
        [(values[row], wanted[key]) for key, row in rows.items()],
        [name for key, name in wanted.items() if key not in rows],
    )


def mend(pipeline: Pipeline) -> None:
    """Make the codes that names lack, and find again which of them are one entity."""
    with pipeline.database.read() as connection:
        wanting = lacking(connection, pipeline)
    if wanting:
        embed(pipeline, wanting)
        with write(pipeline.database, pipeline.indexes):
            pass  # At its end what hangs on the codes is brought up to date.


def _by_key(pipeline: Pipeline, names: Sequence[str]) -> dict[bytes, str]:
    return {content_hash("code", pipeline.embedder.key, name): name for name in names}
