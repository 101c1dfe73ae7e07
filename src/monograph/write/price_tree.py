"""What the tree of summaries would take, before anything is asked of a model.

Over chunks the summaries to come are found as an apply finds them, with the chunks that are to come laid over those
that are stored, so that their number and their texts are exact. What stands above hangs on what those will say: there
a bound is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from monograph.derive.summarize import summary_price
from monograph.models import is_paid
from monograph.store import documents, memo, sources
from monograph.store import tree as store
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.tree import build
from monograph.tree.hash import Planes, full_rank, ranks
from monograph.tree.leaves import chunk_key, planes_of
from monograph.values import Change, Cost, Float32
from monograph.write.batch import Parcel
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared
from monograph.write.tree import LEARNING_SAMPLE, due_planes, random_or_learned, recipe, summary_key

EMBEDDED_FOR_PRICE = 8_192
"""New texts that are embedded only to know where they would stand; with more, a bound is given for chunks too."""


@dataclass(frozen=True, slots=True)
class _ChunkToBe:
    """A chunk that is to come: its id, its text, and its vector, None where that is not known."""

    name: str
    text: str
    vector: Float32 | None


@dataclass(slots=True)
class Forecast:
    """The chunks that an apply would bring and take: ``gone`` are ids, ``coming`` by id."""

    coming: dict[str, _ChunkToBe] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    embedded: int = 0

    def take(self, connection: Connection, gone: Sequence[Change]) -> None:
        """Note the chunks of files that are gone."""
        for change in gone:
            source = sources.row_of(connection, change.uri)
            for row in documents.of_source(connection, source) if source is not None else ():
                self.gone.update(store.leaf_ids(connection, row.row))

    def leave_out(self, connection: Connection, batch: Sequence[Parcel]) -> None:
        """Note the chunks of documents that a file held before and holds no more."""
        for parcel in batch:
            source = None if parcel.source is None else sources.row_of(connection, parcel.source.uri)
            listed = {document.id for document in parcel.documents}
            for row in documents.of_source(connection, source) if source is not None else ():
                if row.id not in listed:
                    self.gone.update(store.leaf_ids(connection, row.row))

    def bring(self, connection: Connection, pipeline: Pipeline, work: Sequence[Prepared]) -> None:
        """Note the chunks of documents that are new or changed."""
        keys = [key for one in work for key in one.keys]
        held = memo.rows(connection, memo.VECTOR, list(dict.fromkeys(keys)))
        by_row: dict[int, Float32] = {}
        if held:  # Else the dimension need not be known, for which a server might be asked.
            rows, found = stored_vectors.load(connection, list(held.values()), pipeline.embedder.dimension)
            by_row = dict(zip(rows.tolist(), found, strict=True))
        vectors = {key: by_row[row] for key, row in held.items() if row in by_row}
        vectors.update(self._embed(pipeline, work, vectors))
        for one in work:
            row = documents.find(connection, one.document.id)
            self.gone.update(set() if row is None else store.leaf_ids(connection, row.row))
            for chunk, vector in zip(one.chunks, one.vectors, strict=True):
                self.coming[chunk.id] = _ChunkToBe(chunk.id, chunk.text, vectors.get(vector.key))

    def _embed(
        self, pipeline: Pipeline, work: Sequence[Prepared], known: Mapping[bytes, Float32]
    ) -> dict[bytes, Float32]:
        lacking = {one.key: one for some in work for one in some.vectors if one.key not in known}
        given = {key: one.given for key, one in lacking.items() if one.given is not None}
        texts = {key: one.text for key, one in lacking.items() if one.given is None}
        self.embedded += len(texts)
        if not texts or self.embedded > EMBEDDED_FOR_PRICE or is_paid(pipeline.embedder):
            return given  # To ask what something costs costs nothing.
        return given | dict(zip(texts, pipeline.embedder.embed(list(texts.values()), "document"), strict=True))


def price(connection: Connection, pipeline: Pipeline, seen: Forecast) -> Cost:
    """The summaries to come, and what they would ask of a language model, at most."""
    if pipeline.summarizer is None or not (seen.coming or seen.gone or store.count_stale_segments(connection)):
        return Cost()
    total = stored_vectors.count(connection) - len(seen.gone) + len(seen.coming)
    planes = planes_of(connection)
    if any(one.vector is None for one in seen.coming.values()):
        return bound(pipeline, total)
    if planes is None or due_planes(planes, total, pipeline):
        return _anew(connection, pipeline, seen, total)
    draft = build.Draft(store.version(connection))
    held = store.leaves_by_id(connection, seen.gone)
    coming = _placed(planes, list(seen.coming.values()))
    same = {name for name, row in held.items() if name in coming and (row.rank, row.key) == coming[name]}
    build.lay_leaves(
        draft,
        {row.node: row.rank for name, row in held.items() if name not in same},
        [build.LeafToBe(*place, seen.coming[name].text) for name, place in coming.items() if name not in same],
    )
    return priced(connection, pipeline, draft)


def price_anew(connection: Connection, pipeline: Pipeline) -> Cost:
    """What making the tree anew with the pipeline's summarizer would take."""
    total = stored_vectors.count(connection)
    if due_planes(planes_of(connection), total, pipeline):
        return _anew(connection, pipeline, Forecast(), total)
    return priced(connection, pipeline, build.Draft(store.version(connection), anew=True))


