"""A mark around what a model is to read, that the one who wrote it could not foresee."""

from __future__ import annotations

from hashlib import sha256


def mark_for(text: str) -> str:
    """A mark that does not stand in a text."""
    number = 0
    while (mark := "=====" + sha256(f"{number} {text}".encode("utf-8", "replace")).hexdigest()[:12]) in text:
        number += 1
    return mark
