"""Marks that enclose a quoted text in a prompt. The author of the text cannot predict them."""

from __future__ import annotations

from hashlib import sha256


def mark_for(text: str) -> str:
    """Return a mark to put before and after ``text`` in a prompt: a hash that does not occur in ``text``."""
    number = 0
    while (mark := "=====" + sha256(f"{number} {text}".encode("utf-8", "replace")).hexdigest()[:12]) in text:
        number += 1
    return mark