def _anew(connection: Connection, pipeline: Pipeline, seen: Forecast, total: int) -> Cost:
    """The price of a tree with planes that are still to be made."""
    stored = [one for one in store.every_leaf(connection) if one.id not in seen.gone and one.id not in seen.coming]
    rows, found = stored_vectors.load(connection, list({one.memo for one in stored}), pipeline.embedder.dimension)
    by_row = dict(zip(rows.tolist(), found, strict=True))
    chunks = [_ChunkToBe(one.id, one.text, by_row[one.memo]) for one in stored if one.memo in by_row]
    chunks = sorted([*chunks, *seen.coming.values()], key=lambda one: one.name)
    vectors = np.array([one.vector for one in chunks if one.vector is not None])
    planes = random_or_learned(pipeline, vectors[:LEARNING_SAMPLE], total)
    draft = build.Draft(store.version(connection), planes=planes)
    placed = _placed(planes, chunks)
    build.lay_leaves(draft, {}, [build.LeafToBe(*placed[one.name], one.text) for one in chunks])
    return priced(connection, pipeline, draft)


def _placed(planes: Planes, chunks: Sequence[_ChunkToBe]) -> dict[str, tuple[int, bytes]]:
    """(rank, key) of chunks to come, by id."""
    if not chunks:
        return {}
    places = ranks(planes, np.array([one.vector for one in chunks], dtype=np.float32)).tolist()
    keys = [chunk_key(one.name, one.text) for one in chunks]
    return {one.name: (full_rank(place, key), key) for one, place, key in zip(chunks, places, keys, strict=True)}


def priced(
    connection: Connection, pipeline: Pipeline, draft: build.Draft, remembered: Connection | None = None
) -> Cost:
    """What a draft of a tree takes, of which the lowest layer is laid.

    Parameters
    ----------
    connection:
        To the tree.
    pipeline:
        With the summarizer that would make it.
    draft:
        Of the tree.
    remembered:
        Where summaries are remembered; with the tree, if this is not given.
    """
    if pipeline.summarizer is None:
        return Cost()
    used = recipe(pipeline.summarizer.key, pipeline.settings)
    cuts = build.cut(connection, used, draft)
    if cuts is None:
        return Cost()
    keys = {summary_key(pipeline, some): some for some in build.texts(connection, draft, cuts)}
    held = memo.rows(remembered or connection, memo.SUMMARY, list(keys))
    asked = [texts for key, texts in keys.items() if key not in held]
    over = store.count(connection, 1) - len(draft.gone[1]) + len(cuts)
    above = most_above(len(cuts) + len(draft.gone[1]) + len(store.stale_segments(connection, 1)), over, used)
    return _cost(pipeline, asked, above)


def bound(pipeline: Pipeline, total: int) -> Cost:
    """At most what a tree over so many chunks takes, whatever they say."""
    if pipeline.summarizer is None:
        return Cost()
    used = recipe(pipeline.summarizer.key, pipeline.settings)
    over = most_segments(total, used)
    chunk = " word" * pipeline.settings.chunk_tokens
    cost = _cost(pipeline, [], most_above(over, over, used))
    calls, tokens = summary_price(pipeline.summarizer, [[chunk] * used.bounds.most], used.max_tokens)
    return replace(
        cost,
        summaries=cost.summaries + over,
        model_calls=cost.model_calls + calls * over,
        model_tokens=cost.model_tokens + tokens * over,
    )


def _cost(pipeline: Pipeline, asked: Sequence[Sequence[str]], above: int) -> Cost:
    """The price of summaries of some texts, and of so many of summaries."""
    summarizer = pipeline.summarizer
    if summarizer is None:
        return Cost()
    most = pipeline.settings.summary_tokens
    calls, tokens = summary_price(summarizer, asked, most)
    longest = [[" word" * most] * pipeline.settings.segment_most]
    calls_above, tokens_above = summary_price(summarizer, longest, most) if above else (0, 0)
    return Cost(
        summaries=len(asked) + above,
        model_calls=calls + calls_above * above,
        model_tokens=tokens + tokens_above * above,
    )


def most_segments(nodes: int, used: build.Recipe) -> int:
    """Most segments that so many nodes can be cut into."""
    return 0 if nodes <= 1 else max(1, nodes // used.bounds.least)


def most_above(changed: int, nodes: int, used: build.Recipe) -> int:
    """Most summaries above a layer of so many nodes, of which so many came or went.

    A change touches few segments: at most four, and two for every change, as far as was ever seen (docs/tree.md).
    """
    total = 0
    for _ in range(used.layers - 1):
        made = min(most_segments(nodes, used), 4 + 2 * changed) if changed else 0
        total += made
        nodes, changed = most_segments(nodes, used), 2 * made
    return total
