"""Whether the tree of a catalogue is what the chunks of its shards imply."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.errors import DamagedFile
from monograph.settings import Settings
from monograph.shelf.gather.asking import Asking
from monograph.shelf.tree.grow import leaves_over
from monograph.store import settings, tree, tree_leaves
from monograph.store.database import Connection
from monograph.tree import verify
from monograph.tree.leaves import planes_of
from monograph.values import Finding
from monograph.write.tree import recipe


def faults(connection: Connection, shards: Asking) -> list[Finding]:
    """Every fault in the tree; none where there is none."""
    return [
        Finding("catalogue", fault, repairable=False, mend="monograph resummarize URL")
        for fault in _faults(connection, shards)
    ]


def _faults(connection: Connection, shards: Asking) -> Iterator[str]:
    try:
        planes = planes_of(connection)
    except DamagedFile:
        yield "the planes are damaged"
        return
    if planes is None:
        return
    wanted: dict[tuple[int, bytes], int] = {}
    for rank, key, chunk in leaves_over(shards, planes.to_bytes(), range(shards.rows.shards)):
        wanted.setdefault((rank, key), chunk)
    wrong = wanted.items() ^ {(rank, key): chunk for rank, key, chunk in tree_leaves.leaves(connection)}.items()
    if wrong:
        yield f"{len({place for place, _ in wrong})} chunks are not where they should be in the tree"
    elif tree.stands_on_damaged(connection):
        yield "summaries are not what was made"
    else:
        summarizer = settings.load_model(connection, settings.StoredSummarizer)
        made_by = None if summarizer is None else recipe(summarizer.key, settings.load(connection) or Settings())
        yield from verify.faults_above(connection, made_by, planes)
