"""The folder of an export: what its files are called, and what its manifest says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monograph.values.arguments import MOST

MANIFEST = "manifest.json"
DOCUMENTS = "documents.jsonl"
CHUNKS = "chunks.jsonl"
VECTORS = "vectors.npy"
ENTITIES = "entities.jsonl"
MENTIONS = "mentions.jsonl"
LINKS = "links.jsonl"
ASSERTIONS = "assertions.jsonl"
"""Only there where anything was told."""
FILES = (MANIFEST, DOCUMENTS, CHUNKS, VECTORS, ENTITIES, MENTIONS, LINKS, ASSERTIONS)

LAYOUT = 1
"""Raised when what an export holds is told otherwise than before."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Manifest of an export: its contents, and the models of the file.

    Parameters
    ----------
    export:
        The number of the layout.
    monograph:
        The version that wrote it.
    documents, chunks, vectors:
        How many there are; ``vectors`` are the rows of ``vectors.npy``.
    entities, mentions, links:
        The same of the graph, which is left out where the file has none.
    embedder, embedder_spec, dimension:
        What made the vectors: the key by which the file knows it, and the text that names it; of how many values.
    extractor:
        The key of what found the names.
    chunk_tokens, chunk_overlap:
        What the chunks were cut by.
    """

    export: int
    monograph: str
    documents: int
    chunks: int
    vectors: int
    entities: int
    mentions: int
    links: int
    embedder: str
    embedder_spec: str
    dimension: int
    extractor: str
    chunk_tokens: int
    chunk_overlap: int

    def as_json(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=2) + "\n"


def manifest_of(value: Any) -> Manifest:
    """The manifest that a JSON value says; fields that it does not know are passed over.

    Raises
    ------
    ValueError
        If it is none.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    fields: Mapping[str, Any] = value
    known: dict[str, Any] = {}
    for one in dataclasses.fields(Manifest):
        given: Any = fields.get(one.name)
        if not (_is_count(given) if one.type == "int" else isinstance(given, str)):
            raise ValueError(f"its {one.name!r} is {str(given)[:40]!r}")
        known[one.name] = given
    return Manifest(**known)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
