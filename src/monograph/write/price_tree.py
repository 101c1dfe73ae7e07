"""The most summaries that the tree may take, and how many it takes as a rule, before anything is asked of a model."""

from __future__ import annotations

from monograph.derive.summarize import summary_price
from monograph.store import tree as store
from monograph.store.database import Connection
from monograph.tree.build import Recipe
from monograph.values import Cost
from monograph.write.pipeline import Pipeline
from monograph.write.tree import recipe

CHUNKS_A_SUMMARY = 7
"""Chunks for each summary of a whole tree, as a rule: measured 7.4 with segments of 6 to 12 texts."""
SUMMARIES_A_CHANGE = 2
"""Summaries for each chunk that comes or goes, as a rule: measured 1 to 3, in all layers together."""


def price(connection: Connection, pipeline: Pipeline, chunks: int, changed: int | None = None) -> Cost:
    """Return the summaries that a change of the tree takes, and what they ask a language model.

    ``summaries``, ``model_calls`` and ``model_tokens`` are those of a whole tree of the smallest segments: it never
    takes more. ``typical_summaries`` is what it takes as a rule. The tokens count a chunk as ``chunk_tokens``, which
    only ready-made passages exceed.

    Parameters
    ----------
    connection:
        To the tree.
    pipeline:
        With the summarizer; without one there are no summaries.
    chunks:
        In the file after the change, at most.
    changed:
        How many of them come or go; None for a tree that is made anew.
    """
    if pipeline.summarizer is None:
        return Cost()
    used = recipe(pipeline.summarizer.key, pipeline.settings)
    layers = most_summaries(chunks, used)
    whole = min(sum(layers), chunks // CHUNKS_A_SUMMARY + 1)
    if changed is None or not store.exists(connection):
        typical = whole
    else:
        typical = min(whole, SUMMARIES_A_CHANGE * (changed + 1) + store.count_stale_segments(connection))
    calls = tokens = 0
    for layer, most in enumerate(layers):
        text = " word" * (used.max_tokens if layer else pipeline.settings.chunk_tokens)
        once, read = summary_price(pipeline.summarizer, [[text] * used.bounds.most], used.max_tokens)
        calls, tokens = calls + once * most, tokens + read * most
    return Cost(summaries=sum(layers), typical_summaries=typical, model_calls=calls, model_tokens=tokens)


def most_summaries(nodes: int, used: Recipe) -> list[int]:
    """Return the most summaries of each layer over so many chunks: each stands for ``least`` nodes or for a layer."""
    layers: list[int] = []
    while nodes > 1 and len(layers) < used.layers:
        nodes = max(1, nodes // used.bounds.least)
        layers.append(nodes)
    return layers
