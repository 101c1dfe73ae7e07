"""Which shard a document is dealt to."""

from __future__ import annotations

from hashlib import sha256


def shard_of(name: str, shards: int) -> int:
    """The shard of a document by its id, or of a file by its uri: the same for ever, on every machine."""
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards
