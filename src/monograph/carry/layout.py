"""Layout of an export: the names of its files, and its manifest."""

from __future__ import annotations

import dataclasses
import json
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
"""Name of the file of assertions. An export has it only if the exported file has assertions."""
FILES = (MANIFEST, DOCUMENTS, CHUNKS, VECTORS, ENTITIES, MENTIONS, LINKS, ASSERTIONS)

LAYOUT = 1
"""Number of the layout of exports. It is raised when the layout changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Manifest of an export: its contents, and the models of the file.

    Parameters
    ----------
    export:
        Number of the layout.
    monograph:
        Version of Monograph that wrote the export.
    documents, chunks, vectors:
        Numbers of documents, of chunks and of vectors. ``vectors`` is the number of rows of ``vectors.npy``.
    entities, mentions, links:
        Numbers of entities, of mentions and of links; 0 if the graph was not exported.
    embedder, embedder_spec, dimension:
        Embedder that computed the vectors. Its key names it, with all settings that change its vectors. Its spec is
        the text from which it can be loaded, such as ``static``. ``dimension`` is the number of values of each vector.
    extractor:
        Key of the extractor that found the entities: its name, with all settings that change what it finds.
    chunk_tokens, chunk_overlap:
        Settings with which the chunks were cut: most tokens of a chunk, and most tokens of an overlap.
    """

    export: int
    monograph: str
    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    entities: int = 0
    mentions: int = 0
    links: int = 0
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
    """Convert a parsed JSON value to a manifest. Unknown fields are ignored.

    Raises
    ------
    ValueError
        If the value is not a JSON object, or a field of the manifest is missing or invalid.
    """
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    values: dict[str, Any] = {field.name: value.get(field.name) for field in dataclasses.fields(Manifest)}
    for field in dataclasses.fields(Manifest):
        content = values[field.name]
        if not (type(content) is int and 0 <= content <= MOST if field.type == "int" else isinstance(content, str)):
            raise ValueError(f"its {field.name!r} is {str(content)[:40]!r}")
    return Manifest(**values)
