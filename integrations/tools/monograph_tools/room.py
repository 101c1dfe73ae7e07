"""Replies that fit: texts are cut and pieces left out, and both are said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel

from monograph import count_tokens
from monograph_tools.replies import CUT

Item = TypeVar("Item", bound=BaseModel)


def weight(item: BaseModel) -> int:
    """Tokens of a piece as it is sent."""
    return count_tokens([item.model_dump_json()])[0]


def fitting(items: Iterable[Item], room: int) -> tuple[list[Item], int]:
    """The first pieces that have room together, and how many have none."""
    taken: list[Item] = []
    left = 0
    for item in items:
        size = weight(item)
        if left == 0 and size <= room:
            taken.append(item)
            room -= size
        else:
            left += 1
    return taken, left


def shortened(text: str, room: int) -> str:
    """The longest beginning of a text that has so many tokens at most, and at least one character."""
    low, high = 1, len(text)
    if count_tokens([text])[0] <= room:
        return text
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens([text[:middle]])[0] <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def cut_to(text: str, room: int) -> tuple[str, bool]:
    """A text, or its beginning with a mark, and whether it was cut."""
    kept = shortened(text, room)
    return (text, False) if len(kept) == len(text) else (kept.rstrip() + CUT, True)
