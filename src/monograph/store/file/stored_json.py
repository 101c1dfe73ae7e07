"""Values in JSON that rows hold: of another kind than they were written, they are damage."""

from __future__ import annotations

import json
from typing import Any

from monograph.values.arguments import shown


def loaded_object(text: str) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError if the text is none."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text[:40]!r} is no JSON object")
    return found


def text(value: Any) -> str:
    """A text that can be written. Raises ValueError if it is none."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} stands where a text does")
    value.encode()
    return value


def whole(value: Any) -> int:
    """A whole number of 64 bits. Raises ValueError if it is none."""
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"{shown(value)} stands where a whole number does")
    return value
