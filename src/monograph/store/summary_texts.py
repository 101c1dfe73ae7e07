"""Summaries as the memo holds them: JSON of a text and of where its sentences stand."""

from __future__ import annotations

import json

from monograph.store.database import Connection, decoding
from monograph.store.stored_json import text, whole
from monograph.values import Quote, SummaryText


def pack(gist: SummaryText) -> bytes:
    """A gist as bytes."""
    stored: dict[str, object] = {"text": gist.text}
    if gist.quotes:
        stored["quotes"] = [[one.start, one.end, one.source, one.source_start, one.source_end] for one in gist.quotes]
    if gist.tokens_in or gist.tokens_out:
        stored["tokens"] = [gist.tokens_in, gist.tokens_out]
    return json.dumps(stored, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def unpack(value: bytes) -> SummaryText:
    """What :func:`pack` made bytes of; raises one of UNDECODABLE if they are something else."""
    stored = json.loads(value)
    quotes = tuple(Quote(*map(whole, row)) for row in stored.get("quotes", ()))
    read, written = map(whole, stored.get("tokens", (0, 0)))
    return SummaryText(text(stored["text"]), quotes, read, written)


def of_node(connection: Connection, node: int, value: bytes) -> SummaryText:
    """Unpack the summary of a node. Raises DamagedFile, which names the row."""
    with decoding(connection, f"the summary of row {node} of nodes"):
        return unpack(value)
