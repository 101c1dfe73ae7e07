"""Events of a stream, as browsers read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from monograph.app import answer_output, output
from monograph.values import Answer, Context

SILENT_SECONDS = 15.0
"""A stream that is silent for so long says that it is still there."""
SILENCE = b": still here\n\n"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, and its data."""

    name: str
    data: Any

    def encoded(self) -> bytes:
        """As a stream has it. JSON is written on one line, so that no text ends the event."""
        return b"event: " + self.name.encode() + b"\ndata: " + as_bytes(self.data) + b"\n\n"


def as_bytes(value: Any) -> bytes:
    """A value as JSON, by the names that the command line prints."""
    shaped = answer_output.as_object(value) if isinstance(value, Answer | Context) else output.as_json(value)
    return json.dumps(shaped, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
