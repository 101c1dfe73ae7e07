"""The tree by the vectors of another embedder: its summaries are made ahead, and it is stored with those vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from monograph.store.file.database import Connection
from monograph.store.tree import tree as store
from monograph.store.vectors import vectors
from monograph.tree import build
from monograph.tree.hash import Planes, random_planes
from monograph.values import OnProgress
from monograph.write import tree
from monograph.write.pipeline import Pipeline


def prepare(
    pipeline: Pipeline, memos: Mapping[int, int], spent: tree.Spent, on_progress: OnProgress | None
) -> Planes | None:
    """Make and remember what the tree will need; returns its planes, None where there is to be none.

    Parameters
    ----------
    pipeline:
        With the embedder that the file is to have.
    memos:
        The memo row of the vector that each chunk is to have, by chunk row.
    spent:
        What summaries take, which grows.
    on_progress:
        Told of every layer.

    Raises
    ------
    ModelError
        If a summary cannot be made.
    Overtaken
        If another process drops from the memo what was made.
    """
    if pipeline.summarizer is None:
        return None
    with pipeline.database.read() as connection:
        held = [leaf for leaf in store.every_leaf(connection) if leaf.chunk in memos]
        leaves = [replace(leaf, memo=memos[leaf.chunk]) for leaf in held]
        first = sorted(leaves, key=lambda leaf: leaf.id)[: tree.LEARNING_SAMPLE]
        sample = vectors.in_order(connection, [leaf.memo for leaf in first], pipeline.embedder.dimension)
        planes = tree.random_or_learned(pipeline, sample, len(leaves))
        draft = build.Draft(store.version(connection))
        build.lay_all_leaves(connection, draft, planes, leaves)
    tree.draw_up(pipeline, draft, planes, spent, on_progress)
    return planes


def plant(connection: Connection, pipeline: Pipeline, planes: Planes | None, spent: tree.Spent) -> None:
    """Put the tree by these planes in the place of the one that is there, in the transaction that has the vectors.

    What was prepared is remembered. Few chunks can have come since: what their segments lack is made here.
    """
    if planes is not None and pipeline.summarizer is not None:
        draft = build.Draft(store.version(connection))
        build.lay_all_leaves(connection, draft, planes, store.every_leaf(connection))
        tree.draw_up(pipeline, draft, planes, spent)
        tree.keep(connection, pipeline.summarizer, draft, spent)
    elif store.exists(connection):
        store.begin(connection, random_planes(pipeline.embedder.dimension).to_bytes())
