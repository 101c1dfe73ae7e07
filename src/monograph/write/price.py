"""Prices of plans: the values that applying a plan would derive, and the model calls needed for them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from monograph.derive import derivation
from monograph.models import is_paid
from monograph.read.limits import Limits
from monograph.store import tree as store
from monograph.store.documents import chunks, documents, sources
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.graph import names
from monograph.store.vectors import vectors
from monograph.sync import rename
from monograph.values import Cost, Document, OnProgress, Plan, Problem
from monograph.write import passages
from monograph.write.batch import BATCH_FILES, Parcel, PreparedDocument, batches, changed, prepare, read_plan
from monograph.write.describe import PicturePricer
from monograph.write.graph import embedded_keys, names_without_code, part_of
from monograph.write.pipeline import Pipeline
from monograph.write.tree import recipe

CHUNKS_A_SUMMARY = 7
"""Typical number of chunks in a file for each summary of its complete tree, all layers together.

Measured: 7.4 chunks per summary, if each summary is made from 6 to 12 chunks or lower summaries.
"""
SUMMARIES_A_CHANGE = 2
"""Typical number of summaries, in all layers together, per chunk that is added or removed: measured 1 to 3."""


def price(pipeline: Pipeline, plan: Plan, limits: Limits, on_progress: OnProgress | None = None) -> Plan:
    """Return a plan with its cost. Nothing is written.

    All changed files are read, each within ``limits``, and are cut into chunks. So the cost is exact. A picture that
    must be described counts as one line of text.
    """
    problems: list[Problem] = list(plan.problems)
    priced = set(rename.same_vectors(pipeline.database, pipeline.embedder.key, plan))
    pictured = None if pipeline.describer is None else PicturePricer(pipeline.database, pipeline.describer, priced)
    cost, removed = Cost(), 0
    for batch in batches(read_plan(plan, limits, problems, on_progress, pictured), BATCH_FILES):
        with pipeline.database.read() as connection:
            more, fewer = _price_batch(connection, pipeline, batch, priced)
        cost, removed = cost + more, removed + fewer
    with pipeline.database.read() as connection:
        same = all(change.kind == "same" for change in plan.changes)
        if not same or not store.exists(connection) or store.count_stale_segments(connection):
            for source in sources.rows(connection, [change.uri for change in plan.of("gone")]).values():
                rows = documents.of_source(connection, source)
                removed += sum(len(chunks.rows_of_document(connection, row.row)) for row in rows)
            stored = vectors.count(connection)
            cost += price_summaries(connection, pipeline, stored + cost.chunks, cost.chunks + removed)
    return replace(plan, problems=tuple(problems), cost=cost if pictured is None else cost + pictured.cost)


def price_change(pipeline: Pipeline, added: Sequence[Document], put: Sequence[Document], gone: Sequence[str]) -> Cost:
    """Return the cost of one change: see :meth:`monograph.Monograph.price`."""
    cost, removed, priced = Cost(), 0, set[bytes]()
    with pipeline.database.read() as connection:
        composed, emptied = passages.compose_put(connection, put)
        for batch in batches((Parcel(None, (document,)) for document in (*added, *composed)), BATCH_FILES):
            more, fewer = _price_batch(connection, pipeline, batch, priced)
            cost, removed = cost + more, removed + fewer
        rows, _ = sources.resolve(connection, [*gone, *emptied])
        removed += sum(len(chunks.rows_of_document(connection, row.row)) for row in rows)
        if cost.documents or rows or store.count_stale_segments(connection):
            cost += price_summaries(
                connection, pipeline, vectors.count(connection) + cost.chunks, cost.chunks + removed
            )
    return cost


def _price_batch(
    connection: Connection, pipeline: Pipeline, batch: list[Parcel], priced: set[bytes]
) -> tuple[Cost, int]:
    """Return (cost of a batch without summaries, number of the tree's nodes that are lost or move).

    Values in ``priced`` cost nothing. A chunk with another vector, as after a change of the title, counts twice: its
    node is removed and added.
    """
    pairs = [pair for parcel in batch for pair in changed(connection, parcel, pipeline.settings)]
    results = prepare(pairs, pipeline.embedder, pipeline.settings)
    work = [result for result in results if isinstance(result, PreparedDocument)]
    fresh = lost = 0
    for prepared in work:
        row = documents.find(connection, prepared.document.id)
        rows = [] if row is None else chunks.of_document(connection, row.row)
        # A ready-made passage may keep its id and get another text.
        stored = {(loaded.chunk.id, loaded.chunk.text) for loaded in rows}
        keys = {} if row is None else vectors.with_keys(connection, row.row)
        kept_vectors = [
            keys.get(chunk.id, (key,))[0] == key
            for chunk, key in zip(prepared.chunks, prepared.keys, strict=True)
            if (chunk.id, chunk.text) in stored
        ]
        fresh += len(prepared.chunks) - len(kept_vectors)
        lost += len(stored) - len(kept_vectors) + 2 * kept_vectors.count(False)
    cost = Cost(documents=len(work), chunks=fresh)
    texts = {key: text for prepared in work for key, text in prepared.texts.items()}
    # price_missing adds the memo keys of the values that it counts to ``priced``.
    cost += derivation.vectors(pipeline.embedder).price_missing(connection, texts, priced)
    if settings.has_graph(connection):
        extracting = derivation.extractions(pipeline.extractor)
        chunks_by_key = extracting.keyed(chunk for prepared in work for chunk in prepared.chunks)
        cost += extracting.price_missing(connection, chunks_by_key, priced)
        coding = derivation.name_codes(pipeline.embedder)
        names_by_key = coding.keyed(_find_names_to_embed(connection, pipeline, work))
        cost += coding.price_missing(connection, names_by_key, priced)
    return cost, lost


def _find_names_to_embed(connection: Connection, pipeline: Pipeline, work: Sequence[PreparedDocument]) -> list[str]:
    """Return the names that an apply would embed; an empty list for an embedder that costs nothing."""
    if not is_paid(pipeline.embedder):
        return []
    extracting = derivation.extractions(pipeline.extractor)
    cannot_link = names.cannot_link(connection)
    embedded: set[str] = set()
    for prepared in work:
        chunks_by_key = extracting.keyed(prepared.chunks)
        rows = memo.rows(connection, memo.EXTRACTION, list(chunks_by_key))
        missing = {key: chunk for key, chunk in chunks_by_key.items() if key not in rows}
        # Only the pattern extractor is run here. For another one, the memo must have all extractions of a document.
        if missing and not extracting.is_quick:
            continue
        stored = memo.values(connection, rows.values())
        values = {key: stored[row] for key, row in rows.items()}
        if missing:
            values |= {key: value for group in extracting.make(missing) for key, value, _ in group}
        packed = [values[extracting.key(chunk)] for chunk in prepared.chunks]
        with suppress(*UNDECODABLE):  # An apply reports damaged extractions.
            embedded |= embedded_keys(part_of(prepared.document.title, prepared.chunks, packed, cannot_link))
    return names_without_code(connection, pipeline, sorted(embedded))


def price_summaries(connection: Connection, pipeline: Pipeline, chunks: int, changed: int | None = None) -> Cost:
    """Return the cost of an update of the tree: numbers of summaries, model calls and tokens.

    ``summaries``, ``model_calls`` and ``model_tokens`` are upper bounds for making the whole tree. The number of
    summaries is computed as if each covered the fewest chunks or lower summaries that the settings allow. The number of
    tokens is computed as if each covered the most. Each chunk is assumed to have ``chunk_tokens`` tokens; only
    ready-made passages can have more. ``typical_summaries`` is an estimate. Without a summarizer the cost is zero.

    ``chunks`` is the largest number of chunks after the change. ``changed`` is the number of added and removed chunks;
    None for a tree that is rebuilt as a whole.
    """
    if pipeline.summarizer is None:
        return Cost()
    used = recipe(pipeline.summarizer.key, pipeline.settings)
    layers: list[int] = []  # Largest number of summaries of each layer: one has ``least`` children or a whole layer.
    nodes = chunks
    while nodes > 1 and len(layers) < used.layers:
        nodes = max(1, nodes // used.bounds.least)
        layers.append(nodes)
    full = min(sum(layers), chunks // CHUNKS_A_SUMMARY + 1)
    if changed is None or not store.exists(connection):
        typical = full
    else:
        typical = min(full, SUMMARIES_A_CHANGE * (changed + 1) + store.count_stale_segments(connection))
    calls = tokens = 0
    summarizing = derivation.summaries(pipeline.summarizer, used.max_tokens)
    for layer, most in enumerate(layers):
        text = " word" * (used.max_tokens if layer else pipeline.settings.chunk_tokens)
        once = summarizing.price([(text,) * used.bounds.most])
        calls, tokens = calls + once.model_calls * most, tokens + once.model_tokens * most
    return Cost(summaries=sum(layers), typical_summaries=typical, model_calls=calls, model_tokens=tokens)
