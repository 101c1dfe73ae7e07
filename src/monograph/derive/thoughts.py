"""What a model thinks aloud before it answers, taken off."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


def without_thoughts(answer: str) -> str:
    """An answer without its thoughts, whether or not they were begun or ended."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", answer))
