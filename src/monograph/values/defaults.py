"""What a search, a context and an answer have unless something else is asked for."""

from __future__ import annotations

from typing import Literal, TypeAlias

FOUND = 10
"""Hits that a context is made of."""

BUDGET = 1_000
"""Most tokens of a context."""

DEFAULT_CUT = 0.42
"""Share of the tokens of a found passage that goes: MobileRAG's, on SQuAD."""

MAX_TOKENS = 400
"""Most tokens of an answer."""

PassageOrder: TypeAlias = Literal["relevance", "edges"]
"""``relevance``: the best first. ``edges``: the best first, the second last, and so on: what stands in the middle of a
long prompt is read least."""
