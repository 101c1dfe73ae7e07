"""Marks around a quoted text in a prompt, which the author of the text cannot predict."""

from __future__ import annotations

from hashlib import sha256


def mark_for(text: str) -> str:
    """Return a mark that does not occur in the text."""
    number = 0
    while (mark := "=====" + sha256(f"{number} {text}".encode("utf-8", "replace")).hexdigest()[:12]) in text:
        number += 1
    return mark
