"""Extractions: mentions and relations that an extractor found in a chunk, as JSON in the memo.

A mention's name is stored only if it differs from the mentioned text, or if the mention has a description.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from monograph.store.file import rows
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding
from monograph.text_pass import compiled
from monograph.values import ENTITY_KINDS, Extraction, Mention, Relation

if TYPE_CHECKING:
    from monograph.text_pass._text_pass import Mentions

_INDEX_OF_KIND = {kind: index for index, kind in enumerate(ENTITY_KINDS)}
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_OTHER = ENTITY_KINDS.index("term")

_CHUNKS = {
    "vector": "SELECT chunk FROM vectors",
    "extraction": "SELECT chunk FROM extractions",
    "graph": "SELECT chunk FROM chunk_graphs",
    "trigrams": "SELECT id FROM trigrams_docsize",
}
"""For each kind of derived value, an SQL query for the rows of the chunks that have such a value."""
BEFORE_ALL = -(1 << 63)
"""A number below the row number of every document."""


def pack(extraction: Extraction, text: str) -> bytes:
    """Return an extraction as the bytes that the memo stores; ``text`` is the text of the extraction's chunk."""
    mentions: list[list[object]] = []
    for mention in extraction.mentions:
        name = [mention.name] if mention.description or mention.name != text[mention.start : mention.end] else []
        described = [mention.description] if mention.description else []
        mentions.append([_INDEX_OF_KIND.get(mention.kind, _OTHER), mention.start, mention.end, *name, *described])
    relations = [
        [relation.source, relation.target, relation.strength, relation.description, list(relation.keywords)]
        for relation in extraction.relations
    ]
    stored: dict[str, object] = {"mentions": mentions}
    if relations:
        stored["relations"] = relations
    if extraction.tokens:
        stored["tokens"] = extraction.tokens
    if extraction.failure:
        stored["failure"] = extraction.failure
    return _encode_json(stored).encode("utf-8", "replace")


def decoding_of(connection: Connection, chunk: int) -> AbstractContextManager[None]:
    """Return a context manager for code that decodes the extraction of a chunk.

    If the decoding fails, the context manager raises DamagedFile, which names the chunk's row.
    """
    return decoding(connection, f"the extraction of row {chunk} of chunks")


@functools.cache
def _mention_reader() -> Mentions[Mention]:
    return compiled.Mentions(list(ENTITY_KINDS), Mention)


def unpack(value: bytes, text: str) -> Extraction:
    """Return the extraction that :func:`pack` packed; ``text`` is the text of its chunk.

    Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if the bytes are no extraction.
    """
    stored = json.loads(value)
    mention_rows = stored["mentions"]
    if all(len(row) == 3 for row in mention_rows):  # Nearly always: no mention has a name other than its text.
        mentions = tuple(_mention_reader().made(text, mention_rows))
    else:
        mentions = tuple(_read_mention(*row, text=text) for row in mention_rows)
    tokens, failure = rows.whole(stored.get("tokens", 0)), rows.text(stored.get("failure", ""))
    return Extraction(mentions, _read_relations(stored), tokens, failure)


def _read_mention(kind: int, start: int, end: int, name: str = "", description: str = "", *, text: str) -> Mention:
    start, end = rows.whole(start), rows.whole(end)
    return Mention(rows.text(name) or text[start:end], ENTITY_KINDS[kind], start, end, rows.text(description))


def relations(value: bytes) -> tuple[Relation, ...]:
    """Return the relations of a packed extraction, in the model's order.

    Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if the bytes are no extraction.
    """
    return _read_relations(json.loads(value))


def _read_relations(stored: Mapping[str, Any]) -> tuple[Relation, ...]:
    return tuple(
        Relation(
            source=rows.text(source),
            target=rows.text(target),
            description=rows.text(description),
            keywords=tuple(map(rows.text, keywords)),
            strength=float(strength),
        )
        for source, target, strength, description, keywords in stored.get("relations", ())
    )


def descriptions(value: bytes) -> list[str]:
    """Return the descriptions that a model wrote for the mentions of a packed extraction.

    Mentions without a description are skipped. Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if the
    bytes are no extraction.
    """
    return [rows.text(row[4]) for row in json.loads(value)["mentions"] if len(row) > 4]


def failed(value: bytes) -> bool:
    """Return whether a packed extraction was made by patterns because the model failed on its chunk."""
    return b'"failure":' in value and "failure" in json.loads(value)


def documents_without(
    connection: Connection,
    what: Literal["vector", "extraction", "graph", "trigrams"],
    after: int = BEFORE_ALL,
    most: int = -1,
) -> list[int]:
    """Return the rows of the documents that have a chunk without the derived value ``what``, ascending.

    Only rows above ``after`` are returned, and at most ``most`` of them; -1 returns all.
    """
    query = f"""SELECT DISTINCT document FROM chunks WHERE document > ? AND chunk NOT IN ({_CHUNKS[what]})
        ORDER BY document LIMIT ?"""  # noqa: S608 - constants
    return rows.column(connection, query, after, most)
