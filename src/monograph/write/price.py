"""What applying a plan would derive, before it does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from monograph.derive.summarize import summary_price
from monograph.derive.tokens import count_tokens
from monograph.models import is_paid
from monograph.read.limits import Limits
from monograph.store.documents import chunks, documents, sources
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.file.unreadable import UNDECODABLE
from monograph.store.graph import extractions, names
from monograph.store.tree import tree as store
from monograph.store.vectors import vectors
from monograph.sync import rename
from monograph.tree.build import Recipe
from monograph.values import Cost, OnProgress, Plan, Problem
from monograph.write.batch import BATCH_FILES, Parcel, batches, changed, readings
from monograph.write.describe import Pricing
from monograph.write.graph import embedded_keys, extraction_key, part_of, price_extractions
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared, prepare
from monograph.write.tree import recipe
from monograph.write.vectors import missing

CHUNKS_A_SUMMARY = 7
"""Chunks for each summary of a whole tree, as a rule: measured 7.4 with segments of 6 to 12 texts."""
SUMMARIES_A_CHANGE = 2
"""Summaries for each chunk that comes or goes, as a rule: measured 1 to 3, in all layers together."""


def price(pipeline: Pipeline, plan: Plan, limits: Limits, on_progress: OnProgress | None = None) -> Plan:
    """Add to a plan what it would derive: exact, because it reads and cuts all that changed, and writes nothing.

    Pictures that are to be described have a line each until then. Of summaries there is an upper bound and a typical
    number: see :func:`price_summaries`.
    """
    problems: list[Problem] = list(plan.problems)
    cost = Cost()
    priced = _Priced(vectors=set(rename.same_vectors(pipeline.database, pipeline.embedder.key, plan)))
    pictured = None if pipeline.describer is None else Pricing(pipeline.database, pipeline.describer)
    for batch in batches(readings(plan, limits, problems, on_progress, pictured), BATCH_FILES):
        cost = _price(pipeline, batch, cost, priced)
    with pipeline.database.read() as connection:
        above = _price_tree(connection, pipeline, plan, cost.chunks, priced.removed)
    whole = replace(
        cost,
        summaries=above.summaries,
        typical_summaries=above.typical_summaries,
        model_calls=cost.model_calls + above.model_calls + (pictured.calls if pictured else 0),
        model_tokens=cost.model_tokens + above.model_tokens + (pictured.tokens if pictured else 0),
        pictures=pictured.pictures if pictured else 0,
    )
    return replace(plan, problems=tuple(problems), cost=whole)


def _price_tree(connection: Connection, pipeline: Pipeline, plan: Plan, fresh: int, removed: int) -> Cost:
    same = all(change.kind == "same" for change in plan.changes)
    if same and store.exists(connection) and not store.count_stale_segments(connection):
        return Cost()
    for change in plan.of("gone"):
        source = sources.row_of(connection, change.uri)
        for row in documents.of_source(connection, source) if source is not None else ():
            removed += len(chunks.rows_of_document(connection, row.row))
    return price_summaries(connection, pipeline, vectors.count(connection) + fresh, fresh + removed)


@dataclass(slots=True)
class _Priced:
    """What is in a cost already: keys of vectors and of extractions, names; and how many chunks would be removed."""

    vectors: set[bytes] = field(default_factory=set)
    extractions: set[bytes] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    removed: int = 0


def _price(pipeline: Pipeline, batch: list[Parcel], cost: Cost, priced: _Priced) -> Cost:
    fresh = 0
    with pipeline.database.read() as connection:
        pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
        made = prepare(pairs, pipeline.embedder, pipeline.settings)
        work = [one for one in made if isinstance(one, Prepared)]
        lacking = [one for one in missing(connection, work) if one.key not in priced.vectors and one.given is None]
        for prepared in work:
            row = documents.find(connection, prepared.document.id)
            held = set() if row is None else chunks.ids_of_document(connection, row.row)
            kept = held & {chunk.id for chunk in prepared.chunks}
            fresh += len(prepared.chunks) - len(kept)
            priced.removed += len(held) - len(kept)
        has_graph = settings.has_graph(connection)
        given = [chunk for prepared in work for chunk in prepared.chunks if has_graph]
        named = sorted(_names_to_embed(connection, pipeline, work) - priced.names) if has_graph else []
        extracting = price_extractions(connection, pipeline.extractor, given, priced.extractions)
    priced.vectors.update(vector.key for vector in lacking)
    priced.names.update(named)
    return Cost(
        documents=cost.documents + len(work),
        chunks=cost.chunks + fresh,
        embeddings=cost.embeddings + len(lacking) + len(named),
        embedding_tokens=cost.embedding_tokens + sum(count_tokens([*(vector.text for vector in lacking), *named])),
        extractions=cost.extractions + extracting.chunks,
        model_calls=cost.model_calls + extracting.calls,
        model_tokens=cost.model_tokens + extracting.tokens,
    )


def _names_to_embed(connection: Connection, pipeline: Pipeline, work: Sequence[Prepared]) -> set[str]:
    """The names that an apply would give to an embedder that may cost something; none to another.

    What patterns find is looked for now. What another extractor will find nobody knows: of its documents the names are
    told of those whose extractions the memo has.
    """
    if not is_paid(pipeline.embedder):
        return set()
    cannot_link = names.cannot_link(connection)
    found: set[str] = set()
    for one in work:
        packed = _packed_extractions(connection, pipeline, one)
        with suppress(*UNDECODABLE):  # An apply will say which is damaged.
            found |= set() if packed is None else embedded_keys(part_of(one, packed, cannot_link))
    stored = settings.load_model(connection, settings.StoredEmbedder)
    if stored is None or stored.key != pipeline.embedder.key:
        return found
    return set(names.without_code(connection, sorted(found), names.code_size(stored.dimension)))


def _packed_extractions(connection: Connection, pipeline: Pipeline, one: Prepared) -> list[bytes] | None:
    """The packed extractions of a document's chunks; None where they are still to be asked for."""
    keys = [extraction_key(pipeline.extractor, chunk.text) for chunk in one.chunks]
    held = memo.rows(connection, memo.EXTRACTION, list(dict.fromkeys(keys)))
    if all(key in held for key in keys):
        values = memo.values(connection, held.values())
        return [values[held[key]] for key in keys]
    if not pipeline.extracts_quickly:
        return None
    made = pipeline.extractor.extract(one.chunks)
    return [extractions.pack(found, chunk.text) for found, chunk in zip(made, one.chunks, strict=True)]


def price_summaries(connection: Connection, pipeline: Pipeline, chunks: int, changed: int | None = None) -> Cost:
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
