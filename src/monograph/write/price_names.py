"""The names that documents to come would have embedded, where that may cost something."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from monograph.models import is_paid
from monograph.store import extractions, memo, names, settings
from monograph.store.database import Connection
from monograph.store.unreadable import UNDECODABLE
from monograph.write.graph import embedded_keys, extraction_key, part_of
from monograph.write.pipeline import Pipeline
from monograph.write.prepare import Prepared


def names_to_embed(connection: Connection, pipeline: Pipeline, work: Sequence[Prepared]) -> set[str]:
    """The names that an apply would give to an embedder that may cost something; none to another.

    What patterns find is looked for now. What another extractor will find nobody knows: of its documents the names are
    told of those whose extractions the memo has.
    """
    if not is_paid(pipeline.embedder):
        return set()
    cannot_link = names.cannot_link(connection)
    found: set[str] = set()
    for one in work:
        packed = _extractions(connection, pipeline, one)
        with suppress(*UNDECODABLE):  # An apply will say which is damaged.
            found |= set() if packed is None else embedded_keys(part_of(one, packed, cannot_link))
    stored = settings.load_model(connection, settings.StoredEmbedder)
    if stored is None or stored.key != pipeline.embedder.key:
        return found
    return set(names.without_code(connection, sorted(found), names.code_size(stored.dimension)))


def _extractions(connection: Connection, pipeline: Pipeline, one: Prepared) -> list[bytes] | None:
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
